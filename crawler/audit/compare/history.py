"""Reads the history of audits, ``audits.db`` beside their state: the finished audits, and the findings of the last."""

from importlib.resources import files
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import Struct

from crawler.audit.summary import AuditSummary
from crawler.errors import SiteatlasError
from crawler.state.database import Database
from crawler.state.lock import lock_holder
from crawler.state.runs import Run, RunStore
from crawler.state.schema import STATE_DB
from sitemap import Severity

AUDIT_HISTORY_DB: Final = Database(
    file="audits.db",
    application_id=0x53_41_41_55,  # "SAAU"
    version=1,
    tables=(files("crawler.audit.compare") / "history.sql").read_text(encoding="utf-8"),
    description="the history of audits",
    remedy="Move the file away. The next audit then has nothing to compare with",
)
_decode = msgspec.msgpack.Decoder(AuditSummary).decode


class AuditStatus(Struct, frozen=True, kw_only=True):
    """The status of a site's audits: ``last`` summarizes the last finished one, if any.

    ``newest`` is the record of the last that began, and ``holder`` the process that is auditing, or "".
    """

    last: AuditSummary | None = None
    newest: Run | None = None
    holder: str = ""

    @property
    def is_finished(self) -> bool:
        """Whether the last that began has finished."""
        return self.newest is None or (self.last is not None and self.last.number >= self.newest.number)

    @property
    def errors(self) -> int:
        """The findings of the last finished one whose rules are errors."""
        return self.last.severities.get(Severity.ERROR, 0) if self.last else 0

    @property
    def trouble(self) -> str:
        """Why the last that began has no result, in a sentence; "" if it has one, or is still running."""
        run = self.newest
        if run is None or self.is_finished or self.holder:
            return ""
        if run.is_open:
            reason = run.refusal or run.reason
            return f"it was cut short{f' ({reason})' if reason else ''}, and the next one continues it"
        return run.refusal or "it was cut short while its report was written, and the next run audits again"


class StoredFinding(Struct, frozen=True):
    """A finding in the history; ``is_inconclusive``: the last audit could not decide whether it persists."""

    rule: str
    since: str
    is_certain: bool
    is_inconclusive: bool


def finished_audits(directory: Path, last: int = -1) -> list[AuditSummary]:
    """The ``last`` finished audits in the history, or all of them, the oldest first.

    Raises StorageError, UsageError as :meth:`crawler.state.database.Database.reading`.
    """
    return _read(directory, f"ORDER BY number DESC LIMIT {last}")[::-1]


def audit_status(directory: Path) -> AuditStatus:
    """The status of the audits whose state is in this directory. Raises StorageError, UsageError."""
    if not STATE_DB.is_in(directory):
        return AuditStatus()
    with STATE_DB.reading(directory) as db:
        newest = RunStore(db).last(1)
    last = _read(directory, "ORDER BY number DESC LIMIT 1")
    return AuditStatus(
        last=last[0] if last else None, newest=newest[0] if newest else None, holder=lock_holder(directory)
    )


def is_audit_due(directory: Path, every: float, now: float) -> bool:
    """Whether the last finished audit began at least ``every`` seconds ago, or one is unfinished."""
    try:
        audits = audit_status(directory)
    except SiteatlasError:  # the audit itself reports the fault
        return True
    return not audits.is_finished or audits.last is None or not 0 <= now - audits.last.started < every


def stored_findings(directory: Path, url: str) -> list[StoredFinding]:
    """The findings about a URL. Raises StorageError, UsageError."""
    rows = _rows(directory, "SELECT rule, since, certain, missed FROM finding WHERE url = ? ORDER BY since, id", url)
    return [StoredFinding(rule, since, bool(certain), bool(missed)) for rule, since, certain, missed in rows]


def _read(directory: Path, clause: str) -> list[AuditSummary]:
    rows = _rows(directory, f"SELECT news FROM audit {clause}")  # noqa: S608 - our words
    with AUDIT_HISTORY_DB.used(directory / AUDIT_HISTORY_DB.file):
        return [_decode(news) for (news,) in rows]


def _rows(directory: Path, query: str, *values: str) -> list[tuple[Any, ...]]:
    """The rows of a query; none if there is no history."""
    if not AUDIT_HISTORY_DB.is_in(directory):
        return []
    with AUDIT_HISTORY_DB.reading(directory) as db:
        return db.execute(query, values).fetchall()
