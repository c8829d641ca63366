"""How facts are put into words: ways of finding, states, moments, runs."""

from datetime import UTC, datetime
from typing import Any, Final

from msgspec import Struct

from crawler.model import DiscoveredBy, State
from crawler.units import count_text
from crawler.units import w3c as w3c_units

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
    State.PENDING: "it is known, and was not visited yet",
    State.INDEXABLE: "it is a page that belongs in the sitemap",
    State.REDIRECT: "it leads elsewhere; a sitemap names the page where that ends",
    State.CANONICAL_ELSEWHERE: "the page says that it is a copy; the original is what a sitemap names",
    State.NOINDEX: "the page asks search engines to leave it out",
    State.CLIENT_ERROR: "the server says that there is no page for us",
    State.SERVER_ERROR: "the server failed",
    State.UNREACHABLE: "no answer came",
    State.BAD_ANSWER: "what came is no answer to go by",
    State.WRONG_TYPE: "it is no web page but another file, such as a feed, an image or a PDF; a sitemap lists pages",
    State.PARSE_FAILED: "what came could not be read",
    State.ROBOTS: "robots.txt forbids to ask for it, so nothing is known of the page",
    State.NOFOLLOW: "every link to it asks not to be followed",
    State.OUT_OF_SCOPE: "the sitemap may not list it, where it lies",
    State.EXCLUDED: "the configuration leaves it out",
    State.TOO_DEEP: "it is further from the start than the configuration goes",
    State.TOO_LONG: "the URL is longer than can be used",
    State.TRAP: "the URL looks like one of endlessly many",
    State.UNLINKED: "an earlier run listed it, and nothing leads there any longer",
    State.SITEMAP_FILE: "it is a sitemap, and was read for the pages it names",
    State.INTERNAL_ERROR: "siteatlas failed on it, which is a fault of siteatlas",
}


class StoryTopic(Struct, frozen=True):
    """One part of the story: ``name`` and ``values`` are for machines and stable, ``lines`` are for people."""

    name: str
    lines: list[str]
    values: Any


def discovery_text(found: int) -> list[str]:
    """How a URL was found, each way in words."""
    return [way for flag, way in DISCOVERY_TEXTS.items() if found & flag] or ["unknown"]


def distance_text(clicks: int | None) -> str:
    """How far it is from the start over links that are to be followed; None: there is no such way."""
    return (
        "no link to follow leads there" if clicks is None else f"{count_text(clicks, 'click')} from the start"
    )


def state_text(of: State | None, reason: str = "") -> str:
    """Where a URL stands and why: ``noindex (meta robots "noindex")``."""
    name = of.value if of else "never met"
    return f"{name} ({reason})" if reason else name


def utc_time_text(at: float) -> str:
    """A Unix time for people, in UTC: ``2026-01-31 12:00:00Z``."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%SZ")


def w3c_or_none(at: float | None) -> str | None:
    """A Unix time for machines: ``2026-01-31T12:00:00+00:00``."""
    return None if at is None else w3c_units(at)


def run_text(number: int, starts: dict[int, float]) -> str:
    """A run with the time of its start, if that is known: ``run 3 (2026-01-31 12:00:00Z)``.

    0 stands for what a version of siteatlas did that kept no records of runs.
    """
    if not number:
        return "a run of an older version"
    at = starts.get(number)
    return f"run {number}" if at is None else f"run {number} ({utc_time_text(at)})"
