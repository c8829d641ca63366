"""Finds and reads the sitemaps of an audit: those that the user named, or else those that the site declares."""

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import BinaryIO, Final

from crawler.audit.evidence.sitemap_entries import SitemapEntryCollector
from crawler.audit.finding import AuditFinding
from crawler.audit.source_record import SourceKind, SourceReport
from crawler.audit.sources.cross_submit import MAX_HOSTS, CrossSubmitChecker
from crawler.audit.sources.urls import SourceUrlParser
from crawler.config.plan import CrawlPlan
from crawler.crawl.documents import DocumentSource, is_url, looks_like_html, named_files, open_documents
from crawler.crawl.sitemap_download import DocumentNotFound, Downloader, origins_of
from crawler.errors import UsageError
from crawler.state.status import published_sitemap_url
from crawler.url.normalize import InvalidUrl, normalize_url, origin_of
from sitemap import Document, ReadLimits, SourceError, TreeLimits, check_path, walk

MAX_NOTES: Final = 100
"""Findings of one rule in one file that are reported one by one; the others are counted."""
MAX_REDIRECTS: Final = 20  # in the notes
DEFAULT_PATH: Final = "/sitemap.xml"


@dataclass(frozen=True, slots=True)
class SitemapReadings:
    """What reading the sitemaps yields besides records and entries: the findings of lint, and notes."""

    findings: list[AuditFinding]
    notes: list[str]


def read_sitemaps(
    plan: CrawlPlan,
    db: sqlite3.Connection,
    url_parser: SourceUrlParser,
    now: float,
    watch: Callable[[str], object] = lambda _: None,
) -> SitemapReadings:
    """Read all sitemaps of a site into the tables ``input``, ``claim`` and ``entry`` of ``db``. ``now`` is Unix time.

    ``watch`` gets the name of each sitemap before it is read. A sitemap that the site declares and that cannot be
    fetched, or such a child, makes its report incomplete. Raises UsageError and NothingCrawlable for a sitemap that the
    user named and that cannot be read, StorageError.
    """
    config = plan.config
    names = config.audit.sitemaps
    urls = [name for name in names if is_url(name)]
    with Downloader(config, origins_of([plan.seed, *urls]), config.fetch.max_sitemap, plan.source) as downloader:
        submits = CrossSubmitChecker(downloader.robots, url_parser.alias_origins)
        published = SitemapEntryCollector(db, url_parser, plan.params, submits, datetime.fromtimestamp(now, UTC))
        reading = _SitemapSources(plan, downloader, published, watch)
        reading.read_named(names) if names else reading.read_own()
        findings, not_judged = published.finish(downloader.unpacked, downloader.private)
        notes = [*reading.notes, *not_judged]
        redirects = dict.fromkeys(downloader.redirects)
        notes += [f"{asked} redirects to {target}" for asked, target in islice(redirects, MAX_REDIRECTS)]
        if submits.full:
            notes.append(f"Siteatlas fetched the robots.txt files of only {MAX_HOSTS} other hosts, the maximum")
    return SitemapReadings([*reading.findings, *findings], notes)


def check_sitemaps(names: tuple[str, ...]) -> None:
    """Check that the files that the user named exist, and that nobody planted them. Raises UsageError, OSError."""
    for file in filter(Path.is_file, named_files(_reject_stdin(names), "").values()):
        check_path(file)


