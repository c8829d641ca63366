"""The location rule: which URLs a sitemap may list, and the form in which URLs are compared. Pure.

https://www.sitemaps.org/protocol.html#location
"""

import re
import unicodedata
from dataclasses import dataclass, field
from ipaddress import IPv6Address
from urllib.parse import urlsplit

from sitemap.errors import InvalidLocation
from sitemap.escape import quote_text

_DEFAULT_PORTS = {"http": 80, "https": 443}
_PERCENT = re.compile(r"%([0-9A-Fa-f]{2})?")
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
# Characters that a path or a query must escape (RFC 3986 section 3.3), except the backslash.
_NO_PATH = re.compile(r"[^A-Za-z0-9\-._~!$&'()*+,;=:@/?%\\]+")
_NO_HOST = re.compile(r"[\x00-\x20\x7f\"%<>\\^`{|}]")
# Browsers strip these from both ends; urlsplit strips them only from the start.
_TRIMMED_CHARACTERS = "".join(map(chr, range(0x21)))
_BLANK = re.compile(r"[\x00-\x20\x7f]")


@dataclass(frozen=True, slots=True)
class Location:
    """The URL of a sitemap, and what may be listed there.

    InvalidLocation for a URL that is not absolute http(s), or contains credentials, white space or control characters.
    URLs are compared in one form:

    - scheme, host and port follow RFC 3986 section 6.2.3: ``HTTP://Example.COM:80`` equals ``http://example.com``;
    - a Unicode host equals its punycode (``bücher.example``, ``xn--bcher-kva.example``), and a trailing dot
      (``example.com.``) makes it another host, as in browsers;
    - paths follow RFC 3986 section 6.2.2: ``%7E`` equals ``~``, ``%c3`` equals ``%C3``, ``%2F`` is not ``/``, dot
      segments are resolved, upper and lower case differ; a backslash counts as ``/``, as in browsers.

        >>> catalog = Location("https://example.com/catalog/sitemap.xml")
        >>> catalog.directory, catalog.robots_txt
        ('https://example.com/catalog/', 'https://example.com/robots.txt')
        >>> catalog.covers("https://example.com/catalog/show?item=23"), catalog.covers("https://example.com/images/")
        (True, False)
    """

    url: str
    # The prefix of all URLs that may be listed, in the form to compare.
    directory: str = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "directory", directory(self.url))

    def __str__(self) -> str:
        return self.url

    @property
    def origin(self) -> str:
        """Scheme, host and port: ``https://example.com``."""
        return url_origin(self.directory)

    @property
    def robots_txt(self) -> str:
        """The URL of the robots.txt that may declare the sitemap (RFC 9309 section 2.3)."""
        return self.origin + "/robots.txt"

    def covers(self, url: str) -> bool:
        """Whether the sitemap may list ``url``; False if ``url`` is not absolute http(s)."""
        return is_within(self.directory, url)


def directory(sitemap_url: str) -> str:
    """The prefix that every listed URL must have: scheme, host, port and the path up to its last ``/``.

    It excludes the query and the fragment of the sitemap's URL. InvalidLocation as for :class:`Location`.
    """
    if _BLANK.search(sitemap_url):
        raise InvalidLocation(
            f"{quote_text(sitemap_url)} contains white space or a control character. Percent-encode the character"
        )
    try:
        origin, path = origin_and_path(sitemap_url)
    except ValueError as error:
        raise InvalidLocation(f"a sitemap cannot be at {quote_text(sitemap_url)}: {error}") from error
    return origin + path[: path.rfind("/") + 1]


def covers(sitemap_url: str, url: str) -> bool:
    """Whether a sitemap at ``sitemap_url`` may list ``url``: :meth:`Location.covers` in one call."""
    return is_within(directory(sitemap_url), url)


def is_within(prefix: str, url: str) -> bool:
    """Like :func:`covers`, for a ``prefix`` from :func:`directory`, which serves many URLs."""
    # Dot segments, plain or escaped, backslashes, and the line ends and tabs that browsers drop from a URL can move a
    # path out of the directory. Five substring searches are faster than one regular expression.
    if (
        url.startswith(prefix)
        and url.isprintable()
        and not ("/." in url or "\\" in url or "%2e" in url or "%2E" in url)
    ):
        return True
    try:
        origin, path = origin_and_path(url)
    except ValueError:
        return False
    return (origin + path).startswith(prefix)


def url_origin(url: str) -> str:
    """Scheme, host and port of a URL in the form to compare. ValueError if it is not absolute http(s)."""
    return origin_and_path(url)[0]


def is_same_document(url: str, other: str) -> bool:
    """Whether two URLs, with their queries, name the same document. False if one is not absolute http(s)."""
    try:
        return form(url) == form(other)
    except ValueError:
        return False


def form(url: str) -> str:
    """A URL in the form to compare, with its query, without its fragment. ValueError if it is not absolute http(s)."""
    origin, path = origin_and_path(url)
    _, mark, query = url.partition("#")[0].partition("?")
    return origin + path + mark + _normal_path(query)


def origin_and_path(url: str) -> tuple[str, str]:
    """Origin and path of a URL in the form to compare. ValueError if it is not absolute http(s)."""
    split = urlsplit(url.rstrip(_TRIMMED_CHARACTERS))
    if split.scheme not in _DEFAULT_PORTS or not split.hostname or "@" in split.netloc:
        raise ValueError("the URL must be an absolute http or https URL without credentials")
    port = split.port
    suffix = "" if port in {None, _DEFAULT_PORTS[split.scheme]} else f":{port}"
    host = _host(split.hostname, literal="[" in split.netloc)
    return f"{split.scheme}://{host}{suffix}", _remove_dot_segments(_normal_path(split.path or "/"))


def _host(host: str, *, literal: bool) -> str:
    """A lower-case host in the form of DNS or IPv6."""
    if literal and "%" not in host:  # the zone of an address is local to one machine (RFC 6874)
        return f"[{IPv6Address(host).compressed}]"
    if not host.isascii():
        # The same as UTS 46 for nearly all names; for the rest, two spellings stay two hosts.
        host = unicodedata.normalize("NFKC", host).lower().replace("\u3002", ".")
        host = ".".join(
            label if label.isascii() else "xn--" + label.encode("punycode").decode() for label in host.split(".")
        )
    if _NO_HOST.search(host):
        raise ValueError(f"{host[:100]!r} is not a host name")
    return host


def _normal_path(path: str) -> str:
    """A path or a query with its percent-encoding normalized (RFC 3986 section 6.2.2)."""
    path = _NO_PATH.sub(lambda match: "".join(f"%{byte:02X}" for byte in match[0].encode("utf-8", "replace")), path)
    return (_PERCENT.sub(_escaped, path) if "%" in path else path).replace("\\", "/")


def _escaped(match: re.Match[str]) -> str:
    if not match[1]:
        return "%25"  # a stray percent sign
    character = chr(int(match[1], 16))
    return character if character in _UNRESERVED else match[0].upper()


def _remove_dot_segments(path: str) -> str:
    """A path without its dot segments (RFC 3986 section 5.2.4)."""
    if "/." not in path:
        return path
    kept: list[str] = []
    segments = path.split("/")[1:]
    for segment in segments:
        if segment == "..":
            del kept[-1:]
        elif segment != ".":
            kept.append(segment)
    if segments[-1] in {".", ".."}:
        kept.append("")
    return "/" + "/".join(kept)
