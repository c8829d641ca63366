"""The visit of a URL, and why that URL is not a page to list; redirects and canonicals that lead to no page. Pure.

A trail is a URL and the URLs that its redirects and canonicals lead to, in order
(:meth:`crawler.audit.evidence.visits.VisitLookup.redirect_trail`). The rules ``gone.*`` report trails that end at a URL
that is gone or fails.
"""

from collections.abc import Sequence
from itertools import takewhile
from typing import Final

from msgspec import Struct

from crawler.audit.finding import AuditFinding
from crawler.fetch.errors import SAYS_NOTHING
from crawler.fetch.retry import TRANSIENT
from crawler.model import State

TRANSIENT_STATUSES: Final = frozenset({408, 425, 429, 503})
"""Statuses that say "not now" and nothing about the page."""
_TOO_MANY_REQUESTS: Final = 429  # our crawl was too fast
_REFUSED_STATUSES: Final = frozenset({401, 403, 407, 451})  # the page may exist, but not for us
_LISTABLE_STATES: Final = frozenset({State.INDEXABLE, State.OUT_OF_SCOPE, State.EXCLUDED, State.TOO_LONG})
# A reason begins with the Content-Type.
_INDEXED_TYPES: Final = ("image/svg+xml",)
_FILE_TYPES: Final = (
    *("image/", "video/", "audio/", "font/", "text/css", "text/javascript", "application/javascript"),
    *("application/json ", "application/octet-stream", "application/zip", "application/gzip", "application/x-"),
    *("application/font", "application/wasm", "application/manifest+json"),
)
# A reason begins with this when a rule of robots.txt blocks the URL, and not a robots.txt that failed.
_ROBOTS_LINE: Final = "robots.txt line "


class VisitedUrl(Struct, frozen=True, kw_only=True):
    """The columns of the state's ``visit`` for one URL. ``state`` is "" when the crawl did not request the URL.

    ``end`` is where its redirects and canonicals end, None when they lead nowhere or the end is unknown.
    ``is_endless``: the redirects form a loop.
    """

    url: str
    state: str = ""
    reason: str = ""
    status: int | None = None
    target: str = ""
    title: str = ""
    end: "VisitedUrl | None" = None
    is_endless: bool = False

    @property
    def is_page(self) -> bool:
        """Whether the URL answered with an indexable page that names no other URL as canonical."""
        return self.state in _LISTABLE_STATES and self.status == 200

    @property
    def last(self) -> "VisitedUrl":
        """The end of its redirects and canonicals, or the URL itself."""
        return self.end or self


def line_text(file: str, line: int) -> str:
    """``sitemap.xml line 12``; without a number, the file."""
    return f"{file} line {line}" if line else file


def why_failing(visited: VisitedUrl) -> str:
    """Why a URL failed today, in words, or "": transient failures, and redirect loops."""
    state, status = visited.state, visited.status
    if state == State.REDIRECT and visited.is_endless:
        return f"redirects ({status}) to {visited.target}, and from there in a loop, so it never reaches a page"
    if state == State.CLIENT_ERROR:
        return visited.reason if status in TRANSIENT and status != _TOO_MANY_REQUESTS else ""
    if state == State.SERVER_ERROR:
        return visited.reason
    if state in (State.UNREACHABLE, State.BAD_ANSWER):
        return "" if any(part in visited.reason for part in SAYS_NOTHING) else visited.reason
    return ""


def why_gone(visited: VisitedUrl) -> str:
    """The reason when a URL answers with a permanent 4xx, or ""."""
    is_gone = visited.state == State.CLIENT_ERROR and visited.status not in TRANSIENT | _REFUSED_STATUSES
    return visited.reason if is_gone else ""


def why_refused(visited: VisitedUrl) -> str:
    """The reason when a URL needs a login or is forbidden (401, 403), or ""."""
    is_refused = visited.state == State.CLIENT_ERROR and visited.status in _REFUSED_STATUSES
    return visited.reason if is_refused else ""


def why_blocked(visited: VisitedUrl) -> str:
    """The line of robots.txt that blocks a URL, in words, or ""."""
    return visited.reason if visited.state == State.ROBOTS and visited.reason.startswith(_ROBOTS_LINE) else ""


def why_no_document(visited: VisitedUrl) -> str:
    """The reason when a URL answers with a picture, a video, a script or another file that no search lists, or "".

    Search engines index PDFs, office documents and other texts as results of their own:
    https://developers.google.com/search/docs/crawling-indexing/indexable-file-types
    """
    is_file = visited.state == State.WRONG_TYPE and visited.reason.startswith(_FILE_TYPES)
    return visited.reason if is_file and not visited.reason.startswith(_INDEXED_TYPES) else ""


