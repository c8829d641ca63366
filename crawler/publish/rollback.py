"""The rollback: publishes an earlier set again, as a whole."""

import contextlib
import sqlite3
import time
from collections.abc import Iterable, Iterator
from contextlib import closing
from typing import Final, NamedTuple

from msgspec.structs import asdict, replace

from crawler.config.plan import CrawlPlan
from crawler.errors import StorageError, UsageError
from crawler.model import Url
from crawler.publish.change_feed import ChangeFeed, write_feeds
from crawler.publish.changes import ONLY_DATE, ChangeCounts, ChangeKind
from crawler.publish.other_formats import publish_formats, with_formats_of
from crawler.publish.write import (
    PublishedDigests,
    build_destination,
    copies,
    copy_of_published,
    lost_files,
    moved_note,
    published_files,
    sitemap_names,
)
from crawler.state.database import storage_errors, transaction
from crawler.state.runs import ROLLED_BACK, PublishedFile, Run, RunStore
from crawler.state.schema import STATE_DB
from crawler.state.store import BASELINE_KEY, lock_state
from crawler.version import __version__
from sitemap import Entry, Published, SitemapError, SitemapReader

MAX_FILES: Final = 50_000
"""Files of a set that are read: an index lists at most so many (https://www.sitemaps.org/protocol.html#index)."""

_CREATE_RESTORED: Final = "CREATE TEMP TABLE again (url TEXT PRIMARY KEY, lastmod, grp, shard, file) WITHOUT ROWID"

_INSERT_IDS: Final = "INSERT OR IGNORE INTO url (url) SELECT url FROM again ORDER BY url"

_INSERT_CHANGE: Final = "INSERT INTO change (run, url, kind, lastmod, before, reason)"

_INSERT_CHANGES: Final = (
    f"""{_INSERT_CHANGE} SELECT :run, a.url, '{ChangeKind.ADDED}', a.lastmod, '', :reason
  FROM again a JOIN url u ON u.url = a.url LEFT JOIN published p ON p.id = u.id WHERE p.id IS NULL""",  # noqa: S608
    f"""{_INSERT_CHANGE} SELECT :run, a.url, '{ChangeKind.CHANGED}', a.lastmod, p.lastmod, '{ONLY_DATE}'
  FROM again a JOIN url u ON u.url = a.url JOIN published p ON p.id = u.id WHERE p.lastmod != a.lastmod""",  # noqa: S608
    f"""{_INSERT_CHANGE} SELECT :run, u.url, '{ChangeKind.REMOVED}', '', p.lastmod, :reason
  FROM published p JOIN url u ON u.id = p.id WHERE u.url NOT IN (SELECT url FROM again)""",  # noqa: S608
)

# The content of a page that had left may be forgotten: no content has the id 0.
_SET_PUBLISHED: Final = (
    "DELETE FROM published WHERE id NOT IN (SELECT u.id FROM again a JOIN url u ON u.url = a.url)",
    """INSERT OR REPLACE INTO published (id, content, lastmod, lastmod_source, grp, shard, file, kept)
  SELECT u.id, coalesce(p.content, m.content, 0), a.lastmod,
    CASE a.lastmod WHEN p.lastmod THEN p.lastmod_source WHEN m.lastmod THEN m.lastmod_source ELSE '' END,
    a.grp, a.shard, a.file, coalesce(p.kept, 0)
  FROM again a JOIN url u ON u.url = a.url LEFT JOIN published p ON p.id = u.id LEFT JOIN memory m ON m.id = u.id""",
)


class RestoredPage(NamedTuple):
    """A page of a restored set, with its group, and the number and name of its file."""

    url: Url
    lastmod: str
    group: str
    shard: int
    file: str


def restore_published(db: sqlite3.Connection, run: Run, pages: Iterable[RestoredPage], reason: str) -> ChangeCounts:
    """Make ``pages`` the published set, and store the differences as the feed of ``run``, with that reason.

    An unfinished run is deleted, because it started from the set that is replaced. What is known of the pages stays.
    Part of the caller's transaction. Raises StorageError.
    """
    with storage_errors():
        db.execute("DELETE FROM run WHERE ended IS NULL")
        db.execute(_CREATE_RESTORED)
        db.executemany("INSERT OR REPLACE INTO again VALUES (?, ?, ?, ?, ?)", pages)
        db.execute(_INSERT_IDS)
        for statement in _INSERT_CHANGES:
            db.execute(statement, {"run": run.number, "reason": reason})
        for statement in _SET_PUBLISHED:
            db.execute(statement)
        db.execute("DROP TABLE again")
        RunStore(db).write(run)  # the feed needs its run
        return ChangeCounts.of(ChangeFeed(db).of_run(run.number))


