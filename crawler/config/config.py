"""Every setting, in sections, with its default. ``reference.toml`` has its meaning.

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
    sitemap_url: str = ""


class ScopeConfig(ConfigSection):
    """Which URLs Siteatlas crawls."""

    include: UrlPatterns = ()
    exclude: UrlPatterns = ()
    ask_all: bool = False
    max_depth: int | None = Field(default=None, ge=0)
    max_pages: PositiveInt | None = None
    max_time: PositiveDuration | None = None
    max_segments: PositiveInt = 32
    max_repeats: PositiveInt = 3
    trap_limit: int = Field(default=250, ge=0)
    subdomains: bool = False
    hosts: tuple[str, ...] = ()
    max_hosts: PositiveInt = 1_000
    sitemap_seeds: bool = True


class UrlsConfig(ConfigSection):
    """How Siteatlas normalizes URLs."""

    drop_params: tuple[str, ...] = TRACKING_PARAMS
    keep_params: tuple[str, ...] = ()


class ObeyConfig(ConfigSection):
    """Which instructions of the site Siteatlas obeys."""

    robots: bool = True
    max_crawl_delay: float = Field(default=60.0, ge=0)
    noindex: bool = True
    engine_noindex: bool = True
    canonical: bool = True
    nofollow: bool = True


class FetchConfig(ConfigSection):
    """How Siteatlas fetches pages."""

    source: OwnPath = ""
    resolve: tuple[str, ...] = ()
    user_agent: str = Field(default=f"Siteatlas/{__version__}", min_length=1)
    headers: SecretTable = Field(default={})
    basic_auth: Secret = ""
    cookies: SecretTable = Field(default={})
    signing_key: OwnPath = ""
    signature_agent: str = ""
    proxy: Secret = ""
    transport: Literal["fast", "httpx"] = "fast"
    http2: bool = False
    ca_file: OwnPath = ""
    timeout: PositiveSeconds = 120.0
    connect_timeout: PositiveSeconds = 10.0
    read_timeout: PositiveSeconds = 30.0
    max_download: Size = 20 * 2**20
    max_body: Size = 10 * 2**20
    max_sitemap: Size = 64 * 2**20
    refetch_every: int = Field(default=30, ge=0)
    recheck_within: PositiveInt | None = None
    second_reads: int = Field(default=60, ge=0)
    not_found_checks: int = Field(default=20, ge=0)
    max_redirects: PositiveInt = 10
    retries: int = Field(default=3, ge=0)


class PaceConfig(ConfigSection):
    """How fast Siteatlas crawls the site."""

    concurrency: PositiveInt = 4
    rate: float = Field(default=10.0, ge=0)
    delay: float = Field(default=0.0, ge=0)
    max_retry_after: Duration = 3600.0
    max_error_time: PositiveDuration = 900.0


class ParseConfig(ConfigSection):
    """How Siteatlas parses pages."""

    processes: int = Field(default=0, ge=0)
    timeout: PositiveSeconds = 5.0
    memory: Size = 1 * 2**30
    max_links: PositiveInt = 20_000
    max_link_bytes: Size = 4 * 2**20


class RenderConfig(ConfigSection):
    """How Siteatlas reads pages that scripts draw. Needs the extra render and Chromium."""

    mode: Literal["auto", "never", "always"] = "auto"
    browser: str = ""
    sandbox: bool = True
    concurrency: PositiveInt = 8
    timeout: PositiveSeconds = 10.0
    deadline: PositiveSeconds = 120.0
    max_failures: PositiveInt = 3
    memory: Size = 2 * 2**30
    max_pages: PositiveInt = 200
    max_requests: PositiveInt = 300
    post: UrlPatterns = ()
    max_resource: Size = 10 * 2**20
    cache: Size = 16 * 2**20


class ContentConfig(ConfigSection):
    """What the sitemap contains about each page."""

    lastmod: Literal["observed", "header", "page", "git", "plugin", "none"] = "observed"
    repository: OwnPath = ""
    generator: Literal["", "hugo", "jekyll", "eleventy", "mkdocs", "sphinx", "nikola", "astro", "docusaurus"] = ""
    images: bool = True
    max_image_share: float = Field(default=0.5, ge=0, le=1)
    videos: bool = True
    alternates: bool = True


class OutputConfig(ConfigSection):
    """Where and how Siteatlas writes the sitemap."""

    directory: OwnPath = ""
    gzip: bool = False
    max_urls: int = Field(default=50_000, ge=1, le=50_000)
    max_bytes: Annotated[int, Field(ge=10_000, le=52_428_800), FromSize] = 52_428_800
    group: Literal["", "section", "language", "type"] = ""
    file_names: str = ""
    stylesheet: Literal["", "css", "xsl"] = ""
    recent: Literal["", "atom", "rss"] = ""
    recent_urls: int = Field(default=500, ge=1, le=5_000)
    recent_name: str = ""
    formats: tuple[Literal["xml", "text", "rss", "atom"], ...] = ()
    html_sitemap: bool = False
    html_sitemap_links: int = Field(default=1_000, ge=10, le=50_000)
    llms_txt: bool = False
    llms_txt_links: int = Field(default=500, ge=1, le=50_000)
    changefreq: Literal["", "always", "hourly", "daily", "weekly", "monthly", "yearly", "never"] = ""
    priority: float | None = Field(default=None, ge=0, le=1)
    keep_failed: int = Field(default=3, ge=0)
    mode: str = "0644"
    swap_delay: Duration = 1.0
    grace_period: Duration = 3600.0
    generations: PositiveInt = 2
    partial: bool = False
    max_failed: float = Field(default=0.2, ge=0, le=1)
    max_shrink: float = Field(default=0.2, ge=0, le=1)
    accept_after: int = Field(default=7, ge=0)

    @field_validator("mode")
    @classmethod
    def _octal(cls, value: str) -> str:
        if not re.fullmatch("0?[0-7]{3}", value):
            raise ValueError("permissions must be an octal number from 000 to 777, such as 0644")
        return value


class StateConfig(ConfigSection):
    """Where Siteatlas stores its state, that is, what it knows about the site and its pages."""

    directory: OwnPath = Field(default=".siteatlas", min_length=1)
    max_size: Size = 20 * 2**30
    keep_runs: PositiveInt = 365
    keep_history: int = Field(default=30, ge=0)


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
