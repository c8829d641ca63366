"""What the tests of a frontier share: URLs, what is admitted, and origins that are always ready."""

from typing import Final

from crawler.model import DiscoveredBy, DiscoveredUrl, State, Url, Verdict

INDEXABLE: Final = Verdict(State.INDEXABLE)


def url(number: int, host: str = "a") -> Url:
    return Url(f"https://{host}.example/{number}")


def admission(find: DiscoveredUrl) -> Verdict | None:
    if find.found == DiscoveredBy.NOFOLLOW:
        return Verdict(State.NOFOLLOW, "linked by nofollow only")
    return Verdict(State.TOO_DEEP, "deeper than 3") if find.depth > 3 else None


def always(_origin: str, _now: float) -> float:
    return 0.0
