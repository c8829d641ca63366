"""Chunk extensions (RFC 9112, section 7.1.1) and informational responses (RFC 9110, section 15.2) without an end."""

import contextlib
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from fetching import IDENTITY, LIMITS

from crawler.fetch import reqwest_transport
from crawler.fetch.address_policy import AddressPolicy
from crawler.fetch.fetcher import Fetcher
from crawler.fetch.limits import FetchLimits
from crawler.fetch.transports import ReqwestTransports
from crawler.model import Failure, Url

EXTENSIONS = {
    "many of a few bytes": (b"", b"80;" + b"a" * 60 + b"\r\n" + b"x" * 128 + b"\r\n"),
    "many long ones": (b"", b"1;" + b"a" * 8_000 + b"\r\nx\r\n"),
    "one without an end": (b"1;", b"a" * 60_000),
}


CHUNKED = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n"


@contextmanager
def flood(first: bytes, piece: bytes, head: bytes = CHUNKED) -> Iterator[tuple[str, list[int]]]:
    """A server that sends a head, and then pieces until the client goes; the bytes sent are in the list."""
    sent = [0]

    def serve() -> None:
        connection, _ = server.accept()
        with connection, contextlib.suppress(OSError):
            connection.recv(65_536)
            connection.sendall(head + first)
            while sent[0] < 20 * 10**9:
                connection.sendall(piece)
                sent[0] += len(piece)

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}/", sent
        thread.join(20)


@pytest.mark.anyio
@pytest.mark.parametrize("kind", sorted(EXTENSIONS))
@pytest.mark.parametrize("case", [(ReqwestTransports, "asyncio")], ids=["reqwest"])
async def test_ours_chunk_extensions_do_not_escape_the_limit_of_a_download(case: tuple[type, str], kind: str) -> None:
    with flood(*EXTENSIONS[kind]) as (url, sent):
        async with Fetcher(case[0](limits=LIMITS), IDENTITY, AddressPolicy.for_seeds([url[:-1]]), LIMITS) as fetcher:
            answer = await fetcher.fetch(Url(url))
    assert isinstance(answer, Failure)
    assert answer.code == "http.bad_response"
    assert sent[0] < 30_000_000


@pytest.mark.anyio
@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not say how many bytes a connection received")
@pytest.mark.parametrize("case", [(ReqwestTransports, "asyncio")], ids=["reqwest"])
@pytest.mark.parametrize("status", [b"100 Continue", b"103 Early Hints"])
async def test_rfc9110_15_2_informational_responses_do_not_escape_the_limit_of_a_download(
    case: tuple[type, str], status: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client skips them: without a watch they flow until the time limit, at the speed of the network."""
    monkeypatch.setattr(reqwest_transport, "_LOOK_SECONDS", 0.1)
    limits = FetchLimits(first_byte=8.0)
    with flood(b"", (b"HTTP/1.1 " + status + b"\r\nX: " + b"x" * 3_000 + b"\r\n\r\n") * 100, b"") as (url, sent):
        async with Fetcher(case[0](limits=limits), IDENTITY, AddressPolicy.for_seeds([url[:-1]]), limits) as fetcher:
            answer = await fetcher.fetch(Url(url))
    assert isinstance(answer, Failure)
    assert not answer.code.startswith("time.")
    assert sent[0] < 1_000_000_000
