"""What a start leads to: by clicks, and by any evidence at all. Walks the edges, knows no pages."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from crawler.graph.arrays import Bools, Edges, Ints
from crawler.graph.way import CLICKED, EVIDENCE
from crawler.model import Found

_AT_ONCE: Final = 1 << 20  # edges whose places are held


def clicks(edges: Edges, moved: Ints, start: int) -> Ints:
    """How many clicks each node is away from the start, -1 when none lead there.

    ``moved`` is where a redirect leads, or -1. Redirects and refreshes cost no click.
    """
    depth = np.full(len(moved), -1, np.int32)
    depth[start] = 0
    here = _moved(np.array([start], np.int32), depth, edges, moved)
    while len(here):
        found = _next(edges, here, CLICKED)
        found = found[depth[found] < 0]
        level = depth[here[0]] + 1
        depth[found] = level
        here = _moved(np.unique(found), depth, edges, moved)
    return depth


def _moved(here: Ints, depth: Ints, edges: Edges, moved: Ints) -> Ints:
    """These nodes and all that their redirects lead to, which get the same depth."""
    reached = [here]
    while len(here):
        found = np.concatenate([moved[here], _next(edges, here, Found.REFRESH)])
        found = np.unique(found[found >= 0])
        found = found[depth[found] < 0]
        depth[found] = depth[reached[0][0]]
        reached.append(found)
        here = found
    return np.concatenate(reached)


def touched(edges: Edges, target: Ints, start: int) -> Bools:
    """Which nodes any evidence leads to: links of all kinds, statements, redirects and canonicals (``target``)."""
    seen = np.zeros(len(target), np.bool_)
    seen[start] = True
    here = np.array([start], np.int32)
    while len(here):
        found = np.concatenate([target[here], _next(edges, here, EVIDENCE)])
        found = found[found >= 0]
        found = np.unique(found[~seen[found]])
        seen[found] = True
        here = found
    return seen


def _next(edges: Edges, here: Ints, accepted: int) -> Ints:
    """The targets of the accepted edges of these nodes. Not each once."""
    first, many = edges.start[here], edges.start[here + 1] - edges.start[here]
    ends = np.cumsum(many)
    parts: list[NDArray[np.int32]] = [np.empty(0, np.int32)]
    begin = 0
    while begin < len(here):
        done = int(ends[begin - 1]) if begin else 0
        end = max(begin + 1, int(np.searchsorted(ends, done + _AT_ONCE, side="right")))
        places = _places(first[begin:end], many[begin:end])
        found = edges.to[places[(edges.flags[places] & accepted) != 0]]
        parts.append(np.unique(found) if end < len(here) or begin else found)
        begin = end
    return np.concatenate(parts)


def _places(first: NDArray[np.int64], many: NDArray[np.int64]) -> NDArray[np.int64]:
    """The places of all edges of some nodes, one after the other."""
    before = np.cumsum(many) - many
    return np.repeat(first - before, many) + np.arange(int(many.sum()))
