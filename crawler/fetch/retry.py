"""The rule of every retry: what Retry-After asks for, how often something is tried again, and after which pause."""

import math
import re
from typing import Final
from zlib import crc32

from msgspec import Struct

from crawler.fetch import http_date
from crawler.model import Failure, Reply, State

_seconds = re.compile(r"[0-9]{1,10}", re.ASCII).fullmatch


def parse_retry_after(value: str | None, now: float) -> float | None:
    """Seconds from ``now`` (Unix time) that a Retry-After asks for; 0 for a date in the past.

    None when there is none, or it is neither digits nor one of the three HTTP dates (RFC 9110 10.2.3): a value that
    cannot be read asks for nothing.
    """
    text = (value or "").strip(" \t")
    if _seconds(text):
        return float(int(text))
    moment = http_date.parse_http_date(text, now)
    return None if moment is None else max(0.0, moment - now)


class RetryPolicy(Struct, frozen=True):
    """How often something is tried again, and how long after its last failure. Times are in seconds.

    The pauses double from ``first`` to ``longest``. ``longest_asked`` is how long the other side may ask to wait.
    """

    retries: int = 0
    first: float = 1.0
    longest: float = 300.0
    longest_asked: float = math.inf

    def delay(self, attempt: int, key: str = "", asked: float | None = None) -> float | None:
        """Seconds from failure number ``attempt`` + 1 in a row to the next try; None when there is no next try.

        ``asked`` are the seconds that the other side asks to wait, which replace our own pause.
        """
        if attempt >= self.retries or (asked or 0.0) > self.longest_asked:
            return None
        return self.pause(attempt, key) if asked is None else asked

    def pause(self, attempt: int, key: str = "") -> float:
        """Our own pause after failure number ``attempt`` + 1 in a row: 1, 2, 4 … 300 seconds by default.

        With a ``key`` (a URL, an origin) it is a quarter more or less. That spread depends on the key only, so that
        many that failed together do not come back together, and a run can be repeated exactly.
        """
        pause = min(self.longest, self.first * 2.0 ** min(attempt, 60))
        return pause * (0.75 + crc32(f"{attempt} {key}".encode("utf-8", "replace")) / 2**33) if key else pause


TRANSIENT: Final = frozenset(
    {408, 425, 429, 500, 502, 503, 504, 507, 509, 520, 521, 522, 523, 524, 527, 529, 530}
)

FAILURES: Final = frozenset(
    {State.SERVER_ERROR, State.UNREACHABLE, State.BAD_ANSWER, State.PARSE_FAILED, State.INTERNAL_ERROR}
)


def is_transient(answer: Reply | Failure | int) -> bool:
    """Whether another try may bring another answer than this one, or than one of this status."""
    if isinstance(answer, Failure):
        return answer.transient
    return (answer.status if isinstance(answer, Reply) else answer) in TRANSIENT


_FAILURE_STATES: Final = FAILURES - {
    State.BAD_ANSWER
}  # which is what some URLs always give: redirects that loop


def is_failure(state: State, status: int | None) -> bool:
    """Whether a URL ended so because something failed that may be well another time, not by what it is."""
    return state in _FAILURE_STATES or (
        status is not None and is_transient(status) and state in (State.CLIENT_ERROR, State.SITEMAP_FILE)
    )
