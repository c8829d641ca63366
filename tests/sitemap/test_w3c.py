"""Dates are read in every form seen in the wild, and written in two."""

from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sitemap import Moment, Precision, SitemapError, dates, format_date, parse_date


def at(*parts: int, hours: float = 0) -> datetime:
    return datetime(*parts, tzinfo=timezone(timedelta(hours=hours)))  # type: ignore[misc,arg-type]


@pytest.mark.parametrize(
    ("text", "value", "precision"),
    [
        ("1997", date(1997, 1, 1), Precision.YEAR),
        ("1997-07", date(1997, 7, 1), Precision.MONTH),
        ("1997-07-16", date(1997, 7, 16), Precision.DAY),
        ("1997-07-16T19:20+01:00", at(1997, 7, 16, 19, 20, hours=1), Precision.MINUTE),
        ("1997-07-16T19:20:30+01:00", at(1997, 7, 16, 19, 20, 30, hours=1), Precision.SECOND),
        ("1997-07-16T19:20:30.45+01:00", at(1997, 7, 16, 19, 20, 30, 450_000, hours=1), Precision.FRACTION),
        ("1997-07-16T19:20:30Z", at(1997, 7, 16, 19, 20, 30), Precision.SECOND),
    ],
)
def test_w3_note_datetime_the_six_forms(text: str, value: date, precision: Precision) -> None:
    assert dates.parse_date(text) == Moment(value, precision)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("Tue, 05 Nov 2024 13:05:06 GMT", at(2024, 11, 5, 13, 5, 6)),
        ("Tue, 05 Nov 2024 13:05:06 +0130", at(2024, 11, 5, 13, 5, 6, hours=1.5)),
        ("5 Nov 24 13:05 EST", at(2024, 11, 5, 13, 5, hours=-5)),
        ("Tuesday, 05-Nov-24 13:05:06 GMT", at(2024, 11, 5, 13, 5, 6)),
        ("Tue Nov  5 13:05:06 2024", at(2024, 11, 5, 13, 5, 6)),
        ("Tue Nov 5 13:05:06 UTC 2024", at(2024, 11, 5, 13, 5, 6)),
        ("05 Nov 1994 08:49:37 Z", at(1994, 11, 5, 8, 49, 37)),
        ("November 5, 2024", date(2024, 11, 5)),
    ],
)
def test_rfc822_and_its_kin(text: str, value: date) -> None:
    moment = dates.parse_date(text)
    assert moment is not None
    assert moment.value == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2024-05-08 08:53:11 AM", at(2024, 5, 8, 8, 53, 11)),
        ("2024-05-08 08:53:11 PM", at(2024, 5, 8, 20, 53, 11)),
        ("2024-05-08 12:00:00 am", at(2024, 5, 8, 0, 0)),
        ("2024-05-08T08:53:11", at(2024, 5, 8, 8, 53, 11)),
        ("2024-05-08 08:53:11 +02:00", at(2024, 5, 8, 8, 53, 11, hours=2)),
        ("2024-05-08T08:53:11+0200", at(2024, 5, 8, 8, 53, 11, hours=2)),
        ("2024-05-08T08:53:11-07", at(2024, 5, 8, 8, 53, 11, hours=-7)),
        ("20240508T085311Z", at(2024, 5, 8, 8, 53, 11)),
        ("20240508", date(2024, 5, 8)),
        ("2024-5-8", date(2024, 5, 8)),
        ("2024.05.08", date(2024, 5, 8)),
        ("2024-05-08T08:53", at(2024, 5, 8, 8, 53)),
        ("2024-05-08t08:53:11z", at(2024, 5, 8, 8, 53, 11)),
        ("2024-05-08T08:53:11,5Z", at(2024, 5, 8, 8, 53, 11, 500_000)),
        ("2024-05-08T08:53:11+5:30", at(2024, 5, 8, 8, 53, 11, hours=5.5)),
        ("2024-05-08 08:53:11.000+0000", at(2024, 5, 8, 8, 53, 11)),
        ("2024-05-08 08:53:11 +0000 UTC", at(2024, 5, 8, 8, 53, 11)),  # Go
        ("2024-05-08T10:53:11+02:00[Europe/Berlin]", at(2024, 5, 8, 8, 53, 11)),  # Java; RFC 9557
        ("2024-05-08T08:53:11Z[UTC]", at(2024, 5, 8, 8, 53, 11)),
        ("Wed May 08 2024 10:53:11 GMT+0200 (Central European Summer Time)", at(2024, 5, 8, 8, 53, 11)),  # JavaScript
        ("2024/05/08", date(2024, 5, 8)),
        ("2024-05-08T24:00:00Z", at(2024, 5, 9, 0, 0)),
        ("2016-12-31T23:59:60Z", at(2016, 12, 31, 23, 59, 59)),
        ("2024-05-08T08:53:11.123456789Z", at(2024, 5, 8, 8, 53, 11, 123_456)),
        (" 2024-05-08\n", date(2024, 5, 8)),
    ],
)
def test_ours_forms_seen_in_the_wild(text: str, value: date) -> None:
    moment = dates.parse_date(text)
    assert moment is not None
    assert moment.value == value


NO_DATES = [
    "",
    "yesterday",
    "-001-11-30T00:00:00Z",
    "0000-00-00",
    "2024-13-01",
    "2023-02-29",
    "2024-2-30",
    "08/05/2024",  # whose fifth of August, or eighth of May?
    "2024-129",
    "12024-05-08",
    "2024-05-08T25:00:00Z",
]
NO_DATES += ["2024-05-08T08:53:11+99:00", "\uff12\uff10\uff12\uff14-05-08", "2024-05-08T08:53:11 Mars", "1715158391"]


