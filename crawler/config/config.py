"""Every setting, in sections, with its default and its meaning.

The sections are the tables of the TOML file. The command line decides precedence: flag, environment, then file.
"""

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, field_validator

from crawler.config.sections import (
    AuditConfig,
    ChannelConfig,
    ConfigSection,
    DaemonConfig,
    Duration,
    EmailConfig,
    FleetConfig,
    FromSize,
    HookConfig,
    IndexNowConfig,
    NotifyConfig,
    OwnPath,
    PluginsConfig,
    PositiveDuration,
    PositiveInt,
    PositiveSeconds,
    ScheduleConfig,
    SearchConsoleConfig,
    Secret,
    SecretTable,
    Size,
    UploadConfig,
    WebhookConfig,
)
from crawler.url.params import TRACKING_PARAMS
from crawler.url.scope import UrlPattern
from crawler.version import __version__


def _checked(texts: tuple[str, ...]) -> tuple[str, ...]:
    for text in texts:
        UrlPattern(text)
    return texts


UrlPatterns = Annotated[tuple[str, ...], AfterValidator(_checked)]
"""Patterns of URLs, see :mod:`crawler.url.scope`."""


class SiteConfig(ConfigSection):
    """The site that Siteatlas crawls, and the public URL of its sitemap."""

    url: str = ""
    """URL of the page where the crawl starts. By default, Siteatlas crawls and lists only URLs in the directory of this
    URL."""
    sitemap_url: str = ""
    """Public URL of the sitemap. Siteatlas crawls and lists only URLs in the directory of the sitemap, as the sitemap
    protocol demands. Default: sitemap.xml in the directory of the start URL."""


class ScopeConfig(ConfigSection):
    """Which URLs Siteatlas crawls."""

    include: UrlPatterns = ()
    """Crawl only URLs that match one of these patterns. A pattern is a glob such as /docs/*. It can also be a regular
    expression that begins with re:, such as re:/docs/[0-9]+."""
    exclude: UrlPatterns = ()
    """Do not crawl URLs that match one of these patterns. A pattern is a glob such as /docs/*. It can also be a regular
    expression that begins with re:, such as re:/docs/[0-9]+."""
    ask_all: bool = False
    """Request also URLs that may change something on the site, such as /logout, /cart/add?id=5 and /delete/5. Default:
    Siteatlas does not request such a URL unless a sitemap lists it. An audit is stricter: of the URLs that only logs,
    exports and lists name, it requests none with an action, a token or personal data."""
    max_depth: int | None = Field(default=None, ge=0)
    """Crawl only pages that are at most this many clicks from the start URL. Default: no limit."""
    max_pages: PositiveInt | None = None
    """Fetch at most this many pages in one run. The next run continues the crawl. Default: no limit."""
    max_time: PositiveDuration | None = None
    """Crawl for at most this time in one run (seconds, or 90m, 2h). The next run continues the crawl. Default: no
    limit."""
    max_segments: PositiveInt = 32
    """Skip a URL if its path has more segments than this (/a/b/c has 3). Such a URL probably belongs to a crawler trap,
    an endless number of generated URLs."""
    max_repeats: PositiveInt = 3
    """Skip a URL if its path repeats a segment more than this many times in a row (/a/a/a has 3). Such a URL probably
    belongs to a crawler trap, an endless number of generated URLs."""
    trap_limit: int = Field(default=250, ge=0)
    """Limit for generated pages, such as the days of a calendar. After this many such pages in a row without new
    content, Siteatlas does not fetch more of them. 0: no limit."""
    subdomains: bool = False
    """Also crawl the subdomains of the site. For www.example.com, these are names such as shop.example.com."""
    hosts: tuple[str, ...] = ()
    """Also crawl this host. A registrable domain (example.com) includes its subdomains. The host may have a private IP
    address."""
    max_hosts: PositiveInt = 1_000
    """Crawl at most this many hosts besides the host of the sitemap."""
    sitemap_seeds: bool = True
    """Also crawl the pages that the existing sitemaps of the site list. These are the sitemaps that robots.txt names,
    and /sitemap.xml."""


