"""Owns the way through a tree of sitemaps: an index, what it lists, and what those list, without going in circles."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from sitemap import limits as protocol
from sitemap import location
from sitemap.errors import InvalidLocation, NotASitemap, SourceError
from sitemap.finding import Finding, Findings
from sitemap.format import Format
from sitemap.model import Child, Entry
from sitemap.quoting import shown
from sitemap.reading.beside import beside
from sitemap.reading.parse import ReadLimits, SitemapParser
from sitemap.reading.source import Source, name_of, pieces

Opener = Callable[[str], Source]  # from the URL of a child to where its bytes are; raises SourceError
LineOf = Callable[[int], int]  # the line of an item, by its number among those that were handed on with it


@dataclass(frozen=True, slots=True)
class TreeLimits:
    """Where a walk stops; findings of the index say what was not read."""

    # Documents below the first one; the protocol allows 1, and 0 is for who wants no others.
    max_depth: int = 3
    max_files: int = 100_000  # documents of the whole tree
    read: ReadLimits = field(default_factory=ReadLimits)  # of each of them
    max_children: int = protocol.MAX_CHILDREN  # sitemaps of one index that are read


class Document:
    """One document of a tree. All but the first two lines of it are final when it has ended.

    ``file`` is its path or URL as messages name it, ``url`` its public address or "", ``parent`` the index that lists
    it, ``depth`` 0 for the first one; ``children`` are the documents below it that could be opened. ``format``,
    ``refusal``, ``complete``, ``size`` and ``entries`` are those of :class:`sitemap.SitemapParser`.
    """

    def __init__(self, file: str, url: str, parent: "Document | None", read_limits: ReadLimits) -> None:
        self.file = file
        self.url = url
        self.parent = parent
        self.depth: int = parent.depth + 1 if parent else 0
        self.children: list[Document] = []
        self.parser = SitemapParser(url, read_limits, file)
        self.max_findings = read_limits.max_findings  # of one rule
        self.of_index = Findings(file, self.max_findings)  # what only its children can show

    def __repr__(self) -> str:
        return f"<Document {self.file or self.url!r}: {self.format}, {self.entries:,} entries>"

    @property
    def format(self) -> Format | None:
        """What kind of document it is, or None."""
        return self.parser.format

    @property
    def refusal(self) -> str:
        """Why it is no sitemap, or "" when it is one."""
        return self.parser.refusal

    @property
    def complete(self) -> bool:
        """Whether it was read to its end without loss; its children have their own say."""
        return self.parser.complete

    @property
    def size(self) -> int:
        """Its bytes, unpacked."""
        return self.parser.size

    @property
    def entries(self) -> int:
        """How many items it has: pages, or the sitemaps of an index."""
        return self.parser.entries

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What is not as it should be in this document, and with what it lists if it is an index."""
        return (*self.parser.findings, *self.of_index.all())


class Visitor(Protocol):
    """Whoever is led through a tree. An index ends after the documents below it."""

    def begin(self, document: Document) -> None:
        """A document was opened; nothing of it was read yet."""

    def items(self, document: Document, items: list[Entry | Child], line_of: LineOf) -> None:
        """The next items of a document. ``line_of`` holds until this returns."""

    def end(self, document: Document) -> None:
        """A document is over, and so is all below it."""


class _Nobody:
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
    way = _Way(visitor, opener or _default_opener(source, url), limits or TreeLimits())
    document = way.begin(source, url, None)
    for _ in way.through(document, source):
        pass
    return document


def tree(
    source: Source, opener: Opener | None = None, url: str = "", limits: TreeLimits | None = None
) -> Document:
    """The documents of a tree with their counts and findings, as :func:`walk` finds them; no entry is kept."""
    return walk(source, _Nobody(), opener, url, limits)


def iter_entries(
    source: Source, opener: Opener | None = None, url: str = "", limits: TreeLimits | None = None
) -> Iterator[Entry]:
    """All entries of a tree one after the other, in flat memory. Opens what :func:`walk` opens.

    What cannot be read below the first document is left out: :func:`walk` tells. SourceError when the first source
    cannot be read, NotASitemap at its end when it is none.
    """
    way = _Way(_Nobody(), opener or _default_opener(source, url), limits or TreeLimits())
    document = way.begin(source, url, None)
    for items in way.through(document, source):
        for item in items:
            if isinstance(item, Entry):
                yield item
    if document.refusal:
        name = shown(document.file) if document.file else "the document"
        raise NotASitemap(f"{name} is no sitemap: {document.refusal}")


def _default_opener(source: Source, url: str) -> Opener | None:
    return beside(source, url) if isinstance(source, str | Path) else None


