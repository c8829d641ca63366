"""Telling others of a site with a history, on real sockets: all that changed, each once, whatever they answer."""

import os
import random
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from doubles_indexnow import KEY, Double, Say, Site, memory
from msgspec.structs import replace
from site_history import Seen

from crawler.cli.sites import find_state_directory
from crawler.errors import StorageError
from crawler.model import State
from crawler.notify.delivery import ClaimResult, NoClaims, use_claims
from crawler.notify.ledger import LEDGER_DB
from crawler.notify.ledger_status import NotifyResult, notify_status
from crawler.notify.notice import Occasion, SendStatus
from crawler.notify.notify import send_notifications
from crawler.notify.session import ReplayRequest
from crawler.publish.change_feed import ChangeFeed
from crawler.state.runs import RunResult, RunStatus, RunStore
from crawler.state.store import lock_state

NOW = 1_800_000_000.0


@pytest.fixture
def double() -> Iterator[Double]:
    with Double() as double:
        yield double


@pytest.fixture
def site(double: Double) -> Iterator[Site]:
    with memory() as folder:
        yield Site(double, folder)


def tell(site: Site, run: int | None = None, *, exit_code: int = 0, now: float = NOW, **kw: Any) -> NotifyResult:
    """What is told after a run, or without one."""
    settings = {name: kw.pop(name) for name in list(kw) if "__" in name}
    message = kw.pop("message", "the site is down" if exit_code else "published")
    ended = None
    if run is not None:
        fate = {0: RunStatus.DONE, 4: RunStatus.DONE, 6: RunStatus.BUSY}.get(exit_code, RunStatus.FAILED)
        ended = RunResult(exit_code=exit_code, status=fate, run=run, message=message)
    plan = site.planned(**settings)
    return anyio.run(lambda: send_notifications(plan, "shop", ended=ended, clock=lambda: now, **kw))


def begun(site: Site, *pages: str) -> None:
    """A site whose first run was told of to nobody."""
    tell(site, site.run(pages))
    assert not site.double.messages


def outstanding(site: Site) -> list[str]:
    return [said for channel in notify_status(site.plan.state).channels for said in channel.outstanding]


def test_ours_only_what_changed_is_sent_and_only_once(site: Site) -> None:
    begun(site, "/a", "/b", "/c")
    run = site.run(["/a", "/b", "/d"], changed=["/b"])
    assert tell(site, run).deliveries[0].urls == 3
    assert site.double.taken == dict.fromkeys(map(site.url, ("/b", "/c", "/d")), 1)
    assert not tell(site, site.run(["/a", "/b", "/d"], outcome="unchanged")).deliveries
    assert not tell(site).deliveries
    assert len(site.double.messages) == 1


def test_indexnow_org_a_page_with_another_date_alone_is_not_sent(site: Site) -> None:
    """IndexNow is for URLs that were added, updated or deleted: https://www.indexnow.org/documentation"""
    begun(site, "/a", "/b", "/c")
    redated = {site.url(path): Seen(lastmod="2026-01-02") for path in ("/a", "/b", "/c")}
    site.history.run(redated)
    assert not tell(site, site.history.number, notify__check_live=False).deliveries
    site.double.files[f"/{KEY}.txt"] = 404
    site.history.run(redated | {site.url("/b"): Seen(lastmod="2026-01-03", changed=1, evidence="the price")})
    assert tell(site, site.history.number, notify__check_live=False).notify_pending
    site.history.run({site.url(path): Seen(lastmod="2026-01-04") for path in ("/a", "/b", "/c")})
    site.double.files[f"/{KEY}.txt"] = KEY.encode()
    tell(site, site.history.number, notify__check_live=False)
    assert site.double.taken == {site.url("/b"): 1}


def test_indexnow_org_pages_that_left_are_sent_whatever_became_of_them(site: Site) -> None:
    begun(site, "/", "/gone", "/moved", "/hidden", "/same")
    pages = {
        site.url("/"): Seen(),
        site.url("/same"): Seen(),
        site.url("/new"): Seen(),
        site.url("/gone"): Seen(State.CLIENT_ERROR, "answered 404"),
        site.url("/moved"): Seen(State.REDIRECT, "redirects", target=site.url("/new")),
        site.url("/hidden"): Seen(State.NOINDEX, "says noindex"),
    }
    kinds = {change.kind.value for change in site.history.run(pages)}
    assert kinds == {"added", "removed", "moved", "deindexed"}
    tell(site, site.history.number, notify__check_live=False)
    assert site.double.taken == dict.fromkeys(map(site.url, ("/gone", "/moved", "/hidden", "/new")), 1)


