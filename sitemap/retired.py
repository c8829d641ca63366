"""Owns the names of the tags that search engines no longer read: they are written only when asked for by name. Pure.

The first ones went in 2022, the others are in a schema and no longer in any documentation.
https://developers.google.com/search/blog/2022/05/spring-cleaning-sitemap-extensions
"""

from collections.abc import Collection
from difflib import get_close_matches
from typing import Final

from sitemap.errors import SitemapError

RETIRED: Final = (
    "image:caption",
    "image:geo_location",
    "image:title",
    "image:license",
    "video:category",
    "video:gallery_loc",
    "video:price",
    "video:tvshow",
    "video:player_loc@allow_embed",
    "video:player_loc@autoplay",
    "video:content_segment_loc",
    "video:id",
    "news:access",
    "news:genres",
    "news:keywords",
    "news:stock_tickers",
    "mobile:mobile",
)


def wanted(names: Collection[str]) -> frozenset[str]:
    """The retired tags that are asked for. SitemapError for a name that is none, with the nearest that is."""
    for name in names:
        if name not in RETIRED:
            near = get_close_matches(name, RETIRED, 1, 0)[0]
            raise SitemapError(f"{name[:64]!r} is no retired tag: did you mean {near!r}?")
    return frozenset(names)
