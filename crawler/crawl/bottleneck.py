"""Which stage bounds a crawl. The engine looks at it every tick; the time between two looks goes to one stage. Pure.

A crawl is bound by one thing at a time: requests that may not start yet, a server that has not responded, parser
processes that are busy, or this process itself. Whoever wants a faster crawl must know which.
"""

from collections import defaultdict
from enum import StrEnum
from typing import Final

from msgspec import Struct

_IS_BUSY: Final = 0.9  # share of one processor that the main process uses when it cannot do more


class CrawlStage(StrEnum):
    """What a crawl waits for, as the name in reports."""

    PACE = "pace"  # rate, delay, Crawl-delay
    ERRORS = "errors"  # retries, Retry-After and back-off after a request that failed
    NETWORK = "network"  # responses of the server, with as many requests in flight as may be
    PARSE = "parse"  # parser processes, or the browser
    FRONTIER = "frontier"  # the main process: frontier, verdicts, bodies on their way
    COMMIT = "commit"  # the disk: outcomes become durable


class CrawlLook(Struct, frozen=True):
    """What the engine sees at a tick.

    ``cpu`` is the share of one processor that the main process used since the last look, ``parsing`` and ``fetching``
    the numbers of leases in these steps, ``is_paced`` whether a request could start but for the pace, ``has_failed``
    whether the last request failed, and ``has_errors`` whether any did.
    """

    cpu: float
    fetching: int
    parsing: int
    is_paced: bool
    has_failed: bool = False
    has_errors: bool = False


def bounding_stage(look: CrawlLook) -> CrawlStage:
    """The stage that bounds the crawl at a tick."""
    if look.cpu >= _IS_BUSY:
        return CrawlStage.FRONTIER
    if look.parsing > look.fetching:
        return CrawlStage.PARSE
    if look.is_paced:
        return CrawlStage.ERRORS if look.has_failed else CrawlStage.PACE
    if look.fetching:
        return CrawlStage.NETWORK
    # with nothing in flight, and a pace that holds back nothing, the URLs that are left wait for their retries, if any
    return CrawlStage.ERRORS if look.has_errors else CrawlStage.FRONTIER


class Bottlenecks:
    """Seconds of a crawl by the stage that bound them."""

    def __init__(self) -> None:
        self._seconds: defaultdict[CrawlStage, float] = defaultdict(float)

    def add(self, stage: CrawlStage, seconds: float) -> None:
        """Count seconds for a stage."""
        self._seconds[stage] += seconds

    def shares(self) -> dict[str, float]:
        """The share of each stage that has one, the largest first, to two decimals; they sum to about 1."""
        total = sum(self._seconds.values())
        parts = sorted(self._seconds.items(), key=lambda item: -item[1])
        return {stage.value: round(seconds / total, 2) for stage, seconds in parts if seconds > 0}
