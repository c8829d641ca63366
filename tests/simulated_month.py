"""A month of a schedule in seconds: a clock that is set, a daemon that dies, runs that fail and hang.

Two times count. ``mono`` is the one that nobody sets, in seconds since the month began; ``wall`` is what the clock of
the computer shows, a Unix time. A computer that slept is one whose clock was set forward.
"""

import math
import random
from bisect import bisect_right
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

import anyio
import trio
from trio.testing import MockClock

from crawler.config.sections import DaemonConfig
from crawler.schedule.history import History, HistoryReader
from crawler.schedule.scheduler import Scheduler
from crawler.schedule.site import ScheduledSite
from crawler.schedule.site_state import Attempt, PlannedAttempt, Trigger
from crawler.state.runs import RunResult, RunStatus

HOUR, DAY = 3_600.0, 86_400.0


class Killed(BaseException):
    """The daemon dies here."""


@dataclass
class Lived:
    """An attempt as the world saw it; ``attempt`` is at last as the history has it."""

    attempt: Attempt
    began: float  # mono
    ended: float = math.inf
    said: RunResult | None = None  # None: the daemon died first


@dataclass
class Life:
    """A daemon as the world saw it."""

    began: float  # mono
    ended: float = math.inf


class Dying(History):
    """A history whose process dies now and then right after it has written down that a run begins."""

    world: "World"

    def begin(self, start: PlannedAttempt, now: float) -> Attempt:
        attempt = super().begin(start, now)
        if self.world.random.random() < 0.001:
            self.world.lived.append(Lived(attempt, self.world.mono(), self.world.mono()))
            raise Killed
        return attempt


@dataclass
class World:
    """Everything but the schedule. ``changes`` of the clock are (mono, seconds it is set forward or back)."""

    SAVING: ClassVar = 20.0  # seconds that a run takes at most to end when it is asked to

    sites: Sequence[ScheduledSite]
    base: float  # what the clock shows when the month begins
    days: float
    at_once: int
    look: float
    changes: Sequence[tuple[float, float]]
    crashes: Sequence[tuple[float, float]]  # when (mono), and for how long there is no daemon then
    deadly: str = ""  # the site whose runs kill the daemon
    seed: int = 0
    lived: list[Lived] = field(default_factory=list)
    lives: list[Life] = field(default_factory=list)
    running: dict[str, Lived] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        self.end = self.days * DAY
        times, shift = [0.0], 0.0
        shifts = [0.0]
        for when, change in sorted(self.changes):
            shift += change
            times.append(when)
            shifts.append(shift)
        self.times, self.shifts = times, shifts

    def wall_at(self, mono: float) -> float:
        return self.base + mono + self.shifts[bisect_right(self.times, mono) - 1]

    def mono(self) -> float:
        return anyio.current_time() - self.zero

    def wall(self) -> float:
        return self.wall_at(self.mono())

    async def run(self, site: ScheduledSite, attempt: Attempt, stop: anyio.Event) -> RunResult:
        """A run: most are well and short; some fail, hang, meet another process, or take the daemon with them."""
        assert site.name not in self.running, f"{site.name} runs twice at once"
        assert len(self.running) < self.at_once, "too many run at once"
        lived = self.running[site.name] = Lived(attempt, self.mono())
        self.lived.append(lived)
        try:
            if attempt.trigger is Trigger.NOTIFY:
                await anyio.sleep(5)
                lived.said = RunResult(exit_code=0, status=RunStatus.DONE, notify_pending=self.random.random() < 0.3)
            else:
                lived.said = await self._ended(site, stop)
            if self.random.random() < 0.001 or site.name == self.deadly:
                raise Killed  # it was done, and nobody could write that down
            return lived.said
        finally:
            lived.ended = self.mono()
            del self.running[site.name]

    async def _ended(self, site: ScheduledSite, stop: anyio.Event) -> RunResult:
        chance = self.random.random()
        long = math.inf if chance < 0.006 else self.random.lognormvariate(6.2, 1.0)
        with anyio.move_on_after(long):
            await stop.wait()
            await anyio.sleep(self.random.uniform(0.1, self.SAVING))
            return RunResult(exit_code=4, status=RunStatus.STOPPED)
        if chance < 0.07:
            return RunResult(exit_code=5, status=RunStatus.FAILED, notify_pending=chance < 0.01)
        if chance < 0.08:
            return RunResult(exit_code=6, status=RunStatus.BUSY)
        if chance < 0.085:
            return RunResult(exit_code=2, status=RunStatus.BROKEN)
        return RunResult(exit_code=0, status=RunStatus.DONE, outcome="published", notify_pending=chance < 0.1)

    def live(self, directory: Path, *, is_durable: bool) -> None:
        """Live through all of it."""
        trio._core._run._r.seed(self.seed)  # in which order tasks go on: the same again for the same seed
        trio.run(self._live, directory, is_durable, clock=MockClock(autojump_threshold=0))
        with HistoryReader(directory) as look:
            written = {each.number: each for site in self.sites for each in look.attempts(site.name, 10_000)}
        for lived in self.lived:
            attempt = lived.attempt = written.pop(lived.attempt.number)
            if attempt.status is not None:  # else the daemon died first
                assert lived.said is not None
                assert attempt.status is lived.said.status or attempt.outcome == "overlong"
                assert attempt.ended == self.wall_at(lived.ended)
        assert not written

    async def _live(self, directory: Path, is_durable: bool) -> None:
        self.zero = anyio.current_time()
        crashes = iter([*self.crashes, (self.end, 0.0)])
        crash, pause = next(crashes)
        while self.mono() < self.end:
            history = Dying(directory, is_durable=is_durable)
            history.world = self
            is_graceful = self.random.random() < 0.4
            with history, suppress(Killed):
                await self._one_life(history, crash, is_graceful)
            self.lives[-1].ended = min(self.lives[-1].ended, self.mono())
            assert not self.running
            if self.mono() >= crash - 60:
                await anyio.sleep(pause)
                crash, pause = next(crashes, (self.end, 0.0))
            else:
                await anyio.sleep(1)

    async def _one_life(self, history: History, crash: float, is_graceful: bool) -> None:
        self.lives.append(Life(self.mono()))
        settings = DaemonConfig(max_parallel_runs=self.at_once)
        scheduler = Scheduler(self.sites, history, self, settings, self.wall, look=self.look)
        stop = anyio.Event()
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(scheduler.run, stop)
                await anyio.sleep(max(0.0, crash - self.mono()))
                if is_graceful:
                    self.lives[-1].ended = self.mono()  # nothing is begun from here on
                    stop.set()
                else:
                    tasks.cancel_scope.cancel()
        except BaseExceptionGroup as group:
            while isinstance(group, BaseExceptionGroup):
                group = group.exceptions[0]
            raise group from None
