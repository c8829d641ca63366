"""A scripted TCP server for tests of hostile and broken web servers. Knows sockets and bytes, nothing of the product.

The server runs on a thread of its own, so it serves synchronous tests, asyncio and trio alike::

    with HostileServer() as server:
        server.route("/slow", send(b"HTTP/1.1 200 OK\\r\\n\\r\\n"), drip(b"abc", 0.2), fin())
        server.url("/slow")

A script whose last step neither closes nor resets leaves the connection open for the next request.
"""

import asyncio
import contextlib
import datetime as dt
import os
import socket
import ssl
import struct
import threading
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

import trustme


class Wire:
    """One accepted connection, as a step sees it."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer
        self.open = True

    def held(self) -> bool:
        """Whether the client has not closed it, also when what it sent last was not read."""
        return not (self.reader._eof or self.reader.exception() or self.writer.is_closing())

    async def write(self, data: bytes) -> None:
        """Send and wait until the peer took most of it."""
        self.writer.write(data)
        await self.writer.drain()


Step = Callable[[Wire], Awaitable[None]]


def send(data: bytes) -> Step:
    """Send ``data`` in one write."""

    async def step(wire: Wire) -> None:
        await wire.write(data)

    return step


def answer(body: bytes = b"", *headers: str, status: str = "200 OK") -> Step:
    """Send a well-formed answer with Content-Length; ``headers`` are lines without their line end."""
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers]
    return send("\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body)


def chunked(*chunks: bytes, headers: tuple[str, ...] = (), last: bool = True) -> Step:
    """Send an answer in chunked coding; without ``last`` the closing chunk is missing."""
    lines = ["HTTP/1.1 200 OK", "Transfer-Encoding: chunked", *headers]
    body = b"".join(b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks)
    return send("\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body + (b"0\r\n\r\n" if last else b""))


def drip(data: bytes, every: float) -> Step:
    """Send ``data`` byte by byte, one every so many seconds."""

    async def step(wire: Wire) -> None:
        for index in range(len(data)):
            await wire.write(data[index : index + 1])
            await asyncio.sleep(every)

    return step


def repeat(data: bytes, times: int) -> Step:
    """Send ``data`` again and again."""

    async def step(wire: Wire) -> None:
        for _ in range(times):
            await wire.write(data)

    return step


def sleep(seconds: float) -> Step:
    """Do nothing for so many seconds."""

    async def step(wire: Wire) -> None:
        await asyncio.sleep(seconds)

    return step


def fin() -> Step:
    """Close the connection in good order."""

    async def step(wire: Wire) -> None:
        wire.open = False
        wire.writer.close()

    return step


def cut() -> Step:
    """Close the TCP connection without the closing alert of TLS."""

    async def step(wire: Wire) -> None:
        wire.open = False
        sock = wire.writer.get_extra_info("socket")
        with contextlib.suppress(OSError), socket.socket(fileno=os.dup(sock.fileno())) as plain:
            plain.shutdown(socket.SHUT_RDWR)
        wire.writer.transport.abort()

    return step


def rst() -> Step:
    """Reset the connection."""

    async def step(wire: Wire) -> None:
        wire.open = False
        sock = wire.writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        wire.writer.transport.abort()

    return step


def half_close() -> Step:
    """Close our sending side only (plain TCP)."""

    async def step(wire: Wire) -> None:
        wire.writer.write_eof()

    return step


@dataclass(frozen=True)
class Request:
    """One request as it came in: the path of its request line, the whole raw head, when, and on which connection."""

    path: str
    head: bytes
    at: float
    connection: int

    def header(self, name: str) -> str | None:
        """The first value of a header, by its name in any case."""
        for line in self.head.split(b"\r\n")[1:]:
            key, _, value = line.decode("latin-1").partition(":")
            if key.strip().lower() == name.lower():
                return value.strip()
        return None


@dataclass
class HostileServer:
    """Answers each path by its script. ``tls`` makes it an HTTPS server, ``address`` is a loopback address."""

    tls: ssl.SSLContext | None = None
    address: str = "127.0.0.1"
    port: int = 0
    requests: list[Request] = field(default_factory=list)
    connections: int = 0

    def __post_init__(self) -> None:
        self._routes: dict[str, list[tuple[Step, ...]]] = {}
        self._greeting: list[tuple[Step, ...]] = []
        self._stop: asyncio.Event | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._open: set[asyncio.Task[None]] = set()
        self._wires: set[Wire] = set()

    def route(self, path: str, *steps: Step) -> None:
        """Answer ``path`` by ``steps``. A second call for the same path scripts the second request, and so on;
        the last script is used for all further ones."""
        self._routes.setdefault(path, []).append(steps)

    def greet(self, *steps: Step) -> None:
        """Run ``steps`` when a connection is accepted, before any request; further calls for further connections,
        and the connections after those are served."""
        self._greeting.append(steps)

    def url(self, path: str = "/", host: str = "") -> str:
        """The URL of a path here."""
        return f"{self.origin(host)}{path}"

    def origin(self, host: str = "") -> str:
        """The origin of this server, optionally by another host name."""
        name = host or (f"[{self.address}]" if ":" in self.address else self.address)
        return f"{'https' if self.tls else 'http'}://{name}:{self.port}"

    def seen(self, path: str) -> list[Request]:
        """The requests for one path, in order."""
        return [request for request in self.requests if request.path == path]

    @property
    def open_connections(self) -> int:
        """How many connections the clients keep open at this moment, also those whose script still runs."""
        return sum(wire.held() for wire in list(self._wires))

    def __enter__(self) -> Self:
        ready = threading.Event()
        failures: list[BaseException] = []

        def run() -> None:
            try:
                asyncio.run(self._serve(ready))
            except OSError as error:
                failures.append(error)
                ready.set()

        self._thread = threading.Thread(target=run, daemon=True)
        self._thread.start()
        ready.wait(10)
        if failures:
            raise failures[0]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._loop and self._stop and self._thread:
            self._loop.call_soon_threadsafe(self._stop.set)
            self._thread.join(10)

    async def __aenter__(self) -> Self:
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.__exit__(kind, error, trace)

    async def _serve(self, ready: threading.Event) -> None:
        self._loop = asyncio.get_running_loop()
        self._loop.set_exception_handler(lambda loop, context: None)
        self._stop = asyncio.Event()
        server = await asyncio.start_server(self._accept, self.address, self.port, ssl=self.tls, backlog=1024)
        self.port = server.sockets[0].getsockname()[1]
        ready.set()
        await self._stop.wait()
        for listening in server.sockets:  # who was accepted before a server is closed is lost with it, still open
            self._loop.remove_reader(listening.fileno())
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        server.close()
        await asyncio.sleep(0.01)  # who was accepted this moment begins, and can be ended
        for task in list(self._open):
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)
        # also those that wait for a client to read what is left, and those in the middle of a handshake
        for transport in list(getattr(self._loop, "_transports", {}).values()):
            transport.abort()
        await asyncio.sleep(0.01)  # aborted transports close their sockets in the next turns of the loop

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        self.connections += 1
        wire = Wire(reader, writer)
        self._wires.add(wire)
        try:
            await self._converse(wire, self.connections)
        except (OSError, EOFError, ValueError, asyncio.LimitOverrunError, asyncio.CancelledError):
            pass
        finally:
            self._open.discard(task)
            self._wires.discard(wire)
            stopping = self._stop is not None and self._stop.is_set()
            writer.transport.abort() if stopping or not wire.open else writer.close()

    async def _converse(self, wire: Wire, connection: int) -> None:
        if connection <= len(self._greeting):
            await self._play(wire, self._greeting[connection - 1])
        while wire.open:
            head = await wire.reader.readuntil(b"\r\n\r\n")
            path = head.split(b" ", 2)[1].decode("latin-1")
            self.requests.append(Request(path, head, time.monotonic(), connection))
            scripts = self._routes.get(path) or self._routes.get("*") or [(answer(status="404 Not Found"),)]
            turn = len(self.seen(path))
            await self._play(wire, scripts[min(turn, len(scripts)) - 1])

    async def _play(self, wire: Wire, steps: tuple[Step, ...]) -> None:
        for step in steps:
            await step(wire)


@dataclass(frozen=True)
class Certificates:
    """Server contexts for TLS tests, all for ``localhost`` and 127.0.0.1 except where the fault is just that.

    ``ca_file`` is the PEM bundle that makes ``good`` trusted; ``stranger`` is signed by another authority, whose
    own certificate is that of ``authority``.
    """

    ca_file: Path
    good: ssl.SSLContext
    expired: ssl.SSLContext
    wrong_host: ssl.SSLContext
    stranger: ssl.SSLContext
    authority: ssl.SSLContext
    expired_on: dt.datetime

    @classmethod
    def make(cls, folder: Path) -> "Certificates":
        """Issue all of them; the authority's certificate is written into ``folder``."""
        authority, other = trustme.CA(), trustme.CA()
        path = folder / "ca.pem"
        authority.cert_pem.write_to_path(str(path))
        past = dt.datetime(2024, 2, 29, 12, 0, tzinfo=dt.UTC)
        names = ("localhost", "127.0.0.1")
        return cls(
            ca_file=path,
            good=_context(authority.issue_cert(*names)),
            expired=_context(authority.issue_cert(*names, not_before=past - dt.timedelta(days=90), not_after=past)),
            wrong_host=_context(authority.issue_cert("other.example")),
            stranger=_context(other.issue_cert(*names)),
            authority=_context(trustme.LeafCert(other.private_key_pem.bytes(), other.cert_pem.bytes(), [])),
            expired_on=past,
        )


def _context(certificate: trustme.LeafCert) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    certificate.configure_cert(context)
    return context
