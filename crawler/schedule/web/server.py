"""The server: where it listens, how it begins and how it ends. It runs inside the daemon's event loop."""

import asyncio
import contextlib
import os
import socket
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from math import ceil
from pathlib import Path
from typing import Any, Final, cast

import anyio
import h11
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from crawler.config.schedule import Daemon
from crawler.errors import UsageError

MAX_HEAD: Final = 16 * 2**10  # bytes of a request line and its headers

_LATE: Final = b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"

_FULL: Final = (
    b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: 1\r\n"
    b"Content-Type: text/plain\r\nContent-Length: 26\r\n\r\ntoo many clients, for now\n"
)


@dataclass
class Clients:
    """All connections that are open: ``most`` of them, each waited for ``patience`` seconds at a time."""

    most: int
    patience: float
    there: "set[Client]" = field(default_factory=set)

    def connect(self, **given: Any) -> "Client":
        """The protocol of a new connection; uvicorn gives what it has to know."""
        return Client(self, **given)

    def has_room(self) -> bool:
        """Whether one more can be served, if need be in place of one that asks nothing."""
        if len(self.there) < self.most:
            return True
        idle = min((each for each in self.there if each.is_idle), key=lambda each: each.since, default=None)
        if idle is not None:
            idle.drop()
        return idle is not None

    def look(self, now: float) -> None:
        """Let those go who take too long. To be called several times in ``patience``; ``now`` is the loop's."""
        for client in list(self.there):
            client.look(now)

    def drop(self) -> None:
        """Let all go at once."""
        for client in list(self.there):
            client.drop()


class Client(H11Protocol):
    """HTTP/1.1 with deadlines. ``since`` is when it was last waited for something, by the loop's clock."""

    def __init__(self, clients: Clients, **given: Any) -> None:
        super().__init__(**given)
        self._clients = clients
        self._is_stuck = False  # it does not take what is sent
        self._is_leaving = False
        self.since = 0.0

    @property
    def is_idle(self) -> bool:
        """Whether it had an answer and has asked for nothing since."""
        return (
            self._is_asking
            and self._cycle is not None
            and not self.transport.is_closing()
            and not self.conn.trailing_data[0]
        )

    @property
    def _is_asking(self) -> bool:
        """Whether its request is not there yet."""
        return self._cycle is None or self._cycle.response_complete

    @property
    def _cycle(self) -> RequestResponseCycle | None:
        """Its last request, and how far the answer is; None: it had none."""
        return cast("RequestResponseCycle | None", self.cycle)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take it in, or tell it that there is no room."""
        has_room = self._clients.has_room()
        super().connection_made(transport)
        self._clients.there.add(self)
        self.since = self.loop.time()
        if not has_room:
            transport.write(_FULL)
            transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """It is gone."""
        self._clients.there.discard(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """What it sends after the end is nobody's."""
        if self.transport.is_closing():
            return
        try:
            super().data_received(data)
        except h11.LocalProtocolError:  # it broke the rules while it was being answered
            self.drop()

    def send_400_response(self, msg: str) -> None:
        """Tell it that it sends no HTTP. What it asked before, and has no answer to yet, is not answered any more."""
        if not self._is_asking:
            self.cycle.disconnected = True
        super().send_400_response(msg)

    def on_response_complete(self) -> None:
        """From now on its next request is waited for."""
        self.since = self.loop.time()
        super().on_response_complete()

    def pause_writing(self) -> None:
        """It does not take what is sent as fast as that."""
        self._is_stuck, self.since = True, self.loop.time()
        super().pause_writing()

    def resume_writing(self) -> None:
        """It took most of it."""
        self._is_stuck = False
        super().resume_writing()

    def shutdown(self) -> None:
        """Let it take its answer, and no more."""
        try:
            super().shutdown()
        except h11.LocalProtocolError:
            self.drop()

    def look(self, now: float) -> None:
        """Let it go if it took too long."""
        if self.transport.is_closing() and not self._is_leaving:
            self._is_leaving, self.since = True, now
        if now - self.since < self._clients.patience:
            return
        if self._is_leaving or self._is_stuck:
            self.drop()
        elif self._is_asking:
            if self.conn.trailing_data[0]:
                self.transport.write(_LATE)
            self.transport.close()

    def drop(self) -> None:
        """Close it, whatever is left to be sent."""
        self.transport.abort()


UNIX: Final = "unix:"

_TICKS: Final = 10  # looks at the clients in the time that one of them has


