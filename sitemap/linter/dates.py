"""Checks the dates of a document: those in the future or before the web, and signs that a build set them.

https://developers.google.com/search/blog/2023/06/sitemaps-lastmod-ping
"""

from collections import Counter
from datetime import datetime, timedelta
from typing import Final

from sitemap import dates as w3c
from sitemap.build_time import MIN_BUILD_PAGES, find_build_times, majority_build
from sitemap.reader.tree import LineOf
from sitemap.rules import FindingCollector

# A day begins up to 14 hours earlier than in UTC, so a date without a time is in the future only beyond that. A time
# states its zone; only a small clock skew is tolerated.
MAX_ZONE_OFFSET: Final = timedelta(hours=14)
MAX_CLOCK_SKEW: Final = timedelta(minutes=5)
# The web opened to everyone in 1993; a date before 1995 nearly always comes from an unset clock.
OLDEST_YEAR: Final = "1995"
_CHURN_SHARE: Final = 0.9  # of the dated entries, changed within a day
_DAY: Final = len("2024-05-08")
_SECOND: Final = len("2024-05-08T08:53:11")
_SAMPLE: Final = 500  # dates
# Primes: a sample in such steps is spread over the document and avoids its patterns.
_STRIDES: Final = (7_919, 7_907, 7_901, 7_883)


def latest_instant(text: str) -> datetime | None:
    """The last instant that a date can mean, or None if the text is not a date. A day ends at midnight UTC."""
    start, is_day = _first_instant(text)
    try:
        return start + timedelta(days=1) if start and is_day else start
    except OverflowError:
        return start


def is_future(text: str, now: datetime) -> bool:
    """Whether a day has not begun anywhere on earth, or a time is later than now; False if the text is not a date."""
    start, is_day = _first_instant(text)
    return start is not None and start > now + (MAX_ZONE_OFFSET if is_day else MAX_CLOCK_SKEW)


def _first_instant(text: str) -> tuple[datetime | None, bool]:
    """The first instant that a date can mean, and whether it is a day without a time."""
    if start := w3c.to_instant(text):  # the fast path, for nearly all dates
        return start, len(text) == _DAY
    moment = w3c.parse_date(text)
    return (moment.instant(), not isinstance(moment.value, datetime)) if moment else (None, False)


def _times(dates: list[str]) -> list[tuple[float, int]]:
    """The Unix times of the dates that have a time, in ascending order, each with the number of dates."""
    counts = Counter(text for text in dates if len(text) > _DAY)
    instants = ((w3c.to_instant(text), pages) for text, pages in counts.items())
    return sorted((instant.timestamp(), pages) for instant, pages in instants if instant)


class DateChecks:
    """Checks the lastmods of one document. The reader has checked their form."""

    def __init__(self, now: datetime, findings: FindingCollector) -> None:
        self._now = now
        self._findings = findings
        self._lastmods: list[str] = []
        # Strings, because comparing them clears a batch fast: an earlier date cannot be in the future, or within the
        # last day, in any zone.
        self._may_be_future = (now - MAX_ZONE_OFFSET).date().isoformat()
        self._may_be_recent = (now - timedelta(days=1) - MAX_ZONE_OFFSET).date().isoformat()

    def check(self, lastmods: list[str], line_of: LineOf) -> None:
        """Check a batch of lastmods; "" means unknown."""
        if max(lastmods) >= self._may_be_future:
            for number, text in enumerate(lastmods):
                if text >= self._may_be_future and is_future(text, self._now):
                    self._findings.add("lastmod.future", line_of(number), f"lastmod {text} is in the future")
        if min(lastmods) < OLDEST_YEAR:
            for number, text in enumerate(lastmods):
                if text and text < OLDEST_YEAR:
                    self._findings.add("lastmod.too_old", line_of(number), f"lastmod {text} is older than the web")

    def keep(self, lastmods: list[str]) -> None:
        """Keep a batch of lastmods of pages for :meth:`end`."""
        self._lastmods += lastmods

    def end(self, *, churn: bool) -> None:
        """Check all dates together and report the strongest of three signs; ``churn`` includes the third.

        A sample decides whether to count at all.
        """
        dates, self._lastmods = list(filter(None, self._lastmods)), []
        if len(dates) < MIN_BUILD_PAGES:
            return
        stride = next(prime for prime in _STRIDES if len(dates) % prime)
        sample = [dates[index * stride % len(dates)] for index in range(min(len(dates), _SAMPLE))]
        if self._check_build(sample, dates):
            return
        if churn and sum(map(self._may_be_recent.__le__, sample)) * 2 > len(sample):
            recent = self._recent(dates)
            if recent >= len(dates) * _CHURN_SHARE:
                self._add_finding("churn", f"{recent:,} of {len(dates):,} lastmods are within the last 24 hours")

    def _check_build(self, sample: list[str], dates: list[str]) -> bool:
        """Report the time of a build and return True if all dates are equal, or most lie close together."""
        total = len(dates)
        if len({text[:_SECOND] for text in sample}) == 1 and len({text[:_SECOND] for text in dates}) == 1:
            self._add_finding(
                "all_equal", f"all {total:,} lastmods are {dates[0][:_SECOND]}, probably the time of a build"
            )
            return True
        least = len(sample) // 4
        if not find_build_times(_times(sample), len(sample), min_pages=least, min_share=0):
            return False
        build = majority_build(_times(dates), total)
        if build:
            self._add_finding(
                "build_stamp", f"{build.pages:,} of {total:,} lastmods {build.range_text}, like those of a build"
            )
        return build is not None

    def _recent(self, dates: list[str]) -> int:
        """How many dates are within the last day."""
        start, end = self._now - timedelta(days=1), self._now + MAX_CLOCK_SKEW
        return sum(
            times
            for text, times in Counter(dates).items()
            if text >= self._may_be_recent and (instant := w3c.to_instant(text)) and start <= instant <= end
        )

    def _add_finding(self, rule: str, sentence: str) -> None:
        self._findings.add(f"lastmod.{rule}", 0, sentence)
