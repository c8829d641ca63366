"""Parses a sitemap or feed from bytes, and reads one from a path, bytes, a file or a stream; text sitemaps as well.

:class:`SitemapParser` unpacks, detects the format, decodes and reads, without I/O. No input makes it raise anything but
a SitemapError. :class:`SitemapReader` feeds it. A text sitemap has one URL per line
(https://www.sitemaps.org/protocol.html#otherformats).
"""

import codecs
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

from sitemap import limits
from sitemap.errors import NotASitemap, SitemapError, SourceError
from sitemap.escape import quote_text
from sitemap.gzip import MAGIC, GzipReader
from sitemap.model import FEEDS, Child, Entry, Format
from sitemap.reader import values
from sitemap.reader.elements import ElementHandlers
from sitemap.reader.fast_path import LineIndex
from sitemap.reader.sniff import SNIFF_BYTES, Syntax, sniff
from sitemap.reader.xml_stream import MAX_TOKEN, XmlStream
from sitemap.rules import MAX_FINDINGS, Finding, FindingCollector

_LINES_AT_ONCE: Final = (
    16 * 1024
)  # bytes; smaller pieces are gathered, so that the start of a line is not read again for each
_URL_STARTS: Final = ("http://", "https://")
_REMEDY: Final = "write one URL per line, with https:// and the host, and nothing else"
_MAX_LINE: Final = 64 * 1024  # characters; longer lines are dropped


class TextReader:
    """Reads UTF-8 text in pieces and collects an entry for each line that is a URL."""

    def __init__(self, findings: FindingCollector) -> None:
        self.items: list[Entry | Child] = []
        self.lines = LineIndex()  # of the items
        self.count = 0
        self._findings = findings
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._waiting: list[bytes] = []
        self._bytes_waiting = 0
        self._rest = ""
        self._line = 0
        self._dropping = False

    def feed(self, data: bytes) -> None:
        """Read the next piece, of any size."""
        self._waiting.append(data)
        self._bytes_waiting += len(data)
        if self._bytes_waiting >= _LINES_AT_ONCE:
            self._flush()

    def finish_early(self) -> None:
        """End the text early: an incomplete last line is ignored."""
        self._flush()

    def close(self) -> None:
        """Read the rest, including the last line."""
        self._flush()
        self._read(self._rest + self._decoder.decode(b"", True))
        self._rest = ""

    def _flush(self) -> None:
        text = self._rest + self._decoder.decode(b"".join(self._waiting))
        self._waiting.clear()
        self._bytes_waiting = 0
        held = "\r" if text.endswith("\r") else ""  # "\n" may follow
        lines = text[: len(text) - len(held)].replace("\r\n", "\n").replace("\r", "\n").split("\n")
        self._rest = lines.pop() + held
        for line in lines:
            self._read(line)
        if len(self._rest) > _MAX_LINE:
            if not self._dropping:
                self._findings.add("sitemap.text_line", self._line + 1, f"a line is too long for a URL: {_REMEDY}")
            self._rest, self._dropping = "", True

    def _read(self, line: str) -> None:
        self._line += 1
        if self._dropping:
            self._dropping = False
            return
        text = line.strip(" \t\r\x00\x0b\x0c\u00a0\ufeff")
        if not text:
            return
        if not text.lower().startswith(_URL_STARTS):
            self._findings.add("sitemap.text_line", self._line, f"{quote_text(text)} is not an absolute URL: {_REMEDY}")
            return
        urls = text.split()
        if len(urls) > 1 and all(url.lower().startswith(_URL_STARTS) for url in urls):
            sentence = f"{quote_text(text)} is more than one URL: {_REMEDY}"
            self._findings.add("sitemap.text_line", self._line, sentence)
        else:
            urls = [text]
        for url in urls:
            self._add(url)

    def _add(self, url: str) -> None:
        loc, rule, sentence = values.parse_url(url, "")
        if rule:
            self._findings.add(rule, self._line, sentence)
        if loc:
            self.count += 1
            self.items.append(Entry(loc))
            self.lines.append(self._line)


_NO_NAMES: Final = frozenset({"<stdin>", "-", "standard input", "the standard input"})  # of sources without a file name
_MAX_LAYERS: Final = 2  # of gzip: a compressed file that a server compressed again
_MAX_BLANK: Final = 64 * 1024  # bytes of blank space at the start


