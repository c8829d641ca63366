"""HTTP messages as they should be and as they are, over every transport; and what is sent."""

import gzip
import time
from collections.abc import Callable
from pathlib import Path
from random import Random

import httpx
import pytest
from fetching import IDENTITY, LIMITS, OK, PAGE, code, failed, policy, reply
from hostile import HostileServer, answer, drip, fin, send, sleep

from crawler.fetch.fetcher import Fetcher
from crawler.fetch.identity import Credentials, Identity
from crawler.model import Failure, Url

pytestmark = pytest.mark.anyio


async def test_rfc9110_plain_answer(fetcher: Fetcher, server: HostileServer) -> None:
    server.route("/a?b=c|d", answer(PAGE, "Content-Type: text/html", "X-Other: 1", 'ETag: "1"'))
    before = time.time()
    got = await reply(fetcher, server.url("/a?b=c|d"))
    assert (got.status, got.body, got.wire_bytes, got.cut) == (200, PAGE, len(PAGE), "")
    assert got.header("content-type") == "text/html"
    assert got.header("etag") == '"1"'
    assert got.header("x-other") is None
    assert got.elapsed > 0
    assert before - 1 <= got.fetched_at <= time.time()
    request = server.requests[0]
    assert request.header("user-agent") == IDENTITY.user_agent
    assert request.header("accept-encoding") == "gzip, deflate, br, zstd"
    assert request.header("host") == f"127.0.0.1:{server.port}"
    assert request.header("referer") is None
    assert request.header("cookie") is None


@pytest.mark.thorough
@pytest.mark.parametrize("status", [200, 204, 304, 301, 404, 500, 600, 999])
async def test_rfc9110_every_status_is_a_reply_and_no_redirect_is_followed(
    fetcher: Fetcher, server: HostileServer, status: int
) -> None:
    server.route("/", answer(b"", "Location: /next", "Content-Encoding: gzip", status=f"{status} Whatever"))
    server.route("/next", answer(b"never"))
    got = await reply(fetcher, server.url())
    assert (got.status, got.body, got.header("location")) == (status, b"", "/next")
    assert not server.seen("/next")


async def test_rfc9110_304_with_content_length_of_the_page_has_no_body(fetcher: Fetcher, server: HostileServer) -> None:
    server.route("/", send(b"HTTP/1.1 304 Not Modified\r\nContent-Length: 900000000\r\nETag: x\r\n\r\n"))
    got = await reply(fetcher, server.url())
    assert (got.status, got.body) == (304, b"")


async def test_rfc9112_reason_phrase_may_be_missing(fetcher: Fetcher, server: HostileServer) -> None:
    server.route("/", send(b"HTTP/1.1 200\r\nContent-Length: 1\r\n\r\nx"))
    assert (await reply(fetcher, server.url())).body == b"x"


async def test_rfc9112_obsolete_line_folding_is_read_as_a_space(fetcher: Fetcher, server: HostileServer) -> None:
    server.route("/", send(OK + b"Link: </a>;\r\n  rel=next\r\nContent-Length: 1\r\n\r\nx"))
    value = (await reply(fetcher, server.url())).header("link")
    assert value is not None
    assert value.split() == ["</a>;", "rel=next"]


@pytest.mark.parametrize("seed", range(3))
async def test_ours_header_bytes_over_127_are_utf8_if_they_can_be_else_latin_1(
    fetcher: Fetcher, server: HostileServer, seed: int
) -> None:
    draw = Random(seed)
    lines, wanted = b"", []
    for name in ("location", "link", "refresh", "x-robots-tag", "content-disposition"):
        text = "".join(draw.choices("aé/ÿßÀ;", k=9)) + "é"
        encoding = draw.choice(["utf-8", "latin-1"])
        lines += name.encode() + b": </" + text.encode(encoding) + b">\r\n"
        wanted.append((name, f"</{text}>"))
    server.route("/", send(OK + lines + b"ETag: \xc3\xa9\r\nServer: \xff\r\nContent-Length: 1\r\n\r\nx"))
    got = await reply(fetcher, server.url())
    assert [(name, got.header(name)) for name, _ in wanted] == wanted
    assert got.header("etag") == "\xc3\xa9"  # it is sent back


