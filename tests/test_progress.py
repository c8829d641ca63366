"""The line that the live display shows."""

import io

import pytest
from rich.console import Console

from crawler.cli.progress import CrawlProgressDisplay
from crawler.crawl.engine import WAITS, Tally
from crawler.crawl.progress import progress_line
from crawler.units import clock_text, size_text
from sitemap import safe


@pytest.mark.parametrize(
    ("tally", "rate", "growth", "line"),
    [
        (Tally(known=1), 0, 0, "0.0 s · 0 pages · 0 requests · 1 to fetch"),
        (  # it still discovers many URLs: no guess
            Tally(known=2000, done=900, listed=80, fetched=100, seconds=12),
            50,
            40,
            "12 s · 80 pages · 100 requests, 50/s · 1,100 to fetch",
        ),
        (
            Tally(known=2000, done=1000, listed=1, fetched=1, seconds=187),
            50,
            2,
            "3:07 · 1 page · 1 request, 50/s · 1,000 to fetch · 20 s left",
        ),
        (
            Tally(known=20, done=10, failed=3, fetched=9, seconds=4),
            2.5,
            0,
            "4.0 s · 0 pages · 9 requests, 2.5/s · 10 to fetch · 3 errors · 4.0 s left",
        ),
        (
            Tally(known=20, done=10, rendered=1_200, fetched=9, seconds=4),
            2.5,
            0,
            "4.0 s · 0 pages · 9 requests, 2.5/s · 10 to fetch · 1,200 rendered · 4.0 s left",
        ),
        (
            Tally(known=20, done=10, paused="waiting 30 s as asked"),
            0,
            0,
            "0.0 s · 0 pages · 0 requests · 10 to fetch · waiting 30 s as asked",
        ),
    ],
)
def test_ours_the_time_left_is_told_only_when_it_can_be_known(
    tally: Tally, rate: float, growth: float, line: str
) -> None:
    assert progress_line(tally, rate, growth) == line


def test_ours_the_part_of_the_work_that_has_begun_is_shown() -> None:
    shown = io.StringIO()
    with CrawlProgressDisplay(Console(file=shown, force_terminal=True, width=100), "www.example.com") as display:
        display.part("crawling")
        display.watch(Tally(known=3, done=2))
        display.part("judging")
    assert "www.example.com · crawling · 0.0 s · 0 pages · 0 requests · 1 to fetch" in shown.getvalue()
    assert shown.getvalue().rindex("judging") > shown.getvalue().rindex("crawling")


def test_ours_a_quiet_display_leaves_the_waits_of_later_crawls_told() -> None:
    with CrawlProgressDisplay(None, "www.example.com", enabled=False):
        assert WAITS.disabled
    assert not WAITS.disabled


def test_ours_times_and_sizes_are_for_people() -> None:
    assert [clock_text(seconds) for seconds in (0.42, 42, 187, 7387)] == ["0.4 s", "42 s", "3:07", "2:03:07"]
    assert [size_text(size) for size in (812, 1400, 268e6, 5e9)] == ["812 bytes", "1.4 kB", "268 MB", "5.0 GB"]


def test_ours_nothing_from_the_web_commands_a_terminal() -> None:
    assert safe("a\x1b[31mb\u202ec\x07") == "a\\x1b[31mb\\u202ec\\x07"
