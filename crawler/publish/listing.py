"""The table of pages that a run is about to publish, with the file of each. Streams them in flat memory."""

import sqlite3
from collections.abc import Iterable, Iterator
from typing import Any, Final

import msgspec

from crawler.model import SEEN_TO_CHANGE, DiscoveredBy, DiscoveredUrl, ListedPage, Page, State, Url, Verdict
from crawler.publish.gate import OPERATOR_STATES, Hold
from crawler.publish.store import KIND_SQL, keep_listed_sql
from crawler.state.database import statements, storage_errors, transaction
from sitemap import MIN_BUILD_PAGES, find_build_times

_IS_STATED: Final = f"l.lastmod_source NOT LIKE 'Git commit %' AND l.lastmod_source != '{SEEN_TO_CHANGE}'"
_NAMES: Final = {"KIND_SQL": KIND_SQL, "State": State, "DiscoveredBy": DiscoveredBy, "_IS_STATED": _IS_STATED}
_SQL: Final = statements("crawler.publish", "listing.sql", **_NAMES)

_INSERT_KEPT: Final = f"""INSERT INTO listing (id, content, lastmod, lastmod_source, grp, shard, kept)
  SELECT p.id, p.content, p.lastmod, p.lastmod_source, p.grp, nullif(p.shard, 0), 1
  FROM published p JOIN visit v ON v.id = p.id LEFT JOIN memory m ON m.id = p.id
  WHERE {{}} AND (v.state = '{State.CHALLENGED}' OR coalesce(m.failures, 0) < ?)"""  # noqa: S608 - our own


# The reason is for notes: other lines say why pages are held or behind a challenge.
_REASON: Final = f"iif(l.kept = 2 OR v.state = '{State.CHALLENGED}', '', coalesce(v.reason, ''))"
_STREAM: Final = f"""SELECT l.id, u.url, l.lastmod, c.page, {_REASON}, l.shard, l.grp
  FROM {{tables}} LEFT JOIN content c ON c.id = l.content LEFT JOIN visit v ON v.id = l.id
  WHERE {{where}} ORDER BY {{order}} {{limit}}"""  # noqa: S608 - our own

# CROSS JOIN: walk the index of URLs, without a sort
_BY_URL: Final = _STREAM.format(
    tables="url u CROSS JOIN listing l ON l.id = u.id", where="u.url > ? {}", order="u.url", limit="LIMIT ?"
)

_BY_FILE: Final = _STREAM.format(
    tables="listing l JOIN url u ON u.id = l.id", where="l.shard IS NOT NULL", order="l.grp, l.shard, u.url", limit=""
)


_SMALL_BUILD: Final = 5  # pages of a site with few; all of its times must be those of one build


_SAMPLE: Final = 2_000
"""Pages whose images are counted: the same ones in every run, as far as they are listed."""
_SITE_IMAGES: Final = "site images"  # name in the table lesson

_BATCH: Final = 1_000
_SECOND: Final = len("2024-05-08T08:53:11")

_EMPTY_PAGE: Final = Page()

_decode = msgspec.msgpack.Decoder(Page).decode


