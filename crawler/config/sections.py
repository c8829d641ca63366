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
    """The sources that an audit compares the site with, and the thresholds of the audit."""

    sitemaps: tuple[str, ...] = ()
    """Sitemaps to check (files or URLs), instead of the sitemaps that robots.txt names, /sitemap.xml and the sitemap
    that Siteatlas published."""
    logs: tuple[str, ...] = ()
    """Access logs, plain or compressed: files, globs, folders or URLs. A log at a URL may have at most --max-sitemap
    bytes."""
    log_format: str = ""
    """Format of the access logs: a name such as combined, or the value of nginx's log_format or Apache's LogFormat.
    Default: detected."""
    search: tuple[str, ...] = ()
    """Exports of a search engine's webmaster tools, such as Google Search Console."""
    analytics: tuple[str, ...] = ()
    """Exports of a web analytics tool: tables that list the visited pages."""
    search_console: str = ""
    """Search Console property to read by the API: a URL with a slash at its end, or sc-domain:example.com. Siteatlas
    reads the pages with their clicks and impressions."""
    ga4: str = ""
    """Google Analytics 4 property to read by the API: its number. Siteatlas reads the pages with their views, sessions
    and users."""
    google_credentials: str = ""
    """Key file (JSON) of a service account that may read the two properties: a path, file:PATH or env:NAME. Default:
    the account of [search_console]."""
    google_days: int = Field(default=90, ge=1, le=480)
    """Days up to yesterday to read from Google's APIs. Search Console keeps about 480 days."""
    max_google_requests: PositiveInt = 100
    """Maximum requests for one property per day. An audit uses stored rows, and requests only missing rows."""
    inspect_urls: int = Field(default=0, ge=0, le=2_000)
    """Maximum pages per day whose index status to request from Search Console (URL Inspection). Needs the property of
    search_console. 0: none."""
    inspection_endpoint: str = "https://searchconsole.googleapis.com/v1"
    """URL of the URL Inspection API."""
    ga4_endpoint: str = "https://analyticsdata.googleapis.com/v1beta"
    """URL of the Google Analytics Data API."""
    backlinks: tuple[str, ...] = ()
    """Tables of links from other sites."""
    lists: tuple[str, ...] = ()
    """Lists of URLs: one per line, or in a column of a table."""
    crawls: tuple[str, ...] = ()
    """Other crawls of the site: a state directory, or a table that another crawler wrote."""
    url_column: str = ""
    """Name of the column that contains the URLs, in tables. Default: detected."""
    verify_bots: bool = False
    """Check by reverse and forward DNS whether requests that claim to come from a search engine really do."""
    min_log_days: PositiveInt = 30
    """Report pages that no search engine crawled only if the access logs have requests on at least this many days."""
    keep_tokens: bool = False
    """Store and report the URLs of access logs with all parameter values. Default: *** replaces values that look like
    secrets, such as tokens, keys, passwords and session ids."""
    max_crawl_age: Duration = 86_400.0
    """Maximum age of the last run (seconds, or 24h). If the last run is not older, the audit uses its crawl and
    requests only the URLs that this crawl did not see. 0: the audit always crawls the site."""
    max_unlinked: int = Field(default=10_000, ge=0)
    """Maximum URLs to fetch that the crawl did not find. Such URLs come from sitemaps, logs, exports and lists."""
    min_visits: PositiveInt = 5
    """Ignore visits to a URL that never returned a page if people and search engines made fewer visits than this."""
    max_clicks: PositiveInt = 5
    """Report a page as deep if it is more than this many clicks from the start URL."""
    min_inlinks: int = Field(default=1, ge=0)
    """Report a page as having few inlinks if at most this many other pages link to it."""
    media: bool = True
    """Check whether the images and videos that sitemaps list can be fetched."""
    max_media: int = Field(default=1_000, ge=0)
    """Maximum images and videos to check in one audit."""
    trust_blocked: bool = False
    """Assume that the pages that the crawl cannot read contain no links to other pages. Such pages are behind
    robots.txt, a login, nofollow or the trap limits, or outside the start directory."""
    trust_logs: bool = False
    """Assume that access logs without host names contain only requests for this site. Default: if the responses in such
    a log do not fit the site, findings that only this log supports are inconclusive."""
    trust_failed: int = Field(default=0, ge=0)
    """If at most this many pages failed, assume that they link to no other pages: the findings are at least likely."""
    every: PositiveDuration | None = None
    """Audit the site after a run if the last audit is at least this old (seconds, or 7d). Only siteatlas run and
    schedule use this setting."""
    segments: dict[str, str] = Field(default={})
    """Parts of the site that the reports count separately, each with its name and a pattern as in include. A URL
    belongs to the first part that matches."""
    accepted: str = ""
    """TOML file of accepted findings: pattern of the URL, rule, reason and last day. The audit reports them apart, and
    never as new."""
    report: str = ""
    """Directory for the reports: HTML, JSON, CSV, SARIF and JUnit. If several sites share it, each has a subdirectory
    with its name."""
    fail_on: tuple[str, ...] = ()
    """Exit with code 10 if the audit has conclusive findings of these severities, families, rules or headings of the
    report, such as error, orphan, entry.gone or dead-urls. Write new:error or new:orphan to count only findings that
    are not in the previous audit. new alone counts all such findings."""


