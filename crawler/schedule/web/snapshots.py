"""What the states of all sites tell, kept while it is true: many who look at a page do not read the disk each."""

import sqlite3
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Final, TypeVar

import anyio
import anyio.to_thread
import msgspec
from msgspec import Struct
from msgspec.structs import replace

from crawler.audit.compare import history
from crawler.audit.compare.history import AuditStanding
from crawler.config.plan import AUDIT
from crawler.errors import SiteatlasError
from crawler.notify.ledger import LEDGER, Reading
from crawler.notify.ledger_status import Told
from crawler.notify.ledger_status import told as told_of
from crawler.publish.change_feed import Changes
from crawler.publish.changes import Change
from crawler.schedule.status import SiteBoard
from crawler.state.migrations import STATE
from crawler.state.runs import PUBLISHING, PublishedFile, Run, Runs
from crawler.state.status import Standing, standing

RUNS: Final = 30  # that are told of each site
REST: Final = 10  # times as long as a look takes, none is taken: a run writes all the time
_THREADS: Final = 4  # that read at the same time
_Signature = tuple[tuple[int, int], ...]
T = TypeVar("T")


class Look(Struct, frozen=True, kw_only=True):
    """How a site stood when it was looked at; neither: it was never run. ``error`` says why it cannot be told.

    With an error ``standing`` is the last that could be read. ``google`` is what Google said last of the sitemap, and
    ``untold`` what others could not be told yet, "" for nothing, None when there is no ledger that says so. ``audit``
    is how its audits stood when they could be read last.
    """

    standing: Standing | None = None
    google: Reading | None = None
    untold: str | None = None
    audit: AuditStanding = AuditStanding()
    error: str = ""

    @property
    def runs(self) -> list[Run]:
        """The last runs, the newest first."""
        return self.standing.runs if self.standing else []

    @property
    def ended(self) -> Run | None:
        """The last run that came to an end."""
        return next((run for run in self.runs if run.ended is not None), None)

    @property
    def good(self) -> Run | None:
        """The last run after which what it found was out there."""
        published = self.standing.published if self.standing else None
        return next((run for run in self.runs if run.outcome in PUBLISHING), published)

    @property
    def files(self) -> list[PublishedFile]:
        """The files that are published."""
        published = self.standing.published if self.standing else None
        return published.files if published else []

    @property
    def names(self) -> frozenset[str]:
        """The names of these, and of those before them that readers of an old index may ask for."""
        return frozenset(file.name for run in self.runs for file in run.files) | {
            file.name for file in self.files
        }


class _Kept(Struct, frozen=True):
    look: Look
    signature: _Signature
    until: float


class Looks:
    """Looks at states, in threads. Never raises for what a state is like."""

    def __init__(self) -> None:
        self._kept: dict[Path, _Kept] = {}
        self._lock = anyio.Lock()
        self._threads = anyio.CapacityLimiter(_THREADS)

    async def of(self, sites: Iterable[SiteBoard]) -> Mapping[str, Look]:
        """How these sites stand, by their names."""
        states = {site.name: site.state for site in sites}
        async with self._lock:  # who comes meanwhile has what this one reads
            await self.run(self._look, frozenset(states.values()))
            return {name: self._kept[state].look for name, state in states.items()}

    async def run(self, work: "Callable[..., T]", *values: object) -> T:
        """The answer of something that blocks."""
        return await anyio.to_thread.run_sync(work, *values, limiter=self._threads)

    def _look(self, states: frozenset[Path]) -> None:
        for state in states:
            kept, signature, begun = self._kept.get(state), _signature(state), time.monotonic()
            if kept and (kept.signature == signature or begun < kept.until):
                continue
            found = _look(state, kept.look if kept else Look())
            ended = time.monotonic()
            self._kept[state] = _Kept(found, signature, ended + REST * (ended - begun))


def feed(state: Path, run: int, limit: int) -> list[Change]:
    """What a run changed: the first ``limit`` of each kind. Raises StorageError, UsageError."""
    with STATE.reading(state) as db:
        return list(Changes(db).first(run, limit))


def recorded(state: Path, ask: Callable[[Runs], T]) -> T:
    """What the records of all runs answer. Raises what :func:`told` takes."""
    with STATE.reading(state) as db:
        return ask(Runs(db))


FAULTS: Final = (
    SiteatlasError, sqlite3.Error, OSError, ValueError, LookupError, ArithmeticError, msgspec.MsgspecError,
)  # fmt: skip
"""What is raised by a state that is no longer, not yet or never was one of ours."""


def told(error: BaseException) -> str:
    """Why a state cannot be read, in one sentence."""
    return str(error) if isinstance(error, SiteatlasError) else f"its state is damaged: {error}"


def _look(state: Path, before: Look) -> Look:
    said = _said(state)
    google = next((each.reading for each in said.channels if each.reading), None) if said else None
    untold = _untold(said) if said else None
    audit = _audits(state, before)
    try:
        found = standing(state, RUNS) if (state / STATE.file).is_file() else None
        return Look(standing=found, google=google, untold=untold, audit=audit)
    except FAULTS as error:
        return replace(before, error=told(error), google=google, untold=untold, audit=audit)


def _audits(state: Path, before: Look) -> AuditStanding:
    try:
        return history.standing(state / AUDIT)
    except FAULTS:  # the next audit says why
        return before.audit


def _said(state: Path) -> Told | None:
    try:
        return told_of(state, 0) if (state / LEDGER.file).is_file() else None
    except FAULTS:  # the page of the site says why
        return None


def _untold(said: Told) -> str:
    first = ((channel.key, each) for channel in said.channels for each in channel.outstanding)
    return next((f"{key} could not be told yet {each}" for key, each in first), "")


def _signature(state: Path) -> _Signature:
    """What changes when the state does, or what others were told, or an audit."""
    audit = state / AUDIT
    files = (state / STATE.file, state / LEDGER.file, audit / STATE.file, audit / history.AUDITS.file)
    return tuple(_stamp(Path(f"{file}{end}")) for file in files for end in ("", "-wal"))


def _stamp(file: Path) -> tuple[int, int]:
    try:
        found = file.stat()
    except OSError:
        return 0, 0
    return found.st_mtime_ns, found.st_size
