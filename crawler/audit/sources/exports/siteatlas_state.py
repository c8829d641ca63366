"""Reads another crawl out of a state directory of ours: the pages that its last run found worth listing."""

from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from crawler.audit.claim import SourceRecord, SourceReport
from crawler.audit.sources.urls import RejectReason, SourceUrlParser
from crawler.errors import StorageError, UsageError
from crawler.model import State
from crawler.state.database import storage_errors
from crawler.state.migrations import STATE_DB

_PAGES = """
SELECT url.url, visit.state, visit.status, visit.seen_at FROM visit JOIN url USING (id) WHERE visit.kind = 0
"""


def find_state(name: str) -> Path | None:
    """The database that a directory or a file of this name is, None when it is something else.

    Raises UsageError for a directory without one, or with several, and for what cannot be read.
    """
    path = Path(name)
    try:
        if path.is_file():
            with path.open("rb") as file:
                return path if file.read(16) == b"SQLite format 3\x00" else None
        if not path.is_dir():
            return None
        inside = (
            [path / STATE_DB.file]
            if (path / STATE_DB.file).is_file()
            else sorted(path.glob(f"*/{STATE_DB.file}"))
        )
    except OSError as error:
        raise UsageError(f"{name} cannot be read: {error.strerror or error}") from None
    if len(inside) != 1:
        several = ", ".join(str(each.parent) for each in inside[:5])
        raise UsageError(
            f"{name} holds the states of several sites: name one of {several}"
            if inside
            else f"{name} holds no state of siteatlas ({STATE_DB.file}), and is no table"
        )
    return inside[0]


def check_state(path: Path) -> None:
    """Raises UsageError when the database is none that can be read, in the words of whoever named it."""
    try:
        STATE_DB.open_read_only(path).close()
    except StorageError as error:
        raise UsageError(f"{path} cannot be read as another crawl: {error}") from None


def read_state(path: Path, account: SourceReport, addresses: SourceUrlParser) -> Iterator[SourceRecord]:
    """The indexable pages of the last run. Raises UsageError, StorageError."""
    account.format = "siteatlas state"
    account.bytes = path.stat().st_size
    with closing(STATE_DB.open_read_only(path)) as db, storage_errors():
        _note_incomplete_run(
            account, db.execute("SELECT completeness, ended FROM run ORDER BY number DESC LIMIT 1").fetchone()
        )
        for text, state, status, seen_at in db.execute(_PAGES):
            account.rows += 1
            url = addresses.parse(text)
            if state != State.INDEXABLE or url is RejectReason.NOT_A_PAGE:
                account.beside += 1
            elif url is RejectReason.FOREIGN:
                account.foreign += 1
            elif isinstance(url, RejectReason):
                account.unread += 1
            else:
                account.used += 1
                seen = datetime.fromtimestamp(seen_at, UTC).date().isoformat() if seen_at else ""
                account.first = min(account.first or seen, seen)
                account.last = max(account.last, seen)
                yield SourceRecord(url=url, first=seen, last=seen, status=status or 0)
    if account.beside:
        account.notes.append(
            f"{account.beside:,} of its {account.rows:,} URLs are no pages that can be indexed"
        )


def _note_incomplete_run(account: SourceReport, run: tuple[str, float | None] | None) -> None:
    if run is None or run[1] is None:
        account.notes.append("that crawl is not over yet: it may know more later")
    elif run[0] and run[0] != "complete":
        account.notes.append(f"that crawl was {run[0]}: it may not know every page")
