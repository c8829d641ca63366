"""The ledger of notifications in SQLite. Each step is a durable commit: a crash repeats at most one message."""

import sqlite3
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from typing import Final, Self, TypeVar

import msgspec
from msgspec import Struct

from crawler.notify.notice import Occasion, SendStatus
from crawler.state.database import Database, storage_errors, transaction
from crawler.state.schema import LEDGER_FILE


class DeliveryCursor(Struct, frozen=True, kw_only=True):
    """How far a channel was notified: everything up to the end of run ``told``.

    ``host`` is "" for all hosts without a cursor of their own. A delivery that may have been partly sent goes to the
    end of run ``until`` (None: none), and all its URLs up to ``position`` in byte order were accepted. ``tries`` counts
    how often in a row it was deferred, ``said`` says why, and ``due`` is the Unix time until which the receiver wants a
    pause.
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
    """The name of the cursor that counts a channel's audits, as the cursor under its key counts runs."""
    return f"{channel} (audits)"


class RefusedDelivery(Struct, frozen=True, kw_only=True):
    """A refused delivery: the ``urls`` URLs of a host after ``position`` and up to ``upto``, or a message (None).

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

    @property
    def cursor(self) -> DeliveryCursor:
        """Where its delivery began, as a cursor that no ledger has."""
        delivery = DeliveryCursor(id=0, channel=self.channel, host=self.host, told=self.after)
        return msgspec.structs.replace(delivery, until=self.until, position=self.position)


class HealthNotice(Struct, frozen=True, kw_only=True):
    """Whether a channel ``knows`` of trouble, and which notice is outstanding (``pending``): trouble or recovery.

    ``run``, ``exit_code`` and ``message`` are those of the run in question, ``at`` (Unix time) is when it ended.
    ``told`` is the message, and below it, one a line, the ``causes`` that the channel knows.
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

    @property
    def message(self) -> str:
        """The sentence of the run, "" if nothing is outstanding."""
        return self.told.partition("\n")[0]

    @property
    def causes(self) -> frozenset[str]:
        """The causes of trouble that the channel knows."""
        return frozenset(self.told.split("\n")[1:])


class SubmissionStatus(Struct, frozen=True, kw_only=True):
    """The status of the sitemap in Search Console, read ``at`` this Unix time; ``sentence`` is for people.

    ``submitted`` and ``downloaded`` are RFC 3339, "" for never; ``errors`` and ``warnings`` are those of Google's last
    reading, and ``pending`` says that Google is to read it again.
    """

    channel: str
    at: float
    submitted: str = ""
    downloaded: str = ""
    pending: bool = False
    errors: int = 0
    warnings: int = 0
    sentence: str


class SendRecord(Struct, frozen=True, kw_only=True):
    """What was sent over a channel, and the result: a sentence without secrets. ``after`` and ``until`` are runs."""

    channel: str
    occasion: Occasion
    host: str = ""
    after: int = 0
    until: int = 0
    urls: int = 0
    reception: SendStatus
    said: str = ""


class SentMessage(SendRecord, frozen=True, kw_only=True):
    """One message and its result. ``at`` is Unix time, ``urls`` the number of URLs in it."""

    at: float


LEDGER_DB: Final = Database(
    file=LEDGER_FILE,
    application_id=0x53_41_4E_4F,  # "SANO"
    version=2,
    tables=(files("crawler.notify") / "ledger.sql").read_text(encoding="utf-8"),
    description="the record of notifications",
    remedy="Move the file away. Siteatlas then sends only later changes",
)


T = TypeVar("T", DeliveryCursor, RefusedDelivery, HealthNotice, SubmissionStatus, SentMessage)

_COUNT_MESSAGE: Final = """INSERT INTO total VALUES (?, 1)
  ON CONFLICT (reception) DO UPDATE SET messages = messages + 1"""
_EXTEND_REFUSED: Final = """UPDATE refused SET upto = :upto, urls = urls + :urls, said = :said, at = :at
  WHERE channel = :channel AND host = :host AND after = :after AND until = :until AND upto = :position"""
_MERGE_CURSORS: Final = """DELETE FROM line WHERE channel = :channel AND host != '' AND until IS NULL
  AND told = (SELECT told FROM line WHERE channel = :channel AND host = '' AND until IS NULL)"""


