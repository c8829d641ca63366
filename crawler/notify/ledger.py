"""The ledger itself: each step of telling is one durable commit, so that a crash repeats one message at most."""

import sqlite3
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Self, TypeVar

import msgspec
from msgspec import Struct

from crawler.notify.notice import Occasion, SendStatus
from crawler.state.database import Database, storage_errors, transaction


class DeliveryCursor(Struct, frozen=True, kw_only=True):
    """How far a channel was told: everything up to the end of run ``told``.

    ``host`` is "" for all hosts that have no line of their own. A delivery of which something may have been sent goes
    to the end of run ``until`` (None: there is none), and all of its URLs up to ``position`` in byte order were taken.
    ``tries`` says how often in a row it was put off, ``said`` why, and ``due`` (Unix time) until when the other side
    asked to wait.
    """

    id: int
    channel: str
    host: str = ""
    told: int
    until: int | None = None
    position: str = ""
    tries: int = 0
    due: float = 0.0
    said: str = ""


def audit_channel_key(channel: str) -> str:
    """The name of the line that counts the audits which a channel was told of, as that of its key counts runs."""
    return f"{channel} (audits)"


class RefusedDelivery(Struct, frozen=True, kw_only=True):
    """What was set aside: the ``urls`` URLs of a host behind ``position`` and up to ``upto``, or a message (None).

    ``after`` and ``until`` are the runs of its delivery, ``at`` is Unix time.
    """

    id: int
    channel: str
    host: str
    after: int
    until: int
    position: str
    upto: str | None
    urls: int
    said: str
    at: float


class HealthNotice(Struct, frozen=True, kw_only=True):
    """Whether a channel ``knows`` of trouble, and what of it is still to be told (``pending``): that there is, or was.

    ``run``, ``exit_code`` and ``told`` are of the run which that is about, ``at`` (Unix time) is when it ended.
    """

    channel: str
    knows: bool = False
    pending: Occasion | None = None
    run: int = 0
    exit_code: int = 0
    told: str = ""
    at: float = 0.0
    due: float = 0.0
    said: str = ""


class SubmissionStatus(Struct, frozen=True, kw_only=True):
    """What Google said of the sitemap when it was asked last, ``at`` this Unix time; ``sentence`` is for people.

    ``submitted`` and ``downloaded`` are RFC 3339, "" for never; ``errors`` and ``warnings`` are those of the last time
    that Google read it, and ``pending`` says that it is to read it again.
    """

    channel: str
    at: float
    submitted: str = ""
    downloaded: str = ""
    pending: bool = False
    errors: int = 0
    warnings: int = 0
    sentence: str


class SentMessage(Struct, frozen=True, kw_only=True):
    """One message and what became of it. ``at`` is Unix time, ``urls`` how many URLs it told of."""

    at: float
    channel: str
    occasion: Occasion
    host: str = ""
    after: int = 0
    until: int = 0
    urls: int = 0
    reception: SendStatus
    said: str