class UrlsConfig(ConfigSection):
    """How Siteatlas normalizes URLs."""

    drop_params: tuple[str, ...] = TRACKING_PARAMS
    """Query parameter to remove from URLs: a name or a glob. Such a parameter never changes a page."""
    keep_params: tuple[str, ...] = ()
    """Query parameter to keep in URLs, even if --drop-param names it: a name or a glob."""


class ObeyConfig(ConfigSection):
    """Which instructions of the site Siteatlas obeys."""

    robots: bool = True
    """Obey robots.txt (RFC 9309)."""
    max_crawl_delay: float = Field(default=60.0, ge=0)
    """Maximum Crawl-delay of robots.txt to obey, in seconds. If robots.txt demands a longer delay, Siteatlas waits only
    for this time."""
    noindex: bool = True
    """Leave pages with noindex out of the sitemap."""
    engine_noindex: bool = True
    """Also leave a page out of the sitemap if it has a noindex for Googlebot or Bingbot only."""
    canonical: bool = True
    """Leave a page out of the sitemap if it names another URL as its canonical."""
    nofollow: bool = True
    """Do not follow nofollow links."""


class FetchConfig(ConfigSection):
    """How Siteatlas fetches pages."""

    source: OwnPath = ""
    """Read the site from another server or from a folder of built pages. The sitemap still lists the public URLs. A
    server is a URL such as http://127.0.0.1:8080."""
    resolve: tuple[str, ...] = ()
    """For this host and port, connect to this IP address, as in curl. Siteatlas does not ask DNS then. The address may
    be private."""
    user_agent: str = Field(default=f"Siteatlas/{__version__}", min_length=1)
    """User-Agent header of all requests. The part before the slash selects the rules in robots.txt."""
    headers: SecretTable = Field(default={})
    """Header to add to the requests. Siteatlas sends it only to the origin (scheme, host and port) of the start URL."""
    basic_auth: Secret = ""
    """User name and password for HTTP basic authentication, as user:password. Siteatlas sends them only to the origin
    of the start URL. To keep them out of the configuration, write env:NAME or file:PATH."""
    cookies: SecretTable = Field(default={})
    """Cookie to send with the requests. Siteatlas sends it only to the origin of the start URL."""
    signing_key: OwnPath = ""
    """File of the Ed25519 private key that signs all requests (Web Bot Auth). env:NAME reads the key from an
    environment variable. Needs the extra sign."""
    signature_agent: str = ""
    """Origin of the server that publishes the public key for fetch.signing_key, such as https://bot.example.com."""
    proxy: Secret = ""
    """Proxy for all requests (http://host:port). The proxy resolves host names, so Siteatlas cannot refuse to connect
    to private addresses. Siteatlas ignores proxies in environment variables such as HTTP_PROXY."""
    transport: Literal["fast", "httpx"] = "fast"
    """HTTP library. fast: the library reqwest, or httpx if reqwest cannot be loaded. httpx: always httpx."""
    http2: bool = False
    """Use HTTP/2 if the server supports it."""
    ca_file: OwnPath = ""
    """PEM file of certificate authorities to trust, in addition to the authorities that the system trusts."""
    timeout: PositiveSeconds = 120.0
    """Maximum seconds of one fetch in total."""
    connect_timeout: PositiveSeconds = 10.0
    """Maximum seconds to open a connection, including TLS."""
    read_timeout: PositiveSeconds = 30.0
    """Maximum seconds to wait for the next byte of a response."""
    max_download: Size = 20 * 2**20
    """Maximum bytes of one response, before decompression. Siteatlas ignores the rest and reports this."""
    max_body: Size = 10 * 2**20
    """Maximum bytes of one page, after decompression. Siteatlas ignores the rest and reports this."""
    max_sitemap: Size = 64 * 2**20
    """Maximum bytes of one existing sitemap of the site, after decompression."""
    refetch_every: int = Field(default=30, ge=0)
    """Download each page completely at least once in this many runs. In the other runs, the server may respond that the
    page has not changed (304), and does not send it again. 0: always accept this response."""
    recheck_within: PositiveInt | None = None
    """Do not request each page in each run, but each page at least once in this many days. A run then requests what is
    new, what the sitemap of the site, Git or --changed names, and the pages that it requested longest ago. Default:
    each run requests each page."""
    second_reads: int = Field(default=60, ge=0)
    """Maximum requests with which one run fetches changed pages again, each up to three times. It finds texts that
    change by themselves, such as counters. Such texts do not change lastmod. 0: none."""
    not_found_checks: int = Field(default=20, ge=0)
    """Maximum requests in one run for URLs that cannot exist: in the largest directories, and where pages share a
    title. The responses show how the site presents a missing page. If a page has the same content, it is a soft 404
    (a missing page with status 200), and leaves the sitemap. 0: none."""
    max_redirects: PositiveInt = 10
    """Maximum redirects in a row to follow. Browsers follow up to 20, search engines about 10."""
    retries: int = Field(default=3, ge=0)
    """Maximum retries of a fetch after a temporary failure (5xx, time-out, connection error)."""


