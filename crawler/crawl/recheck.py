"""Runs that ask only for what is due: the visits of the previous run stay, and those that are due become pending.

The table ``asked`` says of each URL which run asked for it last. :mod:`crawler.crawl.due` decides what is due. What a
run decides is in the state at once, so a run that is resumed makes the same choice. When the run must ask for all
after all, every other visit becomes pending too, and the rest is as in any run.
"""

import hashlib
import sqlite3
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

import msgspec
from msgspec import Struct

from crawler.crawl.due import DAY, MAX_SIGNALLED, MIN_PAGES, Cause, KnownPage, Trust, choose, siblings
from crawler.crawl.frontier.sqlite import SqliteFrontier
from crawler.crawl.frontier.storage import unpack_groups, unpack_links
from crawler.fetch.retry import FAILURES, TRANSIENT
from crawler.lastmod.observe import Comparison
from crawler.lastmod.store import ObservationStore
from crawler.model import DiscoveredBy, DiscoveredUrl, DocumentKind, State, Url
from crawler.state.database import storage_errors, transaction
from crawler.state.runs import PUBLISHING_OUTCOMES, Run
from crawler.state.store import read_about, write_about
from crawler.version import __version__

IN_DOUBT: Final = "too many of the pages that were due failed, left or lost their text"
_KEY: Final = "recheck"  # keys of the table about
_ALL_KEY: Final = "recheck all"
MIN_FULL_RUNS: Final = 2
"""Runs that ask for all before the first that does not: the second one learns what changes by itself."""
MIN_CHILDREN: Final = 3
"""URLs that a page leads to first, from which on it counts as a listing page."""

_UNSETTLED: Final = ", ".join(
    repr(state.value)
    for state in sorted({*FAILURES, State.BAD_ANSWER, State.PARSE_FAILED, State.INTERNAL_ERROR, State.PENDING})
)
# What the last run left open: failures, a robots.txt that could not be had, pages that stay listed without their visit,
# that came or went, or that state a date from which they may not be indexed.
_SELECT_UNSETTLED: Final = f"""SELECT v.id FROM visit v WHERE v.state IN ({_UNSETTLED})
    OR (v.state = '{State.CLIENT_ERROR}' AND v.status IN ({", ".join(map(str, sorted(TRANSIENT)))}))
    OR (v.state = '{State.ROBOTS}' AND v.reason NOT LIKE 'robots.txt line %')
  UNION SELECT id FROM published WHERE kept UNION SELECT id FROM asked WHERE expires
  UNION SELECT u.id FROM change c JOIN url u ON u.url = c.url WHERE c.run = ? AND c.kind != 'changed'"""  # noqa: S608
# What shows new pages: the start page, sitemaps and feeds, and pages that led to others first (the last run that asked
# for all left their cause, as each run since), or to a new one.
_SELECT_LISTING: Final = f"""SELECT id FROM visit WHERE found & {DiscoveredBy.SEED} OR kind = {DocumentKind.SITEMAP:d}
    OR (state = '{State.WRONG_TYPE}' AND content IN (SELECT id FROM content WHERE type LIKE '%xml%'))
  UNION SELECT id FROM asked WHERE cause = '{Cause.LISTING}'
  UNION SELECT v.source FROM visit v LEFT JOIN memory m ON m.id = v.id
    WHERE v.source IS NOT NULL AND v.kind = {DocumentKind.PAGE:d}
      AND v.id IN (SELECT id FROM asked WHERE at IS NOT NULL)
    GROUP BY 1 HAVING max(m.first_run) > (SELECT min(first_run) FROM memory)"""  # noqa: S608
_COUNT_KNOWN: Final = f"""SELECT count(*) FROM asked a JOIN visit v ON v.id = a.id
  WHERE a.at IS NOT NULL AND v.kind = {DocumentKind.PAGE:d}"""  # noqa: S608 - our own
_SELECT_KNOWN: Final = f"""SELECT a.id, a.at, iif(m.changed_run > m.first_run, m.changed_run, 0), d.cause
  FROM asked a JOIN visit v ON v.id = a.id AND v.kind = {DocumentKind.PAGE:d} LEFT JOIN memory m ON m.id = a.id
  LEFT JOIN temp.due d ON d.id = a.id WHERE a.at IS NOT NULL"""  # noqa: S608 - our own
