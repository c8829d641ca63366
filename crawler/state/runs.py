"""The records of a site's runs, as values: the table ``run``."""

import sqlite3
from collections.abc import Callable
from enum import StrEnum
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import astuple, force_setattr

from crawler.errors import PublishRefused, UsageError
from crawler.state.database import storage_errors
from crawler.units import w3c
from sitemap import shorten

_MAX_WORD: Final = 200  # characters: a note may have a regular expression to copy


class PublishedFile(Struct, frozen=True):
    """A file of a published set; ``bytes`` is its size on disk."""

    name: str
    url: str
    urls: int
    bytes: int


class Run(Struct, frozen=True, kw_only=True):
    """One run, in the columns of the table. Times are Unix times; ``seconds`` and ``bytes`` add up when it is resumed.

    ``ended`` is None while it is running, and when it was cut short and can be resumed. ``exit_code`` is None until its
    process ends, also when it is resumed: it is running, or was killed. ``reason`` says why it is incomplete: the
    crawl, or the upload.
    """

    number: int
    started: float
    version: str
    ended: float | None = None
    completeness: str = ""
    reason: str = ""
    outcome: str = ""
    refusal: str = ""
    exit_code: int | None = None
    fetched: int = 0
    unchanged: int = 0
    bytes: int = 0
    seconds: float = 0.0
    listed: int = 0
    kept: int = 0
    added: int = 0
    changed: int = 0
    removed: int = 0
    moved: int = 0
    deindexed: int = 0
    notes: list[str] = []
    files: list[PublishedFile] = []
    other_formats: list[PublishedFile] = []  # beside the sitemap

    def __post_init__(self) -> None:
        for name in ("reason", "refusal"):
            force_setattr(self, name, shorten(getattr(self, name), _MAX_WORD))
        force_setattr(self, "notes", [shorten(note, _MAX_WORD) for note in self.notes])

    @property
    def sitemap_url(self) -> str:
        """The URL of the published sitemap, or "": that of the first file, which is the index if there are several."""
        return self.files[0].url if self.files else ""

    @property
    def is_open(self) -> bool:
        """Whether it is running or can be resumed."""
        return self.ended is None

    @property
    def unended(self) -> str:
        """That its last process was lost, in a sentence, unless the process is running; "" if it ended."""
        if not self.is_open or self.exit_code is not None:
            return ""
        name = f"run {self.number} of {w3c(self.started)}"
        return f"{name} did not end: it was killed or stopped at once, its disk was full, or the computer stopped"

    @property
    def has_held(self) -> bool:
        """Whether it published, and the gate held some pages: ``refusal`` then says which and why."""
        return self.exit_code == PublishRefused.exit_code and self.outcome in PUBLISHING_OUTCOMES

    @property
    def result(self) -> str:
        """The outcome for people: "held" when the gate held some pages."""
        return "held" if self.has_held else self.outcome

    @property
    def has_figures(self) -> bool:
        """Whether its numbers are counted: not when it came to nothing, or before its first process has ended."""
        return self.exit_code is not None and self.outcome != "nothing"


MAX_LOST: Final = 3  # tries in a row whose process is lost, before they count as the cause
_MAX_TRIES: Final = 20  # that are remembered


class Continued(Struct, frozen=True, array_like=True):
    """The last run that was continued: its number, how often, and when it was last (Unix time).

    ``tries`` are those before, the oldest first: when each began, its exit code or None if its process was lost, and
    why it ended. ``lost`` counts the last ones in a row whose process was lost.
    """

    number: int = 0
    times: int = 0
    last: float = 0.0
    tries: list[tuple[float, int | None, str]] = []
    lost: int = 0

    def and_now(self, run: Run, now: float) -> "Continued":
        """The record when ``run`` is continued ``now``."""
        before = self if self.number == run.number else Continued(run.number)
        why, lost = ("", before.lost + 1) if run.unended else (run.reason or run.refusal, 0)
        tries = [*before.tries, (before.last or run.started, run.exit_code, why)]
        return Continued(run.number, before.times + 1, now, tries[-_MAX_TRIES:], lost)


CONTINUED_KEY: Final = "continued"
"""The key in ``about`` of the last run that was continued: three values, as programs without the tries read them."""
TRIES_KEY: Final = "tries"
"""The key in ``about`` of the whole record, with the tries. It is void if another program continued the run since."""


