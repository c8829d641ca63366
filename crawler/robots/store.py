"""The robots.txt of every origin in the state: its last answer and its last readable copy. The table ``robots``."""

import sqlite3
from typing import Final

from msgspec import Struct

from crawler.model import Reply
from crawler.robots.rules import Robots, RobotsAccess, allow_all, disallow_all, parse_robots, previous_or_fresh
from crawler.state.database import storage_errors

_GET: Final = "SELECT fetched_at, status, said, body, copy_at FROM robots WHERE origin = ?"
_PUT: Final = """INSERT OR REPLACE INTO robots (origin, fetched_at, status, said, body, copy_at)
  VALUES (?, ?, ?, ?, ?, ?)"""
_PUT_UNREACHABLE: Final = """INSERT INTO robots (origin, fetched_at, status, said, body) VALUES (?, ?, ?, ?, x'')
  ON CONFLICT (origin) DO UPDATE SET fetched_at = excluded.fetched_at, status = excluded.status, said = excluded.said"""


class StoredRobots(Struct, frozen=True):
    """The robots.txt of one origin. Times are Unix times.

    ``fetched_at``, ``status`` (None: no answer) and ``said``, its meaning in a sentence, are of the last answer.
    ``body`` is the last readable one, of the time ``copy_at`` (None: there is none).
    """

    fetched_at: float
    status: int | None
    said: str
    body: bytes
    copy_at: float | None

    def last_readable(self, user_agent: str) -> Robots | None:
        """The rules of the last readable copy, with their original expiry, or None."""
        return None if self.copy_at is None else parse_robots(self.body, user_agent, self.copy_at)

    def current(self, user_agent: str) -> Robots:
        """The rules that hold since the last answer."""
        copy = self.last_readable(user_agent)
        if copy is not None and self.copy_at == self.fetched_at:
            return copy
        if self.status is not None and 300 <= self.status < 500 and self.status not in (304, 429):
            return allow_all(self.said, self.fetched_at)
        return previous_or_fresh(disallow_all(self.said, self.fetched_at), copy, self.fetched_at)


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
