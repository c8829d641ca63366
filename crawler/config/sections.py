"""The base of all sections of the configuration, and the sections for audits, notifications, uploads and schedules."""

import ast
import inspect
import re
import sys
from collections.abc import Iterator
from enum import Enum
from functools import cache
from hashlib import blake2b
from itertools import pairwise
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, field_validator
from typing_extensions import override

from crawler.units import parse_duration, parse_size

MAX_INTEGER = 2**63 - 1
"""The largest number that TOML and SQLite have."""
PositiveInt = Annotated[int, Field(ge=1)]
PositiveSeconds = Annotated[float, Field(gt=0)]
_FromDuration = BeforeValidator(lambda value: parse_duration(value) if isinstance(value, str) else value)
FromSize = BeforeValidator(lambda value: parse_size(value) if isinstance(value, str) else value)
Duration = Annotated[float, Field(ge=0), _FromDuration]
"""Seconds, or a text such as ``90m``."""
PositiveDuration = Annotated[float, Field(gt=0), _FromDuration]
Size = Annotated[int, Field(ge=1), FromSize]
"""Bytes, or a text such as ``20M``."""


class ValueKind(Enum):
    """How a text in a configuration file is read."""

    PATH = "a path, relative to the directory of the file"
    SECRET = "a text that no message shows, or env:NAME, or file:PATH relative to the directory of the file"  # noqa: S105


OwnPath = Annotated[str, ValueKind.PATH]
OwnPaths = Annotated[tuple[str, ...], ValueKind.PATH]
Secret = Annotated[str, ValueKind.SECRET]
Secrets = Annotated[tuple[str, ...], ValueKind.SECRET]
SecretTable = Annotated[dict[str, str], ValueKind.SECRET]
Account = Annotated[str, ValueKind.PATH, ValueKind.SECRET]
"""The path of a key file, or its content."""


