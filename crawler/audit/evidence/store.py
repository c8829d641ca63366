"""The database of an audit: its tables, and the stores of claims and findings."""

import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from datetime import date
from importlib.resources import files
from itertools import islice
from operator import attrgetter
from pathlib import Path
from typing import Final

import msgspec
from msgspec.structs import replace

from crawler.audit.accepted import Acceptances
from crawler.audit.finding import (
    MAX_KEPT,
    MORE_URLS,
    AcceptedCount,
    AuditFinding,
    ResolvedFinding,
    RuleCount,
    UncrawledPage,
)
from crawler.audit.finding_identity import finding_identity
from crawler.audit.patterns import Segments
from crawler.audit.source_record import COUNT_NAMES, SourceRecord, SourceReport
from crawler.audit.sources.logs.bots import BotLedger
from crawler.audit.sources.urls import file_pattern
from crawler.state.database import Database, storage_errors, transaction

BATCH_ROWS: Final = 5_000  # findings in one transaction

_encode_finding = msgspec.msgpack.Encoder().encode

_PUT_FINDING: Final = """INSERT INTO finding (rule, rank, certain, likely, url, value, file, state, times, others, key)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"""

_GET_FINDINGS: Final = """SELECT value, since, new FROM finding
  WHERE rule = ? AND accepted IS NULL AND {which} ORDER BY rank DESC, url, id"""
_GET_ACCEPTED: Final = "SELECT value, since FROM finding WHERE accepted = ? ORDER BY rule, rank DESC, url, id"

_UNCRAWLED: Final = UncrawledPage.__struct_fields__
_PUT_UNCRAWLED: Final = f"INSERT INTO uncrawled VALUES ({', '.join('?' * len(_UNCRAWLED))})"  # noqa: S608 - places
_GET_UNCRAWLED: Final = f"SELECT {', '.join(_UNCRAWLED)} FROM uncrawled ORDER BY section, url"  # noqa: S608 - columns
_decode_finding = msgspec.msgpack.Decoder(AuditFinding).decode


class FindingStore:
    """The findings of an audit. Every method raises StorageError when the disk fails."""

    def __init__(self, db: sqlite3.Connection, segments: Segments | None = None) -> None:
        self._db = db
        self._segments = segments

    def put(self, findings: Iterable[tuple[float, AuditFinding]]) -> None:
        """Store findings, each with its rank: the greater, the more important.

        ``rests_on`` is stored for the comparison with the next audit, and no method returns it.
        """
        rows = iter(findings)
        if self._segments:
            rows = ((rank, self._segments.with_segment(finding)) for rank, finding in findings)
        while batch := list(islice(rows, BATCH_ROWS)):
            with transaction(self._db):
                self._db.executemany(_PUT_FINDING, (_finding_row(rank, finding) for rank, finding in batch))

    def __call__(self, rule: str) -> Iterator[AuditFinding]:
        """The findings of a rule; see :class:`crawler.audit.finding.AuditFindings`."""
        with storage_errors():
            for which in ("new", "NOT coalesce(new, 0)"):  # the index has this order already
                for packed, since, new in self._db.execute(_GET_FINDINGS.format(which=which), (rule,)):
                    finding = _decode_finding(packed)
                    yield replace(finding, since=since, is_new=None if new is None else bool(new)) if since else finding

    def resolved(self, rule: str) -> Iterator[ResolvedFinding]:
        """The resolved findings of a rule; see :class:`crawler.audit.finding.AuditFindings`."""
        with storage_errors():
            rows = self._db.execute(
                "SELECT rule, url, since, now, file, became FROM mended WHERE rule = ? ORDER BY became, since, url, id",
                (rule,),
            )
            yield from (ResolvedFinding(*row) for row in rows)

    def counts(self) -> list[RuleCount]:
        """The number of findings of each rule that has any."""
        with storage_errors():
            rows = self._db.execute(
                "SELECT rule, sum(certain), sum(NOT certain), sum(likely) FROM finding WHERE accepted IS NULL"
                " GROUP BY rule"
            )
            return [RuleCount(*row) for row in rows]

    def accept(self, acceptances: Acceptances, today: date) -> list[AcceptedCount]:
        """Set aside the findings that are accepted ``today``; returns the entries with the numbers of their findings.

        To be called after all findings are stored, and before they are counted or compared.
        """
        if not acceptances.entries:
            return []
        with transaction(self._db):
            rows = self._db.execute("SELECT id, rule, iif(url = '', file, url) FROM finding")
            accepted = [(place, number) for number, place in acceptances.find(rows, today)]
            self._db.executemany("UPDATE finding SET accepted = ? WHERE id = ?", accepted)
            query = "SELECT accepted, sum(times) FROM finding WHERE accepted IS NOT NULL GROUP BY accepted"
            return acceptances.counts(Counter(dict(self._db.execute(query))), today)

    def uncrawled(self) -> Iterator[UncrawledPage]:
        """The pages that no search engine requested; see :class:`crawler.audit.finding.AuditFindings`."""
        with storage_errors():
            for row in self._db.execute(_GET_UNCRAWLED):
                values = dict(zip(_UNCRAWLED, row, strict=True))
                yield UncrawledPage(**{**values, "is_listed": bool(values["is_listed"])})

    def put_uncrawled(self, pages: Iterable[UncrawledPage]) -> None:
        """Store pages that no search engine requested."""
        rows = (tuple(getattr(page, name) for name in _UNCRAWLED) for page in pages)
        with transaction(self._db):
            self._db.executemany(_PUT_UNCRAWLED, rows)

    def accepted(self, number: int) -> Iterator[AuditFinding]:
        """The findings that an entry accepts; see :class:`crawler.audit.finding.AuditFindings`."""
        with storage_errors():
            for packed, since in self._db.execute(_GET_ACCEPTED, (number,)):
                yield replace(_decode_finding(packed), since=since)


