"""The orphan classes of a URL, by its links and its sources. Pure. :mod:`crawler.audit.rules` has the rules."""

import re
from collections.abc import Iterator
from typing import Final

from msgspec import Struct, field

from crawler.audit.graph.links import VISITOR_KINDS, LinkKind
from crawler.audit.source_record import EXPORT_NAMES, SourceCounts, SourceKind
from crawler.model import State, Url

# In this order: the first kind of link that a page has names its class
_WEAK_RULES: Final = (
    (LinkKind.REDIRECT, "weak.redirect"),
    (LinkKind.CANONICAL | LinkKind.VARIANT, "weak.canonical"),
    (LinkKind.NOINDEX, "weak.noindex"),
    (LinkKind.NOFOLLOW, "weak.nofollow"),
    (LinkKind.HEAD, "weak.head"),
)
_ONLY_SOURCE_RULES: Final = (
    ("orphan.sitemap", frozenset({SourceKind.SITEMAP})),
    ("orphan.search", frozenset({SourceKind.SEARCH, SourceKind.ANALYTICS})),
    ("orphan.log", frozenset({SourceKind.LOG})),
    ("orphan.list", frozenset({SourceKind.BACKLINKS, SourceKind.LIST, SourceKind.CRAWL, SourceKind.REGISTER})),
)
_FAILING_STATES: Final = frozenset({State.SERVER_ERROR, State.UNREACHABLE, State.BAD_ANSWER})
_NAMING_SOURCES: Final = frozenset(
    {SourceKind.SEARCH, SourceKind.ANALYTICS, SourceKind.BACKLINKS, SourceKind.LIST, SourceKind.CRAWL}
)
_GONE_STATUSES: Final = frozenset({404, 410})  # other 4xx say "not you", "not now" or "not so"

# What vulnerability scanners request: programs with known holes, files published by mistake, and consoles.
_PROBES_ANYWHERE: Final = r"""
wp-[a-z-]+\.php wp-admin wp-includes wp-config[^/?]* xmlrpc\.php wlwmanifest\.xml
\.env[^/?]* \.git \.svn \.hg \.aws \.ssh \.vscode \.ds_store \.ht[a-z]+
phpmyadmin[^/?]* pma myadmin adminer[^/?]*\.php phpunit eval-stdin\.php phpinfo(?:\.php)?
cgi-bin actuator _ignition _profiler server-status web-inf hnap1 boaform id_rsa
(?:info|shell|c99|alfa|upload|setup-config)\.php etc/passwd telescope/requests
"""
# Names that a site may use itself below the root.
_PROBES_AT_ROOT: Final = r"""
admin administrator manager(?:/html)? console backup setup remote(?:/login)? solr(?:/.*)?
(?:config|install|admin|login|test)\.php druid(?:/.*)? geoserver(?:/.*)? sdk owa(?:/.*)?
"""
_probe = re.compile(
    rf"https?://[^/?]*+(?:/+(?:{'|'.join(_PROBES_AT_ROOT.split())})/?(?:\?|$)"
    rf"|[^?]*/(?:{'|'.join(_PROBES_ANYWHERE.split())})(?:[/?]|$))",
    re.IGNORECASE,
).match

CLASSIFIED_STATES: Final = (
    frozenset({State.INDEXABLE, State.CLIENT_ERROR, State.SOFT_404, State.REDIRECT}) | _FAILING_STATES
)
"""The states of URLs that may fall under a rule."""


class SourceStats(SourceCounts, kw_only=True):
    """The counts of all sources for a page in all its spellings. ``doubtful`` sources may be about another site."""

    sources: set[SourceKind] = field(default_factory=set)
    doubtful: set[SourceKind] = field(default_factory=set)
    first: str = ""
    last: str = ""

    @property
    def visits(self) -> int:
        """The demand for the page in one number, to rank findings by."""
        counted = max(self.sessions, self.views, self.users)  # three counts of the same visits
        return self.people + self.bots + self.clicks + counted + max(self.links, self.domains)

    @property
    def is_doubtful(self) -> bool:
        """Whether every source that knows the page may be about another site."""
        return bool(self.sources) and self.doubtful == self.sources

    @property
    def is_found_by_people(self) -> bool:
        """Whether search, analytics or backlinks show that people find the page."""
        return any(getattr(self, name) for name in EXPORT_NAMES)


NO_SOURCES: Final = SourceStats()


class Thresholds(Struct, frozen=True):
    """The limits of the rules ``reach.*`` and ``gone.*``; see :class:`crawler.config.sections.AuditConfig`."""

    max_clicks: int = 5
    min_inlinks: int = 1
    min_visits: int = 5


class UrlFacts(Struct, frozen=True):
    """The state of one URL and its links (see :class:`crawler.audit.graph.graph.LinkGraph`)."""

    state: State
    status: int | None
    ways: int  # flags of LinkKind
    depth: int  # -1: no links lead there
    inlinks: int
    is_start: bool = False
    is_probe: bool = False  # see is_scanner_probe
    is_open: bool = True  # a visitor who clicks every link reaches it
    is_drawn: bool = False  # scripts create every followed link to it
    is_redirect_loop: bool = False  # its redirects form a loop


