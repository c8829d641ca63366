"""The status of a fleet at one moment: sites by state, lateness, workers, queue and last runs. Changes nothing."""

from collections.abc import Sequence
from typing import Any, Final

from msgspec import Struct
from procrastinate.jobs import Status

from crawler.fleet.database import Connection, FleetDatabase, database_errors, rows
from crawler.fleet.deliveries import ID_LENGTH, UNSURE, WANTED
from crawler.fleet.dispatch import CLOCK_SECONDS, RUN_TASK
from crawler.fleet.leases import attempt_of, load_attempts
from crawler.schedule.history import ATTEMPT_COLUMNS
from crawler.schedule.site_state import Attempt, Trigger
from crawler.state.runs import RunStatus

LATE_SECONDS: Final = 60.0
"""A site is late when its run should have started so long ago."""
_MAX_UNSURE: Final = 20  # that are shown
_FAILED_OF_NAMES: Final = """WITH failed AS (SELECT w.site FROM unnest(%(names)s::text[]) AS w (site) WHERE (
  SELECT fate IN ('failed', 'broken') FROM attempt a WHERE a.site = w.site AND ended IS NOT NULL AND because <> 'tell'
  ORDER BY number DESC LIMIT 1))"""
# from the failed attempts, by an index, and not from a million sites; once, however often a query names it
_FAILED: Final = """WITH failed AS MATERIALIZED (
  SELECT a.site FROM attempt a WHERE a.fate IN ('failed', 'broken') AND a.because <> 'tell'
  AND NOT EXISTS (SELECT 1 FROM attempt b WHERE b.site = a.site AND b.number > a.number AND b.ended IS NOT NULL
    AND b.because <> 'tell'))"""
STATES: Final = {
    "running": "lease_until > now()",
    "lost": "lease_until <= now()",
    "queued": "name = ANY(%(queued)s)",
    "late": f"next_at <= now() - interval '{LATE_SECONDS} s'",
    "failing": "retired IS NULL AND name IN (SELECT site FROM failed)",
    "held": "held AND retired IS NULL",
    "restricted": "left_out <> '' AND retired IS NULL",
    "unsaved": "unsaved IS NOT NULL AND retired IS NULL",
    "paused": "paused",
    "retired": "retired IS NOT NULL",
}
"""The states of sites, with their conditions. A site can be in several."""
_COUNTS: Final = f"""SELECT count(*) FILTER (WHERE retired IS NULL) AS sites,
  count(*) FILTER (WHERE next_at <= now()) AS due,
  {", ".join(f"count(*) FILTER (WHERE {test}) AS {state}" for state, test in STATES.items() if state != "failing")},
  extract(epoch FROM now() - min(saved) FILTER (WHERE retired IS NULL))::float8 AS oldest_snapshot,
  greatest(0, extract(epoch FROM now() - min(next_at)))::float8 AS lateness,
  (SELECT count(*) FROM delivery d JOIN site s ON s.name = d.site WHERE {UNSURE}) AS unsure_notifications,
  extract(epoch FROM now())::float8 AS now, (SELECT coalesce(max(number), 0) FROM attempt) AS started FROM site"""  # noqa: S608
ATTENTION: Final = "attention"
FILTERS: Final = STATES | {
    ATTENTION: " OR ".join(STATES[state] for state in ("failing", "held", "restricted", "unsaved", "lost", "late"))
}
"""What sites can be searched by: a state, or that a person should look at them."""
_WORKERS: Final = """SELECT id, host, process, version, slots, draining, clock,
  extract(epoch FROM started)::float8 AS started, extract(epoch FROM now() - seen)::float8 AS silent,
  (SELECT count(*) FROM site s WHERE s.worker = w.id AND s.lease_until > now())::int AS running
  FROM worker w ORDER BY id"""
_UNSURE: Final = f"""SELECT left(d.notice, {ID_LENGTH}) AS id, d.site, d.what, coalesce({WANTED}, false) AS is_wanted,
  extract(epoch FROM d.claimed)::float8 AS at
  FROM delivery d JOIN site s ON s.name = d.site WHERE {UNSURE} ORDER BY d.claimed DESC LIMIT %(limit)s"""  # noqa: S608
