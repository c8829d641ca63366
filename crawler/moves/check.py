"""Checks a map of redirects: where its rows lead, by themselves, on the new site, or as a server answers. Pure."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final
from urllib.parse import urlsplit

from msgspec import Struct

from crawler.moves.formats import Redirect
from crawler.moves.matcher import Inventory
from crawler.moves.trail import Hop, Place, trail, with_redirects

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


def check_map(rows: Sequence[Redirect], place: Place, site: Inventory | None = None) -> Iterator[MapFinding]:
    """The findings about a map by itself, and against the new site."""
    pages = {page.path for page in site.pages} if site else set()

    def answer(url: str) -> Hop:
        at = place(url)
        if site is None or not at.startswith("/") or at in pages:
            return Hop(url, 200)
        return Hop(url, 404, fault=site.faults.get(at, "the new site has no such page"))

    probe = with_redirects(rows, place, answer)
    targets: dict[str, str] = {}
    for row in rows:
        source, target = place(row.source), place(row.target)
        if targets.setdefault(source, target) != target:
            sentence = f"{row.source} has several targets: {targets[source]} and {target}. Keep one"
            yield MapFinding("duplicate", row.source, sentence)
        hops = trail(probe, row.source)
        yield from check_answers(row, hops[-1].url, hops)
        if source in pages:
            yield MapFinding("live", row.source, f"{row.source} is a page of the new site, which the row would hide")
    for target, count in Counter(place(row.target) for row in rows).items():
        is_home = (urlsplit(target).path or "/") == "/"
        if is_home and (count >= MAX_TO_HOME or count * 20 > max(len(rows), 20)):
            sentence = f"{count:,} rows lead to the home page. Search engines may treat them as not found: {SOURCE}"
            yield MapFinding("home", "", sentence)
        elif count >= MAX_TO_ONE or (count >= MAX_TO_ONE / 2 and count * 10 > len(rows)):
            yield MapFinding("many", "", f"{count:,} rows lead to {target}. Check that it takes the place of each")


def check_answers(row: Redirect, target: str, hops: Sequence[Hop]) -> Iterator[MapFinding]:
    """The findings about the answers from the source of a row to the end of its redirects."""
    *redirects, last = hops
    old, end = hops[0].url, last.url
    temporary = next((hop.status for hop in redirects if hop.status in _TEMPORARY), None)
    if last.location:
        found = {"loop": f"{old} never ends: its redirects lead in a circle to {last.location}"}
    elif not redirects:
        found = {"answer": f"{old} does not redirect: {last.sentence}"}
    else:
        found = {
            "chain": f"{old} needs {len(redirects)} redirects. Let it lead to {end}" if len(redirects) > 1 else "",
            "temporary": f"{old} redirects with status {temporary}. A move needs 301 or 308" if temporary else "",
            "elsewhere": f"{old} leads to {end}, not to {target}" if end != target else "",
            "target": f"{old} leads to {end}: {last.sentence}" if last.status != 200 or last.fault else "",
        }
    yield from (MapFinding(rule, row.source, sentence) for rule, sentence in found.items() if sentence)
