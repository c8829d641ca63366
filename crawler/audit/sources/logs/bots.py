"""Identifies bots by their user agent, verifies them by DNS, says what they crawl for, and counts their requests.

These operators document verification by reverse DNS:
https://developers.google.com/crawling/docs/crawlers-fetchers/verify-google-requests,
https://www.bing.com/webmasters/help/how-to-verify-bingbot-3905dc26, https://support.apple.com/en-us/119829,
https://yandex.com/support/webmaster/robot-workings/check-yandex-robots.html.
"""

import re
import socket
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from enum import StrEnum
from functools import lru_cache
from ipaddress import IPv4Network, IPv6Network, ip_address
from types import MappingProxyType
from typing import Final, NamedTuple

from msgspec import Struct

from crawler.audit.sources.logs.fields import LogRow, client_address, log_table

OUR_BOT: Final = "Siteatlas"
"""Our own crawler; its requests are no evidence."""
NO_USER_AGENT: Final = "no user agent"
OTHER_BOTS: Final = "other bots"
UNVERIFIED_PREFIX: Final = "unverified "


class BotKind(StrEnum):
    """What a bot crawls for, in the order of the reports."""

    SEARCH = "search engines"
    AI_TRAINING = "AI training"
    AI_SEARCH = "AI search"
    AI_USER = "AI user requests"  # a person asked an assistant, which fetches the page
    OTHER = "other bots"


class KnownBot(NamedTuple):
    """A bot: its ``tokens`` in user agents, and the ``domains`` of the host names of its addresses."""

    name: str
    kind: BotKind
    tokens: tuple[str, ...]
    domains: tuple[str, ...]


def _known_bots() -> Iterator[KnownBot]:
    """The rows of ``bots.csv``. Without tokens, the name is the token; the last row is of words that most bots have."""
    for name, kind, tokens, domains in log_table("bots.csv"):
        named = tuple(filter(None, domains.split("|")))
        yield KnownBot(name, BotKind(kind), tuple((tokens or name).lower().split("|")), named)


BOTS: Final = {bot.name: bot for bot in _known_bots()}
"""The known bots by name. The operators document names, tokens, purposes and domains.

https://developers.openai.com/api/docs/bots, https://support.anthropic.com/en/articles/8896518,
https://docs.perplexity.ai/docs/resources/perplexity-crawlers, https://docs.mistral.ai/robots,
https://developers.facebook.com/docs/sharing/webmasters/web-crawlers, https://developer.amazon.com/amazonbot,
https://duckduckgo.com/duckduckgo-help-pages/results/duckassistbot, https://commoncrawl.org/ccbot.
A bot with several purposes has the first of them in the order of :class:`BotKind`.
"""
DOMAINS: Final = {bot.name: bot.domains for bot in BOTS.values() if bot.domains}
"""The domains of the host names of each bot's addresses."""
SEARCH_ENGINES: Final = frozenset(bot.name for bot in BOTS.values() if bot.kind is BotKind.SEARCH)
"""The bots of search engines; they request URLs that are or were linked."""
_NAMES: Final = {token: bot.name for bot in BOTS.values() for token in bot.tokens}
_TOKENS: Final = sorted(_NAMES, key=lambda token: (_NAMES[token] == OTHER_BOTS, -len(token)))  # the clearest first


def bot_kind(name: str) -> BotKind:
    """The kind of the bot with this name (:func:`bot_name`). An unverified bot is of the other bots."""
    return BOTS[name].kind if name in BOTS else BotKind.OTHER


MAX_LEDGER_KEYS: Final = 100_000
"""Days times bots times statuses that are counted apart; the requests of further ones count without a day."""


class BotLedger:
    """Requests of bots for the site in all logs, by day, bot and status, in bounded memory.

    A day is ``2026-11-21`` (UTC) or "", a status 0 if there was no response. ``days`` are all days of the logs, also
    those without bots. ``has_agents``: every log with requests for the site has user agents.
    """

    def __init__(self) -> None:
        self.requests: Counter[tuple[str, str, int]] = Counter()
        self.days: set[str] = set()
        self.has_agents = True

    def add(self, day: str, name: str, status: int, requests: int) -> None:
        """Add requests of one bot on one day that got the same status."""
        key = day, name, status
        if key not in self.requests and len(self.requests) >= MAX_LEDGER_KEYS:
            key = "", name, status // 100 * 100
        self.requests[key] += requests


_bot = re.compile(r"(?<!cu)bot(?![a-z])").search  # Cubot is a brand of phones


