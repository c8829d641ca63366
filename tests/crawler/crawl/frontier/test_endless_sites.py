"""Endless sites end and cost little, whatever the order of answers: a frontier against made-up sites."""

from pathlib import Path

import pytest
from endless_sites import ENDLESS, REAL, SHOP, calendar_by_query, visit

PATIENCE = 25


MOST = {"facets": 600}  # pages that may be read; each set of filters has a few to show what it is


@pytest.mark.parametrize("name", ENDLESS)
def test_ours_an_endless_site_ends_and_its_real_pages_are_all_found(tmp_path: Path, name: str) -> None:
    crawl = visit(ENDLESS[name], tmp_path, patience=PATIENCE)
    assert set(REAL) <= crawl.listed
    assert name != "facets" or set(SHOP) <= crawl.listed
    assert crawl.traps
    assert len(crawl.read) < MOST.get(name, 300)
    assert len(crawl.notes) == 1


def test_ours_what_waits_is_visited_when_another_page_leads_there(tmp_path: Path) -> None:
    """A link from anywhere else is evidence that no template makes up."""
    site = calendar_by_query

    def linked(path: str) -> str | None:
        page = site(path)
        far = '<a href="/cal?date=900">the party</a>'
        return f"{page}{far}" if path == next(iter(REAL)) else page

    late = next(iter(REAL))

    def later(path: str) -> str | None:
        """The same, found only when the calendar has been left long ago."""
        if path == "/":
            return (site("/") or "").replace(late, "/way-a")
        steps = {f"/way-{'a' * n}": f"/way-{'a' * (n + 1)}" for n in range(1, 80)}
        if path in steps:
            return f'<a href="{steps[path] if len(path) < 80 else late}">on</a>'
        return linked(path)

    for number, each in enumerate((linked, later)):
        folder = tmp_path / str(number)
        folder.mkdir()
        crawl = visit(each, folder, patience=PATIENCE)
        assert "/cal?date=900" in crawl.listed
        assert "/cal?date=901" in crawl.read or "/cal?date=901" in crawl.traps
        assert len(crawl.read) < 300
