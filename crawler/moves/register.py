"""The register of a site in its state ``db``: every URL that was ever published or imported, and how it ended.

What writes does so in the caller's transaction.

A URL that is listed costs nothing at the next publish. When it leaves the sitemap, its page is kept for a year, so that
the page that takes its place can be found.
"""

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final
from urllib.parse import urljoin

from msgspec import Struct

from crawler.errors import DamagedFile
from crawler.state.schema import STATE_DB
from crawler.state.store import read_about

YEAR: Final = 365 * 86_400.0
"""Seconds for which old URLs are asked and their pages are kept: Google advises to keep redirects so long.

https://developers.google.com/search/docs/crawling-indexing/site-move-with-url-changes
"""
WEEK: Final = 7 * 86_400.0
MAX_WATCHED: Final = 20
"""Old URLs that one scheduled run asks for, each at most once a week: few beside the pages of the run."""
_ADD: Final = """INSERT INTO register (url, first)
  SELECT u.url, :now FROM published p JOIN url u ON u.id = p.id WHERE true
  ON CONFLICT (url) DO UPDATE SET last = NULL, page = NULL, text = NULL, accepted = '', ended = '', target = '',
  reported = NULL WHERE last IS NOT NULL"""
_LEAVE: Final = """UPDATE register AS r SET last = :now, page = c.page, text = c.text FROM register g
  LEFT JOIN url u ON u.url = g.url LEFT JOIN memory m ON m.id = u.id LEFT JOIN content c ON c.id = m.content
  WHERE g.id = r.id AND r.last IS NULL AND r.url NOT IN (SELECT u.url FROM published p JOIN url u ON u.id = p.id)"""
_FORGET: Final = "UPDATE register SET page = NULL, text = NULL WHERE last < :now - :year AND text IS NOT NULL"
_DUE: Final = """WHERE last > :now - :year AND accepted = '' AND coalesce(asked, 0) <= :now - :pause
  ORDER BY asked, last DESC LIMIT :most"""
_IMPORT: Final = "INSERT INTO register (url, first, last, source) VALUES (?, ?, ?, ?) ON CONFLICT (url) DO NOTHING"
_ACCEPT: Final = "UPDATE register SET accepted = :reason WHERE url GLOB :pattern RETURNING last"
_SELECT: Final = "SELECT url, first, last, source, accepted, ended, target, reported FROM register"
_STORE: Final = """UPDATE register SET ended = :ended, target = :target, status = :status, asked = :now,
  reported = iif(:ended = 'lost', coalesce(reported, :now), iif(:ended = 'unknown', reported, NULL)) WHERE url = :url"""


class RegisteredUrl(Struct, frozen=True, array_like=True):
    """One row of the register, as in the table ``register``. Times are Unix times."""

    url: str
    first: float
    last: float | None
    source: str
    accepted: str
    ended: str
    target: str
    reported: float | None


class UrlEnd(Struct, frozen=True):
    """How a URL ends now: ``there``, ``redirected``, ``lost`` or ``unknown``; its target and status; a sentence."""

    url: str
    ended: str
    target: str = ""
    status: int | None = None
    sentence: str = ""


def record(db: sqlite3.Connection, now: float) -> None:
    """Record the published set."""
    for statement in (_ADD, _LEAVE, _FORGET):
        db.execute(statement, {"now": now, "year": YEAR})


def add(db: sqlite3.Connection, urls: Iterable[str], source: str, now: float) -> int:
    """Add URLs that a source names; returns how many are new."""
    record(db, now)
    return db.executemany(_IMPORT, ((url, now, now, source) for url in urls)).rowcount


def accept(db: sqlite3.Connection, pattern: str, reason: str) -> tuple[int, int]:
    """Record that URLs are gone on purpose, or will be: their number, and how many are listed.

    ``pattern`` is a URL or a path of the site, with ``*`` for any text. A URL that is listed again later is
    accepted no more.
    """
    start = read_about(db, "url") or "" if pattern.startswith("/") else ""
    whole = urljoin(start, pattern).replace("[", "[[]").replace("?", "[?]")
    rows = db.execute(_ACCEPT, {"pattern": whole, "reason": reason}).fetchall()
    return len(rows), sum(last is None for (last,) in rows)


def rows(db: sqlite3.Connection, *, listed: bool = True) -> list[RegisteredUrl]:
    """All rows by URL, or those that the sitemap does not list."""
    query = f"{_SELECT} WHERE :listed OR last IS NOT NULL ORDER BY url"
    return [RegisteredUrl(*row) for row in db.execute(query, {"listed": listed})]


def due(db: sqlite3.Connection, now: float) -> list[RegisteredUrl]:
    """Some rows that the sitemap stopped listing within a year, and that nobody asked for within a week."""
    values = {"now": now, "year": YEAR, "pause": WEEK, "most": MAX_WATCHED}
    return [RegisteredUrl(*row) for row in db.execute(f"{_SELECT} {_DUE}", values)]


def store(db: sqlite3.Connection, ends: Iterable[UrlEnd], now: float) -> None:
    """Store how URLs ended in a check."""
    rows = ({"url": e.url, "ended": e.ended, "target": e.target, "status": e.status, "now": now} for e in ends)
    db.executemany(_STORE, rows)


def left_rows(site: Path, columns: str) -> Iterator[tuple[Any, ...]]:
    """Columns of the URLs that the sitemap of a site does not list any more; none of a damaged state.

    ``page`` and ``text`` are as in the table ``content``. Raises StorageError.
    """
    if STATE_DB.is_in(site):
        with suppress(DamagedFile), STATE_DB.reading(site) as db:
            yield from db.execute(f"SELECT {columns} FROM register WHERE last IS NOT NULL")  # noqa: S608 - our own
