"""Owns the sentence that tells a person why the operating system refused, and what to do."""

import contextlib
import errno
from collections.abc import Iterator
from typing import Final

from sitemap.errors import DestinationError

_PERMISSION: Final = "give this user write permission, or choose another directory"
_REMEDIES: Final = {
    errno.EACCES: _PERMISSION,
    errno.EPERM: _PERMISSION,
    errno.EROFS: "the file system is read-only: choose another directory",
    errno.ENOSPC: "the disk is full: free some space",
    errno.EDQUOT: "the quota is used up: free some space",
    errno.EFBIG: "the file is larger than this process may write: raise its limit",
    errno.ENOTDIR: "a part of the path is a file: choose another directory",
    errno.EEXIST: "a file is in the way: choose another directory",
    errno.EISDIR: "a directory is in the way: move it, or choose another directory",
    errno.ENOENT: "it does not exist and cannot be created there: choose another directory",
}


def failure(what: str, error: OSError | ValueError) -> DestinationError:
    """The error of a destination for one of the operating system; ``what`` begins its sentence."""
    if not isinstance(error, OSError):
        return DestinationError(f"{what}: {error}")
    remedy = _REMEDIES.get(error.errno or 0, "")
    return DestinationError(f"{what}: {error.strerror or error}" + (f"; {remedy}" if remedy else ""))


@contextlib.contextmanager
def explained(what: str) -> Iterator[None]:
    """Turns what the operating system raises inside into a DestinationError."""
    try:
        yield
    except (OSError, ValueError) as error:
        raise failure(what, error) from error
