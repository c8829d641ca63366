"""The daemon as it is run: five sites that change while it works, and everything it writes and says agrees.

``SITEATLAS_TRIAL_SECONDS=600 pytest -m slow tests/test_schedule_for_real.py`` is the trial of ten minutes.
"""

import json
import os
import random
import signal
import sqlite3
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from living_sites import LivingSite
from nginx import nginx
from run import command, environment

from sitemap import read

SECONDS = float(os.environ.get("SITEATLAS_TRIAL_SECONDS", "60"))
NAMES = ("alder", "birch", "cedar", "elder", "fir")
KEY = "0123456789abcdef"


@dataclass
class Receiver:
    """Stands for IndexNow and for a webhook: remembers what it took, and can be out of order."""

    submitted: list[tuple[str, str]] = field(default_factory=list)  # site, URL
    messages: list[dict[str, Any]] = field(default_factory=list)
    is_down: bool = False

    def __enter__(self) -> "Receiver":
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                if receiver.is_down:
                    self.send_error(503)
                    return
                if self.path == "/message":
                    receiver.messages.append(body)
                else:
                    site = self.path.rpartition("/")[2]
                    receiver.submitted += [(site, url) for url in body["urlList"]]
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.server.shutdown()
        self.server.server_close()

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.server.server_port}/{path}"


@dataclass
class Trial:
    """The sites, where they are served, and the daemon that keeps their sitemaps."""

    folder: Path
    sites: dict[str, LivingSite]
    urls: dict[str, str]
    receiver: Receiver
    listen: str
    daemon: subprocess.Popen[bytes] | None = None

    def configure(self, **more: str) -> None:
        lines = [
            '[state]\ndirectory = "state"\n[pace]\nrate = 0\nconcurrency = 8\n[parse]\nprocesses = 1',
            '[output]\nswap_delay = 0.05\nrecent = "atom"\n[schedule]\nevery = "9s"\njitter = "2s"\nretry_delay = 2',
            f'[daemon]\nlisten = "{self.listen}"\nserve_sitemaps = true\nreload_interval = 1\nmax_parallel_runs = 2',
            f'[notify]\nattempts = 1\n[webhook]\nurls = ["{self.receiver.url("message")}"]\non = ["changes"]',
        ]
        for name, url in self.urls.items():
            lines += [f'[sites.{name}]\nsite = {{url = "{url}"}}\noutput = {{directory = "sites/{name}"}}']
            lines += [
                f'indexnow = {{key = "{KEY}", endpoint = "{self.receiver.url(f"indexnow/{name}")}"}}',
                more.get(name, ""),
            ]
        (self.folder / "sites.toml").write_text("\n".join(lines) + "\n")

    def start(self) -> None:
        log = (self.folder / "daemon.log").open("ab")
        line = command("schedule", "--config", "sites.toml")
        self.daemon = subprocess.Popen(line, cwd=self.folder, env=environment(), stdout=log, stderr=log)
        log.close()
        self.wait(lambda: self.get("healthz") is not None, "the daemon answers")

    def end(self, number: int) -> int:
        assert self.daemon
        self.daemon.send_signal(number)
        return self.daemon.wait(60)

    def get(self, path: str) -> bytes | None:
        try:
            with urllib.request.urlopen(f"http://{self.listen}/{path}", timeout=10) as answer:
                return bytes(answer.read())
        except (urllib.error.URLError, OSError):
            return None

    def wait(self, condition: Callable[[], bool], what: str, seconds: float = 60) -> None:
        until = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < until, f"{what}: not in {seconds} s\n{self.log()[-3000:]}"
            time.sleep(0.2)

    def log(self) -> str:
        return (self.folder / "daemon.log").read_text()

    def state(self, name: str) -> Path:
        port = self.urls[name].rstrip("/").rpartition(":")[2]
        (found,) = (path for path in (self.folder / "state").iterdir() if f"-{port}-" in path.name)
        return found

    def runs(self, name: str) -> list[dict[str, Any]]:
        with closing(sqlite3.connect(self.state(name) / "state.db")) as db:
            db.row_factory = sqlite3.Row
            return [dict(row) for row in db.execute("SELECT * FROM run ORDER BY number")]

    def feed(self, name: str) -> Iterator[dict[str, Any]]:
        for path in sorted((self.state(name) / "changes").glob("*.jsonl")):
            yield from map(json.loads, path.read_text().splitlines())

    def listed(self, name: str) -> set[str]:
        url = self.urls[name]
        return {f"{url}{path[1:]}" for path in self.sites[name].listed}


@pytest.fixture
def trial(tmp_path: Path) -> Iterator[Trial]:
    with ExitStack() as stack:
        sites = {name: LivingSite(tmp_path / "sites" / name, seed) for seed, name in enumerate(NAMES)}
        for site in sites.values():
            (site.root / f"{KEY}.txt").write_text(KEY)
        servers = {name: stack.enter_context(nginx(site.root)) for name, site in sites.items()}
        urls = {name: server.url for name, server in servers.items()}
        receiver = stack.enter_context(Receiver())
        trial = Trial(tmp_path, sites, urls, receiver, "127.0.0.1:19188")
        yield trial
        if trial.daemon and trial.daemon.poll() is None:
            trial.daemon.kill()
            trial.daemon.wait(10)


