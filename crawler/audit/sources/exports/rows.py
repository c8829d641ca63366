"""Reads the text of a table as rows of cells: CSV with any separator and JSON lines in flat memory, and JSON."""

import codecs
import csv
import io
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import chain, islice
from typing import Any, BinaryIO, Final, Self

import msgspec

from crawler.audit.sources.exports.files import UNREADABLE

MAX_LINE: Final = 1_048_576  # characters of a line
MAX_DOCUMENT: Final = 2**27  # characters of a JSON document; the largest response of Google Analytics has half as many

HEAD_BYTES: Final = 65_536  # characters that determine the kind of the file

_LATIN: Final = "crawler.windows-1252"

_BOMS: Final = (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)  # the reader of packed files resolves the others


def _decode_as_latin(error: UnicodeError) -> tuple[str, int]:
    """Decode bytes that are no UTF-8 as Windows-1252, which older programs write."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return error.object[error.start : error.end].decode("cp1252", "replace"), error.end


codecs.register_error(_LATIN, _decode_as_latin)


class ExportText:
    """The text of a file, to read once, by lines or in pieces. A context manager.

    ``head`` is its beginning. After reading, ``fault`` says why the end was not reached, or is "", and ``overlong``
    counts the skipped lines, longer than :data:`MAX_LINE`.
    """

    def __init__(self, file: BinaryIO) -> None:
        self.fault = ""
        self.overlong = 0
        self._file = file
        self._text = self._open()
        self.head = self._read(HEAD_BYTES)
        if self.head.endswith("\r"):
            self.head += self._read(1)  # its "\n" may follow

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._text.close()
        self._file.close()

    def pieces(self) -> Iterator[str]:
        """The text in pieces."""
        yield self.head
        while piece := self._read(HEAD_BYTES):
            yield piece

    def lines(self) -> Iterator[str]:
        """The lines with their line ends."""
        for line in io.StringIO(self.head, newline=""):
            if line.endswith(("\n", "\r")):
                yield line
            elif whole := self._line(line):
                yield whole
        while line := self._line(""):
            yield line

    def _line(self, begun: str) -> str:
        """The next line that is not too long, "" at the end. ``begun`` is the part of it that was already read."""
        line = begun + self._read(MAX_LINE, whole_lines=True)
        while len(line) >= MAX_LINE and not line.endswith(("\n", "\r")):
            self.overlong += 1
            while (rest := self._read(HEAD_BYTES, whole_lines=True)) and not rest.endswith(("\n", "\r")):
                pass
            line = self._read(MAX_LINE, whole_lines=True)
        return line

    def _read(self, size: int, *, whole_lines: bool = False) -> str:
        """Some text; "" at the end and after a fault, where a value may be cut off."""
        if self.fault:
            return ""
        try:
            return self._text.readline(size) if whole_lines else self._text.read(size)
        except UNREADABLE as error:
            self.fault = f"it is broken or cut off ({error})"
            return ""

    def _open(self) -> io.TextIOWrapper:
        buffered = io.BufferedReader(self._file, HEAD_BYTES)  # type: ignore[type-var]  # a binary file reads into buffers
        try:
            head = buffered.peek(4096)
        except UNREADABLE as error:
            self.fault = f"it is broken or cut off ({error})"
            head = b""
        encoding = _encoding(head)
        errors = _LATIN if encoding.startswith("utf-8") else "replace"
        return io.TextIOWrapper(buffered, encoding, errors, newline="")


def _encoding(head: bytes) -> str:
    if head.startswith(_BOMS):
        return "utf-32"
    # without a mark: Latin letters and digits have zero bytes in UTF-16
    even, odd = head[::2].count(0), head[1::2].count(0)
    if max(even, odd) > len(head) // 5 and min(even, odd) * 4 < max(even, odd):
        return "utf-16-le" if odd > even else "utf-16-be"
    return "utf-8"


NO_SEPARATOR: Final = "\x1f"  # a list: every line is one cell

_SEPARATORS: Final = "\t;,|"

_SAMPLE_LINES: Final = 200  # lines that determine the separator

_URL_STARTS: Final = ("http://", "https://", "/")

_TABLES: Final = (".csv", ".tsv", ".csv.gz", ".tsv.gz")


class CsvRows:
    """The rows of a text. ``comments`` has comment lines, which the caller clears; ``skipped`` counts broken rows."""

    def __init__(self, text: ExportText, name: str) -> None:
        self.comments: list[str] = []
        self.skipped = 0
        self.separator, self._has_separator_line = _separator(text.head, name)
        self._text = text

    def __iter__(self) -> Iterator[list[str]]:
        reader = csv.reader(self._lines(), delimiter=self.separator)
        is_list = self.separator == NO_SEPARATOR
        at_head = True
        while True:
            try:
                row = next(reader)
            except StopIteration:
                return
            except csv.Error:  # a cell is too long, mostly because its quotation mark is never closed
                self.skipped += 1
                continue
            if not any(row):
                if not (is_list or at_head):  # one for many blank lines
                    yield []
                at_head = True
            elif (at_head or is_list) and _is_comment(row):
                at_head = True
                self.comments.append(" ".join(row)[:500])
                del self.comments[:-100]
                if not is_list:
                    yield []
            else:
                at_head = False
                yield row

    def _lines(self) -> Iterator[str]:
        """The lines, without single quotation marks in comments, which would open a cell."""
        lines = self._text.lines()
        if self._has_separator_line:
            next(lines)
        at_head = True
        for line in lines:
            if at_head and line.startswith("#"):
                yield line.replace('"', "") if line.rstrip().count('"') % 2 else line
            else:
                at_head = line.isspace()
                yield line


def _is_comment(row: list[str]) -> bool:
    """Whether a row is a comment. A single ``#`` is the name of the column of row numbers."""
    return row[0].startswith("#") and (len(row) == 1 or row[0].strip() != "#")


