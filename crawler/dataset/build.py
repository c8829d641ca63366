"""Makes the data set of a state: one SQLite file with the tables of :mod:`.schema`, of the last finished run."""

import sqlite3
import tempfile
from array import array
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator
from contextlib import closing, suppress
from itertools import chain, islice
from operator import itemgetter
from pathlib import Path
from typing import Final

import msgspec
from isal import isal_zlib
from msgspec import Struct

from crawler.audit.graph.changing_links import load_boxes
from crawler.audit.graph.load import load_graph
from crawler.audit.graph.places import CONTENT, PlacedPage, find_places
from crawler.audit.page_findings import section_of
from crawler.config.plan import AUDIT
from crawler.crawl.frontier.storage import unpack_groups
from crawler.dataset.audit_tables import audit_rows, audit_stamp
from crawler.dataset.history import FAILED_SQL, StatedFields, read_history, recorded_runs
from crawler.dataset.readers import DetailReaders
from crawler.dataset.schema import DATASET, TABLES, VERSION
from crawler.errors import SiteatlasError, UsageError
from crawler.model import DISCOVERY_NAMES, DiscoveredBy, DocumentKind, Page, Request, State, Url
from crawler.parse.snapshot.details import Anchor, Details
from crawler.state.schema import STATE_DB
from crawler.units import w3c
from crawler.url.normalize import InvalidUrl, join_url
from crawler.url.resolve import UrlResolver
from sitemap import Video

_ANCHORS: Final = DiscoveredBy.LINK | DiscoveredBy.NOFOLLOW
_BATCH: Final = 1_000  # pages whose rows are written together
_NEAR: Final = 200  # pages before a batch that show, too, what the pages of the batch repeat
_MAX_URLS: Final = 300_000  # URLs of targets that are kept in memory

# Of the last finished run: while another is active, its visits replace those of the last.
_FINISHED: Final = f"""SELECT u.id, u.url, v.kind, v.state, v.reason, v.status, v.target,
  iif(v.state IN {FAILED_SQL}, m.content, v.content) AS content, v.lastmod, v.lastmod_source, v.evidence, v.depth,
  v.trail, v.found, s.url, m.first_run, m.changed_run, m.failures, v.seen_at, p.id IS NOT NULL
  FROM visit v JOIN url u ON u.id = v.id LEFT JOIN memory m ON m.id = v.id LEFT JOIN published p ON p.id = v.id
  LEFT JOIN url s ON s.id = v.source WHERE v.state != '{State.OUT_OF_SCOPE}'"""  # noqa: S608 - our own
_ACTIVE: Final = f"""SELECT u.id, u.url, iif(m.state = '{State.SITEMAP_FILE}', 1, 0), m.state, m.reason, m.status,
  m.target, m.content AS content, m.lastmod, m.lastmod_source, m.evidence, NULL, '', 0, NULL, m.first_run,
  m.changed_run, m.failures, m.seen_at, p.id IS NOT NULL
  FROM memory m JOIN url u ON u.id = m.id LEFT JOIN published p ON p.id = m.id"""  # noqa: S608 - our own
# A run that came to nothing, too, leaves hardly any visits.
_IS_ACTIVE: Final = """SELECT count(*) FROM main.run
  WHERE ended IS NULL OR (outcome = 'nothing' AND number = (SELECT max(number) FROM main.run))"""
_WITH_CONTENT: Final = (
    "SELECT r.*, c.type, c.links, c.page, c.text, c.digest FROM ({}) r LEFT JOIN content c ON c.id = r.content"
)
_SET_FIGURES: Final = """UPDATE pages SET inlinks = ?, content_inlinks = ?, weight = ?, depth = ?
  WHERE url = (SELECT url FROM url WHERE id = ?)"""
_INSERT_LINK: Final = "INSERT INTO link VALUES (?, ?, ?, ?, ?, ?, ?, ?)"


class _Visited(Struct, frozen=True, array_like=True):
    """One row of the state: what a run knows of a URL, with the content of its page."""

    id: int
    url: Url
    kind: int
    state: str
    reason: str
    status: int | None
    target: str | None
    content: int | None
    lastmod: str
    lastmod_source: str
    evidence: str
    depth: int | None
    trail: str
    found: int
    source: str | None
    first_run: int | None
    changed_run: int | None
    failures: int | None
    seen_at: float | None
    listed: int
    content_type: str | None
    links: bytes | None
    page: bytes | None
    text: bytes | None
    digest: bytes | None


