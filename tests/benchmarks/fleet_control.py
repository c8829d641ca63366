"""The benchmark of the control plane of a fleet: many sites in a real PostgreSQL. Prints what its work costs.

::

    python -m tests.benchmarks.fleet_control [--sites 1000000] [--takers 64] [--seconds 20] [--hours 24] [--durable]

1. **Due**: how long one search for due sites takes: when 1,000 of the sites are due, and when all are. Each is done
   twenty times, and undone after it.
2. **Leases**: concurrent takers in several processes, each over and over: a job from the queue, the lease, its end.
3. **A day**: a clock of the database that the benchmark sets goes through hours by minutes; each site is due once a
   day, or as often as --every says. Told is after each hour what waits, what is late, and the size and dead rows of the
   tables. In the second half of the second hour and the first half of the third, somebody holds a transaction open.
4. **All**, with --all-wait: how long a fetch takes if each site waited in the queue of Procrastinate, due in a day.

PostgreSQL must be installed (Debian: postgresql), and siteatlas with its extra "test". Unless --durable, PostgreSQL
does not wait for the disk.
"""

import argparse
import json
import multiprocessing
import random
import statistics
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import anyio
import pytest

from crawler.config.cron import Interval
from crawler.fleet.database import FleetDatabase, open_fleet, rows
from crawler.fleet.dispatch import dispatch
from crawler.fleet.leases import end_lease, take_lease
from crawler.fleet.registry import FleetSite, apply_sites
from crawler.state.runs import RunResult, RunStatus
from tests.benchmarks.tables import table
from tests.fleet_clock import DatabaseClock, clocked_fleet
from tests.postgres_server import PostgresServer, postgres_server

START = 1_800_000_000.0  # a Unix time
DAY = 86_400.0
DONE = RunResult(exit_code=0, status=RunStatus.DONE, outcome="published")
TABLES = ("site", "attempt", "procrastinate_jobs", "procrastinate_events")
_PUT = """INSERT INTO site (name, config, origin, handled, next_at)
  SELECT w.name, jsonb_build_object('site', jsonb_build_object('url', 'https://' || w.name || '.example'),
    'schedule', jsonb_build_object('every', %(every)s::float8, 'run_on_start', false)),
    'https://' || w.name || '.example', extract(epoch FROM now())::float8, to_timestamp(w.at)
  FROM unnest(%(names)s::text[], %(ats)s::float8[]) AS w (name, at)"""
_SIZES = """SELECT relname AS name, n_dead_tup AS dead, pg_total_relation_size(relid) AS size
  FROM pg_stat_user_tables WHERE schemaname = 'siteatlas' AND relname = ANY(%(names)s)"""
_ALL = """INSERT INTO procrastinate_jobs (queue_name, task_name, lock, queueing_lock, args, scheduled_at)
  SELECT 'sites', 'run_site', 'origin:' || n, 'site:' || n, jsonb_build_object('name', n),
  now() + CASE WHEN n %% (%(sites)s / 10) = 0 THEN -1 ELSE 86400 END * interval '1 s'
  FROM generate_series(1, %(sites)s::int) AS n"""
_WAITING = "SELECT count(*) AS jobs FROM procrastinate_jobs"
_LATE = "SELECT count(*) AS late FROM site WHERE next_at < now() - interval '2 min'"


async def register(fleet: FleetDatabase, sites: int, every: float) -> dict[str, float]:
    """Register the sites; tells how many a second ``fleet apply`` registers, over the first thousands."""
    url = "https://first{}.example"
    schedule = {"every": every, "run_on_start": False}
    first = [
        FleetSite(f"first{n}", {"site": {"url": url.format(n)}, "schedule": schedule}, url.format(n))
        for n in range(min(sites, 5_000))
    ]
    began = time.perf_counter()
    await apply_sites(fleet, first)
    applied = time.perf_counter() - began
    for start in range(len(first), sites, 10_000):
        names = [f"site{n}" for n in range(start, min(start + 10_000, sites))]
        ats = [Interval.of(name, every).next_after(START) for name in names]
        await fleet.rows(_PUT, names=names, ats=ats, every=every)
    for name in TABLES:
        await fleet.rows(f"ANALYZE {name}")
    return {"applied a second": len(first) / applied}


async def search(fleet: FleetDatabase, due: int, limit: int) -> dict[str, float]:
    """How long a search takes when so many sites are due, in seconds."""
    times = []
    for _ in range(20):
        found = await _timed_search(fleet, limit, times)
    return {"due": due, "limit": limit, "found": found, "median": statistics.median(times), "most": max(times)}


