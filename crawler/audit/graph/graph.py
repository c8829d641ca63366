"""The link graph of a site: the pages that the start leads to, by which kinds of links, how deep. Pure."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cached_property
from heapq import nsmallest
from typing import Final, NamedTuple

from crawler.audit.graph.links import (
    CLICK_FLAGS,
    EVIDENCE_FLAGS,
    HEAD_FLAGS,
    LINK_FLAGS,
    PAGE_STATES,
    Edges,
    LinkKind,
    Mask,
    Nodes,
    link_kind,
)
from crawler.audit.graph.metrics import click_depths, find_islands, led_by, page_ranks, reachable
from crawler.model import DiscoveredBy, State

_REACHED_KINDS: Final = int(~LinkKind.UNREACHED)
_CLICK_FLAGS: Final = CLICK_FLAGS | DiscoveredBy.NOFOLLOW | DiscoveredBy.REFRESH
_FOLLOWED: Final = int(LinkKind.FOLLOWED)


class InboundLink(NamedTuple):
    """A node that leads to another, by the best kind of link, and the redirect or copy that it leads through, or -1."""

    node: int
    way: LinkKind
    via: int


class _Inbound(NamedTuple):
    """The links that have these flags and, by the state of their pages, these kinds: their pages by target."""

    flags: int
    kinds: int
    sources: dict[int, list[int]]


class LinkGraph:
    """Lists by node. Links between spellings of one page (redirects to it, copies that name it) never count.

    ``start``: the node where the start's redirects end. ``home``: the node where redirects and canonicals end, for most
    nodes the node itself. ``depth``: clicks from the start over followed links of all pages that were read, -1 without
    such a path. ``touched``: the start leads to the node by any evidence. ``ways``: flags of
    :class:`crawler.audit.graph.links.LinkKind`, 0 when nothing leads to the node; the start may have none. Links to
    another spelling of a page count for the page as REDIRECT or CANONICAL. A spelling that leads on has only its own
    links. ``followed``: the pages with FOLLOWED links to the node, by ascending ids; ``inlinks``: their number.
    """

    def __init__(self, nodes: Nodes, edges: Edges, start: int) -> None:
        self.nodes = nodes
        self.edges = edges
        self._first = start
        self.moved, self.target = moved_targets(nodes), leading_targets(nodes)
        self.home, self._through = _chain_ends(self.target, self.moved)
        self.start = _chain_end(self.moved, start)
        self.depth = click_depths(edges, self.moved, start)
        self.touched = reachable(edges, self.target, start)
        self._inbound = self._turned()
        self.followed = self._followed()
        self.inlinks = [*map(len, self.followed)]
        self.ways = self._ways(start)

    @property
    def reached(self) -> Mask:
        """A mask of the nodes that clicks lead to."""
        return bytearray(depth >= 0 for depth in self.depth)

    @property
    def pages(self) -> Mask:
        """A mask of the pages that were read and whose links count, reached or not."""
        return indexed_pages(self.nodes)

    @cached_property
    def visitor_reachable(self) -> Mask:
        """A mask of the nodes that a visitor reaches who clicks every link, nofollow or not."""
        return reachable(self.edges, self.target, self._first, EVIDENCE_FLAGS & ~HEAD_FLAGS)

    @cached_property
    def crawlable(self) -> Mask:
        """A mask of the nodes that not only nofollow links of noindexed pages lead to.

        Such links lead to histories, forms and search results, which lead to endlessly many more of their kind.
        """
        mask, states = bytearray(len(self.home)), self.nodes.state
        for target in self.target:
            if target >= 0:
                mask[target] = 1
        for inbound in self._inbound:
            for node, sources in inbound.sources.items():
                if inbound.flags != DiscoveredBy.NOFOLLOW or any(
                    states[source] is not State.NOINDEX for source in sources
                ):
                    mask[node] = 1
        return mask

    @cached_property
    def weight(self) -> list[float]:
        """See :func:`crawler.audit.graph.metrics.page_ranks`."""
        return page_ranks(self.followed, self.home, self.pages)

    @cached_property
    def drawn(self) -> Mask:
        """A mask of the nodes with FOLLOWED links, all of which are created by scripts."""
        drawn = bytearray(len(self.home))
        followed = [inbound for inbound in self._inbound if inbound.kinds & _FOLLOWED]
        for is_drawn in (1, 0):
            for inbound in followed:
                if bool(inbound.flags & DiscoveredBy.SCRIPT) == is_drawn:
                    for node in inbound.sources:
                        drawn[node] = is_drawn
        return drawn

    @cached_property
    def island(self) -> list[int]:
        """See :func:`crawler.audit.graph.metrics.find_islands`."""
        return find_islands(self.edges, self.target, self.nodes.in_states(State.INDEXABLE), self.touched)

    @cached_property
    def entrance(self) -> dict[int, int]:
        """For each page of an island, the page to link so that links lead to it: itself, or another.

        No entrance leads to another one, so each island has as few as possible: the page with most links if it leads to
        all.
        """
        pages = zip(self.island, self.nodes.in_states(State.INDEXABLE), strict=True)
        order = [node for node, (island, is_page) in enumerate(pages) if is_page and island >= 0]
        order.sort(key=lambda node: (self.edges.out_degree(node), -node))
        ways = self.edges, self.moved, self.touched
        # those that later ones lead to are no entrances
        return led_by(reversed(dict.fromkeys(led_by(reversed(order), *ways).values())), *ways)

    def is_endless(self, node: int) -> bool:
        """Whether the redirects of a node form a loop."""
        return self.moved[_chain_end(self.moved, node)] >= 0

    def referrers(self, node: int, limit: int) -> list[InboundLink]:
        """The nodes that lead to a node or to another spelling of it: by the kind of link, then by weight."""
        best: dict[int, InboundLink] = {}
        for alias in (node, *self._aliases.get(node, ())):
            for link in self._leading_to(alias, node, limit):
                if link.node not in best or link.way < best[link.node].way:
                    best[link.node] = link
        ranked = sorted(best.values(), key=lambda link: (link.way, -self.weight[link.node], link.node))
        return ranked[:limit]

    def visitor_link_kinds(self, node: int) -> int:
        """The kinds of links by which a visitor reaches a node, itself or through a redirect; no canonicals."""
        redirects = (alias for alias in self._aliases.get(node, ()) if self._through[alias] == LinkKind.REDIRECT)
        is_redirected = any(self._click_kinds[redirect] & _REACHED_KINDS for redirect in redirects)
        return self._click_kinds[node] | int(LinkKind.REDIRECT) * is_redirected

    @cached_property
    def _click_kinds(self) -> bytearray:
        kinds = bytearray(len(self.home))
        for inbound in self._inbound:
            if inbound.flags & _CLICK_FLAGS:
                for node in inbound.sources:
                    kinds[node] |= inbound.kinds
        return kinds

    def linking(self, node: int, flags: int) -> set[int]:
        """The nodes whose links to a node or to another spelling of it have one of these flags of DiscoveredBy."""
        return self._having(flags, node, *self._aliases.get(node, ()))

    def leading(self, node: int) -> tuple[set[int], list[int]]:
        """The other nodes with a link of any kind to a node or to another spelling of it, and these spellings."""
        return self.linking(node, LINK_FLAGS) - {node}, self._aliases.get(node, [])

    def all_inlinks(self, node: int) -> int:
        """How many other nodes have a link to this one that may be followed, whether it counts or not."""
        return len(self._having(int(DiscoveredBy.LINK), node) - {node})

    def _having(self, flags: int, *nodes: int) -> set[int]:
        """The nodes whose links to one of these have one of these flags."""
        sources = [inbound.sources for inbound in self._inbound if inbound.flags & flags]
        return {source for node in nodes for by in sources for source in by.get(node, ())}

    def _leading_to(self, alias: int, node: int, limit: int) -> Iterator[InboundLink]:
        """The nodes that lead to one spelling of a node, the best first."""
        through = self._through[alias]
        found = []
        for inbound in self._inbound:
            kinds = inbound.kinds
            if kinds and (sources := inbound.sources.get(alias)):
                kinds = through if alias != node and kinds & _REACHED_KINDS else kinds
                found += [(kinds & -kinds, -self.weight[source], source) for source in sources]
        via = -1 if alias == node else alias
        for best, _, source in nsmallest(limit, found):
            yield InboundLink(source, LinkKind(best), via)

    @cached_property
    def _aliases(self) -> dict[int, list[int]]:
        """The other spellings of each node that has any."""
        aliases: dict[int, list[int]] = {}
        for node, home in enumerate(self.home):
            if home != node:
                aliases.setdefault(home, []).append(node)
        return aliases

    def _turned(self) -> list[_Inbound]:
        """The links by their targets. Those between spellings of a page have no kinds."""
        turned: dict[tuple[int, int], dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
        states: list[State | None] = [*self.nodes.state]
        for node in self.nodes.remembered:
            states[node] = State.INDEXABLE
        spellings = {home: {home, *aliases} for home, aliases in self._aliases.items()}
        for source, groups in enumerate(self.edges.of_page):
            state = states[source] if self.touched[source] else None
            own = spellings.get(self.home[source]) or {source}
            for flags, targets in groups:
                kinds = link_kind(state, flags & LINK_FLAGS)
                if kinds and not own.isdisjoint(targets):
                    for target in own.intersection(targets):
                        turned[flags, 0][target].append(source)
                    targets = tuple(target for target in targets if target not in own)  # noqa: PLW2901
                sources = turned[flags, kinds]
                for target in targets:
                    sources[target].append(source)
        return [_Inbound(flags, kinds, {**sources}) for (flags, kinds), sources in turned.items()]

    def _followed(self) -> list[Sequence[int]]:
        followed: list[Sequence[int]] = [()] * len(self.home)
        for inbound in self._inbound:
            if inbound.kinds & _FOLLOWED:
                for node, sources in inbound.sources.items():
                    followed[node] = sorted([*followed[node], *sources]) if followed[node] else sources
        return followed

    def _ways(self, start: int) -> bytearray:
        ways = bytearray(len(self.home))
        for inbound in self._inbound:
            for node in inbound.sources:
                ways[node] |= inbound.kinds
        for home, aliases in self._aliases.items():
            for alias in aliases:
                is_linked = ways[alias] & _REACHED_KINDS or alias == start
                ways[home] |= (self._through[alias] if is_linked else 0) | (ways[alias] & LinkKind.UNREACHED)
        return ways


def moved_targets(nodes: Nodes) -> list[int]:
    """The node that each redirect leads to, -1 for other nodes."""
    return [target if state is State.REDIRECT else -1 for state, target in zip(nodes.state, nodes.target, strict=True)]


def leading_targets(nodes: Nodes) -> list[int]:
    """The same for redirects and for canonicals."""
    leading = (State.REDIRECT, State.CANONICAL_ELSEWHERE)
    return [target if state in leading else -1 for state, target in zip(nodes.state, nodes.target, strict=True)]


def home_pages(nodes: Nodes) -> list[int]:
    """The node where the redirects and canonicals of each node end."""
    return _chain_ends(leading_targets(nodes), moved_targets(nodes))[0]


def indexed_pages(nodes: Nodes) -> Mask:
    """A mask of the pages that were read and whose links count."""
    return bytearray(
        state is State.INDEXABLE or (status == 200 and state in PAGE_STATES)
        for state, status in zip(nodes.state, nodes.status, strict=True)
    )


def _chain_ends(target: list[int], moved: list[int]) -> tuple[list[int], bytearray]:
    """The end of each node's chain, and its kind: REDIRECT, or CANONICAL if the chain has a canonical; 0: no chain.

    A loop has no end: its members, and the nodes that lead into it, are their own ends.
    """
    home, kind = [*range(len(target))], bytearray(len(target))
    done = bytearray(len(target))
    for first in range(len(target)):
        passed = []
        node = first
        while target[node] >= 0 and not done[node]:
            done[node] = 1
            passed.append(node)
            node = target[node]
        if not passed:
            continue
        # the chain ends at this node, goes on as that of a node that was passed before, or is a loop
        is_end, named = target[node] < 0 or kind[node] != 0, kind[node] == LinkKind.CANONICAL
        for earlier in reversed(passed):
            named = named or moved[earlier] < 0
            if is_end:
                home[earlier] = home[node]
                kind[earlier] = LinkKind.CANONICAL if named else LinkKind.REDIRECT
    return home, kind


def _chain_end(moved: list[int], node: int) -> int:
    passed = {node}
    while moved[node] >= 0 and moved[node] not in passed:
        node = moved[node]
        passed.add(node)
    return node
