"""Parts rows into tables: one after the other in one file, each with its beginning to learn from."""

from collections.abc import Iterator
from itertools import chain
from typing import Final

LEARNT_FROM: Final = 300  # rows
_CHARACTERS: Final = 4_000_000  # that may be held of them


class Table:
    """One table. ``sample`` are its first rows, which come again in ``rows``; these are to be taken once."""

    def __init__(self, rows: Iterator[list[str]]) -> None:
        self.sample: list[list[str]] = []
        held = 0
        is_over = False
        for row in rows:
            if not row:
                is_over = bool(self.sample)
                if is_over:
                    break
                continue
            self.sample.append(row)
            held += sum(map(len, row))
            if len(self.sample) == LEARNT_FROM or held > _CHARACTERS:
                break
        # up to the next empty row, which ends it
        self._rest: Iterator[list[str]] = iter(()) if is_over else iter(rows.__next__, [])

    def rows(self) -> Iterator[list[str]]:
        """All rows."""
        return chain(self.sample, self._rest)

    def finish(self) -> None:
        """Leave out what was not taken."""
        for _ in self._rest:
            pass


def tables(rows: Iterator[list[str]]) -> Iterator[Table]:
    """The tables of a file, which empty rows part. Each is to be taken before the next is asked for."""
    while (table := Table(rows)).sample:
        yield table
        table.finish()
