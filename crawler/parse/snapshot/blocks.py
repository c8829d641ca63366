"""Takes kept markup apart into the blocks that a reader or a search engine sees, each with the place where it stands.

No tree is built: one pass over the tags with a stack of the elements that contain others. Where a browser would build
something else, both bodies of a comparison are misread alike. A place is the chain of containers with what their class
and id say; a spot is a place under a heading. What two visits of a page have in common is read once.
"""

import re
from hashlib import blake2b
from typing import Any, Final

from msgspec import Struct

from crawler.parse.html import jsonld
from crawler.parse.snapshot.snapshot import load_snapshot
from crawler.parse.snapshot.text import (
    STAMP_PROPERTIES,
    TAG_EFFECTS,
    TEXTS,
    TagEffect,
    diff_spans,
    mask_variable_text,
    split_markup,
    split_markup_like,
)

MAX_BLOCKS: Final = 20_000
MAX_DEPTH: Final = 64
"""Containers in each other whose names count for a place."""
_CHAIN: Final = 100  # bytes of these names that are kept as they are

_data = re.compile(
    r"<script\b(?=[^>]{0,200}ld\+json)[^>]*+(?:>(.*?)(?:</script\b[^>]*+(?:>|\Z)|\Z)|\Z)",
    re.DOTALL | re.IGNORECASE,
)
_FACT_PROPERTIES: Final = frozenset(
    ("price", "lowPrice", "highPrice", "priceCurrency", "availability", "product:price:amount")
)


class ContentBlock(Struct, frozen=True, gc=False):
    """One thing that is read as a whole. ``says`` is all that counts; ``text`` is what a person may be shown.

    ``is_frame``: it stands in what surrounds pages by its very element (nav, the footer of the body). ``is_fact``: it
    is a price or an availability, stated as data. ``is_link``: it is a link or a picture and nothing else.
    """

    compared_text: str
    text: str
    place: bytes
    spot: str = ""
    is_frame: bool = False
    is_fact: bool = False
    is_link: bool = False


class UnreadBlock(Struct, frozen=True, gc=False):
    """Markup that says one thing or nothing, and where it stands."""

    markup: str
    place: bytes
    spot: str
    is_frame: bool

    def read(self) -> ContentBlock | None:
        """The block, or None when it says nothing."""
        said = TEXTS[self.markup]
        if not said.compared_text:
            return None
        return ContentBlock(
            said.compared_text, said.text, self.place, self.spot, self.is_frame, False, said.is_link
        )


AnyBlock = ContentBlock | UnreadBlock


def stable_hash(*parts: bytes) -> int:
    """A number for a place or for what stands there; equal in every process and version of Python."""
    return int.from_bytes(blake2b(b"\x00".join(parts), digest_size=8).digest(), "big", signed=True)


def parse_blocks(kept: bytes, limit: int | None = None) -> list[ContentBlock] | None:
    """The blocks of a page in document order, at most ``MAX_BLOCKS``; None when the bytes are none of ours.

    ``limit``: how many characters of the markup are looked at.
    """
    markup = load_snapshot(kept)
    if markup is None:
        return None
    markup, entries = _extract_jsonld(markup[:limit])
    _ParserState().read(split_markup(markup), entries)
    return [each for each in entries if isinstance(each, ContentBlock)]


class PageVersion(Struct):
    """One of two visits: all entries in document order, and the numbers of those that may differ, all of them read."""

    entries: list[AnyBlock]
    own: list[int]

    @property
    def differing(self) -> list[ContentBlock]:
        """The blocks that may differ."""
        entries = self.entries
        return [each for at in self.own if isinstance(each := entries[at], ContentBlock)]


def parse_changed_blocks(before: bytes, after: bytes) -> tuple[PageVersion, PageVersion] | None:
    """The same for two visits of one page. What both have in common under the same containers is left unread."""
    old_markup, new_markup = load_snapshot(before), load_snapshot(after)
    if old_markup is None or new_markup is None:
        return None
    old_markup, old = _extract_jsonld(old_markup)
    new_markup, new = _extract_jsonld(new_markup)
    new_pieces = split_markup(new_markup)
    old_pieces = split_markup_like(old_markup, new_markup, new_pieces)
    one, other = PageVersion(old, [*range(len(old))]), PageVersion(new, [*range(len(new))])
    # What is unread counts for one block, so nothing of a page that may have too many is left unread.
    lazily = len(new) + len(new_pieces) <= MAX_BLOCKS and "itemprop" not in new_markup.lower()
    here, there = _ParserState(), _ParserState()
    for run in diff_spans(old_pieces, new_pieces):
        agree, begin = run.same and here == there, len(other.entries)
        there.read(new_pieces[run.new], other.entries, lazily=lazily and agree)
        if agree and len(other.entries) < MAX_BLOCKS:
            one.entries += other.entries[begin:]
            here = there.copy()
            continue
        other.own += range(begin, len(other.entries))
        begin = len(one.entries)
        here.read(old_pieces[run.old], one.entries)
        one.own += range(begin, len(one.entries))
    return one, other