OccasionName = Literal["changes", "trouble", "findings"]


class NotifyConfig(ConfigSection):
    """When notifications are sent, for all channels. They report only real changes, after the files are live."""

    enabled: bool = True
    """After a run, send notifications through the channels configured below."""
    check_live: bool = True
    """Fetch the sitemap from its public URL first, and postpone notifications until the site serves the published
    file."""
    attempts: PositiveInt = 3
    """Maximum attempts to send one message in one run. If all of them fail, the next run tries again."""
    retry_delay: PositiveDuration = 2.0
    """Seconds before the second attempt. The delay doubles with each attempt."""
    max_retry_after: PositiveDuration = 60.0
    """Longest Retry-After to wait for, in seconds. If a receiver requests a longer wait, the next run sends the
    message."""
    timeout: PositiveDuration = 30.0
    """Maximum seconds to send one message."""
    max_urls: PositiveInt = 100
    """Maximum URLs of each kind of change to list in a message."""


class IndexNowConfig(ConfigSection):
    """Tell Bing, Yandex and others which URLs changed (https://www.indexnow.org/). Off without a key."""

    key: str = ""
    """IndexNow key of 8 to 128 letters, digits and dashes. `openssl rand -hex 16` prints a new key. Write env:NAME or
    file:PATH to keep the key out of the configuration."""
    key_url: str = ""
    """URL of the key file. Default: /KEY.txt on each host. A key file in a directory is valid only for the URLs in that
    directory."""
    endpoint: str = "https://api.indexnow.org/indexnow"
    """URL of the IndexNow server. It shares the changed URLs with all search engines that support IndexNow."""
    batch: int = Field(default=10_000, ge=1, le=10_000)
    """Maximum URLs in one request to IndexNow."""
    first_run: bool = False
    """Send all pages of the first run too, not only later changes."""


class SearchConsoleConfig(ConfigSection):
    """Submit the sitemap to Google Search Console when it changes, and read the status of the submission."""

    account: str = ""
    """Key file (JSON) of a service account that is an owner of the property: a path, file:PATH or env:NAME."""
    property: str = ""
    """Search Console property: a URL that ends with a slash, or sc-domain:example.com. Default: the site's origin."""
    endpoint: str = "https://www.googleapis.com/webmasters/v3"
    """URL of the Search Console API."""
    check_interval: PositiveDuration = 21_600.0
    """Minimum seconds between two requests for the status of the sitemap. Siteatlas also requests the status when it
    submits the sitemap."""


class WebSubConfig(ConfigSection):
    """Notify the hubs of the feed of recent changes (output.recent) when the feed changes."""

    hubs: tuple[str, ...] = ()
    """URLs of WebSub hubs."""


