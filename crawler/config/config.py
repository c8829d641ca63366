"""Every setting, in sections, with its default and its meaning.

The sections are the tables of the TOML file. The command line decides precedence: flag, environment, then file.
"""

import re
from typing import Annotated, Literal

from pydantic import Field, field_validator

from crawler.config.sections import (
    AuditConfig,
    ConfigSection,
    DaemonConfig,
    Duration,
    EmailConfig,
    FleetConfig,
    FromSize,
    HookConfig,
    IndexNowConfig,
    NotifyConfig,
    PositiveDuration,
    PositiveInt,
    PositiveSeconds,
    ScheduleConfig,
    SearchConsoleConfig,
    Size,
    UploadConfig,
    WebhookConfig,
    WebSubConfig,
)
from crawler.url.params import TRACKING_PARAMS
from crawler.url.scope import UrlPattern
from crawler.version import __version__


class SiteConfig(ConfigSection):
    """The site to crawl, and the public URL of its sitemap."""

    url: str = ""
    """The URL to start from. Siteatlas crawls and lists only URLs in its directory, unless sitemap_url is in another
    directory."""
    sitemap_url: str = ""
    """Public URL of the sitemap. Siteatlas crawls and lists only URLs in the directory of this URL (the location rule
    of sitemaps.org). Default: sitemap.xml in the directory of the start URL."""


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
    max_time: PositiveDuration | None = None
    """Crawl at most this long in one run (seconds, or 90m, 2h). Run again to continue. Default: no limit."""
    max_segments: PositiveInt = 32
    """Skip a URL whose path has more segments than this. Such a URL is probably part of a crawler trap."""
    max_repeats: PositiveInt = 3
    """Skip a URL whose path repeats one segment more than this many times in a row. Such a URL is probably part of a
    crawler trap."""
    trap_limit: int = Field(default=250, ge=0)
    """Stop following generated URLs, such as the days of a calendar, after this many pages in a row without new
    content. 0: no limit."""
    subdomains: bool = False
    """Crawl the subdomains of the site's registrable domain too."""
    hosts: tuple[str, ...] = ()
    """More hosts to crawl. A registrable domain (example.com) includes its subdomains. These hosts may have private
    addresses."""
    max_hosts: PositiveInt = 1_000
    """Crawl at most this many hosts besides the host of the sitemap."""
    sitemap_seeds: bool = True
    """Also crawl the pages in the site's existing sitemaps (the sitemaps in robots.txt, and /sitemap.xml)."""


class UrlsConfig(ConfigSection):
    """How URLs are normalized."""

    drop_params: tuple[str, ...] = TRACKING_PARAMS
    """Query parameters to drop because they never change a page (names or globs)."""
    keep_params: tuple[str, ...] = ()
    """Query parameters to keep even if --drop-param names them."""


class ObeyConfig(ConfigSection):
    """Which instructions of the site the crawler obeys."""

    robots: bool = True
    """Obey robots.txt (RFC 9309)."""
    max_crawl_delay: float = Field(default=60.0, ge=0)
    """Longest Crawl-delay to obey, in seconds. If robots.txt requests a longer delay, Siteatlas waits this long."""
    noindex: bool = True
    """Leave pages with noindex out of the sitemap."""
    engine_noindex: bool = True
    """Leave pages out of the sitemap if their noindex names Googlebot or Bingbot alone."""
    canonical: bool = True
    """Leave a page out of the sitemap if the page names another URL as canonical."""
    nofollow: bool = True
    """Do not follow nofollow links."""