def test_ours_the_first_run_is_not_sent_and_a_note_says_so_once(site: Site) -> None:
    first = site.run(["/a", "/b"])
    (note,) = tell(site, first).notes
    assert note == "indexnow: changes of later runs are sent, but not the pages so far (indexnow.first_run)"
    assert not tell(site, first).notes
    assert not site.double.messages


def test_ours_the_first_run_is_sent_if_asked_for(site: Site) -> None:
    tell(site, site.run(["/a", "/b"]), indexnow__first_run=True)
    assert site.double.taken == dict.fromkeys(map(site.url, ("/a", "/b")), 1)


def test_ours_who_is_new_on_a_site_with_a_history_is_told_nothing_old(site: Site) -> None:
    for pages in (["/a"], ["/a", "/b"]):
        tell(site, site.run(pages), indexnow__key="")
    assert not tell(site).deliveries  # nobody ran it
    tell(site, site.run(["/a", "/b", "/c"]))
    assert site.double.taken == {site.url("/c"): 1}


def test_ours_who_is_new_is_told_of_the_run_that_it_was_configured_for(site: Site) -> None:
    for pages in (["/a"], ["/a", "/b"]):
        tell(site, site.run(pages), indexnow__key="")
    tell(site, site.run(["/a", "/b", "/c"]))
    assert site.double.taken == {site.url("/c"): 1}


def test_ours_runs_that_could_not_be_told_become_one_delivery(site: Site) -> None:
    begun(site, "/a")
    site.double.files[f"/{KEY}.txt"] = 404
    assert tell(site, site.run(["/a", "/b", "/c"])).notify_pending
    assert tell(site, site.run(["/a", "/b"], changed=["/a"])).notify_pending
    assert "put a text file at" in outstanding(site)[0]
    site.double.files[f"/{KEY}.txt"] = KEY.encode()
    assert not tell(site).notify_pending
    assert [message["urlList"] for message in site.double.messages] == [[site.url("/a"), site.url("/b")]]
    assert not outstanding(site)


def test_ours_a_delivery_that_was_begun_is_ended_as_it_was_before_the_next_one(site: Site) -> None:
    begun(site, "/a")
    site.double.says += [Say(), Say(500), Say(500), Say(500)]
    answer = tell(site, site.run(["/a", "/b", "/c", "/d"]), indexnow__batch=1)
    assert answer.notify_pending
    assert answer.deliveries[0].urls == 1
    site.double.says += [Say(503)] * 3
    tell(site, site.run(["/a", "/c", "/d"], changed=["/d"]), indexnow__batch=1)
    tell(site, indexnow__batch=2)
    sent = [[url.removeprefix(site.double.home) for url in m["urlList"]] for m in site.double.messages]
    assert sent == [["/b"], *[["/c"]] * 3, *[["/c"]] * 3, ["/c", "/d"], ["/b", "/d"]]


def test_ours_batches_are_of_one_host_and_no_larger_than_asked_for(site: Site) -> None:
    begun(site, "/")
    pages = ["/", *(f"/{n}" for n in range(5)), *(site.other(f"/{n}") for n in range(3))]
    tell(site, site.run(pages), indexnow__batch=2)
    sizes = [(message["host"].partition(":")[0], len(message["urlList"])) for message in site.double.messages]
    assert sizes == [("127.0.0.1", 2), ("127.0.0.1", 2), ("127.0.0.1", 1), ("localhost", 2), ("localhost", 1)]
    assert max(site.double.taken.values()) == 1
    assert len(site.double.taken) == 8


def test_indexnow_org_a_key_file_in_a_directory_is_for_what_lies_below(site: Site) -> None:
    site.double.files["/shop/key.txt"] = KEY.encode()
    begun(site, "/")
    key_url = site.url("/shop/key.txt")
    answer = tell(site, site.run(["/", "/shop/a", "/blog/a", site.other("/shop/b")]), indexnow__key_url=key_url)
    assert site.double.taken == {site.url("/shop/a"): 1}
    assert site.double.messages[0]["keyLocation"] == key_url
    assert "2 URLs are outside" in answer.notes[0]
    assert not answer.notify_pending


