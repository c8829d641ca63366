"""The fetcher over both transports against servers that break HTTP, stall, lie and vanish."""

import gzip
import os
import time
import zlib
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import anyio
import brotli
import httpx
import psutil
import pytest
import zstandard
from hostile import (
    HostileServer,
    Step,
    answer,
    chunked,
    drip,
    fin,
    repeat,
    rst,
    send,
    sleep,
)

from crawler.fetch import (
    AddressPolicy,
    BodyLimits,
    Credentials,
    Fetcher,
    FetchLimits,
    HttpxTransports,
    Identity,
    ReqwestTransports,
)
from crawler.model import Failure, Reply, Url

pytestmark = pytest.mark.anyio

OK = b"HTTP/1.1 200 OK\r\n"
LIMITS = FetchLimits(connect=1, tls=1, first_byte=0.6, idle=0.5, total=1.5, rate=1000, rate_window=0.5)
PAGE = b"<!doctype html><title>A page</title>" + b"<p>of some length" * 200
IDENTITY = Identity(user_agent="TestBot/1.0 (+https://bot.example/)")

CASES = [
    pytest.param((ReqwestTransports, "asyncio"), id="reqwest"),
    pytest.param((HttpxTransports, "asyncio"), id="httpx"),
    pytest.param((HttpxTransports, "trio"), id="httpx-trio"),
]


@pytest.fixture(params=CASES)
def case(request: pytest.FixtureRequest) -> tuple[type, str]:
    return request.param


@pytest.fixture
def anyio_backend(case: tuple[type, str]) -> str:
    return case[1]


@pytest.fixture
def server() -> Iterator[HostileServer]:
    with HostileServer() as server:
        yield server


def policy(*servers: HostileServer, hosts: tuple[str, ...] = ()) -> AddressPolicy:
    origins = [server.origin(host) for server in servers for host in ("", "localhost", *hosts)]
    return AddressPolicy.for_seeds(origins)


@pytest.fixture
async def fetcher(case: tuple[type, str], server: HostileServer) -> AsyncIterator[Fetcher]:
    async with Fetcher(case[0](limits=LIMITS), IDENTITY, policy(server), LIMITS) as fetcher:
        yield fetcher


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


async def test_rfc9110_plain_answer(fetcher: Fetcher, server: HostileServer) -> None:
    server.route("/a?b=c|d", answer(PAGE, "Content-Type: text/html", "X-Other: 1", 'ETag: "1"'))
    got = await reply(fetcher, server.url("/a?b=c|d"))
    assert (got.status, got.body, got.wire_bytes, got.cut) == (200, PAGE, len(PAGE), "")
    assert got.header("content-type") == "text/html"
    assert got.header("etag") == '"1"'
    assert got.header("x-other") is None
    assert 0 < got.elapsed < 1
    assert abs(got.fetched_at - time.time()) < 10
    request = server.requests[0]
    assert request.header("user-agent") == IDENTITY.user_agent
    assert request.header("accept-encoding") == "gzip, deflate, br, zstd"
    assert request.header("host") == f"127.0.0.1:{server.port}"
    assert request.header("referer") is None
    assert request.header("cookie") is None


@pytest.mark.parametrize("status", [200, 204, 304, 301, 404, 500, 600, 999])
async def test_rfc9110_every_status_is_a_reply_and_no_redirect_is_followed(
    fetcher: Fetcher, server: HostileServer, status: int
) -> None:
    server.route("/", answer(b"", "Location: /next", "Content-Encoding: gzip", status=f"{status} Whatever"))
    server.route("/next", answer(b"never"))
    got = await reply(fetcher, server.url())
    assert (got.status, got.body, got.header("location")) == (status, b"", "/next")
    assert not server.seen("/next")


async def test_rfc9110_304_with_content_length_of_the_page_has_no_body(
    fetcher: Fetcher, server: HostileServer
) -> None:
    server.route("/", send(b"HTTP/1.1 304 Not Modified\r\nContent-Length: 900000000\r\nETag: x\r\n\r\n"))
    got = await reply(fetcher, server.url())
    assert (got.status, got.body) == (304, b"")


