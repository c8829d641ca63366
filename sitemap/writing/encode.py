"""Owns nothing any more: the old names of what moved to the encoders, until nobody uses them."""

from typing import Final

from sitemap.model import Entry
from sitemap.writing.index import INDEX_FOOT, encode_child, index_head
from sitemap.writing.urlset import ALTERNATES, IMAGES, PLAIN, VIDEOS, UrlsetEncoder

__all__ = ["ALTERNATES", "IMAGES", "INDEX_FOOT", "INDEX_HEAD", "PLAIN", "URLSET_FOOT", "VIDEOS", "encode_child",
           "encode_entry", "extensions_of", "urlset_head"]  # fmt: skip

_URLSET: Final = UrlsetEncoder()
URLSET_FOOT: Final = _URLSET.foot()
INDEX_HEAD: Final = index_head()


def urlset_head(extensions: int = PLAIN) -> bytes:
    """The head of a urlset."""
    return _URLSET.head(extensions, "")


def extensions_of(entry: Entry) -> int:
    """The bits of an entry."""
    return _URLSET.extensions(entry)


def encode_entry(entry: Entry) -> bytes:
    """One ``url`` element."""
    return _URLSET.entry(entry)
