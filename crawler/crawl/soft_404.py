"""Finds soft 404s: by what pages say, and by what the site returns for names that cannot exist, which it requests.

It runs when a crawl is complete. :mod:`crawler.parse.snapshot.not_found` has the rule.
"""

import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final

import msgspec

from crawler.crawl.indexability import is_readable
from crawler.crawl.page_fetcher import PageFetcher
from crawler.crawl.second_reads import wait_for_turn
from crawler.fetch.throttle import Throttle
from crawler.model import FetchedDocument, Page, Reply, State, Url
from crawler.parse.pool import ParsePool
from crawler.parse.snapshot.not_found import (
    NUMBER,
    PageWords,
    has_title,
    is_called_not_found,
    is_soft_404,
    numbered,
    page_words,
    says_little,
)
from crawler.parse.snapshot.snapshot import load_markup
from crawler.render.renderer import Renderer
from crawler.state.database import storage_errors, transaction
from crawler.url.normalize import origin_of

_MIN_PAGES: Final = 3  # of a directory in which a name is requested, beside that of the start URL
_MAX_SHARE: Final = 0.5  # of the pages; if more say the same, scripts write the pages
_LETTERS: Final = str.maketrans("0123456789", "ghijklmnop")
_URLS: Final = "SELECT u.url FROM visit v JOIN url u ON u.id = v.id WHERE v.state = ?"
_PAGES: Final = """SELECT v.id, u.url, v.content, c.page FROM visit v JOIN url u ON u.id = v.id
  JOIN content c ON c.id = v.content WHERE v.state = ? AND u.url >= ? AND u.url < ? AND u.url != ?"""
_TEXT: Final = "SELECT text FROM content WHERE id = ?"
_MARK: Final = f"UPDATE visit SET state = '{State.SOFT_404}', reason = ? WHERE id = ?"  # noqa: S608 - our own
_SAYS_SO: Final = "it returns 200, but its title says that the page does not exist"
_LIKE_NOTHING: Final = "it returns 200 and the same page as {}, which does not exist"
_page = msgspec.msgpack.Decoder(Page).decode


@dataclass(slots=True)
class Soft404s:
    """The search for the soft 404s of a site, the start URL of which is ``seed``.

    Its requests do not count as fetched URLs of the site.
    """

    fetcher: PageFetcher
    throttle: Throttle
    pool: ParsePool
    seed: Url
    renderer: Renderer | None = None

    async def run(self, db: sqlite3.Connection, requests: int, is_stopping: Callable[[], bool]) -> None:
        """Give the pages that are soft 404s their state. Raises StorageError.

        Sends at most ``requests``, one for the directory of the start URL and one for each of its largest
        directories, at the pace of the crawl and as robots.txt allows.
        """
        _mark(db, [(_SAYS_SO, number) for number in _called_not_found(db, self.seed)])
        for directory in _directories(db, self.seed)[:requests]:
            if not await wait_for_turn(self.throttle, origin_of(self.seed), is_stopping):
                return
            url = impossible_url(directory)
            if not await self.fetcher.is_allowed(url):
                continue
            answer = await self._request(url)
            if answer is None:
                return
            if answer.status == 200 and is_readable(answer):
                page = await self.pool.read(FetchedDocument.of_reply(answer))
                if self.renderer:  # a script may write the same for all names that do not exist
                    page = await self.renderer.read(answer, page, None)
                nothing = page_words(url, page.title, load_markup(page.text))
                _mark(db, [(_LIKE_NOTHING.format(url), number) for number in _alike(db, directory, self.seed, nothing)])

    async def _request(self, url: Url) -> Reply | None:
        """The response to a name that cannot exist; None if the site does not respond, or a firewall does."""
        self.throttle.start(url, self.throttle.clock())
        fetched = await self.fetcher.fetch_again(url)
        return None if fetched.challenge or not isinstance(fetched.answer, Reply) else fetched.answer


def impossible_url(directory: str) -> Url:
    """A URL in a directory that cannot exist; the same in every run. Its name is one word."""
    digest = blake2b(directory.encode(), digest_size=8).hexdigest()
    return Url(f"{directory}siteatlas{digest.translate(_LETTERS)}")


def _mark(db: sqlite3.Connection, found: list[tuple[str, int]]) -> None:
    if found:
        with transaction(db):
            db.executemany(_MARK, found)


def _directories(db: sqlite3.Connection, seed: Url) -> list[str]:
    """The directory of the start URL, then those below it by their pages, by the first part of the path."""
    root = f"{seed.partition('?')[0].rpartition('/')[0]}/"
    sections = Counter[str]()
    with storage_errors():
        for (url,) in db.execute(_URLS, (State.INDEXABLE,)):
            first, slash, _ = url.removeprefix(root).partition("?")[0].partition("/")
            if slash and url.startswith(root):
                sections[f"{root}{first}/"] += 1
    return [root, *(section for section, count in sections.most_common() if count >= _MIN_PAGES)]


def _called_not_found(db: sqlite3.Connection, seed: Url) -> Iterator[int]:
    """The ids of the short pages whose titles say that they do not exist, unless these are numbers of a series."""
    found: list[tuple[int, str]] = []
    with storage_errors():
        for number, url, content, packed in db.execute(_PAGES, (State.INDEXABLE, "http", "httq", seed)):
            title = _page(packed).title
            if is_called_not_found(title) and says_little(page_words(url, title, _markup(db, content))):
                found.append((number, title))
    series = _series(db, seed, {rest for _, title in found for first, rest in [numbered(title)] if first})
    yield from (number for number, title in found if numbered(title)[1] not in series)


def _series(db: sqlite3.Connection, seed: Url, rests: set[str]) -> set[str]:
    """Those of the rests of titles that stand behind another number, too."""
    found: set[str] = set()
    if rests:
        with storage_errors():
            for _, _, _, packed in db.execute(_PAGES, (State.INDEXABLE, "http", "httq", seed)):
                first, rest = numbered(_page(packed).title)
                if rest in rests and first not in ("", NUMBER):
                    found.add(rest)
    return found


def _alike(db: sqlite3.Connection, directory: str, seed: Url, not_found: PageWords) -> Iterator[int]:
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
                found.append(number)
    if len(found) <= _MAX_SHARE * pages:
        yield from found


def _markup(db: sqlite3.Connection, content: int) -> str:
    (text,) = db.execute(_TEXT, (content,)).fetchone()
    return load_markup(text)
