"""The files of a set: written to the stage, compressed if named .gz, read back, verified, and published as a whole."""

import hashlib
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from gzip import GzipFile
from types import TracebackType
from typing import BinaryIO, Final, Self, cast
from xml.parsers import expat

from sitemap import limits
from sitemap.errors import DestinationError, LimitExceeded
from sitemap.gzip import GzipReader, GzipWriter
from sitemap.writer.destination import Stage
from sitemap.writer.extensions import url_element
from sitemap.writer.names import url_beside

_PIECE: Final = 1024 * 1024  # bytes
_START: Final = b"<sitemap>"
_END: Final = b"</loc>"


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
        self._packer = GzipWriter(self._file) if name.endswith(".gz") else None
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


class FileKind(Enum):
    """What the content of a file must be to be published."""

    XML = "well-formed XML"
    LINES = "as many lines as entries"
    ANY = "anything"


def verify(file: BinaryIO, facts: FileFacts, kind: FileKind = FileKind.XML) -> None:
    """Raise DestinationError unless the file has the bytes of ``facts`` and is of its ``kind``.

    The digest is of the bytes passed to the file system, so it shows a lost or changed byte; a parser or a line count
    is an additional check. A file whose name ends in ``.gz`` is uncompressed first.
    """
    digest, size, lines, last = hashlib.sha256(), 0, 0, b"\n"
    parser = expat.ParserCreate("utf-8") if kind is FileKind.XML else None
    try:
        for piece in _content(file, compressed=facts.name.endswith(".gz")):
            digest.update(piece)
            size += len(piece)
            if parser:
                parser.Parse(piece, False)
            elif kind is FileKind.LINES:
                lines, last = lines + piece.count(b"\n"), piece[-1:]
        if parser:
            parser.Parse(b"", True)
    except (OSError, ValueError, zlib.error, expat.ExpatError) as error:
        raise _unreadable(facts, error) from error
    if kind is FileKind.LINES and (lines != facts.entries or last != b"\n"):
        raise _unreadable(facts, f"the file has {lines:,} lines, but {facts.entries:,} entries were written")
    if (size, digest.hexdigest()) != (facts.size, facts.sha256):
        raise DestinationError(
            f"the new {facts.name} ({size:,} bytes) differs from the data that was written, so nothing was "
            "published. Check the disk"
        )


def _unreadable(facts: FileFacts, reason: object) -> DestinationError:
    return DestinationError(f"the new {facts.name} cannot be read back, so nothing was published: {reason}")


def _content(file: BinaryIO, *, compressed: bool) -> Iterator[bytes]:
    unpacker = GzipReader()
    while piece := file.read(_PIECE):
        if compressed:
            yield from unpacker.feed(piece)
        else:
            yield piece
    if compressed:
        yield from unpacker.close()
        if unpacker.fault:
            raise zlib.error(unpacker.fault)


def write_interim_index(stage: Stage, index: FileFacts, name: str, urls: Mapping[str, str]) -> FileFacts:
    """Stage our index again as ``name``, with new URLs for the children in ``urls``.

    Flat memory: an index has a line for each child. DestinationError if a child is not listed, LimitExceeded if the new
    URLs make the index too long.
    """
    new_locs = {_loc(url): _loc(new) for url, new in urls.items()}
    with stage.read(index.name) as file, SitemapFile(stage, name) as target:
        compressed = index.name.endswith(".gz")
        for line in cast("BinaryIO", GzipFile(fileobj=file)) if compressed else file:
            listed = line.partition(_END)[0] + _END if line.startswith(_START) else b""
            new = new_locs.pop(listed, b"")
            target.write(line.replace(listed, new, 1) if new else line)
    facts = target.facts(index.url, index.entries, index.lastmod)
    if facts.size > limits.MAX_BYTES:
        raise LimitExceeded(
            f"while the files have temporary names, the index {index.url} would have {facts.size:,} bytes, which is "
            "too many. Use several indexes"
        )
    if new_locs:
        raise DestinationError(f"the new {index.name} does not list all of its files, so nothing was published")
    return facts


def _loc(url: str) -> bytes:
    return _START + url_element("loc", url).encode()


@dataclass(frozen=True, slots=True)
class Published:
    """A published set. ``files`` has the children in order and, last, the file at ``url`` that lists them.

    ``urls`` is the number of entries, or for an index written alone, of the listed sitemaps.
    """

    url: str  # the URL to announce
    urls: int
    index: bool
    files: tuple[FileFacts, ...]
    beside: tuple[FileFacts, ...] = ()  # stylesheets


def commit_set(stage: Stage, files: Sequence[tuple[FileFacts, FileKind]], stale: re.Pattern[str]) -> None:
    """Publish the staged files, of which the last lists the others. Files without entries are not listed.

    DestinationError, OSError; LimitExceeded if an index has no room for interim names.
    """
    for facts, kind in files:
        _check(stage, facts, kind)
    lead, kind = files[-1]
    listed = {facts.name: facts.url for facts, _ in files[:-1] if facts.entries}

    def interim(name: str, others: Mapping[str, str]) -> None:
        urls = {listed[child]: url_beside(listed[child], other) for child, other in others.items()}
        _check(stage, write_interim_index(stage, lead, name, urls), kind)

    unlisted = [facts.name for facts, _ in files[:-1] if not facts.entries]
    stage.commit([*listed, lead.name], stale, unlisted, interim)


def _check(stage: Stage, facts: FileFacts, kind: FileKind) -> None:
    with stage.read(facts.name) as file:
        verify(file, facts, kind)
