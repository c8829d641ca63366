"""Reads the products of a shop from its SQLite database, with their visits."""

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from crawler.plugins import KnownUrl


class ShopDatabase:
    """``database`` is the file. Its table product has the columns path, visits and day."""

    kind = "analytics"

    def __init__(self, _site: str, options: Mapping[str, Any]) -> None:
        self._path = Path(options["database"])
        if not self._path.is_file():
            raise ValueError(f"{self._path} is not a file")

    def read(self) -> Iterator[KnownUrl]:
        """The URLs of the products."""
        with closing(sqlite3.connect(f"{self._path.absolute().as_uri()}?mode=ro", uri=True)) as db:
            for path, visits, day in db.execute("SELECT path, visits, day FROM product"):
                yield KnownUrl(url=path, people=visits, last=day)
