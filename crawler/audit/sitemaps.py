"""Which sitemaps an audit reads: those that a person named, or those that the site itself names; and their reading."""

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import BinaryIO, Final

from crawler.audit.claim import SourceKind, SourceReport
from crawler.audit.evidence.sitemap_entries import SitemapEntryCollector
from crawler.audit.finding import AuditFinding
from crawler.audit.sources.cross_submit import MAX_HOSTS, CrossSubmitChecker
from crawler.audit.sources.urls import SourceUrlParser
from crawler.config.plan import CrawlPlan
from crawler.crawl.documents import DocumentSource, is_url, looks_like_html, named_files, open_documents
from crawler.crawl.download import DocumentNotFound, Downloader, origins_of
from crawler.errors import UsageError
from crawler.state.status import published_sitemap_url
from crawler.url.normalize import InvalidUrl, normalize_url, origin_of
from sitemap import Document, ReadLimits, SourceError, TreeLimits, walk

MAX_NOTES: Final = 100
"""Findings of one rule in one file that are told one by one; of the others their number."""
MAX_REDIRECTS: Final = 20  # that are named
DEFAULT_PATH: Final = "/sitemap.xml"


@dataclass(frozen=True, slots=True)
class SitemapReadings:
    """What the reading brought besides claims and entries: what lint found, and what a person should know."""

    findings: list[AuditFinding]
    notes: list[str]


def read_sitemaps(
    plan: CrawlPlan,
    db: sqlite3.Connection,
    addresses: SourceUrlParser,
    now: float,
    watch: Callable[[str], object] = lambda _: None,
) -> SitemapReadings:
    """Read all sitemaps of a site into the tables ``input``, ``claim`` and ``entry`` of ``db``. ``now`` is Unix time.

    ``watch`` is told the name of each sitemap when its turn comes. What the site itself names and cannot be had, and
    any child that cannot, makes the account of it incomplete.
    Raises UsageError and NothingCrawlable for what a person named and cannot be read, StorageError.
    """
    config = plan.config
    words = config.audit.sitemaps
    urls = [word for word in words if is_url(word)]
    with Downloader(config, origins_of([plan.seed, *urls]), config.fetch.max_sitemap, plan.source) as remote:
        submits = CrossSubmitChecker(remote.robots, addresses.alias_origins)
        published = SitemapEntryCollector(
            db, addresses, plan.params, submits, datetime.fromtimestamp(now, UTC)
        )
        reading = _SitemapSources(plan, remote, published, watch)
        reading.read_named(words) if words else reading.read_own()
        findings, not_judged = published.finish(remote.unpacked, remote.private)
        notes = [*reading.notes, *not_judged]
        redirects = dict.fromkeys(remote.redirects)
        notes += [f"{asked} redirects to {answered}" for asked, answered in islice(redirects, MAX_REDIRECTS)]
        if submits.full:
            notes.append(f"the robots.txt of {MAX_HOSTS} other hosts were asked, and of no more")
    return SitemapReadings([*reading.findings, *findings], notes)


def check_sitemaps(words: tuple[str, ...]) -> None:
    """Whether the files that a person named are there. Raises UsageError."""
    named_files(_reject_stdin(words), "")


