"""The observations of a run in the state: the differences of its pages, and their lastmod."""

import sqlite3
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from functools import cached_property, partial
from typing import Final, NamedTuple

import msgspec

from crawler.lastmod.changes import SAMPLE_SIZE
from crawler.lastmod.memory import ChangeHistory, SecondRead, SiteMemory
from crawler.lastmod.policy import MIN_BUILD_PAGES, MIN_BUILD_SHARE, SourcedDate
from crawler.model import State, Url, unpack_page
from crawler.parse.snapshot.blocks import own_texts
from crawler.parse.snapshot.diff import Delta, content_keys, with_news
from crawler.state.database import statements, storage_errors, transaction
from crawler.state.store import read_about, write_about
from sitemap import BuildTime, find_build_times

# The pages compared in this run: parsed in an earlier run, and parsed or unchanged in this one.
_FROM_COMPARED: Final = """FROM asked_visit v JOIN memory m ON m.id = v.id JOIN content c ON c.id = v.content
  WHERE m.content IS NOT NULL AND v.seen_at IS NOT NULL"""
# Whether a page counts for what the site did: the variants of a product, with one canonical, are one page.
_COUNTS: Final = f"(v.state != '{State.CANONICAL_ELSEWHERE}' OR v.id IN (SELECT id FROM published))"  # noqa: S608
_SQL: Final = statements("crawler.lastmod", "store.sql", _FROM_COMPARED=_FROM_COMPARED, _COUNTS=_COUNTS)
MAX_NEW_PAGES: Final = 20_000
"""New pages of a run; when a run finds more, links to them are no news."""


_DISTRUST_KEY: Final = "last_modified_distrusted"  # keys of the table about
_POLICY_KEY: Final = "lastmod_policy"
_MEMORY_NAME: Final = "memory"  # key of the table lesson
# The keys of the contents in the sample, as arrays of 64-bit integers. Its number grows when texts are read otherwise.
_SAMPLE_NAME: Final = "sample 3"
_decode_keys = msgspec.msgpack.Decoder(dict[int, bytes]).decode
_decode_memory = msgspec.msgpack.Decoder(SiteMemory).decode
_decode_delta = msgspec.msgpack.Decoder(Delta).decode
_decode_history = msgspec.msgpack.Decoder(ChangeHistory).decode
_encode = msgspec.msgpack.Encoder().encode


class PageObservation(NamedTuple):
    """A page with its evidence; ``before`` and the following are of its previous visit, None without one."""

    id: int
    content: int
    header_date: str
    last_modified: str
    page_date: str
    page_date_source: str
    seen_at: float
    changed: int | None
    before: int | None
    lastmod: str | None
    lastmod_source: str | None
    last_visit: float | None


