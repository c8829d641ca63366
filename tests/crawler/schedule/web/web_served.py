"""Owns the real server on a thread of its own, and clients of two kinds: a polite one, and bytes on a socket."""

import contextlib
import http.client
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

import anyio

from crawler.config.sections import DaemonConfig
from crawler.schedule.status import ScheduleStatus
from crawler.schedule.web.app import build_app
from crawler.schedule.web.server import bind_socket, serve_on


class Served:
    """A server that runs. ``board`` may be replaced, and ``trouble`` said, while it does."""

    def __init__(self, board: ScheduleStatus, port: int) -> None:
        self.board = board
        self.port = port
        self.trouble = ""

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def ask(self, path: str, method: str = "GET", **headers: str) -> tuple[int, http.client.HTTPMessage, bytes]:
        """The answer to a request whose path is sent as it is; ``_`` in the names of headers stand for ``-``."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        with contextlib.closing(connection):
            connection.putrequest(method, path, skip_host="Host" in headers, skip_accept_encoding=True)
            for name, value in headers.items():
                connection.putheader(name.replace("_", "-"), value)
            connection.endheaders()
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()

    def text(self, path: str, **headers: str) -> str:
        """The body of an answer that is there."""
        status, _, body = self.ask(path, **headers)
        assert status == 200, (status, body)
        return body.decode()

    @contextlib.contextmanager
    def wire(self) -> Iterator[socket.socket]:
        """A connection."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=20) as wire:
            yield wire

    def send(self, data: bytes) -> bytes:
        """All that is answered to some bytes, until the server closes or says nothing for a while."""
        with self.wire() as wire:
            with contextlib.suppress(ConnectionError):
                wire.sendall(data)
            return drained(wire)


def drained(wire: socket.socket, patience: float = 20.0) -> bytes:
    """What comes until the end."""
    wire.settimeout(patience)
    got = b""
    with contextlib.suppress(ConnectionError, TimeoutError):
        while piece := wire.recv(65_536):
            got += piece
    return got


@contextlib.contextmanager
def serving(board: ScheduleStatus, patience: float = 20.0, **settings: Any) -> Iterator[Served]:
    """The server of a board; it is stopped as the daemon stops it, and must end by itself."""
    listen = settings.pop("listen", "127.0.0.1:0")
    daemon = DaemonConfig(listen=listen, client_timeout=patience, **settings)
    loop: list[Callable[[], None]] = []
    failures: list[BaseException] = []
    ready = threading.Event()
    with bind_socket(listen) as listener:
        name = listener.getsockname()
        served = Served(board, name[1] if isinstance(name, tuple) else 0)
        application = build_app(lambda: served.board, lambda: daemon, lambda: served.trouble)

        async def main() -> None:
            stop = anyio.Event()
            token = anyio.lowlevel.current_token()
            loop.append(lambda: anyio.from_thread.run_sync(stop.set, token=token))
            ready.set()  # the socket listens already: requests wait for the server
            await serve_on(listener, application, daemon, stop)

        def run() -> None:
            try:
                anyio.run(main, backend_options={"use_uvloop": True})
            except BaseException as error:  # noqa: BLE001 - told by the test
                failures.append(error)
                ready.set()

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        assert ready.wait(20)
        try:
            yield served
        finally:
            if loop and not failures:
                loop[0]()
            thread.join(2 * patience + 5)
        assert not failures, failures
        assert not thread.is_alive(), "the server did not end"