async def serve_on(
    listener: socket.socket,
    application: ASGIApp,
    settings: Daemon,
    stop: anyio.Event,
    ready: Callable[[], None] | None = None,
) -> None:
    """Answer on a socket of :func:`bind` until ``stop`` is set; ``ready`` is called when requests are answered.

    Who is being answered then has ``settings.client_timeout`` seconds to take the rest. Catches no signals, and needs
    asyncio, with either loop. The socket stays the caller's to close.
    """
    clients = Clients(settings.max_clients, settings.client_timeout)
    server = _Server(_config(application, clients), ready or (lambda: None))

    async def end() -> None:
        await stop.wait()
        server.should_exit = True

    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(end)
            tasks.start_soon(_watch, clients, stop)
            await server.serve([listener])
            tasks.cancel_scope.cancel()
    finally:
        for each in getattr(server, "servers", ()):
            each.close()
        clients.drop()


async def _watch(clients: Clients, stop: anyio.Event) -> None:
    """Look at the clients again and again; when the end was asked for, let go who is still there after a while."""
    deadline = float("inf")
    while True:
        now = anyio.current_time()
        deadline = min(deadline, now + clients.patience) if stop.is_set() else deadline
        if now >= deadline:
            clients.drop()
        clients.look(now)
        await anyio.sleep(min(clients.patience / _TICKS, 1.0))


def _config(application: ASGIApp, clients: Clients) -> uvicorn.Config:
    return uvicorn.Config(
        application,
        http=cast("Any", clients.connect),  # what makes a protocol does as well as its class
        ws="none",
        lifespan="off",
        interface="asgi3",
        log_config=None,
        log_level="error",  # what clients do wrong is no news
        access_log=False,
        server_header=False,
        proxy_headers=False,
        h11_max_incomplete_event_size=MAX_HEAD,
        timeout_keep_alive=ceil(clients.patience),
        timeout_graceful_shutdown=ceil(clients.patience) + 1,
    )


class _Server(uvicorn.Server):
    """Tells when it answers, and leaves signals to the daemon."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture none."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to listen."""
        await super().startup(sockets)
        self._ready()


@contextlib.contextmanager
def bind(listen: str) -> Iterator[socket.socket]:
    """A socket that listens at ``HOST:PORT``, ``[::1]:PORT`` or ``unix:PATH``; closed, and removed, in the end.

    Port 0 is any that is free. Raises UsageError that names the text, and what is wrong with it.
    """
    if listen.startswith(UNIX):
        path = Path(listen.removeprefix(UNIX))
        listener = _at_path(path, listen)
        try:
            with listener:
                yield listener
        finally:
            path.unlink(missing_ok=True)
    else:
        with _at_address(listen) as listener:
            yield listener


def _at_address(listen: str) -> socket.socket:
    host, _, port = listen.rpartition(":")
    if not host or not port.isascii() or not port.isdigit() or int(port) > 65_535:
        raise UsageError(
            f"daemon.listen {listen!r} is no address to listen at: HOST:PORT, such as 127.0.0.1:9188 or [::1]:9188, "
            f"or {UNIX}PATH"
        )
    if ":" in host and not (host.startswith("[") and host.endswith("]")):
        raise UsageError(f"daemon.listen {listen!r}: an IPv6 address stands in brackets, as in [::1]:{port}")
    try:
        found = socket.getaddrinfo(
            host.strip("[]"), int(port), type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        family, kind, proto, _, address = found[0]
        listener = socket.socket(family, kind, proto)
    except (OSError, UnicodeError) as error:
        raise _refused(listen, error) from None
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        listener.bind(address)
        listener.listen()
    except OSError as error:
        listener.close()
        raise _refused(listen, error) from None
    listener.setblocking(False)
    return listener


def _at_path(path: Path, listen: str) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        _clear(path)
        listener.bind(str(path))
        path.chmod(0o660)
        listener.listen()
    except OSError as error:
        listener.close()
        raise _refused(listen, error) from None
    listener.setblocking(False)
    return listener


def _clear(path: Path) -> None:
    """Remove the socket that a killed process left there. OSError when one answers at it, or it is another file."""
    try:
        if not stat.S_ISSOCK(path.lstat().st_mode):
            raise FileExistsError(0, "there is another file")
    except FileNotFoundError:
        return
    with (
        socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe,
        contextlib.suppress(ConnectionRefusedError),
    ):
        probe.connect(str(path))
        raise FileExistsError(0, os.strerror(98))
    path.unlink()


def _refused(listen: str, error: Exception) -> UsageError:
    why = getattr(error, "strerror", "") or error
    return UsageError(f'cannot listen at {listen}: {why}; choose another daemon.listen, or "" for none')
