"""Where links and canonicals lead to: what is wrong with it, told from the trail of a URL."""

import pytest

from crawler.audit.health.visit import VisitedUrl, check_canonical, check_redirect
from crawler.model import State

HOME = "https://example.com/"
PAGE = VisitedUrl(url=f"{HOME}page", state=State.INDEXABLE, status=200)
HIDDEN = VisitedUrl(url=f"{HOME}hidden", state=State.NOINDEX, status=200, reason='meta robots "noindex"')
GONE = VisitedUrl(url=f"{HOME}gone", state=State.CLIENT_ERROR, status=404, reason="answered 404, not found")
MEMBERS = VisitedUrl(
    url=f"{HOME}members", state=State.CLIENT_ERROR, status=401, reason="answered 401, it asks for a login"
)
BLOCKED = VisitedUrl(url=f"{HOME}private", state=State.ROBOTS, reason="robots.txt line 2: Disallow: /private")
FAILING = VisitedUrl(url=f"{HOME}failing", state=State.SERVER_ERROR, status=500, reason="answered 500, internal error")
BUSY = VisitedUrl(url=f"{HOME}busy", state=State.SERVER_ERROR, status=503, reason="answered 503, unavailable")
PLAN = VisitedUrl(url=f"{HOME}plan.pdf", state=State.WRONG_TYPE, status=200)


def trail(*steps: str | int, end: VisitedUrl | None = PAGE) -> list[VisitedUrl]:
    """Redirects (a status, "refresh") and canonicals ("canonical"), one after the other, and the end of it all."""
    urls = [f"{HOME}{n}" for n in range(len(steps))] + [end.url if end else "https://elsewhere.example/"]
    made = []
    for n, step in enumerate(steps):
        target = urls[n + 1]
        if step == "canonical":
            each = VisitedUrl(url=urls[n], state=State.CANONICAL_ELSEWHERE, status=200, target=target)
        elif step == "refresh":
            said = f"refreshes to {target}"
            each = VisitedUrl(url=urls[n], state=State.REDIRECT, status=200, target=target, reason=said)
        else:
            each = VisitedUrl(url=urls[n], state=State.REDIRECT, status=int(step), target=target)
        made.append(each)
    return [*made, end] if end else made


def of_redirect(*steps: str | int, end: VisitedUrl | None = PAGE) -> str:
    fault = check_redirect(trail(*steps, end=end))
    return fault.rule if fault else ""


def of_canonical(*steps: str | int, end: VisitedUrl | None = PAGE) -> str:
    fault = check_canonical(trail("canonical", *steps, end=end))
    return fault.rule if fault else ""


@pytest.mark.parametrize(
    ("steps", "rule"),
    [
        ([301], "link.redirect"),
        ([308], "link.redirect"),
        (["refresh"], "link.redirect"),
        ([302], ""),
        ([303], ""),
        ([307], ""),
        ([301, 302], "link.redirect"),
        ([301, 307, 302], "link.redirect"),
        ([302, 307, 302], ""),
    ],
)
def test_rfc9110_a_redirect_for_now_is_to_be_linked_and_one_for_good_is_not(steps: list[str | int], rule: str) -> None:
    assert of_redirect(*steps) == rule


@pytest.mark.parametrize("steps", [[301, 301], [302, 301], [308, "refresh"], [301, 302, 301], [302, 302, 302, 302]])
def test_google_what_leads_to_what_has_moved_for_good_or_over_many_hops_is_a_chain(steps: list[str | int]) -> None:
    assert of_redirect(*steps) == "link.chain"


@pytest.mark.parametrize(("steps", "start"), [([301, 302], "link to"), ([301, 301, 302], f"redirect {HOME}0 to")])
def test_rfc9110_what_redirects_for_now_is_named_with_where_it_ends(steps: list[int], start: str) -> None:
    way = trail(*steps)
    fault = check_redirect(way)
    assert fault is not None
    advice = fault.evidence[-1]
    assert f"{start} {way[-2].url}" in advice
    assert f"redirects (302) to {PAGE.url} temporarily" in advice
    assert f"return 301 and use {PAGE.url}" in advice


