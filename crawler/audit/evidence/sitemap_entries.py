"""Reads the published sitemaps once, streamed: lints them, stores their entries, and turns them into claims."""

import sqlite3
from collections.abc import Callable, Collection, Iterator
from datetime import datetime
from typing import Final

import msgspec

from crawler.audit.evidence.store import ClaimStore
from crawler.audit.finding import AuditFinding
from crawler.audit.source_record import SourceKind, SourceRecord, SourceReport
from crawler.audit.sources.cross_submit import CrossSubmitChecker, CrossSubmitLinter, reportable_findings
from crawler.audit.sources.urls import RejectReason, SourceUrlParser
from crawler.model import Url
from crawler.state.database import storage_errors, transaction
from crawler.units import count_text
from crawler.url.normalize import InvalidUrl, normalize_url
from crawler.url.params import UrlParams
from sitemap import RULES, Child, Document, Entry, Format

BATCH_ROWS: Final = 5_000  # entries in one transaction
MAX_FILES: Final = 20  # files of an index whose entries are counted one by one

_PUT: Final = "INSERT INTO entry (input, url, loc, file, line, lastmod, media, door) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
_PLACES: Final = """
SELECT e.file, e.line, min(e.url), count(*) FROM temp.place p JOIN entry e ON e.file = p.file AND e.line = p.line
GROUP BY 1, 2"""
_encode = msgspec.msgpack.Encoder().encode

_Row = tuple[int, str, str, str, int, str, bytes, str]


