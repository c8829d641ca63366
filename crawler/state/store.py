"""The state of one site: locks its directory, opens its database, and begins or resumes a run."""

import hashlib
import os
import re
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from enum import Enum, auto
from pathlib import Path
from typing import Final, Self

import msgspec
from msgspec.structs import replace

from crawler.errors import SiteatlasError, UsageError
from crawler.model import Url
from crawler.state.database import storage_errors, transaction
from crawler.state.lock import hold_lock
from crawler.state.migrations import STATE_DB
from crawler.state.runs import PUBLISHING_OUTCOMES, RunStore
from crawler.version import __version__

PURGE_CONTENT: Final = (
    "DELETE FROM content WHERE id NOT IN (SELECT content FROM memory WHERE content IS NOT NULL)"
    " AND id NOT IN (SELECT content FROM visit WHERE content IS NOT NULL)"
    " AND id NOT IN (SELECT content FROM published)"
)
_FORGET_PAGES: Final = (
    "DELETE FROM visit",
    "DELETE FROM listing",
    "DELETE FROM memory",
    "DELETE FROM habit",
    "DELETE FROM lesson",
    "DELETE FROM second_read",
    "DELETE FROM robots",
    "DELETE FROM run WHERE ended IS NULL",
    "DELETE FROM about WHERE key != 'public'",
    "DELETE FROM content WHERE id NOT IN (SELECT content FROM published)",
    "UPDATE published SET grp = '', shard = 0",
)


def forget_pages(db: sqlite3.Connection) -> None:
    """Delete what is known of the pages, so that all count as new. Raises StorageError.

    The published set and the records of the runs stay, because the gate compares with them.
    """
    with transaction(db):
        for statement in _FORGET_PAGES:
            db.execute(statement)


def purge_content(db: sqlite3.Connection) -> None:
    """Delete content that no table refers to. Part of the caller's transaction. Raises StorageError."""
    with storage_errors():
        db.execute(PURGE_CONTENT)


def state_directory(root: Path, sitemap_url: Url) -> Path:
    """The directory of a site's state: a readable name, distinct for each sitemap."""
    digest = hashlib.blake2b(sitemap_url.encode(), digest_size=4).hexdigest()
    readable = re.sub(r"[^a-z0-9.-]+", "-", sitemap_url.partition("://")[2].rpartition("/")[0].lower()).strip(".-")
    return root / f"{readable[:60] or 'site'}-{digest}"


def public_hosts(directory: Path) -> frozenset[str]:
    """The ``host:port`` of the start URL if it had a public address in a run, none without a state.

    Raises StorageError, UsageError.
    """
    if not STATE_DB.is_in(directory):
        return frozenset()
    with STATE_DB.reading(directory) as db:
        row = db.execute("SELECT value FROM about WHERE key = 'public'").fetchone()
    return frozenset(row[0].split() if row else ())


GENERATIONS_DIRECTORY: Final = "generations"


@contextmanager
def lock_state(directory: Path, *, about: Mapping[str, str] | None = None) -> Iterator[None]:
    """Lock the state of a site. With ``about``, creates a state that is missing, with these entries.

    Raises UsageError when it is missing, StateInUse, StorageError.
    """
    path = directory / STATE_DB.file
    if about is None:
        STATE_DB.open_read_only(path).close()
    descriptor = hold_lock(directory)
    try:
        if about is not None and not path.is_file():
            with closing(STATE_DB.open(path)) as db, transaction(db):
                db.executemany("INSERT INTO about VALUES (?, ?)", about.items())
        yield
    finally:
        os.close(descriptor)


class Resume(Enum):
    """What a new run does with the state."""

    ALWAYS = auto()  # resume an unfinished run
    IF_SAME_SETTINGS = auto()  # the same, but drop one that began with other settings
    NEVER = auto()  # drop an unfinished run; keep what earlier runs stored
    FRESH = auto()  # delete what is known of the pages; keep the published set and the records


