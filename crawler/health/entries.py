"""Whether an entry of a sitemap is what belongs in one, by what its URL was found to be. Pure.

https://developers.google.com/search/docs/crawling-indexing/sitemaps/build-sitemap : the canonical, fetchable,
indexable URLs of a site, each once.
"""

from collections.abc import Callable, Sequence
from typing import Final

from msgspec import Struct

from crawler.claim import Source
from crawler.finding import Finding
from crawler.health.visited import Visited, blocked, failing, gone, leads, no_page
from crawler.model import State
from sitemap import form

MAX_TOLD: Final = 20  # entries of one page


class PublishedEntry(Struct, frozen=True, kw_only=True):
    """An entry of a sitemap as it stands there. ``url`` is its canonical form, "" when its ``loc`` is no URL."""

    loc: str
    url: str
    file: str
    line: int = 0
    lastmod: str = ""


def judge_entry(entry: PublishedEntry, visited: Visited) -> Finding | None:
    """What is wrong with the URL of an entry; None when nothing is, or when it was not asked for."""
    for rule, say in _RULES:
        if said := say(visited):
            return _finding(rule, entry, visited, said)
    return None


def judge_spellings(page: Visited, entries: Sequence[PublishedEntry]) -> Finding | None:
    """That entries which come to one page, and are not the same URL in the eyes of lint, are several.

    ``entries`` are those that come to ``page``, by whichever way. Which one is canonical is said when the page is one.
    """
    meant: dict[str, PublishedEntry] = {}
    for entry in entries:
        meant.setdefault(_meant(entry.loc), entry)
    spellings = list(meant.values())
    if len(spellings) < 2:
        return None
    listed = [entry.loc for entry in spellings]
    told = spellings[:MAX_TOLD]
    return Finding(
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
    return said if not said or not said.startswith("answered") else f"the URL {said}"


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
    ("entry.failed", _failed),
    ("entry.redirect", _redirect),
    ("entry.noindex", _noindex),
    ("entry.blocked", _blocked),
    ("entry.canonical", _canonical),
)


def _finding(rule: str, entry: PublishedEntry, visited: Visited, said: str) -> Finding:
    evidence = [f"{_place(entry)} lists {entry.loc}"]
    if visited.end is not None and visited.end.is_page:
        evidence.append(f"list {visited.end.url} instead")
    return Finding(
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
