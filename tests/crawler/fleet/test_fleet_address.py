"""Sites on one address, run by several real workers: together they keep the rate of the address.

The sites have ports of their own on 127.0.0.1, so that they are different origins on one address.
"""

from collections.abc import Sequence
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import pytest
from run import siteatlas
from test_fleet_workers import Fleet, fleet_of

RATE = 4  # requests a second
WINDOW = 3.0  # seconds
ALLOWED = RATE * WINDOW + 2  # both ends count, and one may be delayed on its way
NAMES = ["one", "three", "two"]


def most_in_window(fleet: Fleet) -> int:
    """The most requests to the address in such a time; robots.txt is requested before the rate is known."""
    times = sorted(moment for site in fleet.sites.values() for moment, path, _ in site.log if path != "/robots.txt")
    return max(sum(start <= moment < start + WINDOW for moment in times) for start in times)


def overlapping(attempts: Sequence[dict[str, Any]]) -> int:
    """How many pairs of runs were under way at the same time."""
    return sum(
        first["began"] < second["ended"] and second["began"] < first["ended"]
        for first, second in combinations(attempts, 2)
    )


@pytest.mark.slow
@pytest.mark.parametrize("by_address", [True, False])
def test_ours_workers_keep_the_rate_of_an_address_together(tmp_path: Path, database: str, by_address: bool) -> None:
    with fleet_of(tmp_path, database, NAMES, pace=f"rate = {RATE}") as fleet:
        options = ["--set=fleet.by_address=true"] if by_address else []
        fleet.start(*options)
        fleet.start(*options)
        fleet.wait(lambda: fleet.done() == NAMES, 90)
        assert {len(set(site.paths)) >= 9 for site in fleet.sites.values()} == {True}
        if not by_address:  # else this test could not fail
            assert most_in_window(fleet) > ALLOWED
            return
        assert most_in_window(fleet) <= ALLOWED
        assert [row["address"] for row in fleet.rows("SELECT address FROM site")] == ["127.0.0.1"] * 3
        assert siteatlas(tmp_path, "fleet", "run-now", *NAMES, "--database", database).code == 0
        fleet.wait(lambda: fleet.done() == sorted(NAMES * 2), 90)
        assert most_in_window(fleet) <= ALLOWED
        again = fleet.rows("SELECT * FROM attempt ORDER BY number DESC LIMIT 3")
        assert overlapping(again) == 0, "now the address is known, so its runs wait in the queue, not in workers"
        assert all(later["began"] < earlier["began"] for earlier, later in pairwise(again))
