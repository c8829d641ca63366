"""What the runs of a site learn of its slots: how often each moves, and what it showed. Pure.

A slot is a place in a template (:mod:`crawler.lastmod.slots`). All tables are bounded; what is not seen any more fades.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from crawler.parse.snapshot.diff import Delta

MAX_SLOTS: Final = 20_000
MAX_POOL: Final = 50_000
MAX_ADDITIONS: Final = 1_000
"""Additions of a run that are remembered, and of all runs: a comparison with them costs each edit some time."""
_SMOOTHING: Final = 0.3  # weight of the newest run
_MAX_RUNS: Final = 12  # runs that a history remembers; then its counts are halved
_FORGOTTEN: Final = 0.04  # share of the pages below which a slot is forgotten


class SecondRead(NamedTuple):
    """A page that was read again in one run: what gives the keys that it held, and what differed at the later reads."""

    page: int
    keys: Callable[[], Iterable[int]]
    delta: Delta


class ChangeHistory(Struct, frozen=True, array_like=True):
    """``runs`` in which a slot moved, the smoothed ``share`` of its pages that moved, and the runs that compared it."""

    runs: int
    share: float
    seen: int = 0

    @property
    def moved_share(self) -> float:
        """The share of the runs in which it moved."""
        return self.runs / max(self.seen, self.runs, 1)


class Variation(Struct, frozen=True, array_like=True):
    """Of ``tested`` pages with a slot that were read twice in one run, it differed on ``varied``. Both fade."""

    tested: float = 0.0
    varied: float = 0.0

    def merged(self, tested: int, varied: int) -> "Variation":
        """This faded, and what a later run saw."""
        old = 0.5 if tested else 1.0
        return Variation(self.tested * old + tested, self.varied * old + varied)


class SiteMemory(Struct):
    """All that earlier runs learnt.

    ``compared`` is the number of runs that compared pages. ``history`` and ``slots`` are by slot. ``pool`` holds the
    texts that came or went, by their exact key, with the last run that saw each. ``additions`` are pages with the keys
    of the words that came to a text of theirs as an edit, the newest last.
    """

    compared: int = 0
    history: dict[int, ChangeHistory] = {}
    slots: dict[int, Variation] = {}
    pool: dict[int, int] = {}
    additions: list[tuple[int, tuple[int, ...]]] = []


def update_history(
    known: Mapping[int, ChangeHistory], shares: Mapping[int, float], held: Mapping[int, float], compared: int = 0
) -> dict[int, ChangeHistory]:
    """The history after a run in which ``shares`` moved, of all the slots that pages ``held``.

    ``compared`` runs before compared pages.
    """
    after = dict(known)
    for k, share in shares.items():
        history = known.get(k)
        if history is None:
            after[k] = ChangeHistory(1, share, min(compared, _MAX_RUNS) + 1)
            continue
        smoothed = history.share + _SMOOTHING * (share - history.share)
        seen = max(history.seen, history.runs) + 1
        after[k] = _halved(ChangeHistory(history.runs + 1, smoothed if history.runs else share, seen))
    for k in known.keys() & held.keys() - shares.keys():
        history = known[k]
        faded = history.share * (1 - _SMOOTHING)
        if faded < _FORGOTTEN:
            del after[k]
        else:
            after[k] = _halved(ChangeHistory(history.runs, faded, max(history.seen, history.runs) + 1))
    if len(after) > MAX_SLOTS:
        best = sorted(after, key=lambda k: (after[k].runs, after[k].share, k), reverse=True)[:MAX_SLOTS]
        after = {k: after[k] for k in best}
    return after


def _halved(history: ChangeHistory) -> ChangeHistory:
    if history.seen <= _MAX_RUNS:
        return history
    return replace(history, runs=(history.runs + 1) // 2, seen=history.seen // 2)


def newest(values: Mapping[int, int], limit: int) -> dict[int, int]:
    """The values with the highest runs, at most ``limit``."""
    if len(values) <= limit:
        return dict(values)
    return {k: values[k] for k in sorted(values, key=lambda k: (values[k], k), reverse=True)[:limit]}
