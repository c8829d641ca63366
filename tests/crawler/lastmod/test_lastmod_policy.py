from datetime import UTC, datetime
from email.utils import formatdate

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawler.fetch.header_values import parse_http_date
from crawler.lastmod.policy import (
    HEADER,
    NO_DATE,
    LastmodPolicy,
    SourcedDate,
    build_of,
    credible_last_modified,
    date_of_known_page,
    date_of_new_page,
    schema_form,
)
from crawler.model import SEEN_TO_CHANGE, ResponseMetadata
from sitemap import BuildTime

NOW = 1_800_000_000.0  # Fri, 15 Jan 2027 08:00:00 GMT


def http(moment: float) -> str:
    return formatdate(moment, usegmt=True)


def w3c(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%dT%H:%M:%S+00:00")


def seen(header: str | None = "", in_page: str = "", date: str | None = None, elapsed: float = 1.0) -> ResponseMetadata:
    """What an answer of NOW says, as a run remembers it."""
    moment = credible_last_modified(header or "", http(NOW) if date is None else date, NOW, elapsed)
    stated = "" if moment is None else w3c(moment)
    return ResponseMetadata(
        NOW, "", "", header or "", stated, schema_form(in_page, NOW + elapsed), "JSON-LD dateModified"
    )


def see(
    header: str | None, in_page: str = "", policy: LastmodPolicy = "observed", date: str | None = None
) -> tuple[str, str]:
    dated = date_of_new_page(seen(header, in_page, date), policy)
    return dated.lastmod, dated.source


def test_ours_a_header_that_can_be_believed_is_the_date() -> None:
    assert see("Tue, 15 Nov 1994 12:45:26 GMT")[0] == ""
    assert see("Wed, 21 Oct 2015 07:28:00 GMT") == ("2015-10-21T07:28:00+00:00", "Last-Modified")
    assert see("Wednesday, 21-Oct-15 07:28:00 GMT")[0] == "2015-10-21T07:28:00+00:00"
    assert see("Wed Oct 21 07:28:00 2015")[0] == "2015-10-21T07:28:00+00:00"
    assert see(http(NOW - 10))[0] == "2027-01-15T07:59:50+00:00"


@pytest.mark.parametrize(
    "header",
    [
        None,
        "",
        "0",
        "-1",
        "yesterday",
        "2015-10-21",
        "Wed, 21 Oct 2015 07:28:00 +0000",
        "Thu, 01 Jan 1970 00:00:00 GMT",
        http(NOW),
        http(NOW + 1),
        http(NOW - 5),
        http(NOW + 86400),
        "Wed, 32 Oct 2015 07:28:00 GMT",
    ],
)
def test_ours_a_header_that_cannot_be_believed_gives_way_to_the_page(header: str | None) -> None:
    assert see(header) == ("", "")
    assert see(header, "2020-05-06") == ("2020-05-06", "JSON-LD dateModified")


def test_ours_the_time_of_the_answer_is_known_by_the_servers_clock_too() -> None:
    an_hour_ago = http(NOW - 3_600)
    assert see(an_hour_ago)[0] != ""
    assert see(an_hour_ago, date=an_hour_ago) == ("", "")
    assert see(http(NOW - 3_600), date=http(NOW - 3_597)) == ("", "")
    assert see(http(NOW - 7_200), date=an_hour_ago)[0] != ""
    assert date_of_new_page(seen(http(NOW - 20), elapsed=30.0), "observed") == SourcedDate()


def test_ours_a_date_in_the_page_that_is_the_time_of_the_answer_tells_nothing() -> None:
    assert see(None, w3c(NOW)) == ("", "")
    assert see(None, w3c(NOW - 30)) == ("", "")
    assert see(None, w3c(NOW - 59)) == ("", "")
    assert see(None, w3c(NOW - 60))[0] == w3c(NOW - 60)
    assert see(None, w3c(NOW)[:10])[0] == "2027-01-15"


def test_ours_the_time_of_a_build_is_a_date_from_its_first_to_its_last_second() -> None:
    builds = [BuildTime(NOW - 900, NOW - 800, 7), BuildTime(NOW - 500, NOW - 500, 5)]
    assert build_of(w3c(NOW - 900), builds) is builds[0]
    assert build_of(w3c(NOW - 800), builds) is builds[0]
    assert build_of(w3c(NOW - 500), builds) is builds[1]
    for moment in (NOW - 901, NOW - 799, NOW - 501, NOW - 499):
        assert build_of(w3c(moment), builds) is None
    assert build_of("", builds) is None
    assert build_of(w3c(NOW - 900), []) is None


def test_ours_a_header_that_is_the_time_of_a_build_gives_way_to_the_date_in_the_page() -> None:
    built = [BuildTime(NOW - 900, NOW - 800, 7)]
    header, page = w3c(NOW - 850), "2020-05-06"
    stated = seen(http(NOW - 850), page)
    assert date_of_new_page(stated, "observed", builds=built) == SourcedDate(page, "JSON-LD dateModified")
    assert date_of_new_page(seen(http(NOW - 850)), "observed", builds=built) == SourcedDate(header, "Last-Modified")
    assert date_of_new_page(seen(http(NOW - 950), page), "observed", builds=built).source == "Last-Modified"
    assert date_of_new_page(stated, "header", builds=built) == SourcedDate(header, "Last-Modified")


def test_ours_a_header_that_is_distrusted_dates_no_new_page() -> None:
    assert date_of_new_page(seen(http(NOW - 900)), "observed", trusted=False) == SourcedDate()
    assert date_of_new_page(seen(http(NOW - 900), "2020-05-06"), "observed", trusted=False).lastmod == "2020-05-06"
    assert date_of_new_page(seen(http(NOW - 900)), "header", trusted=False).source == "Last-Modified"


@pytest.mark.parametrize(
    ("text", "credible"),
    [
        ("Sun, 01 Jan 1995 00:00:00 GMT", True),
        ("Sat, 31 Dec 1994 23:59:59 GMT", False),
        (http(NOW - 6), True),
        (http(NOW - 5), True),
        (http(NOW - 4), False),
    ],
)
def test_ours_a_header_is_credible_from_1995_to_five_seconds_before_the_request(text: str, credible: bool) -> None:
    assert (credible_last_modified(text, "", NOW, 0.0) is not None) is credible


def test_ours_policies() -> None:
    header, in_page = "Wed, 21 Oct 2015 07:28:00 GMT", "2020-05-06"
    assert see(header, in_page)[0] == "2015-10-21T07:28:00+00:00"
    assert see(header, in_page, "header")[0] == "2015-10-21T07:28:00+00:00"
    assert see(None, in_page, "header") == ("", "")
    assert see(header, in_page, "page")[0] == "2020-05-06"
    assert see(header, "", "page") == ("", "")
    assert see(header, in_page, "none") == ("", "")


@pytest.mark.parametrize(
    ("stated", "written"),
    [
        ("2020-05-06", "2020-05-06"),
        (" 2020-05-06T07:08:09Z ", "2020-05-06T07:08:09+00:00"),
        ("2020-05-06T07:08:09.123456789+02:00", "2020-05-06T07:08:09+02:00"),
        ("2020-05-06 07:08:09 -0330", "2020-05-06T07:08:09-03:30"),
        ("2020-05-06T07:08Z", "2020-05-06"),
        ("2020-05-06T07:08:09", "2020-05-06"),
        ("2020", ""),
        ("2020-05", ""),
        ("2020-13-01", ""),
        ("2021-02-29", ""),
        ("2020-05-06T25:00:00Z", ""),
        ("2020-05-06T25:00", ""),
        ("2020-05-06T07:08:09+99:00", ""),
        ("2020-05-06T07:08:09+15:00", ""),
        ("-001-11-30", ""),
        ("0001-01-01T00:00:00+05:00", ""),
        ("1970-01-01T00:00:00Z", ""),
        ("2027-01-15T08:00:01Z", ""),
        ("2027-01-15", "2027-01-15"),
        ("2027-01-16", ""),
        ("2027-01-17", ""),
        ("1995-01-01", "1995-01-01"),
        ("1994-12-31", ""),
        ("1995-01-01T00:00:00Z", "1995-01-01T00:00:00+00:00"),
        ("2020-05-06t07:08:09z", "2020-05-06T07:08:09+00:00"),
        ("2020-05-06T07:08:09+0530", "2020-05-06T07:08:09+05:30"),
        ("2020-05-06T07:08:09+14:00", "2020-05-06T07:08:09+14:00"),
        ("2020-05-06T07:08:09-14:00", "2020-05-06T07:08:09-14:00"),
        ("2020-05-06T07:08:61", ""),
        ("May 6, 2020", ""),
        ("", ""),
    ],
)
def test_sitemaps_org_dates_in_pages_in_the_form_of_the_schema(stated: str, written: str) -> None:
    assert schema_form(stated, NOW) == written


@settings(max_examples=200)
@given(st.text(max_size=40) | st.from_regex(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9:.Zz+-]{0,14}", fullmatch=True))
def test_ours_any_text_is_a_date_or_nothing_and_stays_what_it_is(text: str) -> None:
    once = schema_form(text, NOW)
    assert once == "" or schema_form(once, NOW) == once
    parse_http_date(text, NOW)


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("Sun, 06 Nov 1994 08:49:37 GMT", 784111777),
        ("Sunday, 06-Nov-94 08:49:37 GMT", 784111777),
        ("Sun Nov  6 08:49:37 1994", 784111777),
        ("Sun, 06 Nov 1994 08:49:60 GMT", 784111800),
        ("Thursday, 01-Jan-76 00:00:00 GMT", 3345062400),  # 49 years ahead: the future
        ("Saturday, 01-Jan-78 00:00:00 GMT", 252460800),  # 51 years ahead: the past
    ],
)
def test_rfc9110_5_6_7_the_three_forms(text: str, moment: int) -> None:
    assert parse_http_date(text, NOW) == moment


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Sun, 6 Nov 1994 08:49:37 GMT",
        "Sun, 06 Nov 1994 08:49:37",
        "Sun, 06 Nov 1994 08:49:37 UTC",
        "Sun, 06 Nov 99999 08:49:37 GMT",
        "Sun, 06 Nov 1994 24:00:00 GMT",
        "Sun, 06 Nov 1994 08:49:61 GMT",
        "sun, 06 nov 1994 08:49:37 gmt",
        "Sun, 06 Nov 1994 08:49:37 +9999",
        "Sun, 00 Nov 1994 08:49:37 GMT",
        "Sun, 0\uff16 Nov 1994 08:49:37 GMT",
        "Sun, 06 Nov 0000 08:49:37 GMT",
    ],
)
def test_rfc9110_5_6_7_anything_else_is_no_date(text: str) -> None:
    assert parse_http_date(text, NOW) is None


