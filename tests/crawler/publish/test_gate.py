"""The gate: which sets may replace the published one, and what is said of those that may not."""

from typing import Any

import pytest

from crawler.model import State, Url, Verdict
from crawler.publish.gate import (
    LINK_STATES,
    AlikePages,
    ChallengedPages,
    GateFacts,
    GateLimits,
    Hold,
    LostPages,
    Refusal,
    StartUrlStatus,
    challenge_note,
    judge,
)

HOME = Url("https://a.example/")
PAGE = Url("https://a.example/p")
WELL = StartUrlStatus(HOME, Verdict(State.INDEXABLE), 200, was_published=True, is_listed=True)
LOST_300 = (
    "300 of the 1,000 published pages would leave, over the 20% that --max-shrink allows: 300 blocked by robots.txt "
    "(https://a.example/p: robots.txt line 2: Disallow: /p). Their entries stay as they were. If this is intended, "
    "run once with --accept-shrink."
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
        # the operator's own rules
        facts(listed=50, gone=[gone(State.EXCLUDED)]),
        facts(listed=50, gone=[gone(State.OUT_OF_SCOPE)]),
        # few
        facts(listed=80, gone=[gone(State.UNLINKED, 20)]),
        facts(published=4, listed=2, gone=[gone(State.UNLINKED, 2)]),
        facts(listed=80, gone=[gone(State.UNLINKED, 10), gone(State.NOINDEX, 10), gone(State.EXCLUDED, 30)]),
        facts(failed=4, visited=8),
        facts(failed=20),
        facts(alike=AlikePages(20, PAGE)),
        facts(published=6, alike=AlikePages(2, PAGE)),
        # the start URL
        facts(start=start(State.REDIRECT, 301, PAGE, is_listed=True)),  # "/" became "/en/"
        facts(start=start(State.REDIRECT, 301, PAGE, was_published=False)),  # and it always did
        facts(start=start(State.NOINDEX, was_published=False)),
        facts(start=start(State.CLIENT_ERROR, 404, was_published=False)),  # something is published: it is the place
        facts(published=0, start=start(State.CLIENT_ERROR, 401, was_published=False)),
        facts(start=start(State.EXCLUDED)),
        facts(start=start(State.NOINDEX, is_accepted=True)),
    ],
)
def test_ours_a_set_that_is_plausible_passes(passing: GateFacts) -> None:
    assert judge(passing, GateLimits()) is None


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
        told = judge(refused, allowed)
        assert isinstance(told, Refusal)
        assert said in told.sentence
        assert told.exit_code == 3


@pytest.mark.parametrize(
    ("refused", "said", "doubted"),
    [
        (facts(start=start(State.NOINDEX)), "was published and is noindex now (the evidence)", State.NOINDEX),
        (facts(start=start(State.REDIRECT, 302, Url("https://b.example/"))), "is redirect now", State.REDIRECT),
        (facts(start=start(State.CLIENT_ERROR, 404)), "is client error now", State.CLIENT_ERROR),
        (facts(start=start(State.ROBOTS, None)), "is blocked by robots.txt now", State.ROBOTS),
        (facts(gone=[gone(State.UNLINKED, 21)]), "21 no longer linked", State.UNLINKED),
        (facts(gone=[gone(State.TOO_DEEP, 21), gone(State.REDIRECT, 3, 301)]), "21 too deep", State.TOO_DEEP),
        (facts(gone=[gone(State.NOFOLLOW, 21)]), "21 linked by nofollow only", State.NOFOLLOW),
        (facts(alike=AlikePages(21, PAGE, has_start=True)), "21 of the 100 published pages lost their main text", None),
    ],
)
def test_ours_when_the_crawl_cannot_be_believed_nothing_is_published_until_it_is_accepted(
    refused: GateFacts, said: str, doubted: State | None
) -> None:
    told = judge(refused, GateLimits())
    assert isinstance(told, Refusal)
    assert {kind.rstrip(" 0123456789") for kind in told.kinds} == ({doubted} if doubted else set())
    assert said in told.sentence
    assert "--accept-shrink" in told.sentence
    assert told.exit_code == 3
    assert judge(refused, GateLimits(accept_shrink=True)) is None
    assert isinstance(judge(refused, GateLimits(max_shrink=0.0)), Refusal)