class PaceConfig(ConfigSection):
    """How fast Siteatlas crawls the site."""

    concurrency: PositiveInt = 4
    """Maximum requests to one origin (scheme, host and port) at the same time."""
    rate: float = Field(default=10.0, ge=0)
    """Maximum requests per second to one origin (scheme, host and port). 0: no limit, even if the server responds
    slowly."""
    delay: float = Field(default=0.0, ge=0)
    """Minimum seconds between two requests to one origin (scheme, host and port)."""
    max_retry_after: Duration = 3600.0
    """Maximum wait that a server may demand by Retry-After, in seconds. If it demands a longer wait, the run ends. The
    next run continues the crawl."""
    max_error_time: PositiveDuration = 900.0
    """Maximum time (seconds, or 15m) that failed requests, and waits that the server demands, may take in one run.
    After this time, the run ends. The next run continues the crawl."""


class ParseConfig(ConfigSection):
    """How Siteatlas parses pages."""

    processes: int = Field(default=0, ge=0)
    """Maximum number of parser processes. Siteatlas starts another one only when the others are busy. 0: one for each
    processor, at most 4."""
    timeout: PositiveSeconds = 5.0
    """Maximum seconds to parse one page. After this time, Siteatlas stops the parser and uses a simpler parser to find
    the links."""
    memory: Size = 1 * 2**30
    """Maximum bytes of memory (address space) of one parser process."""
    max_links: PositiveInt = 20_000
    """Maximum links to read from one page."""
    max_link_bytes: Size = 4 * 2**20
    """Maximum total length of the URLs that Siteatlas reads from one page, in bytes."""


class RenderConfig(ConfigSection):
    """How Siteatlas reads pages that scripts draw. Needs the extra render and Chromium."""

    mode: Literal["auto", "never", "always"] = "auto"
    """Which pages to read as a browser shows them: auto, never or always. auto: pages on which scripts change the
    links, canonical, robots rules, title or text. always: all pages with scripts. never: no page. Without the extra
    render, auto renders no page."""
    browser: str = ""
    """Program of the browser. Default: a headless shell, Chromium or Chrome that is installed on this machine, in this
    order."""
    sandbox: bool = True
    """Run the browser in its sandbox. Turn the sandbox off only in a container that contains nothing else."""
    concurrency: PositiveInt = 8
    """Maximum pages that are open in the browser at the same time."""
    timeout: PositiveSeconds = 10.0
    """Maximum seconds to wait until a page is complete. After this time, Siteatlas reads the page as it is. While
    requests of the page wait because of --rate, the time does not count."""
    deadline: PositiveSeconds = 120.0
    """Maximum seconds of one page in the browser in total. While requests of the page wait because of --rate, the
    time counts too."""
    max_failures: PositiveInt = 3
    """After this many failed pages of a template in a row, stop rendering pages of this template in the run, and print
    a note. A template is a group of similar URLs."""
    memory: Size = 2 * 2**30
    """Maximum bytes of memory of the browser. If it uses more, Siteatlas restarts it."""
    max_pages: PositiveInt = 200
    """Restart the browser after it has rendered this many pages."""
    max_requests: PositiveInt = 300
    """Maximum requests of one page for scripts, styles and data. If a page sends more, Siteatlas reads the page without
    the further responses."""
    post: UrlPatterns = ()
    """Pages may send POST requests to URLs that match one of these patterns. A pattern is a glob such as /graphql. It
    can also be a regular expression that begins with re:. Default: no POST requests."""
    max_resource: Size = 10 * 2**20
    """Maximum bytes to download of one script, style or data file."""
    cache: Size = 16 * 2**20
    """Maximum bytes of scripts, styles and data to keep in memory, for other pages of the run."""


