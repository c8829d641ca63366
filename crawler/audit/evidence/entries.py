"""The entries of the sitemaps, held against what the visits say of their URLs. Everything is streamed."""

import sqlite3
from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import itemgetter
from typing import Final

import msgspec

from crawler.audit.evidence.visits import VisitLookup
from crawler.audit.finding import AuditFinding
from crawler.audit.health.entries import (
    PublishedEntry,
    check_duplicate_spellings,
    check_entry,
    check_outside_site,
)
from crawler.audit.health.lastmod import ObservedDates, check_lastmod
from crawler.audit.health.media import ListedMedia, MediaRole
from crawler.audit.health.visit import VisitedUrl
from crawler.lastmod.policy import SEEN_TO_CHANGE
from crawler.model import State, Url
from crawler.state.database import storage_errors, transaction
from crawler.url.normalize import InvalidUrl, normalize_url, origin_of
from crawler.url.params import UrlParams

_ROWS_AT_ONCE: Final = 1_000  # rows
_INDEXABLE: Final = State.INDEXABLE.value

# What an earlier run saw stands in memory until this run is closed, and in the run that read the content ever after.
_ENTRIES: Final = """
SELECT e.id, e.url, e.loc, e.door, e.file, e.line, e.lastmod, v.state, v.seen_at, v.header_date, v.page_date,
  v.page_date_source, v.changed, v.content = m.content, iif(m.seen_at < v.seen_at, m.seen_at, NULL), m.lastmod,
  m.lastmod_source,
  (SELECT r.ended FROM site.content c JOIN site.run r ON r.number = c.run
    WHERE c.id = v.content AND r.ended < v.seen_at)
FROM entry e LEFT JOIN site.url u ON u.url = e.url LEFT JOIN site.visit v ON v.id = u.id
  LEFT JOIN site.memory m ON m.id = v.id
WHERE e.id > ? ORDER BY e.id LIMIT ?"""
_SET_PAGE: Final = "UPDATE entry SET page = (SELECT h.id FROM home h WHERE h.url = entry.url)"
_SPELLINGS: Final = """
SELECT u.url, e.url, e.door, e.loc, e.file, e.line FROM entry e JOIN site.url u ON u.id = e.page
WHERE e.page IN (SELECT page FROM entry WHERE page IS NOT NULL GROUP BY page HAVING count(DISTINCT loc) > 1)
ORDER BY e.page, e.id"""
_FIND_PLACE: Final = "SELECT file, line FROM entry WHERE url = ? AND door = '' LIMIT 1"
_ALIAS_URLS: Final = "SELECT door FROM entry WHERE door != '' GROUP BY door ORDER BY min(id) LIMIT ?"
_PUT_ALIAS_RESULT: Final = "INSERT OR REPLACE INTO door VALUES (?, ?, ?, ?, ?, ?)"
_MEDIA: Final = (
    "SELECT id, url, loc, file, line, media FROM entry WHERE id > ? AND media != x'' ORDER BY id LIMIT ?"
)
_DISTRUST: Final = "SELECT value FROM site.about WHERE key = 'last_modified_distrusted'"

PackedMedia = tuple[list[str], list[tuple[str, str, str]], list[tuple[str, str]]]
unpack_media = msgspec.msgpack.Decoder(PackedMedia).decode
"""The column ``media``: images; thumbnail, content and player of each video; hreflang and href of each variant."""


