"""Names, addresses and certificates: what a fetcher connects to, and what it must not, over both transports."""

import socket
from collections.abc import Iterator
from pathlib import Path

import anyio
import anyio.lowlevel
import httpx
import pytest
from hostile import Certificates, HostileServer, answer, cut, fin, send, sleep

from crawler.fetch.address_policy import AddressPolicy
from crawler.fetch.dns import HostResolver, system_resolver
from crawler.fetch.fetcher import Fetcher
from crawler.fetch.identity import Identity
from crawler.fetch.limits import FetchLimits, TransportOptions
from crawler.fetch.transports import HttpxTransports, ReqwestTransports
from crawler.model import Failure, Reply, Url

pytestmark = pytest.mark.anyio

LIMITS = FetchLimits(connect=10, first_byte=10, idle=10, total=30)
IMPATIENT = FetchLimits(connect=0.3, first_byte=10, idle=10, total=30)
IDENTITY = Identity(user_agent="TestBot/1.0")


class Names:
    """A resolver with a script: each name has the answers of its lookups, the last one for all further lookups."""

    def __init__(self, **names: list[list[str] | OSError]) -> None:
        self.names = {name.replace("_", "."): answers for name, answers in names.items()}
        self.asked: list[str] = []

    async def __call__(self, host: str, port: int) -> list[str]:
        self.asked.append(host)
        answers = self.names[host]
        found = answers[min(self.asked.count(host), len(answers)) - 1]
        await anyio.lowlevel.checkpoint()
        if isinstance(found, OSError):
            raise found
        return found


@pytest.fixture
def server() -> Iterator[HostileServer]:
    with HostileServer() as server:
        server.route("/", answer(b"page"))
        yield server


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return Certificates.make(tmp_path_factory.mktemp("ca"))


def make(
    case: tuple[type, str],
    *origins: str,
    options: TransportOptions | None = None,
    resolver: HostResolver = system_resolver,
    limits: FetchLimits = LIMITS,
) -> Fetcher:
    policy = AddressPolicy.for_seeds(origins)
    return Fetcher(case[0](options, limits), IDENTITY, policy, limits, resolver)


async def code(fetcher: Fetcher, url: str) -> str:
    result = await fetcher.fetch(Url(url))
    assert isinstance(result, Failure), result
    return result.code


async def body(fetcher: Fetcher, url: str) -> bytes:
    result = await fetcher.fetch(Url(url))
    assert isinstance(result, Reply), result
    return result.body


async def test_rfc6761_names_below_localhost_are_this_machine(case: tuple[type, str], server: HostileServer) -> None:
    origin = server.origin("shop.localhost")
    async with make(case, origin) as fetcher:
        assert await body(fetcher, f"{origin}/") == b"page"


async def test_ours_name_is_resolved_once_and_pinned(case: tuple[type, str], server: HostileServer) -> None:
    names = Names(site_example=[["127.0.0.1"]])
    origin = server.origin("site.example")
    async with make(case, origin, resolver=names) as fetcher:
        async with anyio.create_task_group() as group:
            for _ in range(10):
                group.start_soon(body, fetcher, f"{origin}/")
        assert await body(fetcher, f"{origin}/") == b"page"
    assert names.asked == ["site.example"]
    assert {request.header("host") for request in server.requests} == {f"site.example:{server.port}"}


async def test_ours_rebinding_connects_to_the_address_that_was_checked(
    case: tuple[type, str], server: HostileServer
) -> None:
    names = Names(evil_example=[["198.51.100.1"], ["127.0.0.1"]])
    origin = server.origin("evil.example")
    async with make(case, resolver=names) as fetcher:
        for _ in range(2):
            assert await code(fetcher, f"{origin}/") == "policy.private_address"
    assert server.connections == 0


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]", "[::ffff:7f00:1]", "0.0.0.0", "10.0.0.1"])
async def test_ours_public_seed_never_leads_to_a_private_address(case: tuple[type, str], host: str) -> None:
    async with make(case, "https://example.com") as fetcher:
        assert await code(fetcher, f"http://{host}:8000/") == "policy.private_address"
        assert await code(fetcher, "http://169.254.169.254/") == "policy.metadata_address"


async def test_ours_private_seed_opens_its_own_port_only(case: tuple[type, str], server: HostileServer) -> None:
    with HostileServer() as other:
        async with make(case, server.origin()) as fetcher:
            assert await body(fetcher, server.url()) == b"page"
            assert await code(fetcher, other.url()) == "policy.private_address"
            assert await code(fetcher, server.url(host="localhost")) == "policy.private_address"
            assert await code(fetcher, "http://127.0.0.1:6667/") == "policy.blocked_port"
        assert other.connections == 0


