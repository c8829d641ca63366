"""A snapshot: the state of one site at one moment, in a compressed archive, and back in a directory.

The archive is a tar file compressed with zstd (https://www.rfc-editor.org/rfc/rfc8878). Its first member is the header.
Databases are copied by SQLite's online backup, so a snapshot may be taken while a run holds the state. Locks, logs,
drafts and damaged files that were set aside stay out.
"""

import contextlib
import hashlib
import itertools
import logging
import os
import re
import shutil
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from io import BytesIO, RawIOBase
from pathlib import Path, PurePosixPath
from typing import BinaryIO, Final

import msgspec
from msgspec import Struct
from typing_extensions import override

from crawler.audit.evidence.store import AUDIT_FILE
from crawler.audit.sources.google.reader import GOOGLE_DB
from crawler.config.config import Config
from crawler.config.plan import CrawlPlan, plan_crawl
from crawler.config.start import remember_move
from crawler.dataset.schema import DATASET
from crawler.errors import DamagedFile, StorageError
from crawler.model import Url
from crawler.state.database import copy_database
from crawler.state.lock import hold_lock
from crawler.state.store import DAMAGED_MARK, GENERATIONS_DIRECTORY
from crawler.url.normalize import DEFAULT_PARAMS, InvalidUrl, normalize_url
from crawler.version import __version__
from sitemap import Generations, SitemapError, create_file, make_directory, replacement, sync_to_disk

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

FORMAT: Final = 1
"""Of the archive. A program refuses a newer one."""
_HEADER: Final = "snapshot.json"  # first in an archive; in a state directory, the snapshot that it came from or became
# level 3 is about as fast as a disk
_OPTIONS: Final[dict[int, int]] = {
    zstd.CompressionParameter.compression_level: 3,
    zstd.CompressionParameter.checksum_flag: 1,
}
_PIECE: Final = 1024 * 1024  # bytes
_MAX_MEMBERS: Final = 200_000  # two sets of 50,000 sitemaps are 100,000
_MIN_ROOM: Final = 256 << 20  # bytes that any archive may become
_MAX_RATIO: Final = 100  # a database shrinks to a tenth, zeros to a ten thousandth
_MAX_HEADER: Final = 64 * 1024  # bytes
_WORK: Final = ".snapshots"  # beside the state: archives, and directories that are about to be renamed
_SQLITE: Final = b"SQLite format 3\0"  # https://www.sqlite.org/fileformat.html#magic_header_string
_EXPENDABLE: Final = (AUDIT_FILE, GOOGLE_DB.file)  # made anew when they are missing; an audit may be writing them
_left_out = re.compile(
    r"\..*|lock|.*\.lock|.*\.log|.*\.draft|.*\.damaged-.*|.*\.db\.v[0-9]+|.*-(?:wal|shm|journal)|"
    + "|".join(map(re.escape, (_HEADER, DAMAGED_MARK, DATASET.file)))
).fullmatch

log = logging.getLogger(__name__)


class StoreFault(StorageError):
    """The state store cannot be used from this machine, for a ``reason``. ``may_retry``: a retry may help."""

    def __init__(self, sentence: str, reason: str = "", *, may_retry: bool = False) -> None:
        super().__init__(sentence)
        self.reason = reason
        self.may_retry = may_retry


class BadSnapshot(StorageError):
    """An archive is not whole, or not a snapshot of the site."""


class SnapshotHeader(Struct, frozen=True, kw_only=True):
    """Whose state it is, and when: ``generation`` counts the snapshots of a site, ``epoch`` its leases.

    ``start`` is the URL where the crawl of the site starts, which may have moved.
    """

    format: int = FORMAT
    program: str = __version__
    site: str
    generation: int
    epoch: int
    start: str


class LocalMark(Struct, frozen=True):
    """The ``key`` in the state store of the snapshot that a local state became, or came from; "" for none.

    ``has_begun``: a run has begun since, which may have changed the state.
    """

    key: str = ""
    has_begun: bool = False


def local_mark(state: Path) -> LocalMark:
    """The mark of a state directory."""
    with contextlib.suppress(OSError, msgspec.MsgspecError):
        return msgspec.json.decode((state / _HEADER).read_bytes(), type=LocalMark)
    return LocalMark()


def is_damaged(state: Path) -> bool:
    """Whether some command met damage in a state directory."""
    return (state / DAMAGED_MARK).exists()


def mark_damaged(state: Path) -> None:
    """Let the next run with ``fresh`` begin with the published set instead of this state. Raises StorageError."""
    with _disk_errors(state):
        make_directory(state, 0o700)
        (state / DAMAGED_MARK).touch(mode=0o600)


def mark_local(state: Path, mark: LocalMark) -> None:
    """Note what the present state is, once the fleet has recorded a snapshot of it. Raises StorageError."""
    with _disk_errors(state), replacement(state / _HEADER, 0o600) as file:
        file.write(msgspec.json.encode(mark))


