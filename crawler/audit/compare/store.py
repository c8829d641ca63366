"""The comparison of what an audit finds with what the ones before did, and its keeping, in one transaction.

One that is cut short, or killed, at whatever moment, leaves the memory of :mod:`crawler.audit.compare.history` as it
was.
"""

import sqlite3
from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from crawler.audit.compare.history import AUDIT_HISTORY_DB
from crawler.audit.compare.rules import CurrentState, FindingStatus, PreviousFinding, RuleCoverage, is_hidden
from crawler.audit.evidence.visits import VisitLookup
from crawler.audit.finding import RuleTrend
from crawler.audit.summary import AuditSummary
from crawler.config.deprecated import current_flags, current_keys
from crawler.model import State
from crawler.state.database import transaction

_TWINS: Final = """
INSERT INTO temp.pair
WITH ours AS (SELECT id, key, url, file, row_number() OVER (PARTITION BY {of} ORDER BY {by}) AS place
    FROM main.finding WHERE id NOT IN (SELECT now FROM temp.pair)),
  theirs AS (SELECT id, key, url, file, certain, row_number() OVER (PARTITION BY {of} ORDER BY {by}) AS place
    FROM past.finding WHERE id NOT IN (SELECT before FROM temp.pair))
SELECT ours.id, theirs.id, theirs.certain FROM ours JOIN theirs USING ({of}, place);
"""

CREATE_PAIR: Final = f"""
CREATE TEMP TABLE pair (now INTEGER PRIMARY KEY, before INTEGER NOT NULL UNIQUE, certain INTEGER NOT NULL);
CREATE TEMP TABLE comparable (rule TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TEMP TABLE gone (id INTEGER PRIMARY KEY, rule TEXT, times INTEGER, fate INTEGER);
CREATE TEMP TABLE read AS SELECT DISTINCT file FROM main.entry;
{_TWINS.format(of="key, url, file", by="id")}
{_TWINS.format(of="key, url", by="file, id")}
{_TWINS.format(of="key", by="url, file, id")}
CREATE TEMP TABLE many AS
WITH place AS MATERIALIZED
  (SELECT rule, file FROM main.finding WHERE times > 1 UNION SELECT rule, file FROM past.finding WHERE times > 1),
  ours AS (SELECT rule, file, sum(times) AS total, max(times) > 1 AS cut FROM main.finding
    WHERE (rule, file) IN (SELECT rule, file FROM place) GROUP BY rule, file),
  theirs AS (SELECT rule, file, sum(times) AS total, max(times) > 1 AS cut FROM past.finding
    WHERE (rule, file) IN (SELECT rule, file FROM place) GROUP BY rule, file)
SELECT rule, file, ours.total AS now, theirs.total AS before, coalesce(ours.cut, 0) AS is_cut,
  coalesce(theirs.cut, 0) AS was_cut
FROM place LEFT JOIN ours USING (rule, file) LEFT JOIN theirs USING (rule, file);
"""  # noqa: S608 - names of columns

"""Which finding of this audit is which of the one before: in the same place, in another file, in another spelling.

``many`` are the places in which not each is told: their totals, and whether some are told by their number only.
"""

LAST_AUDIT: Final = "SELECT news, settings FROM past.audit ORDER BY number DESC LIMIT 1"

SET_SINCE: Final = "UPDATE main.finding SET since = ?"

SET_STOOD: Final = """
UPDATE main.finding SET since = b.since, stood = b.certain OR NOT main.finding.certain
FROM temp.pair p JOIN past.finding b ON b.id = p.before WHERE main.finding.id = p.now"""

"""What was inconclusive is not what stood, once it is certain."""

SET_NEW: Final = """
UPDATE main.finding SET new = 1 WHERE certain AND times = 1 AND NOT stood
AND rule IN (SELECT rule FROM temp.comparable)
AND (rule, file) NOT IN (SELECT rule, file FROM temp.many WHERE was_cut)"""

SET_NEW_BY_COUNT: Final = """
UPDATE main.finding SET stood = m.before IS NOT NULL, new = max(0, min(times, m.now - coalesce(m.before, 0) - m.told))
FROM (SELECT m.rule, m.file, m.now, m.before, sum(f.new) AS told FROM temp.many m
    JOIN main.finding f ON f.rule = m.rule AND f.file = m.file
    WHERE m.rule IN (SELECT rule FROM temp.comparable) GROUP BY m.rule, m.file) m
WHERE main.finding.rule = m.rule AND main.finding.file = m.file AND main.finding.times > 1 AND main.finding.certain"""