async def test_rfc8305_a_dead_address_does_not_matter_when_another_answers(
    case: tuple[type, str], server: HostileServer
) -> None:
    names = Names(site_example=[["::1", "127.0.0.1"]])
    origin = server.origin("site.example")
    async with make(case, origin, resolver=names) as fetcher:
        assert await body(fetcher, f"{origin}/") == b"page"


async def test_ours_refused_name_is_resolved_again_next_time(case: tuple[type, str], server: HostileServer) -> None:
    names = Names(site_example=[["127.0.0.2"], ["127.0.0.1"]])
    origin = server.origin("site.example")
    async with make(case, origin, resolver=names) as fetcher:
        assert await code(fetcher, f"{origin}/") == "net.refused"
        assert await body(fetcher, f"{origin}/") == b"page"


async def test_ours_name_with_only_dead_addresses_is_refused(case: tuple[type, str], server: HostileServer) -> None:
    names = Names(site_example=[["127.0.0.2", "127.0.0.3"]])
    origin = server.origin("site.example")
    async with make(case, origin, resolver=names) as fetcher:
        assert await code(fetcher, f"{origin}/") == "net.refused"


@pytest.mark.parametrize(
    ("error", "expected", "transient"),
    [
        (socket.gaierror(socket.EAI_NONAME, "x"), "net.dns_nxdomain", False),
        (socket.gaierror(socket.EAI_AGAIN, "x"), "net.dns_temporary", True),
        (socket.gaierror(socket.EAI_FAIL, "x"), "net.dns_temporary", True),
        (OSError("x"), "net.dns_temporary", True),
    ],
)
async def test_rfc3493_lookup_failures(
    case: tuple[type, str], server: HostileServer, error: OSError, expected: str, transient: bool
) -> None:
    names = Names(site_example=[error, ["127.0.0.1"]])
    origin = server.origin("site.example")
    async with make(case, origin, resolver=names) as fetcher:
        got = await fetcher.fetch(Url(f"{origin}/"))
        assert isinstance(got, Failure)
        assert (got.code, got.transient) == (expected, transient)
        assert "site.example" in got.message
        assert await body(fetcher, f"{origin}/") == b"page"


async def test_ours_slow_resolver_ends_at_the_connect_limit(case: tuple[type, str]) -> None:
    async def slow(host: str, port: int) -> list[str]:
        await anyio.sleep_forever()

    async with make(case, resolver=slow, limits=IMPATIENT) as fetcher:
        got = await fetcher.fetch(Url("http://site.example/"))
    assert isinstance(got, Failure)
    assert got.code == "net.dns_temporary"


@pytest.mark.parametrize("label", ["a" * 64 + ".example", "xn--.example", "a..example"])
async def test_ours_impossible_names_are_failures(case: tuple[type, str], label: str) -> None:
    async with make(case) as fetcher:
        assert (await code(fetcher, f"http://{label}/")).startswith("net.dns_")


async def test_ours_ipv6_literal(case: tuple[type, str]) -> None:
    with HostileServer(address="::1") as server:
        server.route("/", answer(b"six"))
        async with make(case, server.origin()) as fetcher:
            assert await body(fetcher, server.url()) == b"six"
        assert server.requests[0].header("host") == f"[::1]:{server.port}"


# --- TLS


def tls_options(certificates: Certificates, **more: object) -> TransportOptions:
    return TransportOptions(ca_file=certificates.ca_file, **more)


async def test_rfc9110_https_with_a_given_authority_and_a_pinned_name(
    case: tuple[type, str], certificates: Certificates, tmp_path: Path
) -> None:
    bundle = tmp_path / "bundle.pem"  # ours is the second one in it
    bundle.write_bytes(Certificates.make(tmp_path).ca_file.read_bytes() + certificates.ca_file.read_bytes())
    with HostileServer(tls=certificates.good) as server:
        server.route("/", answer(b"secret"))
        options = TransportOptions(ca_file=bundle)
        names = Names(localhost=[["127.0.0.1"]])
        async with make(case, server.origin("localhost"), options=options, resolver=names) as fetcher:
            assert await body(fetcher, server.url(host="localhost")) == b"secret"


