"""The URLs of a site and the links between them as arrays: the input of the link graph."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from crawler.audit.graph.link_kind import STATE_CODES, STATES, has_failed
from crawler.model import State

Int32Array = NDArray[np.int32]
Int64Array = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
EDGES_AT_ONCE: Final = 1 << 20  # edges in one step, which bounds the memory


@dataclass(frozen=True, slots=True)
class Nodes:
    """The URLs by ascending ids; a node is an index of these arrays.

    ``state`` holds codes of :data:`crawler.audit.graph.link_kind.STATES`, ``status`` the HTTP status or 0, ``target``
    the node that a redirect or a canonical names, or -1. ``remembered`` are the pages that failed and whose links are
    those of an earlier visit.
    """

    ids: Int64Array
    state: NDArray[np.int8]
    status: NDArray[np.int16]
    target: Int32Array
    remembered: Int32Array = field(default_factory=lambda: np.empty(0, np.int32))

    def __len__(self) -> int:
        return len(self.ids)

    def node(self, number: int) -> int:
        """The node of an id, or -1."""
        place = int(np.searchsorted(self.ids, number))
        return place if place < len(self.ids) and self.ids[place] == number else -1

    def in_states(self, *states: State) -> BoolArray:
        """A mask of the nodes in one of these states."""
        return np.isin(self.state, [STATE_CODES[state] for state in states])

    @property
    def unread(self) -> BoolArray:
        """A mask of the pages that failed, so that the crawl did not see their links."""
        keys = self.state.astype(np.int32) * 1_000 + self.status
        failed = [key for key in np.unique(keys).tolist() if has_failed(STATES[key // 1_000], key % 1_000 or None)]
        return np.isin(keys, failed)


@dataclass(frozen=True, slots=True)
class Edges:
    """Links by their page: those of node ``n`` are ``to`` and ``flags`` from ``start[n]`` to ``start[n + 1]``.

    ``flags`` are of :class:`crawler.model.DiscoveredBy`. A page has each flag at most once for one target.
    """

    start: Int64Array
    to: Int32Array
    flags: NDArray[np.uint16]

    def __len__(self) -> int:
        return len(self.to)

    @classmethod
    def of(cls, count: int, links: Iterable[tuple[int, int, int]]) -> "Edges":
        """The edges of a small graph of ``count`` nodes from (source, target, flags). Flags of one pair merge."""
        merged: dict[tuple[int, int], int] = {}
        for source, target, flags in links:
            merged[source, target] = merged.get((source, target), 0) | flags
        rows = sorted((source, target, flags) for (source, target), flags in merged.items())
        sources = np.array([row[0] for row in rows], np.int64)
        return cls(
            np.searchsorted(sources, np.arange(count + 1)).astype(np.int64),
            np.array([row[1] for row in rows], np.int32),
            np.array([row[2] for row in rows], np.uint16),
        )

    def reversed(self) -> "Edges":
        """The same edges by their targets: ``to`` has the sources, in ascending order."""
        count = len(self.start) - 1
        start = np.zeros(count + 1, np.int64)
        np.cumsum(self.in_degrees(), out=start[1:])
        turned = Edges(start, np.empty_like(self.to), np.empty_like(self.flags))
        free = start[:-1].copy()
        for first, last in self.blocks():
            begin, end = int(self.start[first]), int(self.start[last])
            order, to = _sorted(self.to[begin:end])
            many = np.bincount(to, minlength=count)
            # each target's first free place, plus one for each earlier edge of the block
            places = np.arange(len(to)) + (free - np.cumsum(many) + many)[to]
            free += many
            source = np.repeat(np.arange(first, last, dtype=np.int32), np.diff(self.start[first : last + 1]))
            turned.to[places] = source[order]
            turned.flags[places] = self.flags[begin:end][order]
        return turned

    def in_degrees(self) -> Int64Array:
        """The number of edges that lead to each node."""
        count = len(self.start) - 1
        degrees = np.zeros(count, np.int64)
        for begin in range(0, len(self.to), EDGES_AT_ONCE):
            degrees += np.bincount(self.to[begin : begin + EDGES_AT_ONCE], minlength=count)
        return degrees

    def blocks(self) -> Iterator[tuple[int, int]]:
        """Ranges of nodes, first and end, with at most about :data:`EDGES_AT_ONCE` edges each."""
        first, count = 0, len(self.start) - 1
        while first < count:
            last = int(np.searchsorted(self.start, self.start[first] + EDGES_AT_ONCE, side="right")) - 1
            last = min(count, max(first + 1, last))
            yield first, last
            first = last


def _sorted(keys: Int32Array) -> tuple[Int64Array, Int32Array]:
    """The stable order of the keys, and the sorted keys. numpy counts numbers of 16 bits, so sort by halves."""
    order = np.argsort((keys & 0xFFFF).astype(np.uint16), kind="stable")
    order = order[np.argsort((keys >> 16).astype(np.uint16)[order], kind="stable")]
    return order, keys[order]
