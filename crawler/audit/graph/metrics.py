"""What a start leads to: by clicks, and by any evidence at all. Walks the edges, knows no pages."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from crawler.audit.graph.arrays import AT_ONCE, Bools, Edges, Ints, Longs
from crawler.audit.graph.link_kind import CLICKED, EVIDENCE
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


def islands(edges: Edges, target: Ints, pages: Bools, touched: Bools) -> Ints:
    """The number of the island of each node, from 0 on, the largest first; -1: touched, or alone.

    Direction does not matter, and neither does the kind of evidence. ``pages`` are those that count: one of them in
    two spellings, or with a feed of its own, is alone.
    """
    size = len(target)
    label = np.arange(size, dtype=np.int32)
    lost = np.flatnonzero(~touched)
    source = np.repeat(np.arange(size, dtype=np.int32), np.diff(edges.start))
    inside = ~touched[source] & ~touched[edges.to] & ((edges.flags & EVIDENCE) != 0)
    moved = lost[target[lost] >= 0]
    moved = moved[~touched[target[moved]]]
    one = np.concatenate([source[inside], moved.astype(np.int32)])
    other = np.concatenate([edges.to[inside], target[moved]])
    while True:
        low = np.minimum(label[one], label[other])
        before = label.copy()
        for ends in (one, other):
            np.minimum.at(label, before[ends], low)  # the root of each end hears of the lower one
            np.minimum.at(label, ends, low)
        label = label[label]
        if np.array_equal(label, before):
            break
    alone = np.bincount(label[lost[pages[lost]]], minlength=size) < 2
    label[touched] = -1
    label[lost] = np.where(alone[label[lost]], -1, label[lost])
    return _by_size(label)


def _by_size(label: Ints) -> Ints:
    kept = label >= 0
    found, places, sizes = np.unique(label[kept], return_inverse=True, return_counts=True)
    rank = np.empty(len(found), np.int32)
    rank[np.lexsort((found, -sizes))] = np.arange(len(found), dtype=np.int32)
    label[kept] = rank[places]
    return label


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
