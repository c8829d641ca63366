"""File operations for publishing: create, replace, sync, compare, link, lock; and errors with remedies.

Other accounts of the machine may write to the same directory, such as ``/tmp``. So nothing here writes through a link
that somebody else planted, or uses a directory that somebody else made, and no file is writable for others.
"""

import contextlib
import errno
import hashlib
import os
import shutil
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final, Self

from sitemap.errors import DestinationError

_PIECE: Final = 1024 * 1024  # bytes


_OPEN_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)


def create_file(path: Path, mode: int = 0o644) -> BinaryIO:
    """A new file, open for writing. The umask may take permissions from the ``mode``. FileExistsError, also for a link.

    https://pubs.opengroup.org/onlinepubs/9799919799/functions/open.html: with O_EXCL, links are not followed.
    """
    file = os.fdopen(os.open(path, _OPEN_NEW, mode), "wb")
    give_to_owner(path, file.fileno())
    return file


def open_or_create(path: Path) -> int:
    """The descriptor of a private file to read and write, which is created if it is missing. OSError for a link."""
    with contextlib.suppress(FileExistsError):
        create_file(path, 0o600).close()
    return os.open(path, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0))


def give_to_owner(path: Path, descriptor: int | None = None) -> None:
    """Give what root has just created to the owner of its directory: commands of that account have to use it later.

    By its ``descriptor``, or one of the directory that it is: that owner may have put something else in its place.
    """
    if sys.platform == "win32" or os.geteuid() != 0:
        return
    owner = path.parent.stat()
    if descriptor is not None:
        opened = os.dup(descriptor)
    else:
        opened = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        # a directory with files was put in place of the new one
        is_ours = descriptor is not None or not os.listdir(opened)  # noqa: PTH208 - by its descriptor
        with contextlib.suppress(OSError):  # root of a container, or of a client of NFS, may not
            if is_ours:
                os.fchown(opened, owner.st_uid, owner.st_gid)
    finally:
        os.close(opened)


@contextlib.contextmanager
def replacement(path: Path, mode: int = 0o644, *, like_before: bool = False) -> Iterator[BinaryIO]:
    """A file that takes the place of ``path``, whole and durable, when the block ends; after an error, nothing changes.

    It is written as ``.NAME.draft`` beside it. A draft that is there already is of a killed process, or a trap, and is
    removed. ``like_before``: it gets the mode and the owner of the file that it replaces.
    """
    draft = path.with_name(f".{path.name}.draft")
    draft.unlink(missing_ok=True)
    try:
        with create_file(draft, mode) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if like_before:
            with contextlib.suppress(FileNotFoundError):
                copy_ownership(draft, path.stat())
        draft.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            draft.unlink(missing_ok=True)
        raise
    sync_to_disk(path.parent)


class ForeignPath(PermissionError):
    """Another account may have put a file, a directory or a link in the way for us to use."""


def check_path(path: Path) -> None:
    """Raise ForeignPath when another account may have planted a part of an existing path. OSError.

    A directory that another account owns is no fault in itself: an administrator writes below the directory of the web
    server, and the account of a container has another number than that of its volume.
    """
    for whole in (path.absolute(), path.resolve()):  # what is behind links too
        for part in (*reversed(whole.parents), whole):
            if why := is_planted(part):
                raise ForeignPath(errno.EPERM, why, str(part))


def is_planted(path: Path) -> str:
    """Why another account may have put a file, a link or a directory there for us to use; "" if none may. OSError.

    In a directory that everyone may write to, the rule is that of Linux for links:
    https://docs.kernel.org/admin-guide/sysctl/fs.html#protected-symlinks. Elsewhere, a link of another account may lead
    to what that account owns, as with https://httpd.apache.org/docs/2.4/mod/core.html#options (SymLinksIfOwnerMatch).
    """
    if sys.platform == "win32":
        return ""
    directory, own = path.parent.stat(), path.lstat()
    if own.st_uid in {os.geteuid(), 0}:
        return ""
    if directory.st_mode & stat.S_IWOTH and own.st_uid != directory.st_uid:
        return f"{path} belongs to {_account(own.st_uid)}, in a directory that everyone may write to"
    if stat.S_ISLNK(own.st_mode) and path.exists() and (owner := path.stat().st_uid) != own.st_uid:
        return f"{path} is a link of {_account(own.st_uid)}, and leads to what belongs to {_account(owner)}"
    return ""


def _account(number: int) -> str:
    """The name of an account, or its number when it has none here."""
    import pwd  # noqa: PLC0415 - not on Windows

    with contextlib.suppress(KeyError):
        return pwd.getpwuid(number).pw_name
    return f"the account {number}"


