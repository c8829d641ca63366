"""What each tag does to the flow of a document: begin or end a container, name the kind of a text, state something."""

import re
from html import unescape
from typing import Final

from msgspec import Struct

from crawler.content.memo import Memo
from crawler.content.wording import address


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


INLINE: Final = (
    "a abbr acronym area b bdi bdo big br cite code data del dfn em embed font i img ins kbd map mark nobr picture"
    " q rb rp rt ruby s samp small source span strike strong sub sup time track tt u var wbr"
)
"""Elements within which a text goes on."""
_LEAVES: Final = _names(
    "p li dt dd td th tr thead tbody tfoot caption figcaption h1 h2 h3 h4 h5 h6 pre option optgroup legend summary"
    " address label button hr textarea colgroup col param head title link meta base html body noscript input frame"
)
"""Elements that other elements end: they name what a text is, and contain nothing for long."""
_HEADINGS: Final = _names("h1 h2 h3 h4 h5 h6")
_MEDIA: Final = _names("iframe video audio object frame")
_MUTE: Final = _names("template svg math datalist iframe canvas object")
"""Elements whose text is no text of the page: drawings, and what is shown instead."""
_SECTIONS: Final = _names("article main section dialog")
_OUTER: Final = _names("footer aside")
_FRAME_ROLES: Final = _names("navigation contentinfo")
_STATES: Final = _names("active current selected open first last odd even lazy lazyloaded")
# what is said to search engines (robots, canonical) is no part of what the page says
_METAS: Final = _names("description keywords author")
_PREFIXES: Final = ("og:", "article:", "product:", "book:", "video:")
_RELATIONS: Final = _names("alternate amphtml next prev")
STAMPS: Final = _names("og:updated_time article:modified_time dateModified sdDatePublished")
"""Statements about the time of the last change. They are evidence of when, not of whether."""

_attribute = re.compile(r"([^\s\"'>/=]++)(?:\s*+=\s*+(?:\"([^\"]*+)\"|'([^']*+)'|([^\s\"'>]++)))?+")
_tag = re.compile(r"<(/?[a-zA-Z][^\s/>]*+)(.*?)>?\Z", re.DOTALL).match
_figures = re.compile(r"[0-9a-z]*[0-9][0-9a-z]*", re.IGNORECASE)


class Move(Struct, frozen=True):
    """What a tag does. ``token`` names it for places; ``states`` is what it says itself, as name and value."""

    name: str
    ends: bool = False
    opens: bool = False
    token: bytes = b""
    is_heading: bool = False
    is_mute: bool = False
    is_section: bool = False
    is_frame: bool = False
    is_outer: bool = False  # a frame if it is in no section
    states: tuple[str, str] = ("", "")


NOTHING: Final = Move("")
"""What comments and the like do."""


def _move(written: str) -> Move:
    """What a tag does, as it is written from "<" to ">"."""
    found = _tag(written)
    if not found:
        return NOTHING
    tag, attributes = found[1].lower(), found[2]
    if tag[0] == "/":
        return Move(tag[1:], ends=True, opens=tag[1:] not in _LEAVES)
    stated = read_attributes(attributes)
    return Move(
        tag,
        opens=tag not in _LEAVES and not (tag in _MUTE and attributes.endswith("/")),
        token=_token(tag, stated),
        is_heading=tag in _HEADINGS,
        is_mute=tag in _MUTE,
        is_section=tag in _SECTIONS,
        is_frame=tag == "nav" or stated.get("role", "").lower() in _FRAME_ROLES,
        is_outer=tag in _OUTER,
        states=_statement(tag, stated),
    )


MOVES: Final = Memo(_move)
"""What each tag that ends a text does, by the tag as it is written."""


def read_attributes(text: str) -> dict[str, str]:
    """Attributes by name in lower case, the first of each name, with character references decoded."""
    found = {
        name.lower(): double or single or plain
        for name, double, single, plain in reversed(_attribute.findall(text))
    }
    return {name: unescape(value) for name, value in found.items()} if "&" in text else found


def source(stated: dict[str, str]) -> str:
    """The address of a picture or a player, also of one that is loaded late; "" for one that is in the page itself."""
    found = stated.get("src") or stated.get("data-src") or stated.get("data") or ""
    return "" if found.startswith("data:") else address(found)


def fact(tag: str, stated: dict[str, str]) -> tuple[str, str]:
    """Microdata whose value is in an attribute (https://html.spec.whatwg.org/#values), or two empty texts."""
    name = stated.get("itemprop", "")
    value = stated.get("content") or (stated.get("href", "") if tag == "link" else "")
    return (name, value) if value and name not in STAMPS else ("", "")


def _statement(tag: str, stated: dict[str, str]) -> tuple[str, str]:
    if "itemprop" in stated:
        return fact(tag, stated)
    if tag == "meta":
        name = (stated.get("property") or stated.get("name") or "").lower()
        if name in _METAS or (name.startswith(_PREFIXES) and name not in STAMPS):
            return name, stated.get("content", "")
    elif tag == "link":
        rels = stated.get("rel", "").lower().split()
        if not _RELATIONS.isdisjoint(rels) and "stylesheet" not in rels:
            name = " ".join(["link", *sorted(rels), stated.get("hreflang", "")])
            return name, address(stated.get("href", ""))
    elif tag in _MEDIA:
        return tag, source(stated)
    return "", ""


def _token(tag: str, stated: dict[str, str]) -> bytes:
    """A tag with its class and id, without figures and states, which differ where pages are meant to agree."""
    if "class" not in stated and "id" not in stated:
        return tag.encode("utf-8", "surrogatepass")
    names = [*sorted(set(stated.get("class", "").split()) - _STATES), "#" + stated.get("id", "")]
    return _figures.sub("0", " ".join((tag, *names))[:500]).encode("utf-8", "surrogatepass")
