"""What somebody other than the site's own links says of a URL, and the account of where that was read."""

from enum import StrEnum

from msgspec import Struct

from crawler.model import Url


class SourceKind(StrEnum):
    """A kind of source that knows URLs of the site."""

    SITEMAP = "sitemap"
    SEARCH = "search"  # an export of a search engine's console
    ANALYTICS = "analytics"
    LOG = "log"  # an access log of a web server
    BACKLINKS = "backlinks"  # links from other sites
    LIST = "list"  # URLs somebody wrote down
    CRAWL = "crawl"  # another crawl of the site


class SourceRecord(Struct, frozen=True, kw_only=True):
    """What one source says of one URL; claims of one source for the same URL add up.

    ``url`` is in canonical form. ``first`` and ``last`` are the days (``2026-11-21``, UTC) between which it was seen,
    or "". Requests are counted by who made them (``people``, ``bots``), by their answers (``ok``: 2xx and 304,
    ``moved``: other 3xx, ``dead``: 4xx and 5xx), and by bot in ``agents``; ``status`` is the newest answer.
    """

    url: Url
    first: str = ""
    last: str = ""
    people: int = 0
    bots: int = 0
    engines: int = 0  # those of the bots that are of search engines
    ok: int = 0
    moved: int = 0
    dead: int = 0
    status: int = 0
    clicks: int = 0  # from search results
    impressions: int = 0  # in search results
    sessions: int = 0  # these three as an analytics export counts them
    views: int = 0
    users: int = 0
    links: int = 0  # from other sites
    domains: int = 0  # that these are from
    lastmod: str = ""
    agents: dict[str, int] = {}  # requests of each known bot: {"Googlebot": 12}


class SourceReport(Struct, kw_only=True):
    """How the reading of one source went. Rows are lines of a log, rows of a table or entries of a sitemap.

    ``used`` of them named a URL of the site, ``unread`` could not be read, ``foreign`` named another site, ``beside``
    something that is no page (style sheets, pictures, POST). ``faults`` say in sentences what was wrong, ``notes`` what
    a person should know.
    """

    source: SourceKind
    name: str  # path or URL, as given
    about: str = ""  # what it says of all its URLs: "Crawled - currently not indexed"
    format: str = ""  # "nginx combined", "Search Console pages": as detected or given
    rows: int = 0
    used: int = 0
    unread: int = 0
    foreign: int = 0
    beside: int = 0
    bytes: int = 0  # as stored
    urls: int = 0  # distinct ones
    first: str = ""
    last: str = ""
    complete: bool = True  # False: some of it could not be read, and it may name URLs that are not known
    faults: list[str] = []
    notes: list[str] = []