class Listing:
    """The table ``listing`` of one state. Every method may raise StorageError."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def rebuild(self, *, complete: bool, grace: int, degraded: bool = False) -> None:
        """Fill the table with the pages of this run, and with those that stay listed without it.

        A page that fails stays for ``grace`` runs in a row, and so does a page without links in a ``degraded`` run; a
        page that a run that is not ``complete`` did not reach always stays.
        """
        with transaction(self._db):
            self._db.execute("DELETE FROM listing")
            self._db.execute(_SQL["insert_found"])
            self._db.execute(_INSERT_KEPT.format(keep_listed_sql(degraded=degraded)), (grace,))
            self._db.execute(_SQL["insert_unproven"])
            if not complete:
                self._db.execute(_SQL["insert_not_yet"])

    def hold(self, hold: Hold) -> None:
        """Restore the entries of the pages that the gate holds, after :func:`crawler.publish.gate_facts.gate_facts`.

        New pages that belong to the same landslide are removed.
        """
        kinds, operator = (msgspec.json.encode(sorted(names)).decode() for names in (hold.kinds, OPERATOR_STATES))
        with transaction(self._db):
            if not hold.alike:
                self._db.execute("DELETE FROM alike WHERE NOT is_held")
            self._db.execute("DELETE FROM listing WHERE id IN (SELECT id FROM alike)")
            self._db.execute(_SQL["insert_held"], {"kinds": kinds, "operator": operator})
            self._db.execute(_SQL["delete_targets"])

    @property
    def kept_count(self) -> int:
        """The number of failed pages that stay listed."""
        return self._count("SELECT count(*) FROM listing WHERE kept = 1")

    @property
    def held_count(self) -> int:
        """The number of pages that the gate holds."""
        return self._count("SELECT count(*) FROM listing WHERE kept = 2")

    @property
    def differs(self) -> bool:
        """Whether the lastmod of any page differs from the published one."""
        return bool(
            self._count(
                "SELECT EXISTS (SELECT 1 FROM listing l JOIN published p ON p.id = l.id WHERE l.lastmod != p.lastmod)"
            )
        )

    def drop_dates(self) -> None:
        """Publish no lastmod; the visits keep theirs."""
        with transaction(self._db):
            self._db.execute("UPDATE listing SET lastmod = '', lastmod_source = ''")

    def lost_dates(self, policy: str) -> int:
        """The number of pages that did not change, and get an earlier lastmod than before, or none, by a policy."""
        return self._count(_SQL["lost_dates"], policy=policy)

    def disbelieved(self, policy: str) -> int:
        """The number of new pages without a lastmod whose Last-Modified the policy does not believe."""
        return self._count(_SQL["disbelieved"], policy=policy)

    @property
    def is_dated(self) -> bool:
        """Whether any page has a lastmod."""
        return bool(self._count("SELECT EXISTS (SELECT 1 FROM listing WHERE lastmod != '')"))

    def lost_links(self) -> tuple[int, str | None]:
        """How many pages leave because they are gone, although links lead to them, and one of them or None."""
        with storage_errors():
            return tuple(self._db.execute(_SQL["lost_links"]).fetchone())

    def unlinked(self) -> tuple[int, str | None]:
        """How many listed pages only a sitemap of the site names, and one of them or None."""
        with storage_errors():
            return tuple(self._db.execute(_SQL["unlinked"]).fetchone())

    def copies(self) -> tuple[int, str, str]:
        """How many pages answered exactly what another one did, byte by byte, with a pair of them."""
        with storage_errors():
            count, first, last = self._db.execute(_SQL["copies"]).fetchone()
        return count or 0, first or "", last or ""

    def build_dates(self) -> tuple[str, int, int]:
        """The lastmods that a build seems to have set, how many pages have these, and how many have any.

        Those of Git and of observed changes do not count, in no number: one commit may well add all pages.
        The first is the end of a sentence, such as "are 2024-05-08T08:53:11", and "" without such lastmods or if all
        of them are published already.
        """
        with storage_errors():
            first, last, total, is_new = self._db.execute(_SQL["date_range"]).fetchone()
            if not is_new:
                return "", 0, total
            if first == last and total >= MIN_BUILD_PAGES:
                return f"are {first[:_SECOND]}", total, total
            least, share = (MIN_BUILD_PAGES, 0.5) if total >= MIN_BUILD_PAGES else (_SMALL_BUILD, 1.0)
            builds = find_build_times(self._db.execute(_SQL["times"]), total, min_pages=least, min_share=share)
        build = next((build for build in builds if build.pages * 2 > total), None)
        return (build.range_text, build.pages, total) if build else ("", 0, total)

    def image_sample(self) -> Iterator[list[str]]:
        """The images of each page of a sample, or of all pages of a small site."""
        with storage_errors():
            for (packed,) in self._db.execute(_SQL["sampled_pages"], (len(self), _SAMPLE)):
                yield _decode(packed).images

    @property
    def site_images(self) -> frozenset[str]:
        """The images that belonged to the site, not to its pages, when it was last published."""
        with storage_errors():
            row = self._db.execute("SELECT value FROM lesson WHERE name = ?", (_SITE_IMAGES,)).fetchone()
        return frozenset(msgspec.msgpack.decode(row[0], type=list[str])) if row else frozenset()

    def store_site_images(self, images: Iterable[str]) -> None:
        """Store the images that belong to the site. Part of the caller's transaction."""
        with storage_errors():
            packed = msgspec.msgpack.encode(sorted(images))
            self._db.execute("INSERT OR REPLACE INTO lesson VALUES (?, ?)", (_SITE_IMAGES, packed))

    def __len__(self) -> int:
        return self._count("SELECT count(*) FROM listing")

    def by_url(self, where: str = "", *values: str) -> Iterator[list[ListedPage]]:
        """The pages in byte order of URL, in batches; between two batches the table may be written.

        ``where`` is another SQL condition on the table, whose alias is ``l``, with its ``values``.
        """
        query = _BY_URL.format(f"AND {where}" if where else "")
        for rows in batches(self._db, query, "", *values, _BATCH, key=1):
            yield list(map(_read_page, rows))

    def by_file(self) -> Iterator[ListedPage]:
        """The pages that have a file, file by file, in byte order of URL in each."""
        with storage_errors():
            for row in self._db.execute(_BY_FILE):
                yield _read_page(row)

    def verdict_of(self, url: Url) -> Verdict | None:
        """The verdict on a URL in this run, or the earlier one when it stays listed. None: it was not met."""
        with storage_errors():
            row = self._db.execute(_SQL["verdict"], (url,)).fetchone()
        return Verdict(State(row[0]), row[1], row[2]) if row else None

    def assign_files(self, assignments: Iterable[tuple[str, int | None, int]]) -> None:
        """Assign pages to files: group, number of the file (None: not yet) and id of each."""
        with transaction(self._db):
            self._db.executemany("UPDATE listing SET grp = ?, shard = ? WHERE id = ?", assignments)

    def remove(self, numbers: Iterable[int]) -> None:
        """Remove pages that no sitemap can list."""
        with transaction(self._db):
            self._db.executemany("DELETE FROM listing WHERE id = ?", [(number,) for number in numbers])

    def name_files(self, files: Iterable[tuple[str, str, int]]) -> None:
        """Store the names of the files: name, group and number of each."""
        with transaction(self._db):  # one pass over the pages, for any number of files
            self._db.execute("CREATE TEMP TABLE named (file, grp, shard, PRIMARY KEY (grp, shard)) WITHOUT ROWID")
            self._db.executemany("INSERT INTO named VALUES (?, ?, ?)", files)
            self._db.execute(
                "UPDATE listing SET file ="
                " (SELECT n.file FROM named n WHERE n.grp = listing.grp AND n.shard = listing.shard)"
                " WHERE shard IS NOT NULL"
            )
            self._db.execute("DROP TABLE named")

    def _count(self, query: str, **values: str) -> int:
        with storage_errors():
            return int(self._db.execute(query, values).fetchone()[0])


