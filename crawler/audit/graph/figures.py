"""The depth and the weight of each page, in four bytes for each link, for what needs no more of the link graph. Pure.

Both are those of :class:`crawler.audit.graph.graph.LinkGraph`, which takes fifty bytes.
"""

from array import array
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from crawler.audit.graph.graph import home_pages, indexed_pages, leading_targets, moved_targets
from crawler.audit.graph.links import CLICK_FLAGS, EVIDENCE_FLAGS, PAGE_STATES, LinkGroup, Nodes
from crawler.audit.graph.metrics import iterate_ranks, levels


class PageFigures(NamedTuple):
    """By node: the clicks from the start, -1 without a way, and the weight."""

    depth: Sequence[int]
    weight: Sequence[float]


class _Links:
    """The targets of each node, one after the other."""

    def __init__(self, count: int) -> None:
        self._targets = array("I")
        self._begin, self._end = array("Q", bytes(8 * count)), array("Q", bytes(8 * count))

    def set(self, node: int, groups: Iterable[LinkGroup], accepted: int, refused: int = 0) -> None:
        """Store the links of a node to others whose flags are accepted."""
        self._begin[node] = len(self._targets)
        for flags, targets in groups:
            if flags & accepted and not flags & refused:
                self._targets.extend(targets if node not in targets else [to for to in targets if to != node])
        self._end[node] = len(self._targets)

    def of(self, node: int) -> "array[int]":
        """The targets of a node."""
        return self._targets[self._begin[node] : self._end[node]]


def page_figures(nodes: Nodes, groups: Iterable[tuple[int, Sequence[LinkGroup]]], start: int) -> PageFigures:
    """The figures of all nodes. ``groups`` are the links of each node that has some."""
    clicks, others = _Links(len(nodes)), _Links(len(nodes))
    for node, links in groups:
        clicks.set(node, links, CLICK_FLAGS)
        others.set(node, links, EVIDENCE_FLAGS, CLICK_FLAGS)
    moved = moved_targets(nodes)
    leading = leading_targets(nodes)
    count = len(nodes)
    depth = levels(count, [start], lambda node: (clicks.of(node),), lambda node: (moved[node],))
    clicked = (node for node in range(count) if depth[node] >= 0)  # their clicks lead to no more nodes
    touched = levels(
        count,
        clicked,
        lambda node: (others.of(node),) if depth[node] >= 0 else (clicks.of(node), others.of(node)),
        lambda node: (leading[node],),
    )
    home = array("I", home_pages(nodes))
    counted = {*nodes.remembered}
    sources = array("I")
    for node, state in enumerate(nodes.state):
        if touched[node] >= 0 and (state in PAGE_STATES or node in counted):
            sources.append(node)
    families = {home[node] for node in range(len(home)) if home[node] != node}

    def to_others(node: int) -> Sequence[int]:
        targets = clicks.of(node)
        if home[node] in families:  # links between spellings of a page do not count
            return [target for target in targets if home[target] != home[node]]
        return targets

    targets_of = to_others if families else clicks.of

    def flows(rank: "array[float]") -> "array[float]":
        flow = array("d", bytes(8 * len(home)))  # of a million pages, a list of numbers takes twice as long
        for node in sources:
            if targets := targets_of(node):
                share = rank[node] / len(targets)
                for target in targets:
                    flow[target] += share
        return flow

    return PageFigures(depth, iterate_ranks(flows, home, indexed_pages(nodes)))
