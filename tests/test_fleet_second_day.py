"""The second day of an operator: what goes wrong in a fleet, what the status says of it, and what is done about it.

Real processes, a real PostgreSQL, and a state store that is not mounted, read-only, full or empty.
"""

import json
import re
import shlex
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
from ports import reserved_port
from postgres_server import PostgresServer, postgres_server
from run import Ran, command, environment, siteatlas
from scripted import Answer, Route, Site, links, scripted

pytestmark = pytest.mark.thorough

PATIENCE = 120.0  # seconds for what takes five on an idle machine
PAGES = [f"/page-{number}" for number in range(20)]
DEAD = PAGES[:15]


def _page(path: str) -> Answer:
    body = f"<title>{path}</title><p>{path} {'word ' * 30}"
    return Answer(body, headers={"Last-Modified": "Tue, 03 Mar 2020 04:05:06 GMT"})


def _routes(pages: list[str]) -> dict[str, Route]:
    return {"/": links(*PAGES), **{path: _page(path) for path in pages}}


class Day:
    """A fleet of one site, whose workers an operator starts one at a time."""

    def __init__(self, folder: Path, database: str, site: Site) -> None:
        self.folder = folder
        self.site = site
        self._database = database
        self.store = folder / "store"
        self.name = "shop"
        self.write()

    def write(self, *lines: str) -> None:
        """The configuration, with more lines for the fleet."""
        text = "\n".join(
            [
                "[fleet]",
                f'database = "{self._database}"',
                f'state_store = "file://{self.store}"',
                *lines,
                '[schedule]\nevery = "1d"\nretries = 0',
                "[output]\nswap_delay = 0\n[notify]\ncheck_live = false",
                "[pace]\nrate = 0",
                "[parse]\nprocesses = 1",
                f'[sites.{self.name}]\nsite = {{url = "{self.site.url}"}}\noutput = {{directory = "out"}}',
            ]
        )
        (self.folder / "sites.toml").write_text(text)

    def fleet(self, *words: str) -> Ran:
        ran = siteatlas(self.folder, "fleet", words[0], *words[1:], "--config", "sites.toml")
        assert ran.code == 0, ran.err
        return ran

    def status(self) -> dict[str, Any]:
        """What the status says of the site, as JSON, with the status of the fleet as ``fleet``."""
        found = json.loads(self.fleet("status", self.name, "--json").out)
        return {**found["shown"][0], "fleet": found}

    def told(self) -> str:
        """What the status says of the site to a person."""
        (line,) = (line for line in self.fleet("status", self.name).out.splitlines() if line.startswith(self.name))
        return line

    def advised(self) -> list[str]:
        """The words of the command that the status advises."""
        found = re.search(r"siteatlas fleet (run-now [\w-]+ --[\w-]+)", self.told())
        assert found, self.told()
        return shlex.split(found[1])

    def run(self, worker: str, *asked: str) -> dict[str, Any]:
        """One run on a worker, which an operator asks for; the status after it."""
        before = self._ended()
        self.fleet(*(asked or ("run-now", self.name)))
        with self.worker(worker):
            until = time.monotonic() + PATIENCE
            while self._ended() == before:
                assert time.monotonic() < until, (self.folder / f"{worker}.log").read_text()
                time.sleep(0.1)
        return self.status()

    def _ended(self) -> int:
        """The number of runs that have ended; an attempt that only notifies is none."""
        ended = "SELECT count(*) FROM attempt WHERE ended IS NOT NULL AND because <> 'tell'"
        with psycopg.connect(self._database, options="-c search_path=siteatlas") as connection:
            (number,) = connection.execute(ended).fetchone() or (0,)
        return int(number)

    @contextmanager
    def worker(self, name: str) -> Iterator[None]:
        # a short lease would gain nothing, as each worker gives it back, and would end runs on a busy machine
        words = ("fleet", "worker", "--config", "sites.toml", "--state", name, "--set=fleet.dispatch_interval=0.2")
        with (self.folder / f"{name}.log").open("ab") as log:
            process = subprocess.Popen(command(*words), cwd=self.folder, env=environment(), stdout=log, stderr=log)
            try:
                yield
            finally:
                process.terminate()
                process.wait(PATIENCE)

    def listed(self) -> dict[str, str]:
        """The paths in the published sitemap, with their dates."""
        text = (self.folder / "out" / "sitemap.xml").read_text()
        found = re.findall(r"<loc>([^<]+)</loc>(?:\s*<lastmod>([^<]+)</lastmod>)?", text)
        return {"/" + url.removeprefix(self.site.url): date for url, date in found}

    def web(self) -> tuple[dict[str, Any], str, str]:
        """/healthz, /metrics and the page."""
        port = reserved_port()
        words = command("fleet", "serve", "--config", "sites.toml", "--listen", f"127.0.0.1:{port}")
        process = subprocess.Popen(words, cwd=self.folder, env=environment(), stderr=subprocess.DEVNULL)
        try:
            health, metrics, page = (_get(port, path) for path in ("/healthz", "/metrics", "/"))
        finally:
            process.terminate()
            process.wait(PATIENCE)
        return json.loads(health), metrics, re.sub("<[^>]+>", "", page)


