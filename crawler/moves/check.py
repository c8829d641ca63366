"""Follows redirects from a URL to their end, whoever answers: a site, a folder, or a map; and checks maps. Pure."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Final
from urllib.parse import urljoin, urlsplit

from msgspec import Struct

from crawler.moves.formats import Redirect
from crawler.moves.matcher import Inventory

MAX_HOPS: Final = 10
"""Redirects that Googlebot follows: see :data:`SOURCE`."""
MAX_TO_ONE: Final = 20
"""Rows with one target from which it is worth a look; from half as many if they are a tenth of the map."""
MAX_TO_HOME: Final = 10
"""Rows to the home page from which search engines may take them for soft 404s: see :data:`SOURCE`."""
SOURCE: Final = "https://developers.google.com/search/docs/crawling-indexing/site-move-with-url-changes"
NOTE: Final = "note"
"""The rule of a finding that is no problem: nothing may lead to that URL."""
_TEMPORARY: Final = frozenset({302, 303, 307})


class Hop(Struct, frozen=True):
    """The answer of one URL: its status, None without one; where it leads; and its ``fault``, in a sentence.

    A fault is what failed, or why search engines do not list the page.
    """

    url: str
    status: int | None
    location: str = ""
    fault: str = ""

    @property
    def sentence(self) -> str:
        """The fault or the status."""
        return self.fault or f"status {self.status}"


Probe = Callable[[str], Hop]
"""Says what the answer of a URL itself is."""
Place = Callable[[str], str]
"""The path with the query of a URL of the site, the whole URL of another site."""


def with_redirects(rows: Sequence[Redirect], place: Place, beyond: Probe) -> Probe:
    """Follows the rows of a map, by path and query or by path; ``beyond`` answers for what has no row."""
    redirects = {place(row.source): row for row in reversed(rows)}

    def hop(url: str) -> Hop:
        at = place(url)
        row = redirects.get(at) or redirects.get(at.partition("?")[0])
        return Hop(url, row.status, urljoin(url, row.target)) if row else beyond(url)

    return hop


def trail(probe: Probe, url: str) -> list[Hop]:
    """The answers from a URL to the end of its redirects; the last one has a location if they never end."""
    hops = [probe(url)]
    seen = {url}
    while (target := hops[-1].location) and target not in seen and len(hops) <= MAX_HOPS:
        seen.add(target)
        hops.append(probe(target))
    return hops


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
            continue
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
        is_circle = last.location in {hop.url for hop in hops}
        why = "its redirects lead in a circle" if is_circle else f"after {len(redirects)} redirects there is one more"
        found = {"loop": f"{old} never ends: {why}, to {last.location}"}
    elif not redirects:
        found = {"answer": f"{old} does not redirect: {last.sentence}" if last.status else last.fault}
    else:
        found = {
            "chain": f"{old} needs {len(redirects)} redirects. Let it lead to {end}" if len(redirects) > 1 else "",
            "temporary": f"{old} redirects with status {temporary}. A move needs 301 or 308" if temporary else "",
            "elsewhere": f"{old} leads to {end}, not to {target}" if end != target else "",
            "target": f"{old} leads to {end}: {last.sentence}" if last.status != 200 or last.fault else "",
        }
    yield from (MapFinding(rule, row.source, sentence) for rule, sentence in found.items() if sentence)
