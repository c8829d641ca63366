"""Attacks on telling: what failed oddly is trouble, what somebody has mended since is not, and nothing is lost."""

import signal
import time
from collections.abc import Iterator
from typing import Any

import anyio
import pytest
from doubles_indexnow import KEY, Double, Say, Site, memory
from msgspec.structs import replace

from crawler.notify.ledger import LEDGER_DB
from crawler.notify.ledger_status import NotifyResult
from crawler.notify.notify import register_channels, send_notifications
from crawler.run.regenerate import regenerate_site
from crawler.schedule import worker
from crawler.schedule.process import SiteJob
from crawler.schedule.site_state import Attempt, Trigger
from crawler.state.runs import RunResult, RunStatus, RunStore
from crawler.state.store import Store

pytestmark = pytest.mark.thorough


@pytest.fixture
def site() -> Iterator[Site]:
    with Double() as double, memory() as folder:
        hook = {"indexnow__key": "", "webhook__urls": [f"{double.home}/hook"], "webhook__on": ["trouble"]}
        yield Site(double, folder, **hook)


def occasions(site: Site) -> list[str]:
    return [message["occasion"] for message in site.double.messages]


def tell(site: Site, code: int, fate: RunStatus, run: int | None = None) -> NotifyResult:
    ended = RunResult(exit_code=code, status=fate, run=run, message="what happened")
    return anyio.run(lambda: send_notifications(site.plan, "shop", ended=ended))


@pytest.mark.parametrize("code", [4, 0, -9])
def test_ours_a_run_that_has_failed_is_trouble_whatever_its_exit_code(site: Site, code: int) -> None:
    site.run(["/"])
    tell(site, code, RunStatus.FAILED)
    assert occasions(site) == ["trouble"]
    tell(site, code, RunStatus.FAILED)
    tell(site, 0, RunStatus.DONE, site.run(["/"]))
    assert occasions(site) == ["trouble", "recovery"]


@pytest.mark.parametrize(
    ("code", "fate"), [(4, RunStatus.DONE), (4, RunStatus.STOPPED), (6, RunStatus.BUSY), (0, RunStatus.DONE)]
)
def test_ours_who_was_cut_short_or_came_to_a_busy_site_is_no_trouble(site: Site, code: int, fate: RunStatus) -> None:
    site.run(["/"])
    tell(site, code, fate)
    assert not site.double.messages


def failed(site: Site, run: int | None = None) -> SiteJob:
    """The errand to tell of a run that was killed now, and could not tell itself."""
    now = time.time()
    last = Attempt(
        number=1, site="shop", slot=now, trigger=Trigger.DUE, try_number=1, began=now, ended=now + 1,
        status=RunStatus.FAILED, exit_code=-9, run=run, message="killed",
    )  # fmt: skip
    return SiteJob(name="shop", task="tell", config=site.plan.config.model_dump(mode="json"), last=last)


def dated(site: Site, run: int, started: float, exit_code: int = 0) -> None:
    records = RunStore(site.db)
    records.write(replace(records.get(run), started=started, ended=started + 1, exit_code=exit_code))


def test_ours_who_was_killed_is_told_of_unless_somebody_has_run_the_site_well_since(site: Site) -> None:
    dated(site, site.run(["/"]), time.time() - 60)
    dated(site, site.run(["/"]), time.time() + 60, exit_code=5)
    worker._notify(site.plan, failed(site))
    assert occasions(site) == ["trouble"]
    dated(site, site.run(["/"]), time.time() + 60)
    tell(site, 0, RunStatus.DONE, 3)
    worker._notify(site.plan, failed(site))
    assert occasions(site) == ["trouble", "recovery"]
    dated(site, 3, time.time() - 60)
    worker._notify(site.plan, failed(site))
    assert occasions(site)[2:] == ["trouble"]


def interrupted(monkeypatch: pytest.MonkeyPatch, site: Site, **settings: Any) -> RunResult:
    """A run that is interrupted when it has published."""

    def crawl_and_report(*_: object) -> None:
        dated(site, site.run(["/"]), time.time())
        raise KeyboardInterrupt

    monkeypatch.setattr(worker, "crawl_and_report", crawl_and_report)
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    config = site.planned(**settings).config.model_dump(mode="json")
    return worker._run_job(SiteJob(name="shop", task="run", config=config))


