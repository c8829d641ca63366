"""Computes the charts of a report as plain numbers: bars and trends. Draws nothing."""

from collections.abc import Sequence
from datetime import date
from typing import Final

from msgspec import Struct

from crawler.audit.finding import AuditPoint, BotActivity, HistogramBar
from crawler.audit.sources.logs.bots import BotKind
from crawler.audit.verdict import utc_minute
from sitemap import Severity

_MIN_VISIBLE: Final = 0.01  # the length of the shortest bar, so that it is visible


class ChartBar(Struct, frozen=True):
    """A bar to draw. ``share`` is its part of the total, ``length`` of the longest bar; both from 0 to 1."""

    label: str
    count: int
    share: float
    length: float


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


class StackedBar(Struct, frozen=True):
    """A bar of a :class:`StackedChart`: its ``counts`` by series, and series, y and height of each of its ``parts``."""

    label: str
    counts: list[int]
    x: float
    width: float
    parts: list[tuple[int, float, float]]


class StackedChart(Struct, frozen=True):
    """Bars, each stacked from the counts of ``series``, whose colours are ``tones`` of the style.

    ``lines`` are y and label of the horizontal lines. ``marks`` are x and label of the first bar and of the last one:
    the first label begins at its x, the last one ends there. The unit of all lengths is a pixel of a phone.
    """

    series: list[str]
    tones: list[str]
    bars: list[StackedBar]
    lines: list[tuple[float, str]]
    marks: list[tuple[float, str]]

    def words(self, bar: StackedBar) -> str:
        """A bar in words: ``2026-11-21: search engines 12, other bots 3``."""
        counts = zip(self.series, bar.counts, strict=True)
        return f"{bar.label}: {', '.join(f'{name} {count:,}' for name, count in counts if count) or 'none'}"


STACK_WIDTH, STACK_HEIGHT = 360, 150  # of the drawing
_STACK_LEFT, _STACK_TOP, _STACK_BOTTOM = 44.0, 10.0, 130.0  # of the area of the bars
_MAX_BAR: Final = 40.0  # the width of a bar


def stacked_chart(
    series: Sequence[tuple[str, str]], columns: Sequence[tuple[int, str, Sequence[int]]]
) -> StackedChart | None:
    """A chart of columns, each a place, a label, and its counts by series (name and tone); None without any count.

    Places are whole numbers in ascending order: a place without a column is a gap.
    """
    highest = max((sum(counts) for _, _, counts in columns), default=0)
    if not highest:
        return None
    top = _round_up(highest)
    first = columns[0][0]
    step = (STACK_WIDTH - _STACK_LEFT) / (columns[-1][0] - first + 1)
    width = min(max(step - 1, step * 0.7), _MAX_BAR)
    bars = []
    for place, label, counts in columns:
        x, y = _STACK_LEFT + (place - first + 0.5) * step - width / 2, _STACK_BOTTOM
        parts = []
        for number, count in enumerate(counts):
            height = count / top * (_STACK_BOTTOM - _STACK_TOP)
            y -= height
            if count:
                parts.append((number, y, height))
        bars.append(StackedBar(label, list(counts), x, width, parts))
    lines = [
        (_STACK_BOTTOM - share * (_STACK_BOTTOM - _STACK_TOP), _short_count(round(top * share)))
        for share in ((0, 0.5, 1) if top > 1 else (0, 1))
    ]
    ends = [bars[0], *([bars[-1]] if len(bars) > 1 else [])]
    names, tones = map(list, zip(*series, strict=True))
    return StackedChart(
        names, tones, bars, lines, [(bar.x + bar.width * place, bar.label) for place, bar in enumerate(ends)]
    )


def _round_up(count: int) -> int:
    """The next of 1, 2, 4, 6, 8 or 10 times a power of ten: half of it is easy to read."""
    unit = int(10 ** (len(str(count)) - 1))
    return next(number * unit for number in (1, 2, 4, 6, 8, 10) if number * unit >= count)


def _short_count(count: int) -> str:
    """``800``, ``1.5k``, ``20M``."""
    for unit, letter in ((10**6, "M"), (10**3, "k")):
        if count >= unit:
            return f"{count / unit:.1f}".removesuffix(".0") + letter
    return str(count)


MAX_DAYS: Final = 92
"""Days in the chart of bot activity: the last three months."""
MAX_HISTORY: Final = 24
"""Audits in the chart of the history: the last ones."""


def day_chart(activity: BotActivity) -> StackedChart | None:
    """The requests of bots by day and kind of bot; a day without logs is a gap."""
    kinds = list(activity.total.requests)
    days = [(date.fromisoformat(row.day).toordinal(), row) for row in activity.by_day if row.day]
    last = days[-1][0] if days else 0
    columns = [
        (place, row.day, [row.requests.get(kind, 0) for kind in kinds])
        for place, row in days
        if place > last - MAX_DAYS
    ]
    tones = [f"series-{number}" for number, kind in enumerate(BotKind, 1) if kind in kinds]
    return stacked_chart(list(zip(kinds, tones, strict=True)), columns)


def history_chart(history: Sequence[AuditPoint]) -> StackedChart | None:
    """The findings of the last audits by severity; None for fewer than two audits."""
    severities = [severity.value for severity in sorted(Severity, reverse=True)]
    columns = [
        (place, utc_minute(point.started)[:10], [point.severities.get(name, 0) for name in severities])
        for place, point in enumerate(history[-MAX_HISTORY:])
    ]
    return stacked_chart([(f"{name}s", name) for name in severities], columns) if len(columns) > 1 else None
