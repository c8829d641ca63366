"""Which blocks one page lost and gained between two visits. Compares; what of it matters is the survey's judgement."""

from collections import Counter
from functools import lru_cache

from msgspec import Struct

from crawler.content.blocks import Block, key, take_apart
from crawler.content.wording import mask
from crawler.html import clean

MAX_DIFFERENCES = 200
MAX_TEXT = 120
MAX_BARE = 4
"""Characters of a shape up to which it needs its place to mean something."""
_OFTEN = 500  # characters of a text up to which it may be met on other pages
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
    old, new = take_apart(before), take_apart(after)
    if not old or not new:
        return Delta(known=False)
    in_old, in_new = Counter(block.says for block in old), Counter(block.says for block in new)
    common = in_old & in_new
    gone = _differences(old, common, True) if len(common) < len(in_old) or in_old != common else []
    came = _differences(new, common, False) if len(common) < len(in_new) or in_new != common else []
    room = MAX_DIFFERENCES // 2
    kept_gone = gone[: max(room, MAX_DIFFERENCES - len(came))]
    listed = kept_gone + came[: MAX_DIFFERENCES - len(kept_gone)]
    return Delta(listed, more=len(listed) < len(gone) + len(came))


def holdings(kept: bytes) -> list[int]:
    """The distinct keys of all that a page holds: texts, shapes, spots and places, and texts at their places."""
    found: set[int] = set()
    for block in take_apart(kept) or ():
        found.update(_keys(block))
        found.add(_local(block))
    return list(found)


def _differences(blocks: list[Block], common: Counter[str], gone: bool) -> list[Difference]:
    left = common.copy()
    stays: list[bool] = []
    for block in blocks:
        says = block.says
        left[says] -= 1
        stays.append(left[says] >= 0)
    among = Counter((block.place, block.spot) for block in blocks)
    found: list[Difference] = []
    anchor: Block | None = None
    waiting: list[tuple[Block, int]] = []
    for block, stayed in zip(blocks, stays, strict=True):
        if not stayed:
            waiting.append((block, _local(anchor)))
            continue
        if waiting:
            found.extend(
                _difference(each, gone, after, _local(block), among[each.place, each.spot])
                for each, after in waiting
            )
            waiting = []
        anchor = block
        if len(found) > MAX_DIFFERENCES:
            break
    found.extend(_difference(each, gone, after, 0, among[each.place, each.spot]) for each, after in waiting)
    return found


def _difference(block: Block, gone: bool, after: int, ahead: int, among: int) -> Difference:
    exact, shape, spot, place = _keys(block)
    flags = FRAME * block.is_frame | FACT * block.is_fact | LINK * block.is_link
    text = clean.one_line(block.text, MAX_TEXT)
    return Difference(gone, place, spot, shape, exact, after, ahead, among, flags, text)


def _local(block: Block | None) -> int:
    """A text at its place, as the neighbour of others."""
    return key(block.place, _bytes(block.says)) if block else 0


def _keys(block: Block) -> tuple[int, int, int, int]:
    place = block.place
    exact, general, shape = _text_keys(block.says)
    spot, where = _place_keys(place, block.spot)
    return exact, general or key(place, _bytes(shape), b"shape"), spot, where


def _text_keys(says: str) -> tuple[int, int, str]:
    """The exact key; that of the shape, or 0 and the shape itself when it needs its place to mean something."""
    return _remembered(says) if len(says) < _OFTEN else _remembered.__wrapped__(says)


@lru_cache(maxsize=8_192)
def _remembered(says: str) -> tuple[int, int, str]:
    shape = mask(says)
    exact = key(_bytes(says))
    return (exact, key(_bytes(shape), b"shape"), "") if len(shape) > MAX_BARE else (exact, 0, shape)


@lru_cache(maxsize=8_192)
def _place_keys(place: bytes, spot: str) -> tuple[int, int]:
    return key(place, _bytes(spot), b"spot"), key(place, b"place")


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
