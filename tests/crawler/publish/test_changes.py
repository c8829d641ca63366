"""What several runs come to, against a plain model of the site: sets of pages, and where each page went."""

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from crawler.model import Url
from crawler.publish.changes import ONLY_DATE, Change, ChangeKind, lasting_moves, merge_changes

PATHS = "abcde"
GONE = {ChangeKind.REMOVED, ChangeKind.MOVED, ChangeKind.DEINDEXED}

runs = st.lists(
    st.fixed_dictionaries({path: st.sampled_from(["stay", "stay", "edit", "drop", "hide", *PATHS]) for path in PATHS}),
    min_size=1,
    max_size=6,
)
"""What happens to each page in each run: a letter means that it redirects there; a page that is gone comes back with
"edit"."""


def feeds_of(history: list[dict[str, str]]) -> tuple[list[list[Change]], list[set[str]]]:
    """The feed of each run, and the pages that are listed before the first run and after each."""
    listed, feeds, sets = set("abc"), [], [set("abc")]
    for number, events in enumerate(history, 1):
        after = {path for path in PATHS if events[path] == "edit" or (events[path] == "stay" and path in listed)}
        feed = []
        for path in PATHS:
            event = events[path]
            if path in listed and path not in after:
                feed.append(_change(number, path, _kind(event), event if event in PATHS else ""))
            elif path in after and path not in listed:
                feed.append(_change(number, path, ChangeKind.ADDED))
            elif path in after and event == "edit":
                feed.append(_change(number, path, ChangeKind.CHANGED))
        feeds.append(feed)
        listed = after
        sets.append(listed)
    return feeds, sets


def _kind(event: str) -> ChangeKind:
    return {"drop": ChangeKind.REMOVED, "hide": ChangeKind.DEINDEXED}.get(event, ChangeKind.MOVED)


def _change(number: int, path: str, kind: ChangeKind, target: str = "") -> Change:
    was = f"before {number}" if kind is not ChangeKind.ADDED else ""
    now = f"in {number}" if kind not in GONE else ""
    return Change(url=Url(path), kind=kind, target=target, lastmod=now, before=was, reason="", run=number, at="")


def whole(feeds: list[list[Change]]) -> list[Change]:
    changes = sorted((change for feed in feeds for change in feed), key=lambda each: (each.url, each.run))
    return list(merge_changes(changes, lasting_moves(changes)))


@given(runs, st.data())
@settings(max_examples=200)
def test_ours_the_changes_between_any_two_runs_are_the_difference_of_their_sets(
    history: list[dict[str, str]], data: st.DataObject
) -> None:
    feeds, sets = feeds_of(history)
    first = data.draw(st.integers(0, len(history)))
    last = data.draw(st.integers(first, len(history)))
    before, after = sets[first], sets[last]
    told = {change.url: change for change in whole(feeds[first:last])}
    assert {url for url, change in told.items() if change.kind is ChangeKind.ADDED} == after - before
    assert {url for url, change in told.items() if change.kind in GONE} == before - after
    touched = {change.url for feed in feeds[first:last] for change in feed}
    assert {url for url, change in told.items() if change.kind is ChangeKind.CHANGED} == touched & before & after
    for change in told.values():
        own = [each for feed in feeds[first:last] for each in feed if each.url == change.url]
        assert change.run == own[-1].run
        assert change.lastmod == own[-1].lastmod
        assert change.before == (own[0].before if change.url in before else "")


@given(runs)
@settings(max_examples=200)
def test_ours_a_move_leads_to_where_the_page_went_last(history: list[dict[str, str]]) -> None:
    feeds, _ = feeds_of(history)
    last_word = {change.url: change for feed in feeds for change in feed}

    def landing(target: str, run: int) -> str:
        word = last_word.get(Url(target))
        if word is None or word.kind is not ChangeKind.MOVED or word.run <= run:
            return target
        return landing(word.target, word.run)

    moves = [change for change in whole(feeds) if change.kind is ChangeKind.MOVED]
    assume(moves)
    for change in moves:
        own = last_word[change.url]
        assert change.target == landing(own.target, own.run)


def test_ours_what_two_changes_come_to() -> None:
    a, b = "a", "b"
    moved = [[_change(1, a, ChangeKind.MOVED, b)], [_change(2, b, ChangeKind.MOVED, "c")]]
    assert [(each.url, each.kind, each.target) for each in whole(moved)] == [("a", "moved", "c"), ("b", "moved", "c")]
    assert whole([[_change(1, a, ChangeKind.ADDED)], [_change(2, a, ChangeKind.REMOVED)]]) == []
    (back,) = whole([[_change(1, a, ChangeKind.DEINDEXED)], [_change(2, a, ChangeKind.ADDED)]])
    assert (back.kind, back.before, back.lastmod) == ("changed", "before 1", "in 2")
    (edited,) = whole([[_change(1, a, ChangeKind.ADDED)], [_change(2, a, ChangeKind.CHANGED)]])
    assert (edited.kind, edited.before, edited.lastmod) == ("added", "", "in 2")


@pytest.mark.parametrize(
    ("reason", "date", "kinds"), [(ONLY_DATE, "1", []), (ONLY_DATE, "3", ["changed"]), ("+ x", "1", ["changed"])]
)
def test_ours_a_date_that_changed_back_is_no_change_if_the_content_stayed(
    reason: str, date: str, kinds: list[str]
) -> None:
    """As after a rollback, and a run that publishes what was published before it."""
    gone = replace(_change(1, "a", ChangeKind.CHANGED), before="1", lastmod="2", reason=ONLY_DATE)
    back = replace(_change(2, "a", ChangeKind.CHANGED), before="2", lastmod=date, reason=reason)
    assert [each.kind for each in whole([[gone], [back]])] == kinds
