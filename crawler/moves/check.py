"""Checks a map of redirects by itself and against the new site. Pure; what the server answers, callers ask."""

from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from typing import Final
from urllib.parse import urlsplit

from msgspec import Struct

from crawler.moves.formats import Redirect

MAX_TO_ONE: Final = 20
"""Rows with one target from which it is worth a look; from half as many if they are a tenth of the map."""
MAX_TO_HOME: Final = 10
"""Rows to the home page from which search engines may take them for soft 404s: see :data:`SOURCE`."""
SOURCE: Final = "https://developers.google.com/search/docs/crawling-indexing/site-move-with-url-changes"
NOTE: Final = "note"
"""The rule of a finding that is no problem: nothing may lead to that URL."""
_TEMPORARY: Final = frozenset({302, 303, 307})


class MapFinding(Struct, frozen=True):
    """One problem of a map: its rule, the source of the row or "", and a sentence with the remedy."""

    rule: str
    source: str
    sentence: str


class NewSite(Struct, frozen=True):
    """The new site by paths with queries: its pages, and why search engines do not list others."""

    pages: Container[str]
    faults: Mapping[str, str]


Place = Callable[[str], str]


def check_map(rows: Sequence[Redirect], place: Place, site: NewSite | None = None) -> Iterator[MapFinding]:
    """The findings about a map. ``place`` gives the path with the query, or the URL of another site."""
    targets: dict[str, str] = {}
    for row in rows:
        source, target = place(row.source), place(row.target)
        if source in targets and targets[source] != target:
            sentence = f"{row.source} has several targets: {targets[source]} and {target}. Keep one"
            yield MapFinding("duplicate", row.source, sentence)
        targets.setdefault(source, target)
    for row in rows:
        source = place(row.source)
        yield from _check_way(row, source, targets)
        if row.status in _TEMPORARY:
            yield MapFinding("temporary", row.source, f"status {row.status} is temporary. A move needs 301 or 308")
        if site:
            yield from _check_against_site(row, source, place(row.target), site)
    yield from _check_many(rows, [place(row.target) for row in rows])


def flat_target(source: str, targets: Mapping[str, str]) -> str | None:
    """Where the rows lead in the end, None for a loop."""
    seen = {source}
    target = targets[source]
    while target in targets:
        if target in seen:
            return None
        seen.add(target)
        target = targets[target]
    return None if target in seen else target


def _check_way(row: Redirect, source: str, targets: Mapping[str, str]) -> Iterator[MapFinding]:
    first = targets[source]
    if first == source:
        yield MapFinding("itself", row.source, f"{row.source} leads to itself. Remove the row")
    elif (end := flat_target(source, targets)) is None:
        yield MapFinding("loop", row.source, f"{row.source} never ends: the rows lead in a circle")
    elif end != first:
        yield MapFinding("chain", row.source, f"{row.source} leads to {first}, which moved too. Let it lead to {end}")


def _check_against_site(row: Redirect, source: str, target: str, site: NewSite) -> Iterator[MapFinding]:
    if source in site.pages and source != target:
        yield MapFinding("live", row.source, f"{row.source} is a page of the new site, which the row would hide")
    if target.startswith("/") and target not in site.pages:
        fault = site.faults.get(target)
        sentence = f"{row.target} is not listed: {fault}" if fault else f"the new site has no page {row.target}"
        yield MapFinding("target", row.source, sentence)


def _check_many(rows: Sequence[Redirect], places: Sequence[str]) -> Iterator[MapFinding]:
    for target, count in Counter(places).items():
        is_home = (urlsplit(target).path or "/") == "/"
        if is_home and (count >= MAX_TO_HOME or count * 20 > max(len(rows), 20)):
            sentence = f"{count:,} rows lead to the home page. Search engines may treat them as not found: {SOURCE}"
            yield MapFinding("home", "", sentence)
        elif count >= MAX_TO_ONE or (count >= MAX_TO_ONE / 2 and count * 10 > len(rows)):
            yield MapFinding("many", "", f"{count:,} rows lead to {target}. Check that it takes the place of each")


def check_answer(
    row: Redirect, target: str, hops: Sequence[tuple[int | None, str]], fault: str
) -> Iterator[MapFinding]:
    """The findings about what the server answers for a row.

    ``hops`` are the status and the URL of each answer, from the old URL to the end; ``fault`` says why search engines
    do not list the last page.
    """
    (first, old), (last, end) = hops[0], hops[-1]
    if len(hops) == 1:
        yield MapFinding("answer", row.source, f"{old} does not redirect: {_status(first)}")
        return
    if len(hops) > 2:
        yield MapFinding("hops", row.source, f"{old} needs {len(hops) - 1} redirects. Let the first lead to {end}")
    if temporary := next((status for status, _ in hops[:-1] if status in _TEMPORARY), None):
        yield MapFinding("temporary", row.source, f"{old} redirects with status {temporary}, which is temporary")
    if end != target:
        yield MapFinding("elsewhere", row.source, f"{old} leads to {end}, not to {target}")
    elif last != 200:
        yield MapFinding("target", row.source, f"{old} leads to {end}: {_status(last)}")
    elif fault:
        yield MapFinding("target", row.source, f"{old} leads to {end}, which is not listed: {fault}")


def _status(status: int | None) -> str:
    return f"status {status}" if status else "no answer"
