"""Unpacks logs: what is in a file by its first bytes, because names lie; in flat memory."""

import bz2
import io
import lzma
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import IO, Final, Protocol, cast
from zipfile import BadZipFile, ZipFile, ZipInfo

import zstandard
from isal.isal_zlib import IsalError, decompressobj

from crawler.audit.sources.paths import rotation_key

_READ_SIZE: Final = 2_048  # packed bytes that are unpacked at a time: they hold some 64 MiB at worst
_ZIP: Final = (b"PK\x03\x04", b"PK\x05\x06")  # the second: an archive of nothing
_MAX_MEMORY: Final = 128 * 2**20  # that an unpacker may ask for
UNPACK_ERRORS: Final[tuple[type[Exception], ...]] = (
    EOFError,
    OSError,
    zlib.error,
    cast("type[Exception]", IsalError),
    lzma.LZMAError,
    zstandard.ZstdError,
    BadZipFile,
    NotImplementedError,  # a packing within a zip archive that nobody else uses
)
"""What reading a damaged file raises."""


class _Decompressor(Protocol):
    """What unpacks one member of a file, in any of the packings."""

    @property
    def eof(self) -> bool: ...

    @property
    def unused_data(self) -> bytes: ...

    def decompress(self, data: bytes, /) -> bytes: ...


def _zstd() -> _Decompressor:
    return zstandard.ZstdDecompressor(max_window_size=_MAX_MEMORY).decompressobj()


_DECOMPRESSORS: Final[dict[bytes, Callable[[], _Decompressor]]] = {
    b"\x1f\x8b": lambda: decompressobj(wbits=31),
    b"\x28\xb5\x2f\xfd": _zstd,
    b"BZh": bz2.BZ2Decompressor,
    b"\xfd7zXZ": lambda: lzma.LZMADecompressor(memlimit=_MAX_MEMORY),
}


class _UnpackedStream:
    """Packed members one after the other; raises EOFError when the last one does not end."""

    def __init__(self, packed: io.BufferedReader, stream: Callable[[], _Decompressor]) -> None:
        self._packed = packed
        self._begin = stream
        self._stream: _Decompressor | None = None
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
        while piece := self._left or self._packed.read(_READ_SIZE):
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


class LogBytes(Protocol):
    """What is in a file."""

    def read1(self, size: int, /) -> bytes:
        """At most so many bytes; none at the end."""


class _ZippedLogs:
    """The files in a zip archive, packed or not, one after the other."""

    def __init__(self, raw: io.BufferedReader) -> None:
        """Look what is in it. Raises OSError, BadZipFile."""
        if not raw.seekable():
            raise OSError("it is a zip archive, which is no stream: unpack it first (unzip -p)")
        self._archive = ZipFile(raw)
        members = [each for each in self._archive.infolist() if _is_log(each)]
        if any(each.filename == "[Content_Types].xml" for each in members):
            raise BadZipFile("it is a document of an office program")
        if any(each.flag_bits & 1 for each in members):
            raise BadZipFile("it is protected by a password: unpack it first")
        self._left = sorted(members, key=lambda each: rotation_key(each.filename), reverse=True)
        self._text: LogBytes | None = None

    def read1(self, size: int, /) -> bytes:
        """At most so many bytes; none at the end."""
        while self._text or self._left:
            if self._text is None:
                member: IO[bytes] = self._archive.open(self._left.pop())
                self._text = _unpack(io.BufferedReader(cast("io.BufferedIOBase", member), 2**16))
            if text := self._text.read1(size):
                return text
            self._text = None
            if self._left:
                return b"\n"  # the last line of a file may have no end
        return b""


def _is_log(member: ZipInfo) -> bool:
    name = Path(member.filename).name
    return not (member.is_dir() or name.startswith(".") or member.filename.startswith("__MACOSX/"))


def open_log(raw: io.BufferedReader) -> LogBytes:
    """What is in a file: an archive, or a log."""
    return _ZippedLogs(raw) if raw.peek(4).startswith(_ZIP) else _unpack(raw)


def _unpack(raw: io.BufferedReader) -> LogBytes:
    """What is in a file, packed or not: by its first bytes, because names lie."""
    head = raw.peek(6)[:6]
    for magic, stream in _DECOMPRESSORS.items():
        if head.startswith(magic):
            return _UnpackedStream(raw, stream)
    return raw
