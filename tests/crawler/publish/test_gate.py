"""The gate: which sets may replace the published one, and what is said of those that may not."""

from typing import Any

import pytest

from crawler.model import State, Url, Verdict
from crawler.publish.gate import GateFacts, GateLimits, IdenticalPages, LostPages, StartUrlStatus, refusal_of

HOME = Url("https://a.example/")
PAGE = Url("https://a.example/p")
WELL = StartUrlStatus(HOME, Verdict(State.INDEXABLE), 200, was_published=True, is_listed=True)
LOST_240 = (
    "240 of the 1,000 published pages would leave without a good reason, over the 20% that --max-shrink allows: "
    "150 blocked by robots.txt (https://a.example/p: robots.txt line 2: Disallow: /p), "
    "90 no longer linked (https://a.example/p); if this is intended, run once with --accept-shrink"
)


def facts(**other: Any) -> GateFacts:
    whole = {"start": WELL, "published": 100, "listed": 100, "failed": 0, "visited": 100}
    return GateFacts(**{**whole, **other})


def gone(state: State, count: int = 50, status: int | None = None, target: str = "", reason: str = "") -> LostPages:
    return LostPages(state=state, status=status, target=target, count=count, url=PAGE, reason=reason)


def start(state: State, status: int | None = 200, target: Url | None = None, **other: bool) -> StartUrlStatus:
    standing = {"was_published": True, "is_listed": False, **other}
    return StartUrlStatus(HOME, Verdict(state, "the evidence", target), status, **standing)


@pytest.mark.parametrize(
    "passing",
    [
        facts(),
        facts(published=0, start=StartUrlStatus(HOME)),  # a first crawl
        facts(published=0, start=start(State.REDIRECT, 301, was_published=False)),
        facts(listed=400),
        # why pages may go, however many do
        facts(listed=50, gone=[gone(State.CLIENT_ERROR, status=404)]),
        facts(listed=50, gone=[gone(State.CLIENT_ERROR, status=410)]),
        facts(listed=50, gone=[gone(State.NOINDEX)]),
        facts(listed=50, gone=[gone(State.CANONICAL_ELSEWHERE)]),
        facts(listed=50, gone=[gone(State.REDIRECT, status=301, target="")]),
        facts(listed=50, gone=[gone(State.REDIRECT, status=302, target="")]),  # each to a page of its own
        facts(listed=50, gone=[gone(State.EXCLUDED)]),
        facts(listed=50, gone=[gone(State.OUT_OF_SCOPE)]),
        # few
        facts(listed=80, gone=[gone(State.UNLINKED, 20)]),
        facts(published=8, listed=4, gone=[gone(State.UNLINKED, 4)]),
        facts(listed=50, gone=[gone(State.UNLINKED, 10), gone(State.ROBOTS, 10), gone(State.NOINDEX, 30)]),
        facts(failed=4, visited=8),
        facts(failed=20),
        facts(alike=IdenticalPages(20, PAGE)),
        facts(published=6, alike=IdenticalPages(4, PAGE)),
        # the start URL
        facts(start=start(State.REDIRECT, 301, PAGE, is_listed=True)),  # "/" became "/en/"
        facts(start=start(State.REDIRECT, 301, PAGE, was_published=False)),  # and it always did
        facts(start=start(State.NOINDEX, was_published=False)),
        facts(start=start(State.CLIENT_ERROR, 404, was_published=False)),  # something is published: it is the place
        facts(published=0, start=start(State.CLIENT_ERROR, 401, was_published=False)),
        facts(start=start(State.EXCLUDED)),
    ],
)
def test_ours_a_set_that_is_plausible_passes(passing: GateFacts) -> None:
    assert refusal_of(passing, GateLimits()) is None


