"""Finds the times of builds among dates: short windows in which a large share of all pages was written. Pure.

A generator or a deployment writes all files of a site within seconds or minutes, so the dates of the files tell when
the site was built, not when a page was edited. Search engines want the date of the last significant change
(https://developers.google.com/search/blog/2023/06/sitemaps-lastmod-ping).
"""

from collections import deque
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Final, NamedTuple

BUILD_SECONDS: Final = 600.0
"""Seconds within which the dates of one build lie close together; a longer build is several such windows in a row."""
MIN_BUILD_PAGES: Final = 20
"""Dated pages of a sitemap; with fewer, dates that lie close together prove nothing."""


_DAY: Final = len("2024-05-08T")


class BuildTime(NamedTuple):
    """The time of a build: its first and last date as Unix times, and the number of pages between them."""

    first: float
    last: float
    pages: int

    @property
    def range_text(self) -> str:
        """For a sentence: "are 2024-05-08T08:53:11" or "lie between 2024-05-08T08:53:11 and 08:53:14", in UTC."""
        first, last = (datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%S") for at in (self.first, self.last))
        if first == last:
            return f"are {first}"
        return f"lie between {first} and {last.removeprefix(first[:_DAY])}"


def find_build_times(
    dates: Iterable[tuple[float, int]], total: int, *, min_pages: int, min_share: float
) -> list[BuildTime]:
    """The times of builds, in order of time; none of them overlap.

    ``dates`` are Unix times in ascending order, each once, with the number of pages that have it. ``total`` counts the
    pages with a date. A window of ``BUILD_SECONDS`` is part of a build if it holds at least ``min_pages`` pages and
    ``min_share`` of the total.
    """
    least = max(min_pages, min_share * total)
    builds: list[BuildTime] = []
    window: deque[tuple[float, int]] = deque()
    held = counted = 0  # pages in the window, and of those the pages that the last build counts
    for moment, pages in dates:
        window.append((moment, pages))
        held += pages
        while window[0][0] < moment - BUILD_SECONDS:
            left = window.popleft()[1]
            held -= left
            counted = max(counted - left, 0)
        if held < least:
            continue
        first = window[0][0]
        if builds and first <= builds[-1].last:
            first, known = builds[-1].first, builds[-1].pages
            builds[-1] = BuildTime(first, moment, known + held - counted)
        else:
            builds.append(BuildTime(first, moment, held))
        counted = held
    return builds


def majority_build(dates: Iterable[tuple[float, int]], total: int) -> BuildTime | None:
    """The build that gave more than half of at least ``MIN_BUILD_PAGES`` pages their dates; None without one.

    The arguments are those of :func:`find_build_times`.
    """
    builds = find_build_times(dates, total, min_pages=MIN_BUILD_PAGES, min_share=0.5)
    return next((build for build in builds if build.pages * 2 > total), None)
