"""What is around a fleet: sites to which editors add pages, a receiver of notifications, and the way to PostgreSQL."""

import http.server
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from scripted import Answer, Route, links, scripted

PAGES = [f"/page-{number}" for number in range(12)]
HOOKS = ("/first", "/second")


class GrowingSite:
    """A site that only grows, so that each published set lists at least what the one before it listed.

    ``requests`` are the moments of its requests, and how many were being answered.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.url = ""
        self.added: list[str] = []
        self.requests: list[tuple[float, str]] = []
        self.log: list[tuple[float, str, dict[str, str]]] = []

    def routes(self) -> dict[str, Route]:
        words = " ".join(f"{self.name}{letter}" for letter in "abcdefghijklmnopqrstuvwxyz")
        body = f"<p>{words}</p>{links(*PAGES)}"
        pages: dict[str, Route] = {path: Answer(f"<title>{path}</title>{body}") for path in [*PAGES, *self.added]}
        return {**pages, "/": Answer(f"<title>start</title>{body}{links(*self.added)}")}

    def urls(self) -> set[str]:
        """The addresses of all pages that it has now."""
        return {self.url + path[1:] for path in ["/", *PAGES, *self.added]}

    @contextmanager
    def serving(self) -> Iterator[None]:
        with scripted(self.routes()) as running:
            self.url, self.log, self._running = running.url, running.log, running
            yield

    def edit(self) -> None:
        """Add a page."""
        self.added = [*self.added, f"/new-{len(self.added)}"]
        self._running.routes = self.routes()


@dataclass
class Receiver:
    """Two webhooks, the paths below ``url``: the messages that they got, each with its path."""

    url: str = ""
    received: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    @contextmanager
    def serving(self) -> Iterator[None]:
        received = self.received

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                received.append((self.path, json.loads(body)))
                with suppress(OSError):
                    self.send_response(204)
                    self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
            self.url = f"http://127.0.0.1:{server.server_address[1]}"
            thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
            thread.start()
            try:
                yield
            finally:
                server.shutdown()
                thread.join()


Way = Literal["open", "refused", "silent"]


class Proxy:
    """The way of one worker to PostgreSQL, which can be closed: connections end (refused), or nothing moves (silent).

    What was sent while it was silent arrives when it is open again, as TCP sends it again.
    """

    def __init__(self, target: Path) -> None:
        self._target = target
        self._open = threading.Event()
        self._open.set()
        self._is_refused = False
        self._ends: list[socket.socket] = []
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._server.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def become(self, way: Way) -> None:
        self._is_refused = way == "refused"
        self._open.clear() if way == "silent" else self._open.set()
        if way == "refused":
            self._end()

    def close(self) -> None:
        self._is_refused = True
        self._open.set()
        with suppress(OSError):
            self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()
        self._end()

    def _end(self) -> None:
        ends, self._ends = self._ends, []
        for end in ends:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._server.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(near,), daemon=True).start()

    def _serve(self, near: socket.socket) -> None:
        with near, socket.socket(socket.AF_UNIX) as far:
            try:
                if self._is_refused:
                    return
                far.connect(str(self._target))
            except OSError:
                return
            self._ends += [near, far]
            back = threading.Thread(target=self._pump, args=(far, near), daemon=True)
            back.start()
            self._pump(near, far)
            back.join()

    def _pump(self, source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                self._open.wait()
                sink.sendall(data)
        for end in (source, sink):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


@contextmanager
def serving(sites: list[GrowingSite], receiver: Receiver) -> Iterator[None]:
    with ExitStack() as stack:
        for server in (*sites, receiver):
            stack.enter_context(server.serving())
        yield
