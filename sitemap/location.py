"""Owns the location rule: which URLs a sitemap at an address may list. Pure; touches no network.

https://www.sitemaps.org/protocol.html#location
"""

import re
from urllib.parse import urlsplit

_DEFAULT_PORTS = {"http": 80, "https": 443}
_ESCAPE = re.compile(r"%([0-9A-Fa-f]{2})")
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_NOT_ASCII = re.compile(r"[^\x21-\x7e]+")
# What may move a path elsewhere when it is resolved: dot segments, also escaped, and backslashes.
_MOVES = re.compile(r"/\.|%2e|\\", re.IGNORECASE)


def directory(sitemap_url: str) -> str:
    """The prefix that every listed URL must have: scheme, host, port and the path up to its last ``/``.

    The query and the fragment of the sitemap's own URL are no part of it. Raises ValueError for a URL that is not
    absolute http(s), or holds credentials.
    """
    origin, path = _parts(sitemap_url)
    return origin + path[: path.rfind("/") + 1]


def covers(sitemap_url: str, url: str) -> bool:
    """Whether a sitemap at ``sitemap_url`` may list ``url``. A ``url`` that is not absolute http(s) is never covered.

    Percent-encoding is compared as RFC 3986 section 6.2.2 says: ``%7E`` equals ``~``, ``%c3`` equals ``%C3``, and
    ``%2F`` is no ``/``. Paths are case-sensitive, hosts are not.
    """
    return within(directory(sitemap_url), url)


def within(prefix: str, url: str) -> bool:
    """Like :func:`covers`, for a ``prefix`` that :func:`directory` gave once for many URLs."""
    if url.startswith(prefix) and not _MOVES.search(url):
        return True
    try:
        origin, path = _parts(url)
    except ValueError:
        return False
    return (origin + path).startswith(prefix)


def _parts(url: str) -> tuple[str, str]:
    """Origin and path of a URL, both in one comparable form."""
    split = urlsplit(url)
    scheme, host = split.scheme, split.hostname
    if scheme not in _DEFAULT_PORTS or not host or "@" in split.netloc:
        raise ValueError(f"{url[:200]!r} is not an absolute http or https URL without credentials")
    port = split.port
    shown = f"[{host}]" if ":" in host else host
    origin = f"{scheme}://{shown}" + (f":{port}" if port not in {None, _DEFAULT_PORTS[scheme]} else "")
    return origin, _resolve(_comparable(split.path or "/"))


def _comparable(path: str) -> str:
    """A path with its percent-encoding in the one form of RFC 3986 section 6.2.2."""
    path = _NOT_ASCII.sub(
        lambda found: "".join(f"%{byte:02X}" for byte in found[0].encode("utf-8", "replace")), path
    )

    def decoded(found: re.Match[str]) -> str:
        character = chr(int(found[1], 16))
        return character if character in _UNRESERVED else found[0].upper()

    return _ESCAPE.sub(decoded, path).replace("\\", "/")


def _resolve(path: str) -> str:
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
