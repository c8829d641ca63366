"""A simulation of the control plane of a fleet on a virtual clock: what a day costs, and what faults cost.

::

    python -m tests.benchmarks.fleet_simulation [--workers 200] [--hours 6] [--fault outage] [--loads 1 2 4]

The code of the product (``crawler/schedule/site_state.py``, ``cron.py``) decides what is due, resumed and retried. The
rules of ``crawler/fleet`` are modelled: searches that fill a bounded queue, one run per origin, the worker that has the
state first, leases that end. The database is a single server with ``--cores``; its work takes the seconds in ``COSTS``.
Runs take log-normal times. A worker without the state downloads the snapshot first. Each seed gives the same figures.

A fault begins after half of the hours and lasts ``--fault-seconds``. ``outage``: the database is away. ``loss``: a
quarter of the workers die. ``partition``: the same workers cannot reach the database.
"""

import argparse
import dataclasses
import heapq
import json
import math
import random
import statistics
import sys
from array import array
from collections import Counter, deque
from collections.abc import Sequence
from typing import Final

from crawler.config.cron import Interval, Schedule
from crawler.config.sections import ScheduleConfig
from crawler.schedule.queue import replayed_state
from crawler.schedule.site_state import Attempt, SiteSchedule, SiteState, Trigger
from crawler.state.runs import RunStatus
from tests.benchmarks.tables import table

START: Final = 1_800_000_000.0  # a Unix time
COSTS: Final = {  # statements, and seconds of one core of PostgreSQL 15, measured with 300,000 sites
    "search": (11, 0.0008),
    "forget": (2, 157e-9),  # for each origin of the last day
    "queue": (1, 0.00017),
    "fetch": (1, 0.00015),  # by a worker that a new job wakes up, or that looks now and then
    "take": (7, 0.0005),
    "end": (7, 0.0005),
    "renew": (2, 0.0003),
    "permits": (1, 0.0003),  # of a run: the leases of its origins
}
BANDWIDTH: Final = 50e6  # bytes a second, from the state store to one worker


@dataclasses.dataclass(frozen=True, slots=True)
class Settings:
    """The fleet, its load, and the fault. Times in seconds, snapshots in bytes; the last two are means."""

    sites: int = 1_000_000
    every: float = 86_400.0
    workers: int = 200
    slots: int = 4
    lease: float = 60.0
    queue_limit: int = 1_000
    dispatch_interval: float = 5.0
    forget_interval: float = 3_600.0  # from a worker's search for origins to forget to the next
    hours: float = 6.0
    seed: int = 1
    fault: str = ""
    fault_seconds: float = 300.0
    failing: float = 0.02
    shared: float = 0.1  # of the sites, 20 to an origin
    cores: int = 4  # of the database
    run_seconds: float = 40.0
    snapshot: float = 1e6


@dataclasses.dataclass(slots=True)
class Worker:
    """A worker: its free places, and until when a fault keeps it from working, or from the database."""

    free: int
    dead_until: float = 0.0
    cut_until: float = 0.0

    def is_away(self, now: float) -> bool:
        """Whether it takes no sites."""
        return now < max(self.dead_until, self.cut_until)