class _ParserState(Struct):
    """Where in a document one is: what decides how the next tag and text are read."""

    stack: list[tuple[TagEffect, bytes, bool, bool]] = []  # what was opened, and the state around it
    open: dict[str, int] = {}
    place: bytes = b""
    is_frame: bool = False
    is_section: bool = False
    leaf: bytes = b""
    heading: str = ""
    in_heading: bool = False
    mute: int = 0

    def copy(self) -> "_ParserState":
        fields = (getattr(self, name) for name in self.__struct_fields__[2:])
        return _ParserState(self.stack.copy(), self.open.copy(), *fields)

    def read(self, pieces: list[str], blocks: list[AnyBlock], *, lazily: bool = False) -> None:
        """Take pairs of tag and text, until there are blocks enough. Headings are never left unread."""
        pairs = iter(pieces)
        for written, text in zip(pairs, pairs, strict=True):
            if written:
                tag = TAG_EFFECTS[written]
                if tag.ends:
                    self.leaf = b""
                    if tag.opens and self.open.get(tag.name):
                        self._close(tag.name)
                elif tag.name:
                    self._begin(tag, blocks)
            if text and not self.mute and not text.isspace():
                if lazily and not self.in_heading:
                    blocks.append(UnreadBlock(text, self.place + self.leaf, self.heading, self.is_frame))
                    continue
                self._text(text, blocks)
                if len(blocks) >= MAX_BLOCKS:
                    return

    def _text(self, raw: str, blocks: list[AnyBlock]) -> None:
        said = TEXTS[raw]
        if said.compared_text:
            place, spot = self.place + self.leaf, self.heading
            blocks.append(
                ContentBlock(said.compared_text, said.text, place, spot, self.is_frame, False, said.is_link)
            )
            if self.in_heading:
                self.heading = mask_variable_text(said.text[:200])
                self.in_heading = False
        for name, value in said.facts:
            _append_statement(name, value, blocks)

    def _begin(self, tag: TagEffect, blocks: list[AnyBlock]) -> None:
        if tag.states[1] and not self.mute:
            _append_statement(*tag.states, blocks)
        if tag.opens:
            self._open(tag)
        else:
            self.leaf = b"\x1f" + tag.token  # no class or id ends like this
            self.in_heading = tag.is_heading

    def _open(self, tag: TagEffect) -> None:
        self.stack.append((tag, self.place, self.is_frame, self.is_section))
        self.open[tag.name] = self.open.get(tag.name, 0) + 1
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


def _append_statement(name: str, value: str, blocks: list[AnyBlock]) -> None:
    value = " ".join(value.split())
    if not value or len(blocks) >= MAX_BLOCKS:
        return
    text = f"{name}: {value}"
    place = b"=" + name[:200].encode("utf-8", "surrogatepass")
    blocks.append(ContentBlock(text, text, place, is_fact=name.rpartition(".")[2] in _FACT_PROPERTIES))


def _extract_jsonld(markup: str) -> tuple[str, list[AnyBlock]]:
    """The markup without JSON-LD, and the values of that by the path of their keys; the order of keys says nothing."""
    blocks: list[AnyBlock] = []
    if "ld+json" not in markup:
        return markup, blocks
    for script in _data.findall(markup):
        waiting: list[tuple[str, Any]] = [("", jsonld.read_block(script))]
        while waiting and len(blocks) < MAX_BLOCKS:
            path, value = waiting.pop()
            if isinstance(value, dict):
                inner = sorted(
                    (str(name), item) for name, item in value.items() if name not in STAMP_PROPERTIES
                )
                waiting.extend((f"{path}.{name}"[-200:], item) for name, item in reversed(inner))
            elif isinstance(value, list):
                waiting.extend((path, item) for item in reversed(value))
            elif value is not None:
                _append_statement(f"JSON-LD{path}", str(value), blocks)
    return _data.sub("", markup), blocks


def _chain(outer: bytes, token: bytes) -> bytes:
    chain = outer + b">" + token
    return chain if len(chain) <= _CHAIN else blake2b(chain, digest_size=8).digest()
