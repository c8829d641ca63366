"""The frontier's writes: many changes in one durable commit, undone together when one fails; page content with its
outlinks, packed as bytes."""

import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from itertools import accumulate
from typing import Final

import msgspec
from msgspec.structs import replace

from crawler.model import DocumentKind, Outcome, Page
from crawler.state.database import storage_errors
from crawler.state.store import read_about, write_about


def parse_key(key: str, kind: DocumentKind) -> str:
    """The key of the settings that a document is parsed with: a sitemap is parsed in another way than a page."""
    return key if kind is DocumentKind.PAGE else f"{key} {kind.name.lower()}"


BATCH_SIZE = 1_000  # changes in one commit at most; the engine commits by time


class WriteBatch:
    """The running transaction of one connection. Calls ``undone`` when it is rolled back, because a change failed."""

    def __init__(self, db: sqlite3.Connection, undone: Callable[[], None]) -> None:
        self._db = db
        self._undone = undone
        self._unsaved = 0

    @contextmanager
    def change(self) -> Iterator[None]:
        """One change, in the running transaction. Raises StorageError.

        One that fails rolls back the whole transaction, which is a fraction of a second of the crawl: its URLs are
        pending again. A savepoint for each change would keep them, but it costs every page as much as storing its URL.
        """
        with storage_errors():
            if not self._db.in_transaction:
                self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                if self._db.in_transaction:  # a full disk has ended it
                    self._db.execute("ROLLBACK")
                self._unsaved = 0
                self._undone()
                raise
        self._unsaved += 1
        if self._unsaved >= BATCH_SIZE:
            self.commit()

    def commit(self) -> None:
        """Make all changes so far durable. Raises StorageError."""
        if self._db.in_transaction:
            with storage_errors():
                self._db.execute("COMMIT")
        self._unsaved = 0


CRASHES_TO_COME_LAST: Final = 3
CRASHES_TO_GIVE_UP: Final = 5
CAREFUL_LEASES: Final = 500
"""Leases after a crash that are durable before they are fetched: more than a crash undoes."""
_IN_FLIGHT_KEY: Final = "in flight"
_OPEN_KEY: Final = "frontier is open"


class CrashCounter:
    """How often in a row the process died while a URL was in flight, by id; in the state, with the other changes.

    ``suspects`` are the ids that come last, because the process died ``CRASHES_TO_COME_LAST`` times. The ``hopeless``
    are those of them that are given up after ``CRASHES_TO_GIVE_UP``; one more crash is enough in the next run.

    What is in flight becomes durable with the next commit, a fraction of a second later, because a commit for each URL
    would cost too much. So a URL that ends the process at once leaves no trace. After a process that did not end in
    order, the first leases are ``careful``: each becomes durable at once.
    """

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._before = msgspec.json.decode(read_about(db, _IN_FLIGHT_KEY) or "{}", type=dict[int, int])
        self._stored = dict(self._before)
        self.suspects = {number for number, crashes in self._before.items() if crashes >= CRASHES_TO_COME_LAST}
        self.hopeless = {number for number in self.suspects if self._before[number] >= CRASHES_TO_GIVE_UP}
        self._before |= dict.fromkeys(self.hopeless, CRASHES_TO_GIVE_UP - 1)

        self.careful = CAREFUL_LEASES if read_about(db, _OPEN_KEY) else 0
        write_about(db, _OPEN_KEY, "yes")

    def land(self) -> None:
        """The process ends in order. Part of the running transaction."""
        self._db.execute("DELETE FROM about WHERE key = ?", (_OPEN_KEY,))

    def put(self, out: Collection[int]) -> None:
        """Store which URLs are in flight. Part of the running transaction, which this may begin."""
        crashes = {number: self._before.get(number, 0) + 1 for number in out}
        crashes |= {number: self._before[number] for number in self.suspects.difference(out)}
        if crashes == self._stored:
            return
        if not self._db.in_transaction:
            self._db.execute("BEGIN IMMEDIATE")
        if crashes:
            write_about(self._db, _IN_FLIGHT_KEY, msgspec.json.encode(crashes).decode())
        else:
            self._db.execute("DELETE FROM about WHERE key = ?", (_IN_FLIGHT_KEY,))
        self._stored = crashes


_PUT_CONTENT: Final = """INSERT INTO content (run, reading, digest, type, links, page, text, delta)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?)"""
_encode_page = msgspec.msgpack.Encoder().encode


class ContentStore:
    """Stores the content of pages. ``reading`` is the key of the settings that pages are parsed with."""

    def __init__(self, db: sqlite3.Connection, run: int, reading: str) -> None:
        self._db = db
        self._run = run
        self._reading = reading

    def store(self, outcome: Outcome, page: Page, targets: list[tuple[int, int]]) -> int | None:
        """Store a page with the ids and flags of its links, and return the id of the content."""
        kind = outcome.sighting.content_type if outcome.sighting else ""
        stripped = replace(page, links=[], digest=b"", text=b"", delta=b"", dates={})
        row = (
            self._run,
            parse_key(self._reading, outcome.lease.kind),
            page.digest,
            kind,
            pack_links(targets),
            _encode_page(stripped),
            page.text,
            page.delta,
        )
        return self._db.execute(_PUT_CONTENT, row).lastrowid


def pack_links(links: Iterable[tuple[int, int]]) -> bytes:
    """Distinct links as bytes, about one or two each. A link is the id of its target and flags of DiscoveredBy."""
    by_flags: dict[int, list[int]] = {}
    for number, flags in links:
        by_flags.setdefault(flags, []).append(number)
    out = bytearray()
    for flags in sorted(by_flags):
        ids = sorted(set(by_flags[flags]))
        _append_distances(out, (flags, len(ids)))
        last = 0
        gaps = []
        for number in ids:
            gaps.append(number - last)
            last = number
        _append_distances(out, gaps)
    return bytes(out)


def _append_distances(out: bytearray, numbers: Iterable[int]) -> None:
    append = out.append
    for number in numbers:
        rest = number
        while rest > 0x7F:
            append(rest & 0x7F | 0x80)
            rest >>= 7
        append(rest)


def unpack_links(packed: bytes) -> list[tuple[int, int]]:
    """The links that :func:`pack_links` wrote, by flags and then by id."""
    return [(number, flags) for flags, numbers in unpack_groups(packed) for number in numbers]


def unpack_groups(packed: bytes) -> Iterator[tuple[int, list[int]]]:
    """The same: each flags with the ids of its targets."""
    numbers = _numbers(packed)
    start = 0
    while start < len(numbers):
        flags, count = numbers[start], numbers[start + 1]
        start += 2
        yield flags, [*accumulate(numbers[start : start + count])]
        start += count


def _numbers(packed: bytes) -> list[int]:
    if packed.isascii():  # every number takes one byte
        return list(packed)
    numbers: list[int] = []
    value = shift = 0
    for byte in packed:
        if byte & 0x80:
            value |= (byte & 0x7F) << shift
            shift += 7
        elif shift:
            numbers.append(value | byte << shift)
            value = shift = 0
        else:
            numbers.append(byte)
    return numbers
