"""What the last audit found: the file ``past.db`` beside the state, with which the findings of the next are compared.

It is written in one transaction when an audit has come to its end and was told: one that is cut short, or killed, at
whatever moment, leaves it as it was.
"""

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import Struct

from crawler.comparison import Before, Fate, Looked, Today, is_hidden
from crawler.database import Database, is_kept, storage
from crawler.errors import StorageError
from crawler.evidence import past_queries as sql
from crawler.evidence.visits import Visits
from crawler.finding import Count, Trend
from crawler.model import State

BATCH: Final = 5_000  # rows at once
PAST: Final = Database(
    file="past.db",
    mark=0x53_41_50_41,  # "SAPA"
    version=1,
    tables="""
CREATE TABLE audit (                          -- the last ones that came to their end
  number INTEGER PRIMARY KEY,                 -- of the run
  started REAL NOT NULL,                      -- Unix time
  seconds REAL NOT NULL,
  verdict TEXT NOT NULL,                      -- reports.verdict.Kind
  completeness TEXT NOT NULL,                 -- completeness.Kind
  settings TEXT NOT NULL                      -- JSON: those that decide what a crawl finds
);
CREATE TABLE tally (                          -- what became of the findings of a rule in an audit
  audit INTEGER NOT NULL,
  rule TEXT NOT NULL,
  certain INTEGER NOT NULL,
  open INTEGER NOT NULL,
  new INTEGER NOT NULL,
  still INTEGER NOT NULL,
  mended INTEGER NOT NULL,
  undecided INTEGER NOT NULL,
  PRIMARY KEY (audit, rule)
) WITHOUT ROWID;
CREATE TABLE looked (
  rule TEXT PRIMARY KEY,
  started REAL NOT NULL,                      -- of the last audit that could decide it, or that looked if none could
  how BLOB NOT NULL                           -- msgpack of comparison.Looked
) WITHOUT ROWID;
CREATE TABLE finding (
  id INTEGER PRIMARY KEY,
  audit INTEGER NOT NULL,                     -- the last that had it
  rule TEXT NOT NULL,
  key BLOB NOT NULL,                          -- comparison.identity
  url TEXT NOT NULL,
  file TEXT NOT NULL,
  state TEXT NOT NULL,
  times INTEGER NOT NULL,
  others TEXT NOT NULL,                       -- JSON
  since TEXT NOT NULL,
  certain INTEGER NOT NULL                    -- 1: it was told as conclusive
);
""",
    what="the memory of the audit before",
    remedy="move it away: the next audit is then compared with nothing",
)
"""The file, kept apart from what is made anew by every audit."""


class Last(Struct, frozen=True):
    """The last audit that came to its end. ``settings`` decided what its crawl found."""

    number: int
    started: float
    settings: dict[str, Any]


class Summary(Struct, frozen=True, kw_only=True):
    """What is remembered of an audit as a whole. ``started`` is Unix time."""

    started: float
    seconds: float
    verdict: str  # reports.verdict.Kind
    completeness: str  # completeness.Kind
    settings: dict[str, object]


