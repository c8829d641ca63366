"""The audits of a site that came to their end, each as others are told of it: ``audits.db`` beside their state."""

from contextlib import closing
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from crawler.audit_news import AuditNews
from crawler.database import Database, change, is_kept, storage
from crawler.lock import holder
from crawler.memory.runs import Run, Runs
from crawler.state.schema import STATE

AUDIT: Final = "audit"  # the directory in that of a site where its audits are remembered
AUDITS: Final = Database(
    file="audits.db",
    mark=0x53_41_41_55,  # "SAAU"
    version=1,
    tables="CREATE TABLE audit (number INTEGER PRIMARY KEY, news BLOB NOT NULL);  -- msgpack of AuditNews\n",
    what="memory of audits",
    remedy="move it away: what others were not told yet of audits is then forgotten",
)
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(AuditNews).decode


class AuditStanding(Struct, frozen=True, kw_only=True):
    """How the audits of a site stand: ``last`` is what the last one found that came to its end, if any did.

    ``newest`` is the record of the last that was begun, and ``holder`` the process that is auditing, or "".
    """

    last: AuditNews | None = None
    newest: Run | None = None
    holder: str = ""

    @property
    def is_over(self) -> bool:
        """Whether the last that was begun has come to its end."""
        return self.newest is None or (self.last is not None and self.last.number >= self.newest.number)

    @property
    def trouble(self) -> str:
        """Why the last that was begun told nothing, in a sentence; "" when it did, or is going on."""
        run = self.newest
        if run is None or self.is_over or self.holder:
            return ""
        if run.is_open:
            why = run.refusal or run.because
            return f"it was cut short{f' ({why})' if why else ''}, and the next one goes on with it"
        return run.refusal or "it was cut short while its report was written, and the next run audits again"


def keep(directory: Path, news: AuditNews, keep: int) -> None:
    """Remember an audit that has come to its end, and of all of them the last ``keep``. Raises StorageError."""
    with closing(AUDITS.connect(directory / AUDITS.file)) as db, change(db):
        db.execute("INSERT OR REPLACE INTO audit VALUES (?, ?)", (news.number, _encode(news)))
        db.execute("DELETE FROM audit WHERE number <= ?", (news.number - keep,))


def ended(directory: Path) -> list[AuditNews]:
    """The audits that came to their end and are remembered, the oldest first.

    Raises StorageError, UsageError as :meth:`crawler.database.Database.look`.
    """
    return _read(directory, "ORDER BY number")


def standing(directory: Path) -> AuditStanding:
    """How the audits stand whose state is in this directory. Raises StorageError, UsageError."""
    if not is_kept(directory / STATE.file):
        return AuditStanding()
    with closing(STATE.look(directory / STATE.file)) as db:
        newest = Runs(db).last(1)
    last = _read(directory, "ORDER BY number DESC LIMIT 1")
    return AuditStanding(
        last=last[0] if last else None, newest=newest[0] if newest else None, holder=holder(directory)
    )


def _read(directory: Path, clause: str) -> list[AuditNews]:
    if not is_kept(directory / AUDITS.file):
        return []
    with closing(AUDITS.look(directory / AUDITS.file)) as db, storage():
        return [_decode(news) for (news,) in db.execute(f"SELECT news FROM audit {clause}")]  # noqa: S608 - our words