@pytest.mark.parametrize("trouble", ["key file", "403"])
def test_indexnow_org_a_host_whose_key_is_wrong_keeps_no_other_from_being_told(site: Site, trouble: str) -> None:
    begun(site, "/")
    other = f"localhost:{site.double.port}/{KEY}.txt"
    site.double.files[other] = 404 if trouble == "key file" else KEY.encode()
    site.double.says += [Say(), Say(403)] if trouble == "403" else []
    answer = tell(site, site.run(["/", "/a", site.other("/a"), site.other("/b")]), indexnow__batch=1)
    assert answer.notify_pending
    assert site.double.taken == {site.url("/a"): 1}
    assert "key of localhost" in answer.sentences[0] or "key file of localhost" in answer.sentences[0]
    site.double.says += [Say(), Say(403)] if trouble == "403" else []
    tell(site, site.run(["/", "/a", "/b", site.other("/a")]), indexnow__batch=1)
    assert site.double.taken == dict.fromkeys(map(site.url, ("/a", "/b")), 1)
    site.double.files[other] = KEY.encode()
    assert not tell(site).notify_pending
    mine = {site.other("/a"): 1} if trouble == "key file" else {site.other("/a"): 1, site.other("/b"): 2}
    assert site.double.taken == dict.fromkeys(map(site.url, ("/a", "/b")), 1) | mine
    tell(site, site.run(["/", "/a", "/b", "/c", site.other("/c")]))  # and together again
    assert site.double.taken[site.other("/c")] == site.double.taken[site.url("/c")] == 1


@pytest.mark.parametrize("status", [400, 422])
def test_indexnow_org_a_batch_that_is_refused_is_set_aside_and_the_others_are_sent(site: Site, status: int) -> None:
    begun(site, "/")
    site.double.says += [Say(), Say(status), Say(status)]
    answer = tell(site, site.run(["/", *(f"/{n}" for n in range(8))]), indexnow__batch=2)
    assert not answer.notify_pending
    assert (answer.deliveries[0].urls, answer.deliveries[0].refused) == (4, 4)
    assert str(status) in answer.sentences[0]
    (refused,) = notify_status(site.plan.state).channels[0].refused
    assert "4 URLs" in refused
    tell(site, site.run(["/", *(f"/{n}" for n in range(8))], outcome="unchanged"))
    assert len(site.double.messages) == 4  # not again by itself
    site.double.says += [Say(status)]
    assert tell(site, again=ReplayRequest(refused=True)).deliveries[0].reception is SendStatus.REFUSED
    site.double.files[f"/{KEY}.txt"] = 404
    assert tell(site, again=ReplayRequest(refused=True)).notify_pending
    site.double.files[f"/{KEY}.txt"] = KEY.encode()
    assert len(site.double.messages) == 5
    assert notify_status(site.plan.state).channels[0].refused
    tell(site, again=ReplayRequest(refused=True), indexnow__batch=3)
    assert site.double.taken == dict.fromkeys((site.url(f"/{n}") for n in range(8)), 1)
    assert not notify_status(site.plan.state).channels[0].refused


def test_rfc9110_a_short_retry_after_is_waited_for_and_a_long_one_kept(site: Site) -> None:
    begun(site, "/")
    site.double.says += [Say(429, (("Retry-After", "0"),)), Say(429, (("Retry-After", "7200"),))]
    answer = tell(site, site.run(["/", "/a"]))
    assert answer.notify_pending
    assert answer.deliveries[0].due == NOW + 7200
    assert len(site.double.messages) == 2
    assert "2027-01-15 10:00:00 UTC" in tell(site, now=NOW + 7199).sentences[0]
    assert len(site.double.messages) == 2  # not even asked
    assert not tell(site, now=NOW + 7201).notify_pending
    assert site.double.taken == {site.url("/a"): 1}


@pytest.mark.parametrize(
    "say",
    [Say(500), Say(raw=b""), Say(200, body=b"<html>"), Say(302, (("Location", "/x"),))],
    ids=["500", "cut", "a page", "redirect"],
)
def test_ours_a_service_in_trouble_is_tried_again_and_then_another_time(site: Site, say: Say) -> None:
    begun(site, "/")
    site.double.says += [say] * 3
    assert tell(site, site.run(["/", "/a"])).notify_pending
    assert len(site.double.messages) == 3
    assert outstanding(site)
    assert not tell(site).notify_pending
    assert site.double.messages[-1]["urlList"] == [site.url("/a")]
    assert len(site.double.messages) == 4


