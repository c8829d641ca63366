"""Metrics of the link graph: click depth, reach, islands and weight. Pure."""

from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from operator import itemgetter
from typing import Final

from crawler.audit.graph.links import CLICK_FLAGS, EVIDENCE_FLAGS, Edges, Mask
from crawler.model import DiscoveredBy


def levels(
    count: int,
    starts: Iterable[int],
    links: Callable[[int], Iterable[Iterable[int]]],
    free: Callable[[int], Iterable[int]],
) -> "array[int]":
    """The number of links from the nearest start to each of ``count`` nodes, -1 without a way.

    ``links`` gives groups of the targets of a node, ``free`` the nodes that it leads on to for nothing, or -1.
    """
    level = array("i", [-1]) * count
    queued = bytearray(count)
    steps, frontier = 0, array("I", starts)
    while frontier:
        nodes = array("I")
        while frontier:  # the nodes of this level, and those that they lead on to
            node = frontier.pop()
            if level[node] < 0:
                level[node] = steps
                nodes.append(node)
                frontier.extend(end for end in free(node) if end >= 0)
        for node in nodes:
            for targets in links(node):
                for target in targets:
                    if not queued[target]:
                        queued[target] = 1
                        frontier.append(target)
        steps += 1
    return level


def click_depths(edges: Edges, moved: Sequence[int], start: int) -> list[int]:
    """The number of clicks from the start to each node, -1 when no clicks lead there.

    ``moved`` is the target of a redirect, or -1. Redirects and refreshes cost no click.
    """

    def free(node: int) -> Iterator[int]:
        return chain((moved[node],), *edges.targets(node, DiscoveredBy.REFRESH))

    return levels(len(moved), [start], lambda node: edges.targets(node, CLICK_FLAGS), free).tolist()


def reachable(edges: Edges, target: Sequence[int], start: int, evidence: int = EVIDENCE_FLAGS) -> Mask:
    """A mask of the nodes that links of any kind, redirects and canonicals (``target``) lead to.

    ``evidence`` are the flags of :class:`crawler.model.DiscoveredBy` that count.
    """
    level = levels(len(target), [start], lambda node: edges.targets(node, evidence), lambda node: (target[node],))
    return bytearray(steps >= 0 for steps in level)


def led_by(order: Iterable[int], edges: Edges, moved: list[int], touched: Mask) -> dict[int, int]:
    """The first of these nodes that clicks and redirects lead from to each node, among those that are not touched."""
    led: dict[int, int] = {}
    for first in order:
        found = {first} - led.keys()
        while found:
            led |= dict.fromkeys(found, first)
            found = {moved[node] for node in found} - {-1} | {
                to
                for node in found
                for targets in edges.targets(node, CLICK_FLAGS | DiscoveredBy.REFRESH)
                for to in targets
            }
            found = {node for node in found if not touched[node]} - led.keys()
    return led


def find_islands(edges: Edges, target: list[int], pages: Mask, touched: Mask) -> list[int]:
    """The number of each node's island, from 0, the largest first; -1: touched, or alone.

    Neither the direction nor the kind of a link matters. Only ``pages`` count: a page with a second spelling or a feed
    is alone.
    """
    root = [*range(len(target))]

    def root_of(node: int) -> int:
        while root[node] != node:
            root[node] = node = root[root[node]]
        return node

    lost = [node for node in range(len(target)) if not touched[node]]
    for node in lost:
        near = [to for flags, targets in edges.of_page[node] if flags & EVIDENCE_FLAGS for to in targets]
        for to in (*near, target[node]):
            if to >= 0 and not touched[to]:
                low, high = sorted((root_of(node), root_of(to)))
                root[high] = low
    sizes = Counter(map(root_of, lost))
    members = Counter(root_of(node) for node in lost if pages[node])
    islands = sorted((node for node in sizes if members[node] > 1), key=lambda node: (-sizes[node], node))
    numbers = {node: number for number, node in enumerate(islands)}
    island = [-1] * len(target)
    for node in lost:
        island[node] = numbers.get(root_of(node), -1)
    return island


DAMPING: Final = 0.85
MAX_ITERATIONS: Final = 60
TOLERANCE: Final = 1e-4  # total change of all weights, which sum to 1, at which the iteration ends


def page_ranks(followed: Sequence[Sequence[int]], home: list[int], pages: Mask) -> list[float]:
    """The weight of each node by PageRank; the average of ``pages`` is 1.0.

    ``followed`` are the pages whose links to each node count. A node with another ``home`` passes its weight on to
    that. Random visits, and those of pages without links, spread evenly over ``pages``. Iterates until the weights are
    stable, at most :data:`MAX_ITERATIONS` times. https://doi.org/10.1016/S0169-7552(98)00110-X
    """
    degrees = Counter(chain.from_iterable(followed))
    inverse = [1 / degrees[node] if node in degrees else 0.0 for node in range(len(home))]
    once = [(node, sources[0]) for node, sources in enumerate(followed) if len(sources) == 1]
    # itemgetter takes the items of a list several times as fast as a loop
    often = [(node, itemgetter(*sources)) for node, sources in enumerate(followed) if len(sources) > 1]

    def flows(rank: "array[float]") -> "array[float]":
        share = [*map(float.__mul__, rank, inverse)]
        flow = array("d", bytes(8 * len(home)))
        for node, source in once:
            flow[node] = share[source]
        for node, shares_of in often:
            flow[node] = sum(shares_of(share))
        return flow

    return iterate_ranks(flows, home, pages)


def iterate_ranks(flows: "Callable[[array[float]], array[float]]", home: Sequence[int], pages: Mask) -> list[float]:
    """The same. ``flows`` gives what links bring to each node, from the ranks of all nodes."""
    total = sum(pages)
    if not total:
        return [0.0] * len(home)
    jump = array("d", (page / total for page in pages))
    away = [(node, end) for node, end in enumerate(home) if node != end]
    rank = jump
    for _ in range(MAX_ITERATIONS):
        flow = flows(rank)
        for node, end in away:
            flow[end] += flow[node]
            flow[node] = 0.0
        rest = 1.0 - DAMPING * sum(flow)
        updated = array("d", (DAMPING * came + rest * page for came, page in zip(flow, jump, strict=True)))
        moved = sum(map(abs, map(float.__sub__, updated, rank)))
        rank = updated
        if moved < TOLERANCE:
            break
    scale = total / sum(weight for weight, page in zip(rank, pages, strict=True) if page)
    return [weight * scale for weight in rank]
