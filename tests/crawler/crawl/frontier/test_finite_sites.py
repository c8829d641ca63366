"""No page of a site with an end is lost as if the site were endless: a frontier against made-up sites."""

from pathlib import Path

import pytest
from endless_sites import FINITE, archive, calendar_by_query, shop, visit

PATIENCE = 25


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.thorough] * (name in ("a shop", "a wiki"))) for name in FINITE]
)
def test_ours_no_page_of_a_site_with_an_end_is_lost(tmp_path: Path, name: str) -> None:
    site, real = FINITE[name]()
    crawl = visit(site, tmp_path, patience=PATIENCE)
    assert real - crawl.listed == set()
    assert not crawl.traps
    assert crawl.notes == []


@pytest.mark.slow
def test_ours_twenty_thousand_products_behind_four_hundred_pages_of_a_list_are_all_found(tmp_path: Path) -> None:
    site, real = shop(20_000, 50)
    crawl = visit(site, tmp_path)
    assert crawl.listed == real


def test_ours_a_list_tells_something_though_a_sitemap_has_named_all_that_is_in_it(tmp_path: Path) -> None:
    site, real = shop(1_200, 5)
    crawl = visit(site, tmp_path, patience=PATIENCE, named=sorted(path for path in real if "product" in path))
    assert crawl.read[1].startswith("/product") or crawl.read[2].startswith("/product")
    assert real - crawl.listed == set()
    assert not crawl.traps


def test_ours_a_patience_of_nought_reads_on(tmp_path: Path) -> None:
    crawl = visit(calendar_by_query, tmp_path, patience=0, most=2_000)
    assert len(crawl.read) == 2_000
    assert not crawl.traps


def test_ours_what_failed_is_no_evidence(tmp_path: Path) -> None:
    """A site whose months all fail from some day on is not endless: it is out of order."""
    site, real = archive(30)
    months = sorted((path for path in real if path.count("/") == 3), reverse=True)

    def failing(path: str) -> str | None:
        return "fails" if path in months[60:] else site(path)

    crawl = visit(failing, tmp_path, patience=PATIENCE)
    assert not crawl.traps
