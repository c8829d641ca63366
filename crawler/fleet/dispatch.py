"""Puts due sites into the queue of Procrastinate, in batches. A job only names a site: its row says what is due.

The queue is short whatever the number of sites: at most ``limit`` jobs wait, and at most one for each origin, because
jobs of one origin run one after the other. A job that gets lost, or ends without its site, loses nothing: the site is
still due, and the next search finds it. ARCHITECTURE.md says why not all sites wait in the queue.
"""

from collections import Counter
from collections.abc import Sequence, Set
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial
from typing import Final

from procrastinate import App
from procrastinate.exceptions import AlreadyEnqueued, ConnectorException
from procrastinate.jobs import Job, Status

from crawler.fleet.database import Connection, FleetDatabase, database_errors, rows

JobIds = Set[int | None]

RUN_TASK: Final = "run_site"
RUN_QUEUE: Final = "sites"
SILENT_SECONDS: Final = 60.0
"""A worker that gave no sign of life for so long no longer responds."""
IS_ALIVE: Final = f"seen > now() - interval '{SILENT_SECONDS} s'"
"""The condition of a worker that responds."""
IS_BOUND: Final = f"unsaved IS NOT NULL AND EXISTS (SELECT 1 FROM worker WHERE id = home AND {IS_ALIVE})"  # noqa: S608 - our own constant
"""The condition of a site that only its home can run, which alone has the newest state, and responds."""
CLOCK_SECONDS: Final = 60.0
"""A worker whose clock differs by more from that of the database takes no sites, as it would publish wrong dates."""
_HOME_TIME: Final = timedelta(seconds=10)
"""For which a job waits for the worker that has the newest state of its site, before any worker may take it."""
_ALONE: Final = "SELECT pg_try_advisory_xact_lock(hashtext('siteatlas dispatch')) AS is_alone, now() AS now"
_HELD: Final = "SELECT job FROM site WHERE lease_until > now() AND job IS NOT NULL"
_SERVER: Final = "CASE WHEN %(by_address)s THEN coalesce(address, origin) ELSE origin END"
_FREE: Final = f"""'origin:' || {_SERVER} <> ALL(%(busy)s::text[]) AND 'site:' || name <> ALL(%(waiting)s::text[])
  AND (NOT ({IS_BOUND}) OR '{RUN_QUEUE}:' || home = ANY(%(homes)s::text[]))"""
# first those whose worker is gone; two indexes
_DUE: Final = f"""
(SELECT name, {_SERVER} AS origin, CASE WHEN unsaved IS NOT NULL THEN home END AS home, {IS_BOUND} AS is_bound FROM site
  WHERE lease_until <= now() AND {_FREE} ORDER BY lease_until LIMIT %(limit)s)
UNION ALL
(SELECT name, {_SERVER} AS origin, home, {IS_BOUND} AS is_bound FROM site
  WHERE next_at <= now() AND lease_until IS NULL AND {_FREE} ORDER BY next_at LIMIT %(limit)s) LIMIT %(limit)s"""  # noqa: S608 - our own constants
_PLACES: Final = f"""SELECT w.id, w.slots - count(s.name) AS free FROM worker w
  LEFT JOIN site s ON s.worker = w.id AND s.lease_until > now()
  WHERE NOT draining AND abs(clock) <= {CLOCK_SECONDS} AND {IS_ALIVE} GROUP BY w.id"""  # noqa: S608


async def dispatch(
    fleet: FleetDatabase, limit: int, *, by_address: bool = False, lease: float = 60.0, ended: JobIds = frozenset()
) -> int:
    """Queue due sites until ``limit`` jobs wait; returns how many. One worker of the fleet does so at a time.

    With ``by_address``, the origins on an address count as one, once a run has found out the address. The jobs of a
    worker that gave no sign of life for the time of a ``lease`` end, and those that ``ended`` here, but perhaps not in
    the queue: Procrastinate does not try that again when the database was away.
    """
    manager = fleet.app.job_manager
    with database_errors(fleet.place), suppress(AlreadyEnqueued):  # by another worker, after these jobs were read
        jobs = list(await manager.list_jobs_async(task=RUN_TASK))
        over = {job.id for job in await manager.get_stalled_jobs(seconds_since_heartbeat=lease)}
        over -= {row["job"] for row in await fleet.rows(_HELD)} if over else set()
        over |= ended & {job.id for job in jobs}
        for job in filter(None, over):
            with suppress(ConnectorException):  # it has ended meanwhile
                await manager.finish_job_by_id_async(job, Status.FAILED, delete_job=True)
        async with fleet.transaction() as connection:
            (state,) = await rows(connection, _ALONE)
            if state["is_alone"]:
                left = [job for job in jobs if job.id not in over]
                return await _fill(fleet.app, connection, left, limit, state["now"], by_address=by_address)
    return 0


async def _fill(
    app: App, connection: Connection, jobs: Sequence[Job], limit: int, now: datetime, *, by_address: bool
) -> int:
    """Search for due sites, and put them into the queue, which has these jobs."""
    cancel = partial(app.job_manager.cancel_job_by_id_async, delete_job=True, connection=connection)
    homed = [job for job in jobs if job.queue != RUN_QUEUE and job.status == Status.TODO.value]
    old = [job for job in homed if (job.scheduled_at or now) < now - _HOME_TIME]
    left = {job.queueing_lock for job in old if job.id and await cancel(job.id)}  # any worker may take these now
    jobs = [job for job in jobs if job.queueing_lock not in left]
    waiting = [job for job in jobs if job.status == Status.TODO.value]
    free = Counter({home_queue(row["id"]): row["free"] for row in await rows(connection, _PLACES)})
    free.subtract(job.queue for job in waiting)
    values = {"busy": [job.lock for job in jobs], "waiting": [job.queueing_lock for job in waiting]}
    values["homes"] = [queue for queue, places in free.items() if places >= 0]
    due = await rows(connection, _DUE, **values, limit=max(0, limit - len(waiting)), by_address=by_address)
    due.sort(key=lambda site: f"site:{site['name']}" in left)  # one that waited for its home lets the others go first
    by_lock = {f"origin:{site['origin']}": site for site in reversed(due)}  # the first due of each origin
    new = []
    for lock, site in reversed(by_lock.items()):
        queue, site_lock = home_queue(site["home"]), f"site:{site['name']}"
        if site["is_bound"] and free[queue] < 0:  # one such job waits, and gets the next place of its home
            continue
        if not site["is_bound"] and (free[queue] <= 0 or site_lock in left):
            queue = RUN_QUEUE
        free[queue] -= 1
        task = app.configure_task(
            RUN_TASK, queue=queue, lock=lock, queueing_lock=site_lock, schedule_at=now, priority=int(queue != RUN_QUEUE)
        )
        new.append(task.make_new_job(name=site["name"]))
    if new:  # in one statement
        await app.job_manager.batch_defer_jobs_async(new, connection)
    return len(new)


def home_queue(worker: str | None) -> str:
    """The queue of the sites whose newest state a worker has."""
    return f"{RUN_QUEUE}:{worker}"