@pytest.mark.parametrize(
    ("fault", "expected"), [("expired", "tls.expired"), ("wrong_host", "tls.hostname"), ("stranger", "tls.untrusted")]
)
async def test_rfc5280_bad_certificates_are_told_apart(
    case: tuple[type, str], certificates: Certificates, fault: str, expected: str
) -> None:
    with HostileServer(tls=getattr(certificates, fault)) as server:
        server.route("/", answer(b"never"))
        options = tls_options(certificates)
        async with make(case, server.origin("localhost"), options=options) as fetcher:
            got = await fetcher.fetch(Url(server.url(host="localhost")))
        assert isinstance(got, Failure)
        assert (got.code, got.transient) == (expected, False)
        assert "localhost" in got.message
        if fault == "expired" and case[0] is ReqwestTransports:
            assert f"{certificates.expired_on:%Y-%m-%d}" in got.message
        if fault == "stranger" and case[0] is ReqwestTransports:
            assert got.message.endswith("(unknown issuer)")
        assert not server.requests


@pytest.mark.parametrize("case", [(ReqwestTransports, "asyncio")], ids=["reqwest"])
async def test_rfc5280_the_certificate_of_an_authority_is_none_of_a_server(
    case: tuple[type, str], certificates: Certificates
) -> None:
    with HostileServer(tls=certificates.authority) as server:
        async with make(case, server.origin("localhost")) as fetcher:
            got = await fetcher.fetch(Url(server.url(host="localhost")))
    assert isinstance(got, Failure)
    assert got.code == "tls.authority"
    assert "CA:FALSE" in got.message


@pytest.mark.thorough
async def test_ours_stalled_handshake(case: tuple[type, str], server: HostileServer) -> None:
    server.greet(sleep(3))
    origin = server.origin().replace("http:", "https:")
    async with make(case, origin, limits=IMPATIENT) as fetcher:
        assert await code(fetcher, f"{origin}/") == "time.tls"


async def test_rfc8446_plain_http_on_a_tls_port(case: tuple[type, str], server: HostileServer) -> None:
    server.greet(send(b"HTTP/1.1 400 Bad Request\r\n\r\n"), fin())
    origin = server.origin().replace("http:", "https:")
    async with make(case, origin) as fetcher:
        assert await code(fetcher, f"{origin}/") == "tls.protocol"
    assert not server.requests


async def test_rfc8446_body_cut_without_close_notify(case: tuple[type, str], certificates: Certificates) -> None:
    with HostileServer(tls=certificates.good) as server:
        server.route("/", send(b"HTTP/1.1 200 OK\r\n\r\nhalf"), sleep(0.1), cut())
        origin = server.origin("localhost")
        async with make(case, origin, options=tls_options(certificates)) as fetcher:
            if case[0] is HttpxTransports:
                pytest.xfail("httpcore takes a TCP close without close_notify for the end of the body")
            assert await code(fetcher, f"{origin}/") == "body.incomplete"


# --- HTTP/2 and proxies


@pytest.mark.parametrize("http2", [False, True])
async def test_rfc9110_http2_is_an_option_that_http1_servers_survive(
    case: tuple[type, str], certificates: Certificates, http2: bool
) -> None:
    with HostileServer(tls=certificates.good) as server:
        server.route("/", answer(b"x"))
        origin = server.origin("localhost")
        options = tls_options(certificates, http2=http2)
        async with make(case, origin, options=options) as fetcher:
            assert await body(fetcher, f"{origin}/") == b"x"


async def test_rfc9110_proxy_gets_the_whole_url_and_resolves_itself(
    case: tuple[type, str], server: HostileServer
) -> None:
    names = Names()
    server.route("http://site.example/a?b=|", answer(b"by proxy"))
    options = TransportOptions(proxy=f"http://us%65r:pw@127.0.0.1:{server.port}")
    async with make(case, options=options, resolver=names) as fetcher:
        assert await body(fetcher, "http://site.example/a?b=|") == b"by proxy"
    assert server.requests[0].header("proxy-authorization") == "Basic dXNlcjpwdw=="
    assert server.requests[0].header("host") == "site.example"
    assert not names.asked


async def test_ours_dead_proxy_is_no_fault_of_the_host(case: tuple[type, str]) -> None:
    with HostileServer() as gone:
        pass
    options = TransportOptions(proxy=gone.origin())
    async with make(case, options=options) as fetcher:
        assert await code(fetcher, "http://site.example/") in {"net.proxy", "net.refused"}


async def test_ours_given_transport_is_checked_for_literal_addresses() -> None:
    transport = httpx.MockTransport(lambda request: httpx.Response(200))
    async with Fetcher(transport, IDENTITY) as fetcher:
        assert await code(fetcher, "http://127.0.0.1/") == "policy.private_address"
        assert await code(fetcher, "http://example.com:25/") == "policy.blocked_port"
        assert await body(fetcher, "http://example.com/") == b""
