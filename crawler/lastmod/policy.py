"""When a page changed, as far as visits can tell. An observation or nothing: never a guess, and "now" only as a day.

An answer is a W3C datetime in the form that the sitemap schema takes: ``YYYY-MM-DD``, or a date and a time to the
second with its offset (``xsd:date | xsd:dateTime``, https://www.sitemaps.org/schemas/sitemap/0.9/sitemap.xsd).
"""

import re
from datetime import UTC, datetime, timedelta
from typing import Final, Literal

from msgspec import Struct

from crawler.fetch import http_date
from crawler.model import ResponseMetadata
from crawler.units import _MOMENT

LastmodPolicy = Literal["observed", "header", "page", "none"]

EARLIEST_DATE: Final = 788_918_400.0
"""1995-01-01: before it there were hardly any pages, but many clocks and file systems that begin there or before."""
CLOCK_SLACK: Final = 5.0
"""Seconds between Last-Modified and the moment of the answer within which a page counts as made for the answer."""
HEADER: Final = "Last-Modified"
SEEN_TO_CHANGE: Final = "seen to change"
"""The source of a date that no evidence gives: the run that saw the page say something else."""
STAMP_SECONDS: Final = 60.0
"""Seconds before the request from which on a moment stated in a page counts as that of the answer."""
MIN_DISTRUST_PAGES: Final = 3
"""Pages whose Last-Modified moved while their content stood still, from which on it is distrusted for the site ..."""
MIN_DISTRUST_SHARE: Final = 0.1
"""... if they are this share of the pages that stood still."""
_EASTMOST: Final = 14 * 3600.0  # seconds that a day begins earlier there than in UTC
_WESTMOST: Final = 12 * 3600.0  # seconds that it ends later
_DAY: Final = 86_400.0

_stated = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})(?:[Tt ]+([0-9]{2}:[0-9]{2})(:[0-9]{2})?(?:[.,][0-9]+)?"
    r" ?([Zz]|[+-][0-9]{2}:?[0-9]{2})?)?"
).fullmatch


class SourcedDate(Struct, frozen=True):
    """A date to publish and where it comes from; both "" when nothing is known."""

    lastmod: str = ""
    source: str = ""


def date_of_new_page(seen: ResponseMetadata, policy: LastmodPolicy, trusted: bool = True) -> SourcedDate:
    """The date of a page that is seen for the first time.

    ``observed`` takes Last-Modified if it can be believed, else the page; ``header`` and ``page`` take one of them
    only; ``none`` neither. ``trusted`` is whether Last-Modified tells the truth on this site, as ``observed`` asks.
    """
    if seen.header_date and (policy == "header" or (policy == "observed" and trusted)):
        return SourcedDate(seen.header_date, HEADER)
    if policy in {"observed", "page"} and seen.page_date and not _is_response_time(seen):
        return SourcedDate(seen.page_date, seen.page_date_source)
    return SourcedDate()


def date_of_known_page(
    before: SourcedDate,
    seen: ResponseMetadata,
    changed_since: float | None,
    now: float,
    policy: LastmodPolicy,
    trusted: bool = True,
) -> SourcedDate:
    """The date of a page that was published before with ``before``.

    ``changed_since`` is the time of the visit before, if the page says something else since; None when it does not:
    then ``observed`` keeps what was published, whatever is stated. Else it takes the date in the page, then
    Last-Modified, if that lies between the two visits and is later than what was published, else the day of ``now``,
    the start of the run; a second change on one day is told by its second. ``header`` and ``page`` go by what is
    stated, but not back while the page stands still, and not to nothing. All times are Unix time in seconds.
    """
    if policy == "none":
        return SourcedDate()
    if policy != "observed":
        stated = date_of_new_page(seen, policy)
        stays = changed_since is None and _first_moment(stated.lastmod) <= _first_moment(before.lastmod)
        return before if stays else stated
    if changed_since is None:
        return before
    published = _first_moment(before.lastmod)
    candidates = [] if _is_response_time(seen) else [SourcedDate(seen.page_date, seen.page_date_source)]
    if trusted:
        candidates.append(SourcedDate(seen.header_date, HEADER))
    for stated in candidates:
        if _first_moment(stated.lastmod) > published and changed_since <= _last_moment(stated.lastmod):
            return stated
    moment = datetime.fromtimestamp(now, UTC)
    if published < moment.replace(hour=0, minute=0, second=0, microsecond=0).timestamp():
        return SourcedDate(moment.strftime("%Y-%m-%d"), SEEN_TO_CHANGE)
    return SourcedDate(moment.strftime(_MOMENT), SEEN_TO_CHANGE)


def why_distrusted(still: int, moved: int) -> str:
    """Why Last-Modified is not believed on a site, in a sentence, or "" when it is.

    ``still`` counts the pages that state it and whose content stood still since the visit before, ``moved`` those of
    them where it moved.
    """
    if moved < MIN_DISTRUST_PAGES or moved < MIN_DISTRUST_SHARE * still:
        return ""
    return (
        f"Last-Modified moved on {moved:,} of {still:,} pages whose content stood still: it is distrusted for the"
        " whole site"
    )


def credible_last_modified(header: str, date_header: str, fetched_at: float, elapsed: float) -> float | None:
    """Last-Modified as Unix time, or None when it cannot be believed.

    It cannot when it is no HTTP date, before 1995, in the future, or the time of the answer: within
    ``SLACK + elapsed`` seconds of the Date header or of our own clock while the answer was made. A server that makes
    a page on every request says when it made it, which tells nothing about a change.
    """
    moment = http_date.parse_http_date(header, fetched_at)
    if moment is None or moment < EARLIEST_DATE:
        return None
    answered = fetched_at + elapsed
    near = CLOCK_SLACK + elapsed
    said = http_date.parse_http_date(date_header, fetched_at)
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
            return day if EARLIEST_DATE <= midnight <= now + _EASTMOST else ""
        zone = "+00:00" if offset in "Zz" else f"{offset[:3]}:{offset[-2:]}"
        moment = datetime.fromisoformat(f"{day}T{minutes}{seconds}{zone}")
        is_zone = abs(moment.utcoffset() or timedelta()) <= timedelta(seconds=_EASTMOST)
        return moment.isoformat() if is_zone and EARLIEST_DATE <= moment.timestamp() <= now else ""
    except (ValueError, OverflowError):
        return ""


def _is_response_time(seen: ResponseMetadata) -> bool:
    """Whether the page states the moment at which it was made for this answer."""
    return "T" in seen.page_date and _first_moment(seen.page_date) > seen.at - STAMP_SECONDS


def _first_moment(text: str) -> float:
    """The first moment of a date of ours as Unix time, days as in UTC; before all others for ""."""
    if not text:
        return float("-inf")
    return datetime.fromisoformat(text if "T" in text else f"{text}T00:00:00+00:00").timestamp()


def _last_moment(text: str) -> float:
    """The last moment of a date of ours: that of a day, where it ends last."""
    return _first_moment(text) if "T" in text else _first_moment(text) + _DAY + _WESTMOST
