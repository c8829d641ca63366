"""How long to wait before another try: what Retry-After says, and what to do when it says nothing."""

import re
from typing import Final
from zlib import crc32

from crawler.fetch import http_date
from crawler.model import State

LONGEST_BACKOFF: Final = 300.0

_seconds = re.compile(r"[0-9]{1,10}", re.ASCII).fullmatch


def retry_after(value: str | None, now: float) -> float | None:
    """Seconds from ``now`` (Unix time) that a Retry-After asks for; 0 for a date in the past.

    None when there is none, or it is neither digits nor one of the three HTTP dates (RFC 9110 10.2.3): a value that
    cannot be read asks for nothing.
    """
    text = (value or "").strip(" \t")
    if _seconds(text):
        return float(int(text))
    moment = http_date.read(text, now)
    return None if moment is None else max(0.0, moment - now)


def retry_delay(attempt: int, key: str) -> float:
    """Seconds before try number ``attempt`` + 1: 1, 2, 4 … 300, a quarter more or less.

    The spread depends on ``key`` (a URL, an origin) only, so that many that failed together do not come back
    together, and a run can be repeated exactly.
    """
    spread = 0.75 + crc32(f"{attempt} {key}".encode("utf-8", "replace")) / 2**33
    return backoff(attempt) * spread


def backoff(attempt: int) -> float:
    """Seconds after failure number ``attempt`` + 1 in a row: 1, 2, 4 … 300."""
    return min(LONGEST_BACKOFF, 2.0 ** min(attempt, 32))


TRANSIENT: Final = frozenset(
    {408, 425, 429, 500, 502, 503, 504, 507, 509, 520, 521, 522, 523, 524, 527, 529, 530}
)

FAILURES: Final = frozenset(
    {State.SERVER_ERROR, State.UNREACHABLE, State.BAD_ANSWER, State.PARSE_FAILED, State.INTERNAL_ERROR}
)


def is_transient(status: int) -> bool:
    """Whether another try may bring another answer."""
    return status in TRANSIENT


_FAILED: Final = FAILURES - {State.BAD_ANSWER}  # which is what some URLs always give: redirects that loop


def is_failure(state: State, status: int | None) -> bool:
    """Whether a URL ended so because something failed that may be well another time, not by what it is."""
    return state in _FAILED or (
        status is not None and is_transient(status) and state in (State.CLIENT_ERROR, State.SITEMAP_FILE)
    )
