"""What the tests of the fetcher share: scaled limits, the transports, and short ways to ask."""

import anyio
import pytest
from hostile import HostileServer

from crawler.fetch.address_policy import AddressPolicy
from crawler.fetch.fetcher import Fetcher
from crawler.fetch.identity import Identity
from crawler.fetch.limits import FetchLimits
from crawler.fetch.transports import HttpxTransports, ReqwestTransports
from crawler.model import Failure, Reply, Url

OK = b"HTTP/1.1 200 OK\r\n"
LIMITS = FetchLimits(connect=10, first_byte=10, idle=10, total=30)
SHORT = FetchLimits(connect=1, first_byte=0.4, idle=0.35, total=0.9, rate=1000, rate_window=0.35)
"""The limits of tests in which one of them ends the fetch; the others are not late on a busy machine."""
PAGE = b"<!doctype html><title>A page</title>" + b"<p>of some length" * 200
IDENTITY = Identity(user_agent="TestBot/1.0 (+https://bot.example/)")

CASES = [
    pytest.param((ReqwestTransports, "asyncio"), id="reqwest"),
    pytest.param((HttpxTransports, "asyncio"), id="httpx"),
    pytest.param((HttpxTransports, "trio"), id="httpx-trio"),
]


def policy(*servers: HostileServer, hosts: tuple[str, ...] = ()) -> AddressPolicy:
    origins = [server.origin(host) for server in servers for host in ("", "localhost", *hosts)]
    return AddressPolicy.for_seeds(origins)


async def reply(fetcher: Fetcher, url: str) -> Reply:
    result = await fetcher.fetch(Url(url))
    assert isinstance(result, Reply), result
    return result


async def failed(fetcher: Fetcher, url: str) -> Failure:
    result = await fetcher.fetch(Url(url))
    assert isinstance(result, Failure), result
    assert "unexpected error" not in result.message
    return result


async def code(fetcher: Fetcher, url: str) -> str:
    return (await failed(fetcher, url)).code


async def all_closed(server: HostileServer, most: int = 0) -> None:
    """The server notices within a second that its connections were closed."""
    with anyio.fail_after(2):
        while server.open_connections > most:  # noqa: ASYNC110 - the server lives on another thread
            await anyio.sleep(0.02)
