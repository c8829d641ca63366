"""Migrations of the state: the step from each older version to the next."""

import sqlite3
from collections.abc import Callable
from typing import Final

from crawler.state.database import FRESH_REMEDY, Database
from crawler.state.schema import STATE_TABLES, STATE_VERSION


def _from_1(db: sqlite3.Connection) -> None:
    """Version 1 kept one crawl: published, or unfinished and to be resumed."""
    finished = db.execute("SELECT 1 FROM about WHERE key = 'finished' AND value = 'yes'").fetchone() is not None
    db.execute("DROP INDEX pending")
    db.execute("ALTER TABLE url RENAME TO url_1")
    db.execute("ALTER TABLE about RENAME TO about_1")
    for statement in STATE_TABLES.split(";\n"):
        if statement.strip():
            db.execute(statement)
    db.execute("INSERT INTO about SELECT * FROM about_1 WHERE key != 'finished'")
    db.execute("INSERT INTO url SELECT id, url FROM url_1")
    if finished:
        # Version 1 kept no content to compare with. The published dates stay until a page changes.
        db.execute(
            "INSERT INTO content (id, run, reading, digest, type, links, page, text)"
            " SELECT id, 0, '', x'', '', x'', NULL, x'' FROM url_1 WHERE state = 'indexable'"
        )
        db.execute(
            "INSERT INTO memory (id, state, reason, status, target, content, lastmod, lastmod_source, first_run,"
            " last_run) SELECT id, state, reason, status, target, iif(state = 'indexable', id, NULL), lastmod,"
            " lastmod_source, 0, 0 FROM url_1 WHERE state != 'pending'"
        )
        db.execute(
            "INSERT INTO published (id, content, lastmod, lastmod_source)"
            " SELECT id, id, lastmod, lastmod_source FROM url_1 WHERE state = 'indexable'"
        )
        db.execute("DELETE FROM about WHERE key = 'settings'")
    else:
        db.execute("INSERT INTO run (number, started, version) VALUES (1, strftime('%s', 'now'), '')")
        # Without their content the indexable pages cannot be listed: they are fetched again.
        db.execute(
            "INSERT INTO visit (id, origin, kind, state, found, depth, source, reason, attempts, due, status,"
            " target) SELECT id, origin, kind, iif(state = 'indexable', 'pending', state), found, depth, source,"
            " reason, attempts, due, status, target FROM url_1"
        )
    db.execute("DROP TABLE url_1")
    db.execute("DROP TABLE about_1")
    db.execute("DROP TABLE page")


def _from_2(db: sqlite3.Connection) -> None:
    """Version 2 read no page twice, and the gate held none. The step from version 1 makes the present tables."""
    if db.execute("SELECT 1 FROM pragma_table_info('visit') WHERE name = 'discounted'").fetchone():
        return
    db.execute("ALTER TABLE visit ADD COLUMN discounted TEXT NOT NULL DEFAULT ''")
    db.execute("CREATE TABLE lesson (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID")
    db.execute("CREATE TABLE second_read (id INTEGER PRIMARY KEY, run INTEGER NOT NULL, delta BLOB)")
    db.execute(
        "CREATE TABLE held (id INTEGER PRIMARY KEY, cause TEXT NOT NULL, since REAL NOT NULL, runs INTEGER NOT NULL)"
    )


def _from_3(db: sqlite3.Connection) -> None:
    """Version 3 published only the sitemap. The step from version 1 makes the present tables."""
    if not db.execute("SELECT 1 FROM pragma_table_info('run') WHERE name = 'other_formats'").fetchone():
        db.execute("ALTER TABLE run ADD COLUMN other_formats TEXT NOT NULL DEFAULT '[]'")


MIGRATIONS: Final[dict[int, Callable[[sqlite3.Connection], None]]] = {1: _from_1, 2: _from_2, 3: _from_3}
"""The migration from each version to the next."""


STATE_DB: Final = Database(
    file="state.db",
    application_id=0x53_41_54_4C,  # "SATL"
    version=STATE_VERSION,
    tables=STATE_TABLES,
    description="state",
    remedy=f"{FRESH_REMEDY}, or choose another directory with --state",
    absent_message="there is no state in {}: no run has crawled yet, or the state is in another directory (--state "
    "DIR)",
    migrations=MIGRATIONS,
)
