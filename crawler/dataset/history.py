"""What each run changed of each page: its fields with the value before and after, and the links that came and went.

The table ``seen`` of the state has what the last finished run saw. Each run that ends is compared with it, whatever the
gate decides and whether the run asked for all pages: the history says what was seen. What a run did not ask for has
its earlier visit, and what failed its earlier content, so neither differs. An audit has a state of its own, and a
history if the site has no runs. Only what differs is decoded, so that a run without changes costs one query.
"""

import sqlite3
from array import array
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import count
from typing import Final, NamedTuple

import msgspec
from isal import isal_zlib
from msgspec import Struct

from crawler.audit.graph.links import EMPTY_STATUSES
from crawler.audit.graph.metrics import levels
from crawler.crawl.frontier.storage import unpack_groups
from crawler.dataset.compare import SWAPPED
from crawler.dataset.edits import Edit, read_edit
from crawler.dataset.schema import TABLES
from crawler.fetch.retry import FAILURES
from crawler.model import DiscoveredBy, DocumentKind, Page, State
from crawler.parse.snapshot.details import Headline, count_words, read_headline
from crawler.parse.snapshot.snapshot import load_markup
from crawler.state.database import storage_errors

LINK: Final = "link"
"""The field of a link that may be followed; ``NOFOLLOW_LINK`` that of one that must not be."""
NOFOLLOW_LINK: Final = "nofollow link"
_EDITED_WORDS: Final = "edited words"  # the field of the words where markup differs: the rest of a page is not counted
MAX_VALUE: Final = 500
"""Characters of a value; a longer one ends with "…"."""
MAX_LINKS: Final = 100
"""Links that came, and as many that went, of one page in one run. The others are counted."""
_MORE: Final = "and "  # begins the count of the others, and no URL
_MIN_SIZE: Final = 10_000_000  # bytes that the history of a small state may take ...
_SHARE: Final = 10  # ... and of a large one: a part of so many

Value = str | int | None
FieldChange = tuple[str, Value, Value]
"""A field, its value before and its value after."""

# A page that failed keeps its last content. One that answers without any, such as a loop of redirects, has none.
# Nor has one to which nothing leads any more: the crawl does not count its links, and asks for it in this run only.
CONTENT_SQL: Final = f"""CASE WHEN v.state = '{State.UNLINKED}' THEN NULL
  WHEN v.state IN ({", ".join(f"'{state}'" for state in sorted(FAILURES))}) AND NOT (
    v.state = '{State.BAD_ANSWER}' AND coalesce(v.status, 0) IN ({", ".join(map(str, sorted(EMPTY_STATUSES)))}))
  THEN m.content ELSE v.content END"""
_NOW: Final = f"""SELECT v.id, v.state, v.status, v.target,
    {CONTENT_SQL} AS content
  FROM visit v LEFT JOIN memory m ON m.id = v.id
  WHERE v.kind = {DocumentKind.PAGE:d} AND v.state != '{State.OUT_OF_SCOPE}'"""  # noqa: S608 - our own
_NEWS: Final = f"""({_NOW}) n LEFT JOIN seen s ON s.id = n.id WHERE s.id IS NULL OR s.state != n.state
  OR s.status IS NOT n.status OR s.target IS NOT n.target OR s.content IS NOT n.content"""
_IS_GONE: Final = f"id NOT IN (SELECT id FROM ({_NOW}))"  # noqa: S608 - our own
_DIFFERENT: Final = f"""SELECT u.url, d.* FROM (
    SELECT n.id, s.state, s.status, s.target, s.content, n.state, n.status, n.target, n.content FROM {_NEWS}
    UNION ALL SELECT id, state, status, target, content, NULL, NULL, NULL, NULL FROM seen WHERE {_IS_GONE}
  ) d JOIN url u ON u.id = d.id"""  # noqa: S608 - our own
_UPDATE_SEEN: Final = (
    f"DELETE FROM seen WHERE {_IS_GONE}",  # noqa: S608 - our own
    f"INSERT OR REPLACE INTO seen SELECT n.* FROM {_NEWS}",  # noqa: S608 - our own
)
_CONTENT: Final = "SELECT type, links, page, text FROM content WHERE id = ?"
_ANCHORS: Final = DiscoveredBy.LINK | DiscoveredBy.NOFOLLOW

