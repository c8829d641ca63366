"""The URLs of a site and the links between them: the input of the link graph; and the kinds of links. Pure."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import IntFlag
from functools import cache
from typing import Final

from crawler.fetch.retry import is_failure
from crawler.model import DiscoveredBy, State


class LinkKind(IntFlag):
    """The kind of a link to a page, the best first: a page whose best kind is not FOLLOWED is linked weakly.

    https://developers.google.com/search/docs/crawling-indexing/links-crawlable (which links count),
    https://developers.google.com/search/docs/crawling-indexing/qualify-outbound-links (nofollow)
    """

    FOLLOWED = 1  # a link or a frame on a page that search engines index
    REDIRECT = 2  # a linked URL redirects or refreshes here, or a page that redirects has the link
    CANONICAL = 4  # a page names this one as canonical
    VARIANT = 8  # a link on a page with another canonical
    NOINDEX = 16  # a link on a noindexed page
    NOFOLLOW = 32  # a nofollow link
    HEAD = 64  # hreflang, next or prev, AMP, a feed: nobody can click it
    UNREACHED = 128  # a link on a page that the start does not lead to

    @property
    def word(self) -> str:
        """The name of the best of these kinds."""
        return next((word for kind, word in _KIND_WORDS.items() if self & kind), "")


VISITOR_KINDS: Final = ~LinkKind.HEAD
"""The kinds of links that bring visitors: orphans have visitors, too."""
_KIND_WORDS: Final = {
    LinkKind.FOLLOWED: "link",
    LinkKind.REDIRECT: "redirect",
    LinkKind.CANONICAL: "canonical",
    LinkKind.VARIANT: "link on a page with another canonical",
    LinkKind.NOINDEX: "link on a noindexed page",
    LinkKind.NOFOLLOW: "nofollow",
    LinkKind.HEAD: "only in the head",
    LinkKind.UNREACHED: "link on an unlinked page",
}

PAGE_STATES: Final = frozenset({State.INDEXABLE, State.OUT_OF_SCOPE, State.EXCLUDED, State.TOO_LONG})
"""States of pages whose links count. Search engines index a page that was read even if the sitemap may not list it."""

CLICK_FLAGS: Final = DiscoveredBy.LINK | DiscoveredBy.FRAME
HEAD_FLAGS: Final = DiscoveredBy.ALTERNATE | DiscoveredBy.PAGINATION | DiscoveredBy.AMP | DiscoveredBy.FEED
EVIDENCE_FLAGS: Final = CLICK_FLAGS | DiscoveredBy.NOFOLLOW | DiscoveredBy.CANONICAL | DiscoveredBy.REFRESH | HEAD_FLAGS
"""The flags that connect two URLs. Sitemaps and earlier runs are no links; ``target`` has the redirects."""
LINK_FLAGS: Final = (1 << 13) - 1
"""The flags of DiscoveredBy that a kind of link depends on."""


@cache  # there are few pairs of a state and flags
def link_kind(state: State | None, flags: int) -> int:
    """The link kinds of a link with these flags of DiscoveredBy on a page in this state.

    None is the state of a page that the start does not lead to.
    """
    if state is None:
        return int(LinkKind.UNREACHED) if flags & CLICK_FLAGS else 0
    kinds = 0
    if flags & CLICK_FLAGS:
        if state in PAGE_STATES:
            kinds = LinkKind.FOLLOWED
        elif state is State.REDIRECT:
            kinds = LinkKind.REDIRECT
        else:
            kinds = LinkKind.VARIANT if state is State.CANONICAL_ELSEWHERE else LinkKind.NOINDEX
    elif flags & DiscoveredBy.NOFOLLOW:
        kinds = LinkKind.NOFOLLOW
    if flags & DiscoveredBy.CANONICAL:
        kinds |= LinkKind.CANONICAL
    if flags & DiscoveredBy.REFRESH:
        kinds |= LinkKind.REDIRECT
    if flags & HEAD_FLAGS:
        kinds |= LinkKind.HEAD
    return int(kinds)


EMPTY_STATUSES: Final = frozenset({204, 205, *range(300, 400)})  # answers in which a browser sees no page either


def has_failed(state: State, status: int | None) -> bool:
    """Whether a URL failed, so that nobody knows which links it has."""
    return is_failure(state, status) or (state is State.BAD_ANSWER and status not in EMPTY_STATUSES)


Mask = bytearray
"""A byte for each node: 1 if the node is in the mask, else 0."""
LinkGroup = tuple[int, tuple[int, ...]]
"""The links of one page that have the same flags of :class:`crawler.model.DiscoveredBy`: the flags and the targets."""


@dataclass(frozen=True, slots=True)
class Nodes:
    """The URLs by ascending ids; a node is an index of these lists.

    ``status`` is the HTTP status or 0, ``target`` the node that a redirect or a canonical names, or -1. ``remembered``
    are the pages that failed and whose links are those of an earlier visit.
    """

    ids: Sequence[int]
    state: list[State]
    status: Sequence[int]
    target: list[int]
    remembered: list[int] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.ids)

    def node(self, number: int) -> int:
        """The node of an id, or -1."""
        place = bisect_left(self.ids, number)
        return place if place < len(self.ids) and self.ids[place] == number else -1

    def in_states(self, *states: State) -> Mask:
        """A mask of the nodes in one of these states."""
        return bytearray(map(frozenset(states).__contains__, self.state))

    @property
    def unread(self) -> Mask:
        """A mask of the pages that failed, so that the crawl did not see their links."""
        return bytearray(map(_is_unread, self.state, self.status))


@cache
def _is_unread(state: State, status: int) -> bool:
    return has_failed(state, status or None)


@dataclass(frozen=True, slots=True)
class Edges:
    """Links by their page: ``of_page`` has the groups of each node. A page has each flag once for one target."""

    of_page: list[tuple[LinkGroup, ...]]

    def __len__(self) -> int:
        return sum(map(self.out_degree, range(len(self.of_page))))

    @classmethod
    def of(cls, count: int, links: Iterable[tuple[int, int, int]]) -> "Edges":
        """The edges of a small graph of ``count`` nodes from (source, target, flags). Flags of one pair merge."""
        merged: dict[tuple[int, int], int] = {}
        for source, target, flags in links:
            merged[source, target] = merged.get((source, target), 0) | flags
        groups: list[dict[int, list[int]]] = [{} for _ in range(count)]
        for (source, target), flags in sorted(merged.items()):
            groups[source].setdefault(flags, []).append(target)
        return cls([tuple((flags, tuple(targets)) for flags, targets in group.items()) for group in groups])

    def out_degree(self, node: int) -> int:
        """The number of links of a page."""
        return sum(len(targets) for _, targets in self.of_page[node])

    def targets(self, node: int, accepted: int) -> Iterator[tuple[int, ...]]:
        """The targets of the links of a page that have one of these flags, group by group."""
        return (targets for flags, targets in self.of_page[node] if flags & accepted)
