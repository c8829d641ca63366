"""Reads the breadcrumb of a page: the pages above it, the start page first.

https://developers.google.com/search/docs/appearance/structured-data/breadcrumb : JSON-LD counts before marked links.
"""

from typing import Any, Final

from crawler.model import Url
from crawler.parse.html.jsonld import JsonLdNode
from crawler.parse.html.links import PageUrls

MAX_CRUMBS: Final = 20
_NO_POSITION: Final = 1_000_000.0  # an item without a position stays in its order, after the others


def read_breadcrumb(nodes: list[JsonLdNode], marked: list[str], urls: PageUrls) -> list[Url]:
    """The distinct URLs of the first breadcrumb that has any, without the page's own.

    ``marked`` are the hrefs of the links that the markup marks as a breadcrumb.
    """
    hrefs = [href.partition("#")[0] for href in (_structured(nodes) or marked)[:MAX_CRUMBS]]
    resolved = urls.resolver.resolve_all(urls.base, hrefs, urls.encoding) if hrefs else ()
    return [url for url in dict.fromkeys(resolved) if url is not None and url != urls.page]


def _structured(nodes: list[JsonLdNode]) -> list[str]:
    for node in nodes:
        if "BreadcrumbList" in node.types:
            value = node.values.get("itemListElement")
            items = [item for item in (value if isinstance(value, list) else [value]) if isinstance(item, dict)]
            items.sort(key=_position)
            if hrefs := [href for href in map(_href, items) if href]:
                return hrefs
    return []


def _position(item: dict[str, Any]) -> float:
    try:
        return float(item.get("position", _NO_POSITION))
    except (TypeError, ValueError):
        return _NO_POSITION


def _href(item: dict[str, Any]) -> str:
    """``item`` is a URL or an object with one; old markup has ``url`` on the list item itself."""
    target = item.get("item", item.get("url"))
    if isinstance(target, dict):
        target = target.get("@id") or target.get("url")
    return target.strip() if isinstance(target, str) else ""
