"""Reads text sitemaps: one URL per line (https://www.sitemaps.org/protocol.html#otherformats)."""

import codecs
from typing import Final

from sitemap.escape import quote_text
from sitemap.model import Child, Entry
from sitemap.reader import values
from sitemap.reader.fast_path import LineIndex
from sitemap.rules import FindingCollector

_PIECE: Final = 16 * 1024  # bytes; smaller pieces are gathered, so that the start of a line is not read again for each
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
        if self._bytes_waiting >= _PIECE:
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
