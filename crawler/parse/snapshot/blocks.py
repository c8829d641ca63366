"""Parses the markup of snapshots into content blocks: the texts and statements that a reader or search engine sees.

No tree is built: one pass reads the tags, with a stack of the elements that contain others. Where a browser builds
another tree, both versions in a comparison are misread alike. A place is the chain of containers with their classes and
ids; a box is the part of it from the innermost container that has some; a spot is a place under a heading. Markup that
two versions share is read once. A long text is several blocks: its sentences, and its inline elements with a class.
"""

import re
from hashlib import blake2b
from typing import Any, Final

from msgspec import Struct

from crawler.parse.html import jsonld
from crawler.parse.snapshot.snapshot import load_snapshot
from crawler.parse.snapshot.text import (
    NO_CONTENT,
    TAG_EFFECTS,
    TEXTS,
    TagEffect,
    clean_value,
    diff_spans,
    fold_typography,
    mask_variable_text,
    split_markup,
    split_markup_like,
)

MAX_BLOCKS: Final = 20_000
MAX_DEPTH: Final = 64
"""Nested containers whose names count for a place."""
_LEAF: Final = b"\x1f"  # before an element that gives a text its role; no class or id contains this character
_CHAIN: Final = 100  # bytes up to which a chain of names is not hashed

_data = re.compile(
    r"<script\b(?=[^>]{0,200}ld\+json)[^>]*+(?:>(.*?)(?:</script\b[^>]*+(?:>|\Z)|\Z)|\Z)", re.DOTALL | re.IGNORECASE
)
_FACT_PROPERTIES: Final = frozenset(
    ("price", "lowPrice", "highPrice", "priceCurrency", "availability", "product:price:amount")
)


class ContentBlock(Struct, frozen=True, gc=False):
    """One text or statement. ``compared_text`` decides whether two blocks are equal; ``text`` is for display.

    ``is_frame``: it is in an element around the content (nav, the footer of the body). ``is_fact``: it is a price or an
    availability, stated as data. ``is_link``: it is a link or a picture and nothing else.
    """

    compared_text: str
    text: str
    place: bytes
    spot: str = ""
    is_frame: bool = False
    is_fact: bool = False
    is_link: bool = False
    box: bytes = b""


def stable_hash(*parts: bytes) -> int:
    """A signed 64-bit hash, equal in every process and version of Python."""
    return int.from_bytes(blake2b(b"\x00".join(parts), digest_size=8).digest(), "big", signed=True)


def parse_blocks(snapshot: bytes, limit: int | None = None) -> list[ContentBlock] | None:
    """The blocks of a page in document order, at most ``MAX_BLOCKS``, or None when the snapshot is unreadable.

    ``limit`` is the number of characters of markup that are read.
    """
    markup = load_snapshot(snapshot)
    return None if markup is None else read_blocks(markup[:limit])


def read_blocks(markup: str) -> list[ContentBlock]:
    """The blocks of the markup of a snapshot in document order, at most ``MAX_BLOCKS``; those of JSON-LD come first."""
    markup, entries = _extract_jsonld(markup)
    _ParserState().read(split_markup(markup), entries)
    return entries


class PageVersion(Struct):
    """One of two versions: all blocks in document order, and the indexes of those that may differ."""

    blocks: list[ContentBlock]
    own: list[int]

    @property
    def differing(self) -> list[ContentBlock]:
        """The blocks that may differ."""
        return [self.blocks[at] for at in self.own]


def parse_changed_blocks(before: bytes, after: bytes) -> tuple[PageVersion, PageVersion] | None:
    """The blocks of two versions of a page. Equal markup under the same containers is left unread."""
    old_markup, new_markup = load_snapshot(before), load_snapshot(after)
    if old_markup is None or new_markup is None:
        return None
    old_markup, old = _extract_jsonld(old_markup)
    new_markup, new = _extract_jsonld(new_markup)
    new_pieces = split_markup(new_markup)
    old_pieces = split_markup_like(old_markup, new_markup, new_pieces)
    earlier, later = PageVersion(old, [*range(len(old))]), PageVersion(new, [*range(len(new))])
    in_earlier, in_later = _ParserState(), _ParserState()
    for span in diff_spans(old_pieces, new_pieces):
        is_shared, begin = span.same and in_earlier == in_later, len(later.blocks)
        in_later.read(new_pieces[span.new], later.blocks)
        if is_shared and len(later.blocks) < MAX_BLOCKS:
            earlier.blocks += later.blocks[begin:]
            in_earlier = in_later.copy()
            continue
        later.own += range(begin, len(later.blocks))
        begin = len(earlier.blocks)
        in_earlier.read(old_pieces[span.old], earlier.blocks)
        earlier.own += range(begin, len(earlier.blocks))
    return earlier, later


