"""Computes the charts of a report as plain numbers: bars, treemap, link matrix, islands, trends. Draws nothing."""

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import date
from math import log, sqrt
from typing import Final

from msgspec import Struct

from crawler.audit.finding import (
    AuditPoint,
    BotActivity,
    HistogramBar,
    SectionLinks,
    SegmentDepth,
    SiteSection,
    SiteSegment,
)
from crawler.audit.report.html_data import OrphanIsland
from crawler.audit.sources.logs.bots import BotKind
from crawler.audit.verdict import utc_minute
from sitemap import Severity

MAX_TILES: Final = 40  # sections that get a tile; more would be slivers
_MIN_VISIBLE: Final = 0.01  # the length of the shortest bar, so that it is visible
_WIDTH, _HEIGHT = 100.0, 46.0  # of the treemap: a wide screen's; the browser stretches it
_PHONE, _LETTER, _MARGIN = (290, 7, 12)  # pixels: the width on a phone, a small letter, and the margin of a name
_SHADES: Final = (0.0, 0.01, 0.05, 0.10, 0.25)  # shares of orphans above which a tile is one shade darker


class ChartBar(Struct, frozen=True):
    """A bar to draw. ``share`` is its part of the total, ``length`` of the longest bar; both from 0 to 1."""

    label: str
    count: int
    share: float
    length: float


class Tile(Struct, frozen=True):
    """A section in the treemap: position and size in percent of the chart, and a shade from 0 (no orphans) to 5."""

    label: str
    pages: int
    orphans: int
    x: float
    y: float
    width: float
    height: float
    path: str | None  # of the section; None: the tile stands for several
    number: int = 0  # in the table of sections, 0: it is not there

    @property
    def share(self) -> float:
        """The orphans among its pages, from 0 to 1."""
        return share_of(self.orphans, self.pages)

    @property
    def shade(self) -> int:
        """How dark it is, from 0 to 5."""
        return shade_of(self.share)

    @property
    def room(self) -> str:
        """How much text fits: "wide"; "some", its name on a phone; "slim", none on a phone; "none", or "tiny".

        Where no name fits, a number does, but a "tiny" tile has room for it on a large screen only.
        """
        if self.height < 4 or self.width < 6:
            return "tiny"
        if self.height < 12 or self.width < 7:
            return "none"
        if self.width >= 30:
            return "wide"
        return "some" if len(self.label) * _LETTER + _MARGIN <= self.width * _PHONE / 100 else "slim"


def share_of(count: int, total: int) -> float:
    """A share from 0 to 1; 0 if the total is 0."""
    return min(count / total, 1.0) if total > 0 else 0.0


def shade_of(share: float) -> int:
    """The shade of a share of orphans: 0 for none, 5 for the largest."""
    return sum(share > bound for bound in _SHADES)


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


class SegmentRow(Struct, frozen=True):
    """A segment with the length of its bar, from 0 to 1: the share of orphans, compared with the largest share."""

    segment: SiteSegment
    share: float
    length: float


def segment_rows(segments: Sequence[SiteSegment]) -> list[SegmentRow]:
    """The rows of the table of segments, in their order."""
    shares = [share_of(segment.orphans, segment.pages) for segment in segments]
    largest = max(shares, default=0.0)
    return [SegmentRow(segment, share, share / (largest or 1)) for segment, share in zip(segments, shares, strict=True)]


def treemap_tiles(sections: Sequence[SiteSection]) -> list[Tile]:
    """The tiles of the treemap, the largest first; the smallest sections share one."""
    import squarify  # noqa: PLC0415 - only the HTML report needs it

    largest = sorted((section for section in sections if section.pages > 0), key=lambda section: -section.pages)
    shown, rest = largest[:MAX_TILES], largest[MAX_TILES:]
    named: list[tuple[str, str | None, int, int]] = [
        (section.path, section.path, section.pages, section.orphans) for section in shown
    ]
    if rest:
        others = (sum(section.pages for section in rest), sum(section.orphans for section in rest))
        named.append((f"{len(rest):,} more sections", None, *others))
        named.sort(key=lambda section: -section[2])
    numbers = {section.path: number for number, section in enumerate(largest, 1)}
    sizes = squarify.normalize_sizes([section[2] for section in named], _WIDTH, _HEIGHT)
    rectangles = squarify.squarify(sizes, 0.0, 0.0, _WIDTH, _HEIGHT) if named else []
    return [
        Tile(
            label, pages, orphans, rectangle["x"], rectangle["y"] * 100 / _HEIGHT,
            rectangle["dx"], rectangle["dy"] * 100 / _HEIGHT, path, numbers.get(path or "", 0),
        )
        for (label, path, pages, orphans), rectangle in zip(named, rectangles, strict=True)
    ]  # fmt: skip


class MatrixDot(Struct, frozen=True):
    """The links from one section to another: a square in the middle of the cell at ``x`` and ``y``."""

    source: str
    target: str
    links: int
    x: float
    y: float
    size: float


