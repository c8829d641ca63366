"""The pictures as numbers: nothing overlaps, nothing leaves its frame, and sizes follow what they stand for."""

from math import hypot
from random import Random

import pytest

from crawler.audit.finding import AuditFinding, SectionLinks, SiteSection
from crawler.audit.report.charts import CELL, SEA_WIDTH, island_map, link_matrix
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
