"""Every setting, in sections, with its default and its meaning.

The sections are the tables of the TOML file. The command line decides precedence: flag, environment, then file.
"""

import re
from typing import Literal

from pydantic import Field, field_validator

from crawler.config.sections import (
    AuditConfig,
    ConfigSection,
    DaemonConfig,
    EmailConfig,
    HookConfig,
    IndexNowConfig,
    NotifyConfig,
    PositiveInt,
    PositiveSeconds,
    ScheduleConfig,
    SearchConsoleConfig,
    UploadConfig,
    WebhookConfig,
    WebSubConfig,
)
from crawler.units import parse_duration, parse_size
from crawler.url.params import TRACKING_PARAMS
from crawler.version import __version__


class SiteConfig(ConfigSection):
    """The site to crawl, and the public URL of its sitemap."""

    url: str = ""
    """The URL to start from. Its directory is the scope, unless sitemap_url sets another."""
    sitemap_url: str = ""
    """Public URL of the sitemap. Its directory is the scope (the location rule of sitemaps.org). Default: beside the
    start URL."""


class ScopeConfig(ConfigSection):
    """Which URLs are crawled."""

    include: tuple[str, ...] = ()
    """Crawl only URLs that match one of these patterns: a glob, or re: and a regular expression."""
    exclude: tuple[str, ...] = ()
    """Do not crawl URLs that match one of these patterns."""
    max_depth: int | None = Field(default=None, ge=0)
    """Crawl pages up to this many clicks from the start URL. Default: no limit."""
    max_pages: PositiveInt | None = None
    """Fetch at most this many pages in one run. Run again to continue. Default: no limit."""
    max_time: PositiveSeconds | None = None
    """Crawl at most this long in one run (seconds, or 90m, 2h). Run again to continue. Default: no limit."""
    max_segments: PositiveInt = 32
    """Skip a URL whose path has more segments than this. It is taken for a crawler trap."""
    max_repeats: PositiveInt = 3
    """Skip a URL whose path repeats one segment more often than this in a row. It is taken for a crawler trap."""
    trap_limit: int = Field(default=250, ge=0)
    """Stop following generated URLs, such as those of a calendar, when this many pages in a row bring nothing new. 0:
    no limit."""
    subdomains: bool = False
    """Crawl the subdomains of the site's registrable domain too."""
    hosts: tuple[str, ...] = ()
    """More hosts to crawl. A registrable domain includes its subdomains. Private addresses are allowed."""
    sitemap_seeds: bool = True
    """Find pages in the site's own sitemaps too (those named in robots.txt, and /sitemap.xml)."""

    @field_validator("max_time", mode="before")
    @classmethod
    def _duration(cls, value: object) -> object:
        return parse_duration(value) if isinstance(value, str) else value


class UrlsConfig(ConfigSection):
    """How URLs are normalized."""

    drop_params: tuple[str, ...] = TRACKING_PARAMS
    """Query parameters to drop because they never change a page (names or globs)."""
    keep_params: tuple[str, ...] = ()
    """Query parameters to keep even if drop_params names them."""


class ObeyConfig(ConfigSection):
    """Which instructions of the site the crawler obeys."""

    robots: bool = True
    """Obey robots.txt (RFC 9309)."""
    max_crawl_delay: float = Field(default=60.0, ge=0)
    """Obey a Crawl-delay of at most this many seconds. A longer one is cut to this."""
    noindex: bool = True
    """Leave pages with noindex out of the sitemap."""
    canonical: bool = True
    """Leave pages that name another page as canonical out of the sitemap."""
    nofollow: bool = True
    """Do not follow nofollow links."""


