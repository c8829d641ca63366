"""The records that sources (sitemaps, logs, exports, lists) hold about URLs, and the report on reading a source."""

from enum import StrEnum
from typing import Final

from msgspec import Struct

from crawler.model import Url


class SourceKind(StrEnum):
    """A kind of source that knows URLs of the site."""

    SITEMAP = "sitemap"
    SEARCH = "search"  # an export of a search engine's console
    ANALYTICS = "analytics"
    LOG = "log"  # an access log of a web server
    BACKLINKS = "backlinks"  # links from other sites
    LIST = "list"  # a file with URLs
    CRAWL = "crawl"  # another crawl of the site
    REGISTER = "register"  # the URLs that the site published once: crawler/moves/register.py


class SourceCounts(Struct, kw_only=True):
    """What sources count of a URL. These fields are the columns of the audit's table, and what pages sum up.

    Requests are counted by client (``people``, ``bots``), and by status (``ok``: 2xx and 304, ``moved``: other 3xx,
    ``dead``: 4xx and 5xx). ``sessions``, ``views`` and ``users`` are as an analytics export counts them.
    """

    people: int = 0
    bots: int = 0
    engines: int = 0  # those of ``bots`` that search engines run
    scanners: int = 0  # those of ``bots`` that call themselves browsers, and behave like scanners
    ok: int = 0
    moved: int = 0
    dead: int = 0
    clicks: int = 0  # from search results
    impressions: int = 0  # in search results
    sessions: int = 0
    views: int = 0
    users: int = 0
    links: int = 0  # from other sites
    domains: int = 0  # of these links


def file_name(name: str) -> str:
    """The name of a source for people on other machines: a URL, or a file without its directories."""
    return name if "://" in name else name.rstrip("/").rpartition("/")[2]


COUNT_NAMES: Final = SourceCounts.__struct_fields__
REQUEST_NAMES: Final = COUNT_NAMES[: COUNT_NAMES.index("ok")]
"""The counts of requests by client."""
EXPORT_NAMES: Final = COUNT_NAMES[COUNT_NAMES.index("clicks") :]
"""The counts of sources other than logs."""


class SourceRecord(SourceCounts, kw_only=True):
    """What one source records about one URL; records of one source for the same URL add up.

    ``url`` is in canonical form. ``first`` and ``last`` are the days (``2026-11-21``, UTC) of its first and last visit,
    or "". ``agents`` counts requests by bot; ``status`` is the newest one.
    """

    url: Url
    first: str = ""
    last: str = ""
    status: int = 0
    visitors: dict[int, int] = {}  # errors that people got, by visitor; -1: many who got none
    lastmod: str = ""
    is_page: bool = False  # the source knows or claims that it is a page, whatever its path ends in
    agents: dict[str, int] = {}  # requests of each known bot: {"Googlebot": 12}


class IgnoreReason(StrEnum):
    """Why a row of a source does not count."""

    FILE = "file"  # its URL ends like a file, and no link, sitemap or response shows that it is a page
    METHOD = "method"  # other than GET and HEAD, or no URL
    OWN = "own"  # a request by Siteatlas


class SourceProgress(Struct, frozen=True):
    """The source that is being read, and of all sources of its kind the bytes read as stored, of how many (0: unknown).

    ``lines`` are those of all logs so far.
    """

    name: str
    read: int = 0
    size: int = 0
    lines: int = 0


class SourceReport(Struct, kw_only=True):
    """The report on reading one source. Rows are lines of a log, rows of a table or entries of a sitemap.

    ``used`` rows name a URL of the site, ``unread`` ones cannot be read, ``foreign`` ones name another site, ``beside``
    ones name no page; ``ignored`` counts the latter by :class:`IgnoreReason`. ``faults`` and ``notes`` are sentences.
    """

    source: SourceKind
    name: str  # path or URL, as the user gave it
    about: str = ""  # what the source says of all its URLs: "Crawled - currently not indexed"
    format: str = ""  # "nginx combined", "Search Console pages": as detected or given
    rows: int = 0
    used: int = 0
    unread: int = 0
    foreign: int = 0
    beside: int = 0
    ignored: dict[str, int] = {}
    bytes: int = 0  # as stored
    urls: int = 0  # distinct ones
    first: str = ""
    last: str = ""
    complete: bool = True  # False: the reader could not read some of it, which may name unknown URLs
    hostless: int = 0  # used rows of a log that name no host
    doubt: str = ""  # why findings that only this source supports are inconclusive
    faults: list[str] = []
    notes: list[str] = []

    def note_rest(self) -> None:
        """Note that GA4 sums up the rows beyond its limit: https://support.google.com/analytics/answer/13331684."""
        note = "it groups further pages as (other), without their URLs"
        self.notes += [] if note in self.notes else [note]
        self.complete = False
