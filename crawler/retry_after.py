"""How long to wait before another try: what Retry-After says, and what to do when it says nothing."""

import re
from typing import Final
from zlib import crc32

from crawler import http_date

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
