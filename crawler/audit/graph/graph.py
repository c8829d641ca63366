"""The link graph of a site: the pages that the start leads to, by which kinds of links, how deep. Pure."""

from functools import cached_property
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crawler.audit.graph.links import (
    CLICK_FLAGS,
    EVIDENCE_FLAGS,
    HEAD_FLAGS,
    LINK_FLAGS,
    PAGE_STATES,
    STATE_CODES,
    UNTOUCHED_ROW,
    BoolArray,
    Edges,
    Int32Array,
    LinkKind,
    Nodes,
    link_kind_table,
)
from crawler.audit.graph.metrics import click_depths, find_islands, page_ranks, reachable
from crawler.model import DiscoveredBy, State

_REACHED_KINDS: Final = int(~LinkKind.UNREACHED)
_CLICK_FLAGS: Final = CLICK_FLAGS | DiscoveredBy.NOFOLLOW | DiscoveredBy.REFRESH


class InboundLink(NamedTuple):
    """A node that leads to another, by the best kind of link, and the redirect or copy that it leads through, or -1."""

    node: int
    way: LinkKind
    via: int


class LinkGraph:
    """Arrays by node. Links between spellings of one page (redirects to it, copies that name it) never count.

    ``start``: the node where the start's redirects end. ``home``: the node where redirects and canonicals end, for most
    nodes the node itself. ``depth``: clicks from the start over followed links of all pages that were read, -1 without
    such a path. ``touched``: the start leads to the node by any evidence. ``ways``: flags of
    :class:`crawler.audit.graph.links.LinkKind`, 0 when nothing leads to the node; the start may have none. Links to
    another spelling of a page count for the page as REDIRECT or CANONICAL. A spelling that leads on has only its own
    links. ``inlinks``: the number of pages with FOLLOWED links to the node.
    """

    def __init__(self, nodes: Nodes, edges: Edges, start: int) -> None:
        self.nodes = nodes
        self.edges = edges
        self._first = start
        self.moved: Int32Array = np.where(nodes.in_states(State.REDIRECT), nodes.target, -1).astype(np.int32)
        target = np.where(nodes.in_states(State.REDIRECT, State.CANONICAL_ELSEWHERE), nodes.target, -1)
        self.target: Int32Array = target.astype(np.int32)
        self.home, self._through = _chain_ends(self.target, self.moved)
        self.start = _chain_end(self.moved, start)
        self.depth = click_depths(edges, self.moved, start)
        self.touched = reachable(edges, self.target, start)
        self.incoming = edges.reversed()
        self._bits = self._edge_ways()
        self.inlinks, self.ways = self._ways(start)

    @property
    def reached(self) -> BoolArray:
        """A mask of the nodes that clicks lead to."""
        return self.depth >= 0

    @property
    def pages(self) -> BoolArray:
        """A mask of the pages that were read and whose links count, reached or not."""
        pages: BoolArray = self.nodes.in_states(*PAGE_STATES) & (
            self.nodes.in_states(State.INDEXABLE) | (self.nodes.status == 200)
        )
        return pages

    @cached_property
    def visitor_reachable(self) -> BoolArray:
        """A mask of the nodes that a visitor reaches who clicks every link, nofollow or not."""
        return reachable(self.edges, self.target, self._first, EVIDENCE_FLAGS & ~HEAD_FLAGS)

    @cached_property
    def crawlable(self) -> BoolArray:
        """A mask of the nodes that not only nofollow links of noindexed pages lead to.

        Such links lead to histories, forms and search results, which lead to endlessly many more of their kind.
        """
        mask = np.zeros(len(self.home), np.bool_)
        mask[self.target[self.target >= 0]] = True
        noindexed = self.nodes.in_states(State.NOINDEX)
        for first, last in self.edges.blocks():
            begin, end = int(self.edges.start[first]), int(self.edges.start[last])
            degrees = np.diff(self.edges.start[first : last + 1])
            counts = ~np.repeat(noindexed[first:last], degrees) | (self.edges.flags[begin:end] != DiscoveredBy.NOFOLLOW)
            mask[self.edges.to[begin:end][counts]] = True
        return mask

    @cached_property
    def weight(self) -> NDArray[np.float64]:
        """See :func:`crawler.audit.graph.metrics.page_ranks`."""
        start = np.zeros(len(self.home) + 1, np.int64)
        np.cumsum(self.inlinks, out=start[1:])
        counts = (self._bits & np.uint8(LinkKind.FOLLOWED)).view(np.bool_)
        links = Edges(start, self.incoming.to[counts], np.empty(0, np.uint16))
        return page_ranks(links, self.home, self.pages)

    @cached_property
    def drawn(self) -> BoolArray:
        """A mask of the nodes with FOLLOWED links, all of which are created by scripts."""
        incoming, counts = self.incoming, np.zeros((2, len(self.home)), np.int64)
        if not (incoming.flags & DiscoveredBy.SCRIPT).any():
            return np.zeros(len(self.home), np.bool_)
        for first, last in incoming.blocks():
            begin, end = int(incoming.start[first]), int(incoming.start[last])
            nodes = np.repeat(np.arange(last - first), np.diff(incoming.start[first : last + 1]))
            is_followed = (self._bits[begin:end] & np.uint8(LinkKind.FOLLOWED)) != 0
            is_drawn = (incoming.flags[begin:end] & DiscoveredBy.SCRIPT) != 0
            for row, chosen in enumerate((is_followed, is_followed & is_drawn)):
                counts[row, first:last] = np.bincount(nodes[chosen], minlength=last - first)
        drawn: BoolArray = (counts[0] > 0) & (counts[0] == counts[1])
        return drawn

    @cached_property
    def island(self) -> Int32Array:
        """See :func:`crawler.audit.graph.metrics.find_islands`."""
        return find_islands(self.edges, self.target, self.nodes.in_states(State.INDEXABLE), self.touched)

    def is_endless(self, node: int) -> bool:
        """Whether the redirects of a node form a loop."""
        return bool(self.moved[_chain_end(self.moved, node)] >= 0)

    def referrers(self, node: int, limit: int) -> list[InboundLink]:
        """The nodes that lead to a node or to another spelling of it: by the kind of link, then by weight."""
        best: dict[int, InboundLink] = {}
        for alias in (node, *self._aliases(node)):
            for link in self._inbound(alias, node, limit):
                if link.node not in best or link.way < best[link.node].way:
                    best[link.node] = link
        ranked = sorted(best.values(), key=lambda link: (link.way, -self.weight[link.node], link.node))
        return ranked[:limit]

    def visitor_link_kinds(self, node: int) -> int:
        """The kinds of links by which a visitor reaches a node, itself or through a redirect; no canonicals."""
        redirects = (alias for alias in self._aliases(node) if self._through[alias] == LinkKind.REDIRECT)
        is_redirected = any(self._clicks(redirect) & _REACHED_KINDS for redirect in redirects)
        return self._clicks(node) | int(LinkKind.REDIRECT) * is_redirected

    def _clicks(self, node: int) -> int:
        begin, end = int(self.incoming.start[node]), int(self.incoming.start[node + 1])
        is_click = (self.incoming.flags[begin:end] & _CLICK_FLAGS) != 0
        return int(np.bitwise_or.reduce(self._bits[begin:end][is_click], initial=0))

    def following_pages(self, node: int, limit: int) -> Int32Array:
        """The first ``limit`` pages with FOLLOWED links to a node, by their ids."""
        begin, end = int(self.incoming.start[node]), int(self.incoming.start[node + 1])
        counts = (self._bits[begin:end] & np.uint8(LinkKind.FOLLOWED)) != 0
        first: Int32Array = self.incoming.to[begin:end][counts][:limit]
        return first

    def links_of_kind(self, kind: LinkKind) -> tuple[Int32Array, Int32Array]:
        """The source and the target of each link of a kind."""
        counts = np.flatnonzero(self._bits & np.uint8(kind))
        degrees = np.diff(self.incoming.start)
        targets = np.repeat(np.arange(len(self.home), dtype=np.int32), degrees)
        return self.incoming.to[counts], targets[counts]

    def linking(self, node: int, flags: int) -> Int32Array:
        """The nodes whose links to a node or to another spelling of it have one of these flags of DiscoveredBy."""
        parts = []
        for alias in (node, *self._aliases(node)):
            begin, end = int(self.incoming.start[alias]), int(self.incoming.start[alias + 1])
            parts.append(self.incoming.to[begin:end][(self.incoming.flags[begin:end] & flags) != 0])
        nodes: Int32Array = np.unique(np.concatenate(parts))
        return nodes

    def _inbound(self, alias: int, node: int, limit: int) -> list[InboundLink]:
        """The nodes that lead to one spelling of a node, the best first."""
        begin, end = int(self.incoming.start[alias]), int(self.incoming.start[alias + 1])
        bits = self._bits[begin:end].astype(np.int16)
        if alias != node:
            bits = np.where(bits & _REACHED_KINDS, int(self._through[alias]), bits)
        best = bits & -bits
        sources = self.incoming.to[begin:end]
        places = np.flatnonzero(best)
        places = places[np.lexsort((sources[places], -self.weight[sources[places]], best[places]))][:limit]
        via = -1 if alias == node else alias
        return [InboundLink(int(sources[place]), LinkKind(int(best[place])), via) for place in places]

    @cached_property
    def _spellings(self) -> tuple[Int32Array, NDArray[np.int64]]:
        away = np.flatnonzero(self.home != np.arange(len(self.home))).astype(np.int32)
        away = away[np.argsort(self.home[away], kind="stable")]
        return away, np.searchsorted(self.home[away], np.arange(len(self.home) + 1)).astype(np.int64)

    def _aliases(self, node: int) -> list[int]:
        away, start = self._spellings
        aliases: list[int] = away[start[node] : start[node + 1]].tolist()
        return aliases

    def _edge_ways(self) -> NDArray[np.uint8]:
        """The link kinds of each incoming edge, 0 for an edge that does not count."""
        incoming, kinds = self.incoming, link_kind_table()
        states = self.nodes.state.copy()
        states[self.nodes.remembered] = STATE_CODES[State.INDEXABLE]
        rows = np.where(self.touched, states, UNTOUCHED_ROW).astype(np.int16)
        bits = np.empty(len(incoming), np.uint8)
        for first, last in incoming.blocks():
            begin, end = int(incoming.start[first]), int(incoming.start[last])
            source = incoming.to[begin:end]
            homes = np.repeat(self.home[first:last], np.diff(incoming.start[first : last + 1]))
            edge_kinds = kinds[rows[source], incoming.flags[begin:end] & LINK_FLAGS]
            bits[begin:end] = np.where(self.home[source] == homes, 0, edge_kinds)
        return bits

    def _ways(self, start: int) -> tuple[Int32Array, NDArray[np.uint8]]:
        incoming, size = self.incoming, len(self.home)
        ways = np.zeros(size, np.uint8)
        inlinks = np.zeros(size, np.int32)
        has = np.flatnonzero(np.diff(incoming.start))
        if len(has):
            places = incoming.start[has]
            ways[has] = np.bitwise_or.reduceat(self._bits, places)
            inlinks[has] = np.add.reduceat(self._bits & np.uint8(LinkKind.FOLLOWED), places, dtype=np.int32)
        away = np.flatnonzero(self._through)
        is_linked = ((ways[away] & _REACHED_KINDS) != 0) | (away == start)
        inherited = np.where(is_linked, self._through[away], 0) | (ways[away] & np.uint8(LinkKind.UNREACHED))
        np.bitwise_or.at(ways, self.home[away], inherited.astype(np.uint8))
        return inlinks, ways


def _chain_ends(target: Int32Array, moved: Int32Array) -> tuple[Int32Array, NDArray[np.uint8]]:
    """The end of each node's chain, and its kind: REDIRECT, or CANONICAL if the chain has a canonical; 0: no chain.

    A loop has no end: its members, and the nodes that lead into it, are their own ends.
    """
    size = len(target)
    itself = np.arange(size, dtype=np.int32)
    home = np.where(target >= 0, target, itself)
    named = (target >= 0) & (moved < 0)  # the chain has a canonical
    for _ in range(max(1, size.bit_length())):  # each round doubles the steps
        named = named | named[home]
        home = home[home]
    ends = (target[home] < 0) & (target >= 0)
    home = np.where(ends, home, itself).astype(np.int32)
    kind = np.where(named, int(LinkKind.CANONICAL), int(LinkKind.REDIRECT))
    return home, np.where(ends, kind, 0).astype(np.uint8)


def _chain_end(moved: Int32Array, node: int) -> int:
    passed = {node}
    while moved[node] >= 0 and int(moved[node]) not in passed:
        node = int(moved[node])
        passed.add(node)
    return node
