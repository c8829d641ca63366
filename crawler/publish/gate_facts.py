"""Reads the facts for the gate and for completeness from the tables, after visiting has ended."""

import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from operator import attrgetter
from typing import Final, NamedTuple

import msgspec
from msgspec.structs import replace

from crawler.fetch.retry import FAILURES, is_failure
from crawler.model import State, Url, Verdict
from crawler.parse.snapshot.diff import Delta
from crawler.publish.changes import ChangeKind
from crawler.publish.completeness import Coverage, carried_text
from crawler.publish.gate import MIN_LOST, AlikePages, ChallengedPages, GateFacts, LostPages, StartUrlStatus
from crawler.publish.own_text import ChangedPage, GainedText, OwnText, count_doubtful, shingles
from crawler.publish.store import CAUSE_SQL, IS_WITHOUT_ROBOTS, LOST_SQL, AcceptAfter, accepted
from crawler.state.database import storage_errors
from crawler.state.store import asked_counts

_SELECT_START: Final = """SELECT v.state, v.reason, v.target, v.status,
  EXISTS (SELECT 1 FROM published p WHERE p.id = u.id),
  EXISTS (SELECT 1 FROM listing l WHERE l.id = u.id)
    OR EXISTS (SELECT 1 FROM url t JOIN listing l ON l.id = t.id WHERE t.url = v.target),
  EXISTS (SELECT 1 FROM believed b WHERE b.id = u.id)
  FROM url u LEFT JOIN visit v ON v.id = u.id WHERE u.url = ?"""

_COUNT_STATES: Final = "SELECT state, status, count(*) FROM {} GROUP BY state, status"

_COUNT_PUBLISHED: Final = """SELECT count(*) FROM published p
  WHERE NOT EXISTS (SELECT 1 FROM visit v WHERE v.id = p.id AND v.carried)"""

# Tables that live as long as the connection: lost pages whose loss is believed; pages whose own text is gone (kind 0),
# that gained the same text (1), or that say something else as most pages do (2), which crawler.lastmod.observe marks.
_CREATE_TABLES: Final = """CREATE TEMP TABLE IF NOT EXISTS believed (id INTEGER PRIMARY KEY);
CREATE TEMP TABLE IF NOT EXISTS alike (id INTEGER PRIMARY KEY, is_held INTEGER, kind INTEGER);
CREATE TEMP TABLE IF NOT EXISTS turned (id INTEGER PRIMARY KEY);
DELETE FROM believed; DELETE FROM alike;"""

# A run with failures keeps pages without links. Failed pages keep their links too, so failures do not explain these.
_IS_UNLINKED: Final = f"l.kept = 1 AND v.state = '{State.UNLINKED}'"

# With min(), the other columns are those of the row that has the minimum: https://www.sqlite.org/lang_select.html
_SELECT_LOST: Final = f"""SELECT coalesce(v.state, '{State.UNLINKED}'), v.status,
    iif(v.state = '{State.REDIRECT}', coalesce(substr(v.target, 1, instr(v.target || '?', '?') - 1), ''), ''),
    h.id IS NOT NULL, count(*), min(u.url), coalesce(v.reason, ''),
    min(iif(h.cause = {CAUSE_SQL}, h.runs, 0)) + 1
  FROM {LOST_SQL} LEFT JOIN held h ON h.id = p.id
  WHERE (l.id IS NULL OR {_IS_UNLINKED}) AND p.id NOT IN (SELECT id FROM believed)
  GROUP BY 1, 2, 3, 4"""  # noqa: S608

# Pages that a new page of the set takes the place of, and of no other page: by a permanent redirect, or because an
# earlier run recorded that they came from it, and it is back. A held page may redirect to one that came while it was.
_FROM_MOVED: Final = f"""FROM published p JOIN url u ON u.id = p.id JOIN visit v ON v.id = p.id
    LEFT JOIN (SELECT target, url, max(run) FROM change WHERE kind = '{ChangeKind.MOVED}' GROUP BY 1) back
      ON back.target = u.url AND v.state NOT IN ('{State.INDEXABLE}', '{State.REDIRECT}')
    JOIN url t ON t.url = iif(v.state = '{State.REDIRECT}' AND v.status IN (301, 308), v.target, back.url)
    JOIN listing l ON l.id = t.id JOIN content was ON was.id = p.content JOIN content now ON now.id = l.content
  WHERE p.kept = 2 OR NOT EXISTS (SELECT 1 FROM published e WHERE e.id = t.id)
  GROUP BY t.id HAVING count(*) = 1"""  # noqa: S608
