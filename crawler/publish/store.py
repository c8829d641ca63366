"""Updates the state after a publish: visits become memory, and the listing becomes the published set.

It also records how long pages have been lost for the same cause. The table ``held`` has a row for each published page
that the last judged run lost: the cause, and since when. A page that is found again, or is lost for another cause,
begins anew. A page that only failed keeps its row.
"""

import sqlite3
from collections.abc import Collection
from typing import Final

import msgspec
from msgspec import Struct

from crawler.fetch.retry import FAILURES, TRANSIENT
from crawler.model import State
from crawler.publish.gate import EXPLICIT, LINK_STATES, MIN_RUNS
from crawler.state.database import storage_errors, transaction
from crawler.state.store import PURGE_CONTENT

IS_TRANSIENT_SQL: Final = (
    f"(v.state IN ({', '.join(repr(state.value) for state in sorted(FAILURES))})"
    f" OR (v.state = '{State.CLIENT_ERROR}' AND v.status IN ({', '.join(map(str, sorted(TRANSIENT)))})))"
)
"""The visit, with the alias ``v``, failed and may succeed later."""


IS_WITHOUT_ROBOTS: Final = f"(v.state = '{State.ROBOTS}' AND v.reason NOT LIKE 'robots.txt line %')"
"""The visit, with the alias ``v``, was not made because robots.txt could not be fetched."""

_IS_UNLINKED: Final = f"v.state = '{State.UNLINKED}'"


_REQUEUE_FAILED: Final = f"""UPDATE visit AS v SET state = '{State.PENDING}', attempts = 0, due = 0
  WHERE {IS_TRANSIENT_SQL} OR (v.state = '{State.SITEMAP_FILE}' AND (v.status >= 500 OR v.status = 429))"""  # noqa: S608


def keep_listed_sql(*, degraded: bool) -> str:
    """The SQL condition on which a published page stays listed although this run did not find it as before.

    A failed page may work tomorrow, and so may an unavailable robots.txt. In a ``degraded`` run the pages that link to
    a page may have failed, so a page without links stays listed too.
    """
    return f"({IS_TRANSIENT_SQL} OR {IS_WITHOUT_ROBOTS}{f' OR {_IS_UNLINKED}' if degraded else ''})"


def requeue_failed(db: sqlite3.Connection) -> None:
    """Queue the failed URLs of a resumed run again. Raises StorageError."""
    with transaction(db):
        db.execute(_REQUEUE_FAILED)


FORGET_AFTER: Final = 10  # an unpublished URL is forgotten after so many runs without it


# A URL that was not fetched is stored only if it is in memory: rules, not visits, decide the scope.
_STORE_VISITS: Final = """
INSERT INTO memory (id, state, reason, status, target, content, source_key, etag, last_modified, header_date, page_date,
  page_date_source, seen_at, lastmod, lastmod_source, evidence, first_run, changed_run, full_run, last_run, failures)
SELECT v.id, v.state, v.reason, v.status, v.target, v.content, :source, v.etag, v.last_modified, v.header_date,
  v.page_date, v.page_date_source, v.seen_at, v.lastmod, v.lastmod_source, v.evidence, :run,
  iif(v.changed = 0, NULL, :run), iif(v.whole, :run, NULL), :run, iif({}, 1, 0)
FROM asked_visit v WHERE v.state != 'pending' AND (v.attempts > 0 OR v.id IN (SELECT id FROM memory))
ON CONFLICT (id) DO UPDATE SET state = excluded.state, reason = excluded.reason, status = excluded.status,
  target = excluded.target, last_run = excluded.last_run,
  failures = iif(excluded.failures, memory.failures + 1, 0)
"""

_STORE_CONTENT: Final = """
UPDATE memory SET content = v.content, source_key = :source, etag = v.etag, last_modified = v.last_modified,
  header_date = v.header_date, page_date = v.page_date, page_date_source = v.page_date_source, seen_at = v.seen_at,
  lastmod = v.lastmod, lastmod_source = v.lastmod_source,
  evidence = iif(v.changed = 0, memory.evidence, v.evidence),
  changed_run = iif(v.changed = 0, memory.changed_run, :run), full_run = iif(v.whole, :run, memory.full_run)
FROM asked_visit v WHERE v.id = memory.id AND v.seen_at IS NOT NULL AND memory.first_run != :run
  AND NOT EXISTS (SELECT 1 FROM listing l WHERE l.id = v.id AND l.kept = 2)
  AND NOT (v.changed = 0 AND v.content != memory.content AND EXISTS (SELECT 1 FROM listing WHERE kept = 2))
"""
# When pages are held, what did not count on the others may be a part of the same trouble: it must not count when it
# goes, so their content stays too. A date that such a page got is published.
_STORE_DATES: Final = f"""UPDATE memory SET lastmod = v.lastmod, lastmod_source = v.lastmod_source FROM visit v
  WHERE v.id = memory.id AND v.changed = 0 AND v.seen_at IS NOT NULL AND v.lastmod != memory.lastmod
    AND v.state = '{State.INDEXABLE}'"""  # noqa: S608 - constant

_PURGE: Final = (
    (
        "DELETE FROM memory WHERE last_run < :run - :after AND id NOT IN (SELECT id FROM published)"
        " AND NOT EXISTS (SELECT 1 FROM visit v WHERE v.id = memory.id AND v.carried)"
    ),
    PURGE_CONTENT,
    # the last one stays, so that no id is used twice
    (
        "DELETE FROM url WHERE id < (SELECT max(id) FROM url) AND id NOT IN (SELECT id FROM visit)"
        " AND id NOT IN (SELECT id FROM memory) AND id NOT IN (SELECT id FROM published)"
    ),
    "DELETE FROM asked WHERE id NOT IN (SELECT id FROM url)",
)


