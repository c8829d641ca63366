"""Servers that close, stall, cut, mislabel and flood, over every transport."""

import gzip
import os
import zlib

import anyio
import brotli
import psutil
import pytest
from backports import zstd
from fetching import IDENTITY, LIMITS, OK, PAGE, all_closed, code, failed, policy, reply
from hostile import HostileServer, Step, Wire, answer, chunked, drip, fin, repeat, rst, send, sleep

from crawler.fetch.challenge import MAX_BYTES
from crawler.fetch.fetcher import Fetcher
from crawler.fetch.limits import PAGE_BODY, BodyLimits, FetchLimits
from crawler.model import Failure, Reply, Url

pytestmark = pytest.mark.anyio


# --- connections


async def test_ours_refused_connection(case: tuple[type, str]) -> None:
    with HostileServer() as gone:
        pass
    async with Fetcher(case[0](limits=LIMITS), IDENTITY, policy(gone), LIMITS) as other:
        assert await code(other, gone.url()) == "net.refused"


@pytest.mark.parametrize("step", [rst(), fin()])
async def test_ours_connection_closed_before_the_answer(fetcher: Fetcher, server: HostileServer, step: Step) -> None:
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


@pytest.mark.parametrize("method", ["POST", "PUT"])
async def test_rfc9110_what_is_no_get_arrives_whole_and_is_never_repeated(
    fetcher: Fetcher, server: HostileServer, method: str
) -> None:
    arrived: list[bytes] = []

    async def take(wire: Wire) -> None:
        arrived.append(await wire.reader.readexactly(100_000))

    server.route("/first", take, send(OK + b"Location: /\xff\r\nContent-Length: 1\r\n\r\n1"))
    server.route("/second", rst())
    got = await fetcher.fetch(Url(server.url("/first")), method=method, content=b"a" * 100_000)
    assert isinstance(got, Reply)
    empty = await fetcher.fetch(Url(server.url("/second")), method=method)
    assert isinstance(empty, Failure)
    assert empty.code == "net.reset"
    assert arrived == [b"a" * 100_000]
    assert [request.head.split()[0].decode() for request in server.requests] == [method, method]
    assert [request.header("content-length") for request in server.requests] == ["100000", "0"]


@pytest.mark.parametrize(
    ("steps", "body"),
    [
        ((send(OK + b"Content-Length: 9\r\n\r\nab"), sleep(9)), b"ab"),
        ((send(OK + b"Content-Length: 9\r\n\r\n"), sleep(9)), b""),
        ((send(OK + b"Content-Length: 9\r\n\r\nab"), fin()), b"ab"),
        ((answer(gzip.compress(b"ab" * 9)[:-8], "Content-Encoding: gzip"),), b"ab" * 9),
        ((answer(b"\0\xff", "Content-Encoding: gzip"),), b""),
    ],
)
async def test_ours_a_head_is_an_answer_where_the_body_is_optional(
    case: tuple[type, str], server: HostileServer, steps: tuple[Step, ...], body: bytes
) -> None:
    server.route("/", *steps)
    impatient = FetchLimits(connect=10, first_byte=10, idle=0.35, total=30)
    async with Fetcher(case[0](limits=impatient), IDENTITY, policy(server), impatient) as fetcher:
        got = await fetcher.fetch(Url(server.url()), method="POST", body=BodyLimits(is_optional=True))
    assert isinstance(got, Reply)
    assert (got.status, got.body, bool(got.cut)) == (200, body, True)


async def test_ours_connections_are_kept_alive(fetcher: Fetcher, server: HostileServer) -> None:
    server.route("/", answer(PAGE, "Content-Encoding: identity"))
    for _ in range(20):
        assert (await reply(fetcher, server.url())).body == PAGE
    assert server.connections == 1


# --- time


async def test_ours_no_answer_is_first_byte(hurried: Fetcher, server: HostileServer) -> None:
    server.route("/", sleep(3))
    got = await failed(hurried, server.url())
    assert got.code == "time.first_byte"
    assert got.elapsed > 0.38
    await all_closed(server)


async def test_ours_head_byte_by_byte_is_first_byte(hurried: Fetcher, server: HostileServer) -> None:
    server.route("/", drip(OK + b"Content-Length: 1\r\n\r\nx", 0.1))
    assert await code(hurried, server.url()) == "time.first_byte"


async def test_ours_stalled_body_is_idle(hurried: Fetcher, server: HostileServer) -> None:
    server.route("/", send(OK + b"Content-Length: 100\r\n\r\n" + b"x" * 99), sleep(3))
    got = await failed(hurried, server.url())
    assert (got.code, got.transient) == ("time.idle", True)
    assert got.elapsed > 0.3
    await all_closed(server)


async def test_ours_dripping_body_is_too_slow(hurried: Fetcher, server: HostileServer) -> None:
    server.route("/", send(OK + b"\r\n"), drip(b"x" * 100, 0.05))
    assert await code(hurried, server.url()) == "time.too_slow"