class FetchConfig(ConfigSection):
    """How pages are fetched."""

    source: str = ""
    """Read the site from this server (http://127.0.0.1:8080) or folder of built pages. Its URLs stay the public
    ones."""
    resolve: tuple[str, ...] = ()
    """Connect to this address for a host and port, without DNS, as curl --resolve does. It may be a private address."""
    user_agent: str = Field(default=f"Siteatlas/{__version__}", min_length=1)
    """User agent of all requests. The name before the slash selects the rules in robots.txt."""
    headers: dict[str, str] = Field(default={})
    """Extra request headers. They go to the origin of the start URL only."""
    basic_auth: str = ""
    """user:password for the origin of the start URL. Write env:NAME or file:PATH to keep it out of the
    configuration."""
    cookies: dict[str, str] = Field(default={})
    """Cookies. They go to the origin of the start URL only."""
    proxy: str = ""
    """Proxy for all requests (http://host:port). Proxies of the environment are not used."""
    transport: Literal["fast", "httpx"] = "fast"
    """HTTP transport: the fast one, or httpx's own."""
    http2: bool = False
    """Use HTTP/2 if the server supports it."""
    ca_file: str = ""
    """PEM file of certificate authorities to trust besides the usual ones."""
    timeout: PositiveSeconds = 120.0
    """Seconds one fetch may take in total."""
    connect_timeout: PositiveSeconds = 10.0
    """Seconds to open a connection, including TLS."""
    read_timeout: PositiveSeconds = 30.0
    """Seconds to wait for the next byte."""
    max_download: PositiveInt = 20 * 2**20
    """Maximum bytes of one response, before decompression. The rest is cut off, and the report says so."""
    max_body: PositiveInt = 10 * 2**20
    """Maximum bytes of one page, after decompression. The rest is cut off, and the report says so."""
    max_sitemap: PositiveInt = 64 * 2**20
    """Maximum bytes of one sitemap of the site, after decompression."""
    refetch_every: int = Field(default=30, ge=0)
    """Fetch a page in full once in this many runs, even if the server would answer 304 (not modified). 0: never."""
    second_reads: int = Field(default=60, ge=0)
    """Maximum pages to fetch a second time in one run that sees differences. What differs between the two is no change
    of the page, and does not move its lastmod. 0: none."""
    max_redirects: PositiveInt = 10
    """Maximum redirects in a row. Browsers give up after 20, search engines after about 10."""
    retries: int = Field(default=3, ge=0)
    """Retries of a fetch after a transient failure (5xx, time-out, connection)."""

    @field_validator("max_download", "max_body", "max_sitemap", mode="before")
    @classmethod
    def _size(cls, value: object) -> object:
        return parse_size(value) if isinstance(value, str) else value


class PaceConfig(ConfigSection):
    """How fast the site is crawled."""

    concurrency: PositiveInt = 4
    """Concurrent requests to one origin."""
    rate: float = Field(default=10.0, ge=0)
    """Maximum requests per second to one origin. 0: full speed, with no limit and no adapting to latency."""
    delay: float = Field(default=0.0, ge=0)
    """Minimum seconds between two requests to one origin."""
    max_retry_after: float = Field(default=3600.0, ge=0)
    """Longest Retry-After to wait for, in seconds. A longer one ends the run. Run again to continue."""
    max_error_time: PositiveSeconds = 900.0
    """Seconds (or 15m) that errors and waits of the server may cost one run before it ends. Run again to continue."""

    @field_validator("max_retry_after", "max_error_time", mode="before")
    @classmethod
    def _duration(cls, value: object) -> object:
        return parse_duration(value) if isinstance(value, str) else value


class ParseConfig(ConfigSection):
    """How pages are parsed."""

    processes: int = Field(default=0, ge=0)
    """Parser processes. 0: one for each processor, at most 4."""
    timeout: PositiveSeconds = 5.0
    """Seconds to parse one page. After that, its process is killed and a simpler parser finds the links."""
    memory: PositiveInt = 1 * 2**30
    """Bytes of address space for one parser process."""
    max_links: PositiveInt = 20_000
    """Maximum links to take from one page."""

    @field_validator("memory", mode="before")
    @classmethod
    def _size(cls, value: object) -> object:
        return parse_size(value) if isinstance(value, str) else value


class ContentConfig(ConfigSection):
    """What the sitemap says about each page."""

    lastmod: Literal["observed", "header", "page", "none"] = "observed"
    """Source of lastmod: the best evidence (observed), Last-Modified only (header), dates in the page only (page), or
    none."""
    images: bool = True
    """List the images of each page."""
    videos: bool = True
    """Include the videos of each page in the sitemap."""
    alternates: bool = True
    """List the language versions (hreflang) of each page."""


