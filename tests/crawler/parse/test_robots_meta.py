import time

import pytest

from crawler.parse import robots_meta
from crawler.parse.robots_meta import NO_DIRECTIVES, Directives, is_engine_noindex, read_directives, read_engine_noindex

NOW = 1_800_000_000.0  # 2027-01-15
US = "siteatlas"


def read_header(value: str) -> Directives:
    return robots_meta.read_header(value, US, NOW)


def read_meta(name: str, content: str, token: str = US) -> Directives:
    return robots_meta.read_meta(name, content, token, NOW)


@pytest.mark.parametrize(
    "value", ["noindex", "NoIndex", " noindex ,x", "none", "NONE", "follow, noindex", "noindex nofollow"]
)
def test_google_noindex_keeps_the_authors_words(value: str) -> None:
    asked = read_meta("Robots", value)
    assert asked.noindex == f'meta robots "{value.strip()}"'
    assert read_header(value).noindex == f'X-Robots-Tag "{value.strip()}"'


@pytest.mark.parametrize(
    "value",
    [
        "",
        "all",
        "index, follow",
        "noarchive",
        "max-snippet:-1, max-image-preview:large",
        "x-noindex",
        "noindexing",
        "googlebot: noindex",
        "otherbot: noindex, nofollow",
        "noarchive, otherbot: none",
        "max-snippet: noindex",
    ],
)
def test_google_what_asks_nothing_of_us(value: str) -> None:
    assert read_header(value) == NO_DIRECTIVES


@pytest.mark.parametrize(
    ("metas", "headers", "evidence"),
    [
        ({"googlebot": ["noindex"]}, [], 'only for googlebot: meta googlebot "noindex"'),
        ({"bingbot": ["follow, NONE"]}, [], 'only for bingbot: meta bingbot "follow, NONE"'),
        ({"robots": ["index"], "googlebot": ["max-snippet:20", "noindex"]}, [],
         'only for googlebot: meta googlebot "noindex"'),
        ({}, ["BingBot: noindex"], 'only for bingbot: X-Robots-Tag "BingBot: noindex"'),
        ({}, ["otherbot: nofollow, googlebot: noindex"],
         'only for googlebot: X-Robots-Tag "otherbot: nofollow, googlebot: noindex"'),
        ({"googlebot": ["noindex"]}, ["bingbot: none"], 'only for googlebot and bingbot: meta googlebot "noindex"'),
        ({"googlebot": ["unavailable_after: 2026-12-31"]}, [],
         'only for googlebot: meta googlebot "unavailable_after: 2026-12-31"'),
        ({"googlebot": ["unavailable_after: 2027-12-31"]}, [], ""),
        ({"ahrefsbot": ["noindex"], "googlebot": ["nofollow"]}, ["AhrefsBot: noindex"], ""),
        ({"googlebot-news": ["noindex"]}, ["googlebot-image: noindex"], ""),
        ({}, ["googlebot: nofollow, AhrefsBot: noindex"], ""),
        ({}, [], ""),
    ],
)  # fmt: skip
def test_google_noindex_for_one_search_engine(metas: dict[str, list[str]], headers: list[str], evidence: str) -> None:
    assert read_engine_noindex(metas, headers, NOW) == evidence
    assert is_engine_noindex(evidence) is bool(evidence)
    assert not is_engine_noindex('meta robots "noindex"')


@pytest.mark.parametrize(
    ("value", "noindex", "nofollow"),
    [
        ("nofollow", False, True),
        ("none", True, True),
        ("siteatlas: noindex", True, False),
        ("SiteAtlas : noindex", True, False),
        ("otherbot: noindex, siteatlas: nofollow", False, True),
        ("noindex, otherbot: nofollow", True, False),
        ("otherbot: noindex, robots: nofollow", False, True),
        ("max-snippet: 20, noindex", True, False),
        ("*: noindex", True, False),
        ("otherbot: none, *: nofollow", False, True),
        ("noindex: nofollow", True, True),
        ("siteatlas: noindex: nofollow", True, True),
        ("noimageindex, nofollow", False, True),
    ],
)
def test_google_header_lists_and_robot_names(value: str, noindex: bool, nofollow: bool) -> None:
    asked = read_header(value)
    assert (bool(asked.noindex), asked.nofollow) == (noindex, nofollow)


