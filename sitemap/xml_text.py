"""Owns text inside XML and URLs inside text: what must be escaped, and what can never be written. Pure.

https://www.sitemaps.org/protocol.html#escaping and https://www.w3.org/TR/xml/#charsets
"""

import re
from typing import Final

DECLARATION: Final = '<?xml version="1.0" encoding="UTF-8"?>\n'
FORBIDDEN: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_AUTHORITY = re.compile("[A-Za-z][A-Za-z0-9+.-]*://[^/?#]*")
_STRAY_PERCENT = re.compile("%(?![0-9A-Fa-f]{2})")


def uri(url: str) -> str:
    """The URL as ``xsd:anyURI`` and RFC 3986 section 3 want it: ``[``, ``]``, stray ``%`` and a second ``#`` escaped.

    URLs as browsers write them (``?filter[color]=red``, ``?off=50%``) hold these as they are. Everything else, also
    what is not ASCII (RFC 3987), is left alone.
    """
    if "[" not in url and "]" not in url and "%" not in url and "#" not in url:
        return url
    authority = _AUTHORITY.match(url)  # an IPv6 host keeps its brackets
    head, tail = (authority[0], url[authority.end() :]) if authority else ("", url)
    tail = _STRAY_PERCENT.sub("%25", tail).replace("[", "%5B").replace("]", "%5D")
    before, mark, fragment = tail.partition("#")
    return head + before + mark + fragment.replace("#", "%23")


def escape(text: str) -> str:
    """Text for an element's content or a quoted attribute, without the characters that XML forbids."""
    if "&" in text:
        text = text.replace("&", "&amp;")
    if "<" in text or ">" in text or '"' in text or "'" in text:
        text = text.replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;").replace("'", "&apos;")
    if not text.isprintable():
        # A parser would turn these into others (https://www.w3.org/TR/xml/#sec-line-ends and #AVNormalize).
        text = FORBIDDEN.sub("", text).replace("\r", "&#13;").replace("\n", "&#10;").replace("\t", "&#9;")
    return text
