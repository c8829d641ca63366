"""The tables of the SQLite frontier, and how a file of them is opened, recognised, locked and refused."""

import fcntl
import os
import sqlite3
from pathlib import Path

from crawler.errors import StateInUse, StorageError, UsageError
from crawler.version import __version__

APPLICATION_ID = 0x53_41_54_4C  # "SATL": tells our file from any other SQLite database
VERSION = 1

TABLES = """
CREATE TABLE about (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE url (
  id INTEGER PRIMARY KEY,
  url TEXT NOT NULL UNIQUE,
  origin TEXT NOT NULL,
  kind INTEGER NOT NULL,
  state TEXT NOT NULL,
  found INTEGER NOT NULL,
  depth INTEGER NOT NULL,
  source INTEGER,
  reason TEXT NOT NULL DEFAULT '',
  attempts INTEGER NOT NULL DEFAULT 0,
  due REAL NOT NULL DEFAULT 0,
  status INTEGER,
  target TEXT,
  lastmod TEXT NOT NULL DEFAULT '',
  lastmod_source TEXT NOT NULL DEFAULT ''
);
CREATE INDEX pending ON url (origin, depth, id) WHERE state = 'pending';
CREATE TABLE page (id INTEGER PRIMARY KEY, links BLOB NOT NULL, media BLOB);
"""


def lock(directory: Path) -> int:
    """Hold the state directory for this process; the kernel lets go when the process dies, however it dies.

    Returns the file descriptor that holds the lock. Raises StateInUse, StorageError.
    """
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(directory / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise StorageError(
            f"cannot keep state in {directory}: {error.strerror}; choose another with --state"
        ) from None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        holder = os.pread(descriptor, 32, 0).decode("ascii", "replace").strip()
        os.close(descriptor)
        raise StateInUse(
            f"another process ({holder or 'unknown'}) is working on the state in {directory}; wait for it to end"
        ) from None
    os.truncate(descriptor, 0)
    os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
    return descriptor


def connect(path: Path) -> sqlite3.Connection:
    """Open or create the database of one crawl, with every commit durable.

    Raises StorageError for a file that is not ours or not usable, UsageError for one that a newer version wrote.
    """
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        os.close(descriptor)
        # check_same_thread: the one connection is used by one thread at a time, whichever runs the event loop
        db = sqlite3.connect(path, isolation_level=None, check_same_thread=False, cached_statements=256)
        _prepare(db, path)
    except sqlite3.DatabaseError as error:
        raise StorageError(
            f"{path} cannot be used as state: {error}; move it away, or choose another directory with --state"
        ) from None
    except OSError as error:
        raise StorageError(f"cannot open the state {path}: {error.strerror}") from None
    return db


def _prepare(db: sqlite3.Connection, path: Path) -> None:
    empty = db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0
    (application,) = db.execute("PRAGMA application_id").fetchone()
    (version,) = db.execute("PRAGMA user_version").fetchone()
    if not empty and application != APPLICATION_ID:
        raise StorageError(f"{path} is a database of another program; choose another directory with --state")
    if version > VERSION:
        raise UsageError(
            f"the state {path} was written by a newer version of siteatlas (format {version}, this is {__version__} "
            f"with format {VERSION}); update siteatlas, or choose another directory with --state"
        )
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = FULL")  # a commit survives power loss; batching makes it cheap
    db.execute("PRAGMA cache_size = -16000")
    db.execute("PRAGMA temp_store = FILE")
    if empty:
        db.executescript(
            f"BEGIN; {TABLES} PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {VERSION}; COMMIT;"
        )