class _Way:
    """One walk, and what it has seen."""

    def __init__(self, visitor: Visitor, opener: Opener | None, limits: TreeLimits) -> None:
        self._visitor = visitor
        self._opener = opener
        self._limits = limits
        self._seen: dict[str, Document] = {}  # forms of URLs, and paths
        self._files = 0

    def begin(self, source: Source, url: str, parent: Document | None) -> Document:
        """Take down a document that is about to be read."""
        document = Document(name_of(source) or url, url, parent, self._limits.read)
        self._files += 1
        for key in _keys(url, source):
            self._seen[key] = document
        return document

    def through(self, document: Document, source: Source) -> Iterator[list[Entry | Child]]:
        """The items of a document, then those of all below it."""
        parser = document.parser
        listed: list[tuple[int, str]] = []
        self._visitor.begin(document)
        for answer in _answers(parser, source):
            if parser.format is Format.INDEX:
                self._gather(listed, answer, parser.line_of)
            self._visitor.items(document, answer, parser.line_of)
            yield answer
        if listed and self._opener and self._limits.max_depth:
            yield from self._below(document, listed)
        self._visitor.end(document)

    def _gather(self, listed: list[tuple[int, str]], items: list[Entry | Child], line_of: LineOf) -> None:
        """Keep what an index lists, but no more than will be read and one."""
        room = self._limits.max_children + 1 - len(listed)
        for number, item in enumerate(items[:room] if room > 0 else ()):
            if isinstance(item, Child):
                listed.append((line_of(number), item.loc))

    def _below(self, index: Document, listed: list[tuple[int, str]]) -> Iterator[list[Entry | Child]]:
        """What lies below an index."""
        most = self._limits.max_children
        if index.depth >= self._limits.max_depth:
            said = f"the sitemaps of an index {index.depth} indexes deep were not read"
            index.of_index.add("index.too_deep", listed[0][0], said)
            return
        prefix = _directory(index.url)
        for number, (line, loc) in enumerate(listed):
            if number == most:
                if most != protocol.MAX_CHILDREN:  # else the parser has said it
                    said = f"there are more than {most:,} sitemaps, the rest was not read"
                    index.of_index.add("index.too_many", line, said)
                return
            if prefix and not location.within(prefix, loc):
                index.of_index.add("index.outside", line, f"{shown(loc)} is not below {prefix}")
            if self._files >= self._limits.max_files:
                said = f"{self._files:,} documents were read, {shown(loc)} and what follows was not"
                index.of_index.add("index.too_many", line, said)
                return
            yield from self._child(index, line, loc)

    def _child(self, index: Document, line: int, loc: str) -> Iterator[list[Entry | Child]]:
        """One sitemap that an index lists, unless it was read before."""
        assert self._opener is not None  # noqa: S101 - nothing is listed for who opens nothing
        say, name = index.of_index.add, shown(loc)
        if self._met(index, line, _keys(loc)):
            return
        child = None
        try:
            source = self._opener(loc)
            if self._met(index, line, _keys("", source)):
                return
            child = self.begin(source, loc, index)
            index.children.append(child)
            yield from self.through(child, source)
        except SourceError as error:
            say("index.child_unreadable", line, f"{name} cannot be read: {error}")
            if child:
                self._visitor.end(child)
            return
        if child.refusal:
            say("index.child_unreadable", line, f"{name} is no sitemap: {child.refusal}")
        elif child.format is Format.INDEX:
            say("index.nested", line, f"{name} is an index itself")

    def _met(self, index: Document, line: int, keys: list[str]) -> bool:
        """Whether a child was read before, which is said."""
        found = next((self._seen[key] for key in keys if key in self._seen), None)
        if found is None:
            return False
        above: Document | None = index
        while above and above is not found:
            above = above.parent
        name = shown(found.url or found.file)
        if above:
            index.of_index.add("index.cycle", line, f"{name} leads back to itself")
        else:
            index.of_index.add("index.duplicate", line, f"{name} is listed before")
        return True


def _answers(parser: SitemapParser, source: Source) -> Iterator[list[Entry | Child]]:
    for piece in pieces(source):
        if answer := parser.feed(piece):
            yield answer
    if answer := parser.close():
        yield answer


def _keys(url: str, source: Source = b"") -> list[str]:
    """By what a document is known again."""
    keys = []
    if url:
        try:
            keys.append(location.form(url))
        except ValueError:
            keys.append(url)
    if isinstance(source, str | Path):
        keys.append(str(Path(source).resolve()))
    return keys


def _directory(url: str) -> str:
    try:
        return location.directory(url) if url else ""
    except InvalidLocation:
        return ""
