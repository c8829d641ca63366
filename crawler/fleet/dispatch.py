"""Moves due sites into the queue of Procrastinate, in batches, and frees the sites whose lease is over.

The queue is short whatever the number of sites: at most ``limit`` jobs wait, and at most one for each origin, because
jobs of one origin run one after the other. A job only names a site: what is due is decided when it is taken.
"""

from typing import Any, Final

from procrastinate import App
from procrastinate.jobs import Status

from crawler.fleet.database import FleetDatabase, rows

RUN_TASK: Final = "run_site"
RUN_QUEUE: Final = "sites"
STALE_SECONDS: Final = 600.0
"""After which a job that nobody took, or that got lost, is put into the queue again."""
_WAITING: Final = "SELECT count(*) AS jobs FROM procrastinate_jobs WHERE status = 'todo' AND task_name = %(task)s"
_EXPIRED: Final = """SELECT name, job FROM site WHERE lease_until <= now() ORDER BY lease_until
  LIMIT %(limit)s FOR UPDATE SKIP LOCKED"""
_FREE: Final = """UPDATE site SET lease_until = NULL, worker = NULL, job = NULL, next_at = now()
  WHERE name = ANY(%(names)s) AND NOT paused AND retired IS NULL"""
_FREE_IDLE: Final = """UPDATE site SET lease_until = NULL, worker = NULL, job = NULL
  WHERE name = ANY(%(names)s) AND (paused OR retired IS NOT NULL)"""
_LOST: Final = """UPDATE site SET queued = NULL, job = NULL WHERE queued < now() - %(seconds)s * interval '1 s'
  AND NOT EXISTS (SELECT 1 FROM procrastinate_jobs j WHERE j.id = site.job AND j.status IN ('todo', 'doing'))"""
_DUE: Final = """SELECT name, origin FROM site WHERE next_at <= now() AND queued IS NULL AND lease_until IS NULL
  ORDER BY next_at LIMIT %(limit)s FOR UPDATE SKIP LOCKED"""
_BUSY: Final = """SELECT DISTINCT lock FROM procrastinate_jobs
  WHERE status IN ('todo', 'doing') AND task_name = %(task)s AND lock = ANY(%(locks)s)"""
_PUT_OFF: Final = "UPDATE site SET next_at = now() + interval '5 s' WHERE name = ANY(%(names)s)"
_QUEUED: Final = """UPDATE site SET queued = now(), job = w.job
  FROM unnest(%(names)s::text[], %(jobs)s::bigint[]) AS w (name, job) WHERE site.name = w.name"""


async def dispatch(fleet: FleetDatabase, limit: int) -> int:
    """Queue due sites until ``limit`` jobs wait; returns how many. Any number of workers may do so at once."""
    await free_expired(fleet, limit)
    async with fleet.transaction() as connection:
        await rows(connection, _LOST, seconds=STALE_SECONDS)
        (waiting,) = await rows(connection, _WAITING, task=RUN_TASK)
        room = limit - int(waiting["jobs"])
        if room <= 0:
            return 0
        due = await rows(connection, _DUE, limit=room)
        by_lock = {origin_lock(site["origin"]): site["name"] for site in reversed(due)}  # the first due of each origin
        if not by_lock:
            return 0
        busy = {row["lock"] for row in await rows(connection, _BUSY, task=RUN_TASK, locks=list(by_lock))}
        chosen = [(lock, name) for lock, name in by_lock.items() if lock not in busy]
        jobs = [await _defer(fleet.app, connection, lock, name) for lock, name in chosen]
        await rows(connection, _QUEUED, names=[name for _, name in chosen], jobs=jobs)
        # sites of a busy origin make room for others
        await rows(connection, _PUT_OFF, names=list({site["name"] for site in due} - {name for _, name in chosen}))
        return len(jobs)


async def _defer(app: App, connection: Any, lock: str, name: str) -> int:
    # the row of the site is locked and not queued: no other job of it waits
    deferrer = app.configure_task(
        RUN_TASK, queue=RUN_QUEUE, lock=lock, queueing_lock=f"site:{name}", connection=connection
    )
    return await deferrer.defer_async(name=name)


async def free_expired(fleet: FleetDatabase, limit: int) -> int:
    """Free the sites whose worker did not renew its lease, and end its jobs, so that others take these sites."""
    async with fleet.transaction() as connection:
        expired = await rows(connection, _EXPIRED, limit=limit)
        names = [site["name"] for site in expired]
        if names:
            await rows(connection, _FREE, names=names)
            await rows(connection, _FREE_IDLE, names=names)
    for job in (site["job"] for site in expired if site["job"] is not None):
        status = await fleet.app.job_manager.get_job_status_async(job)
        if status is Status.DOING:
            await fleet.app.job_manager.finish_job_by_id_async(job, Status.FAILED, delete_job=True)
    return len(names)


def origin_lock(origin: str) -> str:
    """The lock of Procrastinate that runs of an origin share: one of them runs at a time."""
    return f"origin:{origin}"