class WebhookConfig(ConfigSection):
    """Send a JSON message to your own URLs."""

    urls: tuple[str, ...] = ()
    """URLs to send the message to. Write env:NAME or file:PATH to keep a secret URL, such as the URL of a chat, out of
    the configuration."""
    secret: str = ""
    """Secret that signs each message. The header X-Siteatlas-Signature has the HMAC-SHA256 of the body."""
    template: str = ""
    """Jinja2 template of the body, for receivers that need other JSON, such as chats."""
    on: tuple[OccasionName, ...] = ("changes", "trouble", "findings")
    """Events to report. changes: the sitemap changed. trouble: a run failed, or succeeded after a failure. findings: an
    audit has new or resolved findings."""


class EmailConfig(ConfigSection):
    """Send an e-mail. Off without a recipient."""

    to: tuple[str, ...] = ()
    """Recipients of the e-mail."""
    sender: str = ""
    """Sender of the e-mail. Default: the first recipient."""
    server: str = "localhost:25"
    """SMTP server, as host:port."""
    security: Literal["none", "starttls", "tls"] = "none"
    """Encryption of the connection. A login is never sent without encryption."""
    login: str = ""
    """User name and password for the SMTP server, as user:password. Write env:NAME or file:PATH to keep them out of the
    configuration."""
    template: str = ""
    """Jinja2 template of the e-mail. The first line is the subject."""
    on: tuple[OccasionName, ...] = ("trouble", "findings")
    """Events to report. changes: the sitemap changed. trouble: a run failed, or succeeded after a failure. findings: an
    audit has new or resolved findings."""


class HookConfig(ConfigSection):
    """Run your own command. The command reads from standard input the same message that a webhook gets."""

    command: tuple[str, ...] = ()
    """Command and its arguments, as separate words. Siteatlas starts the command without a shell."""
    timeout: PositiveDuration = 300.0
    """Maximum seconds that the command may run."""
    on: tuple[OccasionName, ...] = ("changes",)
    """Events that start the command. changes: the sitemap changed. trouble: a run failed, or succeeded after a failure.
    findings: an audit has new or resolved findings."""


class UploadConfig(ConfigSection):
    """Upload the published files. The sitemap index is uploaded last."""

    to: str = ""
    """Upload the published files to s3://bucket/prefix (needs siteatlas[s3]) or to sftp://user@host:22/directory (needs
    siteatlas[sftp])."""
    cache_control: str = ""
    """Cache-Control header of the files on S3."""
    s3_endpoint: str = ""
    """URL of an S3-compatible storage. Default: Amazon S3."""
    s3_region: str = ""
    """Region of the S3 storage. Default: the region in the AWS settings (environment variables or configuration
    files)."""
    s3_access_key: str = ""
    """Access key of the S3 storage, as env:NAME or file:PATH. Default: the key in the AWS settings (environment
    variables, configuration files or roles)."""
    s3_secret_key: str = ""
    """Secret key of the S3 storage, as env:NAME or file:PATH. Set it together with s3_access_key."""
    sftp_password: str = ""
    """SFTP password, as env:NAME or file:PATH. Not needed with a private key."""
    sftp_key: str = ""
    """File with the private key for SFTP. Default: the keys in ~/.ssh and in the SSH agent."""
    sftp_known_hosts: str = ""
    """File of the trusted host keys. Default: ~/.ssh/known_hosts."""
    timeout: PositiveDuration = 60.0
    """Seconds without progress after which an upload fails."""
    retries: int = Field(default=3, ge=0)
    """Maximum retries to upload one file after a transient failure."""
    grace_period: Duration = 3600.0
    """Seconds to keep uploaded files that the sitemap no longer needs, for crawlers that still read the old index."""


_host_name = re.compile(r"[^\s:/?#@*\[\]]+")


