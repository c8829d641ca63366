"""The comparison of what an audit finds with what the ones before did, and its keeping, in one transaction.

One that is cut short, or killed, at whatever moment, leaves the memory of :mod:`crawler.evidence.audits` as it was.
"""

import sqlite3
from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import Struct

from crawler.audit_news import AuditNews
from crawler.comparison import Before, Fate, Looked, Today, is_hidden
from crawler.evidence import past_queries as sql
from crawler.evidence.audits import AUDITS, usable
from crawler.evidence.visits import Visits
from crawler.finding import Trend
from crawler.model import State
from crawler.state.database import change

BATCH: Final = 5_000  # rows at once


class Last(Struct, frozen=True):
    """The last audit that came to its end. ``started`` is Unix time; ``settings`` decided what its crawl found."""

    started: float
    settings: dict[str, Any]


class Past:
    """What audits found before, attached to the ``db`` of this one. Every method raises StorageError.

    Its message names the file and the remedy: the audit itself can do without.
    """

    def __init__(self, db: sqlite3.Connection, directory: Path) -> None:
        self._db = db
        self._path = directory / AUDITS.file
        AUDITS.connect(self._path).close()
        with usable(self._path):
            db.execute("ATTACH ? AS past", (str(self._path.absolute()),))
            db.execute("PRAGMA past.synchronous = FULL")

    def last(self) -> Last | None:
        """The audit before."""
        with usable(self._path):
            row = self._db.execute(sql.LAST).fetchone()
            if row is None:
                return None
            news = msgspec.msgpack.decode(row[0], type=AuditNews)
            return Last(news.started, msgspec.json.decode(row[1]))

    def looked(self) -> dict[str, tuple[float, Looked]]:
        """How each rule was looked for: by the last audit that could decide it, or that looked if none could."""
        with usable(self._path):
            rows = self._db.execute("SELECT rule, started, how FROM past.looked")
            return {rule: (started, msgspec.msgpack.decode(how, type=Looked)) for rule, started, how in rows}

    def compare(self, day: str, comparable: Iterable[str]) -> None:
        """Give each finding its ``since`` and say whether it is new. ``day`` is today, ``comparable`` are rules."""
        with usable(self._path):
            self._db.executescript(sql.PAIR)
            self._db.executemany("INSERT INTO temp.comparable VALUES (?)", ((rule,) for rule in comparable))
            self._db.execute(sql.SINCE, (day,))
            for statement in (sql.STOOD, sql.NEW, sql.MORE, sql.STILL):
                self._db.execute(statement)

    def mend(self, decide: Callable[[Before, Today], tuple[Fate, str, str]]) -> None:
        """Decide what became of each finding that is no more, in flat memory.

        ``decide`` answers the fate, what is there now, and the rule that took its place.
        """
        with usable(self._path):
            self._db.executescript(sql.PLACES)
            visits = Visits(self._db)
            rows = self._db.execute(sql.GONE)
            while batch := list(islice(rows, BATCH)):
                gone, mended = [], []
                for row in batch:
                    before, today = _row(row, visits)
                    fate, now, rule = decide(before, today)
                    gone.append((row[0], before.rule, row[7], fate))
                    if fate in (Fate.MENDED, Fate.BECAME):
                        mended.append((before.rule, before.url, before.since, now, before.file, rule))
                self._db.executemany("INSERT INTO temp.gone VALUES (?, ?, ?, ?)", gone)
                self._db.executemany(
                    "INSERT INTO main.mended (rule, url, since, now, file, became) VALUES (?, ?, ?, ?, ?, ?)",
                    mended,
                )

    def trends(self) -> list[Trend]:
        """What became of the findings of each rule that has, or had, some."""
        with usable(self._path):
            return [Trend(*row) for row in self._db.execute(sql.TRENDS)]

    def keep(
        self,
        news: AuditNews,
        settings: Mapping[str, object],
        looked: Mapping[str, Looked],
        keep: int,
        *,
        anew: bool,
    ) -> None:
        """Let this audit be the one that the next is compared with, and remember the last ``keep`` of all.

        ``settings`` decided what its crawl found, ``looked`` are the rules that it could decide, or that none could;
        ``anew``: earlier ones looked otherwise.
        """
        with change(self._db, str(self._path)):
            if anew:
                self._db.execute("DELETE FROM past.looked")
            self._db.executemany(
                "INSERT OR REPLACE INTO past.looked VALUES (?, ?, ?)",
                ((rule, news.started, msgspec.msgpack.encode(how)) for rule, how in looked.items()),
            )
            self._db.execute(sql.FORGET, (keep,))
            self._db.execute(sql.MISSED)
            self._db.execute(sql.KEEP)
            encoded = msgspec.msgpack.encode(news), msgspec.json.encode(settings).decode()
            self._db.execute("INSERT OR REPLACE INTO past.audit VALUES (?, ?, ?)", (news.number, *encoded))
            # there are later ones where the state was begun anew since
            self._db.execute(
                "DELETE FROM past.audit WHERE number > ? OR number <= ?", (news.number, news.number - keep)
            )


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
