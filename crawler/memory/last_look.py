"""Which published pages a run did not come to: nothing leads there any more, and they are asked what became of them."""

import sqlite3
from collections.abc import Iterator
from typing import Final

from crawler.model import Find, Found, Url
from crawler.state.database import storage

_UNSEEN: Final = """SELECT p.id, u.url FROM published p JOIN url u ON u.id = p.id
  WHERE p.id > ? AND NOT EXISTS (SELECT 1 FROM visit v WHERE v.id = p.id) ORDER BY p.id LIMIT 1000"""


def unseen(db: sqlite3.Connection) -> Iterator[list[Find]]:
    """The pages, some at a time; between two of these the tables may be written. Raises StorageError."""
    last = -1
    while True:
        with storage():
            rows = db.execute(_UNSEEN, (last,)).fetchall()
        if not rows:
            return
        yield [Find(Url(url), Found.MEMORY, 0) for _, url in rows]
        last = rows[-1][0]
