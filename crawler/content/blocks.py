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

from msgspec import Struct

from crawler.content.kept import unfold
from crawler.content.tags import INLINE, STAMPS, Move, fact, move, read_attributes, source
from crawler.content.wording import address, mask
from crawler.html import jsonld

MAX_BLOCKS: Final = 20_000
MAX_DEPTH: Final = 64
"""Containers in each other whose names count for a place."""
_REMEMBERED: Final = 1_000  # characters of a text that may be met again, up to which it is not read anew

_data = re.compile(
    r"<script\b(?=[^>]{0,200}ld\+json)[^>]*+(?:>(.*?)(?:</script\b[^>]*+(?:>|\Z)|\Z)|\Z)",
    re.DOTALL | re.IGNORECASE,
)
# Quotes count after "=" only; what has no end reaches to the end of the text.
_ATTRIBUTES: Final = r"((?:[^>=]++|=\s*+(?:\"[^\"]*+\"|'[^']*+')?+)*+)(?:>|\Z)"
_inline = rf"/?(?:{INLINE.replace(' ', '|')})(?=[\s/>])"
# The tags at which a block ends. Splitting gives text, tag name and attributes in turn.
_borders = re.compile(
    rf"<(?=[/a-z!?])(?!{_inline})(?:(/?[a-z][^\s/>]*+){_ATTRIBUTES}|[!?/][^>]*+(?:>|\Z))", re.IGNORECASE
)
_within = re.compile(rf"<(/?[a-z][^\s/>]*+){_ATTRIBUTES}", re.IGNORECASE)
_FACTS: Final = frozenset(
    ("price", "lowPrice", "highPrice", "priceCurrency", "availability", "product:price:amount")
)


class Block:
    """One thing that is read as a whole. ``says`` is all that counts; ``text`` is what a person may be shown.

    ``is_frame``: it stands in what surrounds pages by its very element (nav, the footer of the body). ``is_fact``: it
    is a price or an availability, stated as data. ``is_link``: it is a link or a picture and nothing else.
    """

    __slots__ = ("is_fact", "is_frame", "is_link", "place", "says", "spot", "text")

    def __init__(self, says: str, text: str, place: bytes) -> None:
        self.says = says
        self.text = text
        self.place = place
        self.spot = ""
        self.is_frame = self.is_fact = self.is_link = False


class _Said(Struct, frozen=True):
    """What a stretch of text with its inline elements says."""

    says: str = ""
    text: str = ""
    is_link: bool = False
    facts: tuple[tuple[str, str], ...] = ()


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
        reader.add_data(_data.findall(markup))
        markup = _data.sub("", markup)
    reader.read(_borders.split(markup))
    return reader.blocks


class _Reader:
    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self.stack: list[tuple[Move, bytes, bool, bool]] = []  # what was opened, and the state around it
        self.open: Counter[str] = Counter()
        self.place, self.is_frame, self.is_section = b"", False, False
        self.leaf = b""
        self.heading = ""
        self.in_heading = False
        self.mute = 0

    def read(self, pieces: list[str | None]) -> None:
        """Take text, tag name and attributes in turn."""
        self._text(pieces[0] or "")
        for tag, attributes, text in zip(pieces[1::3], pieces[2::3], pieces[3::3], strict=True):
            if tag:
                self._tag(move(tag, attributes or "") if len(attributes or "") < _REMEMBERED else Move(tag))
            if text and not self.mute and not text.isspace():
                self._text(text)
                if len(self.blocks) >= MAX_BLOCKS:
                    return

    def _text(self, raw: str) -> None:
        said = _remembered(raw) if len(raw) < _REMEMBERED else _read(raw)
        if said.says:
            block = Block(said.says, said.text, self.place + self.leaf)
            block.is_link = said.is_link
            block.is_frame = self.is_frame
            block.spot = self.heading
            self.blocks.append(block)
            if self.in_heading:
                self.heading = mask(said.text[:200])
                self.in_heading = False
        for name, value in said.facts:
            self._statement(name, value)

    def _tag(self, tag: Move) -> None:
        if tag.ends:
            self.leaf = b""
            if tag.opens and self.open[tag.name]:
                self._close(tag.name)
            return
        if tag.states[1] and not self.mute:
            self._statement(*tag.states)
        if tag.opens:
            self._open(tag)
        else:
            self.leaf = tag.token
            self.in_heading = tag.is_heading

    def _open(self, tag: Move) -> None:
        self.stack.append((tag, self.place, self.is_frame, self.is_section))
        self.open[tag.name] += 1
        self.mute += tag.is_mute
        self.leaf = b""
        if len(self.stack) <= MAX_DEPTH:
            self.place = _chain(self.place, tag.token)
        self.is_section = self.is_section or tag.is_section
        self.is_frame = self.is_frame or tag.is_frame or (tag.is_outer and not self.is_section)

    def _close(self, name: str) -> None:
        while True:
            opened, self.place, self.is_frame, self.is_section = self.stack.pop()
            self.open[opened.name] -= 1
            self.mute -= opened.is_mute
            if opened.name == name:
                return

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
                    inner = sorted((str(name), item) for name, item in value.items() if name not in STAMPS)
                    waiting.extend((f"{path}.{name}"[-200:], item) for name, item in reversed(inner))
                elif isinstance(value, list):
                    waiting.extend((path, item) for item in reversed(value))
                elif value is not None:
                    self._statement(f"JSON-LD{path}", str(value))


def _read(raw: str) -> _Said:
    if "<" not in raw:
        text = " ".join((unescape(raw) if "&" in raw else raw).split())
        return _Said(text, text)
    parts: list[str] = []
    targets: list[str] = []
    facts: list[tuple[str, str]] = []
    in_link = outside = False
    pieces = _within.split(raw)
    for at in range(0, len(pieces), 3):
        if at:
            tag, attributes = pieces[at - 2].lower(), pieces[at - 1]
            if tag in {"a", "/a"}:
                in_link = tag == "a"
            stated = read_attributes(attributes) if tag[0] != "/" and attributes else {}
            if "itemprop" in stated:
                facts.append(fact(tag, stated))
            if tag in {"br", "wbr", "img"}:
                parts.append(f" {stated.get('alt', '')} ")
            target = address(stated["href"]) if "href" in stated else source(stated)
            if target and not target[:11].lower().startswith("javascript:"):
                targets.append(target)
        text = pieces[at]
        parts.append(text)
        outside = outside or not (in_link or not text or text.isspace())
    text = " ".join(unescape("".join(parts)).split())
    says = "\x1f".join((text, *targets))
    return _Said(
        says, text or says[1:], bool(targets) and not outside, tuple(found for found in facts if found[1])
    )


_remembered = lru_cache(maxsize=4_096)(_read)


@lru_cache(maxsize=4_096)
def _chain(outer: bytes, token: bytes) -> bytes:
    return blake2b(outer + b">" + token, digest_size=8).digest()
