"""The content codings of HTTP, each as a decompressor with bounded steps. Pure."""

import sys
import zlib
from collections.abc import Callable, Iterator
from typing import Protocol

import brotli
from isal import igzip_lib, isal_zlib

from crawler.fetch.errors import FailureCode, FetchError

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

PIECE_BYTES = 256 * 1024
"""Bytes of the largest piece of output."""

_FREE_PARTS = 1_000
_PART_BYTES = 512

_DECODE_ERRORS: tuple[type[Exception], ...] = (igzip_lib.IsalError, zlib.error)  # type: ignore[assignment]
_GZIP = b"\x1f\x8b"  # RFC 1952, section 2.3.1


class Coding(Protocol):
    """A decoder of one content coding."""

    def pieces(self, data: bytes) -> Iterator[bytes]:
        """Decode ``data`` in pieces. Raises FetchError when it is invalid or needs too much memory."""

    def complete(self) -> bool:
        """Whether the stream has ended, with the right length and checksum."""


class _Parts:
    """Counts the members or frames of a stream: many small ones cost time, and empty ones give nothing for it."""

    def __init__(self) -> None:
        self._number = self._size = 0

    def add(self, size: int) -> None:
        """Count decoded bytes."""
        self._size += size

    def begin(self) -> None:
        """Count another part. Raises FetchError for more than 1,000 of less than 512 bytes on average."""
        self._number += 1
        if self._number > _FREE_PARTS and self._size < self._number * _PART_BYTES:
            raise FetchError(
                FailureCode.BODY_BOMB,
                f"the body consists of {self._number:,} compressed parts with only {self._size:,} bytes in total",
            )


class Gzip:
    """RFC 1952: all members. Bytes after the last one are ignored, as browsers and gzip(1) do."""

    def __init__(self) -> None:
        self._stream = isal_zlib.decompressobj(wbits=31)
        self._parts = _Parts()
        self._ended = False
        self._held = b""  # the first byte of what may be another member

    def pieces(self, data: bytes) -> Iterator[bytes]:
        """Decode; see :class:`Coding`."""
        data = self._held + data
        self._held = b""
        while data and not self._ended:
            if self._stream.eof and not self._next_member(data):
                return
            for piece in _inflate(self._stream, data):
                self._parts.add(len(piece))
                yield piece
            data = self._stream.unused_data

    def _next_member(self, data: bytes) -> bool:
        if data == _GZIP[:1]:
            self._held = data
            return False
        if not data.startswith(_GZIP):
            self._ended = True
            return False
        self._parts.begin()
        self._stream = isal_zlib.decompressobj(wbits=31)
        return True

    def complete(self) -> bool:
        """Whether the last member is whole."""
        return bool(self._stream.eof)


class Deflate:
    """RFC 9110, section 8.4.1.2: the zlib format; and raw deflate, which some servers send."""

    def __init__(self) -> None:
        self._stream: isal_zlib.Decompress | None = None
        self._held = b""

    def pieces(self, data: bytes) -> Iterator[bytes]:
        """Decode; see :class:`Coding`."""
        if self._stream is None:
            data = self._held + data
            if len(data) < 2:
                self._held = data
                return
            # RFC 1950, section 2.2: method 8 in the low bits, and the first two bytes are a multiple of 31
            is_zlib = data[0] & 0x0F == 8 and int.from_bytes(data[:2]) % 31 == 0
            self._stream = isal_zlib.decompressobj(wbits=15 if is_zlib else -15)
        if not self._stream.eof:
            yield from _inflate(self._stream, data)

    def complete(self) -> bool:
        """Whether the last block was read, and the checksum if there is one."""
        return self._stream is not None and bool(self._stream.eof)


class Brotli:
    """RFC 7932. The window is at most 16 MiB by format; output is bounded call by call."""

    def __init__(self) -> None:
        self._stream = brotli.Decompressor()

    def pieces(self, data: bytes) -> Iterator[bytes]:
        """Decode; see :class:`Coding`."""
        while True:  # a decompressor may have taken all input and still hold output
            try:
                out = self._stream.process(data, output_buffer_limit=PIECE_BYTES)
            except brotli.error as error:  # bytes after the end are one
                raise FetchError(FailureCode.BODY_DECODE_ERROR, "brotli") from error
            data = b""
            if not out:
                return
            yield out

    def complete(self) -> bool:
        """Whether the last meta-block was read."""
        return bool(self._stream.is_finished())


class Zstd:
    """RFC 8878: all frames. A frame with a window over the limit is refused as a bomb, and so are many empty frames."""

    def __init__(self, window: int) -> None:
        self._window = window
        self._stream = zstd_decompressor(window)
        self._parts = _Parts()

    def pieces(self, data: bytes) -> Iterator[bytes]:
        """Decode; see :class:`Coding`."""
        while data or not (self._stream.needs_input or self._stream.eof):
            if self._stream.eof:
                self._parts.begin()
                self._stream = zstd_decompressor(self._window)
            try:
                out = self._stream.decompress(data, PIECE_BYTES)
            except ZstdError as error:
                if "memory" in str(error):
                    raise FetchError(FailureCode.BODY_BOMB, "zstd window too large") from error
                raise FetchError(FailureCode.BODY_DECODE_ERROR, "zstd") from error
            data = self._stream.unused_data
            if out:
                self._parts.add(len(out))
                yield out

    def complete(self) -> bool:
        """Whether the last frame is whole."""
        return self._stream.eof


ZstdError = zstd.ZstdError


def zstd_decompressor(window: int) -> zstd.ZstdDecompressor:
    """A decompressor of one frame, whose window may have at most ``window`` bytes, a power of two."""
    return zstd.ZstdDecompressor(options={zstd.DecompressionParameter.window_log_max: window.bit_length() - 1})


def _inflate(stream: isal_zlib.Decompress, data: bytes) -> Iterator[bytes]:
    while True:
        try:
            out = stream.decompress(data, PIECE_BYTES)
        except _DECODE_ERRORS as error:
            raise FetchError(FailureCode.BODY_DECODE_ERROR, str(error)) from error
        if out:
            yield out
        data = stream.unconsumed_tail
        if stream.eof or (not data and len(out) < PIECE_BYTES):
            return


def decoder_for(name: str, zstd_window: int) -> Coding | None:
    """The decoder for a coding by its lower-case name, or None. ``zstd_window`` is in bytes."""
    coding: Callable[[], Coding] | None = _BY_NAME.get(name)
    if coding is not None:
        return coding()
    return Zstd(zstd_window) if name == "zstd" else None


_BY_NAME: dict[str, Callable[[], Coding]] = {
    "gzip": Gzip,
    "x-gzip": Gzip,  # RFC 9110, section 8.4.1.3: the same
    "deflate": Deflate,
    "br": Brotli,
}
