"""Leases of sites in a real PostgreSQL whose clock the test sets: what is due, who has it, and who may record."""

import math
import random
from collections.abc import AsyncIterator
from datetime import UTC, datetime

import anyio
import pytest
from fleet_clock import DatabaseClock, clocked_fleet
from msgspec.structs import replace
from procrastinate.jobs import Status
from psycopg import AsyncConnection

from crawler.config.config import Config
from crawler.config.plan import plan_crawl
from crawler.config.sections import ScheduleConfig
from crawler.fleet.database import FleetDatabase
from crawler.fleet.dispatch import dispatch
from crawler.fleet.leases import (
    OTHERS_SECONDS,
    SiteLease,
    end_lease,
    renew_leases,
    schedule_of,
    store_snapshot,
    take_lease,
)
from crawler.fleet.registry import FleetSite, apply_sites, fleet_site, pause_sites, resume_sites, run_sites_now
from crawler.fleet.status import fleet_status
from crawler.schedule.queue import RunQueue
from crawler.schedule.site_state import Attempt, Trigger
from crawler.state.lock import LeaseLost
from crawler.state.runs import RunResult, RunStatus

pytestmark = pytest.mark.anyio

START = 1_800_000_000.0  # a Unix time
LEASE = 60.0  # seconds
DONE = RunResult(exit_code=0, status=RunStatus.DONE, outcome="published")
HOURLY = ScheduleConfig(every=3_600.0, run_on_start=False)


@pytest.fixture
async def clocked(database: str) -> AsyncIterator[tuple[FleetDatabase, DatabaseClock]]:
    async with clocked_fleet(database, START, connections=8) as opened:
        yield opened


def site(name: str, schedule: ScheduleConfig = HOURLY) -> FleetSite:
    url = f"https://{name}.example"
    settings = {"site": {"url": url}, "schedule": schedule.model_dump(mode="json", exclude_defaults=True)}
    return FleetSite(name, settings, url)


async def next_at(fleet: FleetDatabase, name: str) -> float:
    (row,) = await fleet.rows(
        "SELECT extract(epoch FROM next_at)::float8 AS at FROM site WHERE name = %(name)s", name=name
    )
    return math.inf if row["at"] is None else float(row["at"])


class Twins:
    """The sites of a fleet, and beside them the same sites in the queue of the daemon."""

    def __init__(self, fleet: FleetDatabase, clock: DatabaseClock, sites: list[FleetSite], seed: int) -> None:
        self.fleet = fleet
        self.clock = clock
        self.random = random.Random(seed)
        self.sites = {each.name: each for each in sites}
        self.queue = RunQueue(len(sites))
        self.attempts: dict[str, list[Attempt]] = {name: [] for name in self.sites}
        self.leases: dict[str, SiteLease] = {}
        for name in self.sites:
            self._add(name, clock.now)

    async def step(self) -> None:
        """Some time passes; then something happens to each site, to both twins."""
        wait = self.random.choice((1.0, 59.0, 61.0, 600.0, 3_600.0, 40_000.0)) * self.random.random()
        await self.clock.set(self.clock.now + wait)
        for name in self.random.sample(list(self.sites), len(self.sites)):
            if name not in self.leases:
                await self._take(name)
            elif self.random.random() < 0.2 and not self.queue[name].is_broken:  # another daemon repairs a broken site
                await self._lose(name)
            else:
                await self._end(name)

    async def _take(self, name: str) -> None:
        lease = await take_lease(self.fleet, name, "w", None, 1e9)
        twin, now = self.queue[name], self.clock.now
        if twin.at > now:
            assert lease is None, (name, twin)
            assert await next_at(self.fleet, name) == pytest.approx(twin.at, abs=1e-5)
            return
        assert lease, (name, twin)
        planned, attempt = twin.start(now), lease.attempt
        assert (attempt.slot, attempt.trigger, attempt.try_number) == (
            planned.slot,
            planned.trigger,
            planned.try_number,
        )
        assert attempt.began == now
        self.leases[name] = lease
        self.attempts[name].append(attempt)
        self.queue.mark_started(attempt)

    async def _end(self, name: str) -> None:
        lease = self.leases.pop(name)
        fate = self.random.choice(list(RunStatus))
        result = RunResult(exit_code=0, status=fate, notify_pending=self.random.random() < 0.3)
        at = await end_lease(self.fleet, lease, result)
        ended = replace(
            lease.attempt, ended=self.clock.now, status=fate, exit_code=0, notify_pending=result.notify_pending
        )
        self.attempts[name][-1] = ended
        self.queue.mark_ended(ended, self.clock.now)
        assert (math.inf if at is None else at) == self.queue[name].at, (name, ended)

    async def _lose(self, name: str) -> None:
        """The worker dies, and so does the daemon of the twin."""
        del self.leases[name]
        await self.fleet.rows("UPDATE site SET lease_until = now() WHERE name = %(name)s", name=name)
        self._add(name, self.queue[name].handled)

    def _add(self, name: str, handled: float) -> None:
        schedule = schedule_of(name, Config.model_validate(self.sites[name].config))
        self.queue.add(schedule, handled, self.attempts[name], self.clock.now)


