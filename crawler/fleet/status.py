"""The status of a fleet at one moment: sites by state, lateness, workers, queue and last runs. Changes nothing."""

from collections.abc import Sequence
from typing import Any, Final

from msgspec import Struct

from crawler.fleet.database import FleetDatabase, rows
from crawler.fleet.dispatch import RUN_TASK
from crawler.schedule.history import ATTEMPT_COLUMNS, read_attempt
from crawler.schedule.site_state import Attempt

LATE_SECONDS: Final = 60.0
"""A site is late when its run should have started so long ago."""
_COUNTS: Final = """SELECT count(*) FILTER (WHERE retired IS NULL) AS sites, count(*) FILTER (WHERE paused) AS paused,
  count(*) FILTER (WHERE retired IS NOT NULL) AS retired, count(*) FILTER (WHERE lease_until > now()) AS running,
  count(*) FILTER (WHERE lease_until <= now()) AS lost, count(*) FILTER (WHERE queued IS NOT NULL) AS queued,
  count(*) FILTER (WHERE next_at <= now()) AS due,
  count(*) FILTER (WHERE next_at <= now() - %(late)s * interval '1 s') AS late,
  coalesce(extract(epoch FROM now() - min(next_at)), 0)::float8 AS lateness FROM site"""
# from the few failed attempts, by their index, and not from a million sites
_FAILED: Final = """SELECT a.site FROM attempt a WHERE a.fate IN ('failed', 'broken') AND a.because <> 'tell'
  AND NOT EXISTS (SELECT 1 FROM attempt b WHERE b.site = a.site AND b.number > a.number AND b.ended IS NOT NULL
    AND b.because <> 'tell')"""
_FAILING: Final = f"""SELECT count(*) AS failing FROM site
  WHERE retired IS NULL AND name IN ({_FAILED})"""  # noqa: S608 - of our own
FILTERS: Final = {
    "running": "lease_until > now()",
    "lost": "lease_until <= now()",
    "queued": "queued IS NOT NULL",
    "late": f"next_at <= now() - interval '{LATE_SECONDS} s'",
    "failing": f"retired IS NULL AND name IN ({_FAILED})",
    "paused": "paused",
    "retired": "retired IS NOT NULL",
}
"""The states by which sites can be shown, with their conditions."""
_JOBS: Final = "SELECT count(*) AS jobs FROM procrastinate_jobs WHERE status = 'todo' AND task_name = %(task)s"
_WORKERS: Final = """SELECT id, host, process, version, slots, draining,
  extract(epoch FROM started)::float8 AS started, extract(epoch FROM now() - seen)::float8 AS silent,
  (SELECT count(*) FROM site s WHERE s.worker = w.id AND s.lease_until > now())::int AS running
  FROM worker w ORDER BY id"""
_LAST: Final = f"SELECT {', '.join(ATTEMPT_COLUMNS)} FROM attempt ORDER BY number DESC LIMIT %(limit)s"  # noqa: S608
_SITES: Final = """SELECT name, origin, paused, retired IS NOT NULL AS retired, worker, home, epoch, generation,
  extract(epoch FROM next_at)::float8 AS next_at, lease_until > now() AS running FROM site"""
_OF_SITE: Final = f"""SELECT {", ".join(ATTEMPT_COLUMNS)} FROM attempt WHERE site = ANY(%(names)s)
  ORDER BY number DESC LIMIT %(limit)s"""  # noqa: S608


class WorkerStatus(Struct, frozen=True):
    """A worker: ``slots`` sites at once, ``running`` now; ``silent`` seconds since its last sign of life."""

    id: str
    host: str
    process: int
    version: str
    slots: int
    draining: bool
    started: float
    silent: float
    running: int


class FleetSiteStatus(Struct, frozen=True):
    """One site. ``next_at`` is when its next attempt is due as a Unix time, None for never or while it runs."""

    name: str
    origin: str
    paused: bool
    retired: bool
    running: bool
    worker: str | None
    home: str | None
    epoch: int
    generation: int
    next_at: float | None


class FleetStatus(Struct, frozen=True, kw_only=True):
    """The fleet. Counts of sites: ``late`` of the ``due`` ones wait longer than a minute, the first for ``lateness`` s.

    ``lost`` have a lease that is over and wait to be taken up; ``failing`` have a last run that failed.
    """

    sites: int
    paused: int
    retired: int
    running: int
    lost: int
    queued: int
    due: int
    late: int
    lateness: float
    failing: int
    jobs: int
    workers: list[WorkerStatus]
    shown: list[FleetSiteStatus]
    last: list[Attempt]


async def fleet_status(
    fleet: FleetDatabase, names: Sequence[str] = (), runs: int = 10, *, only: str = "", limit: int = 50
) -> FleetStatus:
    """The status, with these sites in full and the last ``runs``, of these sites or of all.

    ``only`` is one of FILTERS: the first ``limit`` sites in that state are shown too. Raises StorageError.
    """
    async with fleet.transaction() as connection:
        await connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        (counts,) = await rows(connection, _COUNTS, late=LATE_SECONDS)
        (failing,) = await rows(connection, _FAILING)
        (jobs,) = await rows(connection, _JOBS, task=RUN_TASK)
        workers = [WorkerStatus(**row) for row in await rows(connection, _WORKERS)]
        condition = f"name = ANY(%(names)s) OR {FILTERS[only]}" if only else "name = ANY(%(names)s)"
        search = f"{_SITES} WHERE {condition} ORDER BY name = ANY(%(names)s) DESC, name LIMIT %(limit)s"
        values = {"names": list(names), "limit": len(names) + limit * bool(only)}
        shown = [_site(row) for row in await rows(connection, search, **values)] if names or only else []
        query = _OF_SITE if shown or only else _LAST
        attempts = await rows(connection, query, limit=runs, names=[site.name for site in shown])
    last = [read_attempt(tuple(row[column] for column in ATTEMPT_COLUMNS)) for row in attempts]
    counts["lateness"] = max(0.0, counts["lateness"])
    return FleetStatus(**counts, **failing, **jobs, workers=workers, shown=shown, last=last)


def _site(row: dict[str, Any]) -> FleetSiteStatus:
    return FleetSiteStatus(**{**row, "running": bool(row["running"])})
