"""The sections of the configuration that say who is told of what, and where else the files are published.

A secret is written env:NAME or file:PATH, so that it stands in no configuration.
"""

from typing import Literal

from pydantic import Field, field_validator

from crawler.config.section import Count, Seconds, Section
from crawler.units import duration

Occasion = Literal["changes", "trouble", "findings"]


class Notify(Section):
    """When others are told, whoever they are. Only real changes are told, after the files are live."""

    enabled: bool = True
    """Tell those who are configured below after a run that published."""
    check_live: bool = True
    """Ask the site for its sitemap first, and put off telling as long as it is not the one that was published."""
    attempts: Count = 3
    """How often one message is tried in a row when the other side is in trouble; after that the next run goes on."""
    retry_delay: Seconds = 2.0
    """Seconds before the second try; the time doubles with each."""
    max_retry_after: Seconds = 60.0
    """Seconds the other side may ask to wait (Retry-After); with more the next run goes on instead."""
    timeout: Seconds = 30.0
    """Seconds one message may take."""
    max_urls: Count = 100
    """URLs that a message for people names at most, of each kind."""

    @field_validator("retry_delay", "max_retry_after", "timeout", mode="before")
    @classmethod
    def _duration(cls, value: object) -> object:
        return duration(value) if isinstance(value, str) else value


class IndexNow(Section):
    """Tell Bing, Yandex and the others of https://www.indexnow.org/ which URLs changed. Off without a key."""

    key: str = ""
    """The key, 8 to 128 letters, digits and dashes, or env:NAME, file:PATH; `openssl rand -hex 16` makes one."""
    key_url: str = ""
    """Where the key file is. Default: /KEY.txt of each host; in a directory, only URLs below that are sent."""
    endpoint: str = "https://api.indexnow.org/indexnow"
    """Where URLs are sent; one of the engines passes them to the others."""
    batch: int = Field(default=10_000, ge=1, le=10_000)
    """URLs in one message at most."""
    first_run: bool = False
    """Send all pages of the first run too, and not only what changes from then on."""


class SearchConsole(Section):
    """Submit the sitemap to Google Search Console when it changed, and read back what it says of it."""

    account: str = ""
    """The key file (JSON) of a service account that is an owner of the property: its path, file:PATH or env:NAME."""
    property: str = ""
    """The property: a URL with a slash at its end, or sc-domain:example.com. Default: the site's origin."""
    endpoint: str = "https://www.googleapis.com/webmasters/v3"
    """Where the API is."""
    check_interval: Seconds = 21_600.0
    """Seconds after which a run that submits nothing asks again what Google says of it."""

    @field_validator("check_interval", mode="before")
    @classmethod
    def _duration(cls, value: object) -> object:
        return duration(value) if isinstance(value, str) else value


class WebSub(Section):
    """Tell the hubs of the feed of recent changes (output.recent) that there is something new."""

    hubs: tuple[str, ...] = ()
    """The URLs of the hubs."""


class Webhook(Section):
    """Send a JSON message to URLs of your own."""

    urls: tuple[str, ...] = ()
    """Where to; env:NAME or file:PATH for URLs that are secrets, as those of chats are."""
    secret: str = ""
    """Signs each message: HMAC-SHA256 of the body, in the header X-Siteatlas-Signature."""
    template: str = ""
    """A Jinja2 template of the body, for those who want another JSON, as chats do."""
    on: tuple[Occasion, ...] = ("changes", "trouble", "findings")
    """What is told: changes, runs that failed (once, and once more when it is over), findings of audits after runs
    (those that are new, and those that are mended)."""


class Email(Section):
    """Send an e-mail. Off without an address."""

    to: tuple[str, ...] = ()
    """Who gets it."""
    sender: str = ""
    """Whom it is from. Default: the first of those who get it."""
    server: str = "localhost:25"
    """The SMTP server, as host:port."""
    security: Literal["none", "starttls", "tls"] = "none"
    """How the connection is kept secret; a login is never sent without."""
    login: str = ""
    """user:password for it; env:NAME or file:PATH keep it out of the configuration."""
    template: str = ""
    """A Jinja2 template of the message; its first line is the subject."""
    on: tuple[Occasion, ...] = ("trouble", "findings")
    """What is told: changes, runs that failed (once, and once more when it is over), findings of audits after runs
    (those that are new, and those that are mended)."""


class Hook(Section):
    """Run a command of your own. It gets the message of the webhook on its standard input."""

    command: tuple[str, ...] = ()
    """The command and its arguments, not a shell's line."""
    timeout: Seconds = 300.0
    """Seconds it may take."""
    on: tuple[Occasion, ...] = ("changes",)
    """When it is run: after changes, runs that failed (once, and once more when it is over), and audits after runs that
    had findings which are new or mended (findings)."""

    @field_validator("timeout", mode="before")
    @classmethod
    def _duration(cls, value: object) -> object:
        return duration(value) if isinstance(value, str) else value


class Upload(Section):
    """Publish the files elsewhere too, after they are published in the directory: files first, the index last."""

    to: str = ""
    """s3://bucket/prefix (wants siteatlas[s3]) or sftp://user@host:22/directory (wants siteatlas[sftp])."""
    cache_control: str = ""
    """The Cache-Control of files on S3."""
    s3_endpoint: str = ""
    """The server of an S3-compatible storage; default: Amazon's."""
    s3_region: str = ""
    """Its region. This and the keys default to what AWS tools use: their environment, files and roles."""
    s3_access_key: str = ""
    """env:NAME or file:PATH."""
    s3_secret_key: str = ""
    """env:NAME or file:PATH."""
    sftp_password: str = ""
    """env:NAME or file:PATH; or use a key."""
    sftp_key: str = ""
    """The file of a private key. Default: those of ~/.ssh and the agent."""
    sftp_known_hosts: str = ""
    """The file of host keys that are trusted. Default: ~/.ssh/known_hosts."""
    timeout: Seconds = 60.0
    """Seconds that one file may take without a byte being taken."""
    retries: int = Field(default=3, ge=0)
    """How often a file is tried again."""
    grace_period: float = Field(default=3600.0, ge=0)
    """Seconds that files which left the set stay there, for readers who hold an old index."""

    @field_validator("timeout", "grace_period", mode="before")
    @classmethod
    def _duration(cls, value: object) -> object:
        return duration(value) if isinstance(value, str) else value