@pytest.mark.parametrize(
    ("lost", "said"),
    [
        (gone(State.CLIENT_ERROR, 21, status=404), "21 client error"),
        (gone(State.CLIENT_ERROR, 21, status=410), "21 client error"),
        (gone(State.CLIENT_ERROR, 21, status=403), "21 client error"),
        (gone(State.NOINDEX, 21, 200), "21 noindex"),
        (gone(State.CANONICAL_ELSEWHERE, 21, 200), "21 canonical elsewhere"),
        (gone(State.REDIRECT, 21, 301), "21 redirect (https://a.example/p)"),
        (
            gone(State.REDIRECT, 21, 200, "https://a.example/"),
            "21 redirect to https://a.example/ (https://a.example/p)",
        ),
        (gone(State.REDIRECT, 21, 302, "https://a.example/login"), "21 redirect to https://a.example/login for now"),
        (gone(State.WRONG_TYPE, 21), "21 wrong type"),
        (gone(State.TRAP, 21), "21 trap"),
        (gone(State.SERVER_ERROR, 21, status=500), "21 server error"),
        (gone(State.PENDING, 21), "21 pending"),
    ],
)
def test_ours_a_landslide_is_held_whatever_its_reason(lost: LostPages, said: str) -> None:
    case = facts(listed=79, gone=[lost])
    held = judge(case, GateLimits())
    assert isinstance(held, Hold)
    assert said in held.sentence
    assert held.kinds == {lost.kind} | LINK_STATES
    assert not held.alike
    assert judge(case, GateLimits(accept_shrink=True)) is None


def test_ours_the_sentence_on_a_landslide_names_the_share_the_causes_and_the_remedies() -> None:
    robots = gone(State.ROBOTS, 300, reason="robots.txt line 2: Disallow: /p")
    held = judge(facts(published=1000, listed=700, gone=[robots]), GateLimits())
    assert isinstance(held, Hold)
    assert held.sentence == LOST_300
    explicit = LostPages(state=State.NOINDEX, status=200, count=30, url=PAGE, runs=2)
    held = judge(facts(gone=[explicit]), GateLimits())
    assert isinstance(held, Hold)
    assert "for 7 runs in a row and 7 days (--accept-after). So far: 2 runs." in held.sentence
    for never in (GateLimits(accept_after=0), GateLimits()):
        other = [explicit] if not never.accept_after else [explicit, gone(State.TRAP, 30)]
        held = judge(facts(gone=other), never)
        assert "--accept-after" not in getattr(held, "sentence", "--accept-after")


def test_ours_what_is_below_the_limit_in_its_kind_leaves_unless_the_rest_is_over_it() -> None:
    held = judge(facts(gone=[gone(State.NOINDEX, 60), gone(State.CLIENT_ERROR, 15, 404)]), GateLimits())
    assert isinstance(held, Hold)
    assert held.kinds - LINK_STATES == {"noindex "}
    assert "60 of the 100 published pages would leave" in held.sentence
    held = judge(facts(gone=[gone(State.CLIENT_ERROR, 60, 403), gone(State.CLIENT_ERROR, 15, 404)]), GateLimits())
    assert isinstance(held, Hold)
    assert held.kinds - LINK_STATES == {"client error 403"}
    mixed = [gone(State.NOINDEX, 8), gone(State.CLIENT_ERROR, 8, 404), gone(State.REDIRECT, 8, 301)]
    held = judge(facts(gone=mixed), GateLimits())
    assert isinstance(held, Hold)
    assert held.kinds - LINK_STATES == {lost.kind for lost in mixed}


def test_ours_kinds_that_are_small_alone_are_too_many_together_and_lost_text_is_a_kind() -> None:
    lost = [gone(State.NOINDEX, 8, 200), gone(State.CLIENT_ERROR, 7, 404)]
    assert judge(facts(gone=lost), GateLimits()) is None
    held = judge(facts(gone=lost, alike=AlikePages(9, PAGE)), GateLimits())
    assert isinstance(held, Hold)
    assert held.alike
    assert held.kinds - LINK_STATES == {group.kind for group in lost}


