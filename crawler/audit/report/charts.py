"""Computes the charts of a report as plain numbers: bars of a histogram, tiles of a treemap. Draws nothing."""

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from crawler.audit.finding import HistogramBar, SiteSection

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
        """How much text fits: "wide"; "some", its name on a phone; "slim", none on a phone; or "none"."""
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
    sizes = squarify.normalize_sizes([section[2] for section in named], _WIDTH, _HEIGHT)
    rectangles = squarify.squarify(sizes, 0.0, 0.0, _WIDTH, _HEIGHT) if named else []
    return [
        Tile(
            label, pages, orphans, rectangle["x"], rectangle["y"] * 100 / _HEIGHT,
            rectangle["dx"], rectangle["dy"] * 100 / _HEIGHT, path,
        )
        for (label, path, pages, orphans), rectangle in zip(named, rectangles, strict=True)
    ]  # fmt: skip
