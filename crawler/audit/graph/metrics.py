"""What a start leads to: by clicks, and by any evidence at all. Walks the edges, knows no pages."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from crawler.audit.graph.arrays import EDGES_AT_ONCE, BoolArray, Edges, Int32Array, Int64Array
from crawler.audit.graph.link_kind import CLICK_FLAGS, EVIDENCE_FLAGS
from crawler.model import DiscoveredBy


def click_depths(edges: Edges, moved: Int32Array, start: int) -> Int32Array:
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
            found = _unique(
                np.concatenate([moved[found], _targets(edges, found, DiscoveredBy.REFRESH)]), unseen
            )
        level += 1
        found = _unique(_targets(edges, np.sort(np.concatenate(here)), CLICK_FLAGS, unseen), unseen)
    return depth


def reachable(edges: Edges, target: Int32Array, start: int, evidence: int = EVIDENCE_FLAGS) -> BoolArray:
    """Which nodes any evidence leads to: links of all kinds, statements, redirects and canonicals (``target``).

    Or ``evidence`` of some kinds only: flags of :class:`crawler.model.Found`.
    """
    unseen = np.ones(len(target), np.bool_)
    found = np.array([start], np.int32)
    while len(found):
        unseen[found] = False
        found = _unique(np.concatenate([target[found], _targets(edges, found, evidence, unseen)]), unseen)
    return ~unseen


def _unique(nodes: Int32Array, wanted: BoolArray) -> Int32Array:
    """Those of the nodes that are wanted, each once, ascending; -1 is no node."""
    nodes = nodes[nodes >= 0]
    nodes = nodes[wanted[nodes]]
    if len(nodes) * 8 < len(wanted):
        return np.unique(nodes)
    marks = np.zeros_like(wanted)
    marks[nodes] = True
    return np.flatnonzero(marks).astype(np.int32)


def _targets(edges: Edges, here: Int32Array, accepted: int, wanted: BoolArray | None = None) -> Int32Array:
    """The targets of the accepted edges of these nodes that are wanted. Not each once."""
    first, many = edges.start[here], edges.start[here + 1] - edges.start[here]
    ends = np.cumsum(many)
    parts = [np.empty(0, np.int32)]
    begin = 0
    while begin < len(here):
        done = int(ends[begin - 1]) if begin else 0
        end = max(begin + 1, int(np.searchsorted(ends, done + EDGES_AT_ONCE, side="right")))
        places = _edge_places(first[begin:end], many[begin:end])
        found = edges.to[places[(edges.flags[places] & accepted) != 0]]
        parts.append(found if wanted is None else _unique(found, wanted))
        begin = end
    return np.concatenate(parts)


def _edge_places(first: Int64Array, many: Int64Array) -> Int64Array:
    """The places of all edges of some nodes, one after the other."""
    before = np.cumsum(many) - many
    return np.repeat(first - before, many) + np.arange(int(many.sum()))


def find_islands(edges: Edges, target: Int32Array, pages: BoolArray, touched: BoolArray) -> Int32Array:
    """The number of the island of each node, from 0 on, the largest first; -1: touched, or alone.

    Direction does not matter, and neither does the kind of evidence. ``pages`` are those that count: one of them in
    two spellings, or with a feed of its own, is alone.
    """
    size = len(target)
    label = np.arange(size, dtype=np.int32)
    lost = np.flatnonzero(~touched)
    source = np.repeat(np.arange(size, dtype=np.int32), np.diff(edges.start))
    inside = ~touched[source] & ~touched[edges.to] & ((edges.flags & EVIDENCE_FLAGS) != 0)
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


def _by_size(label: Int32Array) -> Int32Array:
    kept = label >= 0
    found, places, sizes = np.unique(label[kept], return_inverse=True, return_counts=True)
    rank = np.empty(len(found), np.int32)
    rank[np.lexsort((found, -sizes))] = np.arange(len(found), dtype=np.int32)
    label[kept] = rank[places]
    return label


DAMPING: Final = 0.85

MAX_ITERATIONS: Final = 60

TOLERANCE: Final = 1e-4  # of the average page: when no round moves more than that on average, it is done


def page_ranks(links: Edges, home: Int32Array, pages: BoolArray) -> NDArray[np.float64]:
    """The weight of each node, 1.0 being that of the average of ``pages``.

    ``links`` are those that count, by their targets. What flows to a node whose ``home`` is another, flows on to that
    one. Chance visits, and those of pages without links, go to all ``pages`` alike. Ends when the weights stand still,
    or after :data:`ROUNDS` rounds. https://doi.org/10.1016/S0169-7552(98)00110-X
    """
    size = len(home)
    total = int(pages.sum())
    if not total:
        return np.zeros(size)
    many = links.in_degrees()
    jump = pages / total
    away = np.flatnonzero(home != np.arange(size))
    rank = jump.copy()
    share = np.zeros(size)
    for _ in range(MAX_ITERATIONS):
        np.divide(rank, many, out=share, where=many > 0)
        flow = _incoming(share, links)
        np.add.at(flow, home[away], flow[away])
        flow[away] = 0.0
        after = DAMPING * flow
        after += (1.0 - float(after.sum())) * jump
        moved = float(np.abs(after - rank).sum())
        rank = after
        if moved < TOLERANCE:
            break
    return rank * (total / float(rank[pages].sum()))


def _incoming(share: NDArray[np.float64], links: Edges) -> NDArray[np.float64]:
    """What comes in at each node."""
    flow = np.zeros(len(share))
    for first, last in links.blocks():
        begin, end = int(links.start[first]), int(links.start[last])
        has = first + np.flatnonzero(np.diff(links.start[first : last + 1]))
        if len(has):
            flow[has] = np.add.reduceat(share[links.to[begin:end]], links.start[has] - begin)
    return flow