def _separator(head: str, name: str) -> tuple[str, bool]:
    """The separator of cells, and whether the first line states it as for Excel (``sep=;``)."""
    lines = head.splitlines(keepends=True)[: _SAMPLE_LINES * 2]
    first = lines[0].strip().strip('"') if lines else ""
    if first.lower().startswith("sep=") and len(first) == 5:
        return first[4], True
    lines = [line for line in lines if not line.isspace() and not line.startswith("# ")][:_SAMPLE_LINES]
    best = max(_SEPARATORS, key=lambda separator: _column_fit(lines, separator))
    if _column_fit(lines, best)[0] < 0.75:
        return NO_SEPARATOR, False
    # a URL may contain every separator but the tab; a list has no header, or a single name
    is_list = lines[0].lower().startswith(_URL_STARTS) and not name.lower().endswith(_TABLES)
    is_list |= best not in lines[0] and any(line.lower().startswith(_URL_STARTS) for line in lines[1:2])
    return (NO_SEPARATOR if is_list and best != "\t" else best), False


def _column_fit(lines: Iterable[str], separator: str) -> tuple[float, int]:
    """The share of rows with the most common number of cells, if that is two or more; and that number."""
    reader = csv.reader(lines, delimiter=separator)
    widths: Counter[int] = Counter()
    with suppress(csv.Error):
        widths.update(len(row) for row in islice(reader, _SAMPLE_LINES) if row)
    wide = [(count, width) for width, count in widths.items() if width > 1]
    if not wide:
        return 0.0, 0
    _, width = max(wide)
    return round(sum(count for count, _ in wide) / widths.total(), 1) - 0.05 * len(wide), width


CONTAINERS: Final = frozenset({"rows", "results", "reports", "data", "items", "urls", "pages", "d", "value"})
"""Members of an object whose arrays hold its rows."""

