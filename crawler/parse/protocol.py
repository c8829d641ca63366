"""What goes through the pipes between the pool and its workers.

A worker gets one :class:`Hello`, then :class:`Job` after job, and answers each with a ``Page`` in the same order.
"""

import struct
from typing import IO

import msgspec

from crawler.model import FetchedDocument, Page
from crawler.parse.html.page import ReadOptions
from crawler.url.params import UrlParams


class ParserOptions(msgspec.Struct, frozen=True, array_like=True):
    """What a worker must know before the first job."""

    options: ReadOptions
    params: UrlParams
    deadline: float  # seconds a job may take before the worker ends itself, should nobody else
    memory: int  # bytes of address space


class ParseJob(msgspec.Struct, frozen=True, array_like=True):
    """One document to read. ``now`` is Unix time; ``why_scan`` makes the linear scanner read it, and says why."""

    document: FetchedDocument
    now: float
    why_scan: str = ""


decode_options = msgspec.msgpack.Decoder(ParserOptions).decode

decode_job = msgspec.msgpack.Decoder(ParseJob).decode

decode_page = msgspec.msgpack.Decoder(Page).decode


LENGTH_PREFIX = struct.Struct("<I")


_encoder = msgspec.msgpack.Encoder()


def encode_message(message: msgspec.Struct) -> bytearray:
    """A message with its length before it, made without a second copy: pages may have megabytes."""
    made = bytearray(LENGTH_PREFIX.size)
    _encoder.encode_into(message, made, LENGTH_PREFIX.size)
    LENGTH_PREFIX.pack_into(made, 0, len(made) - LENGTH_PREFIX.size)
    return made


def read_message(source: IO[bytes]) -> bytes | None:
    """What comes next, without its length; None when there is nothing any more."""
    head = source.read(LENGTH_PREFIX.size)
    if len(head) < LENGTH_PREFIX.size:
        return None
    (length,) = LENGTH_PREFIX.unpack(head)
    return source.read(length)
