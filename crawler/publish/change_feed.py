"""The change feed: finds what each run changed in the published set, stores it, and writes it to files."""

import re
import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from crawler.errors import StorageError
from crawler.model import State, Url
from crawler.publish.changes import (
    ONLY_DATE,
    Change,
    ChangeCounts,
    ChangeKind,
    change_of,
    lasting_moves,
    merge_changes,
    why_added,
    why_delisted,
)
from crawler.state.database import statements, storage_errors
from crawler.state.runs import RunStore
from sitemap import make_directory, replacement

_MAX_HOPS: Final = 20  # redirects to follow from a moved page


_SELECT_CHANGES: Final = """SELECT c.url, c.kind, c.target, c.lastmod, c.before, c.reason, c.run, r.started
  FROM change c JOIN run r ON r.number = c.run WHERE c.run > :after AND c.run <= :until"""
_SQL: Final = statements("crawler.publish", "change_feed.sql", _SELECT_CHANGES=_SELECT_CHANGES)


_MOVED: Final = "SELECT url FROM change WHERE kind = 'moved' AND run > :after AND run <= :until"


class _ChangeRow(NamedTuple):
    """A URL that differs, with what this run and earlier ones know of it."""

    url: Url
    kind: str
    lastmod: str
    before: str
    found: int | None
    source: str | None
    state: str | None
    reason: str | None
    target: str | None
    evidence: str | None
    has_changed: int | None
    past_state: str | None
    past_reason: str | None
    past_failures: int | None
    past_evidence: str | None


_CHANGED_TEXTS: Final = {1: "its content changed", 0: ONLY_DATE, None: "its date is another"}
"""The reasons of a change without evidence, by what the run saw: a change, none, or no earlier visit to compare."""


