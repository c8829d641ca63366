"""A crawl of an endless site whose process was killed goes on to the same end."""

import os
import signal
from pathlib import Path

import pytest
from endless_sites import facets, visit

PATIENCE = 25


@pytest.mark.parametrize("reads", [30, *(pytest.param(reads, marks=pytest.mark.thorough) for reads in (55, 70))])
def test_ours_a_crawl_that_was_killed_goes_on_to_the_same_end(tmp_path: Path, reads: int) -> None:
    """Its process is killed after so many pages; what it had committed is there."""
    whole = tmp_path / "whole"
    whole.mkdir()
    expected = visit(facets, whole, patience=PATIENCE).listed
    cut = tmp_path / "cut"
    cut.mkdir()
    child = os.fork()
    if not child:
        try:
            visit(facets, cut, patience=PATIENCE, most=reads * 5, commit_every=7)
        finally:
            os.kill(os.getpid(), signal.SIGKILL)
    assert os.waitpid(child, 0)[1] == signal.SIGKILL
    assert visit(facets, cut, patience=PATIENCE).listed == expected
