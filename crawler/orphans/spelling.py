"""What all spellings of a URL have in common. It finds candidates; whether they are one page is for answers to say."""

import re
from typing import Final

from crawler.model import Url

_INDEX: Final = re.compile(r"/(?:index|default)\.(?:html?|php|aspx?|jsp|shtml)$")
_FIRST: Final = re.compile(r"/page/1/?$")
_SLASHES: Final = re.compile("/{2,}")


def fold(url: Url) -> str:
    """One text for a URL in any case, with and without a slash at its end, the name of an index file, ``page/1``,
    ``www.``, either scheme, doubled slashes, and with its parameters in any order.

    Escapes, dot segments, fragments and tracking parameters are gone already: see :mod:`crawler.url.normalize`.
    """
    where, _, query = url.partition("://")[2].lower().partition("?")
    host, _, path = where.partition("/")
    path = _FIRST.sub("/", _INDEX.sub("/", _SLASHES.sub("/", f"/{path}"))).rstrip("/")
    if "&" in query:
        query = "&".join(sorted(query.split("&")))
    return f"{host.removeprefix('www.')}{path}{'?' if query else ''}{query}"
