"""Owns the reading of one document from where it is: an iterator over its items, and a list of them."""

from collections.abc import Iterator

from sitemap.errors import NotASitemap
from sitemap.escape import shown
from sitemap.finding import Finding
from sitemap.formats import Format
from sitemap.model import Child, Entry
from sitemap.reading.parse import ReadLimits, SitemapParser
from sitemap.reading.source import Source, described, name_of, pieces


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
        self._file = file or name_of(source)
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
        for piece in pieces(self._source):
            yield from self._parser.feed(piece)
            if self._parser.over:
                break
        yield from self._parser.close()
        if self._parser.refusal:
            name = shown(self._file) if self._file else described(self._source)
            raise NotASitemap(f"{name} is no sitemap: {self._parser.refusal}")


def read(source: Source, base_url: str = "") -> list[Entry | Child]:
    """All items of a document. For large ones, and for the findings, iterate over a :class:`SitemapReader`."""
    return list(SitemapReader(source, base_url))
