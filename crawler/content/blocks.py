"""Takes kept markup apart into the blocks that a reader or a search engine sees, each with the place where it stands.

No tree is built: one pass over the tags with a stack of the elements that contain others. Where a browser would build
something else, both bodies of a comparison are misread alike. A place is the chain of containers with what their class
and id say; a spot is a place under a heading.
"""

import re
from collections import Counter
from functools import lru_cache
from hashlib import blake2b
from html import unescape
from typing import Any, Final

from crawler.content.kept import unfold
from crawler.content.wording import address, mask
from crawler.html import jsonld

MAX_BLOCKS: Final = 20_000
MAX_DEPTH: Final = 64
"""Containers in each other whose names count for a place."""

_data = re.compile(
    r"<script\b(?=[^>]{0,200}ld\+json)[^>]*+(?:>(.*?)(?:</script\b[^>]*+(?:>|\Z)|\Z)|\Z)",
    re.DOTALL | re.IGNORECASE,
)
# Text, then tag name and attributes, in turn. Quotes count after "=" only; what has no end reaches to the end.
_tags = re.compile(
    r"<(?:(/?[a-zA-Z][^\s/>]*+)((?:[^>=]++|=\s*+(?:\"[^\"]*+\"|'[^']*+')?+)*+)|[!?/][^>]*+)(?:>|\Z)"
)
_attribute = re.compile(r"([^\s\"'>/=]++)(?:\s*+=\s*+(?:\"([^\"]*+)\"|'([^']*+)'|([^\s\"'>]++)))?+")
_figures = re.compile(r"[0-9a-z]*[0-9][0-9a-z]*", re.IGNORECASE)


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_INLINE: Final = _names(
    "a abbr acronym area b bdi bdo big br cite code data del dfn em embed font i img ins kbd map mark nobr picture"
    " q rb rp rt ruby s samp small source span strike strong sub sup time track tt u var wbr"
)
_SPACING: Final = frozenset(("br", "wbr", "img"))
_LEAVES: Final = _names(
    "p li dt dd td th tr thead tbody tfoot caption figcaption h1 h2 h3 h4 h5 h6 pre option optgroup legend summary"
    " address label button hr rt textarea colgroup col param head title link meta base html body noscript"
)
_HEADINGS: Final = frozenset(("h1", "h2", "h3", "h4", "h5", "h6"))
_SOURCES: Final = frozenset(("img", "iframe", "video", "audio", "source", "embed", "object"))
_MUTE: Final = frozenset(("template", "svg", "math", "datalist", "iframe", "canvas", "object"))
"""Elements whose text is no text of the page: drawings, and what is shown instead."""
_SECTIONS: Final = frozenset(("article", "main", "section", "dialog"))
_FRAME_ROLES: Final = frozenset(("navigation", "contentinfo"))
_STATES: Final = frozenset(
    ("active", "current", "selected", "open", "first", "last", "odd", "even", "lazy", "lazyloaded")
)
_METAS: Final = frozenset(("description", "keywords", "robots", "googlebot", "author"))
_PREFIXES: Final = ("og:", "article:", "product:", "book:", "video:")
_STAMPS: Final = frozenset(("og:updated_time", "article:modified_time", "dateModified", "sdDatePublished"))
_RELATIONS: Final = frozenset(("canonical", "alternate", "amphtml", "next", "prev"))
_FACTS: Final = frozenset(
    ("price", "lowPrice", "highPrice", "priceCurrency", "availability", "product:price:amount")
)


class Block:
    """One thing that is read as a whole. ``says`` is all that counts; ``text`` is what a person may be shown.

    ``is_frame``: it stands in what surrounds pages by its very element (nav, the footer of the body). ``is_fact``: it
    is a price or an availability, stated as data. ``is_link``: it is a link or a picture and nothing else.
    """

    __slots__ = ("is_fact", "is_frame", "is_link", "mask", "place", "says", "spot", "text")

    def __init__(self, says: str, text: str, place: bytes) -> None:
        self.says = says
        self.text = text
        self.place = place
        self.spot = b""
        self.mask = ""
        self.is_frame = self.is_fact = self.is_link = False


