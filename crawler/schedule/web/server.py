"""The daemon's HTTP server: uvicorn in the daemon's event loop, with the limits on clients that uvicorn lacks.

Every request first passes a guard: its method, form and size, its Host, and the security headers of its answer.
Only GET and HEAD are answered (https://www.rfc-editor.org/rfc/rfc9110#section-9.1). Requests have no body: a
connection that sends one all the same is closed, so that no part of the body is read as the next request.
"""

import asyncio
import contextlib
import errno
import os
import re
import socket
import stat
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from ipaddress import ip_address
from math import ceil
from pathlib import Path
from typing import Any, Final, cast
from urllib.parse import urlsplit

import anyio
import uvicorn
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from crawler.config.sections import DaemonConfig
from crawler.errors import UsageError

UNIX_PREFIX: Final = "unix:"
HEALTH_PATH: Final = "/healthz"
MAX_HEAD: Final = 16 * 2**10  # bytes of a request line and its headers


async def serve_on(listener: socket.socket, application: ASGIApp, settings: DaemonConfig, stop: anyio.Event) -> None:
    """Answer requests on a socket of :func:`bind` until ``stop`` is set.

    Clients that are being answered then have ``settings.client_timeout`` seconds to read the rest. Catches no signals,
    and needs asyncio, with either event loop. The caller closes the socket.
    """
    server = _UvicornServer(application, settings)

    async def end() -> None:
        await stop.wait()
        server.should_exit = True

    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(end)
            await server.serve([listener])
            tasks.cancel_scope.cancel()
    finally:
        for accepting in getattr(server, "servers", ()):
            accepting.close()
        server.drop_clients()


class _UvicornServer(uvicorn.Server):
    """uvicorn, which leaves signals to the daemon and drops slow clients."""

    def __init__(self, application: ASGIApp, settings: DaemonConfig) -> None:
        self._patience = settings.client_timeout
        config = uvicorn.Config(
            application,
            http=cast("Any", partial(_ClientProtocol, settings)),  # uvicorn only calls it
            ws="none",
            lifespan="off",
            interface="asgi3",
            log_config=None,
            log_level="error",  # mistakes of clients are not logged
            access_log=False,
            server_header=False,
            proxy_headers=False,
            h11_max_incomplete_event_size=MAX_HEAD,
            timeout_keep_alive=ceil(self._patience),
            timeout_graceful_shutdown=ceil(self._patience) + 1,  # for answers that nobody waits for any more
        )
        super().__init__(config)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture none."""
        yield

    async def on_tick(self, counter: int) -> bool:
        """Close the connections of slow clients; uvicorn calls this ten times a second."""
        for client in self._clients():
            client.check(asyncio.get_running_loop().time())
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop listening, and give clients a last while to read their answers.

        uvicorn's ``timeout_graceful_shutdown`` cancels answers that are still being read, and logs each as an error.
        """
        asyncio.get_running_loop().call_later(self._patience, self.drop_clients)
        await super().shutdown(sockets)

    def drop_clients(self) -> None:
        """Close all connections at once."""
        for client in self._clients():
            client.drop()

    def _clients(self) -> "list[_ClientProtocol]":
        return cast("list[_ClientProtocol]", list(self.server_state.connections))