class LinkMatrix(Struct, frozen=True):
    """Who links to whom: row by row. ``labels`` are the sections; ``unlinked`` are those that no other links to."""

    labels: list[str]
    dots: list[MatrixDot]
    unlinked: list[str]

    @property
    def width(self) -> int:
        """Of the drawing, whose unit is a pixel of a phone."""
        return _LABEL_WIDTH + len(self.labels) * CELL

    @property
    def height(self) -> int:
        """Of the drawing."""
        return (len(self.labels) + 1) * CELL

    def links(self, source: str, target: str) -> int:
        """The number of links from a section to another."""
        return next((dot.links for dot in self.dots if (dot.source, dot.target) == (source, target)), 0)


CELL: Final = 20  # the width of a cell of the matrix, in pixels of a phone
_LABEL_WIDTH: Final = 108  # of the names of its rows
_SMALLEST_DOT: Final = 4


def link_matrix(links: Sequence[SectionLinks], sections: Sequence[SiteSection]) -> LinkMatrix | None:
    """The matrix of links between sections; None if there are not at least two. The size grows with the logarithm."""
    found = {name for pair in links for name in (pair.source, pair.target)}
    labels = [section.path for section in sections if section.path in found]
    labels += sorted(found.difference(labels))
    if len(labels) < 2:
        return None
    places = {label: place for place, label in enumerate(labels)}
    most = log(1 + max(pair.links for pair in links))
    dots = []
    for pair in links:
        size = _SMALLEST_DOT + (CELL - 2 - _SMALLEST_DOT) * log(1 + pair.links) / most
        x, y = _LABEL_WIDTH + (places[pair.target] + 0.5) * CELL, (places[pair.source] + 1.5) * CELL
        dots.append(MatrixDot(pair.source, pair.target, pair.links, x - size / 2, y - size / 2, size))
    linked = {pair.target for pair in links if pair.source != pair.target}
    return LinkMatrix(labels, dots, [label for label in labels if label not in linked])


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


_MAX_SEGMENTS: Final = 5  # with a colour each


def segment_depth_chart(depths: Sequence[SegmentDepth]) -> StackedChart | None:
    """The pages by depth and segment; the smaller segments share a colour. None without segments."""
    totals = sum((Counter(row.pages) for row in depths), Counter[str]())
    names = [name for name, _ in totals.most_common(_MAX_SEGMENTS)]
    others = len(totals) > len(names)
    series = [(name or "all other pages", f"series-{number}") for number, name in enumerate(names, 1)]
    columns = []
    for place, row in enumerate(depths):
        counts = [row.pages.get(name, 0) for name in names]
        columns.append((place, row.label, [*counts, sum(row.pages.values()) - sum(counts)][: len(names) + others]))
    return stacked_chart([*series, *([("other segments", "series-6")] if others else [])], columns)


class IslandShape(Struct, frozen=True):
    """An island: a circle whose area grows with its ``pages``. ``url`` is the page to link."""

    url: str
    pages: int
    x: float
    y: float
    radius: float


class OrphanDots(Struct, frozen=True):
    """The orphans of one class: dots in rows below the text at ``y``, each for ``pages_per_dot`` pages at most."""

    title: str
    pages: int
    pages_per_dot: int
    y: float
    dots: list[tuple[float, float]]


class IslandMap(Struct, frozen=True):
    """The orphans as islands off the mainland, which is the site; ``more`` islands are not drawn."""

    height: float
    islands: list[IslandShape]
    more: int
    dots: list[OrphanDots]


SEA_WIDTH: Final = 360  # pixels of a phone
MAINLAND: Final = 64  # its height
_MAX_ISLANDS: Final = 30
_DOTS_PER_ROW: Final = 36
_MAX_DOTS: Final = 3 * _DOTS_PER_ROW


def island_map(islands: Sequence[OrphanIsland], orphans: Iterable[tuple[str, int]]) -> IslandMap | None:
    """The map of the islands and of the other orphans, given as class and number; None if there are no orphans."""
    shapes: list[IslandShape] = []
    x, y, row_height = 10.0, MAINLAND + 36.0, 0.0
    for island in sorted(islands, key=lambda island: -island.pages)[:_MAX_ISLANDS]:
        radius = min(6 + 3 * sqrt(island.pages), 40)
        if x + 2 * radius > SEA_WIDTH - 10:
            x, y, row_height = 10.0, y + row_height + 8, 0.0
        shapes.append(IslandShape(island.entry.url, island.pages, x + radius, y + radius, radius))
        x, row_height = x + 2 * radius + 8, max(row_height, 2 * radius)
    y += row_height + 24 if shapes else 0
    rows = []
    for title, pages in orphans:
        per_dot = -(-pages // _MAX_DOTS)
        number = -(-pages // per_dot)
        dots = [(14 + place % _DOTS_PER_ROW * 9.4, y + 14 + place // _DOTS_PER_ROW * 10.0) for place in range(number)]
        rows.append(OrphanDots(title, pages, per_dot, y, dots))
        y = dots[-1][1] + 30
    if not shapes and not rows:
        return None
    return IslandMap(y - 6, shapes, max(0, len(islands) - _MAX_ISLANDS), rows)
