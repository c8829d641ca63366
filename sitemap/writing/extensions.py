"""Owns the elements of the image, news and hreflang extensions, in the sequence of their XSDs."""

from sitemap.escape import escape, uri
from sitemap.model import Alternate, Image, News
from sitemap.writing.elements import link, tag


def image(image: Image, retired: frozenset[str]) -> str:
    """One ``image:image``; https://www.google.com/schemas/sitemap-image/1.1/sitemap-image.xsd."""
    loc = escape(uri(image.loc))
    more = "" if not retired else _retired(image, retired)
    return f"<image:image><image:loc>{loc}</image:loc>{more}</image:image>"


def news(news: News, retired: frozenset[str]) -> str:
    """One ``news:news``; https://www.google.com/schemas/sitemap-news/0.9/sitemap-news.xsd."""

    def asked(name: str, text: str) -> str:
        return tag(name, text) if name in retired else ""

    parts = (
        "<news:news><news:publication>",
        tag("news:name", news.publication),
        tag("news:language", news.language),
        "</news:publication>",
        asked("news:access", news.access),
        asked("news:genres", news.genres),
        tag("news:publication_date", news.publication_date),
        tag("news:title", news.title),
        asked("news:keywords", news.keywords),
        asked("news:stock_tickers", news.stock_tickers),
        "</news:news>",
    )
    return "".join(parts)


def alternate(alternate: Alternate) -> str:
    """One ``xhtml:link``."""
    return f'<xhtml:link rel="alternate" hreflang="{escape(alternate.hreflang)}" href="{escape(uri(alternate.href))}"/>'


def _retired(image: Image, retired: frozenset[str]) -> str:
    texts = (
        ("image:caption", image.caption),
        ("image:geo_location", image.geo_location),
        ("image:title", image.title),
    )
    return "".join(tag(name, text) for name, text in texts if name in retired) + (
        link("image:license", image.license) if "image:license" in retired else ""
    )
