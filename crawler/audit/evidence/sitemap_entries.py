"""Reads the sitemaps that are out there once, streamed: judged by lint, kept entry by entry, and turned into claims."""

import sqlite3
from collections.abc import Callable, Collection, Iterator
from datetime import datetime
from typing import Final

import msgspec

from crawler.audit.claim import SourceKind, SourceRecord, SourceReport
from crawler.audit.evidence.store import ClaimStore
from crawler.audit.finding import AuditFinding
from crawler.audit.sources.cross_submit import CrossSubmitChecker, TrustingLinter, reportable_findings
from crawler.audit.sources.urls import RejectReason, SourceUrlParser
from crawler.model import Url
from crawler.state.database import storage_errors, transaction
from crawler.url.normalize import InvalidUrl, normalize_url
from crawler.url.params import UrlParams
from sitemap import RULES, Child, Document, Entry, Format, Video

BATCH_ROWS: Final = 5_000  # entries in one transaction
_ONE_PER_FILE_RULES: Final = ("location.outside",)  # a fault of where the file lies, and not of each entry
MAX_FILES: Final = 20  # of an index that are told with their entries

_PUT: Final = (
    "INSERT INTO entry (input, url, loc, file, line, lastmod, media, door) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
)
_PLACES: Final = """
SELECT e.file, e.line, min(e.url), count(*) FROM temp.place p JOIN entry e ON e.file = p.file AND e.line = p.line
GROUP BY 1, 2"""
_encode = msgspec.msgpack.Encoder().encode

_Row = tuple[int, str, str, str, int, str, bytes, str]


class SitemapEntryCollector:
    """The visitor of :func:`sitemap.walk` that does all of this at once, for all sitemaps of a site as one set.

    ``addresses`` knows the URLs of the site, ``params`` are what all URLs are made with, ``now`` is an aware datetime.
    Every method raises StorageError when the disk refuses.
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
        self._linter = TrustingLinter(submits, now)
        self._rows: list[_Row] = []
        self._found: list[SourceRecord] = []
        self._number = 0
        self._account = SourceReport(source=SourceKind.SITEMAP, name="")
        self._formats: dict[str, int] = {}
        self._files: list[str] = []  # those below an index, in words
        self._more = (0, 0)  # files, and their entries, beyond these

    def begin_source(self, account: SourceReport) -> None:
        """What is walked through next is this source."""
        self._account = account
        self._formats = {}
        self._files, self._more = [], (0, 0)
        self._number = self._claims.begin(account)

    def end_source(self, document: Document | None) -> None:
        """The source is over; ``document`` is the first one of it, None when it could not be opened."""
        self._flush()
        account = self._account
        account.format = ", ".join(
            f"{name} ({count:,})" if count > 1 else name for name, count in self._formats.items()
        )
        account.notes += self._files
        files, entries = self._more
        if files:
            account.notes.append(f"and {files:,} more files with {entries:,} entries")
        if document is not None:
            account.faults += _read_problems(document)
            account.complete = not account.faults
        self._claims.end(self._number, account)

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
        if document.parent is None or document.format is Format.INDEX:
            return
        if len(self._files) < MAX_FILES:
            said = "1 entry" if document.entries == 1 else f"{document.entries:,} entries"
            self._files.append(f"{document.file or document.url}: {said}")
        else:
            self._more = self._more[0] + 1, self._more[1] + document.entries

    def finish(
        self, unpacked: Collection[str] = (), private: Collection[str] = ()
    ) -> tuple[list[AuditFinding], list[str]]:
        """What lint finds in the whole set, and what could not be judged, in sentences. To be called once, at the end.

        ``unpacked`` and ``private`` as :func:`crawler.audit.sources.cross_submit.told` has them. A finding is about
        the URL of
        the entry that begins on its line, if there is one, else about the file. Of those of one rule in one file that
        are too many to keep there is one with their number (``times``).
        """
        self._flush()
        with storage_errors():
            self._db.execute("CREATE INDEX entries ON entry (url)")
        report = self._linter.report()
        found = reportable_findings(report.findings, RULES, unpacked, private, _ONE_PER_FILE_RULES)
        urls = self._urls((each.file, each.line) for each in found if each.line)
        return [
            AuditFinding(
                rule=each.rule,
                url=urls.get((each.file, each.line)) or each.file,
                sentence=each.sentence,
                known=[SourceKind.SITEMAP],
                file=each.file,
                line=each.line,
                times=each.times,
            )
            for each in found
        ], list(report.not_checked)

    def _take(self, entry: Entry, file: str, line: int) -> None:
        account = self._account
        account.rows += 1
        url: Url | str
        door = ""
        match self._addresses.parse(entry.loc):
            case RejectReason.UNREAD:
                account.unread += 1
                url = ""
            case RejectReason.FOREIGN:
                account.foreign += 1
                url = self._plain_loc(entry.loc)
            case RejectReason.NOT_A_PAGE:
                account.beside += 1
                url = self._plain_loc(entry.loc)
            case url:
                account.used += 1
                self._found.append(SourceRecord(url=url, lastmod=entry.lastmod))
                if not entry.loc.startswith(self._home) and (own := self._plain_loc(entry.loc)) != url:
                    door = own
        media = b""
        if entry.images or entry.videos or entry.alternates:
            media = _encode(
                (
                    [image.loc for image in entry.images],
                    [_video_urls(video) for video in entry.videos],
                    [(each.hreflang, each.href) for each in entry.alternates],
                )
            )
        self._rows.append((self._number, url, entry.loc, file, line, entry.lastmod, media, door))

    def _plain_loc(self, loc: str) -> str:
        try:
            return normalize_url(loc, self._params)
        except InvalidUrl:
            return ""

    def _flush(self) -> None:
        if self._rows:
            with transaction(self._db):
                self._db.executemany(_PUT, self._rows)
            self._claims.put(self._number, self._found)
            self._rows, self._found = [], []

    def _urls(self, places: Iterator[tuple[str, int]]) -> dict[tuple[str, int], str]:
        """The URLs of the entries that begin at these places, where one does and no other."""
        with storage_errors():
            self._db.execute(
                "CREATE TEMP TABLE place (file TEXT, line INTEGER, PRIMARY KEY (file, line)) WITHOUT ROWID"
            )
            self._db.executemany("INSERT OR IGNORE INTO temp.place VALUES (?, ?)", places)
            rows = self._db.execute(_PLACES).fetchall()
            self._db.execute("DROP TABLE temp.place")
        return {(file, line): url for file, line, url, count in rows if count == 1}


def _video_urls(video: Video) -> tuple[str, str, str]:
    return video.thumbnail_loc, video.content_loc, video.player_loc


def _read_problems(root: Document) -> list[str]:
    """Why not all of the entries of a tree are known, in sentences."""
    said: list[str] = []
    waiting = [root]
    while waiting:
        document = waiting.pop()
        waiting += reversed(document.children)
        name = document.file or "the document"
        if document.refusal:
            said.append(f"{name} is no sitemap: {document.refusal}")
        elif document.cut:
            said.append(f"{name}: {document.cut}")
        elif not document.complete:
            said.append(f"{name} could not be read to its end")
        if document.format is Format.INDEX:
            said += (
                f"{name} line {each.line}: {each.sentence}" if each.line else f"{name}: {each.sentence}"
                for each in document.of_index.all()
                if each.rule in ("index.child_unreadable", "index.too_deep")
            )
    return list(dict.fromkeys(said))
