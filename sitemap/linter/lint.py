"""Owns linting: judges the documents of a set, one by one and together, and answers what is not as it should be."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import PurePath
from typing import Final
from urllib.parse import quote

from sitemap.finding import Finding
from sitemap.formats import Format
from sitemap.linter.document import DocumentChecks, SetContext
from sitemap.linter.duplicates import DuplicateChecks
from sitemap.linter.hreflang import MAX_HELD, HreflangChecks
from sitemap.model import Child, Entry
from sitemap.reader.reader import Source, path_name
from sitemap.reader.tree import Document, LineOf, Opener, TreeLimits
from sitemap.reader.walk import walk
from sitemap.rules import Severity

_MAX_NAMED: Final = 5  # files that are named for what was left out of them


@dataclass(frozen=True, slots=True)
class LintReport:
    """What was found in a set of documents.

    ``findings`` are in the order in which the documents were read, then of their lines; what concerns a whole document
    comes first, and the number of what was not kept last. ``documents`` are those that were given, each with its
    ``children``; ``entries`` is how many pages all of them list. ``not_checked`` says in sentences what could not be
    judged, and why.
    """

    findings: tuple[Finding, ...]
    documents: tuple[Document, ...]
    entries: int
    not_checked: tuple[str, ...] = ()

    @property
    def rules(self) -> dict[str, int]:
        """How often each rule is broken, also where no more was said of it."""
        counts: Counter[str] = Counter()
        for finding in self.findings:
            counts[finding.rule] += finding.times
        return dict(counts)

    @property
    def severities(self) -> dict[Severity, int]:
        """How many defects there are of each severity, the worst first."""
        counts = dict.fromkeys(Severity, 0)
        for finding in self.findings:
            counts[finding.severity] += finding.times
        return counts

    @property
    def worst(self) -> Severity | None:
        """The severity of the worst finding; None when there is none."""
        return max((finding.severity for finding in self.findings), default=None)

    def at_least(self, severity: Severity) -> tuple[Finding, ...]:
        """The findings that are as bad as that, or worse."""
        return tuple(finding for finding in self.findings if finding.severity >= severity)

    def all_documents(self) -> Iterator[Document]:
        """Every document, each index before its children."""
        waiting = list(reversed(self.documents))
        while waiting:
            document = waiting.pop()
            yield document
            waiting += reversed(document.children)


class Linter:
    """Judges documents while they are read: the visitor of :func:`sitemap.walk`. All it is led through is one set.

    ``now`` is an aware datetime. ``vouched`` says of a URL of another origin whether the robots.txt there names the
    sitemap (:meth:`sitemap.CrossSubmits.vouched` does); without it no other origin is vouched for. :meth:`report` ends
    it. A document that is met again, as when an index and its sitemaps are all given, is judged once.
    Memory: about 90 bytes for each URL that is listed, and what :class:`Variants` says for pages with variants.
    """

    def __init__(self, now: datetime, vouched: Callable[[str], bool] | None = None) -> None:
        self._shared = SetContext(now, vouched or (lambda _: False), DuplicateChecks(), HreflangChecks())
        self._roots: list[Document] = []
        self._judged: list[tuple[Document, DocumentChecks]] = []
        self._open: dict[Document, DocumentChecks] = {}
        self._files: set[str] = set()

    def begin(self, document: Document) -> None:
        """A document begins; others may begin before it ends."""
        if document.parent is None:
            self._roots.append(document)
        has_name = document.parent is not None or document.file != document.url
        if has_name and document.file in self._files:
            return
        self._files.add(document.file)
        checks = self._open[document] = DocumentChecks(document, self.place(document), self._shared)
        self._judged.append((document, checks))

    def place(self, document: Document) -> str:
        """The URL in whose directory a document may list pages: its own, unless somebody knows more of it."""
        return document.url

    def items(self, document: Document, items: list[Entry | Child], line_of: LineOf) -> None:
        """The next items of a document, and how to find the line of each by its number among them."""
        if document in self._open:
            self._open[document].items(items, line_of)

    def end(self, document: Document) -> None:
        """A document is over, with all that lies below it."""
        if document in self._open:
            self._open.pop(document).end()

    def report(self) -> LintReport:
        """Judge the set as a whole. To be called once, when all documents have ended."""
        not_read = tuple(self._not_read())
        self._shared.duplicates.finish()
        self._shared.variants.finish(self._shared.duplicates, whole=not not_read)
        findings: list[Finding] = []
        for document, checks in self._judged:
            findings += sorted((*document.findings, *checks.findings.all()), key=_sort_key)
        entries = sum(document.entries for document, _ in self._judged if document.format is not Format.INDEX)
        return LintReport(tuple(findings), tuple(self._roots), entries, not_read + self._not_compared())

    def _not_read(self) -> Iterator[str]:
        cut = [document for document, _ in self._judged if document.cut]
        for document in cut[:_MAX_NAMED]:
            yield f"{document.file or 'the document'}: {document.cut}"
        if more := len(cut[_MAX_NAMED:]):
            yield f"{more:,} more files, of which not all was read either"
        if lost := sum(not (document.complete or document.cut) for document, _ in self._judged):
            said = f"{lost:,} files" if lost > 1 else "a file"
            yield f"{said} could not be read to the end, so the rest was not checked"
        indexes = [document for document, _ in self._judged if document.format is Format.INDEX]
        listed, read = (
            sum(counts) for counts in ([i.entries for i in indexes], [len(i.children) for i in indexes])
        )
        if read < listed:
            many = listed - read
            said = (
                f"{many:,} child sitemaps were not read, so their"
                if many > 1
                else "a child sitemap was not read, so its"
            )
            yield f"{said} contents were not checked"

    def _not_compared(self) -> tuple[str, ...]:
        if not self._shared.variants.full:
            return ()
        return (
            f"there are more than {MAX_HELD:,} pages and variants: not all were compared with each other",
        )


def lint(
    source: Source,
    *more_sources: Source,
    url: str = "",
    now: datetime | None = None,
    vouched: Callable[[str], bool] | None = None,
    opener: Opener | None = None,
    limits: TreeLimits | None = None,
) -> LintReport:
    """Judge sitemaps, indexes with all they lead to, or feeds, by the table :data:`sitemap.RULES`.

    A source is a path, bytes or a binary file; all of them are one set, in which no URL should be listed twice. ``url``
    is where the source will be found, which decides what it may list; one that ends with a slash is the directory of
    all the sources. ``now``, an aware datetime, is what dates are compared with: the present, if it is left out.
    ``vouched`` is for :class:`Linter`, ``opener`` and ``limits`` are for :func:`sitemap.walk`.

    What is wrong with a document is in the report, and never raised. SourceError when a source cannot be read.

        >>> report = lint(b"https://example.com/a#top", url="https://example.com/sitemap.txt")
        >>> [(finding.rule, finding.line) for finding in report.findings]
        [('sitemap.loc_fragment', 1)]
    """
    linter = Linter(now or datetime.now(UTC), vouched)
    for each in (source, *more_sources):
        walk(each, linter, opener, _url_of(each, url), limits)
    return linter.report()


def _url_of(source: Source, url: str) -> str:
    """Where a source will be: at ``url``, or below it under its own name."""
    name = PurePath(path_name(source)).name if url.endswith("/") else ""
    return url + quote(name)


def _sort_key(finding: Finding) -> tuple[bool, int]:
    return finding.times > 1, finding.line