class _ClientProtocol(H11Protocol):
    """One connection, with the limits that uvicorn lacks: on their number, and on how long we wait for a client.

    uvicorn, hypercorn and granian keep a client for good that does not read its answer, and so do uvicorn and granian
    with one that sends nothing. 1,100 such clients make each of them unreachable.
    """

    def __init__(self, settings: DaemonConfig, **given: Any) -> None:
        super().__init__(**given)
        self._settings = settings
        self.waited_since = 0.0
        """When we began to wait for the client, by the clock of the event loop."""

    @property
    def is_waited_for(self) -> bool:
        """Whether we wait for the client: to send its request, to read its answer, or to close the connection."""
        return self._is_requesting or self.flow.write_paused or self.transport.is_closing()

    @property
    def _is_requesting(self) -> bool:
        """Whether the next request is not complete yet."""
        cycle = cast("RequestResponseCycle | None", self.cycle)  # uvicorn's type lacks the None before the first one
        return cycle is None or cycle.response_complete

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take the client in, if need be in place of the one that we have waited for the longest.

        So slow clients, whatever their number, never keep a client out that sends its request at once.
        """
        clients = cast("set[_ClientProtocol]", self.connections)
        if len(clients) >= self._settings.max_clients:
            longest = min(clients, key=lambda client: (not client.is_waited_for, client.waited_since))
            longest.drop()
            clients.discard(longest)
        super().connection_made(transport)
        self.waited_since = self.loop.time()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is not HTTP. A request before it that has no answer yet gets none; uvicorn would send both."""
        if not self._is_requesting:
            self.cycle.disconnected = True
        super().send_400_response(msg)

    def on_response_complete(self) -> None:
        """Wait for the next request from now on."""
        self.waited_since = self.loop.time()
        super().on_response_complete()

    def pause_writing(self) -> None:
        """Wait for the client to read from now on."""
        self.waited_since = self.loop.time()
        super().pause_writing()

    def check(self, now: float) -> None:
        """Close the connection when the client takes too long."""
        if self.is_waited_for and now - self.waited_since >= self._settings.client_timeout:
            self.drop()

    def drop(self) -> None:
        """Close the connection at once, whatever is left to send."""
        self.transport.abort()


@contextlib.contextmanager
def bind_socket(listen: str) -> Iterator[socket.socket]:
    """A socket that listens at ``HOST:PORT``, ``[::1]:PORT`` or ``unix:PATH``; it is closed and removed in the end.

    Port 0 is any free port. Raises UsageError, where uvicorn logs and exits.
    """
    if listen.startswith(UNIX_PREFIX):
        path = Path(listen.removeprefix(UNIX_PREFIX))
        listener = _at_path(path, listen)
        try:
            with listener:
                yield listener
        finally:
            path.unlink(missing_ok=True)
    else:
        with _at_address(listen) as listener:
            yield listener


def address_text(listener: socket.socket) -> str:
    """The address of a socket for people: a URL, or ``unix:PATH``."""
    address = listener.getsockname()
    if not isinstance(address, tuple):
        return f"{UNIX_PREFIX}{address}"
    host, port, *_ = address
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"


def _at_address(listen: str) -> socket.socket:
    try:
        parts = urlsplit(f"//{listen}")
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    if not host or port is None or parts.netloc != listen:
        raise UsageError(
            f"daemon.listen {listen!r} is not an address. Write HOST:PORT, such as 127.0.0.1:9188 or [::1]:9188, "
            f"or {UNIX_PREFIX}PATH"
        )
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, _, _, _, address = found[0]
    except (OSError, UnicodeError) as error:
        raise _refused(listen, getattr(error, "strerror", "") or str(error)) from None
    try:
        listener = socket.create_server(cast("tuple[str, int]", address), family=family)
    except OSError as error:
        raise _refused(listen, os.strerror(error.errno or 0)) from None
    listener.setblocking(False)
    return listener


def _at_path(path: Path, listen: str) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        _remove_stale(path)
        listener.bind(str(path))
        path.chmod(0o660)
        listener.listen()
    except OSError as error:
        listener.close()
        raise _refused(listen, error.strerror or str(error)) from None
    listener.setblocking(False)
    return listener


def _remove_stale(path: Path) -> None:
    """Remove the socket that a killed process left there. Raises OSError when it is in use, or is another file.

    asyncio removes any socket at the path, also one that a running daemon listens at.
    """
    try:
        if not stat.S_ISSOCK(path.lstat().st_mode):
            raise FileExistsError(0, "this path is a file, not a socket")
    except FileNotFoundError:
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe, contextlib.suppress(ConnectionRefusedError):
        probe.connect(str(path))
        raise FileExistsError(0, os.strerror(errno.EADDRINUSE))
    path.unlink()


