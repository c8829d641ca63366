"""The files that were named, and their lines: compressed or not, block by block, in flat memory."""

import bz2
import glob
import io
import lzma
import re
import sys
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, Protocol, cast

import zstandard
from isal.isal_zlib import IsalError, decompressobj

from crawler.errors import UsageError

BLOCK: Final = 2**20
"""Bytes of text that are looked at together, and those of a line at most: a longer one cannot be read."""
STDIN: Final = "-"
_PIECE: Final = 2_048  # packed bytes that are unpacked at a time: they hold some 64 MiB at worst
_MEMORY: Final = 128 * 2**20  # that an unpacker may ask for
_rotated = re.compile(r"^(.*?)[.-](\d{1,4})(\.(?:gz|zst|bz2|xz|log|txt))*$")
_TORN: Final[tuple[type[Exception], ...]] = (
    EOFError,
    OSError,
    zlib.error,
    cast("type[Exception]", IsalError),
    lzma.LZMAError,
    zstandard.ZstdError,
)


def named(paths: list[str]) -> list[str]:
    """The files that paths, globs and folders name, each once, the older before the newer. Raises UsageError."""
    found: dict[str, str] = {}
    for given in paths:
        for name in _of(given):
            found.setdefault(name if name == STDIN else str(Path(name).resolve()), name)
    return list(found.values())


def _of(given: str) -> list[str]:
    if given == STDIN:
        return [given]
    path = Path(given)
    if path.is_dir():
        inside = [str(each) for each in path.rglob("*") if each.is_file() and not each.name.startswith(".")]
        # a web server keeps its log of errors beside
        found = [name for name in inside if "access" in Path(name).name.lower()] or inside
        if not found:
            raise UsageError(f"there are no logs in the folder {given}; name files (--log)")
    elif path.exists():
        return [given]
    else:
        found = [name for name in glob.glob(given, recursive=True) if Path(name).is_file()]  # noqa: PTH207 - with folders
        if not found:
            raise UsageError(f"no such log: {given}; name files, folders or globs that match (--log)")
    return sorted(found, key=_age)


def _age(name: str) -> tuple[str, int, str]:
    """Sorts what was rotated: access.log.10 before access.log.2 before access.log; dates as they are."""
    found = _rotated.match(name)
    return (found[1], -int(found[2]), name) if found else (name, 0, name)


class File:
    """One file being read. ``read`` is how much of its ``size`` is, in bytes as stored; 0 when nobody knows."""

    def __init__(self, name: str) -> None:
        """Open it. Raises UsageError."""
        self.name = "standard input" if name == STDIN else name
        self.torn = ""
        self.too_long = 0
        self.is_cut = False
        self._begun: list[list[bytes]] = []
        try:
            self.size = 0 if name == STDIN else Path(name).stat().st_size
            self._raw = _Counted(sys.stdin.buffer if name == STDIN else io.FileIO(name))  # type: ignore[arg-type]
            self._text = _unpacked(io.BufferedReader(self._raw, 2**16))
        except OSError as error:
            raise UsageError(f"cannot read the log {self.name}: {error.strerror or error}") from None
        self._blocks = self._split()

    @property
    def read(self) -> int:
        """Bytes read so far, as stored."""
        return self._raw.count

    def __enter__(self) -> "File":
        return self

    def __exit__(self, *_: object) -> None:
        self._raw.close()

    def sample(self, count: int) -> list[bytes]:
        """The first lines, which are not lost by this."""
        if not self._begun:
            self._begun = [block for block in (next(self._blocks, []),) if block]
        return [line for block in self._begun for line in block[:count]]

    def blocks(self) -> Iterator[list[bytes]]:
        """All lines, without their ends, some thousands at a time.

        Afterwards ``torn`` says what ended the file too early, ``is_cut`` whether its last line has no end, and
        ``too_long`` how many lines were longer than a block and are not among them.
        """
        yield from self._begun
        self._begun = []
        yield from self._blocks

    def _split(self) -> Iterator[list[bytes]]:
        rest = b""
        is_skipping = False
        while chunk := self._chunk():
            lines = chunk.split(b"\n")
            if is_skipping:
                if len(lines) == 1:
                    continue
                del lines[0]
                is_skipping = False
            else:
                lines[0] = rest + lines[0]
            rest = lines.pop()
            if len(rest) > BLOCK:
                rest, is_skipping = b"", True
                self.too_long += 1
            if lines:
                yield lines
        if rest:
            self.is_cut = True
            yield [rest]

    def _chunk(self) -> bytes:
        parts: list[bytes] = []
        length = 0
        while length < BLOCK and not self.torn:
            try:
                part = self._text.read1(BLOCK)
            except _TORN as error:
                self.torn = str(error) or type(error).__name__
                break
            if not part:
                break
            parts.append(part)
            length += len(part)
        return b"".join(parts)


class _Counted(io.RawIOBase):
    """Counts what is read."""

    def __init__(self, inner: io.FileIO | io.BufferedReader) -> None:
        self._inner = inner
        self.count = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        into = self._inner.readinto1 if isinstance(self._inner, io.BufferedReader) else self._inner.readinto
        count = into(buffer) or 0
        self.count += count
        return count

    def close(self) -> None:
        if isinstance(self._inner, io.FileIO):
            self._inner.close()
        super().close()


class _Stream(Protocol):
    """What unpacks one member of a file, in any of the packings."""

    @property
    def eof(self) -> bool: ...

    @property
    def unused_data(self) -> bytes: ...

    def decompress(self, data: bytes, /) -> bytes: ...


def _zstd() -> _Stream:
    return zstandard.ZstdDecompressor(max_window_size=_MEMORY).decompressobj()


_PACKINGS: Final[dict[bytes, Callable[[], _Stream]]] = {
    b"\x1f\x8b": lambda: decompressobj(wbits=31),
    b"\x28\xb5\x2f\xfd": _zstd,
    b"BZh": bz2.BZ2Decompressor,
    b"\xfd7zXZ": lambda: lzma.LZMADecompressor(memlimit=_MEMORY),
}


class _Unpacked:
    """Packed members one after the other; raises EOFError when the last one does not end."""

    def __init__(self, packed: io.BufferedReader, stream: Callable[[], _Stream]) -> None:
        self._packed = packed
        self._begin = stream
        self._stream: _Stream | None = None
        self._left = b""
        self._text = b""
        self._given = 0

    def read1(self, size: int, /) -> bytes:
        """At most so many bytes; none at the end."""
        if self._given >= len(self._text):
            self._text, self._given = self._next(), 0
        text = self._text[self._given : self._given + size]
        self._given += size
        return text

    def _next(self) -> bytes:
        """What the next piece gives."""
        while piece := self._left or self._packed.read(_PIECE):
            self._left = b""
            if self._stream is None:
                piece = piece.lstrip(b"\0")  # some tools fill up the last sector
                if not piece:
                    continue
                self._stream = self._begin()
            text = self._stream.decompress(piece)
            if self._stream.eof:
                self._left, self._stream = self._stream.unused_data, None
            if text:
                return text
        if self._stream is not None:
            self._stream = None
            raise EOFError("it ends in the middle")
        return b""


class _Text(Protocol):
    def read1(self, size: int, /) -> bytes: ...


def _unpacked(raw: io.BufferedReader) -> _Text:
    """What is in a file, packed or not: by its first bytes, because names lie."""
    head = raw.peek(6)[:6]
    for magic, stream in _PACKINGS.items():
        if head.startswith(magic):
            return _Unpacked(raw, stream)
    return raw
