"""Tables and lines that fit the terminal: long names are cut, and columns left out, before one is wider than it."""

import shutil
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from msgspec import Struct

UNLIMITED_WIDTH: Final = 1_000  # what is written to a file or a pipe has no edge
_GAP: Final = "  "
_MIN_READABLE: Final = 20  # characters that a shortened cell keeps while there are columns to leave out
_MIN_WIDTH: Final = 8  # that it keeps at least


class TableColumn(Struct, frozen=True):
    """``weight`` says how much it is missed: those of the least are left out first, 0 never. ``is_text`` stays left.

    A cell of one that ``shrinks`` may be cut, with an ellipsis in its middle: what tells names apart is at their ends.
    """

    name: str
    weight: int = 0
    is_text: bool = False
    shrinks: bool = False


def terminal_width() -> int:
    """Characters of a line of the terminal that is written to, or as COLUMNS says."""
    return shutil.get_terminal_size((UNLIMITED_WIDTH, 24)).columns


def table_lines(
    columns: Sequence[TableColumn], rows: Sequence[Sequence[str]], width: int, indent: str = "  "
) -> Iterator[str]:
    """The head and then a line for each row, of the columns that fit."""
    widths = {
        column: max(map(len, cells))
        for column, *cells in zip(columns, [c.name for c in columns], *rows, strict=True)
    }
    shown, whole = list(columns), dict(widths)

    def over() -> int:
        return len(indent) + sum(widths[column] for column in shown) + len(_GAP) * (len(shown) - 1) - width

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


def wrap(text: str, width: int, indent: str = "  ", more: str = "") -> Iterator[str]:
    """A sentence in lines; what cannot be broken, as a URL, stays whole. ``more`` indents the second and all others."""
    if len(indent) + len(text) <= width:
        yield indent + text
        return
    yield from textwrap.wrap(
        text,
        max(width, 40),
        initial_indent=indent,
        subsequent_indent=indent + more,
        break_long_words=False,
        break_on_hyphens=False,
    )


def fitted(lines: Iterable[str]) -> str:
    """Lines as a text that fits the terminal: what is too long goes on in lines that are indented by two more."""
    width = terminal_width()
    texts = ((line, line.lstrip(" ")) for line in lines)
    broken = (wrap(text, width, " " * (len(line) - len(text)), "  ") for line, text in texts)
    return "".join(f"{line}\n" for parts in broken for line in parts)
