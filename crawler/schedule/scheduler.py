"""The loop of a schedule: begins what is due, ends what takes too long, and writes down what became of it."""

import logging
import math
import time
from collections.abc import Callable, Sequence
from typing import Final

import anyio
from anyio.abc import TaskGroup
from msgspec.structs import replace

from crawler.config.sections import DaemonConfig
from crawler.errors import StorageError
from crawler.schedule.history import History
from crawler.schedule.process import SiteRunner
from crawler.schedule.queue import RunQueue
from crawler.schedule.site import ScheduledSite
from crawler.schedule.site_state import Attempt
from crawler.schedule.status import ScheduleStatus, load_history, site_schedule, sites_status
from crawler.state.runs import RunResult, RunStatus
from crawler.version import __version__

log = logging.getLogger(__name__)

RECHECK_SECONDS: Final = 30.0  # seconds that the loop sleeps at most: clocks are set, and computers sleep
OnAttempt = Callable[[Attempt, float | None], None]
"""Is told each attempt that has begun, and again when it has ended; when the next begins then, None for never."""

_MIN_SLEEP: Final = 0.001  # seconds: a clock may be a little behind the time that was slept


class Scheduler:
    """Runs sites when they are due, as long as :meth:`run` is awaited; on asyncio and on trio.

    ``history`` is open, ``runner`` runs one site, and ``clock`` gives Unix time. Only how long the loop sleeps and a
    run takes goes by another clock, which nobody sets. Raises StorageError when the history cannot be read.
    """

    def __init__(
        self,
        sites: Sequence[ScheduledSite],
        history: History,
        runner: SiteRunner,
        settings: DaemonConfig,
        clock: Callable[[], float] = time.time,
        *,
        look: float = RECHECK_SECONDS,
    ) -> None:
        self.trouble = ""  # why the history cannot be written; nothing is begun as long as it cannot
        self._history = history
        self._runner = runner
        self._clock = clock
        self._look = look
        self._queue = RunQueue(settings.max_parallel_runs)
        self._sites: dict[str, ScheduledSite] = {}
        self._stops: dict[int, anyio.Event] = {}  # of the attempts that are going on
        self._unsaved: list[Attempt] = []  # that have ended
        self._woken = anyio.Event()
        self._on_attempt: OnAttempt = lambda _attempt, _at: None
        self._is_stopping = False
        self._seen = self._started = clock()
        self.replace(sites, settings)

    async def run(self, stop: anyio.Event, heard: OnAttempt | None = None) -> None:
        """Keep the schedule until ``stop`` is set; then stop the runs, and return when they have ended.

        ``heard`` is told what begins and how it ended.
        Raises StorageError when what became of them cannot be written down. When this is cancelled the runs are too,
        and the next daemon goes on with them.
        """
        self._on_attempt = heard or self._on_attempt
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._stop_when_set, stop)
            while not stop.is_set():
                self._woken = anyio.Event()
                self._begin(tasks)
                with anyio.move_on_after(self._idle_seconds()):
                    await self._woken.wait()
        if not self._save():
            raise StorageError(self.trouble)

    def replace(self, sites: Sequence[ScheduledSite], settings: DaemonConfig | None = None) -> None:
        """Go on with other sites, and other ``settings`` of those that the loop knows: sites at once, attempts kept.

        A run that is going on goes on as it was begun, also when its site is no longer there. Called in the thread of
        the event loop. Raises StorageError when the history cannot be read, and has then changed nothing.
        """
        now = self._now()
        try:
            for site in sites:
                if site.name not in self._queue:
                    load_history(self._queue, site, self._history, now)
        except StorageError:
            self._queue.replace([site_schedule(site) for site in self._sites.values()], now)
            raise
        self._sites = {site.name: site for site in sites}
        self._queue.replace([site_schedule(site) for site in sites], now)
        if settings:
            self._queue.max_running, self._history.keep = settings.max_parallel_runs, settings.history_limit
        self._save()
        self._woken.set()

    def status(self) -> ScheduleStatus:
        """How all sites stand now. What only the daemon knows (``config…``) is left at its default."""
        now = self._clock()
        return ScheduleStatus(
            version=__version__,
            now=now,
            sites=sites_status(self._sites.values(), self._queue, now),
            trouble=self.trouble,
            started=self._started,
            is_alive=True,
            is_stopping=self._is_stopping,
        )

    def is_overdue(self) -> bool:
        """Whether sites are due that wait for others to be done."""
        return self._queue.is_overdue(self._clock())

    def last_attempt(self, name: str) -> Attempt | None:
        """The last run of a site that has ended."""
        return self._queue[name].last

    def _now(self) -> float:
        """The time; all that depends on it is put right first when the clock was set back."""
        before, self._seen = self._seen, self._clock()
        if self._seen < before:
            self._queue.reset_clock(self._seen)
        return self._seen

    def _begin(self, tasks: TaskGroup) -> None:
        now = self._now()
        while self._save() and (start := self._queue.next(now)):
            try:
                attempt = self._history.begin(start, now)
            except StorageError as error:
                self._on_storage_error(error)
                return
            self.trouble = ""
            self._queue.mark_started(attempt)
            stop = self._stops[attempt.number] = anyio.Event()
            tasks.start_soon(self._attempt, self._sites[start.site], attempt, stop)

    def _idle_seconds(self) -> float:
        """How long there is nothing to do, in seconds."""
        longest = self._look
        return (
            longest
            if self.trouble
            else min(max(self._queue.next_wakeup() - self._clock(), _MIN_SLEEP), longest)
        )

    async def _stop_when_set(self, stop: anyio.Event) -> None:
        await stop.wait()
        self._is_stopping = True
        self._woken.set()
        for each in self._stops.values():
            each.set()

    async def _attempt(self, site: ScheduledSite, attempt: Attempt, stop: anyio.Event) -> None:
        """One attempt, from when it was written down that it begins."""
        self._on_attempt(attempt, None)
        said = await self._ended(site, attempt, stop)
        now = self._now()
        ended = replace(
            attempt,
            ended=now,
            fate=said.fate,
            exit_code=said.exit_code,
            run=said.run,
            outcome=said.outcome,
            told=said.told,
            untold=said.untold,
        )
        self._unsaved.append(ended)
        self._save()
        self._queue.mark_ended(ended, now)
        del self._stops[attempt.number]
        self._on_attempt(ended, self._next_at(site.name))
        self._woken.set()

    def _next_at(self, name: str) -> float | None:
        """When something is done next for a site."""
        at = self._queue[name].at if name in self._queue and not self._is_stopping else math.inf
        return at if math.isfinite(at) else None

    async def _ended(self, site: ScheduledSite, attempt: Attempt, stop: anyio.Event) -> RunResult:
        longest = site.config.schedule.run_timeout
        is_overlong = False

        async def end_in_time() -> None:
            nonlocal is_overlong
            await anyio.sleep(longest)
            is_overlong = not stop.is_set()
            stop.set()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(end_in_time)
            try:
                ended = await self._runner.run(site, attempt, stop)
            except Exception as error:  # of one run; the others and the daemon go on
                log.exception('the run of "%s" could not be made', site.name)
                ended = RunResult(exit_code=1, fate=RunStatus.FAILED, told=f"internal error: {error!r}")
            if ended.fate is RunStatus.STOPPED and is_overlong:
                told = f"it took longer than schedule.run_timeout, {longest:,g} s, and was ended; the next run goes on"
                ended = replace(ended, fate=RunStatus.FAILED, outcome="overlong", told=told, untold=True)
            elif ended.fate is RunStatus.STOPPED and not stop.is_set():  # somebody else has ended it
                ended = replace(ended, fate=RunStatus.FAILED, untold=True)
            tasks.cancel_scope.cancel()
        return ended

    def _save(self) -> bool:
        """Write down what is not yet: what has ended, and up to when sites are handled. Whether that could be done."""
        try:
            while self._unsaved:
                self._history.end(self._unsaved[0])
                del self._unsaved[0]
                self.trouble = ""
            while self._queue.changed:
                name = next(iter(self._queue.changed))
                self._history.store_handled(name, self._queue[name].handled)
                self._queue.changed.discard(name)
                self.trouble = ""
        except StorageError as error:
            self._on_storage_error(error)
            return False
        return True

    def _on_storage_error(self, error: StorageError) -> None:
        if self.trouble != str(error):
            log.error("%s", error)
        self.trouble = str(error)
