"""The parser process: reads documents from standard input and writes pages to standard output, in a sandbox.

It ends with its parent: its input ends, or its output pipe breaks.
"""

import ctypes
import gc
import os
import pkgutil
import resource
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from encodings import normalize_encoding
from encodings.aliases import aliases
from typing import IO, Final

import msgspec
from msgspec.structs import replace
from webencodings import PYTHON_NAMES
from webencodings.labels import LABELS

import sitemap
from crawler.model import EMPTY_BODY, DocumentKind, FetchedDocument, Page
from crawler.parse.html.encoding import to_utf8
from crawler.parse.html.page import read_flat_page, read_page
from crawler.parse.html.scripts import UNRUN, empty_places, read_scripts, unrun_script
from crawler.parse.html.shadow import MARK, lay_open
from crawler.parse.protocol import (
    ParseJob,
    ParserOptions,
    SharedBodies,
    decode_job,
    decode_options,
    encode_message,
    read_message,
)
from crawler.parse.sandbox import lock_down
from crawler.parse.snapshot.cut import why_cut
from crawler.parse.snapshot.diff import compare
from crawler.parse.snapshot.snapshot import digest, pack_snapshot, reduce_markup
from crawler.url.resolve import UrlResolver

# Bytes for M_TRIM_THRESHOLD, M_TOP_PAD and M_MMAP_THRESHOLD of mallopt in the GNU C library (<malloc.h>). By default
# the heap shrinks and grows again around every page, which takes longer than reading some pages. The tree of a page of
# 1 MB takes 20 MB.
_HEAP_OPTIONS: Final = {-1: 32_000_000, -2: 4_000_000, -3: 1_000_000}
_RARE_MODULES: Final = (  # few documents need them
    *("crawler.parse.sitemap", "html.entities", "webencodings.x_user_defined"),
    *("crawler.robots", "crawler.robots.patterns", "crawler.robots.rules", "encodings.utf_8_sig", "encodings.utf_16"),
    *("pyexpat", "xml.parsers.expat", "dataclasses", "difflib", "heapq", "unicodedata", "zlib"),
    *("_multibytecodec", "_codecs_cn", "_codecs_hk", "_codecs_iso2022", "_codecs_jp", "_codecs_kr", "_codecs_tw"),
)
_NOT_FOR_READING: Final = ("sitemap.linter", "sitemap.writer")
_LINT_RULES: Final = sitemap.RULES  # read now: in the sandbox, no file can be opened
_encode = msgspec.msgpack.Encoder().encode


