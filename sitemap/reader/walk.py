"""Functions for a tree of sitemaps: visit it, return its documents, iterate over its entries."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import unquote

from sitemap import location
from sitemap.errors import NotASitemap, SourceError
from sitemap.escape import quote_text
from sitemap.finding import Finding
from sitemap.model import Child, Entry
from sitemap.reader.reader import Source, source_name
from sitemap.reader.tree import Document, LineOf, Opener, TreeLimits, TreeWalk, Visitor


def beside(path: str | Path, url: str = "") -> Callable[[str], Path]:
    """An opener that finds the children of a local index in the folder of the index or below.

    If ``url``, the URL of the index, is given, a child below it has the same relative path in the folder; any other
    child is found by its file name. The opener raises SourceError if the file does not exist.
    """
    folder = Path(path).parent
    prefix = location.directory(url) if url else ""

    def find(child: str) -> Path:
        try:
            address = "".join(location.origin_and_path(child))
            is_below = prefix and address.startswith(prefix)
            relative = address[len(prefix) :] if is_below else address.rpartition("/")[2]
            file = Path(os.path.realpath(folder / unquote(relative)))
            if file.is_relative_to(os.path.realpath(folder)) and file.is_file():
                return folder / unquote(relative)
        except (OSError, ValueError) as error:
            raise SourceError(f"a file with this name cannot exist beside the index: {error}") from error
        raise SourceError(f"{quote_text(unquote(relative))} does not exist in the folder {quote_text(str(folder))}")

    return find


class _NullVisitor:
    def begin(self, document: Document) -> None:
        """Ignore it."""

    def items(self, document: Document, items: list[Entry | Child], line_of: LineOf) -> None:
        """Ignore it."""

    def end(self, document: Document) -> None:
        """Ignore it."""


def walk(
    source: Source, visitor: Visitor, opener: Opener | None = None, url: str = "", limits: TreeLimits | None = None
) -> Document:
    """Read a document and all documents below it, in flat memory, and return the first document.

    ``url`` is its public URL, if known: it decides what an index may list. ``opener`` finds the children; without one,
    those of a path are found beside it (:func:`sitemap.beside`), and those of another source are not read. A child that
    cannot be read or is not a sitemap is a finding of its index. SourceError if the first source cannot be read.
    """
    walker = TreeWalk(visitor, opener or _default_opener(source, url), limits or TreeLimits())
    document = walker.begin(source, url, None)
    for _ in walker.walk(document, source):
        pass
    return document


def tree(source: Source, opener: Opener | None = None, url: str = "", limits: TreeLimits | None = None) -> Document:
    """The documents of a tree with their counts and findings, as from :func:`walk`, without the entries."""
    return walk(source, _NullVisitor(), opener, url, limits)


def iter_entries(
    source: Source,
    opener: Opener | None = None,
    url: str = "",
    limits: TreeLimits | None = None,
    unread: Callable[[Finding], object] | None = None,
) -> Iterator[Entry]:
    """All entries of a tree, in flat memory. Opens the same documents as :func:`walk`.

    Raises an error when it reaches a document that is not read: SourceError if it cannot be opened, a part of it is
    lost, or it is beyond ``limits``; NotASitemap if it is not a sitemap. ``unread``, if given, is called with a finding
    instead, and reading continues; an error still ends the reading if the first document cannot be read at all. With a
    ``max_depth`` of 0 only the first document is read.
    """
    walker = TreeWalk(_NullVisitor(), opener or _default_opener(source, url), limits or TreeLimits())
    document = walker.begin(source, url, None)
    for items in walker.walk(document, source):
        for item in items:
            if isinstance(item, Entry):
                yield item
        if walker.lost:
            (kind, finding), walker.lost = walker.lost, None
            if unread is None:
                raise kind(finding.sentence)
            unread(finding)
    if document.refusal:
        raise NotASitemap(f"{source_name(document.file or source)} is not a sitemap: {document.refusal}")


def _default_opener(source: Source, url: str) -> Opener | None:
    """The default opener of a source: for a path its folder, else None."""
    return beside(Path(source), url) if isinstance(source, str | os.PathLike) else None
