"""The benchmark of many sites: one daemon runs hundreds of small sites and a large one, all due at the same time.

::

    python -m tests.benchmarks.many_sites [--sites 300] [--large 4] [--parallel 2] [--by-hand 30]

nginx serves the sites from its configuration alone, each at a port of its own: a small one has 111 pages, the large
one 11,111 (see ``tests/benchmarks/scale.py``). Told are the time until every site has its sitemap, pages a second,
processor time and memory of all processes, and for the fairness:

- the share of the time in which the daemon's places for runs were taken: what it waits for between two runs is missing;
- how long a run of a small site takes beside the large one, over how long beside another small one.

``--by-hand`` crawls so many of the small sites with ``siteatlas crawl`` too, as many at once: the ratio of the times
for a site says what the daemon itself costs.
"""

import argparse
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import psutil
import pytest

from crawler.schedule.history import HistoryReader
from crawler.state.runs import RunStatus
from tests.benchmarks.measure import MIB, CommandFailed, Sampler, measure
from tests.benchmarks.scale import pages_of, site
from tests.benchmarks.tables import table
from tests.nginx import nginx

SMALL = 2  # the level of the small sites
_COMMAND = (sys.executable, "-P", "-m", "crawler")
_SHARED = """
state = {{directory = "state"}}
output = {{swap_delay = 0}}
pace = {{rate = 0, concurrency = 16}}
render = {{mode = "never"}}
schedule = {{every = "1d"}}
daemon = {{listen = "", max_parallel_runs = {parallel}}}
"""


@dataclass(frozen=True)
class SiteRun:
    """One run of a site by the daemon, in seconds of Unix time."""

    site: str
    began: float
    ended: float

    @property
    def seconds(self) -> float:
        """How long it took."""
        return self.ended - self.began

    def overlaps(self, other: "SiteRun") -> bool:
        """Whether both ran at the same time."""
        return self.began < other.ended and other.began < self.ended


@dataclass(frozen=True)
class Day:
    """What the daemon took for one run of each site: seconds, processor time, and bytes of memory at most."""

    wall: float
    cpu: float
    peak: int
    runs: list[SiteRun]


def run_daemon(folder: Path, urls: dict[str, str], parallel: int, timeout: float) -> Day:
    """Start the daemon, wait until each site has its sitemap, and stop it. Raises CommandFailed."""
    tables = [
        f'[sites.{name}]\nsite = {{url = "{url}"}}\noutput = {{directory = "out/{name}"}}' for name, url in urls.items()
    ]
    (folder / "sites.toml").write_text("\n".join((_SHARED.format(parallel=parallel), *tables)), encoding="utf-8")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SITEATLAS_")}
    with (folder / "log").open("wb") as log:
        started = time.time()
        daemon = subprocess.Popen(
            [*_COMMAND, "schedule", "--config", "sites.toml", "-q"],
            cwd=folder,
            env=environment,
            stderr=log,
            start_new_session=True,
        )
        alarm = threading.Timer(timeout, os.killpg, (daemon.pid, signal.SIGKILL))
        sampler = Sampler(daemon.pid)
        alarm.start()
        sampler.start()
        try:
            while psutil.pid_exists(daemon.pid) and not _are_published(folder, urls):
                time.sleep(0.2)
            daemon.send_signal(signal.SIGTERM)
        finally:
            _, status, usage = os.wait4(daemon.pid, 0)
            daemon.returncode = os.waitstatus_to_exitcode(status)
            alarm.cancel()
            sampler.stop()
    if daemon.returncode:
        raise CommandFailed(
            f"siteatlas schedule ended with {daemon.returncode}: {(folder / 'log').read_text()[-1000:]}"
        )
    with HistoryReader(folder / "state") as history:
        runs = [
            SiteRun(name, attempt.began, attempt.ended)
            for name in urls
            for attempt in history.attempts(name, 2)
            if attempt.status is RunStatus.DONE and attempt.ended is not None
        ]
    if [run.site for run in runs] != [*urls]:
        raise CommandFailed(f"{len(runs):,} runs of {len(urls):,} sites were done")
    return Day(max(run.ended for run in runs) - started, usage.ru_utime + usage.ru_stime, sampler.peak, runs)


