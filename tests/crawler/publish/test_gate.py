"""The gate: which sets may replace the published one, and what is said of those that may not."""

from typing import Any

import pytest

from crawler.fetch.challenge import remedy
from crawler.model import Lease, Outcome, State, Url, Verdict
from crawler.publish.gate import (
    LINK_STATES,
    STILL_HELD,
    AlikePages,
    ChallengedPages,
    GateFacts,
    GateLimits,
    Hold,
    LostPages,
    Refusal,
    StartUrlStatus,
    accepted_note,
    challenge_note,
    judge,
    reject_start,
)

HOME = Url("https://a.example/")
PAGE = Url("https://a.example/p")
WELL = StartUrlStatus(HOME, Verdict(State.INDEXABLE), 200, was_published=True, is_listed=True)
LOST_300 = (
    "300 of the 1,000 published pages would leave, over the 20% that output.max_shrink allows: 300 blocked by "
    "robots.txt (https://a.example/p: robots.txt line 2: Disallow: /p). Their entries stay as they were. If this is "
    "intended, "
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
    assert not accepted_note(passing, GateLimits(accept_shrink=True))


@pytest.mark.parametrize(
    ("refused", "said"),
    [
        (facts(start=start(State.SERVER_ERROR, 503, is_listed=True)), "the start URL https://a.example/ failed"),
        (facts(start=start(State.CLIENT_ERROR, 429)), "failed (the evidence)"),
        (facts(start=start(State.BAD_ANSWER, was_published=False)), "failed (the evidence)"),
        (facts(failed=21), "21 of 100 pages failed, over the 20% that output.max_failed allows"),
        (facts(failed=21, failure=("https://h.test/a", "answered 500")), "failed (such as https://h.test/a: answered"),
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
        (
            facts(start=start(State.NOINDEX)),
            "was published, and its state is noindex now (the evidence)",
            State.NOINDEX,
        ),
        (facts(start=start(State.REDIRECT, 302, Url("https://b.example/"))), "is redirect now", State.REDIRECT),
        (facts(start=start(State.CLIENT_ERROR, 404)), "is client error now", State.CLIENT_ERROR),
        (facts(start=start(State.ROBOTS, None)), "is blocked by robots.txt now", State.ROBOTS),
        (facts(gone=[gone(State.UNLINKED, 21)]), "21 no longer linked", State.UNLINKED),
        (facts(gone=[gone(State.TOO_DEEP, 21), gone(State.REDIRECT, 3, 301)]), "21 too deep", State.TOO_DEEP),
        (facts(gone=[gone(State.NOFOLLOW, 21)]), "21 linked by nofollow only", State.NOFOLLOW),
        (
            facts(alike=AlikePages(21, PAGE, has_start=True)),
            "21 of the 100 published pages no longer show their main text",
            None,
        ),
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
    assert said in accepted_note(refused, GateLimits(accept_shrink=True))
    assert not accepted_note(refused, GateLimits())
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
    assert said in accepted_note(case, GateLimits(accept_shrink=True))


def test_ours_the_sentence_on_a_landslide_names_the_share_the_causes_and_the_remedies() -> None:
    robots = gone(State.ROBOTS, 300, reason="robots.txt line 2: Disallow: /p")
    held = judge(facts(published=1000, listed=700, gone=[robots]), GateLimits())
    assert isinstance(held, Hold)
    assert held.sentence == LOST_300
    explicit = LostPages(state=State.NOINDEX, status=200, count=30, url=PAGE, runs=2)
    held = judge(facts(gone=[explicit]), GateLimits())
    assert isinstance(held, Hold)
    assert "for 7 days and 3 runs in a row (output.accept_after). So far: 2 runs." in held.sentence
    for never in (GateLimits(accept_after=0), GateLimits()):
        other = [explicit] if not never.accept_after else [explicit, gone(State.TRAP, 30)]
        held = judge(facts(gone=other), never)
        assert "output.accept_after" not in getattr(held, "sentence", "output.accept_after")


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


def test_ours_pages_of_one_kind_are_too_many_together_whatever_they_redirect_to() -> None:
    login, home = gone(State.REDIRECT, 11, 302, "https://a.example/login"), gone(State.REDIRECT, 10, 302, HOME)
    held = judge(facts(gone=[login, home, gone(State.NOINDEX, 10, 200)]), GateLimits())
    assert isinstance(held, Hold)
    assert held.kinds - LINK_STATES == {login.kind}
    assert "21 of the 100 published pages would leave" in held.sentence


def test_ours_pages_that_no_link_leads_to_are_one_kind_whatever_they_answered_before() -> None:
    told = judge(facts(gone=[gone(State.UNLINKED, 11, 200), gone(State.UNLINKED, 10)]), GateLimits())
    assert isinstance(told, Refusal)
    assert told.kinds == {State.UNLINKED.value}


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
    other = LostPages(state=State.ROBOTS, count=1, url=HOME, are_held=True)
    held = judge(facts(gone=[left, other]), GateLimits())
    assert "3 pages that the last run held would still leave: 2 trap (https://a.example/p), 1 blocked by" in getattr(
        held, "sentence", ""
    )
    held = judge(facts(alike=AlikePages(4, PAGE, held=2)), GateLimits())
    assert isinstance(held, Hold)
    assert not held.alike
    assert "2 pages that the last run held still do not show their main text" in held.sentence
    assert judge(facts(gone=[left]), GateLimits(accept_shrink=True)) is None
    assert STILL_HELD in accepted_note(facts(gone=[left]), GateLimits(accept_shrink=True))


def test_ours_pages_that_lost_their_own_text_are_held() -> None:
    held = judge(facts(alike=AlikePages(21, PAGE)), GateLimits())
    assert isinstance(held, Hold)
    assert held.alike
    assert "21 of the 100 published pages no longer show their main text" in held.sentence
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
    held = judge(facts(alike=AlikePages(1, PAGE, held=1, gained="+ Warning: no database")), GateLimits())
    assert "1 page that the last run held still shows the same new text" in getattr(held, "sentence", "")


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
            assert "to crawl there, run the same command with the URL https://b.example/" in told.sentence
    assert "is indexable" in getattr(judge(facts(listed=0), GateLimits()), "sentence", "")


def first_outcome(verdict: Verdict, status: int | None, url: str = "https://a.example/docs/guide") -> Outcome:
    return Outcome(Lease(1, Url(url), 0, 0), verdict, status)


def rejected(verdict: Verdict, status: int | None, *, is_scope_set: bool = False) -> str:
    error = reject_start(first_outcome(verdict, status), is_scope_set=is_scope_set)
    return str(error) if error else ""


@pytest.mark.parametrize("status", [404, 410])
@pytest.mark.parametrize("is_scope_set", [True, False])
def test_rfc9110_a_first_crawl_ends_when_its_start_url_is_gone(status: int, is_scope_set: bool) -> None:
    gone_away = Verdict(State.CLIENT_ERROR, f"answered {status}")
    assert rejected(gone_away, status, is_scope_set=is_scope_set) == (
        f"the start URL https://a.example/docs/guide answered {status}: correct it, or run once with "
        "--accept-shrink to crawl the pages that other sources name, such as the site's sitemap"
    )


def test_ours_a_start_url_that_means_a_directory_asks_which_sitemap_is_wanted() -> None:
    directory = Verdict(State.REDIRECT, "redirects", Url("https://a.example/docs/guide/"))
    assert rejected(directory, 301) == (
        "the start URL https://a.example/docs/guide redirects to https://a.example/docs/guide/. "
        "Start at https://a.example/docs/guide/ for a sitemap of that directory, or at https://a.example/docs/ for a "
        "sitemap of everything below it"
    )
    assert rejected(directory, 301, is_scope_set=True) == ""


@pytest.mark.parametrize(
    ("verdict", "status"),
    [
        (Verdict(State.INDEXABLE), 200),
        (Verdict(State.INDEXABLE, "", Url("https://a.example/docs/guide/")), 200),
        (Verdict(State.REDIRECT, "redirects", Url("https://a.example/docs/guide/a")), 301),
        (Verdict(State.CLIENT_ERROR, "answered 403"), 403),
        (Verdict(State.SERVER_ERROR, "answered 503"), 503),
        (Verdict(State.ROBOTS, "robots.txt line 2"), None),
    ],
)
@pytest.mark.parametrize("is_scope_set", [True, False])
def test_ours_other_answers_of_a_start_url_do_not_end_a_first_crawl(
    verdict: Verdict, status: int | None, is_scope_set: bool
) -> None:
    assert rejected(verdict, status, is_scope_set=is_scope_set) == ""


def test_ours_a_refusal_puts_in_doubt_the_landslide_and_the_kind_of_the_start_url() -> None:
    told = judge(facts(start=start(State.NOINDEX), gone=[gone(State.TRAP, 40)]), GateLimits())
    assert isinstance(told, Refusal)
    assert told.kinds == {"noindex 200", "trap "}
    assert told.sentence == (
        "the start URL https://a.example/ was published, and its state is noindex now (the evidence); if this is "
        "intended, run once with --accept-shrink"
    )


def test_ours_a_refusal_names_all_that_is_in_doubt_in_one_sentence() -> None:
    lost = [gone(State.UNLINKED, 30), gone(State.NOINDEX, 25, 200)]
    told = judge(facts(gone=lost, alike=AlikePages(22, PAGE, has_start=True)), GateLimits())
    assert isinstance(told, Refusal)
    assert told.sentence == (
        "55 of the 100 published pages would leave, over the 20% that output.max_shrink allows: 30 no longer linked "
        "(https://a.example/p), 25 noindex (https://a.example/p); 22 of the 100 published pages no longer show their "
        "main text, and what they show is short or alike (such as https://a.example/p), as with a login, a maintenance "
        "page, a firewall or an empty template; if this is intended, run once with --accept-shrink"
    )


def test_ours_a_hold_names_what_is_over_the_limit_what_is_still_held_and_the_first_four_causes() -> None:
    states = [State.NOINDEX, State.TRAP, State.WRONG_TYPE, State.PENDING, State.ROBOTS, State.TOO_LONG]
    lost = [gone(state, 30 - n) for n, state in enumerate(states)]
    held_before = LostPages(state=State.CLIENT_ERROR, status=403, count=2, url=PAGE, are_held=True, reason="refused")
    told = judge(facts(published=100, gone=[*lost, held_before], alike=AlikePages(3, PAGE, held=1)), GateLimits())
    assert isinstance(told, Hold)
    assert told.sentence == (
        "165 of the 100 published pages would leave, over the 20% that output.max_shrink allows: 30 noindex "
        "(https://a.example/p), 29 trap (https://a.example/p), 28 wrong type (https://a.example/p), 27 pending "
        "(https://a.example/p), 51 for other reasons; 2 pages that the last run held would still leave: 2 client error "
        "(https://a.example/p: refused); 1 page that the last run held still does not show its main text. Their "
        "entries stay as they were. If this is intended, run once with --accept-shrink."
    )


def test_ours_a_loss_that_lasts_is_accepted_by_the_fewest_runs_of_its_causes() -> None:
    lost = [
        LostPages(state=State.NOINDEX, status=200, count=30, url=PAGE, runs=5),
        LostPages(state=State.CLIENT_ERROR, status=410, count=30, url=PAGE, runs=3),
    ]
    told = judge(facts(gone=lost), GateLimits(accept_after=4))
    assert isinstance(told, Hold)
    assert told.sentence.endswith(
        "If this is intended, run once with --accept-shrink. Siteatlas accepts a loss that stays the same for 4 days "
        "and 3 runs in a row (output.accept_after). So far: 3 runs."
    )


def test_ours_a_set_without_pages_names_the_start_url_its_reason_and_where_it_leads() -> None:
    def said(start_url: StartUrlStatus) -> str:
        return getattr(judge(facts(start=start_url, listed=0), GateLimits()), "sentence", "")

    assert said(StartUrlStatus(HOME)) == "no page that https://a.example/ leads to is indexable"
    assert said(start(State.INDEXABLE)) == "no page that https://a.example/ leads to is indexable"
    assert said(start(State.NOINDEX)) == "no page that https://a.example/ leads to is indexable: the evidence (noindex)"
    assert said(start(State.REDIRECT, 301, PAGE)) == (
        "no page that https://a.example/ leads to is indexable: the evidence (redirect); "
        "to crawl there, run the same command with the URL "
        "https://a.example/p"
    )


def test_ours_one_challenged_page_is_named_and_of_many_the_one_with_the_most() -> None:
    one = [ChallengedPages("Cloudflare responded with a challenge", 1, PAGE)]
    assert challenge_note(one, "Us/1").startswith(
        "a firewall responded in place of 1 page (https://a.example/p: Cloudflare responded with a challenge): "
    )
    two = [ChallengedPages("Akamai responded with: the server responded late", 2, PAGE)]
    assert challenge_note(two, "Us/1").startswith("a firewall responded in place of 2 pages (such as")
    assert challenge_note(two, "Us/1").partition("late): ")[2] == remedy("Akamai", "Us/1")
    alike = [ChallengedPages("Akamai responded with 403", 2, PAGE), ChallengedPages("Akamai responded", 2, HOME)]
    assert challenge_note(alike, "Us/1").startswith(
        "a firewall responded in place of 4 pages (such as https://a.example/: Akamai responded): "
    )
    assert "Akamai, Akamai" not in challenge_note(alike, "Us/1")


def test_ours_limits_are_a_fifth_of_the_pages_and_seven_runs_unless_the_operator_says_otherwise() -> None:
    assert GateLimits() == GateLimits(0.2, 0.2, accept_shrink=False, accept_after=7, user_agent="Siteatlas")


def test_ours_three_challenged_pages_are_told_like_a_hold_that_holds_nothing_else() -> None:
    challenged = [ChallengedPages("the firewall responded with a challenge: x", 2, PAGE)]
    assert judge(facts(challenged=challenged), GateLimits()) is None
    challenged += [ChallengedPages("Anubis responded with a challenge: y", 1, HOME)]
    told = judge(facts(challenged=challenged), GateLimits(user_agent="Us/1"))
    assert told == Hold(challenge_note(challenged, "Us/1"))
    assert judge(facts(challenged=challenged), GateLimits(accept_shrink=True)) is None


def test_ours_a_hold_for_what_pages_show_says_what_that_is_and_when_it_ends() -> None:
    held = judge(facts(alike=AlikePages(21, PAGE, is_turned=True, runs=3)), GateLimits())
    assert isinstance(held, Hold)
    assert "say something else than before in most of their texts" in held.sentence
    assert "accepts what these pages show if it stays the same for 7 days" in held.sentence
    assert "So far: 3 runs." in held.sentence


def test_ours_the_reason_of_a_wall_is_said_once() -> None:
    reason = "the firewall responded with a challenge: a bare page that asks to wait"
    walled = StartUrlStatus(HOME, Verdict(State.CHALLENGED, reason), 403, was_published=True, is_listed=True)
    told = judge(facts(start=walled, challenged=[ChallengedPages(reason, 31, walled.url)]), GateLimits())
    assert isinstance(told, Refusal)
    assert told.sentence.count(reason) == 1
    assert "in place of 31 pages: let Siteatlas through" in told.sentence
