"""The loop of a schedule: starts what is due, ends what takes too long, and stores the results."""

import logging
import math
import time
from collections.abc import Callable, Sequence
from typing import Final

import anyio
from anyio.abc import TaskGroup
from msgspec.structs import asdict, replace

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

RECHECK_SECONDS: Final = 30.0  # longest sleep of the loop: clocks are set, and computers sleep
OnAttempt = Callable[[Attempt, float | None], None]
"""Called when an attempt starts, and when it ends with the time of the next attempt, None for never."""

_MIN_SLEEP: Final = 0.001  # seconds: a clock may lag a little behind the time slept


class Scheduler:
    """Runs sites when they are due, as long as :meth:`run` is awaited; on asyncio and on trio.

    ``history`` is open, ``runner`` runs one site, and ``clock`` gives Unix time. Sleeps and run times use a monotonic
    clock. Raises StorageError when the history cannot be read.
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
        self.trouble = ""  # why the history cannot be written; nothing starts until it can
        self._history = history
        self._runner = runner
        self._clock = clock
        self._recheck_seconds = look
        self._queue = RunQueue(settings.max_parallel_runs)
        self._sites: dict[str, ScheduledSite] = {}
        self._stops: dict[int, anyio.Event] = {}  # by the number of the running attempt
        self._unsaved: list[Attempt] = []  # ended attempts that are not stored yet
        self._woken = anyio.Event()
        self._on_attempt: OnAttempt = lambda _attempt, _at: None
        self._is_stopping = False
        self._last_now = self._started = clock()
        self.replace(sites, settings)

    async def run(self, stop: anyio.Event, on_attempt: OnAttempt | None = None) -> None:
        """Keep the schedule until ``stop`` is set; then stop the runs, and return when they have ended.

        ``on_attempt`` is called when an attempt starts and ends. Raises StorageError when results cannot be stored. On
        cancellation the runs are cancelled too, and the next daemon resumes them.
        """
        self._on_attempt = on_attempt or self._on_attempt
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
        """Switch to other sites and ``settings``: sites at once, running attempts stay.

        A running attempt continues unchanged, even when its site is gone. Called in the thread of the event loop.
        Raises StorageError when the history cannot be read, and has then changed nothing.
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
        """The status of all sites. Fields that only the daemon knows (``config…``) keep their defaults."""
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
        """Whether due sites wait for running ones to end."""
        return self._queue.is_overdue(self._clock())

    def last_attempt(self, name: str) -> Attempt | None:
        """The last run of a site that has ended."""
        return self._queue[name].last

    def _now(self) -> float:
        """The time; adjusts the queue first when the clock was set back."""
        previous, self._last_now = self._last_now, self._clock()
        if self._last_now < previous:
            self._queue.reset_clock(self._last_now)
        return self._last_now

    def _begin(self, tasks: TaskGroup) -> None:
        now = self._now()
        while self._save() and (planned := self._queue.next(now)):
            try:
                attempt = self._history.begin(planned, now)
            except StorageError as error:
                self._on_storage_error(error)
                return
            self.trouble = ""
            self._queue.mark_started(attempt)
            stop = self._stops[attempt.number] = anyio.Event()
            tasks.start_soon(self._attempt, self._sites[planned.site], attempt, stop)

    def _idle_seconds(self) -> float:
        """Seconds to sleep."""
        if self.trouble:
            return self._recheck_seconds
        return min(max(self._queue.next_wakeup() - self._clock(), _MIN_SLEEP), self._recheck_seconds)

    async def _stop_when_set(self, stop: anyio.Event) -> None:
        await stop.wait()
        self._is_stopping = True
        self._woken.set()
        for event in self._stops.values():
            event.set()

    async def _attempt(self, site: ScheduledSite, attempt: Attempt, stop: anyio.Event) -> None:
        """Run one attempt whose start is stored."""
        self._on_attempt(attempt, None)
        result = await self._run_site(site, attempt, stop)
        now = self._now()
        ended = replace(attempt, ended=now, **asdict(result))
        self._unsaved.append(ended)
        self._save()
        self._queue.mark_ended(ended, now)
        del self._stops[attempt.number]
        self._on_attempt(ended, self._next_at(site.name))
        self._woken.set()

    def _next_at(self, name: str) -> float | None:
        """When the next attempt of a site starts."""
        at = self._queue[name].at if name in self._queue and not self._is_stopping else math.inf
        return at if math.isfinite(at) else None

    async def _run_site(self, site: ScheduledSite, attempt: Attempt, stop: anyio.Event) -> RunResult:
        limit = site.config.schedule.run_timeout
        is_overlong = False

        async def stop_after_timeout() -> None:
            nonlocal is_overlong
            await anyio.sleep(limit)
            is_overlong = not stop.is_set()
            stop.set()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(stop_after_timeout)
            try:
                result = await self._runner.run(site, attempt, stop)
            except Exception as error:  # the other runs and the daemon continue
                log.exception('the run of "%s" could not be started', site.name)
                result = RunResult(exit_code=1, status=RunStatus.FAILED, message=f"internal error: {error!r}")
            if result.status is RunStatus.STOPPED and is_overlong:
                text = (
                    f"it took longer than schedule.run_timeout ({limit:,g} s) and was stopped; the next run "
                    f"continues it"
                )
                result = replace(result, status=RunStatus.FAILED, outcome="overlong", message=text, notify_pending=True)
            elif result.status is RunStatus.STOPPED and not stop.is_set():  # a signal from outside ended it
                result = replace(result, status=RunStatus.FAILED, notify_pending=True)
            tasks.cancel_scope.cancel()
        return result

    def _save(self) -> bool:
        """Store ended attempts and handled times that are not stored yet. Returns whether that worked."""
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
