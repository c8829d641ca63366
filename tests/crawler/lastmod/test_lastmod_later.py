"""The date of a page that was published before: it stays while the page does, and moves by evidence or by sight."""

import time
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawler.lastmod.policy import (
    MAX_TIMED_INTERVAL,
    LastmodPolicy,
    SourcedDate,
    date_of_known_page,
    date_of_new_page,
    why_distrusted,
)
from crawler.model import SEEN_TO_CHANGE, ResponseMetadata

NOW = 1_800_000_000.0  # Fri, 15 Jan 2027 08:00:00 GMT
DAY = 86_400.0
YESTERDAY = NOW - DAY
BEFORE = SourcedDate("2026-03-04", "Last-Modified")
PAGE = "JSON-LD dateModified"


def w3c(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%dT%H:%M:%S+00:00")


def said(header: str = "", page: str = "") -> ResponseMetadata:
    return ResponseMetadata(NOW + 100, header_date=header, page_date=page, page_date_source=PAGE if page else "")


def changed(
    header: str = "",
    page: str = "",
    before: SourcedDate = BEFORE,
    policy: LastmodPolicy = "observed",
    trusted: bool = True,
) -> SourcedDate:
    return date_of_known_page(before, said(header, page), YESTERDAY, NOW, policy, trusted)


@pytest.mark.parametrize("before", [BEFORE, SourcedDate(w3c(NOW + 9 * DAY), PAGE)])
def test_ours_a_page_that_stands_still_keeps_its_date_whatever_is_stated(before: SourcedDate) -> None:
    for header in ("", w3c(NOW - 1_000), "2015-01-01T00:00:00+00:00"):
        for page in ("", "2027-01-14", w3c(NOW - 2_000)):
            assert date_of_known_page(before, said(header, page), None, NOW, "observed") == before


def test_ours_a_page_without_a_date_takes_the_one_that_it_states_also_if_it_stands_still() -> None:
    for header in ("", w3c(NOW - 1_000)):
        for page in ("", "2015-01-01", w3c(NOW - 2_000)):
            stated = SourcedDate(page, PAGE if page else "")
            assert date_of_known_page(SourcedDate(), said(header, page), None, NOW, "observed") == stated
        of_the_response = said(header, w3c(NOW + 99))
        assert date_of_known_page(SourcedDate(), of_the_response, None, NOW, "observed") == SourcedDate()


def test_ours_a_change_is_dated_by_the_best_evidence_since_the_last_visit() -> None:
    header, page = w3c(NOW - 1_000), w3c(NOW - 2_000)
    assert changed(header, page) == SourcedDate(page, PAGE)
    assert changed(header) == SourcedDate(header, "Last-Modified")
    assert changed(header, w3c(NOW - 3 * DAY)) == SourcedDate(header, "Last-Modified")
    assert changed(header, "2027-01-14") == SourcedDate("2027-01-14", PAGE)
    assert changed(w3c(NOW - 3 * DAY), "2027-01-11") == SourcedDate("2027-01-15", SEEN_TO_CHANGE)


def test_ours_a_change_without_evidence_is_dated_by_the_day_it_was_seen() -> None:
    assert changed() == SourcedDate("2027-01-15", SEEN_TO_CHANGE)
    assert changed(before=SourcedDate()) == SourcedDate("2027-01-15", SEEN_TO_CHANGE)


def test_ours_a_change_between_two_near_visits_has_a_time() -> None:
    """The visit is 100 seconds after the start of the run."""
    near = date_of_known_page(BEFORE, said(), NOW + 100 - MAX_TIMED_INTERVAL, NOW, "observed")
    assert near == SourcedDate("2027-01-15T08:00:00+00:00", SEEN_TO_CHANGE)
    far = date_of_known_page(BEFORE, said(), NOW + 99 - MAX_TIMED_INTERVAL, NOW, "observed")
    assert far == SourcedDate("2027-01-15", SEEN_TO_CHANGE)
    stated = date_of_known_page(BEFORE, said(w3c(NOW - 9)), NOW - 60, NOW, "observed")
    assert stated == SourcedDate(w3c(NOW - 9), "Last-Modified")


COMMIT = SourcedDate(w3c(NOW - 3_000), "Git commit of docs/a.md")


def by_git(commit: SourcedDate, changed_since: float | None, before: SourcedDate = BEFORE) -> SourcedDate:
    return date_of_known_page(before, said(w3c(NOW - 1_000)), changed_since, NOW, "git", commit=commit)


def test_ours_a_commit_since_the_last_visit_dates_a_change() -> None:
    assert by_git(COMMIT, YESTERDAY) == COMMIT
    assert by_git(COMMIT, None) == BEFORE
    assert by_git(COMMIT, None, SourcedDate()) == COMMIT
    assert by_git(SourcedDate(), YESTERDAY).source == "Last-Modified"


def test_ours_a_commit_that_cannot_be_the_change_does_not_date_it() -> None:
    """The page changed since the last visit, by its list or its layout, but its file did not."""
    old = SourcedDate(w3c(YESTERDAY - 60), "Git commit of docs/a.md")
    assert by_git(old, YESTERDAY).source == "Last-Modified"
    assert date_of_new_page(said(w3c(NOW - 1_000)), "git", commit=old) == old
    assert date_of_new_page(said(w3c(NOW - 1_000)), "git").source == "Last-Modified"


def test_ours_a_header_that_is_distrusted_is_no_evidence() -> None:
    assert changed(w3c(NOW - 1_000), trusted=False) == SourcedDate("2027-01-15", SEEN_TO_CHANGE)


def test_ours_the_time_of_the_answer_in_the_page_is_no_evidence() -> None:
    assert changed(page=w3c(NOW + 99)) == SourcedDate("2027-01-15", SEEN_TO_CHANGE)


@pytest.mark.parametrize("published", ["2027-01-15", "2027-01-15T07:00:00+00:00", "2027-01-15T00:00:00+00:00"])
def test_ours_a_second_change_on_one_day_is_told_by_its_second(published: str) -> None:
    before = SourcedDate(published, SEEN_TO_CHANGE)
    assert changed(before=before) == SourcedDate("2027-01-15T08:00:00+00:00", SEEN_TO_CHANGE)
    assert changed(page="2027-01-15", before=before) == SourcedDate("2027-01-15T08:00:00+00:00", SEEN_TO_CHANGE)


def test_ours_the_other_policies_go_by_what_is_stated() -> None:
    header, page = w3c(NOW - 1_000), w3c(NOW - 2_000)
    assert changed(header, page, policy="header") == SourcedDate(header, "Last-Modified")
    assert changed(header, page, policy="page") == SourcedDate(page, PAGE)
    assert changed(header, policy="page") == SourcedDate()
    assert date_of_known_page(BEFORE, said(header), None, NOW, "header") == SourcedDate(header, "Last-Modified")
    assert date_of_known_page(BEFORE, said(), None, NOW, "header") == BEFORE
    assert date_of_known_page(BEFORE, said("2015-01-01T00:00:00+00:00"), None, NOW, "header") == BEFORE
    assert date_of_known_page(BEFORE, said(page="2015-01-01"), None, NOW, "page") == BEFORE


_moments = st.floats(NOW - 400 * DAY, NOW)
_dates = _moments.map(w3c) | _moments.map(lambda moment: w3c(moment)[:10]) | st.just("")


@settings(max_examples=400)
@given(
    _dates,
    _moments.map(w3c) | st.just(""),
    _dates,
    st.none() | _moments,
    st.sampled_from(["observed", "header", "page"]),
)
def test_ours_no_date_lies_in_the_future_nor_goes_back_while_the_page_stands_still(
    published: str, header: str, page: str, since: float | None, policy: LastmodPolicy
) -> None:
    before = SourcedDate(published, "some" if published else "")
    dated = date_of_known_page(before, said(header, page), since, NOW, policy)
    assert bool(dated.lastmod) == bool(dated.source)
    assert dated.lastmod[:19] <= w3c(NOW)[:19]
    if since is None:
        assert dated.lastmod[:10] >= published[:10]
    if policy == "observed" and since is not None:
        assert dated.lastmod[:19] > published[:19] or published[:19] == w3c(NOW)[:19]


def test_ours_a_header_that_moves_while_the_content_does_not_is_distrusted_for_the_site() -> None:
    assert why_distrusted(200, 0) == ""
    assert why_distrusted(2, 2) == ""
    assert why_distrusted(200, 5) == ""
    assert "3 of 3 pages" in why_distrusted(3, 3)
    assert "1,000 of 2,000 pages" in why_distrusted(2_000, 1_000)
    assert why_distrusted(30, 3) != ""
    assert why_distrusted(31, 3) == ""
    assert why_distrusted(3, 3) == (
        "Last-Modified changed on 3 of 3 pages with unchanged content, so it is ignored for the whole site"
    )


def test_ours_a_stated_day_lasts_until_it_ends_in_the_west() -> None:
    """The visit before was on 14 January at 8:00 UTC: on 13 January's end in the west it was 12:00 UTC on the 14th."""
    before = SourcedDate("2026-03-04", PAGE)
    assert changed(page="2027-01-13", before=before) == SourcedDate("2027-01-13", PAGE)
    assert changed(page="2027-01-12", before=before) == SourcedDate("2027-01-15", SEEN_TO_CHANGE)


def test_ours_evidence_of_the_moment_of_the_last_visit_counts() -> None:
    assert changed(w3c(YESTERDAY)) == SourcedDate(w3c(YESTERDAY), "Last-Modified")
    assert changed(w3c(YESTERDAY - 1)) == SourcedDate("2027-01-15", SEEN_TO_CHANGE)
    published = SourcedDate(w3c(NOW - 1_000), "Last-Modified")
    assert changed(w3c(NOW - 1_000), before=published).source == SEEN_TO_CHANGE


def test_ours_the_day_of_a_run_begins_at_midnight_to_the_microsecond() -> None:
    midnight = NOW - 8 * 3_600 + 0.25
    before = SourcedDate("2027-01-15", PAGE)
    assert (
        date_of_known_page(before, said(), midnight - DAY, midnight, "observed").lastmod == "2027-01-15T00:00:00+00:00"
    )


def test_ours_an_unchanged_page_moves_on_with_a_later_statement_only() -> None:
    stated = SourcedDate("2026-03-04", PAGE)
    assert date_of_known_page(stated, said(page="2026-03-05"), None, NOW, "page") == SourcedDate("2026-03-05", PAGE)
    assert date_of_known_page(SourcedDate(), said(page="2026-03-05"), None, NOW, "page").lastmod == "2026-03-05"
    same = SourcedDate("2026-03-04", "meta article:modified_time")
    assert date_of_known_page(same, said(page="2026-03-04"), None, NOW, "page") == same


def test_ours_the_day_of_a_change_is_that_of_utc_wherever_the_crawl_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    evening = NOW + 10 * 3_600  # 18:00 UTC: in Tokyo it is the next day
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "Asia/Tokyo")
        time.tzset()
        dated = date_of_known_page(BEFORE, said(), YESTERDAY, evening, "observed")
        # when this day began in Tokyo, it was the day before in UTC
        second = changed(w3c(NOW - 12 * 3_600), before=SourcedDate("2027-01-15", SEEN_TO_CHANGE))
    time.tzset()
    assert dated == SourcedDate("2027-01-15", SEEN_TO_CHANGE)
    assert second == SourcedDate("2027-01-15T08:00:00+00:00", SEEN_TO_CHANGE)
