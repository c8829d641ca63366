"""A fleet while faults happen to it that are drawn from a seed, a known site at its worst moment, and a calm hour.

``python -m tests.trials.fleet --seed 1 --trials 20 --faults 20`` draws many more faults, and
``python -m tests.trials.fleet.hour`` has 300 sites and 4 workers.
"""

from pathlib import Path

import pytest
from postgres_server import postgres_server
from trials.fleet.hour import hour
from trials.fleet.trial import trial

pytestmark = pytest.mark.thorough


@pytest.mark.slow
@pytest.mark.parametrize("seed", [11, 12])  # a worker died between its first publish and its first snapshot
def test_ours_whatever_befalls_a_fleet_is_mended_and_nobody_sees_it(tmp_path: Path, seed: int) -> None:
    with postgres_server() as postgres:
        report = trial(seed, tmp_path, postgres, faults=12)
    assert not report.wrong, (report.events, report.facts)


@pytest.mark.slow
def test_ours_each_due_run_is_made_once_with_the_results_of_one_machine(tmp_path: Path) -> None:
    with postgres_server() as postgres:
        facts, wrong = hour(tmp_path, postgres.new_database(), sites=12, workers=2, minutes=0.5, seed=1)
    assert not wrong, facts
