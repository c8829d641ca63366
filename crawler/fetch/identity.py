"""The identity of the crawler in requests: its user agent, and credentials that are bound to one origin. Pure."""

import base64
import re
from collections.abc import Callable

from msgspec import Struct
from typing_extensions import override

_VALUE = re.compile(r"[\t\x20-\x7e]*")
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
Header = tuple[str, str]


class Credentials(Struct, frozen=True):
    """Secrets for exactly one origin (``https://example.com``, no path). They are never sent anywhere else.

    ``headers`` are pairs of name and value, ``basic_auth`` is user and password, ``cookies`` pairs of name and value.
    Raises ValueError for names and values that a header cannot have (RFC 9110, section 5.5).
    """

    origin: str
    headers: tuple[Header, ...] = ()
    basic_auth: tuple[str, str] | None = None
    cookies: tuple[Header, ...] = ()

    def __post_init__(self) -> None:
        for name, value in (*self.headers, *self.cookies):
            if not _TOKEN.fullmatch(name):
                raise ValueError(f"{name!r} is not a valid name of a header or cookie")
            _check_value(name, value)
        if any(";" in value for _, value in self.cookies):
            raise ValueError("the value of a cookie contains a semicolon. Give each cookie separately")
        if self.basic_auth and ":" in self.basic_auth[0]:
            raise ValueError("the user name for basic authentication must not contain a colon")

    @override
    def __repr__(self) -> str:
        return f"Credentials(origin={self.origin!r}, …)"

    def lines(self) -> tuple[Header, ...]:
        """The header fields to send to the origin."""
        lines = list(self.headers)
        if self.basic_auth:
            token = base64.b64encode(":".join(self.basic_auth).encode()).decode()
            lines.append(("Authorization", f"Basic {token}"))
        if self.cookies:
            lines.append(("Cookie", "; ".join(f"{name}={value}" for name, value in self.cookies)))
        return tuple(lines)


class Identity(Struct, frozen=True):
    """The header fields of every request; ``user_agent`` should contain a URL about the crawler.

    ``sign`` returns the header fields that sign one request to an origin (:mod:`crawler.fetch.signature`).
    """

    user_agent: str
    accept: str = "text/html,application/xhtml+xml,application/xml;q=0.9,text/plain;q=0.8,*/*;q=0.5"
    credentials: tuple[Credentials, ...] = ()
    sign: Callable[[str], tuple[Header, ...]] | None = None

    def __post_init__(self) -> None:
        _check_value("User-Agent", self.user_agent)
        _check_value("Accept", self.accept)

    def headers_for(self, origin: str) -> tuple[Header, ...]:
        """The header fields of every request to ``origin``, without Host and Accept-Encoding."""
        lines: list[Header] = [("User-Agent", self.user_agent), ("Accept", self.accept)]
        for credentials in self.credentials:
            if credentials.origin == origin:
                lines.extend(credentials.lines())
        return tuple(lines)


def _check_value(name: str, value: str) -> None:
    if not _VALUE.fullmatch(value):
        raise ValueError(f"the value of {name!r} contains a character that HTTP cannot send. Use ASCII text")
