"""Reviews the claims of the sources once the crawl is known: which are about pages, and which about this site.

Most requests in a log are for images and style sheets. But ``/tech/node.js`` and ``/wiki/File:Logo.png`` are pages on
some sites: only a link, a sitemap or a response can tell. A log without host names may have the requests of two sites.
"""

import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Final

from crawler.audit.evidence.store import ClaimStore
from crawler.audit.source_record import IgnoreReason, SourceKind
from crawler.audit.sources.logs.claims import MAX_VISITORS
from crawler.audit.sources.urls import file_pattern
from crawler.model import DiscoveredBy, State, Url
from crawler.state.database import storage_errors, transaction
from crawler.url.secrets import MASK

MAX_SAMPLES: Final = 50
"""URLs that look like files, and that one audit requests to see whether they are pages."""
_MAX_SUFFIXES: Final = 5  # in a note

_READ_AS_PAGE: Final = (State.INDEXABLE, State.NOINDEX, State.CANONICAL_ELSEWHERE, State.SOFT_404)
# Something leads to the URL as to a page, and the response does not say that it is a file.
_REQUESTED_AS_PAGE: Final = (
    *_READ_AS_PAGE,
    *(State.REDIRECT, State.CLIENT_ERROR, State.SERVER_ERROR, State.CHALLENGED, State.UNREACHABLE, State.BAD_ANSWER),
)
# Every program requests these at the root of every site.
_ROOT_FILES: Final = frozenset({"robots.txt", "ads.txt", "app-ads.txt", "humans.txt", "security.txt"})

_PAGES: Final = f"""SELECT u.url FROM site.visit v JOIN site.url u ON u.id = v.id
  WHERE v.state IN ({", ".join("?" * len(_READ_AS_PAGE))})"""  # noqa: S608 - places
_RELEASE: Final = f"""UPDATE record SET pattern = '' WHERE pattern != '' AND (
  pattern IN (SELECT pattern FROM page_pattern)
  OR EXISTS (SELECT 1 FROM site.url u JOIN site.visit v ON v.id = u.id
    WHERE u.url = record.url AND v.state IN ({", ".join("?" * len(_REQUESTED_AS_PAGE))}) AND v.found != ?)
  OR EXISTS (SELECT 1 FROM claim c WHERE c.url = record.url))"""  # noqa: S608 - places
_MOST_WANTED: Final = """SELECT f.pattern, f.url, max(f.row_count), v.id FROM file_claim f
  LEFT JOIN site.url u ON u.url = f.url LEFT JOIN site.visit v ON v.id = u.id
  WHERE f.dead = 0 OR f.ok + f.moved > 0 GROUP BY f.pattern ORDER BY max(f.row_count) DESC, f.pattern"""
# CROSS JOIN lets SQLite begin with the URLs of the folder: there may be thousands of folders.
_HAS_PAGES: Final = """SELECT 1 FROM site.url u CROSS JOIN site.visit v ON v.id = u.id
  WHERE u.url >= ? AND u.url < ? AND v.state = ? LIMIT 1"""
_LEFT: Final = "SELECT input, pattern, sum(row_count) FROM file_claim GROUP BY input, pattern"
_LOG_FIT: Final = f"""SELECT c.input, count(*), sum(v.status IN (404, 410)),
    min(CASE WHEN v.status IN (404, 410) THEN c.url END)
  FROM claim c JOIN input i ON i.id = c.input JOIN site.url u ON u.url = c.url JOIN site.visit v ON v.id = u.id
  WHERE i.source = '{SourceKind.LOG.value}' AND (c.status BETWEEN 200 AND 299 OR c.status = 304)
    AND v.status IS NOT NULL GROUP BY c.input"""  # noqa: S608 - a constant
_MIN_MISFITS: Final = 3  # URLs that a log answers with a page and the site with 404 or 410
_MISFIT_SHARE: Final = 0.05  # of the URLs that a log answers with a page; more make the log doubtful

FAILED_URLS: Final = 5
"""URLs that must fail for one client before it can be a scanner."""
# Found by something else than the audit's own sources.
_IS_LINKED: Final = f"v.found & {~(DiscoveredBy.AUDIT_SOURCE | DiscoveredBy.SPELLING)} != 0"
_IS_UNKNOWN: Final = f"""NOT EXISTS (SELECT 1 FROM site.url u JOIN site.visit v ON v.id = u.id
    WHERE u.url = w.url AND {_IS_LINKED})
  AND NOT EXISTS (SELECT 1 FROM claim c JOIN input i ON i.id = c.input
    WHERE c.url = w.url AND (c.ok > 0 OR i.source != '{SourceKind.LOG.value}'))"""  # noqa: S608 - constants
# At least 90 % of the requests from an address fail; or 10 % are for unknown URLs.
_MARK_SCANNERS: Final = f"""
INSERT OR IGNORE INTO scanner SELECT w.visitor FROM visitor w JOIN (
    SELECT w.visitor >> 32 AS address FROM visitor w JOIN success s ON s.visitor = w.visitor
    WHERE w.errors > 0 GROUP BY 1 HAVING count(DISTINCT w.url) >= ? AND sum(w.errors) >= 9 * max(s.requests)
  ) a ON a.address = w.visitor >> 32
UNION SELECT w.visitor FROM visitor w JOIN success s ON s.visitor = w.visitor WHERE w.errors AND {_IS_UNKNOWN}
  GROUP BY w.visitor HAVING count(DISTINCT w.url) >= ? AND 9 * sum(w.errors) >= max(s.requests)"""  # noqa: S608 - constants
