"""Which blocks one page lost and gained between two visits. Compares; what of it matters is the survey's judgement."""

from collections import Counter
from functools import lru_cache
from typing import Final

from msgspec import Struct

from crawler.content.blocks import Block, key, take_apart, take_apart_both
from crawler.content.memo import Memo
from crawler.content.wording import mask
from crawler.html import clean

MAX_DIFFERENCES = 200
MAX_TEXT = 120
MAX_SAMPLED = 200_000
MAX_BARE = 4
"""Characters of a shape up to which it needs its place to mean something."""
_SHAPE: Final = 0x5A5A_5A5A_5A5A_5A5A  # tells the key of a shape from that of an equal text
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
    """Compare two kept contents as multisets of blocks: what only moved is no difference. Never raises."""
    if before == after:
        return Delta(known=bool(before))
    both = take_apart_both(before, after)
    if both is None or not all(both):
        return Delta(known=False)
    old, new = both
    in_old, in_new = Counter([block.says for block in old]), Counter([block.says for block in new])
    gone = _differences(old, _more(in_old, in_new), True)
    came = _differences(new, _more(in_new, in_old), False)
    room = MAX_DIFFERENCES // 2
    kept_gone = gone[: max(room, MAX_DIFFERENCES - len(came))]
    listed = kept_gone + came[: MAX_DIFFERENCES - len(kept_gone)]
    return Delta(listed, more=len(listed) < len(gone) + len(came))


def holdings(kept: bytes) -> list[int]:
    """The distinct keys of what a page holds: texts, shapes, spots and places, and texts at their places.

    Of a long page, those of its first ``MAX_SAMPLED`` characters of markup.
    """
    found: set[int] = set()
    blocks = take_apart(kept, MAX_SAMPLED) or []
    for at, block in enumerate(blocks):
        found.update(_keys(block))
        found.add(_local(blocks, at))
    return list(found)


def _more(one: Counter[str], other: Counter[str]) -> dict[str, int]:
    """What one has more often than the other, and how much more often."""
    return {says: count - other[says] for says, count in one.items() if count > other.get(says, 0)}


def _differences(blocks: list[Block], lost: dict[str, int], gone: bool) -> list[Difference]:
    """What is not on the other side, in document order, one more than is listed at most; of equals the last."""
    if not lost:
        return []
    moved: set[int] = set()
    for at in range(len(blocks) - 1, -1, -1):
        if lost.get(blocks[at].says):
            lost[blocks[at].says] -= 1
            moved.add(at)
    places = {blocks[at].place for at in moved}
    among = Counter([(block.place, block.spot) for block in blocks if block.place in places])
    found: list[Difference] = []
    after, ahead = -1, -1
    for at in sorted(moved)[: MAX_DIFFERENCES + 1]:
        if at > ahead:
            after, ahead = at - 1, at + 1
            while ahead in moved:
                ahead += 1
            near = _local(blocks, after), _local(blocks, ahead)
        block = blocks[at]
        found.append(_difference(block, gone, *near, among[block.place, block.spot]))
    return found


def _difference(block: Block, gone: bool, after: int, ahead: int, among: int) -> Difference:
    exact, shape, spot, place = _keys(block)
    flags = FRAME * block.is_frame | FACT * block.is_fact | LINK * block.is_link
    text = clean.one_line(block.text, MAX_TEXT)
    return Difference(gone, place, spot, shape, exact, after, ahead, among, flags, text)


def _local(blocks: list[Block], at: int) -> int:
    """A text at its place, as the neighbour of others."""
    return key(blocks[at].place, _bytes(blocks[at].says)) if 0 <= at < len(blocks) else 0


def _keys(block: Block) -> tuple[int, int, int, int]:
    exact, shape, bare = _TEXTS[block.says]
    spot, where = _place_keys(block.place, block.spot)
    return exact, shape or key(block.place, _bytes(bare), b"shape"), spot, where


def _text_keys(says: str) -> tuple[int, int, str]:
    """The exact key; that of the shape, or 0 and the shape itself when it needs its place to mean something."""
    shape = mask(says)
    exact = key(_bytes(says))
    if len(shape) <= MAX_BARE:
        return exact, 0, shape
    return exact, (exact if shape == says else key(_bytes(shape))) ^ _SHAPE, ""


_TEXTS: Final = Memo(_text_keys)


@lru_cache(maxsize=8_192)
def _place_keys(place: bytes, spot: str) -> tuple[int, int]:
    return key(place, _bytes(spot), b"spot"), key(place, b"place")


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