class OutputConfig(ConfigSection):
    """Where and how the sitemap is written."""

    directory: str = ""
    """Directory to publish the sitemap in."""
    gzip: bool = False
    """Compress the sitemap files with gzip. A sitemap index is never compressed."""
    max_urls: int = Field(default=50_000, ge=1, le=50_000)
    """Maximum URLs in one file."""
    max_bytes: int = Field(default=52_428_800, ge=10_000, le=52_428_800)
    """Maximum bytes of one file, uncompressed."""
    group: Literal["", "section", "language", "type"] = ""
    """Write separate sitemaps for each section (first directory), language or type (news, video, image, page)."""
    file_names: str = ""
    """Names of the files below an index, such as "{stem}-{group}-{n}.xml". {next} is the number, but empty for the
    first file."""
    stylesheet: Literal["", "css", "xsl"] = ""
    """Publish a stylesheet that shows the sitemap as a table in a browser."""
    recent: Literal["", "atom", "rss"] = ""
    """Publish a feed of the pages that were added or changed last, beside the sitemap."""
    recent_urls: int = Field(default=500, ge=1, le=5_000)
    """Maximum URLs in the feed of recent changes."""
    recent_name: str = ""
    """File name of the feed of recent changes. Default: made from the sitemap's, as in sitemap-recent.atom."""
    changefreq: Literal["", "always", "hourly", "daily", "weekly", "monthly", "yearly", "never"] = ""
    """changefreq of every entry. Search engines ignore it."""
    priority: float | None = Field(default=None, ge=0, le=1)
    """priority of every entry. Search engines ignore it."""
    keep_failed: int = Field(default=3, ge=0)
    """Keep a published page listed for up to this many runs in a row in which it fails transiently (5xx, time-out)."""
    mode: str = "0644"
    """Permissions of new files, in octal, whatever the umask is. A file that replaces another keeps its permissions."""
    swap_delay: float = Field(default=1.0, ge=0)
    """Seconds to wait between publishing a new index and replacing the files that the old index lists."""
    grace_period: float = Field(default=3600.0, ge=0)
    """Seconds to keep files that have left the set, for readers of an old index."""
    generations: PositiveInt = 2
    """Published sets to keep as copies beside the state, for siteatlas rollback."""
    partial: bool = False
    """Publish what is known even if the crawl was cut short."""
    max_failed: float = Field(default=0.2, ge=0, le=1)
    """Publish nothing if more than this share of the pages failed."""
    max_shrink: float = Field(default=0.2, ge=0, le=1)
    """Publish nothing if more than this share of the published pages would leave without a good reason."""

    @field_validator("mode")
    @classmethod
    def _octal(cls, value: str) -> str:
        if not re.fullmatch("0?[0-7]{3}", value):
            raise ValueError("permissions are three octal digits, such as 0644")
        return value

    @field_validator("swap_delay", "grace_period", mode="before")
    @classmethod
    def _duration(cls, value: object) -> object:
        return parse_duration(value) if isinstance(value, str) else value

    @field_validator("max_bytes", mode="before")
    @classmethod
    def _size(cls, value: object) -> object:
        return parse_size(value) if isinstance(value, str) else value


class StateConfig(ConfigSection):
    """Where the state of the crawl is kept."""

    directory: str = Field(default=".siteatlas", min_length=1)
    """Directory of the state. It must not be inside the published one."""
    keep_runs: PositiveInt = 365
    """Runs to remember, with what each of them changed. The last run that published is always kept."""


class Config(ConfigSection):
    """All sections."""

    site: SiteConfig = SiteConfig()
    scope: ScopeConfig = ScopeConfig()
    urls: UrlsConfig = UrlsConfig()
    obey: ObeyConfig = ObeyConfig()
    fetch: FetchConfig = FetchConfig()
    pace: PaceConfig = PaceConfig()
    parse: ParseConfig = ParseConfig()
    content: ContentConfig = ContentConfig()
    output: OutputConfig = OutputConfig()
    state: StateConfig = StateConfig()
    audit: AuditConfig = AuditConfig()
    upload: UploadConfig = UploadConfig()
    schedule: ScheduleConfig = ScheduleConfig()
    daemon: DaemonConfig = DaemonConfig()
    notify: NotifyConfig = NotifyConfig()
    indexnow: IndexNowConfig = IndexNowConfig()
    search_console: SearchConsoleConfig = SearchConsoleConfig()
    websub: WebSubConfig = WebSubConfig()
    webhook: WebhookConfig = WebhookConfig()
    email: EmailConfig = EmailConfig()
    hook: HookConfig = HookConfig()