_decode_details = msgspec.msgpack.Decoder(Details).decode
_decode_page = msgspec.msgpack.Decoder(Page).decode


def open_dataset(site: Path, *, is_audited: bool = True) -> sqlite3.Connection:
    """The data set of the last finished run or audit in the state directory of a site, for reading.

    Without ``is_audited``, an audit that crawled by itself does not count.

    It is made anew when one has finished since. It is kept beside the state, or in a temporary file where this account
    may not write. Raises UsageError without a finished run, StorageError.
    """
    newest = _newest(site, is_audited=is_audited)
    path = newest / DATASET.file  # each state numbers its pages by itself
    with STATE_DB.reading(newest) as db:
        if newest != site and STATE_DB.is_in(site):
            _show_runs(db, site)
        db.execute("BEGIN")  # one snapshot, also while a run is active
        stamp = f"{_stamp(db)} {audit_stamp(site)}"
        if _kept_stamp(path) != stamp:
            try:
                path = _build(db, site, path, stamp)
            except (OSError, SiteatlasError):
                place = Path(tempfile.mkdtemp(prefix="siteatlas-"))
                path = _build(db, site, place / DATASET.file, stamp)
    return DATASET.open_read_only(path)


def _newest(site: Path, *, is_audited: bool) -> Path:
    """The directory whose crawl ended last: that of the site, or that of its audit, which may crawl by itself."""
    found: list[tuple[float, Path]] = []
    for directory in (site, site / AUDIT) if is_audited else (site,):
        if STATE_DB.is_in(directory):
            with STATE_DB.reading(directory) as db:
                (ended,) = db.execute("SELECT max(ended) FROM run").fetchone()
            found.append((ended or 0.0, directory))
    if not found:
        raise UsageError(_NOTHING)
    return max(found, key=itemgetter(0))[1]


def _show_runs(audit: sqlite3.Connection, site: Path) -> None:
    """Let the state of an audit show what the runs of the site published and changed: audits publish nothing."""
    audit.execute(f"ATTACH ? AS {_SITE}", (f"{(site / STATE_DB.file).absolute().as_uri()}?mode=ro",))
    audit.execute("CREATE TEMP VIEW run AS SELECT * FROM site.run")
    audit.execute("CREATE TEMP VIEW change AS SELECT * FROM site.change")
    audit.execute(
        "CREATE TEMP TABLE published AS SELECT u.id, p.file, p.lastmod FROM site.published p"
        " JOIN site.url s ON s.id = p.id JOIN main.url u ON u.url = s.url"
    )
    audit.execute("CREATE INDEX temp.published_id ON published (id)")


_SITE: Final = "site"  # the schema of the state of the site, beside that of its audit
_NOTHING: Final = "no run has finished yet, so there is nothing to show. Run siteatlas crawl first"


def _stamp(db: sqlite3.Connection) -> str:
    query = "SELECT number, ended FROM main.run WHERE ended IS NOT NULL ORDER BY number DESC LIMIT 1"
    row = db.execute(query).fetchone()
    if row is None:
        raise UsageError(_NOTHING)
    return f"{VERSION} {row[0]} {row[1]}"


def _kept_stamp(path: Path) -> str:
    if not path.exists():
        return ""
    with suppress(SiteatlasError, sqlite3.Error), closing(DATASET.open_read_only(path)) as db:
        row = db.execute("SELECT value FROM about WHERE key = 'stamp'").fetchone()
        return str(row[0]) if row else ""
    return ""


def _build(state: sqlite3.Connection, site: Path, path: Path, stamp: str) -> Path:
    has_earlier = _kept_stamp(path).partition(" ")[0] == str(VERSION)
    # a folder of its own: several commands may make the tables at once
    with tempfile.TemporaryDirectory(prefix=f".{path.stem}-", dir=path.parent) as folder:
        draft = Path(folder) / path.name
        with closing(DATASET.create(draft)) as db:
            db.execute("ATTACH ? AS earlier", (f"{path.absolute().as_uri()}?mode=ro" if has_earlier else ":memory:",))
            if not has_earlier:
                db.execute("CREATE TABLE earlier.read (id INTEGER PRIMARY KEY, digest BLOB, details BLOB)")
            db.execute("BEGIN")
            builder = _Builder(state, db)
            builder.run()
            for name, rows in audit_rows(site) if audit_stamp(site) else ():
                builder.put(name, rows)
            db.execute("INSERT INTO about VALUES ('stamp', ?)", (stamp,))
            db.execute("COMMIT")
        return draft.replace(path)


