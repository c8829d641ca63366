"""Owns the sign that a stage belongs to a living process. The kernel takes it back when the process dies."""

import os
import sys
from pathlib import Path
from types import TracebackType
from typing import Self

if sys.platform != "win32":
    import fcntl


class StageLock:
    """An exclusive lock on a stage directory, or on the directory of all. As a context manager it is given back.

    ``held`` is False only when another process holds it.
    """

    def __init__(self, path: Path, *, wait: bool = True) -> None:
        self.held = True
        self._descriptor: int | None = None
        if sys.platform == "win32":  # no such locks: stages cannot be told apart there
            return
        self._descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            self.held = False
            self.release()
        except OSError:  # a file system without locks: better to sweep too much of our own than to stop
            pass

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()

    def release(self) -> None:
        """Give the lock back. Harmless when it was never had."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
