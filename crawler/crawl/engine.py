"""The crawl engine: leases URLs from the frontier to workers as the throttle allows, and decides when to stop.

::

    frontier.next | no request? settle | throttle.start | worker.process | frontier.settle
    └─────────────── one dispatcher ──────────────────┘  └─ one task for each lease ────┘
"""

import asyncio
import logging
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final

import anyio

from crawler.crawl.bottleneck import Bottlenecks, CrawlLook, CrawlStage, bounding_stage
from crawler.crawl.error_budget import ErrorBudget
from crawler.crawl.frontier.sqlite import SqliteFrontier
from crawler.crawl.worker import PageWorker
from crawler.errors import SiteatlasError, StorageError
from crawler.fetch.retry import FAILURES, is_failure
from crawler.fetch.throttle import Throttle
from crawler.model import DiscoveredBy, Done, Lease, Outcome, Retry, State, Verdict, Wait
from crawler.units import span
from crawler.url.normalize import origin_of

log = logging.getLogger(__name__)
WAITS: Final = logging.getLogger(f"{__name__}.waits")
"""For waits in a crawl that goes on: a quiet command disables it. How the run ends is told anyway."""
TICK_SECONDS = 0.1  # between updates of the display, commits and checks of the limits
COMMIT_EVERY = 0.2  # seconds until an outcome is durable
RECHECK_SECONDS = 60.0  # the longest wait until the dispatcher calls the frontier again
SHORT_WAIT = 2.0  # seconds of a wait that nobody needs to hear of
STOP_GRACE = 3.0  # seconds for requests in flight to end when the crawl stops


class FinishReason(StrEnum):
    """Why a crawl outcome, as the end of a sentence."""

    COMPLETE = "everything was visited"
    MAX_PAGES = "the limit of pages (--max-pages) was reached"
    MAX_STATE = "the state of the site reached its maximum size (raise state.max_size)"
    MAX_TIME = "the limit of time (scope.max_time) was reached"
    INTERRUPTED = "it was interrupted"
    SITE_DOWN = "the site is down"
    PARKED = "the site requested a long pause"
    TROUBLED = "failed requests and the waits after them take too long in total (pace.max_error_time)"


@dataclass(frozen=True, slots=True)
class CrawlLimits:
    """The limits of a run: pages fetched; seconds of the whole run, of one Retry-After, and lost to server errors.

    ``max_state`` is in bytes.
    """

    max_pages: int | None = None
    max_time: float | None = None
    max_retry_after: float = 3600.0
    max_error_time: float = 900.0
    max_state: int | None = None

    def why_too_long(self, seconds: float) -> str:
        """Until when a requested pause lasts, the limit that it exceeds, and what ends it; "" if it exceeds none."""
        if seconds <= min(self.max_retry_after, self.max_error_time):
            return ""
        key = "max_retry_after" if seconds > self.max_retry_after else "max_error_time"
        until = datetime.fromtimestamp(time.time() + seconds, UTC)
        return f"until {until:%Y-%m-%d %H:%M} UTC, longer than pace.{key} allows (--restart does not wait)"


@dataclass(slots=True)
class Tally:
    """Progress of a crawl. ``known`` counts the URLs in scope, ``done`` those of them that are settled.

    ``rendered`` counts the pages that are read as a browser shows them. ``bound_by`` has the share of the time that
    each stage bounded the crawl, the largest first.
    """

    known: int = 0
    done: int = 0
    listed: int = 0
    failed: int = 0
    fetched: int = 0
    rendered: int = 0
    unchanged: int = 0
    bytes: int = 0
    internal_errors: int = 0
    paused: str = ""
    seconds: float = 0.0
    bound_by: dict[str, float] = field(default_factory=dict)


Watch = Callable[[Tally], None]
RejectStart = Callable[[Outcome], SiteatlasError | None]
"""Judges the outcome of the start URL: an error ends the crawl."""


