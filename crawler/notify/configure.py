"""Builds the channels that a configuration names, with their secrets revealed, and checks them before a crawl.

For a dry run of the whole notification, it replaces them with channels that send nothing and record what they would
send.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from crawler.config.config import Config
from crawler.config.plan import CrawlPlan
from crawler.config.secrets import reveal_secret
from crawler.errors import UsageError
from crawler.model import Failure, Reply, Url
from crawler.notify.channels.http import HttpSender
from crawler.notify.channels.indexnow import FetchUrl, IndexNowChannel
from crawler.notify.delivery import catch_all
from crawler.notify.ledger_status import DeliveryReport
from crawler.notify.notice import BatchChannel, MessageChannel, Notice, Occasion, SendResult, SendStatus
from crawler.publish.recent_feed import recent_feed_url
from crawler.state.status import published_sitemap_url

if TYPE_CHECKING:  # what renders templates and what signs is loaded when there are any
    from crawler.notify.channels.message import MessageTemplate
    from crawler.notify.channels.search_console import SearchConsoleChannel

_OCCASIONS = {
    "changes": (Occasion.CHANGES,),
    "trouble": (Occasion.TROUBLE, Occasion.RECOVERY),
    "findings": (Occasion.FINDINGS,),
}


@dataclass(frozen=True, slots=True)
class ConfiguredChannels:
    """The configured channels: those that take URLs in batches, those that take messages, and the operator's own of
    these.

    ``search_console`` is the one of the ``message_channels`` that reports the status of the sitemap, if configured.
    """

    batch_channels: tuple[BatchChannel, ...] = ()
    message_channels: tuple[MessageChannel, ...] = ()
    operator_channels: tuple[MessageChannel, ...] = ()
    search_console: "SearchConsoleChannel | None" = None

    @property
    def keys(self) -> tuple[str, ...]:
        """The names of the channels in the ledger."""
        batch, messages = self.batch_channels, self.message_channels
        return (*(channel.key for channel in batch), *(channel.key for channel in messages))


def check_channels(plan: CrawlPlan) -> ConfiguredChannels:
    """Check every configured channel before a crawl begins, and return them.

    Raises UsageError for a secret that is missing or bad, a template that fails, a hub without a feed and so on.
    """
    return build_channels(plan, build_http(plan.config), _fetch_nothing)


def build_http(config: Config) -> HttpSender:
    """Build the HTTP sender. Raises UsageError."""
    fetch = config.fetch
    return HttpSender(
        fetch.user_agent,
        config.notify.timeout,
        Path(fetch.ca_file) if fetch.ca_file else None,
        reveal_secret(fetch.proxy),
    )


def build_channels(plan: CrawlPlan, http: HttpSender, fetch: FetchUrl) -> ConfiguredChannels:
    """Build every configured channel. ``fetch`` fetches from the public site. Raises UsageError."""
    if not plan.config.notify.enabled:
        return ConfiguredChannels()
    console, operator = _search_console_channel(plan, http), tuple(_operator_channels(plan, http))
    message_channels = (*((console,) if console else ()), *_websub_channels(plan, http), *operator)
    return ConfiguredChannels(tuple(_indexnow_channels(plan, http, fetch)), message_channels, operator, console)


def _indexnow_channels(plan: CrawlPlan, http: HttpSender, fetch: FetchUrl) -> Iterator[BatchChannel]:
    section = plan.config.indexnow
    if section.key:
        key = _reveal_secret(section.key, "indexnow.key")
        yield IndexNowChannel(http, fetch, key, section, plan.sitemap_url.partition(":")[0])
    elif section.key_url:
        raise UsageError("indexnow.key_url is set, but indexnow.key is not. Set both")


def _search_console_channel(plan: CrawlPlan, http: HttpSender) -> "SearchConsoleChannel | None":
    section = plan.config.search_console
    if not section.account:
        return None
    from crawler.config.google import ServiceAccount  # noqa: PLC0415 - with what signs its requests
    from crawler.notify.channels.search_console import SearchConsoleChannel  # noqa: PLC0415

    account = ServiceAccount.read(section.account)
    published = published_sitemap_url(plan.state, plan.sitemap_url)
    return SearchConsoleChannel(http, account, published, section.endpoint, section.property)


def _websub_channels(plan: CrawlPlan, http: HttpSender) -> Iterator[MessageChannel]:
    """The hubs, which fetch the feed when they are notified."""
    if plan.config.websub.hubs:
        from crawler.notify.channels.websub import WebSubChannel  # noqa: PLC0415

        feed = recent_feed_url(plan)
        for hub in dict.fromkeys(plan.config.websub.hubs):
            yield WebSubChannel(http, hub, feed)


def _operator_channels(plan: CrawlPlan, http: HttpSender) -> Iterator[MessageChannel]:
    """The channels of the people and programs that run the site."""
    webhook, hook = plan.config.webhook, plan.config.hook
    if webhook.urls:
        from crawler.notify.channels.webhook import WebhookChannel  # noqa: PLC0415 - with what renders templates

        secret = _reveal_secret(webhook.secret, "webhook.secret")
        template = _load_template(webhook.template, "webhook.template")
        for url in dict.fromkeys(_reveal_secret(setting, "webhook.urls") for setting in webhook.urls):
            yield WebhookChannel(http, url, _occasions(webhook.on), secret, template)
    if plan.config.email.to:
        yield _email_channel(plan)
    if hook.command:
        from crawler.notify.channels.command import CommandChannel  # noqa: PLC0415

        yield CommandChannel(hook.command, _occasions(hook.on), hook.timeout)


def _email_channel(plan: CrawlPlan) -> MessageChannel:
    from crawler.notify.channels.email import EmailChannel, parse_server  # noqa: PLC0415 - with aiosmtplib

    section, fetch = plan.config.email, plan.config.fetch
    login = _reveal_secret(section.login, "email.login")
    return EmailChannel(
        parse_server(section.server, section.security, login, Path(fetch.ca_file) if fetch.ca_file else None),
        section.to,
        _occasions(section.on),
        section.sender,
        _load_template(section.template, "email.template"),
        plan.config.notify.timeout,
    )


def _reveal_secret(setting: str, name: str) -> str:
    """The secret that a setting names, "" for an empty setting. Raises UsageError, which does not show it."""
    if not setting:
        return ""
    if secret := reveal_secret(setting).strip():
        return secret
    raise UsageError(f"the secret {setting}, to which {name} refers, is empty")


def _load_template(path: str, setting: str) -> "MessageTemplate | None":
    if not path:
        return None
    from crawler.notify.channels.message import MessageTemplate  # noqa: PLC0415 - it takes its time

    return MessageTemplate.read(Path(path), setting)


def _occasions(names: Iterable[str]) -> frozenset[Occasion]:
    return frozenset(occasion for name in names for occasion in _OCCASIONS[name])


async def _fetch_nothing(url: Url) -> Reply | Failure:
    """A check does not fetch."""
    raise AssertionError(url)


_NOT_SENT = SendResult.accepted("not sent: this was a dry run")


class DryRunBatchChannel:
    """Replaces a batch channel. ``recorded`` are the URLs that it would send."""

    def __init__(self, channel: BatchChannel) -> None:
        self.key = channel.key
        self.size = channel.size
        self.accepts = channel.accepts
        self.recorded: list[str] = []
        self._check_ready = channel.check_ready
        self._hosts: dict[str, SendResult] = {}

    @property
    def host_note(self) -> str:
        """The state of the hosts that it would notify of, as the end of a sentence."""
        results = self._hosts.values()
        unready = [result.message for result in results if result.reception is not SendStatus.ACCEPTED]
        text = "; ".join(unready or [result.message for result in results])
        return f"; for now it would be postponed: {text}" if unready else f"; {text}"

    async def check_ready(self, host: str) -> SendResult:
        """Check the host, and report it as ready whatever the result. See :class:`BatchChannel`."""
        if host not in self._hosts:
            self._hosts[host] = await catch_all(partial(self._check_ready, host))
        return _NOT_SENT

    async def send(self, host: str, urls: Sequence[str]) -> SendResult:  # noqa: ARG002 - it is not sent
        """See :class:`BatchChannel`."""
        self.recorded += urls
        return _NOT_SENT


class DryRunMessageChannel:
    """Replaces a message channel. ``recorded`` are the changes that it would name, or a sentence."""

    host_note = ""

    def __init__(self, channel: MessageChannel) -> None:
        self.key = channel.key
        self.occasions: frozenset[Occasion] = channel.occasions
        self.recorded: list[str] = []

    async def send(self, notice: Notice) -> SendResult:
        """See :class:`MessageChannel`."""
        from crawler.notify.channels.message import notice_sentence  # noqa: PLC0415 - with what renders templates

        lines = [f"{change.kind} {change.url}" for change in notice.changes]
        self.recorded += lines or [notice.message or notice_sentence(notice)]
        return _NOT_SENT


def dry_run_channels(channels: ConfiguredChannels) -> ConfiguredChannels:
    """The same channels, which send nothing."""
    return ConfiguredChannels(
        tuple(DryRunBatchChannel(channel) for channel in channels.batch_channels),
        tuple(DryRunMessageChannel(channel) for channel in channels.message_channels),
    )


def dry_run_report(reports: Sequence[DeliveryReport], channels: ConfiguredChannels) -> list[DeliveryReport]:
    """The reports with "would send" for each accepted delivery; a channel's first one shows what it recorded."""
    dry_runs = {
        channel.key: channel
        for channel in (*channels.batch_channels, *channels.message_channels)
        if isinstance(channel, DryRunBatchChannel | DryRunMessageChannel)
    }
    results = []
    for report in reports:
        if report.reception is SendStatus.ACCEPTED and (dry_run := dry_runs.get(report.channel)):
            batches = f" (in {report.batches:,} batches)" if report.batches > 1 else ""
            text = f"a dry run sends nothing{batches}{dry_run.host_note}"
            recorded, dry_run.recorded = tuple(dry_run.recorded), []
            results.append(replace(report, reception=SendStatus.WOULD_SEND, said=text, shown=recorded))
        else:
            results.append(report)
    return results
