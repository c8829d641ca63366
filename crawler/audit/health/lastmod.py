"""The rules ``entry.lastmod_*``: whether a lastmod agrees with the page, its server and earlier audits. Pure.

A lastmod is compared at the precision in which it is written. A difference of one day is no contradiction: time zones
differ, and a sitemap is written only now and then. Lint reports dates in the future and one date for all pages.
https://developers.google.com/search/blog/2023/06/sitemaps-lastmod-ping
"""

from datetime import UTC, datetime, timedelta
from typing import Final

from msgspec import Struct

from crawler.audit.finding import AuditFinding
from crawler.audit.health.entries import PublishedEntry
from crawler.audit.health.visit import line_text
from crawler.audit.source_record import SourceKind
from crawler.lastmod.policy import STAMP_SECONDS
from sitemap import Moment, Precision, parse_date

_DAY: Final = 86_400.0
_MAX_EAST_OFFSET: Final = 14 * 3_600.0  # seconds by which a day begins earlier there than in UTC
_MAX_WEST_OFFSET: Final = 12 * 3_600.0  # seconds by which a day ends later there than in UTC


class PageDates(Struct, frozen=True, kw_only=True):
    """The known changes of a page, from the visits of this audit and of earlier ones; Unix times or W3C dates.

    The content was the same from ``same_since`` until ``seen_at``; ``same_since`` is None without an earlier visit.
    ``seen_before`` is the last visit with other content, ``changed`` the day on which an earlier run saw a change.
    ``header_date`` is Last-Modified, "" on a site whose Last-Modified is not credible.
    """

    seen_at: float
    same_since: float | None = None
    seen_before: float | None = None
    changed: str = ""
    header_date: str = ""
    page_date: str = ""
    page_date_source: str = ""


def check_lastmod(entry: PublishedEntry, observed: PageDates) -> AuditFinding | None:
    """The finding that a lastmod is too late or too early; None when nothing contradicts it."""
    claimed = _date_range(entry.lastmod)
    if claimed is None or claimed[0] > observed.seen_at:
        return None
    if evidence := _why_late(claimed, observed):
        return _finding("entry.lastmod_late", "later than every known change", entry, evidence)
    if evidence := _why_early(claimed, observed):
        return _finding("entry.lastmod_early", "earlier than a known change", entry, evidence)
    return None


def _why_late(claimed: tuple[float, float], observed: PageDates) -> list[str]:
    """Why a date is too late: the page did not change around it, or all dates of the page are earlier."""
    begins, ends = claimed
    if observed.same_since is not None and begins > observed.same_since + _DAY and ends < observed.seen_at:
        earlier, now = _times_text(observed.same_since, observed.seen_at)
        return [f"the page had the same content on {earlier} and on {now}"]
    if observed.seen_before is not None or (observed.changed and _range_end(observed.changed) + _DAY >= begins):
        return []  # it did change, perhaps on that day
    stated = _stated_dates(observed)
    if not stated or any(_range_end(date) + _DAY >= begins for date, _ in stated):
        return []
    return [sentence for _, sentence in stated]


def _why_early(claimed: tuple[float, float], observed: PageDates) -> list[str]:
    """Why a date is too early: a crawl saw a later change, or the page states one."""
    latest = claimed[1] + _DAY
    reasons = []
    if observed.seen_before is not None and observed.seen_before > latest:
        earlier, now = _times_text(observed.seen_before, observed.seen_at)
        reasons.append(f"the page had different content on {earlier} and on {now}")
    if observed.changed and _range_start(observed.changed) > latest:
        reasons.append(f"a crawl saw it change on {observed.changed}")
    # the page may state today's date in every answer
    if (
        observed.page_date
        and latest < _range_start(observed.page_date)
        and _range_end(observed.page_date) < observed.seen_at - STAMP_SECONDS
        and (observed.same_since is None or _range_start(observed.page_date) < observed.same_since)
    ):
        reasons.append(_page_date_text(observed))
    return reasons


def _stated_dates(observed: PageDates) -> list[tuple[str, str]]:
    """The dates that the page and its server state, each with a sentence."""
    stated = []
    if observed.page_date:
        stated.append((observed.page_date, _page_date_text(observed)))
    if observed.header_date:
        stated.append((observed.header_date, f"Last-Modified states {observed.header_date}"))
    return stated


def _page_date_text(observed: PageDates) -> str:
    return f"the page states {observed.page_date} ({observed.page_date_source or 'a date in it'})"


def _finding(rule: str, fault: str, entry: PublishedEntry, evidence: list[str]) -> AuditFinding:
    return AuditFinding(
        rule=rule,
        url=entry.url,
        sentence=f"lastmod {entry.lastmod} is {fault}: {'; '.join(evidence)}",
        lastmod=entry.lastmod,
        known=[SourceKind.SITEMAP],
        evidence=[*evidence, f"{line_text(entry.file, entry.line)} states lastmod {entry.lastmod}"],
        file=entry.file,
        line=entry.line,
    )


def _date_range(text: str) -> tuple[float, float] | None:
    """The first and the last Unix time that a date can mean in any time zone; None when it is no date."""
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
    """The end of a day, a month or a year in UTC."""
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
    """Times to the minute, or to the second when the minutes are equal."""
    for form in ("%Y-%m-%d %H:%M UTC", "%Y-%m-%d %H:%M:%S UTC"):
        texts = [datetime.fromtimestamp(at, UTC).strftime(form) for at in times]
        if len(set(texts)) == len(texts):
            break
    return texts
