"""What is listed of an endless site does not depend on the order of answers."""

from pathlib import Path

import pytest
from endless_sites import ENDLESS, visit

PATIENCE = 25


DEAR = {"facets", "searches", "sort orders"}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.thorough] * (name in DEAR)) for name in ENDLESS]
)
def test_ours_what_is_listed_of_an_endless_site_does_not_depend_on_the_order_of_answers(
    tmp_path: Path, name: str
) -> None:
    listed = []
    for seed in range(3):
        folder = tmp_path / str(seed)
        folder.mkdir()
        crawl = visit(ENDLESS[name], folder, patience=PATIENCE, seed=seed, width=6 * seed + 1)
        listed.append(crawl.listed)
    assert all(each == listed[0] for each in listed)
