"""Keeps the results of Google's APIs, and counts the requests of each day, in the memory of the audits."""

import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Self

from crawler.audit.sources.google.reports import DateSpan
from crawler.state.database import Database, storage_errors, transaction

_INSPECTION_TABLE: Final = """
CREATE TABLE inspection (
  name TEXT NOT NULL,                         -- of the API and its property
  url TEXT NOT NULL,
  day TEXT NOT NULL,                          -- UTC
  body BLOB NOT NULL,                         -- JSON of inspection.IndexStatus
  PRIMARY KEY (name, url)
) WITHOUT ROWID;
"""


def _from_1(db: sqlite3.Connection) -> None:
    """Version 1 had no inspections."""
    db.execute(_INSPECTION_TABLE)


GOOGLE_DB: Final = Database(
    file="google.db",
    application_id=0x53_41_47_4F,  # "SAGO"
    version=2,
    tables=f"""{_INSPECTION_TABLE}
CREATE TABLE page (                           -- the responses of a report
  name TEXT NOT NULL,                         -- of the report and its property
  first TEXT NOT NULL,                        -- the days of the report
  last TEXT NOT NULL,
  start INTEGER NOT NULL,                     -- index of its first row
  following INTEGER,                          -- index of the next row, NULL: no rows follow
  body BLOB NOT NULL,                         -- compressed
  PRIMARY KEY (name, first, last, start)
) WITHOUT ROWID;
CREATE TABLE request (
  name TEXT NOT NULL,
  day TEXT NOT NULL,                          -- UTC
  requests INTEGER NOT NULL,
  PRIMARY KEY (name, day)
) WITHOUT ROWID;
""",
    description="the results of Google's APIs",
    remedy="move the file away: the next audit then requests them again",
    migrations={1: _from_1},
)
_COUNT: Final = """INSERT INTO request VALUES (?, ?, 1)
  ON CONFLICT (name, day) DO UPDATE SET requests = requests + 1"""


class ApiCache:
    """The stored results of one API for one property: its ``name``. Every method raises StorageError."""

    def __init__(self, db: sqlite3.Connection, name: str) -> None:
        self._db = db
        self._name = name

    @classmethod
    @contextmanager
    def opened(cls, directory: Path, name: str) -> Iterator[Self]:
        """Open the results in a directory, created when missing. Raises StorageError, UsageError."""
        db = GOOGLE_DB.open(directory / GOOGLE_DB.file)
        try:
            yield cls(db, name)
        finally:
            db.close()

    def requests(self, day: str) -> int:
        """The number of requests of a day (UTC)."""
        with storage_errors(GOOGLE_DB.description):
            query = "SELECT requests FROM request WHERE name = ? AND day = ?"
            row = self._db.execute(query, (self._name, day)).fetchone()
        return int(row[0]) if row else 0

    def count_request(self, day: str) -> None:
        """Count a request before it is sent, and forget those of earlier days."""
        with transaction(self._db, GOOGLE_DB.description):
            self._db.execute("DELETE FROM request WHERE name = ? AND day != ?", (self._name, day))
            self._db.execute(_COUNT, (self._name, day))


class InspectionCache(ApiCache):
    """The stored index statuses of the URLs of a property."""

    def put(self, url: str, day: str, body: bytes) -> None:
        """Store the result for a URL in place of an earlier one."""
        with transaction(self._db, GOOGLE_DB.description):
            self._db.execute("INSERT OR REPLACE INTO inspection VALUES (?, ?, ?, ?)", (self._name, url, day, body))

    def results(self) -> Iterator[tuple[str, str, bytes]]:
        """All stored results: URL, day (UTC) and JSON."""
        with storage_errors(GOOGLE_DB.description):
            query = "SELECT url, day, body FROM inspection WHERE name = ?"
            yield from self._db.execute(query, (self._name,))


class ReportCache(ApiCache):
    """The stored rows of one report."""

    def missing_row(self, span: DateSpan) -> int | None:
        """The index of the first row that is not stored, None: all are."""
        with storage_errors(GOOGLE_DB.description):
            query = "SELECT following FROM page WHERE name = ? AND first = ? AND last = ? ORDER BY start DESC LIMIT 1"
            row = self._db.execute(query, (self._name, span.first, span.last)).fetchone()
        return row[0] if row else 0

    def last_complete(self) -> DateSpan | None:
        """The latest days whose rows are all stored."""
        with storage_errors(GOOGLE_DB.description):
            query = (
                "SELECT first, last FROM page WHERE name = ? AND following IS NULL ORDER BY last DESC, first LIMIT 1"
            )
            row = self._db.execute(query, (self._name,)).fetchone()
        return DateSpan(*row) if row else None

    def put(self, span: DateSpan, start: int, following: int | None, body: bytes) -> None:
        """Store a response. The last one of a report replaces the reports of other days."""
        values = (self._name, span.first, span.last)
        with transaction(self._db, GOOGLE_DB.description):
            packed = zlib.compress(body, 1)
            self._db.execute(
                "INSERT OR REPLACE INTO page VALUES (?, ?, ?, ?, ?, ?)", (*values, start, following, packed)
            )
            if following is None:
                self._db.execute("DELETE FROM page WHERE name = ? AND (first, last) != (?, ?)", values)

    def bodies(self, span: DateSpan) -> Iterator[tuple[int, bytes]]:
        """The stored responses, in order, each with the index of its first row."""
        with storage_errors(GOOGLE_DB.description):
            query = "SELECT start, body FROM page WHERE name = ? AND first = ? AND last = ? ORDER BY start"
            for start, packed in self._db.execute(query, (self._name, span.first, span.last)):
                yield start, zlib.decompress(packed)
