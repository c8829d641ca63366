"""The state of one site of a schedule: which attempts ran, how they ended, and what is due next. Pure.

* Of several due slots only the last runs; it covers the others. A first run that succeeds covers a slot soon after it.
* A failed run is retried with growing delays, as often as the configuration says, until the next slot.
* A run that was cut short is resumed at once. When the daemon dies in several runs in a row, the run may be the cause:
  from then on each counts as a failure.
* A run that only a person can fix waits for the next slot, another configuration, or another daemon.
* Failed notifications are retried with growing delays, unless a run starts first, which sends them too.
"""

import math
from enum import StrEnum
from typing import Final

from msgspec import Struct

from crawler.config.cron import Schedule
from crawler.config.sections import ScheduleConfig
from crawler.fetch.retry import RetryPolicy
from crawler.state.runs import MAX_LOST, RunStatus


class Trigger(StrEnum):
    """Why a run was started."""

    FIRST = "first"  # the site has never run
    DUE = "due"  # its slot is due
    MISSED = "missed"  # its slot, and perhaps others before it, passed while it could not run
    RETRY = "retry"  # the last run failed
    RESUMED = "resumed"  # the last run was cut short, with the daemon or by it
    ASKED = "asked"  # a person asked for it
    NOTIFY = "tell"  # no run: sends outstanding notifications only


class Attempt(Struct, frozen=True, kw_only=True):
    """One attempt to run a site. Times are Unix times.

    ``slot`` is the scheduled moment; several attempts share it when some fail. ``number`` counts all attempts of all
    sites. ``ended`` is None while it runs, and for ever when the daemon died during it. ``run`` is its number in the
    state of the site, None when it has none. ``outcome`` and ``message`` come from the run: "published", "unchanged",
    "held", … and a sentence. ``try_number`` is 1 for the first run of a slot, and for the first notification after
    it.
    """

    number: int
    site: str
    slot: float
    trigger: Trigger
    try_number: int
    began: float
    ended: float | None = None
    status: RunStatus | None = None
    exit_code: int | None = None
    run: int | None = None
    outcome: str = ""
    message: str = ""
    notify_pending: bool = False


MISSED_AFTER_SECONDS: Final = 60.0  # a run that starts later was missed


class PlannedAttempt(Struct, frozen=True):
    """An attempt about to start: its site, slot, trigger, and its number among the tries for that slot."""

    site: str
    slot: float
    trigger: Trigger
    try_number: int


class SiteSchedule(Struct, frozen=True):
    """The configured schedule of a site."""

    name: str
    run_schedule: Schedule | None
    schedule: ScheduleConfig


class ScheduledRetry(Struct):
    """A planned retry, ``delay`` seconds after ``since``, a Unix time."""

    trigger: Trigger
    since: float
    delay: float = 0.0

    @property
    def at(self) -> float:
        """The time of the retry, a Unix time."""
        return self.since + self.delay


