"""Finds titles that repeat a word, which SQL can hardly tell."""

import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any


class RepeatedWords:
    """``times`` is how often a word may occur in a title."""

    def __init__(self, _site: str, options: Mapping[str, Any]) -> None:
        self._times = int(options.get("times", 1))

    def rows(self, tables: sqlite3.Connection) -> Iterator[Mapping[str, object]]:
        """A row for each page whose title has a word too often."""
        for url, title in tables.execute("SELECT url, title FROM pages WHERE indexable AND title IS NOT NULL"):
            words = Counter(word for word in title.lower().split() if len(word) > 3)
            for word, times in words.items():
                if times > self._times:
                    yield {"url": url, "word": word, "times": times}
