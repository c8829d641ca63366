"""Trials by kind that were wrong once, with the false dates and the missed edits that are left."""

import pytest

from tests.trials.lastmod_kinds.trial import Draw, run


@pytest.mark.parametrize(
    ("kind", "pages", "seed", "false", "missed"),
    [
        ("H", 8, 58773, 0, 0),  # items taken off the lists of one page each night
        # a sentence in a section; the six are the stock of one product, which looks like a counter
        ("I", 200, 52000774, 0, 6),
        ("A", 40, 640425, 0, 0),  # a theme adds a sentence with the title of each page
        ("A", 40, 640422, 0, 0),  # an author takes a sentence away in the night in which a theme adds one
        ("E", 8, 2990, 0, 0),  # an author moves a paragraph, and each request renames the classes around it
    ],
)
def test_ours_a_trial_that_was_wrong_stays_right(kind: str, pages: int, seed: int, false: int, missed: int) -> None:
    judge = run(Draw(kind, pages, seed), None).judge
    assert len(judge.false) <= false
    assert len(judge.missed) <= missed
