"""The share of a site's link weight that each page has: PageRank over the links that count."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from crawler.graph.arrays import Bools, Edges, Ints

DAMPING: Final = 0.85
ROUNDS: Final = 60
CLOSE: Final = 1e-4  # of the average page: when no round moves more than that on average, it is done
_AT_ONCE: Final = 1 << 20


def weights(incoming: Edges, counts: Bools, home: Ints, pages: Bools) -> NDArray[np.float64]:
    """The weight of each node, 1.0 being that of the average of ``pages``.

    ``incoming`` are the edges by their targets, ``counts`` says which of them count. What flows to a node whose
    ``home`` is another, flows on to that one. Chance visits, and those of pages without links, go to all ``pages``
    alike. Ends when the weights stand still or after :data:`ROUNDS` rounds.
    https://doi.org/10.1016/S0169-7552(98)00110-X
    """
    size = len(home)
    total = int(pages.sum())
    if not total:
        return np.zeros(size)
    source = incoming.to[counts]
    start = np.concatenate([[0], np.cumsum(counts)])[incoming.start]
    links = np.bincount(source, minlength=size)
    jump = pages / total
    away = np.flatnonzero(home != np.arange(size))
    rank = jump.copy()
    share = np.zeros(size)
    for _ in range(ROUNDS):
        np.divide(rank, links, out=share, where=links > 0)
        flow = _flow(share, source, start)
        np.add.at(flow, home[away], flow[away])
        flow[away] = 0.0
        after = DAMPING * flow
        after += (1.0 - float(after.sum())) * jump
        moved = float(np.abs(after - rank).sum())
        rank = after
        if moved < CLOSE:
            break
    return rank * (total / float(rank[pages].sum()))


def _flow(share: NDArray[np.float64], source: Ints, start: NDArray[np.int64]) -> NDArray[np.float64]:
    """What comes in at each node."""
    size = len(start) - 1
    flow = np.zeros(size)
    first = 0
    while first < size:
        last = max(first + 1, int(np.searchsorted(start, start[first] + _AT_ONCE, side="right")) - 1)
        begin, end = int(start[first]), int(start[last])
        places = start[first:last] - begin
        has = np.flatnonzero(np.diff(start[first : last + 1]))
        if len(has):
            flow[first + has] = np.add.reduceat(share[source[begin:end]], places[has])
        first = last
    return flow
