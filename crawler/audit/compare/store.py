"""Compares the findings of an audit with earlier ones in SQL, and stores them in one transaction.

An audit that is killed at any moment leaves the history (:mod:`crawler.audit.compare.history`) as it was.
"""

import sqlite3
from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, Final

import msgspec

from crawler.audit.compare.finding_status import CurrentState, FindingStatus, PreviousFinding, RuleCoverage, is_hidden
from crawler.audit.compare.history import AUDIT_HISTORY_DB
from crawler.audit.evidence.visits import VisitLookup
from crawler.audit.finding import RuleTrend
from crawler.audit.summary import AuditSummary
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
CREATE TEMP TABLE gone (id INTEGER PRIMARY KEY, rule TEXT, times INTEGER, outcome INTEGER);
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
"""Pairs the findings of this audit and the previous one: in the same place, in another file, in another spelling.

``many`` has the rules and files whose findings are counted instead of listed: their totals, and which side is cut.
"""

LAST_AUDIT: Final = "SELECT news, settings FROM past.audit ORDER BY number DESC LIMIT 1"
AUDITS_BEFORE: Final = "SELECT news FROM past.audit WHERE number < ? ORDER BY number"
SET_SINCE: Final = "UPDATE main.finding SET since = ?"
SET_COMPARED: Final = "UPDATE main.finding SET new = 0 WHERE rule IN (SELECT rule FROM temp.comparable)"

SET_STOOD: Final = """
UPDATE main.finding SET since = b.since, stood = b.certain OR NOT main.finding.certain
FROM temp.pair p JOIN past.finding b ON b.id = p.before WHERE main.finding.id = p.now"""
"""An inconclusive finding that is certain now counts as new."""

SET_NEW: Final = """
UPDATE main.finding SET new = 1 WHERE certain AND times = 1 AND NOT stood AND accepted IS NULL
AND rule IN (SELECT rule FROM temp.comparable)
AND (rule, file) NOT IN (SELECT rule, file FROM temp.many WHERE was_cut)"""

SET_NEW_BY_COUNT: Final = """
UPDATE main.finding SET stood = m.before IS NOT NULL, new = max(0, min(times, m.now - coalesce(m.before, 0) - m.told))
FROM (SELECT m.rule, m.file, m.now, m.before, sum(f.new) AS told FROM temp.many m
    JOIN main.finding f ON f.rule = m.rule AND f.file = m.file
    WHERE m.rule IN (SELECT rule FROM temp.comparable) GROUP BY m.rule, m.file) m
WHERE main.finding.rule = m.rule AND main.finding.file = m.file AND main.finding.times > 1 AND main.finding.certain
AND main.finding.accepted IS NULL"""
"""Of findings that are only counted, the increase is new."""

SET_STILL: Final = "UPDATE main.finding SET stood = 1 WHERE NOT coalesce(new, 0) AND id IN (SELECT now FROM temp.pair)"

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
"""Findings that this audit does not have, with the current state of their URL and its new findings."""

RULE_TRENDS: Final = """
SELECT rule, coalesce(sum(new), 0), sum(still), sum(mended), sum(undecided), sum(became) FROM (
  SELECT rule, new, stood * (times - coalesce(new, 0)) AS still, 0 AS mended, 0 AS undecided, 0 AS became
    FROM main.finding WHERE accepted IS NULL
  UNION ALL SELECT rule, 0, 0, times * (outcome = 1), times * (outcome IN (2, 3)), times * (outcome = 4) FROM temp.gone)
GROUP BY rule"""

FORGET_FINDINGS: Final = """
DELETE FROM past.finding WHERE id NOT IN (SELECT id FROM temp.gone WHERE outcome = 2) OR missed + 1 >= ?"""
"""Deletes earlier findings, except those that this audit could not decide; these too after so many audits."""

COUNT_MISSED: Final = "UPDATE past.finding SET missed = missed + 1"

STORE_FINDINGS: Final = """
INSERT INTO past.finding (missed, rule, key, url, file, state, times, others, since, certain)
SELECT 0, f.rule, f.key, f.url, f.file, f.state, f.times, f.others, f.since, f.certain != 0 OR coalesce(p.certain, 0)
FROM main.finding f LEFT JOIN temp.pair p ON p.now = f.id ORDER BY f.id"""

BATCH_ROWS: Final = 5_000  # rows at once


