"""The base of all sections of the configuration, and the sections for audits, notifications, uploads and schedules.

``reference.toml`` has the meaning of each key.
"""

import re
import shlex
from enum import Enum
from hashlib import blake2b
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, field_validator

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


def _without_scheme(path: object) -> object:
    """``file:PATH``, as people write it for secrets, is the path."""
    return path.removeprefix("file:") if isinstance(path, str) and not path.startswith("file://") else path


OwnPath = Annotated[str, ValueKind.PATH, BeforeValidator(_without_scheme)]
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


class AuditRuleConfig(ConfigSection):
    """A rule that the configuration adds to the audit."""

    sql: str = ""
    plugin: str = ""
    severity: Literal["error", "warning", "note"] = "warning"
    text: str = ""

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
    logs: OwnPaths = ()
    log_format: str = ""
    search: OwnPaths = ()
    analytics: OwnPaths = ()
    search_console: str = ""
    ga4: str = ""
    google_credentials: OwnPath = ""
    google_days: int = Field(default=90, ge=1, le=480)
    max_google_requests: PositiveInt = 100
    inspect_urls: int = Field(default=0, ge=0, le=2_000)
    inspection_endpoint: str = "https://searchconsole.googleapis.com/v1"
    ga4_endpoint: str = "https://analyticsdata.googleapis.com/v1beta"
    backlinks: OwnPaths = ()
    lists: OwnPaths = ()
    crawls: OwnPaths = ()
    url_column: str = ""
    verify_bots: bool = False
    bot_addresses: dict[str, str] = Field(default={})
    min_log_days: PositiveInt = 30
    keep_tokens: bool = False
    max_crawl_age: Duration = 86_400.0
    max_unlinked: int = Field(default=10_000, ge=0)
    min_visits: PositiveInt = 5
    max_clicks: PositiveInt = 5
    min_inlinks: int = Field(default=1, ge=0)
    media: bool = True
    max_media: int = Field(default=1_000, ge=0)
    max_link_pages: int = Field(default=30_000, ge=0)
    check_external: bool = False
    trust_blocked: bool = False
    trust_logs: bool = False
    trust_failed: int = Field(default=0, ge=0)
    every: PositiveDuration | None = None
    segments: dict[str, str] = Field(default={})
    rules: Annotated[dict[str, AuditRuleConfig], AfterValidator(_checked_names)] = Field(default={})
    accepted: OwnPath = ""
    report: OwnPath = ""
    fail_on: tuple[str, ...] = ()


class ChannelConfig(ConfigSection):
    """A channel of notifications. It is on if its key ``switch`` has a value."""

    switch: ClassVar[str]

    @property
    def is_on(self) -> bool:
        """Whether the channel is configured."""
        return bool(getattr(self, self.switch))


OccasionName = Literal["changes", "trouble", "findings"]


class NotifyConfig(ConfigSection):
    """When Siteatlas sends notifications, for all channels."""

    enabled: bool = True
    check_live: bool = True
    attempts: PositiveInt = 3
    retry_delay: PositiveDuration = 2.0
    max_retry_after: PositiveDuration = 60.0
    timeout: PositiveDuration = 30.0
    max_urls: PositiveInt = 100


class IndexNowConfig(ChannelConfig):
    """Notify Bing, Yandex and other search engines of changed URLs (https://www.indexnow.org/). Off without a key."""

    switch = "key"

    key: Secret = ""
    key_url: str = ""
    endpoint: str = "https://api.indexnow.org/indexnow"
    batch: int = Field(default=10_000, ge=1, le=10_000)
    first_run: bool = False


class SearchConsoleConfig(ChannelConfig):
    """Submit the sitemap to Google Search Console when it changes, and read how Google processed it."""

    switch = "account"

    account: Account = ""
    property: str = ""
    endpoint: str = "https://www.googleapis.com/webmasters/v3"
    check_interval: PositiveDuration = 21_600.0


class WebhookConfig(ChannelConfig):
    """Send a JSON message to your own URLs."""

    switch = "urls"

    urls: Secrets = ()
    secret: Secret = ""
    on: tuple[OccasionName, ...] = ("changes", "trouble", "findings")


