"""What the state of each site says, and its condition: a word, a sentence, and whether a person should look at it.

Snapshots are cached as long as they are current: many readers of a page share one read.
"""

import asyncio
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Final, TypeVar

import anyio
import anyio.to_thread
import msgspec
from msgspec import Struct
from msgspec.structs import replace

from crawler.audit.compare import history
from crawler.audit.compare.history import AuditStatus
from crawler.config.plan import AUDIT
from crawler.errors import SiteatlasError
from crawler.notify.ledger import LEDGER_DB, SubmissionStatus
from crawler.notify.ledger_status import ChannelStatus, NotifyStatus, notify_status
from crawler.publish.change_feed import ChangeFeed
from crawler.publish.changes import Change
from crawler.schedule.site_state import Attempt
from crawler.schedule.status import SiteStatus, failures_text
from crawler.state.runs import DRY, PUBLISHING_OUTCOMES, PublishedFile, Run, RunStatus, RunStore, RunTotals
from crawler.state.schema import STATE_DB
from crawler.state.status import StateStatus, state_status
from crawler.units import count_text

MAX_RUNS: Final = 30  # of each site on its page
PAUSE_FACTOR: Final = 10  # times as long as a read takes, before the next read: a run writes all the time
_THREADS: Final = 4  # that read at the same time
_Signature = tuple[tuple[int, int], ...]
T = TypeVar("T")


class SiteSnapshot(Struct, frozen=True, kw_only=True):
    """The state of a site when it was read last. Without ``standing`` and ``error`` the site has not been run.

    ``error`` says why the state cannot be read now; ``standing`` and ``audit`` are then the last that could be read.
    ``notifications`` are those of the ledger, None: there is no ledger that can be read. ``audit_totals`` are those of
    all audits that have ended, by their result.
    """

    standing: StateStatus | None = None
    notifications: NotifyStatus | None = None
    audit: AuditStatus = AuditStatus()
    audit_totals: dict[str, RunTotals] = {}
    error: str = ""

    @property
    def channels(self) -> tuple[ChannelStatus, ...]:
        """The channels that the ledger knows."""
        return self.notifications.channels if self.notifications else ()

    @property
    def search_console(self) -> SubmissionStatus | None:
        """The last answer of Search Console about the sitemap."""
        return next((channel.reading for channel in self.channels if channel.reading), None)

    @property
    def refused(self) -> tuple[str, ...]:
        """A sentence for each message that a channel refused."""
        return self.notifications.refused if self.notifications else ()

    @property
    def runs(self) -> list[Run]:
        """The last runs, the newest first."""
        return self.standing.runs if self.standing else []

    @property
    def ended(self) -> list[Run]:
        """The runs that have ended, but for dry runs, the newest first."""
        return [run for run in self.runs if run.ended is not None and run.outcome != DRY]

    @property
    def last_ended(self) -> Run | None:
        """The newest of them."""
        return next(iter(self.ended), None)

    @property
    def last_tried(self) -> Run | None:
        """The newest run that has ended or was cut short, but for dry runs."""
        tried = (run for run in self.runs if run.outcome != DRY and not (run.is_open and run.exit_code is None))
        return next(tried, None)

    @property
    def last_good(self) -> Run | None:
        """The last run that succeeded: all of its result is where it belongs."""
        return self.standing.succeeded if self.standing else None

    @property
    def files(self) -> list[PublishedFile]:
        """The published files."""
        published = self.standing.published if self.standing else None
        return published.files if published else []

    @property
    def names(self) -> frozenset[str]:
        """The names of these, and of the files before them: readers of an old index may ask for those."""
        published = self.standing.published if self.standing else None
        runs = [*self.runs, *([published] if published else [])]
        return frozenset(file.name for run in runs for file in (*run.files, *run.other_formats))


class _Entry(Struct, frozen=True):
    snapshot: SiteSnapshot
    signature: _Signature
    until: float


