"""HTTP/2 connections that break, against a server that speaks the protocol frame by frame (catalogue B30)."""

import json
import socket
import ssl
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import h2.config
import h2.connection
import h2.errors
import h2.events
import pytest
import trustme
from run import FAST, crawl, listed, siteatlas
from scripted import scripted

pytestmark = pytest.mark.thorough

PAGES = [f"/{number}" for number in range(6)]
HOME = "".join(f'<a href="{path}">{path}</a>' for path in PAGES).encode()
BROKEN = "/3"  # at the first request, or at each


class Http2Server:
    """Answers each page; the page ``BROKEN`` gets ``fault``, ``times`` times."""

    def __init__(self, fault: str, times: int, context: ssl.SSLContext) -> None:
        self.fault = fault
        self.times = times
        self.asked: Counter[str] = Counter()
        self.connections = 0
        self._context = context
        self._lock = threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"https://127.0.0.1:{self._listener.getsockname()[1]}/"
        self._open: list[socket.socket] = []

    def serve(self) -> None:
        with suppress(OSError):
            while True:
                raw, _ = self._listener.accept()
                self._open.append(raw)
                threading.Thread(target=self._speak, args=(raw,), daemon=True).start()

    def close(self) -> None:
        for each in (self._listener, *self._open):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _speak(self, raw: socket.socket) -> None:
        with suppress(OSError, h2.exceptions.ProtocolError):
            client = self._context.wrap_socket(raw, server_side=True)
            self._open.append(client)  # it takes the place of the plain socket
            if client.selected_alpn_protocol() != "h2":
                client.close()
                return
            with self._lock:
                self.connections += 1
            speech = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False, header_encoding="utf-8"))
            speech.initiate_connection()
            client.sendall(speech.data_to_send())
            while data := client.recv(65_536):
                for event in speech.receive_data(data):
                    if isinstance(event, h2.events.RequestReceived) and not self._answer(speech, event, client):
                        return
                client.sendall(speech.data_to_send())

    def _answer(
        self, speech: h2.connection.H2Connection, event: h2.events.RequestReceived, client: ssl.SSLSocket
    ) -> bool:
        """Answer a request; False ends the connection."""
        stream, path = event.stream_id, dict(event.headers)[":path"]
        with self._lock:
            self.asked[path] += 1
            is_broken = path == BROKEN and self.asked[path] <= self.times
        ok = [(":status", "200"), ("content-type", "text/html")]
        if not is_broken:
            body = HOME if path == "/" else b"<p>a page"
            status = [(":status", "404")] if path in {"/robots.txt", "/sitemap.xml"} else ok
            speech.send_headers(stream, status)
            speech.send_data(stream, body, end_stream=True)
            return True
        if self.fault == "reset":
            speech.send_headers(stream, ok)
            speech.send_data(stream, b"<p>half a ")
            speech.reset_stream(stream, h2.errors.ErrorCodes.INTERNAL_ERROR)
        elif self.fault == "refused":
            speech.reset_stream(stream, h2.errors.ErrorCodes.REFUSED_STREAM)
        elif self.fault == "goaway":  # orderly: this stream was not looked at
            speech.close_connection(h2.errors.ErrorCodes.NO_ERROR, last_stream_id=max(stream - 2, 0))
            client.sendall(speech.data_to_send())
            return False
        elif self.fault == "abort":
            speech.send_headers(stream, ok)
            speech.send_data(stream, b"<p>half a ")
            speech.close_connection(h2.errors.ErrorCodes.INTERNAL_ERROR, last_stream_id=stream)
            client.sendall(speech.data_to_send())
            return False
        elif self.fault == "headers":  # more than any page needs, in compressed bytes that are few
            pad = [(f"x-{number}", "a" * 4_000) for number in range(200)]
            speech.send_headers(stream, [*ok, *pad])
            speech.send_data(stream, b"<p>a page", end_stream=True)
        else:  # stalled: the headers, and then nothing
            speech.send_headers(stream, ok)
        return True


