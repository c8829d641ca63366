"""Bodies in memory that the pool shares with its parser processes."""

import os
import random
import sys

import pytest

from crawler.parse.protocol import SharedBodies


@pytest.mark.parametrize("seed", range(20))
def test_ours_bodies_in_shared_memory_stay_whole_until_they_are_dropped(seed: int) -> None:
    chosen = random.Random(seed)
    memory = SharedBodies.create(1_000)
    if memory is None:
        pytest.skip("this system has no files in memory")
    held: list[tuple[int, bytes]] = []
    refused = 0
    for _ in range(2_000):
        body = chosen.randbytes(chosen.choice((0, 1, 7, 90, 400, 1_000, 1_001)))
        start = memory.put(body)
        if start is None:
            refused += 1
        else:
            held.append((start, body))
        assert all(memory.read(start, len(body)) == body for start, body in held)
        while held and chosen.random() < 0.4:
            memory.drop_first()
            del held[0]
    memory.close()
    assert 0 < refused < 2_000


@pytest.mark.skipif(sys.platform != "linux", reason="files in memory are of Linux")
def test_ours_shared_memory_cannot_be_cut_under_the_pool() -> None:
    memory = SharedBodies.create()
    assert memory
    for size in (0, 2**30):
        with pytest.raises(PermissionError):
            os.ftruncate(memory.file, size)
    memory.close()
