"""What every request passes first: its method, form and size, its Host, and the security headers of its answer.

Only GET and HEAD are answered (https://www.rfc-editor.org/rfc/rfc9110#section-9.1). Requests have no body: a connection
that sends one all the same is closed, so that no part of the body is read as the next request.
"""

import re
import socket
from collections.abc import Callable, Iterable
from ipaddress import ip_address
from typing import Final

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from crawler.schedule.web.server import MAX_HEAD

MAX_TARGET: Final = 8_000  # bytes: https://www.rfc-editor.org/rfc/rfc9110#section-4.1
MAX_HEADERS: Final = 100
METHODS: Final = ("GET", "HEAD")
_HTTP_VERSIONS: Final = ("1.0", "1.1")
_ABSOLUTE: Final = b"http://"
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
        _use_origin_form(scope)
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


def _use_origin_form(scope: Scope) -> None:
    """Read ``GET http://host/path`` as ``GET /path`` of that host, whatever its Host header says.

    https://www.rfc-editor.org/rfc/rfc9112#section-3.2.2: a server must accept it. uvicorn takes it for a path.
    """
    raw = scope["raw_path"]
    if raw[: len(_ABSOLUTE)].lower() != _ABSOLUTE:
        return
    authority, _, path = raw[len(_ABSOLUTE) :].partition(b"/")
    scope["raw_path"] = b"/" + path
    scope["path"] = "/" + scope["path"][len(_ABSOLUTE) :].partition("/")[2]
    others = [(name, value) for name, value in scope["headers"] if name != b"host"]
    scope["headers"] = [*others, (b"host", authority)]


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
