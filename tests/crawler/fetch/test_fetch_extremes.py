"""Servers that send much of what is small, old protocols, and answers that belong to nobody, over every transport."""

import ssl

import pytest
import trustme
from fetching import IDENTITY, LIMITS, OK, failed, policy, reply
from hostile import HostileServer, answer, fin, repeat, send

from crawler.fetch.fetcher import Fetcher
from crawler.fetch.limits import BodyLimits
from crawler.fetch.transports import TransportOptions
from crawler.model import Failure, Reply, Url

pytestmark = pytest.mark.anyio

CHUNKS = OK + b"Content-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n"


async def test_ours_chunk_extensions_without_end_are_bounded(fetcher: Fetcher, server: HostileServer) -> None:
    server.route("/", send(CHUNKS + b"1;"), repeat(b"x" * 65536, 16), send(b"\r\na\r\n0\r\n\r\n"))
    server.route("/next", answer(b"next"))
    result = await fetcher.fetch(Url(server.url()))
    assert isinstance(result, Failure) or result.body == b"a"
    assert (await reply(fetcher, server.url("/next"))).body == b"next"


@pytest.mark.thorough
async def test_ours_chunks_of_one_byte_are_a_body(fetcher: Fetcher, server: HostileServer) -> None:
    server.route("/", send(CHUNKS + b"1\r\na\r\n" * 20_000 + b"0\r\n\r\n"))
    assert (await reply(fetcher, server.url())).body == b"a" * 20_000


async def test_ours_trailers_without_end_are_bounded(fetcher: Fetcher, server: HostileServer) -> None:
    server.route("/", send(CHUNKS + b"1\r\na\r\n0\r\n"), repeat(b"X-Y: z\r\n" * 1000, 200), send(b"\r\n"), fin())
    server.route("/next", answer(b"next"))
    result = await fetcher.fetch(Url(server.url()))
    assert isinstance(result, Failure) or result.body == b"a"
    assert (await reply(fetcher, server.url("/next"))).body == b"next"


async def test_rfc9112_a_second_answer_belongs_to_no_request(fetcher: Fetcher, server: HostileServer) -> None:
    for number in range(100):
        body = str(number).encode()
        stray = OK + b"Content-Length: 5\r\n\r\nstray"
        server.route(
            f"/{number}", send(OK + b"Content-Length: %d\r\n\r\n%s" % (len(body), body) + stray * (number % 2))
        )
    for number in range(100):
        result = await fetcher.fetch(Url(server.url(f"/{number}")))
        assert isinstance(result, Reply), result
        assert result.body == str(number).encode()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
async def test_rfc8996_tls_1_0_is_not_spoken(case: tuple[type, str]) -> None:
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1
    context.set_ciphers("ALL:@SECLEVEL=0")
    authority.issue_cert("localhost").configure_cert(context)
    with HostileServer(tls=context) as server:
        async with Fetcher(case[0](TransportOptions(), limits=LIMITS), IDENTITY, policy(server), LIMITS) as fetcher:
            got = await failed(fetcher, f"{server.origin('localhost')}/")
            assert got.code in ("tls.protocol", "net.reset")  # httpx sees only that the connection ends
        assert not server.requests


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("status", "content_type"),
    [
        ("302 Found", "text/html"),
        ("301 Moved Permanently", "application/octet-stream"),
        ("200 OK", "application/pdf"),
        ("200 OK", "image/png"),
        ("404 Not Found", "text/html"),
    ],
)
@pytest.mark.parametrize("sized", [True, False])
async def test_ours_a_body_that_nobody_wants_is_not_received(
    fetcher: Fetcher, server: HostileServer, status: str, content_type: str, sized: bool
) -> None:
    length = b"Content-Length: 64000000\r\n" if sized else b""
    head = f"HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\nLocation: /next\r\n".encode()
    server.route("/", send(head + length + b"\r\n"), repeat(b"x" * 64_000, 1_000), fin())
    result = await fetcher.fetch(Url(server.url()), body=BodyLimits(pages_only=True))
    assert isinstance(result, Reply), result
    assert result.status == int(status[:3])
    assert result.wire_bytes < 1_000_000  # of 64
    server.route("/next", answer(b"next"))
    assert (await reply(fetcher, server.url("/next"))).body == b"next"
