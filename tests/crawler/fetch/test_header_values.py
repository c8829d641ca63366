"""Media types, of answers and of published files, and the dates in headers."""

import time
from datetime import UTC, datetime

import pytest

from crawler.fetch.header_values import content_type, is_html_type, may_be_page, parse_http_date, parse_media_type


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("sitemap.xml", "application/xml"),
        ("SITEMAP-1.XML", "application/xml"),
        ("sitemap.xml.gz", "application/gzip"),
        ("sitemap.txt", "text/plain; charset=utf-8"),
        ("new.atom", "application/atom+xml"),
        ("new.rss", "application/rss+xml"),
        ("sitemap-docs-2.html", "text/html; charset=utf-8"),
        ("style.css", "text/css; charset=utf-8"),
        ("sitemap.xsl", "text/xsl"),
        ("robots", "application/octet-stream"),
        ("xml", "application/octet-stream"),
        ("sitemap.xml.bak", "application/octet-stream"),
    ],
)
def test_sitemaps_org_a_published_file_has_the_type_of_its_name(name: str, label: str) -> None:
    assert content_type(name) == label


@pytest.mark.parametrize(
    ("value", "name"),
    [
        ("text/html", "text/html"),
        ("Text/HTML; charset=utf-8", "text/html"),
        (" application/xhtml+xml\t;q=1", "application/xhtml+xml"),
        ("text/html, text/plain", "text/html"),
        ("html, text/plain", "text/plain"),
        (", ,text/html", "text/html"),
        ("text/ht ml", ""),
        ("text", ""),
        ("text/", ""),
        ("/html", ""),
        ("", ""),
        (";text/html", ""),
    ],
)
def test_rfc9110_8_3_1_the_first_valid_media_type_counts_without_its_parameters(value: str, name: str) -> None:
    assert parse_media_type(value) == name


@pytest.mark.parametrize(
    ("name", "is_html", "may_be"),
    [
        ("text/html", True, True),
        ("application/xhtml+xml", True, True),
        ("", None, True),
        ("*/*", None, True),
        ("unknown/unknown", None, True),
        ("application/unknown", None, True),
        ("text/xml", None, True),
        ("application/xml", None, True),
        ("application/rss+xml", False, True),
        ("application/atom+xml", False, True),
        ("application/rdf+xml", False, True),
        ("text/plain", False, False),
        ("application/pdf", False, False),
        ("image/svg+xml", False, False),
        ("application/octet-stream", False, False),
    ],
)
def test_whatwg_mimesniff_which_types_are_html_and_which_bytes_decide(
    name: str, is_html: bool | None, may_be: bool
) -> None:
    assert is_html_type(name) is is_html
    assert may_be_page(name) is may_be
    assert may_be_page(f"{name.upper()};charset=x") is may_be


NOW = 1_800_000_000.0  # 2027


@pytest.mark.parametrize(
    ("year", "whole"),
    [("00", 2000), ("26", 2026), ("27", 2027), ("76", 2076), ("77", 2077), ("78", 1978), ("99", 1999)],
)
def test_rfc9110_5_6_7_a_year_of_two_digits_is_at_most_50_years_ahead(year: str, whole: int) -> None:
    short = parse_http_date(f"Friday, 15-Jan-{year} 08:01:00 GMT", NOW)
    assert short == parse_http_date(f"Fri, 15 Jan {whole} 08:01:00 GMT", NOW) is not None


@pytest.mark.parametrize(
    ("text", "is_date"),
    [
        (" \tSun, 06 Nov 1994 08:49:37 GMT\t ", True),
        ("Sun, 06 Nov 1994 23:59:59 GMT", True),
        ("Sun, 06 Nov 1994 08:60:37 GMT", False),
        ("Sun, 31 Nov 1994 08:49:37 GMT", False),
        ("Thu, 29 Feb 1996 08:49:37 GMT", True),
        ("Wed, 29 Feb 1995 08:49:37 GMT", False),
        ("Sun Nov 16 08:49:37 1994", True),
        ("Sunday, 06-Nov-1994 08:49:37 GMT", False),
        ("Sun, 06-Nov-94 08:49:37 GMT", False),
        ("x Sun, 06 Nov 1994 08:49:37 GMT", False),
        ("XSun, 06 Nov 1994 08:49:37 GMT", False),
        ("Sun, 06 Nov 1994 08:49:37 GMTX", False),
        ("\x0bSun, 06 Nov 1994 08:49:37 GMT", False),
        ("Sun, 06 Nov 1994 08:49:37 GMT\xa0", False),
        ("Sun, 06 Nov 1994 08:49:60 GMT", True),
        ("Sun, 06 Nov 1994 08:49:61 GMT", False),
    ],
)
def test_rfc9110_5_6_7_a_date_must_exist_in_one_of_the_forms(text: str, is_date: bool) -> None:
    assert (parse_http_date(text, NOW) is not None) is is_date


def test_rfc9110_5_6_7_each_month_and_each_part_of_the_time_counts() -> None:
    names = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
    for month, name in enumerate(names, 1):
        moment = datetime(2019, month, 17, 8, 49, 37, tzinfo=UTC).timestamp()
        assert parse_http_date(f"Sun, 17 {name} 2019 08:49:37 GMT", NOW) == moment
        assert parse_http_date(f"Sun {name} 17 08:49:37 2019", NOW) == moment
        assert parse_http_date(f"Sunday, 17-{name}-19 08:49:37 GMT", NOW) == moment


def test_rfc9110_5_6_7_a_date_is_utc_wherever_the_crawl_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    new_year = datetime(2026, 12, 31, 20, tzinfo=UTC).timestamp()  # in Tokyo it is 2027 already
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "Asia/Tokyo")
        time.tzset()
        moment = parse_http_date("Sun, 13 Nov 1994 08:49:37 GMT", NOW)
        short = parse_http_date("Friday, 15-Jan-77 08:01:00 GMT", new_year)
    time.tzset()
    assert moment == datetime(1994, 11, 13, 8, 49, 37, tzinfo=UTC).timestamp()
    assert short == datetime(1977, 1, 15, 8, 1, tzinfo=UTC).timestamp()
