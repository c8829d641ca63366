"""Random trials of the certainty of findings, with some pages of drawn sites failing; a few are drawn here.

The long draw: ``python -m pytest -m slow tests/test_failing_trials.py``, or ``python -m tests.trials.failing``.
"""

import pytest

from tests.trials.failing import SHARES, Grown, precision, trial, truth

pytestmark = pytest.mark.thorough


def test_ours_the_truth_of_a_drawn_site_is_that_of_its_links() -> None:
    site = Grown()
    site.add("/a", "/b", "/hop")
    site.add("/b", "/a")
    site.add("/hidden", "/below").noindex = True
    site.add("/hop").target = "/new"
    for path in ("/new", "/below", "/lost", "/quiet"):
        site.add(path)
    site.add("/far", "/lost")
    site.link("/", "/a", "/b", "/hidden")
    site.pages["/b"].nofollow.append("/quiet")
    assert truth(site) == {
        "orphan": {"/far", "/lost"},
        "weak.redirect": {"/new"},
        "weak.noindex": {"/below"},
        "weak.nofollow": {"/quiet"},
        "reach.few": {"/hop", "/hidden"},
        "reach.deep": set(),
    }


def test_ours_what_is_certain_or_likely_of_a_few_drawn_sites_is_true() -> None:
    first = [trial(6, 0.001, is_second=False)]
    again = [trial(6, 0.05, is_second=True)]
    assert precision([*first, *again], "certain")[1] == 1
    assert precision(first, "likely")[0] > 0
    assert precision(again, "likely")[0] > 0
    assert precision([*first, *again], "likely")[1] >= 0.97


@pytest.mark.slow
@pytest.mark.parametrize("is_second", [False, True])
@pytest.mark.parametrize("share", SHARES)
def test_ours_certain_findings_hold_and_likely_ones_nearly_all(share: float, is_second: bool) -> None:
    results = [trial(seed, share, is_second) for seed in range(40)]
    assert precision(results, "certain")[1] == 1, results
    assert precision(results, "likely")[1] >= 0.97, [result.mistakes for result in results]