_NAMES: Final = {"dimensionHeaders": "dimensionValues", "metricHeaders": "metricValues"}
_SAMPLE_ROWS: Final = 200  # values whose members become columns
_MAX_CELLS: Final = 20  # of an array
_decode_line = msgspec.json.Decoder().decode
_decoder = json.JSONDecoder()
_ink = re.compile(r"[^ \t\r\n\ufeff]").search


class JsonRows:
    """The rows of a JSON text; the first are the column names, unless it is a list. ``skipped`` counts broken rows."""

    def __init__(self, text: ExportText) -> None:
        self.comments: list[str] = []
        self.skipped = 0
        self.by_line = _is_json_lines(text.head)
        self._text = text
        self._names: dict[str, list[str]] = {}  # of array values, as in GA4 answers

    def __iter__(self) -> Iterator[list[str]]:
        values = self._line_values() if self.by_line else self._document_values()
        cells = (self._cells(value) for value in values)
        first = list(islice(cells, _SAMPLE_ROWS))
        header = list(dict.fromkeys(name for row in first for name in row))
        if header != [""]:
            yield header
        for row in chain(first, cells):
            if row:
                yield [row.get(name, "") for name in header]

    def _line_values(self) -> Iterator[Any]:
        for line in self._text.lines():
            if line.isspace():
                continue
            try:
                value = _decode_line(line)
            except (msgspec.DecodeError, RecursionError, ValueError):
                self.skipped += 1
                continue
            yield from self._inner(value)

    def _inner(self, value: Any) -> Iterator[Any]:
        """The values of a container, or the value itself."""
        if isinstance(value, list):
            for item in value:
                yield from self._inner(item)
        elif isinstance(value, dict):
            self._learn_names(value)
            lists = [value[name] for name in value if name in CONTAINERS and isinstance(value[name], list)]
            if not lists and not (value.keys() & _NAMES.keys()):
                yield value
            for item in chain.from_iterable(lists):
                yield from self._inner(item)
        else:
            yield value

    def _learn_names(self, value: dict[str, Any]) -> None:
        for header, cells in _NAMES.items():
            if isinstance(named := value.get(header), list):
                self._names[cells] = [str(item.get("name", "")) for item in named if isinstance(item, dict)]

    def _document_values(self) -> Iterator[Any]:
        """The values of one document, or of several one after the other. It is read whole, unlike lines."""
        pieces, size = [], 0
        for piece in self._text.pieces():
            pieces.append(piece)
            size += len(piece)
            if size > MAX_DOCUMENT:
                self._text.fault = f"it is larger than {MAX_DOCUMENT:,} characters: give it as JSON lines, or as CSV"
                return
        text, at = "".join(pieces), 0
        try:
            while mark := _ink(text, at):
                value, at = _decoder.raw_decode(text, mark.start())
                yield from self._inner(value)
        except (ValueError, RecursionError) as error:
            self._text.fault = self._text.fault or f"a part of it is not JSON ({error})"

    def _cells(self, value: Any) -> dict[str, str]:
        """The members by name, array items by name and number; a plain value has the name ""."""
        if not isinstance(value, dict):
            return {"": text} if (text := _cell_text(value)) else {}
        cells: dict[str, str] = {}
        for name, member in value.items():
            if isinstance(member, list):
                names = self._names.get(name, ())
                for number, item in enumerate(member[:_MAX_CELLS]):
                    cells[names[number] if number < len(names) else f"{name} {number + 1}"] = _cell_text(item)
            else:
                cells[name] = _cell_text(member)
        return cells


def _cell_text(value: Any) -> str:
    """A value as text; of an object its ``value``, else ""."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return _cell_text(value["value"]) if isinstance(value.get("value"), str | int | float) else ""
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() else f"{value:.1f}"  # three decimals look like thousands
    return str(value) if isinstance(value, int) and abs(value) < 10**18 else ""


def _is_json_lines(head: str) -> bool:
    """Whether the first line is a value."""
    line = head.lstrip("\ufeff \t\r\n").partition("\n")[0]
    try:
        _decode_line(line)
    except (msgspec.DecodeError, RecursionError, ValueError):
        return False
    return True