def test_ours_a_service_that_takes_too_long_is_left_for_another_time(site: Site) -> None:
    begun(site, "/")
    site.double.says += [Say(500, wait=0.6)]
    assert tell(site, site.run(["/", "/a"]), notify__timeout=0.3, notify__attempts=1).notify_pending
    assert "did not respond within 0.3 seconds" in outstanding(site)[0]
    site.double.says.clear()
    assert not tell(site).notify_pending


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


def test_ours_what_changed_since_a_run_can_be_told_again(site: Site) -> None:
    begun(site, "/a")
    tell(site, site.run(["/a", "/b"]))
    tell(site, again=ReplayRequest(since=0, only="search"))
    assert len(site.double.messages) == 1
    tell(site, again=ReplayRequest(since=0, only="index"))
    assert site.double.taken == {site.url("/a"): 1, site.url("/b"): 2}
    tell(site)
    assert site.double.taken == {site.url("/a"): 1, site.url("/b"): 2}


# ---------------------------------------------------------------- messages


def hooked(site: Site, **settings: Any) -> dict[str, Any]:
    return {"indexnow__key": "", "webhook__urls": [f"{site.double.home}/hook"], **settings}


def occasions(site: Site) -> list[str]:
    return [message["occasion"] for message in site.double.messages]


def test_ours_a_message_tells_all_that_changed_also_of_the_first_run(site: Site) -> None:
    tell(site, site.run(["/a", "/b"]), **hooked(site))
    tell(site, site.run(["/a", "/b"], outcome="unchanged"), **hooked(site))
    tell(site, site.run(["/a", "/c", "/d", "/e"]), **hooked(site, notify__max_urls=2))
    first, second = site.double.messages
    assert first["counts"]["added"] == first["more"] == 2
    assert not first["changes"]  # a whole set is no news
    assert first["sentence"] == "the whole sitemap is new: 2 pages are listed"
    assert second["runs"] == {"after": 2, "until": 3}
    assert second["counts"] | {"total": 0} == {
        "added": 3,
        "changed": 0,
        "removed": 1,
        "moved": 0,
        "deindexed": 0,
        "total": 0,
    }
    assert (len(second["changes"]), second["pages"], second["site"]) == (3, 4, "shop")


def test_ours_a_message_that_was_put_off_is_the_same_another_time(site: Site) -> None:
    tell(site, site.run(["/a"]), **hooked(site))
    site.double.says += [Say(503)] * 3
    assert tell(site, site.run(["/a", "/b"]), **hooked(site)).notify_pending
    site.run(["/a"])
    tell(site, now=NOW + 86_400, **hooked(site))
    put_off, *_, again, after = site.double.messages[1:]
    assert put_off == again
    assert after["counts"]["removed"] == 1


def test_ours_a_message_that_is_refused_is_set_aside(site: Site) -> None:
    site.double.says += [Say(410)]
    answer = tell(site, site.run(["/a"]), **hooked(site))
    assert not answer.notify_pending
    assert "410" in answer.sentences[0]
    tell(site, **hooked(site))
    assert len(site.double.messages) == 1
    tell(site, again=ReplayRequest(refused=True), **hooked(site))
    assert site.double.messages[0] == site.double.messages[1]
    assert not notify_status(site.plan.state).channels[0].refused


def test_ours_trouble_is_told_once_and_once_more_when_it_is_over(site: Site) -> None:
    tell(site, site.run(["/a"]), **hooked(site))
    for exit_code in (4, 6):
        tell(site, 2, exit_code=exit_code, **hooked(site))
    assert occasions(site) == ["changes"]
    for exit_code in (5, 5, 4, 3, 6, 1):
        tell(site, 2, exit_code=exit_code, **hooked(site))
    assert occasions(site) == ["changes", "trouble"]
    assert site.double.messages[1]["exit_code"] == 5
    assert notify_status(site.plan.state).channels[0].knows_trouble
    tell(site, 2, exit_code=4, **hooked(site))
    tell(site, site.run(["/a", "/b"]), **hooked(site))
    tell(site, site.run(["/a", "/b"], outcome="unchanged"), **hooked(site))
    assert occasions(site) == ["changes", "trouble", "recovery", "changes"]
    assert not notify_status(site.plan.state).channels[0].knows_trouble
    tell(site, 4, exit_code=7, **hooked(site))
    assert occasions(site)[4:] == ["trouble"]