def drawn_schedule(seed: int) -> ScheduleConfig:
    draw = random.Random(seed)
    how = draw.choice(({"every": draw.choice((600.0, 3_600.0, 86_400.0))}, {"cron": "*/20 3-9 * * *"}))
    return ScheduleConfig(
        **how,
        jitter=draw.choice((0.0, 300.0)),
        run_on_start=draw.random() < 0.5,
        retries=draw.choice((0, 1, 3)),
        retry_delay=draw.choice((10.0, 300.0)),
        max_retry_delay=draw.choice((20.0, 1_000.0)),
    )


@pytest.mark.parametrize("seed", [1, 2, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(3, 31))])
async def test_ours_a_fleet_decides_like_the_daemon(clocked: tuple[FleetDatabase, DatabaseClock], seed: int) -> None:
    fleet, clock = clocked
    sites = [site(f"site{number}", drawn_schedule(100 * seed + number)) for number in range(8)]
    await apply_sites(fleet, sites)
    twins = Twins(fleet, clock, sites, seed)
    for _ in range(40):
        await twins.step()
    assert sum(map(len, twins.attempts.values())) > 30


async def test_ours_one_of_many_workers_gets_a_site(clocked: tuple[FleetDatabase, DatabaseClock]) -> None:
    fleet, clock = clocked
    await apply_sites(fleet, [site("a")])
    await clock.set(START + 3_601)
    taken: list[SiteLease | None] = []

    async def take(worker: str) -> None:
        taken.append(await take_lease(fleet, "a", worker, None, LEASE))

    async with anyio.create_task_group() as tasks:
        for number in range(20):
            tasks.start_soon(take, f"w{number}")
    assert [lease.epoch for lease in taken if lease] == [1]
    assert await fleet.rows("SELECT count(*) AS attempts FROM attempt") == [{"attempts": 1}]


async def test_ours_who_lost_a_lease_records_nothing(clocked: tuple[FleetDatabase, DatabaseClock]) -> None:
    fleet, clock = clocked
    await apply_sites(fleet, [site("a")])
    await clock.set(START + 3_601)
    old = await take_lease(fleet, "a", "old", None, LEASE)
    assert old
    assert await take_lease(fleet, "a", "new", None, LEASE) is None
    await clock.set(clock.now + LEASE)
    with pytest.raises(LeaseLost):  # though nobody took it
        await end_lease(fleet, old, DONE)
    new = await take_lease(fleet, "a", "new", None, LEASE)
    assert new
    assert (new.epoch, new.attempt.trigger, new.attempt.try_number) == (
        old.epoch + 1,
        "resumed",
        old.attempt.try_number + 1,
    )
    with pytest.raises(LeaseLost):
        await end_lease(fleet, old, DONE)
    with pytest.raises(LeaseLost):
        await store_snapshot(fleet, old, "old", 1, ["key"], {})
    await end_lease(fleet, new, DONE)
    attempts = await fleet.rows("SELECT worker, fate FROM attempt ORDER BY number")
    assert attempts == [{"worker": "old", "fate": None}, {"worker": "new", "fate": "done"}]
    assert (await fleet.rows("SELECT generation, home FROM site")) == [{"generation": 0, "home": None}]


async def test_ours_a_paused_site_runs_once_when_it_is_resumed(clocked: tuple[FleetDatabase, DatabaseClock]) -> None:
    fleet, clock = clocked
    await apply_sites(fleet, [site("a")])
    assert await pause_sites(fleet, ["a", "other"]) == ["a"]
    await clock.set(START + 5 * 3_600)
    assert await dispatch(fleet, 10) == 0
    assert await take_lease(fleet, "a", "w", None, LEASE) is None
    assert await resume_sites(fleet, ["a"]) == ["a"]
    assert await dispatch(fleet, 10) == 1
    lease = await take_lease(fleet, "a", "w", None, LEASE)
    assert lease
    assert lease.attempt.trigger == "missed"
    await end_lease(fleet, lease, DONE)
    assert await take_lease(fleet, "a", "w", None, LEASE) is None


