"""Moves due sites into the queue of Procrastinate, in batches, and frees the sites whose lease is over.

The queue is short whatever the number of sites: at most ``limit`` jobs wait, and at most one for each origin, because
jobs of one origin run one after the other. A job only names a site: what is due is decided when it is taken.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from procrastinate import App
from procrastinate.jobs import Job

from crawler.fleet.database import Connection, FleetDatabase, rows

RUN_TASK: Final = "run_site"
RUN_QUEUE: Final = "sites"
HOME_SECONDS: Final = 10.0
"""For which a job waits for the worker that has the newest state of its site, before any worker may take it."""
TAKING_SECONDS: Final = 30.0
"""For which a worker may have a job without the lease of its site; then the job does not count any more."""
_SEARCHES: Final = 10
"""How often one dispatch searches: most due sites that it finds may be of origins that it has just queued."""
_JOBS: Final = """SELECT status, lock, queueing_lock FROM procrastinate_jobs
  WHERE status IN ('todo', 'doing') AND task_name = %(task)s"""
_EXPIRED: Final = """SELECT name, job FROM site WHERE lease_until <= now() ORDER BY lease_until
  LIMIT %(limit)s FOR UPDATE SKIP LOCKED"""
_FREE: Final = """UPDATE site SET lease_until = NULL, worker = NULL, job = NULL, next_at = now()
  WHERE name = ANY(%(names)s) AND NOT paused AND retired IS NULL"""
_FREE_IDLE: Final = """UPDATE site SET lease_until = NULL, worker = NULL, job = NULL
  WHERE name = ANY(%(names)s) AND (paused OR retired IS NOT NULL)"""
# The job of a worker that stopped before it took the lease of the site, or that could not end the job because the
# database was away. Procrastinate leaves both to us, and looks for stalled workers only when another worker starts:
# https://procrastinate.readthedocs.io/en/stable/howto/production/retry_stalled_jobs.html
_ABANDONED: Final = """DELETE FROM procrastinate_jobs AS j WHERE status = 'doing' AND task_name = %(task)s
  AND (worker_id IS NULL OR now() - interval '1 s' * %(seconds)s > (
    SELECT max(at) FROM procrastinate_events AS e WHERE e.job_id = j.id AND e.type = 'started'))
  AND NOT EXISTS (
    SELECT 1 FROM site WHERE name = j.args->>'name' AND site.job = j.id AND lease_until > now())"""
_LOST: Final = """UPDATE site SET queued = NULL, job = NULL WHERE queued IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM procrastinate_jobs j WHERE j.id = site.job)"""
_END_JOBS: Final = "DELETE FROM procrastinate_jobs WHERE id = ANY(%(jobs)s) AND status = 'doing'"
_SERVER: Final = "CASE WHEN %(by_address)s THEN coalesce(address, origin) ELSE origin END"
_DUE: Final = f"""SELECT name, {_SERVER} AS origin, home FROM site
  WHERE next_at <= now() AND queued IS NULL AND lease_until IS NULL
  AND 'origin:' || {_SERVER} <> ALL(%(busy)s::text[]) AND 'site:' || name <> ALL(%(waiting)s::text[])
  ORDER BY next_at LIMIT %(limit)s FOR UPDATE SKIP LOCKED"""  # noqa: S608 - our own constant
_HOMES: Final = """SELECT w.id, w.slots - (SELECT count(*) FROM site s WHERE s.worker = w.id)
  - (SELECT count(*) FROM procrastinate_jobs j WHERE j.queue_name = %(queue)s || ':' || w.id AND j.status = 'todo')
  AS free FROM worker w WHERE w.id = ANY(%(ids)s) AND NOT w.draining AND w.seen > now() - interval '60 s'"""
# to move a waiting job is not among the functions of Procrastinate
_LEAVE_HOME: Final = """UPDATE procrastinate_jobs SET queue_name = %(queue)s
  WHERE status = 'todo' AND queue_name LIKE %(queue)s || ':%%' AND id IN (
    SELECT job FROM site WHERE queued < now() - %(seconds)s * interval '1 s')"""
_QUEUED: Final = """UPDATE site SET queued = now(), job = w.job
  FROM unnest(%(names)s::text[], %(jobs)s::bigint[]) AS w (name, job) WHERE site.name = w.name"""


async def dispatch(fleet: FleetDatabase, limit: int, *, by_address: bool = False) -> int:
    """Queue due sites until ``limit`` jobs wait; returns how many. Any number of workers may do so at once.

    With ``by_address``, the origins on an address count as one, once a run has found out the address.
    """
    await free_expired(fleet, limit)
    async with fleet.transaction() as connection:
        await rows(connection, _ABANDONED, task=RUN_TASK, seconds=TAKING_SECONDS)
        await rows(connection, _LOST)
        await rows(connection, _LEAVE_HOME, queue=RUN_QUEUE, seconds=HOME_SECONDS)
        jobs = await rows(connection, _JOBS, task=RUN_TASK)
        busy = {job["lock"] for job in jobs}
        waiting = [job["queueing_lock"] for job in jobs if job["status"] == "todo"]
        queued = 0
        for _ in range(_SEARCHES):
            room = limit - len(waiting) - queued
            values = {"limit": room, "busy": list(busy), "waiting": waiting, "by_address": by_address}
            due = await rows(connection, _DUE, **values) if room > 0 else []
            by_lock = {origin_lock(site["origin"]): site for site in reversed(due)}  # the first due of each origin
            await _enqueue(fleet.app, connection, by_lock)
            busy |= set(by_lock)
            queued += len(by_lock)
            if len(due) == len(by_lock):
                break
    return queued


async def _enqueue(app: App, connection: Connection, by_lock: Mapping[str, Mapping[str, Any]]) -> None:
    """Put a job for each site into a queue, with the lock of its origin."""
    sites = list(by_lock.values())
    queues = await _queues(connection, sites)
    jobs = [_job(app, lock, site["name"], queue) for (lock, site), queue in zip(by_lock.items(), queues, strict=True)]
    if jobs:  # in one statement
        jobs = await app.job_manager.batch_defer_jobs_async(jobs, connection)
        await rows(connection, _QUEUED, names=[site["name"] for site in sites], jobs=[job.id for job in jobs])


async def _queues(connection: Connection, sites: Sequence[Mapping[str, Any]]) -> list[str]:
    """The queue of each site: that of the worker with its newest state while it has room, else the common one."""
    ids = [site["home"] for site in sites if site["home"]]
    free = {row["id"]: row["free"] for row in await rows(connection, _HOMES, queue=RUN_QUEUE, ids=ids)} if ids else {}
    queues = []
    for site in sites:
        home = site["home"]
        has_room = free.get(home, 0) > 0
        queues.append(home_queue(home) if has_room else RUN_QUEUE)
        if has_room:
            free[home] -= 1
    return queues


def _job(app: App, lock: str, name: str, queue: str) -> Job:
    deferrer = app.configure_task(RUN_TASK, queue=queue, lock=lock, queueing_lock=f"site:{name}")
    return deferrer.make_new_job(name=name)


async def free_expired(fleet: FleetDatabase, limit: int) -> int:
    """Free the sites whose worker did not renew its lease, and end its jobs, so that others take these sites."""
    async with fleet.transaction() as connection:
        expired = await rows(connection, _EXPIRED, limit=limit)
        names = [site["name"] for site in expired]
        if names:
            await rows(connection, _FREE, names=names)
            await rows(connection, _FREE_IDLE, names=names)
            await rows(connection, _END_JOBS, jobs=[site["job"] for site in expired if site["job"] is not None])
    return len(names)


def home_queue(worker: str) -> str:
    """The queue of the sites whose newest state a worker has."""
    return f"{RUN_QUEUE}:{worker}"


def origin_lock(origin: str) -> str:
    """The lock of Procrastinate that runs of an origin share: one of them runs at a time."""
    return f"origin:{origin}"
