"""Owns the checks of dates: what lies in the future or before the web, and what a document's dates are worth together.

https://developers.google.com/search/blog/2023/06/sitemaps-lastmod-ping
"""

from collections import Counter
from datetime import datetime, timedelta
from typing import Final

from sitemap import dates as w3c
from sitemap.finding import FindingCollector
from sitemap.reader.tree import LineOf

# A day begins 14 hours before UTC's in the zone that is furthest ahead, so a mere date is not in the future before
# that. A time says its zone; only clocks that differ a little are forgiven.
MAX_ZONE_OFFSET: Final = timedelta(hours=14)
MAX_CLOCK_SKEW: Final = timedelta(minutes=5)
# The web was opened to everyone in 1993; what is said to be older than 1995 is nearly always an unset clock.
OLDEST_YEAR: Final = "1995"
MIN_DATES: Final = 20  # dated entries, below which equal dates prove nothing
_MOST_SHARE: Final = 0.9  # of the dated entries within a day: churn
_DAY: Final = len("2024-05-08")
TO_THE_SECOND: Final = len("2024-05-08T08:53:11")
_SAMPLE: Final = 500  # dates
# Primes: a sample in such steps is spread, and no pattern of the document shows in it.
_STRIDES: Final = (7_919, 7_907, 7_901, 7_883)


def latest_instant(text: str) -> datetime | None:
    """The last instant that a date can mean, or None when it is no date; a mere day ends with midnight UTC."""
    begins, is_day = _begin(text)
    try:
        return begins + timedelta(days=1) if begins and is_day else begins
    except OverflowError:
        return begins


def is_future(text: str, now: datetime) -> bool:
    """Whether a day has begun nowhere on earth, or a time has not come; False for what is no date."""
    begins, is_day = _begin(text)
    return begins is not None and begins > now + (MAX_ZONE_OFFSET if is_day else MAX_CLOCK_SKEW)


def is_stamp(common: str, times: int, total: int) -> bool:
    """Whether the commonest date, to the second or a day, of ``total`` is the work of a build: it is there so often."""
    is_most = len(common) == TO_THE_SECOND and times >= MIN_DATES and times * 2 > total
    return total >= MIN_DATES and (times == total or is_most)


def _begin(text: str) -> tuple[datetime | None, bool]:
    """The first instant that a date can mean, and whether it is a mere day."""
    if begins := w3c.to_instant(
        text
    ):  # of all that :func:`sitemap.dates.read` can, what nearly all dates need
        return begins, len(text) == _DAY
    moment = w3c.read_date(text)
    return (moment.instant(), not isinstance(moment.value, datetime)) if moment else (None, False)


class DateChecks:
    """Checks the lastmods of one document, the forms of which the reader has judged; keeps them until its end."""

    def __init__(self, now: datetime, findings: FindingCollector) -> None:
        self._now = now
        self._findings = findings
        self._kept: list[str] = []
        # As strings, because that clears a batch in no time: nothing with an earlier date can be in the future, nor
        # within the last day, in any zone.
        self._may_be_future = (now - MAX_ZONE_OFFSET).date().isoformat()
        self._may_be_recent = (now - timedelta(days=1) - MAX_ZONE_OFFSET).date().isoformat()

    def check(self, lastmods: list[str], line_of: LineOf) -> None:
        """Judge a batch of lastmods, "" for those that are not known."""
        if max(lastmods) >= self._may_be_future:
            for number, text in enumerate(lastmods):
                if text >= self._may_be_future and is_future(text, self._now):
                    self._findings.add("lastmod.future", line_of(number), f"lastmod {text} is in the future")
        if min(lastmods) < OLDEST_YEAR:
            for number, text in enumerate(lastmods):
                if text and text < OLDEST_YEAR:
                    self._findings.add(
                        "lastmod.too_old", line_of(number), f"lastmod {text} is before the web"
                    )

    def keep(self, lastmods: list[str]) -> None:
        """Keep a batch of lastmods of pages, for :meth:`end`."""
        self._kept += lastmods

    def end(self, *, churn: bool) -> None:
        """Judge the dates together: of three suspicions the strongest is said, with ``churn`` also the third.

        A sample shows first whether there is anything to count: what more than half of the dates say is the commonest
        in it.
        """
        dates, self._kept = list(filter(None, self._kept)), []
        if len(dates) < MIN_DATES:
            return
        stride = next(prime for prime in _STRIDES if len(dates) % prime)
        sample = [dates[place * stride % len(dates)] for place in range(min(len(dates), _SAMPLE))]
        [(common, often)] = Counter(text[:TO_THE_SECOND] for text in sample).most_common(1)
        if often * 4 > len(sample) and self._is_stamp(common, dates):
            return
        if churn and sum(map(self._may_be_recent.__le__, sample)) * 2 > len(sample):
            recent = self._recent(dates)
            if recent >= len(dates) * _MOST_SHARE:
                self._add_finding(
                    "churn", f"{recent:,} of {len(dates):,} lastmods lie within the last 24 hours"
                )

    def _is_stamp(self, common: str, dates: list[str]) -> bool:
        """Say it, and answer True, when most dates are the same to the second, or all to the day."""
        total = len(dates)
        times = sum(text.startswith(common) for text in dates)
        if not is_stamp(common, times, total):
            return False
        if times == total:
            self._add_finding(
                "all_equal", f"all {total:,} lastmods are {common}, the time of a build, it seems"
            )
        else:
            self._add_finding("build_stamp", f"{times:,} of {total:,} lastmods are {common}, to the second")
        return True

    def _recent(self, dates: list[str]) -> int:
        """How many dates lie within the last day."""
        since, until = self._now - timedelta(days=1), self._now + MAX_CLOCK_SKEW
        return sum(
            times
            for text, times in Counter(dates).items()
            if text >= self._may_be_recent and (at := w3c.to_instant(text)) and since <= at <= until
        )

    def _add_finding(self, rule: str, sentence: str) -> None:
        self._findings.add(f"lastmod.{rule}", 0, sentence)
