"""Holds the claims about URLs that look like files, until the crawl shows which of them are pages.

Most requests in a log are for images and style sheets. But ``/tech/node.js`` and ``/wiki/File:Logo.png`` are pages on
some sites: only a link, a sitemap or a response can tell.
"""

import re
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Final

from crawler.audit.evidence.store import CLAIM_COLUMNS, ClaimStore
from crawler.audit.source_record import IgnoreReason
from crawler.audit.sources.urls import file_pattern
from crawler.model import DiscoveredBy, State, Url
from crawler.state.database import storage_errors, transaction
from crawler.url.params import MASK

MAX_SAMPLES: Final = 50
"""URLs that look like files, and that one audit requests to see whether they are pages."""
_MAX_SUFFIXES: Final = 5  # in a note

_READ_AS_PAGE: Final = (State.INDEXABLE, State.NOINDEX, State.CANONICAL_ELSEWHERE)
# Something leads to the URL as to a page, and the response does not say that it is a file.
_REQUESTED_AS_PAGE: Final = (
    *_READ_AS_PAGE,
    *(State.REDIRECT, State.CLIENT_ERROR, State.SERVER_ERROR, State.CHALLENGED, State.UNREACHABLE, State.BAD_ANSWER),
)
# Every program requests these at the root of every site.
_well_known = re.compile(
    r"https?://[^/]+/(?:robots|ads|app-ads|humans|security)\.txt|\S+/(?:favicon\.ico|sitemap[^/]*)"
)

_PAGES: Final = f"""SELECT u.url FROM site.visit v JOIN site.url u ON u.id = v.id
  WHERE v.state IN ({", ".join("?" * len(_READ_AS_PAGE))})"""  # noqa: S608 - places
_RELEASED: Final = f"""FROM file_claim AS f WHERE f.pattern IN (SELECT pattern FROM page_pattern)
  OR EXISTS (SELECT 1 FROM site.url u JOIN site.visit v ON v.id = u.id
    WHERE u.url = f.url AND v.state IN ({", ".join("?" * len(_REQUESTED_AS_PAGE))}) AND v.found != ?)
  OR EXISTS (SELECT 1 FROM claim c WHERE c.url = f.url)"""  # noqa: S608 - places
_COLUMNS: Final = ", ".join(CLAIM_COLUMNS)
_RELEASE: Final = f"INSERT OR IGNORE INTO claim ({_COLUMNS}) SELECT {_COLUMNS} {_RELEASED}"
_MOST_WANTED: Final = """SELECT f.pattern, f.url, max(f.row_count), v.id FROM file_claim f
  LEFT JOIN site.url u ON u.url = f.url LEFT JOIN site.visit v ON v.id = u.id
  WHERE f.dead = 0 OR f.ok + f.moved > 0 GROUP BY f.pattern ORDER BY max(f.row_count) DESC, f.pattern"""
_HAS_PAGES: Final = """SELECT 1 FROM site.url u JOIN site.visit v ON v.id = u.id
  WHERE u.url >= ? AND u.url < ? AND v.state = ? LIMIT 1"""
_LEFT: Final = "SELECT input, pattern, sum(row_count) FROM file_claim GROUP BY input, pattern"


class FileClaims:
    """The claims in ``file_claim`` of ``db``, which has the state of the site attached as ``site``.

    Every method raises StorageError when the disk fails.
    """

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def samples(self, limit: int) -> list[Url]:
        """At most ``limit`` URLs to request: the most requested one of each directory and suffix.

        Directories with pages come first. Empty when the crawl has requested them.
        """
        with storage_errors():
            rows = [
                (pattern, Url(url))
                for pattern, url, _, visit in self._db.execute(_MOST_WANTED)
                if visit is None and not _well_known.fullmatch(url) and f"={MASK}" not in url
            ]
        rows.sort(key=lambda row: not self._has_pages(row[0]))
        return [url for _, url in rows[: min(limit, MAX_SAMPLES)]]

    def release_pages(self) -> None:
        """Move the claims about pages to the table ``claim``.

        These are the URLs that sitemaps list or that the crawl requested as pages, and all URLs of a directory and a
        suffix (``/wiki/*.png``) that has a page.
        """
        with transaction(self._db):
            if self._db.execute("SELECT 1 FROM file_claim LIMIT 1").fetchone():
                self._db.executemany("INSERT OR IGNORE INTO page_pattern VALUES (?)", self._page_patterns())
                self._db.execute(_RELEASE, (*_REQUESTED_AS_PAGE, DiscoveredBy.AUDIT_SOURCE))
                self._db.execute(
                    "DELETE FROM file_claim WHERE EXISTS (SELECT 1 FROM claim c WHERE c.url = file_claim.url)"
                )

    def finish_reports(self) -> None:
        """Complete the reports of all sources: their distinct URLs, and the rows left aside as files."""
        with storage_errors():
            urls = dict(self._db.execute("SELECT input, count(*) FROM claim GROUP BY input").fetchall())
            rows_by_suffix: defaultdict[int, Counter[str]] = defaultdict(Counter)
            for number, pattern, rows in self._db.execute(_LEFT):
                rows_by_suffix[number][pattern.rpartition("*")[2]] += rows
        store = ClaimStore(self._db)
        for number, report in store.reports_by_number():
            report.urls = urls.get(number, 0)
            if suffixes := rows_by_suffix.get(number):
                count = suffixes.total()
                report.used -= count
                report.beside += count
                report.ignored[IgnoreReason.FILE] = count
                report.notes.append(_ignored_text(suffixes))
            store.end(number, report)

    def _page_patterns(self) -> Iterator[tuple[str]]:
        for (url,) in self._db.execute(_PAGES, _READ_AS_PAGE):
            if pattern := file_pattern(Url(url)):
                yield (pattern,)

    def _has_pages(self, pattern: str) -> bool:
        folder = pattern.rpartition("*")[0]
        with storage_errors():
            row = self._db.execute(_HAS_PAGES, (folder, f"{folder[:-1]}0", State.INDEXABLE)).fetchone()
        return row is not None


def _ignored_text(suffixes: Counter[str]) -> str:
    top = suffixes.most_common(_MAX_SUFFIXES)
    shown = ", ".join(f"{suffix} {count:,}" for suffix, count in top)
    rest = suffixes.total() - sum(count for _, count in top)
    others = f", others {rest:,}" if rest else ""
    return (
        f"ignored: {suffixes.total():,} for URLs that end like files ({shown}{others}), because no link, sitemap or "
        "response shows that they are pages"
    )
