"""Transactions of the frontier: each change as a whole or not at all, and many changes to one durable commit."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

import msgspec
from msgspec.structs import replace

from crawler.crawl.frontier.outlinks import pack
from crawler.model import Kind, Outcome, Page
from crawler.state.database import storage


def reading_of(key: str, kind: Kind) -> str:
    """What a document was read as: ``key`` names the settings, and a sitemap is read otherwise than a page."""
    return key if kind is Kind.PAGE else f"{key} {kind.name.lower()}"


SIZE = 1_000  # changes to one commit at most; how long one may wait for the disk is the engine's to say


class Batch:
    """The running transaction of one connection. ``undone`` is called when a change did not come about."""

    def __init__(self, db: sqlite3.Connection, undone: Callable[[], None]) -> None:
        self._db = db
        self._undone = undone
        self._unsaved = 0

    @contextmanager
    def change(self) -> Iterator[None]:
        """One change: all of it in the running transaction, or none of it. Raises StorageError."""
        with storage():
            if not self._db.in_transaction:
                self._db.execute("BEGIN IMMEDIATE")
            self._db.execute("SAVEPOINT change")
            try:
                yield
            except BaseException:
                self._undone()  # first: a full disk has undone the whole transaction, and ids will be given again
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK TO change")
                    self._db.execute("RELEASE change")
                raise
            self._db.execute("RELEASE change")
        self._unsaved += 1
        if self._unsaved >= SIZE:
            self.commit()

    def commit(self) -> None:
        """Make all changes so far durable. Raises StorageError."""
        if self._db.in_transaction:
            with storage():
                self._db.execute("COMMIT")
        self._unsaved = 0


_READ: Final = """INSERT INTO content (run, reading, digest, type, links, page, text, delta)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?)"""


_encode = msgspec.msgpack.Encoder().encode


class Contents:
    """What a run reads. ``reading`` is the key of the settings that pages are read with."""

    def __init__(self, db: sqlite3.Connection, run: int, reading: str) -> None:
        self._db = db
        self._run = run
        self._reading = reading

    def keep(self, outcome: Outcome, page: Page, targets: list[tuple[int, int]]) -> int | None:
        """Keep what was read, with the ids and flags of its links; answers its id."""
        kind = outcome.sighting.content_type if outcome.sighting else ""
        said = replace(page, links=[], digest=b"", text=b"", delta=b"")
        row = (
            self._run,
            reading_of(self._reading, outcome.lease.kind),
            page.digest,
            kind,
            pack(targets),
            _encode(said),
            page.text,
            page.delta,
        )
        return self._db.execute(_READ, row).lastrowid
