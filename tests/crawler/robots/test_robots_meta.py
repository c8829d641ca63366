import pytest

from crawler.robots.meta import NO_DIRECTIVES, read_header, read_meta

NOW = 1_800_000_000.0  # 2027-01-15
US = "siteatlas"


@pytest.mark.parametrize(
    "value", ["noindex", "NoIndex", " noindex ,x", "none", "NONE", "follow, noindex", "noindex nofollow"]
)
def test_google_noindex_keeps_the_authors_words(value: str) -> None:
    asked = read_meta("Robots", value, US)
    assert asked.noindex == f'meta robots "{value.strip()}"'
    assert read_header(value, US).noindex == f'X-Robots-Tag "{value.strip()}"'


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
    assert read_header(value, US) == NO_DIRECTIVES


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
    ],
)
def test_google_header_lists_and_robot_names(value: str, noindex: bool, nofollow: bool) -> None:
    asked = read_header(value, US)
    assert (bool(asked.noindex), asked.nofollow) == (noindex, nofollow)


def test_google_meta_for_another_robot_is_not_for_us() -> None:
    assert read_meta("googlebot", "noindex", US) == NO_DIRECTIVES
    assert read_meta("description", "noindex", US) == NO_DIRECTIVES
    assert read_meta("", "noindex", "") == NO_DIRECTIVES
    assert read_meta("SITEATLAS", "noindex", US).noindex == 'meta siteatlas "noindex"'


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
    ],
)
def test_google_unavailable_after(date: str) -> None:
    for value in (f"unavailable_after: {date}", f"noarchive, Unavailable_After:{date}, nofollow"):
        asked = read_header(value, US, NOW)
        assert asked.expires == 1_445_412_480
        assert asked.noindex == ""
        assert asked.noindex_at(1_445_412_479) == ""
        assert date in asked.noindex_at(1_445_412_481)
        assert asked.nofollow == value.endswith("nofollow")


@pytest.mark.parametrize(
    "date", ["", "never", "2015-13-45", "Wed, 99 Oct 2015 07:28:00 GMT", "9" * 5_000, "0000-01-01"]
)
def test_google_a_date_that_cannot_be_read_is_passed_over(date: str) -> None:
    asked = read_header(f"unavailable_after: {date}, nofollow", US, NOW)
    assert asked.expires is None
    assert asked.nofollow
    assert asked.noindex_at(NOW) == ""


def test_google_statements_add_up_and_the_most_restrictive_wins() -> None:
    both = read_meta("robots", "index, follow", US).merge(read_header("noindex", US))
    assert both.noindex == 'X-Robots-Tag "noindex"'
    both = read_header("unavailable_after: 2030-01-01, noimageindex", US, NOW).merge(
        read_header("unavailable_after: 2020-01-01, nofollow", US, NOW)
    )
    assert both.noimageindex
    assert both.nofollow
    assert "2020-01-01" in both.noindex_at(NOW)
    later = read_header("unavailable_after: 2030-01-01", US, NOW)
    assert NO_DIRECTIVES.merge(later) == later.merge(NO_DIRECTIVES) == later


def test_ours_evidence_is_short_and_printable() -> None:
    asked = read_header("noindex, \x1b[31m\x00" + "x" * 10_000, US)
    assert len(asked.noindex) < 200
    assert asked.noindex.isprintable()
