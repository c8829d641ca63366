"""What was decided of endless sites is decided again: by the next process, and of a state as of what is counted."""

from pathlib import Path

import pytest
from endless_sites import ENDLESS, calendar_by_query, end_run, visit

from crawler.crawl.frontier.traps import TrapDetector

PATIENCE = 25


def test_ours_what_was_decided_is_decided_again_by_the_next_process(tmp_path: Path) -> None:
    """A crawl that was killed when all was decided asks for nothing more, and tells the same."""
    first = visit(calendar_by_query, tmp_path, patience=PATIENCE, seed=1)
    again = visit(calendar_by_query, tmp_path, patience=PATIENCE)
    assert again.read == []
    assert again.ends == first.ends
    assert again.notes == first.notes


@pytest.mark.parametrize(
    "name",  # those of other names end as copies
    [
        pytest.param(name, marks=[pytest.mark.thorough] * (name == "facets"))
        for name in sorted(ENDLESS.keys() - {"relative links", "session ids"})
    ],
)
def test_ours_what_is_counted_on_the_way_is_what_the_state_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """A run that is resumed counts again, and must decide as if it had never stopped."""
    reviewed = TrapDetector.review_postponed
    compared = 0

    def compare(self: TrapDetector) -> bool:
        nonlocal compared
        admitted = reviewed(self)
        if self._is_counted:
            again = TrapDetector(self._db, self._state_counts, self._out, PATIENCE)
            assert +self._family == +again._family
            assert +self._own == +again._own
            compared += 1
        return admitted

    monkeypatch.setattr(TrapDetector, "review_postponed", compare)
    visit(ENDLESS[name], tmp_path, patience=PATIENCE)
    assert compared


def test_ours_an_endless_template_of_which_a_sitemap_lists_some_urls_is_the_same_in_each_run(tmp_path: Path) -> None:
    named = [f"/cal?date={day}" for day in range(100, 110)]
    first = visit(calendar_by_query, tmp_path, patience=PATIENCE, named=named)
    end_run(tmp_path)
    again = visit(calendar_by_query, tmp_path, patience=PATIENCE, named=named)
    assert again.listed == first.listed
    assert {*named} <= again.listed
    assert again.traps