_BEGIN: Final = (
    f"DELETE FROM visit WHERE found = {DiscoveredBy.PREVIOUS_RUN} AND id NOT IN (SELECT id FROM published)",  # noqa: S608
    "DELETE FROM asked WHERE id NOT IN (SELECT id FROM visit)",
    "UPDATE visit SET changed = 0, evidence = '', discounted = '' WHERE content IS NOT NULL AND changed IS NOT 0",
    "UPDATE visit SET carried = 1 WHERE NOT carried AND id IN (SELECT id FROM asked WHERE at IS NOT NULL)",
    "CREATE TEMP TABLE IF NOT EXISTS due (id INTEGER PRIMARY KEY, cause TEXT)",
    "DELETE FROM temp.due",
)
# A page that no page links to keeps the time since when that is so: see crawler.publish.listing.
_MARK_ASKED: Final = f"""UPDATE asked SET cause = :cause, at = iif(v.state = '{State.UNLINKED}', at, :now)
  FROM visit v WHERE v.id = :id AND asked.id = :id AND v.carried"""  # noqa: S608 - our own
_MAKE_PENDING: Final = f"""UPDATE visit SET carried = 0, state = '{State.PENDING}', reason = '', attempts = 0, due = 0,
  status = NULL, target = NULL, trail = '', content = NULL, seen_at = NULL, whole = 0, changed = NULL, evidence = '',
  lastmod = '', lastmod_source = '', discounted = '' WHERE {{}}"""  # noqa: S608 - our own
_SELECT_LOST: Final = f"""SELECT b.links, c.links FROM asked_visit v JOIN memory m ON m.id = v.id
  JOIN content b ON b.id = m.content LEFT JOIN content c ON c.id = v.content
  WHERE v.content IS NOT m.content AND v.state NOT IN ({_UNSETTLED})"""  # noqa: S608
_SELECT_FORMER_TARGETS: Final = f"""SELECT u.id FROM asked_visit v JOIN memory m ON m.id = v.id
  JOIN url u ON u.url = m.target WHERE v.target IS NOT m.target AND v.state NOT IN ({_UNSETTLED})"""  # noqa: S608 - our own
_SELECT_URLS: Final = f"""SELECT a.id, u.url, a.cause FROM asked a JOIN url u ON u.id = a.id JOIN visit v ON v.id = a.id
  WHERE v.kind = {DocumentKind.PAGE:d} AND a.at IS NOT NULL AND {{}}"""  # noqa: S608 - our own
_SELECT_SIGNALLED: Final = """SELECT a.id FROM asked a JOIN visit v ON v.id = a.id
  WHERE a.said != a.seen AND a.said != '' AND v.carried"""
_BEGAN_PARTIAL: Final = "SELECT 1 FROM asked WHERE cause != '' LIMIT 1"
_COUNT_SIGNALLED: Final = "SELECT count(*), total(said NOT IN (seen, '')) FROM asked WHERE at IS NOT NULL"
_IS_MOVED: Final = "(v.changed IS 1 OR v.state IS NOT m.state)"
_IS_SAID: Final = f"(a.cause = '{Cause.SIGNALLED}' OR (a.said != a.seen AND a.said != ''))"
_UNANNOUNCED: Final = f"a.cause IN ('{Cause.ROTATION}', '{Cause.RECENT}', '{Cause.SIBLING}')"
_TALLY: Final = f"""SELECT coalesce(sum({_IS_SAID} AND {_IS_MOVED}), 0),
    coalesce(sum(NOT {_IS_SAID} AND {_IS_MOVED} AND {_UNANNOUNCED}), 0),
    coalesce(sum({_IS_SAID} AND NOT {_IS_MOVED}), 0), coalesce(sum(a.cause = '{Cause.ROTATION}'), 0),
    coalesce(sum(a.cause = '{Cause.ROTATION}' AND NOT {_IS_SAID} AND {_IS_MOVED}), 0)
  FROM asked a JOIN visit v ON v.id = a.id JOIN memory m ON m.id = a.id
  WHERE NOT v.carried AND a.cause != '' AND v.kind = {DocumentKind.PAGE:d}"""  # noqa: S608 - our own
_EXPIRES: Final = b"navailable_after"  # in the words of a page, as crawler.model.Page is packed
_RECORD: Final = f"""INSERT INTO asked (id, at, expires) SELECT v.id, :now, coalesce(instr(c.page, :expires), 0) > 0
  FROM asked_visit v LEFT JOIN content c ON c.id = v.content WHERE v.attempts > 0
  ON CONFLICT (id) DO UPDATE SET at = coalesce(iif((SELECT state FROM visit v WHERE v.id = asked.id)
    = '{State.UNLINKED}', asked.at, NULL), excluded.at), seen = said, expires = excluded.expires"""  # noqa: S608
