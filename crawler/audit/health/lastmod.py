"""Whether the lastmod of an entry can be true, by what the page, its server and earlier audits say. Pure.

A lastmod is compared at the precision in which it is written, and a day either way is no contradiction: a day is not
the same day everywhere, and a sitemap is made now and then. What lies in the future, and one date for all pages, are
lint's to tell. https://developers.google.com/search/blog/2023/06/sitemaps-lastmod-ping
"""

from datetime import UTC, datetime, timedelta
from typing import Final

from msgspec import Struct

from crawler.audit.claim import SourceKind
from crawler.audit.finding import AuditFinding
from crawler.audit.health.entries import PublishedEntry
from crawler.lastmod.policy import STAMP_SECONDS
from sitemap import Moment, Precision, parse_date

_DAY: Final = 86_400.0
_MAX_EAST_OFFSET: Final = 14 * 3_600.0  # seconds that a day begins earlier there than in UTC
_MAX_WEST_OFFSET: Final = 12 * 3_600.0  # seconds that it ends later


class ObservedDates(Struct, frozen=True, kw_only=True):
    """What is known of the changes of a page, from visits of this audit and of those before; Unix time or W3C dates.

    ``same_since`` is the visit from which on it said the same until ``seen_at``, None when there was none before.
    ``seen_before`` is the last visit at which it said something else, ``changed`` the day on which an earlier run saw
    it change. ``header_date`` is Last-Modified, if it can be believed, and is "" on a site where it cannot.
    """

    seen_at: float
    same_since: float | None = None
    seen_before: float | None = None
    changed: str = ""
    header_date: str = ""
    page_date: str = ""
    page_date_source: str = ""


def check_lastmod(entry: PublishedEntry, observed: ObservedDates) -> AuditFinding | None:
    """That a lastmod is later, or earlier, than what is known of the page supports; None when nothing contradicts."""
    claimed = _date_range(entry.lastmod)
    if claimed is None or claimed[0] > observed.seen_at:
        return None
    if evidence := _why_late(claimed, observed):
        return _finding("entry.lastmod_late", "later than any change that is known", entry, evidence)
    if evidence := _why_early(claimed, observed):
        return _finding("entry.lastmod_early", "earlier than a change that is known", entry, evidence)
    return None


def _why_late(claimed: tuple[float, float], seen: ObservedDates) -> list[str]:
    """Why a date is too late: the page stood still around it, or all that dates the page lies before it."""
    begins, ends = claimed
    if seen.same_since is not None and begins > seen.same_since + _DAY and ends < seen.seen_at:
        then, now = _times_text(seen.same_since, seen.seen_at)
        return [f"the page said the same on {then} and on {now}"]
    if seen.seen_before is not None or (seen.changed and _range_end(seen.changed) + _DAY >= begins):
        return []  # it did change, and perhaps then
    stated = _stated_dates(seen)
    if not stated or any(_range_end(date) + _DAY >= begins for date, _ in stated):
        return []
    return [said for _, said in stated]


def _why_early(claimed: tuple[float, float], seen: ObservedDates) -> list[str]:
    """Why a date is too early: a change that was seen, or that the page states, lies behind it."""
    latest = claimed[1] + _DAY
    found = []
    if seen.seen_before is not None and seen.seen_before > latest:
        then, now = _times_text(seen.seen_before, seen.seen_at)
        found.append(f"the page said something else on {then} than on {now}")
    if seen.changed and _range_start(seen.changed) > latest:
        found.append(f"it was seen to change on {seen.changed}")
    # a date of today may be that of every answer
    if (
        seen.page_date
        and latest < _range_start(seen.page_date)
        and _range_end(seen.page_date) < seen.seen_at - STAMP_SECONDS
        and (seen.same_since is None or _range_start(seen.page_date) < seen.same_since)
    ):
        found.append(_page_date_text(seen))
    return found


def _stated_dates(seen: ObservedDates) -> list[tuple[str, str]]:
    """The dates that the page and its server state, each with a sentence; a stamp of the answer is none."""
    stated = []
    if seen.page_date:
        stated.append((seen.page_date, _page_date_text(seen)))
    if seen.header_date:
        stated.append((seen.header_date, f"Last-Modified says {seen.header_date}"))
    return stated


def _page_date_text(seen: ObservedDates) -> str:
    return f"the page says {seen.page_date} ({seen.page_date_source or 'a date in it'})"


def _finding(rule: str, said: str, entry: PublishedEntry, evidence: list[str]) -> AuditFinding:
    where = f"{entry.file} line {entry.line}" if entry.line else entry.file
    return AuditFinding(
        rule=rule,
        url=entry.url,
        sentence=f"lastmod {entry.lastmod} is {said}: {'; '.join(evidence)}",
        lastmod=entry.lastmod,
        known=[SourceKind.SITEMAP],
        evidence=[*evidence, f"{where} says lastmod {entry.lastmod}"],
        file=entry.file,
        line=entry.line,
    )


def _date_range(text: str) -> tuple[float, float] | None:
    """The first and the last moment that a date can mean, anywhere on Earth; None when it is no date."""
    moment = parse_date(text) if text else None
    if moment is None:
        return None
    try:
        begins = moment.instant()
        if isinstance(moment.value, datetime):
            return begins.timestamp(), begins.timestamp() + _LENGTHS.get(moment.precision, 0.0)
        return begins.timestamp() - _MAX_EAST_OFFSET, _end(moment).timestamp() + _MAX_WEST_OFFSET
    except (OverflowError, ValueError):  # in the year 1 or 9999
        return None


_LENGTHS: Final = {Precision.MINUTE: 60.0, Precision.SECOND: 1.0}


def _end(moment: Moment) -> datetime:
    """When a day, a month or a year is over in UTC."""
    begins = moment.instant()
    if moment.precision is Precision.YEAR:
        return begins.replace(year=begins.year + 1)
    if moment.precision is Precision.MONTH:
        return (begins + timedelta(days=31)).replace(day=1)
    return begins + timedelta(days=1)


def _range_start(text: str) -> float:
    span = _date_range(text)
    return span[0] if span else float("-inf")


def _range_end(text: str) -> float:
    span = _date_range(text)
    return span[1] if span else float("inf")


def _times_text(*times: float) -> list[str]:
    """Times to the minute, or to the second where minutes do not tell them apart."""
    for form in ("%Y-%m-%d %H:%M UTC", "%Y-%m-%d %H:%M:%S UTC"):
        told = [datetime.fromtimestamp(at, UTC).strftime(form) for at in times]
        if len(set(told)) == len(told):
            break
    return told
