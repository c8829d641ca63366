"""Finds soft 404s: by what pages say, and by what the site returns for names that cannot exist, which it requests."""

import sqlite3
from collections import Counter
from collections.abc import Iterator
from hashlib import blake2b
from typing import Final

import msgspec

from crawler.audit.media import MediaRequests
from crawler.config.plan import CrawlPlan
from crawler.crawl.indexability import is_readable
from crawler.crawl.visit import parser_options
from crawler.fetch.fetcher import Fetcher
from crawler.fetch.limits import BodyLimits
from crawler.model import FetchedDocument, Page, Reply, State, Url
from crawler.parse.html.page import scan_page
from crawler.parse.snapshot.not_found import (
    PageWords,
    has_title,
    is_called_not_found,
    is_soft_404,
    page_words,
    says_little,
)
from crawler.parse.snapshot.snapshot import load_snapshot, take_document_snapshot
from crawler.robots.cache import RobotsCache
from crawler.state.database import storage_errors, transaction
from crawler.url.resolve import UrlResolver

MAX_DIRECTORIES: Final = 4
"""Directories of the site, beside its root, in which a name that cannot exist is requested: those with most pages."""
_MIN_PAGES: Final = 3  # of such a directory
_MAX_SHARE: Final = 0.5  # of the pages; if more say the same, scripts write the pages
_MAX_BODY: Final = 2**20
_LIMITS: Final = BodyLimits(wire=_MAX_BODY, decoded=_MAX_BODY, refuse=2**62, ratio=2**30)
_LETTERS: Final = str.maketrans("0123456789", "ghijklmnop")
_URLS: Final = "SELECT u.url FROM site.visit v JOIN site.url u ON u.id = v.id WHERE v.state = ?"
_PAGES: Final = """SELECT v.id, u.url, v.content, c.page FROM site.visit v JOIN site.url u ON u.id = v.id
  JOIN site.content c ON c.id = v.content WHERE v.state = ? AND u.url >= ? AND u.url < ? AND u.url != ?"""
_TEXT: Final = "SELECT text FROM site.content WHERE id = ?"
_page = msgspec.msgpack.Decoder(Page).decode


async def find_soft_404s(plan: CrawlPlan, fetcher: Fetcher, robots: RobotsCache, db: sqlite3.Connection) -> None:
    """Store the ids of the pages that are soft 404s in the table ``soft_404`` of ``db``. Raises StorageError.

    Sends one request for the site and one for each of its largest directories, paced and as robots.txt allows.
    """
    with transaction(db):
        db.executemany("INSERT OR IGNORE INTO soft_404 VALUES (?)", list(_called_not_found(db, plan.seed)))
    requests = MediaRequests(plan.config, fetcher, robots)
    for directory in _directories(db, plan.seed) if plan.source is None else ():
        url = impossible_url(directory)
        answer = await requests.get(url, _LIMITS)
        if isinstance(answer, Reply) and answer.status == 200 and is_readable(answer):
            document = FetchedDocument.of_reply(answer)
            page = scan_page(document, parser_options(plan).options, UrlResolver(plan.params), answer.fetched_at, "")
            markup = load_snapshot(take_document_snapshot(document)) or ""
            found = list(_alike(db, directory, plan.seed, page_words(url, page.title, markup)))
            with transaction(db):
                db.executemany("INSERT OR IGNORE INTO soft_404 VALUES (?)", found)


def impossible_url(directory: str) -> Url:
    """A URL in a directory that cannot exist; the same in every audit. Its name is one word."""
    digest = blake2b(directory.encode(), digest_size=8).hexdigest()
    return Url(f"{directory}siteatlas{digest.translate(_LETTERS)}")


def _directories(db: sqlite3.Connection, seed: Url) -> list[str]:
    """The directory of the start URL, then those below it with the most pages, by the first part of the path."""
    root = f"{seed.rpartition('/')[0]}/"
    sections = Counter[str]()
    with storage_errors():
        for (url,) in db.execute(_URLS, (State.INDEXABLE,)):
            first, slash, _ = url.removeprefix(root).partition("?")[0].partition("/")
            if slash and url.startswith(root):
                sections[f"{root}{first}/"] += 1
    return [root, *(section for section, count in sections.most_common(MAX_DIRECTORIES) if count >= _MIN_PAGES)]


def _called_not_found(db: sqlite3.Connection, seed: Url) -> Iterator[tuple[int]]:
    """The ids of the short pages whose titles say that they do not exist."""
    with storage_errors():
        for number, url, content, packed in db.execute(_PAGES, (State.INDEXABLE, "http", "httq", seed)):
            title = _page(packed).title
            if is_called_not_found(title) and says_little(page_words(url, title, _markup(db, content))):
                yield (number,)


def _alike(db: sqlite3.Connection, directory: str, seed: Url, not_found: PageWords) -> Iterator[tuple[int]]:
    """The ids of the pages in a directory that say the same, unless most of its pages do."""
    found, pages = [], 0
    with storage_errors():
        for number, url, content, packed in db.execute(
            _PAGES, (State.INDEXABLE, directory, f"{directory[:-1]}0", seed)
        ):
            pages += 1
            title = _page(packed).title
            if not has_title(page_words(url, title, ""), not_found):
                continue  # reading a text takes longer
            if is_soft_404(page_words(url, title, _markup(db, content)), not_found):
                found.append((number,))
    if len(found) <= _MAX_SHARE * pages:
        yield from found


def _markup(db: sqlite3.Connection, content: int) -> str:
    (text,) = db.execute(_TEXT, (content,)).fetchone()
    return load_snapshot(text) or ""
