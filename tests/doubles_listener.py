"""A server on the loopback address that takes messages: it keeps each of them and answers as a function says."""

import http.server
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Heard:
    """A message: the path as it was sent, the headers with names in lower case, and the body."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True)
class Reply:
    """What is answered."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)


class Listener:
    """What was heard so far, and what is answered."""

    def __init__(self, answer: Callable[[Heard], Reply]) -> None:
        self.answer = answer
        self.heard: list[Heard] = []
        self.url = ""


@contextmanager
def listening(answer: Callable[[Heard], Reply] = lambda _: Reply()) -> Iterator[Listener]:
    """A listener while it is entered; its ``url`` is an origin."""
    listener = Listener(answer)

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def take(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            headers = {name.lower(): value for name, value in self.headers.items()}
            heard = Heard(self.command, self.path, headers, body)
            listener.heard.append(heard)
            reply = listener.answer(heard)
            self.send_response_only(reply.status)
            for name, value in {"Content-Length": str(len(reply.body)), **reply.headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(reply.body)
            self.close_connection = True

        do_GET = do_POST = do_PUT = take  # noqa: N815

        def log_message(self, format: str, *args: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        listener.url = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield listener
        finally:
            server.shutdown()
            thread.join()