def test_ours_an_interrupt_before_the_files_are_elsewhere_is_gone_on_with_at_once(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = {"upload__to": "s3://bucket/", "upload__s3_endpoint": site.double.home}
    assert interrupted(monkeypatch, site, **there).status is RunStatus.STOPPED
    ended = interrupted(monkeypatch, site)
    assert (ended.status, ended.notify_pending, ended.exit_code) == (RunStatus.DONE, True, 0)


def test_ours_an_interrupt_while_the_run_before_is_told_is_no_run(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    dated(site, site.run(["/"]), time.time())
    order = failed(site)
    assert order.last
    order = replace(order, task="run", last=replace(order.last, status=RunStatus.FAILED, notify_pending=True))

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(worker, "_notify", interrupt)
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    assert worker._run_job(order).status is RunStatus.STOPPED


def test_ours_trouble_of_a_site_that_never_had_a_run_is_told_once_too(site: Site) -> None:
    other = {"site__sitemap_url": f"{site.double.home}/other.xml"}
    new = site.planned(**other)
    assert new.state != site.plan.state

    def tell_of(code: int, fate: RunStatus) -> None:
        ended = RunResult(exit_code=code, status=fate, message="the directory cannot be used")
        anyio.run(lambda: send_notifications(new, "shop", ended=ended))

    tell_of(6, RunStatus.BUSY)
    assert not new.state.exists()
    for _ in range(2):
        tell_of(7, RunStatus.FAILED)
    assert occasions(site) == ["trouble"]
    with Store(new.state, {}) as store:
        assert store.is_first
        assert store.db.execute("SELECT value FROM about WHERE key = 'url'").fetchone() == (new.seed,)


def test_ours_a_failure_that_cannot_be_noted_is_told_all_the_same(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    # as the command does, which freezes what the garbage collector knows
    monkeypatch.setattr(
        worker, "crawl_and_report", lambda name, ready, *_: anyio.run(regenerate_site, ready, name, lambda *_: None)
    )
    site.run(["/"])
    (site.plan.output / "sitemap.xml").unlink()
    site.plan.output.rmdir()
    site.plan.output.write_text("in the way")
    ledger = site.plan.state / LEDGER_DB.file
    ledger.mkdir()  # as unusable as one on a full disk
    order = replace(failed(site), task="run", last=None)
    ended = worker._run_job(order)
    assert (ended.status, ended.exit_code, ended.notify_pending) == (RunStatus.FAILED, 7, False)
    assert occasions(site) == ["trouble"]


def test_indexnow_org_who_asked_to_wait_is_not_sent_what_lies_on_another_host_meanwhile(site: Site) -> None:
    double, key = site.double, site.double.files[f"/{KEY}.txt"]
    settings = {"indexnow__key": KEY, "webhook__urls": []}
    now = time.time()

    def tell_at(moment: float, run: int) -> NotifyResult:
        ended = RunResult(exit_code=0, status=RunStatus.DONE, run=run)
        plan = site.planned(**settings)
        return anyio.run(lambda: send_notifications(plan, "shop", ended=ended, clock=lambda: moment))

    pages = ["/", site.other("/")]
    tell_at(now, site.run(pages))
    double.files[f"localhost:{double.port}/{KEY}.txt"] = 404
    assert tell_at(now, site.run([*pages, "/a", site.other("/a")])).notify_pending
    assert list(double.taken) == [site.url("/a")]
    double.says += [Say(429, (("Retry-After", "3600"),))]
    assert tell_at(now, site.run([*pages, "/a", "/b", site.other("/a")])).notify_pending
    double.files[f"localhost:{double.port}/{KEY}.txt"] = key
    run, before = site.run([*pages, "/a", "/b", site.other("/a")], outcome="unchanged"), len(double.messages)
    assert tell_at(now + 600, run).notify_pending
    assert len(double.messages) == before
    assert not tell_at(now + 3600, run).notify_pending
    assert double.taken == dict.fromkeys([site.url("/a"), site.url("/b"), site.other("/a")], 1)


@pytest.mark.parametrize("before", [0, 2])
def test_ours_what_the_first_run_changed_of_who_is_new_is_told_although_it_died_before(site: Site, before: int) -> None:
    settings = {"webhook__on": ["changes"], "indexnow__key": KEY}
    for number in range(before):
        site.run(["/", f"/old-{number}"])
    plan = site.planned(**settings)
    register_channels(plan)
    site.run(["/", "/new"])  # killed before it could tell
    run = site.run(["/", "/new"], outcome="unchanged")
    register_channels(plan)
    anyio.run(lambda: send_notifications(plan, "shop", ended=RunResult(exit_code=0, status=RunStatus.DONE, run=run)))
    told = [message for message in site.double.messages if "occasion" in message]
    assert [message["counts"]["added"] for message in told] == [1 if before else 2]
    assert set(site.double.taken) == ({site.url("/new"), site.url("/old-1")} if before else set())


def test_ours_why_somebody_could_not_be_told_is_the_result_of_the_telling(site: Site) -> None:
    hook = {"webhook__on": ["changes"]}
    plan = site.planned(**hook)
    errand = replace(failed(site), config=plan.config.model_dump(mode="json"), last=None)
    register_channels(plan)
    site.run(["/"])
    worker._notify(plan, errand)
    site.run(["/", "/a"])
    site.double.files["/sitemap.xml"] = b"an older one"
    told = worker._notify(plan, errand)
    assert told.message.startswith("webhook http://127.0.0.1:")
    assert "is not yet the published version" in told.message
    assert (told.outcome, told.notify_pending) == ("postponed", True)
