"""Owns the names of the formats that are read and written."""

from enum import StrEnum
from typing import Final


class Format(StrEnum):
    """What kind of document it is. Media RSS is RSS or Atom with media elements, not a format of its own.

    https://www.sitemaps.org/protocol.html#otherformats
    """

    URLSET = "urlset"
    INDEX = "sitemapindex"
    RSS = "RSS"
    RSS1 = "RSS 1.0"
    ATOM = "Atom"
    TEXT = "text"


FEEDS: Final = frozenset({Format.RSS, Format.RSS1, Format.ATOM})