async def test_ours_a_worker_renews_only_the_leases_that_its_process_has(
    clocked: tuple[FleetDatabase, DatabaseClock],
) -> None:
    fleet, clock = clocked
    await apply_sites(fleet, [site("a"), site("b")])
    await clock.set(START + 3_601)
    for name in ("a", "b"):
        assert await take_lease(fleet, name, "w", None, LEASE)
    await clock.set(clock.now + LEASE - 1)
    assert await renew_leases(fleet, {"a": 1, "b": 2}, LEASE) == {"a"}  # "b" was taken by the process before
    assert await renew_leases(fleet, {}, LEASE) == set()
    await clock.set(clock.now + 2)
    assert [await take_lease(fleet, name, "w", None, LEASE) is not None for name in ("a", "b")] == [False, True]


@pytest.mark.parametrize("is_taken", [False, True])
async def test_ours_a_worker_that_dies_leaves_neither_site_nor_origin_behind(
    clocked: tuple[FleetDatabase, DatabaseClock], *, is_taken: bool
) -> None:
    fleet, clock = clocked
    await apply_sites(fleet, [site("a")])
    await clock.set(START + 3_601)
    jobs = fleet.app.job_manager

    async def shown() -> tuple[int, int, int, int, int]:
        status = await fleet_status(fleet)
        return status.counts["queued"], status.jobs, status.counts["running"], status.counts["lost"], status.due

    for turn in (1, 2):
        is_lost = int(is_taken and turn > 1)
        assert await shown() == (0, 0, 0, is_lost, 1 - is_lost)
        assert await dispatch(fleet, 10) == 1
        assert await shown() == (1, 1, 0, is_lost, 1 - is_lost)
        worker = await jobs.register_worker()
        job = await jobs.fetch_job(None, worker)
        assert job
        assert job.task_kwargs == {"name": "a"}
        if is_taken:
            lease = await take_lease(fleet, "a", "w", job.id, LEASE)
            assert lease
            assert lease.attempt.try_number == turn
            assert await shown() == (0, 0, 1, 0, 0)
        assert await dispatch(fleet, 10) == 0
        await clock.set(clock.now + LEASE + 1)
    assert await dispatch(fleet, 10) == 1


async def test_ours_a_job_that_the_worker_with_the_newest_state_leaves_goes_to_any_worker(
    clocked: tuple[FleetDatabase, DatabaseClock],
) -> None:
    fleet, clock = clocked
    await apply_sites(fleet, [site(name) for name in "abcd"])
    await fleet.rows("UPDATE site SET home = 'w1'")
    worker = "INSERT INTO worker (id, host, process, version, slots, seen) VALUES ('w1', 'h', 1, '1', 2, %(seen)s)"
    await clock.set(START + 3_601)
    await fleet.rows(worker, seen=datetime.fromtimestamp(clock.now, UTC))

    async def queues() -> list[str]:
        return sorted(job.queue for job in await fleet.app.job_manager.list_jobs_async())

    assert await dispatch(fleet, 10) == 4
    assert await queues() == ["sites", "sites", "sites:w1", "sites:w1"], "it has two places"
    await clock.set(clock.now + 9)
    assert await dispatch(fleet, 10) == 0
    await clock.set(clock.now + 2)
    assert await dispatch(fleet, 10) == 2
    assert await queues() == ["sites"] * 4
    await fleet.rows("DELETE FROM procrastinate_jobs")
    await fleet.rows("UPDATE site SET unsaved = now()")
    for _ in range(2):
        assert await dispatch(fleet, 10) == 4
        assert await queues() == ["sites:w1"] * 4, "it alone has the newest state"
        await clock.set(clock.now + 11)
    await fleet.rows("DELETE FROM worker")
    assert await dispatch(fleet, 10) == 4
    assert await queues() == ["sites"] * 4


