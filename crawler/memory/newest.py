"""The pages that were added or changed last and are listed still, and what they are called."""

import sqlite3
from collections.abc import Iterator
from typing import Final

import msgspec

from crawler.change import Change, ChangeKind
from crawler.lastmod.policy import w3c
from crawler.model import Page, Url
from crawler.state.database import storage

_RUNS: Final = (
    "SELECT number, started FROM run WHERE number IN (SELECT DISTINCT run FROM change) ORDER BY number DESC"
)
_NEWEST: Final = """SELECT c.url, c.kind, p.lastmod, c.before, c.reason
  FROM change c JOIN url u ON u.url = c.url JOIN published p ON p.id = u.id
  WHERE c.run = :run AND c.kind IN ('added', 'changed')
  ORDER BY iif(p.lastmod = '', :at, p.lastmod) DESC, c.url LIMIT :limit"""
_PAGE: Final = """SELECT c.page FROM url u JOIN published p ON p.id = u.id JOIN content c ON c.id = p.content
  WHERE u.url = ?"""
_decode = msgspec.msgpack.Decoder(Page).decode


def newest(db: sqlite3.Connection, limit: int) -> Iterator[Change]:
    """The last change of each of the ``limit`` pages that were added or changed last, the newest first.

    Those of one run come by their lastmod, and then by their URL. Raises StorageError.
    """
    seen: set[Url] = set()
    with storage():
        for run, started in db.execute(_RUNS).fetchall():
            at = w3c(started)
            rows = db.execute(_NEWEST, {"run": run, "at": at, "limit": limit + len(seen)})
            for url, kind, lastmod, before, reason in rows:
                if len(seen) == limit:
                    return
                if url not in seen:
                    seen.add(url)
                    yield Change(
                        url=url,
                        kind=ChangeKind(kind),
                        lastmod=lastmod,
                        before=before,
                        reason=reason,
                        run=run,
                        at=at,
                    )


def title_of(db: sqlite3.Connection, url: Url) -> str:
    """The title of a page that is listed, or "". Raises StorageError."""
    with storage():
        row = db.execute(_PAGE, (url,)).fetchone()
    return _decode(row[0]).title if row and row[0] else ""
