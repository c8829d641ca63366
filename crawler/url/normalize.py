"""The canonical form of a URL: one string for one resource. Pure.

A text is parsed as in a browser (https://url.spec.whatwg.org/#concept-basic-url-parser, by ``ada-url``),
and then serialized in this form:

1. Only ``http`` and ``https``. Everything else is refused.
2. Scheme and host in lower case; IDN as A-labels; IPv4 and IPv6 in their shortest form; default ports removed.
3. The dots that end a host are removed (``example.com.`` is ``example.com``), and so are userinfo and fragment.
4. Dot segments are resolved; ``//`` inside a path is kept; an empty path is ``/``.
5. Percent-escapes are in upper case, and those of unreserved characters are decoded: ``%7e`` is ``~``
   (RFC 3986 6.2.2.1 and 6.2.2.2). All others stay: ``%2F`` is not ``/``.
6. Whatever RFC 3986 does not allow in a path or a query is percent-encoded: controls, space,
   ``" < > \\ ^ ` { | } [ ]``, and characters beyond ASCII as UTF-8 (in a query: as the page's encoding). A ``%``
   that begins no escape stays, as in a browser: to servers, ``%u0416`` is not ``%25u0416``.
7. An empty query is removed (``/a?`` is ``/a``); the order of parameters is kept, and so are repeated ones.
8. Tracking parameters and session ids are dropped from the query, and from path parameters
   (``;jsessionid=…``), by name: see :class:`crawler.url.params.UrlParams`.
9. The names of a staging server for the site become the public one: see :class:`crawler.url.params.Mirror`.

The form is stable: the canonical form of a canonical URL is itself. A lone surrogate counts as U+FFFD.
"""

import re
from typing import Final

import ada_url
import webencodings

from crawler.model import Url
from crawler.url.params import UrlParams, clean_path, clean_query

_beyond_ascii = re.compile(r"[^\x00-\x7f]+")


def encode_query(href: str, encoding: str) -> str:
    """``href`` with the characters beyond ASCII of its query percent-encoded in a document's encoding.

    ``encoding`` is a WHATWG name. Characters that it cannot encode become ``%26%23`` number ``%3B``. For UTF-16 and
    unknown encodings the URL parser uses UTF-8
    (https://url.spec.whatwg.org/#query-state, https://encoding.spec.whatwg.org/#get-an-output-encoding).
    """
    codec = webencodings.lookup(encoding)
    before, mark, query = href.partition("#")[0].partition("?")
    if not query or codec is None or codec.name.startswith(("utf-", "x-user", "replacement")):
        return href
    encode = codec.codec_info.encode

    def escaped(match: re.Match[str]) -> str:
        out = []
        for character in match[0]:
            try:
                out.append("".join(f"%{byte:02X}" for byte in encode(character)[0]))
            except UnicodeError:
                out.append(f"%26%23{ord(character)}%3B")
        return "".join(out)

    return f"{before}{mark}{_beyond_ascii.sub(escaped, query)}"


MAX_FETCHED_LENGTH: Final = 8_192
"""Characters of the longest URL that is fetched."""
MAX_INPUT: Final = 65_536
"""Characters of the longest text that is parsed. No server accepts longer URLs."""


