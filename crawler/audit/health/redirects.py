"""Whether links and canonicals lead straight to a page, by the trail of what a URL leads to. Pure.

A trail is a URL and what its redirects and canonicals lead to, one after the other (:meth:`Visits.trail`). Of URLs that
are gone, or that fail, and so of links that end there, the rules ``gone.*`` tell.
"""

from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import Final, NamedTuple

from crawler.audit.health.visit import VisitedUrl, why_blocked, why_gone, why_no_page, why_refused
from crawler.model import State

MAX_HOPS: Final = 3
"""Redirects in a row that are let be if all but the first are for now.
https://developers.google.com/search/docs/crawling-indexing/site-move-with-url-changes"""
_TEMPORARY: Final = frozenset({302, 303, 307})  # https://www.rfc-editor.org/rfc/rfc9110#section-15.4
_UNSEEN_STATES: Final = frozenset({"", State.PENDING, State.OUT_OF_SCOPE})
_DEAD_STATES: Final = frozenset(
    {State.CLIENT_ERROR, State.SERVER_ERROR, State.UNREACHABLE, State.BAD_ANSWER, State.INTERNAL_ERROR}
)


class RedirectFault(NamedTuple):
    """What is wrong with where a URL leads: the id of a rule, a sentence, and the steps with what to do instead."""

    rule: str
    sentence: str
    evidence: list[str]


def check_redirect(trail: Sequence[VisitedUrl]) -> RedirectFault | None:
    """What is wrong with linking, or listing, the redirect that the trail begins with; None if that is as it should be.

    A redirect for now is to be linked: it says that its own URL is the one to keep. So is one that leads off the site,
    which is what it is there for. A chain is one of more than :data:`MAX_HOPS`, or one that passes by what has moved
    for good: whoever leads there could lead on.
    """
    hops = list(takewhile(lambda each: each.state == State.REDIRECT, trail))
    if len(hops) == len(trail):  # in a circle, or off to where nobody asked
        return None
    end = trail[len(hops)]
    if end.state in _UNSEEN_STATES or end.state in _DEAD_STATES:
        return None
    moved = [place for place, hop in enumerate(hops) if place and _is_permanent(hop)]
    if moved or len(hops) > MAX_HOPS:
        before = hops[moved[0] - 1] if moved else hops[0]
        goal = _permanent_target(trail[moved[0] :]) if moved else end
        said = f"{why_no_page(hops[0])}, and that in {len(hops)} hops to {end.url}"
        advice = f"let {before.url} redirect to {goal.url}{_temporary_reason(goal, end)}"
        return RedirectFault("link.chain", said, [*_steps(hops), advice])
    goal = _permanent_target(trail)
    if goal is trail[0]:
        return None
    further = "" if goal is end else f", and for now ({goal.status}) further to {end.url}"
    return RedirectFault(
        "link.redirect",
        f"{why_no_page(hops[0])}{further}",
        [f"link to {goal.url} instead{_temporary_reason(goal, end)}"],
    )


def _temporary_reason(goal: VisitedUrl, end: VisitedUrl) -> str:
    """Why to name what redirects itself: it asks for that."""
    if goal is end:
        return ""
    return (
        f", which redirects ({goal.status}) to {end.url} for now and so stays the one to name; if it has moved"
        f" there for good, let it answer 301, and name {end.url}"
    )


def _permanent_target(trail: Sequence[VisitedUrl]) -> VisitedUrl:
    """Where redirects for good lead to: what is there, or what redirects for now."""
    return next(each for each in trail if not _is_permanent(each))


def check_canonical(trail: Sequence[VisitedUrl]) -> RedirectFault | None:
    """What is wrong with the canonical of the page that the trail begins with: it names the second URL of the trail.

    Nothing is said of a canonical that nobody asked for, or that only fails today.
    """
    if len(trail) < 2 or trail[0].state != State.CANONICAL_ELSEWHERE:
        return None
    page, named, end = trail[0], trail[1], trail[-1]
    said = f"it names {named.url} as its canonical, which {why_no_page(named)}"
    if any(each.url == end.target for each in trail):  # round
        back = ": back to this page" if end.target == page.url else ": round in a circle"
        return RedirectFault(
            "canonical.lost", f"{said}{_end_of_trail_text(trail)}{back}", list(_steps(trail))
        )
    if _is_no_page(end):
        return RedirectFault("canonical.lost", f"{said}{_end_of_trail_text(trail)}", list(_steps(trail)))
    if end is named and not end.target:
        return None
    if end.is_page:
        more = f", and that in the end to {end.url}" if len(trail) > 3 else ""
        return RedirectFault(
            "canonical.chain", f"{said}{more}", [*_steps(trail), f"name {end.url} as its canonical instead"]
        )
    return RedirectFault("canonical.chain", said, list(_steps(trail))) if named.target else None


def _is_permanent(visited: VisitedUrl) -> bool:
    """Whether it is a redirect to what has taken its place: a refresh at once is one too."""
    return visited.state == State.REDIRECT and visited.status not in _TEMPORARY


def _is_no_page(visited: VisitedUrl) -> bool:
    return visited.state == State.NOINDEX or bool(
        why_gone(visited) or why_refused(visited) or why_blocked(visited)
    )


def _end_of_trail_text(trail: Sequence[VisitedUrl]) -> str:
    return f", and in the end {trail[-1].url} {why_no_page(trail[-1])}" if len(trail) > 2 else ""


def _steps(trail: Sequence[VisitedUrl]) -> Iterator[str]:
    return (f"{each.url} {said}" for each in trail if (said := why_no_page(each)))
