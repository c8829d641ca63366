"""Computes the charts of a report as plain numbers: bars. Draws nothing."""

from collections.abc import Iterable, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from crawler.audit.finding import AuditPoint, BotActivity, HistogramBar
from crawler.audit.verdict import utc_minute
from sitemap import Severity

_MIN_VISIBLE: Final = 0.01  # the length of the shortest bar, so that it is visible


class ChartBar(Struct, frozen=True):
    """A bar to draw. ``share`` is its part of the total, ``length`` of the longest bar; both from 0 to 1.

    ``counts`` are those that ``count`` sums up, if there are several series.
    """

    label: str
    count: int
    share: float
    length: float
    counts: list[int] = []


def share_of(count: int, total: int) -> float:
    """A share from 0 to 1; 0 if the total is 0."""
    return min(count / total, 1.0) if total > 0 else 0.0


def chart_bars(bars: Sequence[HistogramBar]) -> list[ChartBar]:
    """The bars of a histogram, in their order."""
    total, longest = sum(bar.count for bar in bars), max((bar.count for bar in bars), default=0)
    return [
        ChartBar(
            bar.label,
            bar.count,
            share_of(bar.count, total),
            max(share_of(bar.count, longest), _MIN_VISIBLE * (bar.count > 0)),
        )
        for bar in bars
    ]


MAX_DAYS: Final = 31
"""Days in the chart of bot activity: the last ones."""
MAX_HISTORY: Final = 24
"""Audits in the chart of the history: the last ones."""


def day_chart(activity: BotActivity) -> list[ChartBar]:
    """The requests of bots by day and kind of bot, the last day first."""
    days = [row for row in activity.by_day if row.day][-MAX_DAYS:]
    kinds = activity.total.requests
    return _bars_of_series((row.day, [row.requests.get(kind, 0) for kind in kinds]) for row in reversed(days))


def history_chart(history: Sequence[AuditPoint]) -> list[ChartBar]:
    """The findings of the last audits by severity, the last audit first; none for fewer than two audits."""
    points = reversed(history[-MAX_HISTORY:] if len(history) > 1 else ())
    names = [severity.value for severity in sorted(Severity, reverse=True)]
    return _bars_of_series(
        (utc_minute(point.started)[:10], [point.severities.get(name, 0) for name in names]) for point in points
    )


def _bars_of_series(rows: Iterable[tuple[str, list[int]]]) -> list[ChartBar]:
    rows = list(rows)
    bars = chart_bars([HistogramBar(label, sum(counts)) for label, counts in rows])
    return [replace(bar, counts=counts) for bar, (_, counts) in zip(bars, rows, strict=True)]