_FROM_CHANGED: Final = """FROM published p JOIN listing l ON l.id = p.id AND NOT l.kept
    JOIN url u ON u.id = p.id LEFT JOIN visit v ON v.id = p.id
    JOIN content was ON was.id = p.content JOIN content now ON now.id = l.content
  WHERE l.content != p.content AND now.digest != was.digest AND length(was.text) > 0 AND length(now.text) > 0"""
_IS_DATED: Final = "(v.changed = 1 AND l.lastmod != p.lastmod)"
_COUNT_DATED: Final = f"coalesce(sum({_IS_DATED}), 0)"
_FROM_UNLINKED: Final = f"""FROM published p JOIN url u ON u.id = p.id
    JOIN visit v ON v.id = p.id AND v.state = '{State.UNLINKED}'
    JOIN content was ON was.id = p.content JOIN content now ON now.id = v.content"""
# Held for what it showed: what was held for another cause, and is an indexable page again, is judged like any other
_IS_HELD: Final = f"""(p.kept = 2 AND EXISTS (
  SELECT 1 FROM held h WHERE h.id = p.id AND h.cause LIKE '{State.INDEXABLE} %'))"""  # noqa: S608
_COUNT_HELD: Final = f"coalesce(sum({_IS_HELD}), 0)"
# By a hash of the id: a sample from all parts of the site, and the same one at each call
_ANY_ORDER: Final = "ORDER BY p.id * 2654435761 & 4294967295"
_SELECT_NEW: Final = """SELECT l.id, u.url, now.text, now.text
  FROM listing l JOIN url u ON u.id = l.id JOIN content now ON now.id = l.content
  WHERE NOT l.kept AND NOT EXISTS (SELECT 1 FROM published p WHERE p.id = l.id)"""
_SELECT_ALIKE: Final = """SELECT a.kind, count(*), min(u.url), max(u.url = ?), sum(a.is_held), v.evidence,
    min(coalesce(h.runs, 0)) + 1
  FROM alike a JOIN url u ON u.id = a.id JOIN visit v ON v.id = a.id LEFT JOIN held h ON h.id = a.id GROUP BY 1"""
_INSERT_TURNED: Final = f"INSERT OR IGNORE INTO alike SELECT p.id, {_IS_HELD}, 2 {_FROM_CHANGED} AND p.id IN turned"
# What the visit of this run found, if the published version is the one that it compared with
_DELTA: Final = """iif(now.run = (SELECT max(number) FROM run) AND p.content = (SELECT content FROM memory m
  WHERE m.id = p.id), now.delta, NULL)"""
_decode_delta = msgspec.msgpack.Decoder(Delta).decode
_GLANCED: Final = 2_000
"""Pages whose differences are read first: when they tell that few pages lost their own text, no texts are read."""
_SAMPLE: Final = 300
"""Pages whose texts are compared to find out whether many lost their own text."""
_MAX_COMPARED: Final = 20_000
"""Pages that are compared one by one when they did; beyond that, every changed page counts as one that did."""
_MIN_GAINED: Final = 1 / 3
"""Share of the published pages that must gain the same text: fewer may share a template that an editor changed."""
_NEARLY_ALL: Final = 0.9
"""Share of the moved pages of the sample that must say the same at their new URL, for all to count as moved."""

# A bad answer of a published page is a failure; other URLs may always give one.
_FAILED_NOW: Final = f"""SELECT count(*) FROM published p JOIN visit v ON v.id = p.id
  WHERE v.state = '{State.BAD_ANSWER}'"""  # noqa: S608
_UNREAD_NOW: Final = f"""SELECT count(*) FROM published p JOIN visit v ON v.id = p.id
  WHERE {IS_WITHOUT_ROBOTS}"""  # noqa: S608

_SELECT_FAILED: Final = f"""SELECT u.url, v.reason FROM asked_visit v JOIN url u ON u.id = v.id
  WHERE v.state IN ({", ".join(f"'{state}'" for state in sorted(FAILURES))}) OR {IS_WITHOUT_ROBOTS}
  ORDER BY v.id LIMIT 1"""  # noqa: S608

