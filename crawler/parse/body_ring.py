"""Hands bodies to a parser process through memory that both share: a socket would copy each twice, in pieces.

The parent writes bodies one after the other into a ring, and sends only their places. The process reads documents in
order, so the oldest body always leaves first. The parent never reads the memory, and its size is sealed, so a broken
parser spoils its own bodies only.
"""

import fcntl
import mmap
import os
from collections import deque
from typing import Final

RING_BYTES: Final = 4 * 2**20
_MAX_SHARE: Final = 4
"""A body larger than this part of the ring goes through the pipe, so that it does not keep others out."""


class BodyRing:
    """The memory of one parser process. It takes no body where ``memfd_create`` (Linux) is missing or forbidden."""

    def __init__(self, size: int = RING_BYTES) -> None:
        self._size = size
        self._memory: mmap.mmap | None = None
        self.descriptor = -1
        if hasattr(os, "memfd_create"):
            self._create()
        self._taken: deque[tuple[int, int]] = deque()  # start and end of each body, the oldest first

    def _create(self) -> None:
        """Create the memory, unless a limit of the process forbids that (ulimit -f, -n, -v)."""
        try:
            self.descriptor = os.memfd_create("siteatlas-bodies", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
            os.ftruncate(self.descriptor, self._size)
            fcntl.fcntl(self.descriptor, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL)
            self._memory = mmap.mmap(self.descriptor, self._size)
        except OSError:
            if self.descriptor >= 0:
                os.close(self.descriptor)

    @property
    def descriptors(self) -> tuple[int, ...]:
        """The descriptors that the process inherits."""
        return () if self._memory is None else (self.descriptor,)

    def put(self, body: bytes) -> int:
        """Store a body, and return its place, or -1 if there is no room now."""
        length = len(body)
        if self._memory is None or not length or length > self._size // _MAX_SHARE:
            return -1
        start = self._room(length)
        if start >= 0:
            self._memory[start : start + length] = body
            self._taken.append((start, start + length))
        return start

    def _room(self, length: int) -> int:
        if not self._taken:
            return 0
        oldest, newest = self._taken[0][0], self._taken[-1][1]
        if newest > oldest:  # free: behind the newest, and before the oldest
            if newest + length <= self._size:
                return newest
            return 0 if length < oldest else -1
        return newest if newest + length < oldest else -1

    def release(self) -> None:
        """Free the place of the oldest body."""
        self._taken.popleft()

    def close(self) -> None:
        """Give the memory back."""
        if self._memory is not None:
            self._memory.close()
            self._memory = None
            os.close(self.descriptor)


def map_bodies(descriptor: int) -> mmap.mmap:
    """The bodies in the process, which inherited the descriptor of the ring."""
    memory = mmap.mmap(descriptor, 0, prot=mmap.PROT_READ)
    os.close(descriptor)
    return memory