_decode_page = msgspec.msgpack.Decoder(Page).decode
_decode_changes = msgspec.msgpack.Decoder(list[FieldChange]).decode
_encode = msgspec.msgpack.Encoder().encode


class _Content(NamedTuple):
    """The content of a page as it is stored, its markup unpacked."""

    type: str | None = None
    links: bytes = b""
    page: bytes | None = None
    markup: str | None = None


class _Side(Struct):
    """What one run saw of a page. ``state`` is None if it met none of that URL."""

    state: str | None
    status: int | None
    target: str | None
    content: int | None


def record(db: sqlite3.Connection, run: int, keep: int) -> None:
    """Record what a run that ends changed, and keep the changes of the last ``keep`` runs.

    To be called before its visits become memory. Part of the caller's transaction. Raises StorageError.
    """
    with storage_errors():
        if keep:
            is_first = db.execute("SELECT 1 FROM history_run LIMIT 1").fetchone() is None
            size = 0 if is_first else sum(_record_changes(db, run))  # the first has nothing to be compared with
            db.execute("INSERT OR REPLACE INTO history_run VALUES (?, ?)", (run, size))
        for statement in _UPDATE_SEEN if keep else ("DELETE FROM seen",):
            db.execute(statement)
        oldest = _oldest_kept(db, keep) if keep else run + 1
        for table in ("history", "history_run"):
            db.execute(f"DELETE FROM {table} WHERE run < ?", (oldest,))  # noqa: S608 - our own


def recorded_runs(db: sqlite3.Connection, schema: str = "main") -> set[int]:
    """The runs that the history of a state reaches, by the name of its schema. Raises StorageError."""
    with storage_errors():
        known = db.execute(f"SELECT 1 FROM {schema}.sqlite_master WHERE name = 'history_run'").fetchone()  # noqa: S608
        rows = db.execute(f"SELECT run FROM {schema}.history_run") if known else ()  # noqa: S608 - our own
        return {run for (run,) in rows}  # none in a state of an earlier release


def read_history(
    db: sqlite3.Connection, words: Callable[[str], int | None], schema: str = "main"
) -> Iterator[tuple[int, str, str, Value, Value]]:
    """The rows of the history of a state, the newest first: run, URL, field, value before and after.

    ``words`` tells how many a page had in the last run. Raises StorageError.
    """
    if not recorded_runs(db, schema):
        return
    later: dict[str, int | None] = {}  # words of a page in the run that comes next
    query = f"SELECT run, url, changes FROM {schema}.history ORDER BY run DESC, url"  # noqa: S608 - our own
    with storage_errors():
        for run, url, packed in db.execute(query):
            for field, before, after in _decode_changes(isal_zlib.decompress(packed)):
                if field == "words":
                    later[url] = None if before is None else int(before)
                if field != _EDITED_WORDS:
                    yield run, url, field, before, after
                elif (now := later[url] if url in later else words(url)) is not None:
                    later[url] = now + int(before or 0) - int(after or 0)
                    yield run, url, "words", later[url], now


def last_words(db: sqlite3.Connection, schema: str, url: str) -> int | None:
    """The words that a page had in the last run of a state, None without a page."""
    query = f"""SELECT c.text FROM {schema}.url u JOIN {schema}.seen s ON s.id = u.id
      JOIN {schema}.content c ON c.id = s.content WHERE u.url = ?"""  # noqa: S608 - our own
    found = db.execute(query, (url,)).fetchone()
    return count_words(load_markup(found[0])) if found and found[0] else None