class FetchConfig(ConfigSection):
    """How pages are fetched."""

    source: str = ""
    """Read the site from this server (http://127.0.0.1:8080) or from this folder of built pages. The sitemap still
    lists the public URLs."""
    resolve: tuple[str, ...] = ()
    """For this host and port, connect to this address instead of using DNS, as curl --resolve does. The address may be
    private."""
    user_agent: str = Field(default=f"Siteatlas/{__version__}", min_length=1)
    """User-Agent header of all requests. The name before the slash selects the rules in robots.txt."""
    headers: dict[str, str] = Field(default={})
    """Extra request headers. Siteatlas sends them only to the origin of the start URL."""
    basic_auth: str = ""
    """User name and password for HTTP basic authentication, as user:password. Siteatlas sends them only to the origin
    of the start URL. Write env:NAME or file:PATH to keep them out of the configuration."""
    cookies: dict[str, str] = Field(default={})
    """Request cookies. Siteatlas sends them only to the origin of the start URL."""
    signing_key: str = ""
    """File of the Ed25519 private key that signs all requests (Web Bot Auth), or env:NAME. Needs siteatlas[sign]."""
    signature_agent: str = ""
    """Origin that publishes the public key of the signatures, such as https://bot.example.com."""
    proxy: str = ""
    """Proxy for all requests (http://host:port). The proxy resolves host names, so Siteatlas cannot refuse private
    addresses. Siteatlas ignores environment variables such as HTTP_PROXY."""
    transport: Literal["fast", "httpx"] = "fast"
    """HTTP library: fast (reqwest, or httpx where reqwest cannot be loaded), or httpx."""
    http2: bool = False
    """Use HTTP/2 if the server supports it."""
    ca_file: str = ""
    """PEM file of certificate authorities to trust, in addition to the authorities that the system trusts."""
    timeout: PositiveSeconds = 120.0
    """Maximum seconds of one fetch in total."""
    connect_timeout: PositiveSeconds = 10.0
    """Maximum seconds to open a connection, including TLS."""
    read_timeout: PositiveSeconds = 30.0
    """Maximum seconds to wait for the next byte of a response."""
    max_download: Size = 20 * 2**20
    """Maximum bytes of one response, before decompression. Siteatlas ignores the rest, and reports this."""
    max_body: Size = 10 * 2**20
    """Maximum bytes of one page, after decompression. Siteatlas ignores the rest, and reports this."""
    max_sitemap: Size = 64 * 2**20
    """Maximum bytes of one sitemap of the site, after decompression."""
    refetch_every: int = Field(default=30, ge=0)
    """Force a full fetch of each page at least once in this many runs. In the other runs, the server may respond that
    the page has not changed (304). 0: never."""
    second_reads: int = Field(default=60, ge=0)
    """Maximum pages to fetch a second time in one run that sees differences. What differs between the two reads is not
    a change of the page, and does not move its lastmod. 0: none."""
    not_found_checks: int = Field(default=5, ge=0)
    """Maximum requests in one run for URLs that cannot exist, one in each of the largest directories. A page that says
    the same as such a response is a soft 404, and leaves the sitemap. 0: none."""
    max_redirects: PositiveInt = 10
    """Maximum redirects in a row. Browsers stop after 20, search engines after about 10."""
    retries: int = Field(default=3, ge=0)
    """Maximum retries of a fetch after a transient failure (5xx, time-out, connection error)."""


class PaceConfig(ConfigSection):
    """How fast the site is crawled."""

    concurrency: PositiveInt = 4
    """Maximum concurrent requests to one origin."""
    rate: float = Field(default=10.0, ge=0)
    """Maximum requests per second to one origin. 0: no limit, even if the server becomes slow."""
    delay: float = Field(default=0.0, ge=0)
    """Minimum seconds between two requests to one origin."""
    max_retry_after: Duration = 3600.0
    """Longest Retry-After to wait for, in seconds. If a server requests a longer wait, the run ends. Run again to
    continue."""
    max_error_time: PositiveDuration = 900.0
    """Maximum time (seconds, or 15m) that one run may lose because the server fails or requests waits. After that, the
    run ends. Run again to continue."""


class ParseConfig(ConfigSection):
    """How pages are parsed."""

    processes: int = Field(default=0, ge=0)
    """Number of parser processes. 0: one for each processor, at most 4."""
    timeout: PositiveSeconds = 5.0
    """Maximum seconds to parse one page. After that, Siteatlas stops the parser and finds the links with a simpler
    one."""
    memory: Size = 1 * 2**30
    """Maximum bytes of memory (address space) for one parser process."""
    max_links: PositiveInt = 20_000
    """Maximum links to take from one page."""
    max_link_bytes: Size = 4 * 2**20
    """Maximum bytes of URLs to take from one page."""


