"""Dates the products of a shop by its SQLite database."""

import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import urljoin


class ShopDates:
    """``database`` is the file. Its table product has the columns path and edited, a W3C datetime."""

    def __init__(self, site: str, options: Mapping[str, Any]) -> None:
        self._site = site
        self._path = Path(options["database"])

    def dates(self, urls: Sequence[str]) -> Mapping[str, str]:
        """The dates of those of these URLs that are products."""
        with closing(sqlite3.connect(f"{self._path.absolute().as_uri()}?mode=ro", uri=True)) as db:
            rows = db.execute("SELECT path, edited FROM product WHERE edited != ''").fetchall()
        known = {urljoin(self._site, path): edited for path, edited in rows}
        return {url: known[url] for url in urls if url in known}
