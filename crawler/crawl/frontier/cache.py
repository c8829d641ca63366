"""What the frontier answers from memory: the id, the depth and the evidence of URLs it saw lately. Bounded."""

import sqlite3
from collections.abc import Callable, Iterable, Mapping

from crawler.model import CLICK_WAYS, DiscoveredBy, DiscoveredUrl, Lease, State, Url

MAX_CACHED = 100_000  # URLs, about 250 bytes each


_FLAG_BITS = DiscoveredBy.SPELLING.bit_length()  # the last flag of Found

_DEPTH_BITS = 20  # bits of depth behind them; the id is the rest

_FLAG_MASK, _DEPTH_MASK = (1 << _FLAG_BITS) - 1, (1 << _DEPTH_BITS) - 1

_EVIDENCE_MASK = (1 << _FLAG_BITS + _DEPTH_BITS) - 1  # depth and flags


class UrlCache:
    """A cache of packed integers. What it does not know, the database does."""

    def __init__(self) -> None:
        self._packed: dict[Url, int] = {}

    def get(self, url: Url) -> tuple[int, int, int] | None:
        """Id, flags and depth of a URL."""
        packed = self._packed.get(url)
        if packed is None:
            return None
        return packed >> _FLAG_BITS + _DEPTH_BITS, packed & _FLAG_MASK, packed >> _FLAG_BITS & _DEPTH_MASK

    def put(self, url: Url, number: int, found: int, depth: int) -> None:
        """Remember a URL."""
        if len(self._packed) >= MAX_CACHED:
            self._packed.clear()
        self._packed[url] = (number << _DEPTH_BITS | min(depth, _DEPTH_MASK)) << _FLAG_BITS | found

    def clear(self) -> None:
        """Forget everything."""
        self._packed.clear()

    def link_ids(
        self, lease: Lease, links: list[tuple[Url, int]], know: Callable[[DiscoveredUrl], int]
    ) -> list[tuple[int, int]]:
        """The ids of a page's links with their flags. Most are known with all this evidence already; ``know`` is asked
        for the rest."""
        here = (
            min(lease.depth, _DEPTH_MASK) << _FLAG_BITS | _FLAG_MASK
        )  # no more than this is as near as this page ...
        click = min(lease.depth + 1, _DEPTH_MASK) << _FLAG_BITS | _FLAG_MASK  # ... or a click away from it
        ids = []
        packed_of = self._packed.get
        for url, found in links:
            packed = packed_of(url)
            if (
                packed is not None
                and not found & ~packed
                and packed & _EVIDENCE_MASK <= (click if found & CLICK_WAYS else here)
            ):
                ids.append((packed >> _FLAG_BITS + _DEPTH_BITS, found))
            else:
                depth = lease.depth + 1 if found & CLICK_WAYS else lease.depth
                ids.append((know(DiscoveredUrl(url, found, depth, lease.id)), found))
        return ids


class StateCounts:
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
            self._add(home, before, -1)
        self._add(home, after, 1)

    def _add(self, home: str, state: State, step: int) -> None:
        self._counts[state] = self._counts.get(state, 0) + step
        if state is State.PENDING:
            self._waiting[home] = self._waiting.get(home, 0) + step
            if not self._waiting[home]:
                del self._waiting[home]
