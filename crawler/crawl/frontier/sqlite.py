"""The frontier in one SQLite file: one writing connection, batched commits, in-flight URLs in memory only."""

import sqlite3
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping

import msgspec

from crawler.crawl.frontier.cache import StateCounts, UrlCache
from crawler.crawl.frontier.storage import CRASHES_TO_GIVE_UP, ContentStore, CrashCounter, WriteBatch
from crawler.crawl.frontier.traps import TrapDetector
from crawler.model import (
    DiscoveredBy,
    DiscoveredUrl,
    DocumentKind,
    Done,
    Lease,
    Outcome,
    ResponseMetadata,
    Retry,
    State,
    Url,
    UrlRecord,
    Verdict,
    Wait,
)
from crawler.state.database import storage_errors
from crawler.url.normalize import origin_of

READ_AHEAD = 256  # pending URLs of an origin read at once
_GIVEN_UP = Verdict(
    State.INTERNAL_ERROR,
    f"Siteatlas died {CRASHES_TO_GIVE_UP} times in a row while it fetched the URL, and gives it up",
)
_NO_METADATA = ResponseMetadata(0.0)
IDLE_SECONDS = 60.0  # to wait when only leases that are out can bring more
# states that more evidence may revise
_REVISABLE = {State.NOFOLLOW, State.TOO_DEEP, State.UNLINKED, State.TRAP, State.ACTION}
_SELECT_URL = "SELECT u.id, v.found, v.depth, v.state FROM url u LEFT JOIN visit v ON v.id = u.id WHERE u.url = ?"
_SELECT_SIZE = """SELECT (pages.page_count - free.freelist_count) * size.page_size
  FROM pragma_page_count pages, pragma_freelist_count free, pragma_page_size size"""
_INSERT_VISIT = """INSERT INTO visit (id, origin, kind, state, found, depth, source, reason)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?)"""
_SELECT_PENDING = """SELECT v.id, u.url, v.depth, v.attempts, v.kind, v.found, v.source FROM visit v JOIN url u
  ON u.id = v.id
  WHERE v.state = 'pending' AND v.origin = ? AND v.due <= ? ORDER BY v.depth, v.id LIMIT ?"""
_SELECT_CLEAR = _SELECT_PENDING.replace("ORDER BY", "AND v.id NOT IN (SELECT value FROM json_each(?)) ORDER BY")
_SETTLE_VISIT = """UPDATE visit SET state = ?, reason = ?, status = ?, target = ?, attempts = ?, trail = trail || ?,
  content = ?, etag = ?, last_modified = ?, header_date = ?, page_date = ?, page_date_source = ?, seen_at = ?,
  whole = ?, carried = 0 WHERE id = ?"""

_ANNOUNCE = """INSERT INTO asked (id, said) VALUES (?, ?)
  ON CONFLICT (id) DO UPDATE SET said = excluded.said WHERE said != excluded.said"""
_INSERT_URL = "INSERT INTO url (url) VALUES (?)"
_SET_EVIDENCE = "UPDATE visit SET found = ?, depth = ? WHERE id = ?"
_SELECT_STATE = "SELECT state, kind, origin FROM visit WHERE id = ?"
_SET_KIND = "UPDATE visit SET kind = ?, attempts = 0, due = 0 WHERE id = ?"
_REVISE = "UPDATE visit SET state = ?, reason = ?, source = coalesce(?, source) WHERE id = ?"
_SELECT_ADDRESSES = "SELECT url FROM url WHERE id IN (SELECT value FROM json_each(?)) ORDER BY id"
_SELECT_DUE = "SELECT min(due) FROM visit WHERE state = 'pending' AND origin = ? AND due > ?"
_FETCH_AGAIN = "UPDATE visit SET state = 'pending', attempts = 0 WHERE id = ?"
_RETRY = "UPDATE visit SET attempts = ?, due = ?, reason = ?, trail = trail || ? WHERE id = ?"
_REQUEUE = "UPDATE visit SET state = 'pending', reason = '', status = NULL, attempts = ?, due = 0 WHERE id = ?"
_SELECT_VERDICT = "SELECT v.state, v.reason, v.target FROM visit v JOIN url u ON u.id = v.id WHERE u.url = ?"
_SELECT_RECORDS = """SELECT u.url, v.reason, v.found, v.depth, v.status FROM visit v JOIN url u ON u.id = v.id
  WHERE v.state = ? ORDER BY u.url"""
