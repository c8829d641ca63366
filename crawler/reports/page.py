"""Owns the page that a text is set on: how wide its lines are, and whether it has colours."""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Self, TextIO

_PAINT: Final = re.compile("\x1b\\[[0-9]+m")
_NARROWEST: Final = 20  # columns: below, nothing is wrapped any further


@dataclass(frozen=True, slots=True)
class Page:
    """``width`` in columns, or 0 for lines of any length."""

    width: int = 0
    colour: bool = False

    @classmethod
    def of(cls, file: TextIO) -> Self:
        """That of a file: a terminal has a width, and colours unless NO_COLOR is set.

        Anything else has no colours, and a width only if COLUMNS says so.
        """
        from rich.console import Console  # noqa: PLC0415 - not needed by those who write to files

        console = Console(file=file)
        if not file.isatty():
            columns = os.environ.get("COLUMNS", "")
            return cls(int(columns) if columns.isdecimal() else 0)
        try:
            width = os.get_terminal_size(file.fileno()).columns
        except OSError:
            width = 0  # it does not say
        return cls(width or console.width, console.color_system is not None and not console.no_color)

    def painted(self, text: str, code: str) -> str:
        """The text in a colour, or in bold ("1"), if there are colours."""
        return f"\x1b[{code}m{text}\x1b[0m" if self.colour else text

    def wrapped(self, text: str, first: int, rest: int = -1) -> Iterator[str]:
        """A text in lines that fit, broken at blanks only, so that a URL stays one that can be copied.

        ``first`` and ``rest`` are the columns by which the first line and the others are indented.
        """
        from rich.cells import cell_len  # noqa: PLC0415 - only texts on terminals are measured

        if not self.width:
            yield f"{'':{first}}{text}"
            return
        indent, line, used = first, "", 0
        for word in text.split(" "):
            wide = cell_len(_PAINT.sub("", word))
            if line and indent + used + 1 + wide > max(self.width, _NARROWEST):
                yield f"{'':{indent}}{line}"
                indent, line, used = first if rest < 0 else rest, word, wide
            else:
                line, used = (f"{line} {word}", used + 1 + wide) if line else (word, wide)
        yield f"{'':{indent}}{line}"