WALL = "a firewall responded in place of {0} pages (such as https://h.test/{0}): tell it to let the crawler through"
GONE = "{0} of the 40 published pages would leave, over the 20% that output.max_shrink allows: {0} client error ({1})"
BROKEN = "{0} of 40 pages failed (such as https://h.test/{0}: answered 500), over the 20% that output.max_failed allows"
NO_KEY = "the environment variable FTP_{0} is not set, but the configuration refers to it. Set the variable"


@pytest.mark.parametrize("seed", range(3))
def test_ours_trouble_of_another_cause_is_told_and_the_same_is_not_told_again(site: Site, seed: int) -> None:
    tell(site, site.run(["/a"]), **hooked(site))
    dice, seen, told = random.Random(seed), set[str](), ["changes"]
    for night in range(2, 14):
        cause = dice.choice((WALL, GONE, BROKEN, NO_KEY))
        told += ["trouble"] * (cause not in seen)
        seen.add(cause)
        tell(site, 2, exit_code=3, message=cause.format(night, f"https://h.test/{night}: answered 404"), **hooked(site))
        assert occasions(site) == told
    tell(site, site.run(["/a"], outcome="unchanged"), **hooked(site))
    tell(site, 3, exit_code=3, message=WALL.format(1), **hooked(site))
    assert occasions(site) == [*told, "recovery", "trouble"]


def test_ours_trouble_needs_no_live_sitemap_and_is_told_again_until_it_is_known(site: Site) -> None:
    tell(site, site.run(["/a"]), **hooked(site))
    site.double.files["/sitemap.xml"] = 404
    site.double.says += [Say(500)] * 3
    assert tell(site, 2, exit_code=5, **hooked(site)).notify_pending
    assert "a failed run" in outstanding(site)[0]
    assert not tell(site, now=NOW + 60, **hooked(site)).notify_pending
    tell(site, **hooked(site))
    assert occasions(site) == ["changes", *["trouble"] * 4]
    assert len({message["id"] for message in site.double.messages[1:]}) == 1
    assert len({message["at"] for message in site.double.messages[1:]}) == 1


def test_ours_trouble_that_is_over_before_it_could_be_told_is_not_told(site: Site) -> None:
    tell(site, site.run(["/a"]), **hooked(site))
    site.double.says += [Say(500)] * 3
    tell(site, 2, exit_code=5, **hooked(site))
    tell(site, site.run(["/a"], outcome="unchanged"), **hooked(site))
    assert occasions(site) == ["changes", *["trouble"] * 3]
    assert not outstanding(site)


def test_ours_who_wants_changes_only_hears_of_no_trouble(site: Site) -> None:
    tell(site, site.run(["/a"]), **hooked(site, webhook__on=["changes"]))
    tell(site, 2, exit_code=5, **hooked(site, webhook__on=["changes"]))
    tell(site, site.run(["/a", "/b"]), **hooked(site, webhook__on=["changes"]))
    assert occasions(site) == ["changes", "changes"]
    trouble = notify_status(site.plan.state)
    assert {sent.occasion for sent in trouble.log} == {Occasion.CHANGES}


def test_ours_one_channel_in_trouble_keeps_no_other_from_being_told(site: Site) -> None:
    begun(site, "/a")
    both = {"webhook__urls": [f"{site.double.home}/one", f"{site.double.home}/two"]}
    tell(site, **both)
    site.double.says += [Say(403), Say(404)]
    answer = tell(site, site.run(["/a", "/b"]), **both)
    assert [each.reception for each in answer.deliveries] == ["later", "refused", "accepted"]


def test_ours_the_log_is_bounded(site: Site) -> None:
    begun(site, "/")
    for number in range(6):
        tell(site, site.run(["/", f"/{number}"]), state__keep_runs=3)
    with closing(sqlite3.connect(site.plan.state / LEDGER_DB.file)) as db:
        assert db.execute("SELECT count(*) FROM sent").fetchone() == (3,)


