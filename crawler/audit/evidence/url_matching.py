"""Which page of the site each claimed URL comes to: the same one, another spelling of it, or where it leads to."""

import sqlite3
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from typing import Final

import msgspec
from msgspec import Struct

from crawler.audit.claim import SourceKind
from crawler.audit.graph.load import load_graph
from crawler.audit.orphans.duplicates import DuplicateCandidate, is_bare, is_paginated, normalize_spelling
from crawler.model import DiscoveredBy, Page, State, Url
from crawler.parse.snapshot.diff import Delta, compare
from crawler.parse.snapshot.snapshot import load_snapshot
from crawler.state.database import storage_errors, transaction
from crawler.url.normalize import origin_of
from crawler.url.scope import alias_origins

MAX_HOPS: Final = 10  # redirects and canonicals in a row

_INDEXABLE: Final = State.INDEXABLE.value
_PAGES: Final = "SELECT u.url, v.id FROM site.visit v JOIN site.url u ON u.id = v.id WHERE v.state = ?"
_IS_PAGE: Final = "SELECT 1 FROM site.url u JOIN site.visit v ON v.id = u.id WHERE u.url = ? AND v.state = ?"
_FIND_SPELLING: Final = "SELECT id FROM spelling WHERE key = ? LIMIT 2"
_UNCRAWLED_URLS: Final = """
SELECT c.url, group_concat(DISTINCT i.source), sum(c.people + c.engines), sum(c.people + c.bots), sum(c.ok),
  sum(c.moved), sum(c.clicks + c.impressions + c.sessions + c.views + c.users + c.links + c.domains), v.state
FROM claim c JOIN input i ON i.id = c.input
  LEFT JOIN site.url u ON u.url = c.url LEFT JOIN site.visit v ON v.id = u.id
WHERE v.id IS NULL OR v.state = ? GROUP BY c.url"""
_NOFOLLOW_URLS: Final = """SELECT v.id, u.url FROM site.visit v JOIN site.url u ON u.id = v.id
  WHERE v.state = ? AND NOT EXISTS (SELECT 1 FROM claim c WHERE c.url = u.url)"""
_BEHIND_ALIASES: Final = """SELECT ?1 || substr(u.url, length(?2) + 1) AS own FROM site.url u
    JOIN site.visit v ON v.id = u.id AND v.state = ?4 AND v.status IS NULL WHERE u.url >= ?2 AND u.url < ?3
  AND NOT EXISTS (SELECT 1 FROM site.url o JOIN site.visit p ON p.id = o.id WHERE o.url = own)"""
_SEED: Final = "SELECT value FROM site.about WHERE key = 'url'"
_COUNT_REQUESTED: Final = "SELECT count(*) FROM site.visit WHERE found & ?"
_MATCH_SAME_URL: Final = """INSERT OR IGNORE INTO home SELECT DISTINCT c.url, v.id FROM claim c
  JOIN site.url u ON u.url = c.url JOIN site.visit v ON v.id = u.id WHERE v.state = ?"""
# What was asked for and never had is no visit to the page that it is spelt like.
_UNMATCHED_URLS: Final = """SELECT DISTINCT c.url, v.id, v.state, v.target FROM claim c
  LEFT JOIN site.url u ON u.url = c.url LEFT JOIN site.visit v ON v.id = u.id
  WHERE NOT EXISTS (SELECT 1 FROM home h WHERE h.url = c.url)
    AND (v.id IS NOT NULL OR c.dead = 0 OR c.ok + c.moved > 0)"""
_STATE_OF_URL: Final = (
    "SELECT v.id, v.state, v.target FROM site.url u JOIN site.visit v ON v.id = u.id WHERE u.url = ?"
)
_IS_LISTED: Final = (
    "SELECT EXISTS (SELECT 1 FROM claim c JOIN input i ON i.id = c.input WHERE c.url = ? AND i.source = ?)"
)
_HAS_UNRESOLVED: Final = """SELECT EXISTS (SELECT 1 FROM claim c JOIN input i ON i.id = c.input LEFT JOIN home h ON
h.url = c.url
  LEFT JOIN site.visit v ON v.id = h.id WHERE i.source = ? AND (v.id IS NULL OR v.state IN (?, ?)))"""
_DUPLICATES: Final = """SELECT s.key, s.id, u.url, c.digest, c.page
  FROM spelling s JOIN site.url u ON u.id = s.id JOIN site.visit v ON v.id = s.id
    LEFT JOIN site.content c ON c.id = v.content
  WHERE s.key IN (SELECT key FROM spelling GROUP BY key HAVING count(*) > 1) ORDER BY s.key, s.id"""
