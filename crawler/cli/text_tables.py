"""Lays out tables and lines for the terminal: cuts long names and leaves out columns that do not fit."""

import re
import shutil
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from msgspec import Struct

UNLIMITED_WIDTH: Final = 1_000  # of a file or a pipe
_GAP: Final = "  "
_MIN_READABLE: Final = 20  # characters of a shortened cell while there are columns to leave out
_MIN_WIDTH: Final = 8  # characters of a shortened cell at least

_FLAG_AND_VALUE: Final = re.compile(r"(?<![a-z-])--[a-z-]++ '[^']*+'")
_UNBROKEN: Final = "\x1f"  # stands for a space at which no line ends


class TableColumn(Struct, frozen=True):
    """A column. Those of the least ``weight`` are left out first; 0: never. ``is_text`` cells are aligned left.

    A cell of a column that ``shrinks`` may get an ellipsis in its middle: names differ at their ends.
    """

    name: str
    weight: int = 0
    is_text: bool = False
    shrinks: bool = False


def terminal_width() -> int:
    """The width of the terminal, or of COLUMNS, in characters."""
    return shutil.get_terminal_size((UNLIMITED_WIDTH, 24)).columns


def table_lines(
    columns: Sequence[TableColumn], rows: Sequence[Sequence[str]], width: int, indent: str = "  "
) -> Iterator[str]:
    """The headings and a line for each row, of the columns that fit."""
    widths = {
        column: max(map(len, cells)) for column, *cells in zip(columns, [c.name for c in columns], *rows, strict=True)
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


def wrap(text: str, width: int, indent: str = "  ", hanging: str = "") -> Iterator[str]:
    """A sentence in lines; a URL is never broken, nor a flag and its quoted value: people copy both.

    ``hanging`` indents the second and later lines further.
    """
    if len(indent) + len(text) <= width:
        yield indent + text
        return
    lines = textwrap.wrap(
        _FLAG_AND_VALUE.sub(lambda match: match[0].replace(" ", _UNBROKEN), text),
        max(width, 40),
        initial_indent=indent,
        subsequent_indent=indent + hanging,
        break_long_words=False,
        break_on_hyphens=False,
    )
    yield from (line.replace(_UNBROKEN, " ") for line in lines)


def fitted(lines: Iterable[str]) -> str:
    """Lines as a text that fits the terminal; continuation lines are indented by two more."""
    width = terminal_width()
    texts = ((line, line.lstrip(" ")) for line in lines)
    broken = (wrap(text, width, " " * (len(line) - len(text)), "  ") for line, text in texts)
    return "".join(f"{line}\n" for parts in broken for line in parts)
