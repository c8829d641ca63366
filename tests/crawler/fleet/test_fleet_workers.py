"""Workers of a fleet: real processes, a real PostgreSQL, real sites; and workers that are killed or stopped."""

import json
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row
from run import command, environment, siteatlas
from scripted import Answer, Route, Site, links, scripted

from sitemap import read

pytestmark = pytest.mark.thorough

PAGES = [f"/{number}" for number in range(8)]
LEASE = "3"
SHARED = """
[pace]
{pace}
concurrency = 1
[parse]
processes = 1
[schedule]
every = "1d"
[notify]
check_live = false
[output]
swap_delay = 0
"""


def page(path: str, *more: str, delay: float = 0.0) -> Answer:
    words = " ".join(f"word{letter}{path.strip('/')}" for letter in "abcdefghijklmnopqrstuvwxyz")
    return Answer(f"<p>{words}</p>{links(*PAGES, *more)}", delay=delay)


def pages(delay: float = 0.0) -> dict[str, Route]:
    return {path: page(path, delay=delay) for path in ("/", *PAGES)}


@dataclass
class Fleet:
    """A fleet in a folder: its database, sites and workers."""

    folder: Path
    url: str
    sites: dict[str, Site]
    workers: list["subprocess.Popen[bytes]"] = field(default_factory=list)
    stopped: list[int] = field(default_factory=list)
    environment: dict[str, str] = field(default_factory=environment)

    def status(self, *words: str) -> Any:
        return json.loads(siteatlas(self.folder, "fleet", "status", "--json", *words, "--database", self.url).out)

    def rows(self, query: str) -> list[dict[str, Any]]:
        with psycopg.connect(self.url, options="-c search_path=siteatlas", row_factory=dict_row) as connection:
            return connection.execute(query.encode()).fetchall()

    def start(self, *options: str) -> "subprocess.Popen[bytes]":
        words = ["fleet", "worker", "--database", self.url, "--state-store", f"file://{self.folder}/store"]
        words += [
            f"--set=fleet.lease={LEASE}",
            "--set=fleet.dispatch_interval=0.3",
            "--state",
            f"worker{len(self.workers)}",
        ]
        words += options or ['--set=fleet.allow_hooks=["sh"]']
        log = (self.folder / f"worker{len(self.workers)}.log").open("wb")
        process = subprocess.Popen(command(*words), cwd=self.folder, env=self.environment, stdout=log, stderr=log)
        log.close()
        self.workers.append(process)
        return process

    def wait(self, is_done: Callable[[], bool], seconds: float = 40) -> None:
        for _ in range(int(seconds / 0.2)):
            if is_done():
                return
            time.sleep(0.2)
        logs = "\n".join(path.read_text() for path in sorted(self.folder.glob("worker*.log")))
        raise AssertionError(f"{self.rows('SELECT * FROM attempt')}\n{logs}")

    def done(self) -> list[str]:
        return sorted(row["site"] for row in self.rows("SELECT site FROM attempt WHERE fate = 'done'"))

    def listed(self, name: str) -> int:
        path = self.folder / "out" / name / "sitemap.xml"
        return len(list(read(path))) if path.exists() else 0


@contextmanager
def fleet_of(
    folder: Path, url: str, names: list[str], delay: float = 0.0, more: str = "", pace: str = "rate = 0"
) -> Iterator[Fleet]:
    with ExitStack() as stack:
        sites = {name: stack.enter_context(scripted(pages(delay))) for name in names}
        tables = [
            f'[sites.{name}.site]\nurl = "{site.url}"\n[sites.{name}.output]\ndirectory = "out/{name}"\n'
            for name, site in sites.items()
        ]
        (folder / "sites.toml").write_text(SHARED.format(pace=pace) + more + "\n".join(tables))
        for words in (["init", url], ["apply", "--config", "sites.toml", "--database", url]):
            ran = siteatlas(folder, "fleet", *words)
            assert ran.code == 0, ran.err
        fleet = Fleet(folder, url, sites)
        try:
            yield fleet
        finally:
            for pid in fleet.stopped:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGCONT)
            for process in fleet.workers:
                process.terminate()
            for process in fleet.workers:
                process.wait(30)