class InvalidUrl(ValueError):
    """A text that is not a usable URL.

    ``code`` is stable: ``url.invalid`` (no URL by WHATWG), ``url.scheme`` (not http or https) or
    ``url.too_long`` (over :data:`MAX_INPUT` characters). ``message`` is one sentence that names the text,
    with credentials masked.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


DEFAULT_PARAMS: Final = UrlParams()

# A URL that the WHATWG parser gives in canonical form already, as most are: the fast path.
_clean = re.compile(
    r"https?://[a-z0-9_-]+(?:\.[a-z0-9_-]+)*(?::[0-9]+)?/[A-Za-z0-9._~/!$&'()*+,:@=-]*", re.ASCII
).fullmatch

_parts = re.compile(
    r"(https?://)(?:[^/?#@]*@)?(\[[0-9a-f:.]+\]|[^/?#@:\[\]]+)(:[0-9]+)?(/[^?#]*)\??([^#]*)", re.ASCII
).match

_scheme = re.compile(r"[\x00-\x20]*([A-Za-z][A-Za-z0-9+.\-\t\r\n]*):").match
# An escape behind a % that begins none stays as it is: if it were decoded, a new escape could come about.
_to_fix = re.compile(r"(?<!%)(?<!%[0-9A-Fa-f])%[0-9A-Fa-f]{2}|[^A-Za-z0-9._~!$&'()*+,;=:@/?%-]")
_userinfo = re.compile(r"[/\\]{2}[^/\\?#]*@")  # up to the last @ of the host, as in a browser
_outside_host = re.compile(r"[\"`{}]").search  # WHATWG lets these stand in a host, RFC 3986 does not
_UNRESERVED: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")


def normalize_url(text: str, params: UrlParams = DEFAULT_PARAMS) -> Url:
    """The canonical form of an absolute URL. Raises :class:`InvalidUrl`."""
    return _canonical(_parse(text, None), text, params)


def join_url(base: str, href: str, params: UrlParams = DEFAULT_PARAMS, encoding: str = "") -> Url:
    """The canonical form of a reference in a document with this base URL. Raises :class:`InvalidUrl`.

    ``encoding`` is the WHATWG name of the document's encoding, "" for UTF-8. It only matters for characters
    beyond ASCII in the query, which browsers send in it (https://url.spec.whatwg.org/#query-state).
    """
    if encoding and not href.isascii():
        href = encode_query(href, encoding)
    return _canonical(_parse(href, base), href, params)


def section_of(url: str) -> str:
    """The section of a site that a URL is in: its first directory."""
    path = url.partition("?")[0].split("/", 3)[3]
    first, slash, _ = path.partition("/")
    return f"/{first}/" if slash else "/"


def origin_of(url: Url) -> str:
    """Scheme, host and port: ``https://example.com`` or ``https://example.com:8443``."""
    return url[: url.index("/", 8)]


def host_of(url: Url) -> str:
    """The host without its port; an IPv6 address stands in brackets."""
    start = 8 if url[4] == "s" else 7
    name = url[start : url.index("/", 8)]
    if name[0] == "[":
        return name[: name.index("]") + 1]
    return name.partition(":")[0]


def path_of(url: Url) -> str:
    """The path without the query; at least ``/``."""
    end = url.find("?", 9)
    return url[url.index("/", 8) : end if end > 0 else None]


def path_and_query(url: Url) -> str:
    """Everything after the origin, as robots.txt rules and request lines use it."""
    return url[url.index("/", 8) :]


def _parse(text: str, base: str | None) -> str:
    if len(text) > MAX_INPUT:
        scheme = _scheme(text)
        if scheme and scheme[1].lower() not in ("http", "https"):
            raise _wrong_scheme(scheme[1])
        raise InvalidUrl("url.too_long", f"a URL of {len(text):,} characters is too long: {_shown(text)}")
    end = text.find("#")
    if end >= 0:
        text = text[:end]
    try:
        return ada_url.normalize_url(text) if base is None else ada_url.join_url(base, text)
    except ValueError:
        return _parse_again(text, base)


def _parse_again(text: str, base: str | None) -> str:
    """Parse again with U+FFFD in place of lone surrogates, which the parser refuses."""
    whole = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    try:
        return ada_url.normalize_url(whole) if base is None else ada_url.join_url(base, whole)
    except ValueError:
        what = _shown(text) if base is None else f"{_shown(text)} in {_shown(base)}"
        raise InvalidUrl("url.invalid", f"not a URL: {what}") from None


def _canonical(href: str, text: str, params: UrlParams) -> Url:
    url = Url(href) if _clean(href) else _serialize(href, text, params)
    return url if params.mirror is None else params.mirror.public_url(url)


def _serialize(href: str, text: str, params: UrlParams) -> Url:
    parts = _parts(href)
    if parts is None:
        raise _wrong_scheme(href.partition(":")[0])
    scheme, name, port, where, query = parts.groups()
    if _outside_host(name):
        raise InvalidUrl("url.invalid", f"{_shown(name)} is not a valid host name: {_shown(text)}")
    bare = name.rstrip(".")
    if not bare:
        raise InvalidUrl("url.invalid", f"the host is missing in {_shown(text)}")
    fixed = _to_fix.sub(_fix, where)
    cleaned = clean_path(fixed, params) if ";" in fixed else fixed
    if query:
        query = clean_query(_to_fix.sub(_fix, query), params)
    url = f"{scheme}{bare}{port or ''}{cleaned}{'?' if query else ''}{query}"
    if bare != name or cleaned != fixed:
        # Without its dots a name may be an IPv4 address, and "..;x=1" without its parameter is a dot segment.
        return _canonical(_parse(url, None), text, params)
    return Url(url)


def _fix(match: re.Match[str]) -> str:
    text = match[0]
    if len(text) == 3:
        character = chr(int(text[1:], 16))
        return character if character in _UNRESERVED else text.upper()
    return f"%{ord(text):02X}"


def _wrong_scheme(scheme: str) -> InvalidUrl:
    return InvalidUrl("url.scheme", f"only http and https are crawled, not {_shown(scheme + ':')}")


def _shown(text: str) -> str:
    masked = _userinfo.sub("//***@", text)
    return ascii(masked if len(masked) <= 100 else masked[:100] + "…")