# A page that is known to be named by nobody but logs, exports and lists.
_ONLY_FOUND_BY_SOURCES: Final = f"found & {~(DiscoveredBy.AUDIT_SOURCE | DiscoveredBy.SPELLING)} = 0"
# One that was asked for because of these, or of links that are not to be followed: it may link to itself.
_REQUESTED_FOR_SOURCES: Final = f"found & {DiscoveredBy.AUDIT_SOURCE | DiscoveredBy.SPELLING}"
_EXTRA_PARAMS: Final = f"""SELECT v.id, u.url, c.digest, c.text, c.page, p.id, b.url, d.digest, d.text,
    d.page
  FROM site.visit v JOIN site.url u ON u.id = v.id JOIN site.content c ON c.id = v.content
    JOIN site.url b ON b.url = substr(u.url, 1, instr(u.url, '?') - 1)
    JOIN site.visit p ON p.id = b.id AND p.state = v.state JOIN site.content d ON d.id = p.content
  WHERE v.state = ? AND instr(u.url, '?') AND (v.{_ONLY_FOUND_BY_SOURCES} OR p.{_ONLY_FOUND_BY_SOURCES})"""  # noqa: S608 - numbers
# The length is known without reading a text.
_SAME_CONTENT: Final = f"""SELECT c.{{0}}, v.id, u.url, v.{_ONLY_FOUND_BY_SOURCES}
  FROM site.visit v JOIN site.url u ON u.id = v.id JOIN site.content c ON c.id = v.content
  WHERE v.state = ?1 AND length(c.{{0}}) IN (
    SELECT length(k.{{0}}) FROM site.visit s JOIN site.content k ON k.id = s.content
    WHERE s.state = ?1 AND s.{_REQUESTED_FOR_SOURCES})
  AND c.{{0}} IN (
    SELECT k.{{0}} FROM site.visit s JOIN site.content k ON k.id = s.content
    WHERE s.state = ?1 AND s.{_REQUESTED_FOR_SOURCES} AND k.{{0}} != x'')
  ORDER BY 1, 2"""  # noqa: S608 - numbers

_page = msgspec.msgpack.Decoder(Page).decode


def _title(packed: bytes | None) -> str:
    return _page(packed).title if packed else ""


