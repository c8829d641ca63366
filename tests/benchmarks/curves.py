"""Draws what ``tests/benchmarks/scale.py`` measured: a panel for each figure, over the number of pages.

::

    python -m tests.benchmarks.scale --levels 3,4,5,6 --json scale.json
    python -m tests.benchmarks.curves scale.json docs/scale.svg
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from math import log10
from pathlib import Path
from xml.sax.saxutils import escape

import msgspec

from tests.benchmarks.measure import MIB
from tests.benchmarks.scale import Level

_WIDTH, _HEIGHT = 260, 200  # of a panel, with its text
_LEFT, _TOP, _RIGHT, _BOTTOM = 26, 56, 34, 26  # of the curves in it
_COLOURS = ("#06c", "#c60")  # of the first and the second curve


@dataclass(frozen=True)
class Panel:
    """One figure: what it is, and its curves by name. The axis of values begins at zero."""

    title: str
    curves: dict[str, list[float]]
    digits: int = 0


def panels(levels: list[Level]) -> list[Panel]:
    """The panels of these levels."""
    runs = {"first run": [level.first for level in levels], "second run": [level.second for level in levels]}
    pages = [level.pages for level in levels]

    def each(figure: str, values: dict[str, list[float]], digits: int = 0) -> Panel:
        return Panel(figure, values, digits)

    return [
        each(
            "processor time, ms a page",
            {name: [1000 * cost.cpu / n for cost, n in zip(costs, pages, strict=True)] for name, costs in runs.items()},
            2,
        ),
        each(
            "pages a second",
            {name: [n / cost.wall for cost, n in zip(costs, pages, strict=True)] for name, costs in runs.items()},
        ),
        each(
            "most memory of all processes, MiB",
            {name: [cost.peak / MIB for cost in costs] for name, costs in runs.items()},
        ),
        each(
            "state, bytes a page",
            {
                "without markup": [(level.state - level.markup) / level.pages for level in levels],
                "markup": [level.markup / level.pages for level in levels],
            },
        ),
    ]


def drawing(levels: list[Level]) -> str:
    """All panels in a row, as SVG."""
    pages = [level.pages for level in levels]
    drawn = "".join(_panel(panel, pages, number * _WIDTH) for number, panel in enumerate(panels(levels)))
    size = f"{_WIDTH * len(panels(levels))} {_HEIGHT}"
    style = "text{font:11px sans-serif;fill:#333}.t{font-weight:bold}.a{stroke:#bbb}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size}"><style>{style}</style>'
        f'<rect width="100%" height="100%" fill="#fff"/>{drawn}</svg>\n'
    )


def _panel(panel: Panel, pages: list[int], left: float) -> str:
    most = max(max(values) for values in panel.curves.values())
    first, last = log10(pages[0]), log10(pages[-1])
    wide, high = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM
    places = [_LEFT + wide * (log10(count) - first) / max(last - first, 1e-9) for count in pages]
    base = _TOP + high
    parts = [f'<text class="t" x="{_LEFT}" y="16">{escape(panel.title)}</text>']
    parts.append(f'<path class="a" d="M{_LEFT} {base}H{_WIDTH - _RIGHT}"/>')
    for place, count in zip(places, pages, strict=True):
        parts.append(f'<text x="{place:.0f}" y="{base + 15}" text-anchor="middle">{_short(count)}</text>')
    for number, (name, values) in enumerate(panel.curves.items()):
        colour = _COLOURS[number]
        heights = [base - high * value / most for value in values]
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in zip(places, heights, strict=True))
        parts.append(f'<text x="{_LEFT + 100 * number}" y="32" style="fill:{colour}">{escape(name)}</text>')
        parts.append(f'<polyline fill="none" stroke="{colour}" stroke-width="2" points="{points}"/>')
        for x, y, value in zip(places, heights, values, strict=True):
            parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.5" fill="{colour}"/>')
            # above the higher curve and below the lower one, so that the numbers of both can be read
            others = [other[places.index(x)] for other in panel.curves.values()]
            beside = y - 6 if value == max(others) else y + 13
            text = f"{value:,.{panel.digits}f}"
            parts.append(f'<text x="{x:.1f}" y="{beside:.1f}" text-anchor="middle" style="fill:{colour}">{text}</text>')
    return f'<g transform="translate({left})">{"".join(parts)}</g>'


def _short(count: int) -> str:
    """A number of pages in a few letters."""
    return f"{count / 1e6:.1f} M" if count >= 1_000_000 else f"{count / 1000:.0f} k"


def main(words: Sequence[str] | None = None) -> int:
    """Draw the curves."""
    parser = argparse.ArgumentParser(
        "python -m tests.benchmarks.curves", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("json", type=Path, help="what tests.benchmarks.scale --json wrote")
    parser.add_argument("svg", type=Path, help="the file to write")
    options = parser.parse_args(words)
    levels = msgspec.json.decode(options.json.read_bytes(), type=list[Level])
    options.svg.write_text(drawing(levels), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
