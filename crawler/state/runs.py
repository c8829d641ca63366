"""The records of a site's runs: the table ``run``, one row for each, as values."""

import sqlite3
from enum import StrEnum
from typing import Final

import msgspec
from msgspec import Struct

from crawler.errors import UsageError
from crawler.state.database import storage_errors


class PublishedFile(Struct, frozen=True):
    """A file of a published set; ``bytes`` is its size on disk."""

    name: str
    url: str
    urls: int
    bytes: int


class Run(Struct, frozen=True, kw_only=True):
    """One run, in the columns of the table. Times are Unix times, ``seconds`` and ``bytes`` add up over its parts.

    ``ended`` is None while it is going on, and when it was cut short and can be gone on with. ``exit_code`` is None
    for one of which no part has come to its end: it is going on, or its process was killed. ``because`` says why
    something is missing: of the site, or of the files elsewhere.
    """

    number: int
    started: float
    version: str
    ended: float | None = None
    completeness: str = ""
    because: str = ""
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

    @property
    def sitemap_url(self) -> str:
        """The address of the set that it published, "" for none: that of the first file, which leads to the others."""
        return self.files[0].url if self.files else ""

    @property
    def is_open(self) -> bool:
        """Whether it is going on, or can be gone on with."""
        return self.ended is None

    @property
    def has_figures(self) -> bool:
        """Whether its numbers were counted: not when it came to nothing, or before a part of it has ended."""
        return self.exit_code is not None and self.outcome != "nothing"


PUBLISHING_OUTCOMES: Final = ("published", "unchanged")

"""The outcomes of runs after which the set that they listed is out there."""

ROLLED_BACK: Final = "rolled back"

"""The outcome of going back: the set of an earlier run is out there."""


_COLUMNS: Final = Run.__struct_fields__

_NAMES: Final = ", ".join(_COLUMNS)

_SELECT_RUNS: Final = f"SELECT {_NAMES} FROM run"  # noqa: S608 - names of our own

_WRITE_RUN: Final = f"INSERT OR REPLACE INTO run ({_NAMES}) VALUES ({', '.join('?' * len(_COLUMNS))})"  # noqa: S608

_HAS_CHANGES: Final = "added + changed + removed + moved + deindexed > 0"

_AS_JSON: Final = ("notes", "files")


class RunsPage:
    """The records in the state of one site. Every method raises StorageError when the state refuses.

    Nothing here begins or ends a transaction: what is written is part of the caller's, if there is one.
    """

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def begin(self, now: float, version: str) -> Run:
        """The run that is to be worked on: the unfinished one, as it stands, or a new one that starts ``now``."""
        if unfinished := self._read("WHERE ended IS NULL ORDER BY number DESC LIMIT 1"):
            return unfinished[0]
        before = self.last(1)
        run = Run(number=before[0].number + 1 if before else 1, started=now, version=version)
        self.write(run)
        return run

    def write(self, run: Run) -> None:
        """Keep a record as it is now, in place of what was kept of it. One that has ``ended`` is closed by this."""
        values = [
            msgspec.json.encode(value).decode() if name in _AS_JSON else value
            for name, value in zip(_COLUMNS, msgspec.structs.astuple(run), strict=True)
        ]
        with storage_errors():
            self._db.execute(_WRITE_RUN, values)

    def last(self, count: int, before: int | None = None) -> list[Run]:
        """So many runs at most, the newest first; ``before`` a number only those that were older."""
        if before is None:
            return self._read("ORDER BY number DESC LIMIT ?", count)
        return self._read("WHERE number < ? ORDER BY number DESC LIMIT ?", before, count)

    def changed(self) -> Run | None:
        """The last run that changed anything, however long ago that was."""
        found = self._read(f"WHERE {_HAS_CHANGES} ORDER BY number DESC LIMIT 1")
        return found[0] if found else None

    def published(self) -> Run | None:
        """The run whose files are out there; None when none was published."""
        found = self._read("WHERE files != '[]' ORDER BY number DESC LIMIT 1")
        return found[0] if found else None

    def wrote(self) -> Run | None:
        """The run that these files are of: one after it found them as they should be."""
        found = self._read("WHERE files != '[]' AND outcome != 'unchanged' ORDER BY number DESC LIMIT 1")
        return found[0] if found else None

    def get(self, number: int) -> Run:
        """The run of that number. UsageError, which says what runs there are, when there is none."""
        if found := self._read("WHERE number = ?", number):
            return found[0]
        newest = self.last(1)
        known = f"the last one is {newest[0].number}" if newest else "none was begun yet"
        raise UsageError(f"there is no run {number} of this site: {known}")

    def _read(self, clause: str, *values: int) -> list[Run]:
        with storage_errors():
            rows = self._db.execute(f"{_SELECT_RUNS} {clause}", values).fetchall()
        return [_read_run(dict(zip(_COLUMNS, row, strict=True))) for row in rows]


def _read_run(row: dict[str, object]) -> Run:
    for name in _AS_JSON:
        row[name] = msgspec.json.decode(str(row[name]))
    return msgspec.convert(row, Run)


class RunStatus(StrEnum):
    """What a run that ended means for the schedule."""

    DONE = "done"  # what was due is done; a limit of its own or a refusal for a good reason is an end too
    FAILED = "failed"  # it is worth trying again, later and later
    BUSY = "busy"  # another process works on the site; tried again, and no failure
    STOPPED = "stopped"  # the daemon ended it; the next daemon goes on with it at once
    BROKEN = "broken"  # only a person can help: the configuration is wrong


class RunResult(Struct, frozen=True, kw_only=True):
    """How a run ended, as whoever ran it tells. ``exit_code`` is negative for a signal that killed it.

    ``untold`` says that others could not be told of it for now.
    """

    exit_code: int
    fate: RunStatus
    run: int | None = None
    outcome: str = ""
    told: str = ""
    untold: bool = False


class CompletenessLevel(StrEnum):
    """What a run is worth, the best first."""

    COMPLETE = "complete"
    DEGRADED = "degraded"  # some of the site failed
    TRUNCATED = "truncated"  # a limit or an interruption left some of the site out


class Completeness(Struct, frozen=True):
    """The verdict. ``because`` names every limit that was met and everything that failed, or is ""."""

    kind: CompletenessLevel
    reason: str = ""