class RenderConfig(ConfigSection):
    """Pages that scripts draw. Needs siteatlas[render] and Chromium."""

    mode: Literal["auto", "never", "always"] = "auto"
    """Read pages as a browser shows them. auto: pages of which scripts change links, canonical, robots rules, title or
    text. always: all pages with scripts. never: pages as the server sends them. Without siteatlas[render], auto is
    never."""
    browser: str = ""
    """Program of the browser. Default: the Chromium or Chrome of this machine, a headless shell first."""
    sandbox: bool = True
    """Run the browser in its sandbox. Leave the sandbox out only in a container that contains nothing else."""
    concurrency: PositiveInt = 8
    """Maximum pages that are open in the browser at the same time."""
    timeout: PositiveSeconds = 10.0
    """Maximum seconds until a page is read as it is then. The time for which its requests wait for their turn does not
    count."""
    deadline: PositiveSeconds = 120.0
    """Maximum seconds for one page in the browser, including the time for which its requests wait for their turn."""
    max_failures: PositiveInt = 3
    """Stop rendering the pages of a template after this many failures in a row. A note of the run says so."""
    memory: Size = 2 * 2**30
    """Maximum bytes of memory for the browser. A browser that uses more is replaced."""
    max_pages: PositiveInt = 200
    """Replace the browser after this many pages."""
    max_requests: PositiveInt = 300
    """Maximum requests of one page for scripts, styles and data. A page that sends more is not read to its end."""
    post: tuple[str, ...] = ()
    """URLs to which pages may send POST requests, such as /graphql. Patterns as in include. Default: only GET and HEAD
    requests."""
    max_resource: Size = 10 * 2**20
    """Maximum bytes of one script, style or data file to download."""
    cache: Size = 16 * 2**20
    """Maximum bytes of scripts, styles and data to keep in memory for other pages of the run."""

    @field_validator("post")
    @classmethod
    def _check_post(cls, texts: tuple[str, ...]) -> tuple[str, ...]:
        for text in texts:
            UrlPattern(text)
        return texts


class ContentConfig(ConfigSection):
    """What the sitemap says about each page."""

    lastmod: Literal["observed", "header", "page", "git", "none"] = "observed"
    """Source of lastmod. observed: the best evidence. header: only the Last-Modified header. page: only dates in the
    page. git: the last commit of the source file of the page, otherwise as observed. none: no lastmod."""
    repository: str = ""
    """Directory of the source files of the site in a Git repository, for the dates of git. Default: the current
    directory."""
    generator: Literal["", "hugo", "jekyll", "eleventy", "mkdocs", "sphinx", "astro", "docusaurus"] = ""
    """Site generator that builds the site, for the dates of git. Default: the one whose settings file is in the
    repository."""
    images: bool = True
    """Include the images of each page in the sitemap."""
    max_image_share: float = Field(default=0.5, ge=0, le=1)
    """List an image only for the start page if more than this share of the pages have it, such as a logo (0.5 is
    50%)."""
    videos: bool = True
    """Include the videos of each page in the sitemap."""
    alternates: bool = True
    """Include the language versions (hreflang) of each page in the sitemap."""


