"""Reads the text of a table as rows of cells, with any separator. An empty row ends a table."""

import codecs
import csv
import io
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import islice
from typing import BinaryIO, Final, Self

from crawler.audit.sources.exports.files import UNREADABLE

MAX_LINE: Final = 1_048_576  # characters of a line, or of one value of a JSON document

HEAD_BYTES: Final = 65_536  # characters that determine the kind of the file

_LATIN: Final = "crawler.windows-1252"

_BOMS: Final = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark is its prefix
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


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
        line = begun + self._read_safely(MAX_LINE, whole_lines=True)
        while len(line) >= MAX_LINE and not line.endswith(("\n", "\r")):
            self.overlong += 1
            while (rest := self._read_safely(HEAD_BYTES, whole_lines=True)) and not rest.endswith(("\n", "\r")):
                pass
            line = self._read_safely(MAX_LINE, whole_lines=True)
        return line

    def _read(self, size: int) -> str:
        return self._read_safely(size, whole_lines=False)

    def _read_safely(self, size: int, *, whole_lines: bool) -> str:
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
    for mark, encoding in _BOMS:
        if head.startswith(mark):
            return encoding
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
                at_head = True
                if not is_list:
                    yield []
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
