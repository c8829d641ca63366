"""The loop of a schedule on real event loops, with a real history: stopping, taking too long, reloading, trouble."""

from collections.abc import Callable, Iterator
from pathlib import Path

import anyio
import pytest

from crawler.config.config import Config
from crawler.config.plan import plan_crawl
from crawler.config.sections import DaemonConfig
from crawler.schedule.history import History
from crawler.schedule.scheduler import Scheduler
from crawler.schedule.site import ScheduledSite, scheduled_site
from crawler.schedule.site_state import Attempt, Trigger
from crawler.schedule.status import stored_status
from crawler.state.runs import RunResult, RunStatus

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])]

DONE, STOPPED = RunResult(exit_code=0, status=RunStatus.DONE), RunResult(exit_code=4, status=RunStatus.STOPPED)
NOW = 1_790_000_000.0
_FULL = "CREATE TEMP TRIGGER full BEFORE INSERT ON attempt BEGIN SELECT RAISE(ABORT, 'disk is full'); END"


class Hand:
    """A runner that does what the test says, and a clock in its hand."""

    def __init__(self) -> None:
        self.now = NOW
        self.begun: list[Attempt] = []
        self.ends: dict[str, RunResult | Exception] = {}  # of those that do not wait to be stopped

    def clock(self) -> float:
        return self.now

    async def run(self, site: ScheduledSite, attempt: Attempt, stop: anyio.Event) -> RunResult:
        self.begun.append(attempt)
        end = self.ends.get(site.name)
        if isinstance(end, Exception):
            raise end
        if end is None:
            await stop.wait()
            await anyio.sleep(0.001)
        return end or STOPPED


async def until(holds: Callable[[], object]) -> None:
    with anyio.fail_after(20):
        while not holds():  # noqa: ASYNC110 - it is no event of the daemon's
            await anyio.sleep(0.001)


def made(folder: Path, name: str = "a", **schedule: object) -> ScheduledSite:
    config = Config.model_validate(
        {
            "site": {"url": f"https://{name}.example/"},
            "output": {"directory": str(folder / name)},
            "state": {"directory": str(folder)},
            "schedule": {"every": "1d", **schedule},
        }
    )
    return scheduled_site(name, plan_crawl(config))


@pytest.fixture
def history(tmp_path: Path) -> Iterator[History]:
    with History(tmp_path) as history:
        yield history


def scheduler(history: History, hand: Hand, *sites: ScheduledSite) -> Scheduler:
    return Scheduler(sites, history, hand, sites[0].config.daemon, hand.clock, look=0.01)


async def test_ours_a_stop_stops_the_runs_and_the_next_daemon_goes_on(history: History, tmp_path: Path) -> None:
    hand, sites = Hand(), [made(tmp_path), made(tmp_path, "b")]
    for because in (Trigger.FIRST, Trigger.RESUMED):
        stop, daemon = anyio.Event(), scheduler(history, hand, *sites)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(daemon.run, stop)
            await until(lambda: len(hand.begun) == 2)
            board = daemon.status()
            assert [site.running_since for site in board.sites] == [NOW, NOW]
            stop.set()
        assert daemon.status().is_stopping
        assert [attempt.trigger for attempt in hand.begun] == [because, because]
        hand.begun.clear()
    assert [each.status for each in history.attempts("a", 9)] == [RunStatus.STOPPED, RunStatus.STOPPED]


async def test_ours_the_end_of_a_run_makes_room_at_once(history: History, tmp_path: Path) -> None:
    hand, stop, sites = Hand(), anyio.Event(), [made(tmp_path), made(tmp_path, "b")]
    hand.ends = {"a": DONE, "b": DONE}
    settings = DaemonConfig(max_parallel_runs=1)
    daemon = Scheduler(sites, history, hand, settings, hand.clock, look=1_000_000)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(daemon.run, stop)
        await until(lambda: len(hand.begun) == 2)
        daemon.replace([*sites, made(tmp_path, "c")], settings)  # wakes it too, and so does what is due
        await until(lambda: len(hand.begun) == 3)
        stop.set()


async def test_ours_nobody_waits_longer_because_the_clock_was_set_back(history: History, tmp_path: Path) -> None:
    hand, stop = Hand(), anyio.Event()
    hand.ends["a"] = RunResult(exit_code=5, status=RunStatus.FAILED)
    daemon = scheduler(history, hand, made(tmp_path, retry_delay=60))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(daemon.run, stop)
        await until(lambda: daemon.status().sites[0].failures)
        hand.now -= 7_200
        await until(lambda: daemon.status().sites[0].next_at == hand.now + 60)
        hand.now += 60
        await until(lambda: len(hand.begun) == 2)
        stop.set()


