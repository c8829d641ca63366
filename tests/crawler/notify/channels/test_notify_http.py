"""Messages over HTTP to servers that answer, break off, never end and echo secrets, on asyncio and trio."""

import base64
import socket
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest
from hostile import Certificates, HostileServer, Step, answer, chunked, drip, fin, repeat, rst, send, sleep

from crawler.config.secrets import quote_message
from crawler.errors import UsageError
from crawler.fetch.errors import FailureCode, failure
from crawler.model import Failure
from crawler.notify.channels.http import HttpSender, NoResponse, NotifyResponse, display_origin, result_of
from crawler.notify.notice import SendStatus

SECRET = "T0PSECRET-7f3a9"
KEY = "another-5c1e8d"
PATH = f"/services/{SECRET}"


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def server() -> Iterator[HostileServer]:
    with HostileServer() as server:
        yield server


async def sent(server: HostileServer, *steps: Step, timeout: float = 5.0) -> NotifyResponse | NoResponse:
    server.route(PATH, *steps)
    async with HttpSender("Siteatlas/1", timeout=timeout) as http:
        with anyio.fail_after(10):
            return await http.send(
                "POST", server.url(PATH), headers={"Authorization": f"Bearer {SECRET}2", "X-Key": KEY}
            )


@pytest.mark.anyio
async def test_rfc9110_a_message_arrives_as_it_is_and_its_answer_comes_back(server: HostileServer) -> None:
    bodies: list[bytes] = []

    async def take(wire: object) -> None:
        bodies.append(await wire.reader.readexactly(100_000))  # type: ignore[attr-defined]

    server.route(PATH, take, answer(b"thanks", "Content-Type: text/plain", "Retry-After: 7", status="202 OK"))
    url = server.url(PATH).replace("://", "://us%20er:p%3Aw@")
    async with HttpSender("Siteatlas/1") as http:
        got = await http.send("POST", f"{url}#part", headers={"X-Own": "yes"}, body=b"a" * 100_000)
        assert isinstance(got, NotifyResponse)
        assert (got.status, got.body, got.wait, got.text) == (202, b"thanks", 7.0, "thanks")
        again = await http.send("POST", f"{url}?a=b", headers={"Authorization": "Bearer own"}, body=b"")
        assert isinstance(again, NotifyResponse)
        assert again.status == 404
    (first, second) = server.requests
    assert bodies == [b"a" * 100_000]
    assert first.header("X-Own") == "yes"
    assert first.header("User-Agent") == "Siteatlas/1"
    assert first.header("Authorization") == "Basic " + base64.b64encode(b"us er:p:w").decode()
    assert second.path == f"{PATH}?a=b"
    assert second.header("Authorization") == "Bearer own"
    assert second.header("Content-Length") == "0"


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("status", "reception", "wait"),
    [
        ("200 OK", SendStatus.ACCEPTED, 0),
        ("204 No Content", SendStatus.ACCEPTED, 0),
        ("301 Moved", SendStatus.REFUSED, 0),
        ("400 Bad Request", SendStatus.REFUSED, 0),
        ("404 Not Found", SendStatus.REFUSED, 0),
        ("408 Request Timeout", SendStatus.DEFERRED, 30),
        ("425 Too Early", SendStatus.DEFERRED, 30),
        ("429 Too Many Requests", SendStatus.DEFERRED, 30),
        ("500 Oh", SendStatus.DEFERRED, 30),
        ("503 Service Unavailable", SendStatus.DEFERRED, 30),
        ("599 Own", SendStatus.DEFERRED, 30),
        ("999 What", SendStatus.REFUSED, 0),
    ],
)
async def test_rfc9110_the_status_says_what_became_of_it(
    server: HostileServer, status: str, reception: SendStatus, wait: float
) -> None:
    echo = f"no such hook: {PATH}\x1b[31m\r\nbearer {SECRET}2 or {KEY}".encode()
    lines = ("Content-Type: text/plain", "Retry-After: 30", f"Location: https://b.example{PATH}")
    body = b"" if status.startswith("204") else echo
    got = result_of(await sent(server, answer(body, *lines, status=status)), "the webhook")
    assert (got.reception, got.wait) == (reception, wait)
    assert got.message.isprintable()
    assert SECRET not in got.message
    assert KEY not in got.message
    assert ("https://b.example: siteatlas does not follow it" in got.message) == status.startswith("3")
    assert ("no such hook: ***" in got.message) == (status[0] not in "23")


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("steps", "words"),
    [
        ((rst(),), "closed the connection without a response"),
        ((fin(),), "closed the connection without a response"),
        ((send(b"SSH-2.0-OpenSSH\r\n\r\n"), fin()), "not valid HTTP"),
        ((send(b"HTTP/1.1 200 OK\r\n"), sleep(9)), "did not respond within 0.15 seconds"),
        ((drip(b"HTTP/1.1 200 OK\r\n" * 99, 0.02),), "did not respond within 0.15 seconds"),
    ],
)
async def test_ours_without_an_answer_there_is_a_sentence(
    server: HostileServer, steps: tuple[Step, ...], words: str
) -> None:
    got = await sent(server, *steps, timeout=0.15)
    assert isinstance(got, NoResponse)
    assert words in got.message
    assert server.origin() in got.message
    assert SECRET not in got.message
    assert result_of(got, "x").reception is SendStatus.DEFERRED


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("steps", "size"),
    [
        ((send(b"HTTP/1.1 200 OK\r\n\r\n"), repeat(b"x" * 9_999, 99_999)), 65_536),
        ((chunked(b"x" * 99_999, last=False), sleep(9)), 65_536),
        ((send(b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\nab"), sleep(9)), 2),
        ((send(b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\nab"), rst()), None),
        ((send(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\nabc"), fin()), 3),
    ],
)
async def test_ours_an_answer_whose_body_does_not_end_counts(
    server: HostileServer, steps: tuple[Step, ...], size: int | None
) -> None:
    got = await sent(server, *steps, timeout=0.25)
    assert isinstance(got, NotifyResponse)
    assert got.status == 200
    assert size is None or len(got.body) == size


@pytest.mark.anyio
async def test_ours_the_way_there_may_fail_too(tmp_path: Path) -> None:
    certificates = Certificates.make(tmp_path)
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        dead = f"http://127.0.0.1:{closed.getsockname()[1]}/{SECRET}"
        with HostileServer(tls=certificates.good) as good, HostileServer(tls=certificates.stranger) as bad:
            good.route("*", answer())
            async with HttpSender("x", timeout=5, ca_file=certificates.ca_file) as http:
                fine = await http.send("GET", good.url(f"/{SECRET}"))
                stranger = await http.send("GET", bad.url(f"/{SECRET}"))
                refused = await http.send("GET", dead)
                wrong = [
                    await http.send("GET", url)
                    for url in (f"ftp://a/{SECRET}", SECRET, f"http://[{SECRET}/", f"http://a:{SECRET}@[::/")
                ]
                split = await http.send("GET", good.url(), headers={"X": f"{SECRET}\r\nX-More: 1"})
            async with HttpSender("x", ca_file=tmp_path / "none.pem") as http:
                blind = await http.send("GET", good.url())
            for proxy in (f"{dead.replace('://', f'://u:{SECRET}@')}", f"gopher://u:{SECRET}@a/", SECRET):
                async with HttpSender("x", ca_file=certificates.ca_file, proxy=proxy) as http:
                    wrong.append(await http.send("GET", good.url()))
    assert isinstance(fine, NotifyResponse)
    for got, words in ((stranger, "certificate"), (refused, "refused the connection"), (blind, "CA file")):
        assert isinstance(got, NoResponse)
        assert words in got.message
    for got in (*wrong, split, stranger, refused):
        assert isinstance(got, NoResponse)
        assert SECRET not in got.message
    with pytest.raises(UsageError, match="User-Agent") as caught:
        HttpSender(f"x\n{SECRET}")
    assert SECRET not in str(caught.value)


@pytest.mark.anyio
async def test_ours_a_host_that_does_not_exist_is_named_without_its_scheme(monkeypatch: pytest.MonkeyPatch) -> None:
    async def fetch(*_: object, **__: object) -> Failure:
        return failure(FailureCode.DNS_NXDOMAIN, "of a crawl")

    async with HttpSender("x", timeout=5) as http:
        monkeypatch.setattr(http._fetcher, "fetch", fetch)
        got = await http.send("GET", f"https://nowhere.invalid:8443/{SECRET}")
    assert isinstance(got, NoResponse)
    assert got.message.startswith("the host name nowhere.invalid does not exist; check its spelling")


@pytest.mark.anyio
async def test_ours_a_caller_that_gives_up_is_let_go(server: HostileServer) -> None:
    server.route(PATH, send(b"HTTP/1.1 200 OK\r\n\r\n"), sleep(9))
    with anyio.move_on_after(0.1) as scope:
        async with HttpSender("x", timeout=9) as http:
            await http.send("GET", server.url(PATH))
    assert scope.cancelled_caught


def test_ours_the_origin_is_all_that_is_told_of_a_url() -> None:
    assert display_origin("https://u:p@Example.com:8443/a/b?c#d") == "https://example.com:8443"
    assert display_origin("http://[::1]:80/") == "http://[::1]"
    for wrong in ("", "mailto:a@b", "https://", "//a/b", "http://a:b/", "x" * 99_999):
        with pytest.raises(ValueError, match="URL"):
            display_origin(wrong)


def test_ours_the_words_of_others_are_made_harmless() -> None:
    assert quote_message("  one\r\ntwo\x1b[2J\u202e ") == "one two�[2J�"
    assert quote_message("a" * 500) == "a" * 199 + "…"
    assert quote_message("tok%2Fen-123 tok/en-123", ("tok/en-123",)) == "*** ***"
    html = NotifyResponse(status=400, headers={"content-type": "text/html"}, body=b"<p>no")
    assert html.text == ""
    packed = NotifyResponse(status=400, headers={}, body=b"\x1f\x8b\x08\0\0")
    assert packed.text == ""
