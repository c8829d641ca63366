"""When nobody is told: a site that is not live, a state, a ledger or a configuration that cannot be used."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from doubles_indexnow import KEY, Double, Say, Site
from msgspec.structs import replace
from telling import begun, outstanding, tell

from crawler.cli.sites import find_state_directory
from crawler.errors import StorageError
from crawler.notify.ledger import LEDGER_DB
from crawler.notify.ledger_status import NotifyResult, notify_status
from crawler.notify.notice import SendStatus
from crawler.notify.notify import send_notifications
from crawler.notify.session import ReplayRequest
from crawler.publish.change_feed import ChangeFeed
from crawler.state.runs import RunStore
from crawler.state.store import lock_state


def test_ours_nothing_is_told_before_it_is_live(site: Site) -> None:
    begun(site, "/")
    run = site.run(["/", "/a"])
    ours = site.double.files["/sitemap.xml"]
    for there in (b"<urlset>old</urlset>", 404, 500, b""):
        site.double.files["/sitemap.xml"] = there
        answer = tell(site, run)
        assert answer.notify_pending
        assert "/sitemap.xml" in answer.sentences[0]
    assert not site.double.messages
    assert "is not yet the published version" in outstanding(site)[0]
    site.double.files["/sitemap.xml"] = ours
    assert not tell(site).notify_pending
    assert site.double.taken == {site.url("/a"): 1}


def test_ours_a_quiet_run_says_once_why_a_message_waits(site: Site) -> None:
    begun(site, "/")
    run = site.run(["/", "/a"])
    key = site.double.files.pop(f"/{KEY}.txt")
    first = tell(site, run)
    assert first.news == first.sentences
    again = tell(site, site.run(["/", "/a", "/b"]))
    assert (again.news, again.sentences, again.notify_pending) == ((), first.sentences, True)
    ours = site.double.files["/sitemap.xml"]
    site.double.files["/sitemap.xml"] = b"<urlset>old</urlset>"
    (other,) = tell(site).news
    assert "is not yet the published version" in other
    site.double.files["/sitemap.xml"] = ours
    site.double.files[f"/{KEY}.txt"] = key
    assert not tell(site).sentences
    del site.double.files[f"/{KEY}.txt"]
    assert tell(site, site.run(["/", "/a", "/b", "/c"])).news == first.sentences


def test_ours_a_pause_that_a_receiver_asks_for_is_said_once(site: Site) -> None:
    begun(site, "/")
    site.double.says = [Say(429, (("Retry-After", "86400"),))] * 9
    assert tell(site, site.run(["/", "/a"])).news
    again = tell(site, site.run(["/", "/a", "/b"]))
    assert again.notify_pending
    assert not again.news


def test_ours_who_does_not_want_to_wait_for_it_to_be_live_need_not(site: Site) -> None:
    begun(site, "/")
    run = site.run(["/", "/a"])
    site.double.files["/sitemap.xml"] = 404
    assert not tell(site, run, notify__check_live=False).notify_pending


def test_ours_runs_that_are_forgotten_are_said_and_the_others_told(site: Site) -> None:
    begun(site, "/a")
    for pages in (["/a", "/b"], ["/a", "/b", "/c"], ["/a", "/b", "/c", "/d"]):
        run = site.run(pages)
    ChangeFeed(site.db).forget(run, 2)
    answer = tell(site)
    assert "the runs 2 to 2 are no longer stored" in answer.notes[0]
    assert site.double.taken == dict.fromkeys(map(site.url, ("/c", "/d")), 1)


def test_ours_a_state_that_was_begun_anew_is_a_site_that_was_not_told(site: Site) -> None:
    begun(site, "/a")
    for pages in (["/a", "/b"], ["/a"]):
        tell(site, site.run(pages))
    site.db.execute("DELETE FROM change")
    site.db.execute("DELETE FROM run")
    site.db.execute("DELETE FROM published")
    answer = tell(site, site.run(["/a", "/b", "/c"]))
    assert "the state of the site is new" in answer.notes[0]
    assert len(site.double.messages) == 2
    tell(site, site.run(["/a", "/b", "/d"]))
    assert site.double.messages[-1]["urlList"] == [site.url("/c"), site.url("/d")]


def test_ours_what_was_rolled_back_is_not_told(site: Site) -> None:
    begun(site, "/a")
    run = site.run(["/a", "/b"])
    records = RunStore(site.db)
    records.write(replace(records.get(run), number=run + 1, outcome="rolled back"))
    answer = tell(site)
    assert not answer.deliveries
    assert "a rollback published an earlier sitemap" in answer.notes[0]
    tell(site, site.run(["/a", "/c"]))
    assert site.double.taken == {site.url("/c"): 1}


def test_ours_two_processes_never_tell_at_once(site: Site) -> None:
    begun(site, "/a")
    run = site.run(["/a", "/b"])
    with lock_state(site.plan.state):
        answer = tell(site, run)
    assert answer.notify_pending
    assert "another process" in answer.notes[0]
    assert not site.double.messages
    assert not tell(site).notify_pending


def test_ours_a_ledger_that_cannot_be_used_ends_nothing(site: Site) -> None:
    begun(site, "/a")
    (site.plan.state / LEDGER_DB.file).write_bytes(b"not a database, and long enough to be taken for one" * 100)
    answer = tell(site, site.run(["/a", "/b"]))
    assert answer.notify_pending
    assert LEDGER_DB.file in answer.notes[0]


def test_ours_a_state_that_is_not_for_this_account_is_said_and_the_exit_code_of_one(site: Site) -> None:
    begun(site, "/a")
    run = site.run(["/a", "/b"])
    site.folder.chmod(0o755)
    for path, mode in ((site.plan.state / LEDGER_DB.file, 0), (site.plan.state, 0o500), (site.plan.state, 0)):
        with only_for(path, mode):
            answers = [tell(site, run, dry_run=is_dry) for is_dry in (False, True)]
        for answer in answers:
            assert (answer.notify_pending, answer.exit_code) == (True, 7)
            assert answer.notes[0].startswith("no notification was sent: ")
            assert not mode or "siteatlas as the " in answers[1].notes[0]
            assert (
                "siteatlas as the " in answer.notes[0]
                or "Choose another directory with state.directory (--state)" in answer.notes[0]
            )
    with only_for(site.plan.state, 0), pytest.raises(StorageError, match="siteatlas as the account"):
        notify_status(site.plan.state)
    with only_for(site.plan.state, 0), pytest.raises(StorageError, match="siteatlas as the account"):
        find_state_directory(None, None, None, {"state__directory": str(site.plan.state)})
    assert not tell(site).notify_pending


@contextmanager
def only_for(path: Path, mode: int) -> Iterator[None]:
    """What another account, or this one where it is not root, may do with a path."""
    before, me = path.stat().st_mode, os.geteuid()
    path.chmod(mode if me else mode | mode >> 6)
    try:
        if not me:
            os.seteuid(65534)
        yield
    finally:
        os.seteuid(me)
        path.chmod(before)


@pytest.mark.parametrize("setting", [{"indexnow__key": "env:NOT_SET"}, {"hook__command": ["/no/such/program"]}])
def test_ours_a_configuration_that_broke_during_the_run_ends_nothing(site: Site, setting: dict[str, Any]) -> None:
    begun(site, "/a")
    answer = tell(site, site.run(["/a", "/b"]), **setting)
    assert answer.notify_pending
    assert "no notification was sent" in answer.notes[0]
    assert not tell(site).notify_pending
    assert site.double.taken == {site.url("/b"): 1}


def test_ours_a_site_without_a_state_is_told_to_nobody(double: Double, tmp_path: Path) -> None:
    site = Site(double, tmp_path)
    plan = site.planned(state__directory=str(tmp_path / "nowhere"))
    answer = anyio.run(lambda: send_notifications(plan, "shop"))
    assert not answer.notify_pending
    assert "no run yet" in answer.notes[0]


@pytest.mark.parametrize("setting", [{"indexnow__key": ""}, {"notify__enabled": False}])
def test_ours_without_anybody_to_tell_nothing_is_written(site: Site, setting: dict[str, Any]) -> None:
    assert tell(site, site.run(["/a"]), **setting) == NotifyResult()
    assert not (site.plan.state / LEDGER_DB.file).exists()


def test_ours_a_dry_run_shows_what_would_be_sent_and_keeps_nothing(site: Site) -> None:
    begun(site, "/a")
    run = site.run(["/a", "/b", "/c"])
    before = (site.plan.state / LEDGER_DB.file).read_bytes(), notify_status(site.plan.state)
    answer = tell(site, run, dry_run=True, indexnow__batch=1, webhook__urls=[f"{site.double.home}/hook"])
    assert ((site.plan.state / LEDGER_DB.file).read_bytes(), notify_status(site.plan.state)) == before
    assert not site.double.messages
    assert {each.reception for each in answer.deliveries} == {SendStatus.WOULD_SEND}
    assert answer.deliveries[0].said.startswith("a dry run sends nothing (in 2 batches); the key file of ")
    assert [each.shown for each in answer.deliveries] == [
        (site.url("/b"), site.url("/c")),
        (f"added {site.url('/b')}", f"added {site.url('/c')}"),
    ]
    tell(site, run)
    assert list(answer.deliveries[0].shown) == site.double.messages[0]["urlList"]


def test_ours_a_dry_run_shows_what_is_of_each_message_with_it(site: Site) -> None:
    webhook = {"webhook__urls": [f"{site.double.home}/hook"]}
    tell(site, site.run(["/a"]), **webhook)
    site.double.says = [Say(503)] * 99
    tell(site, site.run(["/a", "/b"]), **webhook)
    answer = tell(site, site.run(["/a", "/b", "/c"]), dry_run=True, **webhook)
    assert [each.shown for each in answer.deliveries] == [
        (site.url("/b"),),
        (site.url("/c"),),
        (f"added {site.url('/b')}",),
        (f"added {site.url('/c')}",),
    ]


def test_ours_what_changed_since_a_run_can_be_told_again(site: Site) -> None:
    begun(site, "/a")
    tell(site, site.run(["/a", "/b"]))
    tell(site, again=ReplayRequest(since=0, only="search"))
    assert len(site.double.messages) == 1
    tell(site, again=ReplayRequest(since=0, only="index"))
    assert site.double.taken == {site.url("/a"): 1, site.url("/b"): 2}
    tell(site)
    assert site.double.taken == {site.url("/a"): 1, site.url("/b"): 2}
