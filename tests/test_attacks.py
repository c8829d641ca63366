"""A few seeded attacks of each family; ``python -m tests.attacks`` draws more, for as long as one likes."""

import random
import time

import pytest
from attacks import families, load

# all modules are imported, and Datasette leaves a connection open when it is
pytestmark = [pytest.mark.thorough, pytest.mark.filterwarnings("ignore:unclosed database:ResourceWarning")]


@pytest.mark.parametrize("family", families())
def test_ours_attacks_break_nothing(family: str) -> None:
    rng = random.Random(f"20261122 {family}")
    ends = time.monotonic() + 3
    for seed in (rng.randrange(10**9) for _ in range(3)):
        assert load(family, small=True)(seed) is None, seed
        if time.monotonic() > ends:  # an attack on a whole crawl takes seconds: one is enough here
            break


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("family", families())
def test_ours_many_attacks_break_nothing(family: str) -> None:
    for seed in range(100):
        assert load(family)(seed) is None, seed