def make_directory(path: Path, mode: int = 0o775) -> None:
    """Create a directory with its parents, or check that another account has planted no part of it. OSError.

    No umask lets everyone write to it.
    """
    if not path.parent.exists():
        make_directory(path.parent)
    check_path(path.parent)
    try:
        path.mkdir(mode)
        give_to_owner(path)
    except FileExistsError:
        if not path.is_dir():
            raise
    check_path(path)


def sync_to_disk(path: Path) -> None:
    """Make the content of a file, or the names in a directory, survive a power failure."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def is_same_content(file: Path, other: Path) -> bool:
    """Whether both are plain files with equal bytes; False if one must not be read."""
    if not (file.is_file() and other.is_file()):
        return False
    with contextlib.suppress(PermissionError), file.open("rb") as first, other.open("rb") as second:
        if os.path.sameopenfile(first.fileno(), second.fileno()):
            return True
        if os.fstat(first.fileno()).st_size != os.fstat(second.fileno()).st_size:
            return False
        return has_same_bytes(first, second)
    return False


def has_same_bytes(file: BinaryIO, other: BinaryIO) -> bool:
    """Whether two open files have equal bytes from here on."""
    while (piece := file.read(_PIECE)) == other.read(_PIECE):
        if not piece:
            return True
    return False


def sha256_of(file: Path) -> str:
    """The SHA-256 of a plain file, or "" if there is none."""
    if not file.is_file():
        return ""
    try:
        with file.open("rb") as content:
            return hashlib.file_digest(content, "sha256").hexdigest()
    except FileNotFoundError:
        return ""


def link_or_copy(file: Path, other: Path, draft: Path) -> None:
    """Give a file a second name, or copy it if the file system has no hard links.

    A copy is written to ``draft`` and renamed when it is complete. FileExistsError if the name is taken.
    """
    try:
        os.link(file, other, follow_symlinks=False)
    except FileExistsError:
        if not is_same_content(file, other):
            raise
    except OSError:
        shutil.copy2(file, draft, follow_symlinks=False)
        if not draft.is_symlink():
            copy_ownership(draft, file.stat())
            sync_to_disk(draft)
        draft.replace(other)


def copy_ownership(file: Path, like: os.stat_result) -> None:
    """Give a file the owner, group and mode of another, as far as permitted."""
    try:
        os.chown(file, like.st_uid, like.st_gid)
    except PermissionError:
        with contextlib.suppress(PermissionError):
            os.chown(file, -1, like.st_gid)
    file.chmod(like.st_mode & 0o7777)


_PERMISSION: Final = "give this user write permission, or choose another directory"

_REMEDIES: Final = {
    errno.EACCES: _PERMISSION,
    errno.EPERM: _PERMISSION,
    errno.EROFS: "the file system is read-only: mount it for writing, or choose another directory",
    errno.ENOSPC: "the disk is full: free some space",
    errno.EDQUOT: "the quota is used up: free some space",
    errno.EFBIG: "the file is larger than the limit of this process: raise the limit",
    errno.ENOTDIR: "a part of the path is a file: choose another directory",
    errno.EEXIST: "a file is in the way: choose another directory",
    errno.EISDIR: "a directory is in the way: move it, or choose another directory",
    errno.ENOENT: "it does not exist and cannot be created there: choose another directory",
}


def destination_error(problem: str, error: OSError | ValueError) -> DestinationError:
    """A DestinationError for an error of the operating system; its sentence begins with ``problem``."""
    if not isinstance(error, OSError):
        return DestinationError(f"{problem}: {error}")
    remedy = "choose another directory" if isinstance(error, ForeignPath) else _REMEDIES.get(error.errno or 0, "")
    return DestinationError(f"{problem}: {error.strerror or error}" + (f"; {remedy}" if remedy else ""))


@contextlib.contextmanager
def explain_errors(problem: str) -> Iterator[None]:
    """Turn errors of the operating system into a DestinationError."""
    try:
        yield
    except (OSError, ValueError) as error:
        raise destination_error(problem, error) from error


if sys.platform != "win32":
    import fcntl


class StageLock:
    """An exclusive lock on a directory; a context manager releases it.

    ``held`` is False only if another process holds the lock.
    """

    def __init__(self, path: Path, *, wait: bool = True) -> None:
        self.held = True
        self._descriptor: int | None = None
        if sys.platform == "win32":  # without locks, stages of live processes are not recognized
            return
        self._descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            self.held = False
            self.release()
        except OSError:  # a file system without locks: removing too many stages is better than stopping
            pass

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def release(self) -> None:
        """Release the lock. Does nothing if it is not held."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
