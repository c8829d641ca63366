"""Owns reading from where documents are: a path, bytes, or a binary file. Knows nothing of their syntax."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final

from sitemap.errors import NotASitemap, SourceError
from sitemap.finding import Finding
from sitemap.format import Format
from sitemap.model import Child, Entry
from sitemap.reading.parse import ReadLimits, SitemapParser

_PIECE: Final = 256 * 1024

Source = str | os.PathLike[str] | bytes | BinaryIO


class SitemapReader:
    """Iterates over the items of a document, in flat memory. It can be iterated once.

    A ``str`` is a path. Raises SourceError when the source cannot be read, and NotASitemap at the end of a document
    that is none; ``findings``, ``format`` and ``complete`` are those of :class:`sitemap.SitemapParser`, and final then.
    """

    def __init__(self, source: Source, base_url: str = "", read_limits: ReadLimits | None = None) -> None:
        self._source = source
        self._parser = SitemapParser(base_url, read_limits)

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
        for piece in _pieces(self._source):
            yield from self._parser.feed(piece)
        yield from self._parser.close()
        if self._parser.format is None:
            sentence = next((finding.sentence for finding in self._parser.findings), "no entry was found")
            raise NotASitemap(f"{_name(self._source)} is no sitemap: {sentence}")


def read(source: Source, base_url: str = "") -> list[Entry | Child]:
    """All items of a document. For large ones, and for the findings, iterate over a :class:`SitemapReader`."""
    return list(SitemapReader(source, base_url))


def _pieces(source: Source) -> Iterator[bytes]:
    if isinstance(source, bytes):
        yield source
        return
    try:
        if isinstance(source, str | os.PathLike):
            with Path(source).open("rb") as file:
                while piece := file.read(_PIECE):
                    yield piece
        else:
            while piece := source.read(_PIECE):
                yield piece
    except (OSError, ValueError) as error:
        raise SourceError(f"{_name(source)} cannot be read: {error}") from error


def _name(source: Source) -> str:
    if isinstance(source, bytes):
        return "the document"
    return (
        repr(os.fspath(source))
        if isinstance(source, str | os.PathLike)
        else repr(getattr(source, "name", "the file"))
    )
