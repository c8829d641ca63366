"""Parses the three date forms of HTTP strictly (RFC 9110 5.6.7). Pure."""

import re
from calendar import timegm
from datetime import UTC, datetime
from functools import lru_cache
from typing import Final

_MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_TIME: Final = r"([0-9]{2}):([0-9]{2}):([0-9]{2})"
_MONTH: Final = f"({'|'.join(_MONTHS)})"
_DAY: Final = "(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)"
_LONG_DAY: Final = "(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day"
_imf_fixdate = re.compile(rf"{_DAY}, ([0-9]{{2}}) {_MONTH} ([0-9]{{4}}) {_TIME} GMT").fullmatch
_rfc850 = re.compile(rf"{_LONG_DAY}, ([0-9]{{2}})-{_MONTH}-([0-9]{{2}}) {_TIME} GMT").fullmatch
_asctime = re.compile(rf"{_DAY} {_MONTH} ([ 0-9][0-9]) {_TIME} ([0-9]{{4}})").fullmatch


def parse_http_date(text: str, now: float) -> float | None:
    """Unix time in seconds, or None for another form or a date that does not exist.

    ``now`` (Unix time) places the two-digit years of RFC 850 dates: one that seems more than 50 years in the
    future is in the past. The weekday is not checked.
    """
    return _parse_forms(text.strip(" \t"), datetime.fromtimestamp(now, UTC).year)


@lru_cache(maxsize=256)  # pages share Date and Last-Modified
def _parse_forms(text: str, this_year: int) -> float | None:
    if match := _imf_fixdate(text):
        day, month, year, *clock = match.groups()
    elif match := _asctime(text):
        month, day, *clock, year = match.groups()
    elif match := _rfc850(text):
        day, month, short, *clock = match.groups()
        year = str(_century(int(short), this_year))
    else:
        return None
    return _moment(int(year), _MONTHS.index(month) + 1, int(day), [int(part) for part in clock])


def _century(short: int, this_year: int) -> int:
    year = this_year - this_year % 100 + short
    return year - 100 if year > this_year + 50 else year


def _moment(year: int, month: int, day: int, clock: list[int]) -> float | None:
    hour, minute, second = clock
    if second > 60:
        return None
    try:
        start = datetime(year, month, day, hour, minute, tzinfo=UTC)
    except ValueError:
        return None
    return float(timegm(start.utctimetuple()) + second)  # a leap second is the first of the next minute
