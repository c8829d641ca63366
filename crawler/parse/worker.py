"""The parser process: documents in on standard input, pages out on standard output. Dies with its parent."""

import ctypes
import gc
import os
import resource
import signal
import sys
from contextlib import suppress
from typing import Final

import msgspec
from msgspec.structs import replace

from crawler.model import DocumentKind, FetchedDocument, Page
from crawler.parse.html.page import read_page, scan_page
from crawler.parse.protocol import (
    ParseJob,
    ParserOptions,
    decode_job,
    decode_options,
    encode_message,
    read_message,
)
from crawler.parse.snapshot.diff import compare
from crawler.parse.snapshot.snapshot import digest, take_document_snapshot
from crawler.url.resolve import UrlResolver

# Parameters of mallopt in the GNU C library (<malloc.h>), and bytes. By default the heap is shrunk and grown again
# around every page, which costs more time than reading some of them. The tree of a page of 1 MB takes 20 MB.
_HEAP_OPTIONS: Final = {
    -1: 32_000_000,
    -2: 4_000_000,
    -3: 1_000_000,
}  # M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_THRESHOLD


_encode = msgspec.msgpack.Encoder().encode


def main() -> None:
    """Serve until standard input ends."""
    signal.signal(
        signal.SIGINT, signal.SIG_IGN
    )  # Ctrl-C reaches the whole group; stopping is the parent's decision
    source, sink = sys.stdin.buffer, sys.stdout.buffer
    hello_frame = read_message(source)
    if hello_frame is None:
        return
    hello = decode_options(hello_frame)
    _, hard = resource.getrlimit(
        resource.RLIMIT_AS
    )  # nobody may raise it, and a lower one is somebody's wish
    memory = hello.memory if hard == resource.RLIM_INFINITY else min(hello.memory, hard)
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _tune_heap()
    resolver = UrlResolver(hello.params)
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)  # pages make much garbage and no cycles worth looking for
    while (packed := read_message(source)) is not None:
        # The default action of the alarm ends the process even inside a native parser that never comes back, also
        # when the parent that would kill us is gone.
        signal.setitimer(signal.ITIMER_REAL, hello.deadline)
        job = decode_job(packed)
        del packed  # the body is a copy, and the tree will be ten times as large
        page = _read(job, hello, resolver)
        del job
        signal.setitimer(signal.ITIMER_REAL, 0)
        try:
            sink.write(encode_message(page))
            sink.flush()
        except BrokenPipeError:  # the parent is gone, and nobody wants to hear about it
            os._exit(0)


def _tune_heap() -> None:
    with suppress(OSError, AttributeError, TypeError):  # another C library has no such thing, and needs none
        adjust = ctypes.CDLL(None).mallopt
        for parameter, value in _HEAP_OPTIONS.items():
            adjust(parameter, value)


def _read(job: ParseJob, hello: ParserOptions, resolver: UrlResolver) -> Page:
    """The page, unless it is the one that is known; with what tells changes, when it is HTML."""
    document = job.document
    whole = digest(document)
    if whole == document.known:
        return Page(digest=whole, is_known=True)
    page = _parse(job, hello, resolver)
    if not page.is_html:
        return replace(page, digest=whole)
    mirror = hello.params.mirror
    text = take_document_snapshot(
        replace(document, body=mirror.rewrite(document.body)) if mirror else document
    )
    delta = _encode(compare(document.before, text)) if document.before else b""
    return replace(page, digest=whole, text=text, delta=delta)


def _parse(job: ParseJob, hello: ParserOptions, resolver: UrlResolver) -> Page:
    document = job.document
    if document.kind is DocumentKind.SITEMAP:
        return _parse_sitemap(document, hello)
    if job.why_scan:
        return scan_page(document, hello.options, resolver, job.now, job.why_scan)
    page = read_page(document, hello.options, resolver, job.now)
    return page if page.is_html else _parse_sitemap(document, hello)


def _parse_sitemap(document: FetchedDocument, hello: ParserOptions) -> Page:
    from crawler.parse.sitemap import read_sitemap  # noqa: PLC0415 - most workers never see a sitemap

    return read_sitemap(document, hello.params)


if __name__ == "__main__":
    main()
