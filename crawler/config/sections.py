"""The base of all sections of the configuration, and the sections for audits, notifications, uploads and schedules."""

import re
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator

from crawler.units import parse_duration, parse_size

PositiveInt = Annotated[int, Field(ge=1)]
PositiveSeconds = Annotated[float, Field(gt=0)]
_FromDuration = BeforeValidator(lambda value: parse_duration(value) if isinstance(value, str) else value)
FromSize = BeforeValidator(lambda value: parse_size(value) if isinstance(value, str) else value)
Duration = Annotated[float, Field(ge=0), _FromDuration]
"""Seconds, or a text such as ``90m``."""
PositiveDuration = Annotated[float, Field(gt=0), _FromDuration]
Size = Annotated[int, Field(ge=1), FromSize]
"""Bytes, or a text such as ``20M``."""


class ConfigSection(BaseModel):
    """A table of the configuration: frozen, and an unknown key is an error."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", use_attribute_docstrings=True, validate_default=True, allow_inf_nan=False
    )


class AuditConfig(ConfigSection):
    """What an audit compares the site with, and its thresholds."""

    sitemaps: tuple[str, ...] = ()
    """Sitemaps to check (files or URLs) instead of those that the site names."""
    logs: tuple[str, ...] = ()
    """Access logs, plain or compressed: files, globs, folders or URLs (up to --max-sitemap)."""
    log_format: str = ""
    """Format of the access logs: a name such as combined, or the value of nginx's log_format or Apache's LogFormat.
    Default: detected."""
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
    """Check by reverse and forward DNS whether requests that claim to come from a search engine really do."""
    max_crawl_age: Duration = 86_400.0
    """Maximum age of the last run's crawl (seconds, or 24h) for an audit to use it. The audit then requests only what
    the run did not see. 0: the audit always crawls the site."""
    max_unlinked: int = Field(default=10_000, ge=0)
    """Maximum URLs to fetch that the crawl does not find, but a sitemap, log, export or list names."""
    min_visits: PositiveInt = 5
    """Minimum visits by people and search engines for a URL that never returned a page to count as visited."""
    max_clicks: PositiveInt = 5
    """Report a page as deep if it is more than this many clicks from the start URL."""
    min_inlinks: int = Field(default=1, ge=0)
    """Report a page as having few inlinks if at most this many other pages link to it."""
    media: bool = True
    """Check whether the images and videos that sitemaps list can be fetched."""
    max_media: int = Field(default=1_000, ge=0)
    """Maximum images and videos to check."""
    trust_blocked: bool = False
    """Assume that the pages that the crawl cannot read contain no links to other pages. Such pages are behind
    robots.txt, a login, nofollow or the trap limits, or outside the start directory."""
    every: PositiveDuration | None = None
    """Audit the site after a run if its last audit is at least this old (7d). Used by siteatlas run and schedule."""
    report: str = ""
    """Directory for the reports: HTML, JSON, CSV, SARIF and JUnit. If several sites share it, each has a subdirectory
    with its name."""
    fail_on: tuple[str, ...] = ()
    """Exit with code 10 if the audit has conclusive findings of these severities, families or rules (error, orphan,
    entry.gone). With new, new:error or new:orphan, only findings that the previous audit did not have count."""


OccasionName = Literal["changes", "trouble", "findings"]


class NotifyConfig(ConfigSection):
    """When notifications are sent, whatever the channel. They report real changes only, after the files are live."""

    enabled: bool = True
    """After a run, send notifications through the channels configured below."""
    check_live: bool = True
    """Fetch the sitemap from its public URL first, and postpone notifications until the site serves the published
    file."""
    attempts: PositiveInt = 3
    """Maximum attempts in a row to send one message if the receiver fails. After that, the next run tries again."""
    retry_delay: PositiveDuration = 2.0
    """Seconds before the second attempt. The delay doubles with each attempt."""
    max_retry_after: PositiveDuration = 60.0
    """Longest Retry-After to wait for, in seconds. If a receiver sends a longer one, the next run tries again."""
    timeout: PositiveDuration = 30.0
    """Seconds one message may take."""
    max_urls: PositiveInt = 100
    """Maximum URLs of each kind of change to list in a message."""


class IndexNowConfig(ConfigSection):
    """Tell Bing, Yandex and others which URLs changed (https://www.indexnow.org/). Off without a key."""

    key: str = ""
    """Key: 8 to 128 letters, digits and dashes, or env:NAME or file:PATH to read it from there. `openssl rand -hex 16`
    makes one."""
    key_url: str = ""
    """URL of the key file. Default: /KEY.txt on each host. A key file in a directory is valid only for the URLs in that
    directory."""
    endpoint: str = "https://api.indexnow.org/indexnow"
    """Endpoint to send the URLs to. Each search engine passes them to the others."""
    batch: int = Field(default=10_000, ge=1, le=10_000)
    """Maximum URLs in one message."""
    first_run: bool = False
    """Send all pages of the first run too, not only later changes."""


class SearchConsoleConfig(ConfigSection):
    """Submit the sitemap to Google Search Console when it changes, and read its status there."""

    account: str = ""
    """Key file (JSON) of a service account that is an owner of the property: a path, file:PATH or env:NAME."""
    property: str = ""
    """The property: a URL with a slash at its end, or sc-domain:example.com. Default: the site's origin."""
    endpoint: str = "https://www.googleapis.com/webmasters/v3"
    """URL of the API."""
    check_interval: PositiveDuration = 21_600.0
    """Minimum seconds between two reads of the status, if no run submits the sitemap in between."""


class WebSubConfig(ConfigSection):
    """Notify the hubs of the feed of recent changes (output.recent) when the feed changes."""

    hubs: tuple[str, ...] = ()
    """URLs of the hubs."""


class WebhookConfig(ConfigSection):
    """Send a JSON message to your own URLs."""

    urls: tuple[str, ...] = ()
    """URLs to send to. Write env:NAME or file:PATH for a secret URL, such as the URL of a chat."""
    secret: str = ""
    """Secret that signs each message: HMAC-SHA256 of the body, in the header X-Siteatlas-Signature."""
    template: str = ""
    """Jinja2 template of the body, for receivers that need other JSON, such as chats."""
    on: tuple[OccasionName, ...] = ("changes", "trouble", "findings")
    """Events to report: changes; trouble (a run fails, and the first success after that); findings (new and resolved
    findings of an audit after a run)."""


class EmailConfig(ConfigSection):
    """Send an e-mail. Off without a recipient."""

    to: tuple[str, ...] = ()
    """Recipients."""
    sender: str = ""
    """Sender. Default: the first recipient."""
    server: str = "localhost:25"
    """SMTP server, as host:port."""
    security: Literal["none", "starttls", "tls"] = "none"
    """Encryption of the connection. A login is never sent without encryption."""
    login: str = ""
    """user:password for the server. Write env:NAME or file:PATH to keep it out of the configuration."""
    template: str = ""
    """Jinja2 template of the message. Its first line is the subject."""
    on: tuple[OccasionName, ...] = ("trouble", "findings")
    """Events to report: changes; trouble (a run fails, and the first success after that); findings (new and resolved
    findings of an audit after a run)."""


class HookConfig(ConfigSection):
    """Run your own command. It reads the message of the webhook from standard input."""

    command: tuple[str, ...] = ()
    """Command and its arguments, as separate words. Siteatlas starts the command without a shell."""
    timeout: PositiveDuration = 300.0
    """Seconds the command may take."""
    on: tuple[OccasionName, ...] = ("changes",)
    """Events to run it for: changes; trouble (a run fails, and the first success after that); findings (new and
    resolved findings of an audit after a run)."""


class UploadConfig(ConfigSection):
    """Upload the files after they are published in the directory: first the files, the index last."""

    to: str = ""
    """Where to upload: s3://bucket/prefix (needs siteatlas[s3]) or sftp://user@host:22/directory (needs
    siteatlas[sftp])."""
    cache_control: str = ""
    """Cache-Control of files on S3."""
    s3_endpoint: str = ""
    """Server of an S3-compatible storage. Default: Amazon's."""
    s3_region: str = ""
    """Region of the storage. Default of region and keys: what the AWS tools use (environment, files, roles)."""
    s3_access_key: str = ""
    """Access key, as env:NAME or file:PATH."""
    s3_secret_key: str = ""
    """Secret key, as env:NAME or file:PATH."""
    sftp_password: str = ""
    """Password, as env:NAME or file:PATH, if there is no key."""
    sftp_key: str = ""
    """File with the private key. Default: the keys in ~/.ssh and in the SSH agent."""
    sftp_known_hosts: str = ""
    """File of the trusted host keys. Default: ~/.ssh/known_hosts."""
    timeout: PositiveDuration = 60.0
    """Seconds without progress after which an upload fails."""
    retries: int = Field(default=3, ge=0)
    """Retries of one file after a transient failure."""
    grace_period: Duration = 3600.0
    """Seconds to keep uploaded files that the sitemap no longer needs, for crawlers that still read the old index."""


_host_name = re.compile(r"[^\s:/?#@*\[\]]+")


class ScheduleConfig(ConfigSection):
    """When siteatlas schedule runs a site. Without cron and every, it does not."""

    cron: str = ""
    """Cron expression of five fields. "30 3 * * *" is daily at 3:30. Clock changes are handled as in Debian's cron."""
    every: PositiveDuration | None = None
    """Time from one run to the next (6h, 1d), instead of cron. Siteatlas spreads the runs of several sites over this
    time."""
    enabled: bool = True
    """Let siteatlas schedule run the site. enabled = false in [sites.NAME.schedule] leaves out one of several sites."""
    timezone: str = "UTC"
    """Time zone of cron, such as Europe/Berlin, or "local"."""
    jitter: Duration = 0.0
    """Start each run late by up to this much (seconds, or 10m). The delay depends only on the site and its scheduled
    time."""
    run_on_start: bool = True
    """Run a new site at once: when the daemon starts, or when you add the site to the configuration."""
    retries: int = Field(default=3, ge=0)
    """Retries of a failed run before the next scheduled one."""
    retry_delay: PositiveDuration = 300.0
    """Seconds before the first retry. The delay doubles with each retry."""
    max_retry_delay: PositiveDuration = 21_600.0
    """Maximum seconds between two retries."""
    run_timeout: PositiveDuration = 86_400.0
    """Maximum seconds of a run with the audit after it. At the limit, the run saves its state and ends, and the next
    run continues it."""

    @property
    def is_timed(self) -> bool:
        """Whether siteatlas schedule runs the site."""
        return self.enabled and bool(self.cron or self.every)


class DaemonConfig(ConfigSection):
    """How siteatlas schedule works. There is one daemon for all sites, so a single site cannot have this section."""

    directory: str = ""
    """Directory for the history of the schedule. Default: the directory of the state."""
    max_parallel_runs: PositiveInt = 2
    """Maximum sites that run at the same time. While other sites wait for a run, audits leave one of these places
    free."""
    reload_interval: PositiveDuration = 5.0
    """Seconds between two checks of the configuration file. Siteatlas reads a changed file again, as on SIGHUP."""
    shutdown_timeout: PositiveDuration = 60.0
    """Seconds that runs have to save their state when the daemon stops."""
    history_limit: PositiveInt = 1_000
    """Runs of each site to keep in the history."""
    listen: str = "127.0.0.1:9188"
    """Address of /healthz, /metrics and the web page: HOST:PORT, or unix:PATH. "": none. There is no login, so keep the
    address on loopback."""
    allowed_hosts: tuple[str, ...] = ()
    """Host names to accept in requests, besides localhost, IP addresses and the names of this machine. "*": all."""
    serve_sitemaps: bool = False
    """Serve the published files below /published/NAME/ too, for a proxy."""
    max_clients: PositiveInt = 64
    """Maximum connections at the same time."""
    client_timeout: PositiveDuration = 10.0
    """Seconds a client may take to send a request, or to receive the next part of a response."""

    @field_validator("allowed_hosts")
    @classmethod
    def _are_names(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for name in value:
            if name != "*" and not _host_name.fullmatch(name):
                raise ValueError(
                    f'"{name}" is not a host name: give the name alone, such as sitemaps.example.com, without scheme, '
                    f"port and path"
                )
        return value