class StatusCache:
    """Reads states, in threads. A damaged state is not an error here: its snapshot says so."""

    def __init__(self) -> None:
        self._entries: dict[Path, _Entry] = {}
        self._lock = anyio.Lock()
        self._reading: asyncio.Future[Mapping[str, SiteSnapshot]] | None = None
        self._threads = anyio.CapacityLimiter(_THREADS)

    async def snapshots(self, sites: Iterable[SiteStatus]) -> Mapping[str, SiteSnapshot]:
        """The snapshots of these sites, by name."""
        states = {site.name: site.state for site in sites}
        async with self._lock:  # requests that come meanwhile get what this one reads
            await self.run_blocking(self._refresh, frozenset(states.values()))
            return {name: self._entries[state].snapshot for name, state in states.items()}

    async def recent(self, sites: Iterable[SiteStatus], seconds: float) -> Mapping[str, SiteSnapshot]:
        """The same, or what was read last if the states cannot be read in so many ``seconds``."""
        if self._reading is None or self._reading.done():
            self._reading = asyncio.ensure_future(self.snapshots(tuple(sites)))
        await asyncio.wait({self._reading}, timeout=seconds)
        return {site.name: self._entries[site.state].snapshot for site in sites if site.state in self._entries}

    async def run_blocking(self, work: "Callable[..., T]", *values: object) -> T:
        """The result of a function that blocks."""
        return await anyio.to_thread.run_sync(work, *values, limiter=self._threads)

    def _refresh(self, states: frozenset[Path]) -> None:
        for state in states:
            entry, signature, begun = self._entries.get(state), _signature(state), time.monotonic()
            if entry and (entry.signature == signature or begun < entry.until):
                continue
            snapshot = read_snapshot(state, entry.snapshot if entry else SiteSnapshot())
            ended = time.monotonic()
            self._entries[state] = _Entry(snapshot, signature, ended + PAUSE_FACTOR * (ended - begun))


def changes_of(state: Path, run: int, limit: int) -> list[Change]:
    """The changes of a run: the first ``limit`` of each kind. Raises StorageError, UsageError."""
    with STATE_DB.reading(state) as db:
        return list(ChangeFeed(db).first(run, limit))


def query_runs(state: Path, query: Callable[[RunStore], T]) -> T:
    """What the records of all runs answer to ``query``. Raises the READ_ERRORS."""
    with STATE_DB.reading(state) as db:
        return query(RunStore(db))


READ_ERRORS: Final = (
    SiteatlasError, sqlite3.Error, OSError, ValueError, LookupError, ArithmeticError, msgspec.MsgspecError,
)  # fmt: skip
"""What reading a damaged or foreign state raises."""


def reason_of(error: BaseException) -> str:
    """Why a state cannot be read, in one sentence."""
    if isinstance(error, PermissionError):
        return f"this account cannot read {error.filename}: run siteatlas as the account that owns it"
    return str(error) if isinstance(error, SiteatlasError) else f"its state is damaged: {error}"


def read_snapshot(state: Path, before: SiteSnapshot, runs: int = MAX_RUNS) -> SiteSnapshot:
    """The state of a site with its last ``runs``; what cannot be read is that of the snapshot ``before``."""
    audit, totals = _audits(state, before)
    known = replace(before, notifications=_notifications(state), audit=audit, audit_totals=totals, error="")
    try:
        return replace(known, standing=state_status(state, runs) if (state / STATE_DB.file).is_file() else None)
    except READ_ERRORS as error:
        return replace(known, error=reason_of(error))


def _audits(state: Path, before: SiteSnapshot) -> tuple[AuditStatus, dict[str, RunTotals]]:
    directory = state / AUDIT
    try:
        totals = query_runs(directory, RunStore.totals) if STATE_DB.is_in(directory) else {}
        return history.audit_status(directory), totals
    except READ_ERRORS:  # the next audit says why
        return before.audit, before.audit_totals


def _notifications(state: Path) -> NotifyStatus | None:
    try:
        return notify_status(state, 0) if (state / LEDGER_DB.file).is_file() else None
    except READ_ERRORS:  # the page of the site says why
        return None


def _signature(state: Path) -> _Signature:
    """What changes when a run, a notification or an audit changes the state."""
    audit = state / AUDIT
    files = (
        state / STATE_DB.file,
        state / LEDGER_DB.file,
        audit / STATE_DB.file,
        audit / history.AUDIT_HISTORY_DB.file,
    )
    return tuple(_stamp(Path(f"{file}{end}")) for file in files for end in ("", "-wal"))


def _stamp(file: Path) -> tuple[int, int]:
    try:
        facts = file.stat()
    except OSError:
        return 0, 0
    return facts.st_mtime_ns, facts.st_size


class Tone(StrEnum):
    """How urgent a condition is, the most urgent first; also the name of its CSS class."""

    ERROR = "error"
    WARNING = "warning"
    RUNNING = "running"
    GOOD = "good"
    QUIET = "quiet"


URGENT: Final = (Tone.ERROR, Tone.WARNING)


class Condition(Struct, frozen=True):
    """A word for the state of a site, and the reason: "" or a sentence, which may quote what strangers wrote."""

    tone: Tone
    word: str
    reason: str = ""

    @property
    def sentence(self) -> str:
        """The word and the reason."""
        return f"{self.word}: {self.reason}" if self.reason else self.word


def is_by_hand(site: SiteStatus, run: Run | None) -> bool:
    """Whether somebody did this run by hand after the last attempt of the daemon."""
    attempt = site.last
    return run is not None and (
        attempt is None or (run.number != attempt.run and (run.ended or 0.0) > (attempt.ended or 0.0))
    )


