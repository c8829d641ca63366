"""Media types: reads a Content-Type, and gives that of a published file. Pure."""

import re
from typing import Final

HTML_TYPES: Final = frozenset({"text/html", "application/xhtml+xml"})
FEED_TYPES: Final = frozenset({"application/rss+xml", "application/atom+xml", "application/rdf+xml"})
_UNKNOWN_TYPES: Final = frozenset({"", "*/*", "unknown/unknown", "application/unknown", "text/xml", "application/xml"})

_essence = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+/[!#$%&'*+.^_`|~0-9A-Za-z-]+").fullmatch


def parse_media_type(value: str) -> str:
    """Type and subtype in lower case, without parameters; "" without a valid one.

    In a list with commas the first valid one counts, because some servers send the header twice.
    """
    for piece in value.split(","):
        name = piece.partition(";")[0].strip(" \t\r\n")
        if _essence(name):
            return name.lower()
    return ""


def is_html_type(name: str) -> bool | None:
    """True for HTML, False for another type, None when the bytes decide: no type, or XML of any kind."""
    if name in HTML_TYPES:
        return True
    return None if name in _UNKNOWN_TYPES else False


def may_be_page(content_type: str) -> bool:
    """Whether a body of this Content-Type is parsed: HTML, a feed, or an unknown type."""
    name = parse_media_type(content_type)
    return name in FEED_TYPES or is_html_type(name) is not False


_TYPE_BY_SUFFIX: Final = {
    ".xml": "application/xml",
    ".txt": "text/plain; charset=utf-8",
    ".atom": "application/atom+xml",
    ".rss": "application/rss+xml",
    ".css": "text/css; charset=utf-8",
    ".xsl": "text/xsl",
    ".gz": "application/gzip",
}


def content_type(name: str) -> str:
    """The Content-Type of a published file, by its name.

    A .gz file is served as gzip, which readers of sitemaps unpack, and never with a Content-Encoding
    (https://www.sitemaps.org/protocol.html, https://www.rfc-editor.org/rfc/rfc6713).
    """
    suffix = name[name.rfind(".") :].lower() if "." in name else ""
    return _TYPE_BY_SUFFIX.get(suffix, "application/octet-stream")
