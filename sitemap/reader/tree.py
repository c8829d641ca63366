"""Owns the way through a tree of sitemaps: an index, what it lists, and what those list, without going in circles."""

import contextlib
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final, Protocol

from sitemap import limits as protocol
from sitemap import location
from sitemap.errors import InvalidLocation, NotASitemap, SitemapError, SourceError
from sitemap.escape import quote_text
from sitemap.finding import Finding, FindingCollector
from sitemap.formats import Format
from sitemap.model import Child, Entry
from sitemap.reader.parser import ReadLimits, SitemapParser
from sitemap.reader.reader import Source, path_name, read_pieces
from sitemap.rules import Severity

# From the URL of a child to its bytes, or to where they are. A SourceError, OSError or ValueError that it raises (those
# of urllib and requests are) says why the child cannot be read, and goes no further.
Opener = Callable[[str], Source]
LineOf = Callable[[int], int]  # the line of an item, by its number among those that were handed on with it

_MAX_DEPTH: Final = 3  # indexes inside one another: the protocol allows none, and no honest site has more


@dataclass(frozen=True, slots=True)
class TreeLimits:
    """Where a walk stops; :attr:`Document.cut` says of an index that not all it lists was read."""

    # Documents below the first one; the protocol allows 1, and 0 is for who wants no others.
    max_depth: int = _MAX_DEPTH
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
        self.of_index = FindingCollector(file, self.max_findings)  # what only its children can show
        self.limit = ""

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
    def cut(self) -> str:
        """What the limits of this reading left out of it, or of what it lists, in words; no defect of the document."""
        return self.parser.cut or self.limit

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