async def test_rfc9112_reason_phrase_may_be_missing(fetcher: Fetcher, server: HostileServer) -> None:
    server.route("/", send(b"HTTP/1.1 200\r\nContent-Length: 1\r\n\r\nx"))
    assert (await reply(fetcher, server.url())).body == b"x"


async def test_rfc9112_obsolete_line_folding_is_read_as_a_space(
    fetcher: Fetcher, server: HostileServer
) -> None:
    server.route("/", send(OK + b"Link: </a>;\r\n  rel=next\r\nContent-Length: 1\r\n\r\nx"))
    value = (await reply(fetcher, server.url())).header("link")
    assert value is not None
    assert value.split() == ["</a>;", "rel=next"]


async def test_rfc9110_header_bytes_over_127_are_kept_as_latin_1(
    fetcher: Fetcher, server: HostileServer
) -> None:
    server.route("/", send(OK + b"Location: /caf\xc3\xa9/\xe9\r\nServer: \xff\r\nContent-Length: 1\r\n\r\nx"))
    got = await reply(fetcher, server.url())
    assert got.header("location") == b"/caf\xc3\xa9/\xe9".decode("latin-1")


async def test_ours_unreadable_bytes_in_an_unused_header_cost_nothing(
    fetcher: Fetcher, server: HostileServer
) -> None:
    server.route("/", send(OK + b"X-Who: \xff\r\nETag: a\r\nContent-Length: 1\r\n\r\nx"))
    got = await reply(fetcher, server.url())
    assert (got.body, got.header("etag")) == (b"x", "a")
    assert len(server.requests) == 1


async def test_rfc9110_repeated_headers_keep_their_order(fetcher: Fetcher, server: HostileServer) -> None:
    server.route("/", answer(b"x", "Link: <a>", "X-Robots-Tag: none", "LINK: <b>"))
    got = await reply(fetcher, server.url())
    assert got.header_all("link") == ["<a>", "<b>"]


@pytest.mark.parametrize(
    "head",
    [
        b"garbage garbage\r\n\r\n",
        b"HTTP/1.1 1000 X\r\n\r\n",
        OK + b"Content-Length: -1\r\n\r\nhello",
        OK + b"Content-Length: abc\r\n\r\nhello",
        OK + b"Content-Length: 1e3\r\n\r\nhello",
        OK + b"Content-Length: +5\r\n\r\nhello",
        OK + b"Content-Length: 1_0\r\n\r\nhello",
        OK + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello!",
        OK + b"Transfer-Encoding: gzip\r\n\r\nhello",
        OK + b"Transfer-Encoding: chunked\r\n\r\nzz\r\nhello\r\n0\r\n\r\n",
        OK + b"Transfer-Encoding: chunked\r\n\r\n-5\r\nhello\r\n0\r\n\r\n",
        OK + b"Transfer-Encoding: chunked\r\n\r\n" + b"f" * 21 + b"\r\nhello\r\n0\r\n\r\n",
        OK + b"Location : /x\r\nContent-Length: 5\r\n\r\nhello",
        OK + b"Location: /x\0y\r\nContent-Length: 5\r\n\r\nhello",
        OK + b"Location\r\nContent-Length: 5\r\n\r\nhello",
    ],
)
async def test_rfc9112_broken_framing_is_refused(
    fetcher: Fetcher, server: HostileServer, head: bytes
) -> None:
    server.route("/", send(head), sleep(0.2), fin())
    got = await failed(fetcher, server.url())
    assert (got.code, got.transient) == ("http.bad_response", True)
    assert f"127.0.0.1:{server.port}" in got.message


async def test_rfc9112_http_0_9_is_refused(fetcher: Fetcher, server: HostileServer) -> None:
    server.route("/", send(b"<html>hi</html>"), sleep(0.1), fin())
    assert await code(fetcher, server.url()) in {"http.bad_response", "net.reset"}


async def test_rfc9112_chunked_wins_over_content_length(fetcher: Fetcher, server: HostileServer) -> None:
    framing = b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"
    server.route("/", send(OK + framing), fin())
    assert (await reply(fetcher, server.url())).body == b"hello"


