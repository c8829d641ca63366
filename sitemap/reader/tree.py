"""Walks a tree of sitemaps: an index and the sitemaps that it lists, without cycles; and iterates over its entries."""

import contextlib
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Protocol
from urllib.parse import unquote

from sitemap import limits as protocol
from sitemap import location
from sitemap.errors import InvalidLocation, NotASitemap, SitemapError, SourceError
from sitemap.escape import quote_text
from sitemap.model import Child, Entry, Format
from sitemap.reader.parser import ReadLimits, SitemapParser, Source, parse_source, path_name, source_name
from sitemap.rules import Finding, FindingCollector, Severity

# From the URL of a child to its bytes or their source. A SourceError, OSError or ValueError that it raises (errors of
# urllib and requests are OSErrors) becomes a finding: the child cannot be read.
Opener = Callable[[str], Source]
LineOf = Callable[[int], int]  # the line of an item by its number in the batch

_MAX_DEPTH: Final = 3  # nested indexes: the protocol allows none, and no honest site has more


@dataclass(frozen=True, slots=True)
class TreeLimits:
    """Where a walk stops; :attr:`Document.cut` of an index says which limit was reached."""

    max_depth: int = _MAX_DEPTH  # levels below the first document; the protocol allows 1, and 0 reads no children
    max_files: int = 100_000  # documents of the whole tree
    read: ReadLimits = field(default_factory=ReadLimits)  # of each document
    max_children: int = protocol.MAX_CHILDREN  # sitemaps read of one index