"""Of those that are told by their number as many are new as there are more of them, whichever they are."""

SET_STILL: Final = "UPDATE main.finding SET stood = 1 WHERE NOT new AND id IN (SELECT now FROM temp.pair)"

INDEXES: Final = """
CREATE INDEX by_url ON finding (url);
CREATE INDEX by_door ON entry (door) WHERE door != '';
"""

MISSING_FINDINGS: Final = """
SELECT b.id, b.rule, b.url, b.file, b.state, b.since, b.others, b.times, b.missed,
  coalesce(d.state, v.state, ''), coalesce(d.status, v.status), coalesce(d.target, v.target, ''),
  (SELECT group_concat(DISTINCT f.rule) FROM main.finding f WHERE f.url = b.url
    AND f.id NOT IN (SELECT now FROM temp.pair)),
  EXISTS (SELECT 1 FROM entry e WHERE e.url = b.url)
    OR EXISTS (SELECT 1 FROM entry e WHERE e.door != '' AND e.door = b.url),
  b.file IN (SELECT file FROM temp.read)
FROM past.finding b LEFT JOIN site.url u ON u.url = b.url LEFT JOIN site.visit v ON v.id = u.id
  LEFT JOIN main.door d ON d.url = b.url
WHERE b.certain AND b.id NOT IN (SELECT before FROM temp.pair)
AND (b.rule, b.file) NOT IN (SELECT rule, file FROM temp.many WHERE is_cut)"""

"""What is not found any more, with what this audit saw of its URL, and what was not found of that before."""

RULE_TRENDS: Final = """
SELECT rule, sum(new), sum(still), sum(mended), sum(undecided), sum(became) FROM (
  SELECT rule, new, stood * (times - new) AS still, 0 AS mended, 0 AS undecided, 0 AS became FROM main.finding
  UNION ALL SELECT rule, 0, 0, times * (fate = 1), times * (fate IN (2, 3)), times * (fate = 4) FROM temp.gone)
GROUP BY rule"""

FORGET_FINDINGS: Final = """
DELETE FROM past.finding WHERE id NOT IN (SELECT id FROM temp.gone WHERE fate = 2) OR missed + 1 >= ?"""

"""All that was remembered, but what this audit could not decide; and that too after so many audits."""

COUNT_MISSED: Final = "UPDATE past.finding SET missed = missed + 1"

STORE_FINDINGS: Final = """
INSERT INTO past.finding (missed, rule, key, url, file, state, times, others, since, certain)
SELECT 0, f.rule, f.key, f.url, f.file, f.state, f.times, f.others, f.since, f.certain != 0 OR coalesce(p.certain, 0)
FROM main.finding f LEFT JOIN temp.pair p ON p.now = f.id ORDER BY f.id"""


BATCH_ROWS: Final = 5_000  # rows at once


class LastAudit(Struct, frozen=True):
    """The last audit that came to its end. ``started`` is Unix time; ``settings`` decided what its crawl found."""

    started: float
    settings: dict[str, Any]


