"""The sections of the configuration that say who is told of what, and where else the files are published.

A secret is written env:NAME or file:PATH, so that it stands in no configuration.
"""

from typing import Literal

from pydantic import Field, field_validator

from crawler.config.section import ConfigSection, PositiveInt, PositiveSeconds
from crawler.units import parse_duration

OccasionName = Literal["changes", "trouble", "findings"]


class NotifyConfig(ConfigSection):
    """When notifications are sent, whatever the channel. They report real changes only, after the files are live."""

    enabled: bool = True
    """Send notifications through the channels configured below after a run."""
    check_live: bool = True
    """Fetch the site's sitemap first, and postpone notifications until it is the published one."""
    attempts: PositiveInt = 3
    """Attempts to send one message in a row while the receiver fails. After them, the next run continues."""
    retry_delay: PositiveSeconds = 2.0
    """Seconds before the second attempt. The delay doubles with each attempt."""
    max_retry_after: PositiveSeconds = 60.0
    """Longest Retry-After to wait for, in seconds. If a receiver asks for more, the next run continues."""
    timeout: PositiveSeconds = 30.0
    """Seconds one message may take."""
    max_urls: PositiveInt = 100
    """Maximum URLs of each kind that a message for people names."""

    @field_validator("retry_delay", "max_retry_after", "timeout", mode="before")
    @classmethod
    def _duration(cls, value: object) -> object:
        return parse_duration(value) if isinstance(value, str) else value


class IndexNowConfig(ConfigSection):
    """Tell Bing, Yandex and others which URLs changed (https://www.indexnow.org/). Off without a key."""

    key: str = ""
    """The key: 8 to 128 letters, digits and dashes, or env:NAME, file:PATH. `openssl rand -hex 16` makes one."""
    key_url: str = ""
    """URL of the key file. Default: /KEY.txt on each host. In a directory, it is valid for the URLs below that only."""
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
    check_interval: PositiveSeconds = 21_600.0
    """Seconds after which a run that submits nothing reads the status again."""

    @field_validator("check_interval", mode="before")
    @classmethod
    def _duration(cls, value: object) -> object:
        return parse_duration(value) if isinstance(value, str) else value


class WebSubConfig(ConfigSection):
    """Tell the hubs of the feed of recent changes (output.recent) when it has news."""

    hubs: tuple[str, ...] = ()
    """URLs of the hubs."""


class WebhookConfig(ConfigSection):
    """Send a JSON message to your own URLs."""

    urls: tuple[str, ...] = ()
    """URLs to send to. Write env:NAME or file:PATH for a secret URL, such as that of a chat."""
    secret: str = ""
    """Secret that signs each message: HMAC-SHA256 of the body, in the header X-Siteatlas-Signature."""
    template: str = ""
    """Jinja2 template of the body, for receivers that need other JSON, such as chats."""
    on: tuple[OccasionName, ...] = ("changes", "trouble", "findings")
    """Events to report: changes; trouble (a run fails, and once more when runs succeed again); findings (new and
    resolved ones of an audit after a run)."""


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
    """Events to report: changes; trouble (a run fails, and once more when runs succeed again); findings (new and
    resolved ones of an audit after a run)."""


class HookConfig(ConfigSection):
    """Run your own command. It reads the message of the webhook from standard input."""

    command: tuple[str, ...] = ()
    """The command and its arguments, as separate words. No shell reads them."""
    timeout: PositiveSeconds = 300.0
    """Seconds the command may take."""
    on: tuple[OccasionName, ...] = ("changes",)
    """Events to run it for: changes; trouble (a run fails, and once more when runs succeed again); findings (new and
    resolved ones of an audit after a run)."""

    @field_validator("timeout", mode="before")
    @classmethod
    def _duration(cls, value: object) -> object:
        return parse_duration(value) if isinstance(value, str) else value


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
    """Region of the storage. Region and keys default to those of the AWS tools: environment, files and roles."""
    s3_access_key: str = ""
    """Access key, as env:NAME or file:PATH."""
    s3_secret_key: str = ""
    """Secret key, as env:NAME or file:PATH."""
    sftp_password: str = ""
    """Password, as env:NAME or file:PATH, if there is no key."""
    sftp_key: str = ""
    """File of a private key. Default: those of ~/.ssh and the agent."""
    sftp_known_hosts: str = ""
    """File of the trusted host keys. Default: ~/.ssh/known_hosts."""
    timeout: PositiveSeconds = 60.0
    """Seconds to wait for the storage to accept the next byte of a file."""
    retries: int = Field(default=3, ge=0)
    """Retries of one file after a transient failure."""
    grace_period: float = Field(default=3600.0, ge=0)
    """Seconds to keep uploaded files that have left the set, for readers of an old index."""

    @field_validator("timeout", "grace_period", mode="before")
    @classmethod
    def _duration(cls, value: object) -> object:
        return parse_duration(value) if isinstance(value, str) else value
