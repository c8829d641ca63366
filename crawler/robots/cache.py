"""The robots.txt of every origin: fetched once, and again when it expires. ``rules.py`` decides what answers mean.

The table ``robots`` of the state keeps the last answer and the last readable copy.
"""

import sqlite3
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from typing import Final

import anyio
from msgspec import Struct

from crawler.fetch.fetcher import Fetcher
from crawler.fetch.limits import ROBOTS_BODY
from crawler.fetch.paced_fetcher import Retries, follow
from crawler.fetch.retry import RetryPolicy
from crawler.model import Failure, Reply
from crawler.robots.rules import (
    Robots,
    RobotsAccess,
    allow_all,
    disallow_all,
    parse_robots,
    previous_or_fresh,
    robots_or_text,
)
from crawler.state.database import storage_errors
from crawler.url.normalize import DEFAULT_PARAMS, normalize_url
from crawler.url.params import UrlParams

_GET: Final = "SELECT fetched_at, status, said, body, copy_at FROM robots WHERE origin = ?"
_PUT: Final = """INSERT OR REPLACE INTO robots (origin, fetched_at, status, said, body, copy_at)
  VALUES (?, ?, ?, ?, ?, ?)"""
_PUT_UNREACHABLE: Final = """INSERT INTO robots (origin, fetched_at, status, said, body) VALUES (?, ?, ?, ?, x'')
  ON CONFLICT (origin) DO UPDATE SET fetched_at = excluded.fetched_at, status = excluded.status, said = excluded.said"""


class StoredRobots(Struct, frozen=True):
    """The robots.txt of one origin. Times are Unix times.

    ``fetched_at``, ``status`` (None: no answer) and ``meaning``, a sentence, are of the last answer.
    ``body`` is the last readable one, of the time ``copy_at`` (None: there is none).
    """

    fetched_at: float
    status: int | None
    meaning: str
    body: bytes
    copy_at: float | None

    def last_readable(self, user_agent: str) -> Robots | None:
        """The rules of the last readable copy, with their original expiry, or None."""
        return None if self.copy_at is None else parse_robots(self.body, user_agent, self.copy_at)

    def current(self, copy: Robots | None) -> Robots:
        """The rules that hold since the last answer; ``copy`` has those of the last readable one."""
        if copy is not None and self.copy_at == self.fetched_at:
            return copy
        if self.status is not None and 300 <= self.status < 500 and self.status not in (304, 429):
            return allow_all(self.meaning, self.fetched_at)
        return previous_or_fresh(disallow_all(self.meaning, self.fetched_at), copy, self.fetched_at)


class RobotsStore:
    """Stores the answers in the state of one site. Every method may raise StorageError.

    A write is part of the caller's transaction, if there is one.
    """

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def get(self, origin: str) -> StoredRobots | None:
        """The stored robots.txt of an origin, None without one."""
        with storage_errors():
            row = self._db.execute(_GET, (origin,)).fetchone()
        return StoredRobots(*row) if row else None

    def put(self, origin: str, robots: Robots, answer: Reply | None, now: float) -> None:
        """Store an answer (None: there was none) and its rules. ``now`` is Unix time.

        An "unreachable" answer keeps the stored copy (RFC 9309 2.3.1.4); every other answer replaces it.
        """
        status = answer.status if answer else None
        with storage_errors():
            if robots.access is RobotsAccess.NOTHING:
                self._db.execute(_PUT_UNREACHABLE, (origin, now, status, robots.reason))
            elif robots.access is RobotsAccess.RULES and answer:
                self._db.execute(_PUT, (origin, now, status, "its rules hold", answer.body, now))
            else:
                self._db.execute(_PUT, (origin, now, status, robots.reason, b"", None))


MAX_REDIRECTS = 5  # RFC 9309 2.3.1.2
MAX_WEIGHT: Final = 48 * 2**20
"""Bytes of rules in memory, roughly: those of tens of thousands of origins, or of two of the largest robots.txt."""
MAX_RETRIES: Final = RetryPolicy(2, first=0.5, longest=150.0)
_ONCE: Final = RetryPolicy()


ReadRobots = Callable[[bytes, float], Awaitable[Robots]]
"""Reads a robots.txt of this Unix time for the user agent of the crawl. Never raises."""


