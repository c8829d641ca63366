"""``siteatlas diff``: shows the changes of the sitemap between two runs, as text, JSON or a feed."""

import sqlite3
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Any, Final

import msgspec

from crawler.audit.report.layout import fitted
from crawler.cli.errors import CommandErrors
from crawler.cli.options import with_flags
from crawler.cli.sites import find_state_directory
from crawler.crawl.documents import is_url
from crawler.errors import UsageError
from crawler.publish.change_feed import ChangeFeed
from crawler.publish.changes import Change, ChangeKind, ChangeSample, change_lines, latest
from crawler.state.runs import RunStore
from crawler.state.schema import STATE_DB
from sitemap import Format

_DEFAULT_LIMIT: Final = 20  # URLs of each kind, as text
_FEED_LIMIT: Final = 500  # entries of a feed


class DiffFormat(StrEnum):
    """The format of the changes."""

    TEXT = "text"
    JSON = "json"
    JSONL = "jsonl"
    ATOM = "atom"
    RSS = "rss"


@dataclass(frozen=True, slots=True)
class DiffRequest:
    """The changes to show: from the end of run ``after`` to the end of run ``until``, of the state ``db``."""

    db: sqlite3.Connection
    after: int
    until: int
    limit: int | None

    @property
    def changes(self) -> Iterator[Change]:
        """The changes, sorted by URL."""
        return ChangeFeed(self.db).between(self.after, self.until)


@with_flags("state.directory", "site.sitemap_url")
def diff(
    words: list[str] | None = None,
    config: Path | None = None,
    site: str | None = None,
    form: DiffFormat = DiffFormat.TEXT,
    limit: int | None = None,
    verbose: bool = False,
    **flags: Any,
) -> None:
    """Show what changed in the sitemap between two runs, and why.

    diff compares the sitemap after the run FROM with the sitemap after the run TO. Each page appears at most once. If
    a page was added and removed between the two runs, it does not appear. siteatlas status shows the numbers of the
    runs.
    """
    with CommandErrors(verbose):
        url, first, last = _parse_words(words or [])
        directory = find_state_directory(url, config, site, flags)
        with STATE_DB.reading(directory) as db:
            db.execute("BEGIN")  # one snapshot, also while a run is active
            request = DiffRequest(db, *_runs(db, first, last), limit)
            for text in _FORMS[form](request):
                sys.stdout.write(text)
        sys.stdout.flush()


def _parse_words(words: list[str]) -> tuple[str | None, int | None, int | None]:
    """The URL and the numbers of the runs. Raises UsageError."""
    url = words[0] if words and is_url(words[0]) else None
    numbers = words[1:] if url else words
    for word in numbers:
        if not (word.isascii() and word.isdigit()):
            raise UsageError(f"{word!r} is neither a URL nor the number of a run. Use siteatlas diff [URL] [FROM [TO]]")
    if len(numbers) > 2:
        raise UsageError(
            f"{len(numbers)} runs are too many, because diff compares two runs. Use siteatlas diff [URL] [FROM [TO]]"
        )
    first, last = ([int(word) for word in numbers] + [None, None])[:2]
    return url, first, last


def _runs(db: sqlite3.Connection, first: int | None, last: int | None) -> tuple[int, int]:
    """The two runs to compare. Raises UsageError when one of them does not exist, or no longer does."""
    changes = ChangeFeed(db)
    publishing = changes.publishing()
    if not publishing:
        raise UsageError("no run has published anything yet, so there is nothing to compare")
    until = publishing[-1] if last is None else RunStore(db).get(last).number
    if first is None:
        return max((number for number in publishing if number < until), default=until - 1), until
    oldest, newest = changes.run_range()
    if first < oldest - 1:
        raise UsageError(f"the changes after run {first} are no longer stored. The oldest stored run is run {oldest}")
    if first > newest:
        RunStore(db).get(first)
    if first > until:
        raise UsageError(f"run {first} comes after run {until}. Give the earlier run first")
    return first, until


# -------------------------------------------------------------------- forms


def _text(request: DiffRequest) -> Iterator[str]:
    counts, *rest = change_lines(request.changes, _DEFAULT_LIMIT if request.limit is None else request.limit)
    yield fitted([f"{_run_name(request.db, request.after)} to {_run_name(request.db, request.until)}: {counts}", *rest])


def _run_name(db: sqlite3.Connection, number: int) -> str:
    if number == 0:
        return "before the first run"
    try:
        started = RunStore(db).get(number).started
    except UsageError:  # deleted, but all later runs are known
        return f"run {number}"
    return f"run {number} ({datetime.fromtimestamp(started, UTC):%Y-%m-%d %H:%M} UTC)"


def _jsonl(request: DiffRequest) -> Iterator[str]:
    for change in ChangeSample(request.changes, request.limit or 0):
        yield msgspec.json.encode(change).decode() + "\n"


def _json(request: DiffRequest) -> Iterator[str]:
    changes = ChangeSample(request.changes, request.limit or 0)
    yield f'{{\n  "from": {request.after},\n  "to": {request.until},\n  "changes": ['
    separator = "\n    "
    for change in changes:
        yield separator + msgspec.json.encode(change).decode()
        separator = ",\n    "
    yield f'],\n  "counts": {msgspec.json.encode(changes.counts).decode()}\n}}\n'


def _feed(form: Format, request: DiffRequest) -> Iterator[str]:
    from crawler.publish.recent_feed import build_feed, feed_entries  # noqa: PLC0415 - the writers are not needed for the rest

    (sitemap_url,) = request.db.execute("SELECT value FROM about WHERE key = 'sitemap_url'").fetchone()
    listed = (change for change in request.changes if change.kind in (ChangeKind.ADDED, ChangeKind.CHANGED))
    chosen = latest(listed, _FEED_LIMIT if request.limit is None else request.limit)
    return (part.decode() for part in build_feed(form, sitemap_url, feed_entries(request.db, chosen)))


_FORMS: Final[dict[DiffFormat, Callable[[DiffRequest], Iterator[str]]]] = {
    DiffFormat.TEXT: _text,
    DiffFormat.JSON: _json,
    DiffFormat.JSONL: _jsonl,
    DiffFormat.ATOM: partial(_feed, Format.ATOM),
    DiffFormat.RSS: partial(_feed, Format.RSS),
}
