"""Metrics of the link graph: click depth, reach, islands and weight. Pure."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from crawler.audit.graph.links import (
    CLICK_FLAGS,
    EDGES_AT_ONCE,
    EVIDENCE_FLAGS,
    BoolArray,
    Edges,
    Int32Array,
    Int64Array,
)
from crawler.model import DiscoveredBy


def click_depths(edges: Edges, moved: Int32Array, start: int) -> Int32Array:
    """The number of clicks from the start to each node, -1 when no clicks lead there.

    ``moved`` is the target of a redirect, or -1. Redirects and refreshes cost no click.
    """
    depth = np.full(len(moved), -1, np.int32)
    unseen = np.ones(len(moved), np.bool_)
    level = 0
    frontier = np.array([start], np.int32)
    while len(frontier):
        nodes = []
        while len(frontier):  # the nodes of this level, and those that their redirects lead to
            depth[frontier] = level
            unseen[frontier] = False
            nodes.append(frontier)
            frontier = _unique(
                np.concatenate([moved[frontier], _targets(edges, frontier, DiscoveredBy.REFRESH)]), unseen
            )
        level += 1
        frontier = _unique(_targets(edges, np.sort(np.concatenate(nodes)), CLICK_FLAGS, unseen), unseen)
    return depth


def links_between(edges: Edges, home: Int32Array, group: Int32Array, groups: int) -> Int64Array:
    """The number of links that visitors can click from each group of nodes to each other, as a square matrix.

    ``group`` is the group of each node, or -1. A link to a redirect or a copy counts for its ``home``.
    """
    counts = np.zeros(groups * groups, np.int64)
    for first, last in edges.blocks():
        begin, end = int(edges.start[first]), int(edges.start[last])
        source = np.repeat(group[first:last], np.diff(edges.start[first : last + 1]))
        target = group[home[edges.to[begin:end]]]
        counted = (source >= 0) & (target >= 0) & ((edges.flags[begin:end] & CLICK_FLAGS) != 0)
        counts += np.bincount(source[counted] * groups + target[counted], minlength=len(counts))
    return counts.reshape(groups, groups)


def reachable(edges: Edges, target: Int32Array, start: int, evidence: int = EVIDENCE_FLAGS) -> BoolArray:
    """A mask of the nodes that links of any kind, redirects and canonicals (``target``) lead to.

    ``evidence`` are the flags of :class:`crawler.model.DiscoveredBy` that count.
    """
    unseen = np.ones(len(target), np.bool_)
    frontier = np.array([start], np.int32)
    while len(frontier):
        unseen[frontier] = False
        frontier = _unique(np.concatenate([target[frontier], _targets(edges, frontier, evidence, unseen)]), unseen)
    return ~unseen


def _unique(nodes: Int32Array, mask: BoolArray) -> Int32Array:
    """The nodes in the mask, each once, ascending; -1 is no node."""
    nodes = nodes[nodes >= 0]
    nodes = nodes[mask[nodes]]
    if len(nodes) * 8 < len(mask):
        return np.unique(nodes)
    marks = np.zeros_like(mask)
    marks[nodes] = True
    return np.flatnonzero(marks).astype(np.int32)


def _targets(edges: Edges, nodes: Int32Array, accepted: int, mask: BoolArray | None = None) -> Int32Array:
    """The targets of the edges of these nodes that have accepted flags and are in the mask; they may repeat."""
    first, counts = edges.start[nodes], edges.start[nodes + 1] - edges.start[nodes]
    ends = np.cumsum(counts)
    parts = [np.empty(0, np.int32)]
    begin = 0
    while begin < len(nodes):
        done = int(ends[begin - 1]) if begin else 0
        end = max(begin + 1, int(np.searchsorted(ends, done + EDGES_AT_ONCE, side="right")))
        places = _edge_places(first[begin:end], counts[begin:end])
        targets = edges.to[places[(edges.flags[places] & accepted) != 0]]
        parts.append(targets if mask is None else _unique(targets, mask))
        begin = end
    return np.concatenate(parts)


def _edge_places(first: Int64Array, counts: Int64Array) -> Int64Array:
    """The places of all edges of some nodes, in order. ``first`` are their first places, ``counts`` their numbers."""
    offsets = np.cumsum(counts) - counts
    return np.repeat(first - offsets, counts) + np.arange(int(counts.sum()))


def find_islands(edges: Edges, target: Int32Array, pages: BoolArray, touched: BoolArray) -> Int32Array:
    """The number of each node's island, from 0, the largest first; -1: touched, or alone.

    Neither the direction nor the kind of a link matters. Only ``pages`` count: a page with a second spelling or a feed
    is alone.
    """
    size = len(target)
    label = np.arange(size, dtype=np.int32)
    lost = np.flatnonzero(~touched)
    source = np.repeat(np.arange(size, dtype=np.int32), np.diff(edges.start))
    inside = ~touched[source] & ~touched[edges.to] & ((edges.flags & EVIDENCE_FLAGS) != 0)
    moved = lost[target[lost] >= 0]
    moved = moved[~touched[target[moved]]]
    left = np.concatenate([source[inside], moved.astype(np.int32)])
    right = np.concatenate([edges.to[inside], target[moved]])
    while True:
        low = np.minimum(label[left], label[right])
        previous = label.copy()
        for ends in (left, right):
            np.minimum.at(label, previous[ends], low)  # the root of each end gets the lower label
            np.minimum.at(label, ends, low)
        label = label[label]
        if np.array_equal(label, previous):
            break
    alone = np.bincount(label[lost[pages[lost]]], minlength=size) < 2
    label[touched] = -1
    label[lost] = np.where(alone[label[lost]], -1, label[lost])
    return _by_size(label)


def _by_size(label: Int32Array) -> Int32Array:
    mask = label >= 0
    islands, places, sizes = np.unique(label[mask], return_inverse=True, return_counts=True)
    rank = np.empty(len(islands), np.int32)
    rank[np.lexsort((islands, -sizes))] = np.arange(len(islands), dtype=np.int32)
    label[mask] = rank[places]
    return label


DAMPING: Final = 0.85
MAX_ITERATIONS: Final = 60
TOLERANCE: Final = 1e-4  # total change of all weights, which sum to 1, at which the iteration ends


def page_ranks(links: Edges, home: Int32Array, pages: BoolArray) -> NDArray[np.float64]:
    """The weight of each node by PageRank; the average of ``pages`` is 1.0.

    ``links`` are the counted links by their targets. A node with another ``home`` passes its weight on to that. Random
    visits, and those of pages without links, spread evenly over ``pages``. Iterates until the weights are stable, at
    most :data:`MAX_ITERATIONS` times. https://doi.org/10.1016/S0169-7552(98)00110-X
    """
    size = len(home)
    total = int(pages.sum())
    if not total:
        return np.zeros(size)
    degrees = links.in_degrees()
    jump = pages / total
    away = np.flatnonzero(home != np.arange(size))
    rank = jump.copy()
    share = np.zeros(size)
    for _ in range(MAX_ITERATIONS):
        np.divide(rank, degrees, out=share, where=degrees > 0)
        flow = _incoming(share, links)
        np.add.at(flow, home[away], flow[away])
        flow[away] = 0.0
        updated = DAMPING * flow
        updated += (1.0 - float(updated.sum())) * jump
        moved = float(np.abs(updated - rank).sum())
        rank = updated
        if moved < TOLERANCE:
            break
    return rank * (total / float(rank[pages].sum()))


def _incoming(share: NDArray[np.float64], links: Edges) -> NDArray[np.float64]:
    """The sum of the shares that links bring to each node."""
    flow = np.zeros(len(share))
    for first, last in links.blocks():
        begin, end = int(links.start[first]), int(links.start[last])
        has = first + np.flatnonzero(np.diff(links.start[first : last + 1]))
        if len(has):
            flow[has] = np.add.reduceat(share[links.to[begin:end]], links.start[has] - begin)
    return flow