class Past:
    """What audits found before, attached to the ``db`` of this one. Every method raises StorageError.

    Its message names the file and the remedy: the audit itself can do without.
    """

    def __init__(self, db: sqlite3.Connection, directory: Path) -> None:
        self._db = db
        self._path = directory / PAST.file
        PAST.connect(self._path).close()
        with self._fence():
            db.execute("ATTACH ? AS past", (str(self._path.absolute()),))
            db.execute("PRAGMA past.synchronous = FULL")

    def last(self) -> Last | None:
        """The audit before."""
        with self._fence():
            row = self._db.execute(
                "SELECT number, started, settings FROM past.audit ORDER BY number DESC LIMIT 1"
            ).fetchone()
            return Last(row[0], row[1], msgspec.json.decode(row[2])) if row else None

    def looked(self) -> dict[str, tuple[float, Looked]]:
        """How each rule was looked for: by the last audit that could decide it, or that looked if none could."""
        with self._fence():
            rows = self._db.execute("SELECT rule, started, how FROM past.looked")
            return {rule: (started, msgspec.msgpack.decode(how, type=Looked)) for rule, started, how in rows}

    def compare(self, day: str, comparable: Iterable[str]) -> None:
        """Give each finding its ``since`` and say whether it is new. ``day`` is today, ``comparable`` are rules."""
        with self._fence():
            self._db.executescript(sql.PAIR)
            self._db.executemany("INSERT INTO temp.comparable VALUES (?)", ((rule,) for rule in comparable))
            self._db.execute(sql.SINCE, (day,))
            for statement in (sql.STOOD, sql.NEW, sql.MORE, sql.STILL):
                self._db.execute(statement)

    def mend(self, decide: Callable[[Before, Today], tuple[Fate, str]]) -> None:
        """Decide what became of each finding that is no more, in flat memory."""
        with self._fence():
            last = self._db.execute("SELECT max(number) FROM past.audit").fetchone()[0]
            self._db.executescript(sql.PLACES)
            visits = Visits(self._db)
            rows = self._db.execute(sql.GONE, (last,))
            while batch := list(islice(rows, BATCH)):
                gone, mended = [], []
                for row in batch:
                    before, today = _row(row, visits)
                    fate, now = decide(before, today)
                    gone.append((row[0], before.rule, row[7], fate))
                    if fate is Fate.MENDED:
                        mended.append((before.rule, before.url, before.since, now, before.file))
                self._db.executemany("INSERT INTO temp.gone VALUES (?, ?, ?, ?)", gone)
                self._db.executemany(
                    "INSERT INTO main.mended (rule, url, since, now, file) VALUES (?, ?, ?, ?, ?)", mended
                )

    def trends(self) -> list[Trend]:
        """What became of the findings of each rule that has, or had, some."""
        with self._fence():
            return [Trend(*row) for row in self._db.execute(sql.TRENDS)]

    def withdraw(self) -> None:
        """Say nothing of an audit before after all."""
        with self._fence():
            self._db.execute("UPDATE main.finding SET since = '', new = 0")
            self._db.execute("DELETE FROM main.mended")

    def keep(
        self,
        summary: Summary,
        counts: list[Count],
        trends: Sequence[Trend],
        looked: Mapping[str, Looked],
        keep: int,
        *,
        anew: bool,
    ) -> None:
        """Let this audit be the one that the next is compared with, and remember the last ``keep`` as a whole.

        ``looked`` are the rules that it could decide, or that none could; ``anew``: earlier ones looked otherwise.
        """
        tallies = {each.rule: Trend(each.rule, 0, 0, 0) for each in counts} | {t.rule: t for t in trends}
        of = {each.rule: each for each in counts}
        with self._fence(), self._change():
            row = self._db.execute(
                "INSERT INTO past.audit (started, seconds, verdict, completeness, settings) VALUES (?, ?, ?, ?, ?)",
                (summary.started, summary.seconds, summary.verdict, summary.completeness,
                 msgspec.json.encode(summary.settings).decode()),
            )  # fmt: skip
            number = row.lastrowid or 0
            self._db.executemany(
                "INSERT INTO past.tally VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    (number, rule, count.certain, count.open_, t.new, t.still, t.mended, t.undecided)
                    for rule, t in tallies.items()
                    for count in [of.get(rule, Count(rule, 0))]
                ),
            )
            if anew:
                self._db.execute("DELETE FROM past.looked")
            self._db.executemany(
                "INSERT OR REPLACE INTO past.looked VALUES (?, ?, ?)",
                ((rule, summary.started, msgspec.msgpack.encode(how)) for rule, how in looked.items()),
            )
            self._db.execute(sql.KEEP, (number,))
            self._db.execute(sql.FORGET, (number, keep))
            for table, column in (("audit", "number"), ("tally", "audit")):
                self._db.execute(f"DELETE FROM past.{table} WHERE {column} <= ?", (number - keep,))  # noqa: S608

    @contextmanager
    def _fence(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise StorageError(f"{self._path} cannot be used: {error}; {PAST.remedy}") from None

    @contextmanager
    def _change(self) -> Iterator[None]:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._db.execute("COMMIT")
        except BaseException:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            raise


class Kept(Struct, frozen=True):
    """A finding as it is remembered; ``is_carried``: the last audit could not decide whether it is there."""

    rule: str
    since: str
    is_certain: bool
    is_carried: bool


def kept(directory: Path, url: str) -> list[Kept]:
    """What is remembered of a URL; nothing where there is no memory. Raises StorageError, UsageError."""
    path = directory / PAST.file
    if not is_kept(path):
        return []
    with closing(PAST.look(path)) as db, storage(PAST.what):
        rows = db.execute(
            "SELECT rule, since, certain, audit < (SELECT max(number) FROM audit) FROM finding WHERE url = ? "
            "ORDER BY since, id",
            (url,),
        ).fetchall()
    return [Kept(rule, since, bool(certain), bool(carried)) for rule, since, certain, carried in rows]


def _row(row: tuple[Any, ...], visits: Visits) -> tuple[Before, Today]:
    _, rule, url, file, state, since, others, _, is_carried, *now = row
    state_now, status, target, rules, is_listed, is_file_read = now
    about = msgspec.json.decode(others, type=tuple[str, ...])
    if state_now in (State.REDIRECT, State.CANONICAL_ELSEWHERE):
        about = (*about, url)
    ends = [visits.get(each).visited.last for each in about]
    return (
        Before(rule, url, file, state, since, bool(is_carried)),
        Today(
            state=state_now,
            status=status,
            target=target,
            rules=tuple(rules.split(",")) if rules else (),
            is_listed=bool(is_listed),
            is_file_read=bool(is_file_read),
            is_end_seen=not any(is_hidden(each.state, each.status) for each in ends),
        ),
    )
