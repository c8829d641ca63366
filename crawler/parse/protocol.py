"""How processes that read outsiders' bytes are started, and the messages in their pipes.

A worker reads one :class:`ParserOptions`, then any number of :class:`ParseJob`. It answers each job with a ``Page``, in
the same order.
"""

import os
import struct
import sys
from collections.abc import Mapping
from typing import IO, Final

import msgspec

from crawler.model import FetchedDocument, Page
from crawler.parse.html.page import ReadOptions
from crawler.url.params import UrlParams
from crawler.url.resolve import DOCUMENT_BYTES

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


class ParseJob(msgspec.Struct, frozen=True, array_like=True):
    """One document to read. ``now`` is Unix time; ``why_scan`` is why the linear scanner must read it, or ""."""

    document: FetchedDocument
    now: float
    why_scan: str = ""


decode_options = msgspec.msgpack.Decoder(ParserOptions).decode
decode_job = msgspec.msgpack.Decoder(ParseJob).decode
decode_page = msgspec.msgpack.Decoder(Page).decode
LENGTH_PREFIX = struct.Struct("<I")
_encoder = msgspec.msgpack.Encoder()


def encode_message(message: msgspec.Struct) -> bytearray:
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
