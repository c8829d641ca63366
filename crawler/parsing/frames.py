"""What goes through the pipes between the pool and its workers.

A worker gets one :class:`Hello`, then :class:`Job` after job, and answers each with a ``Page`` in the same order.
"""

import msgspec

from crawler.html.options import ReadOptions
from crawler.model import Document, Page
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
