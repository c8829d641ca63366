"""Turns the text of a table into rows of cells, whatever separates them. An empty row ends a table."""

import csv
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import islice
from typing import Final

from crawler.evidence.exports.text import Text

NO_SEPARATOR: Final = "\x1f"  # a list: every line is one cell
_SEPARATORS: Final = "\t;,|"
_LOOKED_AT: Final = 200  # lines from which the separator is learnt
_URL_STARTS: Final = ("http://", "https://", "/")
_TABLES: Final = (".csv", ".tsv", ".csv.gz", ".tsv.gz")


class Cells:
    """The rows of a text. ``remarks`` are the comment lines since somebody took them, ``broken`` rows left out."""

    def __init__(self, text: Text, name: str) -> None:
        self.remarks: list[str] = []
        self.broken = 0
        self.separator, self._told = _separator(text.head, name)
        self._text = text

    def __iter__(self) -> Iterator[list[str]]:
        reader = csv.reader(self._lines(), delimiter=self.separator)
        is_list = self.separator == NO_SEPARATOR
        at_head = True
        while True:
            try:
                row = next(reader)
            except StopIteration:
                return
            except csv.Error:  # a cell that is too long, mostly because its quotation mark is never closed
                self.broken += 1
                continue
            if not any(row):
                at_head = True
                if not is_list:
                    yield []
            elif (at_head or is_list) and _is_remark(row):
                at_head = True
                self.remarks.append(" ".join(row)[:500])
                del self.remarks[:-100]
                if not is_list:
                    yield []
            else:
                at_head = False
                yield row

    def _lines(self) -> Iterator[str]:
        """The lines, and no quotation marks in comments, where they would open a cell."""
        lines = self._text.lines()
        if self._told:
            next(lines)
        at_head = True
        for line in lines:
            if at_head and line.startswith("#"):
                yield line.replace('"', "") if line.rstrip().count('"') % 2 else line
            else:
                at_head = line.isspace()
                yield line


def _is_remark(row: list[str]) -> bool:
    """A ``#`` alone is the name of the column with the numbers of the rows."""
    return row[0].startswith("#") and (len(row) == 1 or row[0].strip() != "#")


def _separator(head: str, name: str) -> tuple[str, bool]:
    """What separates cells, and whether a first line says so, as Excel understands it (``sep=;``)."""
    lines = head.splitlines(keepends=True)[: _LOOKED_AT * 2]
    first = lines[0].strip().strip('"') if lines else ""
    if first.lower().startswith("sep=") and len(first) == 5:
        return first[4], True
    lines = [line for line in lines if not line.isspace() and not line.startswith("# ")][:_LOOKED_AT]
    best = max(_SEPARATORS, key=lambda each: _fit(lines, each))
    if _fit(lines, best)[0] < 0.75:
        return NO_SEPARATOR, False
    # a URL may hold every separator but the tab; a list has no header, or one of a single name
    is_list = lines[0].lower().startswith(_URL_STARTS) and not name.lower().endswith(_TABLES)
    is_list |= best not in lines[0] and any(line.lower().startswith(_URL_STARTS) for line in lines[1:2])
    return (NO_SEPARATOR if is_list and best != "\t" else best), False


def _fit(lines: Iterable[str], separator: str) -> tuple[float, int]:
    """The share of rows that have the usual number of cells, when that is two or more, and that number."""
    reader = csv.reader(lines, delimiter=separator)
    widths: Counter[int] = Counter()
    with suppress(csv.Error):
        widths.update(len(row) for row in islice(reader, _LOOKED_AT) if row)
    wide = [(count, width) for width, count in widths.items() if width > 1]
    if not wide:
        return 0.0, 0
    _, width = max(wide)
    return round(sum(count for count, _ in wide) / widths.total(), 1) - 0.05 * len(wide), width
