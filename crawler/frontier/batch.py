"""Transactions of the frontier: each change as a whole or not at all, and many changes to one durable commit."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from crawler.state.database import storage

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
