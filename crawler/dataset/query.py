"""Asks the data set: read-only SQL with limits of rows and time, and the questions that come with the program."""

import re
import sqlite3
import time
from collections.abc import Sequence
from importlib import resources
from typing import Final

from msgspec import Struct

from crawler.dataset.schema import TABLES
from crawler.errors import UsageError, did_you_mean
from crawler.units import count_text

_STEPS: Final = 10_000  # of SQLite's machine, between two looks at the clock: about a millisecond
_SLOW: Final = "Narrow it, or give it more time with --timeout"
_TABLES: Final = "siteatlas query --tables"
_NO_SITEMAP: Final = (
    "neither the crawl nor an audit has read a sitemap that the site has. Run siteatlas audit, and name the sitemap "
    "with --sitemap if robots.txt does not"
)
_KNOWS_SITEMAPS: Final = """SELECT 1 FROM sitemap_entries WHERE NOT published
  UNION ALL SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM about) LIMIT 1"""
_LACKING: Final = """SELECT count(DISTINCT f.url) FROM findings f WHERE f.rule LIKE 'orphan.%'
  AND NOT EXISTS (SELECT 1 FROM pages p WHERE p.url = f.url)"""
_of_own_sitemaps = re.compile(r"\bNOT (\w+\.)?published\b|\bpublished\s*(?:=|IS)\s*(?:0|FALSE)\b", re.IGNORECASE).search
_unknown_name = re.compile(r"no such (table|column): (?:\w+\.)*(\w+)").match
_READING: Final = frozenset(
    {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}
)


PAGE_PARTS: Final = {
    "links_in": "SELECT source, anchor, place, nofollow FROM links WHERE target = :url AND kind = 'link' LIMIT :most",
    "links_out": "SELECT target, anchor, place, nofollow FROM links WHERE source = :url AND kind = 'link' LIMIT :most",
    "findings": "SELECT severity, rule, sentence, certainty, since FROM findings WHERE url = :url LIMIT :most",
    "visits": "SELECT source, first_day, last_day, people, bots, status FROM visits WHERE url = :url LIMIT :most",
    "changes": "SELECT run, change, before, after, reason FROM changes WHERE url = :url ORDER BY run DESC LIMIT :most",
    "history": "SELECT run, field, before, after FROM history WHERE url = :url ORDER BY run DESC, field LIMIT :most",
}
"""What is shown of one URL beside its columns of ``pages``."""


class Answer(Struct, frozen=True):
    """The columns and rows of an answer; ``is_cut``: there are more rows than the limit; what its ``pages`` lack."""

    columns: Sequence[str]
    rows: list[tuple[object, ...]]
    is_cut: bool
    lacks: str = ""


class Question(Struct, frozen=True):
    """A question that comes with the program: its name, the question, and the statement that answers it."""

    name: str
    text: str
    sql: str


def ask(
    db: sqlite3.Connection, sql: str, *, limit: int, seconds: float, slow: str = _SLOW, tables: str = _TABLES
) -> Answer:
    """The answer to one statement that only reads. ``limit``: rows, 0 for all.

    ``slow``: what to do if it takes longer; ``tables``: what lists the tables.
    Raises UsageError, also if it asks for sitemaps of the site and nobody has read one.
    """
    if _of_own_sitemaps(sql) and not knows_own_sitemaps(db):
        raise UsageError(_NO_SITEMAP)
    end = time.monotonic() + seconds
    read: set[str | None] = set()

    def judge(action: int, table: str | None, *_: str | None) -> int:
        read.add(table)
        return sqlite3.SQLITE_OK if action in _READING else sqlite3.SQLITE_DENY

    db.set_authorizer(judge)
    db.set_progress_handler(lambda: time.monotonic() > end, _STEPS)
    try:
        cursor = db.execute(sql)
        rows = cursor.fetchmany(limit + 1) if limit else cursor.fetchall()
    except (sqlite3.Error, sqlite3.Warning) as error:
        raise UsageError(_why(error, seconds, slow, tables)) from error
    finally:
        db.set_progress_handler(None, 0)
        db.set_authorizer(None)
    if cursor.description is None:
        raise UsageError("the statement has no answer. Write one SELECT")
    is_cut = bool(limit) and len(rows) > limit
    lacks = lacking_orphans(db) if "pages" in read else ""
    return Answer([column[0] for column in cursor.description], rows[:limit] if is_cut else rows, is_cut, lacks)


def knows_own_sitemaps(db: sqlite3.Connection) -> bool:
    """Whether the tables of a run have entries of sitemaps that the site itself has."""
    return db.execute(_KNOWS_SITEMAPS).fetchone() is not None


def knows_audit(db: sqlite3.Connection) -> bool:
    """Whether the tables of a state have what an audit found: their stamp ends with that of the audit."""
    return db.execute("SELECT 1 FROM about WHERE key = 'stamp' AND value NOT LIKE '% '").fetchone() is not None


def lacking_orphans(db: sqlite3.Connection) -> str:
    """What the table ``pages`` lacks if a run is newer than the last audit, in a sentence; "" if nothing."""
    (number,) = db.execute(_LACKING).fetchone()
    if not number:
        return ""
    those = count_text(number, "orphan page")
    return f"pages lacks {those} of the last audit, because the last run did not find them. Run siteatlas audit again"


def _why(error: Exception, seconds: float, slow: str, tables: str) -> str:
    text = str(error)
    if text == "interrupted":
        return f"the query took longer than {seconds:g} seconds. {slow}"
    if "not authorized" in text or "prohibited" in text:
        return f"a query can only read. Write one SELECT over the tables that {tables} lists"
    hint = f"{tables} lists the tables and their columns"
    if unknown := _unknown_name(text):
        columns = {column.name for columns in TABLES.values() for column in columns}
        near = did_you_mean(unknown[2], TABLES if unknown[1] == "table" else sorted(columns), "")
        hint = f"{near} {hint}".lstrip()
    return f"the query is not valid: {text}. {hint}"


def questions() -> list[Question]:
    """The questions that come with the program, by name."""
    folder = resources.files(__package__) / "questions"
    found = [(file.name.removesuffix(".sql"), file.read_text(encoding="utf-8")) for file in folder.iterdir()]
    return [
        Question(name, text.partition("\n")[0].removeprefix("-- "), text.partition("\n")[2].strip())
        for name, text in sorted(found)
    ]


def named(name: str) -> Question:
    """The question of a name. Raises UsageError."""
    known = {question.name: question for question in questions()}
    if name not in known:
        shown = "siteatlas query --list shows the names"
        raise UsageError(f"there is no question {name!r}. {did_you_mean(name, known, shown, 3)}")
    return known[name]