FAULTS = [
    *(
        b"no field",
        b"<b>Warning</b>: Undefined variable $x in <b>/p.php</b> on line 12",
        b"<br />",
        b"X-Blank : x",
        b"x\0",
    ),
    *(
        b" X-Folded-First: y",
        b": empty",
        b"X-[Name]: y",
        b"X-Nul: a\0b",
        b"X-Control: a\x01\x7f",
        b"X-Esc: \x1b[0m",
        b"\xff: y",
    ),
    *(
        b"X-Fold: a\r\n  b\r\n\tc",
        b"Transfer-Encoding: identity",
        b"transfer-encoding : Identity",
        b"X-Utf-8: \xd0\x96",
        b"X:",
    ),
    b"\r\n".join([b"X-Many: y"] * 150),
]


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(24))
async def test_whatwg_fetch_heads_with_faults_that_browsers_forgive_are_read(
    case: tuple[type, str], server: HostileServer, seed: int
) -> None:
    draw = Random(seed)
    fields = [*draw.sample(FAULTS, draw.choice([1, 1, 3])), b"Content-Type: text/html", b"Link : </a>;\r\n rel=next"]
    if is_chunked := draw.random() < 0.5:
        fields = [each for each in fields if b"dentity" not in each]
    draw.shuffle(fields)
    fields.sort(key=lambda each: each[:1] != b" ")  # a line that continues one of them would change it
    body = b"5\r\nhello\r\n0\r\n\r\n" if is_chunked else b"hello"
    framing = (
        draw.choice([b"Transfer-Encoding: chunked", b"Transfer-Encoding : chunked"])
        if is_chunked
        else b"Content-Length: 5"
    )
    status = draw.choice([b"HTTP/1.1 200 OK", b"HTTP/1.1 200", b"HTTP/1 200 OK", b"HTTP/1.1 200 \xd0\x96"])
    before = draw.choice([b"", b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\nno field\r\n\r\n"])
    head = b"\r\n".join([status, *fields, framing, b"Connection: close", b"", b""])
    if draw.random() < 0.3:
        head, before = head.replace(b"\r\n", b"\n"), before.replace(b"\r\n", b"\n")
    server.route("/", draw.choice([send, lambda data: drip(data, 0.0)])(before + head + body), fin())
    async with Fetcher(case[0](limits=LIMITS), IDENTITY, policy(server), LIMITS) as fetcher:
        for _ in range(2):
            got = await reply(fetcher, server.url())
            assert (got.status, got.body, got.header("content-type")) == (200, b"hello", "text/html")
            assert (got.header("link") or "").split() == ["</a>;", "rel=next"]
    assert len(server.requests) <= 3  # a client that cannot read the heads of a server is asked once


async def test_ours_unreadable_bytes_in_an_unused_header_cost_nothing(fetcher: Fetcher, server: HostileServer) -> None:
    server.route("/", send(OK + b"X-Who: \xff\r\nETag: a\r\nContent-Length: 1\r\n\r\nx"))
    got = await reply(fetcher, server.url())
    assert (got.body, got.header("etag")) == (b"x", "a")
    assert len(server.requests) == 1


async def test_rfc9110_repeated_headers_keep_their_order(fetcher: Fetcher, server: HostileServer) -> None:
    server.route("/", answer(b"x", "Link: <a>", "X-Robots-Tag: none", "LINK: <b>"))
    got = await reply(fetcher, server.url())
    assert got.header_all("link") == ["<a>", "<b>"]


@pytest.mark.thorough
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
        OK + b"Content-Length : 5\r\nX\r\nContent-Length: 6\r\n\r\nhello!",
        OK + b"Content-Length: 5\r\n 6\r\nno field\r\n\r\nhello!",
        OK + b"Content-Length: 5, 6\r\nno field\r\n\r\nhello!",
        OK + b"Transfer-Encoding: chunked, identity\r\nContent-Length: 5\r\n\r\nhello",
        OK + b"Transfer-Encoding: gzip\r\nX-[: y\r\n\r\nhello",
    ],
)
async def test_rfc9112_broken_framing_is_refused(fetcher: Fetcher, server: HostileServer, head: bytes) -> None:
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


async def test_rfc9112_bytes_behind_content_length_belong_to_nobody(fetcher: Fetcher, server: HostileServer) -> None:
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


@pytest.mark.thorough
async def test_ours_endless_interim_answers_end_at_the_deadline(hurried: Fetcher, server: HostileServer) -> None:
    early = b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"
    server.route("/", *[step for _ in range(300) for step in (send(early), sleep(0.02))])
    assert await code(hurried, server.url()) == "time.first_byte"


async def test_rfc9110_a_few_interim_answers_are_passed_over(fetcher: Fetcher, server: HostileServer) -> None:
    server.route("/", send(b"HTTP/1.1 100 Continue\r\n\r\n" * 3), answer(b"x"))
    assert (await reply(fetcher, server.url())).body == b"x"


# --- what is sent


async def test_rfc6454_credentials_go_to_their_origin_only(case: tuple[type, str], server: HostileServer) -> None:
    with HostileServer() as other:
        origin = server.origin()
        secrets = Credentials(origin, (("X-Api-Key", "k3y"),), ("user", "pässword"), (("sid", "1"), ("b", "2")))
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