async def test_ours_a_site_that_waits_for_its_busy_worker_lets_others_of_its_origin_go_first(
    clocked: tuple[FleetDatabase, DatabaseClock],
) -> None:
    fleet, clock = clocked
    await apply_sites(fleet, [site(name) for name in "ab"])
    await fleet.rows("UPDATE site SET origin = 'http://o'")
    await fleet.rows(
        "UPDATE site SET home = 'w1', unsaved = now(), next_at = next_at - interval '1 s' WHERE name = 'a'"
    )
    worker = "INSERT INTO worker (id, host, process, version, slots, seen) VALUES ('w1', 'h', 1, '1', 0, %(seen)s)"
    await clock.set(START + 3_601)
    await fleet.rows(worker, seen=datetime.fromtimestamp(clock.now, UTC))
    for queue, name in (("sites", "b"), ("sites:w1", "a")):
        assert await dispatch(fleet, 10) == 1
        (job,) = await fleet.app.job_manager.list_jobs_async()
        assert (job.queue, job.task_kwargs["name"]) == (queue, name)
        await fleet.rows("DELETE FROM procrastinate_jobs")
        await fleet.rows("UPDATE worker SET slots = 1")


async def test_ours_a_job_that_ended_though_the_queue_does_not_know_leaves_its_origin(
    clocked: tuple[FleetDatabase, DatabaseClock],
) -> None:
    fleet, clock = clocked
    await apply_sites(fleet, [site("a")])
    await clock.set(START + 3_601)
    assert await dispatch(fleet, 10) == 1
    job = await fleet.app.job_manager.fetch_job(None, await fleet.app.job_manager.register_worker())
    assert job
    assert await dispatch(fleet, 10) == 0
    assert await dispatch(fleet, 10, ended={job.id, 0}) == 1


async def test_ours_a_job_that_ended_before_its_site_was_taken_is_queued_again(
    clocked: tuple[FleetDatabase, DatabaseClock],
) -> None:
    fleet, clock = clocked
    await apply_sites(fleet, [site("a")])
    await clock.set(START + 3_601)
    assert await dispatch(fleet, 10) == 1
    assert await dispatch(fleet, 10) == 0
    await fleet.rows("DELETE FROM procrastinate_jobs")
    assert await dispatch(fleet, 10) == 1


async def test_ours_one_job_of_a_site_waits_though_its_origin_changed(
    clocked: tuple[FleetDatabase, DatabaseClock],
) -> None:
    fleet, clock = clocked
    await apply_sites(fleet, [site("a"), site("b")])
    await clock.set(START + 3_601)
    assert await dispatch(fleet, 10) == 2
    await pause_sites(fleet, ["a"])
    moved = site("moved")
    await apply_sites(fleet, [FleetSite("a", moved.config, moved.origin), site("b"), site("c")])
    await resume_sites(fleet, ["a"])
    await clock.set(clock.now + 3_601)
    assert await dispatch(fleet, 10) == 1  # "c"; the job of "a" waits already


async def test_ours_one_job_of_an_origin_waits_and_leaves_room_for_others(
    clocked: tuple[FleetDatabase, DatabaseClock],
) -> None:
    fleet, clock = clocked
    shared = [FleetSite(f"shop{number}", site("shop").config, site("shop").origin) for number in range(30)]
    await apply_sites(fleet, [*shared, site("z")])
    await clock.set(START + 3_601)
    ran: list[str] = []
    for _ in range(31):
        assert await dispatch(fleet, 10) <= 2
        job = await fleet.app.job_manager.fetch_job(None, await fleet.app.job_manager.register_worker())
        assert job
        lease = await take_lease(fleet, job.task_kwargs["name"], "w", job.id, LEASE)
        assert lease
        await end_lease(fleet, lease, DONE)
        await fleet.app.job_manager.finish_job_by_id_async(job.id, Status.SUCCEEDED, delete_job=True)
        ran.append(lease.site)
    assert sorted(ran) == sorted(["z", *(each.name for each in shared)])  # each once: none starves


async def test_ours_one_job_of_an_address_waits_when_addresses_count(
    clocked: tuple[FleetDatabase, DatabaseClock],
) -> None:
    fleet, clock = clocked
    await apply_sites(fleet, [site("a"), site("b"), site("c"), site("new")])
    await fleet.rows("UPDATE site SET address = '192.0.2.1' WHERE name IN ('a', 'b')")
    await fleet.rows("UPDATE site SET address = '192.0.2.2' WHERE name = 'c'")
    await clock.set(START + 3_601)
    assert await dispatch(fleet, 10, by_address=True) == 3
    assert await dispatch(fleet, 10, by_address=True) == 0
    queued = {job.task_kwargs["name"] for job in await fleet.app.job_manager.list_jobs_async()}
    (left,) = [{"name": name} for name in ("a", "b", "c", "new") if name not in queued]
    moved = FleetSite(left["name"], site("moved").config, site("moved").origin)
    await apply_sites(fleet, [moved, *(site(name) for name in {"a", "b"} - {moved.name})])
    assert await dispatch(fleet, 10, by_address=True) == 1  # whose address is not known yet