async def test_ours_a_run_that_takes_too_long_is_ended_and_has_failed(history: History, tmp_path: Path) -> None:
    hand, stop = Hand(), anyio.Event()
    daemon = scheduler(history, hand, made(tmp_path, run_timeout=0.02, retry_delay=60))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(daemon.run, stop)
        await until(lambda: daemon.status().sites[0].failures)
        hand.now += 60
        await until(lambda: len(hand.begun) == 2)
        stop.set()
    last, first = history.attempts("a", 9)
    assert (first.status, first.outcome) == (RunStatus.FAILED, "overlong")
    assert "schedule.run_timeout" in first.message
    assert last.trigger is Trigger.RETRY


async def test_ours_a_run_that_another_has_ended_or_that_breaks_its_runner_has_failed(
    history: History, tmp_path: Path
) -> None:
    hand, stop = Hand(), anyio.Event()
    hand.ends = {"a": STOPPED, "b": RuntimeError("no more processes")}
    daemon = scheduler(history, hand, made(tmp_path), made(tmp_path, "b"))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(daemon.run, stop)
        await until(lambda: [site.failures for site in daemon.status().sites] == [1, 1])
        stop.set()
    assert "no more processes" in history.attempts("b", 1)[0].message


async def test_ours_other_sites_are_taken_up_and_runs_of_those_that_are_gone_end(
    history: History, tmp_path: Path
) -> None:
    hand, stop = Hand(), anyio.Event()
    daemon = scheduler(history, hand, made(tmp_path))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(daemon.run, stop)
        await until(lambda: len(hand.begun) == 1)
        hand.ends["b"] = DONE
        daemon.replace([made(tmp_path, "b")], made(tmp_path).config.daemon)
        await until(lambda: len(hand.begun) == 2)
        assert [site.name for site in daemon.status().sites] == ["b"]
        assert history.attempts("a", 1)[0].ended is None  # it goes on
        hand.now += 5
        stop.set()
    assert history.attempts("a", 1)[0].ended == NOW + 5
    assert history.attempts("b", 1)[0].status is RunStatus.DONE
    assert daemon.status().sites[0].next_at == pytest.approx(hand.now + 64_800, abs=64_800)


async def test_ours_a_full_disk_puts_runs_off_and_the_daemon_lives(history: History, tmp_path: Path) -> None:
    hand, stop, db = Hand(), anyio.Event(), history._db
    assert db is not None
    daemon = scheduler(history, hand, made(tmp_path))
    db.execute(_FULL)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(daemon.run, stop)
        await until(lambda: daemon.status().trouble)
        assert "disk is full" in daemon.status().trouble
        assert not hand.begun
        db.execute("DROP TRIGGER full")
        await until(lambda: len(hand.begun) == 1)
        assert not daemon.status().trouble
        stop.set()


async def test_ours_an_end_that_cannot_be_written_is_written_later(history: History, tmp_path: Path) -> None:
    hand, stop, db = Hand(), anyio.Event(), history._db
    assert db is not None
    daemon = scheduler(history, hand, made(tmp_path, run_timeout=0.05))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(daemon.run, stop)
        await until(lambda: len(hand.begun) == 1)
        db.execute(_FULL)
        await until(lambda: daemon.status().trouble)
        assert history.attempts("a", 1)[0].ended is None
        db.execute("DROP TRIGGER full")
        await until(lambda: not daemon.status().trouble)
        assert history.attempts("a", 1)[0].status is RunStatus.FAILED
        stop.set()


async def test_ours_who_only_looks_sees_what_the_daemon_does(history: History, tmp_path: Path) -> None:
    hand, stop, sites = Hand(), anyio.Event(), [made(tmp_path), made(tmp_path, "b", every=None)]
    daemon = scheduler(history, hand, *sites)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(daemon.run, stop)
        await until(lambda: len(hand.begun) == 1)
        seen = stored_status(sites, tmp_path, hand.now)
        assert seen.is_alive
        assert seen.sites == daemon.status().sites
        assert seen.sites[0].running_since == NOW
        assert seen.sites[1].next_at is None
        stop.set()
    assert stored_status(sites, tmp_path, hand.now).sites == daemon.status().sites
