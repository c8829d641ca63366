"""Checks the sitemap entries against the visits of their URLs, streamed in flat memory."""

import sqlite3
from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import itemgetter
from typing import Final

import msgspec

from crawler.audit.evidence.visits import VisitLookup, rows_in_order
from crawler.audit.finding import AuditFinding
from crawler.audit.health.entries import (
    ListedMedia,
    MediaRole,
    PublishedEntry,
    check_duplicate_spellings,
    check_entry,
    check_outside_site,
)
from crawler.audit.health.lastmod import PageDates, check_lastmod
from crawler.audit.health.visit import VisitedUrl
from crawler.model import SEEN_TO_CHANGE, State, Url
from crawler.state.database import statements, storage_errors, transaction
from crawler.url.normalize import InvalidUrl, normalize_url, origin_of
from crawler.url.params import UrlParams

_INDEXABLE: Final = State.INDEXABLE.value
_SQL: Final = statements("crawler.audit.evidence", "entries.sql")


PackedMedia = tuple[list[str], list[tuple[str, str, str]], list[tuple[str, str]]]
unpack_media = msgspec.msgpack.Decoder(PackedMedia).decode
"""The column ``media``: images; thumbnail, content and player of each video; hreflang and href of each variant."""


class PublishedEntries:
    """The entries in ``db``, which has the state of the site attached as ``site``.

    ``params`` are those of all canonical URLs. The caller may write ``db`` between two findings. Every method raises
    StorageError when the disk fails.
    """

    def __init__(self, db: sqlite3.Connection, visits: VisitLookup, params: UrlParams) -> None:
        self._db = db
        self._visits = visits
        self._params = params
        # unrequested entries under another name of the site, by file and origin: first one, number, the site's origin
        self._unrequested: dict[tuple[str, str], tuple[PublishedEntry, int, str]] = {}

    def alias_urls(self, limit: int) -> list[Url]:
        """The first URLs that entries list under another name of the site."""
        with storage_errors():
            return [Url(url) for (url,) in self._db.execute(_SQL["alias_urls"], (limit,))]

    def store_alias_results(self, visits: Iterable[VisitedUrl]) -> None:
        """Store the visits of :meth:`alias_urls`."""
        with transaction(self._db):
            self._db.executemany(
                _SQL["put_alias_result"], ((v.url, v.state, v.reason, v.status, v.target, v.title) for v in visits)
            )

    def assign_pages(self) -> None:
        """Store the page of every entry, once the claims are matched with pages."""
        with transaction(self._db):
            self._db.execute(_SQL["set_page"])

    def judge(self) -> Iterator[AuditFinding]:
        """The findings about the URLs and dates of the entries, in their order."""
        with storage_errors():
            distrust = self._db.execute(_SQL["distrust"]).fetchone()
        is_trusted = not (distrust and distrust[0])
        for row in rows_in_order(self._db, _SQL["entries"]):
            if finding := self._judge(row, is_trusted=is_trusted):
                yield finding
        for entry, count, origin in self._unrequested.values():
            yield check_outside_site(entry, origin, answers=False, times=count)

    def spellings(self) -> Iterator[AuditFinding]:
        """The findings about pages that entries list under several URLs; call it after :meth:`assign_pages`."""
        with storage_errors():
            rows = self._db.execute(_SQL["spellings"])
            for page, entries in groupby(rows, itemgetter(0)):
                visited = self._visits.get(page).visited
                if visited.state != _INDEXABLE:
                    continue
                listed = [
                    PublishedEntry(loc=loc, url=url, file=file, line=line)
                    for _, url, alias_url, loc, file, line in entries
                    if self._was_answered(alias_url or url)
                ]
                if finding := check_duplicate_spellings(visited, listed):
                    yield finding

    def media(self) -> Iterator[ListedMedia]:
        """The images and videos of all entries, once for each entry that lists them."""
        for _, url, loc, file, line, packed in rows_in_order(self._db, _SQL["media"]):
            images, videos, _ = unpack_media(packed)
            named = [(MediaRole.IMAGE, image) for image in images]
            for video in videos:
                named += zip((MediaRole.THUMBNAIL, MediaRole.VIDEO, MediaRole.PLAYER), video, strict=True)
            for role, text in named:
                if text and (address := self._canonical(text)):
                    yield ListedMedia(url=address, role=role, page=url or loc, file=file, line=line)

    def _judge(self, row: tuple, *, is_trusted: bool) -> AuditFinding | None:  # type: ignore[type-arg]
        _, url, loc, alias_url, file, line, lastmod, state, *dates = row
        entry = PublishedEntry(loc=loc, url=alias_url or url, file=file, line=line, lastmod=lastmod)
        if alias_url:
            return self._judge_alias(entry, url)
        if state is None or not url:
            return None
        if state != _INDEXABLE:
            return check_entry(entry, self._visits.get(url).visited, self._place)
        if lastmod and (observed := _observed_dates(*dates, is_trusted=is_trusted)):
            return check_lastmod(entry, observed)
        return None

    def _judge_alias(self, entry: PublishedEntry, url: str) -> AuditFinding | None:
        """The finding about an entry under another name of the site; ``url`` is its URL under the site's own name."""
        visited = self._visits.get(entry.url).visited
        if not self._was_answered(entry.url):
            if finding := check_entry(entry, visited, self._place):
                return finding
        elif self._place(url):
            return None  # both answer: :meth:`spellings` reports that
        origin = origin_of(Url(url))
        if visited.status == 200:
            return check_outside_site(entry, origin, answers=True)
        key = entry.file, origin_of(Url(entry.url))
        first, count, _ = self._unrequested.get(key, (entry, 0, origin))
        self._unrequested[key] = first, count + 1, origin
        return None

    def _was_answered(self, url: str) -> bool:
        """Whether a URL itself answered with a page."""
        return self._visits.get(url).visited.is_page

    def _place(self, url: str) -> str:
        """The file and line that list a URL under the site's own name, or ""."""
        with storage_errors():
            entry = self._db.execute(_SQL["find_place"], (url,)).fetchone()
        return f"{entry[0]} line {entry[1]}" if entry else ""

    def _canonical(self, text: str) -> str:
        try:
            return normalize_url(text, self._params.keeping_all)
        except InvalidUrl:
            return ""


def _observed_dates(  # noqa: PLR0913 - the columns
    seen_at: float | None,
    header_date: str,
    page_date: str,
    page_date_source: str,
    changed: int | None,
    is_same: int | None,
    seen_before: float | None,
    change_date: str | None,
    change_source: str | None,
    read_at: float | None,
    *,
    is_trusted: bool,
) -> PageDates | None:
    if seen_at is None:
        return None
    is_unchanged = seen_before is not None and (bool(is_same) or changed == 0)
    if seen_before is not None and not is_unchanged and changed is None:
        return None  # the content differs, but no crawl has decided whether significantly
    unchanged_at = [at for at in (read_at, seen_before if is_unchanged else None) if at is not None]
    return PageDates(
        seen_at=seen_at,
        same_since=min(unchanged_at, default=None),
        seen_before=None if is_unchanged else seen_before,
        changed=change_date or "" if change_source == SEEN_TO_CHANGE and is_unchanged else "",
        header_date=header_date if is_trusted else "",
        page_date=page_date,
        page_date_source=page_date_source,
    )
