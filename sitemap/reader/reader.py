"""Owns the reading of one document from where it is: an iterator over its items, and a list of them."""

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, Final

from sitemap.errors import NotASitemap, SourceError
from sitemap.escape import quote_text
from sitemap.finding import Finding
from sitemap.formats import Format
from sitemap.model import Child, Entry
from sitemap.reader.parser import ReadLimits, SitemapParser

_PIECE: Final = 256 * 1024


# A str is a path, never an address or content. A stream may be an iterator that can be gone through once.
Source = str | os.PathLike[str] | bytes | BinaryIO | Iterable[bytes]


_is_url: Final = re.compile("https?://", re.IGNORECASE).match


def read_pieces(source: Source) -> Iterator[bytes]:
    """The content in pieces of any size. SourceError when it cannot be had; what the source raises is its cause."""
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
                said = f"gave {type(piece).__name__} instead of bytes: open it in binary mode"
                raise SourceError(f"{source_name(source)} {said}")
            yield bytes(piece)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise SourceError(f"{source_name(source)} cannot be read: {why}") from error


def _fault(source: object) -> str:
    """Why something cannot be a source, or ""."""
    if isinstance(source, str):
        if _is_url(source):
            return f"{quote_text(source)} is a URL: this package opens no connections; pass the bytes, or an opener"
        if source.lstrip("\ufeff \t\r\n").startswith("<"):
            return f"{quote_text(source)} looks like XML: pass bytes, a str is a path"
    elif not isinstance(source, os.PathLike | Iterable) and not hasattr(source, "read"):
        return f"{type(source).__name__} is no source: pass a path, bytes, a binary file or pieces of bytes"
    return ""


def path_name(source: Source) -> str:
    """The path of a source, or "" when it has none."""
    if isinstance(source, bytes):
        return ""
    name = source if isinstance(source, str | os.PathLike) else getattr(source, "name", "")
    return os.fspath(name) if isinstance(name, str | os.PathLike) else ""


def source_name(source: Source) -> str:
    """A source as a message names it."""
    name = path_name(source)
    return quote_text(name) if name else "the document"


class SitemapReader:
    """Iterates over the items of a document, in flat memory. It can be iterated once.

    A source is a path (also as a ``str``), bytes, a binary file, or an iterable of bytes. ``file`` is the path or URL
    that findings carry, and whose ending says whether the document is packed; it is that of the source if left out.
    Raises SourceError when the source cannot be read, and NotASitemap at the end of a document that is none;
    ``findings``, ``format`` and ``complete`` are those of :class:`sitemap.SitemapParser`, and final then.
    """

    def __init__(
        self, source: Source, base_url: str = "", read_limits: ReadLimits | None = None, file: str = ""
    ) -> None:
        self._source = source
        self._file = file or path_name(source)
        self._parser = SitemapParser(base_url, read_limits, self._file)

    @property
    def format(self) -> Format | None:
        """What kind of document it is, or None."""
        return self._parser.format

    @property
    def complete(self) -> bool:
        """Whether it was read to its end without loss."""
        return self._parser.complete

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What is not as it should be."""
        return self._parser.findings

    def __iter__(self) -> Iterator[Entry | Child]:
        for piece in read_pieces(self._source):
            yield from self._parser.feed(piece)
            if self._parser.over:
                break
        yield from self._parser.close()
        if self._parser.refusal:
            name = quote_text(self._file) if self._file else source_name(self._source)
            raise NotASitemap(f"{name} is no sitemap: {self._parser.refusal}")


def read(source: Source, base_url: str = "") -> list[Entry | Child]:
    """All items of a document. For large ones, and for the findings, iterate over a :class:`SitemapReader`."""
    return list(SitemapReader(source, base_url))
