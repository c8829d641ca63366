"""How the file of a state is opened, recognised, locked and refused."""

import fcntl
import os
import sqlite3
from pathlib import Path
from typing import Final

from crawler.errors import StateInUse, StorageError, UsageError
from crawler.state.migrations import migrate
from crawler.state.tables import TABLES, VERSION
from crawler.version import __version__

FILE: Final = "state.db"
LOCK: Final = "lock"
APPLICATION_ID: Final = 0x53_41_54_4C  # "SATL": tells our file from any other SQLite database


def lock(directory: Path, name: str = LOCK, flag: str = "--state") -> int:
    """Hold the state directory for this process; the kernel lets go when the process dies, however it dies.

    Returns the file descriptor that holds the lock. Raises StateInUse, StorageError that names the ``flag``.
    """
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(directory / name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise StorageError(
            f"cannot keep state in {directory}: {error.strerror}; choose another with {flag}"
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


def holder(directory: Path, name: str = LOCK) -> str:
    """The process that is working on the state in a directory, by its id or as "unknown"; "" when none is.

    Raises StorageError when that cannot be found out.
    """
    try:
        descriptor = os.open(directory / name, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise StorageError(f"cannot look at the state in {directory}: {error.strerror}") from None
    try:
        # shared, so that two who look are not in each other's way, and let go of at once
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return os.pread(descriptor, 32, 0).decode("ascii", "replace").strip() or "unknown"
    else:
        return ""
    finally:
        os.close(descriptor)


def is_kept(path: Path) -> bool:
    """Whether there is a file of a state. Raises StorageError for an account that may not know."""
    try:
        return path.is_file()
    except OSError as error:
        raise StorageError(
            f"cannot look at {path}: {error.strerror}; run as the account that it belongs to"
        ) from None


def is_ours(path: Path) -> bool:
    """Whether this account may use a database, which is written to beside it even by who only looks."""
    modes = ((path, os.R_OK | os.W_OK), (path.parent, os.W_OK | os.X_OK))
    return all(os.access(each, mode, effective_ids=True) for each, mode in modes)


def connect(path: Path) -> sqlite3.Connection:
    """Open or create the database of one site, in the tables of this version and with every commit durable.

    One of an older version is brought to this one first; a copy of it is kept beside it. Raises StorageError for a
    file that is not ours or not usable, UsageError for one that a newer version wrote.
    """
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        os.close(descriptor)
        # check_same_thread: the one connection is used by one thread at a time, whichever runs the event loop
        db = sqlite3.connect(path, isolation_level=None, check_same_thread=False, cached_statements=256)
        _prepare(db, path)
    except sqlite3.DatabaseError as error:
        raise _unusable(path, error) from None
    except OSError as error:
        raise StorageError(f"cannot open the state {path}: {error.strerror}") from None
    return db


def look(path: Path) -> sqlite3.Connection:
    """Open the database for reading only, also while a run is working on it.

    Raises UsageError when there is none or when it is of another version, StorageError when it cannot be read.
    """
    if not is_kept(path):
        raise UsageError(
            f"there is no state in {path.parent}: nothing was crawled yet, or --state is another"
        )
    try:
        db = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, isolation_level=None)
        version = _recognise(db, path)
    except sqlite3.DatabaseError as error:
        raise _unusable(path, error) from None
    if version < VERSION:
        raise UsageError(
            f"the state {path} is of an older version of siteatlas; the next run brings it up to date"
        )
    return db


def _prepare(db: sqlite3.Connection, path: Path) -> None:
    empty = db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0
    version = VERSION if empty else _recognise(db, path)
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = FULL")  # a commit survives power loss; batching makes it cheap
    db.execute("PRAGMA cache_size = -16000")
    db.execute("PRAGMA temp_store = FILE")
    if empty:
        db.executescript(
            f"BEGIN; {TABLES} PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {VERSION}; COMMIT;"
        )
    elif version < VERSION:
        migrate(db, path, version)


def _recognise(db: sqlite3.Connection, path: Path) -> int:
    """The version of a database of ours. Raises StorageError, UsageError for all others."""
    (application,) = db.execute("PRAGMA application_id").fetchone()
    (version,) = db.execute("PRAGMA user_version").fetchone()
    if application != APPLICATION_ID:
        raise StorageError(f"{path} is a database of another program; choose another directory with --state")
    if version > VERSION:
        raise UsageError(
            f"the state {path} was written by a newer version of siteatlas (format {version}, this is {__version__} "
            f"with format {VERSION}); update siteatlas, or choose another directory with --state"
        )
    return int(version)


def _unusable(path: Path, error: sqlite3.Error) -> StorageError:
    if not is_ours(path):
        return StorageError(f"{path} is not for this account to use: run as the one that it belongs to")
    return StorageError(
        f"{path} cannot be used as state: {error}; move it away, or choose another directory with --state"
    )
