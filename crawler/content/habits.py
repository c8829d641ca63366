"""What a site does run after run: how often, and on how large a share of the pages concerned. Bounded in size."""

from collections.abc import Mapping
from typing import Final

from msgspec import Struct

MAX_HABITS: Final = 20_000
LEAST: Final = 0.15
"""Share of the pages concerned below which a change on many pages is no habit."""
_MEMORY: Final = 0.3  # weight of the newest run


class Habit(Struct, frozen=True, array_like=True):
    """``runs`` in which it changed on many pages, and the ``share`` of those that hold it, the newest weighing most."""

    runs: int
    share: float


def learn(
    known: Mapping[int, Habit], shares: Mapping[int, float], held: Mapping[int, float]
) -> dict[int, Habit]:
    """The habits after a run in which ``shares`` changed, and which looked at all that is ``held``."""
    after = dict(known)
    for k, share in shares.items():
        habit = known.get(k)
        if habit is not None:
            after[k] = Habit(habit.runs + (share >= LEAST), habit.share + _MEMORY * (share - habit.share))
        elif share >= LEAST:
            after[k] = Habit(1, share)
    for k in known.keys() & held.keys() - shares.keys():
        faded = known[k].share * (1 - _MEMORY)
        if faded < LEAST / 4:
            del after[k]
        else:
            after[k] = Habit(known[k].runs, faded)
    if len(after) > MAX_HABITS:
        best = sorted(after, key=lambda k: (after[k].runs, after[k].share, k), reverse=True)[:MAX_HABITS]
        after = {k: after[k] for k in best}
    return after
