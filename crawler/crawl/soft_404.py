"""Finds soft 404s: pages that are like what the site returns for names that cannot exist, which it requests.

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
from crawler.crawl.recheck import is_partial
from crawler.crawl.second_reads import wait_for_turn
from crawler.fetch.throttle import Throttle
from crawler.model import FetchedDocument, Page, Reply, State, Url
from crawler.parse.pool import ParsePool
from crawler.parse.snapshot.not_found import (
    PageWords,
    has_title,
    is_soft_404,
    is_titled_not_found,
    page_words,
    says_nothing_else,
)
from crawler.parse.snapshot.snapshot import load_markup
from crawler.render.renderer import Renderer
from crawler.state.database import storage_errors, transaction
from crawler.url.normalize import origin_of

_MIN_PAGES: Final = 3  # of a part of the site in which a name is requested, beside the directory of the start URL
_LARGEST: Final = 5  # parts in which a name is requested although no two pages share a title
_MAX_TITLES: Final = 200_000  # in memory, about 80 bytes each
_MAX_SHARE: Final = 0.5  # of the pages; if more say the same, scripts write the pages
_LETTERS: Final = str.maketrans("0123456789", "ghijklmnop")
_PAGES: Final = """SELECT v.id, u.url, v.content, c.page FROM {} v JOIN url u ON u.id = v.id
  JOIN content c ON c.id = v.content WHERE v.state = ? AND u.url >= ? AND u.url < ? AND u.url != ?"""
# What may be a soft 404 in a run that does not ask for all pages, beside those that the run before found.
_DOUBTFUL: Final = f"""(SELECT a.* FROM asked_visit a LEFT JOIN memory m ON m.id = a.id
  WHERE a.content IS NOT m.content OR m.state = '{State.SOFT_404}')"""  # noqa: S608 - our own
_TEXT: Final = "SELECT text FROM content WHERE id = ?"
_MARK: Final = f"UPDATE visit SET state = '{State.SOFT_404}', reason = ? WHERE id = ?"  # noqa: S608 - our own
_SAYS_NOTHING: Final = "it says that the page does not exist, and hardly anything else"
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
    _left: int = 0  # requests

    async def run(self, db: sqlite3.Connection, requests: int, is_stopping: Callable[[], bool]) -> None:
        """Give the pages that are soft 404s their state. Raises StorageError.

        Sends at most ``requests``, one for each part of the site (see :func:`_parts`), at the pace of the crawl and as
        robots.txt allows. Where the response says that nothing exists, a second one shows whether its text varies.
        """
        self._left = requests
        _mark(db, [(_SAYS_NOTHING, number) for number in _empty_handed(db, self.seed)])
        for part in _parts(db, self.seed):
            url = impossible_url(part)
            nothing = await self._words(url, is_stopping)
            if nothing:
                again = await self._words(impossible_url(f"{part}siteatlas"), is_stopping) if nothing.phrases else None
                varies = again is not None and not is_soft_404(again, nothing)
                alike = _alike(db, part, self.seed, nothing, varies=varies)
                _mark(db, [(_LIKE_NOTHING.format(url), number) for number in alike])

    async def _words(self, url: Url, is_stopping: Callable[[], bool]) -> PageWords | None:
        """What the site says for a name that cannot exist; None without a good response, and when no request is left.

        None is left after one to which the site does not respond, or a firewall does.
        """
        if not self._left or not await wait_for_turn(self.throttle, origin_of(self.seed), is_stopping):
            return None
        if not await self.fetcher.is_allowed(url):
            return None
        self._left -= 1
        self.throttle.start(url, self.throttle.clock())
        fetched = await self.fetcher.fetch_again(url)
        answer = fetched.answer
        if fetched.challenge or not isinstance(answer, Reply):
            self._left = 0
            return None
        if answer.status != 200 or not is_readable(answer):
            return None
        page = await self.pool.read(FetchedDocument.of_reply(answer))
        if self.renderer:  # a script may write the same for all names that do not exist
            page = await self.renderer.read(answer, page, None)
        return page_words(url, page.title, load_markup(page.text))


def _empty_handed(db: sqlite3.Connection, seed: Url) -> list[int]:
    """The ids of the pages that say that nothing is there, and hardly anything else."""
    root = _root(seed)
    with storage_errors():
        rows = db.execute(_PAGES.format("asked_visit"), (State.INDEXABLE, root, f"{root[:-1]}0", seed))
        titled = [
            (number, url, content, title)
            for number, url, content, packed in rows
            if is_titled_not_found(url, title := _page(packed).title)
        ]
        return [
            number
            for number, url, content, title in titled
            if says_nothing_else(page_words(url, title, _markup(db, content)))
        ]


def impossible_url(part: str) -> Url:
    """A URL that begins with ``part`` and cannot exist; the same in every run. Its name is one word."""
    digest = blake2b(part.encode(), digest_size=8).hexdigest()
    return Url(f"{part}siteatlas{digest.translate(_LETTERS)}")


def _mark(db: sqlite3.Connection, found: list[tuple[str, int]]) -> None:
    if found:
        with transaction(db):
            db.executemany(_MARK, found)


def _parts(db: sqlite3.Connection, seed: Url) -> list[str]:
    """What the URLs of each part of the site begin with: the directory of the start URL, then the likeliest ones.

    These are the parts with pages that share their title with another page, as soft 404s do, then the largest. When
    the run does not ask for all pages, they are those of pages that may be soft 404s.
    """
    root, is_whole = _root(seed), not is_partial(db)
    of, fewest = ("visit", _MIN_PAGES) if is_whole else (_DOUBTFUL, 1)
    sizes, alike = Counter[str](), Counter[str]()
    titles: dict[int, str] = {}
    with storage_errors():
        for _, url, _, packed in db.execute(_PAGES.format(of), (State.INDEXABLE, root, f"{root[:-1]}0", seed)):
            part = _part(url, root)
            title = hash(_page(packed).title)
            sizes[part] += 1
            if other := titles.get(title):
                alike.update((part, other))
            elif len(titles) < _MAX_TITLES:
                titles[title] = part
    likely = [part for part, _ in alike.most_common() if sizes[part] >= fewest]
    rest = [part for part, count in sizes.most_common() if count >= fewest and part not in alike]
    if not (is_whole or sizes):
        return []
    return [*dict.fromkeys([root, *likely, *rest[: max(0, _LARGEST - len({root, *likely}))]])]


def _root(seed: Url) -> str:
    return f"{seed.partition('?')[0].rpartition('/')[0]}/"


def _part(url: Url, root: str) -> str:
    """The part of the site that a URL belongs to: the directory of the start URL, or one directly below it."""
    section, _, name = url.removeprefix(root).partition("?")[0].partition("/")
    return f"{root}{section}/" if name else root


def _alike(db: sqlite3.Connection, part: str, seed: Url, not_found: PageWords, *, varies: bool) -> Iterator[int]:
    """The ids of the pages in a part of the site that say the same, unless most of its pages do."""
    found, pages = [], 0
    with storage_errors():
        for number, url, content, packed in db.execute(
            _PAGES.format("visit"), (State.INDEXABLE, part, f"{part[:-1]}0", seed)
        ):
            pages += 1
            title = _page(packed).title
            if not has_title(page_words(url, title, ""), not_found):
                continue  # reading a text takes longer
            if is_soft_404(page_words(url, title, _markup(db, content)), not_found, varies=varies):
                found.append(number)
    if len(found) <= _MAX_SHARE * pages:
        yield from found


def _markup(db: sqlite3.Connection, content: int) -> str:
    (text,) = db.execute(_TEXT, (content,)).fetchone()
    return load_markup(text)
