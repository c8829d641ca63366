"""Opens SQLite files: creates, recognises, reads and refuses them. No other module does.

A package describes its file as a :class:`Database`: its tables in SQL, their version, and the remedy for a bad file.
"""

import functools
import logging
import os
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from tempfile import gettempdir
from typing import Final

import msgspec

from crawler.errors import NEXT_RUN, DamagedFile, StorageError, UsageError
from crawler.version import __version__
from sitemap import check_path, create_file, open_or_create, sync_to_disk

log = logging.getLogger(__name__)

_STATE: Final = "the state"
# file systems of other machines, on which SQLite's write-ahead log does not work: https://www.sqlite.org/wal.html
_NETWORK_DISKS: Final = frozenset(
    (
        *("9p", "afs", "beegfs", "ceph", "cifs", "gcsfuse", "glusterfs", "gpfs", "grpcfuse", "juicefs", "lustre"),
        *("nfs", "nfs4", "rclone", "s3fs", "smb3", "smbfs", "sshfs"),
    )
)
_NETWORK_TIMEOUT_MS: Final = 60_000
_MOVE_REMEDY: Final = "Run the command again, and move the file away if the error returns"


def fresh_remedy() -> str:
    """What to do about a damaged state, as a sentence."""
    command = NEXT_RUN.having("--fresh", "use siteatlas crawl or siteatlas run with")
    return f"{command[0].upper()}{command[1:]} to rename the file and to start again from the published sitemap"


def statements(package: str, file: str, **words: object) -> dict[str, str]:
    """The statements of a file of SQL, by the names in the comments before them (``-- name: put_page``).

    ``words`` take the place of their names in braces: ``{State.REDIRECT}``.
    """
    text = (files(package) / file).read_text(encoding="utf-8")
    _, *parts = re.split(r"^-- name: (\w+)\n", text, flags=re.MULTILINE)
    return {name: statement.strip().format_map(words) for name, statement in zip(parts[::2], parts[1::2], strict=True)}


@contextmanager
def storage_errors(what: str = _STATE) -> Iterator[None]:
    """Turns errors of SQLite into a StorageError that names the fault and the remedy."""
    try:
        yield
    # SQLite quotes damaged text in its messages
    except (sqlite3.Error, msgspec.MsgspecError, UnicodeDecodeError) as error:
        remedy = fresh_remedy() if what == _STATE else _MOVE_REMEDY
        fault = _fault(error, remedy)
        raise _kind_of(error)(f"{what} cannot be written or read: {fault}") from error


@contextmanager
def transaction(db: sqlite3.Connection, what: str = _STATE) -> Iterator[None]:
    """One durable transaction: all of it, or none when anything is raised. Raises StorageError."""
    with storage_errors(what), _begin_immediate(db):
        yield


