"""Leases of sites in a real PostgreSQL whose clock the test sets: what is due, who has it, and who may record."""

import math
import random
from collections.abc import AsyncIterator

import anyio
import pytest
from fleet_clock import DatabaseClock, clocked_fleet
from msgspec.structs import replace

from crawler.config.config import Config
from crawler.config.sections import ScheduleConfig
from crawler.fleet.database import FleetDatabase
from crawler.fleet.dispatch import dispatch, free_expired
from crawler.fleet.leases import SiteLease, end_lease, schedule_of, store_snapshot, take_lease
from crawler.fleet.registry import FleetSite, apply_sites, pause_sites, resume_sites
from crawler.schedule.queue import RunQueue
from crawler.schedule.site_state import Attempt
from crawler.state.lease import LeaseLost
from crawler.state.runs import RunResult, RunStatus

pytestmark = pytest.mark.anyio

START = 1_800_000_000.0  # a Unix time
LEASE = 60.0  # seconds
DONE = RunResult(exit_code=0, fate=RunStatus.DONE, outcome="published")
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
        assert (attempt.slot, attempt.because, attempt.turn) == (planned.slot, planned.trigger, planned.turn)
        assert attempt.began == now
        self.leases[name] = lease
        self.attempts[name].append(attempt)
        self.queue.mark_started(attempt)

    async def _end(self, name: str) -> None:
        lease = self.leases.pop(name)
        fate = self.random.choice(list(RunStatus))
        result = RunResult(exit_code=0, fate=fate, untold=self.random.random() < 0.3)
        at = await end_lease(self.fleet, lease, result)
        ended = replace(lease.attempt, ended=self.clock.now, fate=fate, exit_code=0, untold=result.untold)
        self.attempts[name][-1] = ended
        self.queue.mark_ended(ended, self.clock.now)
        assert (math.inf if at is None else at) == self.queue[name].at, (name, ended)

    async def _lose(self, name: str) -> None:
        """The worker dies, and so does the daemon of the twin."""
        del self.leases[name]
        await self.fleet.rows("UPDATE site SET lease_until = now() WHERE name = %(name)s", name=name)
        await free_expired(self.fleet, 100)
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
    assert (new.epoch, new.attempt.because, new.attempt.turn) == (old.epoch + 1, "resumed", old.attempt.turn + 1)
    with pytest.raises(LeaseLost):
        await end_lease(fleet, old, DONE)
    with pytest.raises(LeaseLost):
        await store_snapshot(fleet, old, "old", 1, "key", "sum")
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
    assert lease.attempt.because == "missed"
    await end_lease(fleet, lease, DONE)
    assert await take_lease(fleet, "a", "w", None, LEASE) is None