def children(pid: int) -> list[int]:
    """The process groups that a worker started."""
    listed = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [int(child) for child in listed]


def descendants(pid: int) -> list[int]:
    """All processes below a process, the deepest first."""
    return [each for child in children(pid) for each in (*descendants(child), child)]


def test_ours_two_workers_run_each_due_site_once(tmp_path: Path, database: str) -> None:
    names = [f"site{number}" for number in range(5)]
    with fleet_of(tmp_path, database, names) as fleet:
        fleet.rows(
            "INSERT INTO worker (id, host, process, version, slots, seen) VALUES ('lost a day ago', 'h', 1, '1', 1, "
            "now() - interval '25 h'), ('silent', 'h', 1, '1', 1, now() - interval '23 h') RETURNING id"
        )
        workers = [fleet.start(), fleet.start()]
        fleet.wait(lambda: len(fleet.done()) >= len(names))
        time.sleep(1)
        assert fleet.done() == names
        assert [fleet.listed(name) for name in names] == [9] * len(names)
        assert [site.paths.count("/1") for site in fleet.sites.values()] == [1] * len(names)
        assert {row["id"] for row in fleet.rows("SELECT id FROM worker")} & {"lost a day ago", "silent"} == {"silent"}
        fleet.rows("DELETE FROM worker RETURNING id")  # as if they had been suspended for a day
        fleet.wait(lambda: len(fleet.rows("SELECT 1 FROM worker")) == 2)
        for process in workers:
            process.send_signal(signal.SIGTERM)
            assert process.wait(20) == 0
        (found,) = fleet.rows(
            "SELECT count(*) AS jobs, (SELECT count(*) FROM worker) AS workers FROM procrastinate_jobs"
        )
        assert found == {"jobs": 0, "workers": 0}
        assert {row["generation"] for row in fleet.rows("SELECT generation FROM site")} == {1}


def test_ours_a_worker_runs_only_hooks_that_it_allows_and_says_so(tmp_path: Path, database: str) -> None:
    script = f"cat >> {tmp_path}/told"
    hook = f'[hook]\ncommand = ["sh", "-c", "{script}"]\non = ["changes"]\n'
    with fleet_of(tmp_path, database, ["shop"], more=hook) as fleet:

        def shown() -> tuple[int, str, str]:
            found = siteatlas(tmp_path, "fleet", "status", "shop", "--json", "--database", database)
            status = json.loads(found.out)
            return status["restricted"], status["shown"][0]["left_out"], status["last"][0]["status"]

        applied = siteatlas(tmp_path, "fleet", "apply", "--config", "sites.toml", "--database", database).out
        assert "1 unchanged\nshop: runs without its hook, as fleet.allow_hooks" in applied
        first = fleet.start('--set=fleet.allow_hooks=["sh -c \'true\'", "cat"]')
        fleet.wait(lambda: fleet.done() == ["shop"])
        assert fleet.listed("shop") == 9
        assert not (tmp_path / "told").exists()
        why = "runs without its hook, as fleet.allow_hooks of the worker does not contain"
        assert shown() == (1, f"{why} sh -c 'cat >> {tmp_path}/told'", "done")
        told = siteatlas(tmp_path, "fleet", "status", "--only", "restricted", "--database", database).out
        assert "1 restricted" in told
        assert "restricted (runs without its hook" in told
        first.terminate()
        first.wait(20)
        fleet.start(f"--set=fleet.allow_hooks=[\"sh -c 'cat >> {tmp_path}/told'\"]")
        fleet.sites["shop"].routes |= {"/new": page("/new"), "/1": page("/1", "/new")}
        assert siteatlas(tmp_path, "fleet", "run-now", "shop", "--database", database).code == 0
        fleet.wait(lambda: fleet.done() == ["shop"] * 2)
        assert (tmp_path / "told").exists()
        assert shown() == (0, "", "done")


_SHIFT = """import time
real = time.time
time.time = lambda: real() + float(open({path!r}).read())
"""


