"""What goes through the pipes between the pool and its workers: length-prefixed MessagePack, no pickle anywhere.

A worker gets one :class:`Hello`, then :class:`Job` after job, and answers each with a ``Page`` in the same order.
"""

import struct

import msgspec

from crawler.html import ReadOptions
from crawler.model import Document, Page
from crawler.url import Params

LENGTH = struct.Struct("<I")


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


_encoder = msgspec.msgpack.Encoder()
decode_hello = msgspec.msgpack.Decoder(Hello).decode
decode_job = msgspec.msgpack.Decoder(Job).decode
decode_page = msgspec.msgpack.Decoder(Page).decode


def encode(message: Hello | Job | Page) -> bytearray:
    """A message with its length before it, made without a second copy: pages may have megabytes."""
    frame = bytearray(LENGTH.size)
    _encoder.encode_into(message, frame, LENGTH.size)
    LENGTH.pack_into(frame, 0, len(frame) - LENGTH.size)
    return frame
