"""The section of the configuration that says what an audit compares the site with."""

from pydantic import Field, field_validator

from crawler.config.section import ConfigSection, PositiveInt, PositiveSeconds
from crawler.units import parse_duration


class AuditConfig(ConfigSection):
    """What an audit compares the site with, and its thresholds."""

    sitemaps: tuple[str, ...] = ()
    """Sitemaps to check (files or URLs) instead of those that the site names."""
    logs: tuple[str, ...] = ()
    """Access logs, plain or compressed: files, globs, folders or URLs (up to --max-sitemap)."""
    log_format: str = ""
    """Format of the access logs: a name, or nginx's log_format or Apache's LogFormat as it stands. Default:
    detected."""
    search: tuple[str, ...] = ()
    """Exports from the console of a search engine."""
    analytics: tuple[str, ...] = ()
    """Exports from web analytics."""
    backlinks: tuple[str, ...] = ()
    """Tables of links from other sites."""
    lists: tuple[str, ...] = ()
    """Lists of URLs: one per line, or in a column of a table."""
    crawls: tuple[str, ...] = ()
    """Other crawls of the site: a state directory, or a table that another crawler wrote."""
    url_column: str = ""
    """Column of the tables that holds the URLs. Default: detected."""
    verify_bots: bool = False
    """Verify by DNS (reverse and forward) that visitors who call themselves search engines are."""
    max_crawl_age: float = Field(default=86_400.0, ge=0)
    """Maximum age of the last run's crawl (seconds, or 24h) for an audit to use it. The audit then requests only what
    the run did not see. 0: the audit always crawls the site."""
    max_unlinked: int = Field(default=10_000, ge=0)
    """Maximum URLs to fetch that the crawl does not find and only a sitemap, log, export or list names."""
    min_visits: PositiveInt = 5
    """A URL that never answered counts as visited from this many visits on (by people and search engines)."""
    max_clicks: PositiveInt = 5
    """A page more than this many clicks from the start URL is deep."""
    min_inlinks: int = Field(default=1, ge=0)
    """A page that this many other pages or fewer link to has few inlinks."""
    media: bool = True
    """Check whether the images and videos that sitemaps list answer."""
    max_media: int = Field(default=1_000, ge=0)
    """Maximum images and videos to check."""
    trust_blocked: bool = False
    """Assume that pages the crawl does not read link to no others: pages behind robots.txt, a login, nofollow or the
    trap limits, and pages outside the start directory."""
    every: PositiveSeconds | None = None
    """Audit the site after a run if its last audit is at least this old (7d). Used by siteatlas run and schedule."""
    report: str = ""
    """Directory for the reports: HTML, JSON, CSV, SARIF and JUnit. If several sites share it, each has a subdirectory
    with its name."""
    fail_on: tuple[str, ...] = ()
    """Exit with code 10 for conclusive findings of these severities, families or rules (error, orphan, entry.gone), or
    for those that the previous audit did not have (new, new:error, new:orphan)."""

    @field_validator("every", "max_crawl_age", mode="before")
    @classmethod
    def _duration(cls, value: object) -> object:
        return parse_duration(value) if isinstance(value, str) else value