def read_continued(about: Callable[[str], str | None]) -> Continued:
    """The record of the last run that was continued, from the table ``about``."""
    short, whole = (msgspec.json.decode(about(key) or "[]", type=Continued) for key in (CONTINUED_KEY, TRIES_KEY))
    return whole if (whole.number, whole.times) == (short.number, short.times) else short


def continued_texts(continued: Continued) -> dict[str, str]:
    """What ``about`` has of the record, by the keys."""
    whole = msgspec.to_builtins(continued)
    return {key: msgspec.json.encode(value).decode() for key, value in ((CONTINUED_KEY, whole[:3]), (TRIES_KEY, whole))}


class RunTotals(Struct, frozen=True, array_like=True):
    """Sums over runs that have ended: their number, and their figures as in :class:`Run`."""

    runs: int = 0
    fetched: int = 0
    bytes: int = 0
    seconds: float = 0.0

    def __add__(self, other: "RunTotals") -> "RunTotals":
        """Both together."""
        sums = (left + right for left, right in zip(astuple(self), astuple(other), strict=True))
        return RunTotals(*sums)


PUBLISHING_OUTCOMES: Final = ("published", "unchanged")
"""The outcomes of runs whose sitemap is published afterwards."""

DRY: Final = "dry"
"""The outcome of a dry run, whatever a run would come to: ``refusal`` and ``exit_code`` say that."""

PARTIAL: Final = "partial"
"""The outcome of a run that published, and is still open."""

ROLLED_BACK: Final = "rolled back"
"""The outcome of a rollback: the sitemap of an earlier run is published again."""

UNSERVED: Final = "unserved"
"""The outcome, for the schedule and for notifications, of a run whose sitemap the site does not serve."""


_COLUMNS: Final = Run.__struct_fields__
_NAMES: Final = ", ".join(_COLUMNS).replace(" reason,", " because,")  # the column has a name of its own
_SELECT_RUNS: Final = f"SELECT {_NAMES} FROM run"  # noqa: S608 - names of our own
_WRITE_RUN: Final = f"INSERT OR REPLACE INTO run ({_NAMES}) VALUES ({', '.join('?' * len(_COLUMNS))})"  # noqa: S608
_HAS_CHANGES: Final = "added + changed + removed + moved + deindexed > 0"
_AS_JSON: Final = ("notes", "files", "other_formats")
FORGOTTEN_KEY: Final = "forgotten_runs"
"""The key in ``about`` of the totals of the deleted records."""
_OLD: Final = """number <= :old AND number != :last
  AND number IS NOT (SELECT max(number) FROM run WHERE outcome = 'published')"""
_TOTALS: Final = f"""SELECT
  CASE WHEN exit_code = {PublishRefused.exit_code} AND outcome IN {PUBLISHING_OUTCOMES} THEN 'held'
    ELSE coalesce(nullif(outcome, ''), 'nothing') END,
  count(*), sum(fetched), sum(bytes), sum(seconds)
FROM run WHERE ended IS NOT NULL AND {{}} GROUP BY 1"""  # noqa: S608 - our words
_decode_totals = msgspec.json.Decoder(dict[str, RunTotals]).decode