class SitemapEntryCollector:
    """The visitor of :func:`sitemap.walk` that does this for all sitemaps of a site as one set.

    ``addresses`` parses the URLs of the site, ``params`` are those of all canonical URLs, ``now`` is an aware datetime.
    Every method raises StorageError when the disk fails.
    """

    def __init__(
        self,
        db: sqlite3.Connection,
        addresses: SourceUrlParser,
        params: UrlParams,
        submits: CrossSubmitChecker,
        now: datetime,
    ) -> None:
        self._db = db
        self._claims = ClaimStore(db)
        self._addresses = addresses
        self._home = f"{addresses.origin}/"
        self._params = params
        self._linter = CrossSubmitLinter(submits, now)
        self._rows: list[_Row] = []
        self._records: list[SourceRecord] = []
        self._number = 0
        self._report = SourceReport(source=SourceKind.SITEMAP, name="")
        self._formats: dict[str, int] = {}
        self._files: list[tuple[str, int]] = []  # the files of an index, each with the number of its entries

    def begin_source(self, report: SourceReport) -> None:
        """Begin a source; the next documents belong to it."""
        self._report = report
        self._formats = {}
        self._files = []
        self._number = self._claims.begin(report)

    def end_source(self, document: Document | None) -> None:
        """End a source. ``document`` is its first document, None when it could not be opened."""
        self._flush()
        report = self._report
        report.format = ", ".join(f"{name} ({count:,})" if count > 1 else name for name, count in self._formats.items())
        report.notes += [f"{file}: {count_text(count, 'entry', 'entries')}" for file, count in self._files[:MAX_FILES]]
        if more := self._files[MAX_FILES:]:
            report.notes.append(f"and {len(more):,} more files with {sum(count for _, count in more):,} entries")
        if document is not None:
            report.faults += _read_problems(document)
            report.complete = not report.faults
        self._claims.end(self._number, report)

    def begin(self, document: Document) -> None:
        """See :class:`sitemap.Visitor`."""
        self._linter.begin(document)

    def items(self, document: Document, items: list[Entry | Child], line_of: Callable[[int], int]) -> None:
        """See :class:`sitemap.Visitor`."""
        self._linter.items(document, items, line_of)
        file = document.file or document.url
        for number, item in enumerate(items):
            if isinstance(item, Entry):
                self._take(item, file, line_of(number))
        if len(self._rows) >= BATCH_ROWS:
            self._flush()

    def end(self, document: Document) -> None:
        """See :class:`sitemap.Visitor`."""
        self._linter.end(document)
        name = document.format.value if document.format else "no sitemap"
        self._formats[name] = self._formats.get(name, 0) + 1
        if document.parent is not None and document.format is not Format.INDEX:
            self._files.append((document.file or document.url, document.entries))

    def finish(
        self, unpacked: Collection[str] = (), private: Collection[str] = ()
    ) -> tuple[list[AuditFinding], list[str]]:
        """The lint findings of the whole set, and sentences about what lint did not check. Call it once, at the end.

        ``unpacked`` and ``private`` are as in :func:`crawler.audit.sources.cross_submit.reportable_findings`. A finding
        is about the URL of the entry on its line, else about the file. Too many findings of one rule in one file are
        one finding with their number (``times``).
        """
        self._flush()
        with storage_errors():
            self._db.execute("CREATE INDEX entries ON entry (url)")
        report = self._linter.report()
        findings = reportable_findings(report.findings, RULES, unpacked, private)
        urls = self._urls((finding.file, finding.line) for finding in findings if finding.line)
        return [
            AuditFinding(
                rule=finding.rule,
                url=urls.get((finding.file, finding.line)) or finding.file,
                sentence=finding.sentence,
                known=[SourceKind.SITEMAP],
                file=finding.file,
                line=finding.line,
                times=finding.times,
            )
            for finding in findings
        ], list(report.not_checked)

    def _take(self, entry: Entry, file: str, line: int) -> None:
        report = self._report
        report.rows += 1
        url: Url | str
        alias_url = ""
        match self._addresses.parse(entry.loc):
            case RejectReason.UNREAD | RejectReason.NO_URL:
                report.unread += 1
                url = ""
            case RejectReason.FOREIGN:
                report.foreign += 1
                url = self._plain_loc(entry.loc)
            case url:
                report.used += 1
                self._records.append(SourceRecord(url=url, lastmod=entry.lastmod, is_page=True))
                if not entry.loc.startswith(self._home) and (loc_url := self._plain_loc(entry.loc)) != url:
                    alias_url = loc_url
        media = b""
        if entry.images or entry.videos or entry.alternates:
            media = _encode(
                (
                    [image.loc for image in entry.images],
                    [(video.thumbnail_loc, video.content_loc, video.player_loc) for video in entry.videos],
                    [(version.hreflang, version.href) for version in entry.alternates],
                )
            )
        self._rows.append((self._number, url, entry.loc, file, line, entry.lastmod, media, alias_url))

    def _plain_loc(self, loc: str) -> str:
        try:
            return normalize_url(loc, self._params)
        except InvalidUrl:
            return ""

    def _flush(self) -> None:
        if self._rows:
            with transaction(self._db):
                self._db.executemany(_PUT, self._rows)
            self._claims.put(self._number, self._records)
            self._rows, self._records = [], []

    def _urls(self, places: Iterator[tuple[str, int]]) -> dict[tuple[str, int], str]:
        """The URL of the entry at each place, if exactly one entry begins there."""
        with storage_errors():
            self._db.execute(
                "CREATE TEMP TABLE place (file TEXT, line INTEGER, PRIMARY KEY (file, line)) WITHOUT ROWID"
            )
            self._db.executemany("INSERT OR IGNORE INTO temp.place VALUES (?, ?)", places)
            rows = self._db.execute(_PLACES).fetchall()
            self._db.execute("DROP TABLE temp.place")
        return {(file, line): url for file, line, url, count in rows if count == 1}


def _read_problems(root: Document) -> list[str]:
    """Sentences about the documents of a tree that could not be read completely."""
    problems: list[str] = []
    pending = [root]
    while pending:
        document = pending.pop()
        pending += reversed(document.children)
        name = document.file or "the document"
        if document.refusal:
            problems.append(f"{name} is not a sitemap: {document.refusal}")
        elif document.cut:
            problems.append(f"{name}: {document.cut}")
        elif not document.complete:
            problems.append(f"{name} could not be read to its end")
        if document.format is Format.INDEX:
            problems += (
                f"{name} line {finding.line}: {finding.sentence}" if finding.line else f"{name}: {finding.sentence}"
                for finding in document.of_index.all()
                if finding.rule in ("index.child_unreadable", "index.too_deep")
            )
    return list(dict.fromkeys(problems))
