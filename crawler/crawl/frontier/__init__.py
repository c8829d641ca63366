"""What a frontier promises. The frontier remembers and never judges; an implementation is a file beside this one.

Guarantees, tested against every implementation with a dictionary as oracle (``tests/crawler/frontier``):

1. A URL is leased to one holder at a time.
2. ``settle`` commits everything of one outcome or nothing, once; a settle of a lease that is not out changes nothing.
3. Admitting a known URL only adds evidence: its flags grow, its depth shrinks, and a URL that was refused for want of
   evidence (nofollow only, too deep, one of an endless template) is asked about again.
4. ``next`` says ``Done`` only when nothing waits and nothing is out.
5. ``records`` streams in byte order of URL, in flat memory.
6. Whatever is not settled when the process dies is pending at the next start; there is no lease to wait for.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Protocol

from crawler.model import DiscoveredUrl, Done, Lease, Outcome, Retry, State, StatusBadge, Url, UrlRecord, Wait

Admit = Callable[[DiscoveredUrl], StatusBadge | None]
"""The rule that is asked when a URL is first seen: None admits it, a verdict is its end."""

ReadyIn = Callable[[str, float], float]
"""Asked with an origin and the time: seconds until a request may start there, 0 for now."""


class Frontier(Protocol):
    """All URLs of one crawl and where each of them stands."""

    def admit(self, finds: Iterable[DiscoveredUrl]) -> None:
        """Know these URLs (seeds: URLs found on no page)."""

    def next(self, now: float, ready: ReadyIn, *, far: bool = False) -> Lease | Wait | Done:
        """The first due URL, nearest to the start first, of an origin that is ready. ``now`` is Unix time.

        ``far``: rather one of the next hundreds, known later, as those that are first have all been in vain.
        """

    def settle(self, outcome: Outcome) -> None:
        """End a lease, and know what it found."""

    def retry(self, retry: Retry) -> None:
        """Give a lease back, to be handed out again when it is due."""

    def commit(self) -> None:
        """Make everything settled so far durable."""

    def counts(self) -> Mapping[State, int]:
        """How many URLs stand in each state."""

    def records(self, state: State) -> Iterator[UrlRecord]:
        """The URLs that ended so, in byte order of URL."""

    def hops(self, lease: Lease) -> int:
        """How many redirects in a row led to this URL, when nothing else did."""

    def verdict_of(self, url: Url) -> StatusBadge | None:
        """Where a URL stands and why, or None when it was never seen."""
