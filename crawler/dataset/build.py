"""Makes the data set of a state: one SQLite file with the tables of :mod:`.schema`, of the last finished run."""

import sqlite3
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from functools import partial
from hashlib import blake2b
from operator import itemgetter
from pathlib import Path
from typing import Final

import msgspec

from crawler.audit.graph.changing_links import load_boxes
from crawler.audit.graph.load import load_figures
from crawler.audit.graph.places import CONTENT, Place
from crawler.config.plan import AUDIT
from crawler.dataset.audit_tables import audit_rows, audit_stamp
from crawler.dataset.history import CONTENT_SQL, last_words, read_history, recorded_runs
from crawler.dataset.pages import LINK_TYPES, SHOWN, Batch, PageReader, Visited
from crawler.dataset.query import knows_own_sitemaps
from crawler.dataset.readers import PageReaders
from crawler.dataset.schema import DATASET, TABLES, VERSION, put, take_over
from crawler.errors import SiteatlasError, UsageError
from crawler.model import State
from crawler.state.schema import STATE_DB
from crawler.units import w3c
from sitemap import give_to_owner

_LAST_OF_BATCH: Final = 1_000
"""The page whose id is a multiple of it is the last one of its batch, so that a page that comes or goes changes one."""
_MOST: Final = 2_000  # pages of a batch
_CACHE: Final = 16_000  # kB of the tables in memory
_ENOUGH: Final = 300  # pages that show what pages repeat; a smaller batch is read with those before it

# Of the last finished run: while another is active, its visits replace those of the last.
_FINISHED: Final = f"""SELECT u.id, u.url, v.kind, v.state, v.reason, v.status, v.target,
  {CONTENT_SQL} AS content, v.lastmod, v.lastmod_source, v.evidence, v.depth,
  v.trail, v.found, s.url, m.first_run, m.changed_run, m.failures, v.seen_at, p.id IS NOT NULL
  FROM visit v JOIN url u ON u.id = v.id LEFT JOIN memory m ON m.id = v.id LEFT JOIN published p ON p.id = v.id
  LEFT JOIN url s ON s.id = v.source WHERE v.state != '{State.OUT_OF_SCOPE}'"""  # noqa: S608 - our own
_ACTIVE: Final = f"""SELECT u.id, u.url, iif(m.state = '{State.SITEMAP_FILE}', 1, 0), m.state, m.reason, m.status,
  m.target, iif(m.state = '{State.UNLINKED}', NULL, m.content) AS content,
  m.lastmod, m.lastmod_source, m.evidence, NULL, '', 0, NULL, m.first_run,
  m.changed_run, m.failures, m.seen_at, p.id IS NOT NULL
  FROM memory m JOIN url u ON u.id = m.id LEFT JOIN published p ON p.id = m.id"""  # noqa: S608 - our own
# A run that came to nothing, too, leaves hardly any visits.
_IS_ACTIVE: Final = """SELECT count(*) FROM main.run
  WHERE ended IS NULL OR (outcome = 'nothing' AND number = (SELECT max(number) FROM main.run))"""
_WITH_CONTENT: Final = (
    "SELECT r.*, c.type, c.links, c.page, c.digest FROM ({} ORDER BY u.id) r LEFT JOIN content c ON c.id = r.content"
)
_TEXTS: Final = "SELECT id, text FROM content WHERE id IN (SELECT value FROM json_each(?))"
# of the links that may be followed, which have numbers one after the other; the first of them is of unknown places
_FOLLOWED: Final = {place: LINK_TYPES["link", False, place] for place in (None, *Place)}
_SET_INLINKS: Final = f"""UPDATE pages SET inlinks = c.linked, content_inlinks = c.chosen FROM (
    SELECT target, count(DISTINCT source) AS linked, iif(max(type) > {_FOLLOWED[None]}, count(DISTINCT
      iif(type IN ({", ".join(str(_FOLLOWED[place]) for place in CONTENT)}), source, NULL)), NULL) AS chosen
    FROM typed_link WHERE type BETWEEN {_FOLLOWED[None]} AND {max(_FOLLOWED.values())} AND source != target
    GROUP BY target
  ) c WHERE pages.rowid = c.target"""  # noqa: S608 - our own