class Document(SitemapParser):
    """One document of a tree: its parser and its place. Its properties are final when it has ended.

    ``file`` is its path or URL in messages, ``url`` its public URL or "", ``parent`` the index that lists it, ``depth``
    0 for the first document; ``children`` are the documents below it that could be opened. ``cut`` is also a sentence
    if a limit left out some of the children.
    """

    def __init__(self, file: str, url: str, parent: "Document | None", read_limits: ReadLimits) -> None:
        super().__init__(url, read_limits, file)
        self.file = file
        self.url = url
        self.parent = parent
        self.depth: int = parent.depth + 1 if parent else 0
        self.children: list[Document] = []
        self.max_findings = read_limits.max_findings  # of one rule
        self.of_index = FindingCollector(file, self.max_findings)  # findings of an index about its children

    def __repr__(self) -> str:
        return f"<Document {self.file or self.url!r}: {self.format}, {self.entries:,} entries>"

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The defects of the document, and of an index those of its list."""
        return (*super().findings, *self.of_index.all())


class Visitor(Protocol):
    """Receives the documents of a tree. An index ends after the documents below it."""

    def begin(self, document: Document) -> None:
        """A document is open; nothing of it is read yet."""

    def items(self, document: Document, items: list[Entry | Child], line_of: LineOf) -> None:
        """The next items of a document. ``line_of`` is valid until this returns."""

    def end(self, document: Document) -> None:
        """A document and all documents below it have ended."""


class TreeWalk:
    """One walk through a tree.

    ``lost`` is the error class and the finding of the last loss; the walk yields an empty list when it sets it.
    """

    def __init__(self, visitor: Visitor, opener: Opener | None, limits: TreeLimits) -> None:
        self._visitor = visitor
        self._opener = opener
        self._limits = limits
        self._documents: dict[str, Document] = {}  # by normal URL and by path
        self._files = 0
        self.lost: tuple[type[SitemapError], Finding] | None = None

    def begin(self, source: Source, url: str, parent: Document | None) -> Document:
        """Register a document before it is read."""
        document = Document(path_name(source) or url, url, parent, self._limits.read)
        self._files += 1
        for key in _document_keys(url, source):
            self._documents[key] = document
        return document

    def walk(self, document: Document, source: Source) -> Iterator[list[Entry | Child]]:
        """The items of a document, then those of the documents below it."""
        listed: list[tuple[int, str]] = []
        self._visitor.begin(document)
        for items in parse_source(document, source):
            if document.format is Format.INDEX:
                self._gather(listed, items, document.line_of)
            self._visitor.items(document, items, document.line_of)
            yield items
        if document.format is not None and not document.complete:
            yield self._note_loss(_loss_reason(document), SourceError)
        if listed and self._limits.max_depth:
            yield from self._walk_children(document, listed)
        self._visitor.end(document)

    def _gather(self, listed: list[tuple[int, str]], items: list[Entry | Child], line_of: LineOf) -> None:
        """Keep the children of an index that will be read, and one more."""
        room = self._limits.max_children + 1 - len(listed)
        for number, item in enumerate(items[:room] if room > 0 else ()):
            if isinstance(item, Child):
                listed.append((line_of(number), item.loc))

    def _walk_children(self, index: Document, listed: list[tuple[int, str]]) -> Iterator[list[Entry | Child]]:
        """The items of the documents below an index."""
        limit = self._limits.max_children
        if self._opener is None:
            sentence = f"{len(listed):,} sitemaps of an index were not read: pass an opener that finds them"
            yield self._note_loss(Finding("index.child_unreadable", sentence, index.file, listed[0][0]))
            return
        if index.depth >= self._limits.max_depth:
            sentence = f"the sitemaps of an index at depth {index.depth} were not read"
            note = self._note_unread if index.depth >= _MAX_DEPTH else self._cut
            yield note(index, "index.too_deep", listed[0][0], sentence)
            return
        prefix = _directory(index.url)
        for number, (line, loc) in enumerate(listed):
            if number == limit:
                sentence = f"there are more than {limit:,} sitemaps, the rest was not read"
                if limit == protocol.MAX_CHILDREN:  # the parser has reported it
                    yield self._note_loss(Finding("index.too_many", sentence, index.file, line))
                else:
                    yield self._cut(index, "index.too_many", line, sentence)
                return
            if prefix and not location.is_within(prefix, loc):
                index.of_index.add("index.outside", line, f"{quote_text(loc)} is not below {prefix}")
            if self._files >= self._limits.max_files:
                sentence = f"{self._files:,} documents were read, {quote_text(loc)} and the following were not"
                yield self._cut(index, "index.too_many", line, sentence)
                return
            yield from self._child(index, line, loc)

    def _child(self, index: Document, line: int, loc: str) -> Iterator[list[Entry | Child]]:
        """The items of one sitemap of an index, unless it was already read."""
        name = quote_text(loc)
        if self._was_read(index, line, _document_keys(loc)):
            return
        child = None
        try:
            source = self._open(loc)
            if self._was_read(index, line, _document_keys("", source)):
                return
            child = self.begin(source, loc, index)
            index.children.append(child)
            yield from self.walk(child, source)
        except SourceError as error:
            if child:
                self._visitor.end(child)
            yield self._note_unread(index, "index.child_unreadable", line, f"{name} cannot be read: {error}")
            return
        if child.refusal:
            sentence = f"{name} is not a sitemap: {child.refusal}"
            yield self._note_unread(index, "index.child_unreadable", line, sentence, NotASitemap)
        elif child.format is Format.INDEX:
            index.of_index.add("index.nested", line, f"{name} is an index itself")

    def _open(self, loc: str) -> Source:
        assert self._opener is not None  # noqa: S101 - _walk_children() checks it
        try:
            return self._opener(loc)
        except (OSError, ValueError) as error:
            raise SourceError(str(error) or type(error).__name__) from error

    def _note_unread(
        self, index: Document, rule: str, line: int, sentence: str, kind: type[SitemapError] = SourceError
    ) -> list[Entry | Child]:
        """Report that a child of an index is not read."""
        index.of_index.add(rule, line, sentence)
        return self._note_loss(Finding(rule, sentence, index.file, line), kind)

    def _cut(self, index: Document, rule: str, line: int, sentence: str) -> list[Entry | Child]:
        """Stop reading the children of an index because of a limit."""
        index.cut = index.cut or sentence
        return self._note_loss(Finding(rule, sentence, index.file, line))

    def _note_loss(self, finding: Finding, kind: type[SitemapError] = SourceError) -> list[Entry | Child]:
        self.lost = kind, finding
        return []

    def _was_read(self, index: Document, line: int, keys: list[str]) -> bool:
        """Whether a child was already read; reports it."""
        document = next((self._documents[key] for key in keys if key in self._documents), None)
        if document is None:
            return False
        ancestor: Document | None = index
        while ancestor and ancestor is not document:
            ancestor = ancestor.parent
        name = quote_text(document.url or document.file)
        if ancestor:
            index.of_index.add("index.cycle", line, f"{name} leads back to itself")
        else:
            index.of_index.add("index.duplicate", line, f"{name} is already listed")
        return True


def _document_keys(url: str, source: Source = b"") -> list[str]:
    """The keys of a document: its normal URL and its real path."""
    keys = []
    if url:
        try:
            keys.append(location.form(url))
        except ValueError:
            keys.append(url)
    if isinstance(source, str | os.PathLike):
        with contextlib.suppress(ValueError):  # an impossible file name, which reading reports
            keys.append(os.path.realpath(source))
    return keys


def _loss_reason(document: Document) -> Finding:
    """Why a part of a document was lost."""
    name, file = quote_text(document.file or "the document"), document.file
    if document.cut:
        return Finding("sitemap.truncated", f"{name}: {document.cut}", file)
    errors = [finding for finding in document.findings if finding.severity is Severity.ERROR and finding.times == 1]
    causes = [finding for finding in errors if finding.rule != "sitemap.no_entries"]  # a result of the loss
    rule, reason = (causes[-1].rule, causes[-1].sentence) if causes else ("sitemap.truncated", "it is broken")
    return Finding(rule, f"{name} was not read without loss: {reason}", file)


def _directory(url: str) -> str:
    try:
        return location.directory(url) if url else ""
    except InvalidLocation:
        return ""


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
            raise SourceError(
                f"no file in the folder {quote_text(str(folder))} can belong to the sitemap "
                f"{quote_text(child)}: {error}"
            ) from error
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
