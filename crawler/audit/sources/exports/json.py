"""Reads JSON as rows of cells: API answers, arrays of objects or texts, or one value a line. In flat memory."""

import json
from collections.abc import Iterator
from itertools import chain, islice
from typing import Any, Final

import msgspec

from crawler.audit.sources.exports.csv import MAX_LINE, ExportText

CONTAINERS: Final = frozenset({"rows", "results", "reports", "data", "items", "urls", "pages", "d", "value"})
"""Members of an object whose arrays hold its rows."""

_NAMES: Final = {"dimensionHeaders": "dimensionValues", "metricHeaders": "metricValues"}
_SAMPLE_ROWS: Final = 200  # values whose members become columns
_MAX_CELLS: Final = 20  # of an array
_decode_line = msgspec.json.Decoder().decode
_decoder = json.JSONDecoder()


class JsonRows:
    """The rows of a JSON text; the first are the column names, unless it is a list. ``skipped`` counts broken rows."""

    def __init__(self, text: ExportText) -> None:
        self.comments: list[str] = []
        self.skipped = 0
        self.by_line = _is_json_lines(text.head)
        self._text = text
        self._names: dict[str, list[str]] = {}  # of array values, as in GA4 answers

    def __iter__(self) -> Iterator[list[str]]:
        values = self._line_values() if self.by_line else self._document_values()
        cells = (self._cells(value) for value in values)
        first = list(islice(cells, _SAMPLE_ROWS))
        header = list(dict.fromkeys(name for row in first for name in row))
        if header != [""]:
            yield header
        for row in chain(first, cells):
            if row:
                yield [row.get(name, "") for name in header]

    def _line_values(self) -> Iterator[Any]:
        for line in self._text.lines():
            if line.isspace():
                continue
            try:
                value = _decode_line(line)
            except (msgspec.DecodeError, RecursionError, ValueError):
                self.skipped += 1
                continue
            yield from self._inner(value)

    def _inner(self, value: Any) -> Iterator[Any]:
        """The values of a container, or the value itself."""
        if isinstance(value, list):
            for item in value:
                yield from self._inner(item)
        elif isinstance(value, dict):
            self._learn_names(value)
            lists = [value[name] for name in value if name in CONTAINERS and isinstance(value[name], list)]
            if not lists and not (value.keys() & _NAMES.keys()):
                yield value
            for item in chain.from_iterable(lists):
                yield from self._inner(item)
        else:
            yield value

    def _learn_names(self, value: dict[str, Any]) -> None:
        for header, cells in _NAMES.items():
            if isinstance(named := value.get(header), list):
                self._names[cells] = [str(item.get("name", "")) for item in named if isinstance(item, dict)]

    def _document_values(self) -> Iterator[Any]:
        reader = _JsonStream(self._text.pieces())
        try:
            while mark := reader.peek():
                if mark == "[":
                    for item in reader.elements():
                        yield from self._inner(item)
                elif mark == "{":
                    yield from self._members(reader)
                else:
                    yield reader.value()
        except (ValueError, RecursionError) as error:
            self._text.fault = self._text.fault or f"a part of it is not JSON ({error})"

    def _members(self, reader: "_JsonStream") -> Iterator[Any]:
        """The values of the containers of an object, or the object itself without containers."""
        rest: dict[str, Any] = {}
        is_container = False
        for name in reader.names():
            if name in CONTAINERS and reader.peek() == "[":
                is_container = True
                for item in reader.elements():
                    yield from self._inner(item)
            else:
                rest[name] = reader.value()
                self._learn_names({name: rest[name]})
        if not is_container:
            yield from self._inner(rest)

    def _cells(self, value: Any) -> dict[str, str]:
        """The members by name, array items by name and number; a plain value has the name ""."""
        if not isinstance(value, dict):
            return {"": text} if (text := _cell_text(value)) else {}
        cells: dict[str, str] = {}
        for name, member in value.items():
            if isinstance(member, list):
                names = self._names.get(name, ())
                for number, item in enumerate(member[:_MAX_CELLS]):
                    cells[names[number] if number < len(names) else f"{name} {number + 1}"] = _cell_text(item)
            else:
                cells[name] = _cell_text(member)
        return cells


def _cell_text(value: Any) -> str:
    """A value as text; of an object its ``value``, else ""."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return _cell_text(value["value"]) if isinstance(value.get("value"), str | int | float) else ""
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() else f"{value:.1f}"  # three decimals look like thousands
    return str(value) if isinstance(value, int) and abs(value) < 10**18 else ""


def _is_json_lines(head: str) -> bool:
    """Whether the first line is a value."""
    line = head.lstrip("\ufeff \t\r\n").partition("\n")[0]
    try:
        _decode_line(line)
    except (msgspec.DecodeError, RecursionError, ValueError):
        return False
    return True


class _JsonStream:
    """Parses the values of a document one by one, from pieces of text. Raises ValueError when it is no JSON."""

    def __init__(self, pieces: Iterator[str]) -> None:
        self._pieces = pieces
        self._text = ""
        self._at = 0

    def peek(self) -> str:
        """The next character that is no blank, "" at the end; does not consume it."""
        while True:
            rest = self._text[self._at : self._at + 1024].lstrip(" \t\r\n\ufeff")
            if rest:
                self._at = self._text.index(rest[0], self._at)
                return rest[0]
            if self._at + 1024 < len(self._text):
                self._at += 1024
            elif not self._more():
                return ""

    def value(self) -> Any:
        """The next value, whole."""
        self.peek()
        while True:
            try:
                value, end = _decoder.raw_decode(self._text, self._at)
            except ValueError:
                if len(self._text) - self._at > MAX_LINE or not self._more():
                    raise
                continue
            if end == len(self._text) and self._more():
                continue  # a number may continue in the next piece
            self._at = end
            return value

    def elements(self) -> Iterator[Any]:
        """The values of an array that begins here."""
        self._take("[")
        while self.peek() != "]":
            yield self.value()
            if self.peek() == ",":
                self._take(",")
            elif self.peek() != "]":
                raise ValueError("an array is not closed")
        self._take("]")

    def names(self) -> Iterator[str]:
        """The names of the members of an object that begins here; the caller reads each value."""
        self._take("{")
        while self.peek() != "}":
            name = self.value()
            self._take(":")
            yield str(name)
            if self.peek() == ",":
                self._take(",")
            elif self.peek() != "}":
                raise ValueError("an object is not closed")
        self._take("}")

    def _take(self, mark: str) -> None:
        if self.peek() != mark:
            raise ValueError(f"a {mark!r} is missing")
        self._at += 1

    def _more(self) -> bool:
        piece = next(self._pieces, "")
        self._text = self._text[self._at :] + piece
        self._at = 0
        return bool(piece)
