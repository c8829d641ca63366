"""Matches each claimed URL with a page of the site: the same URL, another spelling, or the end of its redirects."""

import sqlite3
from collections.abc import Iterable, Iterator
from functools import lru_cache
from hashlib import blake2b
from typing import Final

from msgspec import Struct

from crawler.audit.graph.load import load_graph
from crawler.audit.orphans.duplicates import DuplicateCandidate, is_bare, normalize_spelling
from crawler.audit.source_record import EXPORT_NAMES, SourceKind
from crawler.model import DiscoveredBy, State, Url, unpack_page
from crawler.parse.snapshot.snapshot import load_markup
from crawler.state.database import statements, storage_errors, transaction
from crawler.url.normalize import origin_of
from crawler.url.scope import alias_origins
from crawler.url.secrets import mask_private

MAX_HOPS: Final = 10  # redirects and canonicals in a row

_INDEXABLE: Final = State.INDEXABLE.value
_UNCRAWLED_URLS: Final = f"""
SELECT c.url, group_concat(DISTINCT i.source), sum(c.people + c.engines), sum(c.people + c.bots), sum(c.ok),
  sum(c.moved), sum({" + ".join(f"c.{name}" for name in EXPORT_NAMES)}), v.state
FROM claim c JOIN input i ON i.id = c.input
  LEFT JOIN site.url u ON u.url = c.url LEFT JOIN site.visit v ON v.id = u.id
WHERE v.id IS NULL OR v.state = ? GROUP BY c.url"""  # noqa: S608 - columns
# A page that only logs, exports and lists name.
_ONLY_FOUND_BY_SOURCES: Final = f"found & {~(DiscoveredBy.AUDIT_SOURCE | DiscoveredBy.SPELLING)} = 0"
_SQL: Final = statements("crawler.audit.evidence", "url_matching.sql", _ONLY_FOUND_BY_SOURCES=_ONLY_FOUND_BY_SOURCES)
# A page that was requested because of these, or of nofollow links; it may link to itself.
_REQUESTED_FOR_SOURCES: Final = f"found & {DiscoveredBy.AUDIT_SOURCE | DiscoveredBy.SPELLING}"
# SQLite knows the length without reading a text.
_SAME_CONTENT: Final = f"""SELECT c.{{0}}, v.id, u.url, v.{_ONLY_FOUND_BY_SOURCES}
  FROM site.visit v JOIN site.url u ON u.id = v.id JOIN site.content c ON c.id = v.content
  WHERE v.state = :state AND length(c.{{0}}) IN (
    SELECT length(k.{{0}}) FROM site.visit s JOIN site.content k ON k.id = s.content
    WHERE s.state = :state AND s.{_REQUESTED_FOR_SOURCES})
  AND c.{{0}} IN (
    SELECT k.{{0}} FROM site.visit s JOIN site.content k ON k.id = s.content
    WHERE s.state = :state AND s.{_REQUESTED_FOR_SOURCES} AND k.{{0}} != x'')
  ORDER BY 1, 2"""  # noqa: S608 - numbers


def _title(packed: bytes | None) -> str:
    return unpack_page(packed).title if packed else ""


@lru_cache(maxsize=1_024)
def _source_kinds(sources: str) -> frozenset[SourceKind]:
    return frozenset(map(SourceKind, sources.split(",")))


class UncrawledUrl(Struct, frozen=True):
    """A URL that the crawl did not fetch, with the counts of its sources.

    ``is_linked``: the site links it by nofollow links, or under another name of the site.
    """

    url: Url
    sources: frozenset[SourceKind] = frozenset()
    people: int = 0  # requests by people and by search engines
    requests: int = 0
    ok: int = 0  # requests that were answered by 2xx or 304
    moved: int = 0  # ... by other 3xx
    other: int = 0  # clicks, impressions, sessions, links and the like
    is_linked: bool = False


