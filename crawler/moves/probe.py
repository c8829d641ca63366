"""Asks where URLs lead: of the live site, hop by hop, or in a folder build with its file of redirects."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final
from urllib.parse import urljoin

from msgspec import Struct

from crawler.config.config import Config
from crawler.config.source import SiteSource
from crawler.crawl.sitemap_download import Downloader, origins_of
from crawler.fetch.folder_transport import FolderTransport
from crawler.fetch.redirect import REDIRECTS
from crawler.model import Url
from crawler.moves.formats import Redirect
from crawler.moves.inventory import place_of
from crawler.moves.register import UrlEnd
from crawler.url.normalize import origin_of
from sitemap import SourceError

MAX_HOPS: Final = 10
"""Redirects that Googlebot follows: https://developers.google.com/search/docs/crawling-indexing/site-move-with-url-changes"""
MAX_BODY: Final = 10 * 2**20
"""Bytes of an answer that are read."""
_LOST: Final = frozenset({404, 410})
_ELSEWHERE: Final = "it is on another site"


class Hop(Struct, frozen=True):
    """The answer of one URL: its status, None without one; where it leads; and what failed, in a sentence.

    ``fault`` says why search engines do not list the page.
    """

    url: str
    status: int | None
    location: str = ""
    failure: str = ""
    fault: str = ""


Probe = Callable[[str], Hop]
"""Says what the answer of a URL itself is."""


def live_probe(downloader: Downloader, *, reads_pages: bool = False) -> Probe:
    """Asks the site, at the pace and by the rules of a crawl. ``reads_pages``: also looks for noindex and canonical."""

    def hop(url: str) -> Hop:
        try:
            reply = downloader.hop(url)
        except SourceError as error:
            return Hop(url, None, failure=str(error))
        if reply.status in REDIRECTS:
            return Hop(url, reply.status, urljoin(url, reply.header("location") or ""))
        fault = ""
        if reads_pages and reply.status == 200:
            page = downloader.page(reply)
            canonical = page.canonicals[0] if page.canonicals else reply.url
            fault = page.noindex or (f"its canonical is {canonical}" if canonical != reply.url else "")
        return Hop(url, reply.status, fault=fault)

    return hop


def folder_probe(folder: Path, origin: str, rows: Sequence[Redirect]) -> Probe:
    """Looks in a folder build of the site ``origin``, and before in its redirects, by path and query or by path."""
    files = FolderTransport(folder, f"{origin}/")
    redirects = {place_of(row.source): row for row in rows}

    def hop(url: str) -> Hop:
        if origin_of(Url(url)) != origin:
            return Hop(url, None, failure=_ELSEWHERE)
        place = place_of(url)
        path = place.partition("?")[0]
        if row := redirects.get(place) or redirects.get(path):
            return Hop(url, row.status, urljoin(url, row.target))
        return Hop(url, *files.status_of(path))

    return hop


def trail(probe: Probe, url: str) -> list[Hop]:
    """The answers from a URL to the end of its redirects, at most ``MAX_HOPS`` redirects."""
    hops = [probe(url)]
    seen = {url}
    while (target := hops[-1].location) and target not in seen and len(hops) <= MAX_HOPS:
        seen.add(target)
        hops.append(probe(target))
    return hops


def live_ends(urls: Sequence[str], config: Config, source: SiteSource | None = None) -> list[UrlEnd]:
    """How URLs of one site end now, at the pace and by the rules of a crawl. Raises UsageError."""
    if not urls:
        return []
    with Downloader(config, origins_of(urls), MAX_BODY, source) as remote:
        probe = live_probe(remote)
        return [url_end(trail(probe, url)) for url in urls]


def url_end(hops: list[Hop]) -> UrlEnd:
    """How a URL ends. What failed for another reason than that there is no page is unknown, not lost."""
    first, last = hops[0], hops[-1]
    target = last.url if len(hops) > 1 else ""
    by = f" after a redirect to {target}" if target else ""
    if last.location:
        return UrlEnd(first.url, "lost", last.location, last.status, f"its redirects never end: {last.location}")
    if last.status == 200:
        return UrlEnd(first.url, "redirected" if target else "there", target, 200)
    if last.status in _LOST:
        return UrlEnd(first.url, "lost", target, last.status, f"status {last.status}{by}")
    if last.status is None and target and last.failure == _ELSEWHERE:
        return UrlEnd(first.url, "redirected", target, first.status)
    return UrlEnd(first.url, "unknown", target, last.status, last.failure or f"status {last.status}{by}")
