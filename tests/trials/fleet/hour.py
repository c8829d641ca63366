"""An hour of a fleet in minutes, without faults: each due run once, none twice at a time, the results of one machine.

``python -m tests.trials.fleet.hour --sites 300 --workers 4 --minutes 15`` takes a quarter of an hour, and then some
minutes for the one machine.
"""

import argparse
import asyncio
import itertools
import random
import socket
import subprocess
import sys
import tempfile
import threading
import time
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

import psycopg
import uvicorn
from postgres_server import postgres_server
from psycopg.rows import dict_row
from run import command, environment, siteatlas
from scripted import links

from crawler.config.schedule import build_schedule
from crawler.config.sections import ScheduleConfig

EVERY = (20, 30, 60)  # minutes of the hour from one run of a site to the next
SHARED = """
output = {swap_delay = 0}
pace = {rate = 0, concurrency = 2}
parse = {processes = 1}
content = {lastmod = "header"}
notify = {check_live = false}
"""
_MODIFIED = "Sun, 01 Nov 2026 10:00:%02d GMT"
_NS = "{http://www.sitemaps.org/schemas/sitemap/0.9}"
_ATTEMPTS = "SELECT * FROM attempt ORDER BY site, number"
_DUE = "SELECT count(*) AS number FROM site WHERE extract(epoch FROM next_at) <= %(end)s"
_RUNNING = "SELECT count(*) AS number FROM site WHERE lease_until IS NOT NULL"


@dataclass
class TimedSite:
    """A site of an origin of its own, to which a page is added at each of the times of ``edits``."""

    name: str
    pages: int
    every: float  # seconds
    slots: list[float] = field(default_factory=list)
    edits: list[float] = field(default_factory=list)
    requests: Counter[str] = field(default_factory=Counter)
    url: str = ""

    def answer(self, path: str) -> tuple[int, str]:
        """The status and the body of a page at this moment."""
        self.requests[path] += 1
        number = self.pages + sum(moment <= time.time() for moment in self.edits)
        paths = ["/", *(f"/page-{page}" for page in range(number))]
        if path not in paths:
            return 404, "not here"
        words = " ".join(f"{self.name}{path.strip('/')}{letter}" for letter in "abcdefghijklmnopqrstuvwxyz")
        return 200, f"<title>{path}</title><p>{words}</p>{links(*paths[1:])}"


@contextmanager
def serving(sites: list[TimedSite]) -> Iterator[None]:
    """One server with a port for each site."""
    sockets, by_host = [], {}
    for site in sites:
        opened = socket.create_server(("127.0.0.1", 0), backlog=64)
        sockets.append(opened)
        host = f"127.0.0.1:{opened.getsockname()[1]}"
        site.url, by_host[host.encode()] = f"http://{host}/", site

    async def application(scope: Any, receive: Any, send: Any) -> None:
        status, body = by_host[dict(scope["headers"])[b"host"]].answer(scope["path"])
        headers = [(b"content-type", b"text/html; charset=utf-8"), (b"content-length", b"%d" % len(body.encode()))]
        headers.append((b"last-modified", (_MODIFIED % (len(scope["path"]) % 60)).encode()))
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body.encode()})

    server = uvicorn.Server(uvicorn.Config(application, lifespan="off", log_config=None, access_log=False))
    thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets)), daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.should_exit = server.force_exit = True
        thread.join(30)


def hour(
    folder: Path, database: str, sites: int, workers: int, minutes: float, seed: int
) -> tuple[list[str], list[str]]:
    """Live through an hour that takes so many ``minutes``; returns the facts, and what is wrong."""
    dice = random.Random(seed)
    timed = [TimedSite(f"site{n}", dice.randint(3, 9), dice.choice(EVERY) * minutes) for n in range(sites)]
    with serving(timed):
        _configure(folder, timed)
        _siteatlas(folder, "init", database)
        _siteatlas(folder, "apply", "--config", "sites.toml", "--database", database)
        begin = time.time() + 1
        end = begin + 60 * minutes
        for site in timed:
            plan(site, begin, end, dice)
        began = time.monotonic()
        with _working(folder, database, workers):
            time.sleep(max(0.0, end - time.time()))
            wait_for_none(database, _DUE, end=end)
            _siteatlas(folder, "pause", *(site.name for site in timed), "--database", database)
            wait_for_none(database, _RUNNING)
        took = time.monotonic() - began
        attempts = rows(database, _ATTEMPTS)
        crawled = Counter({site.name: site.requests["/robots.txt"] for site in timed})
        facts, wrong = judged_runs(timed, attempts, begin, end)
        wrong += [
            f"{name}: {crawled[name]} runs seen by the site, {number} recorded"
            for name, number in Counter(row["site"] for row in attempts).items()
            if crawled[name] != number
        ]
        by_worker = Counter(row["worker"] for row in attempts)
        facts += [f"{took:.0f} s with {workers} workers, runs by worker: {sorted(by_worker.values())}"]
        ran = subprocess.run(
            command("run", "--config", "one.toml", "--quiet"), cwd=folder, env=environment(), check=False, timeout=3_000
        )
        wrong += [] if ran.returncode == 0 else [f"the one machine ended with {ran.returncode}"]
    same = 0
    for site in timed:
        fleet, one = (listed(folder / out / site.name / "sitemap.xml") for out in ("fleet", "one"))
        same += fleet == one
        wrong += [] if fleet == one else [f"{site.name}: {sorted(fleet ^ one)} differs from one machine"]
    return [*facts, f"{same} of {sites} sitemaps as of one machine"], wrong


