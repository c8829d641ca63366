"""Which slots show another text at each read of a page, and which pages are read twice to find out. Pure."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Final

from crawler.lastmod.memory import MAX_SLOTS, SecondRead, Variation
from crawler.lastmod.slots import kept_words, moves_of, own_differences
from crawler.parse.snapshot.diff import MOVED, Difference

VARIED: Final = 0.2
"""Share of the pages read twice on which a slot differed, from which on it varies."""
MAX_READS: Final = 3
"""Times that a page is read again in one run, at most."""
ENOUGH: Final = 5
"""Reads of the pages of a group that stayed, to believe that all its pages stay."""
IN_A_ROUND: Final = 24
"""Pages to choose before what they show is taken into account."""


class VariedSlots:
    """What all pages show that were read twice in a run so far. ``known`` is what earlier runs saw of each slot.

    ``unsure`` are the texts that one of two reads showed.
    """

    def __init__(self, known: Mapping[int, Variation], reads: Iterable[SecondRead] = ()) -> None:
        self._known = known
        self._reads: list[tuple[SecondRead, frozenset[int]]] = []
        self._varied: Counter[int] = Counter()
        self.unsure: set[int] = set()
        for read in reads:
            self._add(read)

    def _add(self, read: SecondRead) -> None:
        differences = own_differences(read.delta)
        moves = moves_of(differences)
        slots = frozenset(k for move in moves for k in move.slots)
        self._reads.append((read, slots))
        self._varied.update(slots)
        kept = kept_words(differences)
        pairs = zip(differences, moves, strict=True)
        others = (d for d, move in pairs if move.words is None and not d.flags & MOVED)
        self.unsure.update(d.exact for d in others if d.words not in kept)

    @cached_property
    def _tested(self) -> Counter[int]:
        """The pages read twice that have each slot."""
        return Counter(k for read, slots in self._reads for k in {*read.keys(), *slots})

    def varies(self, k: int) -> bool:
        """Whether a slot differs between two reads of its pages."""
        known = self._known.get(k, Variation())
        varied = known.varied + self._varied[k]
        return varied > 0 and varied >= VARIED * (known.tested + self._tested[k])

    def learn(self) -> dict[int, Variation]:
        """What this run and those before it saw of each slot that varies."""
        slots = {k: v.merged(self._tested[k], self._varied[k]) for k, v in self._known.items()}
        for k in self._varied.keys() - slots.keys():
            slots[k] = Variation(self._tested[k], self._varied[k])
        varying = [(k, v) for k, v in slots.items() if v.varied >= VARIED * v.tested]
        return dict(varying[-MAX_SLOTS:])


def choose_second_reads(
    judged: Iterable[tuple[int, Sequence[Difference]]], reads: Mapping[int, int], limit: int
) -> list[int]:
    """The ids of the pages to read again next, at most ``limit``; none when nothing is to be found out any more.

    ``judged`` are pages with their significant differences: only a change that would be reported is worth a second
    read. Pages that changed alike are one group. Of each group a few are read; when they all stayed as they were, the
    others are taken to stay too. So a new price on all products costs as little as a rotation that one read reveals.
    In a small group the same pages are read again: of two texts in turn, each second read shows the same one.
    ``reads`` are the pages that this run read again, or tried to, and how often.
    """
    groups: dict[frozenset[int], list[int]] = {}
    for page, differences in judged:
        if differences:
            groups.setdefault(frozenset(d.place for d in differences), []).append(page)
    queues = []
    for pages in groups.values():
        again = sorted((page for page in pages if reads.get(page, 0) < MAX_READS), key=lambda page: reads.get(page, 0))
        stayed = sum(reads.get(page, 0) for page in pages)
        queues.append(again[: max(0, ENOUGH - stayed)])
    queues.sort(key=len)
    chosen = [queue[n] for n in range(ENOUGH) for queue in queues if n < len(queue)]
    return chosen[: min(limit, IN_A_ROUND)]