class ConfigSection(BaseModel):
    """A table of the configuration: frozen, and an unknown key is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True, allow_inf_nan=False)

    @field_validator("*")
    @classmethod
    def _fits(cls, value: Any) -> Any:
        if isinstance(value, int) and abs(value) > MAX_INTEGER:
            raise ValueError("it must be a number of at most 64 bits")
        return value

    @classmethod
    @override
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        """Describe each field by the text below it.

        The option ``use_attribute_docstrings`` does the same, but reads the file again for each class.
        """
        super().__pydantic_init_subclass__(**kwargs)
        for name, text in _texts_below(cls.__module__).get(cls.__name__, {}).items():
            cls.model_fields[name].description = text


@cache
def _texts_below(module: str) -> dict[str, dict[str, str]]:
    """The texts below the fields of the classes of a module, by class and field."""
    classes = (
        each for each in ast.parse(inspect.getsource(sys.modules[module])).body if isinstance(each, ast.ClassDef)
    )
    return {each.name: dict(_texts_of(each)) for each in classes}


def _texts_of(declared: ast.ClassDef) -> Iterator[tuple[str, str]]:
    for field, below in pairwise(declared.body):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and isinstance(below, ast.Expr):
            text = ast.literal_eval(below.value)
            yield field.target.id, inspect.cleandoc(text)


class AuditRuleConfig(ConfigSection):
    """A rule that the configuration adds to the audit."""

    sql: str = ""
    """One SELECT over the tables of the crawl. It returns a row, with a column url, for each finding."""
    plugin: str = ""
    """The table of [plugins] whose plug-in has the rule, instead of sql."""
    severity: Literal["error", "warning", "note"] = "warning"
    """How bad a finding is: error, warning or note."""
    text: str = ""
    """What the findings have in common, in a sentence."""

    @property
    def version(self) -> str:
        """What finds the rows, in words that differ if something else does: "the query 5f3a09c1"."""
        digest = blake2b(self.sql.encode(), digest_size=4).hexdigest()
        return f"the plug-in {self.plugin}" if self.plugin else f"the query {digest}"


def _checked_names(rules: dict[str, AuditRuleConfig]) -> dict[str, AuditRuleConfig]:
    for name in rules:
        if not re.fullmatch("[A-Za-z0-9_-]+", name):
            raise ValueError(f'the name "{name}" may contain only letters, digits, "_" and "-"')
    return rules


class AuditConfig(ConfigSection):
    """The sources that an audit compares the site with, and the limits of the audit."""

    sitemaps: OwnPaths = ()
    """Sitemap to check (a file or URL). Default: the sitemaps that robots.txt names, /sitemap.xml, and the sitemap that
    Siteatlas published."""
    logs: OwnPaths = ()
    """Access logs: a file, glob, folder or URL, also compressed. A log at a URL may have at most
    fetch.max_sitemap bytes."""
    log_format: str = ""
    """Format of the access logs: a name such as combined, or the value of log_format in nginx or of LogFormat in
    Apache. Default: Siteatlas detects the format."""
    search: OwnPaths = ()
    """Export of Google Search Console, or of the webmaster tools of another search engine."""
    analytics: OwnPaths = ()
    """Export of a web analytics tool. It is a table that lists the visited pages."""
    search_console: str = ""
    """Search Console property to read by the API. It is a URL with a slash at the end, or sc-domain:example.com.
    Siteatlas reads the pages with their clicks and impressions."""
    ga4: str = ""
    """Google Analytics 4 property to read by the API, a number. Siteatlas reads the pages with their views,
    sessions and users."""
    google_credentials: OwnPath = ""
    """Key file (JSON) of a service account that may read the properties of --search-console and --ga4: a path,
    file:PATH or env:NAME. Default: the account in [search_console]."""
    google_days: int = Field(default=90, ge=1, le=480)
    """Number of days to read from the APIs of Google, up to yesterday. Search Console keeps about 480 days."""
    max_google_requests: PositiveInt = 100
    """Maximum requests to Google for one property per day. Siteatlas stores the rows, and requests only rows that are
    missing."""
    inspect_urls: int = Field(default=0, ge=0, le=2_000)
    """Maximum pages per day to look up in the Google index (URL Inspection of Search Console). Needs --search-console.
    0: none."""
    inspection_endpoint: str = "https://searchconsole.googleapis.com/v1"
    """URL of the URL Inspection API."""
    ga4_endpoint: str = "https://analyticsdata.googleapis.com/v1beta"
    """URL of the Google Analytics Data API."""
    backlinks: OwnPaths = ()
    """Table of links from other sites."""
    lists: OwnPaths = ()
    """List of URLs. It has one URL per line, or is a table with a column of URLs."""
    crawls: OwnPaths = ()
    """Another crawl of the site. It is a state directory of Siteatlas, or a table that another crawler wrote."""
    url_column: str = ""
    """Name of the column with the URLs, in tables. Default: Siteatlas detects the column."""
    verify_bots: bool = False
    """Use DNS to check whether a request in the logs really comes from the search engine that its user agent names."""
    bot_addresses: dict[str, str] = Field(default={})
    """File of the addresses of a bot, by the name of the bot: the JSON file that its operator publishes. A request
    from another address is not from this bot."""
    min_log_days: PositiveInt = 30
    """Report pages that no search engine crawled only if the access logs have requests on at least this many days."""
    keep_tokens: bool = False
    """Keep secrets and personal data in the URLs of access logs, exports and lists. Default: Siteatlas replaces tokens,
    keys, passwords, session IDs, e-mail addresses and telephone numbers by *** and a short digest."""
    max_crawl_age: Duration = 86_400.0
    """Maximum age of the last run (seconds, or 24h). If the run is not older, the audit uses its crawl, and requests
    only URLs that the run did not visit. 0: the audit always crawls the site."""
    max_unlinked: int = Field(default=10_000, ge=0)
    """Maximum URLs to fetch that only a source names. A source is a sitemap, log, export or list, and the crawl did not
    find these URLs."""
    min_visits: PositiveInt = 5
    """Ignore a URL in the logs that never returned a page, if people and search engines visited it less often than
    this."""
    max_clicks: PositiveInt = 5
    """Report a page as hard to reach if it is more than this many clicks from the start URL."""
    min_inlinks: int = Field(default=1, ge=0)
    """Report a page as hard to reach if at most this many other pages link to it."""
    media: bool = True
    """Check whether the server returns the images and videos that sitemaps list."""
    max_media: int = Field(default=1_000, ge=0)
    """Maximum images and videos to check in one audit; also maximum pictures, style sheets and scripts of pages, and
    maximum links to other sites."""
    max_link_pages: int = Field(default=30_000, ge=0)
    """Maximum pages whose links, pictures, titles and texts are checked. On a larger site, they are spread evenly. 0:
    none."""
    check_external: bool = False
    """Also request the pages of other sites that links lead to: at most audit.max_media of them in one audit, and again
    only if they failed or after 7 days."""
    trust_blocked: bool = False
    """Assume that pages that the crawl could not read link to no other pages. These are pages behind robots.txt, a
    login, nofollow or the trap limit, and pages outside the start directory."""
    trust_logs: bool = False
    """Assume that access logs without host names contain only requests for this site. Default: if many pages in such a
    log do not exist on this site, findings that only this log supports are inconclusive."""
    trust_failed: int = Field(default=0, ge=0)
    """If at most this many pages failed, assume that they link to no other pages. Findings about links then have the
    grade "likely" instead of "inconclusive"."""
    every: PositiveDuration | None = None
    """Audit the site after a run if the last audit is at least this old (seconds, or 7d). Only siteatlas run and
    siteatlas schedule use this setting."""
    segments: dict[str, str] = Field(default={})
    """Part of the site that the reports count separately: a name, and a pattern as for --include. If a URL matches
    several segments, it belongs to the first one."""
    rules: Annotated[dict[str, AuditRuleConfig], AfterValidator(_checked_names)] = Field(default={})
    """Rule of your own, in a table [audit.rules.NAME] with the keys sql, severity and text. sql is one SELECT over the
    tables of the crawl. Each row, with a column url, is a finding of the rule own.NAME. With the key plugin instead of
    sql, the plug-in of a table [plugins.NAME] finds the rows."""
    accepted: OwnPath = ""
    """TOML file of accepted findings. The report lists these findings separately and does not count them."""
    report: OwnPath = ""
    """Directory for the report. Its formats are HTML, JSON, XLSX, CSV, SARIF and JUnit. If several sites share the
    directory, each site gets a subdirectory with its name."""
    fail_on: tuple[str, ...] = ()
    """End with exit code 10 for conclusive findings of these names, such as error or entry.gone. A name is a severity,
    a family, a rule or a heading of the report. With new:error, only findings count that the previous
    audit did not have. new means new findings of any kind."""


class ChannelConfig(ConfigSection):
    """A channel of notifications. It is on if its key ``switch`` has a value."""

    switch: ClassVar[str]

    @property
    def is_on(self) -> bool:
        """Whether the channel is configured."""
        return bool(getattr(self, self.switch))


OccasionName = Literal["changes", "trouble", "findings"]


class NotifyConfig(ConfigSection):
    """When Siteatlas sends notifications, for all channels (IndexNow, Search Console, webhook, e-mail, hook)."""

    enabled: bool = True
    """Send notifications after a run, through the channels that the configuration sets."""
    check_live: bool = True
    """Fetch the sitemap from its public URL first. Send notifications only when the site serves the published file."""
    attempts: PositiveInt = 3
    """Maximum attempts to send one message in one run. If all attempts fail, the next run tries again."""
    retry_delay: PositiveDuration = 2.0
    """Seconds between the first and the second attempt. Siteatlas doubles this delay after each further attempt."""
    max_retry_after: PositiveDuration = 60.0
    """Maximum wait that a receiver may demand by Retry-After, in seconds. If it demands a longer wait, the next run
    sends the message."""
    timeout: PositiveDuration = 30.0
    """Maximum seconds to send one message."""
    max_urls: PositiveInt = 100
    """Maximum URLs that a message lists for each kind of change, such as added or removed."""


class IndexNowConfig(ChannelConfig):
    """Notify Bing, Yandex and other search engines of changed URLs (https://www.indexnow.org/). Off without a key."""

    switch = "key"

    key: Secret = ""
    """IndexNow key of 8 to 128 letters, digits and dashes. `openssl rand -hex 16` prints a new key. To keep the key out
    of the configuration, write env:NAME or file:PATH."""
    key_url: str = ""
    """URL of the key file. Default: /KEY.txt on each host. A key file in a directory is valid only for URLs in that
    directory."""
    endpoint: str = "https://api.indexnow.org/indexnow"
    """URL of the IndexNow server. The server forwards the changed URLs to all search engines that support IndexNow."""
    batch: int = Field(default=10_000, ge=1, le=10_000)
    """Maximum URLs in one request to IndexNow."""
    first_run: bool = False
    """Also send the pages of the first run. Default: Siteatlas sends only changes of later runs."""


class SearchConsoleConfig(ChannelConfig):
    """Submit the sitemap to Google Search Console when it changes, and read how Google processed it."""

    switch = "account"

    account: Account = ""
    """Key file (JSON) of a service account that is an owner of the property: a path, file:PATH or env:NAME."""
    property: str = ""
    """Search Console property: a URL with a slash at the end, or sc-domain:example.com. Default: the origin of the
    site."""
    endpoint: str = "https://www.googleapis.com/webmasters/v3"
    """URL of the Search Console API."""
    check_interval: PositiveDuration = 21_600.0
    """Minimum seconds between two requests for the status of the sitemap at Google. Siteatlas also requests the status
    when it submits the sitemap."""


class WebhookConfig(ChannelConfig):
    """Send a JSON message to your own URLs."""

    switch = "urls"

    urls: Secrets = ()
    """URL that receives the messages. To keep a secret URL out of the configuration, write env:NAME or file:PATH."""
    secret: Secret = ""
    """Secret that signs each message. The header X-Siteatlas-Signature contains the HMAC-SHA256 of the body."""
    on: tuple[OccasionName, ...] = ("changes", "trouble", "findings")
    """Event that causes a message. changes: the sitemap changed. trouble: a run failed, or succeeded after a failure.
    findings: an audit has new or resolved findings."""


class EmailConfig(ChannelConfig):
    """Send an e-mail. Off without a recipient."""

    switch = "to"

    to: tuple[str, ...] = ()
    """Recipient of the e-mail."""
    sender: str = ""
    """Sender of the e-mail. Default: the user of the login if that is an address, or siteatlas at the domain of the
    first recipient."""
    server: str = "localhost:25"
    """SMTP server, as host:port."""
    security: Literal["none", "starttls", "tls"] = "none"
    """Encryption of the connection to the SMTP server. Siteatlas never sends a login without encryption."""
    login: Secret = ""
    """User name and password for the SMTP server, as user:password. To keep them out of the configuration, write
    env:NAME or file:PATH."""
    on: tuple[OccasionName, ...] = ("trouble", "findings")
    """Event that causes an e-mail. changes: the sitemap changed. trouble: a run failed, or succeeded after a failure.
    findings: an audit has new or resolved findings."""


class HookConfig(ChannelConfig):
    """Run your own command. The command gets the same JSON message as a webhook, on its standard input."""

    switch = "command"

    command: tuple[str, ...] = ()
    """Command that gets each message as JSON on its standard input. Give the command and its arguments as separate
    values. Siteatlas starts the command without a shell."""
    timeout: PositiveDuration = 300.0
    """Maximum seconds that the command may run."""
    on: tuple[OccasionName, ...] = ("changes",)
    """Event that starts the command. changes: the sitemap changed. trouble: a run failed, or succeeded after a failure.
    findings: an audit has new or resolved findings."""


class PluginConfig(ConfigSection):
    """A plug-in: its settings for Siteatlas. The other keys of its table are for the plug-in itself."""

    model_config = ConfigDict(extra="allow")

    use: str = ""
    """The name of the entry point."""
    on: tuple[OccasionName, ...] = ("changes", "trouble", "findings")
    """Of a channel: the events that cause a message, as for a webhook."""


class PluginsConfig(ConfigSection):
    """Plug-ins that other packages install, each in a table [plugins.NAME]. Its key use is the name of the plug-in, and
    the other keys are for the plug-in. docs/plugins.md describes the kinds of plug-ins."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, PluginConfig] = Field(init=False)

    @property
    def tables(self) -> dict[str, PluginConfig]:
        """The tables by name."""
        return self.__pydantic_extra__ or {}


class UploadConfig(ConfigSection):
    """Upload the published files. Siteatlas uploads the sitemap index last."""

    to: str = ""
    """Upload the published files to s3://bucket/prefix or to sftp://user@host:22/directory. S3 needs the extra s3, and
    SFTP the extra sftp. plugin:NAME uploads by the plug-in of the table [plugins.NAME]."""
    cache_control: str = ""
    """Value of the header Cache-Control for the files on S3, such as max-age=300."""
    s3_endpoint: str = ""
    """URL of an S3-compatible storage. Default: Amazon S3."""
    s3_region: str = ""
    """Region of the S3 storage. Default: the region in the AWS settings (environment variables or configuration
    files)."""
    s3_access_key: Secret = ""
    """Access key of the S3 storage, as env:NAME or file:PATH. Default: the key in the AWS settings (environment
    variables, configuration files or roles)."""
    s3_secret_key: Secret = ""
    """Secret key of the S3 storage, as env:NAME or file:PATH. Set it together with upload.s3_access_key."""
    sftp_password: Secret = ""
    """SFTP password, as env:NAME or file:PATH. If you use a private key, you do not need a password."""
    sftp_key: OwnPath = ""
    """File with the private key for SFTP. Default: the keys in ~/.ssh and in the SSH agent."""
    sftp_known_hosts: OwnPath = ""
    """File of the host keys that Siteatlas trusts. Default: ~/.ssh/known_hosts."""
    timeout: PositiveDuration = 60.0
    """Maximum seconds that an upload may make no progress. After this time, the upload fails."""
    retries: int = Field(default=3, ge=0)
    """Maximum retries to upload one file after a temporary failure."""
    grace_period: Duration = 3600.0
    """Seconds to keep uploaded files that the new index no longer lists. Crawlers may still read the old index."""


_host_name = re.compile(r"[^\s:/?#@*\[\]]+")


class ScheduleConfig(ConfigSection):
    """When siteatlas schedule runs a site. Without cron or every, it does not run the site."""

    cron: str = ""
    """Cron expression of five fields. "30 3 * * *" means every day at 3:30. When daylight saving time begins or ends,
    Siteatlas follows the rules of Debian's cron."""
    every: PositiveDuration | None = None
    """Time between the starts of two runs (6h, 1d), instead of cron. Siteatlas distributes the runs of several sites
    over this time."""
    enabled: bool = True
    """Let siteatlas schedule run the site. To leave out one of several sites, write enabled = false in
    [sites.NAME.schedule]."""
    timezone: str = "UTC"
    """Time zone of cron: a name such as Europe/Berlin, or "local"."""
    jitter: Duration = 0.0
    """Maximum delay of a run (seconds, or 10m), so that not all sites start at once. The delay of a site at one
    scheduled time is always the same."""
    run_on_start: bool | None = None
    """Run a new site immediately, before its first scheduled time. Default: yes with every, no with cron."""
    retries: int = Field(default=3, ge=0)
    """Maximum retries of a failed run before the next scheduled run."""
    retry_delay: PositiveDuration = 300.0
    """Seconds before the first retry of a failed run. Siteatlas doubles this delay after each retry."""
    max_retry_delay: PositiveDuration = 21_600.0
    """Maximum seconds between two retries of a failed run."""
    run_timeout: PositiveDuration = 86_400.0
    """Maximum seconds of a run, including the audit after it. At this limit, the run saves its state and ends. The next
    run continues the crawl."""

    @property
    def is_timed(self) -> bool:
        """Whether siteatlas schedule runs the site."""
        return self.enabled and bool(self.cron or self.every)

    @property
    def starts_at_once(self) -> bool:
        """Whether a new site runs before its first scheduled time."""
        return not self.cron if self.run_on_start is None else self.run_on_start


class FleetConfig(ConfigSection):
    """A fleet is a group of workers on many machines that share one PostgreSQL. Needs the extra fleet."""

    database: Secret = ""
    """PostgreSQL database of the fleet: a connection string, env:NAME or file:PATH."""
    state_store: str = ""
    """Where the workers store snapshots (copies of the states of the sites): file:///directory on a shared disk, or
    s3://bucket/prefix."""
    sites_at_once: PositiveInt = 4
    """Maximum sites that one worker runs at the same time."""
    lease: PositiveDuration = 60.0
    """If a worker gives no sign of life for this many seconds, another worker runs its sites."""
    plugins: tuple[str, ...] = ()
    """Plug-in that this worker may load for the sites of the fleet: the name of an entry point. The worker runs no site
    with another plug-in."""
    queue_limit: PositiveInt = 1_000
    """Maximum sites that wait in the queue for a worker. Other due sites enter the queue later."""
    dispatch_interval: PositiveDuration = 5.0
    """Seconds between two searches for due sites."""
    by_address: bool = False
    """Count sites on the same IP address as one server. Only one run at a time then sends requests to this address."""
    snapshots: PositiveInt = 3
    """Number of snapshots to keep of the state of each site."""
    publish_without_store: bool = False
    """Also publish while the state store cannot be used. Then no snapshot of the new state exists, and if the worker is
    lost, the next runs publish wrong dates."""
    s3_endpoint: str = ""
    """URL of the S3 storage of the state store. Default: Amazon S3."""
    s3_region: str = ""
    """Region of the S3 storage of the state store. Default: the region in the AWS settings."""
    s3_access_key: Secret = ""
    """Access key of the S3 storage of the state store: env:NAME or file:PATH. Default: the key in the AWS settings."""
    s3_secret_key: Secret = ""
    """Secret key of the S3 storage of the state store: env:NAME or file:PATH. Set it together with the access key."""
    store_timeout: PositiveDuration = 60.0
    """Maximum seconds that a transfer from or to the state store may make no progress. After this time, the transfer
    fails."""


class DaemonConfig(ConfigSection):
    """How siteatlas schedule works. One daemon runs all sites, so this section always applies to all sites."""

    directory: OwnPath = ""
    """Directory for the history of scheduled runs. Default: the directory of the state."""
    max_parallel_runs: PositiveInt = 2
    """Maximum runs that are active at the same time. An audit after a run counts as part of the run. If other sites
    wait for their runs, one of these places is reserved for a run without an audit, unless this number is 1."""
    reload_interval: PositiveDuration = 5.0
    """Seconds between two checks of the configuration file. If the file has changed, Siteatlas reads it again, as on
    SIGHUP."""
    shutdown_timeout: PositiveDuration = 60.0
    """Maximum seconds that active runs have to save their state when the daemon stops."""
    history_limit: PositiveInt = 1_000
    """Number of runs of each site to keep in the history."""
    listen: str = "127.0.0.1:9188"
    """Address of the web server with /healthz, /metrics and a status page: HOST:PORT or unix:PATH. The web server has
    no login, so use a loopback address. "" turns the web server off."""
    allowed_hosts: tuple[str, ...] = ()
    """Also accept requests with this name in the header Host. The web server always accepts localhost, IP addresses and
    the names of this machine. "*" accepts all names."""
    serve_sitemaps: bool = False
    """Also serve the published files of each site, at /published/NAME/. A reverse proxy can fetch them there."""
    max_clients: PositiveInt = 64
    """Maximum connections at the same time to the web server of Siteatlas."""
    client_timeout: PositiveDuration = 10.0
    """Maximum seconds that a client of the web server may take to send a request, or to receive the next part of a
    response."""

    @field_validator("allowed_hosts")
    @classmethod
    def _are_names(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for name in value:
            if name != "*" and not _host_name.fullmatch(name):
                raise ValueError(
                    f'"{name}" is not a host name. Give the name alone, such as sitemaps.example.com, without scheme, '
                    f"port and path"
                )
        return value