def _are_published(folder: Path, names: dict[str, str]) -> bool:
    return all((folder / "out" / name / "sitemap.xml").exists() for name in names)


def seconds_by_hand(folder: Path, urls: Sequence[str], parallel: int, timeout: float) -> float:
    """Seconds for one site when ``siteatlas crawl`` crawls the sites, ``parallel`` at once. Raises CommandFailed."""

    def crawl(url: str) -> None:
        words = ["-o", f"by-hand/{url[-6:-1]}", "--state", "by-hand/state", "-q", "--rate", "0", "-c", "16"]
        measure([*_COMMAND, "crawl", url, *words, "--render", "never"], folder, timeout)

    started = time.perf_counter()
    with ThreadPoolExecutor(parallel) as threads:
        list(threads.map(crawl, urls))
    return (time.perf_counter() - started) / len(urls)


def report(day: Day, large_pages: int, parallel: int, by_hand: float) -> str:
    """The figures as a table. ``by_hand`` is the time of a small site with ``siteatlas crawl``, 0 if not measured."""
    large = next(run for run in day.runs if run.site == "large")
    small = [run for run in day.runs if run.site != "large"]
    beside = [run.seconds for run in small if run.overlaps(large)]
    alone = [run.seconds for run in small if not run.overlaps(large)]
    taken = sum(run.seconds for run in day.runs) / (parallel * day.wall)
    pages = len(small) * pages_of(SMALL) + large_pages
    slowdown = f"{median(beside) / median(alone):.2f}" if beside and alone else "-"
    rows = [
        ["sites", f"{len(day.runs):,}"],
        ["seconds until all are published", f"{day.wall:.1f}"],
        ["pages/s", f"{pages / day.wall:,.0f}"],
        ["processor time, s a site", f"{day.cpu / len(day.runs):.2f}"],
        ["peak RSS of all processes, MiB", f"{day.peak / MIB:.0f}"],
        ["share of the time in which the places were taken", f"{taken:.1%}"],
        ["a small site, s (median, most)", f"{median(alone or beside):.2f}, {max(alone or beside):.2f}"],
        ["beside the large one, over beside another small one", slowdown],
    ]
    if by_hand and alone:
        daemon = median(alone) / parallel / taken
        rows.append(["a small site by the daemon over one by siteatlas crawl", f"{daemon / by_hand:.2f}"])
    return table(["figure", "value"], rows)


def _free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [each.getsockname()[1] for each in sockets]


def _listens(ports: Sequence[int]) -> str:
    return "".join(f"listen 127.0.0.1:{port}; " for port in ports)


def main(words: Sequence[str] | None = None) -> int:
    """Run the benchmark. Exit code 1 when a run failed, 2 without nginx."""
    parser = argparse.ArgumentParser(
        "python -m tests.benchmarks.many_sites",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--sites", type=int, default=300, help="number of small sites (default: 300)")
    parser.add_argument("--large", type=int, default=4, help="level of the large site (default: 4)")
    parser.add_argument("--parallel", type=int, default=2, help="runs at the same time (default: 2)")
    parser.add_argument("--by-hand", type=int, default=30, help="small sites to crawl by hand too (default: 30)")
    parser.add_argument("--timeout", type=float, default=3600.0, help="seconds for one command (default: 3600)")
    options = parser.parse_args(words)
    ports = _free_ports(options.sites)
    try:
        with tempfile.TemporaryDirectory(prefix="siteatlas-many-") as name, ExitStack() as stack:
            folder = Path(name)
            stack.enter_context(nginx(folder, _listens(ports) + site(SMALL)))
            large = stack.enter_context(nginx(folder, site(options.large)))
            # the large one is the first: the others shall not wait for it
            urls = {"large": large.url} | {f"site{port}": f"http://127.0.0.1:{port}/" for port in ports}
            day = run_daemon(folder, urls, options.parallel, options.timeout)
            hand = [f"http://127.0.0.1:{port}/" for port in ports[: options.by_hand]]
            by_hand = seconds_by_hand(folder, hand, options.parallel, options.timeout) if hand else 0.0
    except CommandFailed as error:
        print(error, file=sys.stderr)
        return 1
    except pytest.skip.Exception as error:  # how tests hear of a missing nginx
        print(error, file=sys.stderr)
        return 2
    print(report(day, pages_of(options.large), options.parallel, by_hand))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