def key(*parts: bytes) -> int:
    """A number for a place or for what stands there; equal in every process and version of Python."""
    return int.from_bytes(blake2b(b"\x00".join(parts), digest_size=8).digest(), "big", signed=True)


def take_apart(kept: bytes) -> list[Block] | None:
    """The blocks of a page in document order, at most ``MAX_BLOCKS``; None when the bytes are none of ours."""
    markup = unfold(kept)
    if markup is None:
        return None
    reader = _Reader()
    if "ld+json" in markup:
        scripts = [found for found in _data.findall(markup) if found]
        markup = _data.sub("", markup)
        reader.add_data(scripts)
    reader.read(_tags.split(markup))
    return reader.blocks


class _Reader:
    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self.stack: list[tuple[str, bytes, bool, bool]] = []  # name, place, is_frame, is_section
        self.open: Counter[str] = Counter()
        self.place, self.is_frame, self.is_section = b"", False, False
        self.leaf = b""
        self.heading = b""
        self.in_heading = False
        self.parts: list[str] = []
        self.targets: list[str] = []
        self.unlinked = False  # whether there is text outside links
        self.in_link = False
        self.mute = 0

    def read(self, pieces: list[str | None]) -> None:
        """Take text, tag and attributes in turn."""
        self._text(pieces[0] or "")
        for at in range(1, len(pieces), 3):
            tag = pieces[at]
            if tag is not None:
                self._tag(tag if tag.islower() else tag.lower(), pieces[at + 1] or "")
            text = pieces[at + 2]
            if text:
                self._text(text)
            if len(self.blocks) >= MAX_BLOCKS:
                return
        self._flush()

    def _text(self, text: str) -> None:
        if not self.mute and text:
            self.parts.append(text)
            if not (self.in_link or self.unlinked or text.isspace()):
                self.unlinked = True

    def _tag(self, tag: str, attributes: str) -> None:
        if tag in _SOURCES and not self.mute:
            self._media(tag, attributes)
        if tag in _INLINE:
            if tag in {"a", "area"} and not self.mute:
                self.in_link = tag == "a"
                self._target(_attributes(attributes).get("href", ""))
            elif tag in _SPACING:
                self.parts.append(" ")
            if "itemprop" in attributes:
                self._fact(tag, attributes)
        elif tag == "/a":
            self.in_link = False
        elif tag[0] == "/" and tag[1:] in _INLINE:
            pass
        else:
            self._border(tag, attributes)

    def _border(self, tag: str, attributes: str) -> None:
        """A tag at which a block ends."""
        self._flush()
        if tag[0] == "/":
            name = tag[1:]
            if name in _LEAVES:
                self.leaf = b""
            else:
                self._close(name)
        elif tag in _LEAVES:
            self.leaf = _token(tag, attributes)
            self.in_heading = tag in _HEADINGS
            if tag in {"meta", "link", "title"}:
                self._head(tag, attributes)
        elif not (attributes.endswith("/") and tag in _MUTE):
            self._open(tag, attributes)

    def _open(self, tag: str, attributes: str) -> None:
        self.stack.append((tag, self.place, self.is_frame, self.is_section))
        self.open[tag] += 1
        self.mute += tag in _MUTE
        self.leaf = b""
        if len(self.stack) <= MAX_DEPTH:
            self.place = _chain(self.place, _token(tag, attributes))
        self.is_section = self.is_section or tag in _SECTIONS
        role = _attributes(attributes).get("role", "").lower() if "role" in attributes else ""
        is_outer = tag in {"footer", "aside"} and not self.is_section
        self.is_frame = self.is_frame or is_outer or tag == "nav" or role in _FRAME_ROLES

    def _close(self, name: str) -> None:
        if not self.open[name]:
            return  # an end without a beginning
        self.leaf = b""
        while True:
            opened, self.place, self.is_frame, self.is_section = self.stack.pop()
            self.open[opened] -= 1
            self.mute -= opened in _MUTE
            if opened == name:
                return

    def _media(self, tag: str, attributes: str) -> None:
        stated = _attributes(attributes)
        source = stated.get("src") or stated.get("data-src") or stated.get("data") or ""
        if not source.startswith("data:"):
            self._target(source)
        if tag == "img" and stated.get("alt"):
            self.parts.append(f" {stated['alt']} ")

    def _target(self, href: str) -> None:
        if href and not href[:11].lower().startswith("javascript:"):
            self.targets.append(address(unescape(href)))

    def _flush(self) -> None:
        """End the block that was begun."""
        if not self.parts and not self.targets:
            return
        text = " ".join(unescape("".join(self.parts)).split())
        targets, is_link = self.targets, not self.unlinked
        self.parts, self.targets, self.unlinked = [], [], False
        if not text and not targets:
            return
        block = Block(
            "\x1f".join((text, *targets)) if targets else text, text or targets[0], self.place + self.leaf
        )
        block.is_link = is_link and bool(targets)
        block.is_frame = self.is_frame
        block.spot = self.heading
        self.blocks.append(block)
        if self.in_heading:
            self.heading = mask(text[:200]).encode("utf-8", "surrogatepass")
            self.in_heading = False

    def _head(self, tag: str, attributes: str) -> None:
        if tag == "title":
            self.leaf = b"title"
            return
        stated = _attributes(attributes)
        if "itemprop" in stated:
            self._fact(tag, attributes)
        elif tag == "meta":
            name = (stated.get("property") or stated.get("name") or "").lower()
            if name in _METAS or (name.startswith(_PREFIXES) and name not in _STAMPS):
                self._statement(name, stated.get("content", ""))
        else:
            rels = stated.get("rel", "").lower().split()
            if not _RELATIONS.isdisjoint(rels) and "stylesheet" not in rels:
                name = " ".join(["link", *sorted(rels), stated.get("hreflang", "")])
                self._statement(name, address(stated.get("href", "")))

    def _fact(self, tag: str, attributes: str) -> None:
        """Microdata whose value is in an attribute: https://html.spec.whatwg.org/#values."""
        stated = _attributes(attributes)
        name = stated.get("itemprop", "")
        value = stated.get("content") or (stated.get("href", "") if tag == "link" else "")
        if value and name not in _STAMPS:
            self._statement(name, value)

    def _statement(self, name: str, value: str) -> None:
        value = " ".join(value.split())
        if not value or len(self.blocks) >= MAX_BLOCKS:
            return
        text = f"{name}: {value}"
        block = Block(text, text, b"=" + name[:200].encode("utf-8", "surrogatepass"))
        block.is_fact = name.rpartition(".")[2] in _FACTS
        self.blocks.append(block)

    def add_data(self, scripts: list[str]) -> None:
        """The values of JSON-LD by the path of their keys; the order of keys says nothing."""
        for script in scripts:
            waiting: list[tuple[str, Any]] = [("", jsonld.read(script))]
            while waiting and len(self.blocks) < MAX_BLOCKS:
                path, value = waiting.pop()
                if isinstance(value, dict):
                    inner = sorted((str(name), item) for name, item in value.items() if name not in _STAMPS)
                    waiting.extend((f"{path}.{name}"[-200:], item) for name, item in reversed(inner))
                elif isinstance(value, list):
                    waiting.extend((path, item) for item in reversed(value))
                elif value is not None:
                    self._statement(f"JSON-LD{path}", str(value))


def _attributes(text: str) -> dict[str, str]:
    """Attributes by name in lower case, the first of each name, with entities decoded."""
    found = {
        name.lower(): double or single or plain
        for name, double, single, plain in reversed(_attribute.findall(text))
    }
    return {name: unescape(value) for name, value in found.items()} if "&" in text else found


@lru_cache(maxsize=4_096)
def _token(tag: str, attributes: str) -> bytes:
    """A tag with its class and id, without figures and states, which differ where pages are meant to agree."""
    stated = _attributes(attributes[:2_000])
    if "class" not in stated and "id" not in stated:
        return tag.encode("utf-8", "surrogatepass")
    names = [*sorted(set(stated.get("class", "").split()) - _STATES), "#" + stated.get("id", "")]
    return _figures.sub("0", " ".join((tag, *names))).encode("utf-8", "surrogatepass")


@lru_cache(maxsize=4_096)
def _chain(outer: bytes, token: bytes) -> bytes:
    return blake2b(outer + b">" + token, digest_size=8).digest()
