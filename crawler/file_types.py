"""With which Content-Type a published file is served, told by its name."""

from typing import Final

_TYPES: Final = {
    ".xml": "application/xml",
    ".txt": "text/plain; charset=utf-8",
    ".atom": "application/atom+xml",
    ".rss": "application/rss+xml",
    ".css": "text/css; charset=utf-8",
    ".xsl": "text/xsl",
}
_PACKED: Final = "application/gzip"
_UNKNOWN: Final = "application/octet-stream"


def content_type(name: str) -> str:
    """The value of the header.

    A packed file is a gzip file that readers of sitemaps unpack themselves, and never one with a Content-Encoding
    (https://www.sitemaps.org/protocol.html, https://www.rfc-editor.org/rfc/rfc6713).
    """
    suffix = name[name.rfind(".") :].lower() if "." in name else ""
    return _PACKED if suffix == ".gz" else _TYPES.get(suffix, _UNKNOWN)
