"""Formats facts for people: ways of discovery, states, times, runs."""

from datetime import UTC, datetime
from typing import Any, Final

from msgspec import Struct

from crawler.model import DiscoveredBy, State
from crawler.units import count_text, w3c

DISCOVERY_TEXTS: Final = {
    DiscoveredBy.SEED: "start URL",
    DiscoveredBy.LINK: "link",
    DiscoveredBy.FRAME: "frame",
    DiscoveredBy.REDIRECT: "redirect",
    DiscoveredBy.REFRESH: "refresh",
    DiscoveredBy.CANONICAL: "canonical",
    DiscoveredBy.ALTERNATE: "alternate",
    DiscoveredBy.PAGINATION: "next or prev",
    DiscoveredBy.AMP: "AMP link",
    DiscoveredBy.SITEMAP: "the site's own sitemap",
    DiscoveredBy.FEED: "feed",
    DiscoveredBy.NOFOLLOW: "link that says nofollow",
    DiscoveredBy.PREVIOUS_RUN: "an earlier sitemap",
    DiscoveredBy.AUDIT_SOURCE: "a source of the audit",
    DiscoveredBy.SPELLING: "a source of the audit",
}

STATE_TEXTS: Final = {
    State.PENDING: "it is known, but not visited yet",
    State.INDEXABLE: "it is a page that belongs in the sitemap",
    State.REDIRECT: "it redirects; a sitemap lists the final page instead",
    State.CANONICAL_ELSEWHERE: "the page names another URL as its canonical; a sitemap lists that URL instead",
    State.NOINDEX: "the page asks search engines to leave it out",
    State.CLIENT_ERROR: "the server reports that the page does not exist, or refuses access",
    State.SOFT_404: "the server returned a page that says that the page does not exist, with status 200 instead of 404",
    State.SERVER_ERROR: "the server returned an error",
    State.CHALLENGED: "a firewall responded in place of the site, so nothing is known about the page",
    State.UNREACHABLE: "the server did not respond",
    State.BAD_ANSWER: "the response is not usable",
    State.WRONG_TYPE: "it is not a web page but another file, such as a feed, an image or a PDF; a sitemap lists "
    "only pages",
    State.PARSE_FAILED: "the response could not be parsed",
    State.ROBOTS: "robots.txt forbids fetching it, so nothing is known about the page",
    State.NOFOLLOW: "every link to it is a nofollow link",
    State.OUT_OF_SCOPE: "the sitemap may not list it: it is outside the sitemap's directory or host",
    State.EXCLUDED: "the configuration excludes it",
    State.TOO_DEEP: "it is deeper than the configuration allows",
    State.TOO_LONG: "the URL is too long",
    State.TRAP: "the URL looks like part of a crawler trap",
    State.UNLINKED: "an earlier run listed it, but no page links to it any more",
    State.SITEMAP_FILE: "it is a sitemap, and was read for the pages that it lists",
    State.INTERNAL_ERROR: "siteatlas failed to process it, which is a bug in siteatlas",
}


class StoryTopic(Struct, frozen=True):
    """One part of the story: ``name`` and ``values`` go into JSON and are stable, ``lines`` are the text."""

    name: str
    lines: list[str]
    values: Any


def discovery_text(found: int) -> list[str]:
    """How a URL was found, each way in words."""
    return [way for flag, way in DISCOVERY_TEXTS.items() if found & flag] or ["unknown"]


def distance_text(clicks: int | None) -> str:
    """The distance from the start over followed links; None: there is no path."""
    return (
        "no path of followed links leads to it" if clicks is None else f"{count_text(clicks, 'click')} from the start"
    )


def state_text(state: State | None, reason: str = "") -> str:
    """The state of a URL with its reason: ``noindex (meta robots "noindex")``."""
    name = state.value if state else "never found"
    return f"{name} ({reason})" if reason else name


def utc_time_text(at: float) -> str:
    """A Unix time for people, in UTC: ``2026-01-31 12:00:00Z``."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%SZ")


def w3c_or_none(at: float | None) -> str | None:
    """A Unix time for machines: ``2026-01-31T12:00:00+00:00``."""
    return None if at is None else w3c(at)


def run_text(number: int, starts: dict[int, float]) -> str:
    """A run with the time of its start, if that is known: ``run 3 (2026-01-31 12:00:00Z)``.

    0 stands for the runs of an old version that recorded none.
    """
    if not number:
        return "a run of an older version"
    at = starts.get(number)
    return f"run {number}" if at is None else f"run {number} ({utc_time_text(at)})"
