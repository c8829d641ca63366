"""Owns the reading of a sitemap or feed from bytes: unpacks, recognises, decodes, and hands on to the right reader.

Sans I/O: it is fed, and gives items and findings. No bytes at all make it raise anything but a SitemapError.
"""

import codecs
from dataclasses import dataclass
from typing import Final

from sitemap import limits
from sitemap.errors import SitemapError
from sitemap.finding import MAX_FINDINGS, Finding, FindingCollector
from sitemap.formats import Format
from sitemap.gzip import MAGIC, GzipReader
from sitemap.model import Child, Entry
from sitemap.reader.elements import ElementHandlers
from sitemap.reader.fast_path import LineIndex
from sitemap.reader.sniff import SNIFF_BYTES, Syntax, sniff
from sitemap.reader.text import TextReader
from sitemap.reader.xml_stream import MAX_TOKEN, XmlStream

_NO_NAMES: Final = frozenset({"<stdin>", "-", "standard input", "the standard input"})  # of what has none
_MAX_LAYERS: Final = 2  # of gzip: a packed file that a server packed again
_MAX_BLANK: Final = 64 * 1024  # bytes of blank space before anything else


@dataclass(frozen=True, slots=True)
class ReadLimits:
    """Where reading stops; what was read until then is kept, and :attr:`SitemapParser.cut` says so.

    What the protocol allows (52,428,800 bytes, 50,000 entries) is told of in findings whatever is set here.
    """

    max_bytes: int = 64 * 1024 * 1024  # after unpacking
    max_entries: int = 1_000_000
    max_depth: int = 64  # elements inside each other
    max_token: int = MAX_TOKEN  # bytes of a tag, comment or instruction: a longer one is passed over
    max_findings: int = MAX_FINDINGS  # of one rule that are told one by one; 0 tells all, however many
    max_text: int = 65_536  # characters of a value: a longer one is dropped, or cut if it is prose