def store_visits(db: sqlite3.Connection, run: int, source_key: str, *, degraded: bool = False) -> None:
    """Store the visits of the run in memory. Part of the caller's transaction. Raises StorageError."""
    with storage_errors():
        visits = _STORE_VISITS.format(keep_listed_sql(degraded=degraded))
        db.execute(visits, {"run": run, "source": source_key})
        db.execute(_STORE_CONTENT, {"run": run, "source": source_key})
        db.execute(_STORE_DATES)


def store_published(db: sqlite3.Connection, run: int) -> None:
    """Make the listing the published set, and purge. Part of the caller's transaction. Raises StorageError."""
    with storage_errors():
        db.execute("DELETE FROM published")
        db.execute(
            "INSERT INTO published (id, content, lastmod, lastmod_source, grp, shard, file, kept)"
            " SELECT id, content, lastmod, lastmod_source, grp, coalesce(shard, 1), file, kept FROM listing"
        )
        purge(db, run)


def purge(db: sqlite3.Connection, run: int) -> None:
    """Delete what nothing refers to. Part of the caller's transaction. Raises StorageError."""
    with storage_errors():
        for statement in _PURGE:
            db.execute(statement, {"run": run, "after": FORGET_AFTER})


_DAY: Final = 86_400.0
_JITTER: Final = 3_600.0  # seconds by which a nightly run may begin earlier than the night before

CAUSE_SQL: Final = (
    f"(coalesce(v.state, '{State.UNLINKED}') || ' ' || coalesce(v.status, '') || ' ' || coalesce(v.target, ''))"
)
"""The cause for which a page, with the alias ``v`` of its visit, is lost."""

_LINK_STATES: Final = ", ".join(repr(state.value) for state in sorted(LINK_STATES))
KIND_SQL: Final = (
    f"(coalesce(v.state, '{State.UNLINKED}') || iif(coalesce(v.state, '{State.UNLINKED}') IN ({_LINK_STATES}), '',"
    " ' ' || coalesce(v.status, '')))"
)
"""What is judged together: :func:`crawler.publish.gate.kind_of` for a visit with the alias ``v``."""

LOST_SQL: Final = """published p JOIN url u ON u.id = p.id LEFT JOIN visit v ON v.id = p.id
  LEFT JOIN listing l ON l.id = p.id"""
"""The published pages; those where ``coalesce(l.kept, 2) = 2`` are lost."""

_EXPLICIT_SQL: Final = " OR ".join(
    f"(v.state = '{state.value}' AND v.status = {status})" for state, status in sorted(EXPLICIT)
)
_IS_LONG: Final = (
    f"h.runs + 1 >= min(:after, {MIN_RUNS}) AND :now - h.since >= :after * {_DAY} - {_JITTER}"  # a run may be weekly
)
_SELECT_ACCEPTED: Final = f"""SELECT p.id FROM {LOST_SQL} JOIN held h ON h.id = p.id AND h.cause = {CAUSE_SQL}
  WHERE l.id IS NULL AND ({_EXPLICIT_SQL}) AND {_IS_LONG}"""  # noqa: S608

_SELECT_LONG_ALIKE: Final = f"""SELECT a.id FROM alike a JOIN held h ON h.id = a.id
  WHERE {_IS_LONG}"""  # noqa: S608 - numbers

_RECORD: Final = (
    f"""DELETE FROM held WHERE id NOT IN (SELECT id FROM published) OR id IN (SELECT p.id FROM {LOST_SQL}
  JOIN held h ON h.id = p.id WHERE l.kept = 0 OR (coalesce(l.kept, 2) = 2 AND h.cause != {CAUSE_SQL}))""",  # noqa: S608
    f"""INSERT INTO held (id, cause, since, runs)
  SELECT p.id, {CAUSE_SQL}, :now, 1 FROM {LOST_SQL} WHERE l.kept = 2 OR (l.id IS NULL AND (
    p.id IN (SELECT id FROM held) OR {KIND_SQL} IN (SELECT value FROM json_each(:kinds))))
  ON CONFLICT (id) DO UPDATE SET runs = held.runs + 1""",  # noqa: S608
)


class AcceptAfter(Struct, frozen=True):
    """When an explicit cause is believed: after so many ``days``, 0: never. ``now``: Unix time."""

    days: int
    now: float


def accepted(db: sqlite3.Connection, after: AcceptAfter, *, alike: bool = False) -> list[tuple[int]]:
    """The ids of the lost pages whose explicit cause has stood long enough; of those that the gate held for what they
    show (``alike``). Raises StorageError.
    """
    if not after.days:
        return []
    query = _SELECT_LONG_ALIKE if alike else _SELECT_ACCEPTED
    with storage_errors():
        return db.execute(query, {"after": after.days, "now": after.now}).fetchall()


def record_losses(db: sqlite3.Connection, now: float, kinds: Collection[str] = ()) -> None:
    """Record what a run that started ``now`` (Unix time) would lose, from the tables ``listing`` and ``published``.

    Of pages that are not listed, only those of the ``kinds`` and those recorded before count: the others leave one by
    one. To be called once in a judged run, before the listing becomes the published set. Part of the caller's
    transaction. Raises StorageError.
    """
    names = msgspec.json.encode(sorted(kinds)).decode()
    with storage_errors():
        for statement in _RECORD:
            db.execute(statement, {"now": now, "kinds": names})
