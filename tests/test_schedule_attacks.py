"""Attacks on the schedule: hundreds of sites, runs that end oddly, and what is asked of the last run."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from msgspec.structs import replace

from crawler.cli.schedule_run import load_sites
from crawler.config.config import Config
from crawler.config.plan import plan_crawl
from crawler.config.sections import ScheduleConfig
from crawler.errors import StorageError
from crawler.schedule.history import History
from crawler.schedule.queue import RunQueue, replayed_state
from crawler.schedule.scheduler import Scheduler
from crawler.schedule.site import ScheduledSite, scheduled_site
from crawler.schedule.site_state import Attempt, SiteSchedule, Trigger
from crawler.state.runs import RunResult, RunStatus

pytestmark = pytest.mark.thorough

_SHARED = """
[state]
directory = "state"
[schedule]
every = "1h"
[email]
to = ["who@shop.example"]
server = "127.0.0.1:25"
sender = "map@shop.example"
[upload]
s3_endpoint = "http://127.0.0.1:9"
s3_access_key = "AKIDEXAMPLE"
s3_secret_key = "env:SHOP_SECRET"
"""


def test_ours_what_hundreds_of_sites_have_alike_is_checked_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import boto3.session
    import jinja2

    made: list[str] = []

    def counted(kind: type, name: str) -> None:
        real: Callable[..., Any] = getattr(kind, name)

        def count(self: object, *args: Any, **kwargs: Any) -> Any:
            made.append(name)
            return real(self, *args, **kwargs)

        monkeypatch.setattr(kind, name, count)

    counted(boto3.session.Session, "client")
    counted(jinja2.Environment, "from_string")
    monkeypatch.setenv("SHOP_SECRET", "secret")
    tables = [
        f'[sites.s{n}]\nsite = {{url = "https://s{n}.example/"}}\noutput = {{directory = "out/{n}"}}\n'
        f'upload = {{to = "s3://maps/{n}"}}'
        for n in range(20)
    ]
    (tmp_path / "sites.toml").write_text("\n".join((_SHARED, *tables)), encoding="utf-8")
    assert len(load_sites(tmp_path / "sites.toml", {}, []).sites) == 20
    assert (made.count("client") <= 1, made.count("from_string") <= 2) == (True, True)


NOW = 1_790_000_000.0
STOPPED = RunResult(exit_code=4, status=RunStatus.STOPPED, message="saved")


class Hand:
    """A runner that plays ``ends`` one after the other, then waits to be stopped; and a clock in its hand."""

    def __init__(self, *ends: RunResult) -> None:
        self.now, self.ends = NOW, list(ends)
        self.begun: list[Trigger] = []
        self.last: list[Attempt | None] = []
        self.daemon: Scheduler | None = None

    async def run(self, site: ScheduledSite, attempt: Attempt, stop: anyio.Event) -> RunResult:
        self.begun.append(attempt.trigger)
        if self.daemon:
            self.last.append(self.daemon.last_attempt(site.name))
        if self.ends:
            return self.ends.pop(0)
        await stop.wait()
        return STOPPED


def made(folder: Path, **schedule: object) -> ScheduledSite:
    tables = {
        "site": {"url": "https://shop.example/"},
        "output": {"directory": str(folder / "out")},
        "state": {"directory": str(folder)},
        "schedule": {"every": "1d", "retries": 0, "retry_delay": 1, **schedule},
    }
    return scheduled_site("shop", plan_crawl(Config.model_validate(tables)))


@pytest.fixture
def history(tmp_path: Path) -> Iterator[History]:
    with History(tmp_path, is_durable=False) as history:
        yield history


async def kept(history: History, hand: Hand, site: ScheduledSite, until: int) -> None:
    """The schedule of a site, on a clock that goes on by a second at each look, until so many have begun."""
    stop = anyio.Event()
    hand.daemon = Scheduler([site], history, hand, site.config.daemon, lambda: hand.now, look=0.001)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(hand.daemon.run, stop)
        with anyio.fail_after(20):
            while len(hand.begun) < until:
                await anyio.sleep(0.002)
                hand.now += 1
        stop.set()


@pytest.mark.parametrize(
    ("first", "longest", "told"),
    [((), 0.01, "schedule.run_timeout"), ((STOPPED,), 60, "saved")],
    ids=["overlong", "ended by somebody else"],
)
def test_ours_a_run_that_was_ended_before_it_could_tell_is_told_of(
    history: History, tmp_path: Path, first: tuple[RunResult, ...], longest: float, told: str
) -> None:
    hand = Hand(*first)
    anyio.run(kept, history, hand, made(tmp_path, run_timeout=longest), 2)
    assert hand.begun[:2] == [Trigger.FIRST, Trigger.NOTIFY]
    last = hand.last[1]
    assert last is not None
    assert (last.status, told in last.message) == (RunStatus.FAILED, True)


def test_ours_the_last_run_is_known_however_often_others_were_told_in_vain(history: History, tmp_path: Path) -> None:
    in_vain = RunResult(exit_code=4, status=RunStatus.DONE, notify_pending=True)
    hand = Hand(RunResult(exit_code=-9, status=RunStatus.FAILED, message="killed", notify_pending=True), *[in_vain] * 6)
    anyio.run(kept, history, hand, made(tmp_path, max_retry_delay=1), 8)
    assert [each.message for each in hand.last[1:] if each] == ["killed"] * 7


def test_ours_sites_that_cannot_be_taken_up_leave_the_schedule_as_it_was(
    history: History, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hand, one = Hand(*[RunResult(exit_code=0, status=RunStatus.DONE)] * 9), made(tmp_path)
    real = history.since_done

    def since_done(name: str) -> list[Attempt]:
        if name == "c":
            raise StorageError("it cannot be read")
        return real(name)

    monkeypatch.setattr(history, "since_done", since_done)

    async def live() -> None:
        stop = anyio.Event()
        daemon = Scheduler([one], history, hand, one.config.daemon, lambda: hand.now, look=0.001)
        with pytest.raises(StorageError):
            daemon.replace([one, replace(one, name="b"), replace(one, name="c")])
        assert [site.name for site in daemon.status().sites] == ["shop"]
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(daemon.run, stop)
            await anyio.sleep(0.02)
            stop.set()

    anyio.run(live)
    assert hand.begun == [Trigger.FIRST]


def test_ours_a_site_that_comes_and_goes_while_nothing_can_be_written_is_forgotten() -> None:
    agenda, asked = RunQueue(1), SiteSchedule("a", None, ScheduleConfig())
    agenda.add(replayed_state(asked, None, [], NOW), None, NOW)
    assert agenda.changed == {"a"}
    agenda.replace([], NOW)
    assert (agenda.changed, "a" in agenda) == (set(), False)