@pytest.mark.parametrize("who", ["engine", "chat"])
def test_ours_no_secret_is_in_the_ledger_or_in_what_is_told(
    site: Site, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, who: str
) -> None:
    chat = f"{site.double.home}/services/T0/xoxb-SECRET-path"
    monkeypatch.setenv("HIDDEN", KEY if who == "engine" else chat)
    (tmp_path / "sign").write_text("SECRET-signing-key\n")
    signed = {"indexnow__key": "", "webhook__urls": ["env:HIDDEN"], "webhook__secret": f"file:{tmp_path}/sign"}
    secret: dict[str, Any] = {"indexnow__key": "env:HIDDEN"} if who == "engine" else signed
    tell(site, site.run(["/"]), **secret)
    said = ""
    for status in (200, 403, 410, 500, 422, 429):
        body = f'{{"e": "not {KEY if who == "engine" else "/services/T0/xoxb-SECRET-path"}"}}'.encode()
        site.double.says += [Say(status, (("Content-Type", "application/json"),), body)] * 6
        run = site.run(["/", f"/{status}"])
        answer = tell(site, run, exit_code=5 if status == 500 else 0, **secret)
        said += f"{answer} {answer.as_json()} {notify_status(site.plan.state)}"
        site.double.says.clear()
        files = [path for path in site.plan.state.glob(f"{LEDGER_DB.file}*") if path.is_file()]
        said += "".join(path.read_bytes().decode("latin-1") for path in files)
    assert "***" in said
    assert not [hidden for hidden in (KEY, "xoxb-SECRET", "SECRET-signing") if hidden in said]


class RepeatedClaims:
    """The claims of a run and of those that repeat it; the ledger is kept as it is before the first of them."""

    def __init__(self, ledger: Path) -> None:
        self._ledger = ledger
        self.kept = ledger.with_suffix(".kept")
        self.results: dict[str, ClaimResult] = {}

    async def claim(self, notice: str, what: str = "", changes: str = "") -> ClaimResult:
        if not self.kept.exists():
            with closing(sqlite3.connect(self._ledger)) as live, closing(sqlite3.connect(self.kept)) as copy:
                live.backup(copy)
        return self.results.setdefault(notice, ClaimResult.GRANTED)

    def end(self, notice: str, *, is_sent: bool) -> None:
        self.results[notice] = ClaimResult.SENT if is_sent else ClaimResult.GRANTED


def test_ours_a_repeated_run_tells_no_channel_a_page_twice(site: Site) -> None:
    settings = hooked(site, webhook__on=["changes"], webhook__urls=[f"{site.double.home}/{name}" for name in "abc"])
    tell(site, site.run(["/a"]), **settings)
    ledger = site.plan.state / LEDGER_DB.file
    claims = RepeatedClaims(ledger)
    use_claims(claims)
    try:
        tell(site, site.run(["/a", "/b"]), **settings)
        shutil.copy(claims.kept, ledger)  # its worker died, and another one continues from its snapshot
        tell(site, site.run(["/a", "/b", "/c"]), **settings)
    finally:
        use_claims(NoClaims())
    added = [[change["url"] for change in message["changes"]] for message in site.double.messages[3:]]
    assert sorted(added) == [[site.url("/b")]] * 3 + [[site.url("/c")]] * 3


def test_ours_what_may_have_been_sent_is_sent_again_only_if_a_person_wants_that(site: Site) -> None:
    settings = hooked(site, webhook__on=["changes"])
    tell(site, site.run(["/a"]), **settings)
    claims = RepeatedClaims(site.plan.state / LEDGER_DB.file)
    use_claims(claims)
    try:
        tell(site, site.run(["/a", "/b"]), **settings)
        ((notice, _),) = claims.results.items()
        shutil.copy(claims.kept, site.plan.state / LEDGER_DB.file)
        claims.results[notice] = ClaimResult.UNSURE
        (delivery,) = tell(site, site.run(["/a", "/b"], outcome="unchanged"), **settings).deliveries
        assert delivery.reception is SendStatus.REFUSED
        tell(site, site.run(["/a", "/b", "/c"]), **settings)
        sent = list(site.double.messages)
        assert len(sent) == 3
        claims.results[notice] = ClaimResult.GRANTED
        assert not tell(site, again=ReplayRequest(notices=frozenset({"another"})), **settings).deliveries
        for _ in range(2):
            tell(site, again=ReplayRequest(notices=frozenset({notice})), **settings)
        again = site.double.messages[len(sent) :]
        assert [message["changes"] for message in again] == [sent[1]["changes"]]
    finally:
        use_claims(NoClaims())