@pytest.mark.parametrize("text", [*NO_DATES, "1" * 9_999])
def test_ours_what_is_no_date_is_none(text: str) -> None:
    assert dates.parse_date(text) is None
    assert dates.normalize_date(text) == ""


def test_sitemaps_org_only_forms_of_the_xsd_are_written() -> None:
    assert dates.format_date(date(2024, 5, 8)) == "2024-05-08"
    assert dates.format_date(at(2024, 5, 8, 1, 2, 3, 999_999, hours=2)) == "2024-05-07T23:02:03+00:00"
    with pytest.raises(SitemapError, match="zone"):
        dates.format_date(datetime(2024, 5, 8))  # noqa: DTZ001
    assert dates.normalize_date("2024-05") == ""
    assert dates.normalize_date("2024-05-08T08:53Z") == "2024-05-08T08:53:00+00:00"
    assert dates.normalize_date("2024-05-08T08:53:11.5-03:30") == "2024-05-08T08:53:11.5-03:30"
    assert dates.normalize_date("2024-05-08 08:53:11.5") == "2024-05-08T08:53:11.500000+00:00"
    assert dates.normalize_date("2024-05-08 08:53:11.0") == "2024-05-08T08:53:11+00:00"
    assert dates.normalize_date("2024-05-08T08:53:11+14:30") == "2024-05-07T18:23:11+00:00"  # beyond the XSD's zones
    assert dates.normalize_date("0001-01-01T00:00:00+14:30") == ""  # no year that UTC could name


@pytest.mark.parametrize(
    ("text", "valid"),
    [
        ("2024-02-29", True),
        ("2023-02-29", False),
        ("2024-02-29T00:00:00Z", True),
        ("2024-02-29T00:00:00", False),
        ("2024-02-29T00:00Z", False),
        ("2024-02-29T24:00:00Z", False),
        ("2024-02-29T00:00:00+14:00", True),
        ("2024-02-29T00:00:00+14:01", False),
        ("2024-02-29z", False),
        ("2024-W01-1", False),
        ("0000-01-01", False),
    ],
)
def test_sitemaps_org_validity_is_the_xsds(text: str, valid: bool) -> None:
    assert dates.is_valid_date(text) is valid


@settings(max_examples=200)
@given(
    st.datetimes(datetime(2, 1, 1), datetime(9998, 1, 1), timezones=st.timezones() | st.just(UTC))  # noqa: DTZ001
    | st.dates()
)
def test_ours_what_is_written_is_valid_and_read_back(value: date) -> None:
    text = dates.format_date(value)
    assert dates.is_valid_date(text)
    moment = dates.parse_date(text)
    assert moment is not None
    if isinstance(value, datetime):
        assert moment.value == value.astimezone(UTC).replace(microsecond=0)
    else:
        assert moment.value == value


@settings(max_examples=300)
@given(st.text(max_size=70) | st.text("0123456789-:TZ+. /,GMTNov", max_size=40))
def test_ours_no_text_raises(text: str) -> None:
    normal = dates.normalize_date(text)
    assert normal == "" or dates.is_valid_date(normal)


NEWEST = [
    ([], ""),
    (["", ""], ""),
    (["2024-01-02", "2024-01-03", ""], "2024-01-03"),
    (["2024-01-02T00:00:00Z", "2024-01-02"], "2024-01-02T00:00:00Z"),  # the first of equals
    (["2024-01-02", "2024-01-02T00:00:00Z"], "2024-01-02"),
    (["2024-05-08T10:00:00+02:00", "2024-05-08T09:00:00+00:00"], "2024-05-08T09:00:00+00:00"),
    (["2024-05-08T10:00:00+02:00", "2024-05-08T11:00:00+02:00"], "2024-05-08T11:00:00+02:00"),
    (["2024-05-08T10:00:00+15:00", "2024-05-08T11:00:00+15:00"], None),
    (["2024-05-08T10:00:00.25Z", "2024-05-08T10:00:00.3Z"], "2024-05-08T10:00:00.3Z"),
    (["2024-02-30", "2024-02-28"], None),
    (["2024-05-08T24:61:00Z"], None),
    (["0000-00-00"], None),
    (["2024-05-08 2024-05-08"], None),
    (["2024-05-08", ""], "2024-05-08"),
    (["", "2024"], None),
]


@pytest.mark.parametrize(("texts", "newest"), NEWEST)
def test_w3c_the_newest_of_many_is_that_of_one_after_the_other(texts: list[str], newest: str | None) -> None:
    latest: str | None = ""
    for text in texts:
        if text and not dates.is_valid_date(text):
            latest = None
            break
        if text and dates.is_later(text, str(latest)):
            latest = text
    assert dates.newest_date(texts) == newest == latest


@pytest.mark.parametrize("text", ["2026-02-13", "2026-02-13T10:00:00+00:00", "2026-02-13T10:00:00.250000+00:00"])
def test_w3c_a_date_goes_there_and_back_without_loss(text: str) -> None:
    moment = parse_date(text)
    assert moment is not None
    assert format_date(moment.value, fraction=moment.precision is Precision.FRACTION) == text


@pytest.mark.parametrize("bad", [datetime(2026, 1, 1), "2026-01-01", None])  # noqa: DTZ001
def test_ours_what_is_no_date_is_no_text(bad: Any) -> None:
    with pytest.raises(SitemapError):
        format_date(bad)