async def test_ours_a_worker_leaves_a_site_that_a_newer_version_configured_to_others(
    clocked: tuple[FleetDatabase, DatabaseClock],
) -> None:
    fleet, clock = clocked
    await apply_sites(fleet, [site("a"), site("b")])
    await clock.set(START + 3_601)
    newer = """UPDATE site SET config = config || '{"later": {"key": 1}}' WHERE name = %(name)s"""
    await fleet.rows(newer, name="a")
    assert await dispatch(fleet, 10) == 2
    assert await take_lease(fleet, "a", "old", None, LEASE) is None
    assert await next_at(fleet, "a") == clock.now + OTHERS_SECONDS
    lease = await take_lease(fleet, "b", "old", None, LEASE)
    assert lease
    await fleet.rows(newer, name="b")  # while it runs: its result is recorded
    assert await end_lease(fleet, lease, DONE)


async def test_ours_a_run_asked_for_is_made_once_also_during_a_run_and_while_paused(
    clocked: tuple[FleetDatabase, DatabaseClock],
) -> None:
    fleet, clock = clocked
    await apply_sites(fleet, [site("a")])

    async def triggers() -> list[str]:
        found = []
        while lease := await take_lease(fleet, "a", "w", None, LEASE):
            found.append(lease.attempt.trigger.value)
            await end_lease(fleet, lease, DONE)
        return found

    await run_sites_now(fleet, ["a"])
    assert await triggers() == [Trigger.ASKED]
    await clock.set(START + 3_601)
    await run_sites_now(fleet, ["a"])
    assert await triggers() == [Trigger.MISSED]  # a due run is what was asked for
    await run_sites_now(fleet, ["a"])
    lease = await take_lease(fleet, "a", "w", None, LEASE)
    assert lease
    await run_sites_now(fleet, ["a"])
    assert await end_lease(fleet, lease, DONE) == clock.now
    assert await triggers() == [Trigger.ASKED]
    await pause_sites(fleet, ["a"])
    await clock.set(clock.now + 10_000)
    await run_sites_now(fleet, ["a"])
    assert await triggers() == [Trigger.ASKED]


async def test_ours_what_a_person_asks_for_is_done_once_by_the_run_whose_state_is_kept(
    clocked: tuple[FleetDatabase, DatabaseClock],
) -> None:
    fleet, clock = clocked
    await apply_sites(fleet, [site("a")])

    async def taken() -> SiteLease:
        lease = await take_lease(fleet, "a", "w", None, LEASE)
        assert lease
        return lease

    await run_sites_now(fleet, ["a"], {"accept_shrink": True})
    assert (await taken()).asked == {"accept_shrink": True}
    await clock.set(clock.now + LEASE + 1)  # the worker died
    lease = await taken()
    assert lease.asked == {"accept_shrink": True}
    await run_sites_now(fleet, ["a"], {"rollback": None})
    await store_snapshot(fleet, lease, "w", 1, ["key"], {})  # it has what was accepted
    await clock.set(clock.now + LEASE + 1)
    lease = await taken()
    assert lease.asked == {"rollback": None}
    await run_sites_now(fleet, ["a"])
    await end_lease(fleet, lease, replace(DONE, status=RunStatus.FAILED), {"rollback": None})
    lease = await taken()
    assert lease.asked == {"rollback": None}, "it was not done yet"
    await end_lease(fleet, lease, replace(DONE, notify_pending=True), {})
    await run_sites_now(fleet, ["a"])
    lease = await taken()
    assert lease.asked == {}
    await end_lease(fleet, lease, DONE, {})


