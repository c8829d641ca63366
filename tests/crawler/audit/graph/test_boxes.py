"""Boxes whose links change: what reads of drawn boxes teach, and how many pages they are expected to show beside."""

import random

import pytest

from crawler.audit.graph.boxes import KEPT, Boxes, PageReads

NOW = 1_790_000_000.0


def draws(draw: random.Random, pool: int, pages: int, reads: int, size: int = 3) -> list[PageReads]:
    """Pages with two links that stay, and a box of so many links out of a pool at each read."""

    def read() -> frozenset[int]:
        return frozenset({1, 2, *draw.sample(range(1_000, 1_000 + pool), size)})

    return [PageReads(number, "page", None, [read() for _ in range(reads)]) for number in range(pages)]


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("pool", [6, 20, 60, 150])
def test_ours_the_pages_that_no_read_showed_are_estimated(seed: int, pool: int) -> None:
    draw = random.Random(seed)
    boxes = Boxes()
    boxes.learn(draws(draw, pool, pages=20, reads=3), NOW)
    shown = {target for targets in boxes.links().values() for target in targets}
    assert not shown & {1, 2}
    unseen, estimate = pool - len(shown), boxes.unseen({"page": 20})
    assert unseen / 3 - 2 <= estimate <= 3 * unseen + 6, (seed, pool)  # some three are left by chance of a pool of 60
    boxes.learn(draws(draw, pool, pages=20, reads=40), NOW)  # enough reads leave nothing open
    assert boxes.unseen({"page": 20}) < 0.05, (seed, pool)


def test_ours_pages_that_stand_still_have_no_box() -> None:
    boxes = Boxes()
    boxes.learn([PageReads(1, "page", frozenset({5, 6}), [frozenset({5, 6})] * 2)], NOW)
    assert (boxes.links(), boxes.swapping(), boxes.unseen({"page": 9})) == ({}, [], 0.0)


def test_ours_a_link_that_an_editor_removes_makes_no_box_and_a_swap_makes_a_doubt() -> None:
    boxes = Boxes()
    boxes.learn([PageReads(1, "page", frozenset({5, 6}), [frozenset({5})])], NOW)
    assert (boxes.links(), boxes.swapping()) == ({}, [])
    boxes.learn([PageReads(1, "page", frozenset({5, 6}), [frozenset({5, 7})])], NOW)
    assert (boxes.links(), boxes.swapping()) == ({}, [1])
    boxes.learn([PageReads(1, "page", frozenset({5, 7}), [frozenset({5, 8})])], NOW)
    assert (boxes.links(), boxes.swapping()) == ({1: [6, 7, 8]}, [1])


def test_ours_what_a_box_has_not_shown_for_a_month_is_forgotten() -> None:
    boxes = Boxes()
    boxes.learn([PageReads(1, "page", None, [frozenset({5, 6}), frozenset({5, 7})])], NOW)
    assert boxes.links() == {1: [6, 7]}
    boxes.learn([], NOW + KEPT)
    assert boxes.links() == {1: [6, 7]}
    boxes.learn([], NOW + KEPT + 1)
    assert (boxes.links(), boxes.shapes) == ({}, set())
