"""The tables of the data set: each column with its type, meaning and example. The manual and the SQL follow from it."""

import csv
import sqlite3
from collections.abc import Iterable, Sequence
from importlib.resources import files
from itertools import groupby, islice
from operator import itemgetter
from typing import Final, NamedTuple

from crawler.state.database import Database

VERSION: Final = 9
"""Of the tables, as the manual has it: it grows when they change.

Also when the numbers of ``LINK_TYPES`` do, such as by another order of ``Place``: kept rows hold the numbers.
"""


class Column(NamedTuple):
    """One column: its name, its type in SQLite, its meaning with the unit, and an example of a value."""

    name: str
    type: str
    meaning: str
    example: str


_TABLE: Final = (files("crawler.dataset") / "columns.csv").read_text(encoding="utf-8")
TABLES: Final = {
    table: tuple(Column(*row[1:]) for row in rows)
    for table, rows in groupby(list(csv.reader(_TABLE.splitlines()))[1:], itemgetter(0))
}
"""The tables in the order in which they are exported."""

_SQL: Final = """
CREATE TABLE url (id INTEGER PRIMARY KEY, url TEXT NOT NULL, internal INTEGER NOT NULL);
CREATE TABLE link_type (id INTEGER PRIMARY KEY, kind TEXT NOT NULL, nofollow INTEGER NOT NULL, place TEXT);
CREATE TABLE typed_link (
  source INTEGER NOT NULL, target INTEGER NOT NULL, type INTEGER NOT NULL, anchor TEXT, rel TEXT, position INTEGER
);
CREATE VIEW link AS
  SELECT source, target, kind, nofollow, anchor, rel, place, position FROM typed_link LEFT JOIN link_type ON id = type;
CREATE VIEW links AS
  SELECT s.url AS source, t.url AS target, l.kind, l.nofollow, l.anchor, l.rel, l.place, l.position, t.internal
  FROM link l JOIN url s ON s.id = l.source JOIN url t ON t.id = l.target;
CREATE VIEW pages_in_search AS
  SELECT p.url, p.section, p.title, p.state, s.clicks, s.impressions, p.inlinks, p.content_inlinks, p.depth, p.words
  FROM (SELECT url, sum(clicks) AS clicks, sum(impressions) AS impressions FROM search GROUP BY url) s
  JOIN pages p ON p.url = s.url;
CREATE TABLE read (first INTEGER PRIMARY KEY, last INTEGER NOT NULL, key BLOB NOT NULL);
CREATE TABLE about (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
"""
_CREATE: Final = "CREATE TABLE {} ({});\n".format
DATASET: Final = Database(
    file="dataset.db",
    tables=_SQL
    + "".join(
        _CREATE(name, ", ".join(f"{column.name} {column.type}" for column in columns))
        for name, columns in TABLES.items()
        if name != "links"
    ),
    description="the data set",
    remedy="Export the crawl again with siteatlas export, or name a state directory",
)
_AT_ONCE: Final = 100  # rows of a statement: one for each row takes nearly twice as long
_NULL: Final = float("nan")  # SQLite stores it as NULL; to bind None takes as long as five other values
_COLUMNS: Final = {
    "pages": ("rowid", *(column.name for column in TABLES["pages"])),
    "typed_link": ("source", "target", "type", "anchor", "rel", "position"),
    "url": ("id", "url", "internal"),
    "link_type": ("kind", "nofollow", "place", "id"),
}


def put(db: sqlite3.Connection, table: str, rows: Iterable[Sequence[object]]) -> None:
    """Store rows of a table. Those of ``pages`` begin with the id of the page."""
    names = _COLUMNS.get(table) or [column.name for column in TABLES[table]]
    insert = f"INSERT INTO {table} ({', '.join(names)}) VALUES "  # noqa: S608 - our own
    places = f"({', '.join('?' * len(names))})"
    left = iter(rows)
    while some := [*islice(left, _AT_ONCE)]:
        values = [_NULL if value is None else value for row in some for value in row]
        db.execute(insert + ", ".join([places] * len(some)), values)


def take_over(db: sqlite3.Connection, part: str) -> None:
    """Copy the rows of another data set. Commits the open transaction, and begins another."""
    db.execute("COMMIT")
    db.execute("ATTACH ? AS part", (part,))
    db.execute("BEGIN")
    for (table,) in db.execute("SELECT name FROM part.sqlite_schema WHERE type = 'table'").fetchall():
        names = f" ({', '.join(_COLUMNS[table])})" if table == "pages" else ""
        # without names, SQLite copies rows and does not look into them
        db.execute(f"INSERT INTO main.{table}{names} SELECT {names.strip(' ()') or '*'} FROM part.{table}")  # noqa: S608
    db.execute("COMMIT")
    db.execute("DETACH part")
    db.execute("BEGIN")


def reference() -> str:
    """The tables as they stand in the manual, in Markdown."""
    parts = [
        f"Version {VERSION} of the tables. Times are UTC. A value that is not known is NULL, an empty cell in CSV.\n"
    ]
    for name, columns in TABLES.items():
        rows = "".join(f"| `{c.name}` | {c.type.lower()} | {c.meaning} | {c.example} |\n" for c in columns)
        parts.append(f"### {name}\n\n| column | type | meaning | example |\n| --- | --- | --- | --- |\n{rows}")
    return "\n".join(parts)