_SELECT_CHALLENGED: Final = f"""SELECT v.reason, count(*), min(u.url) FROM visit v JOIN url u ON u.id = v.id
  WHERE v.state = '{State.CHALLENGED}' GROUP BY 1 ORDER BY 2 DESC, 1"""  # noqa: S608

TRUNCATED: Final = ("only the beginning was read", "links cut at", "reading stopped after")
"""Parts of the reasons of visits that read only a part of the document."""
_LIKE: Final = " OR ".join(f"v.reason LIKE '%{part}%'" for part in TRUNCATED)
IS_TRUNCATED: Final = f"v.reason != '' AND ({_LIKE})"
"""Condition on a visit: its reason says that only a part of the document was read."""
_SELECT_TRUNCATED: Final = f"""SELECT count(*), coalesce(min(u.url), '') FROM visit v JOIN url u ON u.id = v.id
  WHERE {IS_TRUNCATED}"""  # noqa: S608

# With such responses, robots.txt allows nothing
_NO_ROBOTS: Final = """SELECT origin FROM robots
  WHERE fetched_at >= ? AND (status IS NULL OR status >= 500 OR status IN (304, 429) OR status < 200) ORDER BY origin"""


def gate_facts(db: sqlite3.Connection, start: Url, max_shrink: float, after: AcceptAfter) -> GateFacts:
    """The facts for the gate, once the table ``listing`` holds the new set. Raises StorageError.

    Of a run that carries visits of earlier runs, only the pages that it asked for count, as if the site had no others.
    Fills the temporary tables ``believed`` and ``alike``, which :meth:`crawler.publish.listing.Listing.hold` reads.
    """
    with storage_errors():
        db.executescript(_CREATE_TABLES)
        # A visit of an earlier run says nothing of today.
        rows = db.execute(_COUNT_STATES.format("asked_visit"))
        visits = [(State(state), status, count) for state, status, count in rows]
        failed = sum(count for state, status, count in visits if _is_failed_page(state, status))
        failed += _count(db, _FAILED_NOW) + _count(db, _UNREAD_NOW)
        published = _count(db, _COUNT_PUBLISHED)
        db.executemany("INSERT INTO believed VALUES (?)", accepted(db, after))
        gone = _lost_pages(db)
        if sum(lost.count for lost in gone) > max_shrink * published:
            _believe_moved(db)
            gone = _lost_pages(db)
        return GateFacts(
            alike=_alike_pages(db, start, published, max_shrink * published - sum(lost.count for lost in gone), after),
            start=_start_url_status(db, start),
            published=published,
            listed=_count(db, "SELECT count(*) FROM listing"),
            failed=failed,
            failure=db.execute(_SELECT_FAILED).fetchone() or ("", ""),
            visited=failed + sum(count for state, _, count in visits if state is State.INDEXABLE),
            gone=gone,
            are_bare=_are_bare(db, gone),
            challenged=challenged_pages(db),
        )


def challenged_pages(db: sqlite3.Connection) -> Sequence[ChallengedPages]:
    """The pages in whose place a firewall responded, by the reason. Raises StorageError."""
    with storage_errors():
        return tuple(ChallengedPages(*row) for row in db.execute(_SELECT_CHALLENGED))


def read_coverage(db: sqlite3.Connection, stopped: str, since: float) -> Coverage:
    """How much of the site this run, which started at ``since`` (Unix time), saw. Raises StorageError.

    ``stopped`` says why visiting ended early, as the end of a sentence, or is "".
    """
    with storage_errors():
        visited: Counter[State] = Counter()
        failed: Counter[State] = Counter()
        for name, status, count in db.execute(_COUNT_STATES.format("visit")):
            state = State(name)
            visited[state] += count
            if is_failure(state, status):
                failed[state] += count
        if bad_answers := _count(db, _FAILED_NOW):
            failed[State.BAD_ANSWER] += bad_answers
        cut, example = db.execute(_SELECT_TRUNCATED).fetchone()
        return Coverage(
            stopped=stopped,
            pending=visited[State.PENDING],
            too_deep=visited[State.TOO_DEEP],
            cut=cut,
            example=Url(example),
            failed=dict(sorted(failed.items())),
            no_robots=tuple(origin for (origin,) in db.execute(_NO_ROBOTS, (since,))),
            carried=carried_text(asked_counts(db), since),
        )


