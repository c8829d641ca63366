"""The server under clients that do not behave: what they send, how slowly, how much of it, and under which name."""

import contextlib
import random
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from web_made import board, urlset, usual
from web_served import Served, drained, serving

from crawler.config.sections import DaemonConfig
from crawler.errors import UsageError
from crawler.schedule.web.server import bind_socket, is_own_host

LINES = b"Host: localhost\r\nConnection: close\r\n\r\n"
OK = b"GET /healthz HTTP/1.1\r\n" + LINES


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    shop = usual(tmp_path_factory.mktemp("hostile"))
    with serving(board(shop), serve_sitemaps=True) as server:
        yield server


def status(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1]) if answer.startswith(b"HTTP/1.1 ") else 0


@pytest.mark.parametrize(
    ("request_", "statuses"),
    [
        pytest.param(b"GET /\r\n\r\n", (400,), id="HTTP/0.9"),
        pytest.param(b"\x16\x03\x01\x02\x00\x01\x00" + b"\xfc" * 200 + b"\r\n\r\n", (400,), id="TLS"),
        pytest.param(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", (505,), id="HTTP/2"),
        pytest.param(b"\0\0\0\0\r\n\r\n", (400,), id="zeros"),
        pytest.param(b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\n" + LINES, (414, 400, 0), id="long path"),
        pytest.param(b"GET / HTTP/1.1\r\nX: " + b"a" * 70_000 + b"\r\n" + LINES, (431, 400, 0), id="long header"),
        pytest.param(b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 9_000 + LINES, (431, 400, 0), id="many headers"),
        pytest.param(b"GET / HTTP/9.9\r\n" + LINES, (505,), id="version"),
        pytest.param(b"GET  / HTTP/1.1\r\n" + LINES, (400,), id="two blanks"),
        pytest.param(b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", (400,), id="two hosts"),
        pytest.param(b"GET / HTTP/1.1\r\n\r\n", (400,), id="no host"),
        pytest.param(b"GET / HTTP/1.1\r\nHost : localhost\r\n\r\n", (400,), id="blank before colon"),
        pytest.param(b"GET / HTTP/1.1\r\n folded\r\n" + LINES, (400,), id="folded"),
        pytest.param(b"GET / HTTP/1.1\r\nX: a\0b\r\n" + LINES, (400,), id="NUL in header"),
        pytest.param(b"CONNECT example.com:80 HTTP/1.1\r\n" + LINES, (400, 405), id="CONNECT"),
        pytest.param(b"OPTIONS * HTTP/1.1\r\n" + LINES, (405,), id="OPTIONS *"),
        pytest.param(b"GET * HTTP/1.1\r\n" + LINES, (400,), id="GET *"),
        pytest.param(b"TRACE / HTTP/1.1\r\n" + LINES, (405,), id="TRACE"),
        pytest.param(b"DELETE /sites/shop HTTP/1.1\r\n" + LINES, (405,), id="DELETE"),
        pytest.param(b"GARBAGE /healthz HTTP/1.1\r\n" + LINES, (405,), id="method"),
        pytest.param(b"GET http://localhost/healthz HTTP/1.1\r\n" + LINES, (400,), id="absolute"),
        pytest.param(b"GET http://evil.example/healthz HTTP/1.1\r\n" + LINES, (400,), id="absolute, other"),
        pytest.param(b"GET http://[::1]/healthz HTTP/1.1\r\n" + LINES.replace(b"localhost", b"x.y"), (400,), id="both"),
        pytest.param(b"GET https://localhost/ HTTP/1.1\r\n" + LINES, (400,), id="absolute https"),
        pytest.param(b"GET //localhost/healthz HTTP/1.1\r\n" + LINES, (404,), id="two slashes"),
        pytest.param(b"GET /%00 HTTP/1.1\r\n" + LINES, (400,), id="NUL"),
        pytest.param(b"GET /sites/%2e%2e/%2e%2e/etc/passwd HTTP/1.1\r\n" + LINES, (404,), id="dots"),
        pytest.param(b"GET /sites/..%5c..%5cetc HTTP/1.1\r\n" + LINES, (404,), id="backslash"),
        pytest.param(b"GET /sites/%252e%252e%252f HTTP/1.1\r\n" + LINES, (404,), id="twice"),
        pytest.param(b"GET /sites/%c0%ae%c0%ae%c0%af HTTP/1.1\r\n" + LINES, (404,), id="overlong"),
        pytest.param(b"GET /sites/shop%0d%0aSet-Cookie:a=b HTTP/1.1\r\n" + LINES, (404,), id="CRLF"),
        pytest.param(b"GET /sites/shop?run=" + b"9" * 7_000 + b" HTTP/1.1\r\n" + LINES, (200,), id="number"),
        pytest.param(b"GET /sites/shop?run=-1 HTTP/1.1\r\n" + LINES, (200,), id="negative"),
        pytest.param(b"GET /?q=%ff%00%3Cb%3E HTTP/1.1\r\n" + LINES, (200,), id="query"),
        pytest.param(b"GET / HTTP/1.1\r\nUpgrade: websocket\r\nConnection: upgrade\r\n" + LINES, (200,), id="upgrade"),
        pytest.param(b"GET / HTTP/1.0\r\n\r\n", (200,), id="HTTP/1.0"),
    ],
)  # fmt: skip
def test_ours_a_request_that_is_none_is_refused_and_the_next_one_is_answered(
    served: Served, request_: bytes, statuses: tuple[int, ...]
) -> None:
    answer = served.send(request_)
    assert status(answer) in statuses, answer[:300]
    assert b"root:" not in answer
    assert b"\r\nset-cookie" not in answer.lower()
    assert b"Traceback" not in answer
    assert status(served.send(OK)) == 200


@pytest.mark.parametrize(
    "lines",
    [
        b"Content-Length: 5\r\n",
        b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n",
        b"Transfer-Encoding: chunked\r\nContent-Length: 4\r\n",
        b"Transfer-Encoding: chunked\r\n",
        b"Transfer-Encoding: xchunked\r\n",
        b"Transfer-Encoding: chunked, identity\r\n",
        b"Transfer-Encoding : chunked\r\n",
        b"Content-Length: 0\r\nContent-Length: 40\r\n",
        b"Content-Length: +5\r\n",
        b"Content-Length: 0x5\r\n",
        b"Content-Length: 99999999999999999999999\r\n",
        b"Content-Length: 5\r\nExpect: 100-continue\r\n",
    ],
)
@pytest.mark.parametrize("method", [b"GET", b"POST"])
def test_ours_what_follows_a_body_is_never_taken_for_a_request(served: Served, method: bytes, lines: bytes) -> None:
    inner = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
    answer = served.send(method + b" / HTTP/1.1\r\nHost: localhost\r\n" + lines + b"\r\n0\r\n\r\n" + inner)
    assert answer.count(b"HTTP/1.1 ") == 1, answer[:500]
    assert status(answer) in (400, 413, 501)
    assert b"100 Continue" not in answer


def test_rfc9112_requests_one_after_the_other_are_answered_in_order(served: Served) -> None:
    many = b"".join(b"GET /nothing%d HTTP/1.1\r\nHost: localhost\r\n\r\n" % number for number in range(20))
    answer = served.send(many + OK)
    assert answer.count(b"HTTP/1.1 404") == 20
    assert answer.count(b"HTTP/1.1 200") == 1


def test_ours_only_names_of_this_machine_are_answered(served: Served) -> None:
    for host, expected in {
        "localhost": 200, "localhost:1": 200, "127.0.0.1": 200, "127.8.8.8:80": 200, "[::1]:9188": 200, "10.1.2.3": 200,
        "a.localhost": 200, "LOCALHOST.": 200, socket.gethostname(): 200,
        "evil.example": 421, "evil.example:9188": 421, "127.0.0.1.evil.example": 421, "localhost.evil.example": 421,
        "1.2.3.4.5": 421, "[::1].evil.example": 421, "localhost@evil.example": 421, "localhost:80:80": 421,
        "xn--80ak6aa92e.com": 421, "[": 421, ":": 421, "0x7f000001": 421, "evil.example#localhost": 421,
    }.items():  # fmt: skip
        for path in ("/", "/healthz", "/metrics"):
            assert served.ask(path, Host=host)[0] == expected, host
    for path, answer in {"/": 421, "/sites/shop": 421, "/metrics": 404, "/healthz": 404}.items():
        assert served.ask(path, Host="www.example.com")[0] == answer, "a site's own name has its files only"
    assert is_own_host("status.example.com:443", ["Status.Example.com"])
    assert not is_own_host("a.example.com", ["example.com"])
    assert is_own_host("evil.example", "*")


def test_ours_every_answer_says_what_a_browser_may_do_with_it(served: Served) -> None:
    for path in ("/", "/sites/shop", "/healthz", "/metrics", "/nothing", "/sites/shop/audit/audit.json"):
        _, headers, _ = served.ask(path)
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["server"] is None
        assert headers["set-cookie"] is None


# -------------------------------------------------------------------- slowness


def test_ours_who_is_slow_to_ask_is_let_go_and_the_others_are_answered(tmp_path: Path) -> None:
    with serving(board(usual(tmp_path)), patience=0.6) as served:
        with contextlib.ExitStack() as stack:
            silent, slow, lazy = (stack.enter_context(served.wire()) for _ in range(3))
            lazy.sendall(b"GET /nothing HTTP/1.1\r\nHost: localhost\r\n\r\n")
            begun = time.monotonic()
            with contextlib.suppress(OSError):
                for byte in b"GET / HTTP/1.1\r\nX: " + b"a" * 1_000:
                    slow.sendall(bytes([byte]))
                    time.sleep(0.05)
                    assert time.monotonic() - begun < 15
            assert status(served.send(OK)) == 200
            assert drained(slow) == drained(silent) == b""
            lazy.sendall(b"G")
            assert drained(lazy).count(b"HTTP/1.1") <= 2
        assert time.monotonic() - begun < 15


def test_ours_who_does_not_take_a_big_file_is_let_go_and_the_file_closed(tmp_path: Path) -> None:
    shop = usual(tmp_path)
    (shop.output / "sitemap-1.xml").write_text(urlset(300_000))
    process = psutil.Process()
    with serving(board(shop), patience=0.5, serve_sitemaps=True) as served:
        with contextlib.ExitStack() as stack:
            for coding in (b"", b"Accept-Encoding: gzip\r\n"):
                wire = socket.socket()
                stack.enter_context(wire)
                wire.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2_048)
                wire.connect(("127.0.0.1", served.port))
                wire.sendall(b"GET /published/shop/sitemap-1.xml HTTP/1.1\r\n" + coding + LINES)
                assert wire.recv(100)
            deadline = time.monotonic() + 20
            while any("sitemap-1.xml" in file.path for file in process.open_files()):
                assert time.monotonic() < deadline, "the file is open still"
                time.sleep(0.05)
        assert status(served.send(OK)) == 200
        with served.wire() as wire:  # and who goes away in the middle leaves nothing behind
            wire.sendall(b"GET /published/shop/sitemap-1.xml HTTP/1.1\r\n" + LINES)
            assert wire.recv(100)
        deadline = time.monotonic() + 20
        while any("sitemap-1.xml" in file.path for file in process.open_files()):
            assert time.monotonic() < deadline, "the file is open still"
            time.sleep(0.05)


@pytest.mark.thorough
def test_ours_a_client_that_goes_on_asking_or_reading_is_never_let_go(tmp_path: Path) -> None:
    shop = usual(tmp_path)
    (shop.output / "sitemap-1.xml").write_text(urlset(300_000))
    size = (shop.output / "sitemap-1.xml").stat().st_size
    with serving(board(shop), patience=0.6, serve_sitemaps=True) as served:
        with served.wire() as asking:
            for _ in range(5):
                asking.sendall(b"HEAD /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
                assert b" 200 " in asking.recv(10_000)
                time.sleep(0.3)
        with served.wire() as reading:
            reading.sendall(b"GET /published/shop/sitemap-1.xml HTTP/1.1\r\n" + LINES)
            got = 0
            while piece := reading.recv(1 << 20):
                got += len(piece)
                time.sleep(min(0.3, 1.8 * len(piece) / size))  # in all longer than the server waits at once
        assert got > size


def test_ours_an_idle_client_makes_room_for_another(tmp_path: Path) -> None:
    with serving(board(usual(tmp_path)), max_clients=2) as served, contextlib.ExitStack() as stack:
        first, second = (stack.enter_context(served.wire()) for _ in range(2))
        for wire in (first, second):
            wire.sendall(b"HEAD /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert b" 200 " in wire.recv(10_000)
            time.sleep(0.05)
        assert status(served.send(OK)) == 200
        assert drained(first) == b"", "the one that is idle for longest is let go"
        second.sendall(OK)
        assert status(drained(second)) == 200


@pytest.mark.thorough
def test_ours_there_are_never_more_clients_than_may_be(tmp_path: Path) -> None:
    with serving(board(usual(tmp_path)), patience=1.0, max_clients=5) as served, contextlib.ExitStack() as stack:
        idle = stack.enter_context(served.wire())
        idle.sendall(b"GET /nothing HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert b"404" in idle.recv(10_000)
        wires = [stack.enter_context(served.wire()) for _ in range(40)]
        gone = [wire for wire in wires[:35] if not drained(wire)]
        assert len(gone) == 35, "those that wait for longest make room"
        open_wires = [each for each in psutil.Process().net_connections() if each.laddr[1:] == (served.port,)]
        assert len([each for each in open_wires if each.status == psutil.CONN_ESTABLISHED]) <= 5
        assert status(served.send(OK)) == 200


BIG_FILE = b"GET /published/shop/sitemap-1.xml HTTP/1.1\r\n" + LINES


@pytest.mark.thorough
@pytest.mark.parametrize("sends", [b"", b"GET /healthz HTTP/1.1\r\nX: ", BIG_FILE], ids=["silent", "begins", "no read"])
def test_ours_slow_clients_never_keep_healthz_from_answering(tmp_path: Path, sends: bytes) -> None:
    """200 clients, with the limits of the configuration, that send nothing, a part of a request, or do not read."""
    shop = usual(tmp_path)
    (shop.output / "sitemap-1.xml").write_text(urlset(300_000))
    with (
        serving(board(shop), patience=10.0, max_clients=64, serve_sitemaps=True) as served,
        contextlib.ExitStack() as stack,
    ):
        for number in range(200):
            wire = stack.enter_context(socket.socket())
            wire.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2_048)
            wire.connect(("127.0.0.1", served.port))
            with contextlib.suppress(OSError):
                wire.sendall(sends)
            if number % 20 == 19:
                begun = time.monotonic()
                assert b" 200 OK" in served.send(b"GET /healthz HTTP/1.1\r\n" + LINES)
                assert time.monotonic() - begun < 5


@pytest.mark.thorough
def test_ours_a_stop_waits_for_who_is_being_answered_but_not_for_long(tmp_path: Path) -> None:
    shop = usual(tmp_path)
    (shop.output / "sitemap-1.xml").write_text(urlset(300_000))
    with contextlib.ExitStack() as stack:
        begun = 0.0
        with serving(board(shop), patience=1.0, serve_sitemaps=True) as served:
            for sent in (b"", b"GET / HT", b"GET /published/shop/sitemap-1.xml HTTP/1.1\r\n" + LINES):
                wire = stack.enter_context(served.wire())
                wire.sendall(sent)
            assert wire.recv(100)
            begun = time.monotonic()
        assert time.monotonic() - begun < 10


# -------------------------------------------------------------------- where it listens


@pytest.mark.parametrize(
    "listen",
    ["9188", ":9188", "localhost", "localhost:", "localhost:x", "::1:9188", "[::1]", "a:99999", "a:-1", "a:\u0661"],
)  # fmt: skip
def test_ours_an_address_that_is_none_is_told_in_one_line(listen: str) -> None:
    with pytest.raises(UsageError, match=r"daemon\.listen") as told, bind_socket(listen):
        pass
    assert "\n" not in str(told.value)


def test_ours_a_port_that_is_taken_is_told_in_one_line() -> None:
    with bind_socket("127.0.0.1:0") as first:
        taken = f"127.0.0.1:{first.getsockname()[1]}"
        with (
            pytest.raises(UsageError, match=f"cannot listen at {taken}: Address already in use. Set daemon.listen"),
            bind_socket(taken),
        ):
            pass
    with pytest.raises(UsageError, match=r"cannot listen at nowhere\.invalid:80: "), bind_socket("nowhere.invalid:80"):
        pass


def test_ours_it_listens_at_a_path_which_is_there_as_long_as_it_does(tmp_path: Path) -> None:
    path = tmp_path / "socket"
    listen = f"unix:{path}"
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))
    with serving(board(), listen=listen), socket.socket(socket.AF_UNIX) as wire:
        wire.connect(str(path))
        wire.sendall(b"GET /healthz HTTP/1.1\r\nHost: anything.example\r\nConnection: close\r\n\r\n")
        assert status(drained(wire)) == 200
        with pytest.raises(UsageError, match="Address already in use"), bind_socket(listen):
            pass
    assert not path.exists()
    path.write_text("a file of somebody")
    with pytest.raises(UsageError, match="this path is a file, not a socket"), bind_socket(listen):
        pass
    assert path.read_text()


def test_ours_the_usual_address_is_the_loopback() -> None:
    assert DaemonConfig().listen.startswith("127.0.0.1:")


# -------------------------------------------------------------------- many of all this

_PIECES = (
    b"GET ", b"HEAD ", b"POST ", b"/", b"/sites/shop", b"/published/shop/sitemap-1.xml", b"/metrics", b"%2e", b"..",
    b"\\", b"?run=1", b"?q=", b" HTTP/1.1", b" HTTP/1.0", b"\r\n", b"\n", b"\r", b"\0", b" ", b":",
    b"Host: localhost\r\n",
    b"Range: bytes=0-,0-\r\n", b"Range: bytes=-1\r\n", b"Accept-Encoding: gzip\r\n", b"If-None-Match: *\r\n",
    b"Content-Length: 3\r\n", b"Transfer-Encoding: chunked\r\n", b"Connection: keep-alive\r\n", b"\r\n\r\n",
    b"Expect: 100-continue\r\n", b"Connection: close\r\n", b"http://", b"localhost", b"*", b"\xff\xfe", b"\x80",
    b"a" * 900,
)  # fmt: skip


@pytest.mark.slow
def test_ours_no_heap_of_pieces_is_too_much(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    shop = usual(tmp_path)
    (shop.output / "sitemap-1.xml").write_text(urlset(3_000))
    chance = random.Random(6)  # always the same heaps
    process = psutil.Process()
    with serving(board(shop), patience=0.3, serve_sitemaps=True) as served:
        assert status(served.send(OK)) == 200
        before = process.num_fds(), process.memory_info().rss
        for _ in range(1_500):
            heap = b"".join(chance.choices(_PIECES, k=chance.randint(1, 14)))
            with served.wire() as wire:
                with contextlib.suppress(ConnectionError):
                    wire.sendall(heap if chance.random() < 0.5 else b"GET / HTTP/1.1\r\n" + heap + b"\r\n\r\n")
                    wire.shutdown(socket.SHUT_WR)
                answer = drained(wire, 5)
                assert answer == b"" or status(answer), answer[:200]
                assert b"HTTP/1.1 500" not in answer, heap
        assert status(served.send(OK)) == 200
        assert process.num_fds() <= before[0] + 4
        assert process.memory_info().rss < before[1] + 60_000_000
    assert [record for record in caplog.records if record.levelname in ("ERROR", "CRITICAL")] == []


@pytest.mark.slow
def test_ours_a_thousand_connections_keep_nobody_out_for_long(tmp_path: Path) -> None:
    with serving(board(usual(tmp_path)), patience=1.0) as served, contextlib.ExitStack() as stack:
        for number in range(1_000):
            with contextlib.suppress(OSError):
                wire = stack.enter_context(served.wire())
                wire.sendall(b"GET / HT" if number % 2 else b"")
        deadline = time.monotonic() + 30
        while status(served.send(OK)) != 200:
            assert time.monotonic() < deadline
            time.sleep(0.1)
