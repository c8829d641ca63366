"""Telling others of a site with a history, on real sockets: all that changed, each once, whatever they answer."""

from functools import partial

import anyio
import pytest
from doubles_indexnow import KEY, Say, Site
from doubles_mail import mailbox
from site_history import Seen
from telling import NOW, begun, outstanding, tell

from crawler.model import State
from crawler.notify.ledger_status import notify_status
from crawler.notify.notice import Occasion, SendStatus
from crawler.notify.notify import send_of_configuration
from crawler.notify.session import ReplayRequest


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
    assert note == "indexnow: changes are sent from now on, but not the pages so far (indexnow.first_run)"
    assert not tell(site, first).notes
    assert not site.double.messages


def test_ours_the_first_run_says_that_the_key_file_is_missing(site: Site) -> None:
    site.double.files[f"/{KEY}.txt"] = 404
    (note,) = tell(site, site.run(["/a", "/b"])).notes
    assert "It is not ready: the key file of " in note


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


# ---------------------------------------------------------------- messages


def test_ours_each_receiver_is_told_once_of_a_configuration_whatever_else_its_sites_set(site: Site) -> None:
    told = set[tuple[str, str]]()
    hook = {"indexnow__key": "", "webhook__urls": [f"{site.double.home}/hook"], "webhook__on": ["trouble"]}
    with mailbox() as box:
        mail = hook | {"email__server": box.address, "email__to": ["a@site.test"]}
        for settings in (hook, hook | {"notify__check_live": False}, mail, mail | {"email__to": ["b@site.test"]}):
            plan = site.planned(**settings)
            send = partial(send_of_configuration, is_one=False)
            assert anyio.run(send, plan, "sites.toml", Occasion.TROUBLE, "no TOML", told) == []
    (message,) = site.double.messages
    assert (message["occasion"], message["site"]) == ("trouble", "sites.toml")
    assert {message["url"], message["sitemap_url"], message["feed_url"]} == {""}, "it is about no site"
    assert "Sitemap:" not in box.envelopes[0].original_content.decode()
    assert [envelope.rcpt_tos for envelope in box.envelopes] == [["a@site.test"], ["b@site.test"]]
