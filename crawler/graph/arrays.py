"""The URLs of a site and the statements between them as arrays: what a link graph is computed from."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crawler.graph.way import CODES
from crawler.model import State

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Nodes:
    """The URLs by ascending ids; a node is a place in these arrays.

    ``state`` holds codes of :data:`crawler.graph.STATES`, ``status`` the HTTP status or 0, ``target`` the node that a
    redirect or a canonical names, or -1.
    """

    ids: Longs
    state: NDArray[np.int8]
    status: NDArray[np.int16]
    target: Ints

    def __len__(self) -> int:
        return len(self.ids)

    def node(self, number: int) -> int:
        """The node of an id, or -1."""
        place = int(np.searchsorted(self.ids, number))
        return place if place < len(self.ids) and self.ids[place] == number else -1

    def of(self, *states: State) -> Bools:
        """Which nodes are in one of these states."""
        return np.isin(self.state, [CODES[state] for state in states])


@dataclass(frozen=True, slots=True)
class Edges:
    """Statements by their page: those of node ``n`` are ``to`` and ``flags`` from ``start[n]`` to ``start[n + 1]``.

    ``flags`` are of :class:`crawler.model.Found`. No page states the same kind twice for one target.
    """

    start: Longs
    to: Ints
    flags: NDArray[np.uint16]

    def __len__(self) -> int:
        return len(self.to)

    @classmethod
    def of(cls, count: int, links: Iterable[tuple[int, int, int]]) -> "Edges":
        """The edges of a small graph of ``count`` nodes: from, to and flags. Evidence for one pair merges."""
        merged: dict[tuple[int, int], int] = {}
        for source, target, found in links:
            merged[source, target] = merged.get((source, target), 0) | found
        rows = sorted((source, target, found) for (source, target), found in merged.items())
        sources = np.array([row[0] for row in rows], np.int64)
        return cls(
            np.searchsorted(sources, np.arange(count + 1)).astype(np.int64),
            np.array([row[1] for row in rows], np.int32),
            np.array([row[2] for row in rows], np.uint16),
        )

    def turned(self) -> "Edges":
        """The same edges by their targets: ``to`` is where each comes from. In the order of the pages."""
        count = len(self.start) - 1
        order = _order(self.to)
        sources = np.repeat(np.arange(count, dtype=np.int32), np.diff(self.start))
        start = np.zeros(count + 1, np.int64)
        np.cumsum(np.bincount(self.to, minlength=count), out=start[1:])
        return Edges(start, sources[order], self.flags[order])


def _order(keys: Ints) -> Longs:
    """What sorts the keys, stably: by their lower half, then by their upper one, for 16 bits are sorted by counting."""
    order = np.argsort((keys & 0xFFFF).astype(np.uint16), kind="stable")
    upper = (keys >> 16).astype(np.uint16)
    return order[np.argsort(upper[order], kind="stable")] if upper.any() else order