async def test_ours_endless_body_within_the_rate_ends_at_the_total_deadline(
    hurried: Fetcher, server: HostileServer
) -> None:
    server.route("/", send(OK + b"\r\n"), *[step for _ in range(100) for step in (send(b"x" * 500), sleep(0.05))])
    got = await failed(hurried, server.url())
    assert got.code == "time.total_deadline"
    assert got.elapsed > 0.85


async def test_ours_slow_host_does_not_hold_up_another(case: tuple[type, str], server: HostileServer) -> None:
    server.route("*", sleep(60))
    ended: list[object] = []
    with HostileServer() as healthy:
        healthy.route("/", answer(PAGE))
        async with (
            Fetcher(case[0](limits=LIMITS), IDENTITY, policy(server, healthy), LIMITS) as fetcher,
            anyio.create_task_group() as group,
        ):

            async def wait() -> None:
                ended.append(await fetcher.fetch(Url(server.url("/slow"))))

            for _ in range(8):
                group.start_soon(wait)
            for _ in range(50):
                assert (await reply(fetcher, healthy.url())).body == PAGE
            assert ended == []
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
    "zstd cut": ("zstd", zstd.compress(os.urandom(5000))[:-10]),
    "deflate cut": ("deflate", zlib.compress(PAGE)[:-4]),
}


@pytest.mark.parametrize("kind", TRUNCATED)
async def test_rfc9112_incomplete_answers_are_failures(fetcher: Fetcher, server: HostileServer, kind: str) -> None:
    server.route("/", *TRUNCATED[kind])
    got = await failed(fetcher, server.url())
    assert got.transient
    # h11 calls half a chunk size an error of framing, which it is as well
    assert got.code in {"body.incomplete", *(["http.bad_response"] if kind == "chunk size cut" else [])}


@pytest.mark.parametrize("kind", CODED)
async def test_ours_incomplete_codings_are_failures(fetcher: Fetcher, server: HostileServer, kind: str) -> None:
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
    compress = {"br": brotli.compress, "zstd": zstd.compress}.get(coding, gzip.compress)
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
    got = await reply(fetcher, server.url())
    assert (got.body, got.is_miscoded) == (PAGE, True)
    assert [request.header("accept-encoding") for request in server.requests] == ["gzip, deflate, br, zstd", "identity"]


@pytest.mark.parametrize("coding", ["gzip", "br", "zstd", "deflate"])
async def test_ours_plain_page_always_labelled_as_coded_is_believed_the_second_time(
    fetcher: Fetcher, server: HostileServer, coding: str
) -> None:
    server.route("/", answer(PAGE, f"Content-Encoding: {coding}"))
    got = await reply(fetcher, server.url())
    assert (got.body, got.is_miscoded) == (PAGE, True)
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


async def test_ours_a_body_in_crumbs_is_refused(case: tuple[type, str], server: HostileServer) -> None:
    limits = FetchLimits(reads=1_000, read_size=64)
    server.route("/", chunked(*[b"ab"] * 10_000))
    server.route("/few", chunked(*[b"ab"] * 900))
    server.route("/lines", chunked(*[b"<p>One line of a list, which a server sends as soon as it has it.</p>"] * 3_000))
    async with Fetcher(case[0](limits=limits), IDENTITY, policy(server), limits) as patient:
        got = await failed(patient, server.url())
        assert (got.code, got.transient) == ("body.in_crumbs", False)
        assert len((await reply(patient, server.url("/few"))).body) == 1_800
        assert len((await reply(patient, server.url("/lines"))).body) == 207_000


async def test_ours_ten_thousand_compressed_parts_are_a_bomb(fetcher: Fetcher, server: HostileServer) -> None:
    for content in (b"", b"a"):
        server.route("/many", answer(gzip.compress(content) * 10_000, "Content-Encoding: gzip"))
        assert await code(fetcher, server.url("/many")) == "body.bomb"
    server.route("/blocks", answer(gzip.compress(b"x" * 1_000) * 2_000, "Content-Encoding: gzip"))
    assert len((await reply(fetcher, server.url("/blocks"))).body) == 2_000_000


async def test_ours_endless_body_is_cut_and_the_connection_closed(fetcher: Fetcher, server: HostileServer) -> None:
    server.route("/", send(OK + b"\r\n"), repeat(b"x" * 65536, 100_000), fin())
    result = await fetcher.fetch(Url(server.url()), body=BodyLimits(decoded=1_000_000))
    assert isinstance(result, Reply)
    assert (len(result.body), result.cut) == (1_000_000, "cut after 1,000,000 bytes")
    await all_closed(server)


async def test_ours_huge_content_length_is_refused_unread(fetcher: Fetcher, server: HostileServer) -> None:
    server.route("/", send(OK + b"Content-Length: 10737418240\r\n\r\n"), sleep(60))
    got = await failed(fetcher, server.url())
    assert (got.code, got.transient) == ("body.too_large", False)