_SET_FIGURES: Final = "UPDATE pages SET depth = nullif(?, -1), weight = ? WHERE rowid = ?"
_KEPT: Final = f"SELECT rowid, {', '.join(SHOWN)} FROM earlier.pages WHERE rowid BETWEEN ? AND ?"  # noqa: S608 - our own
_CARRY: Final = """UPDATE pages SET bytes = e.bytes, seconds = e.seconds FROM earlier.pages e
  WHERE e.rowid = pages.rowid AND e.url = pages.url AND pages.bytes IS NULL"""  # a 304 has no body
_KEEP_FIGURES: Final = """UPDATE pages SET depth = e.depth, weight = e.weight FROM earlier.pages e
  WHERE e.rowid = pages.rowid"""
_DROP_LINKS: Final = "DELETE FROM typed_link WHERE source BETWEEN ? AND ? AND rowid <= ?"
_FEW: Final = 50
"""One of so many batches may change while links have an index by target, which takes ten times as long for each."""
_SHOWN: Final = "0, inlinks, depth, status, state, section, language, words, outlinks, lastmod, url, title, indexable"
"""What explore shows first, for a pass over these alone. The number in front keeps SQLite from a search in this index,
which looks up a page for each entry: that takes six times as long as a pass over all pages."""
_LINK_INDEXES: Final = (
    "CREATE INDEX IF NOT EXISTS link_source ON typed_link (source)",
    "CREATE INDEX IF NOT EXISTS link_target ON typed_link (target, source, type)",
)
_INDEXES: Final = (
    "UNIQUE INDEX url_url ON url (url)",
    "UNIQUE INDEX page_url ON pages (url)",
    "INDEX history_url ON history (url)",
    f"INDEX page_shown ON pages ({_SHOWN})",
)
"""They are made when their table is full, which takes a part of the time. Those of links stay if some links do."""
_NOT_OF_LINKS: Final = """SELECT name FROM main.sqlite_schema
  WHERE type = 'index' AND sql > '' AND tbl_name != 'typed_link'"""