@dataclass(frozen=True, slots=True, kw_only=True)
class Database:
    """One kind of file: its SQLite ``application_id``, its ``tables`` and their ``version``.

    ``file`` is its name in a directory. Messages say that it cannot be used as ``description`` and end with the
    ``remedy``, by default :func:`fresh_remedy`; ``absent_message`` says that a directory has none. A file that is
    always created anew needs neither application_id nor version.
    """

    file: str
    application_id: int = 0
    version: int = 0
    tables: str
    description: str
    remedy: str = ""
    absent_message: str = "nothing has been stored in {} yet"

    @property
    def _remedy(self) -> str:
        return self.remedy or f"{fresh_remedy()}, or choose another directory with --state"

    def is_in(self, directory: Path) -> bool:
        """Whether a directory has one. Raises StorageError when the account may not look there."""
        return is_there(directory / self.file)

    def open(self, path: Path, *, is_durable: bool = True, timeout: float = 5.0) -> sqlite3.Connection:
        """Open or create the file for its only writer. If ``is_durable``, every commit survives a power loss.

        Raises StorageError for a file of another program, of an older version or a bad one, UsageError for one of a
        newer version. ``timeout`` is in seconds.
        """
        with self.used(path), _opened(path, timeout) as db:
            self._prepare(db, path, is_durable=is_durable)
            return db

    def create(self, path: Path) -> sqlite3.Connection:
        """Replace the file with an empty one that need not survive a crash. Raises StorageError."""
        with self.used(path):
            path.unlink(missing_ok=True)
            with _opened(path) as db:
                db.executescript("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA temp_store = FILE")
                self._create(db)
                return db

    def open_read_only(self, path: Path) -> sqlite3.Connection:
        """Open the file for reading, even while another process writes to it.

        Raises UsageError when there is none or it is newer, StorageError when it cannot be read.
        """
        if not is_there(path):
            raise UsageError(self.absent_message.format(path.parent))
        with self.used(path), _opened(path, mode="ro") as db:
            self._recognise(db, path)
            return db

    @contextmanager
    def reading(self, directory: Path) -> Iterator[sqlite3.Connection]:
        """The file in a directory, open for reading. Raises as :meth:`open_read_only`, also for later errors."""
        path = directory / self.file
        with closing(self.open_read_only(path)) as db, storage_errors(str(path)):
            yield db

    def empty(self) -> sqlite3.Connection:
        """An empty one in memory."""
        db = _in_memory()
        self._create(db)
        return db

    def copy_in_memory(self, directory: Path) -> sqlite3.Connection:
        """A copy in memory of the file in a directory, empty if there is none. Raises as :meth:`reading`."""
        if not self.is_in(directory):
            return self.empty()
        with self.reading(directory) as kept:
            db = _in_memory()
            kept.backup(db)
            return db

    @contextmanager
    def used(self, path: Path) -> Iterator[None]:
        """Turns errors of a file, and damaged values in it, into a StorageError that names the file and the remedy."""
        try:
            yield
        except (sqlite3.Error, msgspec.MsgspecError, UnicodeDecodeError, OSError) as error:
            if isinstance(error, PermissionError) or (isinstance(error, sqlite3.Error) and not _may_use(path)):
                why = getattr(error, "strerror", None) or error
                raise StorageError(
                    f"this account has no access to {path} ({why}). Run siteatlas as the account that owns the file"
                ) from None
            reason = f"{path} cannot be used as {self.description}: {_fault(error, self._remedy)}"
            raise _kind_of(error)(reason) from None

    def _prepare(self, db: sqlite3.Connection, path: Path, *, is_durable: bool) -> None:
        is_empty = db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0
        if not is_empty:
            self._recognise(db, path)
        if kind := network_disk_type(path, _read_mounts()):
            _note_network_disk(path.parent, kind)
            db.execute(f"PRAGMA busy_timeout = {_NETWORK_TIMEOUT_MS}")  # a reader holds up a writer without the log
        db.execute(f"PRAGMA journal_mode = {'TRUNCATE' if kind else 'WAL'}")
        # a commit survives power loss; batching makes it cheap
        db.execute(f"PRAGMA synchronous = {'FULL' if is_durable else 'OFF'}")
        db.execute("PRAGMA cache_size = -16000")
        # Debian's SQLite overwrites deleted pages, which makes the begin of a run ten times as long: it empties tables.
        db.execute("PRAGMA secure_delete = FAST")
        db.execute("PRAGMA temp_store = FILE")
        if is_empty:
            self._create(db)

    def _create(self, db: sqlite3.Connection) -> None:
        marks = f"PRAGMA application_id = {self.application_id}; PRAGMA user_version = {self.version};"
        db.executescript(f"BEGIN; {self.tables} {marks} COMMIT;")

    def _recognise(self, db: sqlite3.Connection, path: Path) -> None:
        """Raises DamagedFile for a file of another program or an older version, UsageError for a newer one."""
        (application_id,) = db.execute("PRAGMA application_id").fetchone()
        (version,) = db.execute("PRAGMA user_version").fetchone()
        if application_id != self.application_id:
            raise DamagedFile(f"{path} is a database of another program. {self._remedy}")
        if version > self.version:
            raise UsageError(
                f"{path} was written by a newer version of siteatlas: it has format {version}, and siteatlas "
                f"{__version__} reads formats up to {self.version}. Update siteatlas, or "
                f"{self._remedy[0].lower()}{self._remedy[1:]}"
            )
        if version < self.version:
            raise DamagedFile(
                f"{path} was written by an older version of siteatlas: it has format {version}, and siteatlas "
                f"{__version__} reads format {self.version}. {self._remedy}"
            )


def network_disk_type(path: Path, mounts: str) -> str:
    """The type of the network file system that a file is on, such as ``nfs4``; "" for a local disk.

    ``mounts`` is the text of ``/proc/self/mountinfo``, whose third field is the device of the file:
    https://www.kernel.org/doc/html/latest/filesystems/proc.html#proc-pid-mountinfo-information-about-mounts
    """
    device = path.stat().st_dev
    name = f"{os.major(device)}:{os.minor(device)}"
    for line in mounts.splitlines():
        mount, _, system = line.partition(" - ")
        kind = system.partition(" ")[0]
        if mount.split()[2:3] == [name] and kind.removeprefix("fuse.") in _NETWORK_DISKS:
            return kind
    return ""


