"""The lastmod rules: the date of a page from what visits observed. Never a guess, and "now" only as a day. Pure.

A date is a W3C datetime in the form that the sitemap schema takes: ``YYYY-MM-DD``, or a date and a time to the
second with its offset (``xsd:date | xsd:dateTime``, https://www.sitemaps.org/schemas/sitemap/0.9/sitemap.xsd).
"""

import math
import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Final, Literal

from msgspec import Struct

from crawler.fetch.header_values import parse_http_date
from crawler.model import SEEN_TO_CHANGE, ResponseMetadata
from crawler.units import w3c
from sitemap import BuildTime

LastmodPolicy = Literal["observed", "header", "page", "git", "plugin", "none"]
EARLIEST_DATE: Final = 788_918_400.0
"""1995-01-01: earlier dates are defaults of clocks and file systems, not of pages."""
CLOCK_SLACK: Final = 5.0
"""Seconds between Last-Modified and the response within which the page counts as generated for the response."""
HEADER: Final = "Last-Modified"
STAMP_SECONDS: Final = 60.0
"""A time in a page that is less than so many seconds before the request counts as the time of the response."""
MIN_BUILD_PAGES: Final = 5
"""A Last-Modified is the time of a build if this many pages have one within a few minutes of each other ..."""
MIN_BUILD_SHARE: Final = 0.1
"""... and this share of the pages that have one."""
MIN_DISTRUST_PAGES: Final = 3
"""Distrust the Last-Modified of a site if it moved on this many pages with unchanged content ..."""
MIN_DISTRUST_SHARE: Final = 0.1
"""... and on this share of them."""
MAX_TIMED_INTERVAL: Final = 7_200.0
"""Seconds between two visits up to which a change between them has a time, not only a day.

Bing prefers a time: https://blogs.bing.com/webmaster/February-2023/The-Importance-of-Setting-the-lastmod-Tag-in-Your-Sitemap.
"""
_EASTMOST: Final = 14 * 3600.0  # seconds by which a day begins earlier than in UTC
_WESTMOST: Final = 12 * 3600.0  # seconds by which it ends later
_DAY: Final = 86_400.0
_stated = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})(?:[Tt ]+([0-9]{2}:[0-9]{2})(:[0-9]{2})?(?:[.,][0-9]+)?"
    r" ?([Zz]|[+-][0-9]{2}:?[0-9]{2})?)?"
).fullmatch


class SourcedDate(Struct, frozen=True):
    """A lastmod and its source; both "" without a date. ``is_weak``: a date that the page states is better."""

    lastmod: str = ""
    source: str = ""
    is_weak: bool = False


NO_DATE: Final = SourcedDate()
OBSERVING_POLICIES: Final = frozenset({"observed", "git", "plugin"})
"""The policies by which an observed change gives a date."""


def date_of_new_page(
    metadata: ResponseMetadata,
    policy: LastmodPolicy,
    trusted: bool = True,
    builds: Sequence[BuildTime] = (),
    commit: SourcedDate = NO_DATE,
) -> SourcedDate:
    """The date of a new page. ``commit`` is the date for ``git`` and ``plugin``, which else are as ``observed``.

    ``observed`` takes Last-Modified if it is credible, else the date in the page; the other way around if Last-Modified
    is the time of one of the ``builds``. ``header`` and ``page`` take one of them only; ``none`` neither. ``trusted``:
    the site's Last-Modified may be believed, which matters to ``observed``.
    """
    header = SourcedDate(metadata.header_date, HEADER) if metadata.header_date else SourcedDate()
    page = _stated_in(metadata)
    if policy in ("git", "plugin") and commit.lastmod:
        return page if commit.is_weak and page.lastmod else commit
    if policy in OBSERVING_POLICIES:
        if not trusted:
            return page
        first, second = (page, header) if build_of(metadata.header_date, builds) else (header, page)
        return first if first.lastmod else second
    return {"header": header, "page": page}.get(policy, NO_DATE)


def build_of(header_date: str, builds: Sequence[BuildTime]) -> BuildTime | None:
    """The build whose time a Last-Modified (W3C, or "") is; None if it is not the time of a build."""
    moment = _first_moment(header_date)
    return next((build for build in builds if build.first <= moment <= build.last), None)


