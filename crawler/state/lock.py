"""The lock of a directory: held by the one process that works in it, and asked after by those that look."""

import fcntl
import os
from pathlib import Path
from typing import Final

from crawler.errors import StateInUse, StorageError

LOCK: Final = "lock"


def hold_lock(directory: Path, name: str = LOCK, flag: str = "--state") -> int:
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


def lock_holder(directory: Path, name: str = LOCK) -> str:
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
