"""The slots of a page: the places of its template, and which of them move with each difference. Pure.

A slot is known by a 64-bit key that is the same on all pages of a template: a place (the containers of a text), the
part of it that other templates have too, the place under a heading, a position among the texts of a place, or the
words around a number. Figures, orders, insertions, removals and the targets of links are slots of their own, since they
tell of each other nothing: a counter that moves in a sentence says nothing of its words.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from crawler.parse.snapshot.diff import (
    BEFORE_ALIKE,
    BEHIND_ALIKE,
    FRAME,
    MOVED,
    REPEATED,
    Delta,
    Difference,
    stated_name,
    text_at_place_key,
)

WHOLE: Final = 0.4
"""Share of the texts at a place that changed, from which on the place moved as a whole."""
MIN_ADDED: Final = 3
"""Words that must come to a text, to know them again on other pages: fewer may meet by chance."""
FIGURES: Final = 0x3C3C_3C3C_3C3C_3C3C  # these keep the keys of different kinds of moves of one place apart
ORDER: Final = 0x6969_6969_6969_6969
_MORE: Final = 0x2121_2121_2121_2121
_FEWER: Final = 0x2323_2323_2323_2323
_TARGETS: Final = 0x4747_4747_4747_4747
KINDS: Final = (0, FIGURES, ORDER, _MORE, _FEWER, _TARGETS)
_GONE: Final = 0x1111_2222_3333_4444
_ANYWHERE: Final = 0x0707_0707_0707_0707


class Move(NamedTuple):
    """How one difference moved: the slots that moved with it.

    ``words`` are, for each number that moved inside the same words, the keys of its neighbours, None for other moves.
    ``more`` is how many more texts came to the place than left it; ``is_swap``: some came and some left; ``is_born``:
    the whole place came, or went; ``is_whole``: most of its texts came or went. ``wider`` are the slots of the text, if
    only its targets moved: a text that moves by itself moves its targets, too.
    """

    slots: frozenset[int]
    words: tuple[tuple[int, ...], ...] | None = None
    more: int = 0
    is_swap: bool = False
    is_born: bool = False
    is_whole: bool = False
    wider: frozenset[int] = frozenset()


def moves_of(differences: Sequence[Difference]) -> list[Move]:
    """How each difference of a page moved."""
    sides: tuple[dict[int, Difference], dict[int, Difference]] = ({}, {})
    for d in differences:
        if not d.flags & MOVED:
            sides[d.gone].setdefault(d.shape, d)
    came, gone = sides
    stamped = {k: _moved_words(came[k], gone[k]) for k in came.keys() & gone.keys() if _is_stamp(came[k], gone[k])}
    whole = _whole_slots(differences)
    kept = kept_words(differences)
    balance = [Counter(d.place for d in differences if d.gone is side) for side in (False, True)]
    return [_move(d, stamped, whole, kept, balance[0][d.place], balance[1][d.place]) for d in differences]


def kept_words(differences: Sequence[Difference]) -> set[int]:
    """The words that a page lost and gained: of such a text, only the targets of its links and pictures changed."""
    lost, came = ({d.words for d in differences if d.gone is side} for side in (True, False))
    return lost & came


def _move(
    d: Difference,
    stamped: dict[int, tuple[tuple[int, ...], ...]],
    whole: set[int],
    kept: set[int],
    came: int,
    gone: int,
) -> Move:
    if d.flags & MOVED:
        return Move(frozenset((d.place ^ ORDER, d.box ^ ORDER)))
    at = whole.intersection((d.place, d.spot, d.box))
    if d.shape in stamped:
        words = stamped[d.shape]
        figures = {k ^ FIGURES for k in (d.nth, d.nth_last, *at)}
        return Move(frozenset({d.shape, *figures, *(word for near in words for word in near)}), words)
    is_swap = came > 0 and gone > 0
    kind = 0 if came == gone else _MORE if came > gone else _FEWER
    slots, wider = frozenset((d.nth ^ kind, d.nth_last ^ kind, *at)), frozenset[int]()
    if d.words in kept:
        slots, wider = frozenset(k ^ _TARGETS for k in (d.nth, d.nth_last, *at)), slots
    return Move(slots, None, came - gone, is_swap, not is_swap and came + gone >= d.among, d.place in at, wider)


def _is_stamp(came: Difference, gone: Difference) -> bool:
    """Whether the figures changed inside the same words, and not only a link or a picture."""
    return (came.text, came.size, came.figures) != (gone.text, gone.size, gone.figures)


def _moved_words(came: Difference, gone: Difference) -> tuple[tuple[int, ...], ...]:
    return tuple(
        tuple(word ^ FIGURES for word in (before, after) if word)
        for (before, after, new), (_, _, old) in zip(came.figures, gone.figures, strict=False)
        if new != old
    )


def _whole_slots(differences: Iterable[Difference]) -> set[int]:
    """The places, spots and boxes of which most texts came, or most went."""
    counts: Counter[tuple[int, bool]] = Counter()
    among: dict[int, dict[int, int]] = {}
    for d in differences:
        if not d.flags & MOVED:
            for k in {d.place, d.spot, d.box}:
                counts[k, d.gone] += 1
                among.setdefault(k, {})[d.spot] = d.among
    return {k for (k, _), n in counts.items() if n >= WHOLE * sum(among[k].values())}


def text_slots(d: Difference, move: Move) -> list[tuple[int, int]]:
    """What a difference may share with those of other pages, and the key of the pages that could have it, 0 for all.

    The same text or shape anywhere, at its place or beside the same neighbour; and a place that came or went as a
    whole, between the same places.
    """
    side = _GONE if d.gone else 0
    near = [k for k in (0 if move.is_born else d.place, d.after, d.ahead) if k]
    found = [(k ^ side ^ _ANYWHERE, 0) for k in {d.exact, d.shape}]
    found += [(text_at_place_key(k, at) ^ side, at) for k in {d.exact, d.shape} for at in near]
    if move.is_born:
        found.append((d.box ^ side ^ _ANYWHERE, 0))
        found += [(text_at_place_key(d.place, at) ^ side, at) for at in d.beside if at != d.place]
    return found


def text_key(d: Difference, place: int = 0) -> int:
    """The key of the text that came, or went, at a place, or at any: one of :func:`text_slots`."""
    return (text_at_place_key(d.exact, place) if place else d.exact ^ _ANYWHERE) ^ (_GONE if d.gone else 0)


def own_differences(delta: Delta) -> list[Difference]:
    """The differences outside of the frame that pages share."""
    return [d for d in delta.differences if not d.flags & FRAME]


def additions_of(differences: Sequence[Difference]) -> set[int]:
    """The ``id`` of each text that came to a place which no words left.

    But not of one with figures, which are the page's own, or of one among others of its place, where authors write.
    """
    lost = {d.place for d in differences if d.gone}
    changed = {d.place for d in differences if d.gone and {*d.news} - {REPEATED}}
    return {
        id(d)
        for d in differences
        if not d.gone and not (d.figures and not stated_name(d)) and len(d.news) >= MIN_ADDED and d.place not in changed
        if d.place in lost or not d.flags & (BEHIND_ALIKE | BEFORE_ALIKE)
    }
