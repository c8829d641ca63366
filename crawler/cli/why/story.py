"""The values of a URL's story: its last visit, its history over all runs, and its place in the sitemap."""

from msgspec import Struct

from crawler.model import DocumentKind, Page, Request, State, Url
from crawler.state.runs import Run
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
