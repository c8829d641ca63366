"""The line that the live display shows."""

import io

import pytest
from rich.console import Console

from crawler.cli.progress import CrawlProgressDisplay
from crawler.crawl.engine import Tally
from crawler.crawl.progress import progress_line
from crawler.units import clock_text, size_text
from sitemap import safe


@pytest.mark.parametrize(
    ("tally", "rate", "growth", "line"),
    [
        (Tally(known=1), 0, 0, "0 of 1 found"),
        (Tally(known=2000, done=100), 50, 40, "100 of 2,000 found · 50/s"),  # still finding: no guess
        (Tally(known=2000, done=1000), 50, 2, "1,000 of 2,000 found · 50/s · 20 s left"),
        (Tally(known=20, done=10, failed=3), 2.5, 0, "10 of 20 found · 2.5/s · 3 errors · 4.0 s left"),
        (Tally(known=20, done=10, paused="waiting 30 s as asked"), 0, 0, "10 of 20 found · waiting 30 s as asked"),
    ],
)
def test_ours_the_time_left_is_told_only_when_it_can_be_known(
    tally: Tally, rate: float, growth: float, line: str
) -> None:
    assert progress_line(tally, rate, growth) == line


def test_ours_the_part_of_the_work_that_has_begun_is_shown() -> None:
    shown = io.StringIO()
    with CrawlProgressDisplay(Console(file=shown, force_terminal=True, width=100)) as display:
        display.part("crawling")
        display.watch(Tally(known=3, done=2))
        display.part("judging")
    assert "crawling · 2 of 3 found" in shown.getvalue()
    assert shown.getvalue().rindex("judging") > shown.getvalue().rindex("crawling")


def test_ours_times_and_sizes_are_for_people() -> None:
    assert [clock_text(seconds) for seconds in (0.42, 42, 187, 7387)] == ["0.4 s", "42 s", "3:07", "2:03:07"]
    assert [size_text(size) for size in (812, 1400, 268e6, 5e9)] == ["812 bytes", "1.4 kB", "268 MB", "5.0 GB"]


def test_ours_nothing_from_the_web_commands_a_terminal() -> None:
    assert safe("a\x1b[31mb\u202ec\x07") == "a\\x1b[31mb\\u202ec\\x07"
