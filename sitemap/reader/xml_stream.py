"""Drives the XML parser: feeds expat in pieces, refuses DOCTYPEs, and restarts after XML that is not well-formed."""

import re
from typing import Final
from xml.parsers import expat

from sitemap.model import Format
from sitemap.reader.elements import ElementHandlers, StopParsing
from sitemap.reader.fast_path import ItemRun, read_run
from sitemap.reader.malformed_xml import (
    JUNK_CODE,
    TRUNCATION_CODES,
    Repairer,
    describe_error,
    end_mark,
    truncation_text,
)
from sitemap.rules import FindingCollector

# expat before 2.6 reads a long token again with each piece, so pieces are large and tokens are bounded.
PIECE: Final = 64 * 1024
MAX_TOKEN: Final = 4 * PIECE  # Parse passes on at most 1 MiB at once, so a token and the bytes to end it fit in one
MAX_RESTARTS: Final = 5_000
_WINDOW_BYTES: Final = 2 * 1024 * 1024  # kept for a restart
_LOOKAHEAD_BYTES: Final = 4 * 1024  # more than a plain item can have
_ITEM = re.compile(rb"<(?:[\w.-]{1,40}:)?(?:url|sitemap|item|entry)(?=[\s>/])", re.IGNORECASE)
_FIRST = re.compile(rb"<(?:url|sitemap)>")  # the start of an item that may be plain