async def test_ours_a_site_under_a_new_name_is_the_same_site_and_one_with_another_url_is_not(
    clocked: tuple[FleetDatabase, DatabaseClock],
) -> None:
    fleet, clock = clocked

    def of(name: str, host: str) -> FleetSite:
        config = {"site": {"url": f"https://{host}/"}, "output": {"directory": "out"}, "schedule": {"every": 3_600.0}}
        return fleet_site(name, plan_crawl(Config.model_validate(config)))

    await apply_sites(fleet, [of("a", "one"), of("b", "two")])
    await run_sites_now(fleet, ["a"])
    lease = await take_lease(fleet, "a", "w", None, LEASE)
    assert lease
    await store_snapshot(fleet, lease, "w", 7, ["a/key", "a/older"], {})
    await fleet.rows("INSERT INTO delivery (site, notice, epoch) VALUES ('a', 'notice', 1)")
    done = await apply_sites(fleet, [of("new", "one"), of("b", "two")])
    assert (done.renamed, done.added, done.changed, done.retired) == ({"new": "a"}, [], [], [])
    with pytest.raises(LeaseLost):
        await end_lease(fleet, lease, DONE)
    assert await take_lease(fleet, "new", "w", None, LEASE) is None, "until the run of before is over"
    await clock.set(clock.now + LEASE + 1)
    lease = await take_lease(fleet, "new", "w", None, LEASE)
    assert lease
    assert (lease.generation, lease.snapshots, lease.epoch) == (7, ["a/key", "a/older"], 2)
    assert [row["site"] for row in await fleet.rows("SELECT site FROM attempt UNION SELECT site FROM delivery")] == [
        "new"
    ]
    await end_lease(fleet, lease, DONE)
    assert (await apply_sites(fleet, [of("b", "two")])).retired == ["new"]
    done = await apply_sites(fleet, [of("b", "three"), of("again", "one")])
    assert (done.renamed, done.changed) == ({"again": "new"}, ["b"])
    await fleet.rows("UPDATE site SET snapshot = 'b/key', output = '/out' WHERE name = 'b'")
    await apply_sites(fleet, [of("b", "four"), of("again", "one")])
    (row,) = await fleet.rows("SELECT snapshot, output FROM site WHERE name = 'b'")
    assert row == {"snapshot": "", "output": ""}, "the state is that of another site"


@pytest.mark.parametrize("seed", range(6))
async def test_ours_a_changed_schedule_is_due_when_the_daemon_has_it_due(
    clocked: tuple[FleetDatabase, DatabaseClock], seed: int
) -> None:
    fleet, clock = clocked
    draw = random.Random(seed)
    before, other = drawn_schedule(seed), drawn_schedule(seed + 1_000)
    after = before.model_copy(update={"every": other.every, "cron": other.cron, "jitter": other.jitter})
    await apply_sites(fleet, [site("a", before)])
    twins = Twins(fleet, clock, [site("a", before)], seed)
    for _ in range(draw.randrange(12)):
        await twins.step()
    if "a" in twins.leases:
        return  # it is running: the end of the run computes the next
    twin = twins.queue["a"]
    was_due = twin.slot <= clock.now
    await apply_sites(fleet, [site("a", after)])
    twins.queue.replace([schedule_of("a", Config.model_validate(site("a", after).config))], clock.now)
    if was_due:
        assert await next_at(fleet, "a") <= max(clock.now, twin.slot_at)
    else:
        assert await next_at(fleet, "a") == pytest.approx(twin.at, abs=1e-5)


async def test_ours_columns_that_a_newer_version_adds_do_not_disturb_a_worker(database: str) -> None:
    async with clocked_fleet(database, START, connections=1) as (fleet, clock):  # so each statement gets prepared
        await apply_sites(fleet, [site("shop")])

        async def work() -> None:
            await clock.set(clock.now + 3_600.0)
            await dispatch(fleet, 10)
            lease = await take_lease(fleet, "shop", "w", None, LEASE)
            assert lease
            assert await renew_leases(fleet, {"shop": lease.epoch}, LEASE) == {"shop"}
            await store_snapshot(fleet, lease, "w", lease.generation + 1, ["key"], {})
            assert await end_lease(fleet, lease, DONE)
            await fleet.rows("DELETE FROM procrastinate_jobs")
            await run_sites_now(fleet, ["shop"])
            await apply_sites(fleet, [site("shop")])

        for _ in range(8):
            await work()
        async with await AsyncConnection.connect(database, autocommit=True) as other:
            for table in ("site", "attempt", "worker", "origin", "delivery", "fleet"):
                await other.execute(f"ALTER TABLE siteatlas.{table} ADD COLUMN more text DEFAULT 'x'".encode())
        await work()
