"""The parts of a document that the rules need: its links as written and the elements with metadata.

:mod:`.lexbor` builds an :class:`Outline`; rules read it.
"""

from collections.abc import Collection, Iterable
from typing import Final

from crawler.model import DiscoveredBy
from crawler.parse.html.jsonld import JsonLdNode

LINK: Final = int(DiscoveredBy.LINK)
NOFOLLOW: Final = int(DiscoveredBy.NOFOLLOW)
FRAME: Final = int(DiscoveredBy.FRAME)
CANONICAL: Final = int(DiscoveredBy.CANONICAL)
ALTERNATE: Final = int(DiscoveredBy.ALTERNATE)
PAGINATION: Final = int(DiscoveredBy.PAGINATION)
AMP: Final = int(DiscoveredBy.AMP)

MEDIA_OWNERS: Final = frozenset({"picture", "video", "audio"})
ELEMENTS: Final = frozenset({"base", "link", "meta", "script", "img", "source", "video", "iframe", "frame"})
"""The elements that rules need."""

FEED_TYPES: Final = frozenset({"application/rss+xml", "application/atom+xml", "application/rdf+xml"})
PAGE_TYPES: Final = frozenset({"", "text/html", "application/xhtml+xml"}) | FEED_TYPES
"""Media types of an alternate that a crawl can use: pages and feeds, not a JSON or oEmbed version of a page."""


def essence(kind: str) -> str:
    """The media type of a ``type`` attribute, without parameters."""
    return kind.partition(";")[0].strip().lower()


class Element:
    """One element that is no plain link: its name and attributes in lower case.

    ``in_head`` holds too for what is streamed after ``head`` but belongs to it (``is_streamed``).
    ``owner`` identifies the ``picture``, ``video`` or ``audio`` that the element is or is in, 0 for none;
    ``owner_tag`` is the name of that. ``text`` is only kept for JSON-LD scripts.
    """

    __slots__ = ("attributes", "in_head", "in_noscript", "is_streamed", "owner", "owner_tag", "tag", "text")

    def __init__(self, tag: str, attributes: dict[str, str]) -> None:
        self.tag = tag
        self.attributes = attributes
        self.in_head = False
        self.in_noscript = False
        self.is_streamed = False
        self.owner = 0
        self.owner_tag = ""
        self.text = ""

    def get(self, name: str) -> str:
        """The value of an attribute without white space around it, "" when it is absent or empty."""
        return self.attributes.get(name, "").strip()


class Outline:
    """A document's links and elements in document order.

    ``anchors`` are the distinct hrefs of plain links; ``links`` maps every other href or src as written to its
    flags (``DiscoveredBy`` as int). ``metas`` are the contents of meta elements by property or name in lower case.
    ``crumbs`` are the hrefs of the links in a marked breadcrumb, and ``items`` the items of microdata that have a date,
    as JSON-LD would state them; only a tree has both. ``last_owner`` is the owner of the last element that has one.
    """

    __slots__ = ("_named", "anchors", "crumbs", "items", "language", "last_owner", "links", "metas", "title")

    def __init__(self) -> None:
        self.anchors: dict[str, None] = {}
        self.links: dict[str, int] = {}
        self.metas: dict[str, list[str]] = {}
        self._named: dict[str, list[Element]] = {}
        self.crumbs: list[str] = []
        self.items: list[JsonLdNode] = []
        self.last_owner = 0
        self.title = ""
        self.language = ""

    def add_link(self, href: str, flags: int) -> None:
        """Add a link; the flags of equal links are merged."""
        self.links[href] = self.links.get(href, 0) | flags

    def add(self, element: Element) -> None:
        """Add an element, and the link that it states."""
        self._named.setdefault(element.tag, []).append(element)
        self.last_owner = element.owner or self.last_owner
        attributes = element.attributes
        if element.tag == "link":
            rels = attributes.get("rel", "").lower().split()
            flags = link_flags(rels, attributes.get("type", ""))
            if element.in_head and "canonical" in rels:
                flags |= CANONICAL
            if flags and attributes.get("href"):
                self.add_link(attributes["href"], flags)
        elif element.tag == "meta":
            content = element.get("content")
            for name in {element.get("property").lower(), element.get("name").lower()} - {""} if content else ():
                self.metas.setdefault(name, []).append(content)
        elif element.tag in {"iframe", "frame"} and attributes.get("src"):
            self.add_link(attributes["src"], FRAME)

    def named(self, tag: str) -> list[Element]:
        """The elements of this name, in document order."""
        return self._named.get(tag, [])

    def has_any(self, tags: Iterable[str]) -> bool:
        """Whether there is an element of one of these names."""
        return any(tag in self._named for tag in tags)


def anchor_flags(rel: str | None) -> int:
    """LINK, or NOFOLLOW alone for ``rel=nofollow``. ``ugc`` and ``sponsored`` do not forbid following."""
    return NOFOLLOW if rel and "nofollow" in rel.lower().split() else LINK


def is_jsonld(script_type: str) -> bool:
    """Whether a script with this type attribute holds JSON-LD."""
    return script_type.partition(";")[0].strip().lower() == "application/ld+json"


def link_flags(rels: Collection[str], kind: str) -> int:
    """The flags of a ``link`` element or a Link header with these relation types and this media type, 0 for no link.

    ``canonical`` is left to the caller, because its position decides whether it counts.
    """
    flags = 0
    if "next" in rels or "prev" in rels or "previous" in rels:
        flags |= PAGINATION
    if "amphtml" in rels:
        flags |= AMP
    if "alternate" in rels and "stylesheet" not in rels and essence(kind) in PAGE_TYPES:
        flags |= ALTERNATE
    return flags