_LEDGER_TABLES: Final = """
CREATE TABLE line (                           -- how far a channel was told
  id INTEGER PRIMARY KEY,
  channel TEXT NOT NULL,
  host TEXT NOT NULL DEFAULT '',              -- '': all hosts that have no line of their own
  told INTEGER NOT NULL,                      -- the run up to whose end everything was told
  until INTEGER,                              -- the end of the delivery that is under way, NULL: there is none
  position TEXT NOT NULL DEFAULT '',          -- the last URL of the last batch of it that was taken
  tries INTEGER NOT NULL DEFAULT 0,           -- how often in a row it was put off
  due REAL NOT NULL DEFAULT 0,                -- Unix time that the other side asked to wait for
  said TEXT NOT NULL DEFAULT '',              -- why it was put off
  UNIQUE (channel, host)
);
CREATE TABLE refused (                        -- what was set aside, since the same again would be refused again
  id INTEGER PRIMARY KEY,
  channel TEXT NOT NULL,
  host TEXT NOT NULL,
  after INTEGER NOT NULL,
  until INTEGER NOT NULL,
  position TEXT NOT NULL,                     -- the URLs behind this one …
  upto TEXT,                                  -- … and up to this one; NULL: a message
  urls INTEGER NOT NULL,
  said TEXT NOT NULL,
  at REAL NOT NULL
);
CREATE TABLE mood (                           -- whether a channel knows that runs fail
  channel TEXT PRIMARY KEY,
  knows INTEGER NOT NULL DEFAULT 0,           -- 1: trouble was told, and that it is over was not
  pending TEXT NOT NULL DEFAULT '',           -- "trouble" or "recovery", which is still to be told
  run INTEGER NOT NULL DEFAULT 0,
  exit_code INTEGER NOT NULL DEFAULT 0,
  told TEXT NOT NULL DEFAULT '',              -- the sentence of the run
  at REAL NOT NULL DEFAULT 0,                 -- when that was
  due REAL NOT NULL DEFAULT 0,
  said TEXT NOT NULL DEFAULT ''
) WITHOUT ROWID;
CREATE TABLE console (                        -- what Google said last of the sitemap
  channel TEXT PRIMARY KEY,
  at REAL NOT NULL,                           -- when it was asked
  submitted TEXT NOT NULL,                    -- RFC 3339, '': never
  downloaded TEXT NOT NULL,
  pending INTEGER NOT NULL,                   -- 1: it waits to be read
  errors INTEGER NOT NULL,
  warnings INTEGER NOT NULL,
  sentence TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE sent (                           -- the log: one row for each message
  id INTEGER PRIMARY KEY,
  at REAL NOT NULL,
  channel TEXT NOT NULL,
  occasion TEXT NOT NULL,                     -- notice.Occasion
  host TEXT NOT NULL,
  after INTEGER NOT NULL,
  until INTEGER NOT NULL,
  urls INTEGER NOT NULL,
  reception TEXT NOT NULL,                    -- notice.Reception
  said TEXT NOT NULL
);
CREATE TABLE present (channel TEXT PRIMARY KEY) WITHOUT ROWID;  -- those that were configured last
CREATE INDEX sent_by_channel ON sent (channel, id);
"""


LEDGER_DB: Final = Database(
    file="notify.db",
    application_id=0x53_41_4E_4F,  # "SANO"
    version=1,
    tables=_LEDGER_TABLES,
    description="the record of what others were told",
    remedy="move it away: what changes from then on is told",
)


T = TypeVar("T", DeliveryCursor, RefusedDelivery, HealthNotice, SubmissionStatus, SentMessage)

_CURSOR_COLUMNS: Final = ", ".join(DeliveryCursor.__struct_fields__)

_REFUSED_COLUMNS: Final = ", ".join(RefusedDelivery.__struct_fields__)

_HEALTH_COLUMNS: Final = ", ".join(HealthNotice.__struct_fields__)

_SUBMISSION_COLUMNS: Final = ", ".join(SubmissionStatus.__struct_fields__)

_MESSAGE_COLUMNS: Final = ", ".join(SentMessage.__struct_fields__)

_MERGE_CURSORS: Final = """DELETE FROM line WHERE channel = :channel AND host != '' AND until IS NULL
  AND told = (SELECT told FROM line WHERE channel = :channel AND host = '' AND until IS NULL)"""