@contextmanager
def http2_server(folder: Path, fault: str, times: int) -> Iterator[Http2Server]:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(folder / "ca.pem")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1", "h2.test-site.org").configure_cert(context)
    context.set_alpn_protocols(["h2"])
    server = Http2Server(fault, times, context)
    threading.Thread(target=server.serve, daemon=True).start()
    try:
        yield server
    finally:
        server.close()


def addresses(server: Http2Server, *left_out: str) -> list[str]:
    return sorted(f"{server.url}{path[1:]}" for path in ["/", *PAGES] if path not in left_out)


@pytest.mark.parametrize("transport", ["fast", "httpx"])
@pytest.mark.parametrize("fault", ["reset", "refused", "goaway", "abort", "stalled"])
def test_rfc9113_a_broken_stream_is_fetched_again_and_costs_no_other_page(
    tmp_path: Path, transport: str, fault: str
) -> None:
    with http2_server(tmp_path, fault, 1) as server:
        words = (
            f"--set=fetch.transport={transport}",
            "--set=fetch.http2=true",
            "--set=fetch.ca_file=ca.pem",
            "--set=fetch.read_timeout=1",
            *FAST,
        )
        ran = crawl(tmp_path, server.url, *words)
        assert ran.code == 0, ran.err
        assert sorted(listed(tmp_path)) == addresses(server)
        assert server.asked[BROKEN] == 2


@pytest.mark.parametrize("transport", ["fast", "httpx"])
@pytest.mark.parametrize("fault", ["reset", "goaway", "abort", "stalled"])
def test_rfc9113_a_page_whose_streams_always_break_fails_alone(tmp_path: Path, transport: str, fault: str) -> None:
    with http2_server(tmp_path, fault, 1_000) as server:
        # Two retries: by chance a neighbour on the same connection may be retried in the same millisecond as the page
        # that breaks it, and lose that attempt as well.
        words = (
            f"--set=fetch.transport={transport}",
            "--set=fetch.http2=true",
            "--set=fetch.ca_file=ca.pem",
            "--set=fetch.read_timeout=1",
            "--set=fetch.retries=2",
        )
        ran = crawl(tmp_path, server.url, *words, *FAST)
        assert ran.code == 0, ran.err
        assert f"{server.url}{BROKEN[1:]}  (" in ran.out
        assert sorted(listed(tmp_path)) == addresses(server, BROKEN)


@pytest.mark.parametrize("transport", ["fast", "httpx"])
def test_rfc9113_headers_without_measure_cost_one_page_at_most(tmp_path: Path, transport: str) -> None:
    with http2_server(tmp_path, "headers", 1_000) as server:
        words = (
            f"--set=fetch.transport={transport}",
            "--set=fetch.http2=true",
            "--set=fetch.ca_file=ca.pem",
            "--set=fetch.retries=1",
            *FAST,
            "-c",
            "1",
        )
        ran = crawl(tmp_path, server.url, *words)
        assert ran.code == 0, ran.err
        assert set(addresses(server, BROKEN)) <= set(listed(tmp_path)) <= set(addresses(server))


@pytest.mark.parametrize(("http2", "unknown"), [("true", 0), ("false", 1)])
def test_rfc9113_a_page_of_a_site_that_speaks_http2_only_is_never_dead(
    tmp_path: Path, http2: str, unknown: int
) -> None:
    with http2_server(tmp_path, "reset", 0) as server, scripted({}) as site:
        host = server.url.replace("127.0.0.1", "h2.test-site.org")
        site.routes["/"] = f'<title>A</title><a href="{host}1">one</a>'
        words = ("--check-external", f"--set=fetch.http2={http2}", "--set=fetch.ca_file=ca.pem", "--state", "state")
        words += ("--resolve", f"{host.split('/')[2]}:127.0.0.1", "--render", "never", "-o", "out", *FAST)
        for _ in range(2):
            siteatlas(tmp_path, "audit", site.url, *words)
            report = json.loads((tmp_path / "out" / "audit.json").read_bytes())
            assert not [each for each in report["findings"] if each["rule"].startswith("target.")]
            assert sum("of other sites nothing is known" in note for note in report["notes"]) == unknown