class _Builder:
    """Fills the tables, in one pass over the pages of a state."""

    def __init__(self, state: sqlite3.Connection, db: sqlite3.Connection) -> None:
        self._state = state
        self._db = db
        self._resolver = UrlResolver()
        self._urls: dict[int, str] = {}
        (self._is_active,) = state.execute(_IS_ACTIVE).fetchone()
        (highest,) = state.execute("SELECT coalesce(max(id), 0) FROM url").fetchone()
        self._inlinks = array("I", bytes(4 * (highest + 1)))
        self._content_inlinks = array("I", bytes(4 * (highest + 1)))
        self._boxes = load_boxes(state).links()
        self._near: list[PlacedPage] = []  # whose links are stored
        self._placed: list[tuple[int, PlacedPage, list[tuple[int, int, Anchor]], bool]] = []  # whose links are not
        self._is_external = bytearray(highest + 1)

    def run(self) -> None:
        """Fill all tables."""
        visited = _ACTIVE if self._is_active else _FINISHED
        self._copy_urls(visited)
        select = _WITH_CONTENT.format(visited)
        rows = (msgspec.convert(row, _Visited) for row in self._state.execute(select))
        with closing(DetailReaders()) as readers:
            for batch in self._batches(rows, readers):
                self.put("pages", [shown for row, packed in batch for shown in self._read(row, packed)])
                self._put_placed()
        self._put_figures()
        self._db.execute("CREATE INDEX link_target ON link (target)")
        self._db.execute("CREATE INDEX link_source ON link (source)")
        self._db.execute("CREATE UNIQUE INDEX page_url ON pages (url)")
        self._db.execute("CREATE INDEX history_url ON history (url)")
        self.put("redirects", self._redirects())
        self._copy_records()

    def put(self, table: str, rows: Iterable[tuple[object, ...]]) -> None:
        """Store rows of a table."""
        places = ", ".join("?" * len(TABLES[table]))
        first = [*islice(rows := iter(rows), 1)]
        if first:  # most pages have no pictures, and a statement without rows costs as much as one with a few
            self._db.executemany(f"INSERT INTO {table} VALUES ({places})", chain(first, rows))  # noqa: S608 - our own

    def _copy_urls(self, visited: str) -> None:
        inside = {row for (row,) in self._state.execute(f"SELECT id FROM ({visited})")}  # noqa: S608 - our own
        rows = self._state.execute("SELECT id, url FROM url")
        for id_, url in rows:
            self._is_external[id_] = id_ not in inside
            self._db.execute("INSERT INTO url VALUES (?, ?, ?)", (id_, url, id_ in inside))

    def _batches(self, rows: Iterator[_Visited], readers: DetailReaders) -> Iterator[list[tuple[_Visited, bytes]]]:
        """The rows with the packed details of their pages: those of the earlier data set if its content is the same.

        While one batch is stored, the next one is read.
        """
        ahead: list[_Visited] = []
        known: dict[int, bytes] = {}
        while True:
            read = iter(readers.packed())
            ready = [(row, known.get(row.id) or (next(read) if row.text else b"")) for row in ahead]
            ahead = [*islice(rows, _BATCH)]
            known = {row.id: kept for row in ahead if (kept := self._earlier(row))}
            readers.begin([row.text for row in ahead if row.text and row.id not in known])
            if ready:
                yield ready
            elif not ahead:
                return

    def _earlier(self, row: _Visited) -> bytes:
        query = "SELECT details FROM earlier.read WHERE id = ? AND digest = ?"  # a state may number its pages anew
        found = self._db.execute(query, (row.id, row.digest)).fetchone() if row.text else None
        return found[0] if found else b""

    def _read(self, row: _Visited, packed: bytes) -> Iterator[tuple[object, ...]]:
        page = _decode_page(row.page) if row.page else Page(is_html=False)
        if row.kind != DocumentKind.PAGE:
            self.put(
                "sitemap_entries", ((url, row.url, 0, None) for url in self._urls_of([*_targets(row.links or b"")]))
            )
            return
        details = None
        if packed:
            details = _decode_details(isal_zlib.decompress(packed))
            self._db.execute("INSERT INTO read VALUES (?, ?, ?)", (row.id, row.digest, packed))
        inside, outside = self._read_links(row, page, details)
        self.put("images", ((row.url, image) for image in page.images))
        self.put("alternates", ((row.url, version.hreflang, version.href) for version in page.alternates))
        self.put("videos", (_video(row.url, video) for video in page.videos))
        yield _page_row(row, page, details, inside, outside)

    def _read_links(self, row: _Visited, page: Page, details: Details | None) -> tuple[int, int]:
        """Store the links of a page. Returns how many URLs in the scope and outside it has it links to."""
        links: list[tuple[object, ...]] = []
        inside: set[int] = set()
        outside: set[int] = set()
        anchors: dict[int, int] = {}
        for flags, ids in unpack_groups(row.links or b""):
            if flags & _ANCHORS:
                anchors |= dict.fromkeys(ids, flags)
                for number in ids:
                    (outside if self._is_external[number] else inside).add(number)
                    if flags & DiscoveredBy.LINK and not page.nofollow and number != row.id:
                        self._inlinks[number] += 1
            kinds = [name for flag, name in DISCOVERY_NAMES.items() if flags & flag and not flag & _ANCHORS]
            links += ((row.id, number, kind, 0, None, None, None, None) for number in ids for kind in kinds)
        places = self._anchors(row, details, anchors) if details and anchors else []
        if details and places:
            at = [position - 1 for _, position, _ in places]
            texts = [(bisect_left(at, begin), bisect_left(at, end), text) for begin, end, text in details.texts]
            targets, found = [self._urls[number] for number, _, _ in places], [anchor for _, _, anchor in places]
            self._placed.append((row.id, PlacedPage(row.url, targets, found, texts), places, page.nofollow))
        for number in anchors.keys() - {number for number, _, _ in places}:  # a menu of scripts, an encoding
            is_nofollow = page.nofollow or not anchors[number] & DiscoveredBy.LINK
            links.append((row.id, number, "link", is_nofollow, None, None, None, None))
        if links:
            self._db.executemany(_INSERT_LINK, links)
        return len(inside - {row.id}), len(outside)

    def _anchors(self, row: _Visited, details: Details, known: dict[int, int]) -> list[tuple[int, int, Anchor]]:
        """The links of the markup whose target is one of ``known``: target, number on the page, and the link."""
        self._load_urls(known)
        # of a page that fails, the state may have forgotten where its earlier content leads
        numbers = {self._urls[number]: number for number in known if number in self._urls}
        base = row.url
        with suppress(InvalidUrl):
            base = join_url(row.url, details.base) if details.base else row.url
        self._resolver.begin()
        urls = self._resolver.resolve_all(base, [anchor.href.partition("#")[0] for anchor in details.anchors])
        return [
            (numbers[url], position, anchor)
            for position, (url, anchor) in enumerate(zip(urls, details.anchors, strict=True), 1)
            if url in numbers and not anchor.href.startswith("#")
        ]

    def _load_urls(self, numbers: Iterable[int]) -> None:
        missing = [number for number in numbers if number not in self._urls]
        if len(self._urls) > _MAX_URLS:
            self._urls.clear()
            missing = [*numbers]
        query = "SELECT id, url FROM url WHERE id IN (SELECT value FROM json_each(?))"
        self._urls.update(self._state.execute(query, (msgspec.json.encode(missing).decode(),)) if missing else ())

    def _urls_of(self, numbers: Collection[int]) -> Iterator[str]:
        self._load_urls(numbers)
        return (self._urls[number] for number in numbers if number in self._urls)

    def _put_placed(self) -> None:
        """Store the links of a batch of pages with their places."""
        pages = [page for _, page, _, _ in self._placed]
        changing = {}
        for source, page, _, _ in self._placed:
            if shown := self._boxes.get(source):
                changing[page.url] = {*self._urls_of(shown)}
        found = find_places([*self._near, *pages], changing)[len(self._near) :]
        for places, (source, _, links, has_nofollow) in zip(found, self._placed, strict=True):
            followed = set()
            rows = []
            for place, (target, position, anchor) in zip(places, links, strict=True):
                is_nofollow = has_nofollow or "nofollow" in anchor.rel.split()
                rows.append((source, target, "link", is_nofollow, anchor.text, anchor.rel or None, place, position))
                if place in CONTENT and not is_nofollow and target != source:
                    followed.add(target)
            self._db.executemany(_INSERT_LINK, rows)
            for target in followed:
                self._content_inlinks[target] += 1
        self._near = pages[-_NEAR:]
        self._placed.clear()

    def _put_figures(self) -> None:
        """Store what the links of all pages say of each page."""
        graph = None if self._is_active else load_graph(self._state)
        ranks = zip(graph.nodes.ids, graph.weight, graph.depth, strict=True) if graph else ()
        figures = {number: (round(weight, 3), None if depth < 0 else depth) for number, weight, depth in ranks}
        rows = (
            (count, self._content_inlinks[number], *figures.get(number, (None, None)), number)
            for number, count in enumerate(self._inlinks)
            if count or number in figures
        )
        self._db.execute("CREATE UNIQUE INDEX page_url ON pages (url)")
        self._db.executemany(_SET_FIGURES, rows)
        self._db.execute("DROP INDEX page_url")

    def _redirects(self) -> Iterator[tuple[object, ...]]:
        query = "SELECT url, status, target FROM pages WHERE state = 'redirect' AND target IS NOT NULL"
        hops = {url: (status, target) for url, status, target in self._db.execute(query)}
        for url, (status, target) in hops.items():
            seen = [url]
            final = target
            while final in hops and final not in seen:
                seen.append(final)
                final = hops[final][1]
            is_loop = final in seen
            found = self._db.execute("SELECT state FROM pages WHERE url = ?", (final,)).fetchone()
            state = found[0] if found else State.OUT_OF_SCOPE
            yield url, status, target, None if is_loop else final, None if is_loop else state, len(seen), is_loop

    def _copy_records(self) -> None:
        state = self._state
        published = state.execute(
            "SELECT u.url, p.file, 1, nullif(p.lastmod, '') FROM published p JOIN url u ON u.id = p.id ORDER BY u.url"
        )
        self.put("sitemap_entries", published)
        self.put("changes", state.execute("SELECT run, url, kind, target, before, lastmod, reason FROM change"))
        schemas = {name for _, name, _ in state.execute("PRAGMA database_list")}
        schema = _SITE if _SITE in schemas else "main"
        self.put("history", read_history(state, schema))
        reached = recorded_runs(state, schema)
        runs = state.execute(
            "SELECT number, started, ended, version, completeness, because, outcome, exit_code, fetched, unchanged,"
            " bytes, seconds, listed, kept, added, changed, removed FROM run WHERE ended IS NOT NULL ORDER BY number"
        )
        rows = ((number, w3c(begun), w3c(ended), *rest, number in reached) for number, begun, ended, *rest in runs)
        self.put("runs", rows)