@pytest.mark.parametrize("ahead", [7_200, -7_200])
def test_ours_a_worker_whose_clock_is_wrong_takes_no_sites_and_says_so(
    tmp_path: Path, database: str, ahead: int
) -> None:
    clock = tmp_path / "clock"
    clock.write_text(str(ahead))
    (tmp_path / "shift").mkdir()
    (tmp_path / "shift" / "sitecustomize.py").write_text(_SHIFT.format(path=str(clock)))
    with fleet_of(tmp_path, database, ["shop"]) as fleet:
        fleet.environment |= {"PYTHONPATH": str(tmp_path / "shift")}
        fleet.start()
        fleet.wait(lambda: bool(fleet.rows("SELECT 1 FROM worker")))
        time.sleep(2)
        (worker,) = fleet.status()["workers"]
        assert abs(worker["clock"] - ahead) < 2
        assert fleet.rows("SELECT 1 FROM attempt") == []
        told = siteatlas(tmp_path, "fleet", "status", "--database", database).out
        assert re.search(f"its clock is 7,[12]\\d\\d s {'ahead' if ahead > 0 else 'behind'}", " ".join(told.split())), (
            told
        )
        assert "takes no sites until it is right" in (tmp_path / "worker0.log").read_text()
        clock.write_text("0.5")
        fleet.wait(lambda: fleet.done() == ["shop"])
        assert abs(fleet.status()["workers"][0]["clock"]) < 2


def test_ours_a_copy_of_a_state_directory_is_another_worker_and_one_that_is_gone_is_forgotten(
    tmp_path: Path, database: str
) -> None:
    with fleet_of(tmp_path, database, ["shop", "blog"], delay=0.3) as fleet:
        first = fleet.start()
        fleet.wait(lambda: len(fleet.rows("SELECT 1 FROM site WHERE lease_until > now()")) == 2)
        shutil.copytree(tmp_path / "worker0", tmp_path / "worker1")
        fleet.start()
        fleet.wait(lambda: len(fleet.rows("SELECT 1 FROM worker")) == 2)
        workers = fleet.status()["workers"]
        running = {worker["process"]: worker["running"] for worker in workers}
        assert running == {first.pid: running[first.pid], fleet.workers[1].pid: 0}
        fleet.wait(lambda: fleet.done() == ["blog", "shop"])
        names = {worker["process"]: worker["id"] for worker in workers}
        assert {row["home"] for row in fleet.rows("SELECT home FROM site")} == {names[first.pid]}
        assert (tmp_path / "worker0" / "worker").read_text().strip() == names[first.pid]
        wrong = siteatlas(tmp_path, "fleet", "forget", names[first.pid], "--database", database)
        assert (wrong.code, wrong.err) == (
            2,
            f"siteatlas: the fleet has no worker that no longer responds {names[first.pid]}\n",
        )
        first.kill()
        first.wait()
        fleet.rows(f"UPDATE worker SET seen = seen - interval '61 s' WHERE id = '{names[first.pid]}' RETURNING id")
        assert siteatlas(tmp_path, "fleet", "forget", names[first.pid], "--database", database).code == 0
        assert [worker["id"] for worker in fleet.status()["workers"]] == [names[fleet.workers[1].pid]]


@pytest.mark.slow
def test_ours_a_killed_worker_loses_its_sites_to_another_which_resumes_them(tmp_path: Path, database: str) -> None:
    with fleet_of(tmp_path, database, ["slow"], delay=0.4) as fleet:
        first = fleet.start()
        fleet.wait(lambda: len(fleet.sites["slow"].paths) > 5)
        first.kill()
        fleet.start()
        fleet.wait(lambda: fleet.done() == ["slow"])
        attempts = fleet.rows("SELECT because, fate, epoch FROM attempt ORDER BY number")
        assert attempts == [
            {"because": "first", "fate": None, "epoch": 1},
            {"because": "resumed", "fate": "done", "epoch": 2},
        ]
        assert fleet.listed("slow") == 9


def runs_told(text: str) -> list[int]:
    """The run of each notice that a hook wrote into a file."""
    return [json.loads(line)["runs"]["until"] for line in text.splitlines() if line]