async def test_rfc9112_bytes_behind_content_length_belong_to_nobody(
    fetcher: Fetcher, server: HostileServer
) -> None:
    smuggled = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"
    server.route("/a", send(OK + b"Content-Length: 1\r\n\r\na" + smuggled))
    server.route("/b", answer(b"b"))
    for _ in range(50):
        assert (await reply(fetcher, server.url("/a"))).body == b"a"
        assert (await reply(fetcher, server.url("/b"))).body == b"b"


async def test_ours_headers_over_the_limit_are_refused(fetcher: Fetcher, server: HostileServer) -> None:
    server.route("/big", send(OK + b"A: " + b"b" * 150_000 + b"\r\nContent-Length: 1\r\n\r\nx"), fin())
    server.route("/many", send(OK + b"Abc: bde\r\n" * 20_000 + b"Content-Length: 1\r\n\r\nx"), fin())
    server.route("/fine", answer(b"x", "A: " + "b" * 50_000, *["B: c"] * 80))
    assert await code(fetcher, server.url("/big")) == "http.header_too_large"
    # hyper takes 100 fields, and its connection may be gone before it can say so
    assert await code(fetcher, server.url("/many")) in {"http.header_too_large", "net.reset"}
    assert (await reply(fetcher, server.url("/fine"))).body == b"x"


async def test_ours_endless_interim_answers_end_at_the_deadline(
    fetcher: Fetcher, server: HostileServer
) -> None:
    early = b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"
    server.route("/", *[step for _ in range(300) for step in (send(early), sleep(0.02))])
    assert await code(fetcher, server.url()) == "time.first_byte"


async def test_rfc9110_a_few_interim_answers_are_passed_over(fetcher: Fetcher, server: HostileServer) -> None:
    server.route("/", send(b"HTTP/1.1 100 Continue\r\n\r\n" * 3), answer(b"x"))
    assert (await reply(fetcher, server.url())).body == b"x"


# --- connections


async def test_ours_refused_connection(case: tuple[type, str]) -> None:
    with HostileServer() as gone:
        pass
    async with Fetcher(case[0](limits=LIMITS), IDENTITY, policy(gone), LIMITS) as other:
        assert await code(other, gone.url()) == "net.refused"


@pytest.mark.parametrize("step", [rst(), fin()])
async def test_ours_connection_closed_before_the_answer(
    fetcher: Fetcher, server: HostileServer, step: Step
) -> None:
    server.greet(step)
    server.route("/", answer(PAGE))
    got = await failed(fetcher, server.url())
    assert (got.code, got.transient) == ("net.reset", True)
    assert (await reply(fetcher, server.url())).body == PAGE


@pytest.mark.parametrize("step", [rst(), fin()])
async def test_rfc9112_kept_alive_connection_closed_on_reuse_is_repeated_once(
    fetcher: Fetcher, server: HostileServer, step: Step
) -> None:
    server.route("/first", answer(b"1"))
    server.route("/second", step)
    server.route("/second", answer(b"2"))
    server.route("/third", step)
    assert (await reply(fetcher, server.url("/first"))).body == b"1"
    assert (await reply(fetcher, server.url("/second"))).body == b"2"
    assert len(server.seen("/second")) == 2
    assert await code(fetcher, server.url("/third")) == "net.reset"
    assert len(server.seen("/third")) == 2


async def test_ours_connections_are_kept_alive(fetcher: Fetcher, server: HostileServer) -> None:
    server.route("/", answer(PAGE, "Content-Encoding: identity"))
    for _ in range(20):
        assert (await reply(fetcher, server.url())).body == PAGE
    assert server.connections == 1


# --- time


async def test_ours_no_answer_is_first_byte(fetcher: Fetcher, server: HostileServer) -> None:
    server.route("/", sleep(3))
    got = await failed(fetcher, server.url())
    assert got.code == "time.first_byte"
    assert 0.55 < got.elapsed < 0.9
    await _all_closed(server)


async def test_ours_head_byte_by_byte_is_first_byte(fetcher: Fetcher, server: HostileServer) -> None:
    server.route("/", drip(OK + b"Content-Length: 1\r\n\r\nx", 0.1))
    assert await code(fetcher, server.url()) == "time.first_byte"