def test_google_meta_for_another_robot_is_not_for_us() -> None:
    assert read_meta("googlebot", "noindex") == NO_DIRECTIVES
    assert read_meta("description", "noindex") == NO_DIRECTIVES
    assert read_meta("", "noindex", "") == NO_DIRECTIVES
    assert read_meta("SITEATLAS", "noindex").noindex == 'meta siteatlas "noindex"'
    assert read_meta("robots", "siteatlas: noindex").noindex == 'meta robots "siteatlas: noindex"'


@pytest.mark.parametrize(
    "date",
    [
        "Wed, 21 Oct 2015 07:28:00 GMT",
        "Wednesday, 21-Oct-15 07:28:00 GMT",
        "21 Oct 2015 07:28:00 GMT",
        "21-Oct-2015 07:28:00 GMT",
        "Wed, 21 Oct 2015 09:28:00 +0200",
        "2015-10-21T07:28:00Z",
        "2015-10-21T07:28:00",
        "2015-10-21 07:28:00+00:00",
        "Wednesday, October 21, 2015 07:28:00 GMT",
    ],
)
def test_google_unavailable_after(date: str) -> None:
    for value in (f"unavailable_after: {date}", f"noarchive, Unavailable_After:{date}, nofollow"):
        asked = read_header(value)
        assert asked.expires == 1_445_412_480
        assert asked.noindex == ""
        assert asked.noindex_at(1_445_412_480) == ""
        assert date in asked.noindex_at(1_445_412_481)
        assert asked.nofollow == value.endswith("nofollow")


@pytest.mark.parametrize(
    "date",
    [
        "",
        "never",
        "2015-13-45",
        "Wed, 99 Oct 2015 07:28:00 GMT",
        "9" * 5_000,
        "0000-01-01",
        "never, NoArchive, 21 Oct 2015 07:28:00 GMT",  # a date does not go on behind another directive
        "never, max-snippet: 20, 21 Oct 2015 07:28:00 GMT",
        "never,NoArchive,21 Oct 2015 07:28:00 GMT",
        "never,max-snippet:20,21 Oct 2015 07:28:00 GMT",
        "never, ever, ever, 21 Oct 2015 07:28:00 GMT",  # no date has three commas
        "never,ever,ever,21 Oct 2015 07:28:00 GMT",
    ],
)
def test_google_a_date_that_cannot_be_read_is_passed_over(date: str) -> None:
    asked = read_header(f"unavailable_after: {date}, nofollow")
    assert asked.expires is None
    assert asked.expires_evidence == ""
    assert asked.nofollow
    assert asked.noindex_at(NOW) == ""


def test_google_statements_add_up_and_the_most_restrictive_wins() -> None:
    both = read_meta("robots", "index, follow").merge(read_header("noindex"))
    assert both.noindex == 'X-Robots-Tag "noindex"'
    both = read_header("unavailable_after: 2030-01-01, noimageindex").merge(
        read_header("unavailable_after: 2020-01-01, nofollow")
    )
    assert both.noimageindex
    assert both.nofollow
    assert "2020-01-01" in both.noindex_at(NOW)
    later = read_header("unavailable_after: 2030-01-01")
    assert NO_DIRECTIVES.merge(later) == later.merge(NO_DIRECTIVES) == later


def test_ours_evidence_is_short_and_printable() -> None:
    asked = read_header("noindex, \x1b[31m\x00" + "x" * 10_000)
    assert len(asked.noindex) < 200
    assert asked.noindex.isprintable()