class Store:
    """The state of one site, locked for this process while entered. ``db`` is the one connection
    that writes, ``run`` the record of the run to work on, as it was when the state was opened.

    ``settings`` decide the result of a crawl; an unfinished one is resumed only with the same. ``about`` is stored for
    commands that show the state. ``now`` is Unix time. ``renamed`` maps old names of settings to their present names.
    Raises StateInUse, StorageError, UsageError on entering.
    """

    def __init__(
        self,
        directory: Path,
        settings: Mapping[str, object],
        *,
        begin: Resume = Resume.ALWAYS,
        about: Mapping[str, str] | None = None,
        now: float | None = None,
        renamed: Mapping[str, str] | None = None,
    ) -> None:
        self.directory = directory
        self.resumed = False
        self._settings = settings
        self._renamed = renamed or {}
        self._begin = begin
        self._about = about or {}
        self._now = time.time() if now is None else now
        self.is_first = True  # nothing was published when the state was opened

    def __enter__(self) -> Self:
        with ExitStack() as opened:
            opened.callback(os.close, hold_lock(self.directory))
            self.db = opened.enter_context(closing(STATE_DB.open(self.directory / STATE_DB.file)))
            self._begin_or_resume()
            self._opened = opened.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        with storage_errors(f"the state in {self.directory}"):
            self._opened.close()

    def record_public(self, hosts: Iterable[str]) -> None:
        """Record the ``host:port`` of start URLs that have a public address: see :func:`public_hosts`."""
        with transaction(self.db):
            self.db.execute("INSERT OR REPLACE INTO about VALUES ('public', ?)", (" ".join(sorted(hosts)),))

    def record_failure(self, error: SiteatlasError, now: float) -> None:
        """Record that the run came to nothing. A resumed run stays open, to be resumed again."""
        ended = None if self.resumed else now
        seconds = self.run.seconds + max(0.0, now - self._now)
        record = replace(
            self.run, outcome="nothing", refusal=str(error), exit_code=error.exit_code, ended=ended, seconds=seconds
        )
        RunStore(self.db).write(record)

    def _begin_or_resume(self) -> None:
        if self._begin is Resume.FRESH:
            forget_pages(self.db)
        runs = RunStore(self.db)
        with storage_errors():
            self.is_first = self.db.execute("SELECT 1 FROM published LIMIT 1").fetchone() is None
        self.resumed = self._is_begun() and self._has_same_settings()
        if self.resumed:
            self.run = runs.begin(self._now, __version__)
            return
        previous = runs.last(1)
        with transaction(self.db):
            self.db.execute("DELETE FROM run WHERE ended IS NULL")
            self.run = runs.begin(self._now, __version__)
            self.db.execute("DELETE FROM visit")
            self.db.execute("DELETE FROM listing")
            if previous and previous[0].outcome not in PUBLISHING_OUTCOMES:  # the others have purged
                purge_content(self.db)
            settings = msgspec.json.encode(self._settings, order="deterministic").decode()
            for key, value in {**self._about, "settings": settings}.items():
                self.db.execute("INSERT OR REPLACE INTO about VALUES (?, ?)", (key, value))

    def _is_begun(self) -> bool:
        """Whether there is an unfinished run to resume, with at least one URL."""
        if self._begin not in (Resume.ALWAYS, Resume.IF_SAME_SETTINGS):
            return False
        with storage_errors():
            unfinished = "SELECT 1 FROM visit WHERE EXISTS (SELECT 1 FROM run WHERE ended IS NULL) LIMIT 1"
            return self.db.execute(unfinished).fetchone() is not None

    def _has_same_settings(self) -> bool:
        """Whether the unfinished run has the same settings. Raises UsageError if not, with Resume.ALWAYS."""
        with storage_errors():
            row = self.db.execute("SELECT value FROM about WHERE key = 'settings'").fetchone()
        stored: dict[str, object] = msgspec.json.decode(row[0]) if row else {}
        previous = {self._renamed.get(key, key): value for key, value in stored.items()}
        current = msgspec.json.decode(msgspec.json.encode(self._settings))
        # settings that an older version did not have had the present defaults
        changed = sorted(key for key, value in previous.items() if value != current.get(key))
        if changed and self._begin is Resume.ALWAYS:
            raise UsageError(
                f"an unfinished crawl of this site started with other settings ({', '.join(changed)}); use those "
                f"settings to continue it, or discard it with --restart"
            )
        return not changed