class XmlStream:
    """Reads UTF-8 XML in pieces; ``elements`` collects the items. ``complete`` becomes False if an item is lost."""

    def __init__(
        self, elements: ElementHandlers, findings: FindingCollector, first_line: int, max_token: int = MAX_TOKEN
    ) -> None:
        self.over = False
        self.complete = True
        self._elements = elements
        self._findings = findings
        self._max_token = max_token
        self._waiting: list[bytes] = []
        self._bytes_waiting = 0
        self._repairer: Repairer | None = None
        self._seeking = False  # the next item, after one that cannot be read
        self._restarts = 0
        self._in_cdata = False  # where text may look like an item
        self._position = 0  # the parser's byte index of the window's first byte
        self._window = b""  # bytes since the end of the last item
        self._whole = True  # False if the window was cut
        self._line = first_line  # of the window's first byte
        self._stride = 1  # least bytes that the parser reads before the next search for a run
        self._reach = _LOOKAHEAD_BYTES  # bytes to search for a run
        self._begin(())

    def feed(self, data: bytes) -> None:
        """Read the next piece, of any size."""
        self._waiting.append(data)
        self._bytes_waiting += len(data)
        if self._bytes_waiting >= PIECE:
            self._flush(final=False)

    def finish_early(self) -> None:
        """Read the waiting bytes without checking the end."""
        self._flush(final=False, rest=True)

    def close(self) -> None:
        """Read the waiting bytes and check the end."""
        self._flush(final=True, rest=True)

    def _flush(self, *, final: bool, rest: bool = False) -> None:
        """Read the waiting bytes up to the end of an item, or with ``rest`` all of them."""
        data, self._waiting = b"".join(self._waiting), []
        self._bytes_waiting = start = 0
        while not self.over:
            end = start + PIECE * 4
            if end < len(data) or not rest:
                cut = data.rfind(self._end_tag, start, end)
                end = cut + len(self._end_tag) if cut >= 0 else end
            self._read(data[start:end], final=final and end >= len(data))
            start = end
            if start >= len(data):
                return
            if not rest and len(data) - start < PIECE:  # keep it until its item ends
                self._waiting.append(data[start:])
                self._bytes_waiting = len(data) - start
                return

    @property
    def _end_tag(self) -> bytes:
        return b"</sitemap>" if self._elements.format is Format.INDEX else b"</url>"

    def _read(self, data: bytes, *, final: bool) -> None:
        """Read runs of plain items on the fast path, and the data between them with the parser."""
        start = 0
        while not self.over:
            start = self._take_run(data, start)
            end = self._next_run(data, start)
            if start < end or final:
                self._parse(data[start:end], final=final and end == len(data))
            start = end
            if start == len(data):
                return

    def _take_run(self, data: bytes, start: int) -> int:
        """Read the plain items that begin here, and return where they end."""
        busy = self._seeking or self._in_cdata or self._unread()
        held = self._repairer and self._repairer.holds
        name = "" if busy or held else self._elements.plain_item()
        if not name or start == len(data):
            return start
        begin = start
        while start < len(data) and (run := read_run(name, data, start, start + self._reach)):
            self._skip_to(run)
            start, self._reach = run.end, min(self._reach * 4, PIECE * 4)
        self._reach = _LOOKAHEAD_BYTES if start < len(data) else self._reach
        # The shorter the runs, the more seldom is the search for the next one.
        self._stride = 1 if start - begin > _LOOKAHEAD_BYTES // 4 else min(self._stride * 2, PIECE * 4)
        return start

    def _skip_to(self, run: ItemRun) -> None:
        """Set the state that the parser would have after reading the run."""
        line, count = self._elements.line, run.line_ends
        fed = self._position + len(self._window)
        self._line += self._window.count(b"\n") + count
        self._window, self._whole = f"</{run.name}>".encode(), True
        self._position = fed - len(self._window)
        self._elements.take_run(run, line, self._position)
        self._elements.first_line += count

    def _next_run(self, data: bytes, start: int) -> int:
        """The position up to which the parser must read before the next search for a run."""
        if self._elements.format is None:
            match = _FIRST.search(data, start)
            return match.start() if match and match.start() > start else len(data)
        if self._seeking or not self._elements.plain_item():
            return len(data)
        end = data.find(self._end_tag, start + self._stride)
        return end + len(self._end_tag) if end >= 0 else len(data)

    def _parse(self, data: bytes, *, final: bool) -> None:
        if self._repairer:
            data = self._repairer.feed(data, final=final)
        while not self.over:
            if self._seeking and not self._seek_item(data):
                return
            if self._seeking:
                data, self._window, self._seeking = self._window, b"", False
            self._window += data
            try:
                self._parser.Parse(data, final)
                self._elements.bound()
            except StopParsing:
                self.over, self.complete = True, False
            except expat.ExpatError as error:
                data = self._recover(error, final=final)
                continue
            if self.over or not (data := self._trim()):
                return

    def _begin(self, open_names: tuple[str, ...]) -> None:
        """Create a parser that is already inside these elements."""
        parser = expat.ParserCreate("utf-8")
        parser.buffer_text = True
        prefix = "".join(f"<{name}>" for name in open_names).encode()
        if prefix:
            parser.Parse(prefix, False)
        self._parser = self._elements.parser = parser
        self._position = self._token_at = len(prefix)
        self._elements.first_line, self._elements.parsed = self._line, self._parsed
        self._elements.reset(open_names)
        self._elements.good = 0
        parser.StartElementHandler = self._elements.start
        parser.EndElementHandler = self._elements.end
        parser.StartDoctypeDeclHandler = self._doctype
        parser.StartCdataSectionHandler = parser.EndCdataSectionHandler = self._cdata

    def _doctype(self, name: str, *_: object) -> None:
        line = self._elements.line
        if name.lower() == "html":
            self._findings.add("sitemap.not_xml", line, "this is an HTML page, not a sitemap")
        else:
            self._findings.add(
                "sitemap.dtd", line, "the document has a DOCTYPE, so it was not read: entities can be an attack"
            )
        raise StopParsing

    def _cdata(self) -> None:
        self._in_cdata = not self._in_cdata

    def _parsed(self, start: int, end: int) -> bytes:
        """The bytes between two byte indexes of the parser, or b"" if they are no longer in the window."""
        start, end = start - self._position, end - self._position
        return self._window[start:end] if start >= 0 else b""

    def _unread(self) -> int:
        """The number of bytes in the parser that belong to an unfinished token."""
        if (at := self._parser.CurrentByteIndex) >= 0:  # expat says -1 while it waits for more of a token
            self._token_at = at
        return self._position + len(self._window) - self._token_at

    def _trim(self) -> bytes:
        """Drop the bytes of complete items, and cut an overlong token. Returns the data to parse next."""
        if self._unread() > self._max_token and self._is_unfinished():
            return self._cut_token()
        done = self._elements.good - self._position
        if done > 0:
            self._whole = True
        elif len(self._window) > _WINDOW_BYTES:
            done, self._whole = len(self._window) - self._max_token, False
        if done > 0:
            self._line += self._window.count(b"\n", 0, done)
            self._window = self._window[done:]
            self._position += done
        return b""

    def _is_unfinished(self) -> bool:
        """Whether the token that the parser reads has no end yet. Two hyphens may be the start of the end mark."""
        at = len(self._window) - self._unread()
        return not self._window.endswith(b"--") and self._window.find(end_mark(self._window[at : at + 4]), at) < 0

    def _cut_token(self) -> bytes:
        """End the stream at an overlong comment or instruction; an overlong tag loses its item."""
        at = len(self._window) - self._unread()
        line = self._line + self._window.count(b"\n", 0, at)
        sentence = f"is longer than {self._max_token:,} bytes: shorten it"
        if self._window[at : at + 2] in (b"<!", b"<?"):
            return self._end(
                "sitemap.token_too_long", line, f"a comment or instruction {sentence}; the rest is not read"
            )
        self._findings.add("sitemap.token_too_long", line, f"a tag {sentence}")
        self.complete = False
        return self._skip_to_item(at + 1)

    def _recover(self, error: expat.ExpatError, *, final: bool) -> bytes:
        """Restart after the last complete item, or end the stream. Returns the data to parse next."""
        elements, at = self._elements, max(self._parser.ErrorByteIndex - self._position, 0)
        line = self._line + self._window.count(b"\n", 0, at)
        inside = elements.inside
        if final and error.code in TRUNCATION_CODES:
            return self._end("sitemap.truncated", line, truncation_text(inside))
        self._restarts += 1
        if self._restarts > MAX_RESTARTS:
            return self._end("sitemap.not_well_formed", line, "there are too many defects: reading stopped here")
        if error.code == JUNK_CODE:  # search only for more items
            self._findings.add("sitemap.junk", line, "there is content after the end of the root element: remove it")
            return self._skip_to_item(at)
        sentence = describe_error(error.code, self._window, at, inside)
        self._findings.add("sitemap.not_well_formed", line, sentence)
        done = max(elements.good - self._position, 0)
        if elements.good:
            done = self._window.find(b">", done) + 1
        if self._repairer is None and self._whole:
            self._repairer = Repairer()
            rest = self._window[done:]
            self._line += self._window.count(b"\n", 0, done)
            self._findings.read_again(self._line)
            self._restart(elements.good_open)
            return self._repairer.feed(rest, final=final)
        self.complete = False
        return self._skip_to_item(max(at, done))

    def _end(self, rule: str, line: int, sentence: str) -> bytes:
        self._findings.add(rule, line, sentence)
        self.over, self.complete = True, False
        return b""

    def _skip_to_item(self, at: int) -> bytes:
        """Continue at the first item after an error."""
        self._line += self._window.count(b"\n", 0, at)
        rest = self._window[at:]
        self._elements.around = self._elements.around or self._elements.open
        self._restart(self._elements.around)
        self._seeking = True
        return rest

    def _restart(self, open_names: tuple[str, ...]) -> None:
        if not open_names:
            self._elements.format = None
        self._begin(open_names)
        self._window = b""
        self._whole = True

    def _seek_item(self, data: bytes) -> bool:
        """Drop everything before the next item. False if there is none yet."""
        self._window += data
        match = _ITEM.search(self._window)
        cut = match.start() if match else max(len(self._window) - 64, 0)
        self._line += self._window.count(b"\n", 0, cut)
        self._window = self._window[cut:]
        if match:
            self._begin(self._elements.around)
        return bool(match)
