"""Lints sitemaps: checks the documents of a set, one by one and together, and returns a report.

Each batch of the items of a document passes the checks of URLs, dates, variants and extensions.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import PurePath
from typing import Final, TypeGuard
from urllib.parse import quote

from sitemap import limits
from sitemap.escape import quote_text
from sitemap.languages import news_language_fault
from sitemap.linter.dates import DateChecks, is_future, latest_instant
from sitemap.linter.hreflang import MAX_HELD, HreflangChecks
from sitemap.linter.urls import DuplicateChecks, UrlChecks
from sitemap.model import FEEDS, Child, Entry, Format, News
from sitemap.reader.parser import Source, path_name
from sitemap.reader.tree import Document, LineOf, Opener, TreeLimits, walk
from sitemap.rules import Finding, FindingCollector, Severity
from sitemap.validation import entry_faults

# The rules checked here; other checks cover the URL, dates and variants of an entry.
_EXTENSION_RULES: Final = ("image.", "video.", "news.")


class ExtensionChecks:
    """Checks the extensions of one document. ``news`` is the number of its articles."""

    def __init__(self, now: datetime, findings: FindingCollector) -> None:
        self.news = 0
        self._now = now
        self._findings = findings

    def check(self, entry: Entry, line: int) -> None:
        """Check the images, videos and news of one entry."""
        for fault in entry_faults(entry, ""):
            if fault.rule.startswith(_EXTENSION_RULES):
                self._findings.add(fault.rule, line, fault.sentence)
        for video in entry.videos:
            if (end := latest_instant(video.expiration_date)) and end < self._now:
                self._findings.add(
                    "video.expired",
                    line,
                    f"video {quote_text(video.title)} expired at {video.expiration_date}: remove it",
                )
        if entry.news is not None:
            self._check_news(entry.news, line)

    def _check_news(self, news: News, line: int) -> None:
        self.news += 1
        if self.news == limits.MAX_NEWS + 1:
            self._findings.add("news.too_many", line, f"there are more than {limits.MAX_NEWS:,} articles")
        if len(news.language) == 2 and (fault := news_language_fault(news.language)):
            self._findings.add("news.language", line, f"language {quote_text(news.language)}: {fault}")
        published = latest_instant(news.publication_date)
        if published is None:
            return
        if is_future(news.publication_date, self._now):
            self._findings.add("news.future", line, f"publication_date {news.publication_date} is in the future")
        elif published < self._now - timedelta(days=limits.NEWS_DAYS):
            self._findings.add(
                "news.too_old",
                line,
                f"publication_date {news.publication_date} is more than {limits.NEWS_DAYS} days ago: remove the news"
                " tags",
            )


@dataclass(frozen=True, slots=True)
class SetContext:
    """What the checks of all documents of a set share: the present time, and what is known of the other documents."""

    now: datetime
    vouched: Callable[[str], bool]
    duplicates: DuplicateChecks
    variants: HreflangChecks


class DocumentChecks:
    """Checks one document, batch by batch, and collects its ``findings``, also those that only the whole set shows.

    ``place`` is the URL whose directory it may list.
    """

    def __init__(self, document: Document, place: str, shared: SetContext) -> None:
        self.findings = FindingCollector(document.file, document.max_findings)
        self._document = document
        self._addresses = UrlChecks(place, self.findings, shared.vouched)
        self._dates = DateChecks(shared.now, self.findings)
        self._extensions = ExtensionChecks(shared.now, self.findings)
        self._hint_line = 0
        self._undated = 0  # sitemaps of an index
        self._first_undated = 0
        self._listing = shared.duplicates.begin(document.file, self.findings)
        self._variants = shared.variants.begin(self.findings)

    def items(self, items: list[Entry | Child], line_of: LineOf) -> None:
        """Check the next items of the document."""
        if not items:
            return
        if _are_pages(items):
            self._pages(items, line_of)
        else:
            self._mixed(items, line_of)

    def end(self) -> None:
        """Check the document as a whole."""
        self._dates.end(churn=not self._extensions.news)
        if self._hint_line:
            self.findings.add("hint.ignored", self._hint_line, "no large search engine reads changefreq and priority")
        if count := self._undated:
            subject = f"{count:,} sitemaps have" if count > 1 else "a sitemap has"
            self.findings.add("index.no_lastmod", self._first_undated, f"{subject} no lastmod here")
        self._variants.end()

    def _mixed(self, items: list[Entry | Child], line_of: LineOf) -> None:
        """Check the items of an index, or of a document that mixes pages and sitemaps."""
        numbers = [number for number, item in enumerate(items) if isinstance(item, Entry)]
        if numbers:
            pages = [item for item in items if isinstance(item, Entry)]
            self._pages(pages, lambda number: line_of(numbers[number]))
        self._dates.check(["" if isinstance(item, Entry) else item.lastmod for item in items], line_of)
        for number, item in enumerate(items):
            if isinstance(item, Child) and not item.lastmod:
                self._first_undated = self._first_undated if self._undated else line_of(number)
                self._undated += 1

    def _pages(self, pages: list[Entry], line_of: LineOf) -> None:
        """Check pages: URLs and dates as a batch, and one by one the pages that have other tags."""
        locs, lastmods = [page.loc for page in pages], [page.lastmod for page in pages]
        is_feed = self._document.format in FEEDS
        self._listing.add(locs, self._addresses.check(locs, line_of), line_of, in_feed=is_feed)
        self._dates.check(lastmods, line_of)
        self._dates.keep(lastmods)
        if is_feed and "" in lastmods:
            for number, text in enumerate(lastmods):
                if not text:
                    self.findings.add("feed.no_date", line_of(number), "the item has no date")
        for number, page in enumerate(pages):
            if (
                page.changefreq
                or page.priority is not None
                or page.images
                or page.videos
                or page.alternates
                or page.news is not None
            ):
                self._entry(page, number, line_of)

    def _entry(self, entry: Entry, number: int, line_of: LineOf) -> None:
        """Check the other tags of a page."""
        if (entry.changefreq or entry.priority is not None) and not self._hint_line:
            self._hint_line = line_of(number)
        if entry.images or entry.videos or entry.news is not None:
            self._extensions.check(entry, line_of(number))
        if entry.alternates:
            self._variants.add(entry, line_of(number))


def _are_pages(items: list[Entry | Child]) -> TypeGuard[list[Entry]]:
    """Whether all items are pages. A count in C is fast, and nearly all documents have only one kind of item."""
    return list(map(type, items)).count(Entry) == len(items)


_MAX_NAMED: Final = 5  # files named in ``not_checked``


@dataclass(frozen=True, slots=True)
class LintReport:
    """The findings of a set of documents.

    ``findings`` are in the order of the documents, then of their lines; those about a whole document come first, and
    those that sum up others last. ``documents`` are the linted sources, each with its ``children``. ``entries`` is the
    number of listed pages. ``not_checked`` states, in sentences, what could not be checked and why.
    """

    findings: tuple[Finding, ...]
    documents: tuple[Document, ...]
    entries: int
    not_checked: tuple[str, ...] = ()

    @property
    def rules(self) -> dict[str, int]:
        """How often each rule is broken, including findings that are summed up."""
        counts: Counter[str] = Counter()
        for finding in self.findings:
            counts[finding.rule] += finding.times
        return dict(counts)

    @property
    def severities(self) -> dict[Severity, int]:
        """The number of defects by severity, worst first."""
        counts = dict.fromkeys(Severity, 0)
        for finding in self.findings:
            counts[finding.severity] += finding.times
        return counts

    @property
    def worst(self) -> Severity | None:
        """The severity of the worst finding, or None without findings."""
        return max((finding.severity for finding in self.findings), default=None)

    def at_least(self, severity: Severity) -> tuple[Finding, ...]:
        """The findings of this severity or worse."""
        return tuple(finding for finding in self.findings if finding.severity >= severity)

    def all_documents(self) -> Iterator[Document]:
        """Every document, each index before its children."""
        stack = list(reversed(self.documents))
        while stack:
            document = stack.pop()
            yield document
            stack += reversed(document.children)


class Linter:
    """Checks documents while they are read: a visitor for :func:`sitemap.walk`. All visited documents are one set.

    ``now`` is an aware datetime. ``vouched`` returns whether the robots.txt of the origin of a URL names the sitemap
    (:meth:`sitemap.CrossSubmits.vouched`); without it no other origin vouches. :meth:`report` ends the run. A
    document that is visited twice, such as a sitemap given beside its index, is checked once.
    Memory: about 90 bytes for each listed URL, and more for pages with variants (:class:`HreflangChecks`).
    """

    def __init__(self, now: datetime, vouched: Callable[[str], bool] | None = None) -> None:
        self._shared = SetContext(now, vouched or (lambda _: False), DuplicateChecks(), HreflangChecks())
        self._roots: list[Document] = []
        self._checked: list[tuple[Document, DocumentChecks]] = []
        self._open: dict[Document, DocumentChecks] = {}
        self._files: set[str] = set()

    def begin(self, document: Document) -> None:
        """Begin a document; others may begin before it ends."""
        if document.parent is None:
            self._roots.append(document)
        has_name = document.parent is not None or document.file != document.url
        if has_name and document.file in self._files:
            return
        self._files.add(document.file)
        checks = self._open[document] = DocumentChecks(document, self.place(document), self._shared)
        self._checked.append((document, checks))

    def place(self, document: Document) -> str:
        """The URL whose directory a document may list: its own. A subclass may know a better one."""
        return document.url

    def items(self, document: Document, items: list[Entry | Child], line_of: LineOf) -> None:
        """Check the next items of a document; ``line_of`` returns the line of an item by its number among them."""
        if document in self._open:
            self._open[document].items(items, line_of)

    def end(self, document: Document) -> None:
        """End a document and all documents below it."""
        if document in self._open:
            self._open.pop(document).end()

    def report(self) -> LintReport:
        """Check the set as a whole. Call it once, when all documents have ended."""
        not_read = tuple(self._not_read())
        self._shared.duplicates.finish()
        self._shared.variants.finish(self._shared.duplicates, whole=not not_read)
        findings: list[Finding] = []
        for document, checks in self._checked:
            findings += sorted((*document.findings, *checks.findings.all()), key=_sort_key)
        entries = sum(document.entries for document, _ in self._checked if document.format is not Format.INDEX)
        return LintReport(tuple(findings), tuple(self._roots), entries, not_read + self._not_compared())

    def _not_read(self) -> Iterator[str]:
        cut = [document for document, _ in self._checked if document.cut]
        for document in cut[:_MAX_NAMED]:
            yield f"{document.file or 'the document'}: {document.cut}"
        if more := len(cut[_MAX_NAMED:]):
            yield f"{more:,} more files were not read completely"
        if lost := sum(not (document.complete or document.cut) for document, _ in self._checked):
            files = f"{lost:,} files" if lost > 1 else "a file"
            yield f"{files} could not be read to the end, so the rest was not checked"
        indexes = [document for document, _ in self._checked if document.format is Format.INDEX]
        unread = sum(index.entries for index in indexes) - sum(len(index.children) for index in indexes)
        if unread > 0:
            subject = f"{unread:,} child sitemaps were" if unread > 1 else "a child sitemap was"
            yield f"{subject} not read, so {'their' if unread > 1 else 'its'} contents were not checked"

    def _not_compared(self) -> tuple[str, ...]:
        if not self._shared.variants.full:
            return ()
        return (f"there are more than {MAX_HELD:,} pages and variants, so not all were compared with each other",)


def lint(
    source: Source,
    *more_sources: Source,
    url: str = "",
    now: datetime | None = None,
    vouched: Callable[[str], bool] | None = None,
    opener: Opener | None = None,
    limits: TreeLimits | None = None,
) -> LintReport:
    """Check sitemaps, indexes with their children, or feeds against :data:`sitemap.RULES`.

    A source is a path, bytes or a binary file; all sources are one set, in which no URL should be listed twice. ``url``
    is the public URL of the source, which decides what it may list; if it ends with a slash, it is the directory of all
    sources. ``now``, an aware datetime, is compared with the dates; the default is the present. ``vouched`` is as for
    :class:`Linter`, ``opener`` and ``limits`` as for :func:`sitemap.walk`.

    Defects of a document are in the report and never raised. SourceError if a source cannot be read.

        >>> report = lint(b"https://example.com/a#top", url="https://example.com/sitemap.txt")
        >>> [(finding.rule, finding.line) for finding in report.findings]
        [('sitemap.loc_fragment', 1)]
    """
    linter = Linter(now or datetime.now(UTC), vouched)
    for root in (source, *more_sources):
        walk(root, linter, opener, _url_of(root, url), limits)
    return linter.report()


def _url_of(source: Source, url: str) -> str:
    """The public URL of a source: ``url``, or its file name in the directory ``url``."""
    name = PurePath(path_name(source)).name if url.endswith("/") else ""
    return url + quote(name)


def _sort_key(finding: Finding) -> tuple[bool, int]:
    return finding.times > 1, finding.line
