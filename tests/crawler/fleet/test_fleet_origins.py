"""Runs on several workers that share an origin: together they are as polite as one, and hear one Retry-After."""

import http.server
import math
import random
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import anyio
import pytest
from postgres_server import PostgresServer

from crawler.config.load import build_config
from crawler.config.plan import plan_crawl
from crawler.fetch.permits import OriginGrant, OriginMessage, SharedOrigins, decode_line, encode_line
from crawler.fleet.database import initialize, open_fleet
from crawler.fleet.deliveries import RunDeliveries
from crawler.fleet.leases import SiteLease
from crawler.fleet.origins import OriginBroker, RunOrigins, forget_origins
from crawler.fleet.site_run import LeasedRun
from crawler.schedule.process import ProcessRunner
from crawler.schedule.site import scheduled_site
from crawler.schedule.site_state import Attempt, Trigger
from crawler.state.runs import RunResult, RunStatus

pytestmark = [pytest.mark.thorough, pytest.mark.anyio]
PAGES = 12


def boottime() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)


@asynccontextmanager
async def workers(
    database: str, count: int, lease: float, *, by_address: bool = False
) -> AsyncIterator[list[OriginBroker]]:
    """The brokers of some workers, each with connections of its own, on a new fleet."""
    async with AsyncExitStack() as stack:
        brokers = []
        for number in range(count):
            fleet = await stack.enter_async_context(open_fleet(database, checked=number > 0))
            if number == 0:
                await initialize(fleet)
            brokers.append(OriginBroker(fleet, lease=lease, by_address=by_address))
        async with anyio.create_task_group() as tasks:
            for broker in brokers:
                tasks.start_soon(broker.serve)
            yield brokers
            tasks.cancel_scope.cancel()


@dataclass
class Seen:
    """One request: when it came and when it was answered, from whom, and for what."""

    came: float
    client: str
    path: str
    left: float = field(default=0.0)


class Shop:
    """A server with two sites on one origin, which notes every request. If it is ``busy``, the first page gets 429."""

    def __init__(self) -> None:
        self.url = ""
        self.seen: list[Seen] = []
        self.busy = 0
        self.asked = ""

    def answer(self, path: str) -> tuple[int, dict[str, str], str]:
        if path[5:].isdecimal() and self.busy:
            seconds, self.busy = self.busy, 0
            self.asked = path
            return 429, {"Retry-After": str(seconds)}, "later"
        if path.endswith("/"):
            return 200, {}, "".join(f"<a href={path}{number}>{number}</a>" for number in range(PAGES))
        if path.endswith(".txt"):
            return 404, {}, "none"
        return 200, {}, f"<title>{path}</title><p>About {path}."