async def _timed_search(fleet: FleetDatabase, limit: int, times: list[float]) -> int:
    began = time.perf_counter()
    found = await dispatch(fleet, limit)
    times.append(time.perf_counter() - began)
    async with fleet.transaction() as connection:
        await rows(connection, "DELETE FROM procrastinate_jobs")
        await rows(connection, "UPDATE site SET queued = NULL, job = NULL WHERE queued IS NOT NULL")  # of old versions
    return found


def take_over_and_over(url: str, takers: int, seconds: float, number: int) -> list[tuple[float, float]]:
    """In a process of its own: the seconds of each take, and of the whole way of a job, of so many takers."""
    return anyio.run(_take_all, url, takers, seconds, number)


async def _take_all(url: str, takers: int, seconds: float, number: int) -> list[tuple[float, float]]:
    found: list[tuple[float, float]] = []
    async with clocked_fleet(url, connections=takers) as (fleet, _):
        worker = await fleet.app.job_manager.register_worker()
        until = time.perf_counter() + seconds

        async def taker(name: str) -> None:
            while time.perf_counter() < until:
                if (taken := await run_next(fleet, worker, name)) is None:
                    await anyio.sleep(0.02)
                else:
                    found.append(taken)

        async with anyio.create_task_group() as tasks:
            for each in range(takers):
                tasks.start_soon(taker, f"w{number}-{each}")
    return found


async def run_next(fleet: FleetDatabase, worker: int, name: str) -> tuple[float, float] | None:
    """Take a job, lease its site, and end it, as a worker whose run takes no time. None when no job waits."""
    jobs = fleet.app.job_manager
    began = time.perf_counter()
    job = await jobs.fetch_job(None, worker)
    if job is None or job.id is None:
        return None
    asked = time.perf_counter()
    lease = await take_lease(fleet, job.task_kwargs["name"], name, job.id, 60.0)
    taken = time.perf_counter() - asked
    if lease:
        await end_lease(fleet, lease, DONE)
    await fleet.rows("DELETE FROM procrastinate_jobs WHERE id = %(id)s", id=job.id)  # as delete_jobs="always" does
    return taken, time.perf_counter() - began