class _ParserState(Struct):
    """The position in a document, which decides how the next tag and text are read."""

    stack: list[tuple[TagEffect, bytes, bytes, bool, bool]] = []  # open elements, each with the state around it
    open: dict[str, int] = {}
    place: bytes = b""
    box: bytes = b""
    is_frame: bool = False
    is_section: bool = False
    leaf: bytes = b""
    heading: str = ""
    in_heading: bool = False
    mute: int = 0

    def copy(self) -> "_ParserState":
        fields = (getattr(self, name) for name in self.__struct_fields__[2:])
        return _ParserState(self.stack.copy(), self.open.copy(), *fields)

    def read(self, pieces: list[str], blocks: list[ContentBlock]) -> None:
        """Read pairs of tag and text, up to ``MAX_BLOCKS``."""
        pairs = iter(pieces)
        for written, text in zip(pairs, pairs, strict=True):
            if written:
                tag = TAG_EFFECTS[written]
                if tag.ends:
                    self.leaf = b""
                    if tag.opens and self.open.get(tag.name):
                        self._close(tag.name)
                elif tag.name:
                    self._start(tag, blocks)
            if text and not self.mute and not text.isspace():
                self._text(text, blocks)
                if len(blocks) >= MAX_BLOCKS:
                    return

    def _text(self, raw: str, blocks: list[ContentBlock]) -> None:
        for part in TEXTS[raw]:
            if part.compared_text:
                place, box = self.place + self.leaf, self.box + self.leaf
                if part.token:
                    place, box = place + _LEAF + part.token, part.token
                text, is_link = part.compared_text, part.is_link
                blocks.append(ContentBlock(text, part.text, place, self.heading, self.is_frame, False, is_link, box))
                if self.in_heading:
                    self.heading = mask_variable_text(part.text[:200])
                    self.in_heading = False
            for name, value in part.facts:
                _append_statement(name, value, blocks)

    def _start(self, tag: TagEffect, blocks: list[ContentBlock]) -> None:
        if tag.statement[1] and not self.mute:
            _append_statement(*tag.statement, blocks)
        if tag.opens:
            self._open(tag)
        else:
            self.leaf = _LEAF + tag.token
            self.in_heading = tag.is_heading

    def _open(self, tag: TagEffect) -> None:
        self.stack.append((tag, self.place, self.box, self.is_frame, self.is_section))
        self.open[tag.name] = self.open.get(tag.name, 0) + 1
        self.mute += tag.is_mute
        self.leaf = b""
        if len(self.stack) <= MAX_DEPTH:
            self.place = _chain(self.place, tag.token)
            self.box = tag.token if b" " in tag.token else _chain(self.box, tag.token)
        self.is_section = self.is_section or tag.is_section
        self.is_frame = self.is_frame or tag.is_frame or (tag.is_outer and not self.is_section)

    def _close(self, name: str) -> None:
        while True:
            opened, self.place, self.box, self.is_frame, self.is_section = self.stack.pop()
            self.open[opened.name] -= 1
            self.mute -= opened.is_mute
            if opened.name == name:
                return


def _append_statement(name: str, value: str, blocks: list[ContentBlock]) -> None:
    value = clean_value(value)
    if not value or len(blocks) >= MAX_BLOCKS:
        return
    text = f"{name}: {value}"
    place = statement_place(name)
    is_fact = name.rpartition(".")[2] in _FACT_PROPERTIES
    blocks.append(
        ContentBlock(fold_typography(text), text, place, is_fact=is_fact, box=statement_place(name.rpartition(".")[2]))
    )


def statement_place(name: str) -> bytes:
    """The place of the statements of one name."""
    return b"=" + name[:200].encode("utf-8", "surrogatepass")


def _extract_jsonld(markup: str) -> tuple[str, list[ContentBlock]]:
    """The markup without JSON-LD, and the JSON-LD values as blocks by their path. The order of keys does not count."""
    blocks: list[ContentBlock] = []
    if "ld+json" not in markup:
        return markup, blocks
    for script in _data.findall(markup):
        stack: list[tuple[str, Any]] = [("", jsonld.read_block(script))]
        while stack and len(blocks) < MAX_BLOCKS:
            path, value = stack.pop()
            if isinstance(value, dict):
                inner = sorted((str(name), item) for name, item in value.items() if name not in NO_CONTENT)
                stack.extend((f"{path}.{name}"[-200:], item) for name, item in reversed(inner))
            elif isinstance(value, list):
                stack.extend((path, item) for item in reversed(value))
            elif value is not None:
                _append_statement(f"JSON-LD{path}", str(value), blocks)
    return _data.sub("", markup), blocks


def _chain(outer: bytes, token: bytes) -> bytes:
    chain = outer + b">" + token
    return chain if len(chain) <= _CHAIN else blake2b(chain, digest_size=8).digest()