class CrawlEngine:
    """Runs one crawl to its end. Calls ``watch`` with the tally every tick.

    When nothing is left, it calls ``more``, which may admit more URLs, until that returns False. ``reject`` judges the
    start URL: with an error, the crawl ends before the start URL is settled, and ``rejection`` is the error.
    """

    def __init__(  # noqa: PLR0913 - the last two have a default
        self,
        frontier: SqliteFrontier,
        worker: PageWorker,
        throttle: Throttle,
        limits: CrawlLimits,
        watch: Watch,
        more: Callable[[], bool] | None = None,
        reject: RejectStart | None = None,
    ) -> None:
        self._frontier = frontier
        self._more = more
        self._reject = reject
        self.rejection: SiteatlasError | None = None
        self._worker = worker
        self._throttle = throttle
        self._limits = limits
        self._watch = watch
        self._slots = throttle.capacity
        self._out = 0
        self._leased = 0
        self._leases: asyncio.Queue[Lease] = asyncio.Queue()  # not yet taken by a task
        self._changed = asyncio.Event()
        self._is_paced = False
        self._bottlenecks = Bottlenecks()
        self._ending: FinishReason | None = None
        self._fatal: StorageError | None = None
        self._started = time.monotonic()
        self._error_budget = ErrorBudget(limits.max_error_time, self._started)
        self._told_until = 0.0  # the end of the last wait that the log tells, Unix time
        self._unanswered: defaultdict[str, list[Lease]] = defaultdict(list)  # by origin, since its last response
        self.tally = Tally()

    def stop(self, ending: FinishReason) -> None:
        """Lease no more URLs, and end for this reason."""
        if self._ending is None:
            self._ending = ending
        self._wake()

    @property
    def stopping(self) -> bool:
        """Whether the crawl is to end."""
        return self._ending is not None

    async def run(self) -> FinishReason:
        """Crawl until nothing is left, a limit is reached or :meth:`stop` is called. Raises StorageError."""
        self._started = time.monotonic()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._tick)
            for _ in range(self._slots):  # a task for each page would cost a twentieth of the whole crawl
                tasks.start_soon(self._work)
            await self._dispatch()
            with anyio.move_on_after(STOP_GRACE):
                while self._out:
                    await self._change()
            tasks.cancel_scope.cancel()
        if self._fatal:
            raise self._fatal
        self._frontier.commit()
        self._count()
        self._watch(self.tally)
        return self._ending or FinishReason.COMPLETE

    async def _dispatch(self) -> None:
        while self._ending is None:
            if self._out >= self._slots:
                await self._change()
                continue
            now = self._throttle.clock()
            try:
                answer = self._next(now)
            except StorageError as error:
                self._stop_on_storage_error(error)
                return
            match answer:
                case Done():
                    return
                case Wait(seconds):
                    await self._pause(seconds)
                case Lease() as lease:
                    await self._start(lease, now)

    def _next(self, now: float) -> Lease | Wait | Done:
        # one section of the site may fail while the rest works: then try another part
        far = bool(self._error_budget.last_error) and self._throttle.is_asked_in_vain()
        answer = self._frontier.next(now, self._throttle.seconds_until_ready, far=far)
        if isinstance(answer, Done) and self._more:
            if not self._more():
                self._more = None
            answer = self._frontier.next(now, self._throttle.seconds_until_ready)
        return answer

    async def _start(self, lease: Lease, now: float) -> None:
        try:
            outcome = self._worker.without_request(lease, now)
        except StorageError as error:
            self._stop_on_storage_error(error)
            return
        if outcome:
            self._settle(outcome)
            await anyio.lowlevel.checkpoint()
            return
        self._throttle.start(lease.url, now)
        self._out += 1
        self._leased += 1
        self._leases.put_nowait(lease)
        if self._limits.max_pages and self._leased >= self._limits.max_pages:
            # the limit ends the crawl only when more is left, which the last pages may decide
            await self._wait_for_leases()
            if not isinstance(self._next(self._throttle.clock()), Done):
                self.stop(FinishReason.MAX_PAGES)

    async def _wait_for_leases(self) -> None:
        while self._out and self._ending is None:
            await self._change()

    async def _pause(self, seconds: float) -> None:
        if self._out == 0:
            # when some pages succeed, the site is not down: the others that fail only cost time
            if self._throttle.are_all_down() and not (self.tally.listed and self._throttle.is_asked_in_vain()):
                return self.stop(FinishReason.SITE_DOWN)
            if self._throttle.has_retry_after(self._throttle.clock()) and self._limits.why_too_long(seconds):
                return self.stop(FinishReason.PARKED)
            if self._error_budget.is_spent(time.monotonic(), seconds):
                return self._stop_on_errors()
            if seconds > SHORT_WAIT:
                self.tally.paused = self._pause_text(seconds)
        self._is_paced = self._throttle.holds_back(self._throttle.clock())
        with anyio.move_on_after(min(seconds, RECHECK_SECONDS)):
            await self._change()
        self._is_paced = False
        self.tally.paused = ""
        return None

    def _pause_text(self, seconds: float) -> str:
        """What the display says of a wait. The log tells the first wait for an error, and those of over a minute."""
        error, until = self._error_budget.last_error, time.time() + seconds
        asked = ", as the server requested" if self._throttle.has_retry_after(self._throttle.clock()) else ""
        text = f"waiting until {time.strftime('%H:%M:%S', time.localtime(until))}{asked}"
        if not error:
            return text
        if until > self._told_until + SHORT_WAIT and (not self._told_until or seconds > RECHECK_SECONDS):
            limit = f"{span(self._limits.max_error_time)} (pace.max_error_time)"
            WAITS.warning("%s: %s; such waits end the run after %s at the latest", error, text, limit)
            self._told_until = until
        return f"{text}: {error}"

    @property
    def trouble(self) -> str:
        """The error that ended the crawl, and how many requests failed; "" if something else did."""
        error, failures = self._error_budget.last_error, self._error_budget.failures
        if not error or self._ending not in (FinishReason.SITE_DOWN, FinishReason.TROUBLED):
            return ""
        return f"{error} ({failures:,} of {self.tally.fetched:,} requests failed)"

    async def _work(self) -> None:
        while True:
            await self._process(await self._leases.get())

    async def _process(self, lease: Lease) -> None:
        try:
            outcome = await self._worker.process(lease)
        except StorageError as error:
            return self._stop_on_storage_error(error)
        except Exception as error:
            log.exception("internal error on %s", lease.url)
            self.tally.internal_errors += 1
            outcome = Outcome(lease, Verdict(State.INTERNAL_ERROR, f"{type(error).__name__}: {error}"))
        finally:
            self._out -= 1
            self._wake()
        if self._reject and isinstance(outcome, Outcome) and lease.found & DiscoveredBy.SEED:
            self.rejection = self._reject(outcome)
            if self.rejection:
                return self.stop(FinishReason.INTERRUPTED)
        self._settle(outcome)
        self._requeue_if_unreachable(outcome)
        self._count_error_time(outcome)
        return None

    def _settle(self, outcome: Outcome | Retry) -> None:
        if self._fatal:
            return  # the outcome may build on what was rolled back; the next run fetches the URL again
        try:
            if isinstance(outcome, Retry):
                self._frontier.retry(outcome)
            else:
                self._frontier.settle(outcome)
        except StorageError as error:
            self._stop_on_storage_error(error)

    def _count_error_time(self, outcome: Outcome | Retry) -> None:
        """Charge failures to the error budget, and stop when it is spent."""
        lease, now = outcome.lease, time.monotonic()
        own_delay = self._throttle.own_delay(lease.url)
        if isinstance(outcome, Retry):
            self._error_budget.record_failure(now, outcome.reason, own_delay)
        elif is_failure(outcome.verdict.state, outcome.status):
            self._error_budget.record_failure(now, outcome.verdict.reason, own_delay)
        else:
            return self._error_budget.record_success(now, own_delay, had_failed=lease.attempts > 0)
        if self._error_budget.is_spent(now):
            self._stop_on_errors()
        return None

    def _stop_on_errors(self) -> None:
        self.stop(FinishReason.SITE_DOWN if self._throttle.are_all_unreachable() else FinishReason.TROUBLED)

    def _requeue_if_unreachable(self, outcome: Outcome | Retry) -> None:
        """Fetch the pages again that failed while their origin cannot be connected to, as if they never had."""
        lease = outcome.lease
        leases = self._unanswered[origin_of(lease.url)]
        if not self._throttle.is_silent(lease.url):
            return leases.clear()
        if isinstance(outcome, Retry) or is_failure(outcome.verdict.state, outcome.status):
            leases.append(lease)
        if self._throttle.is_unreachable(lease.url):
            try:
                self._frontier.requeue(leases)
            except StorageError as error:
                self._stop_on_storage_error(error)
            leases.clear()
        return None

    def _stop_on_storage_error(self, error: StorageError) -> None:
        self._fatal = self._fatal or error
        self.stop(FinishReason.INTERRUPTED)

    def _wake(self) -> None:
        self._changed.set()

    async def _change(self) -> None:
        """Wait until a lease ends or the crawl stops."""
        self._changed.clear()
        await self._changed.wait()

    async def _tick(self) -> None:
        committed = then = time.monotonic()
        busy = time.process_time()
        while True:
            await anyio.sleep(TICK_SECONDS)
            now, used = time.monotonic(), time.process_time()
            share = (used - busy) / max(now - then, TICK_SECONDS)
            parsing, has_failed = self._worker.parsing, bool(self._error_budget.last_error)
            has_errors = self._error_budget.failures > 0
            look = CrawlLook(share, self._out - parsing, parsing, self._is_paced, has_failed, has_errors)
            self._bottlenecks.add(bounding_stage(look), now - then)
            then, busy = now, used
            if self._limits.max_time and now - self._started >= self._limits.max_time:
                self.stop(FinishReason.MAX_TIME)
            if now - committed >= COMMIT_EVERY:
                committed = now
                try:
                    self._frontier.commit()
                    if self._limits.max_state and self._frontier.size() >= self._limits.max_state:
                        self.stop(FinishReason.MAX_STATE)
                except StorageError as error:
                    self._stop_on_storage_error(error)
                then = time.monotonic()
                self._bottlenecks.add(CrawlStage.COMMIT, then - now)
            self._count()
            self._watch(self.tally)

    def _count(self) -> None:
        counts = self._frontier.counts()
        outside = counts.get(State.OUT_OF_SCOPE, 0)
        tally = self.tally
        tally.known = sum(counts.values()) - outside
        tally.done = tally.known - counts.get(State.PENDING, 0)
        tally.listed = counts.get(State.INDEXABLE, 0)
        tally.failed = sum(counts.get(state, 0) for state in FAILURES)
        tally.fetched = self._worker.fetched
        tally.unchanged = self._worker.unchanged
        tally.bytes = self._worker.bytes
        tally.seconds = time.monotonic() - self._started
        tally.bound_by = self._bottlenecks.shares()
