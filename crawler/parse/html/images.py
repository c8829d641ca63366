"""Decides which images of a page a sitemap can list. Leaves out placeholders and tracking pixels.

https://developers.google.com/search/docs/crawling-indexing/sitemaps/image-sitemaps : at most 1,000 a page. The query
of an image URL is kept whole: a parameter that is ignored for a page may choose the size of a picture.
"""

import re
from collections.abc import Iterator
from typing import Any, Final

from crawler.parse.html import jsonld
from crawler.parse.html.links import PageUrls
from crawler.parse.html.outline import Element, Outline

MAX_IMAGES: Final = 1_000
MAX_VALUE: Final = 65_536
"""Characters of one srcset that are read."""
# https://html.spec.whatwg.org/#parse-a-srcset-attribute : a URL may hold commas but not begin or end with one.
_candidate = re.compile(r"[\t\n\f\r ,]*([^\t\n\f\r ,][^\t\n\f\r ]*)([^,(]*(?:\([^)]*\)[^,(]*)*)").match
_descriptor = re.compile(r"([0-9]+(?:\.[0-9]+)?)([wx])").fullmatch
_SOURCES: Final = (
    *("data-src", "data-lazy-src", "data-original", "data-lazy", "data-url", "data-image", "data-hi-res-src"),
    *("data-full-src", "data-img-src", "data-echo", "data-flickity-lazyload", "nitro-lazy-src"),
)
_SETS: Final = ("data-srcset", "data-lazy-srcset", "data-original-set", "nitro-lazy-srcset")
_OPEN_GRAPH: Final = ("og:image", "og:image:secure_url", "og:image:url")
_SITE_TYPES: Final = frozenset(
    {"Organization", "Corporation", "NewsMediaOrganization", "OnlineStore", "Person", "Brand", "WebSite"}
)
"""Types of JSON-LD objects that describe the site or the people behind it, unless the page is about them."""
_SITE_PROPERTIES: Final = frozenset(
    {"publisher", "author", "creator", "contributor", "editor", "provider", "brand", "manufacturer", "seller", "logo"}
    | {"sourceOrganization", "copyrightHolder", "sponsor", "funder", "maintainer", "worksFor", "photo"}
)
"""Properties that lead to such objects (https://schema.org/CreativeWork, https://schema.org/Product)."""
_PAGE_IMAGES: Final = ("image", "primaryImageOfPage")
_PLACEHOLDERS: Final = frozenset(
    {"blank", "spacer", "placeholder", "pixel", "transparent", "1x1", "lazy", "lazyload"}
    | {"loading", "loader", "clear", "empty", "dummy"}
)
_image_name = re.compile(r"(?:.*/)?+([^/]*)\.(?:gif|png|svg|jpe?g|webp)\Z", re.IGNORECASE | re.DOTALL).match
_name_parts = re.compile(r"[_.-]").split
_is_tracker = re.compile(
    r"^https?://(?:[^/]+\.)?(?:facebook\.com/tr\b|doubleclick\.net/|google-analytics\.com/|googletagmanager\.com/"
    r"|scorecardresearch\.com/|quantserve\.com/|bat\.bing\.com/|mc\.yandex\.(?:ru|com)/watch|top-fwz1\.mail\.ru/"
    r"|counter\.yadro\.ru/|hm\.baidu\.com/|analytics\.twitter\.com/|pixel\.[^/]+/|px\.ads\.linkedin\.com/"
    r"|www\.googleadservices\.com/|stats\.wp\.com/|pixel\.wp\.com/)"
).search
_tiny = re.compile(r"\s*+\+?+(?:0++1?+|1)(?:\.0*+)?+\s*+(?:px\s*+)?+").fullmatch
_hidden = re.compile(r"(?:^|;)\s*(?:display\s*:\s*none|(?:width|height)\s*:\s*[01]px)", re.IGNORECASE).search


def find_images(outline: Outline, nodes: list[jsonld.JsonLdNode], urls: PageUrls) -> list[str]:
    """Distinct image URLs: those of elements in document order, then those of Open Graph and JSON-LD."""
    images: dict[str, None] = {}
    for hrefs in (_shown_images(outline), _open_graph(outline), _structured(nodes)):
        for href in hrefs:
            if href[:5].lower() in {"data:", "blob:", "about"}:
                continue
            url = urls.in_markup(href)
            if url is None or _is_tracker(url):
                continue
            images[url] = None
            if len(images) >= MAX_IMAGES:
                return list(images)
    return list(images)


def best_candidate(value: str) -> str:
    """The srcset candidate with the largest width, or density where none states a width; the first of equals, or ""."""
    value = value[:MAX_VALUE]
    best_url, best_size = "", (-1, -1.0)
    at = 0
    while match := _candidate(value, at):
        url, descriptors = match.groups()
        at = match.end()
        if url.endswith(","):
            url, descriptors = url.rstrip(","), ""
            at = match.end(1)
        size = _size(descriptors)
        if size > best_size and not url.lower().startswith("data:"):
            best_url, best_size = url, size
    return best_url


