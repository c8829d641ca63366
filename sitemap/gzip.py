"""Gzip: writes deterministic members, and unpacks hostile ones in bounded pieces."""

import struct
import zlib
from collections.abc import Iterator
from typing import BinaryIO, Final

MAGIC: Final = b"\x1f\x8b"
# RFC 1952 section 2.3: deflate, no flags, no modification time, system unknown: equal bytes for equal content.
_HEAD: Final = MAGIC + b"\x08\x00\x00\x00\x00\x00\x00\xff"
_PIECE: Final = 256 * 1024  # bytes unpacked in one step
_SLICE: Final = 16 * 1024  # packed bytes per step: zlib copies unused input
_MAX_EMPTY: Final = 1_000  # members without content


class GzipWriter:
    """Writes one gzip member to a binary file. The file stays open after :meth:`close`."""

    def __init__(self, file: BinaryIO) -> None:
        from isal import isal_zlib  # noqa: PLC0415 - loaded only to write

        self._file = file
        self._deflate = isal_zlib.compressobj(2, isal_zlib.DEFLATED, -15)
        self._crc32 = isal_zlib.crc32
        self._crc = 0
        self._size = 0
        file.write(_HEAD)

    def write(self, data: bytes) -> None:
        """Compress and write data."""
        self._crc = self._crc32(data, self._crc)
        self._size += len(data)
        self._file.write(self._deflate.compress(data))

    def close(self) -> None:
        """Write the remaining data and the trailer."""
        self._file.write(self._deflate.flush())
        self._file.write(struct.pack("<II", self._crc & 0xFFFFFFFF, self._size & 0xFFFFFFFF))


class GzipReader:
    """Unpacks the members of a gzip stream, fed in pieces. ``fault`` is a sentence, or "" without a fault."""

    def __init__(self) -> None:
        self.fault = ""
        self._member = zlib.decompressobj(31)
        self._begun = False
        self._over = False
        self._interrupted = False
        self._empty = 0  # consecutive members without content

    def feed(self, data: bytes) -> Iterator[bytes]:
        """The content of the next piece of the stream, at most 256 KiB at a time. Never raises for bad data."""
        self._interrupted = True  # until the caller has consumed everything
        for start in range(0, len(data), _SLICE):
            yield from self._unpack(data[start : start + _SLICE])
        self._interrupted = False

    def _unpack(self, data: bytes) -> Iterator[bytes]:
        while data and not self._over:
            if self._member.eof:
                data = self._next_member(data)
                continue
            member = self._member.copy()
            try:
                content = self._member.decompress(data, _PIECE)
            except zlib.error as error:
                yield from _decompress_until_broken(member, data)
                self._stop(f"the gzip stream is broken ({error})")
                return
            self._begun = True
            data = self._member.unused_data or self._member.unconsumed_tail
            if content:
                self._empty = 0
                yield content

    def _next_member(self, data: bytes) -> bytes:
        """Begin the next member, after padding: RFC 1952 does not mention it, but tar and tapes write it."""
        data = data.lstrip(b"\x00")
        if not MAGIC.startswith(data[: len(MAGIC)]):
            self._stop("other data follows the gzip stream")
        elif self._empty > _MAX_EMPTY:
            self._stop(f"more than {_MAX_EMPTY:,} members of the gzip stream are empty")
        elif data:
            self._empty += 1  # until it yields content
            self._member = zlib.decompressobj(31)
            self._begun = False
        return data

    def close(self) -> Iterator[bytes]:
        """The rest of the content; then ``fault`` is final. Yields nothing if the caller left :meth:`feed` early."""
        if self._interrupted:
            return
        while not self._over and not self._member.eof:
            try:
                content = self._member.decompress(self._member.unconsumed_tail, _PIECE)
            except zlib.error as error:
                self._stop(f"the gzip stream is broken ({error})")
                return
            if not content:
                break
            yield content
        if self._begun and not self._over and not self._member.eof:
            self._stop("the gzip stream is truncated")

    def _stop(self, fault: str) -> None:
        self.fault, self._over = fault, True


def _decompress_until_broken(member: "zlib._Decompress", data: bytes) -> Iterator[bytes]:
    """The content before a defect, even if the defect is the final checksum: zlib itself returns none of it."""
    for start in range(len(data)):
        try:
            content = member.decompress(data[start : start + 1])
        except zlib.error:
            return
        if content:
            yield content
