"""The tables of the ledger, and how its file is opened, recognised and refused."""

import os
import sqlite3
from pathlib import Path
from typing import Final

from crawler.errors import StorageError, UsageError
from crawler.state.schema import is_kept, is_ours
from crawler.version import __version__

FILE: Final = "notify.db"
APPLICATION_ID: Final = 0x53_41_4E_4F  # "SANO"
VERSION: Final = 1

TABLES: Final = """
CREATE TABLE line (                           -- how far a channel was told
  id INTEGER PRIMARY KEY,
  channel TEXT NOT NULL,
  host TEXT NOT NULL DEFAULT '',              -- '': all hosts that have no line of their own
  told INTEGER NOT NULL,                      -- the run up to whose end everything was told
  until INTEGER,                              -- the end of the delivery that is under way, NULL: there is none
  position TEXT NOT NULL DEFAULT '',          -- the last URL of the last batch of it that was taken
  tries INTEGER NOT NULL DEFAULT 0,           -- how often in a row it was put off
  due REAL NOT NULL DEFAULT 0,                -- Unix time that the other side asked to wait for
  said TEXT NOT NULL DEFAULT '',              -- why it was put off
  UNIQUE (channel, host)
);
CREATE TABLE refused (                        -- what was set aside, since the same again would be refused again
  id INTEGER PRIMARY KEY,
  channel TEXT NOT NULL,
  host TEXT NOT NULL,
  after INTEGER NOT NULL,
  until INTEGER NOT NULL,
  position TEXT NOT NULL,                     -- the URLs behind this one …
  upto TEXT,                                  -- … and up to this one; NULL: a message
  urls INTEGER NOT NULL,
  said TEXT NOT NULL,
  at REAL NOT NULL
);
CREATE TABLE mood (                           -- whether a channel knows that runs fail
  channel TEXT PRIMARY KEY,
  knows INTEGER NOT NULL DEFAULT 0,           -- 1: trouble was told, and that it is over was not
  pending TEXT NOT NULL DEFAULT '',           -- "trouble" or "recovery", which is still to be told
  run INTEGER NOT NULL DEFAULT 0,
  exit_code INTEGER NOT NULL DEFAULT 0,
  told TEXT NOT NULL DEFAULT '',              -- the sentence of the run
  at REAL NOT NULL DEFAULT 0,                 -- when that was
  due REAL NOT NULL DEFAULT 0,
  said TEXT NOT NULL DEFAULT ''
) WITHOUT ROWID;
CREATE TABLE console (                        -- what Google said last of the sitemap
  channel TEXT PRIMARY KEY,
  at REAL NOT NULL,                           -- when it was asked
  submitted TEXT NOT NULL,                    -- RFC 3339, '': never
  downloaded TEXT NOT NULL,
  pending INTEGER NOT NULL,                   -- 1: it waits to be read
  errors INTEGER NOT NULL,
  warnings INTEGER NOT NULL,
  sentence TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE sent (                           -- the log: one row for each message
  id INTEGER PRIMARY KEY,
  at REAL NOT NULL,
  channel TEXT NOT NULL,
  occasion TEXT NOT NULL,                     -- notice.Occasion
  host TEXT NOT NULL,
  after INTEGER NOT NULL,
  until INTEGER NOT NULL,
  urls INTEGER NOT NULL,
  reception TEXT NOT NULL,                    -- notice.Reception
  said TEXT NOT NULL
);
CREATE TABLE present (channel TEXT PRIMARY KEY) WITHOUT ROWID;  -- those that were configured last
CREATE INDEX sent_by_channel ON sent (channel, id);
"""


def connect(path: Path) -> sqlite3.Connection:
    """Open or create the ledger, every commit durable. Raises StorageError, UsageError as :func:`look`."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        os.close(descriptor)
        db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        _prepare(db, path)
    except sqlite3.Error as error:
        raise _unusable(path, error) from None
    except OSError as error:
        raise StorageError(
            f"cannot open {path}: {error.strerror}; run as the account that the state belongs to"
        ) from None
    return db


def look(path: Path) -> sqlite3.Connection:
    """Open the ledger for reading only, also while another process writes to it.

    Raises StorageError for a file that is not ours or not usable, UsageError for one that a newer version wrote.
    """
    try:
        db = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, isolation_level=None)
        _recognise(db, path)
    except sqlite3.Error as error:
        raise _unusable(path, error) from None
    return db


def in_memory(path: Path) -> sqlite3.Connection:
    """A copy of the ledger that nobody keeps; an empty one when there is none. Raises as :func:`look`."""
    db = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    if is_kept(path):
        kept = look(path)
        try:
            kept.backup(db)
        except sqlite3.Error as error:
            raise _unusable(path, error) from None
        finally:
            kept.close()
    else:
        _create(db)
    return db


def _prepare(db: sqlite3.Connection, path: Path) -> None:
    is_empty = db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0
    if not is_empty:
        _recognise(db, path)
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = FULL")  # what was sent and is not kept would be sent again
    if is_empty:
        _create(db)


def _create(db: sqlite3.Connection) -> None:
    db.executescript(
        f"BEGIN; {TABLES} PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {VERSION}; COMMIT;"
    )


def _recognise(db: sqlite3.Connection, path: Path) -> None:
    (application,) = db.execute("PRAGMA application_id").fetchone()
    (version,) = db.execute("PRAGMA user_version").fetchone()
    if application != APPLICATION_ID:
        raise StorageError(f"{path} is a database of another program; move it away")
    if version > VERSION:
        raise UsageError(
            f"{path} was written by a newer version of siteatlas (format {version}, this is {__version__} with format "
            f"{VERSION}); update siteatlas"
        )


def _unusable(path: Path, error: sqlite3.Error) -> StorageError:
    if not is_ours(path):
        return StorageError(f"{path} is not for this account to use: run as the one that it belongs to")
    return StorageError(
        f"{path}, which says what others were told, cannot be used: {error}; free space, or move it away: what changes "
        "from then on is told"
    )
