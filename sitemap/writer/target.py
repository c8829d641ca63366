"""Writes one file of a set, compressed if its name ends in .gz; records its facts, and verifies it."""

import hashlib
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from types import TracebackType
from typing import BinaryIO, Protocol, Self
from xml.parsers import expat

from sitemap import gzip
from sitemap.errors import DestinationError
from sitemap.writer.destination import Stage


@dataclass(frozen=True, slots=True)
class FileFacts:
    """One published file. ``size`` and ``sha256`` are of the uncompressed bytes."""

    name: str
    url: str
    entries: int
    size: int
    stored: int  # bytes on disk
    lastmod: str  # the newest of its entries, or ""
    sha256: str
    group: str = ""  # of its entries, if there are groups
    shard: int = 0  # the number of the file in its group; 0 for a file that lists no pages


class SitemapFile:
    """A file of a set, opened for writing; compressed if its name ends in ``.gz``."""

    def __init__(self, stage: Stage, name: str) -> None:
        self.name = name
        self._file = stage.create(name)
        self._packer = gzip.GzipWriter(self._file) if name.endswith(".gz") else None
        self._digest = hashlib.sha256()
        self._size = 0
        self._stored = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if self._packer and kind is None:
                self._packer.close()
            self._stored = self._file.tell()
        finally:
            self._file.close()

    def write(self, data: bytes) -> None:
        """Write data."""
        self._digest.update(data)
        self._size += len(data)
        (self._packer or self._file).write(data)

    def facts(self, url: str, entries: int, lastmod: str, group: str = "", shard: int = 0) -> FileFacts:
        """The facts of the file, once it is closed."""
        return FileFacts(
            self.name, url, entries, self._size, self._stored, lastmod, self._digest.hexdigest(), group, shard
        )


_PIECE = 1024 * 1024


class FileKind(Enum):
    """What the content of a file must be to be published."""

    XML = "well-formed XML"
    LINES = "as many lines as entries"
    ANY = "anything"


class _ContentCheck(Protocol):
    def feed(self, piece: bytes) -> None: ...
    def check(self, facts: FileFacts) -> None: ...


class _XmlCheck:
    """An independent XML parser."""

    def __init__(self) -> None:
        self._parser = expat.ParserCreate("utf-8")

    def feed(self, piece: bytes) -> None:
        self._parser.Parse(piece, False)

    def check(self, facts: FileFacts) -> None:
        self._parser.Parse(b"", True)


class _LineCheck:
    """Counts lines, and checks that the last one has an end."""

    def __init__(self) -> None:
        self._lines = 0
        self._last = b"\n"

    def feed(self, piece: bytes) -> None:
        self._lines += piece.count(b"\n")
        self._last = piece[-1:]

    def check(self, facts: FileFacts) -> None:
        if self._lines != facts.entries or self._last != b"\n":
            raise ValueError(f"it has {self._lines:,} lines for {facts.entries:,} entries")


class _NoCheck:
    def feed(self, piece: bytes) -> None:
        pass

    def check(self, facts: FileFacts) -> None:
        pass


_CONTENT_CHECKS: dict[FileKind, type[_ContentCheck]] = {
    FileKind.XML: _XmlCheck,
    FileKind.LINES: _LineCheck,
    FileKind.ANY: _NoCheck,
}


def verify(file: BinaryIO, facts: FileFacts, kind: FileKind = FileKind.XML) -> None:
    """Raise DestinationError unless the file has the bytes of ``facts`` and is of its ``kind``.

    The digest is of the bytes passed to the file system, so it shows a lost or changed byte; a parser or a line count
    is an additional check. A file whose name ends in ``.gz`` is uncompressed first.
    """
    digest, size, check = hashlib.sha256(), 0, _CONTENT_CHECKS[kind]()
    try:
        for piece in _content(file, compressed=facts.name.endswith(".gz")):
            digest.update(piece)
            size += len(piece)
            check.feed(piece)
        check.check(facts)
    except (OSError, ValueError, zlib.error, expat.ExpatError) as error:
        raise DestinationError(
            f"the staged {facts.name} cannot be read back: {error}; nothing was published"
        ) from error
    if (size, digest.hexdigest()) != (facts.size, facts.sha256):
        raise DestinationError(
            f"the staged {facts.name} reads back as {size:,} bytes that differ from the written ones; nothing was "
            f"published: check the disk"
        )


def _content(file: BinaryIO, *, compressed: bool) -> Iterator[bytes]:
    unpacker = gzip.GzipReader()
    while piece := file.read(_PIECE):
        if compressed:
            yield from unpacker.feed(piece)
        else:
            yield piece
    if compressed:
        yield from unpacker.close()
        if unpacker.fault:
            raise zlib.error(unpacker.fault)