def publish_previous(plan: CrawlPlan, number: int | None = None) -> Run:
    """Publish the set of run ``number`` again; by default the stored set before the newest one, or what is gone.

    Returns the record of the rollback, a run of its own with a feed of its changes; or that of the last rollback, if it
    published the same set. What is known of the pages stays: the next run publishes what it finds, and compares with
    the restored set. Raises UsageError when there is no such set, StateInUse, StorageError.
    """
    generations = copies(plan)
    with lock_state(plan.state):
        numbers = generations.numbers()
        available = ", ".join(map(str, numbers)) or "none"
        try:
            chosen = number
            if number is None:
                chosen = copy_of_published(plan) if lost_files(plan).missing else next(iter(numbers[-2:-1]), None)
            if chosen not in numbers:
                what = "earlier sitemap to publish again" if chosen is None else f"copy of the sitemap of run {chosen}"
                raise UsageError(f"there is no {what}. The runs with a copy (--to RUN) are {available}")
            return _record(plan, chosen, generations.restore(chosen, build_destination(plan)))
        except SitemapError as error:
            raise StorageError(str(error)) from error


def _record(plan: CrawlPlan, number: int, published: Published) -> Run:
    """Record the rollback, so that the next run compares with the restored set, and the history shows it."""
    with closing(STATE_DB.open(plan.state / STATE_DB.file)) as db:
        now = time.time()
        runs = RunStore(db)
        newest, former = runs.last(1), runs.published()
        reason = f"the sitemap of run {number} is published again"
        if newest and (newest[0].outcome, newest[0].refusal) == (ROLLED_BACK, reason):
            said = f"the sitemap of run {number} is published already (--to RUN publishes another one)"
            return replace(newest[0], refusal=said, notes=[], **asdict(ChangeCounts()))
        dropped = [
            f"run {run.number}, which was cut short, is discarded: the next run starts a new crawl"
            for run in newest
            if run.is_open
        ]
        record = Run(
            number=newest[0].number + 1 if newest else 1,
            started=now,
            ended=now,
            version=__version__,
            outcome=ROLLED_BACK,
            refusal=reason,
            exit_code=0,
            listed=published.urls,
            notes=[*moved_note(former, published), *dropped],
            files=published_files(published),
        )
        with transaction(db):
            counts = restore_published(db, record, _published_pages(plan, published), reason)
            record = replace(record, **asdict(counts))
            beside = former.other_formats if former else []
            chosen = with_formats_of(plan, [file.name for file in beside])
            formats, notes = publish_formats(db, chosen, build_destination(plan), published.url, beside)
            record = replace(record, other_formats=formats, notes=[*record.notes, *notes])
            runs.write(record)
            digests = PublishedDigests(db, plan.output)
            digests.begin()
            digests.store(file.name for file in published.files)
        write_feeds(ChangeFeed(db), plan.state)
        return record


_ADOPT: Final = (
    "INSERT OR IGNORE INTO url (url) SELECT url FROM again ORDER BY url",
    """INSERT OR REPLACE INTO published (id, content, lastmod, lastmod_source, file)
  SELECT u.id, 0, a.lastmod, '', a.file FROM again a JOIN url u ON u.url = a.url""",
    "DROP TABLE again",
)


def adopt_published(plan: CrawlPlan, db: sqlite3.Connection, number: int) -> None:
    """Make the files in the output directory the published set of a new state that replaces a damaged one.

    ``number`` is that of the run to record them with. Files that cannot be read are left out. Raises StorageError.
    """
    with transaction(db):
        files: list[PublishedFile] = []
        db.execute(_CREATE_RESTORED)
        with contextlib.suppress(SitemapError, OSError):
            for name in sitemap_names(plan):
                if (plan.output / name).is_file():
                    _read_published(plan, name, db, files)
                    break
        for statement in _ADOPT:
            db.execute(statement)
        run = RunStore(db).get(number)
        (listed,) = db.execute("SELECT count(*) FROM published").fetchone()
        RunStore(db).write(replace(run, files=files, listed=listed))
        db.execute("DELETE FROM about WHERE key = ?", (BASELINE_KEY,))


def _read_published(plan: CrawlPlan, name: str, db: sqlite3.Connection, files: list[PublishedFile]) -> None:
    """Read a file of the published set, and the files that it lists, into the table of restored pages."""
    path = plan.output / name
    children: list[str] = []
    count = 0
    url = plan.sitemap_url.rpartition("/")[0] + f"/{name}"
    files.append(PublishedFile(name, url, 0, path.stat().st_size))
    place = len(files) - 1
    for entry in SitemapReader(path):
        count += 1
        if isinstance(entry, Entry):
            db.execute("INSERT OR REPLACE INTO again VALUES (?, ?, '', 0, ?)", (entry.loc, entry.lastmod or "", name))
        else:
            children.append(entry.loc.rpartition("/")[2])
    files[place] = PublishedFile(name, url, count, path.stat().st_size)
    for child in children:
        if len(files) <= MAX_FILES and (plan.output / child).is_file():
            _read_published(plan, child, db, files)


def _published_pages(plan: CrawlPlan, published: Published) -> Iterator[RestoredPage]:
    """The pages of a published set, read from its files."""
    for file in published.files:
        if not file.shard:  # an index
            continue
        for entry in SitemapReader(build_destination(plan).path / file.name):
            if isinstance(entry, Entry):
                yield RestoredPage(Url(entry.loc), entry.lastmod or "", file.group, file.shard, file.name)