_ACTIVE: Final = "SELECT attempt FROM site WHERE name = ANY(%(names)s) AND lease_until > now()"
_LAST: Final = f"SELECT {', '.join(ATTEMPT_COLUMNS)} FROM attempt ORDER BY number DESC LIMIT %(limit)s"  # noqa: S608
_FAILING: Final = f"{_FAILED} SELECT count(*) AS number FROM site WHERE {STATES['failing']}"  # noqa: S608 - of our own
_SITES: Final = f"""SELECT name, origin, coalesce(config->'site'->>'url', origin) AS url, worker, home, epoch,
  generation, extract(epoch FROM saved)::float8 AS saved, coalesce(requested, applying, '{{}}') AS asked, left_out,
  extract(epoch FROM next_at)::float8 AS next_at,
  array_remove(ARRAY[{", ".join(f"CASE WHEN {test} THEN '{state}' END" for state, test in STATES.items())}], NULL)
    AS states FROM site"""  # noqa: S608
_MATCHES: Final = """NOT EXISTS (SELECT 1 FROM unnest(%(words)s::text[]) AS w (word)
  WHERE position(word IN lower(name || ' ' || origin)) = 0)"""
_ORDER: Final = f"""ORDER BY name = ANY(%(names)s) DESC, {STATES["failing"]} DESC,
  coalesce({STATES["lost"]}, false) DESC, next_at, name LIMIT %(limit)s"""
_OF_SITE: Final = f"""SELECT {", ".join(ATTEMPT_COLUMNS)} FROM attempt WHERE site = ANY(%(names)s)
  AND number < coalesce(%(before)s::bigint, number + 1)
  ORDER BY number DESC LIMIT %(limit)s"""  # noqa: S608


class WorkerStatus(Struct, frozen=True):
    """A worker: ``slots`` sites at once, ``running`` now; ``silent`` seconds since its last sign of life.

    ``clock`` is how many seconds its clock is ahead of that of the database: over CLOCK_SECONDS, it takes no sites.
    """

    id: str
    host: str
    process: int
    version: str
    slots: int
    draining: bool
    clock: float
    started: float
    silent: float
    running: int

    @property
    def fault(self) -> str:
        """Why the worker takes no sites, though it responds."""
        is_wrong = abs(self.clock) > CLOCK_SECONDS
        side = "ahead" if self.clock > 0 else "behind"
        return f"its clock is {abs(self.clock):,.0f} s {side}, so it takes no sites" if is_wrong else ""


class UnsureNotification(Struct, frozen=True):
    """A notification whose worker failed while it sent it, ``at`` a Unix time: nobody knows whether it was sent.

    ``id`` is the start of its key, and ``what`` names the channel and the runs; "" if a worker of an older version
    recorded it. ``is_wanted``: a person wants it to be sent again, and a worker will do so.
    """

    id: str
    site: str
    what: str
    at: float
    is_wanted: bool


class FleetSiteStatus(Struct, frozen=True):
    """One site, with its ``states``. ``next_at`` is when its next attempt is due as a Unix time, None for never.

    ``last`` is the last run that ended, ``failures`` the number of attempts in a row that failed. ``saved`` is the time
    of the newest snapshot, and ``asked`` what a person asked the next run to do (``SiteJob.options``).
    ``left_out`` is what the worker of the last run did not allow.
    """

    name: str
    origin: str
    url: str
    states: list[str]
    worker: str | None
    home: str | None
    epoch: int
    generation: int
    saved: float | None
    asked: dict[str, Any]
    left_out: str
    next_at: float | None
    failures: int
    last: Attempt | None


class FleetStatus(Struct, frozen=True, kw_only=True):
    """The fleet. ``counts`` has the number of sites in each state; the first of the ``due`` ones waits ``lateness`` s.

    ``started`` is
    the number of runs that ever started, ``oldest_snapshot`` how many seconds ago the site had its newest snapshot for
    which that was longest ago, and ``now`` the time of the database, a Unix time. Of the
    ``unsure_notifications`` of the last week, ``unsure`` has the newest. ``active`` has the numbers of
    those ``last`` attempts that are under way; others without an end were interrupted.
    """

    sites: int
    counts: dict[str, int]
    due: int
    lateness: float
    oldest_snapshot: float | None
    jobs: int
    now: float
    started: int
    workers: list[WorkerStatus]
    shown: list[FleetSiteStatus]
    last: list[Attempt]
    active: list[int] = []
    unsure_notifications: int = 0
    unsure: list[UnsureNotification] = []


