"""Asks how URLs end: on the live site, hop by hop, or in a folder build with its redirects."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final
from urllib.parse import urljoin

from msgspec.structs import replace

from crawler.config.config import Config
from crawler.config.source import SiteSource
from crawler.crawl.sitemap_download import Downloader, origins_of
from crawler.fetch.folder_transport import FolderTransport
from crawler.fetch.redirect import REDIRECTS
from crawler.model import Url
from crawler.moves.check import Hop, Probe, trail, with_redirects
from crawler.moves.formats import Redirect
from crawler.moves.inventory import fault_of, place_of, place_on
from crawler.moves.register import UrlEnd
from crawler.url.normalize import origin_of
from sitemap import SourceError

MAX_BODY: Final = 10 * 2**20
"""Bytes of an answer that are read."""
_LOST: Final = frozenset({404, 410})
_ELSEWHERE: Final = "it is on another site"


def live_probe(downloader: Downloader, *, reads_pages: bool = False) -> Probe:
    """Asks the site, at the pace and by the rules of a crawl. ``reads_pages``: also looks for noindex and canonical."""

    def hop(url: str) -> Hop:
        try:
            reply = downloader.hop(url)
        except SourceError as error:
            return Hop(url, None, fault=str(error))
        if reply.status in REDIRECTS:
            return Hop(url, reply.status, urljoin(url, reply.header("location") or ""))
        is_read = reads_pages and reply.status == 200
        return Hop(url, reply.status, fault=fault_of(downloader.page(reply), reply.url) if is_read else "")

    return hop


def live_ends(urls: Sequence[str], config: Config, source: SiteSource | None = None) -> list[UrlEnd]:
    """How URLs of one site end now, at the pace and by the rules of a crawl. Raises UsageError."""
    if not urls:
        return []
    with Downloader(config, origins_of(urls), MAX_BODY, source) as remote:
        probe = live_probe(remote)
        return [_end(trail(probe, url)) for url in urls]


def folder_ends(urls: Sequence[str], folder: Path, rows: Sequence[Redirect]) -> list[UrlEnd]:
    """How URLs of one site end in a folder build of it, where the redirects of ``rows``, for any host, come first."""
    if not urls:
        return []
    origin = origin_of(Url(urls[0]))
    files, place = FolderTransport(folder, f"{origin}/"), place_on(origin)

    def answer(url: str) -> Hop:
        at = place(url)
        is_here = at.startswith("/")
        return Hop(url, *files.status_of(at.partition("?")[0])) if is_here else Hop(url, None, fault=_ELSEWHERE)

    probe = with_redirects([replace(row, source=place_of(row.source)) for row in rows], place, answer)
    return [_end(trail(probe, url)) for url in urls]


def _end(hops: Sequence[Hop]) -> UrlEnd:
    """How a URL ends. What failed for another reason than that there is no page is unknown, not lost."""
    first, last = hops[0], hops[-1]
    target = last.url if len(hops) > 1 else ""
    if last.location:
        return UrlEnd(first.url, "lost", last.location, last.status, f"its redirects never end: {last.location}")
    if last.status == 200 or (target and last.fault == _ELSEWHERE):
        return UrlEnd(first.url, "redirected" if target else "there", target, last.status or first.status)
    ended = "lost" if last.status in _LOST else "unknown"
    by = f" after a redirect to {target}" if target else ""
    return UrlEnd(first.url, ended, target, last.status, f"{last.sentence}{by}")
