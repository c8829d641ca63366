"""Turns the bytes of an export into text and lines, in whatever encoding, and never holds much of it."""

import codecs
import io
from collections.abc import Iterator
from types import TracebackType
from typing import BinaryIO, Final, Self

from crawler.evidence.exports.opening import UNREADABLE

LONGEST: Final = 1_048_576  # characters of a line, or of one value of a JSON document
HEAD: Final = 65_536  # characters that are looked at to learn what the file is
_LATIN: Final = "crawler.windows-1252"
_BOMS: Final = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def _as_latin(error: UnicodeError) -> tuple[str, int]:
    """What is no UTF-8 was written by a program that knows nothing newer than Windows-1252."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return error.object[error.start : error.end].decode("cp1252", "replace"), error.end


codecs.register_error(_LATIN, _as_latin)


class Text:
    """The text of a file that is read once, by lines or in pieces. Use as a context manager.

    ``head`` is its beginning. After the reading ``fault`` says in a sentence why its end was not reached, or is "", and
    ``overlong`` counts the lines longer than :data:`LONGEST`, which are left out.
    """

    def __init__(self, file: BinaryIO) -> None:
        self.fault = ""
        self.overlong = 0
        self._file = file
        self._text = self._open()
        self.head = self._read(HEAD)
        if self.head.endswith("\r"):
            self.head += self._read(1)  # whose "\n" may follow

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._text.close()
        self._file.close()

    def pieces(self) -> Iterator[str]:
        """Everything, in pieces."""
        yield self.head
        while piece := self._read(HEAD):
            yield piece

    def lines(self) -> Iterator[str]:
        """Everything, by lines with their ends."""
        for line in io.StringIO(self.head, newline=""):
            if line.endswith(("\n", "\r")):
                yield line
            elif whole := self._line(line):
                yield whole
        while line := self._line(""):
            yield line

    def _line(self, begun: str) -> str:
        """The next line that is not overlong, "" at the end. Of the first the beginning may be known."""
        line = begun + self._guarded(LONGEST, whole_lines=True)
        while len(line) >= LONGEST and not line.endswith(("\n", "\r")):
            self.overlong += 1
            while (rest := self._guarded(HEAD, whole_lines=True)) and not rest.endswith(("\n", "\r")):
                pass
            line = self._guarded(LONGEST, whole_lines=True)
        return line

    def _read(self, size: int) -> str:
        return self._guarded(size, whole_lines=False)

    def _guarded(self, size: int, *, whole_lines: bool) -> str:
        """Some text, "" at the end and from a fault on: what was cut off there is no value any longer."""
        if self.fault:
            return ""
        try:
            return self._text.readline(size) if whole_lines else self._text.read(size)
        except UNREADABLE as error:
            self.fault = f"it is broken or cut off ({error})"
            return ""

    def _open(self) -> io.TextIOWrapper:
        buffered = io.BufferedReader(self._file, HEAD)  # type: ignore[type-var]  # a binary file reads into buffers
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
    # without a mark, but with the zeros that Latin letters and digits have in UTF-16
    even, odd = head[::2].count(0), head[1::2].count(0)
    if max(even, odd) > len(head) // 5 and min(even, odd) * 4 < max(even, odd):
        return "utf-16-le" if odd > even else "utf-16-be"
    return "utf-8"