def wait_for_none(database: str, count: str, **values: Any) -> None:
    """Wait until a query counts no site, for five minutes at most."""
    for _ in range(600):
        if rows(database, count, **values)[0]["number"] == 0:
            return
        time.sleep(0.5)


def _configure(folder: Path, sites: list[TimedSite]) -> None:
    for out, more in (("fleet", f'[fleet]\nstate_store = "file://{folder}/store"\n'), ("one", "")):
        tables = [
            f'[sites.{site.name}]\nsite = {{url = "{site.url}"}}\noutput = {{directory = "{out}/{site.name}"}}\n'
            f"schedule = {{every = {site.every}, run_on_start = false}}\n"
            for site in sites
        ]
        state = f'[state]\ndirectory = "state-{out}"\n'
        name = "sites.toml" if out == "fleet" else "one.toml"
        (folder / name).write_text(SHARED + more + state + "".join(tables))


def plan(site: TimedSite, begin: float, end: float, dice: random.Random) -> None:
    """The slots of a site in the hour, by the rules of the daemon, and edits before the last of them."""
    schedule = build_schedule(site.name, ScheduleConfig(every=site.every))
    assert schedule
    slot = schedule.next_slot(begin)
    while slot <= end:
        site.slots.append(slot)
        slot = schedule.next_slot(slot)
    last = site.slots[-1] if site.slots else begin
    site.edits = [dice.uniform(begin, last - 1) for _ in range(dice.randint(0, 3)) if last - 1 > begin]


@contextmanager
def _working(folder: Path, database: str, workers: int) -> Iterator[None]:
    words = ["fleet", "worker", "--config", "sites.toml", "--database", database, "--set=fleet.dispatch_interval=0.5"]
    processes = []
    for number in range(workers):
        with (folder / f"worker{number}.log").open("wb") as log:
            processes.append(
                subprocess.Popen(
                    command(*words, "--set=fleet.sites_at_once=2", "--state", f"worker{number}"),
                    cwd=folder,
                    env=environment(),
                    stdout=log,
                    stderr=log,
                )
            )
    try:
        yield
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            process.wait(60)


def judged_runs(
    sites: list[TimedSite], attempts: list[dict[str, Any]], begin: float, end: float
) -> tuple[list[str], list[str]]:
    """The facts of the runs, and what is wrong: of slots that passed before one run, that run makes up for all."""
    wrong, late, merged, runs = [], [], 0, 0
    for site in sites:
        own = [row for row in attempts if row["site"] == site.name]
        by_slot = Counter(row["slot"] for row in own)
        wrong += [f"{site.name}: {row['fate']}: {row['told']}" for row in own if row["fate"] != "done"]
        wrong += [f"{site.name}: {times} runs at {slot:.0f}" for slot, times in by_slot.items() if times > 1]
        wrong += [
            f"{site.name}: a run at {slot:.0f}, no slot"
            for slot in by_slot
            if slot <= end and slot not in site.slots and slot > begin
        ]
        wrong += [
            f"{site.name}: two at a time: {row['number']}"
            for before, row in itertools.pairwise(own)
            if before["ended"] is None or row["began"] < before["ended"]
        ]
        for slot in site.slots:
            covering = [row for row in own if row["slot"] >= slot and row["began"] >= slot]
            if not covering:
                wrong.append(f"{site.name}: no run of the slot {slot:.0f}")
            merged += slot not in by_slot and bool(covering)
        runs += sum(slot in by_slot for slot in site.slots)
        late += [row["began"] - row["slot"] for row in own]
    late.sort()
    seconds = [row["ended"] - row["began"] for row in attempts if row["ended"]]
    slots = sum(len(site.slots) for site in sites)
    facts = [
        f"{len(sites)} sites, {slots} due runs in {end - begin:.0f} s: {runs} ran, {merged} merged into a later one"
    ]
    if late:
        facts.append(
            f"start after the planned time: median {late[len(late) // 2]:.1f} s, "
            f"99 % {late[len(late) * 99 // 100]:.1f} s, maximum {late[-1]:.1f} s; "
            f"a run takes {sum(seconds) / len(seconds):.1f} s"
        )
    return facts, wrong


def listed(path: Path) -> set[tuple[str, str]]:
    """The addresses and dates in a sitemap, nothing without one."""
    if not path.exists():
        return set()
    entries = ET.parse(path).getroot().iter(f"{_NS}url")
    return {(entry.findtext(f"{_NS}loc", ""), entry.findtext(f"{_NS}lastmod", "")) for entry in entries}


def _siteatlas(folder: Path, *words: str) -> None:
    ran = siteatlas(folder, "fleet", *words)
    assert ran.code == 0, ran.err


def rows(database: str, query: str, **values: Any) -> list[dict[str, Any]]:
    with psycopg.connect(database, options="-c search_path=siteatlas", row_factory=dict_row) as connection:
        return connection.execute(query.encode(), values).fetchall()


def main() -> int:
    words = argparse.ArgumentParser(prog="python -m tests.trials.fleet.hour", description=__doc__)
    words.add_argument("--sites", type=int, default=300)
    words.add_argument("--workers", type=int, default=4)
    words.add_argument("--minutes", type=float, default=15.0, help="minutes that the hour takes (15)")
    words.add_argument("--seed", type=int, default=1)
    given = words.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="fleet-hour-"))
    with postgres_server() as postgres:
        database = postgres.new_database()
        facts, wrong = hour(folder, database, given.sites, given.workers, given.minutes, given.seed)
    print(*facts, *(f"WRONG: {each}" for each in wrong), f"logs: {folder}", sep="\n")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
