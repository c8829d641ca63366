"""Puts due sites into the queue of Procrastinate, in batches. A job only names a site: its row says what is due.

The queue is short whatever the number of sites: at most ``limit`` jobs wait, and at most one for each origin, because
jobs of one origin run one after the other. A job that gets lost, or ends without its site, loses nothing: the site is
still due, and the next search finds it. ARCHITECTURE.md says why not all sites wait in the queue.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial
from typing import Final

from procrastinate import App
from procrastinate.exceptions import AlreadyEnqueued, ConnectorException
from procrastinate.jobs import Job, Status

from crawler.fleet.database import Connection, FleetDatabase, database_errors, rows

RUN_TASK: Final = "run_site"
RUN_QUEUE: Final = "sites"
SILENT_SECONDS: Final = 60.0
"""A worker that gave no sign of life for so long no longer responds."""
IS_ALIVE: Final = f"seen > now() - interval '{SILENT_SECONDS} s'"
"""The condition of a worker that responds."""
CLOCK_SECONDS: Final = 60.0
"""A worker whose clock differs by more from that of the database takes no sites, as it would publish wrong dates."""
_HOME_TIME: Final = timedelta(seconds=10)
"""For which a job waits for the worker that has the newest state of its site, before any worker may take it."""
_ALONE: Final = "SELECT pg_try_advisory_xact_lock(hashtext('siteatlas dispatch')) AS is_alone, now() AS now"
_HELD: Final = "SELECT job FROM site WHERE lease_until > now() AND job IS NOT NULL"
_SERVER: Final = "CASE WHEN %(by_address)s THEN coalesce(address, origin) ELSE origin END"
_FREE: Final = f"""'origin:' || {_SERVER} <> ALL(%(busy)s::text[]) AND 'site:' || name <> ALL(%(waiting)s::text[])"""
# first those whose worker is gone; two indexes
_DUE: Final = f"""
(SELECT name, {_SERVER} AS origin, NULL AS home FROM site WHERE lease_until <= now() AND {_FREE}
  ORDER BY lease_until LIMIT %(limit)s)
UNION ALL
(SELECT name, {_SERVER} AS origin, home FROM site WHERE next_at <= now() AND lease_until IS NULL AND {_FREE}
  ORDER BY next_at LIMIT %(limit)s) LIMIT %(limit)s"""  # noqa: S608 - our own constants
_HOMES: Final = f"""SELECT id, slots - (SELECT count(*) FROM site WHERE lease_until > now() AND worker = id) AS free
  FROM worker WHERE id = ANY(%(ids)s) AND NOT draining AND abs(clock) <= {CLOCK_SECONDS} AND {IS_ALIVE}"""  # noqa: S608


async def dispatch(fleet: FleetDatabase, limit: int, *, by_address: bool = False, stalled_after: float = 60.0) -> int:
    """Queue due sites until ``limit`` jobs wait; returns how many. One worker of the fleet does so at a time.

    With ``by_address``, the origins on an address count as one, once a run has found out the address. The jobs of a
    worker that gave no sign of life for ``stalled_after`` seconds end.
    """
    manager = fleet.app.job_manager
    with database_errors(fleet.place), suppress(AlreadyEnqueued):  # by another worker, after these jobs were read
        stalled = await manager.get_stalled_jobs(seconds_since_heartbeat=stalled_after)
        held = {row["job"] for row in await fleet.rows(_HELD)} if stalled else set()
        await end_jobs(fleet, {job.id for job in stalled} - held)
        jobs = list(await manager.list_jobs_async(task=RUN_TASK))
        async with fleet.transaction() as connection:
            (state,) = await rows(connection, _ALONE)
            if state["is_alone"]:
                return await _fill(fleet.app, connection, jobs, limit, state["now"], by_address=by_address)
    return 0


async def end_jobs(fleet: FleetDatabase, jobs: Iterable[int | None]) -> None:
    """End jobs of workers that are gone, or that their workers could not end while the database was away."""
    for job in jobs:
        if job is not None:
            with suppress(ConnectorException):  # it has ended meanwhile
                await fleet.app.job_manager.finish_job_by_id_async(job, Status.FAILED, delete_job=True)


async def _fill(
    app: App, connection: Connection, jobs: Sequence[Job], limit: int, now: datetime, *, by_address: bool
) -> int:
    """Search for due sites, and put them into the queue, which has these jobs."""
    homeless = await _take_from_homes(app, connection, jobs, now)
    waiting = [job for job in jobs if job.status == Status.TODO.value and job.task_kwargs["name"] not in homeless]
    values = {"busy": [job.lock for job in jobs], "waiting": [job.queueing_lock for job in waiting]}
    room = limit - len(waiting)
    due = await rows(connection, _DUE, **values, limit=room, by_address=by_address) if room > 0 else []
    by_lock = {f"origin:{site['origin']}": site for site in reversed(due)}  # the first due of each origin
    homes = {site["home"] for site in by_lock.values() if site["home"] and site["name"] not in homeless}
    free = {row["id"]: row["free"] for row in await rows(connection, _HOMES, ids=list(homes))} if homes else {}
    homed = Counter(job.queue for job in waiting)
    new = []
    for lock, site in by_lock.items():
        name, queue = site["name"], home_queue(site["home"])
        if name in homeless or free.get(site["home"], 0) <= homed[queue]:
            queue = RUN_QUEUE
        homed[queue] += 1
        task = app.configure_task(RUN_TASK, queue=queue, lock=lock, queueing_lock=f"site:{name}", schedule_at=now)
        new.append(task.make_new_job(name=name))
    if new:  # in one statement
        await app.job_manager.batch_defer_jobs_async(new, connection)
    return len(new)


async def _take_from_homes(app: App, connection: Connection, jobs: Iterable[Job], now: datetime) -> set[str]:
    """Cancel the jobs that their homes leave waiting; the names of their sites, which any worker may take now."""
    cancel = partial(app.job_manager.cancel_job_by_id_async, delete_job=True, connection=connection)
    return {
        str(job.task_kwargs["name"])
        for job in jobs
        if job.id and job.status == Status.TODO.value and job.queue != RUN_QUEUE
        if job.scheduled_at is None or job.scheduled_at < now - _HOME_TIME
        if await cancel(job.id)
    }


def home_queue(worker: str) -> str:
    """The queue of the sites whose newest state a worker has."""
    return f"{RUN_QUEUE}:{worker}"
