"""Owns the XML parser: feeds expat in pieces, refuses DOCTYPEs, and begins again after what is not well-formed."""

import re
from typing import Final
from xml.parsers import expat

from sitemap.finding import FindingCollector
from sitemap.formats import Format
from sitemap.reader import xml_errors
from sitemap.reader.elements import ElementHandlers, StopParsing
from sitemap.reader.fast_path import ItemRun, read_run
from sitemap.reader.xml_repair import OverlongTokens, Repairer

# expat before 2.6 reads a long token again with every piece, so pieces are large and tokens are bounded.
PIECE: Final = 64 * 1024
MAX_TOKEN: Final = 1024 * 1024
MAX_RESTARTS: Final = 5_000
_WINDOW_BYTES: Final = 2 * 1024 * 1024  # bytes kept for a new start
_LOOKAHEAD_BYTES: Final = 4 * 1024  # bytes: more than a plain item can have
_ITEM = re.compile(rb"<(?:[\w.-]{1,40}:)?(?:url|sitemap|item|entry)(?=[\s>/])", re.IGNORECASE)
_FIRST = re.compile(rb"<(?:url|sitemap)>")  # of an item that may be plain


class XmlStream:
    """Reads UTF-8 XML in pieces and lets ``elements`` make items of it; ``complete`` turns False when one is lost."""

    def __init__(
        self,
        elements: ElementHandlers,
        findings: FindingCollector,
        first_line: int,
        max_token: int = MAX_TOKEN,
    ) -> None:
        self.over = False
        self.complete = True
        self._elements = elements
        self._findings = findings
        self._max_token = max_token
        self._waiting: list[bytes] = []
        self._bytes_waiting = 0
        self._repairer: Repairer | None = None
        self._seeking = False  # for the next item, after one that could not be read
        self._overlong = OverlongTokens()
        self._restarts = 0
        self._in_cdata = False  # where text may look like items
        self._position = 0  # the parser's byte index of the window's first byte
        self._window = b""  # what was fed since the end of the last item
        self._whole = True  # False: the window had to be cut
        self._line = first_line  # of the window's first byte
        self._stride = 1  # bytes that the parser reads at least before a run is looked for again
        self._reach = _LOOKAHEAD_BYTES  # bytes that are looked through for a run
        self._begin(())

    def feed(self, data: bytes) -> None:
        """Read the next piece, of any size."""
        self._waiting.append(data)
        self._bytes_waiting += len(data)
        if self._bytes_waiting >= PIECE:
            self._flush(final=False)

    def finish_early(self) -> None:
        """Make do with what was fed, without judging the end."""
        self._flush(final=False, rest=True)

    def close(self) -> None:
        """Read what waits, and judge the end."""
        self._flush(final=True, rest=True)

    def _flush(self, *, final: bool, rest: bool = False) -> None:
        """Read what waits, up to the end of an item unless the ``rest`` is wanted too."""
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
            if not rest and len(data) - start < PIECE:  # it waits for the end of its item
                self._waiting.append(data[start:])
                self._bytes_waiting = len(data) - start
                return

    @property
    def _end_tag(self) -> bytes:
        return b"</sitemap>" if self._elements.format is Format.INDEX else b"</url>"

    def _read(self, data: bytes, *, final: bool) -> None:
        """Runs of plain items are read the fast way, what stands between them by the parser."""
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
        """Read the plain items that begin here; answers where they end."""
        busy = self._seeking or self._overlong.closing or self._in_cdata or self._unread()
        held = self._repairer and self._repairer.holds
        name = "" if busy or held else self._elements.plain_item()
        if not name or start == len(data):
            return start
        begin = start
        while start < len(data) and (run := read_run(name, data, start, start + self._reach)):
            self._skip_to(run)
            start, self._reach = run.end, min(self._reach * 4, PIECE * 4)
        self._reach = _LOOKAHEAD_BYTES if start < len(data) else self._reach
        # Where runs are short or none, they are looked for ever more seldom.
        self._stride = 1 if start - begin > _LOOKAHEAD_BYTES // 4 else min(self._stride * 2, PIECE * 4)
        return start

    def _skip_to(self, run: ItemRun) -> None:
        """Be where the parser would be if it had read the run."""
        line, count = self._elements.line, run.line_ends
        fed = self._position + len(self._window)
        self._line += self._window.count(b"\n") + count
        self._window, self._whole = f"</{run.name}>".encode(), True
        self._position = fed - len(self._window)
        self._elements.take_run(run, line, self._position)
        self._elements.first_line += count

    def _next_run(self, data: bytes, start: int) -> int:
        """Up to where the parser must read before another run is looked for."""
        if self._elements.format is None:
            found = _FIRST.search(data, start)
            return found.start() if found and found.start() > start else len(data)
        if self._seeking or not self._elements.plain_item():
            return len(data)
        end = data.find(self._end_tag, start + self._stride)
        return end + len(self._end_tag) if end >= 0 else len(data)

    def _parse(self, data: bytes, *, final: bool) -> None:
        if self._repairer:
            data = self._repairer.feed(data, final=final)
        if self._overlong.closing:
            data = self._resume(data)
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
        """A new parser, already inside the elements named."""
        parser = expat.ParserCreate("utf-8")
        parser.buffer_text = True
        prefix = "".join(f"<{name}>" for name in open_names).encode()
        if prefix:
            parser.Parse(prefix, False)
        self._parser = self._elements.parser = parser
        self._position = len(prefix)
        self._elements.first_line, self._elements.seen = self._line, self._seen
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
                "sitemap.dtd", line, "the document has a DOCTYPE and is not read: entities can be traps"
            )
        raise StopParsing

    def _cdata(self) -> None:
        self._in_cdata = not self._in_cdata

    def _seen(self, start: int, end: int) -> bytes:
        """What the parser read, b"" where that is forgotten."""
        start, end = start - self._position, end - self._position
        return self._window[start:end] if start >= 0 else b""

    def _unread(self) -> int:
        """How many bytes the parser holds because their token has not ended."""
        at: int = self._parser.CurrentByteIndex
        return self._position + len(self._window) - at

    def _trim(self) -> bytes:
        """Forget what was read well, and end a token that does not end; answers what is to be read next."""
        if self._unread() > self._max_token:
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

    def _cut_token(self) -> bytes:
        """Pass over the rest of a comment; a tag costs its item."""
        at = len(self._window) - self._unread()
        kind = "comment or instruction" if (end := self._overlong.begin(self._window[at:])) else "tag"
        self._findings.add(
            "sitemap.token_too_long",
            self._line + self._window.count(b"\n", 0, at),
            f"a {kind} is longer than {self._max_token:,} bytes: none needs so many",
        )
        if end:
            return end
        self.complete = False
        return self._skip_to_item(at + 1)

    def _resume(self, data: bytes) -> bytes:
        """Go on behind a comment that was passed over."""
        data = self._overlong.feed(data)
        if not self._overlong.closing:
            self._line += self._window.count(b"\n") + self._overlong.lines
            self._elements.first_line += self._overlong.lines
            self._position += len(self._window) - 1
            self._window, self._whole = b">", self._elements.mark(self._position)
        return data

    def _recover(self, error: expat.ExpatError, *, final: bool) -> bytes:
        """Begin again behind the last good item; answers what is to be read next. Ends the stream when it must."""
        elements, at = self._elements, max(self._parser.ErrorByteIndex - self._position, 0)
        line = self._line + self._window.count(b"\n", 0, at)
        inside = elements.inside
        if final and error.code in xml_errors.TRUNCATION_CODES:
            return self._end("sitemap.truncated", line, xml_errors.truncation_text(inside))
        self._restarts += 1
        if self._restarts > MAX_RESTARTS:
            said = "there are too many defects: reading stopped here"
            return self._end("sitemap.not_well_formed", line, said)
        if error.code == xml_errors.JUNK_CODE:  # only searched for more items
            self._findings.add(
                "sitemap.junk", line, "something stands behind the end of the root element: take it out"
            )
            return self._skip_to_item(at)
        said = xml_errors.describe_error(error.code, self._window, at, inside)
        self._findings.add("sitemap.not_well_formed", line, said)
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
        """Go on at the first item behind an error."""
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
        """Drop everything before the next item. False when none is in sight yet."""
        self._window += data
        found = _ITEM.search(self._window)
        cut = found.start() if found else max(len(self._window) - 64, 0)
        self._line += self._window.count(b"\n", 0, cut)
        self._window = self._window[cut:]
        if found:
            self._begin(self._elements.around)
        return bool(found)
