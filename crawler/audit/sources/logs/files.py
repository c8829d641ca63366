"""Finds and reads log files, compressed or not, in blocks of lines and flat memory."""

import io
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Final, cast
from zipfile import BadZipFile, ZipFile

from crawler.audit.sources.unpack import UNPACK_ERRORS, ZIP_STARTS, UnpackedBytes, is_content, unpack
from crawler.audit.sources.urls import files_in, find_files, rotation_key
from crawler.errors import UsageError


class _ZippedLogs:
    """Reads the files of a zip archive in order."""

    def __init__(self, raw: io.BufferedReader) -> None:
        """Read the directory of the archive. Raises OSError, BadZipFile."""
        if not raw.seekable():
            raise OSError(
                "Siteatlas cannot read a zip archive from a stream. Unpack it first, for example with unzip -p"
            )
        self._archive = ZipFile(raw)
        members = [member for member in self._archive.infolist() if is_content(member)]
        if any(member.filename == "[Content_Types].xml" for member in members):
            raise BadZipFile("it is an office document")
        if any(member.flag_bits & 1 for member in members):
            raise BadZipFile("the archive is protected by a password. Unpack it, and give the unpacked files")
        self._left = sorted(members, key=lambda member: rotation_key(member.filename), reverse=True)
        self._text: UnpackedBytes | None = None

    def read1(self, size: int, /) -> bytes:
        """At most ``size`` bytes; none at the end."""
        while self._text or self._left:
            if self._text is None:
                member: IO[bytes] = self._archive.open(self._left.pop())
                self._text = unpack(io.BufferedReader(cast("io.BufferedIOBase", member), 2**16))
            if text := self._text.read1(size):
                return text
            self._text = None
            if self._left:
                return b"\n"  # the last line of a file may lack its newline
        return b""


BLOCK_SIZE: Final = 2**20
"""Bytes of text in a block, and the most bytes of a line: longer lines are skipped."""
_SAMPLE_LINES: Final = 200  # lines that determine the format
_FLAG: Final = "--log"
STDIN: Final = "-"


class LogRefused(UsageError):
    """A file that is not read as a log. ``why`` is short; ``is_damaged``: it may be a log all the same."""

    def __init__(self, message: str, name: str, why: str, *, is_damaged: bool = False) -> None:
        super().__init__(message)
        self.name = name
        self.why = why
        self.is_damaged = is_damaged


def find_logs(paths: Sequence[str]) -> dict[str, str]:
    """The files of paths, globs and folders, each once, the oldest first: with its folder if that was named, else "".

    Raises UsageError.
    """
    files: dict[str, tuple[str, str]] = {}
    for path in paths:
        names = [path] if path == STDIN else find_files(path, _FLAG)
        folder = path if names == [path] and path != STDIN and Path(path).is_dir() else ""
        names = files_in(path, _FLAG) if folder else names
        if not names:
            raise UsageError(f"the folder {path} contains no logs. Give files with {_FLAG}")
        for name in sorted(names, key=rotation_key):
            key = name if name == STDIN else str(Path(name).resolve())
            if not (folder and key in files):  # a file that was named itself must be a log
                files[key] = name, folder
    return dict(files.values())


def is_stream(name: str) -> bool:
    """Whether a file can be read only once and has no size: standard input, or a pipe (``<(zcat …)``)."""
    return name == STDIN or not Path(name).is_file()


MIN_COPY: Final = 4_096
"""Bytes of a log that is only the beginning of another one, to be a copy of this."""


