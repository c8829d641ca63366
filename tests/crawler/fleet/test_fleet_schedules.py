"""A fleet decides like the daemon what is due, in a real PostgreSQL whose clock the test sets."""

import math
import random

import pytest
from fleet_clock import DatabaseClock
from fleet_sites import next_at, site
from msgspec.structs import replace

from crawler.config.config import Config
from crawler.config.sections import ScheduleConfig
from crawler.fleet.database import FleetDatabase
from crawler.fleet.leases import SiteLease, end_lease, schedule_of, take_lease
from crawler.fleet.registry import FleetSite, apply_sites
from crawler.schedule.queue import RunQueue, replayed_state
from crawler.schedule.site_state import Attempt
from crawler.state.runs import RunResult, RunStatus

pytestmark = pytest.mark.anyio


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
        state = replayed_state(schedule, handled, self.attempts[name], self.clock.now)
        self.queue.add(state, handled, self.clock.now)


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


@pytest.mark.parametrize(
    "seed",
    [
        1,
        pytest.param(2, marks=pytest.mark.thorough),
        *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(3, 31)),
    ],
)
async def test_ours_a_fleet_decides_like_the_daemon(clocked: tuple[FleetDatabase, DatabaseClock], seed: int) -> None:
    fleet, clock = clocked
    sites = [site(f"site{number}", drawn_schedule(100 * seed + number)) for number in range(8)]
    await apply_sites(fleet, sites)
    twins = Twins(fleet, clock, sites, seed)
    for _ in range(40):
        await twins.step()
    assert sum(map(len, twins.attempts.values())) > 30


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
    if await fleet.rows("SELECT name FROM site WHERE lease_until IS NOT NULL"):
        return  # it is running, or its worker died: the end of the run computes the next
    twin = twins.queue["a"]
    was_due = twin.slot <= clock.now
    await apply_sites(fleet, [site("a", after)])
    twins.queue.replace([schedule_of("a", Config.model_validate(site("a", after).config))], clock.now)
    if was_due:
        assert await next_at(fleet, "a") <= max(clock.now, twin.slot_at)
    else:
        assert await next_at(fleet, "a") == pytest.approx(twin.at, abs=1e-5)