class Simulation:
    """One fleet from its start to the end of its hours."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.now = START
        self.counts: Counter[str] = Counter()
        self.lateness = array("d")
        self.waiting = array("d")  # jobs and due sites that wait, at each search
        self._random = random.Random(settings.seed)
        self._events: list[tuple[float, int, str, tuple[int, ...]]] = []
        self._handled = array("d", [START]) * settings.sites
        self._home = array("i", [-1]) * settings.sites
        self._epochs = array("q", [0]) * settings.sites
        self._attempts: dict[int, list[Attempt]] = {}  # of a site since its last successful run, or that is open
        self._due = [(self._state(site).at, site) for site in range(settings.sites)]
        heapq.heapify(self._due)
        self._parked: dict[int, list[tuple[float, int]]] = {}  # due sites of busy origins
        self._busy: set[int] = set()
        self._jobs: deque[int] = deque()
        self._held: dict[int, tuple[int, int]] = {}  # epoch and worker of each leased site
        self._workers = [Worker(settings.slots) for _ in range(settings.workers)]
        self._database_free = START  # when the work that the database has is done
        self._statements = 0.0
        self._database_seconds = 0.0  # of all its work
        self._away_until = 0.0  # the database

    def run(self) -> dict[str, float]:
        """Simulate; returns the figures."""
        end = START + 3_600 * self.settings.hours
        self._at(START, "search")
        if self.settings.fault:
            self._at(START + 1_800 * self.settings.hours, "fault")
        while self._events and self._events[0][0] <= end:
            self.now, _, kind, values = heapq.heappop(self._events)
            getattr(self, f"_{kind}")(*values)
        self.now = end
        return self._figures()

    def _at(self, moment: float, kind: str, *values: int) -> None:
        self.counts["events"] += 1
        heapq.heappush(self._events, (moment, self.counts["events"], kind, values))

    def _work(self, kind: str, times: float = 1.0) -> float:
        """Let the database work; returns when it has done so."""
        self._statements += times * COSTS[kind][0] if kind != "forget" else 0.0
        seconds = times * COSTS[kind][1] / self.settings.cores
        self._database_seconds += seconds
        self._database_free = max(self.now, self._database_free) + seconds
        return self._database_free

    def _state(self, site: int) -> SiteState:
        """The state of a site by its attempts, as ``crawler/fleet/leases.py`` computes it."""
        every = self.settings.every
        schedule = Schedule(str(site), Interval.of(str(site), every))
        of_site = SiteSchedule(str(site), schedule, ScheduleConfig(every=every, run_on_start=False))
        state = replayed_state(of_site, self._handled[site], self._attempts.get(site, ()), self.now)
        state.plan(self.now)
        return state

    def _origin(self, site: int) -> int:
        shared = int(self.settings.sites * self.settings.shared)
        return site // 20 if site < shared else site

    def _search(self) -> None:
        """All searches of one second: each worker with a free place searches once in an interval."""
        settings = self.settings
        self._at(self.now + 1, "search")
        if self.now < self._away_until:
            return
        free = [n for n, worker in enumerate(self._workers) if worker.free and not worker.is_away(self.now)]
        searches = len(free) / settings.dispatch_interval
        self._work("search", searches)
        self._work("forget", len(free) / settings.forget_interval * settings.sites)
        self._work("fetch", len(self._workers) / settings.dispatch_interval)
        self._work("renew", 4 * len(self._workers) / settings.lease)
        self._work("permits", len(self._held) / 5)
        listeners, common = len(free), len(self._jobs)
        while free and self._due and self._due[0][0] <= self.now and len(self._jobs) < settings.queue_limit:
            moment, site = heapq.heappop(self._due)
            origin = self._origin(site)
            if origin in self._busy:
                heapq.heappush(self._parked.setdefault(origin, []), (moment, site))
                continue
            self._busy.add(origin)
            self._work("queue")
            home = self._home[site]
            if home >= 0 and self._workers[home].free and not self._workers[home].is_away(self.now):
                self._give(site, home)
            else:
                self._jobs.append(site)
        self._work("fetch", listeners * min(searches, len(self._jobs) - common))
        while self._jobs and (free := [n for n in free if self._workers[n].free]):
            self._give(self._jobs.popleft(), self._random.choice(free))
        self.waiting.append(len(self._jobs))

    def _give(self, site: int, worker: int) -> None:
        self._workers[worker].free -= 1
        self._at(self._work("take"), "take", site, worker)

    def _take(self, site: int, worker: int) -> None:
        """A worker leases a site, and begins what is due."""
        if self.now < self._away_until or self._workers[worker].is_away(self.now):
            self._workers[worker].free += 1
            self._jobs.append(site)
            return
        if site in self._held:
            raise AssertionError(f"site {site} has two leases")
        settings, state = self.settings, self._state(site)
        planned = state.start(self.now)
        if planned.trigger in (Trigger.DUE, Trigger.MISSED):
            self.lateness.append(self.now - state.slot_at)
        self.counts["leases"] += 1
        self.counts[planned.trigger.value] += 1
        self._epochs[site] += 1
        self._handled[site] = planned.slot
        self._held[site] = self._epochs[site], worker
        attempt = Attempt(
            number=self.counts["leases"],
            site=str(site),
            slot=planned.slot,
            trigger=planned.trigger,
            try_number=planned.try_number,
            began=self.now,
        )
        self._attempts.setdefault(site, []).append(attempt)
        seconds = self._random.lognormvariate(math.log(settings.run_seconds) - 0.5, 1.0)
        if self._home[site] not in (-1, worker):
            size = self._random.lognormvariate(math.log(settings.snapshot) - 0.5, 1.0)
            self.counts["bytes down"] += round(size)
            seconds += size / BANDWIDTH
        self._at(self.now + seconds, "end", site, self._epochs[site], worker)

    def _end(self, site: int, epoch: int, worker: int) -> None:
        """A run ends; its worker records that, if it still has the lease."""
        if self._held.get(site) != (epoch, worker):
            self.counts["refused"] += 1
            return
        away = max(self._away_until, self._workers[worker].cut_until, self._workers[worker].dead_until)
        if self.now < away:
            self._at(away, "end", site, epoch, worker)
            return
        self._work("end")
        attempts = self._attempts[site]
        is_done = self._random.random() >= self.settings.failing
        fate = RunStatus.DONE if is_done else RunStatus.FAILED
        open_attempt = attempts.pop()
        ended = Attempt(
            number=open_attempt.number,
            site=open_attempt.site,
            slot=open_attempt.slot,
            trigger=open_attempt.trigger,
            try_number=open_attempt.try_number,
            began=open_attempt.began,
            ended=self.now,
            status=fate,
        )
        self._attempts[site] = [ended] if is_done else [*attempts, ended]
        self.counts["done" if is_done else "failed"] += 1
        self.counts["bytes up"] += round(self._random.lognormvariate(math.log(self.settings.snapshot) - 0.5, 1.0))
        self._home[site] = worker
        self._release(site, worker)

    def _release(self, site: int, worker: int) -> None:
        del self._held[site]
        self._workers[worker].free += 1
        origin = self._origin(site)
        self._busy.discard(origin)
        for entry in self._parked.pop(origin, ()):
            heapq.heappush(self._due, entry)
        heapq.heappush(self._due, (max(self._state(site).at, self.now), site))

    def _fault(self) -> None:
        """The fault begins: the leases that nobody renews end at most one lease later."""
        settings, until = self.settings, self.now + self.settings.fault_seconds
        struck = set(range(settings.workers if settings.fault == "outage" else settings.workers // 4))
        if settings.fault == "outage":
            self._away_until = until
        for number in struck if settings.fault != "outage" else ():
            worker = self._workers[number]
            worker.dead_until, worker.cut_until = (until, 0.0) if settings.fault == "loss" else (0.0, until)
        for site, (epoch, worker_number) in self._held.items():
            if worker_number in struck:
                left = settings.lease * self._random.uniform(0.75, 1.0)  # renewed up to a quarter of a lease ago
                self._at(self.now + left, "expire", site, epoch, worker_number)

    def _expire(self, site: int, epoch: int, worker: int) -> None:
        """A lease ends, unless the run has ended, or its worker could renew the lease."""
        if self._held.get(site) != (epoch, worker) or not (
            self.now < self._away_until or self._workers[worker].is_away(self.now)
        ):
            return
        self.counts["lost seconds"] += round(self.now - self._attempts[site][-1].began)
        self._held[site] = epoch, -1  # the run refuses to go on, by its own clock
        self._at(max(self.now, self._away_until), "free", site, worker)  # by a search, when the database is there

    def _free(self, site: int, worker: int) -> None:
        self.counts["lost runs"] += 1
        self._release(site, worker)

    def _figures(self) -> dict[str, float]:
        whole, late = 3_600 * self.settings.hours, sorted(self.lateness)
        return {
            "runs": self.counts["leases"],
            "median late s": statistics.median(late) if late else 0.0,
            "99 % late s": late[int(0.99 * len(late))] if late else 0.0,
            "most late s": late[-1] if late else 0.0,
            "late by 60 s": sum(1 for seconds in late if seconds > 60),
            "most jobs": max(self.waiting, default=0.0),
            "sites due": sum(1 for moment, _ in self._due if moment <= self.now),
            "leases/s": self.counts["leases"] / whole,
            "statements/s": self._statements / whole,
            "database busy": self._database_seconds / whole,
            "upload MB/s": self.counts["bytes up"] / 1e6 / whole,
            "download MB/s": self.counts["bytes down"] / 1e6 / whole,
            "lost runs": self.counts["lost runs"],
            "lost run seconds": self.counts["lost seconds"],
            "resumed": self.counts[Trigger.RESUMED.value],
        }


def main(words: Sequence[str] | None = None) -> int:
    """Run the simulation once, or with the load raised until it bends."""
    parser = argparse.ArgumentParser(
        "python -m tests.benchmarks.fleet_simulation",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    for field in dataclasses.fields(Settings):
        choices = ["", "outage", "loss", "partition"] if field.name == "fault" else None
        kind = type(field.default)
        parser.add_argument(f"--{field.name.replace('_', '-')}", type=kind, default=field.default, choices=choices)
    parser.add_argument("--loads", type=float, nargs="+", default=[1.0], help="multiply the sites by each of these")
    parser.add_argument("--json", action="store_true", help="write JSON")
    values = vars(parser.parse_args(words))
    loads, is_json = values.pop("loads"), values.pop("json")
    settings = Settings(**values)
    found = []
    for load in loads:
        scaled = dataclasses.replace(settings, sites=int(settings.sites * load))
        found.append({"load": load, **Simulation(scaled).run()})
    names = list(found[0])
    print(json.dumps(found) if is_json else table(names, [[f"{one[name]:,.4g}" for name in names] for one in found]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
