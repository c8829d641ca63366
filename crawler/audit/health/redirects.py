"""Rules on redirects and canonicals that do not lead straight to a page. Pure.

A trail is a URL and the URLs that its redirects and canonicals lead to, in order
(:meth:`crawler.audit.evidence.visits.VisitLookup.redirect_trail`). The rules ``gone.*`` report trails that end at a URL
that is gone or fails.
"""

from collections.abc import Sequence
from itertools import takewhile
from typing import Final, NamedTuple

from crawler.audit.health.visit import VisitedUrl, why_blocked, why_gone, why_no_page, why_refused
from crawler.model import State

MAX_HOPS: Final = 3
"""Redirects in a row that are accepted when all but the first are temporary.
https://developers.google.com/search/docs/crawling-indexing/site-move-with-url-changes"""
_TEMPORARY: Final = frozenset({302, 303, 307})  # https://www.rfc-editor.org/rfc/rfc9110#section-15.4
_UNSEEN_STATES: Final = frozenset({"", State.PENDING, State.OUT_OF_SCOPE})
_DEAD_STATES: Final = frozenset(
    {State.CLIENT_ERROR, State.SERVER_ERROR, State.UNREACHABLE, State.BAD_ANSWER, State.INTERNAL_ERROR}
)


class RedirectFault(NamedTuple):
    """A fault of a trail: the id of the rule, a sentence, and as evidence the steps and the remedy."""

    rule: str
    sentence: str
    evidence: list[str]


def check_redirect(trail: Sequence[VisitedUrl]) -> RedirectFault | None:
    """The fault of linking or listing the redirect that begins the trail, or None.

    Linking a temporary redirect is right: it asks to keep its own URL. So is linking a redirect that leaves the site.
    A chain has more than :data:`MAX_HOPS` hops, or contains a further URL that has moved for good: the redirect to it
    could name its target.
    """
    hops = list(takewhile(lambda hop: hop.state == State.REDIRECT, trail))
    if len(hops) == len(trail):  # a loop, or the crawl did not request the end
        return None
    end = trail[len(hops)]
    if end.state in _UNSEEN_STATES or end.state in _DEAD_STATES:
        return None
    moved = [place for place, hop in enumerate(hops) if place and _is_permanent(hop)]
    if moved or len(hops) > MAX_HOPS:
        previous = hops[moved[0] - 1] if moved else hops[0]
        goal = _permanent_target(trail[moved[0] :]) if moved else end
        sentence = f"{why_no_page(hops[0])}, in {len(hops)} hops to {end.url}"
        advice = f"redirect {previous.url} to {goal.url}{_temporary_reason(goal, end)}"
        return RedirectFault("link.chain", sentence, [*_steps(hops), advice])
    goal = _permanent_target(trail)
    if goal is trail[0]:
        return None
    further = "" if goal is end else f", which redirects temporarily ({goal.status}) to {end.url}"
    return RedirectFault(
        "link.redirect",
        f"{why_no_page(hops[0])}{further}",
        [f"link to {goal.url} instead{_temporary_reason(goal, end)}"],
    )


def _temporary_reason(goal: VisitedUrl, end: VisitedUrl) -> str:
    """Why the remedy names a URL that itself redirects: its redirect is temporary."""
    if goal is end:
        return ""
    return (
        f", which redirects ({goal.status}) to {end.url} temporarily, so its own URL stays valid; if it has moved "
        f"permanently, return 301 and use {end.url}"
    )


def _permanent_target(trail: Sequence[VisitedUrl]) -> VisitedUrl:
    """The end of the permanent redirects: a page, or a temporary redirect."""
    return next(visited for visited in trail if not _is_permanent(visited))


def check_canonical(trail: Sequence[VisitedUrl]) -> RedirectFault | None:
    """The fault of the canonical of the page that begins the trail, or None. The canonical is the trail's second URL.

    A canonical that the crawl did not request, or that only fails today, is no fault.
    """
    if len(trail) < 2 or trail[0].state != State.CANONICAL_ELSEWHERE:
        return None
    page, named, end = trail[0], trail[1], trail[-1]
    sentence = f"it names {named.url} as its canonical, which {why_no_page(named)}"
    if any(visited.url == end.target for visited in trail):  # a loop
        back = ": back to this page" if end.target == page.url else ": in a loop"
        return RedirectFault("canonical.lost", f"{sentence}{_end_of_trail_text(trail)}{back}", _steps(trail))
    if _is_no_page(end):
        return RedirectFault("canonical.lost", f"{sentence}{_end_of_trail_text(trail)}", _steps(trail))
    if end is named and not end.target:
        return None
    if end.is_page:
        more = f", and finally to {end.url}" if len(trail) > 3 else ""
        advice = f"name {end.url} as its canonical instead"
        return RedirectFault("canonical.chain", f"{sentence}{more}", [*_steps(trail), advice])
    return RedirectFault("canonical.chain", sentence, _steps(trail)) if named.target else None


def _is_permanent(visited: VisitedUrl) -> bool:
    """Whether a URL redirects for good; an immediate refresh does."""
    return visited.state == State.REDIRECT and visited.status not in _TEMPORARY


def _is_no_page(visited: VisitedUrl) -> bool:
    return visited.state == State.NOINDEX or bool(why_gone(visited) or why_refused(visited) or why_blocked(visited))


def _end_of_trail_text(trail: Sequence[VisitedUrl]) -> str:
    return f", and finally {trail[-1].url} {why_no_page(trail[-1])}" if len(trail) > 2 else ""


def _steps(trail: Sequence[VisitedUrl]) -> list[str]:
    return [f"{visited.url} {reason}" for visited in trail if (reason := why_no_page(visited))]