class ContentConfig(ConfigSection):
    """What the sitemap contains about each page."""

    lastmod: Literal["observed", "header", "page", "git", "plugin", "none"] = "observed"
    """Source of lastmod: observed, header, page, git, plugin or none. lastmod is the date of the last change of a page.
    observed: the header Last-Modified, dates in the page,
    and changes that Siteatlas observes. header: only the header. page: only dates in the page. git: the last commit of
    the source file of the page, or as observed if there is no such file. plugin: the date that a plug-in knows, or as
    observed. none: no lastmod."""
    repository: OwnPath = ""
    """For --lastmod git: the directory of the source files of the site in a Git repository. Default: the current
    directory."""
    generator: Literal["", "hugo", "jekyll", "eleventy", "mkdocs", "sphinx", "astro", "docusaurus"] = ""
    """For --lastmod git: the site generator that builds the site. Default: Siteatlas recognizes it by its settings file
    in the repository."""
    images: bool = True
    """Include the images of each page in the sitemap."""
    max_image_share: float = Field(default=0.5, ge=0, le=1)
    """If more than this share of the pages have the same image, such as a logo, list the image only for the start page
    (0.5 is 50%)."""
    videos: bool = True
    """Include the videos of each page in the sitemap."""
    alternates: bool = True
    """Include the language versions (hreflang) of each page in the sitemap."""


