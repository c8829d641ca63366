"""Compares the findings of an audit with earlier ones in SQL, and stores them in one transaction.

An audit that is killed at any moment leaves the history (:mod:`crawler.audit.compare.history`) as it was.
"""

import sqlite3
from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, Final

import msgspec

from crawler.audit.compare.finding_status import CurrentState, FindingStatus, OtherUrl, PreviousFinding, RuleCoverage
from crawler.audit.compare.history import AUDIT_HISTORY_DB
from crawler.audit.evidence.visits import VisitLookup
from crawler.audit.finding import THROUGH, RuleTrend, UndecidedFinding
from crawler.audit.health.visit import VisitedUrl
from crawler.audit.rules import rests_on_links
from crawler.audit.summary import AuditSummary
from crawler.model import State
from crawler.state.database import statements, transaction

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
CREATE TEMP TABLE gone (id INTEGER PRIMARY KEY, rule TEXT, times INTEGER, outcome INTEGER, why TEXT);
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

_SQL: Final = statements("crawler.audit.compare", "store.sql")


BATCH_ROWS: Final = 500  # rows at once, each with up to MAX_KEPT URLs


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
            row = self._db.execute(_SQL["last_audit"]).fetchone()
        return (msgspec.msgpack.decode(row[0], type=AuditSummary).started, msgspec.json.decode(row[1])) if row else None

    def audits_before(self, number: int) -> list[AuditSummary]:
        """The finished audits with a smaller number, the oldest first."""
        with AUDIT_HISTORY_DB.used(self._path):
            rows = self._db.execute(_SQL["audits_before"], (number,))
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
            self._db.execute(_SQL["set_since"], (day,))
            for statement in (
                _SQL["set_compared"],
                _SQL["set_stood"],
                _SQL["set_new"],
                _SQL["set_new_by_count"],
                _SQL["set_still"],
            ):
                self._db.execute(statement)

    def resolve_missing(
        self, decide: Callable[[PreviousFinding, CurrentState], tuple[FindingStatus, str, str]]
    ) -> None:
        """Decide the outcome of each finding that this audit does not have, in flat memory.

        ``decide`` returns the outcome, the current state or the doubt in words, and the rule that replaces it.
        """
        with AUDIT_HISTORY_DB.used(self._path):
            self._db.executescript(_SQL["indexes"])
            visits = VisitLookup(self._db)
            rows = self._db.execute(_SQL["missing_findings"])
            while batch := list(islice(rows, BATCH_ROWS)):
                gone, resolved = [], []
                for row in batch:
                    previous, current = _row(row, visits)
                    outcome, now, rule = decide(previous, current)
                    gone.append((row[0], previous.rule, row[7], outcome, now))
                    if outcome in (FindingStatus.RESOLVED, FindingStatus.REPLACED):
                        resolved.append((previous.rule, previous.url, previous.since, now, previous.file, rule))
                self._db.executemany("INSERT INTO temp.gone VALUES (?, ?, ?, ?, ?)", gone)
                self._db.executemany(
                    "INSERT INTO main.mended (rule, url, since, now, file, became) VALUES (?, ?, ?, ?, ?, ?)", resolved
                )

    def trends(self) -> list[RuleTrend]:
        """The trend of each rule that has, or had, findings."""
        with AUDIT_HISTORY_DB.used(self._path):
            return [RuleTrend(*row) for row in self._db.execute(_SQL["rule_trends"])]

    def undecided(self, limit: int) -> tuple[UndecidedFinding, ...]:
        """The first findings that this audit does not have and cannot decide."""
        with AUDIT_HISTORY_DB.used(self._path):
            return tuple(UndecidedFinding(*row) for row in self._db.execute(_SQL["undecided"], (limit,)))

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
            self._db.execute(_SQL["forget_findings"], (keep,))
            self._db.execute(_SQL["count_missed"])
            self._db.execute(_SQL["store_findings"])
            encoded = msgspec.msgpack.encode(news), msgspec.json.encode(settings).decode()
            self._db.execute("INSERT OR REPLACE INTO past.audit VALUES (?, ?, ?)", (news.number, *encoded))
            # later numbers exist if the state was deleted since
            self._db.execute(
                "DELETE FROM past.audit WHERE number > ? OR number <= ?", (news.number, news.number - keep)
            )


def _row(row: tuple[Any, ...], visits: VisitLookup) -> tuple[PreviousFinding, CurrentState]:
    _, rule, url, file, state, since, others, _, is_carried, *current = row
    state_now, status, target, reason, rules, is_listed, is_file_read = current
    stored = msgspec.json.decode(others, type=list[str])
    related = [visits.get(other).visited for other in stored if not other.startswith(THROUGH)]
    leading = [] if rests_on_links(rule) else [*related]  # pages with a link may lead anywhere
    leading += [visits.get(other.removeprefix(THROUGH)).visited for other in stored if other.startswith(THROUGH)]
    if rule == "target.fragment" or state_now in (State.REDIRECT, State.CANONICAL_ELSEWHERE):
        leading.append(visits.get(url.partition("#")[0]).visited)
    moved = [_redirect_end(visited.url, visits) for visited in related if visited.state == State.REDIRECT]
    related += [end for end in moved if end.state != State.OUT_OF_SCOPE]
    return (
        PreviousFinding(rule, url, file, state, since, bool(is_carried)),
        CurrentState(
            state=state_now,
            status=status,
            target=target,
            reason=reason,
            rules=tuple(rules.split(",")) if rules else (),
            is_listed=bool(is_listed),
            is_file_read=bool(is_file_read),
            others=tuple(map(_other_url, related)),
            ends=tuple(_other_url(visited.last) for visited in leading),
        ),
    )


def _redirect_end(url: str, visits: VisitLookup) -> VisitedUrl:
    """The URL that is read instead of one that redirects; one of the redirects if they form a loop."""
    trail = visits.redirect_trail(url)
    return next((each for each in trail if each.state != State.REDIRECT), visits.get(trail[-1].target).visited)


def _other_url(visited: VisitedUrl) -> OtherUrl:
    return OtherUrl(visited.url, visited.state, visited.status, visited.reason)