def find_copies(names: Sequence[str]) -> dict[str, str]:
    """The files whose whole content another file begins with, and that file: ``access.log.1.gz`` of ``access.log.1``.

    Content is compared decompressed, and only of files with the same first line. Of a log that grew after it was
    copied, the copy is the one left out, if it has :data:`MIN_COPY` bytes: two servers may log the same first lines.
    Streams and unreadable files are no copies.
    """
    by_line: dict[bytes, list[str]] = {}
    for name in names:
        if not is_stream(name) and (line := _first_entry(name)):
            by_line.setdefault(line, []).append(name)
    copies: dict[str, str] = {}
    for same in by_line.values():
        for place, name in enumerate(same):
            for other in same[place + 1 :]:
                if name not in copies and other not in copies and (shorter := _contained(name, other)):
                    copies[shorter] = name if shorter == other else other
    for copy, name in copies.items():
        while name in copies:  # a copy of a copy
            name = copies[name]  # noqa: PLW2901
        copies[copy] = name
    return copies


def _first_entry(name: str) -> bytes:
    """The first line of a log, after the header lines of W3C formats; b"" without one."""
    try:
        with LogFile(name) as file:
            return next((line for line in file.sample() if not line.startswith(b"#")), b"")
    except UsageError:
        return b""


def _contained(one: str, other: str) -> str:
    """The one of two files whose content the other begins with: the second if both are equal; "": they differ."""
    with LogFile(one) as first, LogFile(other) as second:
        ours, theirs = first.blocks(), second.blocks()
        left, right, compared = next(ours, b""), next(theirs, b""), 0
        while left and right:
            size = min(len(left), len(right))
            compared += size
            if left[:size] != right[:size]:
                return ""
            left = left[size:] or next(ours, b"")
            right = right[size:] or next(theirs, b"")
        is_whole = not (first.read_error or second.read_error or first.too_long or second.too_long)
        if not is_whole or ((left or right) and compared < MIN_COPY):
            return ""
        return one if right else other


class LogFile:
    """One file being read. ``size`` is in bytes as stored, 0 when unknown.

    ``read`` are the bytes read so far, as stored; of a stream, unpacked.
    """

    def __init__(self, name: str) -> None:
        """Open it. Raises UsageError."""
        self.name = "standard input" if name == STDIN else name
        self.read_error = ""
        self.too_long = 0
        self.is_cut = False
        self.read = 0
        self._first_block = b""
        try:
            self.size = 0 if is_stream(name) else Path(name).stat().st_size
            raw = sys.stdin.buffer if name == STDIN else Path(name).open("rb", 2**16)  # noqa: SIM115
            self._raw = cast("io.BufferedReader", raw)
            try:
                is_zip = self._raw.peek(4).startswith(ZIP_STARTS)
                self._text: UnpackedBytes = _ZippedLogs(self._raw) if is_zip else unpack(self._raw)
            except (OSError, BadZipFile):
                self.close()
                raise
        except (OSError, BadZipFile) as error:
            reason = str(getattr(error, "strerror", None) or error)
            raise LogRefused(
                f"the log {self.name} cannot be read: {reason}", name, f"cannot be read: {reason}", is_damaged=True
            ) from None
        self._blocks = self._split()

    def __enter__(self) -> "LogFile":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file, unless it is standard input."""
        if self._raw is not sys.stdin.buffer:
            self._raw.close()

    def sample(self) -> list[bytes]:
        """The first lines that are not blank; :meth:`blocks` yields them again."""
        if not self._first_block:
            self._first_block = next(self._blocks, b"")
        lines = self._first_block.split(b"\n", _SAMPLE_LINES)[:_SAMPLE_LINES]
        return [line for line in lines if line and not line.isspace()]

    def blocks(self) -> Iterator[bytes]:
        """The content in blocks of whole lines; only the last line of the file may lack its newline.

        Afterwards ``read_error`` has the error that ended the file early, ``is_cut`` says whether the last line lacks
        its newline, and ``too_long`` counts the skipped lines that are longer than a block.
        """
        if self._first_block:
            yield self._first_block
        self._first_block = b""
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
        is_over = not (parts or self.read_error)
        self.read = self.read + length if not self.size else self.size if is_over else self._raw.tell()
        return b"".join(parts)
