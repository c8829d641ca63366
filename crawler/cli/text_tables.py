"""Lays out tables for the terminal: cuts long names and leaves out columns that do not fit."""

from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct

_GAP: Final = "  "
_MIN_READABLE: Final = 20  # characters of a shortened cell while there are columns to leave out
_MIN_WIDTH: Final = 8  # characters of a shortened cell at least


class TableColumn(Struct, frozen=True):
    """A column. Those of the least ``weight`` are left out first; 0: never. ``is_text`` cells are aligned left.

    A cell of a column that ``shrinks`` may get an ellipsis in its middle: names differ at their ends.
    """

    name: str
    weight: int = 0
    is_text: bool = False
    shrinks: bool = False


def table_lines(
    columns: Sequence[TableColumn], rows: Sequence[Sequence[str]], width: int, indent: str = "  "
) -> Iterator[str]:
    """The headings and a line for each row, of the columns that fit ``width``; 0: all of them."""
    widths = {
        column: max(map(len, cells)) for column, *cells in zip(columns, [c.name for c in columns], *rows, strict=True)
    }
    shown, whole = list(columns), dict(widths)

    def over() -> int:
        return width and len(indent) + sum(widths[column] for column in shown) + len(_GAP) * (len(shown) - 1) - width

    def shrink(least: int) -> None:
        for column in (column for column in shown if column.shrinks and over() > 0):
            widths[column] = max(min(least, widths[column]), widths[column] - over())

    shrink(_MIN_READABLE)
    while over() > 0 and (rest := [column for column in shown if column.weight]):
        shown.remove(min(rest, key=lambda column: column.weight))
        widths.update(whole)
        shrink(_MIN_READABLE)
    shrink(_MIN_WIDTH)
    chosen = [columns.index(column) for column in shown]
    for row in ([column.name for column in columns], *rows):
        cells = [_cell(row[number], columns[number], widths[columns[number]]) for number in chosen]
        yield f"{indent}{_GAP.join(cells)}".rstrip()


def _cell(text: str, column: TableColumn, width: int) -> str:
    if len(text) > width:
        head = width // 2
        text = f"{text[:head]}…{text[len(text) - (width - head - 1) :]}"
    return text.ljust(width) if column.is_text else text.rjust(width)
