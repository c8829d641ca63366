"""Owns what is done with a tree of sitemaps: a visitor is led through, its documents are told, its entries are read."""

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
    """Finds the children of an index that is a local file in its own folder, or below, and never elsewhere.

    With the ``url`` of the index a child is where its URL is relative to that; any other is known by its file name. The
    opener raises SourceError for what is not there.
    """
    folder = Path(path).parent
    prefix = location.directory(url) if url else ""

    def find(child: str) -> Path:
        try:
            where = "".join(location.origin_and_path(child))
            relative = (
                where[len(prefix) :] if prefix and where.startswith(prefix) else where.rpartition("/")[2]
            )
            found = Path(os.path.realpath(folder / unquote(relative)))
            if found.is_relative_to(os.path.realpath(folder)) and found.is_file():
                return folder / unquote(relative)
        except (OSError, ValueError) as error:
            raise SourceError(f"no file beside its index can have that name: {error}") from error
        raise SourceError(
            f"there is no file {quote_text(unquote(relative))} in the folder {quote_text(str(folder))}"
        )

    return find


class _NullVisitor:
    def begin(self, document: Document) -> None:
        """Not interested."""

    def items(self, document: Document, items: list[Entry | Child], line_of: LineOf) -> None:
        """Not interested."""

    def end(self, document: Document) -> None:
        """Not interested."""


def walk(
    source: Source,
    visitor: Visitor,
    opener: Opener | None = None,
    url: str = "",
    limits: TreeLimits | None = None,
) -> Document:
    """Read a document and all it leads to, in flat memory, and answer the first one.

    ``url`` is its public address, if known: what an index may list depends on it. ``opener`` finds the children;
    without one they are looked for beside a source that is a path (:func:`sitemap.beside`), and not at all for any
    other. A child that cannot be read, or is no sitemap, is a finding of its index. SourceError when the first source
    cannot be read.
    """
    way = TreeWalk(visitor, opener or _default_opener(source, url), limits or TreeLimits())
    document = way.begin(source, url, None)
    for _ in way.walk(document, source):
        pass
    return document


def tree(
    source: Source, opener: Opener | None = None, url: str = "", limits: TreeLimits | None = None
) -> Document:
    """The documents of a tree with their counts and findings, as :func:`walk` finds them; no entry is kept."""
    return walk(source, _NullVisitor(), opener, url, limits)


def iter_entries(
    source: Source,
    opener: Opener | None = None,
    url: str = "",
    limits: TreeLimits | None = None,
    unread: Callable[[Finding], object] | None = None,
) -> Iterator[Entry]:
    """All entries of a tree one after the other, in flat memory. Opens what :func:`walk` opens.

    What is not read is raised when its turn comes, after all that was read before: SourceError for a document that
    cannot be opened, is lost in part, or is beyond ``limits``, NotASitemap for one that is none. With ``unread`` that
    is called instead, with a finding for each, and reading goes on; what concerns the first document is raised all the
    same when nothing of it can be read. A ``max_depth`` of 0 asks for the first document alone.
    """
    way = TreeWalk(_NullVisitor(), opener or _default_opener(source, url), limits or TreeLimits())
    document = way.begin(source, url, None)
    for items in way.walk(document, source):
        for item in items:
            if isinstance(item, Entry):
                yield item
        if way.lost:
            (kind, finding), way.lost = way.lost, None
            if unread is None:
                raise kind(finding.sentence)
            unread(finding)
    if document.refusal:
        raise NotASitemap(f"{source_name(document.file or source)} is no sitemap: {document.refusal}")


def _default_opener(source: Source, url: str) -> Opener | None:
    """What finds the children of a source when nothing else is said: for a path its folder."""
    return beside(Path(source), url) if isinstance(source, str | os.PathLike) else None
