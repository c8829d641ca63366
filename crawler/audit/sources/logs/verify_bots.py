"""Whether those who call themselves search engines are: by the names of their addresses in DNS, asked both ways."""

import socket
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Final, Protocol

from crawler.audit.sources.logs.bots import DOMAINS, UNVERIFIED_PREFIX, bot_name
from crawler.audit.sources.logs.fields import LogRow

MAX_ADDRESSES: Final = 5_000
"""Addresses that are asked for at most; whoever comes from yet another one is not verified."""
_MAX_CONCURRENT: Final = 16
_TIMEOUT: Final = 10.0  # seconds for the questions of one block of lines
_MAX_AGENTS: Final = 10_000  # agents whose name is remembered


class DnsResolver(Protocol):
    """Asks DNS. Both raise OSError when there is no answer."""

    def name(self, address: str) -> str:
        """The host name of an address."""

    def addresses(self, name: str) -> Iterable[str]:
        """The addresses of a host name."""


class SystemDnsResolver:
    """The resolver of the machine."""

    def name(self, address: str) -> str:
        """The host name of an address."""
        return socket.gethostbyaddr(address)[0]

    def addresses(self, name: str) -> Iterable[str]:
        """The addresses of a host name."""
        return [str(found[4][0]) for found in socket.getaddrinfo(name, None)]


class BotVerifier:
    """Asks for each address once, for several at a time, and remembers the answers."""

    def __init__(self, resolver: DnsResolver, patience: float = _TIMEOUT) -> None:
        self._resolver = resolver
        self._timeout = patience
        self._names: dict[bytes, str] = {}
        self._answers: dict[tuple[str, bytes], bool] = {}
        self._pool = ThreadPoolExecutor(_MAX_CONCURRENT, thread_name_prefix="dns")
        self.unasked = 0

    def close(self) -> None:
        """Wait for nothing that is still under way."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def verify(self, rows: list[LogRow]) -> list[LogRow]:
        """The rows, those of impostors under a name that says so."""
        claimed = [self._claimed(row[4]) for row in rows]
        self._ask({(name, row[0]) for name, row in zip(claimed, rows, strict=True) if name})
        return [
            row if not name or self._answers.get((name, row[0])) else _rename_impostor(row, name)
            for name, row in zip(claimed, rows, strict=True)
        ]

    def _claimed(self, agent: bytes) -> str:
        name = self._names.get(agent)
        if name is None:
            if len(self._names) >= _MAX_AGENTS:
                self._names.clear()
            name = bot_name(agent.decode("utf-8", "replace"))
            name = self._names[agent] = name if name in DOMAINS else ""
        return name

    def _ask(self, pairs: set[tuple[str, bytes]]) -> None:
        new = sorted(pairs - self._answers.keys())
        asked = new[: max(0, MAX_ADDRESSES - len(self._answers))]
        self.unasked += len(new) - len(asked)
        futures = {pair: self._pool.submit(is_verified, *pair, self._resolver) for pair in asked}
        wait(futures.values(), timeout=self._timeout)
        for pair, future in futures.items():
            self._answers[pair] = future.done() and future.result()


def is_verified(name: str, address: bytes, resolver: DnsResolver) -> bool:
    """Whether an address has a name in the domains of this bot, and that name has the address."""
    text = address.decode("ascii", "replace")
    try:
        host = resolver.name(text).rstrip(".").lower()
        if not any(host.endswith(f".{domain}") for domain in DOMAINS[name]):
            return False
        return text in resolver.addresses(host)
    except (OSError, ValueError):
        return False


def _rename_impostor(row: LogRow, name: str) -> LogRow:
    return (*row[:4], f"{UNVERIFIED_PREFIX}{name}".encode(), *row[5:])
