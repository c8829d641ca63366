"""Pages that lead to one another and that nothing leads to: the connected parts of what the start does not touch."""

import numpy as np

from crawler.graph.arrays import Bools, Edges, Ints
from crawler.graph.way import EVIDENCE


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
