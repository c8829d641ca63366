"""The process of a run and who watches it; what the daemon tells its service manager; when a file has changed."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import anyio
import msgspec
import psutil
import pytest
from kept import wait_for
from msgspec.structs import replace
from scripted import Answer, scripted

from crawler.config.load import build_config
from crawler.config.plan import plan_crawl
from crawler.schedule import process as processes
from crawler.schedule.daemon import ConfigWatcher, SystemdNotifier
from crawler.schedule.process import ProcessRunner, SiteJob
from crawler.schedule.site import ScheduledSite, scheduled_site
from crawler.schedule.site_state import Attempt, Trigger
from crawler.state.runs import RunResult, RunStatus

pytestmark = pytest.mark.anyio
DUE = Attempt(number=1, site="shop", slot=0.0, trigger=Trigger.DUE, try_number=1, began=0.0)


def site(
    folder: Path, url: str = "http://127.0.0.1:9/", audit: dict[str, str] | None = None, **daemon: object
) -> ScheduledSite:
    tables = {
        "site": {"url": url},
        "output": {"directory": str(folder / "out"), "swap_delay": 0},
        "state": {"directory": str(folder / "state")},
        "pace": {"rate": 0},
        "parse": {"processes": 1},
        "audit": audit or {},
        "daemon": daemon,
    }
    return scheduled_site("shop", plan_crawl(build_config(tables)))


class Said:
    """Who is told the lines of a run's log."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def __call__(self, name: str, line: str) -> None:
        assert name == "shop"
        self.lines.append(line)


@pytest.mark.slow
async def test_ours_a_site_is_run_in_a_process_of_its_own(tmp_path: Path) -> None:
    said = Said()
    with scripted({"/": '<a href="/a">', "/a": "<p>a"}) as shop:
        ended = await ProcessRunner(said).run(site(tmp_path, shop.url), DUE, anyio.Event())
    assert ended == RunResult(
        exit_code=0, status=RunStatus.DONE, run=1, outcome="published", message="2 pages listed: 2 added"
    )
    assert said.lines == []
    assert (tmp_path / "out" / "sitemap.xml").read_bytes().count(b"<loc>") == 2


@pytest.mark.slow
async def test_ours_a_stop_before_the_first_page_ends_a_run_at_once(tmp_path: Path) -> None:
    stop, ends = anyio.Event(), []
    with scripted({"/robots.txt": Answer("", delay=30), "/": "<p>home"}) as shop:

        async def run() -> None:
            ends.append(await ProcessRunner(Said()).run(site(tmp_path, shop.url), DUE, stop))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run)
            while not shop.log:  # noqa: ASYNC110 - it is asked by a process
                await anyio.sleep(0.01)
            stop.set()
        told = "the state is saved, and the next run continues it"
        assert ends == [RunResult(exit_code=4, status=RunStatus.STOPPED, message=told)]


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("command", "advice"),
    [
        ("siteatlas run --config 'my sites.toml' --site", "run siteatlas run --config 'my sites.toml' --site shop"),
        ("siteatlas fleet run-now", "run siteatlas fleet run-now shop"),
        ("", "run once with"),
    ],
)
async def test_ours_a_message_names_the_command_that_takes_its_option(
    tmp_path: Path, command: str, advice: str
) -> None:
    runner = ProcessRunner(Said(), command=command)
    with scripted({"/": Answer("", 404)}) as shop:
        gone = await runner.run(site(tmp_path, shop.url), DUE, anyio.Event())
        assert f"{advice} --accept-shrink to crawl" in gone.message
        (tmp_path / "out" / "sitemap.xml").write_text("theirs")
        foreign = await runner.run(site(tmp_path, shop.url), DUE, anyio.Event())
        assert f"To overwrite the file, {advice} --replace." in foreign.message
        (state,) = tmp_path.glob("state/*/state.db")  # noqa: ASYNC240 - a local disk
        state.write_bytes(b"SQLite format 3\0" + bytes(5_000))
        damaged = await runner.run(site(tmp_path, shop.url), DUE, anyio.Event())
        assert f"{advice} --fresh to rename" in damaged.message.replace("Run ", "run ") or not command


