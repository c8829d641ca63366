"""The pictures as numbers: nothing overlaps, nothing leaves its frame, and sizes follow what they stand for."""

from itertools import pairwise
from math import hypot
from random import Random

import pytest

from crawler.audit.finding import AuditFinding, SectionLinks, SegmentDepth, SiteSection
from crawler.audit.report.charts import (
    CELL,
    SEA_WIDTH,
    STACK_WIDTH,
    history_chart,
    island_map,
    link_matrix,
    segment_depth_chart,
    stacked_chart,
)
from crawler.audit.report.html_data import OrphanIsland

SECTIONS = [SiteSection(path, pages, 0, 0) for path, pages in (("/a/", 30), ("/b/", 20), ("/c/", 1))]


def test_ours_the_matrix_has_the_largest_section_first_and_names_the_lonely_ones() -> None:
    links = [SectionLinks("/b/", "/a/", 900), SectionLinks("/a/", "/b/", 1), SectionLinks("/c/", "/c/", 5)]
    matrix = link_matrix([*links, SectionLinks("/c/", "other sections", 2)], SECTIONS)
    assert matrix is not None
    assert matrix.labels == ["/a/", "/b/", "/c/", "other sections"]
    assert matrix.unlinked == ["/c/"]
    assert (matrix.links("/b/", "/a/"), matrix.links("/a/", "/a/")) == (900, 0)
    sizes = {(dot.source, dot.target): dot.size for dot in matrix.dots}
    assert sizes["/b/", "/a/"] > sizes["/c/", "/c/"] > sizes["/a/", "/b/"]
    assert link_matrix([SectionLinks("/a/", "/a/", 9)], SECTIONS) is None
    assert link_matrix([], SECTIONS) is None


@pytest.mark.parametrize("seed", range(10))
def test_ours_every_square_lies_within_its_cell(seed: int) -> None:
    some = Random(seed)
    names = [f"/{n}/" for n in range(some.randrange(2, 14))]
    sections = [SiteSection(name, 9, 0, 0) for name in names]
    links = [SectionLinks(source, to, int(some.paretovariate(0.2))) for source in names for to in names]
    matrix = link_matrix(links, sections)
    assert matrix is not None
    left = matrix.width - len(names) * CELL
    for dot in matrix.dots:
        x, y = left + names.index(dot.target) * CELL, (names.index(dot.source) + 1) * CELL
        assert x < dot.x < dot.x + dot.size < x + CELL
        assert y < dot.y < dot.y + dot.size < y + CELL
        assert dot.y + dot.size < matrix.height


@pytest.mark.parametrize("seed", range(20))
def test_ours_islands_and_dots_lie_in_the_sea_and_never_on_each_other(seed: int) -> None:
    some = Random(seed)
    islands = [
        OrphanIsland(AuditFinding(rule="orphan.island", url=f"/{n}", sentence=""), int(some.paretovariate(0.5)))
        for n in range(some.randrange(50))
    ]
    orphans = [("In the logs only", some.randrange(1, 5_000)) for _ in range(some.randrange(4))]
    sea = island_map(islands, orphans)
    assert (sea is None) == (not islands and not orphans)
    if sea is None:
        return
    circles = [(each.x, each.y, each.radius) for each in sea.islands]
    circles += [(x, y, 3.5) for row in sea.dots for x, y in row.dots]
    assert all(radius <= x <= SEA_WIDTH - radius and y + radius <= sea.height for x, y, radius in circles)
    for place, (x, y, radius) in enumerate(circles):
        assert all(hypot(x - at, y - height) >= radius + other for at, height, other in circles[:place])
    assert len(sea.islands) + sea.more == len(islands)
    for row in sea.dots:
        assert len(row.dots) * row.pages_per_dot >= row.pages > (len(row.dots) - 1) * row.pages_per_dot


def test_ours_no_orphans_no_sea() -> None:
    assert island_map([], []) is None


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
    assert segment_depth_chart([]) is None


def test_ours_the_chart_by_segment_sums_up_the_smaller_ones() -> None:
    depths = [SegmentDepth(str(depth), {f"s{n}": 10 - n for n in range(8)}) for depth in range(3)]
    chart = segment_depth_chart(depths)
    assert chart is not None
    assert chart.series == ["s0", "s1", "s2", "s3", "s4", "other segments"]
    assert [bar.counts for bar in chart.bars] == [[10, 9, 8, 7, 6, 5 + 4 + 3]] * 3
