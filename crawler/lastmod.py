"""When a page changed, as far as the first visit can tell. An observation or nothing: never "now", never a guess.

An answer is a W3C datetime in the form that the sitemap schema takes: ``YYYY-MM-DD``, or a date and a time to the
second with its offset (``xsd:date | xsd:dateTime``, https://www.sitemaps.org/schemas/sitemap/0.9/sitemap.xsd).
"""

import re
from datetime import UTC, datetime, timedelta
from typing import Final, Literal

from crawler import http_date

Policy = Literal["observed", "header", "page", "none"]

EARLIEST: Final = 788_918_400.0
"""1995-01-01: before it there were hardly any pages, but many clocks and file systems that begin there or before."""
SLACK: Final = 5.0
"""Seconds between Last-Modified and the moment of the answer within which a page counts as made for the answer."""
HEADER: Final = "Last-Modified"
_EASTMOST: Final = 14 * 3600.0  # seconds that a day begins earlier there than in UTC

_stated = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})(?:[Tt ]+([0-9]{2}:[0-9]{2})(:[0-9]{2})?(?:[.,][0-9]+)?"
    r" ?([Zz]|[+-][0-9]{2}:?[0-9]{2})?)?"
).fullmatch


def first_sight(  # noqa: PLR0913 - seven plain facts of one answer
    header: str | None,
    date_header: str | None,
    in_page: str,
    in_page_source: str,
    fetched_at: float,
    elapsed: float,
    policy: Policy,
) -> tuple[str, str]:
    """The date that a page first seen is published with, and its source; two empty strings when nothing is known.

    ``header`` and ``date_header`` are the values of Last-Modified and Date, ``in_page`` the best date in the page and
    ``in_page_source`` where it stood; ``fetched_at`` is Unix time and ``elapsed`` seconds. ``observed`` takes the
    header if it can be believed, else the page; ``header`` and ``page`` take one of them only; ``none`` neither.
    """
    if policy in ("observed", "header"):
        moment = believable(header or "", date_header or "", fetched_at, elapsed)
        if moment is not None:
            return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%dT%H:%M:%S+00:00"), HEADER
    if policy in ("observed", "page"):
        stated = schema_form(in_page, fetched_at + elapsed)
        if stated:
            return stated, in_page_source
    return "", ""


def believable(header: str, date_header: str, fetched_at: float, elapsed: float) -> float | None:
    """Last-Modified as Unix time, or None when it cannot be believed.

    It cannot when it is no HTTP date, before 1995, in the future, or the time of the answer: within
    ``SLACK + elapsed`` seconds of the Date header or of our own clock while the answer was made. A server that makes
    a page on every request says when it made it, which tells nothing about a change.
    """
    moment = http_date.read(header, fetched_at)
    if moment is None or moment < EARLIEST:
        return None
    answered = fetched_at + elapsed
    near = SLACK + elapsed
    said = http_date.read(date_header, fetched_at)
    if moment > answered - near or (said is not None and moment > said - near):
        return None
    return moment


def schema_form(text: str, now: float) -> str:
    """A date found in a page in the form of the schema, or "".

    Nothing is invented. A year or a month alone cannot be written; of a time without seconds or without an offset
    only its day can; fractions of a second are cut. Dates that do not exist, lie before 1995 or in the future (as
    seen at ``now``, Unix time) are no observations.
    """
    found = _stated(text.strip())
    if found is None:
        return ""
    day, minutes, seconds, offset = found.groups()
    try:
        if not (seconds and offset):
            datetime.fromisoformat(f"{day}T{minutes or '00:00'}{seconds or ''}")
            midnight = datetime.fromisoformat(f"{day}T00:00:00+00:00").timestamp()
            return day if EARLIEST <= midnight <= now + _EASTMOST else ""
        zone = "+00:00" if offset in "Zz" else f"{offset[:3]}:{offset[-2:]}"
        moment = datetime.fromisoformat(f"{day}T{minutes}{seconds}{zone}")
        is_zone = abs(moment.utcoffset() or timedelta()) <= timedelta(seconds=_EASTMOST)
        return moment.isoformat() if is_zone and EARLIEST <= moment.timestamp() <= now else ""
    except (ValueError, OverflowError):
        return ""
