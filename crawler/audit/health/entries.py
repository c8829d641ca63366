"""Whether an entry of a sitemap is what belongs in one, by what its URL was found to be. Pure.

https://developers.google.com/search/docs/crawling-indexing/sitemaps/build-sitemap : the canonical, fetchable,
indexable URLs of a site, each once.
"""

from collections.abc import Callable, Sequence
from typing import Final

from msgspec import Struct

from crawler.audit.claim import Source
from crawler.audit.finding import AuditFinding
from crawler.audit.health.visit import Visited, blocked, failing, gone, leads, no_page, refused
from crawler.model import State, Url
from crawler.url.normalize import origin
from sitemap import form

MAX_TOLD: Final = 20  # entries of one page


class PublishedEntry(Struct, frozen=True, kw_only=True):
    """An entry of a sitemap as it stands there. ``url`` is its canonical form, "" when its ``loc`` is no URL."""

    loc: str
    url: str
    file: str
    line: int = 0
    lastmod: str = ""


def judge_entry(
    entry: PublishedEntry, visited: Visited, listed: Callable[[str], str] = lambda _: ""
) -> AuditFinding | None:
    """What is wrong with the URL of an entry; None when nothing is, or when it was not asked for.

    ``listed`` answers where a URL in canonical form has an entry of its own, as in "sitemap.xml line 3", or "".
    """
    for rule, say in _RULES:
        if said := say(visited):
            return _finding(rule, entry, visited, said, listed)
    return None


def judge_spellings(page: Visited, entries: Sequence[PublishedEntry]) -> AuditFinding | None:
    """That entries which are one page, and not the same URL in the eyes of lint, are several.

    ``entries`` are those that answer with ``page``: of what redirects to it, or names it as canonical,
    :func:`judge_entry` tells.
    """
    meant: dict[str, PublishedEntry] = {}
    for entry in entries:
        meant.setdefault(_meant(entry.loc), entry)
    spellings = list(meant.values())
    if len(spellings) < 2:
        return None
    listed = [entry.loc for entry in spellings]
    told = spellings[:MAX_TOLD]
    return AuditFinding(
        rule="entry.duplicate",
        url=page.url,
        sentence=f"{len(listed):,} entries are one page: {_some(listed)}",
        title=page.title,
        state=page.state,
        status=page.status,
        known=[Source.SITEMAP],
        spellings=[each.loc for each in told if each.loc != page.url],
        evidence=[f"{each.loc} is in {_place(each)}" for each in told],
        file=spellings[0].file,
        line=spellings[0].line,
    )


def judge_outside(entry: PublishedEntry, home: str, *, answers: bool, times: int = 1) -> AuditFinding:
    """That an entry, and more in its file, has another scheme or host than the site, whose origin is ``home``.

    ``answers``: it was asked for, and neither leads elsewhere nor names another page; else it was not asked for.
    """
    where = origin(Url(entry.url))
    listed = f"listed under {where}, and the site is {home}"
    if answers:
        said, advice = (
            f"it is {listed}: both answer with a page",
            f"redirect {where} to {home}, and list that",
        )
    else:
        said, advice = f"{_entries(times)} {listed}: not asked for", f"list {home} instead"
    return AuditFinding(
        rule="entry.outside",
        url=entry.url,
        sentence=said,
        known=[Source.SITEMAP],
        evidence=[f"{_place(entry)} lists {entry.loc}", advice],
        file=entry.file,
        line=entry.line,
        times=times,
    )


def _entries(count: int) -> str:
    return "1 entry is" if count == 1 else f"{count:,} entries are"


def _meant(loc: str) -> str:
    try:
        return form(loc)
    except ValueError:
        return loc


def _gone(visited: Visited) -> str:
    said = gone(visited)
    return f"the URL {said}" if said else ""


def _failed(visited: Visited) -> str:
    said = failing(visited)
    return f"the URL {said}" if said.startswith(("answered", "redirects")) else said


def _refused(visited: Visited) -> str:
    said = refused(visited)
    return f"the URL refuses us: {said}" if said else ""


def _redirect(visited: Visited) -> str:
    said = leads(visited)
    return f"the URL {said}" if said else ""


def _noindex(visited: Visited) -> str:
    return f"the page says noindex: {visited.reason}" if visited.state == State.NOINDEX else ""


def _blocked(visited: Visited) -> str:
    said = blocked(visited)
    return f"it may not be fetched: {said}" if said else ""


def _canonical(visited: Visited) -> str:
    if visited.state != State.CANONICAL_ELSEWHERE or not visited.target:
        return ""
    fault = no_page(visited.end) if visited.end else ""
    return f"the page names {visited.target} as its canonical" + (f", which {fault}" if fault else "")


_RULES: tuple[tuple[str, Callable[[Visited], str]], ...] = (
    ("entry.gone", _gone),
    ("entry.refused", _refused),
    ("entry.failed", _failed),
    ("entry.redirect", _redirect),
    ("entry.noindex", _noindex),
    ("entry.blocked", _blocked),
    ("entry.canonical", _canonical),
)


def _finding(
    rule: str, entry: PublishedEntry, visited: Visited, said: str, listed: Callable[[str], str]
) -> AuditFinding:
    evidence = [f"{_place(entry)} lists {entry.loc}"]
    if visited.end is not None and visited.end.is_page and not visited.is_endless:
        place = listed(visited.end.url)
        is_there = f"{visited.end.url} is listed too ({place}): this entry can go"
        evidence.append(is_there if place else f"list {visited.end.url} instead")
    elif visited.end is not None and not visited.is_endless and no_page(visited.end):
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
        known=[Source.SITEMAP],
        spellings=[entry.loc] if entry.loc != entry.url else [],
        evidence=evidence,
        file=entry.file,
        line=entry.line,
    )


def _place(entry: PublishedEntry) -> str:
    return f"{entry.file} line {entry.line}" if entry.line else entry.file


def _some(locs: Sequence[str]) -> str:
    more = len(locs) - 3
    return ", ".join(locs[:3]) + (f" and {more:,} more" if more > 0 else "")
