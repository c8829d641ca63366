"""The formats that the package reads and writes."""

from enum import StrEnum
from typing import Final


class Format(StrEnum):
    """The format of a document. Media RSS is RSS or Atom with media elements, not a format of its own.

    https://www.sitemaps.org/protocol.html#otherformats
    """

    URLSET = "urlset"
    INDEX = "sitemapindex"
    RSS = "RSS"
    RSS1 = "RSS 1.0"
    ATOM = "Atom"
    TEXT = "text"


FEEDS: Final = frozenset({Format.RSS, Format.RSS1, Format.ATOM})