async def test_ours_stalled_body_is_idle(fetcher: Fetcher, server: HostileServer) -> None:
    server.route("/", send(OK + b"Content-Length: 100\r\n\r\n" + b"x" * 99), sleep(3))
    got = await failed(fetcher, server.url())
    assert (got.code, got.transient) == ("time.idle", True)
    assert 0.45 < got.elapsed < 0.9
    await _all_closed(server)


async def test_ours_dripping_body_is_too_slow(fetcher: Fetcher, server: HostileServer) -> None:
    server.route("/", send(OK + b"\r\n"), drip(b"x" * 100, 0.05))
    got = await failed(fetcher, server.url())
    assert got.code == "time.too_slow"
    assert got.elapsed < 1


async def test_ours_endless_body_within_the_rate_ends_at_the_total_deadline(
    fetcher: Fetcher, server: HostileServer
) -> None:
    server.route(
        "/", send(OK + b"\r\n"), *[step for _ in range(100) for step in (send(b"x" * 500), sleep(0.05))]
    )
    got = await failed(fetcher, server.url())
    assert got.code == "time.total_deadline"
    assert 1.4 < got.elapsed < 1.8


async def test_ours_slow_host_does_not_hold_up_another(case: tuple[type, str], server: HostileServer) -> None:
    server.route("*", sleep(3))
    with HostileServer() as healthy:
        healthy.route("/", answer(PAGE))
        async with (
            Fetcher(case[0](limits=LIMITS), IDENTITY, policy(server, healthy), LIMITS) as fetcher,
            anyio.create_task_group() as group,
        ):
            for _ in range(8):
                group.start_soon(fetcher.fetch, Url(server.url("/slow")))
            for _ in range(50):
                assert (await reply(fetcher, healthy.url())).elapsed < 0.5
            group.cancel_scope.cancel()


# --- truncation: nine kinds