def _refused(listen: str, reason: str) -> UsageError:
    return UsageError(
        f'the web server cannot listen at {listen}: {reason}. Set daemon.listen to another address, or to "" to '
        "turn it off"
    )


MAX_TARGET: Final = 8_000  # bytes: https://www.rfc-editor.org/rfc/rfc9110#section-4.1
MAX_HEADERS: Final = 100
METHODS: Final = ("GET", "HEAD")
_HTTP_VERSIONS: Final = ("1.0", "1.1")
_UNKNOWN_HOST: Final = (
    "this host name is not allowed: use an IP address or localhost, or add it to daemon.allowed_hosts"
)
_SECURITY: Final = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "content-security-policy": "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "cache-control": "no-store",
}
_authority = re.compile(r"(?:\[([0-9a-f:.]+)\]|([^\[\]:@/?#]+))(?::[0-9]*)?").fullmatch


class RequestGuard:
    """Refuses bad requests. ``choose`` gives the application for a Host and a path; None: there is none.

    uvicorn and Starlette do not hold these limits:

    * h11 limits the size of a head only while parts of it are missing, and uvicorn accepts every version of HTTP.
    * RequestBodyLimitMiddleware leaves the connection open, and sees a chunked body only if somebody reads it.
    * A Route refuses a method for its own path only, and never for ``*``.
    * uvicorn's ``headers`` are added to those of a response, so that a page would have two policies.
    """

    def __init__(self, choose: Callable[[str, str], ASGIApp | None]) -> None:
        self._choose = choose

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """As https://asgi.readthedocs.io/en/latest/specs/www.html has it."""
        if scope["type"] != "http":
            return
        answer = _refusal(scope) or self._choose(Headers(scope=scope).get("host", ""), scope["path"])

        async def send_secured(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _SECURITY.items():
                    headers.setdefault(name, value)
            await send(message)

        await (answer or _text(421, _UNKNOWN_HOST))(scope, receive, send_secured)


def _refusal(scope: Scope) -> Response | None:
    headers = Headers(scope=scope)
    if headers.get("content-length", "0").strip("0") or "transfer-encoding" in headers:
        return _text(413, "requests must not have a body", {"connection": "close"})
    if len(scope["raw_path"]) + len(scope["query_string"]) > MAX_TARGET:
        return _text(414, "this URL is too long", {"connection": "close"})
    if len(headers) > MAX_HEADERS or sum(map(len, headers.keys() + headers.values())) > MAX_HEAD:
        return _text(431, "there are too many headers, or they are too long", {"connection": "close"})
    if scope["http_version"] not in _HTTP_VERSIONS:
        return _text(505, "use HTTP/1.1", {"connection": "close"})
    if scope["method"] not in METHODS:
        return _text(405, "only GET and HEAD are supported", {"allow": ", ".join(METHODS)})
    if not scope["path"].startswith("/") or "\0" in scope["path"]:
        return _text(400, "this URL is not valid", {"connection": "close"})
    return None


def _text(status: int, sentence: str, headers: dict[str, str] | None = None) -> Response:
    return PlainTextResponse(f"{sentence}\n", status, headers)


def is_own_host(authority: str, names: Iterable[str]) -> bool:
    """Whether ``host[:port]`` means this machine: localhost, any IP address, its host name, or one of ``names``.

    There is no login. A web page could therefore read the answers through a visitor's browser, by pointing a name of
    its own at this machine ("DNS rebinding"); the browser then sends that name as Host. An IP address is not anybody's
    name, and no Host means HTTP/1.0, which browsers do not speak. ``names`` with "*" allow every Host.

    Starlette's TrustedHostMiddleware knows neither IP addresses nor a name's final dot, and refuses requests without
    Host.
    """
    allowed = {name.lower().rstrip(".") for name in names}
    if not authority or "*" in allowed:
        return True
    found = _authority(authority.lower())
    name = (found[1] or found[2]).rstrip(".") if found else ""
    own = {"localhost", socket.gethostname().lower(), *allowed}
    return name in own or name.endswith(".localhost") or _is_address(name)


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True
