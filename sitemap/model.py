"""The values that a sitemap consists of, and its formats. Pure data: nothing here enforces limits or escapes text.

The values are immutable and hashable; ``msgspec.structs.replace`` (or ``copy.replace``) makes a changed copy. They are
msgspec structs because a reader makes millions, and a frozen dataclass takes ten times as long to make.
Tags that Google no longer reads have no values here: the reader reports them and leaves them out.
https://developers.google.com/search/blog/2022/05/spring-cleaning-sitemap-extensions
"""

from enum import StrEnum
from typing import Final

from msgspec import Struct


class Alternate(Struct, frozen=True, gc=False):
    """A language or regional variant of a page (``xhtml:link rel="alternate"``).

    https://developers.google.com/search/docs/specialty/international/localized-versions#sitemap
    """

    hreflang: str
    href: str


class Image(Struct, frozen=True, gc=False):
    """An image on a page.

    https://developers.google.com/search/docs/crawling-indexing/sitemaps/image-sitemaps
    """

    loc: str


class Video(Struct, frozen=True, gc=False):
    """A video on a page; "" and None leave the tag out.

    ``duration`` is in seconds, ``rating`` 0.0 to 5.0; dates are W3C datetimes. A ``restriction`` or ``platform`` is
    a pair of relationship ("allow" or "deny") and the space-separated list; ``uploader`` a pair of name and info URL
    ("" for none).
    https://developers.google.com/search/docs/crawling-indexing/sitemaps/video-sitemaps
    """

    thumbnail_loc: str
    title: str
    description: str
    content_loc: str = ""
    player_loc: str = ""
    duration: int | None = None
    expiration_date: str = ""
    rating: float | None = None
    view_count: int | None = None
    publication_date: str = ""
    family_friendly: bool | None = None
    restriction: tuple[str, str] | None = None
    platform: tuple[str, str] | None = None
    requires_subscription: bool | None = None
    uploader: tuple[str, str] | None = None
    live: bool | None = None
    tags: tuple[str, ...] = ()


class News(Struct, frozen=True, gc=False):
    """An article for Google News.

    ``publication`` is the name as on news.google.com, ``language`` its ISO 639 code (or zh-cn, zh-tw).
    https://developers.google.com/search/docs/crawling-indexing/sitemaps/news-sitemap
    """

    publication: str
    language: str
    publication_date: str
    title: str


class Entry(Struct, frozen=True, gc=False):
    """One ``url`` of a urlset, or one item of a feed: a page and its metadata.

    ``lastmod`` is a W3C datetime in a form the XSD allows, or "" if unknown. ``title`` and ``summary`` are plain
    text and occur only in feeds.
    https://www.sitemaps.org/protocol.html#xmlTagDefinitions
    """

    loc: str
    lastmod: str = ""
    changefreq: str = ""
    priority: float | None = None
    images: tuple[Image, ...] = ()
    videos: tuple[Video, ...] = ()
    alternates: tuple[Alternate, ...] = ()
    news: News | None = None
    title: str = ""
    summary: str = ""


class Child(Struct, frozen=True, gc=False):
    """One ``sitemap`` of a sitemap index."""

    loc: str
    lastmod: str = ""


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
