"""What the frontier answers from memory: the id, the depth and the evidence of URLs it saw lately. Bounded."""

import sqlite3
from collections.abc import Callable, Iterable, Mapping

from crawler.model import CLICKS, Find, Found, Lease, State, Url

LIMIT = 100_000  # URLs, about 250 bytes each


_FLAGS = Found.SPELLING.bit_length()  # the last flag of Found

_DEPTH = 20  # bits of depth behind them; the id is the rest

_ALL_FLAGS, _ALL_DEPTH = (1 << _FLAGS) - 1, (1 << _DEPTH) - 1

_EVIDENCE = (1 << _FLAGS + _DEPTH) - 1  # depth and flags


class Known:
    """A cache of packed integers. What it does not know, the database does."""

    def __init__(self) -> None:
        self._packed: dict[Url, int] = {}

    def get(self, url: Url) -> tuple[int, int, int] | None:
        """Id, flags and depth of a URL."""
        packed = self._packed.get(url)
        if packed is None:
            return None
        return packed >> _FLAGS + _DEPTH, packed & _ALL_FLAGS, packed >> _FLAGS & _ALL_DEPTH

    def put(self, url: Url, number: int, found: int, depth: int) -> None:
        """Remember a URL."""
        if len(self._packed) >= LIMIT:
            self._packed.clear()
        self._packed[url] = (number << _DEPTH | min(depth, _ALL_DEPTH)) << _FLAGS | found

    def forget(self) -> None:
        """Forget everything."""
        self._packed.clear()

    def links(
        self, lease: Lease, links: list[tuple[Url, int]], know: Callable[[Find], int]
    ) -> list[tuple[int, int]]:
        """The ids of a page's links with their flags. Most are known with all this evidence already; ``know`` is asked
        for the rest."""
        here = (
            min(lease.depth, _ALL_DEPTH) << _FLAGS | _ALL_FLAGS
        )  # no more than this is as near as this page ...
        click = min(lease.depth + 1, _ALL_DEPTH) << _FLAGS | _ALL_FLAGS  # ... or a click away from it
        ids = []
        packed_of = self._packed.get
        for url, found in links:
            packed = packed_of(url)
            if (
                packed is not None
                and not found & ~packed
                and packed & _EVIDENCE <= (click if found & CLICKS else here)
            ):
                ids.append((packed >> _FLAGS + _DEPTH, found))
            else:
                depth = lease.depth + 1 if found & CLICKS else lease.depth
                ids.append((know(Find(url, found, depth, lease.id)), found))
        return ids


class Census:
    """Counts that would cost a scan of the table each time."""

    def __init__(self, db: sqlite3.Connection) -> None:
        states = db.execute("SELECT state, count(*) FROM visit GROUP BY state")
        waiting = db.execute("SELECT origin, count(*) FROM visit WHERE state = 'pending' GROUP BY origin")
        self._counts = {State(state): count for state, count in states}
        self._waiting: dict[str, int] = dict(waiting)

    @property
    def counts(self) -> Mapping[State, int]:
        """URLs in each state that has any."""
        return {state: count for state, count in self._counts.items() if count}

    @property
    def waiting(self) -> Iterable[str]:
        """The origins with pending URLs, the first known first."""
        return self._waiting

    def move(self, home: str, before: State | None, after: State) -> None:
        """A URL of an origin changed its state; None: it is new."""
        if before is not None:
            self._step(home, before, -1)
        self._step(home, after, 1)

    def _step(self, home: str, state: State, step: int) -> None:
        self._counts[state] = self._counts.get(state, 0) + step
        if state is State.PENDING:
            self._waiting[home] = self._waiting.get(home, 0) + step
            if not self._waiting[home]:
                del self._waiting[home]