class OutputConfig(ConfigSection):
    """Where and how Siteatlas writes the sitemap."""

    directory: OwnPath = ""
    """Directory of the published sitemap."""
    gzip: bool = False
    """Compress the sitemap files with gzip. Siteatlas never compresses a sitemap index."""
    max_urls: int = Field(default=50_000, ge=1, le=50_000)
    """Maximum URLs in one sitemap file."""
    max_bytes: Annotated[int, Field(ge=10_000, le=52_428_800), FromSize] = 52_428_800
    """Maximum bytes of one sitemap file, uncompressed."""
    group: Literal["", "section", "language", "type"] = ""
    """Write separate sitemap files for each section, language or type. A section is the first directory of the URL, and
    a type is news, video, image or page."""
    file_names: str = ""
    """Template for the names of the sitemap files that an index lists, such as "{stem}-{group}-{n}.xml". {stem} is the
    name of the sitemap without .xml, {group} the section, language or type (--group), and {n} the number of the file.
    {next} is the same as {n}, but empty for the first file."""
    stylesheet: Literal["", "css", "xsl"] = ""
    """Publish a stylesheet, so that browsers show the sitemap as a table."""
    recent: Literal["", "atom", "rss"] = ""
    """Publish a feed of the pages that were added or changed last, in the directory of the sitemap."""
    recent_urls: int = Field(default=500, ge=1, le=5_000)
    """Maximum URLs in the feed of recent changes."""
    recent_name: str = ""
    """File name of the feed of recent changes. Default: the name of the sitemap with -recent, such as
    sitemap-recent.atom."""
    formats: tuple[Literal["xml", "text", "rss", "atom"], ...] = ()
    """Also publish the sitemap in this format: text, rss or atom. The files are in the same directory. Siteatlas always
    publishes the format xml."""
    html_sitemap: bool = False
    """Also publish sitemap.html, a list of the pages for people. It shows the titles by section."""
    html_sitemap_links: int = Field(default=1_000, ge=10, le=50_000)
    """Maximum pages that one HTML file of the HTML sitemap lists. For a larger site, Siteatlas writes a file for each
    section."""
    llms_txt: bool = False
    """Also publish llms.txt, a list of the pages for language models. It contains titles and descriptions by
    section."""
    llms_txt_links: int = Field(default=500, ge=1, le=50_000)
    """Maximum pages that llms.txt lists. Siteatlas chooses the pages with the shortest paths."""
    changefreq: Literal["", "always", "hourly", "daily", "weekly", "monthly", "yearly", "never"] = ""
    """Value of changefreq for every page. Search engines ignore changefreq."""
    priority: float | None = Field(default=None, ge=0, le=1)
    """Value of priority for every page. Search engines ignore priority."""
    keep_failed: int = Field(default=3, ge=0)
    """If a published page fails (5xx, time-out), keep it in the sitemap for up to this many runs in a row in which it
    fails."""
    mode: str = "0644"
    """Permissions of new files, as an octal number. Siteatlas ignores the umask. If Siteatlas replaces a file, it keeps
    the permissions of the file."""
    swap_delay: Duration = 1.0
    """Seconds between the publication of a new index and the replacement of the files that the old index lists."""
    grace_period: Duration = 3600.0
    """Seconds to keep files that the new index no longer lists, because crawlers may still read the old index."""
    generations: PositiveInt = 2
    """Number of published sitemaps to keep as copies. siteatlas rollback can publish a copy again."""
    partial: bool = False
    """If the crawl is incomplete, publish the pages that Siteatlas has found so far."""
    max_failed: float = Field(default=0.2, ge=0, le=1)
    """If more than this share of the pages fail in a run, publish nothing (0.2 is 20%)."""
    max_shrink: float = Field(default=0.2, ge=0, le=1)
    """Maximum share of the published pages that may leave the sitemap, or lose their main text, in one run (0.2 is
    20%). If more pages do so, the sitemap keeps the old entries of these pages."""
    accept_after: int = Field(default=7, ge=0)
    """Number of runs with the same reason (404, 410, 301, 308 or noindex) after which the pages that output.max_shrink
    keeps leave the sitemap. The runs must also span this number of days. 0: the pages never leave."""

    @field_validator("mode")
    @classmethod
    def _octal(cls, value: str) -> str:
        if not re.fullmatch("0?[0-7]{3}", value):
            raise ValueError("permissions must be an octal number from 000 to 777, such as 0644")
        return value


class StateConfig(ConfigSection):
    """Where Siteatlas stores its state, that is, what it knows about the site and its pages."""

    directory: OwnPath = Field(default=".siteatlas", min_length=1)
    """Directory of the state. The state is what Siteatlas stores about the sites and their pages. It must not be inside
    the published directory."""
    max_size: Size = 20 * 2**30
    """Maximum bytes of the state of the site. At this size, the crawl stops and keeps its results. To continue, run
    again with a higher limit."""
    keep_runs: PositiveInt = 365
    """Number of runs to keep in the state, with their changes. Siteatlas always keeps the last run that published a
    sitemap."""


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
    webhook: WebhookConfig = WebhookConfig()
    email: EmailConfig = EmailConfig()
    hook: HookConfig = HookConfig()
    plugins: PluginsConfig = PluginsConfig()

    @property
    def all_channels(self) -> dict[str, ChannelConfig]:
        """The sections of notification channels, by name."""
        sections = {name: getattr(self, name) for name in type(self).model_fields}
        return {name: section for name, section in sections.items() if isinstance(section, ChannelConfig)}

    @property
    def channels(self) -> dict[str, ConfigSection]:
        """Those of them that are not at their defaults, and ``plugins`` if there are any."""
        sections = {**self.all_channels, "plugins": self.plugins}
        return {name: section for name, section in sections.items() if section != type(section)()}
