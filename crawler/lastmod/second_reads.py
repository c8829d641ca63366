"""Chooses the pages to read a second time in a run: those whose change would be reported. Pure.

Pages that changed alike are one group. Of each group a few are read; when they all stayed as they were, the others are
taken to stay too. So a new price on all products costs as little as a rotation that one read reveals.
"""

from collections.abc import Iterable, Set
from typing import Final

from crawler.lastmod.significance import SignificanceModel
from crawler.parse.snapshot.diff import Delta

ENOUGH: Final = 5
"""Pages of a group that stayed, to believe that the others stay."""
IN_A_ROUND: Final = 24
"""Pages to choose before what they show is taken into account."""


def choose_second_reads(
    model: SignificanceModel, deltas: Iterable[tuple[int, Delta]], read: Set[int], limit: int
) -> list[int]:
    """The ids of the pages to read again next, at most ``limit``; none when nothing is to be found out any more.

    ``read`` are the pages that this run read twice, whose second reads the ``model`` knows, and those that it tried to.
    """
    groups: dict[frozenset[int], list[int]] = {}
    stayed: dict[frozenset[int], int] = {}
    for page, delta in deltas:
        if own := model.judge(page, delta).significant:
            group = frozenset(d.place for d in own)
            if page in read:
                stayed[group] = stayed.get(group, 0) + 1
            else:
                groups.setdefault(group, []).append(page)
    queues = [
        pages[: ENOUGH - stayed.get(group, 0)] for group, pages in groups.items() if stayed.get(group, 0) < ENOUGH
    ]
    queues.sort(key=len)
    chosen = [queue[n] for n in range(ENOUGH) for queue in queues if n < len(queue)]
    return chosen[: min(limit, IN_A_ROUND)]
