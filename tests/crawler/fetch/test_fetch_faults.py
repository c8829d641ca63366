"""Servers that refuse and close connections, over every transport."""

import gzip

import pytest
from fetching import IDENTITY, LIMITS, OK, PAGE, code, failed, policy, reply
from hostile import HostileServer, Step, Wire, answer, fin, rst, send, sleep

from crawler.fetch.fetcher import Fetcher
from crawler.fetch.limits import BodyLimits, FetchLimits
from crawler.model import Failure, Reply, Url

pytestmark = pytest.mark.anyio


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
