"""Decodes a body from its chunks, within limits. Pure (sans-I/O)."""

from typing import Final

from msgspec.structs import replace

from crawler.fetch.challenge import MAX_BYTES
from crawler.fetch.encodings import Coding, decoder_for
from crawler.fetch.errors import FailureCode, FetchError
from crawler.fetch.header_values import looks_like_text, may_be_page
from crawler.fetch.limits import BodyLimits

ACCEPTED = "gzip, deflate, br, zstd"
"""The Accept-Encoding: the content codings that this module decodes."""

DRAIN_BYTES: Final = 8 * 1024
"""Bytes of an unwanted body that are received, so that its connection can be used again."""
DRAIN_SECONDS: Final = 0.2

_SLICE_BYTES = 8 * 1024  # of input between two checks of the ratio


def split_codings(values: list[str]) -> list[str]:
    """The codings of Content-Encoding fields in lower case, in the order applied, without ``identity``."""
    names = (name.strip().lower() for value in values for name in value.split(","))
    return [name for name in names if name and name != "identity"]


def limits_of_wanted(status: int, content_type: str, limits: BodyLimits) -> BodyLimits | None:
    """The limits of a body that has a use, None for a body that is not read.

    The body of a redirect has no use, nor one that is no page when ``limits`` are those of pages. The body of an error
    is read only as far as a challenge of a firewall may be (:mod:`crawler.fetch.challenge`).
    """
    if 300 <= status < 400 or (status == 200 and limits.pages_only and not may_be_page(content_type)):
        return None
    if status == 200:
        return limits
    most = MAX_BYTES + 1
    return replace(limits, wire=min(limits.wire, most), decoded=min(limits.decoded, most), refuse=2**62)


class BodyDecoder:
    """A push decoder: call ``feed`` until it returns False, then ``finish``.

    ``codings`` are the names in Content-Encoding, in the order applied (RFC 9110, section 8.4). Unknown names are
    ignored, and the result must then look like text. ``cut`` says why the body is only a prefix, or is "". ``wire``
    counts the bytes received. Memory stays within the decoded limit and a few MiB.
    """

    def __init__(self, codings: list[str], limits: BodyLimits) -> None:
        """Raises FetchError for too many codings."""
        if len(codings) > limits.codings:
            raise FetchError(FailureCode.BODY_TOO_MANY_CODINGS, ", ".join(codings[:8]))
        decoders = [decoder_for(name, limits.zstd_window) for name in reversed(codings)]
        self._layers: list[Coding] = [decoder for decoder in decoders if decoder is not None]
        self._unknown = [name for name in codings if decoder_for(name, limits.zstd_window) is None]
        self._limits = limits
        self._most = min(limits.wire, limits.decoded)
        self._passed = [0] * len(self._layers)  # bytes out of each layer
        self._taken = 0  # bytes into the first layer
        self._out = bytearray()  # a list of pieces would cost far more than their bytes, if they are small
        self.wire = 0
        self.cut = ""

    def feed(self, chunk: bytes) -> bool:
        """Decode the next bytes received; False when the body is cut. Raises FetchError (``body.*``)."""
        if self.cut:
            return False
        if not self._layers and self.wire + len(chunk) <= self._most:  # as nearly all chunks are
            self.wire += len(chunk)
            self._out += chunk
            return True
        over = self.wire + len(chunk) - self._limits.wire
        if over > 0:
            chunk = chunk[: len(chunk) - over]
        self.wire += len(chunk)
        if self._layers:
            for start in range(0, len(chunk), _SLICE_BYTES):
                piece = chunk[start : start + _SLICE_BYTES]
                self._taken += len(piece)
                self._push(piece, 0)
                if self._full():
                    return False
        elif chunk:
            self._keep(chunk)
        if over > 0 and not self._full():
            self.cut = f"cut after {self._limits.wire:,} bytes as received"
        return not self._full()

    def so_far(self) -> bytes:
        """The body decoded so far."""
        return bytes(self._out)

    @property
    def size(self) -> int:
        """Bytes decoded so far."""
        return len(self._out)

    def finish(self) -> bytes:
        """The body. Raises FetchError if a coding is incomplete, or an unknown coding does not look like text."""
        body = self.so_far()
        if self.wire and not self.cut and not all(layer.complete() for layer in self._layers):
            raise FetchError(
                FailureCode.BODY_TRUNCATED, f"only the first {self.size:,} bytes of the body could be decompressed"
            )
        if self._unknown and not looks_like_text(body):
            raise FetchError(FailureCode.BODY_UNKNOWN_CODING, ", ".join(self._unknown)[:100])
        return body

    def _push(self, data: bytes, level: int) -> None:
        if level == len(self._layers):
            self._keep(data)
            return
        for piece in self._layers[level].pieces(data):
            self._passed[level] += len(piece)
            self._weigh(self._passed[level])
            self._push(piece, level + 1)
            if self._full():
                return

    def _full(self) -> bool:
        return bool(self.cut)

    def _weigh(self, decoded: int) -> None:
        if decoded > self._limits.ratio_after and decoded > self._limits.ratio * self._taken:
            raise FetchError(
                FailureCode.BODY_BOMB, f"{self._taken:,} compressed bytes became more than {decoded:,} bytes"
            )

    def _keep(self, data: bytes) -> None:
        room = self._limits.decoded - self.size
        if len(data) > room:
            data = data[:room]
            self.cut = f"cut after {self._limits.decoded:,} bytes"
        if data:
            self._out += data