@contextmanager
def shop() -> Iterator[Shop]:
    noted = Shop()

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def setup(self) -> None:
            super().setup()
            sockets.append(self.connection)

        def do_GET(self) -> None:
            seen = Seen(time.monotonic(), self.headers["User-Agent"], self.path)
            noted.seen.append(seen)
            status, headers, body = noted.answer(self.path)
            time.sleep(0.01)
            self.send_response(status)
            for name, value in {"Content-Type": "text/html", **headers, "Content-Length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body.encode())
            seen.left = time.monotonic()

        def log_message(self, *_: object) -> None:
            pass

    sockets: list[object] = []
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    noted.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield noted
    finally:
        server.shutdown()
        for each in sockets:
            each.close()  # type: ignore[attr-defined]
        server.server_close()
        thread.join()


async def crawl(broker: OriginBroker, folder: Path, url: str, name: str, results: dict[str, RunResult]) -> None:
    """Run a site in a process of its own, as a worker does."""
    config = build_config(
        {
            "site": {"url": url},
            "output": {"directory": str(folder / name), "swap_delay": 0},
            "state": {"directory": str(folder / "state" / name)},
            "fetch": {"user_agent": name},
            "pace": {"rate": 25, "concurrency": 2},
            "parse": {"processes": 1},
            "notify": {"check_live": False},
        }
    )
    said: list[str] = []
    attempt = Attempt(number=1, site=name, slot=0, trigger=Trigger.FIRST, try_number=1, began=time.time())
    lease = SiteLease(name, 1, attempt, None, config, 0, [], "")
    run = LeasedRun(lease, math.inf)
    run.deliveries = RunDeliveries(broker.fleet, name, 1)
    async with broker.run(name, 1, run.tell) as run.origins:
        runner = ProcessRunner(lambda _, line: said.append(line))
        results[name] = await runner.run(scheduled_site(name, plan_crawl(config)), attempt, anyio.Event(), run)
    assert results[name].status is RunStatus.DONE, (results[name], said)


def check_polite(seen: list[Seen], rate: float) -> None:
    """No two clients have requests in flight at once, and no second has more starts than one run may have."""
    for earlier, later in pairwise(seen):
        assert earlier.client == later.client or earlier.left <= later.came, (earlier, later)
    for first in seen:
        assert sum(first.came <= each.came < first.came + 1 for each in seen) <= rate + 3


async def test_ours_two_runs_on_one_origin_are_as_polite_as_one_and_hear_one_retry_after(
    database: str, tmp_path: Path
) -> None:
    results: dict[str, RunResult] = {}
    with shop() as noted:
        noted.busy = 3
        async with workers(database, 2, lease=2.5) as brokers:
            async with anyio.create_task_group() as tasks:
                for broker, name in zip(brokers, ("one", "two"), strict=True):
                    tasks.start_soon(crawl, broker, tmp_path, f"{noted.url}/{name}/", name, results)
            (held,) = await brokers[0].fleet.rows(
                "SELECT origin, site, until - now() < interval '3 s' AS soon, not_before IS NOT NULL AS paused "
                "FROM origin"
            )
            assert held == {"origin": noted.url, "site": None, "soon": True, "paused": True}
    seen = [each for each in noted.seen if each.path != "/robots.txt"]
    assert len(seen) == 2 * (PAGES + 2 + 1) + 1  # each run also requests one name that cannot exist
    check_polite(seen, 25)
    changes = sum(earlier.client != later.client for earlier, later in pairwise(seen))
    assert changes >= 1
    asked = next(each for each in seen if each.path == noted.asked)
    assert not [each for each in seen if asked.left + 0.6 < each.came < asked.left + 2.8]
    assert {each.client for each in seen if each.came > asked.left} == {"one", "two"}


class Simulated:
    """A run that sends requests to origins as fast as it may, and notes them in ``log``."""

    origins: RunOrigins

    def __init__(self, name: str, log: list[Seen]) -> None:
        self.name = name
        self._log = log
        self._shared = SharedOrigins(self._tell, boottime)

    def _tell(self, message: OriginMessage) -> None:
        self.origins.hear(encode_line(message))

    def hear(self, line: bytes) -> None:
        self._shared.hear(decode_line(line, list[OriginGrant]) or [])

    async def work(self, origin: str, until: float) -> None:
        while (now := boottime()) < until:
            if wait := self._shared.seconds_until_allowed(origin):
                await anyio.sleep(min(wait, 0.05))
                continue
            self._shared.start(origin)
            seen = Seen(now, self.name, origin)
            self._log.append(seen)
            await anyio.sleep(random.uniform(0.001, 0.03))
            seen.left = boottime()
            self._shared.end(origin, 0.01)


@pytest.mark.parametrize(
    ("origins", "by_address", "crash"),
    [
        (("https://a.example", "https://b.example"), False, True),
        (("http://127.0.0.1:1", "http://localhost:2"), True, False),
    ],
)
async def test_ours_no_two_runs_ever_hold_an_origin(
    postgres: PostgresServer, database: str, origins: tuple[str, ...], by_address: bool, crash: bool
) -> None:
    log: list[Seen] = []
    async with workers(database, 3, lease=2.0, by_address=by_address) as brokers, AsyncExitStack() as stack:
        until = boottime() + 4
        async with anyio.create_task_group() as tasks:
            for number in range(6):
                run = Simulated(f"site{number}", log)
                run.origins = await stack.enter_async_context(brokers[number % 3].run(run.name, 1, run.hear))
                for origin in origins:
                    tasks.start_soon(run.work, origin, until)
            if crash:
                await anyio.sleep(1.5)
                await anyio.to_thread.run_sync(postgres.restart)
    for group in [origins] if by_address else [(origin,) for origin in origins]:
        seen = [each for each in log if each.path in group]
        for earlier, later in pairwise(seen):
            assert earlier.client == later.client or earlier.left <= later.came, (earlier, later)
        assert len({each.client for each in seen}) >= 2
        assert len(seen) > 20


async def test_ours_a_run_stores_the_address_of_its_site(database: str) -> None:
    async with workers(database, 1, lease=2.0, by_address=True) as (broker,):
        await broker.fleet.rows(
            "INSERT INTO site (name, config, origin) VALUES ('shop', '{}', 'http://127.0.0.1:7'), "
            "('blog', '{}', 'http://127.0.0.1:8')"
        )
        async with broker.run("shop", 1, lambda _: None) as run:
            for origin in ("http://127.0.0.1:7", "http://127.0.0.2:8"):
                run.hear(encode_line(OriginMessage(origin, "take")))
            with anyio.fail_after(20):
                while len(run.deadlines) < 2:  # noqa: ASYNC110 - the broker does it
                    await anyio.sleep(0.02)
        found = await broker.fleet.rows("SELECT name, address FROM site ORDER BY name")
        assert [tuple(row.values()) for row in found] == [("blog", None), ("shop", "127.0.0.1")]


async def test_ours_an_origin_that_nobody_uses_is_forgotten(database: str) -> None:
    async with open_fleet(database, checked=False) as fleet:
        await initialize(fleet)
        await fleet.rows(
            "INSERT INTO origin (origin, until, not_before) VALUES ('old', now() - interval '2 days', NULL), "
            "('used', now(), NULL), ('asked', NULL, now() + interval '3 days')"
        )
        await forget_origins(fleet)
        left = await fleet.rows("SELECT origin FROM origin ORDER BY 1")
        assert [row["origin"] for row in left] == ["asked", "used"]