@pytest.mark.slow
@pytest.mark.needs_nginx
@pytest.mark.timeout(SECONDS + 300)
def test_ours_files_feed_notifications_and_page_agree_while_five_sites_change(trial: Trial) -> None:
    rng = random.Random(1)
    trial.configure()
    trial.start()
    begun = time.monotonic()
    mishaps = iter((0.2, 0.35, 0.5, 0.65, 2.0))
    due, mishap = next(mishaps), 0
    while (share := (time.monotonic() - begun) / SECONDS) < 1:
        trial.sites[rng.choice(NAMES)].change()
        time.sleep(rng.uniform(0.2, 2.0))
        if share > due:
            _mishap(trial, mishap)
            due, mishap = next(mishaps), mishap + 1
    quiet = time.time()
    trial.wait(lambda: all(_settled(trial, name, quiet) for name in NAMES), "a run of each after the last change", 90)
    time.sleep(3)  # what could not be told is told by a turn of its own
    _check_page(trial)
    assert trial.end(signal.SIGTERM) == 0, trial.log()[-3000:]
    for name in NAMES:
        _check_files(trial, name)
        _check_feed(trial, name)
        _check_messages(trial, name)
    _check_attempts(trial)
    assert KEY not in trial.log()
    assert "Traceback" not in trial.log(), trial.log()


def _mishap(trial: Trial, number: int) -> None:
    """What happens to a daemon in ten minutes."""
    assert trial.daemon
    if number == 0:
        trial.end(signal.SIGKILL)
        trial.start()
    elif number == 1:
        trial.receiver.is_down = True
    elif number == 2:
        trial.receiver.is_down = False
        trial.configure(fir="scope = {exclude = []}")  # read again, and means the same
    else:
        assert trial.end(signal.SIGTERM) == 0, trial.log()[-3000:]
        trial.start()


def _settled(trial: Trial, name: str, quiet: float) -> bool:
    return any(run["started"] > quiet and run["ended"] for run in trial.runs(name))


def _check_files(trial: Trial, name: str) -> None:
    entries = read(trial.sites[name].root / "sitemap.xml")
    assert {entry.loc for entry in entries} == trial.listed(name)


def _check_feed(trial: Trial, name: str) -> None:
    there: set[str] = set()
    for change in trial.feed(name):
        if change["kind"] == "added":
            assert change["url"] not in there
            there.add(change["url"])
        elif change["kind"] == "changed":
            assert change["url"] in there
        else:
            there.remove(change["url"])
    assert there == trial.listed(name)


def _check_messages(trial: Trial, name: str) -> None:
    """Every message goes on where the last one ended; what was submitted is what the messages say, each URL once."""
    url = trial.urls[name]
    messages = [each for each in trial.receiver.messages if each["url"] == url]
    ranges = list(dict.fromkeys((each["runs"]["after"], each["runs"]["until"]) for each in messages))
    assert len(ranges) >= len(messages) - 1, "one crash repeats one message at most"
    changed = {run["number"] for run in trial.runs(name) if _changes(run) and run["number"] > 1}
    covered = {run for after, until in ranges for run in range(after + 1, until + 1)}
    assert changed <= covered, f"{name}: runs {sorted(changed - covered)} were never told"
    assert sum(until - after for after, until in ranges) == len(covered), f"{name}: {ranges} overlap"
    told = Counter(each for site, each in trial.receiver.submitted if site == name)
    feed = Counter(change["url"] for change in trial.feed(name) if change["run"] > 1)
    assert set(told) <= set(feed)
    assert not told - feed, f"{name}: {told - feed} were told more often than they changed"
    last = {change["url"]: change["kind"] for change in trial.feed(name) if change["run"] > 1}
    never = {each for each in last if each not in told}
    assert not {each for each in never if each in trial.listed(name)}, f"{name}: {never} were never told"


def _changes(run: dict[str, Any]) -> int:
    return sum(run[kind] for kind in ("added", "changed", "removed", "moved", "deindexed"))


def _check_page(trial: Trial) -> None:
    page = trial.get("") or b""
    metrics = (trial.get("metrics") or b"").decode()
    for name in NAMES:
        listed = len(trial.listed(name))
        assert name.encode() in page
        own = (trial.get(f"sites/{name}") or b"").decode()
        assert f"{listed} URLs," in own, own
        assert f'siteatlas_site_listed_pages{{site="{name}"}} {float(listed)}' in metrics
        served = trial.get(f"published/{name}/sitemap.xml")
        assert served == (trial.sites[name].root / "sitemap.xml").read_bytes()


def _check_attempts(trial: Trial) -> None:
    """No two runs of a site at once, never more than two at all, and every slot is done once."""
    with closing(sqlite3.connect(trial.folder / "state" / "schedule.db")) as db:
        db.row_factory = sqlite3.Row
        attempts = [dict(row) for row in db.execute("SELECT * FROM attempt ORDER BY number")]
    done = Counter((each["site"], each["slot"]) for each in attempts if each["status"] == "done")
    runs = Counter(
        (each["site"], each["slot"]) for each in attempts if each["status"] == "done" and each["reason"] != "tell"
    )
    assert done
    assert max(runs.values()) == 1
    for name in NAMES:
        own = [each for each in attempts if each["site"] == name and each["ended"]]
        for earlier, later in pairwise(own):
            assert earlier["ended"] <= later["began"], (earlier, later)
    edges = sorted(
        [(each["began"], 1) for each in attempts if each["ended"]]
        + [(each["ended"], -1) for each in attempts if each["ended"]]
    )
    at_once = highest = 0
    for _, step in edges:
        at_once += step
        highest = max(highest, at_once)
    assert highest <= 2
