"""What goes through the pipes between the pool and its workers.

A worker gets one :class:`Hello`, then :class:`Job` after job, and answers each with a ``Page`` in the same order.
"""

import struct
from typing import IO

import msgspec

from crawler.model import Document, Page
from crawler.parse.html.page import ReadOptions
from crawler.url.params import Params


class Hello(msgspec.Struct, frozen=True, array_like=True):
    """What a worker must know before the first job."""

    options: ReadOptions
    params: Params
    deadline: float  # seconds a job may take before the worker ends itself, should nobody else
    memory: int  # bytes of address space


class Job(msgspec.Struct, frozen=True, array_like=True):
    """One document to read. ``now`` is Unix time; ``why_scan`` makes the linear scanner read it, and says why."""

    document: Document
    now: float
    why_scan: str = ""


decode_hello = msgspec.msgpack.Decoder(Hello).decode

decode_job = msgspec.msgpack.Decoder(Job).decode

decode_page = msgspec.msgpack.Decoder(Page).decode


LENGTH = struct.Struct("<I")


_encoder = msgspec.msgpack.Encoder()


def encode(message: msgspec.Struct) -> bytearray:
    """A message with its length before it, made without a second copy: pages may have megabytes."""
    made = bytearray(LENGTH.size)
    _encoder.encode_into(message, made, LENGTH.size)
    LENGTH.pack_into(made, 0, len(made) - LENGTH.size)
    return made


def frame(source: IO[bytes]) -> bytes | None:
    """What comes next, without its length; None when there is nothing any more."""
    head = source.read(LENGTH.size)
    if len(head) < LENGTH.size:
        return None
    (length,) = LENGTH.unpack(head)
    return source.read(length)