_SELECT_WAY = "SELECT found, source FROM visit WHERE id = ?"
_SELECT_ORIGINS = f"""SELECT DISTINCT origin FROM visit
  WHERE kind = {DocumentKind.PAGE:d} AND NOT found & {DiscoveredBy.SEED:d}
  AND state NOT IN ('{State.OUT_OF_SCOPE}', '{State.TOO_LONG}')"""  # noqa: S608 - our own


Admit = Callable[[DiscoveredUrl], Verdict | None]
"""Decides about a URL that is new: None admits it, a verdict refuses it."""

ReadyIn = Callable[[str, float], float]
"""Seconds until a request to an origin may start, from the origin and the time; 0 for now."""


class SqliteFrontier:
    """All URLs of one crawl and their states. Every method may raise StorageError.

    ``admission`` decides once about each URL. ``by_level`` leases no URL while a less deep one is out, so that depths
    are exact whatever the order of answers. ``run`` is the number of the run, ``reading`` the key of the settings that
    pages are parsed with, ``patience`` the limit of the trap detector (:mod:`crawler.crawl.frontier.traps`).
    """

    def __init__(
        self,
        db: sqlite3.Connection,
        admission: Admit,
        *,
        by_level: bool = False,
        run: int = 1,
        reading: str = "",
        patience: int = 0,
    ) -> None:
        self._db = db
        self._admission = admission
        self._by_level = by_level
        self._contents = ContentStore(db, run, reading)
        self._batch = WriteBatch(db, self._forget)
        self._ahead: dict[str, deque[Lease]] = {}
        self._out: dict[int, Lease] = {}
        with storage_errors():
            self._known = UrlCache(db)
            self._state_counts = StateCounts(db)
            self._crash_counter = CrashCounter(db)
            self._trap_detector = TrapDetector(db, self._state_counts, self._out, patience)

    @property
    def notes(self) -> list[str]:
        """Notes on crawler traps that were left out."""
        return self._trap_detector.notes

    def _forget(self) -> None:
        """Drop what memory holds of the transaction that was rolled back."""
        self.reread()
        self._trap_detector.reset()

    def admit(self, finds: Iterable[DiscoveredUrl]) -> None:
        """Admit seeds: URLs that were discovered on no page."""
        with self._batch.change():
            for find in finds:
                self._ensure_known(find)

    def _ensure_known(self, find: DiscoveredUrl) -> int:
        """The id of a URL. Inserts a new URL, and merges evidence of a known one."""
        known = self._known.get(find.url)
        if known is None:
            is_new = self._known.is_whole
            row = None if is_new else self._db.execute(_SELECT_URL, (find.url,)).fetchone()
            if row is None or row[1] is None:
                return self._insert(find, row[0] if row else None)
            *known, state = row
            if state == State.TRAP:  # every link to it counts
                return self._merge(find, row[0], row[1] | find.found, min(row[2], find.depth))
            self._known.put(find.url, *known)
        number, found, depth = known
        if find.source == number:
            return number  # a link of a page to itself is no evidence of the page
        if not found:
            return self._insert(find, number)
        if found | find.found != found or find.depth < depth:
            return self._merge(find, number, found | find.found, min(depth, find.depth))
        return number

    def _insert(self, find: DiscoveredUrl, number: int | None) -> int:
        """Insert a URL that is new to this run; ``number`` is its id if an earlier run knew it."""
        verdict = self._admission(find) or self._trap_detector.refusal(find)
        state = verdict.state if verdict else State.PENDING
        reason = verdict.reason if verdict else ""
        origin = origin_of(find.url)
        if number is None:
            number = self._db.execute(_INSERT_URL, (find.url,)).lastrowid
            assert number is not None  # noqa: S101 - SQLite answers an INSERT with its row
        row = (number, origin, find.kind, state, find.found, find.depth, find.source, reason)
        self._db.execute(_INSERT_VISIT, row)
        self._state_counts.move(origin, None, state)
        if state is State.PENDING:
            self._drop_read_ahead(origin, find.depth)
        if state is State.TRAP:
            self._known.forget(find.url)  # every link to it counts
        else:
            self._known.put(find.url, number, find.found, find.depth)
        return number

    def _merge(self, find: DiscoveredUrl, number: int, found: int, depth: int) -> int:
        self._db.execute(_SET_EVIDENCE, (found, depth, number))
        state, kind, origin = self._db.execute(_SELECT_STATE, (number,)).fetchone()
        if state == State.TRAP and self._trap_detector.keeps(find):
            return number
        self._known.put(find.url, number, found, depth)
        is_revisable = State(state) in _REVISABLE
        if kind == DocumentKind.SITEMAP and find.kind is DocumentKind.PAGE:
            # robots.txt or an index calls it a sitemap, but links treat it as a page: fetch it again as a page
            kind, is_revisable = DocumentKind.PAGE, is_revisable or state == State.SITEMAP_FILE
            self._db.execute(_SET_KIND, (kind, number))
            self._ahead.pop(origin, None)
        if is_revisable:
            verdict = self._admission(DiscoveredUrl(find.url, found, depth, find.source, DocumentKind(kind)))
            after = verdict.state if verdict else State.PENDING
            source = find.source if state == State.TRAP else None
            self._db.execute(_REVISE, (after, verdict.reason if verdict else "", source, number))
            self._state_counts.move(origin, State(state), after)
            if after is State.PENDING:
                self._drop_read_ahead(origin, depth)
        return number

    def _drop_read_ahead(self, origin: str, depth: int) -> None:
        """Drop the URLs read ahead when a less deep one is admitted."""
        ahead = self._ahead.get(origin)
        if ahead and depth < ahead[-1].depth:
            ahead.clear()

    def next(self, now: float, ready_in: ReadyIn, *, far: bool = False) -> Lease | Wait | Done:
        """Lease the first due URL, the least deep first, of an origin that is ready. ``now`` is Unix time.

        ``far``: lease one of the next hundreds instead, because the first ones all fail.
        """
        waits = []
        for origin in self._state_counts.waiting:
            pause = ready_in(origin, now)
            if pause <= 0:
                lease = self._first_due(origin, now, far)
                if lease:
                    self._out[lease.id] = lease
                    if self._crash_counter.careful:
                        self._crash_counter.careful -= 1
                        self.commit()
                    if lease.id not in self._crash_counter.hopeless:
                        return lease
                    self.settle(Outcome(lease, _GIVEN_UP))
                    return self.next(now, ready_in, far=far)
                pause = self._until_due(origin, now)
            waits.append(pause)
        return Wait(min(waits)) if waits else Done()  # what is out is still pending

    def _first_due(self, origin: str, now: float, far: bool) -> Lease | None:
        ahead = self._ahead.setdefault(origin, deque())
        if not ahead:
            rows = self._read_pending(origin, now)
            ahead.extend(
                Lease(number, url, depth, attempts, DocumentKind(kind), found, source)
                for number, url, depth, attempts, kind, found, source in rows
                if number not in self._out
            )
        if not ahead:
            return None
        if self._by_level and any(lease.depth < ahead[0].depth for lease in self._out.values()):
            return None
        is_deeper = self._by_level and ahead[-1].depth > ahead[0].depth
        return ahead.pop() if far and not is_deeper else ahead.popleft()

    def _read_pending(self, origin: str, now: float) -> list[tuple[int, Url, int, int, int, int, int | None]]:
        """The rows of the next pending URLs. Suspects of a crash come when nothing else is left, each alone."""
        limit, suspects = READ_AHEAD + len(self._out), self._crash_counter.suspects
        with storage_errors():
            if not suspects:
                return self._db.execute(_SELECT_PENDING, (origin, now, limit)).fetchall()
            listed = msgspec.json.encode(suspects).decode()
            rows = self._db.execute(_SELECT_CLEAR, (origin, now, listed, limit)).fetchall()
            if rows or self._out:
                return rows
            return self._db.execute(_SELECT_PENDING, (origin, now, 1)).fetchall()

    def crash_suspects(self) -> list[Url]:
        """The URLs that come last, because the process died several times in a row while they were in flight."""
        counter = self._crash_counter
        listed = msgspec.json.encode(counter.suspects - counter.hopeless).decode()
        with storage_errors():
            rows = self._db.execute(_SELECT_ADDRESSES, (listed,))
            return [Url(url) for (url,) in rows]

    def reread(self) -> None:
        """Read again what the database says of the visits, because other statements gave some another state."""
        self._known.clear()
        self._ahead.clear()
        with storage_errors():
            self._state_counts.read()

    def land(self) -> None:
        """The process ends in order: what is still in flight is no suspect of a crash."""
        self._out.clear()
        with self._batch.change():
            self._crash_counter.land()
        self.commit()

    def _until_due(self, origin: str, now: float) -> float:
        """Seconds until a URL of this origin is due, when none is due now."""
        with storage_errors():
            (due,) = self._db.execute(_SELECT_DUE, (origin, now)).fetchone()
        return IDLE_SECONDS if due is None else due - now

    def settle(self, outcome: Outcome) -> None:
        """End a lease, and admit the URLs it discovered."""
        lease, verdict = outcome.lease, outcome.verdict
        if self._out.get(lease.id) is not lease:
            return
        with self._batch.change():
            if self._trap_detector.read(outcome):
                self._ahead.clear()
            targets = self._known.link_ids(lease, outcome.links, self._ensure_known)
            for find in outcome.finds:
                number = self._ensure_known(find)
                if find.kind is DocumentKind.PAGE:
                    targets.append((number, find.found))
                if find.date:
                    self._db.execute(_ANNOUNCE, (number, find.date))
            if self._trap_detector.finish(lease):
                self._ahead.clear()
            content = outcome.content if outcome.page is None else self._contents.store(outcome, outcome.page, targets)
            metadata = outcome.sighting or _NO_METADATA
            self._db.execute(
                _SETTLE_VISIT,
                (
                    *(verdict.state, verdict.reason, outcome.status, verdict.target, lease.attempts + 1),
                    outcome.request.line() if outcome.request else "",
                    content,
                    *(metadata.etag, metadata.last_modified, metadata.header_date),
                    *(metadata.page_date, metadata.page_date_source, metadata.at or None),
                    outcome.request is not None and outcome.request.answer == "200",
                    lease.id,
                ),
            )
            origin = origin_of(lease.url)
            after = self._requeue_as_page(lease) or verdict.state
            self._state_counts.move(origin, State.PENDING, after)
        del self._out[lease.id]
        self._crash_counter.suspects -= {lease.id} - self._crash_counter.hopeless

    def _requeue_as_page(self, lease: Lease) -> State | None:
        """Make a sitemap pending again that was discovered as a page while it was out."""
        if lease.kind is not DocumentKind.SITEMAP:
            return None
        _, kind, _ = self._db.execute(_SELECT_STATE, (lease.id,)).fetchone()
        if kind == DocumentKind.SITEMAP:
            return None
        self._db.execute(_FETCH_AGAIN, (lease.id,))
        return State.PENDING

    def retry(self, retry: Retry) -> None:
        """End a lease, and lease its URL again when it is due."""
        lease = retry.lease
        if self._out.get(lease.id) is not lease:
            return
        with self._batch.change():
            self._db.execute(
                _RETRY,
                (lease.attempts + 1, retry.due, retry.reason, retry.request.line() if retry.request else "", lease.id),
            )
        del self._out[lease.id]

    def requeue(self, leases: Iterable[Lease]) -> None:
        """Make URLs pending again whose leases ended, with as many attempts as these began with."""
        with self._batch.change():
            for lease in leases:
                state, _, origin = self._db.execute(_SELECT_STATE, (lease.id,)).fetchone()
                self._db.execute(_REQUEUE, (lease.attempts, lease.id))
                if state != State.PENDING:
                    self._state_counts.move(origin, State(state), State.PENDING)
                self._drop_read_ahead(origin, lease.depth)

    def review_postponed(self) -> bool:
        """Whether some postponed URLs are visited after all, now that nothing else is left."""
        with self._batch.change():
            return self._trap_detector.review_postponed()

    def found_origins(self) -> list[str]:
        """The origins of the URLs that this run admitted for links to them. Raises StorageError."""
        with storage_errors():
            return [origin for (origin,) in self._db.execute(_SELECT_ORIGINS)]

    def commit(self) -> None:
        """Make everything settled so far durable."""
        with storage_errors():
            self._crash_counter.put(self._out)
        self._batch.commit()

    def size(self) -> int:
        """Bytes of the state on disk, without its free space."""
        with storage_errors():
            (size,) = self._db.execute(_SELECT_SIZE).fetchone()
        return int(size)

    def counts(self) -> Mapping[State, int]:
        """The number of URLs in each state."""
        return self._state_counts.counts

    def verdict_of(self, url: Url) -> Verdict | None:
        """The state of a URL and its reason, None for an unknown URL."""
        with storage_errors():
            row = self._db.execute(_SELECT_VERDICT, (url,)).fetchone()
        return Verdict(State(row[0]), row[1], row[2]) if row else None

    def records(self, state: State) -> Iterator[UrlRecord]:
        """The URLs in a state, in byte order of URL."""
        rows = self._db.execute(_SELECT_RECORDS, (state,))
        with storage_errors():
            for url, reason, found, depth, status in rows:
                yield UrlRecord(url, state, reason, found, depth, status)

    def hops(self, lease: Lease) -> int:
        """The number of redirects in a row that led to this URL, if nothing else did."""
        hops, number = 0, lease.id
        with storage_errors():
            while True:
                found, source = self._db.execute(_SELECT_WAY, (number,)).fetchone()
                if found != DiscoveredBy.REDIRECT or source is None:
                    return hops
                hops, number = hops + 1, source
