"""Owns the bytes of a text sitemap: one URL a line, UTF-8, and nothing else.

https://www.sitemaps.org/protocol.html#otherformats
"""

from typing import Final

from sitemap.escape import uri
from sitemap.formats import Format
from sitemap.model import Entry


class TextEncoder:
    """Implements :class:`sitemap.writing.encoder.Encoder` for text."""

    format: Final = Format.TEXT
    suffix: Final = ".txt"
    news: Final = 0

    def fault(self, entry: Entry) -> str:
        """Nothing: every URL is a line."""
        return ""

    def extensions(self, entry: Entry) -> int:
        """None."""
        return 0

    def entry(self, entry: Entry) -> bytes:
        """The URL and a line end."""
        return f"{uri(entry.loc)}\n".encode()

    def head(self, extensions: int, updated: str) -> bytes:
        """Nothing."""
        return b""

    def foot(self) -> bytes:
        """Nothing."""
        return b""

    def room(self, extensions: int) -> int:
        """None."""
        return 0
