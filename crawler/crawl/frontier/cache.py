"""The frontier's memory: id, depth and evidence of recent URLs, bounded, and the number of URLs in each state."""

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, Generic, TypeVar

from crawler.model import CLICK_WAYS, DiscoveredBy, DiscoveredUrl, Lease, State, Url

MAX_CACHED = 100_000  # URLs, about 250 bytes each
MAX_CACHED_BYTES = 20_000_000  # of their texts
_FLAG_BITS = DiscoveredBy.SCRIPT.bit_length()  # the last flag of DiscoveredBy
_DEPTH_BITS = 20  # bits of depth behind them; the id is the rest

_FLAG_MASK, _DEPTH_MASK = (1 << _FLAG_BITS) - 1, (1 << _DEPTH_BITS) - 1

_EVIDENCE_MASK = (1 << _FLAG_BITS + _DEPTH_BITS) - 1  # depth and flags

_SELECT_EXTENT: Final = "SELECT EXISTS (SELECT 1 FROM visit), max(id) FROM url"
_SELECT_IDS: Final = "SELECT id, url FROM url"

MAX_RECENT: Final = 20_000
Key = TypeVar("Key")
Value = TypeVar("Value")


class Recent(Generic[Key, Value]):
    """Remembers what was used of late: at least the last ``MAX_RECENT`` keys, at most twice as many.

    Two dictionaries take turns, because an order of all keys would cost more than what is looked up. What is used is
    moved into the younger one; when that is full, it becomes the older one, and the rest is forgotten.
    """

    __slots__ = ("_old", "_young")

    def __init__(self) -> None:
        self._young: dict[Key, Value] = {}
        self._old: dict[Key, Value] = {}

    def __bool__(self) -> bool:
        return bool(self._young or self._old)

    def items(self) -> Iterator[tuple[Key, Value]]:
        """All keys with their values, those used of late last."""
        for key, value in self._old.items():
            if key not in self._young:
                yield key, value
        yield from self._young.items()

    def values(self) -> Iterator[Value]:
        """The values of :meth:`items`."""
        return (value for _, value in self.items())

    def keep(self, key: Key, value: Value) -> Value:
        """Store a value, and forget the oldest ones when there are too many."""
        if len(self._young) >= MAX_RECENT:
            self._old, self._young = self._young, {}
        self._young[key] = value
        return value

    def get(self, key: Key) -> Value | None:
        """The value of a key, if there is one."""
        value = self._young.get(key)
        return self._old.get(key) if value is None else value

    def use(self, key: Key) -> Value | None:
        """The value of a key, if there is one, which counts as used now."""
        value = self._young.get(key)
        if value is None and self._old and (value := self._old.get(key)) is not None:
            self.keep(key, value)
        return value


class UrlCache:
    """A cache of packed integers over the database. ``is_whole``: it holds every URL of the database.

    At the start of a run it has the ids of the URLs that earlier runs know, if there is room for all of them: such a
    URL has no flags until this run discovers it.
    """

    def __init__(self, db: sqlite3.Connection) -> None:
        self._packed: dict[Url, int] = {}
        self._bytes = 0
        ((is_resumed, last),) = db.execute(_SELECT_EXTENT)
        self.is_whole = not is_resumed and (last or 0) <= MAX_CACHED
        if self.is_whole and last:
            for number, url in db.execute(_SELECT_IDS):
                self.put(url, number, 0, 0)

    def get(self, url: Url) -> tuple[int, int, int] | None:
        """Id, flags and depth of a URL; flags are 0 when only earlier runs know it."""
        packed = self._packed.get(url)
        if packed is None:
            return None
        return packed >> _FLAG_BITS + _DEPTH_BITS, packed & _FLAG_MASK, packed >> _FLAG_BITS & _DEPTH_MASK

    def put(self, url: Url, number: int, found: int, depth: int) -> None:
        """Remember a URL."""
        if url not in self._packed:
            if len(self._packed) >= MAX_CACHED or self._bytes >= MAX_CACHED_BYTES:
                self.clear()
            self._bytes += len(url)
        self._packed[url] = (number << _DEPTH_BITS | min(depth, _DEPTH_MASK)) << _FLAG_BITS | found

    def forget(self, url: Url) -> None:
        """Leave one URL to the database."""
        self.is_whole = False
        self._packed.pop(url, None)

    def clear(self) -> None:
        """Forget everything."""
        self.is_whole = False
        self._packed.clear()
        self._bytes = 0

    def link_ids(
        self, lease: Lease, links: list[tuple[Url, int]], know: Callable[[DiscoveredUrl], int]
    ) -> list[tuple[int, int]]:
        """The ids of a page's links with their flags. ``know`` admits URLs and evidence that are new."""
        # The largest packed evidence of a URL that is no deeper than this page, or than a click away from it.
        here = min(lease.depth, _DEPTH_MASK) << _FLAG_BITS | _FLAG_MASK
        click = min(lease.depth + 1, _DEPTH_MASK) << _FLAG_BITS | _FLAG_MASK
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
    """The number of URLs in each state, which a query would count by a scan of the table."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self.read()

    def read(self) -> None:
        """Count the URLs in the database."""
        states = self._db.execute("SELECT state, count(*) FROM visit GROUP BY state")
        waiting = self._db.execute("SELECT origin, count(*) FROM visit WHERE state = 'pending' GROUP BY origin")
        self._counts = {State(state): count for state, count in states}
        self._waiting: dict[str, int] = dict(waiting)

    @property
    def counts(self) -> Mapping[State, int]:
        """The number of URLs in each state that has any."""
        return {state: count for state, count in self._counts.items() if count}

    @property
    def waiting(self) -> Iterable[str]:
        """The origins with pending URLs, in the order of their discovery."""
        return self._waiting

    def move(self, origin: str, before: State | None, after: State) -> None:
        """Count a URL of an origin that changed its state; ``before`` is None for a new URL."""
        if before is not None:
            self._add(origin, before, -1)
        self._add(origin, after, 1)

    def _add(self, origin: str, state: State, step: int) -> None:
        self._counts[state] = self._counts.get(state, 0) + step
        if state is State.PENDING:
            self._waiting[origin] = self._waiting.get(origin, 0) + step
            if not self._waiting[origin]:
                del self._waiting[origin]
