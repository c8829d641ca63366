"""Estimates what pages that the crawl could not read link to, by their place and by similar pages. Pure.

A page that failed, and that no earlier visit read, may link to anything. But it is likely to link to the pages below it
and to those that link back to it, and apart from these it is likely to link to as much as pages with a similar URL do.
"""

from collections.abc import Sequence
from functools import cached_property
from math import inf, sqrt
from typing import Final, NamedTuple

import numpy as np

from crawler.audit.graph.graph import LinkGraph
from crawler.audit.graph.links import EVIDENCE_FLAGS, BoolArray, Edges, Int32Array, LinkKind
from crawler.audit.graph.metrics import click_depths, reachable
from crawler.audit.graph.similarity import url_shape
from crawler.model import State, Url
from crawler.url.normalize import origin_of

_MIN_SIMILAR: Final = 5  # pages; with fewer, a wider group is used
_MIN_DRAWS: Final = 5
_MAX_DRAWS: Final = 200
_MAX_WORK: Final = 20_000_000  # links and pages in all draws together


class MistakenFindings(NamedTuple):
    """How many pages a rule names by mistake, because pages that link to them were not read: an upper estimate."""

    unlinked: float
    few: float
    deep: float


class UnreadPages:
    """The nodes ``unread`` of a graph. ``urls`` are by node."""

    def __init__(self, graph: LinkGraph, unread: Sequence[int], urls: Sequence[str]) -> None:
        self._graph = graph
        self._unread = unread
        self._urls = urls

    def may_link_to(self, node: int) -> bool:
        """Whether an unread page is likely to link to a node, or to its island."""
        return bool(self._near[node])

    @cached_property
    def _near(self) -> BoolArray:
        """A mask of the nodes that are below an unread page, or that link to it, and of the islands of these.

        Pages that half of the site links to are in a menu, so links to them say nothing.
        """
        graph = self._graph
        below = {f"{self._urls[node].partition('?')[0].rstrip('/')}/" for node in self._unread} - {
            f"{origin_of(Url(self._urls[0]))}/"
        }
        near = np.array([_is_below(url, below) for url in self._urls], np.bool_)
        for node in self._unread:
            linking = graph.linking(node, EVIDENCE_FLAGS)
            if 2 * len(linking) < np.count_nonzero(graph.reached):
                near[linking] = True
        islands = np.unique(graph.island[near])
        return near | np.isin(graph.island, islands[islands >= 0])

    def mistaken(self, min_inlinks: int, max_clicks: int) -> MistakenFindings:
        """How many findings are expected to be wrong: of a page without links, with few inlinks, or too deep.

        In each of many draws, as many pages as are unread, each similar to one of them, are taken out of the graph. The
        estimate is two standard errors above the mean number of pages that then seem to have lost their links.
        """
        graph = self._graph
        work = len(graph.edges) + len(graph.nodes)
        draws = min(_MAX_DRAWS, max(_MIN_DRAWS, _MAX_WORK // work))
        dice = np.random.default_rng(len(self._unread))
        similar = self._similar()
        if not all(similar):  # nothing is known about pages like these
            return MistakenFindings(inf, inf, inf)
        lost = np.array([self._lost(_draw(similar, dice), min_inlinks, max_clicks) for _ in range(draws)], float)
        upper = lost.mean(axis=0) + 2 * lost.std(axis=0) / sqrt(draws) + 1 / draws
        return MistakenFindings(*upper.tolist())

    def _similar(self) -> list[list[int]]:
        """For each unread page the nodes of read pages that are like it."""
        graph = self._graph
        read = np.flatnonzero(graph.touched & graph.nodes.in_states(State.INDEXABLE, State.NOINDEX))
        groups: dict[object, list[int]] = {}
        for node in read[read != graph.start].tolist():
            for key in _likeness(self._urls[node]):
                groups.setdefault(key, []).append(node)
        similar = []
        for node in self._unread:
            found = (groups.get(key, []) for key in _likeness(self._urls[node]))
            similar.append(next((group for group in found if len(group) >= _MIN_SIMILAR), []))
        return similar

    def _lost(self, removed: list[int], min_inlinks: int, max_clicks: int) -> tuple[int, int, int]:
        """How many pages seem to have no links, few inlinks, or to be too deep, without the ``removed`` nodes."""
        graph = self._graph
        is_left = np.ones(len(graph.nodes), np.bool_)
        is_left[removed] = False
        edges = _without(graph.edges, is_left)
        sources, targets = self._followed
        counts = (is_left & reachable(edges, graph.target, graph.start))[sources]
        inlinks = np.bincount(targets[counts], minlength=len(graph.nodes))
        depth = click_depths(edges, graph.moved, graph.start)
        pages = graph.nodes.in_states(State.INDEXABLE) & is_left & graph.reached & (graph.inlinks > 0)
        is_linked = pages & (inlinks > 0)
        return (
            int(np.count_nonzero(pages & (inlinks == 0))),
            int(np.count_nonzero(is_linked & (graph.inlinks > min_inlinks) & (inlinks <= min_inlinks))),
            int(np.count_nonzero(is_linked & (graph.depth <= max_clicks) & ((depth > max_clicks) | (depth < 0)))),
        )

    @cached_property
    def _followed(self) -> tuple[Int32Array, Int32Array]:
        """The source and the target of each followed link."""
        return self._graph.links_of_kind(LinkKind.FOLLOWED)


def _draw(similar: list[list[int]], dice: np.random.Generator) -> list[int]:
    return [group[int(dice.integers(len(group)))] for group in similar]


def _without(edges: Edges, is_left: BoolArray) -> Edges:
    """The edges without those of some nodes."""
    degrees = np.diff(edges.start)
    kept = np.repeat(is_left, degrees)
    start = np.zeros(len(edges.start), np.int64)
    np.cumsum(np.where(is_left, degrees, 0), out=start[1:])
    return Edges(start, edges.to[kept], edges.flags[kept])


def _likeness(url: str) -> tuple[object, ...]:
    """Keys that similar URLs share, the narrowest first."""
    directories, name = url_shape(url)
    depth = directories.count("/")
    return (directories, name), (depth, name), depth, ()


def _is_below(url: str, directories: set[str]) -> bool:
    path = url.partition("?")[0]
    end = path.rstrip("/").rfind("/") + 1
    while end > len("https://"):
        if path[:end] in directories:
            return True
        end = path.rfind("/", 0, end - 1) + 1
    return False
