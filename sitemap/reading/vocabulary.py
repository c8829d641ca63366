"""Owns the names of elements in sitemaps and feeds, and finds them again under wrong or missing namespaces."""

from typing import Final

from sitemap import namespaces
from sitemap.format import Format

# Families of elements: the sitemap's own and RSS's share the empty one.
CORE, IMAGE, VIDEO, XHTML, ATOM, DC, RDF, OTHER = "", "image", "video", "xhtml", "atom", "dc", "rdf", "other"

_FAMILIES = {
    namespaces.SITEMAP: CORE,
    namespaces.RSS_1: CORE,
    namespaces.IMAGE: IMAGE,
    namespaces.VIDEO: VIDEO,
    namespaces.NEWS: OTHER,
    namespaces.XHTML: XHTML,
    namespaces.ATOM.lower(): ATOM,
    namespaces.ATOM_03: ATOM,
    namespaces.DC: DC,
    namespaces.DCTERMS: DC,
    namespaces.RDF: RDF,
}
_PREFIXES = {
    "image": IMAGE, "video": VIDEO, "xhtml": XHTML, "atom": ATOM, "dc": DC, "dcterms": DC, "rdf": RDF,
    "news": OTHER, "media": OTHER, "content": OTHER, "itunes": OTHER, "mobile": OTHER, "xsi": OTHER, "pagemap": OTHER,
}  # fmt: skip


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
_SITEMAP_TEXTS = {(CORE, name) for name in ("loc", "lastmod", "changefreq", "priority")}
_EXTENSION_TEXTS = {(IMAGE, "loc")} | {
    (VIDEO, name)
    for name in [
        "thumbnail_loc",
        "title",
        "description",
        "content_loc",
        "player_loc",
        "duration",
        "expiration_date",
        "rating",
        "view_count",
        "publication_date",
        "tag",
        "family_friendly",
        "restriction",
        "requires_subscription",
        "uploader",
        "platform",
        "live",
    ]
}
_RSS_TEXTS = {(CORE, "link"), (CORE, "guid"), (CORE, "pubdate"), (DC, "date"), (DC, "modified")}
TEXTS: Final = {
    Format.URLSET: _SITEMAP_TEXTS | _EXTENSION_TEXTS,
    Format.INDEX: _SITEMAP_TEXTS,
    Format.RSS: _RSS_TEXTS,
    Format.RSS1: _RSS_TEXTS,
    Format.ATOM: {(ATOM, name) for name in ("updated", "modified", "published", "issued")},
}


class Names:
    """Says what a qualified name means, from the namespaces declared so far and, failing those, from its prefix."""

    def __init__(self) -> None:
        self._bound: dict[str, str] = {}
        self._main = CORE

    def declare(self, attributes: dict[str, str]) -> None:
        """Take down the namespace declarations among the attributes of an element."""
        for name, uri in attributes.items():
            if name == "xmlns" or name.startswith("xmlns:"):
                self._bound[name[6:]] = uri.strip()

    def root(self, name: str) -> tuple[str, str]:
        """The local name of a root element in lower case, and the namespace URI it claims."""
        prefix, _, local = name.rpartition(":")
        local = local.lower()
        self._main = ATOM if local == "feed" else CORE
        return local, self._bound.get(prefix, "")

    def resolve(self, name: str) -> tuple[str, str]:
        """Family and local name, both in lower case, of an element below the root."""
        prefix, _, local = name.rpartition(":")
        local = local.lower()
        uri = (
            self._bound.get(prefix, "")
            .lower()
            .replace("https://", "http://")
            .replace("//google.", "//www.google.")
        )
        if uri in _FAMILIES:
            return _FAMILIES[uri], local
        if prefix and prefix.lower() in _PREFIXES:
            return _PREFIXES[prefix.lower()], local
        # No prefix, or one nobody knows: taken for the document's own, because what else should it be?
        return self._main, local
