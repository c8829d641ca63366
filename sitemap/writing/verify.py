"""Owns the last look at a staged file before it is published: reads it back and compares it with what was meant."""

import hashlib
import zlib
from collections.abc import Iterator
from enum import Enum
from typing import BinaryIO, Protocol
from xml.parsers import expat

from sitemap import gzip
from sitemap.errors import DestinationError
from sitemap.writing.target import FileFacts

_PIECE = 1024 * 1024


class Kind(Enum):
    """What a file must be to be published, besides what was written."""

    XML = "well-formed XML"
    LINES = "as many lines as entries"
    ANY = "anything"


class _Witness(Protocol):
    def see(self, piece: bytes) -> None: ...
    def judge(self, facts: FileFacts) -> None: ...


class _Expat:
    """A parser that never saw how the bytes were made."""

    def __init__(self) -> None:
        self._parser = expat.ParserCreate("utf-8")

    def see(self, piece: bytes) -> None:
        self._parser.Parse(piece, False)

    def judge(self, facts: FileFacts) -> None:
        self._parser.Parse(b"", True)


class _Counter:
    """Counts lines, and sees to it that the last has an end."""

    def __init__(self) -> None:
        self._lines = 0
        self._last = b"\n"

    def see(self, piece: bytes) -> None:
        self._lines += piece.count(b"\n")
        self._last = piece[-1:]

    def judge(self, facts: FileFacts) -> None:
        if self._lines != facts.entries or self._last != b"\n":
            raise ValueError(f"it has {self._lines:,} lines for {facts.entries:,} entries")


class _Nobody:
    def see(self, piece: bytes) -> None:
        pass

    def judge(self, facts: FileFacts) -> None:
        pass


_WITNESSES: dict[Kind, type[_Witness]] = {Kind.XML: _Expat, Kind.LINES: _Counter, Kind.ANY: _Nobody}


def verify(file: BinaryIO, facts: FileFacts, kind: Kind = Kind.XML) -> None:
    """Raise DestinationError unless the file holds the bytes that ``facts`` tell of, and is of its ``kind``.

    The digest is of what was handed to the file system, so a byte that was lost or changed on the way is found; a
    parser or a counter is one more witness. A name that ends in ``.gz`` is that of a packed file.
    """
    digest, size, witness = hashlib.sha256(), 0, _WITNESSES[kind]()
    try:
        for piece in _content(file, packed=facts.name.endswith(".gz")):
            digest.update(piece)
            size += len(piece)
            witness.see(piece)
        witness.judge(facts)
    except (OSError, ValueError, zlib.error, expat.ExpatError) as error:
        raise DestinationError(
            f"the staged {facts.name} cannot be read back: {error}; nothing was published"
        ) from error
    if (size, digest.hexdigest()) != (facts.size, facts.sha256):
        raise DestinationError(
            f"the staged {facts.name} reads back as {size:,} bytes that are not those written; nothing was "
            "published: check the disk"
        )


def _content(file: BinaryIO, *, packed: bool) -> Iterator[bytes]:
    unpacker = gzip.Unpacker()
    while piece := file.read(_PIECE):
        if packed:
            yield from unpacker.feed(piece)
        else:
            yield piece
    if packed:
        yield from unpacker.close()
        if unpacker.fault:
            raise zlib.error(unpacker.fault)
