"""The frontier in one SQLite file: one writing connection, batched commits, in-flight URLs in memory only."""

import sqlite3
from collections import deque
from collections.abc import Iterable, Iterator, Mapping

import msgspec

from crawler.frontier import Admit, Ready
from crawler.frontier.batch import Batch, storage
from crawler.frontier.census import Census
from crawler.frontier.known import Known
from crawler.frontier.links import pack, unpack
from crawler.model import (
    Done,
    Find,
    Found,
    Kind,
    Lease,
    Outcome,
    Page,
    Record,
    Retry,
    State,
    Url,
    Verdict,
    Wait,
)
from crawler.url import origin
from sitemap import Alternate, Video

READ_AHEAD = 256  # pending URLs of an origin read at once
IDLE = 60.0  # seconds to wait when only the end of what is out can bring more

_REVISABLE = {State.NOFOLLOW, State.TOO_DEEP}
_MEDIA = msgspec.msgpack.Decoder(tuple[list[str], list[Video], list[Alternate]])

_KNOW = """INSERT INTO url (url, origin, kind, state, found, depth, source, reason)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?)"""
_PENDING = """SELECT id, url, depth, attempts, kind FROM url
  WHERE state = 'pending' AND origin = ? AND due <= ? ORDER BY depth, id LIMIT ?"""


