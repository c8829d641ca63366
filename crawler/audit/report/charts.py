"""Works out the pictures of a report as plain numbers: bars of a histogram, tiles of a treemap. Draws nothing."""

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from crawler.audit.finding import HistogramBar, SiteSection

MAX_TILES: Final = 40  # sections that get a tile; more would be slivers
_MIN_VISIBLE: Final = 0.01  # the length of a bar for next to nothing: that there is something is to be seen
_WIDTH, _HEIGHT = 100.0, 46.0  # of the treemap: a wide screen's; it is stretched to what there is
_PHONE, _LETTER, _MARGIN = (
    290,
    7,
    12,
)  # pixels: the picture on a phone, a small letter, and what is beside a name
_SHADES: Final = (0.0, 0.01, 0.05, 0.10, 0.25)  # shares of orphans above which a tile is one shade darker


class ChartBar(Struct, frozen=True):
    """A bar that is ready to be drawn. ``share`` is its part of all, ``length`` of the longest; both from 0 to 1."""

    label: str
    count: int
    share: float
    length: float


class Tile(Struct, frozen=True):
    """A section in the treemap: place and size in percent of the picture, and a shade from 0 (no orphans) to 5."""

    label: str
    pages: int
    orphans: int
    x: float
    y: float
    width: float
    height: float
    path: str | None  # of the one section that it stands for, None: of several

    @property
    def share(self) -> float:
        """The orphans among its pages, from 0 to 1."""
        return share_of(self.orphans, self.pages)

    @property
    def shade(self) -> int:
        """How dark it is."""
        return shade_of(self.share)

    @property
    def room(self) -> str:
        """How much can be written on it: "wide"; "some", on a phone its name; "slim", nothing there; or "none"."""
        if self.height < 12 or self.width < 7:
            return "none"
        if self.width >= 30:
            return "wide"
        return "some" if len(self.label) * _LETTER + _MARGIN <= self.width * _PHONE / 100 else "slim"


def share_of(count: int, total: int) -> float:
    """A share from 0 to 1, of nothing 0."""
    return min(count / total, 1.0) if total > 0 else 0.0


def shade_of(share: float) -> int:
    """The shade of a share of orphans: 0 for none, else the greater the darker."""
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
    """The treemap: the largest section first, those that would be too small to see as one."""
    import squarify  # noqa: PLC0415 - only who draws pays for it

    largest = sorted((each for each in sections if each.pages > 0), key=lambda each: -each.pages)
    shown, rest = largest[:MAX_TILES], largest[MAX_TILES:]
    named: list[tuple[str, str | None, int, int]] = [
        (each.path, each.path, each.pages, each.orphans) for each in shown
    ]
    if rest:
        others = (sum(each.pages for each in rest), sum(each.orphans for each in rest))
        named.append((f"{len(rest):,} more sections", None, *others))
        named.sort(key=lambda each: -each[2])
    sizes = squarify.normalize_sizes([each[2] for each in named], _WIDTH, _HEIGHT)
    places = squarify.squarify(sizes, 0.0, 0.0, _WIDTH, _HEIGHT) if named else []
    return [
        Tile(
            label, pages, orphans, place["x"], place["y"] * 100 / _HEIGHT,
            place["dx"], place["dy"] * 100 / _HEIGHT, path,
        )
        for (label, path, pages, orphans), place in zip(named, places, strict=True)
    ]  # fmt: skip