_SCANNED: Final = """SELECT w.url, w.input, count(*), sum(w.errors * (s.visitor IS NOT NULL)), sum(w.errors),
    c.people, c.ok
  FROM visitor w JOIN claim c ON c.url = w.url AND c.input = w.input LEFT JOIN scanner s ON s.visitor = w.visitor
  WHERE w.errors > 0 GROUP BY w.url, w.input HAVING sum(s.visitor IS NOT NULL) > 0"""
_READ_BY_SCANNERS: Final = """SELECT r.url, r.input, count(*), sum(s.visitor IS NOT NULL),
    c.people - (SELECT coalesce(sum(w.errors), 0) FROM visitor w WHERE w.url = c.url AND w.input = c.input)
  FROM visitor r JOIN claim c ON c.url = r.url AND c.input = r.input LEFT JOIN scanner s ON s.visitor = r.visitor
  WHERE r.errors = 0 GROUP BY r.url, r.input HAVING sum(s.visitor IS NOT NULL) > 0 AND min(r.visitor) >= 0"""
_TO_BOTS: Final = """UPDATE record SET people = people - :count, bots = bots + :count, scanners = scanners + :count,
  agents = json_set(agents, '$.scanners', :count + coalesce(json_extract(agents, '$.scanners'), 0))
  WHERE url = :url AND input = :input"""


class ClaimReview:
    """The claims of ``db``, which has the state of the site attached as ``site``.

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
                if visit is None and not _is_well_known(url) and MASK not in url
            ]
        rows.sort(key=lambda row: not self._has_pages(row[0]))
        return [url for _, url in rows[: min(limit, MAX_SAMPLES)]]

    def release_pages(self) -> None:
        """Make claims of the records about pages.

        These are the URLs that sitemaps list or that the crawl requested as pages, and all URLs of a directory and a
        suffix (``/wiki/*.png``) that has a page.
        """
        with transaction(self._db):
            if self._db.execute("SELECT 1 FROM file_claim LIMIT 1").fetchone():
                self._db.executemany("INSERT OR IGNORE INTO page_pattern VALUES (?)", self._page_patterns())
                self._db.execute(_RELEASE, (*_REQUESTED_AS_PAGE, DiscoveredBy.AUDIT_SOURCE))

    def separate_scanners(self) -> None:
        """Count the requests of scanners as those of bots. The crawl must know all links.

        Scanners call themselves browsers. But nearly all of their requests fail, or they request many URLs that no page
        links and no other source knows.
        """
        with transaction(self._db):
            self._db.execute(_MARK_SCANNERS, (FAILED_URLS, FAILED_URLS))
            if not self._db.execute("SELECT 1 FROM scanner LIMIT 1").fetchone():
                return
            for url, number, readers, judged, successes in self._db.execute(_READ_BY_SCANNERS).fetchall():
                count = round(max(0, successes) * judged / readers)
                self._db.execute(_TO_BOTS, {"url": url, "input": number, "count": count})
            for url, number, visitors, judged, errors, people, ok in self._db.execute(_SCANNED).fetchall():
                # of many visitors, those that were counted are a sample
                count = round(people * judged / errors) if visitors >= MAX_VISITORS and not ok else min(judged, people)
                self._db.execute(_TO_BOTS, {"url": url, "input": number, "count": count})
            self._db.execute("DELETE FROM visitor WHERE visitor IN (SELECT visitor FROM scanner)")

    def doubt_logs(self) -> None:
        """Doubt the logs without host names whose newest responses do not fit the site.

        A page may have gone since its last visit. But if many have, the log may be that of several sites.
        """
        store = ClaimStore(self._db)
        with storage_errors():
            fits = {number: fit for number, *fit in self._db.execute(_LOG_FIT)}
        for number, report in store.reports_by_number():
            pages, misfits, example = fits.get(number, (0, 0, ""))
            has_hosts = report.hostless * 2 <= report.used
            if has_hosts or misfits < _MIN_MISFITS or misfits <= _MISFIT_SHARE * pages:
                continue
            report.doubt = _doubt_text(misfits, pages, example)
            report.notes.append(f"findings that only this log supports are inconclusive: {report.doubt}")
            store.end(number, report)

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


def _doubt_text(misfits: int, pages: int, example: str) -> str:
    return (
        f"{misfits:,} of {pages:,} pages in the log do not exist on this site, such as {example}, and the log has no "
        "host names, so it may contain requests for another site. Log the host ($host in nginx's log_format, %v in "
        "Apache's LogFormat), or use --set audit.trust_logs=true if all requests are for this site"
    )


def _ignored_text(suffixes: Counter[str]) -> str:
    top = suffixes.most_common(_MAX_SUFFIXES)
    shown = ", ".join(f"{suffix} {count:,}" for suffix, count in top)
    rest = suffixes.total() - sum(count for _, count in top)
    others = f", others {rest:,}" if rest else ""
    return (
        f"ignored: {suffixes.total():,} for URLs that end like files ({shown}{others}), because no link, sitemap or "
        "response shows that they are pages"
    )


def _is_well_known(url: str) -> bool:
    """Whether programs request a URL without being led there."""
    above, _, name = url.rpartition("/")
    return name == "favicon.ico" or name.startswith("sitemap") or (name in _ROOT_FILES and above.count("/") == 2)
