"""Owns the encoded entries of files that are not finished: in memory while there is room, else on disk."""

from collections.abc import Iterator
from typing import BinaryIO, Final

from sitemap.writing.destination import Stage

PIECE: Final = 1024 * 1024  # bytes; packed bytes depend on how the content was cut, so it is always cut alike


class Memory:
    """The memory that the bodies of one set share, in bytes. Whoever has most in it goes to disk when it is full."""

    def __init__(self, stage: Stage, limit: int) -> None:
        self.stage = stage
        self.limit = limit
        self.used = 0
        self._bodies: set[Body] = set()

    def enter(self, body: "Body") -> None:
        """Count a body."""
        self._bodies.add(body)

    def make_room(self) -> None:
        """Send the largest to disk until the others are within the limit."""
        while self.used > self.limit:
            max(self._bodies, key=len).flush()

    def leave(self, body: "Body") -> None:
        """Forget a body."""
        self._bodies.discard(body)


class Body:
    """The entries of one file. OSError or DestinationError when the disk fails."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._waiting = bytearray()
        self._file: BinaryIO | None = None
        memory.enter(self)

    def __len__(self) -> int:
        """The bytes in memory."""
        return len(self._waiting)

    def add(self, data: bytes) -> None:
        """Append some encoded entries."""
        self._waiting += data
        memory = self._memory
        memory.used += len(data)
        if memory.used > memory.limit:
            memory.make_room()

    def flush(self) -> None:
        """Move what waits in memory to disk."""
        if self._file is None:
            self._file = self._memory.stage.scratch()
        self._file.write(self._waiting)
        self._memory.used -= len(self._waiting)
        self._waiting = bytearray()

    def pieces(self) -> Iterator[bytes]:
        """Everything from the start, in pieces of :data:`PIECE` bytes but for the last."""
        if self._file is None:
            for start in range(0, len(self._waiting), PIECE):
                yield bytes(self._waiting[start : start + PIECE])
            return
        self.flush()
        self._file.seek(0)
        while piece := self._file.read(PIECE):
            yield piece

    def close(self) -> None:
        """Forget the entries."""
        self._memory.used -= len(self._waiting)
        self._memory.leave(self)
        self._waiting = bytearray()
        if self._file is not None:
            self._file.close()