def _get(port: int, path: str) -> str:
    until = time.monotonic() + PATIENCE
    while True:
        try:
            return httpx.get(f"http://127.0.0.1:{port}{path}", timeout=20).text
        except httpx.ConnectError:
            assert time.monotonic() < until, "no answer"
            time.sleep(0.1)


@pytest.fixture(scope="module")
def postgres() -> Iterator[PostgresServer]:
    with postgres_server() as server:
        yield server


@pytest.fixture
def day(tmp_path: Path, postgres: PostgresServer) -> Iterator[Day]:
    database = postgres.new_database()
    with scripted(_routes(PAGES)) as site:
        day = Day(tmp_path, database, site)
        assert siteatlas(tmp_path, "fleet", "init", database).code == 0
        day.fleet("apply")
        assert day.run("one")["last"]["outcome"] == "published"
        yield day


def test_ours_a_hold_is_accepted_as_its_message_says_and_the_acceptance_travels(day: Day) -> None:
    assert set(day.listed()) == {"/", *PAGES}
    day.site.routes = _routes(PAGES[15:])
    held = day.run("one")
    assert (held["held"], held["fleet"]["held"], held["last"]["exit_code"]) == (True, 1, 3)
    assert day.told().startswith(f"shop ({day.site.url[:-1]}): held (15 of the 21 published pages would leave")
    health, metrics, page = day.web()
    assert health["held"] == 1
    assert 'siteatlas_fleet_sites{state="held"} 1.0' in metrics
    assert "siteatlas fleet run-now shop --accept-shrink" in page
    advised = day.advised()
    day.fleet(*advised)
    assert "asked for: --accept-shrink" in day.told()
    accepted = day.run("two", *advised)
    assert (accepted["held"], accepted["last"]["exit_code"], accepted["asked"]) == (False, 0, {})
    assert set(day.listed()) == {"/", *PAGES[15:]}
    for worker in ("one", "three"):
        assert day.run(worker)["last"]["exit_code"] == 0
        assert set(day.listed()) == {"/", *PAGES[15:]}, "no dead page comes back"
    day.site.routes = _routes([])
    assert day.run("one")["held"], "the acceptance was for one run"
    back = day.run("four", "rollback", "shop")
    assert (back["last"]["outcome"], back["last"]["exit_code"]) == ("rolled back", 0)
    assert set(day.listed()) == {"/", *PAGES}
    wrong = day.run("one", "rollback", "shop", "--to", "99")
    assert wrong["last"]["exit_code"] == 2
    assert "there is no copy of the sitemap of run 99" in wrong["last"]["message"]
    assert not wrong["failing"]
    assert set(day.listed()) == {"/", *PAGES}


