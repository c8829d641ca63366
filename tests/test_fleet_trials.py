"""A fleet while faults happen to it that are drawn from a seed, and a known site at its worst moment.

``python -m tests.trials.fleet --seed 1 --trials 20 --faults 20`` draws many more.
"""

from pathlib import Path

import pytest
from postgres_server import postgres_server
from trials.fleet.trial import trial


@pytest.mark.slow
@pytest.mark.parametrize("seed", [11, 12])  # a worker died between its first publish and its first snapshot
def test_ours_whatever_befalls_a_fleet_is_mended_and_nobody_sees_it(tmp_path: Path, seed: int) -> None:
    with postgres_server() as postgres:
        report = trial(seed, tmp_path, postgres, faults=12)
    assert not report.wrong, (report.events, report.facts)