def _finding_row(rank: float, finding: AuditFinding) -> tuple[object, ...]:
    others = msgspec.json.encode(finding.rests_on if len(finding.rests_on) <= MAX_KEPT else [MORE_URLS]).decode()
    certain = 0 if finding.is_open else finding.times
    likely = 0 if finding.is_certain else certain
    columns = (finding.rule, rank, certain, likely, finding.url, _encode_finding(replace(finding, rests_on=[])))
    return (*columns, finding.file, finding.state, finding.times, others, finding_identity(finding))


_COLUMNS: Final = ("url", "input", "first", "last", "status", "lastmod", "agents", "pattern", "row_count", *COUNT_NAMES)

_counts = attrgetter(*COUNT_NAMES)

_ADD_UP: Final = f"""
ON CONFLICT (url, input) DO UPDATE SET
  first = CASE WHEN first = '' OR (excluded.first != '' AND excluded.first < first) THEN excluded.first
    ELSE first END,
  status = CASE WHEN excluded.status != 0 AND (status = 0 OR excluded.last >= last)
    THEN excluded.status ELSE status END,
  lastmod = max(lastmod, excluded.lastmod), last = max(last, excluded.last),
  pattern = min(pattern, excluded.pattern), row_count = row_count + excluded.row_count,
  {", ".join(f"{name} = {name} + excluded.{name}" for name in COUNT_NAMES)},
  agents = CASE WHEN excluded.agents = '{{}}' THEN agents WHEN agents = '{{}}' THEN excluded.agents ELSE
    (SELECT json_group_object(key, total) FROM (SELECT key, sum(value) AS total FROM
      (SELECT key, value FROM json_each(agents) UNION ALL SELECT key, value FROM json_each(excluded.agents))
      GROUP BY key)) END
"""  # noqa: S608 - names of columns
_PLACES: Final = ", ".join("?" * len(_COLUMNS))
_PUT_RECORD: Final = f"INSERT INTO record ({', '.join(_COLUMNS)}) VALUES ({_PLACES}) {_ADD_UP}"  # noqa: S608 - columns

_PUT_VISITOR: Final = """INSERT INTO visitor VALUES (?, ?, ?, ?)
  ON CONFLICT DO UPDATE SET errors = errors + excluded.errors"""


