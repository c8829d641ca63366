"""Reads one document from a path, bytes, a file or a stream."""

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, Final

from sitemap.errors import NotASitemap, SourceError
from sitemap.escape import quote_text
from sitemap.model import Child, Entry
from sitemap.reader.parser import ReadLimits, SitemapParser

_PIECE: Final = 256 * 1024


# A str is a path, never a URL or content. A stream may be an iterator that can be consumed once.
Source = str | os.PathLike[str] | bytes | BinaryIO | Iterable[bytes]


_is_url: Final = re.compile("https?://", re.IGNORECASE).match


def read_pieces(source: Source) -> Iterator[bytes]:
    """The content in pieces of any size. SourceError if the source cannot be read, caused by the error it raises."""
    if isinstance(source, bytes | bytearray | memoryview):
        yield bytes(source)
        return
    if fault := _fault(source):
        raise SourceError(fault)
    try:
        if isinstance(source, str | os.PathLike):
            with Path(source).open("rb") as file:
                yield from iter(lambda: file.read(_PIECE), b"")
            return
        read = getattr(source, "read", None)
        for piece in source if read is None else iter(lambda: read(_PIECE), b""):
            if not isinstance(piece, bytes | bytearray | memoryview):
                fault = f"returned {type(piece).__name__} instead of bytes: open it in binary mode"
                raise SourceError(f"{source_name(source)} {fault}")
            yield bytes(piece)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise SourceError(f"{source_name(source)} cannot be read: {reason}") from error


def parse_source(parser: SitemapParser, source: Source) -> Iterator[list[Entry | Child]]:
    """The items of a source, as the parser completes them. Raises the same error as :func:`read_pieces`."""
    for piece in read_pieces(source):
        if items := parser.feed(piece):
            yield items
        if parser.over:
            break
    if items := parser.close():
        yield items


def _fault(source: object) -> str:
    """Why a value cannot be a source, or ""."""
    if isinstance(source, str):
        if _is_url(source):
            return f"{quote_text(source)} is a URL: this package opens no connections; pass the bytes, or an opener"
        if source.lstrip("\ufeff \t\r\n").startswith("<"):
            return f"{quote_text(source)} looks like XML: pass bytes, a str is a path"
    elif not isinstance(source, os.PathLike | Iterable) and not hasattr(source, "read"):
        return f"{type(source).__name__} is not a source: pass a path, bytes, a binary file or pieces of bytes"
    return ""


def path_name(source: Source) -> str:
    """The path of a source, or ""."""
    if isinstance(source, bytes):
        return ""
    name = source if isinstance(source, str | os.PathLike) else getattr(source, "name", "")
    return os.fspath(name) if isinstance(name, str | os.PathLike) else ""


def source_name(source: Source) -> str:
    """The name of a source in messages."""
    name = path_name(source)
    return quote_text(name) if name else "the document"


class SitemapReader(SitemapParser):
    """Iterates over the items of a document once, in flat memory.

    A source is a path (also as a ``str``), bytes, a binary file, or an iterable of bytes. ``file`` is the path or URL
    in findings, and its suffix should say whether the document is compressed; the default is the path of the source.
    Raises SourceError if the source cannot be read, and NotASitemap at the end of a document that is not a sitemap.
    ``findings``, ``format`` and ``complete`` are final after the iteration.
    """

    def __init__(
        self, source: Source, base_url: str = "", read_limits: ReadLimits | None = None, file: str = ""
    ) -> None:
        self._source = source
        self._file = file or path_name(source)
        super().__init__(base_url, read_limits, self._file)

    def __iter__(self) -> Iterator[Entry | Child]:
        for items in parse_source(self, self._source):
            yield from items
        if self.refusal:
            name = quote_text(self._file) if self._file else source_name(self._source)
            raise NotASitemap(f"{name} is not a sitemap: {self.refusal}")


def read(source: Source, base_url: str = "") -> list[Entry | Child]:
    """All items of a document. Use :class:`SitemapReader` for large documents and for findings."""
    return list(SitemapReader(source, base_url))