def bot_name(agent: str) -> str:
    """The name of the bot with this user agent, or "" for a browser.

    :data:`OUR_BOT` is our own crawler. An unverified name ("unverified Googlebot") is returned as it is.
    """
    if agent.startswith(UNVERIFIED_PREFIX) and agent.removeprefix(UNVERIFIED_PREFIX) in BOTS:
        return agent
    lower = agent.lower()
    if "siteatlas/" in lower:
        return OUR_BOT
    if lower.strip() in ("", "-"):
        return NO_USER_AGENT
    token = next((token for token in _TOKENS if token in lower), "")
    return _NAMES[token] if token else OTHER_BOTS if _bot(lower) else ""


MAX_ADDRESSES: Final = 5_000
"""Addresses that are looked up; bots from further addresses stay unverified."""
_MAX_CONCURRENT: Final = 16
_TIMEOUT: Final = 10.0  # seconds for the look-ups of one block of lines
_MAX_AGENTS: Final = 10_000  # agents whose name is cached


NO_NAME: Final = frozenset({1, 4, socket.EAI_NONAME, -5})
"""The numbers of the errors by which DNS says that it has no such name; others are no answers.

netdb.h: HOST_NOT_FOUND and NO_DATA of gethostbyaddr, EAI_NONAME and EAI_NODATA of getaddrinfo.
"""


class DnsResolver:
    """Looks up names and addresses in DNS. Both methods raise OSError: a :data:`NO_NAME` if there is none."""

    def name(self, address: str) -> str:
        """The host name of an address."""
        return socket.gethostbyaddr(address)[0]

    def addresses(self, name: str) -> Iterable[str]:
        """The addresses of a host name."""
        return [str(info[4][0]) for info in socket.getaddrinfo(name, None)]


class BotAddresses(Struct, frozen=True):
    """The networks of a bot, and the day of the file that names them ("" if it has none)."""

    day: str
    networks: tuple[IPv4Network | IPv6Network, ...]

    def has(self, address: str) -> bool | None:
        """Whether an address is one of the bot's; None if it is no address."""
        try:
            host = ip_address(address)
        except ValueError:
            return None
        return any(host in network for network in self.networks)


class BotVerifier:
    """Verifies bots; looks up each address once, several at a time, and caches the answers.

    ``published`` are the addresses of bots that are not asked of DNS. Without a ``resolver``, only these are verified.
    """

    def __init__(
        self,
        resolver: DnsResolver | None,
        patience: float = _TIMEOUT,
        published: Mapping[str, BotAddresses] = MappingProxyType({}),
    ) -> None:
        self._resolver = resolver
        self._published = published
        self._verifiable = {*published, *(DOMAINS if resolver else ())}
        self._timeout = patience
        self._answers: dict[tuple[str, bytes], bool | None] = {}
        self._pool = ThreadPoolExecutor(_MAX_CONCURRENT, thread_name_prefix="dns")
        self.is_whole = True  # DNS judges all addresses

    def close(self) -> None:
        """Cancel the outstanding look-ups."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def verify(self, rows: list[LogRow]) -> list[LogRow]:
        """The rows, with the user agent "unverified …" for impostors. What DNS does not judge stays as it is."""
        claimed = [name if (name := _claimed_bot(row[4])) in self._verifiable else "" for row in rows]
        self._ask({(name, row[0]) for name, row in zip(claimed, rows, strict=True) if name})
        return [
            row
            if not name or self._answers.get((name, row[0])) is not False
            else (*row[:4], f"{UNVERIFIED_PREFIX}{name}".encode(), *row[5:])
            for name, row in zip(claimed, rows, strict=True)
        ]

    def _ask(self, pairs: set[tuple[str, bytes]]) -> None:
        new = sorted(pairs - self._answers.keys())
        due = new[: max(0, MAX_ADDRESSES - len(self._answers))]
        for name, address in [pair for pair in new if pair[0] in self._published]:
            self._answers[name, address] = self._published[name].has(client_address(address))
        due = [pair for pair in due if pair not in self._answers] if self._resolver else []
        futures = {pair: self._pool.submit(is_verified, *pair, self._resolver) for pair in due if self._resolver}
        wait(futures.values(), timeout=self._timeout)
        for pair, future in futures.items():
            self._answers[pair] = future.result() if future.done() else None
        self.is_whole = self.is_whole and None not in map(self._answers.get, new)


@lru_cache(_MAX_AGENTS)
def _claimed_bot(agent: bytes) -> str:
    """The bot that an agent claims to be, or ""."""
    return bot_name(agent.decode("utf-8", "replace"))


def is_verified(name: str, address: bytes, resolver: DnsResolver) -> bool | None:
    """Whether the address resolves to a host name in the bot's domains, and that name back to the address.

    None: there is no address, or DNS does not answer.
    """
    text = client_address(address)
    try:
        host = resolver.name(text).rstrip(".").lower() if text else ""
        if not any(host.endswith(f".{domain}") for domain in DOMAINS[name]):
            return False if text else None
        return text in resolver.addresses(host)
    except OSError as error:
        return False if error.errno in NO_NAME else None
    except ValueError:
        return False
