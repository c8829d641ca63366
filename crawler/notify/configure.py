"""The registry of notification channels: builds those that a configuration names, and checks them before a crawl.

A channel is a section of the configuration that is a :class:`crawler.config.sections.ChannelConfig`, and its entry in
:data:`CHANNELS`. All else follows from these: its keys, its secrets, whether runs send, tests and dry runs.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from crawler.config.config import Config
from crawler.config.plan import CrawlPlan
from crawler.config.secrets import reveal_secret
from crawler.errors import UsageError
from crawler.model import Failure, Reply, Url
from crawler.notify.channels.http import HttpSender
from crawler.notify.channels.indexnow import FetchUrl, IndexNowChannel
from crawler.notify.notice import BatchChannel, MessageChannel, Occasion
from crawler.plugins import PluginKind, load_plugins
from crawler.state.status import published_sitemap_url

if TYPE_CHECKING:  # what signs requests is loaded when there are any
    from crawler.notify.channels.search_console import SearchConsoleChannel

_OCCASIONS: Final = {
    "changes": (Occasion.CHANGES,),
    "trouble": (Occasion.TROUBLE, Occasion.RECOVERY),
    "findings": (Occasion.FINDINGS,),
}


@dataclass(frozen=True, slots=True)
class ChannelBuild:
    """What channels are built from: the site, its HTTP sender, and what fetches from the public site."""

    plan: CrawlPlan
    http: HttpSender
    fetch: FetchUrl


@dataclass(frozen=True, slots=True)
class ConfiguredChannels:
    """The configured channels: those that take URLs in batches, and those that take messages."""

    batch_channels: tuple[BatchChannel, ...] = ()
    message_channels: tuple[MessageChannel, ...] = ()

    @property
    def keys(self) -> tuple[str, ...]:
        """The names of the channels in the ledger."""
        return (*(channel.key for channel in self.batch_channels), *(channel.key for channel in self.message_channels))

    @property
    def search_console(self) -> "SearchConsoleChannel | None":
        """The channel that reports the status of the sitemap, if configured."""
        channels: Iterable[Any] = self.message_channels
        return next((channel for channel in channels if hasattr(channel, "read_status")), None)


def check_channels(plan: CrawlPlan) -> ConfiguredChannels:
    """Check every configured channel before a crawl begins, and return them.

    Raises UsageError for a secret that is missing or bad, a program that does not exist and so on.
    """
    return build_channels(plan, build_http(plan.config), _fetch_nothing)


def build_http(config: Config) -> HttpSender:
    """Build the HTTP sender. Raises UsageError."""
    fetch = config.fetch
    return HttpSender(fetch.user_agent, config.notify.timeout, _ca_file(config), reveal_secret(fetch.proxy))


def _ca_file(config: Config) -> Path | None:
    """The certificates to trust besides those of the system."""
    return Path(config.fetch.ca_file) if config.fetch.ca_file else None


def build_channels(plan: CrawlPlan, http: HttpSender, fetch: FetchUrl, *, may_lack: bool = False) -> ConfiguredChannels:
    """Build every configured channel. ``fetch`` fetches from the public site.

    Raises UsageError, unless it ``may_lack`` the channels with a fault, because the others are to tell of that fault.
    """
    if not plan.config.notify.enabled:
        return ConfiguredChannels()
    given = ChannelBuild(plan, http, fetch)
    built = list[BatchChannel | MessageChannel]()
    for name in plan.config.channels:
        with suppress(UsageError) if may_lack else nullcontext():
            built += CHANNELS[name](given)
    batches = tuple(channel for channel in built if isinstance(channel, BatchChannel))
    return ConfiguredChannels(batches, tuple(channel for channel in built if isinstance(channel, MessageChannel)))


def _indexnow(given: ChannelBuild) -> Iterator[BatchChannel]:
    section = given.plan.config.indexnow
    if section.is_on:
        key = _reveal_secret(section.key, "indexnow.key")
        yield IndexNowChannel(given.http, given.fetch, key, section, given.plan.sitemap_url.partition(":")[0])
    elif section.key_url:
        raise UsageError("indexnow.key_url is set, but indexnow.key is not. Set both")


def _search_console(given: ChannelBuild) -> Iterator[MessageChannel]:
    section = given.plan.config.search_console
    if section.is_on:
        from crawler.config.google import ServiceAccount  # noqa: PLC0415 - with what signs its requests
        from crawler.notify.channels.search_console import SearchConsoleChannel  # noqa: PLC0415

        account = ServiceAccount.read(section.account)
        published = published_sitemap_url(given.plan.state, given.plan.sitemap_url)
        yield SearchConsoleChannel(given.http, account, published, section.endpoint, section.property)


def _webhooks(given: ChannelBuild) -> Iterator[MessageChannel]:
    section = given.plan.config.webhook
    if section.is_on:
        from crawler.notify.channels.webhook import WebhookChannel  # noqa: PLC0415

        secret = _reveal_secret(section.secret, "webhook.secret")
        for url in dict.fromkeys(_reveal_secret(setting, "webhook.urls") for setting in section.urls):
            yield WebhookChannel(given.http, url, _occasions(section.on), secret)


def _email(given: ChannelBuild) -> Iterator[MessageChannel]:
    section = given.plan.config.email
    if section.is_on:
        from crawler.notify.channels.email import EmailChannel, parse_server  # noqa: PLC0415 - with aiosmtplib

        login = _reveal_secret(section.login, "email.login")
        server = parse_server(section.server, section.security, login, _ca_file(given.plan.config))
        on, timeout = _occasions(section.on), given.plan.config.notify.timeout
        yield EmailChannel(server, section.to, on, section.sender, timeout)


def _hook(given: ChannelBuild) -> Iterator[MessageChannel]:
    section = given.plan.config.hook
    if section.is_on:
        from crawler.notify.channels.command import CommandChannel  # noqa: PLC0415

        yield CommandChannel(section.command, _occasions(section.on), section.timeout)


def _plugins(given: ChannelBuild) -> Iterator[MessageChannel]:
    for plugin in load_plugins(given.plan.config, PluginKind.CHANNEL):
        from crawler.notify.channels.plugin import PluginChannel  # noqa: PLC0415

        yield PluginChannel(plugin, _occasions(plugin.table.on), given.plan.config.notify.timeout)


CHANNELS: Final[Mapping[str, Callable[[ChannelBuild], Iterable[BatchChannel | MessageChannel]]]] = {
    "indexnow": _indexnow,
    "search_console": _search_console,
    "webhook": _webhooks,
    "email": _email,
    "hook": _hook,
    "plugins": _plugins,
}
"""What builds the channels of each section. Raises UsageError for a setting that cannot be used."""


def _reveal_secret(setting: str, name: str) -> str:
    """The secret that a setting names, "" for an empty setting. Raises UsageError, which does not show it."""
    if not setting:
        return ""
    if secret := reveal_secret(setting).strip():
        return secret
    raise UsageError(f"the secret {setting}, to which {name} refers, is empty")


def _occasions(names: Iterable[str]) -> frozenset[Occasion]:
    """The occasions that a person chose. A person may also test a channel for which there is a choice."""
    return frozenset({Occasion.TEST, *(occasion for name in names for occasion in _OCCASIONS[name])})


async def _fetch_nothing(url: Url) -> Reply | Failure:
    """A check does not fetch."""
    raise AssertionError(url)
