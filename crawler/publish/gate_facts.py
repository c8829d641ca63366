"""Reads the facts for the gate and for completeness from the tables, after visiting has ended."""

import sqlite3
from collections import Counter
from collections.abc import Sequence
from operator import attrgetter
from typing import Final

from msgspec.structs import replace

from crawler.fetch.retry import is_failure
from crawler.model import State, Url, Verdict
from crawler.publish.completeness import Coverage
from crawler.publish.gate import MIN_SIGNIFICANT, GateFacts, IdenticalPages, LostPages, StartUrlStatus
from crawler.state.database import storage_errors

_SELECT_START: Final = """SELECT v.state, v.reason, v.target, v.status,
  EXISTS (SELECT 1 FROM published p WHERE p.id = u.id),
  EXISTS (SELECT 1 FROM listing l WHERE l.id = u.id)
    OR EXISTS (SELECT 1 FROM url t JOIN listing l ON l.id = t.id WHERE t.url = v.target)
  FROM url u LEFT JOIN visit v ON v.id = u.id WHERE u.url = ?"""

_COUNT_STATES: Final = "SELECT state, status, count(*) FROM visit GROUP BY state, status"

# With min(), the other columns are those of the row that has the minimum: https://www.sqlite.org/lang_select.html
_SELECT_LOST: Final = """SELECT coalesce(v.state, :unlinked) AS state, v.status,
    iif(v.state = :redirect AND v.status IN (302, 303, 307),
        coalesce(substr(v.target, 1, instr(v.target || '?', '?') - 1), ''), '') AS target,
    count(*) AS count, min(u.url) AS url, coalesce(v.reason, '') AS reason
  FROM published p JOIN url u ON u.id = p.id LEFT JOIN visit v ON v.id = p.id
  WHERE NOT EXISTS (SELECT 1 FROM listing l WHERE l.id = p.id)
  GROUP BY 1, 2, 3"""

_SELECT_IDENTICAL: Final = """SELECT count(DISTINCT was.digest) AS pages, min(u.url)
  FROM published p JOIN visit v ON v.id = p.id AND v.content != p.content
    JOIN content now ON now.id = v.content JOIN content was ON was.id = p.content
    JOIN url u ON u.id = p.id
  WHERE now.digest != was.digest AND now.digest != x''
  GROUP BY now.digest ORDER BY pages DESC, 2 LIMIT 1"""

# A bad answer of a published page is a failure; other URLs may always give one.
_FAILED_NOW: Final = f"""SELECT count(*) FROM published p JOIN visit v ON v.id = p.id
  WHERE v.state = '{State.BAD_ANSWER}'"""  # noqa: S608

IS_TRUNCATED: Final = """v.reason != '' AND (v.reason LIKE '%only the beginning was read%'
  OR v.reason LIKE '%links cut at%' OR v.reason LIKE '%reading stopped after%')"""
"""Condition on a visit: its reason says that only a part of the document was read."""
_SELECT_TRUNCATED: Final = f"""SELECT count(*), coalesce(min(u.url), '') FROM visit v JOIN url u ON u.id = v.id
  WHERE {IS_TRUNCATED}"""  # noqa: S608

# With such responses, robots.txt allows nothing
_NO_ROBOTS: Final = """SELECT origin FROM robots
  WHERE fetched_at >= ? AND (status IS NULL OR status >= 500 OR status IN (304, 429) OR status < 200) ORDER BY origin"""


def gate_facts(db: sqlite3.Connection, start: Url) -> GateFacts:
    """The facts for the gate, once the table ``listing`` holds the new set. Raises StorageError."""
    with storage_errors():
        visits = [(State(state), status, count) for state, status, count in db.execute(_COUNT_STATES)]
        failed = sum(count for state, status, count in visits if _is_failed_page(state, status))
        failed += _count(db, _FAILED_NOW)
        return GateFacts(
            start=_start_url_status(db, start),
            published=_count(db, "SELECT count(*) FROM published"),
            listed=_count(db, "SELECT count(*) FROM listing"),
            failed=failed,
            visited=failed + sum(count for state, _, count in visits if state is State.INDEXABLE),
            gone=_lost_pages(db),
            alike=_identical_pages(db),
        )


def read_coverage(db: sqlite3.Connection, stopped: str, since: float) -> Coverage:
    """How much of the site this run, which started at ``since`` (Unix time), saw. Raises StorageError.

    ``stopped`` says why visiting ended early, as the end of a sentence, or is "".
    """
    with storage_errors():
        visited: Counter[State] = Counter()
        failed: Counter[State] = Counter()
        for name, status, count in db.execute(_COUNT_STATES):
            state = State(name)
            visited[state] += count
            if is_failure(state, status):
                failed[state] += count
        if bad_answers := _count(db, _FAILED_NOW):
            failed[State.BAD_ANSWER] += bad_answers
        cut, example = db.execute(_SELECT_TRUNCATED).fetchone()
        return Coverage(
            stopped=stopped,
            pending=visited[State.PENDING],
            too_deep=visited[State.TOO_DEEP],
            cut=cut,
            example=Url(example),
            failed=dict(sorted(failed.items())),
            no_robots=tuple(origin for (origin,) in db.execute(_NO_ROBOTS, (since,))),
        )


def _is_failed_page(state: State, status: int | None) -> bool:
    return state is not State.SITEMAP_FILE and is_failure(state, status)


def _count(db: sqlite3.Connection, query: str) -> int:
    return int(db.execute(query).fetchone()[0])


def _start_url_status(db: sqlite3.Connection, url: Url) -> StartUrlStatus:
    row = db.execute(_SELECT_START, (url,)).fetchone()
    if row is None:
        return StartUrlStatus(url)
    state, reason, target, status, was_published, is_listed = row
    verdict = Verdict(State(state), reason, target) if state else None
    return StartUrlStatus(url, verdict, status, bool(was_published), bool(is_listed))


def _lost_pages(db: sqlite3.Connection) -> Sequence[LostPages]:
    """The causes for which published pages leave. A redirect target matters only when many pages share it."""
    states = {"unlinked": State.UNLINKED.value, "redirect": State.REDIRECT.value}
    groups: dict[tuple[str, int | None, str], LostPages] = {}
    for state, status, target, count, url, reason in db.execute(_SELECT_LOST, states):
        shared = target if count >= MIN_SIGNIFICANT else ""
        group = LostPages(state=State(state), status=status, target=shared, count=count, url=Url(url), reason=reason)
        previous = groups.get((state, status, shared))
        if previous is not None:
            first = min(previous, group, key=attrgetter("url"))
            group = replace(first, count=previous.count + count)
        groups[state, status, shared] = group
    return tuple(groups.values())


def _identical_pages(db: sqlite3.Connection) -> IdenticalPages | None:
    row = db.execute(_SELECT_IDENTICAL).fetchone()
    return IdenticalPages(row[0], Url(row[1])) if row and row[0] > 1 else None
