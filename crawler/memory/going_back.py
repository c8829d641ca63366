"""What is remembered of a set that is published again: which pages are out there now, and how that differs."""

import sqlite3
from collections.abc import Iterable
from typing import Final, NamedTuple

from crawler.change import ChangeKind, Counts
from crawler.memory.changes import Changes
from crawler.model import Url
from crawler.state.database import storage
from crawler.state.runs import Run, Runs

_AGAIN: Final = "CREATE TEMP TABLE again (url TEXT PRIMARY KEY, lastmod, grp, shard, file) WITHOUT ROWID"
_IDS: Final = "INSERT OR IGNORE INTO url (url) SELECT url FROM again ORDER BY url"
_CHANGE: Final = "INSERT INTO change (run, url, kind, lastmod, before, reason)"
_CHANGES: Final = (
    f"""{_CHANGE} SELECT :run, a.url, '{ChangeKind.ADDED}', a.lastmod, '', :reason
  FROM again a JOIN url u ON u.url = a.url LEFT JOIN published p ON p.id = u.id WHERE p.id IS NULL""",  # noqa: S608
    f"""{_CHANGE} SELECT :run, a.url, '{ChangeKind.CHANGED}', a.lastmod, p.lastmod, :reason
  FROM again a JOIN url u ON u.url = a.url JOIN published p ON p.id = u.id WHERE p.lastmod != a.lastmod""",  # noqa: S608
    f"""{_CHANGE} SELECT :run, u.url, '{ChangeKind.REMOVED}', '', p.lastmod, :reason
  FROM published p JOIN url u ON u.id = p.id WHERE u.url NOT IN (SELECT url FROM again)""",  # noqa: S608
)
# What was read of a page that had left may be forgotten: 0 is the content of none.
_PUBLISH: Final = (
    "DELETE FROM published WHERE id NOT IN (SELECT u.id FROM again a JOIN url u ON u.url = a.url)",
    """INSERT OR REPLACE INTO published (id, content, lastmod, lastmod_source, grp, shard, file, kept)
  SELECT u.id, coalesce(p.content, m.content, 0), a.lastmod,
    CASE a.lastmod WHEN p.lastmod THEN p.lastmod_source WHEN m.lastmod THEN m.lastmod_source ELSE '' END,
    a.grp, a.shard, a.file, coalesce(p.kept, 0)
  FROM again a JOIN url u ON u.url = a.url LEFT JOIN published p ON p.id = u.id LEFT JOIN memory m ON m.id = u.id""",
)


class Again(NamedTuple):
    """A page of the set, with the file that it is in: its group, its number there and its name."""

    url: Url
    lastmod: str
    group: str
    shard: int
    file: str


def go_back(db: sqlite3.Connection, run: Run, pages: Iterable[Again], reason: str) -> Counts:
    """Make ``pages`` what the next run compares with, and what differs the feed of ``run``, for that reason.

    A run that was cut short goes: it was begun on the ground of what is no longer out there. What is known of the pages
    stays. Part of the caller's transaction. Raises StorageError.
    """
    with storage():
        db.execute("DELETE FROM run WHERE ended IS NULL")
        db.execute(_AGAIN)
        db.executemany("INSERT OR REPLACE INTO again VALUES (?, ?, ?, ?, ?)", pages)
        db.execute(_IDS)
        for statement in _CHANGES:
            db.execute(statement, {"run": run.number, "reason": reason})
        for statement in _PUBLISH:
            db.execute(statement)
        db.execute("DROP TABLE again")
        Runs(db).write(run)  # the feed is that of a run that is known
        return Counts.of(Changes(db).of(run.number))
