"""Parses the markup of snapshots into content blocks: the texts and statements that a reader or search engine sees.

No tree is built: one pass reads the tags, with a stack of the elements that contain others. Where a browser builds
another tree, both versions in a comparison are misread alike. A place is the chain of containers with their classes and
ids; a box is the part of it from the innermost container that has some; a spot is a place under a heading. Markup that
two versions share is read once. A long text is several blocks: its sentences, and its inline elements with a class.
"""

import re
from hashlib import blake2b
from itertools import islice
from typing import Any, Final, NamedTuple

from msgspec import Struct

from crawler.parse.html import jsonld
from crawler.parse.snapshot.snapshot import load_snapshot
from crawler.parse.snapshot.text import (
    NO_CONTENT,
    NO_EFFECT,
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
MAX_OPEN: Final = 512
"""Containers that can be open, as in browsers (https://crbug.com/41177003); one more does not count."""
MAX_STATES: Final = 20_000
"""Steps between positions that are kept."""
_NOTHING: Final = ("", "")
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
    _Reader().read(split_markup(markup), entries)
    return list(islice((block for entry in entries for block in blocks_of(entry)), MAX_BLOCKS))


class Passage(NamedTuple):
    """A text of several blocks, perhaps, which nobody has read yet: it stands in a part that two versions share."""

    state: "_State"
    raw: str
    heading: str


Entry = ContentBlock | Passage


def blocks_of(entry: Entry) -> list[ContentBlock]:
    """The blocks of an entry of a page."""
    if isinstance(entry, ContentBlock):
        return [entry]
    state, blocks = entry.state, []
    for part in TEXTS[entry.raw]:
        if text := part.compared_text:
            at = (state.at + _LEAF + part.token, part.token) if part.token else (state.at, state.box + state.leaf)
            blocks.append(
                ContentBlock(text, part.text, at[0], entry.heading, state.is_frame, False, part.is_link, at[1])
            )
        blocks += filter(None, (_statement(name, value) for name, value in part.facts))
    return blocks


class PageVersion(Struct):
    """One of two versions: all entries in document order, and the indexes of those that may differ: they are blocks."""

    entries: list[Entry]
    own: list[int]

    @property
    def differing(self) -> list[ContentBlock]:
        """The blocks that may differ."""
        return [block for at in self.own for block in blocks_of(self.entries[at])]

    def add(self, entries: list[Entry]) -> None:
        """Add entries that may differ."""
        begin = len(self.entries)
        self.entries += (block for entry in entries for block in blocks_of(entry))
        self.own += range(begin, len(self.entries))


def parse_changed_blocks(before: bytes, after: bytes) -> tuple[PageVersion, PageVersion] | None:
    """The entries of two versions of a page. Texts in equal markup under the same containers are left unread."""
    old_markup, new_markup = load_snapshot(before), load_snapshot(after)
    if old_markup is None or new_markup is None:
        return None
    old_markup, old = _extract_jsonld(old_markup)
    new_markup, new = _extract_jsonld(new_markup)
    new_pieces = split_markup(new_markup)
    old_pieces = split_markup_like(old_markup, new_markup, new_pieces)
    earlier, later = PageVersion(old, [*range(len(old))]), PageVersion(new, [*range(len(new))])
    in_earlier, in_later = _Reader(), _Reader()
    for span in diff_spans(old_pieces, new_pieces):
        if span.same and in_earlier.is_where(in_later):
            begin = len(later.entries)
            in_later.read(new_pieces[span.new], later.entries)
            earlier.entries += later.entries[begin:]
            in_earlier.go_to(in_later)
            continue
        for reader, pieces, version in ((in_later, new_pieces[span.new], later), (in_earlier, old_pieces[span.old], earlier)):
            found: list[Entry] = []
            reader.read(pieces, found)
            version.add(found)
    return earlier, later


class _State(dict[str, "_State"]):
    """A position between the tags of a document; ``state[tag]`` is the one behind the next tag, as written.

    The pages of a site go through the same positions, so each step is found once. ``outer`` is the position around the
    innermost container, which is ``name``; ``alike`` are the positions in it. ``leaf`` is an element that gives the text
    its role, ``at`` the place of the text. ``statement`` is what the last tag states.
    """

    __slots__ = (
        *("alike", "at", "box", "depth", "in_heading", "is_frame", "is_mute", "is_section", "leaf", "name", "outer"),
        *("place", "statement"),
    )
    kept = 0

    def __init__(self, outer: "_State | None" = None, tag: TagEffect = NO_EFFECT) -> None:
        super().__init__()
        self.outer, self.name = outer, tag.name
        self.leaf, self.statement = b"", _NOTHING
        self.depth, self.place, self.box = 0, b"", b""
        self.in_heading = self.is_mute = self.is_section = self.is_frame = False
        if outer is not None:
            self.depth, self.place, self.box = outer.depth + 1, outer.place, outer.box
            self.in_heading, self.is_mute = outer.in_heading, outer.is_mute or tag.is_mute
            if self.depth <= MAX_DEPTH:
                self.place = _chain(outer.place, tag.token)
                self.box = tag.token if b" " in tag.token else _chain(outer.box, tag.token)
            self.is_section = outer.is_section or tag.is_section
            self.is_frame = outer.is_frame or tag.is_frame or (tag.is_outer and not self.is_section)
            self.statement = _NOTHING if outer.is_mute else tag.statement
        self.at = self.place
        self.alike = {(self.leaf, self.in_heading, self.statement): self}

    def __missing__(self, written: str) -> "_State":
        following = self._behind(TAG_EFFECTS[written], written)
        if _State.kept < MAX_STATES:
            _State.kept += 1
            self[written] = following
        return following

    def _behind(self, tag: TagEffect, written: str) -> "_State":
        if not tag.name:
            return self.with_leaf(self.leaf, self.in_heading)
        if tag.ends:
            return (self._around(tag.name) if tag.opens else self).with_leaf(b"", self.in_heading)
        if not tag.opens:
            return self.with_leaf(_LEAF + tag.token, tag.is_heading, _NOTHING if self.is_mute else tag.statement)
        plain = self.with_leaf(b"", self.in_heading)
        if plain is not self:
            return plain[written]
        return _State(self, tag) if self.depth < MAX_OPEN else self

    def with_leaf(self, leaf: bytes, in_heading: bool, statement: tuple[str, str] = ("", "")) -> "_State":
        """The position in the same container with another leaf."""
        known = self.alike.get((leaf, in_heading, statement))
        if known is None:
            known = _State()
            for name in self.__slots__:
                setattr(known, name, getattr(self, name))
            known.leaf, known.in_heading, known.statement, known.at = leaf, in_heading, statement, self.place + leaf
            self.alike[leaf, in_heading, statement] = known
        return known

    def _around(self, name: str) -> "_State":
        """The position around the innermost container of a name, or this one if none is open."""
        inner = self
        while inner.outer is not None:
            if inner.name == name:
                return inner.outer
            inner = inner.outer
        return self


class _Reader:
    """Reads a document in parts. ``heading`` is the last one."""

    _root = _State()

    def __init__(self) -> None:
        if _State.kept >= MAX_STATES:
            _State.kept, _Reader._root = 0, _State()
        self.state, self.heading = _Reader._root, ""

    def is_where(self, other: "_Reader") -> bool:
        """Whether both read what follows alike."""
        return self.state is other.state and self.heading == other.heading

    def go_to(self, other: "_Reader") -> None:
        """Go on where the other is."""
        self.state, self.heading = other.state, other.heading

    def read(self, pieces: list[str], entries: list[Entry]) -> None:
        """Read pairs of tag and text, up to ``MAX_BLOCKS`` entries."""
        state, heading = self.state, self.heading
        pairs = iter(pieces)
        for written, text in zip(pairs, pairs, strict=True):
            if written:
                state = state[written]
                if state.statement[1]:
                    entries += filter(None, [_statement(*state.statement)])
            if text and not state.is_mute and not text.isspace():
                entries.append(Passage(state, text, heading))
                if state.in_heading and (shown := [part.text for part in TEXTS[text] if part.compared_text]):
                    heading = mask_variable_text(shown[0][:200])
                    state = state.with_leaf(state.leaf, False)
                if len(entries) >= MAX_BLOCKS:
                    break
        self.state, self.heading = state, heading


def _statement(name: str, value: str) -> ContentBlock | None:
    value = clean_value(value)
    if not value:
        return None
    text = f"{name}: {value}"
    last = name.rpartition(".")[2]
    place, box = statement_place(name), statement_place(last)
    return ContentBlock(fold_typography(text), text, place, is_fact=last in _FACT_PROPERTIES, box=box)


def statement_place(name: str) -> bytes:
    """The place of the statements of one name."""
    return b"=" + name[:200].encode("utf-8", "surrogatepass")


def _extract_jsonld(markup: str) -> tuple[str, list[Entry]]:
    """The markup without JSON-LD, and the JSON-LD values as blocks by their path. The order of keys does not count."""
    blocks: list[Entry] = []
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
                blocks += filter(None, [_statement(f"JSON-LD{path}", str(value))])
    return _data.sub("", markup), blocks


def _chain(outer: bytes, token: bytes) -> bytes:
    chain = outer + b">" + token
    return chain if len(chain) <= _CHAIN else blake2b(chain, digest_size=8).digest()
