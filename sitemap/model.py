"""The values a sitemap is made of. Pure data: no limits are enforced here and nothing is escaped."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Alternate:
    """A language or regional variant of a page (``xhtml:link rel="alternate"``).

    https://developers.google.com/search/docs/specialty/international/localized-versions#sitemap
    """

    hreflang: str
    href: str


@dataclass(frozen=True, slots=True)
class Image:
    """An image on a page; ``loc`` is the only tag Google still reads.

    https://developers.google.com/search/docs/crawling-indexing/sitemaps/image-sitemaps
    """

    loc: str


@dataclass(frozen=True, slots=True)
class Video:
    """A video on a page, with the tags that Google documents; "" and None mean the tag is left out.

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


@dataclass(frozen=True, slots=True)
class Entry:
    """One ``url`` of a urlset: where a page is, and what is known about it.

    ``lastmod`` is a W3C datetime in a form the XSD allows, or "" when not known.
    https://www.sitemaps.org/protocol.html#xmlTagDefinitions
    """

    loc: str
    lastmod: str = ""
    changefreq: str = ""
    priority: float | None = None
    images: tuple[Image, ...] = ()
    videos: tuple[Video, ...] = ()
    alternates: tuple[Alternate, ...] = ()


@dataclass(frozen=True, slots=True)
class Child:
    """One ``sitemap`` of a sitemap index."""

    loc: str
    lastmod: str = ""