def _read_mounts() -> str:
    try:
        return Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:  # not Linux
        return ""


@functools.cache
def _note_network_disk(directory: Path, kind: str) -> None:
    """Say so once per directory and process."""
    log.warning(
        "%s is on a network disk (%s). Siteatlas is slower there, and commands that read the state during a run "
        "have to "
        "wait. If possible, choose a directory on a local disk with --state",
        directory,
        kind,
    )


@contextmanager
def _opened(path: Path, timeout: float = 5.0, mode: str = "rw") -> Iterator[sqlite3.Connection]:
    """A connection, which is closed if the block fails. Raises sqlite3.Error, OSError."""
    check_path(path.parent)
    if mode == "rw":
        os.close(open_or_create(path))
    # check_same_thread: one thread at a time uses a connection, whichever runs the event loop
    db = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode={mode}",
        timeout=timeout,
        isolation_level=None,
        check_same_thread=False,
        cached_statements=256,
        uri=True,
    )
    try:
        yield db
    except BaseException:
        db.close()
        raise


def _in_memory() -> sqlite3.Connection:
    return sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)


def copy_database(path: Path, copy: Path) -> None:
    """Copy a database as of one moment, even while another process writes to it, into a new file.

    Raises DamagedFile when it is damaged, StorageError when it cannot be read.
    https://www.sqlite.org/backup.html
    """
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", timeout=60.0, uri=True)) as db:
            _back_up(db, copy)
        with closing(sqlite3.connect(copy)) as db:
            db.execute("PRAGMA journal_mode = DELETE")  # so that checking it makes no files beside it
            (found,) = db.execute("PRAGMA quick_check(1)").fetchone()
    except (sqlite3.Error, OSError) as error:
        raise _kind_of(error)(f"{path} cannot be copied: {_fault(error, fresh_remedy())}") from None
    if found != "ok":
        raise DamagedFile(f"{path} cannot be copied: it is damaged ({ascii(found)[1:-1][:200]}). {fresh_remedy()}")


def _kind_of(error: Exception) -> type[StorageError]:
    """DamagedFile for an error that only another content of the file can cause."""
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_OK) & 0xFF
    is_bad_file = code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
    is_bad_value = isinstance(error, msgspec.MsgspecError | UnicodeDecodeError) or "decode to UTF-8" in str(error)
    return DamagedFile if is_bad_file or is_bad_value else StorageError


def _fault(error: Exception, remedy: str) -> str:
    """The fault and its remedy: ``remedy`` when the file itself is bad."""
    match getattr(error, "sqlite_errorcode", sqlite3.SQLITE_OK) & 0xFF:
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return "another process is writing to the file. Run the command again when the other process has ended"
        case sqlite3.SQLITE_FULL | sqlite3.SQLITE_IOERR:
            return f"{error}. Free space there, and for temporary files in {gettempdir()}, then run the command again"
        case sqlite3.SQLITE_READONLY:
            return "the file is read-only. Run siteatlas as the account that owns the file, on a writable disk"
    if _kind_of(error) is DamagedFile:
        return f"it is damaged ({ascii(str(error))[1:-1][:200]}). {remedy}"
    return f"{error.strerror if isinstance(error, OSError) else error}. {remedy}"


def is_there(path: Path) -> bool:
    """Whether a file or directory exists. Raises StorageError when the account may not look there."""
    try:
        return path.exists()
    except OSError as error:
        raise StorageError(
            f"{path} cannot be read: {error.strerror}. Run siteatlas as the account that owns the file"
        ) from None


def _may_use(path: Path) -> bool:
    """Whether this account may use a database: SQLite writes files beside it even to read it."""
    modes = ((path, os.R_OK | os.W_OK), (path.parent, os.W_OK | os.X_OK))
    return all(os.access(place, mode, effective_ids=True) for place, mode in modes)


@contextmanager
def _begin_immediate(db: sqlite3.Connection) -> Iterator[None]:
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise


def _back_up(db: sqlite3.Connection, copy: Path) -> None:
    draft = copy.with_name(copy.name + ".draft")
    draft.unlink(missing_ok=True)
    create_file(draft, 0o600).close()
    with closing(sqlite3.connect(draft)) as target:
        db.backup(target)
    sync_to_disk(draft)
    draft.replace(copy)
