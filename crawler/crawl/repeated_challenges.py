"""Challenges that no mark betrays: pages in doubt that say the same at several URLs of a run, when all are known."""

import sqlite3
from collections.abc import Mapping
from typing import Final

from crawler.model import State
from crawler.state.database import transaction

MIN_REPEATED: Final = 3
"""URLs of a run that say the same: two may be copies of one page."""
_MARK: Final = f"""UPDATE visit SET state = '{State.CHALLENGED}', reason = ?, target = NULL, content = NULL,
  seen_at = NULL WHERE id = ?"""  # noqa: S608 - our own


def mark_repeated(db: sqlite3.Connection, doubtful: Mapping[int, str]) -> None:
    """Give the pages of :attr:`crawler.crawl.page_fetcher.PageFetcher.doubtful` that repeat one another their state.

    Raises StorageError.
    """
    by_text: dict[str, list[int]] = {}
    for number, text in doubtful.items():
        by_text.setdefault(text, []).append(number)
    for ids in by_text.values():
        if len(ids) >= MIN_REPEATED:
            reason = f"the firewall responded, it seems: {len(ids):,} URLs return the same bare page"
            with transaction(db):
                db.executemany(_MARK, [(reason, number) for number in ids])
