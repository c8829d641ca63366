"""What every request passes before anybody looks at it: its method, its form, its size and its Host.

Only GET and HEAD are answered (https://www.rfc-editor.org/rfc/rfc9110#section-9.1), no request has a body, and a
connection with one that was sent in spite of that is closed, so that nothing in it can be taken for a request.
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

_VERSIONS: Final = ("1.0", "1.1")

_FORM: Final = b"http://"  # https://www.rfc-editor.org/rfc/rfc9112#section-3.2.2 must be accepted

_UNKNOWN: Final = "this name is not answered here: ask by address or localhost, or see daemon.allowed_hosts"

_ALWAYS: Final = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "content-security-policy": "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "cache-control": "no-store",
}


class Door:
    """Lets through what may be asked. ``answering`` chooses who answers for a Host and a path; None: nobody."""

    def __init__(self, answering: Callable[[str, str], ASGIApp | None]) -> None:
        self._answering = answering

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """As https://asgi.readthedocs.io/en/latest/specs/www.html has it."""
        if scope["type"] != "http":
            return
        _in_origin_form(scope)
        answer = self._refusal(scope) or self._answering(Headers(scope=scope).get("host", ""), scope["path"])

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _ALWAYS.items():
                    headers.setdefault(name, value)
            await send(message)

        await (answer or _said(421, _UNKNOWN))(scope, receive, guarded)

    @staticmethod
    def _refusal(scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        if headers.get("content-length", "0").strip("0") or "transfer-encoding" in headers:
            return _said(413, "a request has no body here", {"connection": "close"})
        if len(scope["raw_path"]) + len(scope["query_string"]) > MAX_TARGET:
            return _said(414, "this URL is too long", {"connection": "close"})
        if len(headers) > MAX_HEADERS or sum(map(len, headers.keys() + headers.values())) > MAX_HEAD:
            return _said(431, "these headers are too many, or too long", {"connection": "close"})
        if scope["http_version"] not in _VERSIONS:
            return _said(505, "HTTP/1.1 is spoken here", {"connection": "close"})
        if scope["method"] not in METHODS:
            return _said(405, "only GET and HEAD are answered", {"allow": ", ".join(METHODS)})
        if len(headers.getlist("host")) > 1 or not scope["path"].startswith("/") or "\0" in scope["path"]:
            return _said(400, "this is no request that can be answered", {"connection": "close"})
        return None


def _said(status: int, sentence: str, headers: dict[str, str] | None = None) -> Response:
    return PlainTextResponse(f"{sentence}\n", status, headers)


def _in_origin_form(scope: Scope) -> None:
    """``GET http://host/path`` becomes ``GET /path`` of that host, whatever its header says."""
    raw = scope["raw_path"]
    if raw[: len(_FORM)].lower() != _FORM:
        return
    authority, _, path = raw[len(_FORM) :].partition(b"/")
    scope["raw_path"] = b"/" + path
    scope["path"] = "/" + scope["path"][len(_FORM) :].partition("/")[2]
    others = [(name, value) for name, value in scope["headers"] if name != b"host"]
    scope["headers"] = [*others, (b"host", authority)]


_ANY: Final = "*"

_authority = re.compile(r"(?:\[([0-9a-f:.]+)\]|([^\[\]:@/?#]+))(?::[0-9]*)?").fullmatch


class Hosts:
    """The names that are answered: the loopback's, all addresses, the machine's, and those of ``named``.

    An address in Host is what was dialled, so that it is no other site's name. With ``named`` "*" all are answered.
    """

    def __init__(self, named: Iterable[str] = ()) -> None:
        self._named = {name.lower().rstrip(".") for name in named} | {
            "localhost",
            socket.gethostname().lower(),
        }

    def knows(self, authority: str) -> bool:
        """Whether a request for this ``host[:port]`` is answered; "" is of HTTP/1.0, which no browser speaks."""
        if not authority or _ANY in self._named:
            return True
        name = host_of(authority)
        return name in self._named or name.endswith(".localhost") or _is_address(name)


def host_of(authority: str) -> str:
    """The name in ``host[:port]``, without brackets and without the dot that may end it; "" when it is none."""
    found = _authority(authority.lower())
    return (found[1] or found[2]).rstrip(".") if found else ""


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True