class SiteState(Struct):
    """The state of one site. ``handled`` is the last handled slot, or the moment when the site was first seen."""

    site_schedule: SiteSchedule
    handled: float
    is_configured: bool = True
    running: Attempt | None = None
    last: Attempt | None = None  # the last ended run; notification attempts do not count
    failures: int = 0  # in a row
    try_number: int = 0  # number of the last run for the slot
    spent: int = 0  # retries used for the slot
    cut_short: int = 0  # attempts in a row in which the daemon died
    failed_notifications: int = 0  # notification attempts in a row that failed
    is_broken: bool = False
    retry: ScheduledRetry | None = None
    notify_retry: ScheduledRetry | None = None
    slot: float = math.inf  # the first unhandled slot
    slot_at: float = math.inf  # when its run begins
    planned_with: tuple[Schedule | None, float] | None = None  # the inputs of that slot

    def plan(self, now: float) -> None:
        """Compute the first unhandled slot."""
        schedule = self.site_schedule.run_schedule
        if self.planned_with != (schedule, self.handled):
            self.planned_with = schedule, self.handled
            self.slot = schedule.next_slot(self.handled) if schedule else math.inf
            self.slot_at = schedule.start_time(self.slot) if schedule else math.inf
        for retry in (self.retry, self.notify_retry):
            if retry:
                retry.since = min(retry.since, now)  # the clock was set back: do not wait longer

    @property
    def run_at(self) -> float:
        """The earliest start of the next run; infinity for never."""
        if not self.is_configured or self.site_schedule.run_schedule is None:
            return math.inf
        return min(self.slot_at, self.retry.at if self.retry else math.inf)

    @property
    def at(self) -> float:
        """When the next attempt is due."""
        if self.running or not self.is_configured or self.site_schedule.run_schedule is None:
            return math.inf
        return min(self.run_at, self.notify_retry.at if self.notify_retry else math.inf)

    def start(self, now: float) -> PlannedAttempt:
        """The attempt to start ``now``."""
        name, schedule = self.site_schedule.name, self.site_schedule.run_schedule
        if schedule and self.slot_at <= now:
            slot = max(schedule.due_slot(now), self.slot)
            if self.retry and self.retry.trigger is Trigger.FIRST:
                trigger = Trigger.FIRST
            else:
                is_late = slot > self.slot or now - self.slot_at > MISSED_AFTER_SECONDS
                trigger = Trigger.MISSED if is_late else Trigger.DUE
            return PlannedAttempt(name, slot, trigger, 1)
        if self.retry and self.retry.at <= now:
            return PlannedAttempt(name, self.handled, self.retry.trigger, self.try_number + 1)
        return PlannedAttempt(name, self.handled, Trigger.NOTIFY, self.failed_notifications + 1)

    def mark_started(self, attempt: Attempt) -> None:
        """Record a started attempt. One that is still open was lost with its daemon."""
        if self.running:
            self.mark_lost()
        self.running = attempt
        if attempt.trigger is Trigger.NOTIFY:
            self.try_number = self.try_number or 1  # there was a run, even when the history no longer has it
            return
        if attempt.slot != self.handled or attempt.try_number == 1:
            self.spent = 0
        self.handled, self.try_number = attempt.slot, attempt.try_number
        self.retry = self.notify_retry = None
        self.failed_notifications, self.is_broken = 0, False

    def mark_ended(self, attempt: Attempt) -> None:
        """Record the result of the running attempt."""
        self.running = None
        ended_at = attempt.began if attempt.ended is None else attempt.ended
        if attempt.trigger is Trigger.NOTIFY:
            self._after_notify(ended_at, is_sent=attempt.status is RunStatus.DONE and not attempt.notify_pending)
            return
        self.cut_short = 0
        if attempt.status is not RunStatus.BUSY:  # nothing was run
            self.last = attempt
        delay = self.site_schedule.schedule.retry_delay
        if attempt.notify_pending:
            self.notify_retry = ScheduledRetry(Trigger.NOTIFY, ended_at, delay)
        match attempt.status:
            case RunStatus.DONE:
                self.failures = self.spent = 0
                schedule = self.site_schedule.run_schedule
                if schedule and attempt.trigger is Trigger.FIRST:
                    self.handled = schedule.covered_until(self.handled, ended_at)
            case RunStatus.BUSY:
                self.retry = ScheduledRetry(attempt.trigger, ended_at, delay)
            case RunStatus.STOPPED:
                self.retry = ScheduledRetry(Trigger.RESUMED, ended_at)
            case RunStatus.BROKEN:
                self.failures += 1
                self.is_broken = True
            case _:
                self._failed(ended_at)

    def mark_lost(self) -> None:
        """Record that the running attempt died with its daemon."""
        attempt, self.running = self.running, None
        if attempt is None:
            return
        if attempt.trigger is Trigger.NOTIFY:
            self._after_notify(attempt.began, is_sent=False)
            return
        self.cut_short += 1
        if self.cut_short <= MAX_LOST:
            self.retry = ScheduledRetry(Trigger.RESUMED, attempt.began)
        else:
            self._failed(attempt.began)

    def reconfigure(self, site_schedule: SiteSchedule, now: float) -> float:
        """Switch to another configured schedule. Returns up to when slots are handled.

        The slots that the new schedule would have had until now are skipped.
        """
        previous, self.site_schedule = self.site_schedule, site_schedule
        if site_schedule != previous:
            self.clear_broken(now)
        if site_schedule.run_schedule == previous.run_schedule:
            return self.handled
        if self.slot <= now and not (self.retry and self.retry.trigger is Trigger.FIRST):
            self.retry, self.try_number = ScheduledRetry(Trigger.MISSED, self.slot_at), 0
        return max(self.handled, now)

    def clear_broken(self, now: float) -> None:
        """Retry a broken site: its configuration may be fixed now."""
        if self.is_broken:
            self.retry, self.is_broken = ScheduledRetry(Trigger.RETRY, now), False

    def _failed(self, ended_at: float) -> None:
        self.failures += 1
        delay = self._retries.delay(self.spent)
        self.spent += 1
        if delay is not None:
            self.retry = ScheduledRetry(Trigger.RETRY, ended_at, delay)

    def _after_notify(self, ended_at: float, *, is_sent: bool) -> None:
        self.failed_notifications = 0 if is_sent else self.failed_notifications + 1
        pause = self._retries.pause(self.failed_notifications)
        self.notify_retry = None if is_sent else ScheduledRetry(Trigger.NOTIFY, ended_at, pause)

    @property
    def _retries(self) -> RetryPolicy:
        schedule = self.site_schedule.schedule
        return RetryPolicy(schedule.retries, schedule.retry_delay, schedule.max_retry_delay)