class AuditHistory:
    """The history of audits, attached to the ``db`` of this one. Every method raises StorageError.

    Its message names the file and the remedy: the audit itself does not need the history.
    """

    def __init__(self, db: sqlite3.Connection, directory: Path) -> None:
        self._db = db
        self._path = directory / AUDIT_HISTORY_DB.file
        AUDIT_HISTORY_DB.open(self._path).close()
        with AUDIT_HISTORY_DB.used(self._path):
            db.execute("ATTACH ? AS past", (str(self._path.absolute()),))
            db.execute("PRAGMA past.synchronous = FULL")

    def last_audit(self) -> tuple[float, dict[str, Any]] | None:
        """The start of the last finished audit (Unix time), and the settings that decided what its crawl found."""
        with AUDIT_HISTORY_DB.used(self._path):
            row = self._db.execute(LAST_AUDIT).fetchone()
        return (msgspec.msgpack.decode(row[0], type=AuditSummary).started, msgspec.json.decode(row[1])) if row else None

    def audits_before(self, number: int) -> list[AuditSummary]:
        """The finished audits with a smaller number, the oldest first."""
        with AUDIT_HISTORY_DB.used(self._path):
            rows = self._db.execute(AUDITS_BEFORE, (number,))
            return [msgspec.msgpack.decode(news, type=AuditSummary) for (news,) in rows]

    def rule_coverage(self) -> dict[str, tuple[float, RuleCoverage]]:
        """Start and coverage by rule: of the last audit that could decide it, else of the last that checked it."""
        with AUDIT_HISTORY_DB.used(self._path):
            rows = self._db.execute("SELECT rule, started, how FROM past.looked")
            decode = msgspec.msgpack.Decoder(RuleCoverage).decode
            return {rule: (started, decode(how)) for rule, started, how in rows}

    def compare(self, day: str, comparable: Iterable[str]) -> None:
        """Set ``since`` and ``new`` of each finding. ``day`` is today, ``comparable`` are ids of rules."""
        with AUDIT_HISTORY_DB.used(self._path):
            self._db.executescript(CREATE_PAIR)
            self._db.executemany("INSERT INTO temp.comparable VALUES (?)", ((rule,) for rule in comparable))
            self._db.execute(SET_SINCE, (day,))
            for statement in (SET_COMPARED, SET_STOOD, SET_NEW, SET_NEW_BY_COUNT, SET_STILL):
                self._db.execute(statement)

    def resolve_missing(
        self, decide: Callable[[PreviousFinding, CurrentState], tuple[FindingStatus, str, str]]
    ) -> None:
        """Decide the outcome of each finding that this audit does not have, in flat memory.

        ``decide`` returns the outcome, the current state in words, and the rule that replaces it.
        """
        with AUDIT_HISTORY_DB.used(self._path):
            self._db.executescript(INDEXES)
            visits = VisitLookup(self._db)
            rows = self._db.execute(MISSING_FINDINGS)
            while batch := list(islice(rows, BATCH_ROWS)):
                gone, resolved = [], []
                for row in batch:
                    previous, current = _row(row, visits)
                    outcome, now, rule = decide(previous, current)
                    gone.append((row[0], previous.rule, row[7], outcome))
                    if outcome in (FindingStatus.RESOLVED, FindingStatus.REPLACED):
                        resolved.append((previous.rule, previous.url, previous.since, now, previous.file, rule))
                self._db.executemany("INSERT INTO temp.gone VALUES (?, ?, ?, ?)", gone)
                self._db.executemany(
                    "INSERT INTO main.mended (rule, url, since, now, file, became) VALUES (?, ?, ?, ?, ?, ?)", resolved
                )

    def trends(self) -> list[RuleTrend]:
        """The trend of each rule that has, or had, findings."""
        with AUDIT_HISTORY_DB.used(self._path):
            return [RuleTrend(*row) for row in self._db.execute(RULE_TRENDS)]

    def store(
        self,
        news: AuditSummary,
        settings: Mapping[str, object],
        coverage: Mapping[str, RuleCoverage],
        keep: int,
        *,
        anew: bool,
    ) -> None:
        """Store this audit for the next comparison, and keep the last ``keep`` audits.

        ``settings`` decided what its crawl found; ``looked`` has the rules that it, or no audit, could decide;
        ``anew``: earlier audits had other settings.
        """
        with transaction(self._db, str(self._path)):
            if anew:
                self._db.execute("DELETE FROM past.looked")
            self._db.executemany(
                "INSERT OR REPLACE INTO past.looked VALUES (?, ?, ?)",
                (
                    (rule, news.started, msgspec.msgpack.encode(rule_coverage))
                    for rule, rule_coverage in coverage.items()
                ),
            )
            self._db.execute(FORGET_FINDINGS, (keep,))
            self._db.execute(COUNT_MISSED)
            self._db.execute(STORE_FINDINGS)
            encoded = msgspec.msgpack.encode(news), msgspec.json.encode(settings).decode()
            self._db.execute("INSERT OR REPLACE INTO past.audit VALUES (?, ?, ?)", (news.number, *encoded))
            # later numbers exist if the state was deleted since
            self._db.execute(
                "DELETE FROM past.audit WHERE number > ? OR number <= ?", (news.number, news.number - keep)
            )


def _row(row: tuple[Any, ...], visits: VisitLookup) -> tuple[PreviousFinding, CurrentState]:
    _, rule, url, file, state, since, others, _, is_carried, *current = row
    state_now, status, target, rules, is_listed, is_file_read = current
    related = msgspec.json.decode(others, type=tuple[str, ...])
    if state_now in (State.REDIRECT, State.CANONICAL_ELSEWHERE):
        related = (*related, url)
    ends = [visits.get(related_url).visited.last for related_url in related]
    return (
        PreviousFinding(rule, url, file, state, since, bool(is_carried)),
        CurrentState(
            state=state_now,
            status=status,
            target=target,
            rules=tuple(rules.split(",")) if rules else (),
            is_listed=bool(is_listed),
            is_file_read=bool(is_file_read),
            is_end_seen=not any(is_hidden(related_url.state, related_url.status) for related_url in ends),
        ),
    )