class Ledger:
    """The notifications of one site. Every method raises StorageError when the file cannot be used.

    The writer holds the lock of the site. ``keep`` limits the messages in the log.
    """

    def __init__(self, db: sqlite3.Connection, keep: int = 1_000) -> None:
        self._db = db
        self._keep = keep

    @classmethod
    @contextmanager
    def opened(cls, directory: Path, keep: int, *, dry: bool = False) -> Iterator[Self]:
        """Open the ledger of a state, created when missing; ``dry``: a copy in memory that is discarded.

        Raises StorageError, UsageError.
        """
        db = LEDGER_DB.copy_in_memory(directory) if dry else LEDGER_DB.open(directory / LEDGER_DB.file)
        try:
            yield cls(db, keep)
        finally:
            db.close()

    # ---------------------------------------------------------------- reading

    def channels(self) -> list[str]:
        """The keys of the channels configured last, sorted."""
        with storage_errors():
            return [key for (key,) in self._db.execute("SELECT channel FROM present ORDER BY 1")]

    def cursors(self, channel: str) -> list[DeliveryCursor]:
        """The cursors of a channel, that of all hosts first; none for a new channel."""
        return self._read(DeliveryCursor, "line WHERE channel = ? ORDER BY host", channel)

    def refused(self, channel: str) -> list[RefusedDelivery]:
        """The refused deliveries of a channel, in the order of sending."""
        return self._read(RefusedDelivery, "refused WHERE channel = ? ORDER BY after, position, id", channel)

    def health_notice(self, channel: str) -> HealthNotice:
        """What a channel knows of trouble."""
        rows = self._read(HealthNotice, "mood WHERE channel = ?", channel)
        return rows[0] if rows else HealthNotice(channel=channel)

    def submission_status(self, channel: str) -> SubmissionStatus | None:
        """The last status that a channel reported, None: never."""
        return next(iter(self._read(SubmissionStatus, "console WHERE channel = ?", channel)), None)

    def log(self, limit: int, channel: str | None = None) -> list[SentMessage]:
        """The last messages, the newest first; of one channel, or of all."""
        clause = "sent WHERE channel = coalesce(?, channel) ORDER BY id DESC LIMIT ?"
        return self._read(SentMessage, clause, channel, limit)

    def totals(self) -> dict[str, int]:
        """The number of messages ever sent, by their result: a :class:`crawler.notify.notice.SendStatus`."""
        with storage_errors():
            return dict(self._db.execute("SELECT reception, messages FROM total"))

    def reasons(self) -> frozenset[str]:
        """Why something is outstanding, for each channel: its key, ": " and the reason."""
        query = "SELECT channel, said FROM line UNION SELECT channel, said FROM mood"
        with storage_errors():
            return frozenset(f"{channel}: {said}" for channel, said in self._db.execute(query) if said)

    # ---------------------------------------------------------------- writing

    def set_channels(self, channels: Collection[str]) -> None:
        """Store which channels are configured now. The cursors of the others stay, in case they come back."""
        if sorted(channels) == self.channels():
            return
        with transaction(self._db):
            self._db.execute("DELETE FROM present")
            self._db.executemany("INSERT OR IGNORE INTO present VALUES (?)", ((key,) for key in channels))

    def start(self, channel: str, run: int) -> DeliveryCursor:
        """Start a channel, or restart it: everything after the end of ``run`` is to be sent."""
        with transaction(self._db):
            self._db.execute("DELETE FROM line WHERE channel = ?", (channel,))
            self._db.execute("INSERT INTO line (channel, told) VALUES (?, ?)", (channel, run))
        return self.cursors(channel)[0]

    def begin_delivery(self, cursor: DeliveryCursor, until: int) -> DeliveryCursor:
        """Begin a delivery of the changes up to the end of run ``until``; it keeps that end until it is complete.

        To be called before its first message: once a part may have been sent, the delivery must not change.
        """
        return self._update(cursor, None, until=until, position="", tries=0, due=0.0, said="")

    def batch_sent(self, cursor: DeliveryCursor, position: str, sent: SentMessage) -> DeliveryCursor:
        """A batch of a delivery was accepted; its last URL is ``position``."""
        return self._update(cursor, sent, position=position, tries=0, due=0.0, said="")

    def delivered(self, cursor: DeliveryCursor, until: int, sent: SentMessage | None = None) -> DeliveryCursor:
        """Everything up to the end of run ``until`` is delivered. A host that caught up joins the others again."""
        with transaction(self._db):
            updated = self._write(cursor, sent, told=until, until=None, position="", tries=0, due=0.0, said="")
            self._db.execute(_MERGE_CURSORS, {"channel": cursor.channel})
        return updated

    def defer(
        self, cursor: DeliveryCursor, reason: str, due: float = 0.0, sent: SentMessage | None = None
    ) -> DeliveryCursor:
        """Continue later, and not before ``due`` (Unix time)."""
        return self._update(cursor, sent, tries=cursor.tries + 1, due=due, said=reason)

    def split(self, cursor: DeliveryCursor, host: str, reason: str, *, begun: bool) -> None:
        """Defer one host, so that the others continue without it. Its cursor starts where theirs is.

        ``begun`` says that the delivery may have been partly sent to it, so that it must be completed unchanged.
        """
        delivery = {"until": cursor.until, "position": cursor.position} if begun else {}
        with transaction(self._db):
            row = {"channel": cursor.channel, "host": host, "told": cursor.told, **delivery, "tries": 1, "said": reason}
            self._put("line", row)

    def refuse(self, delivery: DeliveryCursor, upto: str | None, sent: SentMessage) -> DeliveryCursor:
        """Set aside what was refused: the batch up to ``upto``, or the message (None), which ends its delivery."""
        row = {"channel": delivery.channel, "host": sent.host, "after": delivery.told, "until": delivery.until}
        row |= {"position": delivery.position, "upto": upto, "urls": sent.urls, "said": sent.said, "at": sent.at}
        with transaction(self._db):
            # the batch that was refused before it, which ends where this one begins
            if not self._db.execute(_EXTEND_REFUSED, row).rowcount:
                self._put("refused", row)
            if upto is not None:
                return self._write(delivery, sent, position=upto, tries=0, due=0.0, said="")
            return self._write(delivery, sent, told=delivery.until, until=None, position="", tries=0, due=0.0, said="")

    def refused_sent(self, refused: RefusedDelivery, position: str, sent: SentMessage) -> None:
        """A refused delivery was accepted on another attempt, up to ``position``."""
        with transaction(self._db):
            self._db.execute(
                "UPDATE refused SET position = ?, urls = max(urls - ?, 0) WHERE id = ?",
                (position, sent.urls, refused.id),
            )
            self._note(sent)

    def drop_refused(self, refused: RefusedDelivery, sent: SentMessage | None = None) -> None:
        """All of a refused delivery was accepted on another attempt."""
        with transaction(self._db):
            self._db.execute("DELETE FROM refused WHERE id = ?", (refused.id,))
            self._note(sent)

    def resent(self, refused: RefusedDelivery, sent: SentMessage) -> None:
        """A refused message was sent once more: if it was accepted, it is no longer set aside."""
        if sent.reception is SendStatus.ACCEPTED:
            self.drop_refused(refused, sent)
        else:
            self.log_message(sent)

    def forget(self, before: int) -> None:
        """Drop refused deliveries that ended before the run ``before``, whose changes are no longer stored.

        Audits have a count of their own and stay.
        """
        with transaction(self._db):
            self._db.execute(
                "DELETE FROM refused WHERE until < ? AND channel NOT LIKE ?", (before, audit_channel_key("%"))
            )

    def log_message(self, sent: SentMessage) -> None:
        """Add a message to the log."""
        with transaction(self._db):
            self._note(sent)

    def store_health_notice(self, health: HealthNotice, sent: SentMessage | None = None) -> None:
        """Replace what a channel knows of trouble."""
        with transaction(self._db):
            self._put("mood", {**msgspec.to_builtins(health), "pending": str(health.pending or "")})
            self._note(sent)

    def take_health(self, other: Path) -> None:
        """Take over what channels know of trouble from the ledger in another directory."""
        with storage_errors():
            self._db.execute("ATTACH ? AS other", (str(other / LEDGER_DB.file),))
            names = ", ".join(HealthNotice.__struct_fields__)  # the other table may have been made in another order
            self._db.execute(f"INSERT OR REPLACE INTO mood ({names}) SELECT {names} FROM other.mood")  # noqa: S608

    def store_submission_status(self, status: SubmissionStatus) -> None:
        """Replace the status that a channel reported."""
        with transaction(self._db):
            self._put("console", msgspec.to_builtins(status))

    # ---------------------------------------------------------------- rows

    def _update(self, cursor: DeliveryCursor, sent: SentMessage | None, **fields: object) -> DeliveryCursor:
        with transaction(self._db):
            return self._write(cursor, sent, **fields)

    def _write(self, cursor: DeliveryCursor, sent: SentMessage | None, **fields: object) -> DeliveryCursor:
        setting = ", ".join(f"{name} = ?" for name in fields)
        self._db.execute(f"UPDATE line SET {setting} WHERE id = ?", (*fields.values(), cursor.id))  # noqa: S608
        self._note(sent)
        return msgspec.structs.replace(cursor, **fields)

    def _note(self, sent: SentMessage | None) -> None:
        if sent is None:
            return
        last = self._put("sent", msgspec.to_builtins(sent)).lastrowid or 0
        self._db.execute("DELETE FROM sent WHERE id <= ?", (last - self._keep,))
        self._db.execute(_COUNT_MESSAGE, (sent.reception,))

    def _put(self, table: str, row: Mapping[str, object]) -> sqlite3.Cursor:
        marks = ", ".join("?" * len(row))
        statement = f"INSERT OR REPLACE INTO {table} ({', '.join(row)}) VALUES ({marks})"  # noqa: S608 - names of our own
        return self._db.execute(statement, tuple(row.values()))

    def _read(self, kind: type[T], clause: str, *values: object) -> list[T]:
        names = kind.__struct_fields__
        with storage_errors():
            rows = self._db.execute(f"SELECT {', '.join(names)} FROM {clause}", values).fetchall()  # noqa: S608 - the same
        return [_from_row(dict(zip(names, row, strict=True)), kind) for row in rows]


def _from_row(row: dict[str, object], kind: type[T]) -> T:
    if kind is HealthNotice:
        row["pending"] = row["pending"] or None
    return msgspec.convert(row, kind, strict=False)  # SQLite has no booleans