def test_ours_a_renamed_site_runs_everywhere_with_its_state(day: Day) -> None:
    day.site.routes = _routes(PAGES[15:])
    assert day.run("one")["held"]
    before = day.listed()
    day.name = "store"
    day.write()
    applied = day.fleet("apply")
    assert "store is the new name of shop" in applied.out
    assert "0 retired" in applied.out
    run = day.run("two")
    assert run["held"], "the gate knows what was published under the former name"
    assert day.listed() == before
    assert len(run["fleet"]["last"]) == 3, "the history too"
    day.site.routes = _routes(PAGES)
    day.fleet("apply")
    last = day.run("one")["last"]
    assert last["exit_code"] == 0, last


@contextmanager
def _unmounted(day: Day) -> Iterator[None]:
    aside = day.store.rename(day.store.with_name("aside"))
    day.store.mkdir()
    yield
    shutil.rmtree(day.store)
    aside.rename(day.store)


@contextmanager
def _mounted(day: Day, *words: str) -> Iterator[None]:
    if subprocess.run(["mount", *words, str(day.store)], check=False, capture_output=True).returncode:
        pytest.skip("this account may not mount a disk")
    try:
        yield
    finally:
        subprocess.run(["umount", str(day.store)], check=True)


@contextmanager
def _read_only(day: Day) -> Iterator[None]:
    with _mounted(day, "--bind", str(day.store)):
        subprocess.run(["mount", "-o", "remount,bind,ro", str(day.store)], check=True)
        yield


@contextmanager
def _full(day: Day) -> Iterator[None]:
    copy = shutil.copytree(day.store, day.store.with_name("copy"))
    with _mounted(day, "-t", "tmpfs", "-o", "size=1m", "none"):
        shutil.copytree(copy, day.store, dirs_exist_ok=True)
        with (day.store / "filler").open("wb", buffering=0) as filler:
            while filler.write(bytes(4096)) == 4096:
                if shutil.disk_usage(day.store).free == 0:
                    break
        yield


@pytest.mark.parametrize("lost", [_unmounted, _read_only, _full])
def test_ours_a_state_store_that_is_away_publishes_nothing_and_is_seen(day: Day, lost: Any) -> None:
    before = day.listed()
    day.site.routes = {**_routes(PAGES), "/": links(*PAGES, "/new"), "/new": _page("/new")}
    with lost(day):
        away = day.run("one")
        assert (away["failing"], away["last"]["exit_code"]) == (True, 7)
        assert f"the state store file://{day.store}" in day.told()
        assert day.listed() == before
        health, metrics, page = day.web()
        assert health["failing"] == 1
        assert 'siteatlas_site_snapshot_age_seconds{site="shop"}' in metrics
        assert "state store" in page
        day.write("publish_without_store = true")
        loose = day.run("one")
        assert (loose["failing"], loose["unsaved"], loose["last"]["exit_code"]) == (False, True, 0)
        assert "/new" in day.listed()
        assert "unsaved (no snapshot: the newest state is only on" in day.told()
        health, metrics, page = day.web()
        assert health["unsaved"] == 1
        assert 'siteatlas_fleet_sites{state="unsaved"} 1.0' in metrics
        assert "unsaved" in page
        day.write()
    back = day.run("one")
    assert (back["failing"], back["unsaved"], back["generation"]) == (False, False, 2)
    assert "/new" in day.listed()


def test_ours_after_all_snapshots_are_lost_a_site_begins_again_from_what_is_published(day: Day) -> None:
    before = day.listed()
    shutil.rmtree(day.store)
    shutil.rmtree(day.folder / "one")
    day.site.routes = _routes(PAGES[15:])
    assert "run siteatlas fleet recover" in day.run("two")["last"]["message"]
    day.fleet("recover")
    lost = day.run("two")
    assert (lost["failing"], lost["last"]["exit_code"]) == (True, 7)
    assert day.listed() == before
    anew = day.run("three", *day.advised())
    assert (anew["failing"], anew["held"]) == (False, True), "the published sitemap is the measure of the gate"
    assert day.listed() == before, "and gives the dates"
    assert day.run("four", *day.advised())["last"]["exit_code"] == 0
    assert set(day.listed()) == {"/", *PAGES[15:]}
