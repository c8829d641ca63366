"""Follows redirects from a URL to their end, whoever answers: a site, a folder, or a map. Pure."""

from collections.abc import Callable, Sequence
from typing import Final
from urllib.parse import urljoin

from msgspec import Struct

from crawler.moves.formats import Redirect

MAX_HOPS: Final = 10
"""Redirects that Googlebot follows: https://developers.google.com/search/docs/crawling-indexing/site-move-with-url-changes"""


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