# --- cancellation


async def test_ours_cancelling_leaks_nothing(hurried: Fetcher, server: HostileServer) -> None:
    server.route("/head", sleep(9))
    server.route("/body", send(OK + b"Content-Length: 90\r\n\r\nx"), sleep(9))
    server.route("/chunk", chunked(b"x" * 5000, last=False), sleep(9))
    server.route("/", answer(PAGE))
    await reply(hurried, server.url())
    for turn in range(60):
        with anyio.move_on_after(0.001 * (turn % 12)):
            async with anyio.create_task_group() as group:
                for path in ("/head", "/body", "/chunk", "/"):
                    group.start_soon(hurried.fetch, Url(server.url(path)))
    await all_closed(server, most=4)
    ours = [entry for entry in psutil.Process().net_connections() if entry.raddr and entry.raddr.port == server.port]
    assert len(ours) <= 4
    assert (await reply(hurried, server.url())).body == PAGE


# --- bodies that are not wanted


LONG = 15_000_000
PDF = b"Content-Type: application/pdf\r\n"
UNWANTED = {
    "redirect": b"HTTP/1.1 301 Moved\r\nLocation: /other\r\n",
    "pdf": OK + PDF,
    "not found": b"HTTP/1.1 404 Not Found\r\nContent-Type: text/html\r\n",
    "error": b"HTTP/1.1 500 Oops\r\nContent-Type: text/html\r\n",
}


@pytest.mark.parametrize("framing", ["length", "chunked", "end"])
@pytest.mark.parametrize("kind", UNWANTED)
async def test_ours_a_body_without_use_is_not_received(
    fetcher: Fetcher, server: HostileServer, kind: str, framing: str
) -> None:
    fields = {"length": b"Content-Length: %d\r\n" % LONG, "chunked": b"Transfer-Encoding: chunked\r\n", "end": b""}
    piece = b"10000\r\n" + b"x" * 65536 + b"\r\n" if framing == "chunked" else b"x" * 65536
    server.route("/", send(UNWANTED[kind] + fields[framing] + b"\r\n"), repeat(piece, LONG // 65536), fin())
    got = await fetcher.fetch(Url(server.url()), body=PAGE_BODY)
    assert isinstance(got, Reply)
    assert got.status == int(UNWANTED[kind].split()[1])
    assert not got.cut
    # a read of a socket brings up to 64 KiB, or as much as the first read of hyper
    most = 2 * MAX_BYTES + 65536 if got.status >= 400 else 128 * 1024
    assert got.wire_bytes <= most
    await all_closed(server)


async def test_ours_a_small_body_without_use_keeps_its_connection(fetcher: Fetcher, server: HostileServer) -> None:
    server.route("/moved", answer(b"<p>Over there" * 20, "Location: /", status="302 Found"))
    server.route("/paper", answer(b"%PDF" * 1000, "Content-Type: application/pdf"))
    for path in ("/moved", "/paper", "/moved"):
        got = await fetcher.fetch(Url(server.url(path)), body=PAGE_BODY)
        assert isinstance(got, Reply)
        assert got.body == b""
    assert len({request.connection for path in ("/moved", "/paper") for request in server.seen(path)}) == 1


async def test_ours_a_body_without_use_that_never_ends_holds_up_nothing(
    fetcher: Fetcher, server: HostileServer
) -> None:
    server.route("/", send(UNWANTED["redirect"] + b"Content-Length: 9\r\n\r\nx"), sleep(9))
    got = await reply(fetcher, server.url())
    assert got.status == 301
    await all_closed(server)


@pytest.mark.parametrize("kind", UNWANTED)
async def test_ours_a_body_without_use_may_announce_any_length(
    fetcher: Fetcher, server: HostileServer, kind: str
) -> None:
    server.route("/", send(UNWANTED[kind] + b"Content-Length: 10737418240\r\n\r\n" + b"x" * 100_000), fin())
    got = await fetcher.fetch(Url(server.url()), body=PAGE_BODY)
    assert isinstance(got, Reply)
    assert got.status == int(UNWANTED[kind].split()[1])


async def test_ours_a_redirect_with_a_broken_body_is_a_redirect(fetcher: Fetcher, server: HostileServer) -> None:
    server.route("/", send(UNWANTED["redirect"] + b"Content-Encoding: gzip\r\nContent-Length: 9\r\n\r\nx"), fin())
    assert (await reply(fetcher, server.url())).status == 301


async def test_ours_only_pages_are_read_by_their_type(fetcher: Fetcher, server: HostileServer) -> None:
    server.route("/", answer(b"%PDF", "Content-Type: application/pdf"))
    assert (await reply(fetcher, server.url())).body == b"%PDF"  # a sitemap may have any type
