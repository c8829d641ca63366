"""How the file of a history is opened, recognised and refused, and its tables."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from crawler.errors import StorageError, UsageError
from crawler.version import __version__

FILE: Final = "schedule.db"
LOCK: Final = "schedule.lock"
VERSION: Final = 1
APPLICATION_ID: Final = 0x53_41_54_53  # "SATS": tells our file from any other SQLite database

TABLES: Final = """
CREATE TABLE site (
  name TEXT PRIMARY KEY,
  handled REAL NOT NULL                       -- Unix time: no slot up to here will be run, again or at all
) WITHOUT ROWID;

CREATE TABLE attempt (                        -- attempt.Attempt
  number INTEGER PRIMARY KEY,
  site TEXT NOT NULL,
  slot REAL NOT NULL,
  because TEXT NOT NULL,
  turn INTEGER NOT NULL,
  began REAL NOT NULL,
  ended REAL,
  fate TEXT,
  exit_code INTEGER,
  run INTEGER,
  outcome TEXT NOT NULL DEFAULT '',
  told TEXT NOT NULL DEFAULT '',
  untold INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX of_site ON attempt (site, number);
"""


@contextmanager
def storage() -> Iterator[None]:
    """The fence: what SQLite raises ends here."""
    try:
        yield
    except sqlite3.Error as error:
        raise StorageError(f"the history of the schedule cannot be written or read: {error}") from error


def connect(path: Path, *, is_durable: bool) -> sqlite3.Connection:
    """Open or create the database, for its one writer. Each commit survives a power loss if it ``is_durable``.

    Raises StorageError for a file that is not ours or not usable, UsageError for one that a newer version wrote.
    """
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        # check_same_thread: the one connection is used by one thread at a time, whichever runs the event loop
        # timeout: there is no other writer to wait for, and the event loop waits too
        db = sqlite3.connect(path, timeout=1.0, isolation_level=None, check_same_thread=False)
        is_empty = db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0
        if not is_empty:
            _recognise(db, path)
        db.execute("PRAGMA journal_mode = WAL")
        db.execute(f"PRAGMA synchronous = {'FULL' if is_durable else 'OFF'}")
        if is_empty:
            db.executescript(
                f"BEGIN; {TABLES} PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {VERSION}; COMMIT;"
            )
    except sqlite3.Error as error:
        raise _unusable(path, error) from None
    except OSError as error:
        raise StorageError(f"cannot open the history of the schedule {path}: {error.strerror}") from None
    return db


def look(path: Path) -> sqlite3.Connection:
    """Open the database for reading only, also while the daemon is writing.

    Raises UsageError for one that a newer version wrote, StorageError when it cannot be read.
    """
    try:
        db = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, isolation_level=None)
        _recognise(db, path)
    except sqlite3.Error as error:
        raise _unusable(path, error) from None
    return db


def _recognise(db: sqlite3.Connection, path: Path) -> None:
    (application,) = db.execute("PRAGMA application_id").fetchone()
    (version,) = db.execute("PRAGMA user_version").fetchone()
    if application != APPLICATION_ID:
        raise StorageError(
            f"{path} is a database of another program; choose another directory with daemon.directory"
        )
    if version > VERSION:
        raise UsageError(
            f"the history {path} was written by a newer version of siteatlas (format {version}, this is {__version__} "
            f"with format {VERSION}); update siteatlas, or choose another directory with daemon.directory"
        )


def _unusable(path: Path, error: sqlite3.Error) -> StorageError:
    return StorageError(
        f"{path} cannot be used as the history of the schedule: {error}; move it away, or choose another directory "
        f"with daemon.directory"
    )