def test_ours_a_slow_answer_is_no_reason_to_distrust_what_is_older_than_its_request() -> None:
    assert credible_last_modified(http(NOW - 20), "", NOW, 30.0) == NOW - 20
    assert credible_last_modified(http(NOW - 3_600), http(NOW - 3_595), NOW, 0.0) == NOW - 3_600
    assert credible_last_modified(http(NOW - 3_600), http(NOW - 3_596), NOW, 0.0) is None


@pytest.mark.parametrize(("seconds", "is_date"), [(0.0, True), (-1.0, False), (1.0, True)])
def test_ours_a_day_may_have_begun_where_it_begins_first(seconds: float, is_date: bool) -> None:
    """In the zone 14 hours ahead of UTC, 16 January begins at 10:00 UTC on the 15th."""
    ten = NOW + 2 * 3_600.0 + seconds
    assert schema_form("2027-01-16", ten) == ("2027-01-16" if is_date else "")
    moment = "2027-01-15T08:00:00+00:00"
    assert schema_form(moment, NOW + seconds) == (moment if is_date else "")


@pytest.mark.parametrize(
    ("published", "dated"),
    [
        ("2027-01-14T23:59:59+00:00", "2027-01-15"),
        ("2027-01-14", "2027-01-15"),
        ("2027-01-15", "2027-01-15T08:30:45+00:00"),  # a day begins at midnight
        ("2027-01-15T00:00:00+00:00", "2027-01-15T08:30:45+00:00"),
        ("2027-01-15T00:00:01+00:00", "2027-01-15T08:30:45+00:00"),
        ("2027-01-15T00:05:00+00:00", "2027-01-15T08:30:45+00:00"),
        ("2027-01-15T05:00:00+00:00", "2027-01-15T08:30:45+00:00"),
    ],
)
def test_ours_a_second_change_on_a_day_has_its_second_however_early_the_first_was(published: str, dated: str) -> None:
    now = NOW + 30 * 60 + 45.5
    metadata = ResponseMetadata(now)
    given = date_of_known_page(SourcedDate(published, HEADER), metadata, now - 86_400, now, "observed")
    assert (given.lastmod, given.source) == (dated, SEEN_TO_CHANGE)


@pytest.mark.parametrize(("apart", "has_time"), [(7_200.0, True), (7_200.5, False), (60.0, True), (86_400.0, False)])
def test_bing_a_change_between_two_visits_within_two_hours_has_a_time(apart: float, has_time: bool) -> None:
    given = date_of_known_page(NO_DATE, ResponseMetadata(NOW), NOW - apart, NOW, "observed")
    assert given.lastmod == ("2027-01-15T08:00:00+00:00" if has_time else "2027-01-15")
