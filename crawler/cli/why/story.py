"""What the state knows of one URL, as values: the visit, what earlier runs remember, its place in the sitemap."""

from msgspec import Struct

from crawler.model import DocumentKind, Page, Request, State, Url


class RunSummary(Struct, frozen=True, kw_only=True):
    """The run that the visit belongs to. ``ended`` None: it is going on, or can be gone on with. Unix times."""

    number: int
    started: float
    ended: float | None = None
    completeness: str = ""
    because: str = ""
    outcome: str = ""
    refusal: str = ""
    notes: list[str] = []


class LastVisit(Struct, frozen=True, kw_only=True):
    """The visit of the last run. The names are the columns of the table ``visit``."""

    state: State
    reason: str
    found: int  # flags of Found
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


class UrlHistory(Struct, frozen=True, kw_only=True):
    """What is remembered of all runs. The names are the columns of the table ``memory``."""

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
    """A place in the sitemap. ``is_kept``: the page failed for now, and keeps it."""

    file: str
    group: str
    shard: int
    lastmod: str
    lastmod_source: str
    is_kept: bool


class DiscoveryStep(Struct, frozen=True):
    """A URL on the way from the start; ``found`` says how the one before leads here, in flags of Found."""

    url: Url
    found: int


class RedirectHop(Struct, frozen=True):
    """A URL that another leads to, by a redirect or a canonical. ``state`` None: it was not met."""

    url: Url
    state: State | None
    reason: str
    is_listed: bool


class ChangeFeedEntry(Struct, frozen=True):
    """An entry of the change feed. ``at`` is the start of the run, Unix time, or None when its record is gone."""

    run: int
    at: float | None
    kind: str
    target: str
    lastmod: str
    before: str
    reason: str


class ReferringPage(Struct, frozen=True):
    """A page that leads to a URL: how, and through which redirect or copy, or ""."""

    url: Url
    how: str
    via: str = ""


class LinkFacts(Struct, frozen=True):
    """What the link graph says of a URL. ``inlinks`` are the pages whose links count, ``clicks`` None: no way there.

    ``weight`` is 1.0 for the average page. ``referrers`` are some, the best first.
    """

    inlinks: int
    clicks: int | None
    weight: float
    referrers: list[ReferringPage] = []


class UrlStory(Struct, frozen=True, kw_only=True):
    """Everything of one URL. ``is_known``: some run has met it; of what is None or empty nothing is known."""

    url: Url
    is_known: bool = False
    run: RunSummary | None = None
    last_visit: LastVisit | None = None
    history: UrlHistory | None = None
    page: Page | None = None  # what was read of it, in whichever run that was
    page_type: str = ""  # its Content-Type
    page_run: int | None = None
    steps: list[DiscoveryStep] = []  # from the start to this URL; the last thousand of a longer way
    hops: list[RedirectHop] = []  # where it leads, one after the other
    position: SitemapPosition | None = None  # in what is published
    planned: SitemapPosition | None = None  # in what the unfinished run is about to publish
    changes: list[ChangeFeedEntry] = []
    starts: dict[int, float] = {}  # of runs whose record is kept: Unix times
    link_facts: LinkFacts | None = None
    sources: list[str] = []  # what the sources of an audit say of it, a sentence each
    findings: list[str] = []  # what the audit found of it, and since when
    distrust: str = ""  # why Last-Modified is not believed on the whole site, a sentence

    @property
    def is_audit(self) -> bool:
        """Whether the last run was an audit, which publishes nothing."""
        return self.run is not None and self.run.outcome == "audited"

    @property
    def end(self) -> tuple[State | None, str]:
        """How it ended in the last run that met it, and why; None when that is not kept."""
        last = self.last_visit or self.history
        return (last.state, last.reason) if last else (None, "")
