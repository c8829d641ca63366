"""The lock of a state directory: one process holds it, others can see which."""

import fcntl
import os
from pathlib import Path
from typing import Final

from crawler.errors import StateInUse, StorageError
from sitemap import make_directory

LOCK: Final = "lock"


def hold_lock(directory: Path, name: str = LOCK, flag: str = "--state") -> int:
    """Lock the state directory for this process. The kernel releases the lock when the process dies.

    Returns the file descriptor that holds the lock. Raises StateInUse, and StorageError that names the ``flag``.
    """
    try:
        make_directory(directory, 0o700)
        descriptor = os.open(directory / name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise StorageError(
            f"cannot write the state to {directory}: {error.strerror}; choose another directory with {flag}"
        ) from None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        holder = os.pread(descriptor, 32, 0).decode("ascii", "replace").strip()
        os.close(descriptor)
        raise StateInUse(
            f"another process ({holder or 'unknown'}) is using the state in {directory}; wait until that process ends"
        ) from None
    os.truncate(descriptor, 0)
    os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
    return descriptor


def lock_holder(directory: Path, name: str = LOCK) -> str:
    """The id of the process that works on the state in a directory, "unknown", or "" for none. Raises StorageError."""
    try:
        descriptor = os.open(directory / name, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise StorageError(f"cannot read the state in {directory}: {error.strerror}") from None
    try:
        # shared, so that two processes can look at once; released below
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return os.pread(descriptor, 32, 0).decode("ascii", "replace").strip() or "unknown"
    else:
        return ""
    finally:
        os.close(descriptor)
