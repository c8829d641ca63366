"""Opens the two sides of a move, and what commands of moves share: words, lists of URLs, output files."""

import re
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import anyio

from crawler.api import crawl_site
from crawler.cli.options import site_config
from crawler.cli.sites import audited_directories, state_directories
from crawler.config.plan import AUDIT
from crawler.crawl.documents import is_url, named_files, open_documents
from crawler.crawl.sitemap_download import Downloader, origins_of
from crawler.dataset.build import open_dataset
from crawler.errors import NothingCrawlable, UsageError
from crawler.model import Url
from crawler.moves.formats import Redirect, read_map
from crawler.moves.inventory import named_urls, place_of, read_folder, read_state, read_urls
from crawler.moves.matcher import Grade, Inventory, Match
from crawler.moves.probe import live_ends
from crawler.state.schema import STATE_DB
from crawler.url.normalize import origin_of
from sitemap import SitemapError, iter_entries, replacement

_SITEMAPS = (".xml", ".xml.gz")
UNKNOWN_PATH = "/siteatlas-asks-for-no-page"
_MAX_BYTES = 50 * 2**20  # of a sitemap: https://www.sitemaps.org/protocol.html


def open_side(word: str, flags: Mapping[str, Any], origin: str = "", *, former: bool = False) -> Inventory:
    """One side of a move: a state directory, with ``@RUN`` as of a run; a folder of pages; a URL; a sitemap or list.

    ``former``: of a state, also the pages that it does not list any more. Raises UsageError, NothingCrawlable.
    """
    name, mark, run = word.rpartition("@")
    if mark and run.isdecimal() and (state := state_in(Path(name))):
        return read_state(state, int(run), former=True)
    path = Path(word)
    if path.is_dir():
        state = state_in(path)
        return read_state(state, former=former) if state else read_folder(path, origin)
    if is_url(word) and not word.lower().endswith((*_SITEMAPS, ".txt")):
        return _crawled(word, flags)
    if is_sitemap(word):
        return read_urls(sitemap_urls(word, flags))
    try:
        listed = path.read_bytes()
        if listed.startswith(b"SQLite format 3\0"):
            raise UsageError(f"{word} is a database, which has no texts of pages. Give the state directory of the site")
        return read_urls(named_urls(listed.decode(errors="replace")))
    except OSError as error:
        raise UsageError(f"{word} cannot be read: {error.strerror}. Give a state, a folder, a URL or a file") from None


def state_in(place: Path) -> Path | None:
    """The state of the one site in a directory, None if it has no state. Raises UsageError if it has several."""
    if STATE_DB.is_in(place):
        return place
    found = state_directories(place) or [site / AUDIT for site in audited_directories(place)]
    if len(found) > 1:
        raise UsageError(f"{place} has several sites. Name one: {', '.join(map(str, found))}")
    return found[0] if found else None


def is_sitemap(word: str) -> bool:
    """Whether a word names a sitemap, or a URL where one is looked for."""
    return is_url(word) or word.lower().endswith(_SITEMAPS)


def sitemap_urls(word: str, flags: Mapping[str, Any]) -> list[str]:
    """The URLs of a sitemap, by file or URL. Raises UsageError, NothingCrawlable."""
    try:
        if not is_url(word):
            (document,) = open_documents([word], named_files([word], ""), "", None, _say)
            return [entry.loc for entry in iter_entries(document.source)]
        with Downloader(site_config(None, flags, word), origins_of([word]), _MAX_BYTES) as remote:
            documents = open_documents([word], {}, "", remote, _say)
            return [e.loc for d in documents for e in iter_entries(d.source, d.opener, d.url)]
    except SitemapError as error:
        raise NothingCrawlable(f"{word} cannot be read: {error}") from None


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")


def _crawled(url: str, flags: Mapping[str, Any]) -> Inventory:
    """The pages of a site, crawled now. Its robots.txt, pace and limits hold as in siteatlas crawl."""
    with tempfile.TemporaryDirectory(prefix="siteatlas-") as directory:
        layers = {**flags, "output__directory": f"{directory}/out", "state__directory": f"{directory}/state"}
        config = site_config(None, layers, url)
        report = anyio.run(lambda: crawl_site(config))
        state = state_in(Path(directory) / "state")
        if state is None or report.published is None:
            raise NothingCrawlable(f"{url} has no pages: siteatlas crawl {url} shows why")
        return read_state(state)


def found_at(origin: str, paths: Sequence[str], flags: Mapping[str, Any]) -> dict[str, Match]:
    """The matches of the paths of a live site that answer 200 or redirect to a page of it, at the pace of a crawl.

    Where a path that does not exist leads tells nothing.
    """
    urls = [origin + path for path in (UNKNOWN_PATH, *paths)] if paths else []
    places = {
        place_of(end.url): place_of(end.target or end.url)
        for end in live_ends(urls, site_config(None, flags, origin))
        if end.ended in ("there", "redirected") and origin_of(Url(end.target or end.url)) == origin
    }
    nowhere = {places.get(UNKNOWN_PATH, "/").partition("?")[0], "/"}
    return {
        path: Match(path, place, Grade.SURE, "the same path" if place == path else "the site redirects it there")
        for path, place in places.items()
        if not {UNKNOWN_PATH, place.partition("?")[0]} & nowhere
    }


def map_rows(path: Path) -> list[Redirect]:
    """The rows of a map of redirects. Raises UsageError."""
    try:
        return read_map(path.read_text(encoding="utf-8", errors="surrogateescape"), str(path))
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from None


def visits_of(word: str) -> Counter[str]:
    """Visits and clicks by path, of the sources of the last audit of a state."""
    counts: Counter[str] = Counter()
    place = Path(re.sub(r"@\d+$", "", word))
    if place.is_dir() and (state := state_in(place)):
        # what an audit read of logs belongs to the site
        with closing(open_dataset(state.parent if state.name == AUDIT else state)) as db:
            for number, table in ("people + bots", "visits"), ("clicks", "search"):
                rows = db.execute(f"SELECT url, sum({number}) FROM {table} GROUP BY 1")  # noqa: S608 - our own
                counts.update({place_of(url): count or 0 for url, count in rows})
    return counts


def write_output(text: str, output: Path | None) -> None:
    """Write a text to a file, or to standard output. Raises UsageError."""
    if output is None:
        sys.stdout.write(text)
        return
    try:
        with replacement(output) as file:
            file.write(text.encode("utf-8", "surrogateescape"))
    except OSError as error:
        raise UsageError(f"{output} cannot be written: {error.strerror}") from None
