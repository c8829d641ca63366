"""Bodies that are cut, and coded ones, over every transport."""

import gzip
import os
import zlib

import brotli
import pytest
from backports import zstd
from fetching import OK, PAGE, failed, reply
from hostile import HostileServer, Step, answer, chunked, fin, rst, send, sleep

from crawler.fetch.fetcher import Fetcher

pytestmark = pytest.mark.anyio


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
