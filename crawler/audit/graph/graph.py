"""The link graph of a site: which pages the start leads to and in which ways, how far away they are, their weight."""

from functools import cached_property
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crawler.audit.graph.arrays import BoolArray, Edges, Int32Array, Nodes
from crawler.audit.graph.link_kind import (
    CLICK_FLAGS,
    EVIDENCE_FLAGS,
    HEAD_FLAGS,
    PAGE_STATES,
    UNTOUCHED_ROW,
    LinkKind,
    link_kind_table,
)
from crawler.audit.graph.metrics import click_depths, find_islands, page_ranks, reachable
from crawler.model import DiscoveredBy, State

_ALL_KINDS: Final = int(~LinkKind(0))

_REACHED_KINDS: Final = _ALL_KINDS & ~int(LinkKind.UNREACHED)

_CLICK_FLAGS: Final = CLICK_FLAGS | DiscoveredBy.NOFOLLOW | DiscoveredBy.REFRESH


class InboundLink(NamedTuple):
    """A node that leads to another: in which way, the best of several, and through which redirect or copy, or -1."""

    node: int
    way: LinkKind
    via: int


class LinkGraph:
    """Arrays by node. Links between spellings of one page (redirects to it, copies that name it) never count.

    ``start``: the node where the start's redirects end. ``home``: where redirects and canonicals end, for most nodes
    they themselves. ``depth``: clicks from the start over followed links of all pages that were read, -1 when there is
    no such way; ``reached``: there is one. ``touched``: any evidence leads from the start to it. ``ways``: flags of
    :class:`Way`, 0 when nothing leads there; the start itself may have none. What leads to another spelling of a page
    is a way to it too, by redirect or canonical; of a spelling that leads on, only what names it is told. ``inlinks``:
    how many pages lead to it by FOLLOWED links.
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
        """Which nodes clicks lead to."""
        return self.depth >= 0

    @property
    def pages(self) -> BoolArray:
        """Which nodes are pages that were read and whose links count, whether the start leads to them or not."""
        pages: BoolArray = self.nodes.in_states(*PAGE_STATES) & (
            self.nodes.in_states(State.INDEXABLE) | (self.nodes.status == 200)
        )
        return pages

    @cached_property
    def visitor_reachable(self) -> BoolArray:
        """Which nodes a visitor gets to who clicks all there is, whether search engines are to follow it or not."""
        return reachable(self.edges, self.target, self._first, EVIDENCE_FLAGS & ~HEAD_FLAGS)

    @cached_property
    def crawlable(self) -> BoolArray:
        """Which nodes anything names or leads on to but nofollow links of pages that say neither index nor follow.

        Such are histories, forms and results, which lead to more of their kind for ever, and to nothing that counts.
        """
        found = np.zeros(len(self.home), np.bool_)
        found[self.target[self.target >= 0]] = True
        shut = self.nodes.in_states(State.NOINDEX)
        for first, last in self.edges.blocks():
            begin, end = int(self.edges.start[first]), int(self.edges.start[last])
            many = np.diff(self.edges.start[first : last + 1])
            counts = ~np.repeat(shut[first:last], many) | (
                self.edges.flags[begin:end] != DiscoveredBy.NOFOLLOW
            )
            found[self.edges.to[begin:end][counts]] = True
        return found

    @cached_property
    def weight(self) -> NDArray[np.float64]:
        """See :func:`crawler.audit.graph.metrics.weights`."""
        start = np.zeros(len(self.home) + 1, np.int64)
        np.cumsum(self.inlinks, out=start[1:])
        counts = (self._bits & np.uint8(LinkKind.FOLLOWED)).view(np.bool_)
        links = Edges(start, self.incoming.to[counts], np.empty(0, np.uint16))
        return page_ranks(links, self.home, self.pages)

    @cached_property
    def island(self) -> Int32Array:
        """See :func:`crawler.audit.graph.metrics.islands`."""
        return find_islands(self.edges, self.target, self.nodes.in_states(State.INDEXABLE), self.touched)

    def is_endless(self, node: int) -> bool:
        """Whether the redirects of a node come back to where they were, so that nobody gets anywhere."""
        return bool(self.moved[_chain_end(self.moved, node)] >= 0)

    def referrers(self, node: int, most: int) -> list[InboundLink]:
        """What leads to a node and to the other spellings of it: the best way first, then the weightiest."""
        found: dict[int, InboundLink] = {}
        for alias in (node, *self._aliases(node)):
            for lead in self._leads(alias, node, most):
                if lead.node not in found or lead.way < found[lead.node].way:
                    found[lead.node] = lead
        ranked = sorted(found.values(), key=lambda lead: (lead.way, -self.weight[lead.node], lead.node))
        return ranked[:most]

    def visitor_link_kinds(self, node: int) -> int:
        """The ways by which a visitor gets to a node, by links to it and to what redirects there: no canonicals."""
        moved = [each for each in self._aliases(node) if self._through[each] == LinkKind.REDIRECT]
        return self._clicks(node) | int(LinkKind.REDIRECT) * any(
            self._clicks(each) & _REACHED_KINDS for each in moved
        )

    def _clicks(self, node: int) -> int:
        begin, end = int(self.incoming.start[node]), int(self.incoming.start[node + 1])
        is_click = (self.incoming.flags[begin:end] & _CLICK_FLAGS) != 0
        return int(np.bitwise_or.reduce(self._bits[begin:end][is_click], initial=0))

    def following_pages(self, node: int, most: int) -> Int32Array:
        """Some of the pages that lead to a node by FOLLOWED links, those first that were met first."""
        begin, end = int(self.incoming.start[node]), int(self.incoming.start[node + 1])
        counts = (self._bits[begin:end] & np.uint8(LinkKind.FOLLOWED)) != 0
        first: Int32Array = self.incoming.to[begin:end][counts][:most]
        return first

    def linking(self, node: int, flags: int) -> Int32Array:
        """What has a statement with one of these flags of Found for a node, or for another spelling of it."""
        places = [
            (self.incoming.start[each], self.incoming.start[each + 1])
            for each in (node, *self._aliases(node))
        ]
        parts = [
            self.incoming.to[begin:end][(self.incoming.flags[begin:end] & flags) != 0]
            for begin, end in places
        ]
        found: Int32Array = np.unique(np.concatenate(parts))
        return found

    def _leads(self, alias: int, node: int, most: int) -> list[InboundLink]:
        """What leads to one spelling of a node, the best first."""
        begin, end = int(self.incoming.start[alias]), int(self.incoming.start[alias + 1])
        bits = self._bits[begin:end].astype(np.int16)
        if alias != node:
            bits = np.where(bits & _REACHED_KINDS, int(self._through[alias]), bits)
        best = bits & -bits
        sources = self.incoming.to[begin:end]
        kept = np.flatnonzero(best)
        kept = kept[np.lexsort((sources[kept], -self.weight[sources[kept]], best[kept]))][:most]
        via = -1 if alias == node else alias
        return [InboundLink(int(sources[place]), LinkKind(int(best[place])), via) for place in kept]

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
        """The ways of each incoming edge, 0 for what does not count."""
        incoming, kinds = self.incoming, link_kind_table()
        rows = np.where(self.touched, self.nodes.state, UNTOUCHED_ROW).astype(np.int16)
        bits = np.empty(len(incoming), np.uint8)
        for first, last in incoming.blocks():
            begin, end = int(incoming.start[first]), int(incoming.start[last])
            source = incoming.to[begin:end]
            homes = np.repeat(self.home[first:last], np.diff(incoming.start[first : last + 1]))
            found = kinds[rows[source], incoming.flags[begin:end]]
            bits[begin:end] = np.where(self.home[source] == homes, 0, found)
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
        led = ((ways[away] & _REACHED_KINDS) != 0) | (away == start)
        passed = np.where(led, self._through[away], 0) | (ways[away] & np.uint8(LinkKind.UNREACHED))
        np.bitwise_or.at(ways, self.home[away], passed.astype(np.uint8))
        return inlinks, ways


def _chain_ends(target: Int32Array, moved: Int32Array) -> tuple[Int32Array, NDArray[np.uint8]]:
    """Where each chain ends, and by which way it passes: REDIRECT, or CANONICAL if there is one in it, 0: no chain.

    A circle ends nowhere: its members, and what leads into it, are their own homes.
    """
    size = len(target)
    itself = np.arange(size, dtype=np.int32)
    home = np.where(target >= 0, target, itself)
    named = (target >= 0) & (moved < 0)  # a canonical on the way
    for _ in range(max(1, size.bit_length())):  # each round doubles the steps
        named = named | named[home]
        home = home[home]
    ends = (target[home] < 0) & (target >= 0)
    home = np.where(ends, home, itself).astype(np.int32)
    return home, np.where(ends, np.where(named, int(LinkKind.CANONICAL), int(LinkKind.REDIRECT)), 0).astype(
        np.uint8
    )


def _chain_end(moved: Int32Array, node: int) -> int:
    passed = {node}
    while moved[node] >= 0 and int(moved[node]) not in passed:
        node = int(moved[node])
        passed.add(node)
    return node