def _oldest_kept(db: sqlite3.Connection, keep: int) -> int:
    """The first of the runs whose changes stay."""
    (pages,), (size,) = (db.execute(f"PRAGMA {name}").fetchone() for name in ("page_count", "page_size"))
    left = max(_MIN_SIZE, pages * size // _SHARE)
    oldest = 0
    for run, taken in db.execute("SELECT run, bytes FROM history_run ORDER BY run DESC LIMIT ?", (keep,)):
        left -= taken
        if left < 0 and oldest:
            break
        oldest = run
    return oldest


def _record_changes(db: sqlite3.Connection, run: int) -> Iterator[int]:
    """Store the changes of a run. Yields the bytes of each page."""
    reader = _ChangeReader(db)
    for url, number, *values in db.execute(_DIFFERENT):
        before, after = _Side(*values[:4]), _Side(*values[4:])
        if changes := [*reader.changes(number, before, after)]:
            packed = isal_zlib.compress(_encode(changes), 1)
            db.execute("INSERT OR REPLACE INTO history VALUES (?, ?, ?)", (run, url, packed))
            yield len(url) + len(packed)


class StatedFields(NamedTuple):
    """What a page states of itself, in the columns of the table ``pages``."""

    canonical: str | None
    title: str | None
    language: str | None
    images: int | None
    alternates: int | None

    @classmethod
    def of(cls, page: Page) -> "StatedFields":
        """Those of a parsed page, all None if it is no HTML."""
        canonical = page.canonicals[0] if page.canonicals else None
        if not page.is_html:
            return cls(canonical, None, None, None, None)
        return cls(canonical, page.title, page.language, len(page.images), len(page.alternates))


class _ChangeReader:
    """Decodes both sides of the pages that differ."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    @cached_property
    def _met(self) -> tuple[bytearray, bytearray]:
        """Which URLs, by id, the run before met and which this run: links to others lead out of the site."""
        (highest,) = self._db.execute("SELECT coalesce(max(id), 0) FROM url").fetchone()
        both = bytearray(highest + 1), bytearray(highest + 1)
        for met, query in zip(both, ("SELECT id FROM seen", f"SELECT id FROM ({_NOW})"), strict=True):  # noqa: S608
            for (number,) in self._db.execute(query):
                met[number] = 1
        return both

    def changes(self, number: int, before: _Side, after: _Side) -> Iterator[FieldChange]:
        """What differs on the page with this id. A new page had nothing before, and one that left has nothing."""
        for name in ("state", "status", "target"):
            old, new = getattr(before, name), getattr(after, name)
            if old != new:
                yield name, _cut(old), _cut(new)
        if before.content == after.content:
            return
        sides = self._content(before.content), self._content(after.content)
        markups = [side.markup for side in sides if side.markup is not None]
        edit = read_edit(*markups) if len(markups) == len(sides) else None
        fields = [_fields(side, edit) for side in sides]
        for name, old in fields[0].items():
            if old != fields[1][name]:
                yield name, _cut(old), _cut(fields[1][name])
        if edit and edit.before != edit.after:
            yield _EDITED_WORDS, edit.before, edit.after
        if sides[0].links != sides[1].links:
            yield from self._link_changes(number, *sides)

    def _content(self, number: int | None) -> _Content:
        row = self._db.execute(_CONTENT, (number,)).fetchone()
        if row is None:
            return _Content()
        kind, links, page, text = row
        return _Content(kind, links, page, load_markup(text) if text else None)

    def _link_changes(self, number: int, *sides: _Content) -> Iterator[FieldChange]:
        old, new = ({*_links(side)} for side in sides)
        counts = []
        for links, met in zip((old, new), self._met, strict=True):
            targets = {target for target, _ in links}
            inside = sum(met[target] for target in targets)
            counts.append((inside - (number in targets), len(targets) - inside))
        for name, before, after in zip(("outlinks", "external_outlinks"), *counts, strict=True):
            if before != after:
                yield name, before, after
        yield from ((kind, url, None) for kind, url in self._named(old - new))
        yield from ((kind, None, url) for kind, url in self._named(new - old))

    def _named(self, links: set[tuple[int, str]]) -> Iterator[tuple[str, str]]:
        """Links with their URLs, and how many more there are."""
        chosen = sorted(links)[:MAX_LINKS]
        for target, kind in chosen:
            if found := self._db.execute("SELECT url FROM url WHERE id = ?", (target,)).fetchone():
                yield kind, found[0]
        if more := len(links) - len(chosen):
            yield LINK, f"{_MORE}{more:,} more"


def _fields(side: _Content, edit: Edit | None) -> dict[str, Value]:
    """The fields of a page without those that an edit of it leaves as they were."""
    page = _decode_page(side.page) if side.page else Page(is_html=False)
    fields: dict[str, Value] = {"content_type": side.type, **StatedFields.of(page)._asdict()}
    if edit is None or edit.has_headline:
        shown = None if side.markup is None else read_headline(side.markup)
        fields |= shown._asdict() if shown else dict.fromkeys(Headline._fields)
    if edit is None:
        fields["words"] = None if side.markup is None else count_words(side.markup)
    return fields


def _links(side: _Content) -> set[tuple[int, str]]:
    """The links of a page: the id of the target, and the kind."""
    groups = ((flags, ids) for flags, ids in unpack_groups(side.links) if flags & _ANCHORS)
    return {(n, LINK if flags & DiscoveredBy.LINK else NOFOLLOW_LINK) for flags, ids in groups for n in ids}


def _cut(value: Value) -> Value:
    return value if not isinstance(value, str) or len(value) <= MAX_VALUE else f"{value[:MAX_VALUE]}…"


_IS_REACHED: Final = "SELECT run FROM runs WHERE history ORDER BY run"
_PRESENT: Final = "SELECT url, {} FROM pages"
# Of each field the change that says most of a run comes last: the last one up to it, else the first one after it.
_PAST: Final = """SELECT url, field, iif(run > :run, before, after) FROM history
  WHERE field NOT IN (:link, :nofollow) ORDER BY run <= :run, iif(run > :run, -run, run)"""
_PAST_INLINKS: Final = """SELECT coalesce(before, after), sum(iif(before IS NULL, -1, 1)), count(*) FROM history
  WHERE field = :link AND run > :run AND url != coalesce(before, after) GROUP BY 1"""
_STILL_LINKED: Final = """SELECT t.url, count(DISTINCT l.source) FROM link l JOIN url t ON t.id = l.target
  WHERE l.kind = 'link' AND NOT l.nofollow AND l.source != l.target AND NOT t.internal GROUP BY 1"""
_PAST_OUTLINKS: Final = "SELECT url, count(*) FROM history WHERE field = :link AND run > :run GROUP BY 1"
_LINK_TABLES: Final = "SELECT count(*) FROM sqlite_master WHERE name IN ('url', 'link')"
_STARTS: Final = "SELECT u.id FROM pages p JOIN url u ON u.url = p.url WHERE p.depth = 0"
_CLICKS: Final = """SELECT l.source, l.target FROM link l JOIN url t ON t.id = l.target
  WHERE t.internal AND l.kind IN ('link', 'frame') AND NOT l.nofollow"""
_PAST_LINKS: Final = "SELECT url, before, after FROM history WHERE field = :link AND run > :run ORDER BY run DESC"
_INTEGERS: Final = frozenset(column.name for column in TABLES["pages"] if column.type == "INTEGER")


def reached_runs(dataset: sqlite3.Connection) -> list[int]:
    """The runs whose pages a data set can show, the first one first."""
    return [run for (run,) in dataset.execute(_IS_REACHED)]


def pages_at(dataset: sqlite3.Connection, run: int, fields: Sequence[str]) -> Iterator[tuple[str, dict[str, Value]]]:
    """The pages of a data set with the ``fields`` that they had in a run: see :func:`reached_runs`.

    The inlinks and the depth follow from the links that came and went. No depth is known if some of these are not.
    """
    values: dict[str, Value] = {"run": run, "link": LINK, "nofollow": NOFOLLOW_LINK}
    past: dict[str, dict[str, Value]] = {}
    for url, field, value in dataset.execute(_PAST, values):
        past.setdefault(url, {})[field] = int(value) if field in _INTEGERS and value is not None else value
    links_in = {url: (more, swapped) for url, more, swapped in dataset.execute(_PAST_INLINKS, values)}
    links_out = dict(dataset.execute(_PAST_OUTLINKS, values))
    is_last = dataset.execute("SELECT NOT EXISTS (SELECT 1 FROM history WHERE run > :run)", values).fetchone() == (1,)
    depths = {} if is_last else _past_depths(dataset, values, past)

    def as_of_then(url: str, shown: dict[str, Value]) -> dict[str, Value]:
        more, swapped = links_in.get(url, (0, 0))
        changes: tuple[Value, ...] = (swapped, links_out.get(url, 0))
        inlinks = max(0, int(shown["inlinks"] or 0) + more)
        depth = shown["depth"] if is_last else depths.get(url)
        return shown | {"depth": depth, "inlinks": inlinks} | dict(zip(SWAPPED.values(), changes, strict=True))

    unseen = dict.fromkeys(past)
    for url, *present in dataset.execute(_PRESENT.format(", ".join(fields))):
        unseen.pop(url, None)
        shown = dict(zip(fields, present, strict=True)) | past.get(url, {})
        if shown["state"] is not None:
            yield url, as_of_then(url, shown)
    left = [url for url in unseen if past[url].get("state") is not None]
    has_links = left and dataset.execute(_LINK_TABLES).fetchone() == (2,)
    linked = dict(dataset.execute(_STILL_LINKED)) if has_links else {}
    for url in left:
        yield url, as_of_then(url, dict.fromkeys(fields) | {"inlinks": linked.get(url)} | past[url])


def _past_depths(
    dataset: sqlite3.Connection, values: Mapping[str, Value], past: Mapping[str, Mapping[str, Value]]
) -> dict[str, int]:
    """The clicks from the start to the pages of a run, by the links of then.

    ``past`` has what other fields were then. Empty if a page that was there has links that came or went uncounted.
    """
    is_whole = dataset.execute(_LINK_TABLES).fetchone() == (2,)
    starts = [number for (number,) in dataset.execute(_STARTS)] if is_whole else []
    numbers: dict[str, int] = {url: number for number, url in dataset.execute("SELECT id, url FROM url WHERE internal")}
    links = _past_links(dataset, values, past, numbers) if starts else None
    if links is None:
        return {}
    # no URL has the id 0: it stands for what leads to all starts
    free = {0: starts} | {
        numbers[url]: [numbers[to]]
        for url, to in _past_redirects(dataset, past).items()
        if url in numbers and to in numbers
    }
    end = max(numbers.values(), default=0) + 1
    depth = levels(end, [0], lambda node: (links.get(node, ()),), lambda node: free.get(node, ()))
    return {url: depth[number] for url, number in numbers.items() if depth[number] >= 0}


def _past_links(
    dataset: sqlite3.Connection,
    values: Mapping[str, Value],
    past: Mapping[str, Mapping[str, Value]],
    numbers: dict[str, int],
) -> dict[int, Collection[int]] | None:
    """The links of a run, from page to pages by number: those of today that did not come, and those that went.

    URLs that only the past has get new ``numbers``. None if links came or went uncounted.
    """
    new = count(dataset.execute("SELECT max(id) + 1 FROM url").fetchone()[0])
    links: dict[int, Collection[int]] = defaultdict(lambda: array("I"))
    for source, target in dataset.execute(_CLICKS):
        links[source].append(target)  # type: ignore[attr-defined]
    absent = {url for url, fields in past.items() if fields.get("state", "") is None}
    for url, went, came in dataset.execute(_PAST_LINKS, values):
        if url in absent:
            continue
        if (went or came).startswith(_MORE):
            return None
        source, target = (
            numbers[each] if each in numbers else numbers.setdefault(each, next(new)) for each in (url, went or came)
        )
        links[source] = {*links[source], target} if went else {*links[source]} - {target}
    return links | dict.fromkeys((numbers[url] for url in absent if url in numbers), ())


def _past_redirects(dataset: sqlite3.Connection, past: Mapping[str, Mapping[str, Value]]) -> dict[str, Value]:
    """The redirects of a run, from URL to target."""
    hops: dict[str, Value] = dict(dataset.execute("SELECT url, target FROM pages WHERE state = 'redirect'"))
    for url, fields in past.items():
        if fields.get("state", State.REDIRECT if url in hops else "") == State.REDIRECT:
            hops[url] = fields.get("target", hops.get(url))
        else:
            hops.pop(url, None)
    return hops