class OutputConfig(ConfigSection):
    """Where and how the sitemap is written."""

    directory: str = ""
    """Directory of the published sitemap."""
    gzip: bool = False
    """Compress the sitemap files with gzip. A sitemap index is never compressed."""
    max_urls: int = Field(default=50_000, ge=1, le=50_000)
    """Maximum URLs in one file."""
    max_bytes: Annotated[int, Field(ge=10_000, le=52_428_800), FromSize] = 52_428_800
    """Maximum bytes of one file, uncompressed."""
    group: Literal["", "section", "language", "type"] = ""
    """Write separate sitemaps for each section (first directory), language or type (news, video, image, page)."""
    file_names: str = ""
    """Template for the names of the files in an index, such as "{stem}-{group}-{n}.xml". {stem} is the name of the
    sitemap without .xml, {group} the section, language or type (--group), and {n} the number of the file. {next} is the
    same as {n}, but empty for the first file."""
    stylesheet: Literal["", "css", "xsl"] = ""
    """Publish a stylesheet that shows the sitemap as a table in a browser."""
    recent: Literal["", "atom", "rss"] = ""
    """Publish a feed of the pages that were added or changed last, in the same directory as the sitemap."""
    recent_urls: int = Field(default=500, ge=1, le=5_000)
    """Maximum URLs in the feed of recent changes."""
    recent_name: str = ""
    """File name of the feed of recent changes. Default: the name of the sitemap with -recent, as in
    sitemap-recent.atom."""
    formats: tuple[Literal["xml", "text", "rss", "atom"], ...] = ()
    """Also publish the sitemap in this format, in the same directory: text, rss or atom, as in sitemap.txt. The sitemap
    is always published as xml."""
    html_sitemap: bool = False
    """Also publish sitemap.html, which lists the pages for people: by section, with titles."""
    html_sitemap_links: int = Field(default=1_000, ge=10, le=50_000)
    """Maximum pages on one page of the HTML sitemap. A larger site gets a page for each section."""
    llms_txt: bool = False
    """Also publish llms.txt, which lists the pages for programs: by section, with titles and descriptions."""
    llms_txt_links: int = Field(default=500, ge=1, le=50_000)
    """Maximum pages in llms.txt: those with the shortest paths."""
    changefreq: Literal["", "always", "hourly", "daily", "weekly", "monthly", "yearly", "never"] = ""
    """Value of changefreq for every entry. Search engines ignore changefreq."""
    priority: float | None = Field(default=None, ge=0, le=1)
    """Value of priority for every entry. Search engines ignore priority."""
    keep_failed: int = Field(default=3, ge=0)
    """If a published page fails (5xx, time-out), keep it in the sitemap for at most this many failed runs in a row."""
    mode: str = "0644"
    """Permissions of new files, in octal. Siteatlas ignores the umask. A new version of a file keeps the permissions of
    the old version."""
    swap_delay: Duration = 1.0
    """Seconds to wait between publishing a new index and replacing the files that the old index lists."""
    grace_period: Duration = 3600.0
    """Seconds to keep files that the sitemap no longer needs, for crawlers that still read the old index."""
    generations: PositiveInt = 2
    """Number of published sitemaps to keep as copies. siteatlas rollback can restore these copies."""
    partial: bool = False
    """Publish the pages found so far even if the crawl was cut short."""
    max_failed: float = Field(default=0.2, ge=0, le=1)
    """Publish nothing if more than this share of the pages failed in the run (0.2 is 20%)."""
    max_shrink: float = Field(default=0.2, ge=0, le=1)
    """Keep the old entries of pages if more than this share of the published pages would leave the sitemap, or lost
    their main text."""
    accept_after: int = Field(default=7, ge=0)
    """If --max-shrink keeps pages in the sitemap, remove them after this many runs in a row and as many days with the
    same reason (404, 410, 301, 308 or noindex). 0: never."""

    @field_validator("mode")
    @classmethod
    def _octal(cls, value: str) -> str:
        if not re.fullmatch("0?[0-7]{3}", value):
            raise ValueError("permissions must be an octal number from 000 to 777, such as 0644")
        return value


class StateConfig(ConfigSection):
    """Where the state of the crawl is kept."""

    directory: str = Field(default=".siteatlas", min_length=1)
    """Directory of the state. It must not be inside the published directory."""
    max_size: Size = 20 * 2**30
    """Stop the crawl when the state of the site has this many bytes. Everything that was crawled is kept. Run again
    with a higher limit to continue."""
    keep_runs: PositiveInt = 365
    """Number of runs to keep in the state, with their changes. Siteatlas always keeps the last run that published."""


class Config(ConfigSection):
    """All sections."""

    site: SiteConfig = SiteConfig()
    scope: ScopeConfig = ScopeConfig()
    urls: UrlsConfig = UrlsConfig()
    obey: ObeyConfig = ObeyConfig()
    fetch: FetchConfig = FetchConfig()
    pace: PaceConfig = PaceConfig()
    parse: ParseConfig = ParseConfig()
    render: RenderConfig = RenderConfig()
    content: ContentConfig = ContentConfig()
    output: OutputConfig = OutputConfig()
    state: StateConfig = StateConfig()
    audit: AuditConfig = AuditConfig()
    upload: UploadConfig = UploadConfig()
    schedule: ScheduleConfig = ScheduleConfig()
    daemon: DaemonConfig = DaemonConfig()
    fleet: FleetConfig = FleetConfig()
    notify: NotifyConfig = NotifyConfig()
    indexnow: IndexNowConfig = IndexNowConfig()
    search_console: SearchConsoleConfig = SearchConsoleConfig()
    websub: WebSubConfig = WebSubConfig()
    webhook: WebhookConfig = WebhookConfig()
    email: EmailConfig = EmailConfig()
    hook: HookConfig = HookConfig()