class ObservationStore:
    """Reads and writes the observations. Every method may raise StorageError."""

    def __init__(self, db: sqlite3.Connection, run: int) -> None:
        self._db = db
        self._run = run

    def deltas(self, *, copies: bool = False) -> Iterator[tuple[int, Delta]]:
        """The pages with differences, and these, translations in a row.

        With ``copies`` also those of pages that name another as canonical.
        """
        new, gone = self._new_pages, self._gone_pages
        order = "(SELECT page FROM translated t WHERE t.id = v.id), v.id" if self.translated else "v.id"
        with storage_errors():
            for number, url, packed, counts in self._db.execute(f"{_SQL['deltas']} {order}", (self._run,)):
                if counts or copies:
                    yield number, with_news(_decode_delta(packed), url, new, gone)

    @cached_property
    def _new_pages(self) -> frozenset[Url]:
        """The pages that no earlier run met; none when they are too many."""
        return self._news("new_pages")

    @cached_property
    def _gone_pages(self) -> frozenset[Url]:
        """The pages that were indexable and are not any more; none when they are too many."""
        return self._news("gone_pages")

    def _news(self, query: str) -> frozenset[Url]:
        with storage_errors():
            rows = self._db.execute(_SQL[query], (MAX_NEW_PAGES + 1,)).fetchall()
        return frozenset(url for (url,) in rows) if len(rows) <= MAX_NEW_PAGES else frozenset()

    @cached_property
    def translated(self) -> dict[int, int]:
        """The page that stands for each compared page with translations, which name each other by hreflang.

        Pages that name other alternates than those name are pages of their own.
        """
        with storage_errors():
            found: dict[int, list[int]] = {}
            differing = self._db.execute(_SQL["differing"], (self._run,))
            if any(unpack_page(packed).alternates for (packed,) in differing):
                for number, url, packed in self._db.execute(_SQL["pages_with_url"]):
                    if alternates := unpack_page(packed).alternates:
                        named = hash(frozenset((url, *(each.href for each in alternates))))
                        found.setdefault(named, []).append(number)
            translated = {number: page for page, *others in found.values() if others for number in (page, *others)}
            self._db.execute("CREATE TEMP TABLE IF NOT EXISTS translated (id INTEGER PRIMARY KEY, page INTEGER)")
            self._db.execute("DELETE FROM translated")
            self._db.executemany("INSERT INTO translated VALUES (?, ?)", translated.items())
            return dict(self._db.execute(_SQL["translated"])) if translated else {}

    def compared(self) -> int:
        """The number of pages that were compared and are no copies."""
        with storage_errors():
            (count,) = self._db.execute(f"SELECT count(*) {_FROM_COMPARED} AND {_COUNTS}").fetchone()
        return int(count)

    def sample(self) -> Mapping[int, Sequence[int]]:
        """The content keys of some compared pages, by page.

        What an earlier run read of an unchanged page is not read again.
        """
        count = self.compared()
        with storage_errors():
            rows = self._db.execute(_SQL["sample"], (count, SAMPLE_SIZE)).fetchall()
            found = self._db.execute("SELECT value FROM lesson WHERE name = ?", (_SAMPLE_NAME,)).fetchone()
        known = _decode_keys(found[0]) if found else {}
        read = {content: known.get(content) or array("q", content_keys(text)).tobytes() for _, content, text in rows}
        if read != known:
            with storage_errors(), nullcontext() if self._db.in_transaction else transaction(self._db):
                self._db.execute("INSERT OR REPLACE INTO lesson VALUES (?, ?)", (_SAMPLE_NAME, _encode(read)))
        return {page: array("q", read[content]) for page, content, _ in rows}

    def second_reads(self) -> list[SecondRead]:
        """The pages that this run fetched twice."""
        with storage_errors():
            rows = self._db.execute(_SQL["second_reads"], (self._run,)).fetchall()
        return [SecondRead(number, partial(content_keys, text), _decode_delta(delta)) for number, text, delta in rows]

    def tried_again(self) -> set[int]:
        """The ids of the pages that this run fetched, or tried to fetch, twice."""
        with storage_errors():
            rows = self._db.execute("SELECT id FROM second_read WHERE run = ?", (self._run,))
            return {number for (number,) in rows}

    def memory(self) -> SiteMemory:
        """What earlier runs learnt of the changes of the site."""
        with storage_errors():
            history = {key: _decode_history(packed) for key, packed in self._db.execute("SELECT key, habit FROM habit")}
            row = self._db.execute("SELECT value FROM lesson WHERE name = ?", (_MEMORY_NAME,)).fetchone()
        memory = _decode_memory(row[0]) if row else SiteMemory()
        memory.history = history
        return memory

    def store_site(self, memory: SiteMemory | None, distrust: str, policy: str) -> None:
        """Store what this run learnt, why Last-Modified is distrusted, and the policy that gave the dates.

        Without ``memory`` that of the earlier runs stays. Part of the caller's transaction.
        """
        with storage_errors():
            for key, value in ((_DISTRUST_KEY, distrust), (_POLICY_KEY, policy)):
                write_about(self._db, key, value)
            self._db.execute("DELETE FROM second_read")
            if memory is None:
                return
            self._db.execute("DELETE FROM habit")
            rows = ((key, _encode(habit)) for key, habit in memory.history.items())
            self._db.executemany("INSERT INTO habit (key, habit) VALUES (?, ?)", rows)
            packed = _encode(msgspec.structs.replace(memory, history={}))
            self._db.execute("INSERT OR REPLACE INTO lesson VALUES (?, ?)", (_MEMORY_NAME, packed))

    def mark_all_unchanged(self) -> None:
        """Mark all known pages as unchanged."""
        with storage_errors():
            self._db.execute(_SQL["mark_unchanged"])

    def mark_judged(self, judged: Iterable[tuple[bool, str, str, int]]) -> None:
        """Mark pages as changed or not, with what changed and what differs without being a change."""
        with storage_errors():
            self._db.executemany("UPDATE visit SET changed = ?, evidence = ?, discounted = ? WHERE id = ?", judged)

    def held(self) -> frozenset[int]:
        """The ids of the pages that the gate held in the last run."""
        with storage_errors():
            return frozenset(number for (number,) in self._db.execute("SELECT id FROM held"))

    def mark_landslide(self, pages: Iterable[int]) -> None:
        """Mark pages that now say something else, as most pages do, in a table that lives as long as the connection."""
        with storage_errors():
            self._db.execute("CREATE TEMP TABLE IF NOT EXISTS turned (id INTEGER PRIMARY KEY)")
            self._db.execute("DELETE FROM turned")
            self._db.executemany("INSERT INTO turned VALUES (?)", ((page,) for page in pages))

    @property
    def distrust(self) -> str:
        """Why an earlier run distrusts Last-Modified, or ""."""
        return self._about(_DISTRUST_KEY)

    @property
    def policy(self) -> str:
        """The policy that gave the stored dates, or "" when unknown."""
        return self._about(_POLICY_KEY)

    def _about(self, key: str) -> str:
        with storage_errors():
            return read_about(self._db, key) or ""

    def stamps(self, source_key: str) -> tuple[int, int]:
        """The number of unchanged pages with a Last-Modified, and of those where it moved."""
        with storage_errors():
            pages, moved = self._db.execute(_SQL["count_stamps"], (source_key,)).fetchone()
        return pages, moved

    @property
    def builds(self) -> list[BuildTime]:
        """The times of builds among the Last-Modified of all indexable pages of the last run."""
        with storage_errors():
            (total,) = self._db.execute(_SQL["count_header_dates"]).fetchone()
            dates = self._db.execute(_SQL["header_dates"])
            return find_build_times(dates, total, min_pages=MIN_BUILD_PAGES, min_share=MIN_BUILD_SHARE)

    def urls(self) -> list[tuple[int, Url]]:
        """The ids and URLs of the pages."""
        with storage_errors():
            return self._db.execute(_SQL["urls"]).fetchall()

    def pages(self) -> Iterator[list[PageObservation]]:
        """The pages in batches; the tables may be written between two batches."""
        last = -1
        while True:
            with storage_errors():
                rows = self._db.execute(_SQL["pages"], (last,)).fetchall()
            if not rows:
                return
            yield [PageObservation(*row) for row in rows]
            last = rows[-1][0]

    def moved(self) -> dict[int, SourcedDate]:
        """By the id of a new page, the date of the only dated one that redirects to it, if both have the same texts."""
        with storage_errors():
            rows = self._db.execute(_SQL["moved"])
            return {
                page: SourcedDate(*date)
                for page, *date, was, now in rows
                if was == now or own_texts(was) == own_texts(now)
            }

    def late(self) -> dict[int, float]:
        """The start of the first run after the date that the site gave of a page, which this run asks later (by id)."""
        with storage_errors():
            return dict(self._db.execute(_SQL["late"]).fetchall())

    def store_dates(self, dates: Iterable[tuple[str, str, int]]) -> None:
        """Store the lastmod and source of pages."""
        with storage_errors():
            self._db.executemany("UPDATE visit SET lastmod = ?, lastmod_source = ? WHERE id = ?", dates)
