"""Estimates what pages that the crawl could not read link to, by their place and by similar pages. Pure.

A page that failed, and that no earlier visit read, may link to anything. But it is likely to link to the pages below it
and to those that link back to it, and apart from these it is likely to link to as much as pages with a similar URL do.
"""

from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import compress
from math import inf, sqrt
from statistics import fmean, pstdev
from typing import Final, NamedTuple

from crawler.audit.graph.graph import LinkGraph
from crawler.audit.graph.links import EVIDENCE_FLAGS, Edges, Mask
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
    """The nodes ``unread`` of a graph. ``urls`` are by node; ``draw`` chooses one of some nodes at random."""

    def __init__(
        self, graph: LinkGraph, unread: Sequence[int], urls: Sequence[str], draw: Callable[[list[int]], int]
    ) -> None:
        self._graph = graph
        self._unread = unread
        self._urls = urls
        self._draw = draw

    def may_link_to(self, node: int) -> bool:
        """Whether an unread page is likely to link to a node, or to its island."""
        return bool(self._near[node])

    @cached_property
    def _near(self) -> Mask:
        """A mask of the nodes that are below an unread page, or that link to it, and of the islands of these.

        Pages that half of the site links to are in a menu, so links to them say nothing.
        """
        graph = self._graph
        below = {f"{self._urls[node].partition('?')[0].rstrip('/')}/" for node in self._unread} - {
            f"{origin_of(Url(self._urls[0]))}/"
        }
        near = bytearray(_is_below(url, below) for url in self._urls)
        reached = sum(graph.reached)
        for node in self._unread:
            linking = graph.linking(node, EVIDENCE_FLAGS)
            if 2 * len(linking) < reached:
                for page in linking:
                    near[page] = 1
        islands = {*compress(graph.island, near)} - {-1}
        return bytearray(is_near or island in islands for is_near, island in zip(near, graph.island, strict=True))

    def mistaken(self, min_inlinks: int, max_clicks: int) -> MistakenFindings:
        """How many findings are expected to be wrong: of a page without links, with few inlinks, or too deep.

        In each of many draws, as many pages as are unread, each similar to one of them, are taken out of the graph. The
        estimate is two standard errors above the mean number of pages that then seem to have lost their links.
        """
        graph = self._graph
        work = len(graph.edges) + len(graph.nodes)
        draws = min(_MAX_DRAWS, max(_MIN_DRAWS, _MAX_WORK // work))
        similar = self._similar()
        if not all(similar):  # nothing is known about pages like these
            return MistakenFindings(inf, inf, inf)
        lost = [self._lost({self._draw(group) for group in similar}, min_inlinks, max_clicks) for _ in range(draws)]
        upper = (fmean(counts) + 2 * pstdev(counts) / sqrt(draws) + 1 / draws for counts in zip(*lost, strict=True))
        return MistakenFindings(*upper)

    def _similar(self) -> list[list[int]]:
        """For each unread page the nodes of read pages that are like it."""
        graph = self._graph
        groups: dict[object, list[int]] = {}
        for node, is_read in enumerate(graph.nodes.in_states(State.INDEXABLE, State.NOINDEX)):
            if is_read and graph.touched[node] and node != graph.start:
                for key in _likeness(self._urls[node]):
                    groups.setdefault(key, []).append(node)
        similar = []
        for node in self._unread:
            found = (groups.get(key, []) for key in _likeness(self._urls[node]))
            similar.append(next((group for group in found if len(group) >= _MIN_SIMILAR), []))
        return similar

    def _lost(self, removed: set[int], min_inlinks: int, max_clicks: int) -> tuple[int, int, int]:
        """How many pages seem to have no links, few inlinks, or to be too deep, without the ``removed`` nodes."""
        graph = self._graph
        edges = Edges(graph.edges.of_page.copy())
        for node in removed:
            edges.of_page[node] = ()
        counts = reachable(edges, graph.target, graph.start)
        uncounted = {node for node, is_counted in enumerate(counts) if not is_counted} | removed
        depth = click_depths(edges, graph.moved, graph.start)
        unlinked = few = deep = 0
        for node, is_page in enumerate(self._linked):
            if not is_page or node in removed:
                continue
            before = graph.inlinks[node]
            inlinks = before - len(uncounted.intersection(graph.followed[node]))
            unlinked += inlinks == 0
            few += 0 < inlinks <= min_inlinks < before
            deep += inlinks > 0 and graph.depth[node] <= max_clicks and not 0 <= depth[node] <= max_clicks
        return unlinked, few, deep

    @cached_property
    def _linked(self) -> Mask:
        """A mask of the pages with followed links that clicks lead to."""
        graph = self._graph
        fit = zip(graph.nodes.state, graph.depth, graph.inlinks, strict=True)
        return bytearray(state is State.INDEXABLE and depth >= 0 and inlinks > 0 for state, depth, inlinks in fit)


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
