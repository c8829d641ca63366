"""The change feed on states made by hand: what a run changed, why, and what several runs come to."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from site_history import SITE, History, Seen

from crawler.model import DiscoveredBy, State
from crawler.publish.changes import Change, ChangeCounts, ChangeKind
from crawler.state.runs import RunStore
from crawler.state.schema import STATE_DB

Told = tuple[str, str, str, str]


@pytest.fixture
def history(tmp_path: Path) -> Iterator[History]:
    db = STATE_DB.open(tmp_path / "state.db")
    yield History(db)
    db.close()


def told(changes: list[Change]) -> list[Told]:
    """Path, kind, path of the target, reason."""
    return [
        (change.url.removeprefix(SITE), change.kind, change.target.removeprefix(SITE), change.reason)
        for change in changes
    ]


PAGE = Seen()
HOME = Seen(found=DiscoveredBy.SEED, source=None)


def test_ours_the_first_run_adds_everything_and_says_how_it_was_found(history: History) -> None:
    feed = history.run(
        {
            "/": HOME,
            "/b": Seen(found=DiscoveredBy.LINK | DiscoveredBy.SITEMAP, lastmod="2025-05-05"),
            "/a": Seen(found=DiscoveredBy.FEED, source="/feed"),
            "/secret": Seen(State.NOINDEX, 'meta robots "noindex"'),
        }
    )
    assert told(feed) == [
        ("/", "added", "", "it is the start URL"),
        ("/a", "added", "", f"found by a feed, first on {SITE}/feed"),
        ("/b", "added", "", f"found by a link and the site's own sitemap, first on {SITE}/"),
    ]
    assert (feed[2].lastmod, feed[2].before) == ("2025-05-05", "")
    assert {(change.run, change.at) for change in feed} == {(1, "2026-01-01T00:00:00+00:00")}
    assert RunStore(history.db).get(1).added == 3


def test_ours_a_run_without_a_change_has_an_empty_feed(history: History) -> None:
    pages = {"/": HOME, "/a": PAGE}
    history.run(pages)
    assert history.run(pages, "unchanged") == []
    run = RunStore(history.db).get(2)
    assert (run.added, run.changed, run.removed, run.moved, run.deindexed) == (0, 0, 0, 0, 0)


def test_ours_what_changed_is_told_with_its_evidence_and_both_dates(history: History) -> None:
    history.run({"/a": Seen(lastmod="2025-01-01"), "/b": Seen(lastmod="2025-01-01")})
    edited = Seen(changed=1, evidence="2 of 9 sentences differ", lastmod="2026-01-02")
    feed = history.run({"/a": edited, "/b": Seen(lastmod="2025-01-02", changed=0)})
    assert told(feed) == [
        ("/a", "changed", "", "2 of 9 sentences differ"),
        ("/b", "changed", "", "its content did not change, only its date"),  # where the policy goes by what is stated
    ]
    assert (feed[0].before, feed[0].lastmod) == ("2025-01-01", "2026-01-02")


def test_ours_a_change_seen_by_a_run_that_published_nothing_is_in_the_next_feed(history: History) -> None:
    history.run({"/": HOME, "/a": Seen(lastmod="2025-01-01")})
    edited = {"/": HOME, "/a": Seen(changed=1, evidence="the price", lastmod="2026-01-02"), "/new": PAGE}
    assert history.run(edited, "refused") == []
    feed = history.run({"/": HOME, "/a": Seen(changed=0, lastmod="2026-01-02"), "/new": PAGE})
    assert told(feed) == [
        ("/a", "changed", "", "the price"),
        ("/new", "added", "", f"found by a link, first on {SITE}/"),
    ]
    assert history.run({"/": HOME, "/a": Seen(lastmod="2026-01-02"), "/new": PAGE}) == []


@pytest.mark.parametrize(
    ("seen", "kind", "reason"),
    [
        (Seen(State.CLIENT_ERROR, "answered 410, gone"), "removed", "answered 410, gone"),
        (Seen(State.WRONG_TYPE, "application/pdf is not HTML"), "removed", "application/pdf is not HTML"),
        (Seen(State.EXCLUDED, 'matches exclude "/a"'), "removed", 'matches exclude "/a"'),
        (Seen(State.OUT_OF_SCOPE, "another host: b"), "removed", "another host: b"),
        (Seen(State.UNLINKED), "removed", "nothing leads to it any more"),
        (Seen(State.NOINDEX, 'meta robots "noindex"'), "deindexed", 'meta robots "noindex"'),
        (Seen(State.ROBOTS, "robots.txt line 2"), "deindexed", "robots.txt line 2"),
        (Seen(State.CANONICAL_ELSEWHERE, "canonical is /", "/"), "deindexed", "canonical is /"),
        (Seen(State.PENDING), "removed", "not visited: the crawl was cut short"),
        (Seen(State.REDIRECT, "301 to /", "/"), "moved", "301 to /"),
        (Seen(State.REDIRECT, "301 to /x", "/x"), "moved", "301 to /x, which is not listed"),
        (None, "removed", "nothing leads to it any more"),
    ],
)
def test_ours_what_is_gone_is_told_with_its_cause(history: History, seen: Seen | None, kind: str, reason: str) -> None:
    history.run({"/": HOME, "/a": Seen(lastmod="2025-01-01")})
    feed = history.run({"/": HOME, **({"/a": seen} if seen else {})})
    target = seen.target or "" if seen else ""
    assert told(feed) == [("/a", kind, target, reason)]
    assert (feed[0].before, feed[0].lastmod) == ("2025-01-01", "")


def test_ours_what_failed_for_now_stays_and_leaves_when_the_grace_is_over(history: History) -> None:
    failed = Seen(State.SERVER_ERROR, "answered 503, unavailable", changed=None)
    history.run({"/": HOME, "/a": PAGE})
    for _ in range(2):
        assert history.run({"/": HOME, "/a": Seen(failed.state, failed.reason, kept=True)}) == []
    feed = history.run({"/": HOME, "/a": failed})
    assert told(feed) == [("/a", "removed", "", "answered 503, unavailable, in 3 runs in a row")]
    feed = history.run({"/": HOME, "/a": PAGE})
    assert told(feed) == [("/a", "added", "", "responds again (before: answered 503, unavailable)")]


def test_ours_a_chain_of_redirects_leads_to_the_page_that_is_listed(history: History) -> None:
    history.run({"/": HOME, "/a": PAGE, "/b": PAGE, "/l": PAGE})
    feed = history.run(
        {
            "/": HOME,
            "/a": Seen(State.REDIRECT, "301 to /b", "/b"),
            "/b": Seen(State.REDIRECT, "302 to /c", "/c"),
            "/c": PAGE,
            "/l": Seen(State.REDIRECT, "301 to /m", "/m"),
            "/m": Seen(State.REDIRECT, "301 to /l", "/l"),
        }
    )
    assert [change for change in told(feed) if change[1] == "moved"] == [
        ("/a", "moved", "/c", "301 to /b, then 302 to /c"),
        ("/b", "moved", "/c", "302 to /c"),
        ("/l", "moved", "/m", "301 to /m, then 301 to /l, which is not listed"),
    ]


def test_ours_what_is_back_says_what_was_in_the_way(history: History) -> None:
    history.run({"/": HOME, "/a": Seen(State.NOINDEX, 'meta robots "noindex"'), "/b": PAGE})
    history.run({"/": HOME, "/a": PAGE, "/b": Seen(State.CLIENT_ERROR, "answered 404, not found")})
    assert told(list(history.changes.of_run(2))) == [
        ("/a", "added", "", 'no longer noindex (before: meta robots "noindex")'),
        ("/b", "removed", "", "answered 404, not found"),
    ]
    feed = history.run({"/": HOME, "/a": PAGE, "/b": PAGE})
    assert told(feed) == [("/b", "added", "", "responds again (before: answered 404, not found)")]


def test_ours_recording_again_leaves_the_same_feed(history: History) -> None:
    history.begin({"/": HOME, "/a": PAGE})
    assert history.changes.record(1) == history.changes.record(1) == ChangeCounts(added=2)
    assert [change.url for change in history.changes.pending(1)] == [f"{SITE}/", f"{SITE}/a"]
    assert len(history.close("published")) == 2


def test_ours_between_runs_only_the_outcome_counts(history: History) -> None:
    gone = Seen(State.CLIENT_ERROR, "answered 404, not found")
    history.run({"/": HOME, "/a": Seen(lastmod="2025-01-01"), "/m": PAGE})
    history.run({"/": HOME, "/a": gone, "/fleeting": PAGE, "/m": Seen(State.REDIRECT, "301 to /n", "/n"), "/n": PAGE})
    history.run(
        {
            "/": HOME,
            "/a": Seen(lastmod="2026-01-03"),
            "/fleeting": gone,
            "/m": Seen(State.REDIRECT, "301 to /n", "/n"),
            "/n": Seen(State.REDIRECT, "301 to /o", "/o"),
            "/o": PAGE,
        }
    )
    whole = list(history.changes.between(1, 3))
    assert told(whole) == [
        ("/a", "changed", "", "back after it was removed (answered 404, not found)"),
        ("/m", "moved", "/o", "301 to /n, then 301 to /o"),
        ("/o", "added", "", f"found by a link, first on {SITE}/"),
    ]
    assert (whole[0].before, whole[0].lastmod, whole[0].run) == ("2025-01-01", "2026-01-03", 3)
    assert list(history.changes.between(3, 3)) == []
    assert {change.kind for change in history.changes.between(0, 3)} == {ChangeKind.ADDED}


def test_ours_old_runs_are_forgotten_but_not_the_last_that_published(history: History) -> None:
    for number in range(4):
        history.run({"/": HOME, f"/{number}": PAGE}, keep=2)
    assert history.changes.publishing() == [3, 4]
    assert rows(history.db) == {3, 4}
    for _ in range(3):
        history.run({"/": HOME}, "refused", keep=2)
    assert history.changes.publishing() == [4]
    assert [run.number for run in RunStore(history.db).last(9)] == [7, 6, 4]
    assert rows(history.db) == {4}
    history.run({"/": HOME}, keep=2)
    assert history.changes.publishing() == [8]


def rows(db: sqlite3.Connection) -> set[int]:
    return {run for (run,) in db.execute("SELECT DISTINCT run FROM change")}