class ChangeFeed:
    """The change feeds in the state of one site. Every method raises StorageError when the state cannot be used.

    No method begins or ends a transaction: writes are part of the caller's.
    """

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def record(self, run: int) -> ChangeCounts:
        """Store what this run changes, replacing what was stored of it. Returns the number of changes.

        To be called when ``listing`` holds the new set, while ``published`` and ``memory`` are still those of earlier
        runs.
        """
        counts = ChangeCounts()

        def rows() -> Iterator[tuple[object, ...]]:
            for change in self.pending(run):
                counts.count(change)
                yield (run, change.url, change.kind, change.target, change.lastmod, change.before, change.reason)

        with storage_errors():
            self._db.execute("DELETE FROM change WHERE run = ?", (run,))
            self._db.executemany(
                "INSERT INTO change (run, url, kind, target, lastmod, before, reason) VALUES (?, ?, ?, ?, ?, ?, ?)",
                rows(),
            )
        return counts

    def pending(self, run: int) -> Iterator[Change]:
        """What this run changes, sorted by URL, with the tables as for :meth:`record`. Writes nothing."""
        with storage_errors():
            (started,) = self._db.execute("SELECT started FROM run WHERE number = ?", (run,)).fetchone()
            (previous,) = self._db.execute(_SQL["last_published"], (run,)).fetchone()
            rows = self._db.execute(_SQL["difference"], {"run": run, "before": previous or 0})
            for row in map(_ChangeRow._make, rows):
                kind, target, reason = self._describe(row)
                yield change_of((row.url, kind, target, row.lastmod, row.before, reason, run), started)

    def between(self, after: int, until: int) -> Iterator[Change]:
        """The changes from the end of run ``after`` (0: from nothing) to the end of run ``until``, sorted by URL."""
        with storage_errors():
            if until == after + 1:
                yield from self._feeds(f"{_SELECT_CHANGES} ORDER BY c.url", after, until)
                return
            moved_query = f"{_SELECT_CHANGES} AND c.url IN ({_MOVED}) ORDER BY c.url, c.run"
            moves = lasting_moves(self._feeds(moved_query, after, until))
            yield from merge_changes(self._feeds(f"{_SELECT_CHANGES} ORDER BY c.url, c.run", after, until), moves)

    def of_run(self, run: int) -> Iterator[Change]:
        """The feed of one run, sorted by URL."""
        return self.between(run - 1, run)

    def first(self, run: int, limit: int) -> Iterator[Change]:
        """The first ``limit`` changes of each kind in the feed of one run, without reading the others."""
        with storage_errors():
            for kind in ChangeKind:
                yield from self._feeds(_SQL["select_first"], run - 1, run, kind=kind, limit=limit)

    def publishing(self) -> list[int]:
        """The stored runs that have a feed, the first one first."""
        with storage_errors():
            return [number for (number,) in self._db.execute(_SQL["publishing"])]

    def run_range(self) -> tuple[int, int]:
        """The numbers of the oldest and the newest stored run; zeros when there is none."""
        with storage_errors():
            first, last = self._db.execute("SELECT min(number), max(number) FROM run").fetchone()
        return first or 0, last or 0

    def forget(self, run: int, keep: int) -> None:
        """Delete the records and feeds of all but the last ``keep`` runs up to ``run``. The last published run stays.

        To be called after the record of ``run`` is written.
        """
        last = max(self.publishing(), default=0)
        with storage_errors():
            self._db.execute(_SQL["forget"], {"old": run - keep, "last": last})
        RunStore(self._db).forget(run - keep, last)

    def _feeds(self, query: str, after: int, until: int, **more: object) -> Iterator[Change]:
        for *row, started in self._db.execute(query, {"after": after, "until": until, **more}):
            yield change_of(row, started)

    def _describe(self, row: _ChangeRow) -> tuple[ChangeKind, str, str]:
        """The kind of change, its target and its reason."""
        if row.kind == "added":
            past = State(row.past_state) if row.past_state else None
            reason = why_added(row.found or 0, row.source or "", past, row.past_reason or "")
            return ChangeKind.ADDED, "", reason
        if row.kind == "changed":
            default = _CHANGED_TEXTS[row.has_changed]
            return ChangeKind.CHANGED, "", row.evidence or row.past_evidence or default
        state = State(row.state) if row.state else None
        kind, reason = why_delisted(state, row.reason or "", (row.past_failures or 0) + 1)
        if kind is ChangeKind.MOVED:
            return kind, *self._final_target(row.target or "", reason)
        return kind, row.target or "", reason

    def _final_target(self, target: str, reason: str) -> tuple[str, str]:
        """Where a page moved to, and how: the listed page that its target leads to, else the target itself."""
        hop, path = target, reason
        visited: set[str] = set()
        while len(visited) < _MAX_HOPS:
            visited.add(hop)
            listed, hop_reason, next_hop = self._db.execute(_SQL["select_hop"], (hop,)).fetchone() or (0, "", None)
            if listed:
                return hop, path
            if not next_hop or next_hop in visited:
                break
            hop, path = next_hop, f"{path}, then {hop_reason}"
        return target, f"{path}, which is not listed"


FEED_DIRECTORY: Final = "changes"

_feed_name = re.compile(r"(\d{6,})\.(jsonl|draft)").fullmatch  # a draft: of an earlier version that was killed


def feed_file(state: Path, run: int) -> Path:
    """The file of a run's feed, below the directory of the site's state."""
    return state / FEED_DIRECTORY / f"{run:06}.jsonl"


def write_feeds(changes: ChangeFeed, state: Path) -> None:
    """Write the file of every run that has a feed and no file, and delete the files of forgotten runs.

    A line is the JSON of one :class:`crawler.publish.changes.Change`; lines are sorted by URL. A file exists whole or
    not at all. To be called when the run is closed, outside of its transaction; after a crash the next call writes the
    missing files. Raises StorageError.
    """
    runs = set(changes.publishing())
    folder = state / FEED_DIRECTORY
    try:
        make_directory(folder, 0o700)
        for path in list(folder.iterdir()):
            match = _feed_name(path.name)
            if match and (match[2] == "draft" or int(match[1]) not in runs):
                path.unlink(missing_ok=True)
        for run in sorted(runs):
            path = feed_file(state, run)
            if not path.exists():
                _write_feed(path, changes.of_run(run))
    except OSError as error:
        raise StorageError(
            f"the change feed cannot be written to {folder}: {error.strerror}. The published sitemap is not "
            "affected, and the next run writes the feed"
        ) from error


def _write_feed(path: Path, changes: Iterable[Change]) -> None:
    """Write the file whole and durably, or not at all."""
    encoder = msgspec.json.Encoder()
    with replacement(path, 0o600) as file:
        for change in changes:
            file.write(encoder.encode(change) + b"\n")