def main(bodies: SharedBodies | None = None, *, announces: bool = False) -> None:
    """Serve until standard input ends. ``bodies`` has those that are not in it.

    With ``announces``, an empty page before the others says that the process has started.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the parent decides when to stop
    gc.set_threshold(50_000, 20, 50)  # pages make much garbage but few cycles
    source, sink = sys.stdin.buffer, sys.stdout.buffer
    lock_down(rare_modules())
    frame = read_message(source)
    if frame is None:
        return
    options = decode_options(frame)
    _, hard = resource.getrlimit(resource.RLIMIT_AS)  # a process cannot raise its hard limit
    memory = options.memory if hard == resource.RLIM_INFINITY else min(options.memory, hard)
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    _tune_heap()
    resolver = UrlResolver(options.params, document_bytes=options.link_bytes)
    gc.freeze()
    if announces:
        _write(Page(), sink)
    while (frame := _next_message(source)) is not None:
        # The default action of the alarm ends the process even inside a native parser that hangs, and even when the
        # parent no longer exists.
        signal.setitimer(signal.ITIMER_REAL, options.deadline)
        job = decode_job(frame)
        del frame  # the job has a copy of the body, and the tree takes ten times as much memory
        if job.size and bodies:
            job = replace(job, document=replace(job.document, body=bodies.read(job.start, job.size)))
        page = _read(job, options, resolver)
        del job
        signal.setitimer(signal.ITIMER_REAL, 0)
        _write(page, sink)


def _write(page: Page, sink: IO[bytes]) -> None:
    try:
        sink.write(encode_message(page))
        sink.flush()
    except BrokenPipeError:  # the parent no longer exists
        os._exit(0)


def _next_message(source: IO[bytes]) -> bytes | None:
    try:
        return read_message(source)
    except ConnectionError:  # the parent ended without reading the last pages
        return None


def rare_modules() -> Iterator[str]:
    """The modules that are imported when a document needs them: readers of sitemaps, encodings."""
    yield from _RARE_MODULES
    modules = pkgutil.walk_packages(sitemap.__path__, "sitemap.")
    yield from (module.name for module in modules if not module.ispkg and not module.name.startswith(_NOT_FOR_READING))
    for label in dict.fromkeys(LABELS.values()):
        codec = normalize_encoding(PYTHON_NAMES.get(label, label)).lower()
        yield f"encodings.{aliases.get(codec, codec)}"


def _tune_heap() -> None:
    with suppress(OSError, AttributeError, TypeError):  # only the GNU C library has mallopt
        adjust = ctypes.CDLL(None).mallopt
        for parameter, value in _HEAP_OPTIONS.items():
            adjust(parameter, value)


def _read(job: ParseJob, options: ParserOptions, resolver: UrlResolver) -> Page:
    """The page with its snapshot and its differences from the previous visit, or its digest alone if it is equal."""
    document = job.document
    if document.kind is DocumentKind.ROBOTS:
        return _parse_robots(job, options.options.token)
    page_digest = digest(document)
    if page_digest == document.known:
        return Page(digest=page_digest, is_known=True)
    if MARK in document.body:
        job = replace(job, document=replace(document, body=lay_open(document.body)))
        document = job.document
    page = _parse(job, options, resolver)
    if not page.is_html:
        is_emptied = bool(document.before) and EMPTY_BODY in page.faults
        return replace(page, digest=page_digest, cut=EMPTY_BODY if is_emptied else "")
    mirror = options.params.mirror
    body = to_utf8(document.body, document.content_type).body
    markup, unread = reduce_markup(mirror.rewrite(body) if mirror else body)
    text = pack_snapshot(markup)
    scripts = read_scripts(unread)
    unrun = unrun_script(scripts, document.url)
    places = empty_places(markup) if scripts and options.with_places else []
    delta = _encode(compare(document.before, text)) if document.before else b""
    cut = why_cut(document.before, text, document.body, is_framed=document.is_framed) if document.before else ""
    return replace(
        page,
        digest=page_digest,
        text=text,
        delta=delta,
        cut=cut,
        scripts=[*dict.fromkeys(script.source for script in scripts), *places],
        notes=[*page.notes, UNRUN + unrun] if unrun else page.notes,
    )


def _parse(job: ParseJob, options: ParserOptions, resolver: UrlResolver) -> Page:
    document = job.document
    if document.kind is DocumentKind.SITEMAP:
        return _parse_sitemap(document, options)
    if job.why_scan:
        return read_flat_page(document, options.options, resolver, job.now, job.why_scan)
    page = read_page(document, options.options, resolver, job.now)
    return page if page.is_html or page.faults else _parse_sitemap(document, options)


def _parse_robots(job: ParseJob, token: str) -> Page:
    from crawler.robots.rules import parse_robots  # noqa: PLC0415 - most workers never see a long robots.txt

    return Page(is_html=False, robots=_encode(parse_robots(job.document.body, token, job.now)))


def _parse_sitemap(document: FetchedDocument, options: ParserOptions) -> Page:
    from crawler.parse.sitemap import read_sitemap  # noqa: PLC0415 - most workers never see a sitemap

    return read_sitemap(document, options.params, with_dates=options.options.sitemap_dates)


def _main(words: Sequence[str]) -> None:
    """Serve. A pool gives the open file and the size of the shared memory, or -1 and 0 without one."""
    if not words:
        return main()
    file, size = map(int, words)
    return main(SharedBodies(file, size) if size else None, announces=True)


if __name__ == "__main__":
    _main(sys.argv[1:])
