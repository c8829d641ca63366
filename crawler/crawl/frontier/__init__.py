"""The frontier's contract: every URL of a crawl and its state.

Front door: ``sqlite.py``; ``traps.py`` decides about crawler traps. May import parse, state and url.

Guarantees, tested against every implementation with a dictionary as oracle (``tests/crawler/crawl/frontier``):

1. A URL is leased to one holder at a time.
2. ``settle`` stores everything of one outcome or nothing, once; settling a lease that is not out changes nothing. A
   failure also undoes what was settled since the last commit: these URLs are pending again.
3. Admitting a known URL only adds evidence: its flags grow, its depth shrinks, and a URL that was refused for lack of
   evidence (nofollow only, too deep, a crawler trap) is judged again.
4. ``next`` returns ``Done`` only when no URL is pending and no lease is out.
5. ``records`` streams in byte order of URL, in flat memory.
6. Whatever is not settled when the process dies is pending at the next start; no lease survives it.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Protocol

from crawler.model import DiscoveredUrl, Done, Lease, Outcome, Retry, State, Url, UrlRecord, Verdict, Wait

Admit = Callable[[DiscoveredUrl], Verdict | None]
"""Decides about a URL that is new: None admits it, a verdict refuses it."""

ReadyIn = Callable[[str, float], float]
"""Seconds until a request to an origin may start, from the origin and the time; 0 for now."""


class Frontier(Protocol):
    """All URLs of one crawl and their states."""

    def admit(self, finds: Iterable[DiscoveredUrl]) -> None:
        """Admit seeds: URLs that were discovered on no page."""

    def next(self, now: float, ready_in: ReadyIn, *, far: bool = False) -> Lease | Wait | Done:
        """Lease the first due URL, the least deep first, of an origin that is ready. ``now`` is Unix time.

        ``far``: lease one of the next hundreds instead, because the first ones all fail.
        """

    def settle(self, outcome: Outcome) -> None:
        """End a lease, and admit the URLs it discovered."""

    def retry(self, retry: Retry) -> None:
        """End a lease, and lease its URL again when it is due."""

    def requeue(self, leases: Iterable[Lease]) -> None:
        """Make URLs pending again whose leases ended, with as many attempts as these began with."""

    def commit(self) -> None:
        """Make everything settled so far durable."""

    def size(self) -> int:
        """Bytes of the state on disk, without its free space."""

    def counts(self) -> Mapping[State, int]:
        """The number of URLs in each state."""

    def records(self, state: State) -> Iterator[UrlRecord]:
        """The URLs in a state, in byte order of URL."""

    def hops(self, lease: Lease) -> int:
        """The number of redirects in a row that led to this URL, if nothing else did."""

    def verdict_of(self, url: Url) -> Verdict | None:
        """The state of a URL and its reason, None for an unknown URL."""