@pytest.mark.slow
def test_ours_a_worker_that_wakes_up_after_its_lease_publishes_and_tells_nothing(tmp_path: Path, database: str) -> None:
    posted = tmp_path / "told"
    hook = f'[hook]\ncommand = ["sh", "-c", "cat >> {posted}; echo >> {posted}"]\non = ["changes"]\n'
    with fleet_of(tmp_path, database, ["slow"], more=hook) as fleet:
        site = fleet.sites["slow"]
        zombie = fleet.start()
        fleet.wait(lambda: fleet.done() == ["slow"])
        site.routes = {**pages(delay=0.4), "/new": page("/new"), "/1": page("/1", "/new", delay=0.4)}
        asked = len(site.paths)
        assert siteatlas(tmp_path, "fleet", "run-now", "slow", "--database", database).code == 0
        fleet.wait(lambda: len(site.paths) > asked + 5)
        fleet.stopped = [zombie.pid, *children(zombie.pid)]
        for pid in fleet.stopped:
            os.kill(pid, signal.SIGSTOP)
        fleet.start()
        fleet.wait(lambda: fleet.done() == ["slow"] * 2)
        published = (tmp_path / "out" / "slow" / "sitemap.xml").stat()
        told = posted.read_text()
        assert runs_told(told) == [1, 2], "each run once: the first, and the one that the second worker took over"
        for pid in fleet.stopped:
            os.kill(pid, signal.SIGCONT)
        time.sleep(6)
        assert (tmp_path / "out" / "slow" / "sitemap.xml").stat().st_ino == published.st_ino
        assert posted.read_text() == told
        assert fleet.done() == ["slow"] * 2
        # each of the two runs stored its state before its notice and after it
        assert [row["generation"] for row in fleet.rows("SELECT generation FROM site")] == [4]
        assert zombie.poll() is None  # it takes part again


@pytest.mark.slow
def test_ours_a_notice_whose_worker_died_while_it_was_sent_is_named_and_can_be_sent_again(
    tmp_path: Path, database: str
) -> None:
    posted, begun = tmp_path / "told", tmp_path / "begun"
    script = f"test -e {begun} || {{ touch {begun}; sleep 60; exit 1; }}; cat >> {posted}; echo >> {posted}"
    hook = f'[hook]\ncommand = ["sh", "-c", "{script}"]\non = ["changes"]\n'
    with fleet_of(tmp_path, database, ["shop"], more=hook) as fleet:
        first = fleet.start()
        fleet.wait(begun.exists)
        for pid in [first.pid, *reversed(descendants(first.pid))]:  # or a parent would see how its child ends
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        fleet.start()
        fleet.wait(lambda: fleet.done() == ["shop"])
        assert not posted.exists(), "it may have been sent, so no worker sends it"
        told = siteatlas(tmp_path, "fleet", "status", "--database", database).out
        assert "1 notification of the last week may not have been sent" in told
        assert re.search(r"shop  hook [0-9a-f]+: changes after run 0, up to run 1", told), told
        (notice,) = json.loads(siteatlas(tmp_path, "fleet", "status", "--json", "--database", database).out)["unsure"]
        assert notice["id"] in told
        wrong = siteatlas(tmp_path, "fleet", "resend", "0123", "--database", database)
        assert (wrong.code, wrong.err) == (2, "siteatlas: the fleet has no lost notification 0123\n")
        assert siteatlas(tmp_path, "fleet", "resend", notice["id"], "--database", database).code == 0
        fleet.wait(posted.exists)
        fleet.wait(lambda: fleet.rows("SELECT fate FROM attempt WHERE because = 'tell'") == [{"fate": "done"}])
        assert runs_told(posted.read_text()) == [1], "the same notification"
        assert "may not have been sent" not in siteatlas(tmp_path, "fleet", "status", "--database", database).out
        assert siteatlas(tmp_path, "fleet", "run-now", "shop", "--database", database).code == 0
        fleet.wait(lambda: fleet.done() == ["shop"] * 3)  # the run, what was sent again, and this run
        assert runs_told(posted.read_text()) == [1], "not once more"