# A page that failed has the links of the visit before.
_SELECT_EDGES: Final = f"""SELECT v.id, c.links, t.id FROM visit v LEFT JOIN memory m ON m.id = v.id
  LEFT JOIN content c ON c.id = iif(v.state IN ({_UNSETTLED}), m.content, v.content)
  LEFT JOIN url t ON t.url = v.target WHERE v.id IN (SELECT value FROM json_each(?))"""  # noqa: S608 - our own


class _Lesson(Struct, frozen=True):
    """What runs leave for the next: how often all pages were asked with the same ``keys``.

    ``trust`` says how far to rely on signals, ``run`` which run left it. ``robots`` is a digest of the rules of hosts.
    """

    run: int = 0
    keys: str = ""
    full_runs: int = 0
    robots: str = ""
    trust: Trust = Trust()


Dates = Callable[[list[tuple[int, Url]]], Mapping[int, str]]
"""Gives the dates of pages, pairs of an id and a URL, as the repository of the site has them."""


class Recheck:
    """The choice of one run of what it asks for, each page within so many ``days``.

    ``keys`` are the settings of reading. ``listed`` are the URLs that a person names as changed, ``dates`` those of the
    repository. Every method may raise StorageError.
    """

    def __init__(self, days: int, keys: str, listed: Iterable[Url] = (), dates: Dates | None = None) -> None:
        self._days = days
        self._keys = f"{keys} {__version__}"
        self.listed = frozenset(listed)
        self._dates = dates
        self._obeyed = ""

    def begin(self, db: sqlite3.Connection, previous: Run, run: Run) -> bool:
        """Keep the visits of the previous run but for what is due; see :data:`crawler.state.store.Carry`."""
        lesson = _read(db)
        if not self._may_carry(lesson, previous, run):
            return False
        with storage_errors():
            for statement in _BEGIN:
                db.execute(statement)
            self._put_dates(db)
            total = self._put_due(db, previous.number)
            signalled = sum(1 for _ in db.execute("SELECT 1 FROM due WHERE cause = ?", (Cause.SIGNALLED,)))
            if total < MIN_PAGES or signalled > MAX_SIGNALLED * total:
                return False
            pages = map(KnownPage._make, db.execute(_SELECT_KNOWN))
            elapsed = run.started - previous.started
            due = choose(pages, total, run.started, elapsed, self._days, lesson.trust)
            due |= {number: Cause(cause) for number, cause in db.execute("SELECT id, cause FROM due")}
            _ask(db, due, run.started)
        return True

    def _may_carry(self, lesson: _Lesson, previous: Run, run: Run) -> bool:
        """Whether the previous run leaves visits to build on: it published all it found, with a right clock."""
        is_whole = previous.ended is not None and previous.exit_code == 0 and previous.outcome in PUBLISHING_OUTCOMES
        has_learnt = (lesson.run, lesson.keys) == (previous.number, self._keys) and lesson.full_runs >= MIN_FULL_RUNS
        return is_whole and has_learnt and 0 < run.started - previous.started < self._days * DAY

    def _put_dates(self, db: sqlite3.Connection) -> None:
        if self._dates:
            pages = db.execute("SELECT u.id, u.url FROM asked a JOIN url u ON u.id = a.id WHERE a.at > 0").fetchall()
            said = ((date, number) for number, date in self._dates(pages).items())
            db.executemany("UPDATE asked SET said = ? WHERE id = ?", said)

    def _put_due(self, db: sqlite3.Connection, previous: int) -> int:
        """Fill the table of what is due in any case, and count the pages."""
        put = "INSERT OR IGNORE INTO due SELECT id, ? FROM ({}) WHERE id IN (SELECT id FROM visit)"
        db.execute(put.format(_SELECT_LISTING), (Cause.LISTING,))
        db.executemany(
            put.format("SELECT id FROM url WHERE url = ?"), ((Cause.SIGNALLED, url) for url in sorted(self.listed))
        )
        if self._dates:
            db.execute(put.format(_SELECT_SIGNALLED), (Cause.SIGNALLED,))
        db.execute(put.format(_SELECT_UNSETTLED), (Cause.UNSETTLED, previous))
        db.execute("UPDATE asked SET cause = '' WHERE cause != ''")
        return int(db.execute(_COUNT_KNOWN).fetchone()[0])

    def seeds(self) -> list[DiscoveredUrl]:
        """The listed URLs, which no page need lead to yet."""
        return [DiscoveredUrl(url, DiscoveredBy.SITEMAP, 1) for url in sorted(self.listed)]

    def further(self, db: sqlite3.Connection, frontier: SqliteFrontier, run: Run) -> bool:
        """Make more URLs pending, when no URL is. Returns whether there are any."""
        frontier.commit()
        self._obeyed = _robots_digest(db)  # the visit may yet store an answer that its pages were not asked by
        if not is_partial(db):
            return bool(self.listed or db.execute(_BEGAN_PARTIAL).fetchone()) and self._drop_unreachable(db, frontier)
        lesson = _read(db)
        news = _news(db, run.number)
        if reason := self._reason_for_all(db, lesson, news):
            ask_all(db, frontier, run, reason)
            return True
        lost = _lost_links(db)
        due = {number: Cause.LOST_LINK for number in lost if _is_carried(db, number)}
        if not lesson.trust.is_noise:
            due |= dict.fromkeys((number for (number,) in db.execute(_SELECT_SIGNALLED)), Cause.SIGNALLED)
        due = due or dict.fromkeys(_siblings(db, news, lesson.trust), Cause.SIBLING)
        if not due:
            return bool(self.listed or lost) and self._drop_unreachable(db, frontier)
        with transaction(db):
            _ask(db, due, run.started)
        frontier.reread()
        return True

    def _reason_for_all(self, db: sqlite3.Connection, lesson: _Lesson, news: set[int]) -> str:
        """Why the run must ask for all pages, as the end of a sentence, or ""."""
        if lesson.robots != _robots_digest(db):
            return "robots.txt changed"
        total, signalled = db.execute(_COUNT_SIGNALLED).fetchone()
        if signalled > MAX_SIGNALLED * total and not lesson.trust.is_noise:
            return f"{signalled:,.0f} of {total:,} pages have another date in the site's own sitemap"
        rotated = [n for n, _, _ in db.execute(_SELECT_URLS.format(f"NOT v.carried AND a.cause = '{Cause.ROTATION}'"))]
        moved = len(news.intersection(rotated))
        if lesson.trust.is_beyond_chance(len(rotated), moved):
            return f"{moved:,} of {len(rotated):,} pages that nobody named had changed or failed"
        return ""

    def _drop_unreachable(self, db: sqlite3.Connection, frontier: SqliteFrontier) -> bool:
        """Find the pages to which nothing leads any more: published ones are asked once more, others are forgotten."""
        reached, named, _ = _reachable(db)
        rows = db.execute(
            f"""SELECT v.id, p.id IS NOT NULL, v.state FROM visit v LEFT JOIN published p ON p.id = v.id
            WHERE v.kind = {DocumentKind.PAGE:d} AND v.found != {DiscoveredBy.PREVIOUS_RUN}"""  # noqa: S608 - our own
        )
        lost = [
            (number, is_listed)
            for number, is_listed, state in rows
            if number not in reached and not (state == State.NOFOLLOW and number in named)
        ]
        if not lost:
            return False
        with transaction(db):
            db.executemany("DELETE FROM visit WHERE id = ?", ((number,) for number, listed in lost if not listed))
            listed = [{"id": number} for number, is_listed in lost if is_listed]
            db.executemany(_MAKE_PENDING.format("id = :id"), listed)
            found = f"UPDATE visit SET found = {DiscoveredBy.PREVIOUS_RUN}, depth = 0, source = NULL WHERE id = :id"  # noqa: S608
            db.executemany(found, listed)
        frontier.reread()
        return bool(listed)

    def record(self, db: sqlite3.Connection, run: Run) -> list[str]:
        """Record what this run asked for, before its visits become memory. Part of the caller's transaction. Notes."""
        with storage_errors():
            lesson = _read(db)
            is_same = lesson.keys == self._keys
            trust = (lesson.trust if is_same else Trust()).after(*db.execute(_TALLY).fetchone())
            was_full = not is_partial(db)
            db.execute(_RECORD, {"now": run.started, "expires": _EXPIRES})
            if was_full:
                listing = ((Cause.LISTING, number) for number in _reachable(db)[2])
                db.executemany("UPDATE asked SET cause = ? WHERE id = ?", listing)
            full_runs = (lesson.full_runs if is_same else 0) + was_full
            lesson = _Lesson(run.number, self._keys, full_runs, self._obeyed, trust)
            write_about(db, _KEY, msgspec.json.encode(lesson).decode())
        reason = _why_all(db, run)
        return [*([f"this run asked for all pages, because {reason}"] if reason else []), *_trust_note(trust)]


