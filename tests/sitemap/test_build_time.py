"""The times of builds among dates, against a slow count over every window."""

import random
from collections import Counter
from itertools import pairwise

import pytest

from sitemap import MIN_BUILD_PAGES, find_build_times, majority_build
from sitemap.build_time import BUILD_SECONDS


def counted(times: list[float]) -> list[tuple[float, int]]:
    return sorted(Counter(times).items())


def in_builds(times: list[float], min_pages: int, min_share: float) -> set[float]:
    """Every time in a window of the length of a build that holds enough pages: all windows that begin at a time."""
    least = max(min_pages, min_share * len(times))
    windows = ([at for at in times if first <= at <= first + BUILD_SECONDS] for first in times)
    return {at for window in windows if len(window) >= least for at in window}


@pytest.mark.parametrize("seed", range(60))
def test_ours_a_time_is_of_a_build_if_a_window_around_it_holds_enough_pages(seed: int) -> None:
    rng = random.Random(seed)
    times = [float(rng.randrange(rng.choice((3_000, 30_000, 300_000)))) for _ in range(rng.randrange(1, 90))]
    for _ in range(rng.randrange(4)):
        begin, length = rng.randrange(300_000), rng.choice((1, 4, 300, 2_000))
        times += [float(begin + rng.randrange(length)) for _ in range(rng.randrange(60))]
    min_pages, min_share = rng.choice((1, 3, 5, 20)), rng.choice((0.0, 0.1, 0.5))
    builds = find_build_times(counted(times), len(times), min_pages=min_pages, min_share=min_share)
    covered = {at for at in times if any(build.first <= at <= build.last for build in builds)}
    assert covered == in_builds(times, min_pages, min_share)
    assert sum(build.pages for build in builds) == sum(at in covered for at in times)
    assert all(earlier.last < later.first for earlier, later in pairwise(builds))


def test_ours_a_build_of_four_seconds_is_one_build() -> None:
    times = [10.0] * 44 + [11.0] * 36 + [12.0] * 17 + [13.0] * 3
    build = majority_build(counted(times), len(times))
    assert build is not None
    assert (build.first, build.last, build.pages) == (10.0, 13.0, 100)
    assert build.range_text == "lie between 1970-01-01T00:00:10 and 00:00:13"
    assert majority_build(counted(times[: MIN_BUILD_PAGES - 1]), MIN_BUILD_PAGES - 1) is None


def test_ours_edits_over_a_year_are_no_build() -> None:
    rng = random.Random(1)
    times = [rng.randrange(365 * 86_400) + 0.0 for _ in range(1_000)]
    assert find_build_times(counted(times), len(times), min_pages=5, min_share=0.1) == []
