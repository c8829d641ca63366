"""One trial: a fleet at work, faults and edits one after another, then calm, in which everything must come right."""

import random
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
from postgres_server import PostgresServer
from psycopg.rows import dict_row
from run import command, environment, siteatlas

from .faults import LEASE, Worker, draw_fault
from .judge import RATE, Reader, announced, judged_notices, judged_pace
from .world import HOOKS, GrowingSite, Proxy, Receiver, serving

EVERY = 5.0  # seconds from one due run of a site to the next
CALM = 75.0  # seconds after the last fault until everything must be right: a job that nobody took is one for 30
SHARED = f"""
output = {{swap_delay = 0, max_urls = 5, grace_period = 5}}
pace = {{rate = {RATE:g}, concurrency = 2}}
parse = {{processes = 1}}
fetch = {{retries = 0}}
schedule = {{every = {EVERY}, retry_delay = 1}}
notify = {{check_live = false}}
"""
_OUTCOMES = "SELECT because, fate, count(*) AS number FROM attempt GROUP BY because, fate ORDER BY because, fate"
_DOUBLE = """SELECT site, slot, count(*) AS number FROM attempt
  WHERE fate = 'done' AND because NOT IN ('tell', 'asked') GROUP BY site, slot HAVING count(*) > 1"""
_OVERLAPS = """SELECT a.site, a.number FROM attempt a JOIN attempt b ON a.site = b.site AND a.number < b.number
  WHERE a.ended > b.began"""


@dataclass
class TrialReport:
    """What happened in a trial, and what was wrong with it."""

    seed: int
    events: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    facts: list[str] = field(default_factory=list)


class FleetTrial:
    """A fleet with its world, in a folder."""

    def __init__(self, folder: Path, postgres: PostgresServer, workers: int, sites: int) -> None:
        self.folder = folder
        self.postgres = postgres
        self.database = postgres.new_database()
        socket = next(postgres.folder.glob(".s.PGSQL.*[0-9]"))
        self.workers = [Worker(number, Proxy(socket)) for number in range(workers)]
        self.sites = [GrowingSite(f"site{number}") for number in range(sites)]
        self.receiver = Receiver()

    def rows(self, query: str) -> list[dict[str, Any]]:
        options = {"options": "-c search_path=siteatlas", "row_factory": dict_row}
        with psycopg.connect(self.database, **options) as connection:  # type: ignore[arg-type]
            return connection.execute(query.encode()).fetchall()  # type: ignore[return-value]

    def start(self, worker: Worker) -> None:
        """Start a worker, unless it runs."""
        if worker.process is not None:
            return
        name = urlsplit(self.database).path[1:]
        url = f"postgresql://siteatlas@127.0.0.1:{worker.proxy.port}/{name}?sslmode=disable&gssencmode=disable"
        words = ["fleet", "worker", "--database", url, "--state-store", f"file://{self.folder}/store", "-v"]
        words += [f"--set=fleet.lease={LEASE}", "--set=fleet.dispatch_interval=0.3", "--set=fleet.sites_at_once=2"]
        words.append('--set=fleet.allow_secrets=["file:*"]')
        with (self.folder / f"worker{worker.number}.log").open("ab") as log:
            worker.process = subprocess.Popen(
                command(*words, "--state", f"worker{worker.number}"),
                cwd=self.folder,
                env=environment(),
                stdout=log,
                stderr=log,
            )

    def revive(self) -> None:
        """Start what ended by itself: a service manager does so."""
        for worker in self.workers:
            if worker.process is not None and worker.process.poll() is not None:
                worker.process = None
                self.start(worker)

    @contextmanager
    def running(self) -> Iterator[None]:
        """The world, then the workers; ends all of them."""
        with serving(self.sites, self.receiver):
            self._register()
            try:
                for worker in self.workers:
                    self.start(worker)
                yield
            finally:
                for worker in self.workers:
                    pids = worker.processes()
                    worker.signal(signal.SIGCONT, [*pids, *worker.former])
                    worker.kill(runs=True)
                    worker.signal(signal.SIGKILL, worker.former)
                    worker.proxy.close()

    def _register(self) -> None:
        for path in HOOKS:
            (self.folder / path[1:]).write_text(self.receiver.url + path)
        hook = f'[webhook]\nurls = {[f"file:{path[1:]}" for path in HOOKS]}\non = ["changes"]\n'
        tables = [
            f'[sites.{site.name}]\nsite = {{url = "{site.url}"}}\noutput = {{directory = "out/{site.name}"}}\n'
            for site in self.sites
        ]
        (self.folder / "sites.toml").write_text(SHARED + hook + "".join(tables))
        for words in (["init", self.database], ["apply", "--config", "sites.toml", "--database", self.database]):
            ran = siteatlas(self.folder, "fleet", *words)
            assert ran.code == 0, ran.err


