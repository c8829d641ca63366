"""Fetches some pages a second time, seconds after the first: what differs between the two is no change of the page.

It runs when a crawl is complete and some pages differ from the run before. The caller chooses
the pages, in rounds; it may choose a page again. The requests are unconditional, at the pace of the crawl.
"""

import sqlite3
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final

import anyio
import msgspec
from msgspec import Struct

from crawler.crawl.page_fetcher import PageFetcher
from crawler.fetch.throttle import Throttle
from crawler.model import DiscoveredBy, FetchedDocument, Page, Reply, Url
from crawler.parse.pool import ParsePool
from crawler.parse.snapshot.diff import Delta, joined
from crawler.render.renderer import Renderer
from crawler.state.database import storage_errors, transaction
from crawler.url.normalize import origin_of

MAX_PAUSE: Final = 60.0
"""Seconds that the server may ask to wait, beyond which no more requests are sent after a crawl."""
_SELECT: Final = """SELECT u.url, c.digest, c.text, c.page FROM visit v JOIN url u ON u.id = v.id
  JOIN content c ON c.id = v.content WHERE v.id = ?"""
_KNOWN: Final = "SELECT delta FROM second_read WHERE id = ? AND delta IS NOT NULL"
_STORE: Final = "INSERT OR REPLACE INTO second_read VALUES (?, ?, ?)"
_ADD_TO_TRAIL: Final = "UPDATE visit SET trail = trail || ? WHERE id = ?"
_decode_page = msgspec.msgpack.Decoder(Page).decode
_decode_delta = msgspec.msgpack.Decoder(Delta).decode
_UNCHANGED: Final = msgspec.msgpack.encode(Delta())


class _SecondRead(Struct):
    """One page to fetch again, then with its request as in the trail, and what differs, None when that is unknown."""

    id: int
    url: Url
    digest: bytes
    text: bytes
    page: bytes | None
    trail: str = ""
    delta: bytes | None = None


@dataclass(slots=True)
class SecondReads:
    """Fetches pages a second time. ``fetched`` counts the requests, ``bytes`` what they received.

    ``links`` are the links and frames of the reads by page, None for a read that is equal to the first. When a firewall
    responds with a challenge (``is_challenged``), no more pages are fetched twice.
    """

    fetcher: PageFetcher
    throttle: Throttle
    pool: ParsePool
    renderer: Renderer | None = None
    fetched: int = 0
    bytes: int = 0
    is_challenged: bool = False
    links: dict[int, list[frozenset[Url] | None]] = field(default_factory=dict)

    async def run(self, db: sqlite3.Connection, run: int, rounds: "Rounds", is_stopping: Callable[[], bool]) -> None:
        """Fetch the pages of each round again and store what differs. Raises StorageError."""
        for ids in rounds(self):
            with storage_errors():
                pages = [_SecondRead(number, *db.execute(_SELECT, (number,)).fetchone()) for number in ids]
            is_over = not await self._fetch_all(pages, is_stopping)
            with transaction(db):
                for page in pages:
                    page.delta = _with_earlier(db, page)
                db.executemany(_STORE, [(page.id, run, page.delta) for page in pages if page.trail or not is_over])
                db.executemany(_ADD_TO_TRAIL, [(page.trail, page.id) for page in pages if page.trail])
            if is_over:
                return

    async def _fetch_all(self, pages: Iterable[_SecondRead], is_stopping: Callable[[], bool]) -> bool:
        """Fetch pages at the pace of the crawl. False when that stopped early."""
        async with anyio.create_task_group() as tasks:
            for page in pages:
                if not await wait_for_turn(
                    self.throttle, origin_of(page.url), lambda: self.is_challenged or is_stopping()
                ):
                    return False
                self.throttle.start(page.url, self.throttle.clock())
                tasks.start_soon(self._fetch, page)
        return not self.is_challenged

    async def _fetch(self, page: _SecondRead) -> None:
        again = await self.fetcher.fetch_again(page.url)
        answer = again.answer
        self.fetched += 1
        page.trail = again.request.line()
        self.is_challenged = self.is_challenged or again.challenge is not None
        if again.challenge or not isinstance(answer, Reply):
            return
        self.bytes += answer.wire_bytes
        if answer.status == 200 and not answer.cut:
            read = await self._read(answer, page)
            links = frozenset(url for url, found in read.links if found & (DiscoveredBy.LINK | DiscoveredBy.FRAME))
            self.links.setdefault(page.id, []).append(None if read.is_known else links)
            page.delta = _UNCHANGED if read.is_known else read.delta or None

    async def _read(self, answer: Reply, page: _SecondRead) -> Page:
        """The page of the second response, read as it was the first time."""
        if self.renderer and page.page and _decode_page(page.page).rendered:
            return await self.renderer.read_again(answer, page.digest, page.text)
        return await self.pool.read(FetchedDocument.of_reply(answer, known=page.digest, before=page.text))


def _with_earlier(db: sqlite3.Connection, page: _SecondRead) -> bytes | None:
    """What differed at this read of a page, and at the reads before it in this run."""
    known = db.execute(_KNOWN, (page.id,)).fetchone()
    if known is None or page.delta is None:
        return known[0] if known else page.delta
    return msgspec.msgpack.encode(joined(_decode_delta(known[0]), _decode_delta(page.delta)))


Rounds = Callable[[SecondReads], Iterable[list[int]]]
"""Gives the ids of the pages to read again, in rounds. The reads of a round are stored before the next is asked for."""


async def wait_for_turn(throttle: Throttle, origin: str, is_stopping: Callable[[], bool]) -> bool:
    """Wait until the next request to an origin is due. False when that takes too long or ``is_stopping``."""
    while (pause := throttle.seconds_until_ready(origin, throttle.clock())) > 0:
        if pause > MAX_PAUSE or is_stopping():
            return False
        await anyio.sleep(min(pause, 1.0))
    return not is_stopping()
