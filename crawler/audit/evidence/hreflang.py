"""Looks up the hreflang statements of pages and sitemap entries, and checks their clusters."""

import sqlite3
from collections.abc import Container, Iterator
from functools import lru_cache
from itertools import groupby, islice
from operator import itemgetter
from typing import Final

from msgspec.structs import astuple

from crawler.audit.evidence.entries import unpack_media
from crawler.audit.evidence.visits import VisitLookup, rows_in_order
from crawler.audit.finding import AuditFinding
from crawler.audit.health.hreflang import (
    HreflangLink,
    ListedHreflang,
    PageHreflang,
    check_hreflang_cluster,
    check_hreflang_labels,
    check_page_language,
    states_wrong_language,
)
from crawler.model import State, unpack_page
from crawler.parse.html.hreflang import MAX_ALTERNATES, canonical_hreflang
from crawler.state.database import storage_errors, transaction
from crawler.url.normalize import InvalidUrl, join_url
from crawler.url.params import UrlParams
from sitemap import Alternate

MAX_CACHED: Final = 20_000  # URLs in memory
_AT_ONCE: Final = 1_000  # rows
_FAULT: Final = "hreflang "  # a fault of crawler.parse.html.hreflang about a code begins with this
_CUT: Final = ("only the beginning was read", "reading stopped after", "read without most of its elements")

_PAGES: Final = """SELECT v.id, u.url, c.page FROM site.visit v JOIN site.url u ON u.id = v.id
  JOIN site.content c ON c.id = v.content
  WHERE v.id > ? AND v.state = ? AND c.page IS NOT NULL ORDER BY v.id LIMIT ?"""
_ENTRIES: Final = "SELECT id, url, media FROM entry WHERE id > ? AND url != '' AND media != x'' ORDER BY id LIMIT ?"
# URLs of one cluster come together, so that each is looked up once.
_SPEAKERS: Final = "SELECT min(cluster), url FROM temp.speaker GROUP BY url ORDER BY 1, 2"
_COLUMNS: Final = "url TEXT NOT NULL, by TEXT NOT NULL, label TEXT NOT NULL, language TEXT NOT NULL"
_NAMINGS: Final = (
    f"CREATE TEMP TABLE naming ({_COLUMNS}, PRIMARY KEY (url, by, label)) WITHOUT ROWID",
    f"CREATE TEMP TABLE misnaming ({_COLUMNS}, PRIMARY KEY (by, url, label)) WITHOUT ROWID",
)
_NAME: Final = "INSERT OR IGNORE INTO temp.naming VALUES (?, ?, ?, ?)"
_MISNAME: Final = "INSERT OR IGNORE INTO temp.misnaming SELECT * FROM temp.naming WHERE url = ?"
_BY_URL: Final = "SELECT * FROM temp.naming ORDER BY url, by, label"
_BY_SPEAKER: Final = "SELECT * FROM temp.misnaming ORDER BY by, url, label"
_LISTED: Final = "SELECT file, line, media FROM entry WHERE url = ? AND media != x'' ORDER BY id"


