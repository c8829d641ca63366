"""The values of a URL's story: its last visit, its history over all runs, its place in the sitemap; and their words."""

from datetime import UTC, datetime
from typing import Any, Final

from msgspec import Struct

from crawler.model import DiscoveredBy, DocumentKind, Page, Request, State, Url
from crawler.state.runs import Run
from crawler.units import count_text, w3c
from sitemap import BuildTime


class LastVisit(Struct, frozen=True, kw_only=True):
    """The visit of the last run. The names are the columns of the table ``visit``."""

    state: State
    reason: str
    found: int  # flags of DiscoveredBy
    depth: int
    kind: DocumentKind = DocumentKind.PAGE
    due: float = 0.0  # Unix time
    status: int | None = None
    target: Url | None = None
    requests: list[Request] = []
    last_modified: str = ""
    header_date: str = ""
    page_date: str = ""
    page_date_source: str = ""
    seen_at: float | None = None
    changed: int | None = None
    evidence: str = ""
    lastmod: str = ""
    lastmod_source: str = ""
    discounted: str = ""


class UrlHistory(Struct, frozen=True, kw_only=True):
    """The history of a URL over all runs. The names are the columns of the table ``memory``."""

    state: State
    reason: str
    first_run: int
    last_run: int
    changed_run: int | None = None
    full_run: int | None = None
    failures: int = 0
    status: int | None = None
    target: Url | None = None
    last_modified: str = ""
    header_date: str = ""
    page_date: str = ""
    page_date_source: str = ""
    seen_at: float | None = None
    lastmod: str = ""
    lastmod_source: str = ""
    evidence: str = ""


class SitemapPosition(Struct, frozen=True):
    """A place in the sitemap. ``is_kept``: the page failed temporarily, and stays listed.

    ``is_held``: the gate holds it.
    """

    file: str
    group: str
    shard: int
    lastmod: str
    lastmod_source: str
    is_kept: bool
    is_held: bool = False


class DiscoveryStep(Struct, frozen=True):
    """A URL on the path from the start; ``found`` has the flags of DiscoveredBy of the step to it."""

    url: Url
    found: int


class RedirectHop(Struct, frozen=True):
    """The target of a redirect or a canonical. ``state`` None: no run has found it."""

    url: Url
    state: State | None
    reason: str
    is_listed: bool


class ChangeFeedEntry(Struct, frozen=True):
    """An entry of the change feed. ``at`` is the start of the run in Unix time, None when its record was deleted."""

    run: int
    at: float | None
    kind: str
    target: str
    lastmod: str
    before: str
    reason: str


class ReferringPage(Struct, frozen=True):
    """A page that leads to a URL, how, and via which redirect or copy, or ""."""

    url: Url
    how: str
    via: str = ""


class LinkFacts(Struct, frozen=True):
    """A URL in the link graph. ``inlinks`` counts pages with followed links, ``clicks`` None: no path leads there.

    ``weight`` is 1.0 for the average page. ``referrers`` are some of the pages, the best first.
    """

    inlinks: int
    clicks: int | None
    weight: float
    referrers: list[ReferringPage] = []


class UrlStory(Struct, frozen=True, kw_only=True):
    """Everything about one URL. ``is_known``: a run has found it; None or empty means unknown."""

    url: Url
    is_known: bool = False
    run: Run | None = None  # that of the last visit
    last_visit: LastVisit | None = None
    history: UrlHistory | None = None
    page: Page | None = None  # its last parsed content, of any run
    page_type: str = ""  # its Content-Type
    page_run: int | None = None
    steps: list[DiscoveryStep] = []  # from the start to this URL; the last thousand of a longer path
    hops: list[RedirectHop] = []  # its redirect targets, in order
    position: SitemapPosition | None = None  # in the published sitemap
    planned: SitemapPosition | None = None  # in the sitemap of the unfinished run
    changes: list[ChangeFeedEntry] = []
    starts: dict[int, float] = {}  # start of each recorded run, in Unix time
    link_facts: LinkFacts | None = None
    sources: list[str] = []  # sentences from the sources of an audit
    findings: list[str] = []  # findings of the audit, as sentences
    distrust: str = ""  # why Last-Modified is not believed on the whole site, a sentence
    builds: list[BuildTime] = []  # times of builds among the Last-Modified of the site

    @property
    def is_audit(self) -> bool:
        """Whether the last run was an audit, which publishes nothing."""
        return self.run is not None and self.run.outcome == "audited"

    @property
    def end(self) -> tuple[State | None, str]:
        """Its state in the last run that found it, with the reason; None when it is not stored."""
        latest = self.last_visit or self.history
        return (latest.state, latest.reason) if latest else (None, "")


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
    State.ACTION: "a request may change something on the site, so it was not fetched",
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