class TreeWalk:
    """One walk, and what it has seen.

    ``lost`` is what was not read just now, as an error and a finding: an empty answer follows each time it is set.
    """

    def __init__(self, visitor: Visitor, opener: Opener | None, limits: TreeLimits) -> None:
        self._visitor = visitor
        self._opener = opener
        self._limits = limits
        self._seen: dict[str, Document] = {}  # forms of URLs, and paths
        self._files = 0
        self.lost: tuple[type[SitemapError], Finding] | None = None

    def begin(self, source: Source, url: str, parent: Document | None) -> Document:
        """Take down a document that is about to be read."""
        document = Document(path_name(source) or url, url, parent, self._limits.read)
        self._files += 1
        for key in _document_keys(url, source):
            self._seen[key] = document
        return document

    def walk(self, document: Document, source: Source) -> Iterator[list[Entry | Child]]:
        """The items of a document, then those of all below it."""
        parser = document.parser
        listed: list[tuple[int, str]] = []
        self._visitor.begin(document)
        for answer in _feed_parser(parser, source):
            if parser.format is Format.INDEX:
                self._gather(listed, answer, parser.line_of)
            self._visitor.items(document, answer, parser.line_of)
            yield answer
        if document.format is not None and not document.complete:
            yield self._note_loss(_loss_reason(document), SourceError)
        if listed and self._limits.max_depth:
            yield from self._walk_children(document, listed)
        self._visitor.end(document)

    def _gather(self, listed: list[tuple[int, str]], items: list[Entry | Child], line_of: LineOf) -> None:
        """Keep what an index lists, but no more than will be read and one."""
        room = self._limits.max_children + 1 - len(listed)
        for number, item in enumerate(items[:room] if room > 0 else ()):
            if isinstance(item, Child):
                listed.append((line_of(number), item.loc))

    def _walk_children(self, index: Document, listed: list[tuple[int, str]]) -> Iterator[list[Entry | Child]]:
        """What lies below an index."""
        most = self._limits.max_children
        if self._opener is None:
            said = f"{len(listed):,} sitemaps of an index were not read: pass an opener, which finds them"
            yield self._note_loss(Finding("index.child_unreadable", said, index.file, listed[0][0]))
            return
        if index.depth >= self._limits.max_depth:
            said = f"the sitemaps of an index {index.depth} indexes deep were not read"
            take_down = self._unread if index.depth >= _MAX_DEPTH else self._cut
            yield take_down(index, "index.too_deep", listed[0][0], said)
            return
        prefix = _directory(index.url)
        for number, (line, loc) in enumerate(listed):
            if number == most:
                said = f"there are more than {most:,} sitemaps, the rest was not read"
                if most == protocol.MAX_CHILDREN:  # which the parser has said
                    yield self._note_loss(Finding("index.too_many", said, index.file, line))
                else:
                    yield self._cut(index, "index.too_many", line, said)
                return
            if prefix and not location.is_within(prefix, loc):
                index.of_index.add("index.outside", line, f"{quote_text(loc)} is not below {prefix}")
            if self._files >= self._limits.max_files:
                said = f"{self._files:,} documents were read, {quote_text(loc)} and what follows was not"
                yield self._cut(index, "index.too_many", line, said)
                return
            yield from self._child(index, line, loc)

    def _child(self, index: Document, line: int, loc: str) -> Iterator[list[Entry | Child]]:
        """One sitemap that an index lists, unless it was read before."""
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
            yield self._unread(index, "index.child_unreadable", line, f"{name} cannot be read: {error}")
            return
        if child.refusal:
            said = f"{name} is no sitemap: {child.refusal}"
            yield self._unread(index, "index.child_unreadable", line, said, NotASitemap)
        elif child.format is Format.INDEX:
            index.of_index.add("index.nested", line, f"{name} is an index itself")

    def _open(self, loc: str) -> Source:
        assert self._opener is not None  # noqa: S101 - who opens nothing does not come here
        try:
            return self._opener(loc)
        except (OSError, ValueError) as error:
            raise SourceError(str(error) or type(error).__name__) from error

    def _unread(
        self, index: Document, rule: str, line: int, said: str, kind: type[SitemapError] = SourceError
    ) -> list[Entry | Child]:
        """Take down what of an index is not read."""
        index.of_index.add(rule, line, said)
        return self._note_loss(Finding(rule, said, index.file, line), kind)

    def _cut(self, index: Document, rule: str, line: int, said: str) -> list[Entry | Child]:
        """Read no more of what an index lists, because that much was asked for."""
        index.limit = said
        return self._note_loss(Finding(rule, said, index.file, line))

    def _note_loss(self, finding: Finding, kind: type[SitemapError] = SourceError) -> list[Entry | Child]:
        self.lost = kind, finding
        return []

    def _was_read(self, index: Document, line: int, keys: list[str]) -> bool:
        """Whether a child was read before, which is said."""
        found = next((self._seen[key] for key in keys if key in self._seen), None)
        if found is None:
            return False
        above: Document | None = index
        while above and above is not found:
            above = above.parent
        name = quote_text(found.url or found.file)
        if above:
            index.of_index.add("index.cycle", line, f"{name} leads back to itself")
        else:
            index.of_index.add("index.duplicate", line, f"{name} is listed before")
        return True


def _feed_parser(parser: SitemapParser, source: Source) -> Iterator[list[Entry | Child]]:
    for piece in read_pieces(source):
        if answer := parser.feed(piece):
            yield answer
        if parser.over:
            break
    if answer := parser.close():
        yield answer


def _document_keys(url: str, source: Source = b"") -> list[str]:
    """By what a document is known again."""
    keys = []
    if url:
        try:
            keys.append(location.form(url))
        except ValueError:
            keys.append(url)
    if isinstance(source, str | os.PathLike):
        with contextlib.suppress(ValueError):  # no file can have such a name, as reading it will say
            keys.append(os.path.realpath(source))
    return keys


def _loss_reason(document: Document) -> Finding:
    """Why a document was not read without loss."""
    name, file = quote_text(document.file or "the document"), document.file
    if document.cut:
        return Finding("sitemap.truncated", f"{name}: {document.cut}", file)
    errors = [
        each for each in document.parser.findings if each.severity is Severity.ERROR and each.times == 1
    ]
    told = [each for each in errors if each.rule != "sitemap.no_entries"]  # which comes of the loss
    rule, why = (told[-1].rule, told[-1].sentence) if told else ("sitemap.truncated", "it is broken")
    return Finding(rule, f"{name} was not read without loss: {why}", file)


def _directory(url: str) -> str:
    try:
        return location.directory(url) if url else ""
    except InvalidLocation:
        return ""
