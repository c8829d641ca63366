"""Which blocks one page lost and gained between two visits. Compares; what of it matters is the survey's judgement."""

from collections import Counter
from collections.abc import Container
from functools import lru_cache
from typing import Final

from msgspec import Struct

from crawler.parse.html.text import one_line
from crawler.parse.snapshot.blocks import (
    AnyBlock,
    ContentBlock,
    PageVersion,
    parse_blocks,
    parse_changed_blocks,
    stable_hash,
)
from crawler.parse.snapshot.text import Memo, mask_variable_text

MAX_DIFFERENCES = 200
MAX_TEXT = 120
MAX_SAMPLED_CHARACTERS = 200_000
MAX_BARE = 4
"""Characters of a shape up to which it needs its place to mean something."""
_SHAPE: Final = 0x5A5A_5A5A_5A5A_5A5A  # tells the key of a shape from that of an equal text
_WORD_MASK: Final = (1 << 64) - 1
FRAME = 1
"""Flag of a difference: it stands in an element that surrounds pages (nav, the footer of the body)."""
FACT = 2
"""Flag of a difference: a price or an availability stated as data."""
LINK = 4
"""Flag of a difference: it is a link or a picture and nothing else."""


class Difference(Struct, frozen=True, array_like=True):
    """One block that a page lost (``gone``) or gained, by keys from the coarse to the fine.

    ``place`` is where it stands, ``spot`` the place under its heading, ``shape`` the text without figures, ``exact``
    the text with its links. ``after`` and ``ahead`` are its nearest neighbours that stayed, as texts at
    their places (0 at an end of the page), ``among`` counts the blocks of this page at the same spot.
    """

    gone: bool
    place: int
    spot: int
    shape: int
    exact: int
    after: int
    ahead: int
    among: int
    flags: int
    text: str


class Delta(Struct, frozen=True, array_like=True):
    """What differs between two visits of one page. ``more``: there was more than is listed.

    ``known`` is False when one of the two is empty or unknown: then nothing can be said, and nothing is.
    """

    differences: list[Difference] = []
    more: bool = False
    known: bool = True


def compare(before: bytes, after: bytes) -> Delta:
    """Compare two kept contents as multisets of blocks: what only moved is no difference. Never raises.

    Of equal texts, those stay that stand where nothing differs, and then the first.
    """
    if before == after:
        return Delta(known=bool(before))
    both = parse_changed_blocks(before, after)
    if both is None or not all(any(map(_read_block, side.entries)) for side in both):
        return Delta(known=False)
    in_old, in_new = (Counter([block.compared_text for block in side.differing]) for side in both)
    gone = _differences(both[0], _surplus(in_old, in_new), True)
    came = _differences(both[1], _surplus(in_new, in_old), False)
    room = MAX_DIFFERENCES // 2
    kept_gone = gone[: max(room, MAX_DIFFERENCES - len(came))]
    listed = kept_gone + came[: MAX_DIFFERENCES - len(kept_gone)]
    return Delta(listed, more=len(listed) < len(gone) + len(came))


def content_keys(kept: bytes) -> list[int]:
    """The distinct keys of what a page holds: texts, shapes, spots and places, and texts at their places.

    Of a long page, those of its first ``MAX_SAMPLED`` characters of markup.
    """
    found: set[int] = set()
    for block in parse_blocks(kept, MAX_SAMPLED_CHARACTERS) or ():
        keys = exact, _, _, place = _block_keys(block)
        found.update(keys)
        found.add(_key_beside(exact, place))
    return list(found)


def _surplus(one: Counter[str], other: Counter[str]) -> dict[str, int]:
    """What one has more often than the other, and how much more often."""
    return {says: count - other[says] for says, count in one.items() if count > other.get(says, 0)}


def _differences(side: PageVersion, lost: dict[str, int], gone: bool) -> list[Difference]:
    """What is not on the other side, in document order, one more than is listed at most; of equals the last."""
    if not lost:
        return []
    moved: dict[int, ContentBlock] = {}
    for at in reversed(side.own):
        block = side.entries[at]
        if isinstance(block, ContentBlock) and lost.get(block.compared_text):
            lost[block.compared_text] -= 1
            moved[at] = block
    places = {block.place for block in moved.values()}
    there = [each for each in side.entries if each.place in places and _read_block(each)]
    among = Counter([(each.place, each.spot) for each in there])
    found: list[Difference] = []
    ahead = -1
    for at in sorted(moved)[: MAX_DIFFERENCES + 1]:
        if at > ahead:
            (_, after), (ahead, before) = (_unmoved_neighbour(side, moved, at, step) for step in (-1, 1))
        block = moved[at]
        found.append(_difference(block, gone, after, before, among[block.place, block.spot]))
    return found


def _unmoved_neighbour(side: PageVersion, moved: Container[int], at: int, step: int) -> tuple[int, int]:
    """The number of the nearest entry in one direction that stayed and says something, and its key, or 0."""
    at += step
    while 0 <= at < len(side.entries):
        block = None if at in moved else _read_block(side.entries[at])
        if block:
            return at, _key_at_place(block)
        at += step
    return at, 0


def _read_block(entry: AnyBlock) -> ContentBlock | None:
    return entry if isinstance(entry, ContentBlock) else entry.read()


def _difference(block: ContentBlock, gone: bool, after: int, ahead: int, among: int) -> Difference:
    exact, shape, spot, place = _block_keys(block)
    flags = FRAME * block.is_frame | FACT * block.is_fact | LINK * block.is_link
    text = one_line(block.text, MAX_TEXT)
    return Difference(gone, place, spot, shape, exact, after, ahead, among, flags, text)


def _key_at_place(block: ContentBlock) -> int:
    """A text at its place, as the neighbour of others."""
    exact, _, _, place = _block_keys(block)
    return _key_beside(exact, place)


def _key_beside(exact: int, place: int) -> int:
    return ((exact * 3 + place) & _WORD_MASK) - (_WORD_MASK >> 1)


def _block_keys(block: ContentBlock) -> tuple[int, int, int, int]:
    exact, shape, bare = _TEXTS[block.compared_text]
    spot, where = _place_keys(block.place, block.spot)
    return exact, shape or stable_hash(block.place, _to_bytes(bare), b"shape"), spot, where


def _text_keys(says: str) -> tuple[int, int, str]:
    """The exact key; that of the shape, or 0 and the shape itself when it needs its place to mean something."""
    shape = mask_variable_text(says)
    exact = stable_hash(_to_bytes(says))
    if len(shape) <= MAX_BARE:
        return exact, 0, shape
    return exact, (exact if shape == says else stable_hash(_to_bytes(shape))) ^ _SHAPE, ""


_TEXTS: Final = Memo(_text_keys)


@lru_cache(maxsize=8_192)
def _place_keys(place: bytes, spot: str) -> tuple[int, int]:
    return stable_hash(place, _to_bytes(spot), b"spot"), stable_hash(place, b"place")


def _to_bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
