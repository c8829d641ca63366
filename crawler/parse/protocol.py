"""How processes that read outsiders' bytes are started, the messages in their pipes, and the memory that they share.

A worker reads one :class:`ParserOptions`, then any number of :class:`ParseJob`. It answers each job with a ``Page``, in
the same order.
"""

import fcntl
import mmap
import os
import struct
import sys
from collections import deque
from collections.abc import Mapping
from typing import IO, Final

import msgspec

from crawler.model import FetchedDocument, Page
from crawler.parse.html.page import ReadOptions
from crawler.url.params import UrlParams
from crawler.url.resolve import DOCUMENT_BYTES

BODY_MEMORY: Final = 2 * 2**20
"""Bytes of the bodies that wait for one parser process in shared memory; larger and more ones go through its pipe."""
# What Python needs to start and to find its modules and libraries.
_KEPT_VARIABLES: Final = ("PYTHONHOME", "PYTHONPATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")


def worker_command(module: str) -> tuple[str, ...]:
    """The command that runs a module in another process."""
    return sys.executable, "-P", "-m", module  # -P: never import a folder named crawler in the working directory


def bare_environment(environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The environment of such a process, without any secret: what Python needs to find its modules."""
    return {name: environment[name] for name in _KEPT_VARIABLES if name in environment}


class ParserOptions(msgspec.Struct, frozen=True, array_like=True):
    """The settings of a worker."""

    options: ReadOptions
    params: UrlParams
    deadline: float  # seconds after which the worker ends itself, should the pool not have done so
    memory: int  # bytes of address space
    link_bytes: int = DOCUMENT_BYTES  # of the URLs of one document
    with_places: bool = False  # the empty places of a page are found, too: they tell whether it may be rendered


class ParseJob(msgspec.Struct, frozen=True, array_like=True):
    """One document to read. ``now`` is Unix time; ``why_scan`` is why it must be read flat, or "".

    With a ``size``, the body of the document is in the shared memory, from ``start``.
    """

    document: FetchedDocument
    now: float
    why_scan: str = ""
    start: int = 0
    size: int = 0


decode_options = msgspec.msgpack.Decoder(ParserOptions).decode
decode_job = msgspec.msgpack.Decoder(ParseJob).decode
decode_page = msgspec.msgpack.Decoder(Page).decode
LENGTH_PREFIX = struct.Struct("<I")
_encoder = msgspec.msgpack.Encoder()


def encode_message(message: object) -> bytearray:
    """A message with its length before it. It is not copied, because a page may have megabytes."""
    frame = bytearray(LENGTH_PREFIX.size)
    _encoder.encode_into(message, frame, LENGTH_PREFIX.size)
    LENGTH_PREFIX.pack_into(frame, 0, len(frame) - LENGTH_PREFIX.size)
    return frame


def read_message(source: IO[bytes]) -> bytes | None:
    """The next message without its length, or None at the end of the stream."""
    head = source.read(LENGTH_PREFIX.size)
    if len(head) < LENGTH_PREFIX.size:
        return None
    (length,) = LENGTH_PREFIX.unpack(head)
    return source.read(length)


class SharedBodies:
    """Memory that the pool and one parser process share. The pool writes bodies into it, and reads nothing.

    A body in a pipe is copied six times, in this memory once by each side. The bodies are a ring: the first one that is
    put is the first one that is dropped. A process that has been taken over cannot change the size of the memory, which
    would crash the other side; what else it changes is only its own next bodies.
    """

    def __init__(self, file: int, size: int) -> None:
        self._memory = mmap.mmap(file, size)
        self._size = size
        self._places: deque[tuple[int, int]] = deque()  # start and end of each body, the oldest first
        self.file = file

    @classmethod
    def create(cls, size: int = BODY_MEMORY) -> "SharedBodies | None":
        """New memory with an open file; None on a system without files in memory (Linux has them)."""
        if sys.platform != "linux":
            return None
        try:
            file = os.memfd_create("bodies", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        except OSError:
            return None
        try:
            os.ftruncate(file, size)
            fcntl.fcntl(file, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL)
            return cls(file, size)
        except (OSError, ValueError):
            os.close(file)
            return None

    def put(self, body: bytes) -> int | None:
        """Write a body behind the others and return its start; None when there is no room."""
        size, places = len(body), self._places
        if not places:
            start, end = 0, self._size
        elif places[-1][1] > places[0][0]:  # all bodies are in one row
            start, end = places[-1][1], self._size
            if start + size > end:
                start, end = 0, places[0][0]
        else:
            start, end = places[-1][1], places[0][0]
        if not size or start + size > end:
            return None
        self._memory[start : start + size] = body
        places.append((start, start + size))
        return start

    def drop_first(self) -> None:
        """The oldest body is no longer needed."""
        self._places.popleft()

    def clear(self) -> None:
        """No body is needed any more."""
        self._places.clear()

    def read(self, start: int, size: int) -> bytes:
        """A copy of a body."""
        return self._memory[start : start + size]

    def close(self) -> None:
        """Give the memory back."""
        self._memory.close()
        os.close(self.file)
