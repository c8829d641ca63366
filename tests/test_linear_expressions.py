"""Every regular expression of both packages takes linear time, whatever the text."""

import random
import re

import pumping
import pytest
from pumping import Expression, expressions, slowest

import crawler
import sitemap

# all modules are imported, and Datasette leaves a connection open when it is
pytestmark = [pytest.mark.thorough, pytest.mark.filterwarnings("ignore:unclosed database:ResourceWarning")]


def test_ours_pumping_finds_expressions_that_are_not_linear(monkeypatch: pytest.MonkeyPatch) -> None:
    """The attack itself: it must find what is known to be slow, and pass what is known to be linear."""
    monkeypatch.setattr(pumping, "SHORT", 1_500)  # a short text finds these too, in less time
    monkeypatch.setattr(pumping, "SECONDS", pumping.SECONDS / 4)
    for source, method in (
        (r"\s*:", "search"),
        (r"(.*?)\s*", "fullmatch"),
        (r"(a|aa)+$", "match"),
        (r"a*a*b", "match"),
    ):
        assert slowest(Expression(source, re.compile(source), method), random.Random(1)), source
    for source, method in ((r"\s*+:", "match"), (r"[^<]*+<", "match"), (r"(?<!a)a++b", "search")):
        assert slowest(Expression(source, re.compile(source), method), random.Random(1)) is None, source


def test_ours_no_expression_takes_more_than_linear_time() -> None:
    rng = random.Random(20261122)
    attacks = {expression.name: slowest(expression, rng, tries=6) for expression in expressions(crawler, sitemap)}
    assert len(attacks) > 200
    slow = {name: attack for name, attack in attacks.items() if attack}
    assert slow == {}, "anchor it at the start, or make what repeats possessive (*+): it is tried by search, too"


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_ours_no_expression_takes_more_than_linear_time_under_many_attacks(seed: int) -> None:
    rng = random.Random(seed)
    for expression in expressions(crawler, sitemap):
        assert slowest(expression, rng, tries=60) is None, expression.name
