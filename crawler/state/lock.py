"""Who may write: the lock of a state directory, held by one process, and the lease of a run of a fleet.

Without its lease, nothing may leave the process of a run that several machines could do. It never ends by default. The
parent process holds it in the database of the fleet and sends its deadline. Deadlines are seconds of CLOCK_BOOTTIME,
which runs on while a process is stopped and a machine sleeps
(https://man7.org/linux/man-pages/man2/clock_gettime.2.html). So a process that wakes up after its lease knows it before
it renames a file or sends a message.
"""

import errno
import fcntl
import math
import os
import shlex
import time
from pathlib import Path
from typing import Final

from crawler.errors import StateInUse, StorageError, account_name
from sitemap import make_directory, open_or_create

LOCK: Final = "lock"


def hold_lock(directory: Path, name: str = LOCK, flag: str = "state.directory (--state)") -> int:
    """Lock the state directory for this process. The kernel releases the lock when the process dies.

    Returns the file descriptor that holds the lock. Raises StateInUse, and StorageError that names the ``flag``.
    """
    try:
        make_directory(directory, 0o700)
        descriptor = open_or_create(directory / name)
    except OSError as error:
        creation = _creation(directory.absolute()) if error.errno == errno.EACCES else ""
        remedy = creation or f"Choose another directory with {flag}"
        raise StorageError(f"the state cannot be written to {directory}: {error.strerror}. {remedy}") from None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        holder = _process_id(descriptor)
        os.close(descriptor)
        raise StateInUse(
            f"another process ({holder or 'unknown'}) is using the state in {directory}. Wait until the other "
            "process ends"
        ) from None
    note_in_lock(descriptor, "")
    return descriptor


def _creation(directory: Path) -> str:
    """How to create a directory of which a part is missing; "" if none is, or this account cannot know."""
    for part in (*reversed(directory.parents), directory):
        if not os.access(part.parent, os.X_OK, effective_ids=True):
            return ""
        if not part.exists():
            command = shlex.join(["install", "-d", "-o", account_name(), str(part)])
            return f"Restore {part} from its backup, or create it as root: {command}"
    return ""


def _process_id(descriptor: int) -> str:
    """The process id in a lock, or ""."""
    return os.pread(descriptor, 32, 0).partition(b"\n")[0].decode("ascii", "replace").strip()


def note_in_lock(descriptor: int, text: str) -> None:
    """Write what readers of a lock are to know of its holder, below its process id."""
    os.truncate(descriptor, os.pwrite(descriptor, f"{os.getpid()}\n{text}".encode(errors="replace"), 0))


def lock_note(directory: Path, name: str) -> str:
    """What the holder of a lock wrote below its process id. Raises StorageError."""
    try:
        return (directory / name).read_text("utf-8", "replace").partition("\n")[2]
    except OSError as error:
        raise StorageError(f"the state in {directory} cannot be read: {error.strerror}") from None


def lock_holder(directory: Path, name: str = LOCK) -> str:
    """The id of the process that works on the state in a directory, "unknown", or "" for none. Raises StorageError."""
    try:
        descriptor = os.open(directory / name, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise StorageError(f"the state in {directory} cannot be read: {error.strerror}") from None
    try:
        # shared, so that two processes can look at once; released below
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return _process_id(descriptor) or "unknown"
    else:
        return ""
    finally:
        os.close(descriptor)


_WORD: Final = b"lease "


class LeaseLost(StateInUse):
    """The lease of the run is over: another worker may be running the site."""


def boot_time() -> float:
    """The seconds since the machine started, also those in which it slept."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic()


def lease_line(deadline: float) -> bytes:
    """The line that gives the process of a run a new deadline."""
    return _WORD + f"{deadline:.3f}\n".encode()


class RunLease:
    """The right of this process to publish and to notify, until its ``deadline``."""

    def __init__(self) -> None:
        self.deadline = math.inf

    def renew(self, deadline: float) -> None:
        """Take a new deadline."""
        self.deadline = deadline

    def hear(self, line: bytes) -> bool:
        """Take a line from the process that holds the lease; False when it is about something else."""
        if not line.startswith(_WORD):
            return False
        self.renew(float(line.removeprefix(_WORD)))
        return True

    def check(self) -> None:
        """Raise LeaseLost when the lease is over. To be called right before each effect that others see."""
        if boot_time() >= self.deadline:
            raise LeaseLost(
                "the lease of this run is over, so the run publishes and sends nothing. Another worker "
                "may have the lease"
            )


RUN_LEASE = RunLease()
"""The lease of the run of this process."""
