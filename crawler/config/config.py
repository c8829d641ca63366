"""Every setting, in the sections that the parts receive, with its default and its meaning.

The sections are the tables of the TOML file. The command line decides precedence: flag, environment, then file.
"""

import re
from typing import Literal

from pydantic import Field, field_validator

from crawler.config.audit import Audit
from crawler.config.notify import Email, Hook, IndexNow, Notify, SearchConsole, Upload, Webhook, WebSub
from crawler.config.schedule import Daemon, Schedule
from crawler.config.section import Count, Seconds, Section
from crawler.units import duration, size
from crawler.url.params import TRACKING
from crawler.version import __version__


class Site(Section):
    """What is crawled, and where its sitemap lives."""

    url: str = ""
    """The URL to start from. Its directory is the scope, unless sitemap_url says otherwise."""
    sitemap_url: str = ""
    """The public URL of the sitemap, whose directory is the scope (the location rule). Default: beside the url."""


class Scope(Section):
    """Which URLs belong to the crawl."""

    include: tuple[str, ...] = ()
    """Only URLs that match one of these patterns (glob, or re: and a regular expression) are crawled."""
    exclude: tuple[str, ...] = ()
    """URLs that match one of these patterns are not crawled."""
    max_depth: int | None = Field(default=None, ge=0)
    """How many clicks from the start a page may be; no limit by default."""
    max_pages: Count | None = None
    """How many pages one run fetches at most; run again to go on. No limit by default."""
    max_time: Seconds | None = None
    """How long one run crawls at most (seconds, or 90m, 2h); run again to go on. No limit by default."""
    max_segments: Count = 32
    """Deeper paths are taken for a trap."""
    max_repeats: Count = 3
    """A path that repeats a segment more often in a row is taken for a trap."""
    trap_limit: int = Field(default=250, ge=0)
    """How many pages in a row, which a site makes up by itself, may tell nothing new; 0: any number."""
    subdomains: bool = False
    """Crawl the subdomains of the site's registrable domain too."""
    hosts: tuple[str, ...] = ()
    """More hosts to read from (a registrable domain: those below it too); they may be at private addresses."""
    sitemap_seeds: bool = True
    """Follow the site's own sitemaps (robots.txt lines and /sitemap.xml) to find pages."""

    @field_validator("max_time", mode="before")
    @classmethod
    def _duration(cls, value: object) -> object:
        return duration(value) if isinstance(value, str) else value


class Urls(Section):
    """How URLs are brought into one form."""

    drop_params: tuple[str, ...] = TRACKING
    """Query parameters that never change a page and are dropped (names or globs)."""
    keep_params: tuple[str, ...] = ()
    """Query parameters that are kept although drop_params names them."""


class Obedience(Section):
    """Which of the site's wishes are obeyed."""

    robots: bool = True
    """Obey robots.txt (RFC 9309)."""
    max_crawl_delay: float = Field(default=60.0, ge=0)
    """Seconds of Crawl-delay that are honoured at most."""
    noindex: bool = True
    """Keep pages out that say noindex."""
    canonical: bool = True
    """Keep pages out that name another page as canonical."""
    nofollow: bool = True
    """Do not follow links that say nofollow."""


class Fetch(Section):
    """How pages are fetched."""

    source: str = ""
    """A server (http://127.0.0.1:8080) or a folder of built pages to read the site from; its URLs stay public ones."""
    resolve: tuple[str, ...] = ()
    """Connect to these addresses, which may be private, for a host and port, as curl does; no lookup in DNS."""
    user_agent: str = Field(default=f"Siteatlas/{__version__}", min_length=1)
    """How we introduce ourselves; the part before the slash is the name robots.txt is asked about."""
    headers: dict[str, str] = Field(default={})
    """Extra request headers; sent to the start URL's origin only."""
    basic_auth: str = ""
    """user:password for the start URL's origin only; env:NAME or file:PATH keep it out of the configuration."""
    cookies: dict[str, str] = Field(default={})
    """Cookies; sent to the start URL's origin only."""
    proxy: str = ""
    """A proxy for all requests (http://host:port). The environment's proxies are not used."""
    transport: Literal["fast", "httpx"] = "fast"
    """Which HTTP transport to use behind httpx's interface: the fast one, or httpx's own."""
    http2: bool = False
    """Speak HTTP/2 where the server can."""
    ca_file: str = ""
    """A PEM file of certificate authorities to trust besides the usual ones."""
    timeout: Seconds = 120.0
    """Seconds one fetch may take in all."""
    connect_timeout: Seconds = 10.0
    """Seconds to connect, TLS included."""
    read_timeout: Seconds = 30.0
    """Seconds without a byte."""
    max_download: Count = 20 * 2**20
    """Bytes of one answer on the wire."""
    max_body: Count = 10 * 2**20
    """Bytes of one page once decoded; the rest is cut, and said."""
    max_sitemap: Count = 64 * 2**20
    """Bytes of one of the site's own sitemaps once decoded."""
    refetch_every: int = Field(default=30, ge=0)
    """Runs after which a page is read whole again although the server says "not modified"; 0: never."""
    max_redirects: Count = 10
    """Redirects in a row that are followed; browsers give up after 20, search engines after about 10."""
    retries: int = Field(default=3, ge=0)
    """How often a fetch that failed for now (5xx, time-out, connection) is tried again."""

    @field_validator("max_download", "max_body", "max_sitemap", mode="before")
    @classmethod
    def _size(cls, value: object) -> object:
        return size(value) if isinstance(value, str) else value