@pytest.mark.parametrize(
    ("refused", "said"),
    [
        (facts(start=start(State.SERVER_ERROR, 503, is_listed=True)), "the start URL https://a.example/ failed"),
        (facts(start=start(State.CLIENT_ERROR, 429)), "failed (the evidence)"),
        (facts(start=start(State.BAD_ANSWER, was_published=False)), "failed (the evidence)"),
        (facts(failed=21), "21 of 100 pages failed, over the 20% that --max-failed allows"),
        (facts(failed=5, visited=9), "5 of 9 pages failed"),
    ],
)
def test_ours_a_site_in_trouble_is_refused_whatever_is_accepted(refused: GateFacts, said: str) -> None:
    for allowed in (GateLimits(), GateLimits(accept_shrink=True)):
        told = refusal_of(refused, allowed)
        assert told
        assert said in told.sentence
        assert told.exit_code == 3


@pytest.mark.parametrize(
    ("refused", "said"),
    [
        (facts(start=start(State.NOINDEX)), "was published and is noindex now (the evidence)"),
        (facts(start=start(State.REDIRECT, 302, Url("https://b.example/"))), "is redirect now"),
        (facts(start=start(State.CLIENT_ERROR, 404)), "is client error now"),
        (facts(start=start(State.ROBOTS, None)), "is blocked by robots.txt now"),
        (
            facts(
                published=1000,
                listed=700,
                gone=[
                    gone(State.UNLINKED, 90),
                    gone(State.ROBOTS, 150, reason="robots.txt line 2: Disallow: /p"),
                    gone(State.NOINDEX, 60),
                ],
            ),
            LOST_240,
        ),
        (facts(published=7, listed=2, gone=[gone(State.WRONG_TYPE, 5)]), "5 wrong type"),
        (facts(gone=[gone(State.CLIENT_ERROR, 21, status=403)]), "21 client error"),
        (facts(gone=[gone(State.TRAP, 21)]), "21 trap"),
        (facts(gone=[gone(State.TOO_DEEP, 21)]), "21 too deep"),
        (facts(gone=[gone(State.NOFOLLOW, 21)]), "21 linked by nofollow only"),
        (facts(gone=[gone(State.SERVER_ERROR, 21, status=500)]), "21 server error"),
        (facts(gone=[gone(State.PENDING, 21)]), "21 pending"),
        (
            facts(gone=[gone(State.REDIRECT, 21, 302, "https://a.example/login")]),
            "21 redirect to https://a.example/login for now (https://a.example/p)",
        ),
        (
            facts(gone=[gone(state, 6) for state in (State.TRAP, State.ROBOTS, State.UNLINKED)] * 2),
            "12 for other reasons",
        ),
        (facts(alike=IdenticalPages(21, PAGE)), "21 of the 100 published pages now have identical content"),
    ],
)
def test_ours_a_set_that_lost_too_much_is_refused_until_it_is_accepted(refused: GateFacts, said: str) -> None:
    told = refusal_of(refused, GateLimits())
    assert told
    assert said in told.sentence
    assert "--accept-shrink" in told.sentence
    assert told.exit_code == 3
    assert refusal_of(refused, GateLimits(accept_shrink=True)) is None
    assert refusal_of(refused, GateLimits(max_shrink=0.0)) is not None


def test_ours_the_shares_are_the_operators() -> None:
    half = facts(listed=50, gone=[gone(State.UNLINKED, 50)])
    assert refusal_of(half, GateLimits(max_shrink=0.5)) is None
    assert refusal_of(half, GateLimits(max_shrink=0.49)) is not None
    assert refusal_of(facts(failed=50), GateLimits(max_failed=0.5)) is None
    assert refusal_of(facts(failed=5, visited=1000), GateLimits(max_failed=0)) is not None


def test_ours_an_empty_set_is_never_published() -> None:
    for was_published in (False, True):
        for accepted in (False, True):
            away = start(State.REDIRECT, 301, Url("https://b.example/"), was_published=was_published)
            told = refusal_of(facts(start=away, listed=0), GateLimits(accept_shrink=accepted))
            assert told
            assert told.exit_code == 5
            assert "to crawl there: siteatlas crawl https://b.example/" in told.sentence
    assert "is indexable" in getattr(refusal_of(facts(listed=0), GateLimits()), "sentence", "")
