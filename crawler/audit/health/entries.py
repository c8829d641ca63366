"""Whether an entry of a sitemap is what belongs in one, by what its URL was found to be. Pure.

https://developers.google.com/search/docs/crawling-indexing/sitemaps/build-sitemap : the canonical, fetchable,
indexable URLs of a site, each once.
"""

from collections.abc import Callable, Sequence
from typing import Final

from msgspec import Struct

from crawler.audit.claim import SourceKind
from crawler.audit.finding import AuditFinding
from crawler.audit.health.visit import (
    VisitedUrl,
    redirect_text,
    why_blocked,
    why_failing,
    why_gone,
    why_no_page,
    why_refused,
)
from crawler.model import State, Url
from crawler.url.normalize import origin_of
from sitemap import form

MAX_LISTED: Final = 20  # entries of one page


class PublishedEntry(Struct, frozen=True, kw_only=True):
    """An entry of a sitemap as it stands there. ``url`` is its canonical form, "" when its ``loc`` is no URL."""

    loc: str
    url: str
    file: str
    line: int = 0
    lastmod: str = ""


def check_entry(
    entry: PublishedEntry, visited: VisitedUrl, listed: Callable[[str], str] = lambda _: ""
) -> AuditFinding | None:
    """What is wrong with the URL of an entry; None when nothing is, or when it was not asked for.

    ``listed`` answers where a URL in canonical form has an entry of its own, as in "sitemap.xml line 3", or "".
    """
    for rule, say in _STATE_CHECKS:
        if said := say(visited):
            return _finding(rule, entry, visited, said, listed)
    return None


def check_duplicate_spellings(page: VisitedUrl, entries: Sequence[PublishedEntry]) -> AuditFinding | None:
    """That entries which are one page, and not the same URL in the eyes of lint, are several.

    ``entries`` are those that answer with ``page``: of what redirects to it, or names it as canonical,
    :func:`judge_entry` tells.
    """
    meant: dict[str, PublishedEntry] = {}
    for entry in entries:
        meant.setdefault(_comparable(entry.loc), entry)
    spellings = list(meant.values())
    if len(spellings) < 2:
        return None
    listed = [entry.loc for entry in spellings]
    told = spellings[:MAX_LISTED]
    return AuditFinding(
        rule="entry.duplicate",
        url=page.url,
        sentence=f"{len(listed):,} entries are one page: {_some_urls(listed)}",
        title=page.title,
        state=page.state,
        status=page.status,
        known=[SourceKind.SITEMAP],
        spellings=[each.loc for each in told if each.loc != page.url],
        evidence=[f"{each.loc} is in {_place(each)}" for each in told],
        file=spellings[0].file,
        line=spellings[0].line,
    )


def check_outside_site(entry: PublishedEntry, home: str, *, answers: bool, times: int = 1) -> AuditFinding:
    """That an entry, and more in its file, has another scheme or host than the site, whose origin is ``home``.

    ``answers``: it was asked for, and neither leads elsewhere nor names another page; else it was not asked for.
    """
    where = origin_of(Url(entry.url))
    listed = f"listed under {where}, and the site is {home}"
    if answers:
        said, advice = (
            f"it is {listed}: both answer with a page",
            f"redirect {where} to {home}, and list that",
        )
    else:
        said, advice = f"{_entries_text(times)} {listed}: not asked for", f"list {home} instead"
    return AuditFinding(
        rule="entry.outside",
        url=entry.url,
        sentence=said,
        known=[SourceKind.SITEMAP],
        evidence=[f"{_place(entry)} lists {entry.loc}", advice],
        file=entry.file,
        line=entry.line,
        times=times,
    )


def _entries_text(count: int) -> str:
    return "1 entry is" if count == 1 else f"{count:,} entries are"


def _comparable(loc: str) -> str:
    try:
        return form(loc)
    except ValueError:
        return loc


def _gone(visited: VisitedUrl) -> str:
    said = why_gone(visited)
    return f"the URL {said}" if said else ""


def _failed(visited: VisitedUrl) -> str:
    said = why_failing(visited)
    return f"the URL {said}" if said.startswith(("answered", "redirects")) else said


def _refused(visited: VisitedUrl) -> str:
    said = why_refused(visited)
    return f"the URL refuses us: {said}" if said else ""


def _redirect(visited: VisitedUrl) -> str:
    said = redirect_text(visited)
    return f"the URL {said}" if said else ""


def _noindex(visited: VisitedUrl) -> str:
    return f"the page says noindex: {visited.reason}" if visited.state == State.NOINDEX else ""


def _blocked(visited: VisitedUrl) -> str:
    said = why_blocked(visited)
    return f"it may not be fetched: {said}" if said else ""


def _canonical(visited: VisitedUrl) -> str:
    if visited.state != State.CANONICAL_ELSEWHERE or not visited.target:
        return ""
    fault = why_no_page(visited.end) if visited.end else ""
    return f"the page names {visited.target} as its canonical" + (f", which {fault}" if fault else "")


_STATE_CHECKS: tuple[tuple[str, Callable[[VisitedUrl], str]], ...] = (
    ("entry.gone", _gone),
    ("entry.refused", _refused),
    ("entry.failed", _failed),
    ("entry.redirect", _redirect),
    ("entry.noindex", _noindex),
    ("entry.blocked", _blocked),
    ("entry.canonical", _canonical),
)


def _finding(
    rule: str, entry: PublishedEntry, visited: VisitedUrl, said: str, listed: Callable[[str], str]
) -> AuditFinding:
    evidence = [f"{_place(entry)} lists {entry.loc}"]
    if visited.end is not None and visited.end.is_page and not visited.is_endless:
        place = listed(visited.end.url)
        is_there = f"{visited.end.url} is listed too ({place}): this entry can go"
        evidence.append(is_there if place else f"list {visited.end.url} instead")
    elif visited.end is not None and not visited.is_endless and why_no_page(visited.end):
        mend = "mend that, or " if visited.state == State.CANONICAL_ELSEWHERE else ""
        evidence.append(f"it leads to no page: {mend}take it out of the sitemap")
    return AuditFinding(
        rule=rule,
        url=entry.url,
        sentence=said,
        title=visited.title,
        state=visited.state,
        status=visited.status,
        lastmod=entry.lastmod,
        known=[SourceKind.SITEMAP],
        spellings=[entry.loc] if entry.loc != entry.url else [],
        evidence=evidence,
        file=entry.file,
        line=entry.line,
    )


def _place(entry: PublishedEntry) -> str:
    return f"{entry.file} line {entry.line}" if entry.line else entry.file


def _some_urls(locs: Sequence[str]) -> str:
    more = len(locs) - 3
    return ", ".join(locs[:3]) + (f" and {more:,} more" if more > 0 else "")
