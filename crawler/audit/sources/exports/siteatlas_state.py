"""Reads another crawl from a state directory of siteatlas: the indexable pages of its last run."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from crawler.audit.source_record import SourceRecord, SourceReport
from crawler.audit.sources.urls import RejectReason, SourceUrlParser, count_row
from crawler.errors import StorageError, UsageError
from crawler.model import State
from crawler.state.database import storage_errors
from crawler.state.schema import STATE_DB

_PAGES = """
SELECT url.url, visit.state, visit.status, visit.seen_at FROM visit JOIN url USING (id) WHERE visit.kind = 0
"""
# A view may have rows without end; a table has no more than its file.
_REAL_TABLES = (
    "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND rootpage AND name IN ('run', 'url', 'visit')"
)
MAX_VALUE: Final = 2**24  # bytes of a value that a foreign file may make


def find_state(name: str) -> Path | None:
    """The state database at a path, which may be its directory; None for other files.

    Raises UsageError for a directory without a state or with several, and for an unreadable path.
    """
    path = Path(name)
    try:
        if path.is_file():
            with path.open("rb") as file:
                return path if file.read(16) == b"SQLite format 3\x00" else None
        if not path.is_dir():
            return None
        states = [path / STATE_DB.file] if (path / STATE_DB.file).is_file() else sorted(path.glob(f"*/{STATE_DB.file}"))
    except OSError as error:
        raise UsageError(f"{name} cannot be read: {error.strerror or error}") from None
    if len(states) != 1:
        several = ", ".join(str(file.parent) for file in states[:5])
        raise UsageError(
            f"{name} contains the states of several sites: choose one of {several}"
            if states
            else f"{name} contains no state of siteatlas ({STATE_DB.file}): give a state directory, or a table"
        )
    return states[0]


def check_state(path: Path) -> None:
    """Raise UsageError when the database cannot be read."""
    try:
        STATE_DB.open_read_only(path).close()
    except StorageError as error:
        raise UsageError(f"the state of the other crawl in {path} cannot be read: {error}") from None


def read_state(path: Path, report: SourceReport, addresses: SourceUrlParser) -> Iterator[SourceRecord]:
    """The indexable pages of the last run. Raises UsageError, StorageError."""
    report.format = "siteatlas state"
    report.bytes = path.stat().st_size
    with closing(STATE_DB.open_read_only(path)) as db, storage_errors():
        db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_VALUE)
        if db.execute(_REAL_TABLES).fetchone() != (3,):
            raise UsageError(f"{path} is no state that siteatlas wrote: its tables are views")
        _note_incomplete_run(
            report, db.execute("SELECT completeness, ended FROM run ORDER BY number DESC LIMIT 1").fetchone()
        )
        for text, state, status, seen_at in db.execute(_PAGES):
            report.rows += 1
            if url := count_row(report, addresses.parse(text) if state == State.INDEXABLE else RejectReason.NO_URL):
                day = datetime.fromtimestamp(seen_at, UTC).date().isoformat() if seen_at else ""
                report.first = min(report.first or day, day)
                report.last = max(report.last, day)
                yield SourceRecord(url=url, first=day, last=day, status=status or 0, is_page=True)
    if report.beside:
        report.notes.append(f"{report.beside:,} of its {report.rows:,} URLs are not indexable pages")


def _note_incomplete_run(report: SourceReport, run: tuple[str, float | None] | None) -> None:
    if run is None or run[1] is None:
        report.notes.append("the crawl that wrote this file is still running: it may find more pages")
    elif run[0] and run[0] != "complete":
        report.notes.append(f"the crawl that wrote this file was {run[0]}: it may not have found every page")