@pytest.fixture
def instead(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Have another program run in place of ours."""

    def put(program: str) -> None:
        monkeypatch.setattr(processes, "_COMMAND", (sys.executable, "-S", "-E", "-c", program))

    return put


@pytest.mark.parametrize(
    ("program", "code", "told"),
    [
        ("import os; os.kill(os.getpid(), 9)", -9, "its process was stopped by SIGKILL (possibly out of memory)"),
        ("import os; os.abort()", -6, "its process was stopped by SIGABRT"),
        ("raise SystemExit('out of luck')", 1, "its process ended with exit code 1 and without a report: out of luck"),
        ("print('no report')", 0, "its process ended with exit code 0 and without a report"),
        ("print('x' * 10**6)", 0, "its process ended with exit code 0 and without a report"),
    ],
)  # fmt: skip
async def test_ours_a_run_without_a_report_has_failed_and_others_are_to_be_told(
    tmp_path: Path, instead: Callable[[str], None], program: str, code: int, told: str
) -> None:
    instead(program)
    ended = await ProcessRunner(Said()).run(site(tmp_path), DUE, anyio.Event())
    assert ended == RunResult(exit_code=code, status=RunStatus.FAILED, message=told, notify_pending=True)


async def test_ours_a_log_is_passed_on_line_by_line_and_a_line_without_end_is_cut(
    tmp_path: Path, instead: Callable[[str], None]
) -> None:
    instead("import sys; sys.stderr.buffer.write(b'one\\n\\n\\xff two\\n' + b'x' * 10**6 + b'\\nlast')")
    said = Said()
    await ProcessRunner(said).run(site(tmp_path), DUE, anyio.Event())
    assert said.lines == ["one", "\ufffd two", "x" * 4_000, "last"]


_STUBBORN = """
import signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen([sys.executable, "-S", "-E", "-c", "import time; time.sleep(99)"])
print(child.pid, file=sys.stderr, flush=True)
time.sleep(99)
"""


@pytest.mark.parametrize("is_cancelled", [False, True])
async def test_ours_who_does_not_stop_is_killed_with_all_it_has_started(
    tmp_path: Path, instead: Callable[[str], None], is_cancelled: bool
) -> None:
    instead(_STUBBORN)
    said, stop, ends = Said(), anyio.Event(), []

    async def run() -> None:
        ends.append(await ProcessRunner(said).run(site(tmp_path, shutdown_timeout=0.05), DUE, stop))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run)
        while not said.lines:  # noqa: ASYNC110 - it is told by a process
            await anyio.sleep(0.01)
        grandchild = int(said.lines[0])
        if is_cancelled:
            tasks.cancel_scope.cancel()
        stop.set()
    wait_for(lambda: not psutil.pid_exists(grandchild) or psutil.Process(grandchild).status() == "zombie")
    if not is_cancelled:
        told = "it did not stop within 0.05 s and was killed; the next run continues it"
        assert ends == [RunResult(exit_code=-9, status=RunStatus.STOPPED, message=told)]


async def test_ours_a_pipe_that_somebody_else_holds_does_not_hold_up_the_daemon(
    tmp_path: Path, instead: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "_DRAIN_TIMEOUT", 0.05)
    instead("import subprocess, sys; subprocess.Popen(['sleep', '30']); sys.exit('gone')")
    ended = await ProcessRunner(Said()).run(site(tmp_path), DUE, anyio.Event())
    assert (ended.exit_code, ended.message.endswith("gone")) == (1, True)


_WAITING = """
import json, os, sys, time
print(json.loads(sys.stdin.readline())["may_audit"], file=sys.stderr, flush=True)
while not os.path.exists({gate!r}):
    time.sleep(0.01)
"""


async def test_ours_audits_leave_a_place_to_the_sites_that_wait_for_their_runs(
    tmp_path: Path, instead: Callable[[str], None]
) -> None:
    gate, said, late = tmp_path / "gate", Said(), True
    instead(_WAITING.format(gate=str(gate)))
    runner = ProcessRunner(said, is_late=lambda: late)
    audited = site(tmp_path, audit={"every": "1m"}, max_parallel_runs=3)

    async def begin(number: int, which: ScheduledSite = audited) -> None:
        tasks.start_soon(runner.run, which, replace(DUE, number=number), anyio.Event())
        while len(said.lines) < number:  # noqa: ASYNC110 - it is told by a process
            await anyio.sleep(0.01)

    async with anyio.create_task_group() as tasks:
        for number in (1, 2, 3):
            await begin(number)
        await begin(4, site(tmp_path))  # which asks for no audits
        late = False
        await begin(5)
        gate.touch()
    assert said.lines == ["True", "True", "False", "True", "True"]
    late = True
    await runner.run(audited, DUE, anyio.Event())
    assert said.lines[5:] == ["True"], "those before have ended"


async def test_ours_the_service_manager_is_not_that_of_a_run(
    tmp_path: Path, instead: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NOTIFY_SOCKET", "/run/somewhere")
    instead("import os, sys; sys.exit(os.environ.get('NOTIFY_SOCKET', 'none'))")
    ended = await ProcessRunner(Said()).run(site(tmp_path), DUE, anyio.Event())
    assert ended.message.endswith(": none")


async def test_systemd_a_service_manager_is_told_in_its_own_words(tmp_path: Path) -> None:
    path = tmp_path / "notify"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(path))
        daemon = SystemdNotifier({"NOTIFY_SOCKET": str(path), "WATCHDOG_USEC": "20000"})
        daemon.ready("2 sites")
        assert manager.recv(1000) == b"READY=1\nSTATUS=2 sites"
        daemon.reloading()
        first, second = manager.recv(1000).split(b"\n")
        assert first == b"RELOADING=1"
        assert second.removeprefix(b"MONOTONIC_USEC=").isdigit()
        daemon.stopping()
        assert manager.recv(1000) == b"STOPPING=1"
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(daemon.send_watchdog)
            await anyio.sleep(0.05)
            tasks.cancel_scope.cancel()
        assert [manager.recv(1000) for _ in range(2)] == [b"WATCHDOG=1"] * 2
    daemon.stopping()  # nobody is there any more


async def test_systemd_a_name_that_is_in_no_file_system_and_a_watchdog_of_somebody_else() -> None:
    name = f"siteatlas-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(f"\0{name}")
        daemon = SystemdNotifier({"NOTIFY_SOCKET": f"@{name}", "WATCHDOG_USEC": "1000", "WATCHDOG_PID": "1"})
        await daemon.send_watchdog()  # ends at once: nobody watches this process
        daemon.stopping()
        assert manager.recv(1000) == b"STOPPING=1"
    for nothing in ({}, {"NOTIFY_SOCKET": ""}, {"NOTIFY_SOCKET": "/nowhere/at/all", "WATCHDOG_USEC": "many"}):
        SystemdNotifier(nothing).ready("")


def changes(watched: ConfigWatcher, looks: int = 3) -> list[bool]:
    return [watched.has_changed() for _ in range(looks)]


def test_ours_a_file_that_was_written_in_place_has_changed_once_it_stays_the_same(tmp_path: Path) -> None:
    path = tmp_path / "sites.toml"
    path.write_text("one", encoding="utf-8")
    watched = ConfigWatcher(path)
    assert changes(watched) == [False, False, False]
    path.write_text("tw", encoding="utf-8")  # half of it
    assert watched.has_changed() is False
    path.write_text("two", encoding="utf-8")
    assert changes(watched) == [False, True, True]
    watched.mark_read()
    assert changes(watched) == [False, False, False]
    os.utime(path, (1, 1))
    assert changes(watched) == [False, False, False]


def test_ours_a_file_that_is_gone_has_changed_once_and_again_when_it_is_there_again(tmp_path: Path) -> None:
    path, new = tmp_path / "sites.toml", tmp_path / "new"
    path.write_text("one", encoding="utf-8")
    watched = ConfigWatcher(path)
    path.unlink()
    assert watched.has_changed() is False  # somebody may be replacing it
    new.write_text("one", encoding="utf-8")
    new.rename(path)
    assert changes(watched) == [False, False, False]
    path.unlink()
    assert changes(watched) == [False, True, True]
    watched.mark_read()
    assert changes(watched) == [False, False, False]
    new.write_text("two", encoding="utf-8")
    new.rename(path)
    assert changes(watched, 2) == [False, True]


def test_kubernetes_a_link_that_comes_to_mean_another_directory_is_a_change(tmp_path: Path) -> None:
    for name, text in (("first", "one"), ("second", "two")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "sites.toml").write_text(text, encoding="utf-8")
    data, path = tmp_path / "..data", tmp_path / "sites.toml"
    data.symlink_to("first")
    path.symlink_to("..data/sites.toml")
    watched = ConfigWatcher(path)
    (tmp_path / "..new").symlink_to("second")
    (tmp_path / "..new").rename(data)
    assert changes(watched, 2) == [False, True]


DEAF = """
import signal
import crawler.schedule.worker as worker

def deaf(order):
    signal.signal(signal.SIGTERM, worker._interrupt)
    words = ["at it"]
    while True:
        try:
            if words:
                print(words.pop(), flush=True)  # the daemon may be gone before this is back
            while True:
                pass
        except KeyboardInterrupt:
            pass

worker._run_job = deaf
worker.main()
"""


def test_ours_a_run_that_does_not_hear_ends_by_force_when_its_daemon_is_gone() -> None:
    order = SiteJob(name="shop", task="run", config={}, shutdown_timeout=0.2)
    with subprocess.Popen(
        [sys.executable, "-c", DEAF], stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
    ) as run:
        assert run.stdin
        assert run.stdout
        run.stdin.write(msgspec.json.encode(order) + b"\n")
        run.stdin.flush()
        assert run.stdout.readline() == b"at it\n"
        run.stdin.close()
        try:
            assert run.wait(30) == -signal.SIGKILL
        finally:
            run.kill()