class _SitemapSources:
    """Reads all sitemaps of one audit."""

    def __init__(
        self, plan: CrawlPlan, downloader: Downloader, published: SitemapEntryCollector, watch: Callable[[str], object]
    ) -> None:
        self.notes: list[str] = []
        self.findings: list[AuditFinding] = []
        self._nowhere: list[str] = []  # sentences: where there is no sitemap
        self._plan = plan
        self._downloader = downloader
        self._published = published
        self._watch = watch
        self._taken: set[str] = set()  # locations of the documents that were read, after redirects
        fetch = plan.config.fetch
        self._limits = TreeLimits(read=ReadLimits(fetch.max_sitemap, max_findings=MAX_NOTES))

    def read_named(self, names: tuple[str, ...]) -> None:
        """Read those that the user named."""
        files = named_files(_reject_stdin(names), "")
        for document in open_documents(names, files, "", self._downloader, self.notes.append):
            name = str(document.source) if isinstance(document.source, Path) else document.url
            self._read(name, document)

    def read_own(self) -> None:
        """Read those in robots.txt, the one at the default path, and the one that this tool publishes."""
        origin = origin_of(self._plan.seed)
        named = list(dict.fromkeys(map(self._public_url, self._downloader.rules(origin).sitemaps)))
        is_read = False
        for url in named:
            is_read |= self._read_url(url, is_declared=True)
        ours = published_sitemap_url(self._plan.state.parent, self._plan.sitemap_url)
        for url in dict.fromkeys((origin + DEFAULT_PATH, ours)):
            if url not in named:
                is_read |= self._read_url(url, is_declared=False)
        if not named and not is_read:
            nowhere = " and ".join(self._nowhere)
            self.notes.append(f"the site has no sitemap: robots.txt names none, and {nowhere}")

    def _read_url(self, url: str, *, is_declared: bool) -> bool:
        """Read a sitemap that robots.txt declares, or one that may exist: an HTML page in its place is none."""
        path = url.removeprefix(origin_of(self._plan.seed))
        try:
            where, content = self._locate(url)
        except SourceError as error:
            is_missing = isinstance(error, DocumentNotFound)
            if is_missing and not is_declared:
                self._nowhere.append(f"there is no {path}")
                return False
            # a missing sitemap lists no URL that could be missed
            self._note_loss(url, str(error), is_whole=is_missing)
            if is_declared and str(error) not in self._downloader.private:
                sentence = f"robots.txt declares it as a sitemap, but it cannot be read: {error}"
                finding = AuditFinding(
                    rule="declared.unreadable", url=url, sentence=sentence, known=[SourceKind.SITEMAP], file=url
                )
                self.findings.append(finding)
            return False
        if not is_declared and looks_like_html(content):
            self._nowhere.append(f"{path} returns an HTML page, which is not a sitemap")
            return False
        return self._read_document(url, where, content)

    def _read_document(self, url: str, where: str, content: bytes) -> bool:
        """Read a document unless it was read under another URL: many sites redirect the default path."""
        if where not in self._taken:
            self._taken.add(where)
            self._read(url, DocumentSource(content, where, self._open))
        return True

    def _open(self, url: str) -> bytes:
        where, content = self._locate(url)
        self._taken.add(where)
        return content

    def _locate(self, url: str) -> tuple[str, bytes]:
        meant = self._public_url(url)
        self._downloader.check_robots(meant)
        return self._downloader.locate(meant)

    def _public_url(self, url: str) -> str:
        """A URL on the public origin: with ``--source``, documents may name the origin of the source."""
        try:
            return normalize_url(url, self._plan.params.keeping_all)
        except InvalidUrl:
            return url

    def _note_loss(self, name: str, fault: str, *, is_whole: bool) -> None:
        self._watch(name)
        self._published.begin_source(
            SourceReport(source=SourceKind.SITEMAP, name=name, complete=is_whole, faults=[fault])
        )
        self._published.end_source(None)

    def _read(self, name: str, location: DocumentSource) -> None:
        self._watch(name)
        report = SourceReport(source=SourceKind.SITEMAP, name=name, bytes=_size(location.source))
        self._published.begin_source(report)
        document: Document | None = None
        try:
            opener = self._counting(location.opener, report) if location.opener else None
            document = walk(location.source, self._published, opener=opener, url=location.url, limits=self._limits)
        except SourceError as error:
            raise UsageError(str(error)) from None
        finally:
            self._published.end_source(document)

    def _counting(self, opener: Callable[[str], bytes], report: SourceReport) -> Callable[[str], bytes]:
        def open_counted(url: str) -> bytes:
            self._watch(url)
            content = opener(url)
            report.bytes += len(content)
            return content

        return open_counted


def _reject_stdin(names: tuple[str, ...]) -> tuple[str, ...]:
    if "-" in names:
        raise UsageError("an audit does not read sitemaps from standard input. Give files or URLs")
    return names


def _size(source: Path | bytes | BinaryIO) -> int:
    if isinstance(source, Path):
        return source.stat().st_size
    return len(source) if isinstance(source, bytes) else 0