class _SitemapSources:
    """One reading of all of them."""

    def __init__(
        self,
        plan: CrawlPlan,
        remote: Downloader,
        published: SitemapEntryCollector,
        watch: Callable[[str], object],
    ) -> None:
        self.notes: list[str] = []
        self.findings: list[AuditFinding] = []
        self._nowhere: list[str] = []  # where a sitemap was looked for in vain
        self._plan = plan
        self._downloader = remote
        self._published = published
        self._watch = watch
        self._taken: set[str] = set()  # where documents really are that were read
        fetch = plan.config.fetch
        self._limits = TreeLimits(read=ReadLimits(fetch.max_sitemap, max_findings=MAX_NOTES))

    def read_named(self, words: tuple[str, ...]) -> None:
        """Those that a person named."""
        files = named_files(_reject_stdin(words), "")
        for place in open_documents(words, files, "", self._downloader, self.notes.append):
            name = str(place.source) if isinstance(place.source, Path) else place.url
            self._read(name, place)

    def read_own(self) -> None:
        """Those that robots.txt names, the one that is where it usually is, and the one that is published here."""
        home = origin_of(self._plan.seed)
        named = list(dict.fromkeys(map(self._public_url, self._downloader.rules(home).sitemaps)))
        is_read = False
        for url in named:
            is_read |= self._read_url(url)
        ours = published_sitemap_url(self._plan.state.parent, self._plan.sitemap_url)
        for url in dict.fromkeys((home + DEFAULT_PATH, ours)):
            if url not in named:
                is_read |= self._read_default(url)
        if not named and not is_read:
            nowhere = " and ".join(self._nowhere)
            self.notes.append(f"the site has no sitemap: robots.txt names none, and {nowhere}")

    def _read_url(self, url: str) -> bool:
        try:
            where, content = self._locate(url)
        except SourceError as error:
            # what is not there lists nothing that could be unknown
            self._note_loss(url, str(error), is_whole=isinstance(error, DocumentNotFound))
            if str(error) not in self._downloader.private:
                self._note_bad_declaration(url, str(error))
            return False
        return self._read_document(url, where, content)

    def _note_bad_declaration(self, url: str, fault: str) -> None:
        """That robots.txt names what is no sitemap."""
        self.findings.append(
            AuditFinding(
                rule="declared.unreadable",
                url=url,
                sentence=f"robots.txt names it as a sitemap, and it cannot be read: {fault}",
                known=[SourceKind.SITEMAP],
                file=url,
            )
        )

    def _read_default(self, url: str) -> bool:
        """Read what may be there; a page in its place is none."""
        shown = url.removeprefix(origin_of(self._plan.seed))
        try:
            where, content = self._locate(url)
        except DocumentNotFound:
            self._nowhere.append(f"there is no {shown}")
            return False
        except SourceError as error:
            self._note_loss(url, str(error))
            return False
        if looks_like_html(content):
            self._nowhere.append(f"{shown} answers with an HTML page, which is no sitemap")
            return False
        return self._read_document(url, where, content)

    def _read_document(self, url: str, where: str, content: bytes) -> bool:
        """Read a document, unless it was read under another name: many sites redirect the usual one."""
        if where not in self._taken:
            self._taken.add(where)
            self._read(url, DocumentSource(content, where, self._open))
        return True

    def _open(self, url: str) -> bytes:
        return self._locate(url)[1]

    def _locate(self, url: str) -> tuple[str, bytes]:
        meant = self._public_url(url)
        self._downloader.check_robots(meant)
        return self._downloader.locate(meant)

    def _public_url(self, url: str) -> str:
        """A URL as the public knows it: a site that is read elsewhere may name that place."""
        try:
            return normalize_url(url, self._plan.params.keeping_all)
        except InvalidUrl:
            return url

    def _note_loss(self, name: str, fault: str, *, is_whole: bool = False) -> None:
        self._watch(name)
        self._published.begin_source(
            SourceReport(source=SourceKind.SITEMAP, name=name, complete=is_whole, faults=[fault])
        )
        self._published.end_source(None)

    def _read(self, name: str, place: DocumentSource) -> None:
        self._watch(name)
        account = SourceReport(source=SourceKind.SITEMAP, name=name, bytes=_size(place.source))
        self._published.begin_source(account)
        document: Document | None = None
        try:
            opener = self._counting(place.opener, account) if place.opener else None
            document = walk(place.source, self._published, opener=opener, url=place.url, limits=self._limits)
        except SourceError as error:
            raise UsageError(str(error)) from None
        finally:
            self._published.end_source(document)

    def _counting(self, opener: Callable[[str], bytes], account: SourceReport) -> Callable[[str], bytes]:
        def opened(url: str) -> bytes:
            self._watch(url)
            content = opener(url)
            account.bytes += len(content)
            return content

        return opened


def _reject_stdin(words: tuple[str, ...]) -> tuple[str, ...]:
    if "-" in words:
        raise UsageError("an audit does not read sitemaps from the standard input: name files or URLs")
    return words


def _size(source: Path | bytes | BinaryIO) -> int:
    if isinstance(source, Path):
        return source.stat().st_size
    return len(source) if isinstance(source, bytes) else 0