class SitemapParser:
    """Reads one document: urlset, index, RSS, Atom or text, plain or gzip, whatever its name or type said.

    ``feed`` and ``close`` answer the items that became complete, and ``line_of`` tells where they begin. Relative URLs
    (and feeds may have them) are resolved against ``base_url`` and ``xml:base``. ``file`` is the path or URL of the
    document: findings carry it, and its ending is compared with what the bytes are. Afterwards ``format`` is None when
    it was no sitemap at all, ``complete`` is False when something of it was lost, and ``findings`` say what was not as
    it should be.
    """

    def __init__(self, base_url: str = "", read_limits: ReadLimits | None = None, file: str = "") -> None:
        self.size = 0  # bytes after unpacking
        self.cut = ""  # where the reader's own limits ended the reading, in words; no defect of the document
        self.entries = 0
        self._name = file.partition("?")[0].partition("#")[0].lower() if "://" in file else file.lower()
        self._limits = read_limits or ReadLimits()
        self._findings = FindingCollector(file, self._limits.max_findings)
        self._elements = ElementHandlers(
            base_url, self._findings, self._limits.max_depth, self._limits.max_text
        )
        self._lines = LineIndex()
        self._unpackers: list[GzipReader] = []
        self._starts: list[bytes] = [b""]  # first bytes of each layer, until it is known whether it is packed
        self._head = b""
        self._decoder: codecs.IncrementalDecoder | None = None
        self._reader: XmlStream | TextReader | None = None
        self._over = False
        self._closed = False
        self._lost = False

    @property
    def format(self) -> Format | None:
        """What kind of document it is; None while that is not known, and for one that is no sitemap."""
        if isinstance(self._reader, TextReader):
            return Format.TEXT if self._reader.found else None
        return self._elements.format

    @property
    def refusal(self) -> str:
        """Why a closed document is no sitemap, in the words of its first finding; "" for one that is."""
        if self.format is not None:
            return ""
        return next((finding.sentence for finding in self.findings), "no entry was found")

    @property
    def over(self) -> bool:
        """Whether nothing of what follows will be read: a limit was reached, or it is no sitemap."""
        return self._over

    @property
    def complete(self) -> bool:
        """Whether the document was read to its end without loss."""
        lost = self._lost or (isinstance(self._reader, XmlStream) and not self._reader.complete)
        return self._closed and not lost and self.format is not None

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What is not as it should be, in order."""
        return self._findings.all()

    def feed(self, data: bytes) -> list[Entry | Child]:
        """Read the next piece, of any size, and answer the items that are complete."""
        if self._closed:
            raise SitemapError("this parser is closed: make a new one for another document")
        if data and not self._over:
            self._layer(bytes(data), 0)
        return self._take()

    def close(self) -> list[Entry | Child]:
        """Say that the document is over, and get the last items. A second call gives nothing."""
        if self._closed:
            return []
        for level in range(_MAX_LAYERS + 1):
            self._close_layer(level)
        self._closed = True
        if not self._over and self._reader is None:
            self._start()
        if self._reader is None:
            if not self._findings.all():
                self._findings.add("sitemap.empty", 0, "the document is empty")
        elif not self._over:
            self._end(self._reader)
        if isinstance(self._reader, TextReader) and not self._reader.found:
            self._findings.add("sitemap.not_xml", 0, "this is neither XML nor a list of URLs")
        items = self._take()
        if self.format is not None and not self.entries and not self.cut:
            self._findings.add("sitemap.no_entries", 0, "there is no entry")
        return items

    def _end(self, reader: XmlStream | TextReader) -> None:
        """All was handed on; a defect of the packing was told already, and cost the end."""
        if self._decoder:
            reader.feed(self._decoder.decode(b"", True).encode("utf-8", "replace"))
        if any(unpacker.fault for unpacker in self._unpackers):
            reader.finish_early()
        else:
            reader.close()

    def line_of(self, index: int) -> int:
        """The line, from 1, on which an item of the last answer of ``feed`` or ``close`` begins.

        It costs next to nothing until it is asked. IndexError when that answer has no such item.
        """
        return self._lines.of(index)

    def _layer(self, data: bytes, level: int) -> None:
        """Bytes inside so many layers of gzip."""
        if level < len(self._unpackers):
            for content in self._unpackers[level].feed(data):
                self._layer(content, level + 1)
                if self._over:
                    return
            return
        if len(self._starts) == level + 1:  # not known yet whether this layer is packed
            start = self._starts[level] + data
            if len(start) < len(MAGIC) and MAGIC.startswith(start):
                self._starts[level] = start
                return
            data, self._starts[level] = start, b""
            if start.startswith(MAGIC):
                if level >= _MAX_LAYERS:
                    self._stop("sitemap.gzip", "the document is packed more than twice")
                    return
                self._judge_packing(level, packed=True)
                self._unpackers.append(GzipReader())
                self._starts.append(b"")
                self._layer(data, level)
                return
            self._judge_packing(level, packed=False)
            self._starts.append(b"")
        self._content(data)

    def _judge_packing(self, level: int, *, packed: bool) -> None:
        if level and packed:
            self._findings.add("sitemap.gzip_twice", 0, "the document is packed twice")
        elif (
            not level and self._name and self._name not in _NO_NAMES and packed != self._name.endswith(".gz")
        ):
            said = (
                "is packed, but its name does not end in .gz"
                if packed
                else "is not packed, but its name ends in .gz"
            )
            self._findings.add("sitemap.mislabelled", 0, f"the document {said}")

    def _close_layer(self, level: int) -> None:
        if level < len(self._unpackers):
            for content in self._unpackers[level].close():
                if not self._over:
                    self._layer(content, level + 1)
            if fault := self._unpackers[level].fault:
                rule = "sitemap.truncated" if "truncated" in fault else "sitemap.gzip"
                self._findings.add(rule, 0, fault)
                self._lost = True
        elif level < len(self._starts) and self._starts[level]:
            start, self._starts[level] = self._starts[level], b""
            self._judge_packing(level, packed=False)
            self._content(start)

    def _content(self, data: bytes) -> None:
        """Unpacked bytes of the document."""
        room = self._limits.max_bytes - self.size
        if self.size <= limits.MAX_BYTES < self.size + len(data):
            self._findings.add("sitemap.too_large", 0, f"there are more than {limits.MAX_BYTES:,} bytes")
        self.size += len(data)
        if self._reader is None:
            self._head += data[: max(room, 0)]
            if len(self._head) >= SNIFF_BYTES:
                self._start()
        elif room > 0:
            self._hand(data[:room])
        if self.size > self._limits.max_bytes:
            if self._reader is None:
                self._start()
            self._cut(f"reading stopped after {self._limits.max_bytes:,} bytes", end=True)

    def _start(self) -> None:
        """Recognise the document by its first bytes."""
        found = sniff(self._head[: SNIFF_BYTES * 4])
        if found is None:
            if len(self._head) > _MAX_BLANK:
                self._stop("sitemap.not_xml", "the document is nothing but blank space")
            return
        if found.fault:
            rule = "sitemap.leading_junk" if "before the XML" in found.fault else "sitemap.encoding"
            self._findings.add(rule, 1, found.fault)
        if found.syntax is Syntax.HTML:
            self._stop("sitemap.not_xml", "this is an HTML page, not a sitemap")
            return
        if found.codec != "utf-8":
            self._decoder = codecs.getincrementaldecoder(found.codec)("replace")
        if found.syntax is Syntax.XML:
            line = 1 + self._head[: found.skip].count(b"\n")
            self._reader = XmlStream(self._elements, self._findings, line, self._limits.max_token)
        else:
            self._reader = TextReader(self._findings)
        head, self._head = self._head[found.skip :], b""
        self._hand(head)

    def _hand(self, data: bytes) -> None:
        if self._reader is None:
            return
        if self._decoder:
            data = self._decoder.decode(data).encode("utf-8", "replace")
        self._reader.feed(data)
        if isinstance(self._reader, XmlStream) and self._reader.over:
            self._over = True

    def _stop(self, rule: str, sentence: str) -> None:
        """Read no further: the document is at fault."""
        if not self._over:
            self._findings.add(rule, 0, sentence)
        self._over = self._lost = True

    def _cut(self, sentence: str, *, end: bool = False) -> None:
        """Read no further: that much was asked for. With ``end`` what was handed on is still read."""
        if not self._over:
            self.cut = sentence
            if end and self._reader is not None:
                self._reader.finish_early()
        self._over = self._lost = True

    def _take(self) -> list[Entry | Child]:
        source = self._reader if isinstance(self._reader, TextReader) else self._elements
        items, source.items = source.items, []
        self._lines, source.lines = source.lines, LineIndex()
        before, self.entries = self.entries, self.entries + len(items)
        if before <= limits.MAX_URLS < self.entries:
            rule = "index.too_many" if self.format is Format.INDEX else "sitemap.too_many"
            self._findings.add(rule, 0, f"there are more than {limits.MAX_URLS:,} entries")
        if self.entries > self._limits.max_entries:
            del items[max(self._limits.max_entries - before, 0) :]
            self.entries = before + len(items)
            self._cut(f"reading stopped after {self._limits.max_entries:,} entries")
        return items