def unpacked(packed: bytes | None) -> Page:
    """A stored page; an empty one for a page whose content is not known."""
    return _decode(packed) if packed else _EMPTY_PAGE


def batches(
    db: sqlite3.Connection, query: str, first: str | int, *values: object, key: int = 0
) -> Iterator[list[tuple[Any, ...]]]:
    """The rows of a query in batches; between two, the tables may be written. Raises StorageError.

    The parameters of the query are the ``key``, a column, after which a batch begins, and the ``values``.
    """
    while True:
        with storage_errors():
            rows = db.execute(query, (first, *values)).fetchall()
        if not rows:
            return
        yield rows
        first = rows[-1][key]


def _read_page(row: tuple[Any, ...]) -> ListedPage:
    number, url, lastmod, packed, reason, shard, group = row
    page = unpacked(packed)
    return ListedPage(number, Url(url), lastmod, page.images, page.videos, page.alternates, reason, shard, group)


def published_not_visited(db: sqlite3.Connection) -> Iterator[list[DiscoveredUrl]]:
    """Published pages that this run has not visited, in batches; the tables may be written in between. Raises
    StorageError.
    """
    for rows in batches(db, _SQL["not_visited"], -1):
        yield [DiscoveredUrl(Url(url), DiscoveredBy.PREVIOUS_RUN, 0) for _, url in rows]
