"""Challenges that no mark betrays: pages in doubt that say the same at several URLs of a run, when all are known."""

import sqlite3
from collections.abc import Mapping
from typing import Final

import msgspec

from crawler.lastmod.changes import is_turned_over
from crawler.model import State
from crawler.parse.snapshot.diff import Delta
from crawler.state.database import storage_errors, transaction
from crawler.state.store import read_about, write_about

MIN_REPEATED: Final = 3
"""URLs of a run that say the same: two may be copies of one page."""
_MARK: Final = f"""UPDATE visit SET state = '{State.CHALLENGED}', reason = ?, target = NULL, content = NULL,
  seen_at = NULL WHERE id = ? AND state != '{State.SOFT_404}'"""  # noqa: S608 - our own

_DELTAS: Final = """SELECT v.id, c.delta FROM visit v JOIN content c ON c.id = v.content
  WHERE length(c.delta) > 0 AND v.id IN (SELECT value FROM json_each(?))"""
_decode_delta = msgspec.msgpack.Decoder(Delta).decode


_KEY: Final = "in doubt"  # of the table about


def read_doubtful(db: sqlite3.Connection, run: int) -> dict[int, str]:
    """The pages in doubt that an interrupted process of a run left; none of another run. Raises StorageError."""
    with storage_errors():
        of_run, pages = msgspec.json.decode(read_about(db, _KEY) or "[0, {}]", type=tuple[int, dict[int, str]])
    return pages if of_run == run else {}


def keep_doubtful(db: sqlite3.Connection, run: int, pages: Mapping[int, str]) -> None:
    """Keep the pages in doubt for the process that resumes the run. Raises StorageError."""
    with transaction(db):
        write_about(db, _KEY, msgspec.json.encode((run, pages)).decode())


def mark_repeated(db: sqlite3.Connection, doubtful: Mapping[int, str]) -> None:
    """Give the pages of :attr:`crawler.crawl.page_fetcher.PageFetcher.doubtful` that repeat one another their state.

    A page that says nearly what it said at its last visit is the site's own. Raises StorageError.
    """
    with storage_errors():
        deltas = db.execute(_DELTAS, (msgspec.json.encode([*doubtful]).decode(),)) if doubtful else ()
        same = {number for number, packed in deltas if not is_turned_over(_decode_delta(packed))}
    by_text: dict[str, list[int]] = {}
    for number, text in doubtful.items():
        if number not in same:
            by_text.setdefault(text, []).append(number)
    for ids in by_text.values():
        if len(ids) >= MIN_REPEATED:
            reason = f"the firewall responded, it seems: {len(ids):,} URLs return the same bare page"
            with transaction(db):
                db.executemany(_MARK, [(reason, number) for number in ids])
