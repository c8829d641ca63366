"""The section of the configuration that says what an audit compares the site with."""

from pydantic import Field, field_validator

from crawler.config.section import Count, Seconds, Section
from crawler.units import duration


class Audit(Section):
    """What an audit compares the site with, and from where on it says something."""

    sitemaps: tuple[str, ...] = ()
    """Sitemaps to judge (files or URLs), instead of those that the site itself names."""
    logs: tuple[str, ...] = ()
    """Access logs, plain or compressed; globs, folders of them, and URLs (up to --max-sitemap)."""
    log_format: str = ""
    """Their format, if it is not to be detected: a name, or nginx's log_format or Apache's LogFormat as it stands."""
    search: tuple[str, ...] = ()
    """Exports of a search engine's console."""
    analytics: tuple[str, ...] = ()
    """Exports of web analytics."""
    backlinks: tuple[str, ...] = ()
    """Tables of links from other sites."""
    lists: tuple[str, ...] = ()
    """URLs, one a line or in a column of a table."""
    crawls: tuple[str, ...] = ()
    """Other crawls of the site: a state directory, or a table that another crawler wrote."""
    url_column: str = ""
    """The column of tables that holds the URLs, when it is not detected."""
    verify_bots: bool = False
    """Ask DNS whether those who call themselves search engines are (reverse and forward)."""
    max_crawl_age: float = Field(default=86_400.0, ge=0)
    """How long ago the last run may have ended (seconds, or 24h) for an audit to rest on its crawl: then the audit asks
    only for what the run did not see. 0: the audit always crawls the site itself."""
    max_unlinked: int = Field(default=10_000, ge=0)
    """URLs that only these sources know and that are fetched at most, to learn what they are today."""
    min_visits: Count = 5
    """Visits by people and search engines from which on a URL that never answered counts as visited."""
    max_clicks: Count = 5
    """Pages that are more clicks away from the start are deep."""
    min_inlinks: int = Field(default=1, ge=0)
    """Pages with no more other pages linking to them have few inlinks."""
    media: bool = True
    """Ask whether the images and videos that sitemaps list answer."""
    max_media: int = Field(default=1_000, ge=0)
    """Images and videos that are asked for at most."""
    trust_blocked: bool = False
    """Take it that what robots.txt, a login, nofollow, the guard against endless URLs or the start's directory keeps us
    from reading links to nothing else."""
    every: Seconds | None = None
    """siteatlas run and schedule audit the site after a run too, when its last audit is as old as this (7d)."""
    report: str = ""
    """The directory that the reports are written in: HTML, JSON, CSV, SARIF and JUnit. In a directory that several
    sites share each has one of its name."""
    fail_on: tuple[str, ...] = ()
    """Exit code 10 for conclusive findings of these severities, families or rules (error, orphan, entry.gone), or for
    those that the audit before did not have (new, new:error, new:orphan)."""

    @field_validator("every", "max_crawl_age", mode="before")
    @classmethod
    def _duration(cls, value: object) -> object:
        return duration(value) if isinstance(value, str) else value
