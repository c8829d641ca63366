"""The retry rule: what is transient, what Retry-After means, how many retries there are and when. Pure."""

import math
import re
from typing import Final
from zlib import crc32

from msgspec import Struct
from msgspec.structs import replace

from crawler.fetch.header_values import parse_http_date
from crawler.model import Failure, Reply, State

_seconds = re.compile(r"[0-9]{1,10}", re.ASCII).fullmatch


def parse_retry_after(value: str | None, now: float) -> float | None:
    """Seconds from ``now`` (Unix time) that a Retry-After asks for; 0 for a date in the past.

    None without a value, or when it is neither digits nor one of the three HTTP dates (RFC 9110 10.2.3).
    """
    if value is None:
        return None
    text = value.strip(" \t")
    if _seconds(text):
        return float(int(text))
    moment = parse_http_date(text, now)
    return None if moment is None else max(0.0, moment - now)


class RetryPolicy(Struct, frozen=True):
    """The number of retries and their pauses, in seconds.

    Pauses double from ``first`` to ``longest``. ``longest_asked`` is the longest Retry-After that is obeyed.
    """

    retries: int = 0
    first: float = 1.0
    longest: float = 300.0
    longest_asked: float = math.inf

    def delay(self, attempt: int, key: str = "", asked: float | None = None) -> float | None:
        """Seconds from failure number ``attempt`` + 1 in a row to the retry; None when there is none.

        ``asked`` are the seconds of a Retry-After, which replace our own pause.
        """
        if attempt >= self.retries or (asked or 0.0) > self.longest_asked:
            return None
        return self.pause(attempt, key) if asked is None else asked

    def pause(self, attempt: int, key: str = "") -> float:
        """Our own pause after failure number ``attempt`` + 1 in a row: 1, 2, 4 … 300 seconds by default.

        With a ``key`` (a URL, an origin) it varies by a quarter. The variation depends on the key alone: URLs that
        failed together are not retried together, and a run can be repeated exactly.
        """
        pause = min(self.longest, self.first * 2.0 ** min(attempt, 60))
        return pause * (0.75 + crc32(f"{attempt} {key}".encode(errors="replace")) / 2**33) if key else pause


LATE_RETRY: Final = 20.0
"""Seconds to the only retry of a page while its whole site fails: quick ones would fail like the first request."""
TRANSIENT: Final = frozenset({408, 425, 429, 500, 502, 503, 504, 507, 509, *range(520, 528), 529, 530})
WAIT_STATUSES: Final = frozenset({429, 503})  # the server asks to wait (RFC 6585 4, RFC 9110 15.6.4)

FAILURES: Final = frozenset(
    {
        State.SERVER_ERROR,
        State.CHALLENGED,
        State.UNREACHABLE,
        State.BAD_ANSWER,
        State.PARSE_FAILED,
        State.INTERNAL_ERROR,
    }
)
_FAILURE_STATES: Final = FAILURES - {State.BAD_ANSWER}  # some URLs always give a bad answer: redirect loops


def is_transient(answer: Reply | Failure | int) -> bool:
    """Whether a retry may bring another answer. Takes an answer or its status."""
    if isinstance(answer, Failure):
        return answer.transient
    return (answer.status if isinstance(answer, Reply) else answer) in TRANSIENT


def is_failure(state: State, status: int | None) -> bool:
    """Whether a URL ended by a transient failure, and not by what it is."""
    return state in _FAILURE_STATES or (
        status is not None and is_transient(status) and state in (State.CLIENT_ERROR, State.SITEMAP_FILE)
    )


def retry_pause(answer: Reply | Failure, policy: RetryPolicy, attempts: int, key: str, now: float) -> float | None:
    """Seconds until a URL is fetched again after this answer; None when it is not. ``now`` is Unix time.

    A 429 or 503 may ask for any pause: the throttle pauses the whole origin, and the crawl has a limit for that. Any
    other Retry-After is about one page, which may not hold up the crawl: ``policy.longest_asked`` limits it.
    """
    if not is_transient(answer):
        return None
    if isinstance(answer, Failure):
        return policy.delay(attempts, key)
    if answer.status in WAIT_STATUSES:
        policy = replace(policy, longest_asked=math.inf)
    return policy.delay(attempts, key, parse_retry_after(answer.header("retry-after"), now))
