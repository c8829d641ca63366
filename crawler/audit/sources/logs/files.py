"""The files that were named, and their lines: compressed or not, block by block, in flat memory."""

import io
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final
from zipfile import BadZipFile

from crawler.audit.sources.logs.compression import UNPACK_ERRORS, open_log
from crawler.audit.sources.paths import files_in, find_files, rotation_key
from crawler.errors import UsageError

BLOCK_SIZE: Final = 2**20
"""Bytes of text that are looked at together, and those of a line at most: a longer one cannot be read."""
_SAMPLE_LINES: Final = 200  # lines by which a format is told
_FLAG: Final = "--log"
STDIN: Final = "-"


def find_logs(paths: list[str]) -> list[str]:
    """The files that paths, globs and folders name, each once, the older before the newer. Raises UsageError."""
    found: dict[str, str] = {}
    for given in paths:
        for name in _matching_files(given):
            found.setdefault(name if name == STDIN else str(Path(name).resolve()), name)
    return list(found.values())


def _matching_files(given: str) -> list[str]:
    if given == STDIN:
        return [given]
    found = find_files(given, _FLAG)
    if found == [given] and Path(given).is_dir():
        inside = files_in(given, _FLAG)
        # a web server keeps its log of errors beside
        found = [name for name in inside if "access" in Path(name).name.lower()] or inside
        if not found:
            raise UsageError(f"there are no logs in the folder {given}; name files ({_FLAG})")
    return sorted(found, key=rotation_key)


def is_stream(name: str) -> bool:
    """Whether it is read but once, and nobody knows its size: standard input, or a pipe (``<(zcat …)``)."""
    return name == STDIN or not Path(name).is_file()


class LogFile:
    """One file being read. ``read`` is how much of its ``size`` is, in bytes as stored; 0 when nobody knows."""

    def __init__(self, name: str) -> None:
        """Open it. Raises UsageError."""
        self.name = "standard input" if name == STDIN else name
        self.read_error = ""
        self.too_long = 0
        self.is_cut = False
        self._begun = b""
        try:
            self.size = 0 if is_stream(name) else Path(name).stat().st_size
            self._raw = _CountingReader(sys.stdin.buffer if name == STDIN else io.FileIO(name))  # type: ignore[arg-type]
            try:
                self._text = open_log(io.BufferedReader(self._raw, 2**16))
            except (OSError, BadZipFile):
                self._raw.close()
                raise
        except (OSError, BadZipFile) as error:
            said = getattr(error, "strerror", None) or error
            raise UsageError(f"cannot read the log {self.name}: {said}") from None
        self._blocks = self._split()

    @property
    def read(self) -> int:
        """Bytes read so far, as stored."""
        return min(self._raw.count, self.size) if self.size else self._raw.count

    def __enter__(self) -> "LogFile":
        return self

    def __exit__(self, *_: object) -> None:
        self._raw.close()

    def sample(self) -> list[bytes]:
        """The first lines with anything in them, which are not lost by this."""
        if not self._begun:
            self._begun = next(self._blocks, b"")
        lines = self._begun.split(b"\n", _SAMPLE_LINES)[:_SAMPLE_LINES]
        return [line for line in lines if line and not line.isspace()]

    def blocks(self) -> Iterator[bytes]:
        """All of it, in blocks of whole lines: each ends as a line does, but for the last line of the file.

        Afterwards ``torn`` says what ended the file too early, ``is_cut`` whether its last line has no end, and
        ``too_long`` how many lines were longer than a block and are not among them.
        """
        if self._begun:
            yield self._begun
        self._begun = b""
        yield from self._blocks

    def _split(self) -> Iterator[bytes]:
        rest = b""
        is_skipping = False
        while chunk := self._chunk():
            start, end = 0, chunk.rfind(b"\n") + 1
            if is_skipping and end:
                start, is_skipping = chunk.index(b"\n") + 1, False
            if start < end:
                yield b"".join((rest, memoryview(chunk)[start:end]))
                rest = b""
            if not is_skipping:
                rest += chunk[end:]
            if len(rest) > BLOCK_SIZE:
                rest, is_skipping = b"", True
                self.too_long += 1
        if rest:
            self.is_cut = True
            yield rest

    def _chunk(self) -> bytes:
        parts: list[bytes] = []
        length = 0
        while length < BLOCK_SIZE and not self.read_error:
            try:
                part = self._text.read1(BLOCK_SIZE)
            except UNPACK_ERRORS as error:
                self.read_error = str(error) or type(error).__name__
                break
            if not part:
                break
            parts.append(part)
            length += len(part)
        return b"".join(parts)


class _CountingReader(io.RawIOBase):
    """Counts what is read."""

    def __init__(self, inner: io.FileIO | io.BufferedReader) -> None:
        self._inner = inner
        self.count = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return self._inner.seekable()

    def seek(self, offset: int, whence: int = 0, /) -> int:
        return self._inner.seek(offset, whence)

    def readinto(self, buffer: Any, /) -> int:
        into = self._inner.readinto1 if isinstance(self._inner, io.BufferedReader) else self._inner.readinto
        count = into(buffer) or 0
        self.count += count
        return count

    def close(self) -> None:
        if isinstance(self._inner, io.FileIO):
            self._inner.close()
        super().close()
