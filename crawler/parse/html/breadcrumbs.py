"""The pages above a page, as its breadcrumb names them, the start first. Reads JSON-LD, else what stands in the text.

https://developers.google.com/search/docs/appearance/structured-data/breadcrumb
"""

from typing import Any, Final

from crawler.parse.html.jsonld import JsonLdNode

MAX_CRUMBS: Final = 20
_NO_POSITION: Final = (
    1_000_000.0  # for an item without a position: it stays where it stands, after the others
)


def breadcrumb(nodes: list[JsonLdNode], visible: list[str]) -> list[str]:
    """The references of the first breadcrumb that has any, as written. ``visible`` are those of marked links."""
    for node in nodes:
        if "BreadcrumbList" in node.types:
            items = node.values.get("itemListElement")
            stated = [
                each for each in (items if isinstance(items, list) else [items]) if isinstance(each, dict)
            ]
            stated.sort(key=_position)
            if found := [href for href in map(_reference, stated) if href]:
                return found[:MAX_CRUMBS]
    return visible[:MAX_CRUMBS]


def _position(item: dict[str, Any]) -> float:
    try:
        return float(item.get("position", _NO_POSITION))
    except (TypeError, ValueError):
        return _NO_POSITION


def _reference(item: dict[str, Any]) -> str:
    """``item`` is a URL or a thing with one; old data has ``url`` on the item itself."""
    named = item.get("item", item.get("url"))
    if isinstance(named, dict):
        named = named.get("@id") or named.get("url")
    return named.strip() if isinstance(named, str) else ""
