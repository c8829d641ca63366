"""A scripted website on the loopback address: a dictionary of paths, and a log of what was asked for."""

import contextlib
import http.server
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass
class Answer:
    """What a path answers. Bodies of text are HTML in UTF-8 unless a Content-Type is given.

    One with an ETag is answered "not modified" to whoever has it.
    """

    body: str | bytes = ""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0.0


Route = Answer | str | Callable[[int], Answer]
"""An answer, a body, or a function of how often the path was asked for before."""


class Site:
    """A running scripted site. ``routes`` may be changed while it runs; a path without a route answers 404.

    With an ``authorization`` every request without it answers 401.
    """

    def __init__(self, routes: dict[str, Route], authorization: str = "") -> None:
        self.routes = routes
        self._authorization = authorization
        self.log: list[tuple[float, str, dict[str, str]]] = []
        self.url = ""
        self._asked: dict[str, int] = {}
        self._lock = threading.Lock()

    @property
    def paths(self) -> list[str]:
        """The paths asked for so far, in order, without the names that cannot exist: every audit asks for some."""
        return [path for _, path, _ in self.log if not path.rpartition("/")[2].startswith("siteatlas")]

    def answer(self, path: str, headers: Mapping[str, str]) -> Answer:
        with self._lock:
            self.log.append((time.monotonic(), path, {k.lower(): v for k, v in headers.items()}))
            before = self._asked.get(path, 0)
            self._asked[path] = before + 1
        if self._authorization and headers.get("Authorization") != self._authorization:
            return Answer("who are you?", 401)
        route = self.routes.get(path)
        if route is None:
            return Answer("not here", 404)
        if isinstance(route, str):
            return Answer(route)
        answer = route if isinstance(route, Answer) else route(before)
        has_it = answer.status == 200 and answer.headers.get("ETag", "") == headers.get("If-None-Match")
        return Answer("", 304, answer.headers, answer.delay) if has_it else answer


@contextmanager
def scripted(
    routes: dict[str, Route], authorization: str = "", port: int = 0, tls: ssl.SSLContext | None = None
) -> Iterator[Site]:
    """Serve a scripted site. ``{url}`` in a body or header is the site's own URL."""
    site = Site(routes, authorization)

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def setup(self) -> None:
            super().setup()
            open_sockets.append(self.connection)

        def do_GET(self) -> None:
            answer = site.answer(self.path, self.headers)
            if answer.delay:
                time.sleep(answer.delay)
            raw = answer.body if isinstance(answer.body, bytes) else answer.body.replace("{url}", site.url).encode()
            kind = "text/html; charset=utf-8" if isinstance(answer.body, str) else "application/octet-stream"
            headers = {"Content-Type": kind, "Content-Length": str(len(raw)), **answer.headers}
            try:
                self.send_response(answer.status)
                for name, value in headers.items():
                    self.send_header(name, value.replace("{url}", site.url))
                self.end_headers()
                self.wfile.write(raw)
            except (BrokenPipeError, ConnectionResetError):
                pass

        def log_message(self, format: str, *args: object) -> None:
            pass

    class Server(http.server.ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, request: object, client_address: object) -> None:
            """Clients that vanish are what these tests are about."""

    open_sockets: list[socket.socket] = []
    with Server(("127.0.0.1", port), Handler) as server:
        if tls:
            server.socket = tls.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        site.url = f"{'https' if tls else 'http'}://127.0.0.1:{server.server_address[1]}/"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield site
        finally:
            server.shutdown()
            thread.join()
            server.socket.close()
            for each in open_sockets:  # kept-alive connections end with the site
                with contextlib.suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)


def links(*hrefs: str, head: str = "") -> str:
    """A page that links to these."""
    anchors = "".join(f'<a href="{href}">{href}</a>\n' for href in hrefs)
    return f"<!doctype html><html><head><title>t</title>{head}</head><body>{anchors}</body></html>"