def _targets(links: bytes) -> Iterator[int]:
    return (number for _, ids in unpack_groups(links) for number in ids)


def _page_row(row: _Visited, page: Page, details: Details | None, inside: int, outside: int) -> tuple[object, ...]:
    shown = (details.description, details.h1, details.h1_count, details.words) if details else (None,) * 4
    requests = Request.read(row.trail)
    last = next((request for request in reversed(requests) if request.answer != "304"), None)
    stated = StatedFields.of(page)
    return (
        row.url,
        section_of(row.url),
        row.state,
        row.reason,
        row.state == State.INDEXABLE,
        row.listed,
        row.status,
        row.content_type,
        row.target,
        stated.canonical,
        details.robots if details else None,
        stated.title,
        *shown,
        stated.language,
        row.lastmod or None,
        row.lastmod_source or None,
        row.evidence or None,
        row.depth,
        0,
        0,
        None,
        inside if page.is_html else None,
        outside if page.is_html else None,
        stated.images,
        stated.alternates,
        last.wire if last else None,
        last.elapsed if last else None,
        ", ".join(name for flag, name in DISCOVERY_NAMES.items() if row.found & flag) or None,
        row.source,
        row.first_run,
        row.changed_run,
        row.failures,
        w3c(row.seen_at) if row.seen_at else None,
        w3c(requests[-1].at) if requests else None,
        page.rendered,
    )


def _video(page: str, video: Video) -> tuple[object, ...]:
    return (page, video.title, video.content_loc, video.player_loc, video.thumbnail_loc, video.duration)