class PublishedEntries:
    """The entries in ``db``, which has the state of the site beside it as ``site``. ``params`` made all URLs.

    Between two findings ``db`` may be written. Every method raises StorageError when the disk refuses.
    """

    def __init__(self, db: sqlite3.Connection, visits: VisitLookup, params: UrlParams) -> None:
        self._db = db
        self._visits = visits
        self._params = params
        # entries under another name of the site that were not asked for, by file and origin: the first, how many, the
        # origin of the site
        self._unasked: dict[tuple[str, str], tuple[PublishedEntry, int, str]] = {}

    def alias_urls(self, most: int) -> list[Url]:
        """The first of the URLs that are listed under another name of the site, in that form."""
        with storage_errors():
            return [Url(door) for (door,) in self._db.execute(_ALIAS_URLS, (most,))]

    def store_alias_results(self, found: Iterable[VisitedUrl]) -> None:
        """Keep what asking for :meth:`doors` brought."""
        with transaction(self._db):
            self._db.executemany(
                _PUT_ALIAS_RESULT, ((v.url, v.state, v.reason, v.status, v.target, v.title) for v in found)
            )

    def assign_pages(self) -> None:
        """Note of every entry which page it comes to, once the claims have their homes."""
        with transaction(self._db):
            self._db.execute(_SET_PAGE)

    def judge(self) -> Iterator[AuditFinding]:
        """What is wrong with the URLs and the dates of entries, in the order in which they stand."""
        with storage_errors():
            distrust = self._db.execute(_DISTRUST).fetchone()
        is_trusted = not (distrust and distrust[0])
        last = 0
        while rows := self._rows(_ENTRIES, last):
            for row in rows:
                if finding := self._judge(row, is_trusted=is_trusted):
                    yield finding
            last = rows[-1][0]
        for entry, count, home in self._unasked.values():
            yield check_outside_site(entry, home, answers=False, times=count)

    def spellings(self) -> Iterator[AuditFinding]:
        """The pages that several entries are, by other ways than being the same URL; after :meth:`settle`."""
        with storage_errors():
            rows = self._db.execute(_SPELLINGS)
            for page, entries in groupby(rows, itemgetter(0)):
                visited = self._visits.get(page).visited
                if visited.state != _INDEXABLE:
                    continue
                meant = [
                    PublishedEntry(loc=loc, url=url, file=file, line=line)
                    for _, url, door, loc, file, line in entries
                    if self._was_answered(door or url)
                ]
                if finding := check_duplicate_spellings(visited, meant):
                    yield finding

    def media(self) -> Iterator[ListedMedia]:
        """The images and videos of all entries, as often as they are listed."""
        last = 0
        while rows := self._rows(_MEDIA, last):
            for _, url, loc, file, line, packed in rows:
                images, videos, _ = unpack_media(packed)
                named = [(MediaRole.IMAGE, image) for image in images]
                for video in videos:
                    named += zip((MediaRole.THUMBNAIL, MediaRole.VIDEO, MediaRole.PLAYER), video, strict=True)
                for role, text in named:
                    if text and (address := self._form(text)):
                        yield ListedMedia(url=address, role=role, page=url or loc, file=file, line=line)
            last = rows[-1][0]

    def _judge(self, row: tuple, *, is_trusted: bool) -> AuditFinding | None:  # type: ignore[type-arg]
        _, url, loc, door, file, line, lastmod, state, *seen = row
        entry = PublishedEntry(loc=loc, url=door or url, file=file, line=line, lastmod=lastmod)
        if door:
            return self._judge_alias(entry, url)
        if state is None or not url:
            return None
        if state != _INDEXABLE:
            return check_entry(entry, self._visits.get(url).visited, self._place)
        if lastmod and (observed := _observed_dates(*seen, is_trusted=is_trusted)):
            return check_lastmod(entry, observed)
        return None

    def _judge_alias(self, entry: PublishedEntry, url: str) -> AuditFinding | None:
        """What is wrong with an entry under another name of the site; ``url`` is the same under its own."""
        visited = self._visits.get(entry.url).visited
        if not self._was_answered(entry.url):
            if finding := check_entry(entry, visited, self._place):
                return finding
        elif self._place(url):
            return None  # both answer: :meth:`spellings` tells
        home = origin_of(Url(url))
        if visited.status == 200:
            return check_outside_site(entry, home, answers=True)
        place = entry.file, origin_of(Url(entry.url))
        first, count, _ = self._unasked.get(place, (entry, 0, home))
        self._unasked[place] = first, count + 1, home
        return None

    def _was_answered(self, url: str) -> bool:
        """Whether a URL was asked for, and neither leads elsewhere nor failed."""
        return self._visits.get(url).visited.is_page

    def _place(self, url: str) -> str:
        """Where a URL is listed under the site's own name, or ""."""
        with storage_errors():
            found = self._db.execute(_FIND_PLACE, (url,)).fetchone()
        return f"{found[0]} line {found[1]}" if found else ""

    def _form(self, text: str) -> str:
        try:
            return normalize_url(text, self._params.keeping_all)
        except InvalidUrl:
            return ""

    def _rows(self, question: str, last: int) -> list[tuple]:  # type: ignore[type-arg]
        with storage_errors():
            return self._db.execute(question, (last, _ROWS_AT_ONCE)).fetchall()


def _observed_dates(  # noqa: PLR0913 - the columns
    seen_at: float | None,
    header_date: str,
    page_date: str,
    page_date_source: str,
    changed: int | None,
    is_same: int | None,
    seen_before: float | None,
    dated: str | None,
    dated_by: str | None,
    read: float | None,
    *,
    is_trusted: bool,
) -> ObservedDates | None:
    if seen_at is None:
        return None
    stood_still = seen_before is not None and (bool(is_same) or changed == 0)
    if seen_before is not None and not stood_still and changed is None:
        return None  # something is different, and nobody found out whether that matters
    since = [at for at in (read, seen_before if stood_still else None) if at is not None]
    return ObservedDates(
        seen_at=seen_at,
        same_since=min(since, default=None),
        seen_before=None if stood_still else seen_before,
        changed=dated or "" if dated_by == SEEN_TO_CHANGE and stood_still else "",
        header_date=header_date if is_trusted else "",
        page_date=page_date,
        page_date_source=page_date_source,
    )
