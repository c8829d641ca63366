"""What a run saw of pages that were seen before: their differences for the survey, and the dates that come of it."""

import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

import msgspec

from crawler.lastmod.significance import SAMPLE_SIZE, ChangeHistory
from crawler.parse.snapshot.diff import Delta, content_keys
from crawler.state.database import storage_errors

# What is compared in this run: pages that were read before, and read or known to be the same now.
_FROM_COMPARED: Final = """FROM visit v JOIN memory m ON m.id = v.id JOIN content c ON c.id = v.content
  WHERE m.content IS NOT NULL AND v.seen_at IS NOT NULL"""
_DELTAS: Final = f"""SELECT v.id, c.delta {_FROM_COMPARED} AND v.content != m.content AND c.run = ? AND c.delta != x''
  ORDER BY v.id"""
_SAMPLE: Final = (
    f"SELECT c.text {_FROM_COMPARED} AND (v.id * 2654435761 & 4294967295) * ? < ? * 4294967296 ORDER BY v.id"
)
# All that were read as pages, listed or not: what hides for a night and comes back has the date it had. What was read
# before as something else is seen for the first time.
_PAGES: Final = """SELECT v.id, v.content, v.header_date, v.last_modified, v.page_date, v.page_date_source, v.seen_at,
    v.changed, iif(length(b.text) > 0 OR m.lastmod != '', m.content, NULL), m.lastmod, m.lastmod_source, m.seen_at
  FROM visit v JOIN content c ON c.id = v.content LEFT JOIN memory m ON m.id = v.id
    LEFT JOIN content b ON b.id = m.content
  WHERE v.id > ? AND v.seen_at IS NOT NULL AND length(c.text) > 0 ORDER BY v.id LIMIT 1000"""
# Of pages only: the date of a feed is that of its newest entry, wherever that stands
_COUNT_STAMPS: Final = f"""SELECT count(*), coalesce(sum(v.last_modified != m.last_modified), 0) {_FROM_COMPARED}
  AND length(c.text) > 0 AND v.changed = 0 AND v.last_modified != '' AND m.last_modified != '' AND m.source_key = ?"""

_DISTRUST_KEY: Final = "last_modified_distrusted"  # keys of the table about
_POLICY_KEY: Final = "lastmod_policy"

_decode_delta = msgspec.msgpack.Decoder(Delta).decode
_decode_history = msgspec.msgpack.Decoder(ChangeHistory).decode
_encode = msgspec.msgpack.Encoder().encode


class PageObservation(NamedTuple):
    """A page with its evidence; ``before`` and what follows are of the last run that saw it, if any did."""

    id: int
    content: int
    header_date: str
    last_modified: str
    page_date: str
    page_date_source: str
    seen_at: float
    changed: int | None
    before: int | None
    lastmod: str | None
    lastmod_source: str | None
    last_visit: float | None


class ObservationStore:
    """Reads and writes for :mod:`crawler.lastmod.observe`. Every method may raise StorageError."""

    def __init__(self, db: sqlite3.Connection, run: int) -> None:
        self._db = db
        self._run = run

    def deltas(self) -> Iterator[tuple[int, Delta]]:
        """The pages whose answer differed, with what differed."""
        with storage_errors():
            for number, packed in self._db.execute(_DELTAS, (self._run,)):
                yield number, _decode_delta(packed)

    def sample(self) -> Iterator[tuple[list[int], float]]:
        """What some of all compared pages hold, and how many pages each stands for."""
        with storage_errors():
            (count,) = self._db.execute(f"SELECT count(*) {_FROM_COMPARED}").fetchone()
            texts = self._db.execute(_SAMPLE, (count, SAMPLE_SIZE)).fetchall()
        for (text,) in texts:
            yield content_keys(text), count / len(texts)

    @property
    def change_history(self) -> dict[int, ChangeHistory]:
        """What the site does run after run."""
        with storage_errors():
            return {
                key: _decode_history(packed)
                for key, packed in self._db.execute("SELECT key, habit FROM habit")
            }

    def store_site(self, habits: Mapping[int, ChangeHistory], distrust: str, policy: str) -> None:
        """Keep the habits of the site, why its Last-Modified is distrusted, and by what policy its dates were chosen.

        Part of the caller's transaction.
        """
        with storage_errors():
            for key, value in ((_DISTRUST_KEY, distrust), (_POLICY_KEY, policy)):
                self._db.execute("INSERT OR REPLACE INTO about VALUES (?, ?)", (key, value))
            self._db.execute("DELETE FROM habit")
            rows = ((key, _encode(habit)) for key, habit in habits.items())
            self._db.executemany("INSERT INTO habit (key, habit) VALUES (?, ?)", rows)

    def mark_all_unchanged(self) -> None:
        """Take all pages that were seen before for unchanged, until they are marked otherwise."""
        with storage_errors():
            self._db.execute(
                "UPDATE visit SET changed = 0, evidence = '' WHERE content IS NOT NULL"
                " AND id IN (SELECT id FROM memory WHERE content IS NOT NULL)"
            )

    def mark_changed(self, changed: Iterable[tuple[str, int]]) -> None:
        """Say of pages what changed on them."""
        with storage_errors():
            self._db.executemany("UPDATE visit SET changed = 1, evidence = ? WHERE id = ?", changed)

    @property
    def distrust(self) -> str:
        """Why an earlier run found that Last-Modified is not to be believed, or ""."""
        return self._about(_DISTRUST_KEY)

    @property
    def policy(self) -> str:
        """By what policy the dates that are remembered were chosen, or "" when that is not known."""
        return self._about(_POLICY_KEY)

    def _about(self, key: str) -> str:
        with storage_errors():
            row = self._db.execute("SELECT value FROM about WHERE key = ?", (key,)).fetchone()
        return str(row[0]) if row else ""

    def stamps(self, source_key: str) -> tuple[int, int]:
        """Of the unchanged pages with a Last-Modified, how many there are, and on how many it moved."""
        with storage_errors():
            pages, moved = self._db.execute(_COUNT_STAMPS, (source_key,)).fetchone()
        return pages, moved

    def pages(self) -> Iterator[list[PageObservation]]:
        """The pages, some at a time; between two of these the tables may be written."""
        last = -1
        while True:
            with storage_errors():
                rows = self._db.execute(_PAGES, (last,)).fetchall()
            if not rows:
                return
            yield [PageObservation(*row) for row in rows]
            last = rows[-1][0]

    def store_dates(self, dates: Iterable[tuple[str, str, int]]) -> None:
        """Keep lastmod and source of pages."""
        with storage_errors():
            self._db.executemany("UPDATE visit SET lastmod = ?, lastmod_source = ? WHERE id = ?", dates)