async def lease(fleet: FleetDatabase, url: str, options: argparse.Namespace) -> dict[str, float]:
    """Leases a second, and what one takes, with takers in as many processes as this machine can feed."""
    processes = min(options.processes, options.takers)
    share = -(-options.takers // processes)
    with ProcessPoolExecutor(processes, multiprocessing.get_context("spawn")) as pool:
        began = time.perf_counter()
        futures = [pool.submit(take_over_and_over, url, share, options.seconds, n) for n in range(processes)]
        while not all(future.done() for future in futures):
            await dispatch(fleet, options.queue_limit)
            await anyio.sleep(0.05)
        found = [taken for future in futures for taken in future.result()]
        whole = time.perf_counter() - began
    takes, ways = sorted(taken for taken, _ in found), sorted(way for _, way in found)
    return {
        "takers": processes * share,
        "leases": len(found),
        "a second": len(found) / min(whole, options.seconds),
        "take median ms": 1_000 * statistics.median(takes),
        "take 99 % ms": 1_000 * takes[int(len(takes) * 0.99)],
        "way median ms": 1_000 * statistics.median(ways),
        "way 99 % ms": 1_000 * ways[int(len(ways) * 0.99)],
    }


async def live(
    fleet: FleetDatabase, clock: DatabaseClock, url: str, options: argparse.Namespace
) -> list[dict[str, Any]]:
    """Go through the hours of a day by minutes; tells how things are after each."""
    told: list[dict[str, Any]] = []
    worker = await fleet.app.job_manager.register_worker()
    held = AsyncExitStack()
    began = clock.now
    for minute in range(60 * options.hours):
        await clock.set(began + 60.0 * (minute + 1))
        if minute == 90:
            other = await held.enter_async_context(open_fleet(url, checked=False, connections=1))
            connection = await held.enter_async_context(other.transaction())
            await connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            await connection.execute("SELECT count(*) FROM worker")
        if minute == 150:
            await held.aclose()
        searches, most, runs = [], 0, 0
        while True:
            asked = time.perf_counter()
            queued = await dispatch(fleet, options.queue_limit)
            searches.append(time.perf_counter() - asked)
            (row,) = await fleet.rows(_WAITING)
            most = max(most, row["jobs"])
            if not queued:
                break

            async def drain(name: str) -> None:
                nonlocal runs
                while await run_next(fleet, worker, name):
                    runs += 1

            async with anyio.create_task_group() as tasks:
                for number in range(8):
                    tasks.start_soon(drain, f"w{number}")
        if minute % 60 in (29, 59):
            await anyio.sleep(1.1)  # PostgreSQL writes its statistics once a second
            sizes = {row["name"]: row for row in await fleet.rows(_SIZES, names=list(TABLES))}
            (late,) = await fleet.rows(_LATE)
            (waiting,) = await fleet.rows(_WAITING)
            told.append(
                {
                    "minute": minute + 1,
                    "held": 90 <= minute < 150,
                    "runs in this minute": runs,
                    "most jobs": most,
                    "jobs": waiting["jobs"],
                    "late": late["late"],
                    "search ms": 1_000 * max(searches),
                    **{f"{name} MB": sizes[name]["size"] / 1e6 for name in TABLES},
                    **{f"{name} dead": sizes[name]["dead"] for name in TABLES},
                }
            )
            print(told[-1], file=sys.stderr, flush=True)
    await held.aclose()
    return told


async def measure(server: PostgresServer, options: argparse.Namespace) -> dict[str, Any]:
    """All that is measured."""
    url = server.new_database()
    found: dict[str, Any] = {"sites": options.sites, "durable": options.durable}
    async with clocked_fleet(url, START, connections=12) as (fleet, clock):
        found["register"] = await register(fleet, options.sites, options.every)
        due = options.sites // 1_000
        await clock.set(START + options.every / 1_000)
        found["search"] = [await search(fleet, due, limit) for limit in (options.queue_limit, 1_000)]
        found["day"] = await live(fleet, clock, url, options) if options.hours else []
        await clock.set(clock.now + 2 * options.every)
        found["search"] += [await search(fleet, options.sites, limit) for limit in (options.queue_limit, 1_000)]
        found["lease"] = await lease(fleet, url, options)
        await fleet.rows("DELETE FROM procrastinate_jobs")
        found["all"] = [await all_wait(fleet, options.sites)] if options.all_wait else []
    return found


async def all_wait(fleet: FleetDatabase, sites: int) -> dict[str, float]:
    """How long Procrastinate takes to find one of ten due jobs, and that none is due, while all sites wait."""
    began = time.perf_counter()
    await fleet.rows(_ALL, sites=sites)
    put = time.perf_counter() - began
    await fleet.rows("ANALYZE procrastinate_jobs")
    jobs, times = fleet.app.job_manager, []
    worker = await jobs.register_worker()
    for _ in range(15):
        began = time.perf_counter()
        job = await jobs.fetch_job(None, worker)
        times.append((job is not None, time.perf_counter() - began))
    due, none = ([took for is_due, took in times if is_due is kind] for kind in (True, False))
    values = {"fetch s": statistics.median(due), "most s": max(due), "none due s": statistics.median(none)}
    return {"waiting": sites, "put a second": sites / put, **values}


def told(found: dict[str, Any]) -> str:
    """What was measured, as Markdown."""
    parts = [[found["register"]], found["search"], [found["lease"]], found["day"], found["all"]]
    return "\n\n".join(
        table(list(part[0]), [[_cell(cell) for cell in row.values()] for row in part]) for part in parts if part
    )


def _cell(value: object) -> str:
    return f"{value:,.3g}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)


def main(words: Sequence[str] | None = None) -> int:
    """Run the benchmark. Exit code 2 when there is no PostgreSQL."""
    options = _options().parse_args(words)
    random.seed(1)
    try:
        with postgres_server() as server:
            server.stop()
            durable = "on" if options.durable else "off"
            settings = {"fsync": durable, "synchronous_commit": durable, "full_page_writes": durable}
            settings |= {"shared_buffers": "512MB", "max_wal_size": "4GB", "autovacuum_naptime": "1s"}
            server.start(*(word for name, value in settings.items() for word in ("-c", f"{name}={value}")))
            found = anyio.run(measure, server, options)
    except pytest.skip.Exception as error:  # how tests hear of a missing PostgreSQL
        print(error, file=sys.stderr)
        return 2
    print(told(found))
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return 0


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "python -m tests.benchmarks.fleet_control",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--sites", type=int, default=1_000_000, metavar="N", help="registered sites (default: 1000000)")
    add("--every", type=float, default=DAY, metavar="SECONDS", help="from run to run of a site (default: a day)")
    add("--takers", type=int, default=64, metavar="N", help="who take leases at a time (default: 64)")
    add("--processes", type=int, default=4, metavar="N", help="that they are in (default: 4)")
    add("--seconds", type=float, default=20.0, metavar="N", help="for which leases are taken (default: 20)")
    add("--hours", type=int, default=24, metavar="N", help="of the day (default: 24)")
    add("--queue-limit", type=int, default=200, metavar="N", help="of waiting jobs (default: 200)")
    add("--all-wait", action="store_true", help="measure the queue with all sites in it, too")
    add("--durable", action="store_true", help="let PostgreSQL wait for the disk at each commit")
    add("--json", type=Path, metavar="FILE", help="write all figures there too")
    return parser


if __name__ == "__main__":
    sys.exit(main())