class Ledger:
    """What the channels of one site were told. Every method raises StorageError when the file refuses.

    Whoever writes holds the lock of the site. ``keep`` is how many messages the log keeps.
    """

    def __init__(self, db: sqlite3.Connection, keep: int = 1_000) -> None:
        self._db = db
        self._keep = keep

    @classmethod
    @contextmanager
    def opened(cls, directory: Path, keep: int, *, dry: bool = False) -> Iterator[Self]:
        """The ledger in a state, created when there is none; ``dry``: a copy of it that nobody keeps.

        Raises StorageError, UsageError.
        """
        db = LEDGER_DB.copy_in_memory(directory) if dry else LEDGER_DB.open(directory / LEDGER_DB.file)
        try:
            yield cls(db, keep)
        finally:
            db.close()

    # ---------------------------------------------------------------- looking

    def channels(self) -> list[str]:
        """The keys of those that were configured last, sorted."""
        with storage_errors():
            return [key for (key,) in self._db.execute("SELECT channel FROM present ORDER BY 1")]

    def cursors(self, channel: str) -> list[DeliveryCursor]:
        """The lines of a channel, that of all hosts first; none of one that is new."""
        query = f"SELECT {_CURSOR_COLUMNS} FROM line WHERE channel = ? ORDER BY host"  # noqa: S608 - names of our own
        return self._read(query, DeliveryCursor, channel)

    def refused(self, channel: str) -> list[RefusedDelivery]:
        """What a channel refused, in the order of telling."""
        query = f"SELECT {_REFUSED_COLUMNS} FROM refused WHERE channel = ? ORDER BY after, position, id"  # noqa: S608
        return self._read(query, RefusedDelivery, channel)

    def health_notice(self, channel: str) -> HealthNotice:
        """What a channel knows of trouble."""
        found = self._read(f"SELECT {_HEALTH_COLUMNS} FROM mood WHERE channel = ?", HealthNotice, channel)  # noqa: S608
        return found[0] if found else HealthNotice(channel=channel)

    def submission_status(self, channel: str) -> SubmissionStatus | None:
        """What a channel said when it was looked at last, None: it was not."""
        query = f"SELECT {_SUBMISSION_COLUMNS} FROM console WHERE channel = ?"  # noqa: S608
        return next(iter(self._read(query, SubmissionStatus, channel)), None)

    def log(self, limit: int, channel: str | None = None) -> list[SentMessage]:
        """The last messages, the newest first; of one channel, or of all."""
        query = f"SELECT {_MESSAGE_COLUMNS} FROM sent WHERE channel = coalesce(?, channel) ORDER BY id DESC LIMIT ?"  # noqa: S608
        return self._read(query, SentMessage, channel, limit)

    # ---------------------------------------------------------------- telling

    def set_channels(self, channels: Collection[str]) -> None:
        """Keep who is configured now. What others were told stays known, should they come back."""
        if sorted(channels) == self.channels():
            return
        with transaction(self._db):
            self._db.execute("DELETE FROM present")
            self._db.executemany("INSERT OR IGNORE INTO present VALUES (?)", ((key,) for key in channels))

    def start(self, channel: str, told: int) -> DeliveryCursor:
        """Begin a channel, or begin it anew: nothing up to the end of run ``told`` is told, everything after it is."""
        with transaction(self._db):
            self._db.execute("DELETE FROM line WHERE channel = ?", (channel,))
            self._db.execute("INSERT INTO line (channel, told) VALUES (?, ?)", (channel, told))
        return self.cursors(channel)[0]

    def begin_delivery(self, line: DeliveryCursor, until: int) -> DeliveryCursor:
        """Begin a delivery: what changed up to the end of run ``until`` and no further, until all of it is told.

        To be called before the first message of it: once something may have been sent, what it is part of stays.
        """
        return self._update(line, None, until=until, position="", tries=0, due=0.0, said="")

    def batch_sent(self, line: DeliveryCursor, position: str, sent: SentMessage) -> DeliveryCursor:
        """A batch of a delivery was taken, whose last URL is ``position``."""
        return self._update(line, sent, position=position, tries=0, due=0.0, said="")

    def delivered(self, line: DeliveryCursor, until: int, sent: SentMessage | None = None) -> DeliveryCursor:
        """All up to the end of run ``until`` is told. A host that has caught up goes on with the others."""
        with transaction(self._db):
            done = self._write(line, sent, told=until, until=None, position="", tries=0, due=0.0, said="")
            self._db.execute(_MERGE_CURSORS, {"channel": line.channel})
        return done

    def defer(
        self, line: DeliveryCursor, said: str, due: float = 0.0, sent: SentMessage | None = None
    ) -> DeliveryCursor:
        """Go on another time, and not before ``due`` (Unix time)."""
        return self._update(line, sent, tries=line.tries + 1, due=due, said=said)

    def split(self, line: DeliveryCursor, host: str, said: str, *, begun: bool) -> None:
        """One host is put off, and the others go on without it. Its line stands where theirs does.

        ``begun`` says that something of the delivery may have been sent to it, so that it has to be ended as it is.
        """
        with transaction(self._db):
            self._db.execute(
                "INSERT OR REPLACE INTO line (channel, host, told, until, position, tries, said)"
                " VALUES (?, ?, ?, ?, ?, 1, ?)",
                (
                    line.channel,
                    host,
                    line.told,
                    line.until if begun else None,
                    line.position if begun else "",
                    said,
                ),
            )

    def refuse(self, line: DeliveryCursor, upto: str | None, sent: SentMessage) -> DeliveryCursor:
        """Set aside what was refused: the batch up to ``upto``, or the message (None), which ends its delivery."""
        fields = (line.channel, sent.host, line.told, line.until, line.position)
        with transaction(self._db):
            cursor = self._db.execute(
                "UPDATE refused SET upto = ?, urls = urls + ?, said = ?, at = ?"
                " WHERE channel = ? AND host = ? AND after = ? AND until = ? AND upto = ?",  # what lies before it
                (upto, sent.urls, sent.said, sent.at, *fields),
            )
            if not cursor.rowcount:
                self._db.execute(
                    "INSERT INTO refused (channel, host, after, until, position, upto, urls, said, at)"
                    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    (*fields, upto, sent.urls, sent.said, sent.at),
                )
            if upto is not None:
                return self._write(line, sent, position=upto, tries=0, due=0.0, said="")
            return self._write(
                line, sent, told=line.until, until=None, position="", tries=0, due=0.0, said=""
            )

    def refused_sent(self, refused: RefusedDelivery, position: str, sent: SentMessage) -> None:
        """What was refused was taken in another attempt, up to ``position``."""
        with transaction(self._db):
            self._db.execute(
                "UPDATE refused SET position = ?, urls = max(urls - ?, 0) WHERE id = ?",
                (position, sent.urls, refused.id),
            )
            self._note(sent)

    def drop_refused(self, refused: RefusedDelivery, sent: SentMessage | None = None) -> None:
        """All of what was refused was taken in another attempt."""
        with transaction(self._db):
            self._db.execute("DELETE FROM refused WHERE id = ?", (refused.id,))
            self._note(sent)

    def forget(self, before: int) -> None:
        """Drop what was refused of deliveries that ended before the run ``before``, which nobody can tell again.

        Audits are counted by themselves.
        """
        with transaction(self._db):
            self._db.execute(
                "DELETE FROM refused WHERE until < ? AND channel NOT LIKE ?", (before, audit_channel_key("%"))
            )

    def log_message(self, sent: SentMessage) -> None:
        """Keep a message in the log."""
        with transaction(self._db):
            self._note(sent)

    def store_health_notice(self, mood: HealthNotice, sent: SentMessage | None = None) -> None:
        """Keep what a channel knows of trouble, in place of what was kept."""
        values = [msgspec.to_builtins(value) for value in msgspec.structs.astuple(mood)]
        values[HealthNotice.__struct_fields__.index("pending")] = mood.pending.value if mood.pending else ""
        with transaction(self._db):
            marks = ", ".join("?" * len(values))
            self._db.execute(f"INSERT OR REPLACE INTO mood ({_HEALTH_COLUMNS}) VALUES ({marks})", values)  # noqa: S608
            self._note(sent)

    def store_submission_status(self, reading: SubmissionStatus) -> None:
        """Keep what a channel said, in place of what was kept."""
        values = msgspec.structs.astuple(reading)
        with transaction(self._db):
            marks = ", ".join("?" * len(values))
            statement = f"INSERT OR REPLACE INTO console ({_SUBMISSION_COLUMNS}) VALUES ({marks})"  # noqa: S608
            self._db.execute(statement, values)

    # ---------------------------------------------------------------- rows

    def _update(self, line: DeliveryCursor, sent: SentMessage | None, **fields: object) -> DeliveryCursor:
        with transaction(self._db):
            return self._write(line, sent, **fields)

    def _write(self, line: DeliveryCursor, sent: SentMessage | None, **fields: object) -> DeliveryCursor:
        setting = ", ".join(f"{name} = ?" for name in fields)
        self._db.execute(f"UPDATE line SET {setting} WHERE id = ?", (*fields.values(), line.id))  # noqa: S608
        self._note(sent)
        return msgspec.structs.replace(line, **fields)

    def _note(self, sent: SentMessage | None) -> None:
        if sent is None:
            return
        values = [msgspec.to_builtins(value) for value in msgspec.structs.astuple(sent)]
        marks = ", ".join("?" * len(values))
        cursor = self._db.execute(f"INSERT INTO sent ({_MESSAGE_COLUMNS}) VALUES ({marks})", values)  # noqa: S608
        self._db.execute("DELETE FROM sent WHERE id <= ?", ((cursor.lastrowid or 0) - self._keep,))

    def _read(self, query: str, kind: type[T], *values: object) -> list[T]:
        with storage_errors():
            rows = self._db.execute(query, values).fetchall()
        names = kind.__struct_fields__
        return [_from_row(dict(zip(names, row, strict=True)), kind) for row in rows]


def _from_row(row: dict[str, object], kind: type[T]) -> T:
    if kind is HealthNotice:
        row["knows"] = bool(row["knows"])
        row["pending"] = Occasion(str(row["pending"])) if row["pending"] else None
    if kind is SubmissionStatus:
        row["pending"] = bool(row["pending"])
    return msgspec.convert(row, kind)
