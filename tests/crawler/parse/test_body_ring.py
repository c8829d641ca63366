"""The shared memory of bodies: no body is overwritten before its process has read it, and nobody can shrink it."""

import os
from collections import deque
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler.parse.body_ring import BodyRing, map_bodies

SIZE = 65_536


@given(st.lists(st.one_of(st.integers(0, SIZE // 3), st.none()), max_size=200))
def test_ours_a_body_stays_until_it_is_released(steps: list[int | None]) -> None:
    ring = BodyRing(SIZE)
    memory = map_bodies(os.dup(ring.descriptor))
    held: deque[tuple[int, bytes]] = deque()
    for number, length in enumerate(steps):
        if length is None:
            if held:
                place, body = held.popleft()
                assert memory[place : place + len(body)] == body
                ring.release()
            continue
        body = bytes([number % 251 + 1]) * length
        place = ring.put(body)
        if place >= 0:
            held.append((place, body))
            assert 0 <= place <= SIZE - length
        else:
            assert held or not 0 < length <= SIZE // 4
        assert all(memory[at : at + len(kept)] == kept for at, kept in held)
    ring.close()
    memory.close()


def test_ours_the_ring_takes_bodies_without_end_if_they_leave_in_time() -> None:
    ring, places = BodyRing(SIZE), set()
    for number in range(2_000):
        places.add(ring.put(b"x" * (1_000 + number % 700)))
        if number >= 8:
            ring.release()
    assert -1 not in places
    ring.close()


def test_ours_the_process_can_neither_write_nor_resize_it() -> None:
    ring = BodyRing(SIZE)
    memory = map_bodies(os.dup(ring.descriptor))
    with pytest.raises(TypeError):
        memory[0:1] = b"x"
    for size in (0, SIZE * 2):
        with pytest.raises(PermissionError):
            os.ftruncate(ring.descriptor, size)
    ring.close()
    memory.close()


def test_ours_without_shared_memory_no_body_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> int:
        raise OSError(27, "File too large")

    monkeypatch.setattr(os, "ftruncate", refuse)
    before = len(list(Path("/proc/self/fd").iterdir()))
    ring = BodyRing(SIZE)
    assert (ring.put(b"x"), ring.descriptors) == (-1, ())
    ring.close()
    assert len(list(Path("/proc/self/fd").iterdir())) == before