def orphan_classes(facts: UrlFacts, known: SourceStats, limits: Thresholds) -> Iterator[str]:
    """The ids of the rules that apply to a URL. ``listed.missing`` counts only on a site with a sitemap."""
    if facts.state is State.INDEXABLE:
        yield from _page_classes(facts, known, limits)
    elif facts.state is State.SOFT_404:
        yield from () if _is_soft_404_guess(facts, known, limits.min_visits) else ("gone.soft",)
    elif is_gone(facts.state, facts.status) or (facts.is_redirect_loop and SourceKind.REGISTER in known.sources):
        yield from _gone_classes(facts, known, limits)
    elif facts.state in _FAILING_STATES or facts.is_redirect_loop:
        if facts.ways & VISITOR_KINDS:
            yield "gone.failing"
        elif is_missed(known, limits.min_visits) and not _is_scanner_guess(facts, known):
            yield "gone.down"


def _gone_classes(facts: UrlFacts, known: SourceStats, limits: Thresholds) -> Iterator[str]:
    if SourceKind.REGISTER in known.sources:
        yield "lost.visited" if known.visits else "lost.published"
    elif is_missed(known, limits.min_visits) and not _is_scanner_guess(facts, known):
        yield "gone.visited"
    elif known.sources & _NAMING_SOURCES:
        yield "gone.named"
    if facts.ways & VISITOR_KINDS:
        yield "gone.linked"


def _page_classes(facts: UrlFacts, known: SourceStats, limits: Thresholds) -> Iterator[str]:
    ways = facts.ways
    if ways & LinkKind.FOLLOWED and not facts.is_open:
        # a page that links to it is known by hreflang only, say: visitors reach neither
        ways = ways & ~LinkKind.FOLLOWED | LinkKind.UNREACHED
    if not facts.is_start and not ways & LinkKind.FOLLOWED:
        # nobody misses links to what only machines request, such as a health check
        if ways or not is_machine_only(known):
            yield _unlinked_class(ways, known)
    elif not facts.is_start:
        if facts.is_drawn:
            yield "render.orphan"
        if facts.depth > limits.max_clicks:
            yield "reach.deep"
        if facts.inlinks <= limits.min_inlinks:
            yield "reach.few"
    if SourceKind.SITEMAP not in known.sources and (facts.is_start or ways & ~LinkKind.UNREACHED):
        yield "listed.missing"


def _unlinked_class(ways: int, known: SourceStats) -> str:
    """The class of a page without a followed link. Every such page has one."""
    for way, rule in _WEAK_RULES:
        if ways & way:
            return rule
    if ways & LinkKind.UNREACHED:
        return "orphan.island"
    return next((rule for rule, sources in _ONLY_SOURCE_RULES if sources & known.sources), "orphan.island")


def is_gone(state: State, status: int | None) -> bool:
    """Whether an answer says that the page is gone: https://www.rfc-editor.org/rfc/rfc9110#section-15.5.5 and .11."""
    return state is State.CLIENT_ERROR and status in _GONE_STATUSES


def is_machine_only(known: SourceStats) -> bool:
    """Whether only access logs know a URL, and neither people nor search engines requested it: a health check, say."""
    return known.sources == {SourceKind.LOG} and not known.people + known.engines


def is_missed(known: SourceStats, min_visits: int) -> bool:
    """Whether somebody misses a page that is gone or fails.

    A URL that never answered with a page may never have existed: scanners request thousands of URLs, some under the
    names of browsers, and a server may redirect all of them to https. Such a URL is missed when people and search
    engines, which request linked URLs, made at least ``min_visits`` requests, and more than other bots but scanners.
    """
    return known.is_found_by_people or known.ok > 0 or _is_requested(known, min_visits)


def _is_requested(known: SourceStats, min_visits: int) -> bool:
    visits = known.people + known.engines
    return visits >= min_visits and visits > known.bots - known.engines - known.scanners


def _is_scanner_guess(facts: UrlFacts, known: SourceStats) -> bool:
    """Whether scanners request the URL on every server, and no source shows that it ever existed here."""
    return facts.is_probe and not (known.ok or facts.ways or known.sources - {SourceKind.LOG})


def _is_soft_404_guess(facts: UrlFacts, known: SourceStats, min_visits: int) -> bool:
    """Whether a soft 404 is only guessed or mistyped: nothing links to it, and too few people request it.

    Its status in the access logs says nothing: such a server responds with 200 to a scanner, too.
    """
    if facts.ways or known.sources - {SourceKind.LOG}:
        return False
    return facts.is_probe or not _is_requested(known, min_visits)


def is_scanner_probe(url: Url) -> bool:
    """Whether vulnerability scanners request a URL on every server: such a request says nothing about the site."""
    return bool(_probe(url))