class RobotsCache:
    """The rules of every origin of a crawl. ``obey=False`` allows everything, and reads only the Sitemap lines.

    ``read`` reads the text. ``kept`` stores every answer across runs. Each run fetches anew; for an unreachable origin
    the stored copy holds for 24 hours (RFC 9309 2.3.1.4 and 2.4). ``params`` normalize the URLs of the crawl; ``clock``
    gives Unix time.

    Memory holds the rules of the origins used last (:data:`MAX_WEIGHT`). Those of the others are read from ``kept``
    again, or fetched again without it.
    """

    def __init__(
        self,
        fetcher: Fetcher,
        read: ReadRobots,
        *,
        obey: bool = True,
        kept: RobotsStore | None = None,
        params: UrlParams = DEFAULT_PARAMS,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._fetcher = fetcher
        self._read = read
        self._obey = obey
        self._kept = kept
        self._clock = clock
        self._params = params.keeping_all
        self._cache: OrderedDict[str, Robots] = OrderedDict()  # the origin used last is the last
        self._weight = 0
        self._expiries: dict[str, float] = {}  # of what this run fetched, and kept
        self._locks: dict[str, anyio.Lock] = {}

    def cached(self, origin: str, now: float) -> Robots | None:
        """The rules of an origin, None when they are unknown or expired."""
        robots = self._cache.get(origin)
        if robots is None or robots.expires <= now:
            return None
        self._cache.move_to_end(origin)
        return robots

    async def get(self, origin: str) -> Robots:
        """The rules of an origin, fetched when they are unknown. Raises StorageError, but nothing for a bad server."""
        if known := self.cached(origin, self._clock()):
            return known  # without waiting, since every page needs this
        async with self._locks.setdefault(origin, anyio.Lock()):
            now = self._clock()
            known = self.cached(origin, now)
            if known is None:
                known = await self._read_again(origin, now) or await self._fetch_anew(origin, now)
                self._put(origin, known)
            return known

    async def ask_again(self, origins: Iterable[str]) -> None:
        """Ask once more for each robots.txt that failed while its copy held: ``kept`` has the last answer of the run.

        The rules in memory stay those that the run obeyed. Raises StorageError.
        """
        for origin in origins:
            stored = self._kept.get(origin) if self._kept else None
            if stored and stored.copy_at is not None and stored.copy_at < stored.fetched_at:
                await self._fetch(origin, _ONCE)

    def _put(self, origin: str, robots: Robots) -> None:
        """Remember rules, and forget those used longest ago; never the last ones, however large."""
        if earlier := self._cache.pop(origin, None):
            self._weight -= earlier.weight
        self._cache[origin] = robots
        self._weight += robots.weight
        while self._weight > MAX_WEIGHT and len(self._cache) > 1:
            self._weight -= self._cache.popitem(last=False)[1].weight

    async def _read_again(self, origin: str, now: float) -> Robots | None:
        """The rules that this run has fetched before, and forgotten."""
        stored = self._kept.get(origin) if self._kept and self._expiries.get(origin, 0.0) > now else None
        if stored is None:
            return None
        robots = stored.current(await self._copy(stored))
        return robots if self._obey else _allow_all(robots)

    async def _fetch_anew(self, origin: str, now: float) -> Robots:
        stored = self._kept.get(origin) if self._kept and self._obey else None
        fresh = await self._fetch(origin)
        copy = await self._copy(stored) if stored and fresh.access is RobotsAccess.NOTHING else None
        robots = previous_or_fresh(fresh, copy, now)
        if self._kept:
            self._expiries[origin] = robots.expires
        return robots

    async def _fetch(self, origin: str, policy: RetryPolicy | None = None) -> Robots:
        async for _ in Retries(policy or MAX_RETRIES, origin):
            fetch = partial(self._fetcher.fetch, body=ROBOTS_BODY)
            answer = await follow(fetch, normalize_url(f"{origin}/robots.txt"), MAX_REDIRECTS, self._params)
            now = self._clock()
            found = robots_or_text(answer, now)
            robots = await self._read(found, now) if isinstance(found, bytes) else found
            if self._kept:
                self._kept.put(origin, robots, answer if isinstance(answer, Reply) else None, now)
            is_final = isinstance(found, bytes) or (isinstance(answer, Failure) and not answer.transient)
            if not self._obey or robots.access is not RobotsAccess.NOTHING or is_final:
                break
        return robots if self._obey else _allow_all(robots)

    async def _copy(self, stored: StoredRobots) -> Robots | None:
        """The rules of the last readable copy, or None."""
        return None if stored.copy_at is None else await self._read(stored.body, stored.copy_at)


def _allow_all(robots: Robots) -> Robots:
    reason, known = "robots.txt is ignored, as configured", robots.is_known
    return Robots(RobotsAccess.EVERYTHING, reason, robots.expires, sitemaps=robots.sitemaps, is_known=known)
