"""In which ways one page leads to another, and which statement on a page in which state is which way."""

from enum import IntFlag
from functools import cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from crawler.model import Found, State


class Way(IntFlag):
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
        return next((word for way, word in _WORDS.items() if self & way), "")


_WORDS: Final = {
    Way.FOLLOWED: "link",
    Way.REDIRECT: "redirect",
    Way.CANONICAL: "canonical",
    Way.NOINDEX: "link on a noindexed page",
    Way.NOFOLLOW: "nofollow",
    Way.HEAD: "named in the head",
    Way.UNREACHED: "link on an unlinked page",
}

STATES: Final = tuple(State)
"""The states by their codes in :attr:`crawler.audit.graph.Nodes.state`."""
CODES: Final = {state: code for code, state in enumerate(STATES)}
PAGES: Final = frozenset({State.INDEXABLE, State.OUT_OF_SCOPE, State.EXCLUDED, State.TOO_LONG})
"""States of pages whose links count. What a sitemap may not list, when it was read, is indexed all the same."""

CLICKED: Final = Found.LINK | Found.FRAME
HEADS: Final = Found.ALTERNATE | Found.PAGINATION | Found.AMP | Found.FEED
EVIDENCE: Final = CLICKED | Found.NOFOLLOW | Found.CANONICAL | Found.REFRESH | HEADS
"""What counts as leading anywhere. Sitemaps and earlier runs are no links; redirects are told by their targets."""
_FLAGS: Final = 1 << 13  # all of Found


def way(state: State, found: int) -> int:
    """The ways in which a statement with these flags of Found, on a page in this state, leads to its target."""
    ways = 0
    if found & CLICKED:
        if state in PAGES:
            ways = Way.FOLLOWED
        elif state is State.REDIRECT:
            ways = Way.REDIRECT
        else:
            ways = Way.CANONICAL if state is State.CANONICAL_ELSEWHERE else Way.NOINDEX
    elif found & Found.NOFOLLOW:
        ways = Way.NOFOLLOW
    if found & Found.CANONICAL:
        ways |= Way.CANONICAL
    if found & Found.REFRESH:
        ways |= Way.REDIRECT
    if found & HEADS:
        ways |= Way.HEAD
    return int(ways)


@cache
def table() -> NDArray[np.uint8]:
    """The ways by the code of the page's state and the flags of the statement.

    Pages that the start does not lead to have a row of their own, :data:`UNTOUCHED_ROW`.
    """
    rows = {state: [way(state, found) for found in range(_FLAGS)] for state in _KINDS}
    other = rows[State.NOINDEX]
    by_state = [rows[State.INDEXABLE] if state in PAGES else rows.get(state, other) for state in STATES]
    untouched = [int(Way.UNREACHED) if found & CLICKED else 0 for found in range(_FLAGS)]
    return np.array([*by_state, untouched], dtype=np.uint8)


_KINDS: Final = (State.INDEXABLE, State.REDIRECT, State.CANONICAL_ELSEWHERE, State.NOINDEX)
UNTOUCHED_ROW: Final = len(STATES)
