"""The lease of a run that several machines could do: without it, nothing may leave this process. Never ends by default.

The parent process holds the lease in the database of the fleet and sends its deadline. Deadlines are seconds of
CLOCK_BOOTTIME, which runs on while a process is stopped and a machine sleeps
(https://man7.org/linux/man-pages/man2/clock_gettime.2.html). So a process that wakes up after its lease knows it before
it renames a file or sends a message.
"""

import math
import time
from typing import Final

from crawler.errors import StateInUse

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
            raise LeaseLost("the lease of this run is over, so it publishes and sends nothing; another worker has it")


RUN_LEASE = RunLease()
"""The lease of the run of this process."""
