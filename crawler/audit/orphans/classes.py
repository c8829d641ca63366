"""The classes of a URL, by what leads to it and by who knows it. The table of rules is :mod:`crawler.audit.rules`."""

from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from crawler.audit.claim import SourceKind
from crawler.audit.graph.link_kind import LinkKind
from crawler.model import State

_WEAK_RULES: Final = (
    (LinkKind.REDIRECT, "weak.redirect"),
    (LinkKind.CANONICAL, "weak.canonical"),
    (LinkKind.NOINDEX, "weak.noindex"),
    (LinkKind.NOFOLLOW, "weak.nofollow"),
    (LinkKind.HEAD, "weak.head"),
)
_ONLY_SOURCE_RULES: Final = (
    ("orphan.sitemap", frozenset({SourceKind.SITEMAP})),
    ("orphan.search", frozenset({SourceKind.SEARCH, SourceKind.ANALYTICS})),
    ("orphan.log", frozenset({SourceKind.LOG})),
    ("orphan.list", frozenset({SourceKind.BACKLINKS, SourceKind.LIST, SourceKind.CRAWL})),
)
_LINKED_KINDS: Final = (
    LinkKind.FOLLOWED | LinkKind.NOINDEX | LinkKind.CANONICAL | LinkKind.NOFOLLOW | LinkKind.REDIRECT
)
_FAILING_STATES: Final = frozenset({State.SERVER_ERROR, State.UNREACHABLE, State.BAD_ANSWER})
_NAMING_SOURCES: Final = frozenset(
    {SourceKind.SEARCH, SourceKind.ANALYTICS, SourceKind.BACKLINKS, SourceKind.LIST, SourceKind.CRAWL}
)
_GONE_STATUSES: Final = frozenset({404, 410})  # all others say "not you", "not now" or "not so"

CLASSIFIED_STATES: Final = frozenset({State.INDEXABLE, State.CLIENT_ERROR, State.REDIRECT}) | _FAILING_STATES
"""The states of URLs that may fall under a rule."""


class SourceStats(Struct, kw_only=True):
    """What the sources know of a page, in all its spellings. ``ok``, ``moved`` and ``dead`` are answers in logs."""

    sources: set[SourceKind] = set()
    first: str = ""
    last: str = ""
    people: int = 0
    bots: int = 0
    engines: int = 0
    ok: int = 0
    moved: int = 0
    dead: int = 0
    clicks: int = 0
    impressions: int = 0
    sessions: int = 0
    views: int = 0
    users: int = 0
    links: int = 0
    domains: int = 0

    @property
    def visits(self) -> int:
        """How much somebody seems to care, in one number to rank by."""
        counted = max(self.sessions, self.views, self.users)  # the same visits
        return self.people + self.bots + self.clicks + counted + max(self.links, self.domains)

    @property
    def is_found_by_people(self) -> bool:
        """Whether searchers, visitors that were counted, or other sites found the way to it."""
        came = self.clicks or self.impressions or self.sessions or self.views or self.users
        return bool(came or self.links or self.domains)


NO_SOURCES: Final = SourceStats()


class Thresholds(Struct, frozen=True):
    """From where on something is said; see :class:`crawler.config.sections.Audit`."""

    max_clicks: int = 5
    min_inlinks: int = 1
    min_visits: int = 5


class UrlFacts(Struct, frozen=True):
    """What decides about one URL: how it ended, and what leads to it (see :class:`crawler.audit.graph.LinkGraph`)."""

    state: State
    status: int | None
    ways: int  # bits of Way
    depth: int  # -1: no way
    inlinks: int
    is_start: bool = False
    is_probe: bool = False  # see crawler.audit.orphans.scanner_probes
    is_open: bool = True  # a visitor who clicks all there is gets to it
    is_redirect_loop: bool = False  # its redirects never end


def orphan_classes(standing: UrlFacts, known: SourceStats, limits: Thresholds) -> Iterator[str]:
    """The ids of the rules that a URL falls under. ``listed.missing`` is meant only where there is a sitemap."""
    if standing.state is State.INDEXABLE:
        yield from _page_classes(standing, known, limits)
    elif is_gone(standing.state, standing.status):
        if is_missed(known, limits.min_visits) and not _is_scanner_guess(standing, known):
            yield "gone.visited"
        elif known.sources & _NAMING_SOURCES:
            yield "gone.named"
        if standing.ways & _LINKED_KINDS:
            yield "gone.linked"
    elif standing.state in _FAILING_STATES or standing.is_redirect_loop:
        if standing.ways & _LINKED_KINDS:
            yield "gone.failing"
        elif is_missed(known, limits.min_visits) and not _is_scanner_guess(standing, known):
            yield "gone.down"


def _page_classes(standing: UrlFacts, known: SourceStats, limits: Thresholds) -> Iterator[str]:
    ways = standing.ways
    if ways & LinkKind.FOLLOWED and not standing.is_open:
        # what links to it is led to by hreflang, say: visitors come to neither
        ways = ways & ~LinkKind.FOLLOWED | LinkKind.UNREACHED
    if not standing.is_start and not ways & LinkKind.FOLLOWED:
        yield _only_known_by(ways, known)
    elif not standing.is_start:
        if standing.depth > limits.max_clicks:
            yield "reach.deep"
        if standing.inlinks <= limits.min_inlinks:
            yield "reach.few"
    if SourceKind.SITEMAP not in known.sources and (standing.is_start or ways & ~LinkKind.UNREACHED):
        yield "listed.missing"


def _only_known_by(ways: int, known: SourceStats) -> str:
    """Why a page that no link counts for is known at all. Every one of them gets a class."""
    for way, rule in _WEAK_RULES:
        if ways & way:
            return rule
    if ways & LinkKind.UNREACHED:
        return "orphan.island"
    return next((rule for rule, sources in _ONLY_SOURCE_RULES if sources & known.sources), "orphan.island")


def is_gone(state: State, status: int | None) -> bool:
    """Whether an answer says that there is nothing: https://www.rfc-editor.org/rfc/rfc9110#section-15.5.5 and .11."""
    return state is State.CLIENT_ERROR and status in _GONE_STATUSES


def is_missed(known: SourceStats, min_visits: int) -> bool:
    """Whether somebody misses a page that is gone, or fails.

    A URL that never answered with a page was perhaps never there: scanners ask for thousands, some under the names
    of browsers, and a server may redirect all of them to https. It counts from some visits on of people and of search
    engines, which ask for what somebody links, if these are the most.
    """
    if known.is_found_by_people or known.ok > 0:
        return True
    asked = known.people + known.engines
    return asked >= min_visits and asked > known.bots - known.engines


def _is_scanner_guess(standing: UrlFacts, known: SourceStats) -> bool:
    """Whether it is what scanners ask every server for, and nothing says that it was ever here."""
    return standing.is_probe and not (known.ok or standing.ways or known.sources - {SourceKind.LOG})
