"""The share of a site's link weight that each page has: PageRank over the links that count."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from crawler.graph.arrays import Bools, Edges, Ints

DAMPING: Final = 0.85
ROUNDS: Final = 60
CLOSE: Final = 1e-4  # of the average page: when no round moves more than that on average, it is done


def weights(links: Edges, home: Ints, pages: Bools) -> NDArray[np.float64]:
    """The weight of each node, 1.0 being that of the average of ``pages``.

    ``links`` are those that count, by their targets. What flows to a node whose ``home`` is another, flows on to that
    one. Chance visits, and those of pages without links, go to all ``pages`` alike. Ends when the weights stand still,
    or after :data:`ROUNDS` rounds. https://doi.org/10.1016/S0169-7552(98)00110-X
    """
    size = len(home)
    total = int(pages.sum())
    if not total:
        return np.zeros(size)
    many = links.tally()
    jump = pages / total
    away = np.flatnonzero(home != np.arange(size))
    rank = jump.copy()
    share = np.zeros(size)
    for _ in range(ROUNDS):
        np.divide(rank, many, out=share, where=many > 0)
        flow = _flow(share, links)
        np.add.at(flow, home[away], flow[away])
        flow[away] = 0.0
        after = DAMPING * flow
        after += (1.0 - float(after.sum())) * jump
        moved = float(np.abs(after - rank).sum())
        rank = after
        if moved < CLOSE:
            break
    return rank * (total / float(rank[pages].sum()))


def _flow(share: NDArray[np.float64], links: Edges) -> NDArray[np.float64]:
    """What comes in at each node."""
    flow = np.zeros(len(share))
    for first, last in links.blocks():
        begin, end = int(links.start[first]), int(links.start[last])
        has = first + np.flatnonzero(np.diff(links.start[first : last + 1]))
        if len(has):
            flow[has] = np.add.reduceat(share[links.to[begin:end]], links.start[has] - begin)
    return flow
