"""Owns the names of elements in sitemaps and feeds: the families they belong to, and what an item may hold."""

from typing import Final

from sitemap import namespaces
from sitemap.formats import Format

# Families of elements: the sitemap's own and RSS's share the empty one.
CORE, IMAGE, VIDEO, NEWS, MOBILE, XHTML = "", "image", "video", "news", "mobile", "xhtml"
ATOM, DC, RDF, MEDIA, CONTENT, ITUNES, OTHER = "atom", "dc", "rdf", "media", "content", "itunes", "other"

# The first of each family is what a message asks for.
URIS: Final = {
    CORE: (namespaces.SITEMAP, namespaces.RSS_1),
    IMAGE: (namespaces.IMAGE,),
    VIDEO: (namespaces.VIDEO,),
    NEWS: (namespaces.NEWS,),
    MOBILE: (namespaces.MOBILE,),
    XHTML: (namespaces.XHTML,),
    ATOM: (namespaces.ATOM, namespaces.ATOM_03),
    DC: (namespaces.DCTERMS, namespaces.DC),
    RDF: (namespaces.RDF,),
    MEDIA: (namespaces.MEDIA,),
    CONTENT: ("http://purl.org/rss/1.0/modules/content/",),
    ITUNES: ("http://www.itunes.com/dtds/podcast-1.0.dtd",),
}
PREFIXES: Final = {
    **{family: family for family in URIS if family},
    "dcterms": DC,
    "xsi": OTHER,
    "pagemap": OTHER,
    "geo": OTHER,
}
# Families whose names are checked letter by letter, and whose unknown elements are defects.
STRICT: Final = frozenset({CORE, IMAGE, VIDEO, NEWS, MOBILE, XHTML})

ROOTS: Final = {
    "urlset": Format.URLSET,
    "sitemapindex": Format.INDEX,
    "rss": Format.RSS,
    "rdf": Format.RSS1,
    "feed": Format.ATOM,
    # Documents that have lost their root: what follows is read all the same.
    "url": Format.URLSET,
    "sitemap": Format.INDEX,
}
ITEMS: Final = {
    Format.URLSET: frozenset({"url", "sitemap"}),
    Format.INDEX: frozenset({"url", "sitemap"}),
    Format.RSS: frozenset({"item"}),
    Format.RSS1: frozenset({"item"}),
    Format.ATOM: frozenset({"entry"}),
}

_ITEM_TEXTS = {
    **{(CORE, name): name for name in ("title", "link", "guid", "pubdate", "description")},
    (DC, "date"): "date",
    (DC, "modified"): "modified",
    (ATOM, "updated"): "updated",
    (CONTENT, "encoded"): "content",
}
# What an item holds, by the local name of the item: the keys under which plain values are kept, …
TEXTS: Final[dict[str, dict[tuple[str, str], str]]] = {
    "url": {(CORE, name): name for name in ("loc", "lastmod", "changefreq", "priority")},
    "sitemap": {(CORE, name): name for name in ("loc", "lastmod")},
    "item": _ITEM_TEXTS,
    "entry": {
        (ATOM, name): name
        for name in ("title", "summary", "content", "updated", "modified", "published", "issued")
    },
}
# … and the elements that are read as a whole. In a url they may have lost their prefix.
PARTS: Final[dict[str, frozenset[tuple[str, str]]]] = {
    "url": frozenset((family, name) for name in (IMAGE, VIDEO, NEWS, MOBILE) for family in (name, CORE)),
    "sitemap": frozenset(),
    "item": frozenset({(CORE, "enclosure"), (DC, "valid"), (DC, "type"), (ITUNES, "image")}),
    "entry": frozenset({(DC, "valid"), (DC, "type"), (ITUNES, "image")}),
}
MEDIA_PARTS: Final = frozenset(
    {
        "adult",
        "category",
        "community",
        "content",
        "credit",
        "description",
        "group",
        "keywords",
        "license",
        "player",
        "price",
        "rating",
        "restriction",
        "thumbnail",
        "title",
    }
)
