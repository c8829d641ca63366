"""The pictures as numbers: nothing overlaps, nothing leaves its frame, and sizes follow what they stand for."""

from itertools import pairwise
from random import Random

import pytest

from crawler.audit.report.charts import STACK_WIDTH, history_chart, stacked_chart


@pytest.mark.parametrize("seed", range(10))
def test_ours_stacked_bars_are_in_their_places_and_as_high_as_their_counts(seed: int) -> None:
    some = Random(seed)
    places = sorted(some.sample(range(90), some.randint(1, 40)))
    columns = [(place, str(place), [some.randrange(10**seed) for _ in range(3)]) for place in places]
    columns[0][2][0] += 1
    chart = stacked_chart([("a", "series-1"), ("b", "series-2"), ("c", "series-3")], columns)
    assert chart is not None
    (bottom, _), *_, (top, _) = chart.lines
    scale = max(sum(height for *_, height in bar.parts) / sum(bar.counts) for bar in chart.bars if sum(bar.counts))
    for bar, (_, label, counts) in zip(chart.bars, columns, strict=True):
        assert bar.label == label
        assert 0 <= bar.x < bar.x + bar.width <= STACK_WIDTH
        y = bottom
        for series, start, height in bar.parts:
            assert height == pytest.approx(counts[series] * scale)
            assert start == pytest.approx(y - height)
            y = start
        assert y >= top - 1e-9
    for left, right in pairwise(chart.bars):
        assert left.x + left.width <= right.x
    steps = {
        round((right.x - left.x) / (after - before), 6)
        for (left, right), (before, after) in zip(pairwise(chart.bars), pairwise(places), strict=True)
    }
    assert len(steps) <= 1  # a day without logs is a gap


def test_ours_nothing_counted_is_no_chart() -> None:
    assert stacked_chart([("a", "series-1")], [(1, "x", [0])]) is None
    assert stacked_chart([("a", "series-1")], []) is None
    assert history_chart([]) is None
