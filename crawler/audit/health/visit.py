"""The result of visiting a published URL, and why that URL is not a page to list, in words. Pure."""

from typing import Final

from msgspec import Struct

from crawler.fetch.retry import TRANSIENT
from crawler.model import State

TRANSIENT_STATUSES: Final = frozenset({408, 425, 429, 503})
"""Statuses that say "not now" and nothing about the page."""
_TOO_MANY_REQUESTS: Final = 429  # our crawl was too fast
_REFUSED_STATUSES: Final = frozenset({401, 403, 407, 451})  # the page may exist, but not for us
# Failures that the server causes; a limit of the crawl causes the others.
_FAILURE_CODES: Final = ("net.", "time.", "tls.", "http.", "body.incomplete", "body.decode", "redirect.")
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
        return visited.reason.partition(": ")[2] if visited.reason.startswith(_FAILURE_CODES) else ""
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