class AuditHistory:
    """What audits found before, attached to the ``db`` of this one. Every method raises StorageError.

    Its message names the file and the remedy: the audit itself can do without.
    """

    def __init__(self, db: sqlite3.Connection, directory: Path) -> None:
        self._db = db
        self._path = directory / AUDIT_HISTORY_DB.file
        AUDIT_HISTORY_DB.open(self._path).close()
        with AUDIT_HISTORY_DB.used(self._path):
            db.execute("ATTACH ? AS past", (str(self._path.absolute()),))
            db.execute("PRAGMA past.synchronous = FULL")

    def last_audit(self) -> LastAudit | None:
        """The audit before."""
        with AUDIT_HISTORY_DB.used(self._path):
            row = self._db.execute(LAST_AUDIT).fetchone()
            if row is None:
                return None
            news = msgspec.msgpack.decode(row[0], type=AuditSummary)
            return LastAudit(news.started, current_keys(msgspec.json.decode(row[1])))

    def rule_coverage(self) -> dict[str, tuple[float, RuleCoverage]]:
        """How each rule was looked for: by the last audit that could decide it, or that looked if none could."""
        with AUDIT_HISTORY_DB.used(self._path):
            rows = self._db.execute("SELECT rule, started, how FROM past.looked")
            decode = msgspec.msgpack.Decoder(RuleCoverage).decode
            return {
                rule: (started, replace(look, limit=current_flags(look.limit)))
                for rule, started, how in rows
                for look in [decode(how)]
            }

    def compare(self, day: str, comparable: Iterable[str]) -> None:
        """Give each finding its ``since`` and say whether it is new. ``day`` is today, ``comparable`` are rules."""
        with AUDIT_HISTORY_DB.used(self._path):
            self._db.executescript(CREATE_PAIR)
            self._db.executemany("INSERT INTO temp.comparable VALUES (?)", ((rule,) for rule in comparable))
            self._db.execute(SET_SINCE, (day,))
            for statement in (SET_STOOD, SET_NEW, SET_NEW_BY_COUNT, SET_STILL):
                self._db.execute(statement)

    def resolve_missing(
        self, decide: Callable[[PreviousFinding, CurrentState], tuple[FindingStatus, str, str]]
    ) -> None:
        """Decide what became of each finding that is no more, in flat memory.

        ``decide`` answers the fate, what is there now, and the rule that took its place.
        """
        with AUDIT_HISTORY_DB.used(self._path):
            self._db.executescript(INDEXES)
            visits = VisitLookup(self._db)
            rows = self._db.execute(MISSING_FINDINGS)
            while batch := list(islice(rows, BATCH_ROWS)):
                gone, mended = [], []
                for row in batch:
                    before, today = _row(row, visits)
                    fate, now, rule = decide(before, today)
                    gone.append((row[0], before.rule, row[7], fate))
                    if fate in (FindingStatus.RESOLVED, FindingStatus.REPLACED):
                        mended.append((before.rule, before.url, before.since, now, before.file, rule))
                self._db.executemany("INSERT INTO temp.gone VALUES (?, ?, ?, ?)", gone)
                self._db.executemany(
                    "INSERT INTO main.mended (rule, url, since, now, file, became) VALUES (?, ?, ?, ?, ?, ?)",
                    mended,
                )

    def trends(self) -> list[RuleTrend]:
        """What became of the findings of each rule that has, or had, some."""
        with AUDIT_HISTORY_DB.used(self._path):
            return [RuleTrend(*row) for row in self._db.execute(RULE_TRENDS)]

    def store(
        self,
        news: AuditSummary,
        settings: Mapping[str, object],
        looked: Mapping[str, RuleCoverage],
        keep: int,
        *,
        anew: bool,
    ) -> None:
        """Let this audit be the one that the next is compared with, and remember the last ``keep`` of all.

        ``settings`` decided what its crawl found, ``looked`` are the rules that it could decide, or that none could;
        ``anew``: earlier ones looked otherwise.
        """
        with transaction(self._db, str(self._path)):
            if anew:
                self._db.execute("DELETE FROM past.looked")
            self._db.executemany(
                "INSERT OR REPLACE INTO past.looked VALUES (?, ?, ?)",
                ((rule, news.started, msgspec.msgpack.encode(how)) for rule, how in looked.items()),
            )
            self._db.execute(FORGET_FINDINGS, (keep,))
            self._db.execute(COUNT_MISSED)
            self._db.execute(STORE_FINDINGS)
            encoded = msgspec.msgpack.encode(news), msgspec.json.encode(settings).decode()
            self._db.execute("INSERT OR REPLACE INTO past.audit VALUES (?, ?, ?)", (news.number, *encoded))
            # there are later ones where the state was begun anew since
            self._db.execute(
                "DELETE FROM past.audit WHERE number > ? OR number <= ?", (news.number, news.number - keep)
            )


def _row(row: tuple[Any, ...], visits: VisitLookup) -> tuple[PreviousFinding, CurrentState]:
    _, rule, url, file, state, since, others, _, is_carried, *now = row
    state_now, status, target, rules, is_listed, is_file_read = now
    about = msgspec.json.decode(others, type=tuple[str, ...])
    if state_now in (State.REDIRECT, State.CANONICAL_ELSEWHERE):
        about = (*about, url)
    ends = [visits.get(each).visited.last for each in about]
    return (
        PreviousFinding(rule, url, file, state, since, bool(is_carried)),
        CurrentState(
            state=state_now,
            status=status,
            target=target,
            rules=tuple(rules.split(",")) if rules else (),
            is_listed=bool(is_listed),
            is_file_read=bool(is_file_read),
            is_end_seen=not any(is_hidden(each.state, each.status) for each in ends),
        ),
    )
