"""Boxes whose links change from read to read: related pages, tag clouds, banners. What a read showed is linked. Pure.

A page has such a box if two reads in one audit have different links. Then the other pages whose URLs have the same
shape have it too, as soon as their links differ from those of an earlier audit. If links were swapped between two
audits, some gone and others come, it may have been an editor: the second swap of a page shows a box.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from math import exp
from typing import Final, NamedTuple

from msgspec import Struct

KEPT: Final = 30 * 86_400.0
"""Seconds after which a link that no read showed again is forgotten."""


class PageReads(NamedTuple):
    """The links of a page as ids: of the ``earlier`` audit if there was one, and of each read in this audit."""

    page: int
    shape: str  # of the URL
    earlier: frozenset[int] | None
    reads: list[frozenset[int]]


class Box(Struct):
    """What the reads of a page showed in turn: by target the number of reads, and the time of the last (Unix time)."""

    shape: str
    shown: dict[int, tuple[int, float]] = {}
    reads: int = 0
    swaps: int = 0  # audits


class Boxes(Struct):
    """The boxes of a site by the id of their page; ``shapes`` are those of pages that change at each request."""

    pages: dict[int, Box] = {}
    shapes: set[str] = set()
    run: int = 0  # the last audit that they learnt from

    def learn(self, all_reads: Iterable[PageReads], now: float) -> None:
        """Learn from the reads of an audit. ``now`` is Unix time."""
        all_reads = [*all_reads]
        self.shapes.update(page.shape for page in all_reads if len(set(page.reads)) > 1)
        for page in all_reads:
            self._learn(page, now)
        for box in self.pages.values():
            box.shown = {target: shown for target, shown in box.shown.items() if now - shown[1] <= KEPT}
        self.pages = {number: box for number, box in self.pages.items() if box.shown}
        self.shapes &= {box.shape for box in self.pages.values()}

    def _learn(self, page: PageReads, now: float) -> None:
        reads = [*page.reads] if page.earlier is None else [page.earlier, *page.reads]
        lasting = frozenset[int].intersection(*reads)
        is_swap = page.earlier is not None and bool(page.earlier - page.reads[0] and page.reads[0] - page.earlier)
        if all(read == lasting for read in reads) or not (is_swap or page.shape in self.shapes):
            return
        box = self.pages.setdefault(page.page, Box(page.shape))
        box.swaps += is_swap
        for read in page.reads if box.shown else reads:  # the earlier audit has counted its read
            box.reads += 1
            for target in read - lasting:
                box.shown[target] = (box.shown.get(target, (0, 0.0))[0] + 1, now)

    def links(self) -> dict[int, list[int]]:
        """The targets of the pages with a box, by ascending ids."""
        return {number: sorted(box.shown) for number, box in self.pages.items() if self._is_sure(box)}

    def swapping(self) -> list[int]:
        """The pages whose links were swapped between two audits: what else they show at other times is not known."""
        return sorted(number for number, box in self.pages.items() if box.swaps and box.shape not in self.shapes)

    def _is_sure(self, box: Box) -> bool:
        return box.shape in self.shapes or box.swaps > 1

    def unseen(self, pages: Mapping[str, int]) -> float:
        """How many pages the boxes are expected to show that no read showed. ``pages`` counts the pages of a shape.

        The size of a pool by Chao's estimator of what draws did not bring (https://doi.org/10.2307/2530802); then the
        share of it that as many draws as the pages of the shape have had do not bring.
        """
        total = 0.0
        for shape in self.shapes:
            boxes = [box for box in self.pages.values() if box.shape == shape]
            draws = Counter[int]()
            for box in boxes:
                for target, (times, _) in box.shown.items():
                    draws[target] += times
            once, twice = (sum(times == n for times in draws.values()) for n in (1, 2))
            pool = len(draws) + once * (once - 1) / (2 * (twice + 1))
            by_read = draws.total() / max(1, sum(box.reads for box in boxes))
            drawn = draws.total() + by_read * max(0, pages.get(shape, 0) - len(boxes))
            total += pool * exp(-drawn / pool)
        return total
