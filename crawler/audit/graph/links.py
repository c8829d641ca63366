"""The URLs of a site and the links between them, as arrays: the input of the link graph; and the kinds of links."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import IntFlag
from functools import cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from crawler.fetch.retry import is_failure
from crawler.model import DiscoveredBy, State


class LinkKind(IntFlag):
    """The kind of a link to a page, the best first: a page whose best kind is not FOLLOWED is linked weakly.

    https://developers.google.com/search/docs/crawling-indexing/links-crawlable (which links count),
    https://developers.google.com/search/docs/crawling-indexing/qualify-outbound-links (nofollow)
    """

    FOLLOWED = 1  # a link or a frame on a page that search engines index
    REDIRECT = 2  # a linked URL redirects or refreshes here, or a page that redirects has the link
    CANONICAL = 4  # a page names this one as canonical, or a page with another canonical has the link
    NOINDEX = 8  # a link on a noindexed page
    NOFOLLOW = 16  # a nofollow link
    HEAD = 32  # hreflang, next or prev, AMP, a feed: nobody can click it
    UNREACHED = 64  # a link on a page that the start does not lead to

    @property
    def word(self) -> str:
        """The name of the best of these kinds."""
        return next((word for kind, word in _KIND_WORDS.items() if self & kind), "")


VISITOR_KINDS: Final = LinkKind.FOLLOWED | LinkKind.NOINDEX | LinkKind.CANONICAL | LinkKind.NOFOLLOW | LinkKind.REDIRECT
"""The kinds of links that bring visitors."""
_KIND_WORDS: Final = {
    LinkKind.FOLLOWED: "link",
    LinkKind.REDIRECT: "redirect",
    LinkKind.CANONICAL: "canonical",
    LinkKind.NOINDEX: "link on a noindexed page",
    LinkKind.NOFOLLOW: "nofollow",
    LinkKind.HEAD: "only in the head",
    LinkKind.UNREACHED: "link on an unlinked page",
}

STATES: Final = tuple(State)
"""The states by their codes in :attr:`Nodes.state`."""
STATE_CODES: Final = {state: code for code, state in enumerate(STATES)}
PAGE_STATES: Final = frozenset({State.INDEXABLE, State.OUT_OF_SCOPE, State.EXCLUDED, State.TOO_LONG})
"""States of pages whose links count. Search engines index a page that was read even if the sitemap may not list it."""

CLICK_FLAGS: Final = DiscoveredBy.LINK | DiscoveredBy.FRAME
HEAD_FLAGS: Final = DiscoveredBy.ALTERNATE | DiscoveredBy.PAGINATION | DiscoveredBy.AMP | DiscoveredBy.FEED
EVIDENCE_FLAGS: Final = CLICK_FLAGS | DiscoveredBy.NOFOLLOW | DiscoveredBy.CANONICAL | DiscoveredBy.REFRESH | HEAD_FLAGS
"""The flags that connect two URLs. Sitemaps and earlier runs are no links; ``target`` has the redirects."""
LINK_FLAGS: Final = (1 << 13) - 1
"""The flags of DiscoveredBy that a kind of link depends on."""


def link_kind(state: State, flags: int) -> int:
    """The link kinds of a link with these flags of DiscoveredBy on a page in this state."""
    kinds = 0
    if flags & CLICK_FLAGS:
        if state in PAGE_STATES:
            kinds = LinkKind.FOLLOWED
        elif state is State.REDIRECT:
            kinds = LinkKind.REDIRECT
        else:
            kinds = LinkKind.CANONICAL if state is State.CANONICAL_ELSEWHERE else LinkKind.NOINDEX
    elif flags & DiscoveredBy.NOFOLLOW:
        kinds = LinkKind.NOFOLLOW
    if flags & DiscoveredBy.CANONICAL:
        kinds |= LinkKind.CANONICAL
    if flags & DiscoveredBy.REFRESH:
        kinds |= LinkKind.REDIRECT
    if flags & HEAD_FLAGS:
        kinds |= LinkKind.HEAD
    return int(kinds)


@cache
def link_kind_table() -> NDArray[np.uint8]:
    """The link kinds by the code of the page's state and the flags of the link.

    Pages that the start does not lead to have their own row, :data:`UNTOUCHED_ROW`.
    """
    rows = {state: [link_kind(state, flags) for flags in range(LINK_FLAGS + 1)] for state in _LINKING_STATES}
    other = rows[State.NOINDEX]
    by_state = [rows[State.INDEXABLE] if state in PAGE_STATES else rows.get(state, other) for state in STATES]
    untouched = [int(LinkKind.UNREACHED) if flags & CLICK_FLAGS else 0 for flags in range(LINK_FLAGS + 1)]
    return np.array([*by_state, untouched], dtype=np.uint8)


_EMPTY_STATUSES: Final = frozenset({204, 205, *range(300, 400)})  # answers in which a browser sees no page either


def has_failed(state: State, status: int | None) -> bool:
    """Whether a URL failed, so that nobody knows which links it has."""
    return is_failure(state, status) or (state is State.BAD_ANSWER and status not in _EMPTY_STATUSES)


_LINKING_STATES: Final = (State.INDEXABLE, State.REDIRECT, State.CANONICAL_ELSEWHERE, State.NOINDEX)
UNTOUCHED_ROW: Final = len(STATES)


Int32Array = NDArray[np.int32]
Int64Array = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
EDGES_AT_ONCE: Final = 1 << 20  # edges in one step, which bounds the memory


@dataclass(frozen=True, slots=True)
class Nodes:
    """The URLs by ascending ids; a node is an index of these arrays.

    ``state`` holds codes of :data:`STATES`, ``status`` the HTTP status or 0, ``target``
    the node that a redirect or a canonical names, or -1. ``remembered`` are the pages that failed and whose links are
    those of an earlier visit.
    """

    ids: Int64Array
    state: NDArray[np.int8]
    status: NDArray[np.int16]
    target: Int32Array
    remembered: Int32Array = field(default_factory=lambda: np.empty(0, np.int32))

    def __len__(self) -> int:
        return len(self.ids)

    def node(self, number: int) -> int:
        """The node of an id, or -1."""
        place = int(np.searchsorted(self.ids, number))
        return place if place < len(self.ids) and self.ids[place] == number else -1

    def in_states(self, *states: State) -> BoolArray:
        """A mask of the nodes in one of these states."""
        return np.isin(self.state, [STATE_CODES[state] for state in states])

    @property
    def unread(self) -> BoolArray:
        """A mask of the pages that failed, so that the crawl did not see their links."""
        keys = self.state.astype(np.int32) * 1_000 + self.status
        failed = [key for key in np.unique(keys).tolist() if has_failed(STATES[key // 1_000], key % 1_000 or None)]
        return np.isin(keys, failed)


@dataclass(frozen=True, slots=True)
class Edges:
    """Links by their page: those of node ``n`` are ``to`` and ``flags`` from ``start[n]`` to ``start[n + 1]``.

    ``flags`` are of :class:`crawler.model.DiscoveredBy`. A page has each flag at most once for one target.
    """

    start: Int64Array
    to: Int32Array
    flags: NDArray[np.uint16]

    def __len__(self) -> int:
        return len(self.to)

    @classmethod
    def of(cls, count: int, links: Iterable[tuple[int, int, int]]) -> "Edges":
        """The edges of a small graph of ``count`` nodes from (source, target, flags). Flags of one pair merge."""
        merged: dict[tuple[int, int], int] = {}
        for source, target, flags in links:
            merged[source, target] = merged.get((source, target), 0) | flags
        rows = sorted((source, target, flags) for (source, target), flags in merged.items())
        sources = np.array([row[0] for row in rows], np.int64)
        return cls(
            np.searchsorted(sources, np.arange(count + 1)).astype(np.int64),
            np.array([row[1] for row in rows], np.int32),
            np.array([row[2] for row in rows], np.uint16),
        )

    def reversed(self) -> "Edges":
        """The same edges by their targets: ``to`` has the sources, in ascending order."""
        count = len(self.start) - 1
        start = np.zeros(count + 1, np.int64)
        np.cumsum(self.in_degrees(), out=start[1:])
        turned = Edges(start, np.empty_like(self.to), np.empty_like(self.flags))
        free = start[:-1].copy()
        for first, last in self.blocks():
            begin, end = int(self.start[first]), int(self.start[last])
            order, to = _sorted(self.to[begin:end])
            many = np.bincount(to, minlength=count)
            # each target's first free place, plus one for each earlier edge of the block
            places = np.arange(len(to)) + (free - np.cumsum(many) + many)[to]
            free += many
            source = np.repeat(np.arange(first, last, dtype=np.int32), np.diff(self.start[first : last + 1]))
            turned.to[places] = source[order]
            turned.flags[places] = self.flags[begin:end][order]
        return turned

    def in_degrees(self) -> Int64Array:
        """The number of edges that lead to each node."""
        count = len(self.start) - 1
        degrees = np.zeros(count, np.int64)
        for begin in range(0, len(self.to), EDGES_AT_ONCE):
            degrees += np.bincount(self.to[begin : begin + EDGES_AT_ONCE], minlength=count)
        return degrees

    def blocks(self) -> Iterator[tuple[int, int]]:
        """Ranges of nodes, first and end, with at most about :data:`EDGES_AT_ONCE` edges each."""
        first, count = 0, len(self.start) - 1
        while first < count:
            last = int(np.searchsorted(self.start, self.start[first] + EDGES_AT_ONCE, side="right")) - 1
            last = min(count, max(first + 1, last))
            yield first, last
            first = last


def _sorted(keys: Int32Array) -> tuple[Int64Array, Int32Array]:
    """The stable order of the keys, and the sorted keys. numpy counts numbers of 16 bits, so sort by halves."""
    order = np.argsort((keys & 0xFFFF).astype(np.uint16), kind="stable")
    order = order[np.argsort((keys >> 16).astype(np.uint16)[order], kind="stable")]
    return order, keys[order]