def ask_all(db: sqlite3.Connection, frontier: SqliteFrontier, run: Run, reason: str) -> None:
    """Make every visit of an earlier run pending."""
    frontier.commit()
    with transaction(db):
        write_about(db, _ALL_KEY, f"{run.number} {reason}")
        db.execute("UPDATE asked SET at = ? WHERE id IN (SELECT id FROM visit WHERE carried)", (run.started,))
        db.execute(_MAKE_PENDING.format("carried"))
    frontier.reread()


def _why_all(db: sqlite3.Connection, run: Run) -> str:
    """Why this run asks for all pages after all, or ""."""
    number, _, reason = (read_about(db, _ALL_KEY) or "").partition(" ")
    return reason if number == str(run.number) else ""


def _trust_note(trust: Trust) -> Iterator[str]:
    known = round(trust.announced + trust.missed)
    if trust.is_noise:
        yield "hardly any page whose date in the site's own sitemap moved had changed, so these dates are not relied on"
    elif known and trust.announced:
        verdict = "" if trust.is_reliable else ", so they are not relied on"
        yield f"dates and lists of the site announced {round(trust.announced):,} of {known:,} changes lately{verdict}"


def is_partial(db: sqlite3.Connection) -> bool:
    """Whether this run carries visits of earlier runs. Raises StorageError."""
    with storage_errors():
        return db.execute("SELECT 1 FROM visit WHERE carried LIMIT 1").fetchone() is not None


