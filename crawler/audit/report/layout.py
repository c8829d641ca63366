"""Lays out text for a terminal: lines that fit its width, broken between words, never inside a URL; and tables."""

import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, TextIO

from msgspec import Struct

MIN_WIDTH: Final = 20
"""Columns. A narrower terminal gets lines of this width."""
_COMMON_WIDTH: Final = 80  # of a terminal that does not tell its width
_COLOUR_CODE: Final = re.compile("\x1b\\[[0-9;]*m")
_GAP: Final = re.compile(" {2,}")  # between the parts of a line
_GLUE: Final = "\x1f"  # stands for a space at which no line ends
_GLUED: Final = re.compile(r"(?<![a-z-])--[a-z-]++ '[^']*+'|(?<![^ (])[-+~<>→…] |\d{4}-\d\d-\d\d (?=\d\d:)")


class Line(Struct, frozen=True):
    """A line whose ``head`` is never broken. Later lines of ``text`` begin below the first one.

    A line to be copied, such as a command, is a head only.
    """

    head: str
    text: str = ""


def output_width(stream: TextIO) -> int:
    """The width of a stream in columns: COLUMNS, else that of the terminal; 0 for a file or a pipe without COLUMNS.

    0 stands for lines of any length.
    """
    columns = os.environ.get("COLUMNS", "")
    if columns.isdecimal() and int(columns):
        return int(columns)
    if not stream.isatty():
        return 0
    try:
        return os.get_terminal_size(stream.fileno()).columns or _COMMON_WIDTH
    except OSError:
        return _COMMON_WIDTH


def columns(text: str) -> int:
    """The columns that a text takes on a terminal, without its colours: Chinese characters take two."""
    plain = _COLOUR_CODE.sub("", text).replace(_GLUE, " ")
    if plain.isascii():
        return len(plain)
    from rich.cells import cell_len  # noqa: PLC0415 - most texts are ASCII

    return cell_len(plain)


def wrap(text: str, width: int, first: str = "", rest: str = "") -> Iterator[str]:
    """A text in lines of at most ``width`` columns; 0: in one line.

    ``first`` begins the first line, ``rest`` the others. A line ends between two parts of the text, which two or more
    spaces separate, or else between two words. A word longer than a line stays whole, such as a URL. A sign stays with
    the word after it, a flag with its quoted value, and a date with its time.
    """
    width = max(width, MIN_WIDTH) if width else 0
    if not width or columns(first + text) <= width:
        yield first + text
        return
    line, is_begun = first, False
    for gap, part in _split_parts(text):
        is_whole = columns(f"{line}{gap}{part}") <= width or (is_begun and columns(rest + part) <= width)
        words = [part] if is_whole else part.split(" ")
        for number, word in enumerate(words):
            space = (" " if number else gap) if is_begun else ""
            must_break = columns(f"{line}{space}{word}") > width or (not number and not is_whole)
            if is_begun and must_break:
                yield line.replace(_GLUE, " ")
                line, space = rest, ""
            line, is_begun = f"{line}{space}{word}", True
    yield line.replace(_GLUE, " ")


def _split_parts(text: str) -> Iterator[tuple[str, str]]:
    """The parts of a text, each with the gap before it."""
    glued = _GLUED.sub(lambda match: match[0].replace(" ", _GLUE), text)
    gaps = ["", *_GAP.findall(glued)]
    return zip(gaps, _GAP.split(glued), strict=True)


def fit(line: str | Line, width: int) -> Iterator[str]:
    """A line in lines that fit ``width``. Those of a ``str`` are indented by two more than its first one."""
    if isinstance(line, str):
        text = line.lstrip(" ")
        indent = " " * (len(line) - len(text))
        return wrap(text, width, indent, f"{indent}  ")
    return wrap(line.text, width, line.head, " " * columns(line.head)) if line.text else iter([line.head])


def fitted(lines: Iterable[str | Line]) -> str:
    """Lines as a text for standard output, which fits the terminal."""
    width = output_width(sys.stdout)
    return "".join(f"{part}\n" for line in lines for part in fit(line, width))


_COMMENT: Final = re.compile(r" *+# ( {4})?(?=\S)(?!\w++ =)").match  # neither a command nor a setting


def fitted_file(text: str) -> str:
    """A file for standard output: on a terminal, comments fit its width, and all else stays as it is."""
    width = output_width(sys.stdout)
    lines: list[str] = []
    for line in text.splitlines():
        mark = _COMMENT(line)
        lines += wrap(line[mark.end() :], width, mark[0], mark[0]) if mark else [line]
    return "".join(f"{line}\n" for line in lines)


_CELL_GAP: Final = "  "
_MIN_READABLE: Final = 20  # characters of a shortened cell while there are columns to leave out
_MIN_CELL: Final = 8  # characters of a shortened cell at least


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
        return (
            width and len(indent) + sum(widths[column] for column in shown) + len(_CELL_GAP) * (len(shown) - 1) - width
        )

    def shrink(least: int) -> None:
        for column in (column for column in shown if column.shrinks and over() > 0):
            widths[column] = max(min(least, widths[column]), widths[column] - over())

    shrink(_MIN_READABLE)
    while over() > 0 and (rest := [column for column in shown if column.weight]):
        shown.remove(min(rest, key=lambda column: column.weight))
        widths.update(whole)
        shrink(_MIN_READABLE)
    shrink(_MIN_CELL)
    chosen = [columns.index(column) for column in shown]
    for row in ([column.name for column in columns], *rows):
        cells = [_cell(row[number], columns[number], widths[columns[number]]) for number in chosen]
        yield f"{indent}{_CELL_GAP.join(cells)}".rstrip()


def _cell(text: str, column: TableColumn, width: int) -> str:
    if len(text) > width:
        head = width // 2
        text = f"{text[:head]}…{text[len(text) - (width - head - 1) :]}"
    return text.ljust(width) if column.is_text else text.rjust(width)