@contextlib.contextmanager
def new_archive(plan: CrawlPlan) -> Iterator[Path]:
    """The path of an archive beside the state of a site, which is removed in the end. Raises StorageError."""
    with _disk_errors(plan.state):
        work = plan.state.parent / _WORK
        make_directory(work, 0o700)
        folder = Path(tempfile.mkdtemp(prefix=f"{plan.state.name}-", dir=work))
    try:
        yield folder / "archive"
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def pack(state: Path, header: SnapshotHeader, archive: Path) -> str:
    """Write a state directory to a new ``archive``; returns its SHA-256 in hexadecimal.

    May run while another process holds the state. Needs room for the archive and for the largest database. Raises
    DamagedFile when a database is damaged, so that no snapshot spreads the damage, and StorageError.
    """
    if is_damaged(state):
        raise DamagedFile(f"the state in {state} is marked as damaged, so no snapshot of the state is taken")
    with _disk_errors(state), create_file(archive, 0o600) as raw:
        with (
            zstd.ZstdFile(raw, "wb", options=_OPTIONS) as packed,
            tarfile.open(fileobj=packed, mode="w|", format=tarfile.PAX_FORMAT) as tar,
        ):
            _add(tar, _HEADER, BytesIO(msgspec.json.encode(header)))
            for path in _files(state):
                _add_file(tar, path, path.relative_to(state).as_posix(), archive.with_name("copy"))
            generations = state / GENERATIONS_DIRECTORY
            if generations.is_dir():
                with Generations(generations).unchanging():
                    for path in _files(generations):
                        _add_file(tar, path, path.relative_to(state).as_posix(), archive.with_name("copy"))
        raw.flush()
    return sha256_of(archive)


def sha256_of(file: Path) -> str:
    """The SHA-256 of a file in hexadecimal. Raises OSError."""
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def unpack(archive: Path, config: Config, site: str, key: str) -> CrawlPlan:
    """Replace the state of a site by that of an archive; returns the plan, whose state directory that is.

    At every moment, and after a crash at any, the directory has the old state or the new one, whole; see
    :func:`recover`. ``key`` is noted as its mark. A start URL that moved is moved here, too. Raises BadSnapshot when
    the archive cannot be used and nothing has changed, StateInUse while a process uses the state, StorageError,
    UsageError.
    """
    with _opened(archive) as (tar, packed):
        header = _read_header(tar)
        if header.site != site:
            raise BadSnapshot(f"the snapshot {key} belongs to the site {header.site}, not to {site}")
        plan = plan_crawl(config)
        if header.start != plan.seed:
            with _disk_errors(plan.state):
                make_directory(plan.state.parent, 0o700)
            remember_move(config, plan.seed, Url(header.start))
            plan = plan_crawl(config)
        recover(plan.state)
        descriptor = hold_lock(plan.state)
        new, old = _waiting(plan.state)
        try:
            with _disk_errors(plan.state):
                make_directory(new.parent, 0o700)
                make_directory(new, 0o700)
                _extract(tar, new)
                while packed.read(_PIECE):  # to the end, where zstd compares the checksum
                    pass
                mark_local(new, LocalMark(key))
                _exchange(plan.state, new, old)
        finally:
            shutil.rmtree(new, ignore_errors=True)
            os.close(descriptor)
    return plan


def _exchange(state: Path, new: Path, old: Path) -> None:
    for folder, _, _ in os.walk(new, topdown=False):  # the files are durable already
        sync_to_disk(Path(folder))
    state.rename(old)
    new.rename(state)
    sync_to_disk(state.parent)
    shutil.rmtree(old, ignore_errors=True)


def recover(state: Path) -> None:
    """Undo an :func:`unpack` that was killed between its two renames, and remove its leftovers. Raises StorageError."""
    with _disk_errors(state):
        new, old = _waiting(state)
        if old.exists() and not state.exists():
            old.rename(state)
            sync_to_disk(state.parent)
        for left in (new, old):
            shutil.rmtree(left, ignore_errors=True)


def _waiting(state: Path) -> tuple[Path, Path]:
    """Where the new state and the old one are during an exchange: a level deeper, where no command looks for states."""
    return state.parent / _WORK / f"{state.name}.new", state.parent / _WORK / f"{state.name}.old"


def _files(directory: Path) -> Iterator[Path]:
    """The plain files to keep, the databases first; those of the generations only from their own directory."""
    for entry in sorted(os.scandir(directory), key=lambda entry: (entry.is_dir(follow_symlinks=False), entry.name)):
        path = Path(entry.path)
        if _left_out(entry.name) or path.name == GENERATIONS_DIRECTORY:
            continue
        if entry.is_dir(follow_symlinks=False):
            yield from _files(path)
        elif entry.is_file(follow_symlinks=False):
            yield path
        else:
            log.warning("%s is not a plain file, so no snapshot has it", path)