class SqliteFrontier:
    """See :class:`crawler.frontier.Frontier`. ``admission`` is asked once for each URL; ``by_level`` hands out nothing
    deeper while something nearer is out, so that depths are exact whatever the order of answers.

    Every method may raise StorageError.
    """

    def __init__(self, db: sqlite3.Connection, admission: Admit, *, by_level: bool = False) -> None:
        self._db = db
        self._admission = admission
        self._by_level = by_level
        self._known = Known()
        self._batch = Batch(db, self._known.forget)
        self._ahead: dict[str, deque[Lease]] = {}
        self._out: dict[int, Lease] = {}
        with storage():
            self._census = Census(db)

    def admit(self, finds: Iterable[Find]) -> None:
        with self._batch.change():
            for find in finds:
                self._know(find)

    def _know(self, find: Find) -> int:
        """The id of a URL, which is known afterwards; evidence of it is merged."""
        known = self._known.get(find.url)
        if known is None:
            row = self._db.execute("SELECT id, found, depth FROM url WHERE url = ?", (find.url,)).fetchone()
            if row is None:
                return self._insert(find)
            known = row
            self._known.put(find.url, *known)
        number, found, depth = known
        if found | find.found != found or find.depth < depth:
            return self._merge(find, number, found | find.found, min(depth, find.depth))
        return number

    def _insert(self, find: Find) -> int:
        verdict = self._admission(find)
        state = verdict.state if verdict else State.PENDING
        reason = verdict.reason if verdict else ""
        home = origin(find.url)
        row = (find.url, home, find.kind, state, find.found, find.depth, find.source, reason)
        number = self._db.execute(_KNOW, row).lastrowid
        assert number is not None  # noqa: S101 - SQLite answers an INSERT with its row
        self._census.move(home, None, state)
        if state is State.PENDING:
            self._nearer(home, find.depth)
        self._known.put(find.url, number, find.found, find.depth)
        return number

    def _merge(self, find: Find, number: int, found: int, depth: int) -> int:
        self._db.execute("UPDATE url SET found = ?, depth = ? WHERE id = ?", (found, depth, number))
        self._known.put(find.url, number, found, depth)
        state, kind, home = self._db.execute(
            "SELECT state, kind, origin FROM url WHERE id = ?", (number,)
        ).fetchone()
        if kind == Kind.SITEMAP and find.kind is Kind.PAGE:
            # robots.txt or an index called a page a sitemap: it is read again, as what links to it takes it for
            kind, state = Kind.PAGE, State.NOFOLLOW if state == State.SITEMAP_FILE else state
            self._db.execute("UPDATE url SET kind = ?, attempts = 0, due = 0 WHERE id = ?", (kind, number))
            self._ahead.pop(home, None)
            if state == State.NOFOLLOW:
                self._census.move(home, State.SITEMAP_FILE, State.NOFOLLOW)
        if State(state) in _REVISABLE:
            verdict = self._admission(Find(find.url, found, depth, find.source, Kind(kind)))
            after = verdict.state if verdict else State.PENDING
            self._db.execute(
                "UPDATE url SET state = ?, reason = ? WHERE id = ?",
                (after, verdict.reason if verdict else "", number),
            )
            self._census.move(home, State(state), after)
            if after is State.PENDING:
                self._nearer(home, depth)
        return number

    def _nearer(self, home: str, depth: int) -> None:
        """Forget what was read ahead when something nearer to the start turns up."""
        ahead = self._ahead.get(home)
        if ahead and depth < ahead[-1].depth:
            ahead.clear()

    # ---------------------------------------------------------------- handing out

    def next(self, now: float, ready: Ready) -> Lease | Wait | Done:
        wait = None
        for home in self._census.waiting:
            pause = ready(home, now)
            if pause <= 0:
                lease = self._first_due(home, now)
                if lease:
                    self._out[lease.id] = lease
                    return lease
                pause = self._until_due(home, now)
            wait = pause if wait is None else min(wait, pause)
        if wait is None and not self._out:
            return Done()
        return Wait(IDLE if wait is None else wait)

    def _first_due(self, home: str, now: float) -> Lease | None:
        ahead = self._ahead.setdefault(home, deque())
        if not ahead:
            with storage():
                rows = self._db.execute(_PENDING, (home, now, READ_AHEAD + len(self._out))).fetchall()
            ahead.extend(
                Lease(number, url, depth, attempts, Kind(kind))
                for number, url, depth, attempts, kind in rows
                if number not in self._out
            )
        if not ahead:
            return None
        if self._by_level and any(lease.depth < ahead[0].depth for lease in self._out.values()):
            return None
        return ahead.popleft()

    def _until_due(self, home: str, now: float) -> float:
        """Seconds until a URL of this origin is due, when none is: they are out, or put off."""
        with storage():
            (due,) = self._db.execute(
                "SELECT min(due) FROM url WHERE state = 'pending' AND origin = ? AND due > ?", (home, now)
            ).fetchone()
        return IDLE if due is None else max(0.001, due - now)

    def settle(self, outcome: Outcome) -> None:
        lease, verdict = outcome.lease, outcome.verdict
        if self._out.get(lease.id) is not lease:
            return
        with self._batch.change():
            targets = self._known.links(lease, outcome.links, self._know)
            targets += [self._know(find) for find in outcome.finds]
            self._db.execute(
                "UPDATE url SET state = ?, reason = ?, status = ?, target = ?, lastmod = ?, lastmod_source = ?,"
                " attempts = ? WHERE id = ?",
                (
                    verdict.state,
                    verdict.reason,
                    outcome.status,
                    verdict.target,
                    outcome.lastmod,
                    outcome.lastmod_source,
                    lease.attempts + 1,
                    lease.id,
                ),
            )
            if targets or outcome.page:
                self._db.execute(
                    "INSERT OR REPLACE INTO page (id, links, media) VALUES (?, ?, ?)",
                    (lease.id, pack(targets), _media(outcome.page)),
                )
            home = origin(lease.url)
            after = self._recast(lease) or verdict.state
            self._census.move(home, State.PENDING, after)
        del self._out[lease.id]

    def _recast(self, lease: Lease) -> State | None:
        """A sitemap that turned out to be linked as a page while it was out waits once more."""
        if lease.kind is not Kind.SITEMAP:
            return None
        (kind,) = self._db.execute("SELECT kind FROM url WHERE id = ?", (lease.id,)).fetchone()
        if kind == Kind.SITEMAP:
            return None
        self._db.execute("UPDATE url SET state = 'pending', attempts = 0 WHERE id = ?", (lease.id,))
        return State.PENDING

    def retry(self, retry: Retry) -> None:
        lease = retry.lease
        if self._out.get(lease.id) is not lease:
            return
        with self._batch.change():
            self._db.execute(
                "UPDATE url SET attempts = ?, due = ?, reason = ? WHERE id = ?",
                (lease.attempts + 1, retry.due, retry.reason, lease.id),
            )
        del self._out[lease.id]

    def commit(self) -> None:
        self._batch.commit()

    def counts(self) -> Mapping[State, int]:
        return self._census.counts

    def verdict_of(self, url: Url) -> Verdict | None:
        with storage():
            row = self._db.execute("SELECT state, reason, target FROM url WHERE url = ?", (url,)).fetchone()
        return Verdict(State(row[0]), row[1], row[2]) if row else None

    def records(self, state: State) -> Iterator[Record]:
        rows = self._db.execute(
            "SELECT u.url, u.reason, u.found, u.depth, u.status, u.lastmod, u.lastmod_source, p.media"
            " FROM url u LEFT JOIN page p ON p.id = u.id WHERE u.state = ? ORDER BY u.url",
            (state,),
        )
        with storage():
            for url, reason, found, depth, status, lastmod, source, media in rows:
                images, videos, alternates = _MEDIA.decode(media) if media else ([], [], [])
                yield Record(
                    url,
                    state,
                    reason,
                    found,
                    depth,
                    status,
                    lastmod,
                    source,
                    images,
                    videos,
                    alternates,
                )

    def hops(self, lease: Lease) -> int:
        """How many redirects in a row led to this URL and nothing else did."""
        hops, number = 0, lease.id
        with storage():
            while True:
                found, source = self._db.execute(
                    "SELECT found, source FROM url WHERE id = ?", (number,)
                ).fetchone()
                if found != Found.REDIRECT or source is None:
                    return hops
                hops, number = hops + 1, source

    def outlinks(self, url: Url) -> list[Url]:
        """The targets of a page's links, in byte order."""
        with storage():
            row = self._db.execute(
                "SELECT links FROM page JOIN url USING (id) WHERE url = ?", (url,)
            ).fetchone()
            ids = unpack(row[0]) if row else []
            return sorted(
                self._db.execute("SELECT url FROM url WHERE id = ?", (n,)).fetchone()[0] for n in ids
            )


def _media(page: Page | None) -> bytes | None:
    if page is None or not (page.images or page.videos or page.alternates):
        return None
    return msgspec.msgpack.encode((page.images, page.videos, page.alternates))