def settled(site: SiteStatus, snapshot: SiteSnapshot) -> SiteStatus:
    """The status of a site without the failures before a good run by hand."""
    return replace(site, failures=0, last=None) if is_by_hand(site, snapshot.last_good) else site


def condition(site: SiteStatus | None, snapshot: SiteSnapshot) -> Condition:
    """The most urgent condition of a site; ``site`` is its status in a schedule, None without one."""
    now = settled(site, snapshot) if site else None
    failed = failure(now.last, now.failures) if now else None
    if failed is None and snapshot.error:
        failed = Condition(Tone.ERROR, "unreadable", snapshot.error)
    return failed or next(_warnings(site, snapshot), None) or _quiet_badge(site, snapshot)


def _warnings(site: SiteStatus | None, snapshot: SiteSnapshot) -> Iterator[Condition]:
    if ended := snapshot.last_tried:
        yield from _run_warning(ended)
    if snapshot.standing and snapshot.standing.unended:
        yield Condition(Tone.WARNING, "interrupted", snapshot.standing.unended)
    if snapshot.standing and (deleted := snapshot.standing.deleted):
        yield Condition(Tone.WARNING, "sitemap deleted", deleted)
    if snapshot.standing and snapshot.standing.robots:
        yield Condition(Tone.WARNING, "robots.txt fails", snapshot.standing.robots)
    if pending := notify_pending(site, snapshot):
        yield Condition(Tone.WARNING, "not notified", pending)
    if snapshot.refused:
        others = len(snapshot.refused) - 1
        more = f" (and {count_text(others, 'other refusal')})" if others else ""
        yield Condition(Tone.WARNING, "message refused", f"{snapshot.refused[0]}{more}")
    if snapshot.audit.trouble:
        yield Condition(Tone.WARNING, "audit failed", snapshot.audit.trouble)
    if (reading := snapshot.search_console) and reading.errors:
        yield Condition(Tone.WARNING, "sitemap errors", f"{reading.channel}: {reading.sentence}")
    if snapshot.audit.errors:
        found = count_text(snapshot.audit.errors, "error")
        yield Condition(Tone.WARNING, "audit errors", f"the last audit found {found} on the site")


def _run_warning(ended: Run) -> Iterator[Condition]:
    if ended.has_held:
        yield Condition(Tone.WARNING, "held", ended.refusal)
    elif ended.exit_code and ended.outcome in PUBLISHING_OUTCOMES:
        yield Condition(Tone.ERROR, "not uploaded", ended.reason)
    elif ended.exit_code and ended.refusal:
        yield Condition(Tone.ERROR, "refused" if ended.outcome == "refused" else "failed", ended.refusal)


def failure(last: Attempt | None, failures: int) -> Condition | None:
    """The condition of a site whose ``last`` attempt failed, after so many ``failures`` in a row; else None."""
    if last is not None and last.status is RunStatus.BROKEN:
        return Condition(Tone.ERROR, "action needed", last.message)
    if not failures:
        return None
    reason = f": {last.message}" if last and last.message else ""
    return Condition(Tone.ERROR, "failing", f"{failures_text(last, failures)}{reason}")


def notify_pending(site: SiteStatus | None, snapshot: SiteSnapshot) -> str:
    """Which notification is not delivered yet, or "".

    The ledger knows; without a ledger, the last run that the schedule started.
    """
    if snapshot.notifications is not None:
        return next(iter(snapshot.notifications.pending), "")
    if site is None or site.last is None or not site.last.notify_pending:
        return ""
    return "notifications of the last changes are not delivered yet; the daemon tries again"


def _quiet_badge(site: SiteStatus | None, snapshot: SiteSnapshot) -> Condition:
    """The condition of a site that is not in trouble."""
    standing, ended = snapshot.standing, snapshot.last_ended
    is_scheduled_run = bool(site and site.running_since is not None)
    if is_scheduled_run or (standing and standing.holder):
        reason = standing.progress if standing else ""
        if site and not is_scheduled_run:
            reason = f"started by another process; {reason}".removesuffix("; ")
        return Condition(Tone.RUNNING, "running", reason)
    if standing and standing.unfinished:
        return Condition(Tone.QUIET, "interrupted", standing.unfinished.reason or "the next run resumes it")
    if not snapshot.runs:
        return Condition(Tone.QUIET, "not run yet")
    if standing and not standing.published:
        return Condition(Tone.QUIET, "not published", "these runs have published nothing")
    reason = ended.refusal or (ended.reason if ended.exit_code else "") if ended else ""
    return Condition(Tone.GOOD, "healthy", reason)