class SiteVersions:
    """A :class:`crawler.audit.health.hreflang.HreflangLookup`. ``params`` are those of all canonical URLs.

    Every method raises StorageError when the disk fails.
    """

    def __init__(self, db: sqlite3.Connection, visits: VisitLookup, params: UrlParams) -> None:
        self._db = db
        self._visits = visits
        self._params = params
        self.are_stated = False  # whether any page or entry states versions
        self._cached = lru_cache(MAX_CACHED)(self._look)
        self._are_listed: bool | None = None  # whether any entry states versions; None: unknown

    def judge(self, copies: Container[int] = ()) -> Iterator[AuditFinding]:
        """The findings about the clusters of all indexable pages. The caller may write ``db`` between two findings.

        ``copies`` are ids of copies of other pages: what these state counts, but they are not judged.
        """
        with storage_errors():
            self._db.execute("CREATE TEMP TABLE speaker (cluster TEXT NOT NULL, url TEXT NOT NULL)")
            for rows in (self._pages_with_versions(copies), self._entries_with_versions()):
                while batch := list(islice(rows, _AT_ONCE)):
                    self.are_stated = True
                    with transaction(self._db):
                        self._db.executemany("INSERT INTO temp.speaker VALUES (?, ?)", batch)
            for table in _NAMINGS:
                self._db.execute(table)
            for _, url in self._db.execute(_SPEAKERS):
                findings, links = check_hreflang_cluster(self.lookup(url), self)
                yield from findings
                if links:
                    self._db.executemany(_NAME, map(astuple, links))
            yield from self._labels()
            self._db.execute("DROP TABLE temp.speaker")
            self._db.execute("DROP TABLE temp.naming")
            self._db.execute("DROP TABLE temp.misnaming")

    def _labels(self) -> Iterator[AuditFinding]:
        """The findings about pages that state a wrong language or use wrong labels, one for each page."""
        for url, rows in groupby(self._db.execute(_BY_URL), itemgetter(0)):
            links, page = [HreflangLink(*row) for row in rows], self.lookup(url)
            if states_wrong_language(page, links, self):
                yield check_page_language(page, links, self)
            else:
                self._db.execute(_MISNAME, (url,))
        for by, rows in groupby(self._db.execute(_BY_SPEAKER), itemgetter(1)):
            yield check_hreflang_labels(self.lookup(by), [HreflangLink(*row) for row in rows])

    def lookup(self, url: str) -> PageHreflang:
        """See :class:`crawler.audit.health.hreflang.HreflangLookup`."""
        return self._cached(url)

    def _look(self, url: str) -> PageHreflang:
        visited, page = self._visits.get(url)
        listed = tuple(self._listed(url))
        if page is None:
            return PageHreflang(visited=visited, listed=listed)
        return PageHreflang(
            visited=visited,
            language=page.language,
            own_alternates=tuple(page.alternates),
            listed=listed,
            faults=tuple(fault for fault in page.faults if fault.startswith(_FAULT)),
            is_whole=len(page.alternates) < MAX_ALTERNATES and not any(text in visited.reason for text in _CUT),
        )

    def _listed(self, url: str) -> Iterator[ListedHreflang]:
        with storage_errors():
            if self._are_listed is None:
                self._are_listed = next(self._entries_with_versions(), None) is not None
            if not self._are_listed:
                return
            rows = self._db.execute(_LISTED, (url,)).fetchall()
        for file, line, packed in rows:
            _, _, variants = unpack_media(packed)
            if alternates := tuple(self._alternates(url, variants)):
                yield ListedHreflang(file, line, alternates)

    def _alternates(self, url: str, variants: list[tuple[str, str]]) -> Iterator[Alternate]:
        """The valid statements; lint reports the others."""
        for code, href in variants:
            if label := canonical_hreflang(code):
                try:
                    yield Alternate(label, join_url(url, href, self._params))
                except InvalidUrl:
                    continue

    def _pages_with_versions(self, copies: Container[int]) -> Iterator[tuple[str, str]]:
        """The pages that state versions, each after the name of its cluster."""
        for number, url, packed in rows_in_order(self._db, _PAGES, State.INDEXABLE.value):
            page = unpack_page(packed)
            is_meant = page.alternates or any(fault.startswith(_FAULT) for fault in page.faults)
            if is_meant and number not in copies:
                yield min((version.href for version in page.alternates), default=url), url

    def _entries_with_versions(self) -> Iterator[tuple[str, str]]:
        """The URLs of entries that state versions, each after the name of its cluster."""
        for _, url, packed in rows_in_order(self._db, _ENTRIES):
            _, _, variants = unpack_media(packed)
            if variants:
                yield min(href for _, href in variants), url