async def fleet_status(
    fleet: FleetDatabase, names: Sequence[str] = (), runs: int = 10, *, only: str = "", limit: int = 50
) -> FleetStatus:
    """The status, with these sites in full and the last ``runs``, of these sites or of all.

    ``only`` is one of FILTERS: the first ``limit`` of these sites are shown too. Raises StorageError.
    """
    queued = await _queued(fleet)
    async with fleet.transaction() as connection:
        await connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        (found,) = await rows(connection, _COUNTS, queued=queued)
        (failing,) = await rows(connection, _FAILING)
        workers = [WorkerStatus(**row) for row in await rows(connection, _WORKERS)]
        unsure = [UnsureNotification(**row) for row in await rows(connection, _UNSURE, limit=_MAX_UNSURE)]
        shown = await _find(connection, queued, names, only=only, limit=limit)
        query = _OF_SITE if shown or only else _LAST
        attempts = await rows(connection, query, limit=runs, before=None, names=[site.name for site in shown])
        open_sites = [row["site"] for row in attempts if row["ended"] is None]
        active = await rows(connection, _ACTIVE, names=open_sites) if open_sites else []
    return FleetStatus(
        **{name: value for name, value in found.items() if name not in STATES},
        counts={state: found.get(state, failing["number"]) for state in STATES},
        jobs=len(queued),
        workers=workers,
        shown=shown,
        last=list(map(attempt_of, attempts)),
        active=[row["attempt"] for row in active],
        unsure=unsure,
    )


async def find_sites(
    fleet: FleetDatabase, names: Sequence[str] = (), *, only: str = "", words: str = "", limit: int = 50
) -> list[FleetSiteStatus]:
    """These sites, and the first ``limit`` in the state ``only`` whose name and origin contain all ``words``.

    The sites that need a person come first, and then those that are due first. Raises StorageError.
    """
    queued = await _queued(fleet)
    async with fleet.transaction() as connection:
        return await _find(connection, queued, names, only=only, words=words, limit=limit)


async def _queued(fleet: FleetDatabase) -> list[str]:
    """The names of the sites that wait in the queue."""
    with database_errors(fleet.place):
        jobs = await fleet.app.job_manager.list_jobs_async(task=RUN_TASK, status=Status.TODO.value)
    return [str(job.task_kwargs["name"]) for job in jobs]


async def site_runs(fleet: FleetDatabase, name: str, limit: int, before: int | None = None) -> list[Attempt]:
    """The last attempts of a site, the newest first; those ``before`` a number if there is one. Raises StorageError."""
    return list(map(attempt_of, await fleet.rows(_OF_SITE, names=[name], limit=limit, before=before)))


async def _find(
    connection: Connection, queued: list[str], names: Sequence[str], *, only: str, words: str = "", limit: int
) -> list[FleetSiteStatus]:
    if not (names or only or words):
        return []
    condition, failed = "name = ANY(%(names)s)", _FAILED_OF_NAMES
    if only or words:
        condition, failed = f"{condition} OR ({FILTERS.get(only, 'true')}) AND {_MATCHES}", _FAILED
    values = {
        "queued": queued,
        "names": list(names),
        "words": words.lower().split(),
        "limit": len(names) + limit * bool(only or words),
    }
    found = await rows(connection, f"{failed} {_SITES} WHERE {condition} {_ORDER}", **values)
    attempts = await load_attempts(connection, [row["name"] for row in found])
    return [_site(row, attempts[row["name"]]) for row in found]


def _site(row: dict[str, Any], since_done: Sequence[Attempt]) -> FleetSiteStatus:
    ended = [attempt for attempt in since_done if attempt.ended is not None and attempt.trigger is not Trigger.NOTIFY]
    failures = sum(attempt.status in (RunStatus.FAILED, RunStatus.BROKEN) for attempt in ended)
    return FleetSiteStatus(**row, failures=failures, last=ended[-1] if ended else None)