@dataclass(frozen=True, slots=True)
class ReadLimits:
    """Where reading stops. Items read so far are kept, and :attr:`SitemapParser.cut` says which limit was reached.

    The limits of the protocol (52,428,800 bytes, 50,000 entries) give findings in any case.
    """

    max_bytes: int = 64 * 1024 * 1024  # uncompressed
    max_entries: int = 1_000_000
    max_depth: int = 64  # of nested elements
    max_token: int = MAX_TOKEN  # bytes of a tag, comment or instruction; a longer one is skipped
    max_findings: int = MAX_FINDINGS  # kept for each rule; 0 keeps all
    max_text: int = 65_536  # characters of a value; a longer one is dropped, or cut if it is a title or summary


class SitemapParser:
    """Parses one document: urlset, index, RSS, Atom or text, plain or gzip, regardless of its name and media type.

    ``feed`` and ``close`` return the completed items, and ``line_of`` the line of each. Relative URLs, which feeds may
    have, are resolved against ``base_url`` and ``xml:base``. ``file`` is the path or URL of the document: findings have
    it, and its suffix is compared with the content. After ``close``, ``format`` is None if the document is not a
    sitemap, ``complete`` is False if a part of it was lost, and ``findings`` are its defects.
    """

    def __init__(self, base_url: str = "", read_limits: ReadLimits | None = None, file: str = "") -> None:
        self.size = 0  # uncompressed bytes
        self.cut = ""  # a sentence if a ReadLimits limit ended the reading; not a defect of the document
        self.entries = 0
        self._name = file.partition("?")[0].partition("#")[0].lower() if "://" in file else file.lower()
        self._limits = read_limits or ReadLimits()
        self._findings = FindingCollector(file, self._limits.max_findings)
        self._elements = ElementHandlers(base_url, self._findings, self._limits.max_depth, self._limits.max_text)
        self._lines = LineIndex()
        self._unpackers: list[GzipReader] = []
        self._starts: list[bytes] = [b""]  # first bytes of each layer, until its magic number is complete
        self._head = b""
        self._decoder: codecs.IncrementalDecoder | None = None
        self._reader: XmlStream | TextReader | None = None
        self.over = False  # then the rest of the document is ignored: a limit was reached, or it is not a sitemap
        self._closed = False
        self._lost = False

    @property
    def format(self) -> Format | None:
        """The format of the document; None if it is not known yet, or the document is not a sitemap."""
        if isinstance(self._reader, TextReader):
            return Format.TEXT if self._reader.count else None
        return self._elements.format

    @property
    def refusal(self) -> str:
        """Why a closed document is not a sitemap: the sentence of its first finding; "" if it is a sitemap."""
        if self.format is not None:
            return ""
        return next((finding.sentence for finding in self.findings), "no entry was found")

    @property
    def complete(self) -> bool:
        """Whether the document was read to its end without loss."""
        lost = self._lost or (isinstance(self._reader, XmlStream) and not self._reader.complete)
        return self._closed and not lost and self.format is not None

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The defects of the document, in order."""
        return self._findings.all()

    def feed(self, data: bytes) -> list[Entry | Child]:
        """Parse the next piece, of any size, and return the completed items."""
        if self._closed:
            raise SitemapError("this parser is closed. Create a new one for another document")
        if data and not self.over:
            self._layer(bytes(data), 0)
        return self._take()

    def close(self) -> list[Entry | Child]:
        """End the document and return the last items. A second call returns nothing."""
        if self._closed:
            return []
        for level in range(_MAX_LAYERS + 1):
            self._close_layer(level)
        self._closed = True
        if not self.over and self._reader is None:
            self._start()
        if self._reader is None:
            if not self._findings.all():
                self._findings.add("sitemap.empty", 0, "the document is empty")
        elif not self.over:
            self._end(self._reader)
        if isinstance(self._reader, TextReader) and not self._reader.count:
            self._findings.add("sitemap.not_xml", 0, "this is neither XML nor a list of URLs")
        items = self._take()
        # a feed may have any number of items: https://www.rssboard.org/rss-specification#optionalChannelElements
        if self.format not in {None, *FEEDS} and not self.entries and not self.cut:
            self._findings.add("sitemap.no_entries", 0, "there is no entry")
        return items

    def _end(self, reader: XmlStream | TextReader) -> None:
        """End the reader. A gzip fault is already reported, and may have cost the end of the document."""
        if self._decoder:
            reader.feed(self._decoder.decode(b"", True).encode("utf-8", "replace"))
        if any(unpacker.fault for unpacker in self._unpackers):
            reader.finish_early()
        else:
            reader.close()

    def line_of(self, index: int) -> int:
        """The line, from 1, of an item by its index in the last result of ``feed`` or ``close``, else IndexError.

        Lines are counted on first use.
        """
        return self._lines.of(index)

    def _layer(self, data: bytes, level: int) -> None:
        """Read bytes inside ``level`` layers of gzip."""
        if level < len(self._unpackers):
            for content in self._unpackers[level].feed(data):
                self._layer(content, level + 1)
                if self.over:
                    return
            return
        if len(self._starts) == level + 1:  # the magic number is not complete yet
            start = self._starts[level] + data
            if len(start) < len(MAGIC) and MAGIC.startswith(start):
                self._starts[level] = start
                return
            data, self._starts[level] = start, b""
            if start.startswith(MAGIC):
                if level >= _MAX_LAYERS:
                    self._stop("sitemap.gzip", "the document is compressed more than twice")
                    return
                self._check_packing(level, packed=True)
                self._unpackers.append(GzipReader())
                self._starts.append(b"")
                self._layer(data, level)
                return
            self._check_packing(level, packed=False)
            self._starts.append(b"")
        self._content(data)

    def _check_packing(self, level: int, *, packed: bool) -> None:
        if level and packed:
            self._findings.add("sitemap.gzip_twice", 0, "the document is compressed twice")
        elif not level and self._name and self._name not in _NO_NAMES and packed != self._name.endswith(".gz"):
            state = "is compressed, but its name does not end" if packed else "is not compressed, but its name ends"
            self._findings.add("sitemap.mislabelled", 0, f"the document {state} in .gz")

    def _close_layer(self, level: int) -> None:
        if level < len(self._unpackers):
            for content in self._unpackers[level].close():
                if not self.over:
                    self._layer(content, level + 1)
            if fault := self._unpackers[level].fault:
                rule = "sitemap.truncated" if "truncated" in fault else "sitemap.gzip"
                self._findings.add(rule, 0, fault)
                self._lost = True
        elif level < len(self._starts) and self._starts[level]:
            start, self._starts[level] = self._starts[level], b""
            self._check_packing(level, packed=False)
            self._content(start)

    def _content(self, data: bytes) -> None:
        """Read uncompressed bytes of the document."""
        room = self._limits.max_bytes - self.size
        if self.size <= limits.MAX_BYTES < self.size + len(data):
            self._findings.add("sitemap.too_large", 0, f"there are more than {limits.MAX_BYTES:,} bytes")
        self.size += len(data)
        if self._reader is None:
            self._head += data[: max(room, 0)]
            if len(self._head) >= SNIFF_BYTES:
                self._start()
        elif room > 0:
            self._feed_reader(data[:room])
        if self.size > self._limits.max_bytes:
            if self._reader is None:
                self._start()
            self._cut(f"reading stopped after {self._limits.max_bytes:,} bytes", end=True)

    def _start(self) -> None:
        """Detect the syntax of the document from its first bytes."""
        sniffed = sniff(self._head[: SNIFF_BYTES * 4])
        if sniffed is None:
            if len(self._head) > _MAX_BLANK:
                self._stop("sitemap.not_xml", "the document is only blank space")
            return
        if sniffed.fault:
            rule = "sitemap.leading_junk" if "before the XML" in sniffed.fault else "sitemap.encoding"
            self._findings.add(rule, 1, sniffed.fault)
        if sniffed.syntax is Syntax.HTML:
            self._stop("sitemap.not_xml", "this is an HTML page, not a sitemap")
            return
        if sniffed.codec != "utf-8":
            self._decoder = codecs.getincrementaldecoder(sniffed.codec)("replace")
        if sniffed.syntax is Syntax.XML:
            line = 1 + self._head[: sniffed.skip].count(b"\n")
            self._reader = XmlStream(self._elements, self._findings, line, self._limits.max_token)
        else:
            self._reader = TextReader(self._findings)
        head, self._head = self._head[sniffed.skip :], b""
        self._feed_reader(head)

    def _feed_reader(self, data: bytes) -> None:
        if self._reader is None:
            return
        if self._decoder:
            data = self._decoder.decode(data).encode("utf-8", "replace")
        self._reader.feed(data)
        if isinstance(self._reader, XmlStream) and self._reader.over:
            self.over = True

    def _stop(self, rule: str, sentence: str) -> None:
        """Stop reading because of a defect of the document."""
        if not self.over:
            self._findings.add(rule, 0, sentence)
        self.over = self._lost = True

    def _cut(self, sentence: str, *, end: bool = False) -> None:
        """Stop reading because of a limit. With ``end`` the reader still processes its input."""
        if not self.over:
            self.cut = sentence
            if end and self._reader is not None:
                self._reader.finish_early()
        self.over = self._lost = True

    def _take(self) -> list[Entry | Child]:
        source = self._reader if isinstance(self._reader, TextReader) else self._elements
        items, source.items = source.items, []
        self._lines, source.lines = source.lines, LineIndex()
        count, self.entries = self.entries, self.entries + len(items)
        if count <= limits.MAX_URLS < self.entries:
            rule = "index.too_many" if self.format is Format.INDEX else "sitemap.too_many"
            self._findings.add(rule, 0, f"there are more than {limits.MAX_URLS:,} entries")
        if self.entries > self._limits.max_entries:
            del items[max(self._limits.max_entries - count, 0) :]
            self.entries = count + len(items)
            self._cut(f"reading stopped after {self._limits.max_entries:,} entries")
        return items


_PIECE: Final = 256 * 1024


# A str is a path, never a URL or content. A stream may be an iterator that can be consumed once.
Source = str | os.PathLike[str] | bytes | BinaryIO | Iterable[bytes]


_is_url: Final = re.compile("https?://", re.IGNORECASE).match


def read_pieces(source: Source) -> Iterator[bytes]:
    """The content in pieces of any size. SourceError if the source cannot be read, caused by the error it raises."""
    if isinstance(source, bytes | bytearray | memoryview):
        yield bytes(source)
        return
    if fault := _fault(source):
        raise SourceError(fault)
    try:
        if isinstance(source, str | os.PathLike):
            with Path(source).open("rb") as file:
                yield from iter(lambda: file.read(_PIECE), b"")
            return
        read = getattr(source, "read", None)
        for piece in source if read is None else iter(lambda: read(_PIECE), b""):
            if not isinstance(piece, bytes | bytearray | memoryview):
                fault = f"returned {type(piece).__name__} instead of bytes: open it in binary mode"
                raise SourceError(f"{source_name(source)} {fault}")
            yield bytes(piece)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise SourceError(f"{source_name(source)} cannot be read: {reason}") from error


def parse_source(parser: SitemapParser, source: Source) -> Iterator[list[Entry | Child]]:
    """The items of a source, as the parser completes them. Raises the same error as :func:`read_pieces`."""
    for piece in read_pieces(source):
        if items := parser.feed(piece):
            yield items
        if parser.over:
            break
    if items := parser.close():
        yield items


def _fault(source: object) -> str:
    """Why a value cannot be a source, or ""."""
    if isinstance(source, str):
        if _is_url(source):
            return f"{quote_text(source)} is a URL: this package opens no connections; pass the bytes, or an opener"
        if source.lstrip("\ufeff \t\r\n").startswith("<"):
            return f"{quote_text(source)} looks like XML: pass bytes, a str is a path"
    elif not isinstance(source, os.PathLike | Iterable) and not hasattr(source, "read"):
        return f"{type(source).__name__} is not a source: pass a path, bytes, a binary file or pieces of bytes"
    return ""


def path_name(source: Source) -> str:
    """The path of a source, or ""."""
    if isinstance(source, bytes):
        return ""
    name = source if isinstance(source, str | os.PathLike) else getattr(source, "name", "")
    return os.fspath(name) if isinstance(name, str | os.PathLike) else ""


def source_name(source: Source) -> str:
    """The name of a source in messages."""
    name = path_name(source)
    return quote_text(name) if name else "the document"


class SitemapReader(SitemapParser):
    """Iterates over the items of a document once, in flat memory.

    A source is a path (also as a ``str``), bytes, a binary file, or an iterable of bytes. ``file`` is the path or URL
    in findings, and its suffix should say whether the document is compressed; the default is the path of the source.
    Raises SourceError if the source cannot be read, and NotASitemap at the end of a document that is not a sitemap.
    ``findings``, ``format`` and ``complete`` are final after the iteration.
    """

    def __init__(
        self, source: Source, base_url: str = "", read_limits: ReadLimits | None = None, file: str = ""
    ) -> None:
        self._source = source
        self._file = file or path_name(source)
        super().__init__(base_url, read_limits, self._file)

    def __iter__(self) -> Iterator[Entry | Child]:
        for items in parse_source(self, self._source):
            yield from items
        if self.refusal:
            name = quote_text(self._file) if self._file else source_name(self._source)
            raise NotASitemap(f"{name} is not a sitemap: {self.refusal}")


def read(source: Source, base_url: str = "") -> list[Entry | Child]:
    """All items of a document. Use :class:`SitemapReader` for large documents and for findings."""
    return list(SitemapReader(source, base_url))