class UrlMatcher:
    """Joins claims and visits. Every method raises StorageError when the disk fails."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._bare = "", False  # the URL without parameters that was last looked up, and whether it is a page

    def learn_spellings(self) -> None:
        """Store the normalized spelling of every page that is known by now."""
        self._bare = "", False
        with transaction(self._db):
            self._db.execute("DELETE FROM spelling")
            pages = self._db.execute(_SQL["pages"], (_INDEXABLE,))
            rows = ((normalize_spelling(Url(url)), number) for url, number in pages)
            self._db.executemany("INSERT OR IGNORE INTO spelling VALUES (?, ?)", rows)

    def find_variant(self, url: Url) -> int | None:
        """The id of the one page that a URL is another spelling of; None for no page or several."""
        with storage_errors():
            pages = self._db.execute(_SQL["find_spelling"], (normalize_spelling(url),)).fetchall()
        return pages[0][0] if len(pages) == 1 else None

    def has_extra_params(self, url: Url) -> bool:
        """Whether a URL is that of a page plus parameters, as the pages were at :meth:`learn_spellings`.

        URLs in order cost one query for each path.
        """
        bare, mark, _ = url.partition("?")
        if not mark:
            return False
        if bare != self._bare[0]:
            with storage_errors():
                self._bare = bare, self._db.execute(_SQL["is_page"], (bare, _INDEXABLE)).fetchone() is not None
        return self._bare[1]

    def uncrawled_urls(self) -> Iterator[UncrawledUrl]:
        """The claimed URLs that the crawl did not fetch, then those that only nofollow links lead to.

        Then those that pages link under another name of the site, with another scheme or with or without ``www.``.
        """
        nofollow = State.NOFOLLOW.value
        behind = self._behind_aliases()
        with storage_errors():
            for url, sources, *rest, state in self._db.execute(_UNCRAWLED_URLS, (nofollow,)):
                people, requests, ok, moved, other = rest
                known = _source_kinds(sources)
                is_linked = state == nofollow or url in behind
                behind.discard(url)
                yield UncrawledUrl(Url(url), known, people, requests, ok, moved, other, is_linked)
            for url in self._nofollowed():
                yield UncrawledUrl(url, is_linked=True)
            for url in sorted(behind):
                yield UncrawledUrl(url, is_linked=True)

    def _nofollowed(self) -> Iterator[Url]:
        """The URLs that only nofollow links lead to and no source knows, unless only noindexed pages link them."""
        rows = self._db.execute(_SQL["nofollow_urls"], (State.NOFOLLOW.value,)).fetchall()
        graph = load_graph(self._db) if rows else None
        for number, url in rows:
            if graph is None or graph.crawlable[graph.nodes.node(number)]:
                yield Url(url)

    def _behind_aliases(self) -> set[Url]:
        with storage_errors():
            row = self._db.execute(_SQL["seed"]).fetchone()
            origin = origin_of(row[0]) if row else ""
            return {
                Url(url)
                for alias in (alias_origins(row[0]) if row else ())
                for (url,) in self._db.execute(
                    _SQL["behind_aliases"],
                    {"own": f"{origin}/", "alias": f"{alias}/", "end": f"{alias}0", "state": State.OUT_OF_SCOPE},
                )
            }

    def requested_count(self) -> int:
        """The number of URLs that the crawl requests, or has requested, because the sources know them."""
        with storage_errors():
            (count,) = self._db.execute(
                _SQL["count_requested"], (DiscoveredBy.SITEMAP | DiscoveredBy.AUDIT_SOURCE | DiscoveredBy.SPELLING,)
            ).fetchone()
        return int(count)

    def match_all(self) -> None:
        """Store the page of every claimed URL that has one."""
        self.learn_spellings()
        with transaction(self._db):
            self._db.execute(_SQL["match_same_url"], (_INDEXABLE,))
            self._db.executemany(_SQL["match_masked_url"], self._masked_pages())
            # inserting while the query runs is safe: each insert is for a URL that was already read
            rows = self._db.execute(_SQL["unmatched_urls"])
            matches = ((url, self._match(Url(url), *row)) for url, *row in rows)
            self._db.executemany("INSERT INTO home VALUES (?, ?)", (row for row in matches if row[1] is not None))

    def _masked_pages(self) -> list[tuple[int, str]]:
        """The ids of pages whose URL is masked in logs, with the masked URL; none that several pages share."""
        pages: dict[str, list[int]] = {}
        for number, url in self._db.execute(_SQL["maskable_pages"], (_INDEXABLE,)):
            if (masked := mask_private(url)) != url:
                pages.setdefault(masked, []).append(number)
        return [(numbers[0], url) for url, numbers in pages.items() if len(numbers) == 1]

    def _match(self, url: Url, number: int | None, state: str | None, target: str | None) -> int | None:
        if number is None:
            return self.find_variant(url)
        passed, duplicate = [number], None
        while target and state in (State.REDIRECT, State.CANONICAL_ELSEWHERE):
            row = self._db.execute(_SQL["state_of_url"], (target,)).fetchone()
            if row is None:
                break
            if state == State.CANONICAL_ELSEWHERE and duplicate is None:
                duplicate = number
            if row[0] in passed or len(passed) > MAX_HOPS:  # a loop, or too many hops
                return passed[0] if duplicate is None else duplicate
            number, state, target = row
            passed.append(number)
        # a visit to a page with a dead canonical is no visit to the dead page
        return number if duplicate is None or state == _INDEXABLE else duplicate

    def has_unresolved(self, source: SourceKind) -> bool:
        """Whether a source of this kind names a URL that was not requested, and that may be a spelling of any page."""
        unrequested = State.PENDING, State.NOFOLLOW
        with storage_errors():
            (is_open,) = self._db.execute(_SQL["has_unresolved"], (source, *unrequested)).fetchone()
        return bool(is_open)

    def duplicates(self) -> Iterator[DuplicateCandidate]:
        """The pages that may be duplicates of one another, those of one key together.

        First come pages that only sources or nofollow links name, because their claims may have to move twice: with
        the pages of equal content, to the byte or but for scripts, as a site has that answers unknown URLs with one
        page; and with the URL without parameters. Then come the pages whose URLs are spellings of one another.
        """
        with storage_errors():
            yield from self._same_content("digest")
            yield from self._same_content("text")
            for row in self._db.execute(_SQL["extra_params"], (_INDEXABLE,)):
                for number, page_url, digest, text, packed in (row[:5], row[5:]):
                    yield self._duplicate(row[1], number, page_url, digest, _title(packed), text or b"")
            for key, number, url, digest, packed, text in self._db.execute(_SQL["duplicates"]):
                yield self._duplicate(key, number, url, digest or b"", _title(packed), text or b"")

    def _same_content(self, column: str) -> Iterator[DuplicateCandidate]:
        """The pages with equal values in a column, if one of them was requested because of the sources.

        Pages with next to no text without their scripts are left out: the scripts may make them different.
        """
        for content, number, url, is_uncrawled in self._db.execute(_SAME_CONTENT.format(column), {"state": _INDEXABLE}):
            if column == "digest" or not is_bare(load_markup(content)):
                digest = blake2b(content, digest_size=16).digest()
                yield self._duplicate(digest.hex(), number, url, digest, is_uncrawled=bool(is_uncrawled))

    def _duplicate(  # noqa: PLR0913 - the fields of a candidate
        self,
        key: str,
        number: int,
        url: str,
        digest: bytes,
        title: str = "",
        text: bytes = b"",
        *,
        is_uncrawled: bool = True,
    ) -> DuplicateCandidate:
        (is_listed,) = self._db.execute(_SQL["is_listed"], (url, SourceKind.SITEMAP)).fetchone()
        return DuplicateCandidate(key, number, Url(url), digest, title, text, bool(is_listed), is_uncrawled)

    def listed_copies(self) -> set[int]:
        """The ids of linked pages that a sitemap need not list, because it lists their content under another URL."""
        with storage_errors():
            return {number for (number,) in self._db.execute(_SQL["listed_copies"], (SourceKind.SITEMAP, _INDEXABLE))}

    def reassign(self, moves: Iterable[tuple[int, int]]) -> None:
        """Move the claims of the first id of each pair to the second."""
        with transaction(self._db):
            self._db.executemany("UPDATE home SET id = ? WHERE id = ?", ((after, before) for before, after in moves))
