"""What the runs of a site learn of its slots: how often each moves from run to run, and how it varies within one. Pure.

A slot is a place in a template: its key is a hash of containers, heading or position, so it names the same place on all
pages of the template, and a new template has new slots. All tables are bounded; what is not seen any more fades.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

MAX_SLOTS: Final = 20_000
MAX_POOL: Final = 50_000
MAX_MOVES: Final = 50_000
MIN_SHARE: Final = 0.15
"""Share of the pages concerned, below which a change on many pages is not usual."""
MIN_MOVED_RUNS: Final = 0.5
"""Share of the runs in which a slot moved, from which on a move is usual."""
_SMOOTHING: Final = 0.3  # weight of the newest run
_MAX_RUNS: Final = 12  # runs that a history remembers; then its counts are halved
_FADING: Final = 0.5  # weight of earlier second reads when there are new ones


class ChangeHistory(Struct, frozen=True, array_like=True):
    """``runs`` in which a key moved, the smoothed ``share`` of its pages that moved, and the runs that compared it.

    ``seen`` is 0 in the histories of earlier versions, which kept only what moved in most runs.
    """

    runs: int
    share: float
    seen: int = 0

    @property
    def moved_share(self) -> float:
        """The share of the runs in which it moved."""
        return self.runs / max(self.seen, self.runs, 1)


class Variation(Struct, frozen=True, array_like=True):
    """How a slot varied on the pages that one run read twice. All but ``blocks`` and ``run`` are weighted counts.

    Of ``tested`` pages with the slot, a text differed on ``varied`` and only figures on ``figured``. On one page at
    most ``blocks`` of its texts differed; ``whole`` is the share of its texts that did, summed over ``varied``. Of its
    ``drawn`` values, ``fresh`` were seen for the first time, ``links`` were links, and the longest had ``longest``
    characters. ``run`` is the last run in which it varied.
    """

    tested: float = 0.0
    varied: float = 0.0
    figured: float = 0.0
    blocks: float = 0.0
    whole: float = 0.0
    drawn: float = 0.0
    fresh: float = 0.0
    run: int = 0
    links: float = 0.0
    longest: int = 0

    def merged(self, newer: "Variation") -> "Variation":
        """This faded, and what a later run saw."""
        old = _FADING if newer.tested else 1.0
        drawn = 0.8 if newer.drawn else 1.0
        return Variation(
            self.tested * old + newer.tested,
            self.varied * old + newer.varied,
            self.figured * old + newer.figured,
            self.blocks * old + newer.blocks,
            self.whole * old + newer.whole,
            self.drawn * drawn + newer.drawn,
            self.fresh * drawn + newer.fresh,
            max(self.run, newer.run),
            self.links * drawn + newer.links,
            max(self.longest, newer.longest),
        )


class SiteMemory(Struct):
    """All that earlier runs learnt.

    ``compared`` is the number of runs that compared pages. ``history`` is by key, ``slots`` by slot. ``pool`` holds
    values of slots that vary, as keys of a text at a place, with the last run that saw each. ``moves`` holds, by slot,
    the pages on which it moved in the last run, with its number. ``figures`` is the history of the numbers beside a
    word.
    """

    compared: int = 0
    history: dict[int, ChangeHistory] = {}
    slots: dict[int, Variation] = {}
    pool: dict[int, int] = {}
    moves: dict[int, dict[int, int]] = {}
    figures: dict[int, ChangeHistory] = {}


def update_history(
    known: Mapping[int, ChangeHistory],
    shares: Mapping[int, float],
    held: Mapping[int, float],
    compared: int = 0,
    born: Iterable[int] = (),
) -> dict[int, ChangeHistory]:
    """The history after a run in which ``shares`` moved, of all the keys that pages ``held``.

    ``compared`` runs before compared pages; the ``born`` keys are not older than this run.
    """
    after = dict(known)
    for k in born:
        after.setdefault(k, ChangeHistory(0, 1.0, 0))
    for k, share in shares.items():
        history = after.get(k)
        if history is not None:
            seen = max(history.seen, history.runs) + 1
            smoothed = history.share + _SMOOTHING * (share - history.share)
            after[k] = _halved(ChangeHistory(history.runs + 1, smoothed if history.runs else share, seen))
        else:
            after[k] = ChangeHistory(1, share, min(compared, _MAX_RUNS) + 1)
    for k in known.keys() & held.keys() - shares.keys():
        history = known[k]
        faded = history.share * (1 - _SMOOTHING)
        if faded < MIN_SHARE / 4:
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