def _read(db: sqlite3.Connection) -> _Lesson:
    encoded = read_about(db, _KEY)
    return msgspec.json.decode(encoded, type=_Lesson) if encoded else _Lesson()


def _ask(db: sqlite3.Connection, due: Mapping[int, Cause], now: float) -> None:
    rows = [{"id": number, "cause": cause, "now": now} for number, cause in due.items()]
    db.executemany(_MARK_ASKED, rows)
    db.executemany(_MAKE_PENDING.format("id = :id"), rows)


def _is_carried(db: sqlite3.Connection, number: int) -> bool:
    return db.execute("SELECT 1 FROM visit WHERE id = ? AND carried", (number,)).fetchone() is not None


def _robots_digest(db: sqlite3.Connection) -> str:
    rows = db.execute("SELECT origin, status, body FROM robots ORDER BY origin").fetchall()
    return hashlib.blake2b(repr(rows).encode(), digest_size=8).hexdigest()


def _news(db: sqlite3.Connection, run: int) -> set[int]:
    """The known pages of this run that changed, or have another state than before."""
    store = ObservationStore(db, run)
    deltas = list(store.deltas())
    model = Comparison(store, run).model() if deltas else None
    changed = {page for page, delta in deltas if model and model.judge(page, delta).significant}
    moved = db.execute("SELECT v.id FROM asked_visit v JOIN memory m ON m.id = v.id WHERE v.state != m.state")
    return changed.union(number for (number,) in moved)


def _lost_links(db: sqlite3.Connection) -> set[int]:
    """The URLs to which a page of this run links no more."""
    lost = {number for (number,) in db.execute(_SELECT_FORMER_TARGETS)}
    for before, after in db.execute(_SELECT_LOST):
        lost |= {number for number, _ in unpack_links(before)} - {number for number, _ in unpack_links(after or b"")}
    return lost


def _siblings(db: sqlite3.Connection, news: set[int], trust: Trust) -> list[int]:
    """The pages beside those that changed that are asked next."""
    asked = db.execute(_SELECT_URLS.format("NOT v.carried AND a.cause != ''")).fetchall()
    others = db.execute(_SELECT_URLS.format("v.carried"))
    return siblings(
        [url for n, url, cause in asked if n in news and not (trust.is_complete and cause == Cause.SIGNALLED)],
        [(url, number in news) for number, url, cause in asked if cause == Cause.SIBLING],
        ((number, url) for number, url, _ in others),
    )


def _reachable(db: sqlite3.Connection) -> tuple[set[int], set[int], list[int]]:
    """The ids of the URLs that links lead to from the start page, then from the sitemaps, and of the targets of
    nofollow links; and of the pages that lead to others first.
    """
    reached, named, listing = set[int](), set[int](), list[int]()
    for root in (f"found & {DiscoveredBy.SEED}", f"kind = {DocumentKind.SITEMAP:d}"):
        waiting = deque({number for (number,) in db.execute(f"SELECT id FROM visit WHERE {root}")} - reached)  # noqa: S608
        reached.update(waiting)
        while waiting:
            batch = msgspec.json.encode([waiting.popleft() for _ in range(min(1_000, len(waiting)))]).decode()
            for number, links, target in db.execute(_SELECT_EDGES, (batch,)):
                found = {target} if target else set()
                for flags, numbers in unpack_groups(links or b""):
                    (found if flags & ~DiscoveredBy.NOFOLLOW else named).update(numbers)
                found -= reached
                reached |= found
                waiting.extend(found)
                if len(found) >= MIN_CHILDREN:
                    listing.append(number)
    return reached, named, listing