class ClaimStore:
    """The claims of an audit. Claims of one source for one URL add up. Every method raises StorageError."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def begin(self, report: SourceReport) -> int:
        """Store a new source, and return its number."""
        # a path need not be UTF-8, but stored text must
        report.name = report.name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
        with storage_errors():
            row = self._db.execute(
                "INSERT INTO input (source, account) VALUES (?, ?)", (report.source, msgspec.msgpack.encode(report))
            )
        assert row.lastrowid is not None  # noqa: S101 - SQLite answers an INSERT with its row
        return row.lastrowid

    def put(self, number: int, claims: Iterable[SourceRecord]) -> None:
        """Store claims of one source, in flat memory.

        Those about URLs that look like files are claims later; see :class:`ClaimReview`.
        """
        records = iter(claims)
        while batch := list(islice(records, BATCH_ROWS)):
            rows, visitors = [], []
            for claim in batch:
                pattern = "" if claim.is_page else file_pattern(claim.url)
                rows.append(_claim_row(number, claim, pattern))
                if not pattern:
                    visitors += [(claim.url, number, visitor, errors) for visitor, errors in claim.visitors.items()]
            with transaction(self._db):
                self._db.executemany(_PUT_RECORD, rows)
                self._db.executemany(_PUT_VISITOR, visitors)

    def put_successes(self, successes: Callable[[int], int]) -> None:
        """Store the successful requests from the address of each visitor, at the end of all logs."""
        with transaction(self._db):
            visitors = self._db.execute("SELECT DISTINCT visitor FROM visitor WHERE errors > 0").fetchall()
            rows = ((visitor, successes(visitor)) for (visitor,) in visitors)
            self._db.executemany("INSERT INTO success VALUES (?, ?)", rows)

    def put_ledger(self, ledger: BotLedger) -> None:
        """Store the requests of bots in all logs."""
        with transaction(self._db):
            rows = ((*key, requests) for key, requests in ledger.requests.items())
            self._db.executemany("INSERT INTO bot_request VALUES (?, ?, ?, ?)", rows)
            self._db.executemany("INSERT INTO log_day VALUES (?)", ((day,) for day in ledger.days))
            self._db.execute("INSERT INTO log_about VALUES (?)", (ledger.has_agents,))

    def end(self, number: int, report: SourceReport) -> None:
        """Store the final report of a source."""
        with storage_errors():
            self._db.execute(
                "UPDATE input SET account = ?, doubtful = ? WHERE id = ?",
                (msgspec.msgpack.encode(report), bool(report.doubt), number),
            )

    def reports(self) -> list[SourceReport]:
        """The reports of all sources, in reading order."""
        return [report for _, report in self.reports_by_number()]

    def reports_by_number(self) -> list[tuple[int, SourceReport]]:
        """The same, each with the number of its source."""
        with storage_errors():
            rows = self._db.execute("SELECT id, account FROM input ORDER BY id").fetchall()
        return [(number, msgspec.msgpack.decode(packed, type=SourceReport)) for number, packed in rows]


def _claim_row(number: int, claim: SourceRecord, pattern: str) -> tuple[object, ...]:
    agents = msgspec.json.encode(claim.agents).decode() if claim.agents else "{}"
    texts = claim.first, claim.last, claim.status, claim.lastmod, agents, pattern
    return (claim.url, number, *texts, max(1, claim.people + claim.bots), *_counts(claim))


AUDIT_FILE: Final = "audit.db"


_COUNT_COLUMNS: Final = ", ".join(f"{name} INTEGER NOT NULL DEFAULT 0" for name in COUNT_NAMES)
_TABLES: Final = (files("crawler.audit.evidence") / "audit.sql").read_text(encoding="utf-8")
AUDIT_TABLES: Final = _TABLES.replace("{counts}", _COUNT_COLUMNS)

EVIDENCE: Final = Database(
    file=AUDIT_FILE,
    tables=AUDIT_TABLES,
    description="the findings of an audit",
    remedy="Choose another directory with --state",
)


def create_audit_file(path: Path, state: Path) -> sqlite3.Connection:
    """Create an empty audit database over an older one, and attach the ``state`` as ``site``. Raises StorageError."""
    db = EVIDENCE.create(path)
    with storage_errors():
        db.execute("ATTACH ? AS site", (f"{state.absolute().as_uri()}?mode=ro",))
    return db