def open_dataset(site: Path, *, is_audited: bool = True) -> sqlite3.Connection:
    """The data set of the last finished run or audit in the state directory of a site, for reading.

    Without ``is_audited``, an audit that crawled by itself does not count, unless there are only audits.

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
                path = _build(db, newest, site, path, stamp)
            except (OSError, SiteatlasError):
                place = Path(tempfile.mkdtemp(prefix="siteatlas-"))
                path = _build(db, newest, site, place / DATASET.file, stamp)
    return DATASET.open_read_only(path)


def newest_stamp(site: Path) -> str:
    """What the tables of a site say in ``about``, if they are of its last run and audit. Raises SiteatlasError."""
    with STATE_DB.reading(_newest(site, is_audited=True)) as db:
        return f"{_stamp(db)} {audit_stamp(site)}"


def _newest(site: Path, *, is_audited: bool) -> Path:
    """The directory whose crawl ended last: that of the site, or that of its audit, which may crawl by itself."""
    found: list[tuple[float, Path]] = []
    for directory in (site, site / AUDIT) if is_audited or not STATE_DB.is_in(site) else (site,):
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
    with suppress(SiteatlasError, sqlite3.Error), closing(DATASET.open_read_only(path)) as db:
        row = db.execute("SELECT value FROM about WHERE key = 'stamp'").fetchone()
        return str(row[0]) if row else ""
    return ""


def _build(state: sqlite3.Connection, newest: Path, site: Path, path: Path, stamp: str) -> Path:
    has_earlier = _kept_stamp(path).partition(" ")[0] == str(VERSION)
    # a folder of its own: several commands may make the tables at once
    with tempfile.TemporaryDirectory(prefix=f".{path.stem}-", dir=path.parent) as folder:
        give_to_owner(Path(folder))
        draft = Path(folder) / path.name
        with closing(DATASET.create(draft)) as db:
            if has_earlier:
                with closing(DATASET.open_read_only(path)) as earlier:
                    earlier.backup(db)
                db.execute("ATTACH ? AS earlier", (f"{path.absolute().as_uri()}?mode=ro",))
            db.execute("PRAGMA secure_delete = OFF")
            db.execute(f"PRAGMA main.cache_size = -{_CACHE}")
            db.execute("BEGIN")
            builder = _Builder(state, db)
            builder.run(newest / STATE_DB.file, Path(folder))
            if has_earlier:
                db.execute(_CARRY)
            db.execute("INSERT INTO about VALUES ('stamp', ?)", (stamp,))
            for name, rows in audit_rows(site) if audit_stamp(site) else ():
                if name != "sitemap_entries" or not knows_own_sitemaps(db):  # a crawl may have read them since
                    put(db, name, rows)
            db.execute("COMMIT")
        return draft.replace(path)


class _Builder:
    """Fills the tables, in one pass over the pages of a state. Of an earlier data set the links of most pages stay."""

    def __init__(self, state: sqlite3.Connection, db: sqlite3.Connection) -> None:
        self._state = state
        self._db = db
        (self._is_active,) = state.execute(_IS_ACTIVE).fetchone()
        self._boxes = load_boxes(state).links()
        self._graph = blake2b(msgspec.msgpack.encode(self._boxes), digest_size=16)  # of all that figures depend on
        row = db.execute("SELECT value FROM about WHERE key = 'graph'").fetchone()
        self._earlier_graph = row and row[0]
        # the batches of the earlier data set whose links are not known to be right: their first page, last page and key
        self._stale = {*db.execute("SELECT * FROM read")}
        self._spare = len(self._stale) / _FEW
        (self._last_link,) = db.execute("SELECT coalesce(max(rowid), 0) FROM typed_link").fetchone()
        for (name,) in db.execute(_NOT_OF_LINKS).fetchall():
            db.execute(f"DROP INDEX main.{name}")
        for name in {"url", "read", "about", "link_type", *TABLES} - {"links"}:
            db.execute(f"DELETE FROM {name}")  # noqa: S608 - our own
        put(self._db, "link_type", ((*link_type, number) for link_type, number in LINK_TYPES.items()))

    def run(self, state: Path, folder: Path) -> None:
        """Fill all tables. ``state`` is the file of the state, ``folder`` an empty one."""
        visited = _ACTIVE if self._is_active else _FINISHED
        (highest,) = self._state.execute("SELECT coalesce(max(id), 0) FROM url").fetchone()
        is_external = bytearray(b"\1" * (highest + 1))
        for (number,) in self._state.execute(f"SELECT id FROM ({visited})"):  # noqa: S608 - our own
            is_external[number] = 0
        external = bytes(is_external)
        with closing(PageReaders(PageReader(self._state, external), state, external, folder)) as readers:
            for rows in readers.rows(self._batches(visited)):
                if isinstance(rows, Path):
                    take_over(self._db, str(rows))
                    continue
                for name, found in rows.items():
                    put(self._db, name, found)
        self._db.executemany(_DROP_LINKS, ((first, last, self._last_link) for first, last, _ in self._stale))
        urls = self._state.execute("SELECT id, url FROM url")
        put(self._db, "url", ((n, url, not external[n]) for n, url in urls))
        with ThreadPoolExecutor(1) as thread:  # SQLite sorts the links while this thread computes
            sorted_links = thread.submit(self._sort_links)
            graph = self._graph.hexdigest()
            is_kept = graph == self._earlier_graph
            figures = None if self._is_active or is_kept else load_figures(self._state)
            sorted_links.result()
        if is_kept:
            self._db.execute(_KEEP_FIGURES)
        if figures:
            ids, (depths, weights) = figures
            by_page = zip(depths, weights, ids, strict=True)
            self._db.executemany(_SET_FIGURES, ((depth, round(weight, 3), n) for depth, weight, n in by_page))
        self._db.execute("INSERT INTO about VALUES ('graph', ?)", ("" if self._is_active else graph,))
        for index in _INDEXES:
            self._db.execute(f"CREATE {index}")
        put(self._db, "redirects", self._redirects())
        self._copy_records()

    def _batches(self, visited: str) -> Iterator[Batch]:
        """The pages in batches. The links of a batch that the earlier data set has are copied from there."""
        before: list[Visited] = []
        rows: list[Visited] = []
        encode = msgspec.msgpack.Encoder().encode
        for values in self._state.execute(_WITH_CONTENT.format(visited)):
            row = msgspec.convert(values, Visited)
            rows.append(row)
            self._graph.update(encode((row.id, row.state, row.status, row.target, row.found, row.links)))
            if row.id % _LAST_OF_BATCH == 0 or len(rows) == _MOST:
                yield self._batch(rows, before)
                before = (before + rows)[-_ENOUGH:]
                rows = []
        if rows:
            yield self._batch(rows, before)

    def _batch(self, rows: list[Visited], before: list[Visited]) -> Batch:
        near = before[-max(0, _ENOUGH - len(rows)) :] if len(rows) < _ENOUGH else []
        boxes = {row.id: shown for row in (*near, *rows) if (shown := self._boxes.get(row.id))}
        read = [(row.id, row.url, row.digest, row.links) for row in (*near, *rows)]
        key = blake2b(msgspec.msgpack.encode((read, boxes)), digest_size=16).digest()
        batch = rows[0].id, rows[-1].id, key
        self._db.execute("INSERT INTO read VALUES (?, ?, ?)", batch)
        if batch in self._stale:
            self._stale.remove(batch)
            kept = {number: tuple(shown) for number, *shown in self._db.execute(_KEPT, batch[:2])}
            return Batch(rows, [], {}, kept)
        self._spare -= 1
        if self._spare < 0:
            self._db.execute("DROP INDEX IF EXISTS main.link_target")
        contents = msgspec.json.encode([row.content for row in (*near, *rows)]).decode()
        texts = dict(self._state.execute(_TEXTS, (contents,)).fetchall())
        for row in (*near, *rows):
            row.text = texts.get(row.content)
        return Batch(rows, near, boxes, {})

    def _sort_links(self) -> None:
        for statement in (*_LINK_INDEXES, _SET_INLINKS):
            self._db.execute(statement)

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
        put(self._db, "sitemap_entries", published)
        put(self._db, "changes", state.execute("SELECT run, url, kind, target, before, lastmod, reason FROM change"))
        schemas = {name for _, name, _ in state.execute("PRAGMA database_list")}
        schema = _SITE if _SITE in schemas else "main"
        put(self._db, "history", read_history(state, partial(self._words, schema), schema))
        reached = recorded_runs(state, schema)
        runs = state.execute(
            "SELECT number, started, ended, version, completeness, because, outcome, exit_code, fetched, unchanged,"
            " bytes, seconds, listed, kept, added, changed, removed FROM run WHERE ended IS NOT NULL ORDER BY number"
        )
        rows = ((number, w3c(begun), w3c(ended), *rest, number in reached) for number, begun, ended, *rest in runs)
        put(self._db, "runs", rows)

    def _words(self, schema: str, url: str) -> int | None:
        if schema == _SITE:  # these pages are those of an audit
            return last_words(self._state, schema, url)
        found = self._db.execute("SELECT words FROM pages WHERE url = ?", (url,)).fetchone()
        return found[0] if found else None
