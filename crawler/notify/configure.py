"""All channels that a configuration names, made with their secrets revealed; what is wrong with it is told before."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from crawler.config.plan import Plan
from crawler.config.secrets import reveal
from crawler.errors import UsageError
from crawler.model import Failure, Reply, Url
from crawler.notify.channels.channel import BatchChannel, Channel
from crawler.notify.channels.http import Http
from crawler.notify.channels.indexnow import Fetch, IndexNow
from crawler.notify.notice import Occasion
from crawler.publish.recent_feed import recent_address
from crawler.state.status import sitemap_address

if TYPE_CHECKING:  # what renders templates and what signs is loaded when there are any
    from crawler.notify.channels.search_console import SearchConsole
    from crawler.notify.channels.template import Template

_OCCASIONS = {
    "changes": (Occasion.CHANGES,),
    "trouble": (Occasion.TROUBLE, Occasion.RECOVERY),
    "findings": (Occasion.FINDINGS,),
}


@dataclass(frozen=True, slots=True)
class Channels:
    """Who is told: those who take URLs in batches, those who take messages, and those of them who are people's own.

    ``console`` is the one of the ``messages`` that can be asked what it made of the sitemap, if it is configured.
    """

    batches: tuple[BatchChannel, ...] = ()
    messages: tuple[Channel, ...] = ()
    own: tuple[Channel, ...] = ()
    console: "SearchConsole | None" = None

    @property
    def keys(self) -> tuple[str, ...]:
        """Their names in the ledger."""
        return (*(each.key for each in self.batches), *(each.key for each in self.messages))


def check_channels(plan: Plan) -> Channels:
    """Make sure, before a crawl begins, that everyone who is configured can be told. Answers who that is.

    Raises UsageError for a secret that is missing or bad, a template that fails, a hub without a feed and so on.
    """
    return channels(plan, http(plan), _nowhere)


def http(plan: Plan) -> Http:
    """What messages are sent with. Raises UsageError."""
    fetch = plan.config.fetch
    return Http(
        fetch.user_agent,
        plan.config.notify.timeout,
        Path(fetch.ca_file) if fetch.ca_file else None,
        reveal(fetch.proxy),
    )


def channels(plan: Plan, http: Http, fetch: Fetch) -> Channels:
    """Everyone who is configured. ``fetch`` asks the public site. Raises UsageError."""
    if not plan.config.notify.enabled:
        return Channels()
    console, own = _console(plan, http), tuple(_own(plan, http))
    readers = (*((console,) if console else ()), *_hubs(plan, http))
    return Channels(tuple(_engines(plan, http, fetch)), (*readers, *own), own, console)


def _engines(plan: Plan, http: Http, fetch: Fetch) -> Iterator[BatchChannel]:
    section = plan.config.indexnow
    if section.key:
        key = _revealed(section.key, "indexnow.key")
        yield IndexNow(http, fetch, key, section, plan.sitemap_url.partition(":")[0])
    elif section.key_url:
        raise UsageError("indexnow.key_url says where the key is, and indexnow.key is missing")


def _console(plan: Plan, http: Http) -> "SearchConsole | None":
    section = plan.config.search_console
    if not section.account:
        return None
    from crawler.notify.channels.google_auth import ServiceAccount  # noqa: PLC0415 - with what signs its requests
    from crawler.notify.channels.search_console import SearchConsole  # noqa: PLC0415

    account = ServiceAccount.read(section.account)
    published = sitemap_address(plan.state, plan.sitemap_url)
    return SearchConsole(http, account, published, section.endpoint, section.property)


def _hubs(plan: Plan, http: Http) -> Iterator[Channel]:
    """Those who read the feed when they are told."""
    if plan.config.websub.hubs:
        from crawler.notify.channels.websub import WebSub  # noqa: PLC0415

        feed = recent_address(plan)
        for hub in dict.fromkeys(plan.config.websub.hubs):
            yield WebSub(http, hub, feed)


def _own(plan: Plan, http: Http) -> Iterator[Channel]:
    """The people and programs of whoever runs the site."""
    webhook, hook = plan.config.webhook, plan.config.hook
    if webhook.urls:
        from crawler.notify.channels.webhook import Webhook  # noqa: PLC0415 - with what renders templates

        secret = _revealed(webhook.secret, "webhook.secret")
        template = _template(webhook.template, "webhook.template")
        for url in dict.fromkeys(_revealed(each, "webhook.urls") for each in webhook.urls):
            yield Webhook(http, url, _occasions(webhook.on), secret, template)
    if plan.config.email.to:
        yield _email(plan)
    if hook.command:
        from crawler.notify.channels.command import Hook  # noqa: PLC0415

        yield Hook(hook.command, _occasions(hook.on), hook.timeout)


def _email(plan: Plan) -> Channel:
    from crawler.notify.channels.email import Email  # noqa: PLC0415 - with what renders templates
    from crawler.notify.channels.smtp import server  # noqa: PLC0415

    section, fetch = plan.config.email, plan.config.fetch
    login = _revealed(section.login, "email.login")
    return Email(
        server(section.server, section.security, login, Path(fetch.ca_file) if fetch.ca_file else None),
        section.to,
        _occasions(section.on),
        section.sender,
        _template(section.template, "email.template"),
        plan.config.notify.timeout,
    )


def _revealed(setting: str, name: str) -> str:
    """The secret that a setting names, "" for one that is not made. Raises UsageError, which does not show it."""
    if not setting:
        return ""
    if secret := reveal(setting).strip():
        return secret
    raise UsageError(f"{name} names a secret that is empty: {setting}")


def _template(path: str, setting: str) -> "Template | None":
    if not path:
        return None
    from crawler.notify.channels.template import Template  # noqa: PLC0415 - it takes its time

    return Template.read(Path(path), setting)


def _occasions(names: Iterable[str]) -> frozenset[Occasion]:
    return frozenset(occasion for name in names for occasion in _OCCASIONS[name])


async def _nowhere(url: Url) -> Reply | Failure:
    """Who only checks asks nobody."""
    raise AssertionError(url)