class ScheduleConfig(ConfigSection):
    """When siteatlas schedule runs a site. Without cron or every, siteatlas schedule does not run the site."""

    cron: str = ""
    """Cron expression of five fields. "30 3 * * *" means every day at 3:30. Siteatlas handles changes to daylight
    saving time as Debian's cron does."""
    every: PositiveDuration | None = None
    """Time from one run to the next (6h, 1d), instead of cron. Siteatlas spreads the runs of several sites over this
    time."""
    enabled: bool = True
    """Let siteatlas schedule run the site. To skip one of several sites, write enabled = false in
    [sites.NAME.schedule]."""
    timezone: str = "UTC"
    """Time zone of cron, such as Europe/Berlin, or "local"."""
    jitter: Duration = 0.0
    """Delay each run by up to this much (seconds, or 10m). The delay depends only on the site and the scheduled
    time."""
    run_on_start: bool = True
    """Run a new site immediately, without waiting for its first scheduled time."""
    retries: int = Field(default=3, ge=0)
    """Maximum retries of a failed run before the next scheduled run."""
    retry_delay: PositiveDuration = 300.0
    """Seconds before the first retry. The delay doubles with each retry."""
    max_retry_delay: PositiveDuration = 21_600.0
    """Maximum seconds between two retries."""
    run_timeout: PositiveDuration = 86_400.0
    """Maximum seconds of a run, including the audit after it. At the limit, the run saves its state and ends. The next
    run continues."""

    @property
    def is_timed(self) -> bool:
        """Whether siteatlas schedule runs the site."""
        return self.enabled and bool(self.cron or self.every)


class FleetConfig(ConfigSection):
    """The fleet: many workers that share one PostgreSQL. Needs siteatlas[fleet]."""

    database: str = ""
    """PostgreSQL database of the fleet: a connection string, env:NAME or file:PATH."""
    state_store: str = ""
    """Where snapshots of the sites' states are: file:///directory on a shared disk, or s3://bucket/prefix."""
    sites_at_once: PositiveInt = 4
    """Maximum sites that one worker runs at the same time."""
    lease: PositiveDuration = 60.0
    """Seconds until another worker takes over a site whose worker no longer responds."""
    queue_limit: PositiveInt = 1_000
    """Maximum jobs that wait in the queue. Other sites that are due stay in the table of sites."""
    dispatch_interval: PositiveDuration = 5.0
    """Seconds between two searches for sites that are due."""
    by_address: bool = False
    """Count sites on the same IP address as one server: one run at a time sends requests to the address."""
    snapshots: PositiveInt = 3
    """Snapshots to keep of the state of each site."""
    s3_endpoint: str = ""
    """URL of the S3 service of the state store. Default: Amazon S3."""
    s3_region: str = ""
    """Region of the state store."""
    s3_access_key: str = ""
    """Access key of the state store: env:NAME or file:PATH. Default: the usual places of AWS."""
    s3_secret_key: str = ""
    """Secret key of the state store: env:NAME or file:PATH."""
    store_timeout: PositiveDuration = 60.0
    """Maximum seconds without progress of a transfer from or to the state store."""


class DaemonConfig(ConfigSection):
    """How siteatlas schedule works. One daemon runs all sites, so a single site cannot have this section."""

    directory: str = ""
    """Directory for the history of scheduled runs. Default: the directory of the state."""
    max_parallel_runs: PositiveInt = 2
    """Maximum sites that run at the same time. If this is more than 1, audits leave one of these places free while
    sites wait for a run."""
    reload_interval: PositiveDuration = 5.0
    """Seconds between two checks of the configuration file. If the file has changed, Siteatlas reloads it, as on
    SIGHUP."""
    shutdown_timeout: PositiveDuration = 60.0
    """Maximum seconds for active runs to save their state when the daemon stops."""
    history_limit: PositiveInt = 1_000
    """Number of runs of each site to keep in the history."""
    listen: str = "127.0.0.1:9188"
    """Address of the web server with /healthz, /metrics and a status page: HOST:PORT or unix:PATH. "" switches the web
    server off. It has no login, so use a loopback address."""
    allowed_hosts: tuple[str, ...] = ()
    """More host names that the web server accepts in the Host header. It always accepts localhost, IP addresses and the
    names of this machine. "*" accepts all."""
    serve_sitemaps: bool = False
    """Let the web server also serve the published files of each site, at /published/NAME/. A reverse proxy can then
    fetch them there."""
    max_clients: PositiveInt = 64
    """Maximum connections to the web server at the same time."""
    client_timeout: PositiveDuration = 10.0
    """Maximum seconds for a client of the web server to send a request, or to receive the next part of a response."""

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