TRUNCATED: dict[str, tuple[Step, ...]] = {
    "content-length short": (send(OK + b"Content-Length: 50\r\n\r\nhello"), fin()),
    "content-length short, reset": (send(OK + b"Content-Length: 50\r\n\r\nhello"), sleep(0.1), rst()),
    "chunks without end": (chunked(b"hello", last=False), fin()),
    "chunk cut": (send(OK + b"Transfer-Encoding: chunked\r\n\r\nff\r\nhello"), fin()),
    "chunk size cut": (send(OK + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n1"), fin()),
}
CODED = {
    "gzip half": ("gzip", gzip.compress(os.urandom(5000))[:2500]),
    "gzip without trailer": ("gzip", gzip.compress(PAGE)[:-8]),
    "gzip second member cut": ("gzip", gzip.compress(PAGE) + gzip.compress(PAGE)[:-9]),
    "br cut": ("br", brotli.compress(os.urandom(5000))[:-10]),
    "zstd cut": ("zstd", zstandard.compress(os.urandom(5000))[:-10]),
    "deflate cut": ("deflate", zlib.compress(PAGE)[:-4]),
}


@pytest.mark.parametrize("kind", TRUNCATED)
async def test_rfc9112_incomplete_answers_are_failures(
    fetcher: Fetcher, server: HostileServer, kind: str
) -> None:
    server.route("/", *TRUNCATED[kind])
    got = await failed(fetcher, server.url())
    assert got.transient
    # h11 calls half a chunk size an error of framing, which it is as well
    assert got.code in {"body.incomplete", *(["http.bad_response"] if kind == "chunk size cut" else [])}


@pytest.mark.parametrize("kind", CODED)
async def test_ours_incomplete_codings_are_failures(
    fetcher: Fetcher, server: HostileServer, kind: str
) -> None:
    coding, data = CODED[kind]
    server.route("/", answer(data, f"Content-Encoding: {coding}"))
    got = await failed(fetcher, server.url())
    assert (got.code, got.transient) == ("body.decode_truncated", True)
    assert len(server.requests) == 1


@pytest.mark.parametrize("coding", ["gzip", "x-gzip", "br", "zstd", "GZIP"])
@pytest.mark.parametrize("framing", ["length", "chunks", "close"])
async def test_rfc9110_coded_bodies_are_decoded(
    fetcher: Fetcher, server: HostileServer, coding: str, framing: str
) -> None:
    compress = {"br": brotli.compress, "zstd": zstandard.compress}.get(coding, gzip.compress)
    data, field = compress(PAGE), f"Content-Encoding: {coding}"
    steps: dict[str, tuple[Step, ...]] = {
        "length": (answer(data, field),),
        "chunks": (chunked(data[:7], data[7:9], data[9:], headers=(field,)),),
        "close": (send(OK + field.encode() + b"\r\n\r\n" + data), fin()),
    }
    server.route("/", *steps[framing])
    got = await reply(fetcher, server.url())
    assert (got.body, got.wire_bytes) == (PAGE, len(data))


# --- labels and limits of bodies


async def test_ours_plain_page_labelled_gzip_is_asked_for_again_plainly(
    fetcher: Fetcher, server: HostileServer
) -> None:
    server.route("/", answer(PAGE, "Content-Encoding: gzip"))
    server.route("/", answer(PAGE))
    assert (await reply(fetcher, server.url())).body == PAGE
    assert [request.header("accept-encoding") for request in server.requests] == [
        "gzip, deflate, br, zstd",
        "identity",
    ]


@pytest.mark.parametrize("coding", ["gzip", "br", "zstd", "deflate"])
async def test_ours_plain_page_always_labelled_as_coded_is_believed_the_second_time(
    fetcher: Fetcher, server: HostileServer, coding: str
) -> None:
    server.route("/", answer(PAGE, f"Content-Encoding: {coding}"))
    assert (await reply(fetcher, server.url())).body == PAGE
    assert len(server.requests) == 2


async def test_rfc1952_wrong_checksum_is_a_failure(fetcher: Fetcher, server: HostileServer) -> None:
    data = gzip.compress(PAGE)
    server.route("/", answer(data[:-8] + b"\0\0\0\0" + data[-4:], "Content-Encoding: gzip"))
    assert await code(fetcher, server.url()) == "body.decode_error"


async def test_ours_codings(fetcher: Fetcher, server: HostileServer) -> None:
    server.route("/text", answer(PAGE, "Content-Encoding: utf-8"))
    server.route("/binary", answer(b"\0\1\2", "Content-Encoding: sdch"))
    server.route("/nested", answer(b"x", "Content-Encoding: gzip, gzip", "Content-Encoding: gzip"))
    server.route("/bomb", answer(gzip.compress(b"\0" * (16 << 20)), "Content-Encoding: gzip"))
    assert (await reply(fetcher, server.url("/text"))).body == PAGE
    assert await code(fetcher, server.url("/binary")) == "body.unknown_coding"
    assert await code(fetcher, server.url("/nested")) == "body.too_many_codings"
    got = await failed(fetcher, server.url("/bomb"))
    assert (got.code, got.transient) == ("body.bomb", False)


async def test_ours_endless_body_is_cut_and_the_connection_closed(
    fetcher: Fetcher, server: HostileServer
) -> None:
    server.route("/", send(OK + b"\r\n"), repeat(b"x" * 65536, 100_000), fin())
    result = await fetcher.fetch(Url(server.url()), body=BodyLimits(decoded=1_000_000))
    assert isinstance(result, Reply)
    assert (len(result.body), result.cut) == (1_000_000, "cut after 1,000,000 bytes")
    await _all_closed(server)


async def test_ours_huge_content_length_is_refused_unread(fetcher: Fetcher, server: HostileServer) -> None:
    server.route("/", send(OK + b"Content-Length: 10737418240\r\n\r\n"), sleep(2))
    got = await failed(fetcher, server.url())
    assert (got.code, got.transient) == ("body.too_large", False)
    assert got.elapsed < 0.4


# --- what is sent


async def test_rfc6454_credentials_go_to_their_origin_only(
    case: tuple[type, str], server: HostileServer
) -> None:
    with HostileServer() as other:
        origin = server.origin()
        secrets = Credentials(
            origin, (("X-Api-Key", "k3y"),), ("user", "pässword"), (("sid", "1"), ("b", "2"))
        )
        identity = Identity(user_agent="T", credentials=(secrets,))
        async with Fetcher(case[0](), identity, policy(server, other)) as fetcher:
            for url in (server.url(), other.url(), server.url(host="localhost")):
                await reply(fetcher, url)
    first, elsewhere, alias = server.requests[0], other.requests[0], server.requests[1]
    assert first.header("x-api-key") == "k3y"
    assert first.header("authorization") == "Basic dXNlcjpww6Rzc3dvcmQ="
    assert first.header("cookie") == "sid=1; b=2"
    for request in (elsewhere, alias):
        assert b"k3y" not in request.head
        assert request.header("authorization") is None
        assert request.header("cookie") is None
    assert "k3y" not in repr(secrets)


async def test_ours_cookies_of_answers_are_not_kept(fetcher: Fetcher, server: HostileServer) -> None:
    server.route("/", answer(b"", "Set-Cookie: a=b; Path=/"))
    await reply(fetcher, server.url())
    await reply(fetcher, server.url())
    assert server.requests[1].header("cookie") is None


async def test_ours_environment_is_not_asked(
    case: tuple[type, str], server: HostileServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login u password p\n")
    monkeypatch.setenv("NETRC", str(netrc))
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    async with Fetcher(case[0](), IDENTITY, policy(server)) as fetcher:
        await reply(fetcher, server.url())
    assert server.requests[0].header("authorization") is None


async def test_rfc9110_conditional_headers_are_added(fetcher: Fetcher, server: HostileServer) -> None:
    await fetcher.fetch(Url(server.url()), headers=[("If-None-Match", '"1"')])
    assert server.requests[0].header("if-none-match") == '"1"'


async def test_ours_header_with_a_line_break_is_not_sent(fetcher: Fetcher, server: HostileServer) -> None:
    result = await fetcher.fetch(Url(server.url()), headers=[("If-None-Match", '"1"\r\nX-Evil: 1')])
    assert isinstance(result, Failure)
    assert not server.requests


@pytest.mark.parametrize("value", ["a\r\nb", "a\0", "é"])
def test_rfc9110_values_that_cannot_be_sent_are_refused(value: str) -> None:
    with pytest.raises(ValueError, match="X-A"):
        Credentials("http://a", (("X-A", value),))


# --- cancellation


async def test_ours_cancelling_leaks_nothing(fetcher: Fetcher, server: HostileServer) -> None:
    server.route("/head", sleep(9))
    server.route("/body", send(OK + b"Content-Length: 90\r\n\r\nx"), sleep(9))
    server.route("/chunk", chunked(b"x" * 5000, last=False), sleep(9))
    server.route("/", answer(PAGE))
    await reply(fetcher, server.url())
    for turn in range(60):
        with anyio.move_on_after(0.001 * (turn % 12)):
            async with anyio.create_task_group() as group:
                for path in ("/head", "/body", "/chunk", "/"):
                    group.start_soon(fetcher.fetch, Url(server.url(path)))
    await _all_closed(server, most=4)
    ours = [
        entry
        for entry in psutil.Process().net_connections()
        if entry.raddr and entry.raddr.port == server.port
    ]
    assert len(ours) <= 4
    assert (await reply(fetcher, server.url())).body == PAGE


async def _all_closed(server: HostileServer, most: int = 0) -> None:
    """The server notices within a second that its connections were closed."""
    with anyio.fail_after(2):
        while server.open_connections > most:  # noqa: ASYNC110 - the server lives on another thread
            await anyio.sleep(0.02)


# --- any httpx transport


@pytest.fixture
def mock() -> Callable[..., Fetcher]:
    def make(handler: Callable[[httpx.Request], httpx.Response]) -> Fetcher:
        return Fetcher(httpx.MockTransport(handler), IDENTITY)

    return make


async def test_ours_any_httpx_transport_fits(mock: Callable[..., Fetcher]) -> None:
    def handle(request: httpx.Request) -> httpx.Response:
        assert request.url == "https://example.com/a?b"
        return httpx.Response(200, content=gzip.compress(PAGE), headers={"content-encoding": "gzip"})

    assert (await reply(mock(handle), "https://example.com/a?b")).body == PAGE


async def test_ours_exceptions_of_a_transport_stop_at_the_fence(mock: Callable[..., Fetcher]) -> None:
    def handle(request: httpx.Request) -> httpx.Response:
        raise RuntimeError("boom")

    result = await mock(handle).fetch(Url("https://example.com/"))
    assert isinstance(result, Failure)
    assert result.code == "internal.error"
    assert "boom" in result.message
