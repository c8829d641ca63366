"""The state of one site: locks its directory, opens its database, and begins or resumes a run."""

import os
import shutil
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager, suppress
from datetime import UTC, datetime
from enum import Enum, auto
from functools import cached_property, partial
from pathlib import Path
from typing import Final, NamedTuple, Self

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from crawler.errors import DamagedFile, SiteatlasError, StorageError, UsageError, single_error
from crawler.state.database import fresh_remedy, storage_errors, transaction
from crawler.state.lock import hold_lock
from crawler.state.runs import (
    FORGOTTEN_KEY,
    PUBLISHING_OUTCOMES,
    ROLLED_BACK,
    Run,
    RunStore,
    continued_texts,
    read_continued,
)
from crawler.state.schema import ADDED, HISTORY_TABLES, STATE_DB
from crawler.version import __version__

GENERATIONS_DIRECTORY: Final = "generations"
BASELINE_KEY: Final = "baseline"
"""The key in ``about`` of a new state that replaces a damaged one, until it knows the published set."""
OUTPUT_KEY: Final = "output"
"""The key in ``about`` of the directory that the last run wrote the files of the sitemap to."""
FORMATS_KEY: Final = "other formats"
"""The key in ``about`` of the names of the files in other formats that this state writes."""
_PUBLIC_KEY: Final = "public"
_PAUSE_KEY: Final = "pause "
MAX_KEPT_PAUSE: Final = 24 * 3600.0
"""Seconds."""
DAMAGED_MARK: Final = "damaged"
"""The file that marks a state in which some command met damage, which a check may not find."""
PURGE_CONTENT: Final = (
    "DELETE FROM content WHERE id NOT IN (SELECT content FROM memory WHERE content IS NOT NULL)"
    " AND id NOT IN (SELECT content FROM visit WHERE content IS NOT NULL)"
    " AND id NOT IN (SELECT content FROM published)"
    " AND id NOT IN (SELECT content FROM seen WHERE content IS NOT NULL)"
)
_COUNT_ASKED: Final = """SELECT count(*), coalesce(sum(v.carried), 0), min(iif(v.carried, a.at, NULL))
  FROM visit v LEFT JOIN asked a ON a.id = v.id WHERE v.attempts > 0 AND v.kind = 0"""  # pages