class EmailConfig(ChannelConfig):
    """Send an e-mail. Off without a recipient."""

    switch = "to"

    to: tuple[str, ...] = ()
    sender: str = ""
    server: str = "localhost:25"
    security: Literal["none", "starttls", "tls"] = "none"
    login: Secret = ""
    on: tuple[OccasionName, ...] = ("trouble", "findings")


class HookConfig(ChannelConfig):
    """Run your own command. The command gets the same JSON message as a webhook, on its standard input."""

    switch = "command"

    command: tuple[str, ...] = ()
    timeout: PositiveDuration = 300.0
    on: tuple[OccasionName, ...] = ("changes",)


class PluginConfig(ConfigSection):
    """A plug-in: its settings for Siteatlas. The other keys of its table are for the plug-in itself."""

    model_config = ConfigDict(extra="allow")

    use: str = ""
    on: tuple[OccasionName, ...] = ("changes", "trouble", "findings")


class PluginsConfig(ConfigSection):
    """Plug-ins that other packages install, each in a table [plugins.NAME]. Its key use is the name of the plug-in, and
    the other keys are for the plug-in. siteatlas manual plugins describes the kinds."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, PluginConfig] = Field(init=False)

    @property
    def tables(self) -> dict[str, PluginConfig]:
        """The tables by name."""
        return self.__pydantic_extra__ or {}


class UploadConfig(ConfigSection):
    """Upload the published files. Siteatlas uploads the sitemap index last."""

    to: str = ""
    cache_control: str = ""
    s3_endpoint: str = ""
    s3_region: str = ""
    s3_access_key: Secret = ""
    s3_secret_key: Secret = ""
    sftp_password: Secret = ""
    sftp_key: OwnPath = ""
    sftp_known_hosts: OwnPath = ""
    timeout: PositiveDuration = 60.0
    retries: int = Field(default=3, ge=0)
    grace_period: Duration = 3600.0


_host_name = re.compile(r"[^\s:/?#@*\[\]]+")


class ScheduleConfig(ConfigSection):
    """When siteatlas schedule runs a site. Without cron or every, it does not run the site."""

    cron: str = ""
    every: PositiveDuration | None = None
    enabled: bool = True
    timezone: str = "UTC"
    jitter: Duration = 0.0
    run_on_start: bool | None = None
    retries: int = Field(default=3, ge=0)
    retry_delay: PositiveDuration = 300.0
    max_retry_delay: PositiveDuration = 21_600.0
    run_timeout: PositiveDuration = 86_400.0

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
    state_store: str = ""
    sites_at_once: PositiveInt = 4
    lease: PositiveDuration = 60.0
    plugins: tuple[str, ...] = ()
    allow_hooks: tuple[str, ...] = ()
    allow_secrets: OwnPaths = ()
    queue_limit: PositiveInt = 1_000
    dispatch_interval: PositiveDuration = 5.0
    by_address: bool = False
    snapshots: PositiveInt = 3
    publish_without_store: bool = False
    s3_endpoint: str = ""
    s3_region: str = ""
    s3_access_key: Secret = ""
    s3_secret_key: Secret = ""
    store_timeout: PositiveDuration = 60.0

    @field_validator("allow_hooks")
    @classmethod
    def _are_command_lines(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for line in value:
            try:
                shlex.split(line)
            except ValueError as error:
                raise ValueError(f"{line!r} is not a command line: {error}") from None
        return value


class DaemonConfig(ConfigSection):
    """How siteatlas schedule works. One daemon runs all sites, so this section always applies to all sites."""

    directory: OwnPath = ""
    max_parallel_runs: PositiveInt = 2
    reload_interval: PositiveDuration = 5.0
    shutdown_timeout: PositiveDuration = 60.0
    history_limit: PositiveInt = 1_000
    listen: str = "127.0.0.1:9188"
    allowed_hosts: tuple[str, ...] = ()
    serve_sitemaps: bool = False
    max_clients: PositiveInt = 64
    client_timeout: PositiveDuration = 10.0
    explore: str = Field(default="", pattern="^(https?://.*)?$")

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
