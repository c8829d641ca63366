"""Parses the markup of snapshots into content blocks: the texts and statements that a reader or search engine sees.

No tree is built: one pass reads the tags, with a stack of the elements that contain others. Where a browser builds
another tree, both versions in a comparison are misread alike. A place is the chain of containers with their classes and
ids; a box is the part of it from the innermost container that has some; a spot is a place under a heading. Markup that
two versions share is read once. A long text is several blocks: its sentences, and its inline elements with a class.
"""

import re
from copy import copy
from hashlib import blake2b
from itertools import islice
from typing import Any, Final

from msgspec import Struct, field

from crawler.parse.html import jsonld
from crawler.parse.snapshot.snapshot import load_snapshot
from crawler.parse.snapshot.text import (
    CODE_LEAF,
    CODES,
    LEAF,
    NO_CONTENT,
    NO_EFFECT,
    TAG_EFFECTS,
    TEXTS,
    TagEffect,
    TextReading,
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
MAX_CONTAINERS: Final = 20_000
"""Containers that are kept for the next pages, as :func:`weight_of` counts them."""
_WEIGHT: Final = 200  # characters of markup that take as much memory as a container
_CHAIN: Final = 100  # bytes up to which a chain of names is not hashed

_data = re.compile(
    r"<script\b(?=[^>]{0,200}ld\+json)[^>]*+(?:>(.*?)(?:</script\b[^>]*+(?:>|\Z)|\Z)|\Z)", re.DOTALL | re.IGNORECASE
)
_OWN_URL: Final = (
    b"=link",
    b"=JSON-LD",
    b"=og:url",
    b"=twitter:url",
)  # the places of what may state the URL of the page
_FACT_PROPERTIES: Final = frozenset(
    ("price", "lowPrice", "highPrice", "priceCurrency", "availability", "product:price:amount")
)


class ContentBlock(Struct, frozen=True, gc=False):
    """One text or statement. ``compared_text`` decides whether two blocks are equal; ``text`` is for display.

    ``is_frame``: it is in an element around the content (nav, the footer of the body). ``is_fact``: it is a price or an
    availability, stated as data. ``is_link``: it is a link or a picture and nothing else. ``is_labelled``: it is
    such a link behind a label.
    """

    compared_text: str
    text: str
    place: bytes
    spot: str = ""
    is_frame: bool = False
    is_fact: bool = False
    is_link: bool = False
    box: bytes = b""
    is_labelled: bool = False


def stable_hash(*parts: bytes) -> int:
    """A signed 64-bit hash, equal in every process and version of Python."""
    return int.from_bytes(blake2b(b"\x00".join(parts), digest_size=8).digest(), "big", signed=True)


def weight_of(markup: str) -> int:
    """How many containers take as much memory as one that is kept with its markup, such as a drawing of 50 kB."""
    return 1 + len(markup) // _WEIGHT


def parse_blocks(snapshot: bytes, limit: int | None = None) -> list[ContentBlock] | None:
    """The blocks of a page in document order, at most ``MAX_BLOCKS``, or None when the snapshot is unreadable.

    ``limit`` is the number of characters of markup that are read.
    """
    markup = load_snapshot(snapshot)
    return None if markup is None else read_blocks(markup[:limit])


def read_blocks(markup: str) -> list[ContentBlock]:
    """The blocks of the markup of a snapshot in document order, at most ``MAX_BLOCKS``; those of JSON-LD come first."""
    markup, entries = extract_jsonld(markup)
    _Reader().read(split_markup(markup), entries)
    return list(islice((block for entry in entries for block in blocks_of(entry)), MAX_BLOCKS))


def own_texts(snapshot: bytes) -> list[str]:
    """The texts, media and prices of a page outside its frame, without links and JSON-LD that may state its own URL."""
    blocks = parse_blocks(snapshot) or ()
    return [b.compared_text for b in blocks if not b.is_frame and (b.is_fact or not b.place.startswith(_OWN_URL))]


Passage = tuple["Container", bytes, str, str]
"""A text that nobody has read: its container, what gives it its role, its markup, and the last heading."""
Entry = ContentBlock | Passage


def parts_of(leaf: bytes, raw: str) -> tuple[TextReading, ...]:
    """The parts of a text behind the tag ``leaf``, by its markup."""
    return (CODES if leaf.startswith(CODE_LEAF) else TEXTS)[raw]


def blocks_of(entry: Entry) -> list[ContentBlock]:
    """The blocks of an entry of a page."""
    if isinstance(entry, ContentBlock):
        return [entry]
    container, leaf, raw, heading = entry
    blocks = []
    for part in parts_of(leaf, raw):
        if text := part.compared_text:
            place, box = container.place + leaf, container.box + leaf
            if part.token:
                place, box = place + LEAF + part.token, part.token
            kinds = container.is_frame, False, part.is_link, box, part.is_labelled
            blocks.append(ContentBlock(text, part.text, place, heading, *kinds))
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
    old_markup, old = extract_jsonld(old_markup)
    new_markup, new = extract_jsonld(new_markup)
    new_pieces = split_markup(new_markup)
    old_pieces = split_markup_like(old_markup, new_markup, new_pieces)
    earlier, later = PageVersion(old, [*range(len(old))]), PageVersion(new, [*range(len(new))])
    in_earlier, in_later = _Reader(), _Reader()
    for span in diff_spans(old_pieces, new_pieces):
        if span.same and in_earlier.is_at(in_later):
            begin = len(later.entries)
            in_later.read(new_pieces[span.new], later.entries)
            earlier.entries += later.entries[begin:]
            in_earlier = copy(in_later)
            continue
        for reader, pieces, version in (
            (in_later, new_pieces[span.new], later),
            (in_earlier, old_pieces[span.old], earlier),
        ):
            found: list[Entry] = []
            reader.read(pieces, found)
            version.add(found)
    return earlier, later


class Container(dict[str, "Container"]):
    """An open element that contains others, in all around it; ``container[tag]`` is the one that a tag in it opens.

    The pages of a site open the same ones, so each is made once.
    """

    __slots__ = ("box", "depth", "is_frame", "is_mute", "is_section", "name", "outer", "place")
    kept = 0
    first: "Container | None" = None

    def __init__(self, outer: "Container | None" = None, tag: TagEffect = NO_EFFECT) -> None:
        super().__init__()
        self.outer, self.name = outer, tag.name
        self.depth, self.place, self.box = 0, b"", b""
        self.is_mute = self.is_section = self.is_frame = False
        if outer is not None:
            self.depth, self.place, self.box = outer.depth + 1, outer.place, outer.box
            if self.depth <= MAX_DEPTH:
                self.place = _chain(outer.place, tag.token)
                self.box = tag.token if b" " in tag.token else _chain(outer.box, tag.token)
            self.is_mute = outer.is_mute or tag.is_mute
            self.is_section = outer.is_section or tag.is_section
            is_inside = outer.is_frame and tag.name != "article"  # themes put the newest post of a list into an aside
            self.is_frame = is_inside or tag.is_frame or (tag.is_outer and not self.is_section)

    @classmethod
    def root(cls) -> "Container":
        """What is around all elements of a document."""
        if cls.first is None or cls.kept >= MAX_CONTAINERS:
            if cls.first is not None:
                cls.first.forget()
            cls.kept, cls.first = 0, cls()
        return cls.first

    def forget(self) -> None:
        """Forget all containers inside: they know what is around them, and a process may collect no cycles."""
        inside = [self]
        while inside:
            container = inside.pop()
            inside += container.values()
            container.clear()

    def __missing__(self, written: str) -> "Container":
        if self.depth >= MAX_OPEN:
            return self
        inner = Container(self, TAG_EFFECTS[written])
        if Container.kept < MAX_CONTAINERS:
            Container.kept += weight_of(written)
            self[written] = inner
        return inner

    def without(self, name: str) -> "Container":
        """What is around the innermost container of a name, or this one if none is open."""
        inner = self
        while inner.outer is not None:
            if inner.name == name:
                return inner.outer
            inner = inner.outer
        return self


class _Reader(Struct):
    """Reads a document in parts. It is in a container, behind the tag ``leaf`` and the last heading."""

    container: Container = field(default_factory=Container.root)
    leaf: bytes = b""
    heading: str = ""
    in_heading: bool = False

    def is_at(self, other: "_Reader") -> bool:
        """Whether both read what follows alike."""
        state, where = ((one.leaf, one.heading, one.in_heading) for one in (self, other))
        return self.container is other.container and state == where

    def read(self, pieces: list[str], entries: list[Entry]) -> None:
        """Read pairs of tag and text, up to ``MAX_BLOCKS`` entries."""
        container, leaf = self.container, self.leaf
        pairs = iter(pieces)
        for written, text in zip(pairs, pairs, strict=True):
            if written:
                tag = TAG_EFFECTS[written]
                if tag.ends:
                    leaf = b""
                    if tag.opens:
                        container = container.without(tag.name)
                elif tag.name:
                    if tag.statement[1] and not container.is_mute:
                        entries += filter(None, [_statement(*tag.statement)])
                    leaf = tag.leaf
                    container = container[written] if tag.opens else container
                    self.in_heading = tag.is_heading or (tag.opens and self.in_heading)
            if text and not container.is_mute and not text.isspace():
                entries.append((container, leaf, text, self.heading))
                if self.in_heading:
                    self._pass_heading(text)
                if len(entries) >= MAX_BLOCKS:
                    break
        self.container, self.leaf = container, leaf

    def _pass_heading(self, text: str) -> None:
        if shown := [part.text for part in TEXTS[text] if part.compared_text]:
            self.heading, self.in_heading = mask_variable_text(shown[0][:200]), False


def _statement(name: str, value: str) -> ContentBlock | None:
    value = clean_value(value)
    if not value:
        return None
    text = f"{name}: {value}"
    last = name.rpartition(".")[2]
    # the same in all JSON-LD, however deep, but not what a meta element states under this name
    place, box = statement_place(name), statement_place(f"JSON-LD.{last}" if name.startswith("JSON-LD") else last)
    return ContentBlock(fold_typography(text), text, place, is_fact=last in _FACT_PROPERTIES, box=box)


def statement_place(name: str) -> bytes:
    """The place of the statements of one name."""
    return b"=" + name[:200].encode("utf-8", "surrogatepass")


def extract_jsonld(markup: str) -> tuple[str, list[Entry]]:
    """The markup without JSON-LD, and the JSON-LD values as blocks by their path. The order of keys does not count."""
    blocks: list[Entry] = []
    rest, scripts = split_jsonld(markup)
    for script in scripts:
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
    return rest, blocks


def split_jsonld(markup: str) -> tuple[str, list[str]]:
    """The markup without JSON-LD, and the text of each of its scripts."""
    if "ld+json" not in markup:
        return markup, []
    parts = _data.split(markup)
    return "".join(parts[::2]), [script or "" for script in parts[1::2]]


def _chain(outer: bytes, token: bytes) -> bytes:
    chain = outer + b">" + token
    return chain if len(chain) <= _CHAIN else blake2b(chain, digest_size=8).digest()