_FORGET_PAGES: Final = (
    "DELETE FROM visit",
    "DELETE FROM asked",
    "DELETE FROM listing",
    "DELETE FROM memory",
    "DELETE FROM habit",
    "DELETE FROM lesson",
    "DELETE FROM second_read",
    "DELETE FROM seen",
    "DELETE FROM history",
    "DELETE FROM history_run",
    "DELETE FROM robots",
    "DELETE FROM run WHERE ended IS NULL",
    f"DELETE FROM about WHERE key NOT IN {(_PUBLIC_KEY, FORGOTTEN_KEY, FORMATS_KEY, OUTPUT_KEY)}",  # noqa: S608 - our own
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


def read_about(db: sqlite3.Connection, key: str) -> str | None:
    """What the table ``about`` has under a key, None without it."""
    row = db.execute("SELECT value FROM about WHERE key = ?", (key,)).fetchone()
    return str(row[0]) if row else None


def write_about(db: sqlite3.Connection, key: str, value: str) -> None:
    """Put a value into the table ``about``. Part of the caller's transaction."""
    db.execute("INSERT OR REPLACE INTO about VALUES (?, ?)", (key, value))


def purge_content(db: sqlite3.Connection) -> None:
    """Delete content that no table refers to. Part of the caller's transaction. Raises StorageError."""
    with storage_errors():
        db.execute(PURGE_CONTENT)


def public_hosts(directory: Path) -> frozenset[str]:
    """The ``host:port`` of the start URL if it had a public address in a run, none without a state.

    Raises StorageError, UsageError.
    """
    try:
        if not STATE_DB.is_in(directory):
            return frozenset()
        with STATE_DB.reading(directory) as db:
            return frozenset((read_about(db, _PUBLIC_KEY) or "").split())
    except DamagedFile:  # an audit does without the state of the runs; a run ends when it opens it
        return frozenset()


class AskedCounts(Struct, frozen=True):
    """How many of the ``known`` pages a run ``asked`` for, and when the ``oldest`` visit was (Unix time)."""

    asked: int
    known: int
    oldest: float


def asked_counts(db: sqlite3.Connection) -> AskedCounts | None:
    """The counts of a run that did not ask for all pages; None for any other. Raises StorageError."""
    with storage_errors():
        if not _has_asked(db) or db.execute("SELECT 1 FROM visit WHERE carried LIMIT 1").fetchone() is None:
            return None
        known, carried, oldest = db.execute(_COUNT_ASKED).fetchone()
    return AskedCounts(known - carried, known, oldest or 0.0)


def _has_asked(db: sqlite3.Connection) -> bool:
    """Whether the state knows which visits are carried: those of earlier releases do not."""
    return db.execute("SELECT 1 FROM sqlite_master WHERE name = 'asked_visit'").fetchone() is not None


class Pause(NamedTuple):
    """A pause that an origin requested: the seconds that are left of it, and the answer that requested it."""

    seconds: float
    reason: str


class PauseStore:
    """The pauses that origins requested by Retry-After, in the state: a run that is killed owes them to the next one.

    Times are Unix times; no pause is kept for more than ``MAX_KEPT_PAUSE``. Every method may raise StorageError.
    """

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def put(self, origin: str, until: float, reason: str) -> None:
        """Store a pause, durable at once."""
        with storage_errors():
            write_about(self._db, f"{_PAUSE_KEY}{origin}", f"{until:.3f} {reason}")
            if self._db.in_transaction:
                self._db.execute("COMMIT")

    def left(self, now: float) -> dict[str, Pause]:
        """What is left of each pause, by origin. Forgets those that are over."""
        with storage_errors():
            rows = self._db.execute("SELECT key, value FROM about WHERE key GLOB ?", (f"{_PAUSE_KEY}*",)).fetchall()
            texts = [(key, *text.partition(" ")) for key, text in rows]
            pauses = {key: Pause(min(float(until) - now, MAX_KEPT_PAUSE), reason) for key, until, _, reason in texts}
            over = [(key,) for key, pause in pauses.items() if pause.seconds <= 0]
            self._db.executemany("DELETE FROM about WHERE key = ?", over)
        return {key.removeprefix(_PAUSE_KEY): pause for key, pause in pauses.items() if pause.seconds > 0}


class _Damage:
    """The damage of the state in a directory, whose lock the caller holds."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._path = directory / STATE_DB.file
        self._mark = directory / DAMAGED_MARK

    def mark(self) -> None:
        """Note for the next ``--fresh`` that the file is damaged."""
        with suppress(OSError):  # the same disk may be the cause
            self._mark.touch(mode=0o600)

    def is_lost(self) -> bool:
        """Whether the file is missing or empty, although a run published from it."""
        is_gone = not self._path.exists() or self._path.stat().st_size == 0
        return is_gone and any((self._directory / GENERATIONS_DIRECTORY).glob("*.json"))

    def is_found(self) -> bool:
        """Whether the file is damaged: by its mark, or by a check of all of it. Raises StorageError, UsageError."""
        if self._mark.exists() or self.is_lost():
            return True
        try:
            with STATE_DB.used(self._path), closing(STATE_DB.open(self._path)) as db:
                return bool(db.execute("PRAGMA integrity_check(1)").fetchone() != ("ok",))
        except DamagedFile:
            return True

    def set_aside(self, now: float) -> str:
        """Rename the file, with the files that SQLite keeps beside it; returns the new name."""
        name = f"{STATE_DB.file}.damaged-{datetime.fromtimestamp(now, UTC):%Y%m%dT%H%M%SZ}"
        with STATE_DB.used(self._path):
            for suffix in ("-shm", "-wal", ""):
                with suppress(FileNotFoundError):
                    self._path.with_name(STATE_DB.file + suffix).replace(self._path.with_name(name + suffix))
            self._mark.unlink(missing_ok=True)
        return name

    def last_number(self) -> int:
        """The number of the last run that left a file in the directory: run numbers must not repeat."""
        stems = (path.stem for path in self._directory.glob("*/*.json*"))
        return max((int(stem) for stem in stems if stem.isdecimal()), default=0)


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


def lost_tries(directory: Path) -> int:
    """How many tries of the last run in a row were lost with their process, if it is not active; 0 without a state."""
    with suppress(SiteatlasError), STATE_DB.reading(directory) as db:
        if (last := RunStore(db).last(1)) and last[0].unended:
            return read_continued(partial(read_about, db)).and_now(last[0], 0).lost
    return 0


@contextmanager
def written_state(directory: Path) -> Iterator[sqlite3.Connection]:
    """The state of a site in one transaction, locked. Raises StateInUse, StorageError, UsageError."""
    with lock_state(directory), closing(STATE_DB.open(directory / STATE_DB.file)) as db, transaction(db):
        yield db


class Resume(Enum):
    """What a new run does with the state."""

    ALWAYS = auto()  # resume an unfinished run
    IF_SAME_SETTINGS = auto()  # the same, but drop one that began with other settings
    NEVER = auto()  # drop an unfinished run, and pauses that are left; keep what earlier runs stored
    FRESH = auto()  # delete what is known of the pages; keep the published set and the records


Carry = Callable[[sqlite3.Connection, Run, Run], bool]
"""Keeps the visits of the previous run, the first one given, for a new run that asks for some pages only.

Returns whether it does. Part of the caller's transaction.
"""


class Store:
    """The state of one site, locked for this process while entered. ``db`` is the one connection
    that writes, ``run`` the record of the run to work on, as it was when the state was opened. ``unended`` says that
    its last process was lost.

    ``settings`` decide the result of a crawl; an unfinished one is resumed only with the same. ``about`` is stored for
    commands that show the state. ``now`` is Unix time. A new run begins without visits unless ``carry`` keeps those of
    the previous one, which had the same settings. Raises StateInUse, StorageError, UsageError on entering.
    """

    def __init__(
        self,
        directory: Path,
        settings: Mapping[str, object],
        *,
        begin: Resume = Resume.ALWAYS,
        about: Mapping[str, str] | None = None,
        now: float | None = None,
        carry: Carry | None = None,
    ) -> None:
        self._carry = carry
        self.directory = directory
        self.resumed = False
        self.unended = ""
        self._damage = _Damage(directory)
        self._settings = settings
        self._begin = begin
        self._about = about or {}
        self._now = time.time() if now is None else now

    def __enter__(self) -> Self:
        self._is_discarded = False
        with ExitStack() as opened:
            opened.callback(os.close, hold_lock(self.directory))
            aside = self._set_damage_aside()
            self.db = opened.enter_context(closing(STATE_DB.open(self.directory / STATE_DB.file)))
            if aside:
                self._record_damage(aside)
            has_audit = any(self.directory.glob(f"*/{STATE_DB.file}"))
            try:
                self.is_new = not (has_audit or RunStore(self.db).last(1))
                self._begin_or_resume()
            except Exception as error:
                self._look_for_damage(error)
                raise self._placed(error) from error
            self._opened = opened.pop_all()
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error:
            self._look_for_damage(single_error(error))
            with suppress(StorageError, sqlite3.Error):
                self._record_end(single_error(error))
        with storage_errors(f"the state in {self.directory}"):
            self._opened.close()
        if self._is_discarded:
            shutil.rmtree(self.directory, ignore_errors=True)
            with suppress(OSError):  # that of an audit is in the directory of its site, which may have more
                self.directory.parent.rmdir()
        if error and (placed := self._placed(single_error(error))) is not single_error(error):
            raise placed from error

    def discard(self) -> None:
        """Leave no state behind when this closes, if there was none before: the run belongs to another site."""
        self._is_discarded = self.is_new

    def record_public(self, hosts: Iterable[str]) -> None:
        """Record the ``host:port`` of start URLs that have a public address: see :func:`public_hosts`."""
        with transaction(self.db):
            write_about(self.db, _PUBLIC_KEY, " ".join(sorted(hosts)))

    @cached_property
    def is_first(self) -> bool:
        """Whether nothing was published when this was first read, before the run publishes."""
        with storage_errors():
            return self.db.execute("SELECT 1 FROM published LIMIT 1").fetchone() is None

    def end_of(self, run: Run) -> float:
        """When this process ended its work on the run, by the seconds that it took; an earlier one may have begun."""
        return self._now + run.seconds - self.run.seconds

    def record_failure(self, error: SiteatlasError, now: float, outcome: str = "nothing") -> None:
        """Record that the run came to nothing, with this outcome. A resumed run stays open, to be resumed again."""
        ended = None if self.resumed else now
        seconds = self.run.seconds + max(0.0, now - self._now)
        record = replace(
            self.run, outcome=outcome, refusal=str(error), exit_code=error.exit_code, ended=ended, seconds=seconds
        )
        RunStore(self.db).write(record)

    def _placed(self, error: BaseException) -> BaseException:
        """The error, with the directory if it is about the state."""
        is_nameless = isinstance(error, StorageError) and str(error).startswith("the state cannot")
        return type(error)(str(error).replace("state", f"state in {self.directory}", 1)) if is_nameless else error

    def _record_end(self, error: BaseException) -> None:
        """Record why the run can only be resumed, unless that is recorded: else it counts as killed."""
        if self.db.in_transaction:
            self.db.execute("ROLLBACK")
        run = next(iter(RunStore(self.db).last(1)), self.run)
        if run.exit_code is None:
            code = getattr(error, "exit_code", 1)
            RunStore(self.db).write(replace(run, outcome="nothing", refusal=str(error), exit_code=code))

    def _set_damage_aside(self) -> str:
        """With Resume.FRESH, rename a damaged file; returns its new name, or "". Otherwise raises DamagedFile."""
        if self._begin is Resume.FRESH:
            return self._damage.set_aside(self._now) if self._damage.is_found() else ""
        if self._damage.is_lost():
            path = self.directory / STATE_DB.file
            raise DamagedFile(
                f"{path} is missing or empty, although earlier runs published a sitemap. {fresh_remedy()}"
            )
        return ""

    def _look_for_damage(self, error: BaseException) -> None:
        """Mark a damaged state. Raises DamagedFile for an unexpected error when the state is why."""
        if isinstance(error, DamagedFile):
            self._damage.mark()
        elif isinstance(error, Exception) and not isinstance(error, SiteatlasError):
            self._damage.mark()
            with STATE_DB.used(self.directory / STATE_DB.file):
                found = str(self.db.execute("PRAGMA integrity_check(1)").fetchone()[0])
            if found != "ok":
                text = " ".join(found.split())
                raise DamagedFile(f"the state in {self.directory} is damaged ({text}). {fresh_remedy()}") from error

    def _record_damage(self, aside: str) -> None:
        """Begin the history of a new state. :mod:`crawler.publish.rollback` completes it with the published set."""
        record = Run(
            number=self._damage.last_number() + 1,
            started=self._now,
            ended=self._now,
            version=__version__,
            outcome=ROLLED_BACK,
            refusal=f"the state was lost or is kept as {aside}; the published sitemap is the new baseline",
            exit_code=0,
        )
        with transaction(self.db):
            RunStore(self.db).write(record)
            write_about(self.db, BASELINE_KEY, str(record.number))

    def _begin_or_resume(self) -> None:
        with storage_errors():
            for statement in (*HISTORY_TABLES, *(() if _has_asked(self.db) else ADDED)):
                self.db.execute(statement)
        if self._begin is Resume.FRESH and self.baseline is None:
            forget_pages(self.db)
        runs = RunStore(self.db)
        self.resumed = self._is_begun() and self._has_same_settings()
        if self.resumed:
            with transaction(self.db):
                self.run = runs.begin(self._now, __version__)
                self.unended = self.run.unended
                self._count_try(self.run)
                self.run = replace(self.run, exit_code=None)
                runs.write(self.run)
            return
        previous = runs.last(1)
        with transaction(self.db):
            if previous and previous[0].unended and self._may_resume:  # killed before it had stored a URL
                self._count_try(previous[0])
            self.db.execute("DELETE FROM run WHERE ended IS NULL")
            if self._begin is Resume.NEVER:  # a person knows better than an answer of earlier
                self.db.execute("DELETE FROM about WHERE key GLOB ?", (f"{_PAUSE_KEY}*",))
            self.run = runs.begin(self._now, __version__)
            may_carry = self._carry and previous and not self._changed_settings() and self._has_same_requests()
            if not (may_carry and self._carry and self._carry(self.db, previous[0], self.run)):
                self.db.execute("DELETE FROM visit")
                self.db.execute("UPDATE asked SET cause = '' WHERE cause != ''" if self._carry else "DELETE FROM asked")
            self.db.execute("DELETE FROM listing")
            if previous and previous[0].outcome not in PUBLISHING_OUTCOMES:  # the others have purged
                purge_content(self.db)
            settings = msgspec.json.encode(self._settings, order="deterministic").decode()
            for key, value in {**self._about, "settings": settings}.items():
                write_about(self.db, key, value)

    @property
    def baseline(self) -> int | None:
        """After a damaged state: the number of the run that the published files are still to be recorded with."""
        with storage_errors():
            number = read_about(self.db, BASELINE_KEY)
        return None if number is None else int(number)

    def _count_try(self, run: Run) -> None:
        """Record that this process follows another one of the same run. Part of the caller's transaction."""
        continued = read_continued(partial(read_about, self.db)).and_now(run, self._now)
        for key, value in continued_texts(continued).items():
            write_about(self.db, key, value)

    @property
    def _may_resume(self) -> bool:
        return self._begin in (Resume.ALWAYS, Resume.IF_SAME_SETTINGS)

    def _is_begun(self) -> bool:
        """Whether there is an unfinished run to resume, with at least one URL."""
        if not self._may_resume:
            return False
        with storage_errors():
            unfinished = "SELECT 1 FROM visit WHERE EXISTS (SELECT 1 FROM run WHERE ended IS NULL) LIMIT 1"
            return self.db.execute(unfinished).fetchone() is not None

    def _has_same_settings(self) -> bool:
        """Whether the unfinished run has the same settings. Raises UsageError if not, with Resume.ALWAYS."""
        changed = self._changed_settings()
        if changed and self._begin is Resume.ALWAYS:
            raise UsageError(
                f"an unfinished crawl of this site started with other settings ({', '.join(changed)}). Use the "
                "earlier settings to continue the crawl, or discard the crawl with --restart"
            )
        return not changed

    def _changed_settings(self) -> list[str]:
        """The settings that the previous run had with other values."""
        with storage_errors():
            previous: dict[str, object] = msgspec.json.decode(read_about(self.db, "settings") or "{}")
        current = msgspec.json.decode(msgspec.json.encode(self._settings))
        # settings that an older version did not have had the present defaults
        return sorted(key for key, value in previous.items() if value != current.get(key))

    def _has_same_requests(self) -> bool:
        """Whether the previous run crawled the same site, with the same requests."""
        return all(read_about(self.db, key) == value for key, value in self._about.items())
