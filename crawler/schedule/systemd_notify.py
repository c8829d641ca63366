"""What a service manager is told: that the daemon is ready, reads its configuration again, is alive, and stops.

The protocol is https://www.freedesktop.org/software/systemd/man/latest/sd_notify.html: lines in a datagram to the
socket that NOTIFY_SOCKET names. Without one nothing is told.
"""

import os
import socket
import time
from collections.abc import Mapping
from typing import Final

import anyio

_TIMEOUT: Final = 1.0  # seconds


class SystemdNotifier:
    """Whoever has started the daemon, as its ``environment`` tells. Never raises: nobody may be there any more."""

    def __init__(self, environment: Mapping[str, str] = os.environ) -> None:
        name = environment.get("NOTIFY_SOCKET", "")
        # an @ stands for the zero byte of a name that is in no file system
        self._address = f"\0{name[1:]}" if name.startswith("@") else name
        self._watched = _watchdog_seconds(environment)
        self._status = ""

    def ready(self, status: str) -> None:
        """All is set up, or is again what the configuration says."""
        self._status = status
        self._tell("READY=1", f"STATUS={status}")

    def reloading(self) -> None:
        """The configuration is about to be read again; :meth:`ready` says that it was."""
        self._tell("RELOADING=1", f"MONOTONIC_USEC={time.monotonic_ns() // 1000}")

    def status(self, text: str) -> None:
        """What is going on, in one line; told when it is news."""
        if text != self._status:
            self._status = text
            self._tell(f"STATUS={text}")

    def stopping(self) -> None:
        """It ends, after the runs have saved what they know."""
        self._tell("STOPPING=1")

    async def send_watchdog(self) -> None:
        """Say that the event loop turns, twice in each of the times after which the manager would take it for dead."""
        while self._watched:
            self._tell("WATCHDOG=1")
            await anyio.sleep(self._watched / 2)

    def _tell(self, *lines: str) -> None:
        if not self._address:
            return
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as out:
                out.settimeout(_TIMEOUT)  # its queue is short, and what is not heard now is never heard
                out.sendto("\n".join(lines).encode(), self._address)
        except OSError:
            return


def _watchdog_seconds(environment: Mapping[str, str]) -> float:
    """Seconds after which a daemon that says nothing is ended; 0 when nobody looks, or at another process."""
    if environment.get("WATCHDOG_PID", str(os.getpid())) != str(os.getpid()):
        return 0.0
    try:
        return int(environment.get("WATCHDOG_USEC", "0")) / 1_000_000
    except ValueError:
        return 0.0