class RunStore:
    """The records in the state of one site. Every method may raise StorageError.

    A write is part of the caller's transaction, if there is one.
    """

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def begin(self, now: float, version: str) -> Run:
        """The run to work on: the unfinished one, or a new one that starts ``now``."""
        if unfinished := self._newest("WHERE ended IS NULL"):
            return unfinished
        previous = self._newest()
        run = Run(number=previous.number + 1 if previous else 1, started=now, version=version)
        self.write(run)
        return run

    def write(self, run: Run) -> None:
        """Store a record in place of the old one. With ``ended`` this closes the run."""
        values = [
            msgspec.json.encode(value).decode() if name in _AS_JSON else value
            for name, value in zip(_COLUMNS, msgspec.structs.astuple(run), strict=True)
        ]
        with storage_errors():
            self._db.execute(_WRITE_RUN, values)

    def last(self, count: int, before: int | None = None) -> list[Run]:
        """The last runs, the newest first, at most ``count``; only those before the run with number ``before``."""
        if before is None:
            return self._read("ORDER BY number DESC LIMIT ?", count)
        return self._read("WHERE number < ? ORDER BY number DESC LIMIT ?", before, count)

    def changed(self) -> Run | None:
        """The last run that changed anything."""
        return self._newest(f"WHERE {_HAS_CHANGES}")

    def published(self) -> Run | None:
        """The last run whose files are published, None without one."""
        return self._newest("WHERE files != '[]'")

    def wrote(self) -> Run | None:
        """The run that wrote the published files; later runs left them unchanged."""
        return self._newest("WHERE files != '[]' AND outcome != 'unchanged'")

    def succeeded(self) -> Run | None:
        """The last run that published all it found, or found it unchanged, and uploaded it, if it is uploaded."""
        return self._newest(f"WHERE exit_code = 0 AND outcome IN {PUBLISHING_OUTCOMES}")

    def totals(self) -> dict[str, RunTotals]:
        """The totals of all runs that have ended, by :attr:`Run.result`; they include the deleted records."""
        return self._totals("TRUE")

    def forget(self, old: int, last: int) -> None:
        """Delete the records up to the run ``old``, except that of the ``last`` and of the last published one.

        Their totals stay. Part of the caller's transaction.
        """
        with storage_errors():
            rows = self._db.execute("SELECT 1 FROM run WHERE " + _OLD, {"old": old, "last": last})  # noqa: S608
            if rows.fetchone() is None:
                return
            totals = msgspec.json.encode(self._totals(_OLD, old=old, last=last)).decode()
            self._db.execute("INSERT OR REPLACE INTO about VALUES (?, ?)", (FORGOTTEN_KEY, totals))
            self._db.execute(f"DELETE FROM run WHERE {_OLD}", {"old": old, "last": last})  # noqa: S608

    def _totals(self, clause: str, **values: int) -> dict[str, RunTotals]:
        """The totals of the deleted records, and of those that fit the ``clause``."""
        with storage_errors():
            row = self._db.execute("SELECT value FROM about WHERE key = ?", (FORGOTTEN_KEY,)).fetchone()
            totals = _decode_totals(row[0]) if row else {}
            for result, *figures in self._db.execute(_TOTALS.format(clause), values):
                totals[result] = totals.get(result, RunTotals()) + RunTotals(*figures)
        return totals

    def get(self, number: int) -> Run:
        """The run of that number. Raises UsageError that names the last one when there is none."""
        if runs := self._read("WHERE number = ?", number):
            return runs[0]
        newest = self._newest()
        known = f"The last run is run {newest.number}" if newest else "No run has started yet"
        raise UsageError(f"this site has no run {number}. {known}")

    def _newest(self, clause: str = "") -> Run | None:
        return next(iter(self._read(f"{clause} ORDER BY number DESC LIMIT 1")), None)

    def _read(self, clause: str, *values: int) -> list[Run]:
        with storage_errors():
            rows = self._db.execute(f"{_SELECT_RUNS} {clause}", values).fetchall()
        return [_read_run(dict(zip(_COLUMNS, row, strict=True))) for row in rows]


def _read_run(row: dict[str, object]) -> Run:
    for name in _AS_JSON:
        row[name] = msgspec.json.decode(str(row[name]))
    return msgspec.convert(row, Run)


class RunStatus(StrEnum):
    """What the end of a run means for the schedule."""

    DONE = "done"  # finished; also by a limit of its own, or refused by the gate
    FAILED = "failed"  # retried, after growing pauses
    BUSY = "busy"  # another process works on the site; retried, but no failure
    STOPPED = "stopped"  # the daemon stopped it; the next daemon resumes it at once
    BROKEN = "broken"  # the configuration is wrong, which only a person can fix


class RunResult(Struct, frozen=True, kw_only=True):
    """How a run ended, as its process reports. ``exit_code`` is negative for a signal that killed it.

    ``notify_pending``: some notifications could not be sent yet. ``message`` is the last message of the run.
    """

    exit_code: int
    status: RunStatus
    run: int | None = None
    outcome: str = ""
    message: str = ""
    notify_pending: bool = False


class CompletenessLevel(StrEnum):
    """How complete a crawl is, the best first."""

    COMPLETE = "complete"
    CARRIED = "carried"  # some of the site was not asked: its visits are those of earlier runs
    DEGRADED = "degraded"  # some of the site failed
    TRUNCATED = "truncated"  # a limit or an interruption left some of the site out


class Completeness(Struct, frozen=True):
    """How complete a crawl is. ``reason`` names every limit that was reached and everything that failed, or is ""."""

    kind: CompletenessLevel
    reason: str = ""
