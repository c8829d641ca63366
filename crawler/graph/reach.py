"""What a start leads to: by clicks, and by any evidence at all. Walks the edges, knows no pages."""

import numpy as np

from crawler.graph.arrays import AT_ONCE, Bools, Edges, Ints, Longs
from crawler.graph.way import CLICKED, EVIDENCE
from crawler.model import Found


def clicks(edges: Edges, moved: Ints, start: int) -> Ints:
    """How many clicks each node is away from the start, -1 when none lead there.

    ``moved`` is where a redirect leads, or -1. Redirects and refreshes cost no click.
    """
    depth = np.full(len(moved), -1, np.int32)
    unseen = np.ones(len(moved), np.bool_)
    level = 0
    found = np.array([start], np.int32)
    while len(found):
        here = []
        while len(found):  # these, and all that their redirects lead to
            depth[found] = level
            unseen[found] = False
            here.append(found)
            found = _once(np.concatenate([moved[found], _next(edges, found, Found.REFRESH)]), unseen)
        level += 1
        found = _once(_next(edges, np.sort(np.concatenate(here)), CLICKED, unseen), unseen)
    return depth


def touched(edges: Edges, target: Ints, start: int, evidence: int = EVIDENCE) -> Bools:
    """Which nodes any evidence leads to: links of all kinds, statements, redirects and canonicals (``target``).

    Or ``evidence`` of some kinds only: flags of :class:`crawler.model.Found`.
    """
    unseen = np.ones(len(target), np.bool_)
    found = np.array([start], np.int32)
    while len(found):
        unseen[found] = False
        found = _once(np.concatenate([target[found], _next(edges, found, evidence, unseen)]), unseen)
    return ~unseen


def _once(nodes: Ints, wanted: Bools) -> Ints:
    """Those of the nodes that are wanted, each once, ascending; -1 is no node."""
    nodes = nodes[nodes >= 0]
    nodes = nodes[wanted[nodes]]
    if len(nodes) * 8 < len(wanted):
        return np.unique(nodes)
    marks = np.zeros_like(wanted)
    marks[nodes] = True
    return np.flatnonzero(marks).astype(np.int32)


def _next(edges: Edges, here: Ints, accepted: int, wanted: Bools | None = None) -> Ints:
    """The targets of the accepted edges of these nodes that are wanted. Not each once."""
    first, many = edges.start[here], edges.start[here + 1] - edges.start[here]
    ends = np.cumsum(many)
    parts = [np.empty(0, np.int32)]
    begin = 0
    while begin < len(here):
        done = int(ends[begin - 1]) if begin else 0
        end = max(begin + 1, int(np.searchsorted(ends, done + AT_ONCE, side="right")))
        places = _places(first[begin:end], many[begin:end])
        found = edges.to[places[(edges.flags[places] & accepted) != 0]]
        parts.append(found if wanted is None else _once(found, wanted))
        begin = end
    return np.concatenate(parts)


def _places(first: Longs, many: Longs) -> Longs:
    """The places of all edges of some nodes, one after the other."""
    before = np.cumsum(many) - many
    return np.repeat(first - before, many) + np.arange(int(many.sum()))
