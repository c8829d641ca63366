"""The language versions of pages, as pages and entries of sitemaps state them, looked up one by one."""

import sqlite3
from collections.abc import Iterator
from typing import Final

from crawler.evidence.entries import unpack
from crawler.evidence.visits import Visits
from crawler.finding import Finding
from crawler.frontier.batch import storage
from crawler.health.clusters import ListedVersions, Version, judge_cluster
from crawler.html.hreflang import canonical
from crawler.html.page import MAX_ALTERNATES
from crawler.model import State
from crawler.params import Params
from crawler.url import InvalidUrl, join
from sitemap import Alternate

MAX_HELD: Final = 20_000  # URLs that are remembered
_AT_ONCE: Final = 1_000  # rows
_FAULT: Final = "hreflang "  # what crawler.html.page says of a code that is none begins so
_CUT: Final = ("only the beginning was read", "reading stopped after", "read by the simple scanner")

_PAGES: Final = """SELECT v.id, u.url FROM site.visit v JOIN site.url u ON u.id = v.id
  WHERE v.id > ? AND v.state = ? ORDER BY v.id LIMIT ?"""
_LISTED: Final = "SELECT file, line, media FROM entry WHERE url = ? AND media != x'' ORDER BY id"


class KnownVersions:
    """:class:`crawler.health.clusters.Versions` of an audit. ``params`` are what all URLs were made with.

    Every method raises StorageError when the disk refuses.
    """

    def __init__(self, db: sqlite3.Connection, visits: Visits, params: Params) -> None:
        self._db = db
        self._visits = visits
        self._params = params
        self._known: dict[str, Version] = {}

    def judge(self) -> Iterator[Finding]:
        """What is wrong with the clusters of all indexable pages. Between two findings ``db`` may be written."""
        last = -1
        while rows := self._pages(last):
            for _, url in rows:
                yield from judge_cluster(self.version(url), self)
            last = rows[-1][0]

    def version(self, url: str) -> Version:
        """See :class:`crawler.health.clusters.Versions`."""
        known = self._known.get(url)
        if known is None:
            if len(self._known) >= MAX_HELD:
                self._known.clear()
            known = self._known[url] = self._look(url)
        return known

    def _look(self, url: str) -> Version:
        visited, page = self._visits.get(url)
        listed = tuple(self._listed(url))
        if page is None:
            return Version(visited=visited, listed=listed)
        return Version(
            visited=visited,
            language=page.language,
            stated=tuple(page.alternates),
            listed=listed,
            faults=tuple(each for each in page.faults if each.startswith(_FAULT)),
            is_whole=len(page.alternates) < MAX_ALTERNATES
            and not any(said in visited.reason for said in _CUT),
        )

    def _listed(self, url: str) -> Iterator[ListedVersions]:
        with storage():
            rows = self._db.execute(_LISTED, (url,)).fetchall()
        for file, line, packed in rows:
            _, _, variants = unpack(packed)
            if alternates := tuple(self._alternates(url, variants)):
                yield ListedVersions(file, line, alternates)

    def _alternates(self, url: str, variants: list[tuple[str, str]]) -> Iterator[Alternate]:
        """Those that can be understood: of the others lint tells."""
        for code, href in variants:
            if label := canonical(code):
                try:
                    yield Alternate(label, join(url, href, self._params))
                except InvalidUrl:
                    continue

    def _pages(self, last: int) -> list[tuple[int, str]]:
        with storage():
            return self._db.execute(_PAGES, (last, State.INDEXABLE.value, _AT_ONCE)).fetchall()