def _size(descriptors: str) -> tuple[int, float]:
    for word in descriptors.split():
        match = _descriptor(word)
        if match:
            return (1, float(match[1])) if match[2] == "w" else (0, float(match[1]))
    return (0, 1.0)


def _shown_images(outline: Outline) -> Iterator[str]:
    pictures: dict[int, list[str]] = {}
    for source in outline.named("source"):
        if source.owner_tag == "picture":
            candidate = _best_source(source)
            if candidate:
                pictures.setdefault(source.owner, []).append(candidate)
    for image in outline.named("img"):
        if _is_tracking_pixel(image):
            continue
        candidate = _best_source(image) or _source_of(image)
        if (not candidate or _is_placeholder(candidate)) and image.owner in pictures:
            candidate = pictures[image.owner][0]
        if candidate:
            yield candidate


def _is_placeholder(href: str) -> bool:
    """Whether the name of a file says that it stands for another picture: blank.gif, spacer-2x.png?v=1."""
    for text in (href.partition("?")[0], href):
        name = _image_name(text)
        for part in reversed(_name_parts(name[1].lower())) if name else ():
            if part in _PLACEHOLDERS:
                return True
            if not (part.isascii() and part.isalnum()):
                break
    return False


def _best_source(element: Element) -> str:
    for name in (*_SETS, "srcset"):
        value = element.attributes.get(name)
        if value:
            candidate = best_candidate(value)
            if candidate and not _is_placeholder(candidate):
                return candidate
    return ""


def _source_of(image: Element) -> str:
    """The src, or a lazy loader's attribute when the src is absent, a data URL or a known placeholder."""
    source = image.get("src")
    if not source or source[:5].lower() in {"data:", "about"} or _is_placeholder(source):
        for name in _SOURCES:
            lazy = image.get(name)
            if lazy and not lazy.startswith(("{", "[")):
                return lazy
        return source if _is_placeholder(source) else ""
    return source


def _is_tracking_pixel(image: Element) -> bool:
    attributes = image.attributes
    for name in ("width", "height"):
        value = attributes.get(name)
        if value is not None and _tiny(value):
            return True
    style = attributes.get("style")
    return style is not None and _hidden(style) is not None


def _open_graph(outline: Outline) -> Iterator[str]:
    for name in _OPEN_GRAPH:
        yield from outline.metas.get(name, [])


def _structured(nodes: list[jsonld.JsonLdNode]) -> Iterator[str]:
    """The images that JSON-LD states for the page, not those of its publisher, author, brand or site."""
    objects, ids = _site_objects(nodes)
    own = [node for node in nodes if id(node.values) not in objects and _id(node.values) not in ids]
    pictures = {_id(item) for node in own for key in _PAGE_IMAGES for item in _objects(node.values.get(key))} - {""}
    for node in [*own, *(node for node in nodes if _id(node.values) in pictures & ids)]:
        if "ImageObject" in node.types:
            yield from _hrefs(node.values.get("contentUrl") or node.values.get("url"))
        for key in _PAGE_IMAGES:
            yield from _hrefs(node.values.get(key))


def _site_objects(nodes: list[jsonld.JsonLdNode]) -> tuple[set[int], set[str]]:
    """The objects that describe the site, or who made or sells something, with their pictures: identities and @ids.

    What a page is about (``mainEntity``) belongs to the page: a profile page is about a person.
    """
    subjects = [value for node in nodes for value in _objects(node.values.get("mainEntity"))]
    identities, names = {id(value) for value in subjects}, {_id(value) for value in subjects} - {""}
    waiting: list[Any] = [node.values for node in nodes if not _SITE_TYPES.isdisjoint(node.types)]
    waiting += [node.values[key] for node in nodes for key in _SITE_PROPERTIES & node.values.keys()]
    objects: set[int] = set()
    ids: set[str] = set()
    while waiting:
        for value in _objects(waiting.pop()):
            if id(value) in objects or id(value) in identities or _id(value) in names:
                continue
            objects.add(id(value))
            ids.add(_id(value))
            waiting += [value[key] for key in (_SITE_PROPERTIES | {"image"}) & value.keys()]
    return objects, ids - {""}


def _id(values: dict[str, Any]) -> str:
    name = values.get("@id")
    return name if isinstance(name, str) else ""


def _objects(value: Any) -> list[dict[str, Any]]:
    return [item for item in (value if isinstance(value, list) else [value]) if isinstance(item, dict)]


def _hrefs(value: Any) -> Iterator[str]:
    """The URLs of a value that is a URL, an object with one or a list of both. A typed object is a node of its own."""
    for item in value if isinstance(value, list) else [value]:
        if isinstance(item, str) and item.strip():
            yield item.strip()
        elif isinstance(item, dict) and not item.get("@type"):
            href = item.get("contentUrl") or item.get("url")
            if isinstance(href, str) and href.strip():
                yield href.strip()
