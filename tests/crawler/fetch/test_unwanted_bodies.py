"""Bodies that nobody wants are not received, over every transport."""

import pytest
from fetching import OK, all_closed, reply
from hostile import HostileServer, answer, fin, repeat, send, sleep

from crawler.fetch.challenge import MAX_BYTES
from crawler.fetch.fetcher import Fetcher
from crawler.fetch.limits import PAGE_BODY
from crawler.model import Reply, Url

pytestmark = pytest.mark.anyio


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
