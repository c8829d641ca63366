"""What a document holds that the rules need: links as written, and the elements that speak. Judges nothing.

The tree reader and the linear scanner both fill an :class:`Outline`, so every rule exists once.
"""

from collections.abc import Collection, Iterable
from typing import Final

from crawler.model import DiscoveredBy

LINK: Final = int(DiscoveredBy.LINK)
NOFOLLOW: Final = int(DiscoveredBy.NOFOLLOW)
FRAME: Final = int(DiscoveredBy.FRAME)
CANONICAL: Final = int(DiscoveredBy.CANONICAL)
ALTERNATE: Final = int(DiscoveredBy.ALTERNATE)
PAGINATION: Final = int(DiscoveredBy.PAGINATION)
AMP: Final = int(DiscoveredBy.AMP)

MEDIA_OWNERS: Final = frozenset({"picture", "video", "audio"})
ELEMENTS: Final = frozenset({"base", "link", "meta", "script", "img", "source", "video", "iframe", "frame"})
"""The elements that rules ask for, besides those with an ``itemprop``."""

PAGE_TYPES: Final = frozenset(
    {
        "",
        "text/html",
        "application/xhtml+xml",
        "application/rss+xml",
        "application/atom+xml",
        "application/rdf+xml",
    }
)
"""Types of an alternate that a crawl can use: pages and feeds. A JSON or oEmbed twin of a page is neither."""


class Element:
    """One element that is no plain link: its name and attributes in lower case.

    ``owner`` is a number that the ``picture``, ``video`` or ``audio`` around the element and its siblings share (and
    such an element itself), 0 when there is none; ``owner_tag`` is that element's name. ``text`` is only kept for
    scripts with data and for ``itemprop`` elements.
    """

    __slots__ = ("attributes", "in_head", "in_noscript", "owner", "owner_tag", "tag", "text")

    def __init__(self, tag: str, attributes: dict[str, str]) -> None:
        self.tag = tag
        self.attributes = attributes
        self.in_head = False
        self.in_noscript = False
        self.owner = 0
        self.owner_tag = ""
        self.text = ""

    def get(self, name: str) -> str:
        """The value of an attribute without white space around it, "" when it is absent or empty."""
        return self.attributes.get(name, "").strip()


class Outline:
    """A document's links and elements in document order.

    ``anchors`` are the distinct hrefs of plain links; ``links`` maps every other href or src as written to its
    flags (``Found`` as int). ``metas`` are the contents of meta elements by their property or name in lower case.
    ``crumbs`` are the links of what is marked as a breadcrumb, as far as a tree tells. ``last_owner`` is that of the
    newest element which has one.
    """

    __slots__ = (
        "_is_dated",
        "_named",
        "anchors",
        "crumbs",
        "language",
        "last_owner",
        "links",
        "metas",
        "title",
    )

    def __init__(self) -> None:
        self.anchors: dict[str, None] = {}
        self.links: dict[str, int] = {}
        self.metas: dict[str, list[str]] = {}
        self._named: dict[str, list[Element]] = {}
        self._is_dated = False
        self.crumbs: list[str] = []
        self.last_owner = 0
        self.title = ""
        self.language = ""

    def add_link(self, href: str, flags: int) -> None:
        """Note a link; evidence for the same text merges."""
        self.links[href] = self.links.get(href, 0) | flags

    def add(self, element: Element) -> None:
        """Note an element, and the link that it states."""
        self._named.setdefault(element.tag, []).append(element)
        self.last_owner = element.owner or self.last_owner
        attributes = element.attributes
        self._is_dated = self._is_dated or "itemprop" in attributes
        if element.tag == "link":
            rels = attributes.get("rel", "").lower().split()
            flags = link_flags(rels, attributes.get("type", ""))
            if element.in_head and "canonical" in rels:
                flags |= CANONICAL
            if flags and attributes.get("href"):
                self.add_link(attributes["href"], flags)
        elif element.tag == "meta":
            content = element.get("content")
            for name in (
                {element.get("property").lower(), element.get("name").lower()} - {""} if content else ()
            ):
                self.metas.setdefault(name, []).append(content)
        elif element.tag in {"iframe", "frame"} and attributes.get("src"):
            self.add_link(attributes["src"], FRAME)

    def named(self, tag: str) -> list[Element]:
        """The elements of this name, in document order."""
        return self._named.get(tag, [])

    def has_any(self, tags: Iterable[str]) -> bool:
        """Whether there is an element of one of these names."""
        return any(tag in self._named for tag in tags)

    def dated(self) -> list[Element]:
        """The elements that state ``itemprop=dateModified``."""
        if not self._is_dated:
            return []
        return [
            element
            for elements in self._named.values()
            for element in elements
            if "dateModified" in element.attributes.get("itemprop", "").split()
        ]


def anchor_flags(rel: str | None) -> int:
    """LINK, or NOFOLLOW alone for ``rel=nofollow``; ``ugc`` and ``sponsored`` say nothing about following."""
    return NOFOLLOW if rel and "nofollow" in rel.lower().split() else LINK


def link_flags(rels: Collection[str], kind: str) -> int:
    """The flags of a ``link`` element or a Link header with these relation types and this media type, 0 for no link.

    ``canonical`` is left to the caller: where it stands decides whether it counts.
    """
    flags = 0
    if "next" in rels or "prev" in rels or "previous" in rels:
        flags |= PAGINATION
    if "amphtml" in rels:
        flags |= AMP
    if "alternate" in rels and "stylesheet" not in rels:
        media_type = kind.partition(";")[0].strip().lower()
        if media_type in PAGE_TYPES:
            flags |= ALTERNATE
    return flags
