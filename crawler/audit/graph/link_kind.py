"""The kinds of links between pages, and which kind the state of the linking page makes of a link."""

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
"""The states by their codes in :attr:`crawler.audit.graph.arrays.Nodes.state`."""
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