def test_ours_what_was_held_stays_so_while_its_cause_lasts() -> None:
    left = LostPages(state=State.TRAP, count=2, url=PAGE, are_held=True)
    held = judge(facts(gone=[left, gone(State.NOINDEX, 3, 200)]), GateLimits())
    assert isinstance(held, Hold)
    assert "2 pages that the last run held would still leave: 2 trap" in held.sentence
    assert not held.kinds - LINK_STATES
    held = judge(facts(alike=AlikePages(4, PAGE, held=2)), GateLimits())
    assert isinstance(held, Hold)
    assert not held.alike
    assert "2 pages that the last run held still lack their main text" in held.sentence
    assert judge(facts(gone=[left]), GateLimits(accept_shrink=True)) is None


def test_ours_pages_that_lost_their_own_text_are_held() -> None:
    held = judge(facts(alike=AlikePages(21, PAGE)), GateLimits())
    assert isinstance(held, Hold)
    assert held.alike
    assert "21 of the 100 published pages lost their main text" in held.sentence
    assert judge(facts(alike=AlikePages(21, PAGE)), GateLimits(accept_shrink=True)) is None


def test_ours_pages_that_gained_the_same_text_are_held_and_the_sentence_quotes_it() -> None:
    held = judge(facts(alike=AlikePages(57, PAGE, gained="+ Warning: no database")), GateLimits())
    assert isinstance(held, Hold)
    assert held.alike
    assert (
        "57 of the 100 published pages gained the same text (such as https://a.example/p: + Warning: no database), "
        "as with an error message or a notice" in held.sentence
    )
    held = judge(facts(alike=AlikePages(2, PAGE, held=2, gained="+ Warning: no database")), GateLimits())
    assert isinstance(held, Hold)
    assert "2 pages that the last run held still show the same new text" in held.sentence


def test_ours_the_limits_hold_for_small_sites_too() -> None:
    assert isinstance(judge(facts(published=10, listed=7, gone=[gone(State.NOINDEX, 3)]), GateLimits()), Hold)
    assert judge(facts(published=10, listed=8, gone=[gone(State.NOINDEX, 2)]), GateLimits()) is None


def test_ours_a_refusal_names_the_firewall_and_how_it_lets_us_through() -> None:
    challenged = [
        ChallengedPages("Cloudflare responded with a challenge: x", 40, PAGE),
        ChallengedPages("Akamai responded with a challenge: y", 5, HOME),
    ]
    told = judge(facts(failed=45, challenged=challenged), GateLimits(user_agent="Us/1"))
    assert isinstance(told, Refusal)
    assert "45 of 100 pages failed" in told.sentence
    assert challenge_note(challenged, "Us/1") in told.sentence
    for word in ("45 pages", "Cloudflare, Akamai", "IP address", "'Us/1'", "header", f"such as {PAGE}"):
        assert word in told.sentence
    assert not challenge_note([], "Us/1")


def test_ours_the_shares_are_the_operators() -> None:
    half = facts(listed=50, gone=[gone(State.UNLINKED, 50)])
    assert judge(half, GateLimits(max_shrink=0.5)) is None
    assert judge(half, GateLimits(max_shrink=0.49)) is not None
    assert judge(facts(failed=50), GateLimits(max_failed=0.5)) is None
    assert judge(facts(failed=5, visited=1000), GateLimits(max_failed=0)) is not None


def test_ours_an_empty_set_is_never_published() -> None:
    for was_published in (False, True):
        for accepted in (False, True):
            away = start(State.REDIRECT, 301, Url("https://b.example/"), was_published=was_published)
            told = judge(facts(start=away, listed=0), GateLimits(accept_shrink=accepted))
            assert isinstance(told, Refusal)
            assert told.exit_code == 5
            assert "to crawl there: siteatlas crawl https://b.example/" in told.sentence
    assert "is indexable" in getattr(judge(facts(listed=0), GateLimits()), "sentence", "")