def date_of_known_page(  # noqa: PLR0913 - the evidence, and how far to believe it
    before: SourcedDate,
    metadata: ResponseMetadata,
    changed_since: float | None,
    now: float,
    policy: LastmodPolicy,
    trusted: bool = True,
    commit: SourcedDate = NO_DATE,
) -> SourcedDate:
    """The date of a page that was published with the date ``before``.

    ``changed_since`` is the time of the previous visit if the page changed since; None if it did not: then ``observed``
    keeps the published date, and takes the date in the page if there is none. For a changed page it takes the date in
    the page, else Last-Modified, if it lies between the two visits and is later than the published one; else ``now``,
    the start of the run: its day, or its second if the visits are at most :data:`MAX_TIMED_INTERVAL` apart or the page
    changed before on this day. ``git`` is the same with ``commit`` as the first evidence, which also dates a page
    without a date. ``header`` and ``page`` take the stated date, but keep the published one rather than an earlier one
    or none while the page is unchanged. All times are Unix time in seconds.
    """
    if policy not in OBSERVING_POLICIES:
        stated = date_of_new_page(metadata, policy)
        stays = changed_since is None and _first_moment(stated.lastmod) <= _first_moment(before.lastmod)
        return before if stays else stated
    if changed_since is None:
        return before if before.lastmod else commit if commit.lastmod else _stated_in(metadata)
    published = _first_moment(before.lastmod)
    candidates = [commit, _stated_in(metadata)]
    if trusted:
        candidates.append(SourcedDate(metadata.header_date, HEADER))
    for stated in candidates:
        if _first_moment(stated.lastmod) > published and changed_since <= _last_moment(stated.lastmod):
            return stated
    moment = datetime.fromtimestamp(now, UTC)
    # a day is all that two visits far apart tell; but a day that is published already would not show this change
    is_timed = metadata.at - changed_since <= MAX_TIMED_INTERVAL
    if not is_timed and published < moment.replace(hour=0, minute=0, second=0, microsecond=0).timestamp():
        return SourcedDate(moment.strftime("%Y-%m-%d"), SEEN_TO_CHANGE)
    return SourcedDate(w3c(now), SEEN_TO_CHANGE)


def why_distrusted(still: int, moved: int) -> str:
    """Why the Last-Modified of a site is distrusted, in a sentence, or "".

    ``still`` counts the pages with Last-Modified and unchanged content since the previous visit, ``moved`` those of
    them where it moved.
    """
    if moved < MIN_DISTRUST_PAGES or moved < MIN_DISTRUST_SHARE * still:
        return ""
    return (
        f"Last-Modified changed on {moved:,} of {still:,} pages with unchanged content, so it is ignored for the "
        f"whole site"
    )


def credible_last_modified(header: str, date_header: str, fetched_at: float, elapsed: float) -> float | None:
    """Last-Modified as Unix time, or None when it is not credible.

    It is not when it is not an HTTP date, before 1995, in the future, or the time of the response: within
    ``CLOCK_SLACK + elapsed`` seconds of the Date header or of our own clock. A server that generates a page for every
    request states the time of the request, which says nothing about a change.
    """
    moment = parse_http_date(header, fetched_at)
    if moment is None or moment < EARLIEST_DATE:
        return None
    tolerance = CLOCK_SLACK + elapsed
    stated = parse_http_date(date_header, fetched_at)
    is_response_time = moment > fetched_at + elapsed - tolerance or (stated is not None and moment > stated - tolerance)
    return None if is_response_time else moment


def schema_form(text: str, now: float) -> str:
    """A date found in a page in the form of the schema, or "".

    A year or a month alone gives "". A time without seconds or without an offset gives its day; fractions of a second
    are cut. Dates that do not exist, lie before 1995 or after ``now`` (Unix time) give "".
    """
    match = _stated(text.strip())
    if match is None:
        return ""
    day, minutes, seconds, offset = match.groups()
    try:
        if not (seconds and offset):
            datetime.fromisoformat(f"{day}T{minutes or '00:00'}{seconds or ''}")
            midnight = datetime.fromisoformat(f"{day}T00:00:00+00:00").timestamp()
            return day if EARLIEST_DATE <= midnight <= now + _EASTMOST else ""
        zone = "+00:00" if offset.upper() == "Z" else f"{offset[:3]}:{offset[-2:]}"
        moment = datetime.fromisoformat(f"{day}T{minutes}{seconds}{zone}")
        is_zone = abs(moment.utcoffset() or timedelta()) <= timedelta(seconds=_EASTMOST)
        return moment.isoformat() if is_zone and EARLIEST_DATE <= moment.timestamp() <= now else ""
    except (ValueError, OverflowError):
        return ""


def _stated_in(metadata: ResponseMetadata) -> SourcedDate:
    """The date in the page, unless it is the time of the response."""
    is_response_time = "T" in metadata.page_date and _first_moment(metadata.page_date) > metadata.at - STAMP_SECONDS
    is_none = is_response_time or not metadata.page_date
    return NO_DATE if is_none else SourcedDate(metadata.page_date, metadata.page_date_source)


def _first_moment(text: str) -> float:
    """The first moment of a lastmod as Unix time, days in UTC; minus infinity for ""."""
    if not text:
        return -math.inf
    return datetime.fromisoformat(text if "T" in text else f"{text}T00:00:00+00:00").timestamp()


def _last_moment(text: str) -> float:
    """The last moment of a lastmod as Unix time; of a day, in the zone where it ends last."""
    return _first_moment(text) if "T" in text else _first_moment(text) + _DAY + _WESTMOST
