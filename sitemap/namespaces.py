"""The namespace URIs of sitemaps and feeds. All begin with http; an https form is a different namespace.

https://developers.google.com/search/docs/crawling-indexing/sitemaps/combine-sitemap-extensions
"""

from typing import Final

SITEMAP: Final = "http://www.sitemaps.org/schemas/sitemap/0.9"
IMAGE: Final = "http://www.google.com/schemas/sitemap-image/1.1"
VIDEO: Final = "http://www.google.com/schemas/sitemap-video/1.1"
NEWS: Final = "http://www.google.com/schemas/sitemap-news/0.9"
MOBILE: Final = "http://www.google.com/schemas/sitemap-mobile/1.0"
XHTML: Final = "http://www.w3.org/1999/xhtml"

ATOM: Final = "http://www.w3.org/2005/Atom"
ATOM_03: Final = "http://purl.org/atom/ns#"
RSS_1: Final = "http://purl.org/rss/1.0/"
RDF: Final = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
DC: Final = "http://purl.org/dc/elements/1.1/"
DCTERMS: Final = "http://purl.org/dc/terms/"
MEDIA: Final = "http://search.yahoo.com/mrss/"  # https://www.rssboard.org/media-rss