def _add_file(tar: tarfile.TarFile, path: Path, name: str, copy: Path) -> None:
    """Add a file, a database by a copy. A file that another process removed meanwhile is left out."""
    try:
        with open_plain(path) as file:
            if file.read(len(_SQLITE)) != _SQLITE:
                _add(tar, name, file, os.fstat(file.fileno()).st_mtime)
                return
    except FileNotFoundError:
        return
    try:
        copy_database(path, copy)
        with copy.open("rb") as file:
            _add(tar, name, file, os.fstat(file.fileno()).st_mtime)
    except StorageError as error:
        if path.name not in _EXPENDABLE:
            raise
        log.warning("the snapshot is taken without %s: %s", path.name, error)
    finally:
        copy.unlink(missing_ok=True)


def open_plain(path: Path) -> BinaryIO:
    """Open a file for reading, but no link, no directory and no pipe. OSError, which names the path."""
    flags = os.O_NOFOLLOW | os.O_NONBLOCK
    return open(path, "rb", opener=lambda name, mode: os.open(name, mode | flags))


def _add(tar: tarfile.TarFile, name: str, file: BinaryIO, modified: float = 0.0) -> None:
    member = tarfile.TarInfo(name)
    member.mode, member.mtime, member.size = 0o600, int(modified), file.seek(0, os.SEEK_END)
    file.seek(0)
    tar.addfile(member, file)


class _Unpacked(RawIOBase):
    """The bytes of an archive without compression, but not more than an honest one has. Names and headers count too."""

    def __init__(self, archive: Path, packed: zstd.ZstdFile) -> None:
        self._packed = packed
        self._left = max(_MIN_ROOM, _MAX_RATIO * archive.stat().st_size)

    @override
    def read(self, size: int = -1) -> bytes:
        """The next bytes. Raises BadSnapshot."""
        piece = self._packed.read(size if 0 <= size <= self._left else self._left + 1)
        self._left -= len(piece)
        if self._left < 0:
            raise BadSnapshot(f"the archive becomes more than {_MAX_RATIO} times as large when it is unpacked")
        return piece


@contextlib.contextmanager
def _opened(archive: Path) -> Iterator[tuple[tarfile.TarFile, "_Unpacked"]]:
    """The open archive, and its bytes without compression. Errors of its format are BadSnapshot."""
    try:
        with (
            archive.open("rb") as raw,
            zstd.ZstdFile(raw, "rb") as packed,
            tarfile.open(fileobj=(unpacked := _Unpacked(archive, packed)), mode="r|") as tar,
        ):
            yield tar, unpacked
    except (tarfile.TarError, zstd.ZstdError, EOFError, msgspec.MsgspecError, UnicodeError) as error:
        raise BadSnapshot(f"the snapshot is damaged: {ascii(str(error))[1:-1][:200]}") from None


def _read_header(tar: tarfile.TarFile) -> SnapshotHeader:
    member = tar.next()
    content = tar.extractfile(member) if member and member.name == _HEADER and member.size <= _MAX_HEADER else None
    if content is None:
        raise BadSnapshot("the archive is not a snapshot of the state of a site")
    header = msgspec.json.decode(content.read(), type=SnapshotHeader)
    if header.format > FORMAT:
        raise StorageError(
            f"the snapshot was written by siteatlas {header.program}, and siteatlas {__version__} on this machine is "
            "too old to read it. Upgrade siteatlas on this machine"
        )
    with contextlib.suppress(InvalidUrl):
        if normalize_url(header.start, DEFAULT_PARAMS.keeping_all) == header.start:
            return header
    raise BadSnapshot(f"the snapshot has an invalid start URL: {ascii(header.start)[:100]}")


def _extract(tar: tarfile.TarFile, directory: Path) -> None:
    """Extract plain files with plain names. Raises BadSnapshot for anything else."""
    for number in itertools.count():
        if not (member := tar.next()):
            break
        if number > _MAX_MEMBERS:
            raise BadSnapshot(f"the snapshot contains more than {_MAX_MEMBERS:,} files")
        parts = PurePosixPath(member.name).parts
        content = tar.extractfile(member) if member.isreg() else None
        if content is None or not parts or parts[0] == "/" or ".." in parts or "\0" in member.name:
            raise BadSnapshot(f"the snapshot contains a file that is not allowed: {ascii(member.name)[:100]}")
        path = directory.joinpath(*parts)
        try:
            make_directory(path.parent, 0o700)
            with create_file(path, 0o600) as file:
                shutil.copyfileobj(content, file, _PIECE)
                file.flush()
                os.fsync(file.fileno())
        except (FileExistsError, NotADirectoryError):
            raise BadSnapshot(f"the snapshot contains a file twice: {ascii(member.name)[:100]}") from None
        os.utime(path, (member.mtime, member.mtime))


@contextlib.contextmanager
def _disk_errors(state: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        place = error.filename or state.parent / _WORK
        raise StorageError(
            f"a snapshot of the state {state} cannot be stored or restored. Error at {place}: {error.strerror or error}"
        ) from error
    except SitemapError as error:
        raise StorageError(str(error)) from error