class Pace(Section):
    """How hard the site is worked."""

    concurrency: Count = 4
    """Requests at the same time to one origin."""
    rate: float = Field(default=10.0, ge=0)
    """Requests a second to one origin at most; 0 is full speed: no ceiling, and no adapting to latency."""
    delay: float = Field(default=0.0, ge=0)
    """Seconds between two requests to one origin at least."""
    max_retry_after: float = Field(default=3600.0, ge=0)
    """Seconds that a server may ask to wait (Retry-After) before the run ends instead; run again to go on."""
    max_error_time: Seconds = 900.0
    """Seconds (or 15m) a run may lose to a server that fails or lets it wait before it ends; run again to go on."""

    @field_validator("max_retry_after", "max_error_time", mode="before")
    @classmethod
    def _duration(cls, value: object) -> object:
        return duration(value) if isinstance(value, str) else value


class Parse(Section):
    """How pages are read."""

    processes: int = Field(default=0, ge=0)
    """Parser processes; 0 means as many as there are processors, at most 4."""
    timeout: Seconds = 5.0
    """Seconds one page may take; then its process is killed and a simpler reader finds the links."""
    memory: Count = 1 * 2**30
    """Bytes of address space a parser process may use."""
    max_links: Count = 20_000
    """Links taken from one page at most."""

    @field_validator("memory", mode="before")
    @classmethod
    def _size(cls, value: object) -> object:
        return size(value) if isinstance(value, str) else value


class Content(Section):
    """What is told about each page."""

    lastmod: Literal["observed", "header", "page", "none"] = "observed"
    """Where lastmod comes from: the best evidence, Last-Modified only, dates in the page only, or nowhere."""
    images: bool = True
    """List the images of each page."""
    videos: bool = True
    """List the videos of each page."""
    alternates: bool = True
    """List the language alternates (hreflang) of each page."""


class Output(Section):
    """Where and how the sitemap is written."""

    directory: str = ""
    """The directory that the sitemap is published in."""
    gzip: bool = False
    """Compress the files that list pages (an index is never compressed)."""
    max_urls: int = Field(default=50_000, ge=1, le=50_000)
    """URLs in one file at most."""
    max_bytes: int = Field(default=52_428_800, ge=10_000, le=52_428_800)
    """Bytes in one file at most, uncompressed."""
    group: Literal["", "section", "language", "type"] = ""
    """Give each section (first directory), language or type (news, video, image, page) sitemaps of its own."""
    file_names: str = ""
    """Names of the files below an index, such as "{stem}-{group}-{n}.xml"; {next} is a number but for the first."""
    stylesheet: Literal["", "css", "xsl"] = ""
    """Publish a stylesheet too, so that a person who opens the sitemap sees a table."""
    recent: Literal["", "atom", "rss"] = ""
    """Publish a feed of the pages that were added or changed last, beside the sitemap."""
    recent_urls: int = Field(default=500, ge=1, le=5_000)
    """URLs in that feed at most."""
    recent_name: str = ""
    """The name of that file. Default: the sitemap's, as in sitemap-recent.atom."""
    changefreq: Literal["", "always", "hourly", "daily", "weekly", "monthly", "yearly", "never"] = ""
    """Written to every entry when set. Search engines ignore it."""
    priority: float | None = Field(default=None, ge=0, le=1)
    """Written to every entry when set. Search engines ignore it."""
    keep_failed: int = Field(default=3, ge=0)
    """How many runs in a row a published page may fail for now (5xx, time-out) before it leaves the sitemap."""
    mode: str = "0644"
    """Permissions of new files, in octal, whatever the umask; a file that replaces another keeps that one's."""
    swap_delay: float = Field(default=1.0, ge=0)
    """Seconds that readers of the old index are given to find the old files, when files below it change."""
    grace_period: float = Field(default=3600.0, ge=0)
    """Seconds that files which left the set stay, for readers who hold an old index."""
    generations: Count = 2
    """How many published sets are kept as copies beside the state, to go back to (siteatlas rollback)."""
    partial: bool = False
    """Write what is known although the crawl was cut short."""
    max_failed: float = Field(default=0.2, ge=0, le=1)
    """Publish nothing when a larger share of the pages than this failed."""
    max_shrink: float = Field(default=0.2, ge=0, le=1)
    """Publish nothing when a larger share of the published pages than this would leave without a good reason."""

    @field_validator("mode")
    @classmethod
    def _octal(cls, value: str) -> str:
        if not re.fullmatch("0?[0-7]{3}", value):
            raise ValueError("permissions are three octal digits, like 0644")
        return value

    @field_validator("swap_delay", "grace_period", mode="before")
    @classmethod
    def _duration(cls, value: object) -> object:
        return duration(value) if isinstance(value, str) else value

    @field_validator("max_bytes", mode="before")
    @classmethod
    def _size(cls, value: object) -> object:
        return size(value) if isinstance(value, str) else value


class State(Section):
    """Where the crawl is remembered."""

    directory: str = Field(default=".siteatlas", min_length=1)
    """The directory of the state, never inside the published one."""
    keep_runs: Count = 365
    """How many runs are remembered, with what each of them changed. The last that published always is."""


class Config(Section):
    """All sections. Only the composition root sees the whole."""

    site: Site = Site()
    scope: Scope = Scope()
    urls: Urls = Urls()
    obey: Obedience = Obedience()
    fetch: Fetch = Fetch()
    pace: Pace = Pace()
    parse: Parse = Parse()
    content: Content = Content()
    output: Output = Output()
    state: State = State()
    audit: Audit = Audit()
    upload: Upload = Upload()
    schedule: Schedule = Schedule()
    daemon: Daemon = Daemon()
    notify: Notify = Notify()
    indexnow: IndexNow = IndexNow()
    search_console: SearchConsole = SearchConsole()
    websub: WebSub = WebSub()
    webhook: Webhook = Webhook()
    email: Email = Email()
    hook: Hook = Hook()
