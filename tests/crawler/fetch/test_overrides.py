"""Addresses given by hand (--resolve): what is taken, what is not, and that every transport goes there only."""

from collections.abc import Iterator

import anyio.lowlevel
import pytest
from fetching import IDENTITY
from hostile import HostileServer, answer

from crawler.fetch.address_policy import AddressPolicy
from crawler.fetch.dns import read_override, resolver_with_overrides
from crawler.fetch.fetcher import Fetcher
from crawler.fetch.identity import Credentials, Identity
from crawler.fetch.transports import ServerTransports
from crawler.model import Failure, Reply, Url
from crawler.url.params import Mirror


@pytest.mark.parametrize(
    ("text", "door", "addresses"),
    [
        ("www.example.com:443:10.0.0.5", "www.example.com:443", ("10.0.0.5",)),
        (" WWW.Example.COM.:0080:10.0.0.5 ", "www.example.com:80", ("10.0.0.5",)),
        ("bücher.example:80:::1", "xn--bcher-kva.example:80", ("::1",)),
        ("h.test:80:[::1]", "h.test:80", ("::1",)),
        ("h.test:80:[::1],10.0.0.5 , fe80::1%eth0", "h.test:80", ("::1", "10.0.0.5", "fe80::1%eth0")),
    ],
)
def test_curl_host_port_and_addresses(text: str, door: str, addresses: tuple[str, ...]) -> None:
    assert read_override(text) == (door, addresses)


@pytest.mark.parametrize(
    "text",
    [
        *("", "h.test", "h.test:80", "h.test:80:", "h.test:0:10.0.0.5", "h.test:65536:10.0.0.5", "h.test:x:10.0.0.5"),
        *("*:443:10.0.0.5", "+h.test:80:10.0.0.5", "-h.test:80", "h.test:80:elsewhere.test", "h.test:80:10.0.0.256"),
        *("127.0.0.1:80:10.0.0.5", "[::1]:80:10.0.0.5", "2130706433:80:10.0.0.5", "http://h.test:80:10.0.0.5"),
        *("u@h.test:80:10.0.0.5", "h.test/x:80:10.0.0.5", "h.test:80:10.0.0.5,", "a b:80:10.0.0.5"),
    ],
)
def test_ours_what_is_no_override_is_told_how_one_is_written(text: str) -> None:
    with pytest.raises(ValueError, match=r"HOST:PORT:ADDRESS|must begin with a host name"):
        read_override(text)


@pytest.fixture
def server() -> Iterator[HostileServer]:
    with HostileServer() as server:
        server.route("/", answer(b"page"))
        server.route("/out/a", answer(b"below"))
        yield server


async def unknown(host: str, port: int) -> list[str]:
    await anyio.lowlevel.checkpoint()
    return ["127.0.0.1"]


@pytest.mark.anyio
async def test_ours_an_override_is_for_its_host_and_port_only(case: tuple[type, str], server: HostileServer) -> None:
    door, addresses = read_override(f"www.example.com:{server.port}:127.0.0.1")
    resolver = resolver_with_overrides({door: addresses}, unknown)
    policy = AddressPolicy.for_seeds([f"http://{door}"])
    async with Fetcher(case[0](), IDENTITY, policy, resolver=resolver) as fetcher:
        reply = await fetcher.fetch(Url(f"http://www.example.com:{server.port}/"))
        assert isinstance(reply, Reply), reply
        assert reply.body == b"page"
        assert server.seen("/")[0].header("host") == f"www.example.com:{server.port}"
        for other in (f"http://other.example.com:{server.port}/", "http://www.example.com:1234/"):
            refused = await fetcher.fetch(Url(other))  # a name that points to a private address by itself
            assert isinstance(refused, Failure)
            assert refused.code == "policy.private_address"


@pytest.mark.anyio
@pytest.mark.parametrize("host", ["", "www.example.com"])
async def test_ours_a_source_is_asked_with_its_own_host_or_the_one_that_is_given(
    case: tuple[type, str], server: HostileServer, host: str
) -> None:
    home = server.origin("")
    mirror = Mirror("https://www.example.com/", f"{home}/out/", ())
    headers = (("Host", host),) if host else ()
    identity = Identity("TestBot/1.0", credentials=(Credentials(home, headers, ("user", "secret")),))
    policy = AddressPolicy.for_seeds([home])
    transports = ServerTransports(case[0](), mirror)
    async with Fetcher(transports, identity, policy) as fetcher:
        reply = await fetcher.fetch(Url("https://www.example.com/a"))
    assert isinstance(reply, Reply), reply
    assert (reply.url, reply.body) == ("https://www.example.com/a", b"below")
    (asked,) = server.seen("/out/a")
    assert asked.head.lower().count(b"\r\nhost:") == 1
    assert asked.header("host") == (host or home.removeprefix("http://"))
    assert (asked.header("authorization") or "").startswith("Basic ")