@pytest.mark.parametrize("value", ["nofollow", "none", "noindex"])
def test_google_images_are_kept_out_by_their_own_directive_only(value: str) -> None:
    assert not read_header(value).noimageindex
    assert read_header(f"{value}, NoImageIndex").noimageindex


@pytest.mark.parametrize(
    "value",
    [
        "unavailable_after: 2015-10-21, unavailable_after: 2030-01-01",
        "unavailable_after: 2030-01-01, unavailable_after: 2015-10-21",
        "unavailable_after: 2015-10-21, unavailable_after: never",
        "unavailable_after: never, unavailable_after: 2015-10-21",
        "siteatlas: unavailable_after: 2015-10-21",
        "otherbot: unavailable_after: 2010-01-01, siteatlas: unavailable_after: 2015-10-21",
    ],
)
def test_google_the_earliest_date_for_us_wins(value: str) -> None:
    assert read_header(value).expires == 1_445_385_600


def test_google_of_two_equal_dates_the_first_is_the_evidence() -> None:
    first, second = (read_header(f"unavailable_after: 2020-01-01, {more}") for more in ("all", "nofollow"))
    assert first.merge(second).expires_evidence == first.expires_evidence
    assert second.merge(first).expires_evidence == second.expires_evidence


def test_rfc9110_5_6_7_a_year_of_two_digits_is_placed_by_the_time_of_the_fetch() -> None:
    date = "unavailable_after: Thursday, 01-Jan-76 00:00:00 GMT"
    for now, moment in ((NOW, 3_345_062_400), (0.0, 189_302_400)):
        assert robots_meta.read_meta("robots", date, US, now).expires == moment
        assert robots_meta.read_header(date, US, now).expires == moment
        assert read_directives({"robots": [date]}, [], US, now).expires == moment
        assert read_directives({}, [date], US, now).expires == moment
    assert read_engine_noindex({"googlebot": [date]}, [], NOW) == ""


def test_google_a_date_without_a_zone_is_utc_wherever_the_crawl_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "Asia/Tokyo")
        time.tzset()
        for date in ("2015-10-21T07:28:00", "21 Oct 2015 07:28:00 -0000"):
            assert read_header(f"unavailable_after: {date}").expires == 1_445_412_480
    time.tzset()


@pytest.mark.parametrize(("length", "is_read"), [(64, True), (65, False)])
def test_ours_no_date_has_more_than_64_characters(length: int, is_read: bool) -> None:
    date = "21 Oct 2015 07:28:00 GMT ("
    asked = read_header(f"unavailable_after: {date}{'x' * (length - len(date) - 1)})")
    assert (asked.expires == 1_445_412_480) is is_read


def test_ours_evidence_has_at_most_160_characters_of_the_author() -> None:
    for length in (159, 160):
        value = "noindex," + "x" * (length - 8)
        assert read_header(value).noindex == f'X-Robots-Tag "{value}"'
    for length in (161, 208):
        value = "noindex," + "x" * (length - 8)
        assert read_header(value).noindex == f'X-Robots-Tag "{value[:160]}…"'


def test_google_meta_elements_and_headers_for_all_robots_and_for_us_add_up() -> None:
    metas = {"robots": ["max-snippet:20", "nofollow"], "siteatlas": ["noimageindex"], "googlebot": ["noindex"]}
    asked = read_directives(metas, ["noarchive", "unavailable_after: 2015-10-21"], "SiteAtlas", NOW)
    assert (asked.noindex, asked.nofollow, asked.noimageindex, asked.expires) == ("", True, True, 1_445_385_600)
    assert read_directives({**metas, "robots": ["noindex"]}, ["none"], US, NOW).noindex == 'X-Robots-Tag "none"'
    assert read_directives({"robots": ["noindex"]}, [], "", NOW).noindex == 'meta robots "noindex"'
    assert read_directives({}, [], US, NOW) == NO_DIRECTIVES
