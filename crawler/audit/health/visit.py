"""What a visit says of a URL that is published, and what is wrong with it as such, in words. Pure."""

from typing import Final

from msgspec import Struct

from crawler.fetch.retry import TRANSIENT
from crawler.model import State

TRANSIENT_STATUSES: Final = frozenset({408, 425, 429, 503})
"""Answers that say "not now", and nothing of the page."""
_TOO_MANY_REQUESTS: Final = 429  # we asked too much
_REFUSED_STATUSES: Final = frozenset({401, 403, 407, 451})  # what may well be there, and is not for us
# Answers and ways of getting none that are the server's doing, and neither ours nor a limit's.
_FAILURE_CODES: Final = ("net.", "time.", "tls.", "http.", "body.incomplete", "body.decode", "redirect.")
_LISTABLE_STATES: Final = frozenset({State.INDEXABLE, State.OUT_OF_SCOPE, State.EXCLUDED, State.TOO_LONG})
_ROBOTS_LINE: Final = (
    "robots.txt line "  # what robots.Blocked says when a rule decides, and no missing answer
)


class VisitedUrl(Struct, frozen=True, kw_only=True):
    """How a URL was found to be: the columns of the state's ``visit``. ``state`` is "" when it was not asked for.

    ``end`` is what the last of its redirects and canonicals leads to, when it leads anywhere and that is known;
    ``is_endless``: they lead round in a circle.
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
        """Whether it answered with a page that is indexed under this very URL, as far as the page decides."""
        return self.state in _LISTABLE_STATES and self.status == 200

    @property
    def last(self) -> "VisitedUrl":
        """Where it ends: itself, or what it leads to."""
        return self.end or self


def why_failing(visited: VisitedUrl) -> str:
    """Why a URL brought no page today, in words, or "": reasons that may pass, and redirects that end nowhere."""
    state, status = visited.state, visited.status
    if state == State.REDIRECT and visited.is_endless:
        return f"redirects ({status}) to {visited.target}, and from there in a circle: it leads nowhere"
    if state == State.CLIENT_ERROR:
        return visited.reason if status in TRANSIENT and status != _TOO_MANY_REQUESTS else ""
    if state == State.SERVER_ERROR:
        return visited.reason
    if state in (State.UNREACHABLE, State.BAD_ANSWER):
        return visited.reason.partition(": ")[2] if visited.reason.startswith(_FAILURE_CODES) else ""
    return ""


def why_gone(visited: VisitedUrl) -> str:
    """That a URL answers 4xx for good, in words, or ""."""
    is_gone = visited.state == State.CLIENT_ERROR and visited.status not in TRANSIENT | _REFUSED_STATUSES
    return visited.reason if is_gone else ""


def why_refused(visited: VisitedUrl) -> str:
    """That a URL is not for everybody (401, 403), in words, or ""."""
    return (
        visited.reason if visited.state == State.CLIENT_ERROR and visited.status in _REFUSED_STATUSES else ""
    )


def why_blocked(visited: VisitedUrl) -> str:
    """The line of robots.txt that forbids a URL, in words, or ""."""
    return visited.reason if visited.state == State.ROBOTS and visited.reason.startswith(_ROBOTS_LINE) else ""


def redirect_text(visited: VisitedUrl) -> str:
    """Where a redirect leads and ends, in words: "redirects (301) to …, and that to …, which …"; "" for no redirect."""
    if visited.state != State.REDIRECT or not visited.target:
        return ""
    how = visited.reason if visited.reason.startswith("refreshes") else ""
    said = how or f"redirects ({visited.status}) to {visited.target}"
    end = visited.end
    if end is None:
        return said
    if end.url != visited.target:
        said = f"{said}, and that in the end to {end.url}"
    fault = why_no_page(end)
    return f"{said}, which {fault}" if fault else said


def why_no_page(visited: VisitedUrl) -> str:
    """Why a URL is not one to be named to search engines, in words that follow "it"; "" when it is, or not known."""
    if said := why_gone(visited) or why_refused(visited):
        return said
    if said := why_failing(visited):
        is_verb = said.startswith(("answered", "redirects"))
        return "" if visited.status in TRANSIENT_STATUSES else said if is_verb else f"failed: {said}"
    if visited.state == State.REDIRECT:
        return redirect_text(visited)
    if visited.state == State.NOINDEX:
        return f"says noindex ({visited.reason})"
    if visited.state == State.CANONICAL_ELSEWHERE and visited.target:
        return f"names {visited.target} as its canonical"
    if said := why_blocked(visited):
        return f"is blocked ({said})"
    return ""