def _is_failed_page(state: State, status: int | None) -> bool:
    return state is not State.SITEMAP_FILE and is_failure(state, status)


def _count(db: sqlite3.Connection, query: str) -> int:
    return int(db.execute(query).fetchone()[0])


def _start_url_status(db: sqlite3.Connection, url: Url) -> StartUrlStatus:
    row = db.execute(_SELECT_START, (url,)).fetchone()
    if row is None:
        return StartUrlStatus(url)
    state, reason, target, status, was_published, is_listed, is_accepted = row
    verdict = Verdict(State(state), reason, target) if state else None
    return StartUrlStatus(url, verdict, status, bool(was_published), bool(is_listed), bool(is_accepted))


def _lost_pages(db: sqlite3.Connection) -> Sequence[LostPages]:
    """The causes for which published pages leave. A redirect target matters only when several pages share it."""
    groups: dict[tuple[str, int | None, str, bool], LostPages] = {}
    for state, status, target, are_held, count, url, reason, runs in db.execute(_SELECT_LOST):
        shared = target if count >= MIN_LOST else ""
        key = (state, status, shared, bool(are_held))
        group = LostPages(
            state=State(state),
            status=status,
            target=shared,
            count=count,
            url=Url(url),
            reason=reason,
            runs=runs,
            are_held=bool(are_held),
        )
        previous = groups.get(key)
        if previous is not None:
            first = min(previous, group, key=attrgetter("url"))
            group = replace(first, count=previous.count + count, runs=min(previous.runs, runs))
        groups[key] = group
    return tuple(groups.values())


def _believe_moved(db: sqlite3.Connection) -> None:
    """Believe the loss of pages that moved, each to a new URL of its own that says the same."""
    sample = list(_versions(db, f"SELECT p.id, u.url, was.text, now.text {_FROM_MOVED} {_ANY_ORDER} LIMIT {_SAMPLE}"))
    texts = OwnText(((page.before, page.now) for page in sample), _many(sample))
    same = sum(texts.is_same(page.before, page.now) and not texts.is_lost(page.before, page.now) for page in sample)
    if sample and same >= _NEARLY_ALL * len(sample):
        db.execute(f"INSERT OR IGNORE INTO believed SELECT p.id {_FROM_MOVED}")


def _are_bare(db: sqlite3.Connection, gone: Sequence[LostPages]) -> bool:
    """Whether most of the lost pages that no page links to have lost their own text, as the page that led to them."""
    if sum(lost.count for lost in gone if lost.state is State.UNLINKED) < MIN_LOST:
        return False
    query = f"SELECT p.id, u.url, was.text, now.text {_FROM_UNLINKED} {_ANY_ORDER} LIMIT {_SAMPLE}"
    sample = list(_versions(db, query))
    texts = OwnText(((page.before, page.now) for page in sample), _many(sample))
    return 2 * sum(texts.is_lost(page.before, page.now) for page in sample) > len(sample)


def _alike_pages(
    db: sqlite3.Connection, start: Url, published: int, room: float, after: AcceptAfter
) -> AlikePages | None:
    """The pages that lost their own text, if they may be more than there is ``room`` for; those that gained the same
    text, if that dates many of the ``published`` pages anew; those of a landslide; and such pages that the last run
    held, until that has stood long enough.

    Fills the table ``alike``.
    """
    changed, dated, held = db.execute(f"SELECT count(*), {_COUNT_DATED}, {_COUNT_HELD} {_FROM_CHANGED}").fetchone()
    room, many = max(room, MIN_LOST - 1), max(published * _MIN_GAINED, MIN_LOST - 1)
    turned = _count(db, "SELECT count(*) FROM turned")
    if not held and changed <= room and dated <= many:
        return None
    if not held and not turned and not _are_doubtful(db, changed, room / 2, many / 2):
        return None
    sample = list(_changed_pages(db, f"{_ANY_ORDER} LIMIT {_SAMPLE}"))
    texts = OwnText(((page.before, page.now) for page in sample), _many(sample))
    weight = changed / len(sample)
    gained = GainedText(((page.before, page.now) for page in sample if page.is_dated), many / weight / 2)
    lost = weight * sum(texts.is_lost(page.before, page.now) for page in sample)
    repeated = weight * sum(page.is_dated and gained.is_repeated(page.before, page.now) for page in sample)
    # half of the limits, because a sample is not exact: beyond them, the pages are compared one by one
    if not held and not turned and lost <= room / 2 and repeated <= many / 2:
        return None
    if changed > _MAX_COMPARED:
        only = "" if lost > room / 2 else f"AND {_IS_DATED}"
        db.execute(f"INSERT INTO alike SELECT p.id, {_IS_HELD}, ? {_FROM_CHANGED} {only}", (bool(only),))
    else:
        _compare_all(db, texts, gained, room, many)
    db.execute(_INSERT_TURNED)
    db.executemany("DELETE FROM alike WHERE id = ?", accepted(db, after, alike=True))
    new = [(page.id,) for page in _versions(db, _SELECT_NEW) if texts.is_like_them(page.now)]
    found = _read_alike(db, start)
    db.executemany("INSERT INTO alike VALUES (?, 0, 0)", new)
    return found


