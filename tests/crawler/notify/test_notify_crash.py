"""kill -9 while others are told: nothing is lost, and one batch at most is sent twice."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from doubles_indexnow import Double, Say, Site, memory

TESTS = Path(__file__).parents[2]
PAGES = [f"/{n}" for n in range(7)]


class Children:
    """Runs ``announce`` in forks of one warm process, which can be killed."""

    def __init__(self, server: "subprocess.Popen[bytes]") -> None:
        self._server = server
        self.pid = 0

    def tell(self, site: Site, run: int, kill_at: int = 0, *, warms: bool = False, **settings: Any) -> tuple[int, int]:
        """Its exit status, negative for a signal, and the calls of functions; at number ``kill_at`` it kills itself."""
        tables = site.tables(fetch__transport="httpx", **settings)  # the other one has threads, which no fork has
        order = {"tables": tables, "run": run, "kill_at": kill_at, "warms": warms}
        assert self._server.stdin
        assert self._server.stdout
        self._server.stdin.write(json.dumps(order).encode() + b"\n")
        self._server.stdin.flush()
        self.pid = json.loads(self._server.stdout.readline())
        status, calls = json.loads(self._server.stdout.readline())
        return status, calls

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)


@pytest.fixture(scope="module")
def children() -> Iterator[Children]:
    paths = os.pathsep.join((str(TESTS), str(TESTS.parent)))
    with subprocess.Popen(
        [sys.executable, __file__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": paths},
    ) as server:
        children = Children(server)
        with memory() as folder, Double() as double:
            site = Site(double, folder)
            for pages in (["/"], ["/", "/a"]):
                children.tell(site, site.run(pages), warms=True)
        yield children
        server.kill()


@pytest.fixture
def site() -> Iterator[Site]:
    with memory() as folder, Double() as double:
        yield Site(double, folder, indexnow__batch=3)


def is_told_but_for_one_batch(site: Site, pages: list[str], batch: int) -> None:
    """Everything that changed was taken, and what was taken twice are the URLs of one batch."""
    assert set(site.double.taken) == set(map(site.url, pages))
    twice = sorted(url for url, times in site.double.taken.items() if times > 1)
    assert max(site.double.taken.values()) <= 2
    assert len(twice) <= batch
    assert not twice or any(set(twice) <= set(message["urlList"]) for message in site.double.messages)


@pytest.mark.thorough
@pytest.mark.parametrize("batch_then", [1, 3, 10_000])
@pytest.mark.parametrize("at", [0, 1, 2])
def test_ours_a_kill_between_sending_and_keeping_repeats_one_batch(
    site: Site, children: Children, at: int, batch_then: int
) -> None:
    children.tell(site, site.run(["/"]))
    run = site.run(["/", *PAGES])
    site.double.says += [Say()] * at + [Say(then=children.kill)]
    status, _ = children.tell(site, run)
    assert status == -signal.SIGKILL
    assert sum(site.double.taken.values()) == min(3 * (at + 1), 7)  # it was taken, and that was not kept
    assert children.tell(site, run, indexnow__batch=batch_then)[0] == 0
    is_told_but_for_one_batch(site, PAGES, 3)
    assert len([url for url, times in site.double.taken.items() if times == 2]) == (1 if at == 2 else 3)
    messages = len(site.double.messages)
    assert children.tell(site, run)[0] == 0
    assert len(site.double.messages) == messages


@pytest.mark.parametrize("kills", [4, pytest.param(40, marks=pytest.mark.slow)])
def test_ours_a_kill_anywhere_loses_nothing(site: Site, children: Children, kills: int) -> None:
    children.tell(site, site.run(["/"]))
    pages = ["/"]
    calls = 0
    for number in range(kills + 1):
        new = [f"/{number}/{n}" for n in range(4)]
        pages = [*pages, *new]
        run = site.run(pages)
        site.double.taken.clear()
        site.double.messages.clear()
        if not calls:
            calls = children.tell(site, run, kill_at=-1)[1]
        else:
            status, _ = children.tell(site, run, kill_at=max(1, calls * number // (kills + 1)))
            assert status == -signal.SIGKILL
            assert children.tell(site, run)[0] == 0
        is_told_but_for_one_batch(site, new, 3)


# ---------------------------------------------------------------- in the other process


def _obey(order: dict[str, Any], pipe: int) -> None:
    import anyio

    from crawler.config.load import build_config
    from crawler.config.plan import plan_crawl
    from crawler.notify.notify import send_notifications
    from crawler.state.runs import RunResult, RunStatus

    calls = 0

    def count(frame: object, event: str, _: object) -> None:
        nonlocal calls
        calls += 1
        if calls == order["kill_at"]:
            os.kill(os.getpid(), signal.SIGKILL)

    ended = RunResult(exit_code=0, status=RunStatus.DONE, run=order["run"])
    ready = plan_crawl(build_config(order["tables"]))
    if order["kill_at"]:
        sys.setprofile(count)
    anyio.run(lambda: send_notifications(ready, "shop", ended=ended))
    sys.setprofile(None)
    os.write(pipe, str(calls).encode())


def _serve() -> None:
    import httpx

    import crawler.notify.notify

    assert crawler.notify.notify.send_notifications
    assert httpx
    while line := sys.stdin.buffer.raw.readline():
        order = json.loads(line)
        reading, writing = os.pipe()
        if order["warms"]:
            _obey(order, writing)
        pid = os.fork()
        if pid == 0:
            try:
                _obey(order, writing)
            except BaseException:  # noqa: BLE001 - it is told, and the process ends
                sys.excepthook(*sys.exc_info())
                os._exit(1)
            os._exit(0)
        os.close(writing)
        os.write(1, json.dumps(pid).encode() + b"\n")
        with open(reading) as answer:  # noqa: PTH123 - a descriptor
            calls = int(answer.read() or 0)
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        os.write(1, json.dumps([status, calls]).encode() + b"\n")


if __name__ == "__main__":
    _serve()
