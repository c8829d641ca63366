"""The history of a schedule in SQLite: each attempt is on disk before it starts, and its result after."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.resources import files
from pathlib import Path
from typing import Any, Final, Self

import msgspec
from msgspec import Struct
from msgspec.structs import asdict

from crawler.errors import StateInUse, StorageError
from crawler.schedule.site_state import Attempt, PlannedAttempt, Trigger
from crawler.state.database import Database, storage_errors, transaction
from crawler.state.lock import hold_lock, lock_holder, lock_note, note_in_lock
from crawler.state.runs import RunStatus

SCHEDULE_LOCK: Final = "schedule.lock"

HISTORY_NAME: Final = "the history of the schedule"


HISTORY_DB: Final = Database(
    file="schedule.db",
    application_id=0x53_41_54_53,  # "SATS"
    version=1,
    tables=(files("crawler.schedule") / "history.sql").read_text(encoding="utf-8"),
    description=HISTORY_NAME,
    remedy="Move the file away, or choose another directory with daemon.directory",
)


_COLUMN_NAMES: Final = {
    "trigger": "because",
    "try_number": "turn",
    "status": "fate",
    "message": "told",
    "notify_pending": "untold",
}
ATTEMPT_COLUMNS: Final = tuple(_COLUMN_NAMES.get(name, name) for name in Attempt.__struct_fields__)

_SELECT_ATTEMPT: Final = f"SELECT {', '.join(ATTEMPT_COLUMNS)} FROM attempt"  # noqa: S608 - names of our own


class DaemonNote(Struct, frozen=True):
    """What the daemon lets readers know, in its lock: why it cannot use the changed configuration, or "".

    ``sites`` are the names of its sites; None before it has begun, or from another version.
    """

    config_error: str = ""
    sites: tuple[str, ...] | None = None


class HistoryReader:
    """The history in a directory, opened read-only while entered; there may be none yet.

    Raises UsageError on entering when a newer version wrote it; every method raises StorageError.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._db: sqlite3.Connection | None = None

    def __enter__(self) -> Self:
        is_there = HISTORY_DB.is_in(self.directory)
        self._db = HISTORY_DB.open_read_only(self.directory / HISTORY_DB.file) if is_there else None
        return self

    def __exit__(self, *_: object) -> None:
        if self._db is not None:
            self._db.close()
            self._db = None

    def daemon(self) -> str:
        """The daemon that holds this history: its process id or "unknown"; "" when there is none."""
        return lock_holder(self.directory, SCHEDULE_LOCK)

    def note(self) -> DaemonNote:
        """What the daemon lets readers know; an empty note when there is none."""
        text = lock_note(self.directory, SCHEDULE_LOCK) if self.daemon() else ""
        try:
            return msgspec.json.decode(text, type=DaemonNote)
        except msgspec.DecodeError:  # the text of an error, from a daemon of an earlier version
            return DaemonNote(text)

    def handled(self, site: str) -> float | None:
        """The Unix time up to which the slots of a site are handled; None for an unknown site."""
        rows = self._rows("SELECT handled FROM site WHERE name = ?", site)
        return float(rows[0][0]) if rows else None

    def attempts(self, site: str, limit: int) -> list[Attempt]:
        """The last attempts of a site, the newest first, including the one that is running."""
        rows = self._rows(f"{_SELECT_ATTEMPT} WHERE site = ? ORDER BY number DESC LIMIT ?", site, limit)
        return list(map(read_attempt, rows))

    def since_done(self, site: str) -> list[Attempt]:
        """The attempts of a site since its last successful run, the oldest first; its state follows from them."""
        last_done = "SELECT max(number) FROM attempt WHERE site = ? AND fate = ? AND because <> ?"
        query = f"{_SELECT_ATTEMPT} WHERE site = ? AND number >= coalesce(({last_done}), 0) ORDER BY number"
        return list(map(read_attempt, self._rows(query, site, site, RunStatus.DONE, Trigger.NOTIFY)))

    def _rows(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        if self._db is None:
            return []
        with storage_errors(HISTORY_NAME):
            return self._db.execute(statement, values).fetchall()


def read_attempt(row: tuple[Any, ...]) -> Attempt:
    """The attempt in a row of ``ATTEMPT_COLUMNS``."""
    values = dict(zip(Attempt.__struct_fields__, row, strict=True))
    return msgspec.convert(values, Attempt, strict=False)  # SQLite has no booleans


_SET_HANDLED: Final = "INSERT INTO site VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET handled = excluded.handled"

_WRITE_ATTEMPT: Final = (
    f"REPLACE INTO attempt ({', '.join(ATTEMPT_COLUMNS)}) VALUES ({', '.join('?' * len(ATTEMPT_COLUMNS))})"  # noqa: S608
)

_FORGET_ATTEMPTS: Final = """
DELETE FROM attempt WHERE site = ?
AND number <= (SELECT number FROM attempt WHERE site = ? ORDER BY number DESC LIMIT 1 OFFSET ?)
"""


class History(HistoryReader):
    """The history in a directory, held by this process alone while entered.

    ``keep`` limits the attempts stored per site. Raises StateInUse, StorageError, UsageError on entering; every method
    raises StorageError, and has then changed nothing.
    """

    def __init__(self, directory: Path, keep: int = 1_000, *, is_durable: bool = True) -> None:
        super().__init__(directory)
        self.keep = keep
        self._is_durable = is_durable
        self._lock = -1

    def __enter__(self) -> Self:
        try:
            self._lock = hold_lock(self.directory, SCHEDULE_LOCK, "daemon.directory")
        except StateInUse:
            raise StateInUse(
                f"another siteatlas schedule (process {self.daemon() or 'unknown'}) uses {self.directory} for its "
                "history. Stop the process, or choose another directory with daemon.directory"
            ) from None
        try:
            self._db = HISTORY_DB.open(
                self.directory / HISTORY_DB.file,
                is_durable=self._is_durable,
                timeout=1.0,  # no other process writes, and the event loop waits too
            )
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        try:
            with storage_errors(HISTORY_NAME):
                super().__exit__()
        finally:
            if self._lock >= 0:
                os.close(self._lock)
                self._lock = -1

    def check(self) -> None:
        """Raise StorageError if somebody removed the files: then neither status nor another daemon sees this one."""
        with suppress(OSError):
            if os.path.samestat((self.directory / SCHEDULE_LOCK).stat(), os.fstat(self._lock)):
                return
        raise StorageError(
            f"{self.directory.absolute()} was removed or replaced while the daemon ran, so the daemon ends. Restore it "
            "from its backup, and start the daemon again"
        )

    def store_note(self, note: DaemonNote) -> None:
        """Let readers know."""
        with suppress(OSError):  # the log has the error, too
            note_in_lock(self._lock, msgspec.json.encode(note).decode())

    def store_handled(self, site: str, moment: float) -> None:
        """Store that the slots of a site are handled up to a moment."""
        with self._change():
            self._rows(_SET_HANDLED, site, moment)

    def begin(self, plan: PlannedAttempt, now: float) -> Attempt:
        """Store that an attempt starts and that its slot is handled; returns it with its number."""
        with self._change():
            (last_number,) = self._rows("SELECT coalesce(max(number), 0) FROM attempt")[0]
            attempt = Attempt(number=last_number + 1, began=now, **asdict(plan))
            self._put(attempt)
            if plan.trigger is not Trigger.NOTIFY:
                self._rows(_SET_HANDLED, plan.site, plan.slot)
            self._rows(_FORGET_ATTEMPTS, plan.site, plan.site, self.keep)
        return attempt

    def end(self, attempt: Attempt) -> None:
        """Store the result of an attempt."""
        with self._change():
            self._put(attempt)

    @contextmanager
    def _change(self) -> Iterator[None]:
        if self._db is None:
            raise StorageError("the history of the schedule is not open yet")
        with transaction(self._db, HISTORY_NAME):
            yield

    def _put(self, attempt: Attempt) -> None:
        self._rows(_WRITE_ATTEMPT, *(getattr(attempt, name) for name in Attempt.__struct_fields__))
