"""A made history of a site: what each run saw, written into the tables as a run leaves them."""

import sqlite3
from collections.abc import Mapping

import msgspec
from msgspec import Struct

from crawler.model import DiscoveredBy, Page, State
from crawler.publish.change_feed import ChangeFeed
from crawler.publish.changes import Change
from crawler.state.runs import Run, RunStore

SITE = "https://example.com"
DAY = 86_400.0
START = 1_767_225_600.0  # 2026-01-01


class Seen(Struct, frozen=True):
    """How a URL ended in a run. It is listed when it is indexable or ``kept``."""

    state: State = State.INDEXABLE
    reason: str = ""
    target: str | None = None
    found: int = DiscoveredBy.LINK
    source: str | None = "/"
    changed: int | None = 0
    evidence: str = ""
    lastmod: str = ""
    kept: bool = False
    title: str = ""


class History:
    """The runs of a site, one after the other. Paths stand for URLs of ``SITE``."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self.db = db
        self.changes = ChangeFeed(db)
        self.number = 0

    def run(self, pages: Mapping[str, Seen], outcome: str = "published", keep: int = 365) -> list[Change]:
        """One run that saw these pages and had this outcome; the answer is its feed."""
        self.begin(pages)
        return self.close(outcome, keep)

    def begin(self, pages: Mapping[str, Seen]) -> None:
        """A run up to the moment when it would publish."""
        started = START + self.number * DAY
        self.number = RunStore(self.db).begin(started, "test").number
        self.db.execute("DELETE FROM visit")
        self.db.execute("DELETE FROM listing")
        for path, seen in pages.items():
            self._visit(path, seen)

    def close(self, outcome: str, keep: int = 365) -> list[Change]:
        """The transaction that ends a run."""
        publishes = outcome in ("published", "unchanged")
        run = RunStore(self.db).get(self.number)
        self.db.execute("BEGIN")
        if publishes:
            counts = self.changes.record(self.number)
            self.db.execute("DELETE FROM published")
            self.db.execute("INSERT INTO published SELECT * FROM listing")
            run = Run(**{**_fields(run), **_fields(counts)})
        self._remember()
        RunStore(self.db).write(Run(**{**_fields(run), "ended": run.started + 60, "outcome": outcome}))
        self.changes.forget(self.number, keep)
        self.db.execute("COMMIT")
        return list(self.changes.of_run(self.number))

    def _visit(self, path: str, seen: Seen) -> None:
        target = SITE + seen.target if seen.target and seen.target.startswith("/") else seen.target
        number = self._id(path)
        source = self._id(seen.source) if seen.source else None
        self.db.execute(
            "INSERT INTO visit (id, origin, kind, state, found, depth, source, reason, target, changed, evidence,"
            " lastmod) VALUES (?, ?, 0, ?, ?, 1, ?, ?, ?, ?, ?, ?)",
            (
                number,
                SITE,
                seen.state,
                seen.found,
                source,
                seen.reason,
                target,
                seen.changed,
                seen.evidence,
                seen.lastmod,
            ),
        )
        page = msgspec.msgpack.encode(Page(title=seen.title))
        self.db.execute(
            "INSERT OR REPLACE INTO content (id, run, reading, digest, type, links, page, text)"
            " VALUES (?, ?, '', x'', '', x'', ?, x'')",
            (number, self.number, page),
        )
        if seen.state is State.INDEXABLE or seen.kept:
            self.db.execute(
                "INSERT INTO listing (id, content, lastmod, lastmod_source, shard, kept) VALUES (?, ?, ?, '', 1, ?)",
                (number, number, seen.lastmod, seen.kept),
            )

    def _id(self, path: str) -> int:
        url = path if "://" in path else SITE + path
        self.db.execute("INSERT OR IGNORE INTO url (url) VALUES (?)", (url,))
        (number,) = self.db.execute("SELECT id FROM url WHERE url = ?", (url,)).fetchone()
        return int(number)

    def _remember(self) -> None:
        self.db.execute(
            "INSERT INTO memory (id, state, reason, target, lastmod, evidence, first_run, changed_run, last_run,"
            " failures) SELECT id, state, reason, target, lastmod, evidence, :run, iif(changed, :run, NULL), :run,"
            " state IN ('server error', 'unreachable') FROM visit WHERE true"
            " ON CONFLICT (id) DO UPDATE SET state = excluded.state, reason = excluded.reason,"
            " target = excluded.target, lastmod = excluded.lastmod,"
            " evidence = iif(excluded.changed_run, excluded.evidence, evidence),"
            " changed_run = coalesce(excluded.changed_run, changed_run), last_run = excluded.last_run,"
            " failures = iif(excluded.failures, failures + 1, 0)",
            {"run": self.number},
        )


def _fields(value: Struct) -> dict[str, object]:
    return {name: getattr(value, name) for name in value.__struct_fields__}
