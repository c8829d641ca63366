"""Unpacks the files of sources, compressed or not, in flat memory."""

import bz2
import codecs
import io
import lzma
import zlib
from collections.abc import Callable
from pathlib import PurePosixPath
from typing import Final, Protocol, cast
from zipfile import BadZipFile, ZipInfo

from isal.isal_zlib import IsalError, decompressobj

from crawler.fetch.encodings import ZstdError, zstd_decompressor

_READ_SIZE: Final = 2_048  # compressed bytes at a time; they unpack to 64 MiB at worst
_MAX_MEMORY: Final = 128 * 2**20  # bytes of a decompressor

UNPACK_ERRORS: Final[tuple[type[Exception], ...]] = (
    EOFError,
    OSError,
    zlib.error,
    cast("type[Exception]", IsalError),
    lzma.LZMAError,
    ZstdError,
    BadZipFile,
    NotImplementedError,  # a rare compression method in a zip archive
)

"""The exceptions of reading a damaged file."""


class _Decompressor(Protocol):
    """Decompresses one member of a file, in any format."""

    @property
    def eof(self) -> bool: ...

    @property
    def unused_data(self) -> bytes: ...

    def decompress(self, data: bytes, /) -> bytes: ...


_DECOMPRESSORS: Final[dict[bytes, Callable[[], _Decompressor]]] = {
    b"\x1f\x8b": lambda: decompressobj(wbits=31),
    b"\x28\xb5\x2f\xfd": lambda: zstd_decompressor(_MAX_MEMORY),
    b"BZh": bz2.BZ2Decompressor,
    b"\xfd7zXZ": lambda: lzma.LZMADecompressor(memlimit=_MAX_MEMORY),
}


class _UnpackedStream:
    """Reads compressed members in order; raises EOFError when the last one is cut off."""

    def __init__(self, packed: io.BufferedReader, stream: Callable[[], _Decompressor]) -> None:
        self._packed = packed
        self._begin = stream
        self._stream: _Decompressor | None = None
        self._left = b""
        self._text = b""
        self._given = 0

    def read1(self, size: int, /) -> bytes:
        """At most ``size`` bytes; none at the end."""
        if self._given >= len(self._text):
            self._text, self._given = self._next(), 0
        text = self._text[self._given : self._given + size]
        self._given += size
        return text

    def _next(self) -> bytes:
        """The text of the next piece; b"" at the end."""
        while piece := self._left or self._packed.read(_READ_SIZE):
            self._left = b""
            if self._stream is None:
                piece = piece.lstrip(b"\0")  # some tools pad the last sector
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
            raise EOFError("it is cut off")
        return b""


ZIP_STARTS: Final = (b"PK\x03\x04", b"PK\x05\x06")  # the second: an empty archive


def is_content(member: ZipInfo) -> bool:
    """Whether a member of an archive is content: no folder, no hidden file, and no file that macOS adds."""
    name = member.filename
    return not (member.is_dir() or name.startswith("__MACOSX/") or PurePosixPath(name).name.startswith("."))


class UnpackedBytes(Protocol):
    """The decompressed content of a file."""

    def read1(self, size: int, /) -> bytes:
        """At most ``size`` bytes; none at the end."""


def unpack(raw: io.BufferedReader) -> UnpackedBytes:
    """The content of a file, decompressed according to its first bytes, not its name."""
    head = raw.peek(6)[:6]
    for magic, stream in _DECOMPRESSORS.items():
        if head.startswith(magic):
            return _UnpackedStream(raw, stream)
    is_utf_16 = head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) and not head.startswith(codecs.BOM_UTF32_LE)
    if is_utf_16:  # as PowerShell writes with ">"
        return _DecodedText(io.TextIOWrapper(raw, "utf-16", errors="replace", newline="\n"))
    raw.read(len(codecs.BOM_UTF8) * head.startswith(codecs.BOM_UTF8))
    return raw


class _DecodedText:
    """Reads a text in UTF-16 as UTF-8."""

    def __init__(self, text: io.TextIOWrapper) -> None:
        self._text = text

    def read1(self, size: int, /) -> bytes:
        """At most ``size`` bytes; none at the end."""
        return self._text.read(size // 4 or 1).encode()  # a character has at most four