def trial(
    seed: int, folder: Path, postgres: PostgresServer, faults: int, workers: int = 3, sites: int = 4
) -> TrialReport:
    """Live through so many faults, then through calm."""
    dice, report = random.Random(seed), TrialReport(seed)
    fleet = FleetTrial(folder, postgres, workers, sites)
    with fleet.running(), Reader(folder, fleet.sites) as reader:
        if dice.random() < 0.6:  # else the first faults meet the first runs
            _wait(lambda: not _missing(fleet, reader), CALM)
        _live(fleet, dice, faults, report)
        for site in fleet.sites:
            site.edit()
        began = time.monotonic()
        is_right = _wait(lambda: _is_right(fleet, reader), CALM, fleet.revive)
        report.facts.append(f"right {time.monotonic() - began:.1f} s after the last fault" if is_right else "not right")
        report.wrong += [] if is_right else _missing(fleet, reader)
        report.wrong += _stopped_well(fleet)
    report.wrong += list(dict.fromkeys(reader.wrong))
    report.wrong += [sentence for site in fleet.sites for sentence in judged_pace(site)]
    unconfirmed = {row["site"] for row in fleet.rows("SELECT site FROM delivery WHERE delivered IS NULL")}
    for site in fleet.sites:
        report.wrong += judged_notices(site, fleet.receiver, site.name in unconfirmed)
    report.wrong += [f"done twice: {row}" for row in fleet.rows(_DOUBLE)]
    report.wrong += [f"two at a time: {row}" for row in fleet.rows(_OVERLAPS)]
    report.facts += [f"{reader.reads} reads, {len(fleet.receiver.received)} notices"]
    report.facts += [" ".join(f"{row['because']}/{row['fate']}:{row['number']}" for row in fleet.rows(_OUTCOMES))]
    return report


def _live(fleet: FleetTrial, dice: random.Random, faults: int, report: TrialReport) -> None:
    began = time.monotonic()
    undos: list[tuple[float, Callable[[], None]]] = []
    is_away = False
    while faults or undos:
        time.sleep(dice.uniform(0.1, 1.5))
        now = time.monotonic()
        for due in [undo for undo in undos if undo[0] <= now]:
            undos.remove(due)
            due[1]()
        is_away = is_away and bool(undos)
        fleet.revive()
        if dice.random() < 0.5:
            dice.choice(fleet.sites).edit()
        if faults and not is_away:
            faults -= 1
            fault = draw_fault(dice, fleet)
            is_away = fault.name.startswith("PostgreSQL")  # one outage at a time
            undos.append((now + fault.seconds, fault.undo))
            report.events.append(f"{now - began:6.1f} s: {fault.name} for {fault.seconds:.1f} s")


def _is_right(fleet: FleetTrial, reader: Reader) -> bool:
    return not _missing(fleet, reader)


def _missing(fleet: FleetTrial, reader: Reader) -> list[str]:
    """What is not yet published or announced."""
    wrong = []
    for site in fleet.sites:
        if missing := site.urls() - reader.listed(site):
            wrong.append(f"{site.name}: still not published: {sorted(missing)}")
        elif site.added and any(site.added[-1] not in announced(site, fleet.receiver, path) for path in HOOKS):
            wrong.append(f"{site.name}: the last page is not announced")
    return wrong


def _stopped_well(fleet: FleetTrial) -> list[str]:
    """Ends all workers in good order; what is wrong with that."""
    wrong = []
    started = {worker.process.pid for worker in fleet.workers if worker.process}
    _wait(lambda: started <= {row["process"] for row in fleet.rows("SELECT process FROM worker")}, CALM)
    for worker in fleet.workers:
        if worker.process:
            worker.process.terminate()
    for worker in fleet.workers:
        if worker.process:
            with suppress(subprocess.TimeoutExpired):
                worker.process.wait(30)
            if worker.process.returncode != 0:
                wrong.append(f"worker {worker.number} ended with {worker.process.returncode} after SIGTERM")
            else:
                worker.process = None
    left = fleet.rows("SELECT name, worker, lease_until FROM site WHERE lease_until IS NOT NULL")
    return wrong + [f"still leased after the stop: {row}" for row in left]


def _wait(is_done: Callable[[], bool], seconds: float, each: Callable[[], None] = lambda: None) -> bool:
    end = time.monotonic() + seconds
    while not is_done():
        if time.monotonic() > end:
            return False
        each()
        time.sleep(0.1)
    return True
