"""In which ways one page leads to another, and which statement on a page in which state is which way."""

from enum import IntFlag
from functools import cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from crawler.model import DiscoveredBy, State


class LinkKind(IntFlag):
    """How a page is led to, the best first: a page whose best way is not FOLLOWED is linked weakly.

    https://developers.google.com/search/docs/crawling-indexing/links-crawlable (which links count),
    https://developers.google.com/search/docs/crawling-indexing/qualify-outbound-links (nofollow)
    """

    FOLLOWED = 1  # a link or a frame on a page that search engines index
    REDIRECT = (
        2  # another URL that is led to redirects or refreshes here, or a link stands on a page that does so
    )
    CANONICAL = 4  # a page names this one as its canonical, or a link stands on a page that names another
    NOINDEX = 8  # a link on a page that is not indexed
    NOFOLLOW = 16  # a link that asks not to be followed
    HEAD = 32  # hreflang, next or prev, AMP, a feed: nothing that can be clicked
    UNREACHED = 64  # a link on a page that the start does not lead to

    @property
    def word(self) -> str:
        """What people are told of the best of these ways."""
        return next((word for way, word in _KIND_WORDS.items() if self & way), "")


_KIND_WORDS: Final = {
    LinkKind.FOLLOWED: "link",
    LinkKind.REDIRECT: "redirect",
    LinkKind.CANONICAL: "canonical",
    LinkKind.NOINDEX: "link on a noindexed page",
    LinkKind.NOFOLLOW: "nofollow",
    LinkKind.HEAD: "named in the head",
    LinkKind.UNREACHED: "link on an unlinked page",
}

STATES: Final = tuple(State)
"""The states by their codes in :attr:`crawler.audit.graph.Nodes.state`."""
STATE_CODES: Final = {state: code for code, state in enumerate(STATES)}
PAGE_STATES: Final = frozenset({State.INDEXABLE, State.OUT_OF_SCOPE, State.EXCLUDED, State.TOO_LONG})
"""States of pages whose links count. What a sitemap may not list, when it was read, is indexed all the same."""

CLICK_FLAGS: Final = DiscoveredBy.LINK | DiscoveredBy.FRAME
HEAD_FLAGS: Final = DiscoveredBy.ALTERNATE | DiscoveredBy.PAGINATION | DiscoveredBy.AMP | DiscoveredBy.FEED
EVIDENCE_FLAGS: Final = (
    CLICK_FLAGS | DiscoveredBy.NOFOLLOW | DiscoveredBy.CANONICAL | DiscoveredBy.REFRESH | HEAD_FLAGS
)
"""What counts as leading anywhere. Sitemaps and earlier runs are no links; redirects are told by their targets."""
_FLAGS: Final = 1 << 13  # all of Found


def link_kind(state: State, found: int) -> int:
    """The ways in which a statement with these flags of Found, on a page in this state, leads to its target."""
    ways = 0
    if found & CLICK_FLAGS:
        if state in PAGE_STATES:
            ways = LinkKind.FOLLOWED
        elif state is State.REDIRECT:
            ways = LinkKind.REDIRECT
        else:
            ways = LinkKind.CANONICAL if state is State.CANONICAL_ELSEWHERE else LinkKind.NOINDEX
    elif found & DiscoveredBy.NOFOLLOW:
        ways = LinkKind.NOFOLLOW
    if found & DiscoveredBy.CANONICAL:
        ways |= LinkKind.CANONICAL
    if found & DiscoveredBy.REFRESH:
        ways |= LinkKind.REDIRECT
    if found & HEAD_FLAGS:
        ways |= LinkKind.HEAD
    return int(ways)


@cache
def link_kind_table() -> NDArray[np.uint8]:
    """The ways by the code of the page's state and the flags of the statement.

    Pages that the start does not lead to have a row of their own, :data:`UNTOUCHED_ROW`.
    """
    rows = {state: [link_kind(state, found) for found in range(_FLAGS)] for state in _LINKING_STATES}
    other = rows[State.NOINDEX]
    by_state = [rows[State.INDEXABLE] if state in PAGE_STATES else rows.get(state, other) for state in STATES]
    untouched = [int(LinkKind.UNREACHED) if found & CLICK_FLAGS else 0 for found in range(_FLAGS)]
    return np.array([*by_state, untouched], dtype=np.uint8)


_LINKING_STATES: Final = (State.INDEXABLE, State.REDIRECT, State.CANONICAL_ELSEWHERE, State.NOINDEX)
UNTOUCHED_ROW: Final = len(STATES)
