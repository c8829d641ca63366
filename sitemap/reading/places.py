"""Owns where the values of an item begin: told by reading the item again, since few items have a defect. Pure."""

import contextlib
from collections.abc import Mapping
from typing import Final
from xml.parsers import expat

_MOST: Final = 64 * 1024 * 1024  # bytes that are read again in one document


class Places:
    """Tells the lines of values, while it has read no more than so much again; afterwards that of the item."""

    def __init__(self) -> None:
        self._room = _MOST

    def below(self, item: bytes, key: str, names: Mapping[str, str], which: int) -> int:
        """How many lines below the start of an item a value of it begins, the first (0) or the last (-1).

        ``names`` are the keys of elements by qualified name, where they are not the local one.
        """
        self._room -= len(item)
        if self._room < 0:
            return 0
        found = [line for name, line in starts(item) if names.get(name, _local(name)) == key]
        return found[which] if found else 0


def _local(name: str) -> str:
    """A qualified name without its prefix, in lower case."""
    return name.rpartition(":")[2].lower()


def starts(item: bytes) -> list[tuple[str, int]]:
    """The elements directly inside an item, or the beginning of one: their names, and how many lines below its own."""
    found: list[tuple[str, int]] = []
    depth = 0

    def start(name: str, _: object) -> None:
        nonlocal depth
        if depth == 1:
            found.append((name, parser.CurrentLineNumber - 1))
        depth += 1

    def end(_: str) -> None:
        nonlocal depth
        depth -= 1

    parser = expat.ParserCreate("utf-8")
    parser.StartElementHandler, parser.EndElementHandler = start, end
    with contextlib.suppress(expat.ExpatError):  # it was cut: what was found until then is true
        parser.Parse(item, False)
    return found
