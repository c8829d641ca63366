"""Remembers what was made of short texts that are met again and again, as tags are, in bounded room."""

from collections.abc import Callable
from typing import Final, TypeVar

T = TypeVar("T")

ROOM: Final = 4_096
"""Texts that are remembered at most; then all are forgotten, which is cheaper than to know the oldest."""
LONGEST: Final = 1_000
"""Characters of a text up to which it may be met again."""


class Memo(dict[str, T]):
    """``memo[text]`` is what ``make`` makes of a text; the look-up of a known one is that of a plain dict."""

    def __init__(self, make: Callable[[str], T]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, text: str) -> T:
        made = self._make(text)
        if len(text) < LONGEST:
            if len(self) >= ROOM:
                self.clear()
            self[text] = made
        return made
