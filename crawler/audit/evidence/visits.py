"""Looks up the visit of a URL, and the URLs that its redirects and canonicals lead to."""

import sqlite3
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any, Final, NamedTuple

import msgspec

from crawler.audit.health.visit import VisitedUrl
from crawler.model import Page, State, Url, unpack_page
from crawler.state.database import storage_errors

MAX_HOPS: Final = 20  # redirects and canonicals in a row
MAX_CACHED: Final = 20_000  # URLs in memory: the versions of a page, and those of its neighbours
_ROWS_AT_ONCE: Final = 1_000

_VISIT: Final = """SELECT v.state, v.reason, v.status, v.target, '', c.page FROM site.url u
  JOIN site.visit v ON v.id = u.id LEFT JOIN site.content c ON c.id = v.content WHERE u.url = ?"""
_ALIAS: Final = "SELECT state, reason, status, target, title, NULL FROM door WHERE url = ?"
_BEHIND_ALIASES: Final = """SELECT DISTINCT v.target FROM site.visit v
  WHERE v.state IN (?, ?) AND v.target >= ? AND v.target < ? ORDER BY v.target LIMIT ?"""
_NOT_REQUESTED: Final = (State.PENDING, State.OUT_OF_SCOPE)
_LEADING_STATES: Final = frozenset({State.REDIRECT.value, State.CANONICAL_ELSEWHERE.value})


def rows_in_order(db: sqlite3.Connection, query: str, *values: object) -> Iterator[tuple[Any, ...]]:
    """The rows of a query for those after an id, in order; between two of them the caller may write. StorageError."""
    last = -1
    while True:
        with storage_errors():
            rows = db.execute(query, (last, *values, _ROWS_AT_ONCE)).fetchall()
        yield from rows
        if not rows:
            return
        last = rows[-1][0]


def url_of(db: sqlite3.Connection, number: int) -> Url:
    """The URL with an id, in a state or in what has it attached. Raises StorageError."""
    with storage_errors():
        return Url(db.execute("SELECT url FROM url WHERE id = ?", (number,)).fetchone()[0])


class VisitedPage(NamedTuple):
    """The visit of a URL, and its parsed page if it was read."""

    visited: VisitedUrl
    page: Page | None


class VisitLookup:
    """Looks up URLs in ``db``, which has the state of the site attached as ``site``. Raises StorageError."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._cached = lru_cache(MAX_CACHED)(self._look)

    def get(self, url: str) -> VisitedPage:
        """The visit of a URL in canonical form. Its state is "" when the crawl did not request it."""
        return self._cached(url)

    def behind_aliases(self, origins: Iterable[str], limit: int) -> list[Url]:
        """The URLs under these origins that redirects and canonicals name, and that the crawl did not request."""
        urls: list[Url] = []
        with storage_errors():
            for origin in origins:
                values = (*sorted(_LEADING_STATES), f"{origin}/", f"{origin}0", limit - len(urls))
                urls += [Url(url) for (url,) in self._db.execute(_BEHIND_ALIASES, values)]
        return urls

    def redirect_trail(self, url: str) -> list[VisitedUrl]:
        """A URL and the URLs that its redirects and canonicals lead to, in order, as far as they were requested.

        In a loop, the last URL leads to an earlier one of the trail.
        """
        first, _ = self._row(url)
        return self._trail(first)

    def _trail(self, first: VisitedUrl) -> list[VisitedUrl]:
        trail, urls = [first], {first.url}
        last = first
        while last.state in _LEADING_STATES and last.target and last.target not in urls and len(urls) < MAX_HOPS:
            urls.add(last.target)
            last, _ = self._row(last.target)
            if not last.state:
                break
            trail.append(last)
        return trail

    def _look(self, url: str) -> VisitedPage:
        first, page = self._row(url)
        trail = self._trail(first)
        if len(trail) == 1:
            return VisitedPage(first, page)
        last = trail[-1]
        is_loop = any(visited.url == last.target for visited in trail)
        is_endless = is_loop and all(visited.state == State.REDIRECT for visited in trail)
        return VisitedPage(msgspec.structs.replace(first, end=last, is_endless=is_endless), page)

    def _row(self, url: str) -> VisitedPage:
        with storage_errors():
            row = self._db.execute(_VISIT, (url,)).fetchone()
            if row is None or row[0] in _NOT_REQUESTED:
                row = self._db.execute(_ALIAS, (url,)).fetchone() or row
        if row is None or row[0] == State.PENDING:
            return VisitedPage(VisitedUrl(url=url), None)
        state, reason, status, target, title, packed = row
        page = unpack_page(packed) if packed else None
        return VisitedPage(
            VisitedUrl(
                url=url,
                state=state,
                reason=reason,
                status=status,
                target=target or "",
                title=page.title if page else title,
            ),
            page,
        )