def _are_doubtful(db: sqlite3.Connection, changed: int, room: float, many: float) -> bool:
    """Whether more pages may have lost their own text, or gained the same text, than there is room for."""
    rows = db.execute(f"SELECT u.url, {_DELTA}, coalesce({_IS_DATED}, 0) {_FROM_CHANGED} {_ANY_ORDER} LIMIT {_GLANCED}")
    pages = [ChangedPage(url, _decode_delta(delta) if delta else None, bool(dated)) for url, delta, dated in rows]
    weight = changed / len(pages)
    dated = sum(page.is_dated for page in pages)
    lost, repeated = count_doubtful(pages, _many(pages), max(2, min(many / weight, dated / 2)))
    return weight * lost > room or weight * repeated > many


def _compare_all(db: sqlite3.Connection, texts: OwnText, gained: GainedText, room: float, many: float) -> None:
    """Fill the table ``alike`` with pages that are compared one by one."""
    lost, also, repeated = [], [], []  # also: doubtful only beside a landslide
    for page in _changed_pages(db):
        if texts.is_lost(page.before, page.now):
            lost.append((page.id, page.is_held, False))
        elif texts.is_like_them(page.now) and not texts.is_same(page.before, page.now):
            also.append((page.id, page.is_held, False))
        elif page.is_dated and gained.is_repeated(page.before, page.now):
            repeated.append((page.id, page.is_held, True))
    is_slide = len(lost) > room
    if not is_slide and len(repeated) <= many:
        repeated = [row for row in repeated if row[1]]
    db.executemany("INSERT INTO alike VALUES (?, ?, ?)", lost + repeated + (also if is_slide else []))


def _read_alike(db: sqlite3.Connection, start: Url) -> AlikePages | None:
    """The pages of the table ``alike``, with the most frequent kind as the example."""
    kinds = {kind: row for kind, *row in db.execute(_SELECT_ALIKE, (start,))}
    if not kinds:
        return None
    kind, (_, url, _, _, evidence, _) = max(kinds.items(), key=lambda item: item[1][0])
    return AlikePages(
        sum(count for count, *_ in kinds.values()),
        Url(url),
        bool(0 in kinds and kinds[0][2]),
        sum(held for _, _, _, held, _, _ in kinds.values()),
        evidence if kind == 1 else "",
        kind == 2,
        min(runs for *_, runs in kinds.values()),
    )


def _many(sample: Sequence[object]) -> int:
    """The number of pages of a sample from which on what they share belongs to the site."""
    return max(MIN_LOST, len(sample) // 20)


class _Versions(NamedTuple):
    """A page with its shingles before and now. ``is_dated``: it changed, and its lastmod would move."""

    id: int
    before: frozenset[int]
    now: frozenset[int]
    is_held: bool = False
    is_dated: bool = False


def _versions(db: sqlite3.Connection, query: str) -> Iterator[_Versions]:
    for number, url, before, now, *rest in db.execute(query):
        yield _Versions(number, shingles(before, url), shingles(now, url), *map(bool, rest))


def _changed_pages(db: sqlite3.Connection, order: str = "") -> Iterator[_Versions]:
    return _versions(
        db, f"SELECT p.id, u.url, was.text, now.text, {_IS_HELD}, coalesce({_IS_DATED}, 0) {_FROM_CHANGED} {order}"
    )
