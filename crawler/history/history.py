"""Writing the history of a schedule: what was begun is on the disk before it begins, and what became of it after."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from crawler.attempt import Attempt, Because
from crawler.errors import StateInUse, StorageError
from crawler.history.look import COLUMNS, Look
from crawler.history.schema import HISTORY, LOCK, WHAT
from crawler.standing import Start
from crawler.state.database import change, storage
from crawler.state.lock import lock

_HANDLE: Final = "INSERT INTO site VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET handled = excluded.handled"
_WRITE: Final = f"REPLACE INTO attempt ({', '.join(COLUMNS)}) VALUES ({', '.join('?' * len(COLUMNS))})"  # noqa: S608
_FORGET: Final = """
DELETE FROM attempt WHERE site = ?1
AND number <= (SELECT number FROM attempt WHERE site = ?1 ORDER BY number DESC LIMIT 1 OFFSET ?2)
"""


class History(Look):
    """The history in a directory, kept for this process alone while entered.

    ``keep`` is how many attempts of each site are kept. Raises StateInUse, StorageError, UsageError on entering; every
    method raises StorageError, and has then changed nothing.
    """

    def __init__(self, directory: Path, keep: int = 1_000, *, is_durable: bool = True) -> None:
        super().__init__(directory)
        self.keep = keep
        self._is_durable = is_durable
        self._lock = -1

    def __enter__(self) -> Self:
        try:
            self._lock = lock(self.directory, LOCK, "--schedule-state")
        except StateInUse:
            raise StateInUse(
                f"another siteatlas schedule (process {self.holder() or 'unknown'}) keeps its history in "
                f"{self.directory}; stop it, or choose another directory with daemon.directory"
            ) from None
        try:
            self._db = HISTORY.connect(
                self.directory / HISTORY.file,
                is_durable=self._is_durable,
                timeout=1.0,  # there is no other writer to wait for, and the event loop waits too
            )
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            with storage(WHAT):
                super().__exit__(kind, error, trace)
        finally:
            if self._lock >= 0:
                os.close(self._lock)
                self._lock = -1

    def handle(self, site: str, moment: float) -> None:
        """The slots of a site up to a moment are handled, and those after it are not."""
        with self._change():
            self._write(_HANDLE, site, moment)

    def begin(self, start: Start, now: float) -> Attempt:
        """Write down that an attempt is about to begin, and that its slot is handled; it gets its number."""
        with self._change():
            (before,) = self._rows("SELECT coalesce(max(number), 0) FROM attempt")[0]
            attempt = Attempt(
                number=before + 1,
                site=start.site,
                slot=start.slot,
                because=start.because,
                turn=start.turn,
                began=now,
            )
            self._put(attempt)
            if start.because is not Because.TELL:
                self._write(_HANDLE, start.site, start.slot)
            self._write(_FORGET, start.site, self.keep)
        return attempt

    def end(self, attempt: Attempt) -> None:
        """Write down how an attempt ended."""
        with self._change():
            self._put(attempt)

    @contextmanager
    def _change(self) -> Iterator[None]:
        if self._db is None:
            raise StorageError("the history of the schedule is not open")
        with change(self._db, WHAT):
            yield

    def _put(self, attempt: Attempt) -> None:
        self._write(_WRITE, *(getattr(attempt, name) for name in COLUMNS))

    def _write(self, statement: str, *values: object) -> None:
        self._rows(statement, *values)