def redirect_text(visited: VisitedUrl) -> str:
    """Where a redirect leads and ends: "redirects (301) to …, and in the end to …, which …"; "" for no redirect."""
    if visited.state != State.REDIRECT or not visited.target:
        return ""
    is_refresh = visited.reason.startswith("refreshes")
    text = visited.reason if is_refresh else f"redirects ({visited.status}) to {visited.target}"
    end = visited.end
    if end is None:
        return text
    if end.url != visited.target:
        text = f"{text}, and finally to {end.url}"
    fault = why_no_page(end)
    return f"{text}, which {fault}" if fault else text


def why_no_page(visited: VisitedUrl) -> str:
    """Why a URL should not be listed, in words that follow "it"; "" when it should, or when that is unknown."""
    if reason := why_gone(visited) or why_refused(visited):
        return reason
    if reason := why_failing(visited):
        is_verb = reason.startswith(("answered", "redirects"))
        return "" if visited.status in TRANSIENT_STATUSES else reason if is_verb else f"failed: {reason}"
    if visited.state == State.REDIRECT:
        return redirect_text(visited)
    if visited.state == State.NOINDEX:
        return f"has noindex ({visited.reason})"
    if visited.state == State.CANONICAL_ELSEWHERE and visited.target:
        return f"names {visited.target} as its canonical"
    if reason := why_blocked(visited):
        return f"is blocked ({reason})"
    return ""


MAX_HOPS: Final = 3
"""Redirects in a row that are accepted when all but the first are temporary.
https://developers.google.com/search/docs/crawling-indexing/site-move-with-url-changes"""
_TEMPORARY: Final = frozenset({302, 303, 307})  # https://www.rfc-editor.org/rfc/rfc9110#section-15.4
_UNSEEN_STATES: Final = frozenset({"", State.PENDING, State.OUT_OF_SCOPE})
_DEAD_STATES: Final = frozenset(
    {State.CLIENT_ERROR, State.SERVER_ERROR, State.UNREACHABLE, State.BAD_ANSWER, State.INTERNAL_ERROR}
)


def _finding(rule: str, trail: Sequence[VisitedUrl], sentence: str, evidence: list[str]) -> AuditFinding:
    """A finding about the first URL of a trail, with the steps and the remedy as evidence."""
    first = trail[0]
    return AuditFinding(
        rule=rule,
        url=first.url,
        sentence=f"it {sentence}",
        title=first.title,
        state=first.state,
        status=first.status,
        evidence=evidence,
    )


def check_redirect(trail: Sequence[VisitedUrl]) -> AuditFinding | None:
    """The finding about linking or listing the redirect that begins the trail, or None.

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
        return _finding("link.chain", trail, sentence, [*_steps(hops), advice])
    goal = _permanent_target(trail)
    if goal is trail[0]:
        return None
    further = "" if goal is end else f", which redirects temporarily ({goal.status}) to {end.url}"
    return _finding(
        "link.redirect",
        trail,
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


def check_canonical(trail: Sequence[VisitedUrl]) -> AuditFinding | None:
    """The finding about the canonical of the page that begins the trail, or None. It is the trail's second URL.

    A canonical that the crawl did not request, or that only fails today, is no fault.
    """
    if len(trail) < 2 or trail[0].state != State.CANONICAL_ELSEWHERE:
        return None
    page, named, end = trail[0], trail[1], trail[-1]
    sentence = f"names {named.url} as its canonical, which {why_no_page(named)}"
    if any(visited.url == end.target for visited in trail):  # a loop
        back = ": back to this page" if end.target == page.url else ": in a loop"
        return _finding("canonical.lost", trail, f"{sentence}{_end_of_trail_text(trail)}{back}", _steps(trail))
    if _is_no_page(end):
        return _finding("canonical.lost", trail, f"{sentence}{_end_of_trail_text(trail)}", _steps(trail))
    if end is named and not end.target:
        return None
    if end.is_page:
        more = f", and finally to {end.url}" if len(trail) > 3 else ""
        advice = f"name {end.url} as its canonical instead"
        return _finding("canonical.chain", trail, f"{sentence}{more}", [*_steps(trail), advice])
    return _finding("canonical.chain", trail, sentence, _steps(trail)) if named.target else None


def _is_permanent(visited: VisitedUrl) -> bool:
    """Whether a URL redirects for good; an immediate refresh does."""
    return visited.state == State.REDIRECT and visited.status not in _TEMPORARY


def _is_no_page(visited: VisitedUrl) -> bool:
    return visited.state == State.NOINDEX or bool(why_gone(visited) or why_refused(visited) or why_blocked(visited))


def _end_of_trail_text(trail: Sequence[VisitedUrl]) -> str:
    return f", and finally {trail[-1].url} {why_no_page(trail[-1])}" if len(trail) > 2 else ""


def _steps(trail: Sequence[VisitedUrl]) -> list[str]:
    return [f"{visited.url} {reason}" for visited in trail if (reason := why_no_page(visited))]
