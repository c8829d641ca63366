"""Splits markup at the tags where a text ends, and finds what two visits of a page have in common, piece by piece."""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Final, NamedTuple

from crawler.content.tags import INLINE

MAX_RUNS: Final = 24
"""Stretches that are told apart; what follows counts as one that differs."""
_NEAR: Final = 24  # pieces between two differences up to which it is cheaper to read them twice


def _any_of(names: list[str]) -> str:
    """A pattern for names in any case that gives up at the first wrong letter, as a list of names would not."""
    heads = sorted({name[0] for name in names if name})
    tails = "|".join(
        f"[{head}{head.upper()}]" + _any_of([name[1:] for name in names if name[:1] == head])
        for head in heads
    )
    return (f"(?:{tails})" if heads else "") + ("?" if heads and "" in names else "")


# Quotes count after "=" only; what has no end reaches to the end of the text.
_TAG: Final = r"/?[a-zA-Z][^\s/>]*+[^>=]*+(?:=\s*+(?:\"[^\"]*+\"|'[^']*+')?+[^>=]*+)*+(?:>|\Z)"
_border = re.compile(rf"(<(?!/?{_any_of(INLINE.split())}[\s/>])(?:{_TAG}|[!?/][^>]*+(?:>|\Z)))")
inner_tags = re.compile(f"(<{_TAG})")
"""Any tag of a name, for the tags inside a text."""
_values: Final = {quote: re.compile(rf"=\s*+{quote}") for quote in "\"'"}


class Run(NamedTuple):
    """Pieces of an old and a new body by their numbers; ``same``: these pieces are equal."""

    same: bool
    old: slice
    new: slice


def split(markup: str) -> list[str]:
    """Pairs of a tag that ends a text and of the text behind it; what belongs to a text is left in it.

    The first tag is "": before it there is nothing.
    """
    return ["", *_border.split(markup)]


def split_like(markup: str, known: str, pieces: list[str]) -> list[str]:
    """The same, when ``pieces`` are those of a ``known`` markup: they are taken over as far as both agree.

    A tag ends in both at the same place, unless a search for the end of a quoted value goes on in vain to the end of
    the markup, which differs. Before the last quote of the known one it does not.
    """
    agree = _agree(markup, known)
    for quote, begins in _values.items():
        if begins.search(known):
            agree = min(agree, known.rfind(quote))
    ends = list(accumulate(map(len, pieces)))
    shared = min(bisect_right(ends, agree), len(pieces) - 3)  # the last tag may have no end
    shared -= 1 - shared % 2  # up to a tag and with it
    return [*pieces[:shared], *_border.split(markup[ends[shared - 1] :])] if shared > 1 else split(markup)


def _agree(one: Sequence[str], other: Sequence[str]) -> int:
    """How many characters or pieces at their beginning are the same."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def runs(old: list[str], new: list[str]) -> Iterator[Run]:
    """All pieces of both in order, cut where they begin to be the same or to differ. No pair is cut."""
    first = _agree(old, new) & ~1
    last = min(_agree(old[::-1], new[::-1]), min(len(old), len(new)) - first) & ~1
    more = len(old) - len(new)
    at = 0
    for begin, end in _apart(old, new, first, last) if more == 0 else [(first, len(new) - last)]:
        yield Run(True, slice(at, begin), slice(at, begin))
        yield Run(False, slice(begin, end + more), slice(begin, end))
        at = end
    yield Run(True, slice(at + more, None), slice(at, None))


def _apart(old: list[str], new: list[str], first: int, last: int) -> Iterator[tuple[int, int]]:
    """The stretches that differ in two lists of one length, those near each other as one."""
    begin = end = first
    count = 1
    for n in range(first, len(new) - last):
        if old[n] == new[n]:
            continue
        if n - end > _NEAR and count < MAX_RUNS:
            yield begin, end
            begin = n & ~1
            count += 1
        end = (n & ~1) + 2
    yield begin, end
