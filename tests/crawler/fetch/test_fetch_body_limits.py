"""Bodies that are mislabelled, too long or in crumbs, over every transport."""

import gzip

import pytest
from fetching import IDENTITY, OK, PAGE, all_closed, code, failed, policy, reply
from hostile import HostileServer, answer, chunked, fin, repeat, send, sleep

from crawler.fetch.fetcher import Fetcher
from crawler.fetch.limits import BodyLimits, FetchLimits
from crawler.model import Reply, Url

pytestmark = pytest.mark.anyio


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