@pytest.mark.parametrize("steps", [[301], [301, 301], [301, 302]])
@pytest.mark.parametrize(
    ("end", "is_told"),
    [
        (HIDDEN, True),
        (BLOCKED, True),
        (PLAN, True),
        (VisitedUrl(url=f"{HOME}copy", state=State.CANONICAL_ELSEWHERE, status=200, target=PAGE.url), True),
        (GONE, False),  # which gone.linked tells
        (FAILING, False),
        (MEMBERS, False),
        (VisitedUrl(url="http://other.example/", state=State.OUT_OF_SCOPE), False),
        (VisitedUrl(url=f"{HOME}later", state=State.PENDING), False),
        (None, False),
    ],
)
def test_ours_links_are_told_by_where_they_end(steps: list[str | int], end: VisitedUrl | None, is_told: bool) -> None:
    assert bool(of_redirect(*steps, end=end)) is is_told


def test_ours_a_circle_of_redirects_is_told_as_failing_and_not_here() -> None:
    one, two = trail(301, 301, end=None)
    assert check_redirect([one, VisitedUrl(url=two.url, state=State.REDIRECT, status=301, target=one.url)]) is None


def test_ours_what_redirects_should_lead_to_is_told() -> None:
    fault = check_redirect(trail(301, 302))
    assert fault is not None
    assert fault.sentence == f"it redirects (301) to {HOME}1, which redirects temporarily (302) to {PAGE.url}"
    assert fault.evidence[0].startswith(f"link to {HOME}1 instead, which redirects (302) to {PAGE.url} temporarily")
    fault = check_redirect(trail(302, 302, 301, 308, 307))
    assert fault is not None
    assert fault.sentence == f"it redirects (302) to {HOME}1, in 5 hops to {PAGE.url}"
    assert fault.evidence[-1].startswith(f"redirect {HOME}1 to {HOME}4, which redirects (307)")
    assert fault.evidence[2] == f"{HOME}2 redirects (301) to {HOME}3"


@pytest.mark.parametrize(
    ("steps", "end", "rule"),
    [
        ([], PAGE, ""),
        ([], GONE, "canonical.lost"),
        ([], MEMBERS, "canonical.lost"),
        ([], HIDDEN, "canonical.lost"),
        ([], BLOCKED, "canonical.lost"),
        ([301], GONE, "canonical.lost"),
        (["canonical", 302], HIDDEN, "canonical.lost"),
        ([301], PAGE, "canonical.chain"),
        ([302], PAGE, "canonical.chain"),
        (["canonical"], PAGE, "canonical.chain"),
        ([301], PLAN, "canonical.chain"),
        ([301], None, "canonical.chain"),  # off the site
        ([301], FAILING, "canonical.chain"),
        ([], FAILING, ""),
        ([], BUSY, ""),
        ([], PLAN, ""),
        ([], None, ""),
    ],
)
def test_google_a_canonical_is_a_page_that_can_be_indexed(
    steps: list[str | int], end: VisitedUrl | None, rule: str
) -> None:
    assert of_canonical(*steps, end=end) == rule


@pytest.mark.parametrize("step", [301, 302, "canonical"])
def test_google_a_canonical_that_leads_back_loses_the_page(step: str | int) -> None:
    page, named = trail("canonical", step, end=None)
    fault = check_canonical([page, VisitedUrl(url=named.url, state=named.state, status=named.status, target=page.url)])
    assert fault is not None
    assert fault.rule == "canonical.lost"
    assert fault.sentence.startswith(f"it names {HOME}1 as its canonical, which ")
    assert fault.sentence.endswith("back to this page")


def test_ours_what_is_no_copy_has_no_fault_of_a_canonical() -> None:
    assert check_canonical([PAGE]) is None
    assert check_canonical(trail(301)) is None
