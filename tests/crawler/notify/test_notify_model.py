"""Any history of runs and answers: at the end everybody knows everything that changed, each thing once."""

from collections import Counter
from itertools import pairwise
from typing import Any

import anyio
import pytest
from doubles_indexnow import KEY, Double, Say, Site, memory
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from crawler.notify.ledger_status import DeliveryReport, notify_status
from crawler.notify.messages import causes_of
from crawler.notify.notice import Occasion, SendStatus
from crawler.notify.notify import send_notifications
from crawler.notify.session import ReplayRequest
from crawler.publish.change_feed import ChangeFeed
from crawler.publish.gate import STILL_HELD
from crawler.state.runs import RunResult, RunStatus

NAMES = ["/a", "/b", "/c", "/d", "other:/a", "other:/b"]
ANSWERS = st.sampled_from([200, 200, 200, 202, 400, 403, 422, 429, 500])
STEP = st.fixed_dictionaries(
    {
        "pages": st.sets(st.sampled_from(NAMES)),
        "changed": st.sets(st.sampled_from(NAMES)),
        "answers": st.lists(ANSWERS, max_size=6),
        "batch": st.integers(1, 3),
        "live": st.booleans() | st.just(True),
        "keys": st.sampled_from(["all", "all", "none", "own", "other"]),
        "tells": st.integers(0, 2),
    }
)


def pages_of(site: Site, names: set[str]) -> list[str]:
    return [site.other(name.partition(":")[2]) if name.startswith("other:") else name for name in sorted(names)]


def set_out(site: Site, step: dict[str, Any]) -> None:
    """The world as it is in a step."""
    site.double.says[:] = [Say(status) for status in step["answers"]]
    own, other = f"127.0.0.1:{site.double.port}", f"localhost:{site.double.port}"
    for host, name in ((own, "own"), (other, "other")):
        site.double.files[f"{host}/{KEY}.txt"] = KEY.encode() if step["keys"] in ("all", name) else 404


def tell(site: Site, run: int | None, **more: Any) -> bool:
    again = more.pop("again", ReplayRequest())
    plan = site.planned(notify__attempts=2, **more)
    ended = None if run is None else RunResult(exit_code=0, status=RunStatus.DONE, run=run)
    return anyio.run(lambda: send_notifications(plan, "shop", ended=ended, again=again)).notify_pending


@pytest.mark.thorough
@settings(max_examples=12, suppress_health_check=list(HealthCheck), phases=[Phase.generate])
@given(st.lists(STEP, min_size=1, max_size=5))
def test_ours_whatever_happens_everything_that_changed_is_taken_once(steps: list[dict[str, Any]]) -> None:
    play(steps)


@pytest.mark.slow
@pytest.mark.timeout(600)
@settings(max_examples=1_500, suppress_health_check=list(HealthCheck))
@given(st.lists(STEP, min_size=1, max_size=8))
def test_ours_whatever_happens_everything_that_changed_is_taken_once_at_length(steps: list[dict[str, Any]]) -> None:
    play(steps)


def play(steps: list[dict[str, Any]]) -> None:
    with memory() as folder, Double() as double:
        site = Site(double, folder)
        tell(site, site.run(["/"]))
        for step in steps:
            set_out(site, step)
            run = site.run(["/", *pages_of(site, step["pages"])], pages_of(site, step["changed"]))
            live = double.files["/sitemap.xml"]
            double.files["/sitemap.xml"] = live if step["live"] else b"old"
            for turn in range(step["tells"]):
                tell(site, None if turn else run, indexnow__batch=step["batch"])
            double.files["/sitemap.xml"] = live
        set_out(site, {"answers": [], "keys": "all"})
        assert not tell(site, None)
        assert not tell(site, None, again=ReplayRequest(refused=True))
        every_url_was_taken_as_often_as_it_was_told(site)
        (channel,) = notify_status(site.plan.state).channels
        assert (channel.until, channel.outstanding, channel.refused) == (len(steps) + 1, (), ())
        messages = len(double.messages)
        tell(site, None)
        assert len(double.messages) == messages


def every_url_was_taken_as_often_as_it_was_told(site: Site) -> None:
    """The log names deliveries by host and runs. They do not overlap; what changed in each was taken once, and nothing
    that differs in the end from how it was when telling began is in none of them."""
    feeds = ChangeFeed(site.db)
    ranges: dict[str, set[tuple[int, int]]] = {}
    for sent in notify_status(site.plan.state, 10_000).log:
        ranges.setdefault(sent.host, set()).add((sent.after, sent.until))
    expected: Counter[str] = Counter()
    for host, found in ranges.items():
        ordered = sorted(found)
        assert all(before[1] <= after[0] for before, after in pairwise(ordered)), ordered
        for after, until in ordered:
            expected.update(change.url for change in feeds.between(after, until) if f"://{host}/" in change.url)
    assert site.double.taken == expected
    first, last = feeds.publishing()[0], feeds.publishing()[-1]
    assert {change.url for change in feeds.between(first, last)} <= set(expected)
    times = Counter(change.url for run in feeds.publishing()[1:] for change in feeds.of_run(run))
    assert all(site.double.taken[url] <= times[url] for url in site.double.taken)


@pytest.mark.parametrize(
    ("first", "later", "is_news"),
    [
        ("149 pages say something else. So far: 1 run.", "1 page say something else. So far: 2 runs.", False),
        ("held 9 pages, such as /a: answered 410", "held 8 pages, such as /b: answered 410", False),
        ("held 9 pages, such as /a: answered 410", "held 9 pages, such as /a: answered 404", True),
        (
            "9 pages would leave: 9 redirect to /login",
            f"9 pages would leave: 9 redirect to /login; 1 page {STILL_HELD} would still leave: 1 no longer linked",
            False,
        ),
        ("9 pages would leave: 9 redirect to /login", f"2 pages {STILL_HELD} still show the same text", False),
        ("9 pages would leave: 9 redirect to /login", "9 pages would leave: 9 no longer linked", True),
        ("9 pages would leave: 9 redirect", f"9 pages say something else; 2 pages {STILL_HELD} would leave", True),
        ("9 pages say something else", f"8 pages say something else; 2 pages {STILL_HELD} would leave", False),
        ("the site is down: answered 500 (9 of 9)", "the start URL / failed (answered 500, internal error)", False),
        ("the site is down: answered 500 (9 of 9)", "9 pages failed (internal error: 9)", True),
        ("the disk of /srv/a is full", "the disk of /srv/b is full", False),
    ],
)
def test_ours_trouble_is_news_if_its_cause_is_another_one(first: str, later: str, is_news: bool) -> None:
    assert (not causes_of(later) <= causes_of(first)) == is_news


@pytest.mark.parametrize(
    ("said", "refused", "is_known"),
    [
        ("it answered 503", 0, True),
        ("it answered 503; the receiver requested a pause until noon", 0, True),
        ("it answered 503 and an error", 0, False),
        ("it answered 503", 2, False),  # these will not be sent
    ],
)
def test_ours_a_delivery_is_known_if_it_waits_for_the_same_reason_and_nothing_was_refused(
    said: str, refused: int, is_known: bool
) -> None:
    report = DeliveryReport(
        channel="indexnow", occasion=Occasion.CHANGES, reception=SendStatus.DEFERRED, said=said, refused=refused
    )
    assert report.knowing({"indexnow: it answered 503"}).is_known == is_known