class UncrawledUrl(Struct, frozen=True):
    """A URL that only the sources know, and how they know it.

    ``is_linked``: by nofollow links of the site, or under another name of it.
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
    """The join of an audit. Every method raises StorageError when the disk refuses."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def learn_spellings(self) -> None:
        """Take down the spelling of every page that is known by now."""
        with transaction(self._db):
            self._db.execute("DELETE FROM spelling")
            pages = self._db.execute(_PAGES, (_INDEXABLE,))
            rows = ((normalize_spelling(Url(url)), number) for url, number in pages)
            self._db.executemany("INSERT OR IGNORE INTO spelling VALUES (?, ?)", rows)

    def find_variant(self, url: Url) -> int | None:
        """The page that a URL is another spelling of; None when there is none, or more than one."""
        with storage_errors():
            found = self._db.execute(_FIND_SPELLING, (normalize_spelling(url),)).fetchall()
        return found[0][0] if len(found) == 1 else None

    def has_extra_params(self, url: Url) -> bool:
        """Whether a URL is that of a page with parameters behind it that nobody links."""
        bare, mark, _ = url.partition("?")
        with storage_errors():
            return bool(mark) and self._db.execute(_IS_PAGE, (bare, _INDEXABLE)).fetchone() is not None

    def uncrawled_urls(self) -> Iterator[UncrawledUrl]:
        """The claimed URLs that the crawl did not fetch, then those that only nofollow links lead to.

        And those that are linked as ``http://…`` on a site of ``https://…`` or with a ``www.`` too many.
        """
        nofollow = State.NOFOLLOW.value
        behind = self._behind_aliases()
        with storage_errors():
            for url, sources, *rest, state in self._db.execute(_UNCRAWLED_URLS, (nofollow,)):
                people, requests, ok, moved, other = rest
                known = frozenset(SourceKind(each) for each in sources.split(","))
                is_linked = state == nofollow or url in behind
                behind.discard(url)
                yield UncrawledUrl(Url(url), known, people, requests, ok, moved, other, is_linked)
            for url in self._nofollowed():
                yield UncrawledUrl(url, is_linked=True)
            for url in sorted(behind):
                yield UncrawledUrl(url, is_linked=True)

    def _nofollowed(self) -> Iterator[Url]:
        """What only nofollow links lead to and no source knows. Not: what only pages link so that are not indexed."""
        rows = self._db.execute(_NOFOLLOW_URLS, (State.NOFOLLOW.value,)).fetchall()
        graph = load_graph(self._db) if rows else None
        for number, url in rows:
            if graph is None or graph.crawlable[graph.nodes.node(number)]:
                yield Url(url)

    def _behind_aliases(self) -> set[Url]:
        with storage_errors():
            row = self._db.execute(_SEED).fetchone()
            home = origin_of(row[0]) if row else ""
            return {
                Url(url)
                for door in (alias_origins(row[0]) if row else ())
                for (url,) in self._db.execute(
                    _BEHIND_ALIASES, (f"{home}/", f"{door}/", f"{door}0", State.OUT_OF_SCOPE)
                )
            }

    def requested_count(self) -> int:
        """How many URLs were fetched, or wait to be, because the sources know them."""
        with storage_errors():
            (count,) = self._db.execute(
                _COUNT_REQUESTED, (DiscoveredBy.SITEMAP | DiscoveredBy.AUDIT_SOURCE | DiscoveredBy.SPELLING,)
            ).fetchone()
        return int(count)

    def match_all(self) -> None:
        """Give every claimed URL its home, as far as it has one."""
        self.learn_spellings()
        with transaction(self._db):
            self._db.execute(_MATCH_SAME_URL, (_INDEXABLE,))
            # a home that is given while this is read is that of a URL which was read already
            rows = self._db.execute(_UNMATCHED_URLS)
            found = ((url, self._match(Url(url), *row)) for url, *row in rows)
            settled = (row for row in found if row[1] is not None)
            self._db.executemany("INSERT INTO home VALUES (?, ?)", settled)

    def _match(self, url: Url, number: int | None, state: str | None, target: str | None) -> int | None:
        if number is None:
            return self.find_variant(url)
        seen, copy = [number], None
        while target and state in (State.REDIRECT, State.CANONICAL_ELSEWHERE):
            row = self._db.execute(_STATE_OF_URL, (target,)).fetchone()
            if row is None:
                break
            if state == State.CANONICAL_ELSEWHERE and copy is None:
                copy = number
            if row[0] in seen or len(seen) > MAX_HOPS:  # who comes there comes to nothing else
                return seen[0] if copy is None else copy
            number, state, target = row
            seen.append(number)
        # who comes to a page that names a dead one as its canonical comes to no dead page
        return number if copy is None or state == _INDEXABLE else copy

    def has_unresolved(self, source: SourceKind) -> bool:
        """Whether it is not known of all that such a source names what it is: it may be any page in another dress."""
        unseen = State.PENDING, State.NOFOLLOW
        with storage_errors():
            (is_open,) = self._db.execute(_HAS_UNRESOLVED, (source, *unseen)).fetchone()
        return bool(is_open)

    def duplicates(self) -> Iterator[DuplicateCandidate]:
        """The pages whose URLs are spellings of one another, those of one key together.

        Before them, for what is known of one may have to move twice, come pages that only logs and their like name, or
        nofollow links: with what answers the same to the byte, as a site does that has one page for all that it does
        not know, or the same but for scripts; and with the URL without parameters, if it says the same or has its title
        and is no further page of a list.
        """
        with storage_errors():
            yield from self._same_content("digest")
            yield from self._same_content("text")
            for number, url, digest, text, packed, bare, plain, other, said, paged in self._db.execute(
                _EXTRA_PARAMS, (_INDEXABLE,)
            ):
                is_titled = not is_paginated(url) and _title(packed) == _title(paged) != ""
                if is_titled or digest == other or compare(said, text) == Delta(known=True):
                    yield self._duplicate(url, number, url, other, "")
                    yield self._duplicate(url, bare, plain, other, "")
            for key, number, url, digest, packed in self._db.execute(_DUPLICATES):
                yield self._duplicate(key, number, url, digest or b"", _title(packed))

    def _same_content(self, column: str) -> Iterator[DuplicateCandidate]:
        """The pages that are alike in a column, where one of them is one that was asked for at the end.

        What says next to nothing without its scripts may be another page by them.
        """
        for said, number, url, is_strange in self._db.execute(_SAME_CONTENT.format(column), (_INDEXABLE,)):
            if column == "digest" or not is_bare(load_snapshot(said) or ""):
                mark = blake2b(said, digest_size=16).digest()
                yield self._duplicate(mark.hex(), number, url, mark, "", is_stranger=bool(is_strange))

    def _duplicate(
        self, key: str, number: int, url: str, digest: bytes, title: str, *, is_stranger: bool = True
    ) -> DuplicateCandidate:
        (is_listed,) = self._db.execute(_IS_LISTED, (url, SourceKind.SITEMAP)).fetchone()
        return DuplicateCandidate(key, number, Url(url), digest, title, bool(is_listed), is_stranger)

    def reassign(self, moves: Iterable[tuple[int, int]]) -> None:
        """What came to the first of each pair comes to the second."""
        with transaction(self._db):
            self._db.executemany("UPDATE home SET id = ?2 WHERE id = ?1", moves)
