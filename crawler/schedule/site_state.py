"""How one site of a schedule stands: what was begun and became of it, and what is to be done next. Pure.

* Of several slots that are due, the last is run, and it stands for the others.
* A run that failed is tried again later and later, as often as the site's configuration says; the next slot takes over.
* A run that was cut short is gone on with at once. When several in a row were cut short by the death of the daemon, the
  run may be what kills it: from then on that counts as a failure.
* A run that only a person can help waits for the next slot, for another configuration, or for another daemon.
* Others who could not be told are told later and later, unless a run begins first, which tells them too.
"""

import math
from enum import StrEnum
from typing import Final

from msgspec import Struct

from crawler.config.sections import ScheduleConfig
from crawler.fetch.retry import RetryPolicy
from crawler.schedule.cron import Schedule
from crawler.state.runs import RunStatus


class Trigger(StrEnum):
    """Why a run was begun."""

    FIRST = "first"  # the site was never run
    DUE = "due"  # its time had come
    MISSED = "missed"  # its time had passed, and perhaps that of others before it, while it could not be run
    RETRY = "retry"  # the one before it failed
    RESUMED = "resumed"  # the one before it was cut short, with the daemon or by it
    NOTIFY = "tell"  # no run: others are told what they could not be told after the last one


class Attempt(Struct, frozen=True, kw_only=True):
    """One run of one site. Times are Unix times.

    ``slot`` is the moment that the timetable asks for, which several attempts have when some of them fail, and
    ``number`` counts all attempts of all sites. ``ended`` is None while it is going on, and for ever when the daemon
    died with it. ``run`` is its number in the state of the site, None when it came to none; ``outcome``, ``told`` are
    what the run says of itself: "published", "unchanged", "refused", … and a sentence. ``turn`` is 1 for the first
    run of a slot, and for the first time that others are told after it.
    """

    number: int
    site: str
    slot: float
    because: Trigger
    turn: int
    began: float
    ended: float | None = None
    fate: RunStatus | None = None
    exit_code: int | None = None
    run: int | None = None
    outcome: str = ""
    told: str = ""
    untold: bool = False


MISSED_AFTER_SECONDS: Final = 60.0  # seconds; a run that begins later than that was missed

MAX_CUT_SHORT: Final = 3  # attempts in a row that the daemon may die in before they are taken for the reason


class PlannedAttempt(Struct, frozen=True):
    """An attempt that is to begin: of which site, for which slot, why, and which of that slot it is."""

    site: str
    slot: float
    trigger: Trigger
    turn: int


class SiteSchedule(Struct, frozen=True):
    """What the configuration asks of a site."""

    name: str
    run_schedule: Schedule | None
    schedule: ScheduleConfig


class ScheduledRetry(Struct):
    """What is to be done again: ``delay`` seconds after ``since``, a Unix time."""

    trigger: Trigger
    since: float
    delay: float = 0.0

    @property
    def at(self) -> float:
        """When: a Unix time."""
        return self.since + self.delay


class SiteState(Struct):
    """How one site stands. ``handled`` is the last slot that was, or the moment when the site was first seen."""

    site_schedule: SiteSchedule
    handled: float
    is_configured: bool = True
    running: Attempt | None = None
    last: Attempt | None = None  # that ended, telling aside
    failures: int = 0  # in a row
    turn: int = 0  # of the last run for the slot
    spent: int = 0  # of the retries for the slot
    cut_short: int = 0  # attempts in a row in which the daemon died
    failed_notifications: int = 0  # in a row that others were told in vain
    is_broken: bool = False
    retry: ScheduledRetry | None = None
    notify_retry: ScheduledRetry | None = None
    slot: float = math.inf  # the first that is not handled
    slot_at: float = math.inf  # when its run begins
    planned_with: tuple[Schedule | None, float] | None = None  # what that slot was looked for with
    version: int = 0  # of what the queue knows

    def plan(self, now: float) -> None:
        """Look for the first slot that is not handled."""
        timetable = self.site_schedule.run_schedule
        if self.planned_with != (timetable, self.handled):
            self.planned_with = timetable, self.handled
            self.slot = timetable.next_slot(self.handled) if timetable else math.inf
            self.slot_at = timetable.start_time(self.slot) if timetable else math.inf
        for again in (self.retry, self.notify_retry):
            if again:
                again.since = min(again.since, now)  # the clock was set back: nobody waits longer for that

    @property
    def run_at(self) -> float:
        """When the next run begins at the soonest; infinity for never."""
        if not self.is_configured or self.site_schedule.run_schedule is None:
            return math.inf
        return min(self.slot_at, self.retry.at if self.retry else math.inf)

    @property
    def at(self) -> float:
        """When there is something to do."""
        if self.running or not self.is_configured or self.site_schedule.run_schedule is None:
            return math.inf
        return min(self.run_at, self.notify_retry.at if self.notify_retry else math.inf)

    def start(self, now: float) -> PlannedAttempt:
        """What is to be done ``now``."""
        name, timetable = self.site_schedule.name, self.site_schedule.run_schedule
        if timetable and self.slot_at <= now:
            slot = max(timetable.due_slot(now), self.slot)
            if self.retry and self.retry.trigger is Trigger.FIRST:
                because = Trigger.FIRST
            else:
                is_late = slot > self.slot or now - self.slot_at > MISSED_AFTER_SECONDS
                because = Trigger.MISSED if is_late else Trigger.DUE
            return PlannedAttempt(name, slot, because, 1)
        if self.retry and self.retry.at <= now:
            return PlannedAttempt(name, self.handled, self.retry.trigger, self.turn + 1)
        return PlannedAttempt(name, self.handled, Trigger.NOTIFY, self.failed_notifications + 1)

    def mark_started(self, attempt: Attempt) -> None:
        """An attempt has begun. One that had not ended never will: the daemon died in it."""
        if self.running:
            self.mark_lost()
        self.running = attempt
        if attempt.because is Trigger.NOTIFY:
            self.turn = self.turn or 1  # there was a run to tell of, also when the history has forgotten it
            return
        if attempt.slot != self.handled or attempt.turn == 1:
            self.spent = 0
        self.handled, self.turn = attempt.slot, attempt.turn
        self.retry = self.notify_retry = None
        self.failed_notifications, self.is_broken = 0, False

    def mark_ended(self, attempt: Attempt) -> None:
        """The attempt that was going on has ended."""
        self.running = None
        when = attempt.began if attempt.ended is None else attempt.ended
        if attempt.because is Trigger.NOTIFY:
            self._after_notify(when, is_told=attempt.fate is RunStatus.DONE and not attempt.untold)
            return
        self.last, self.cut_short = attempt, 0
        if attempt.untold:
            self.notify_retry = ScheduledRetry(Trigger.NOTIFY, when, self.site_schedule.schedule.retry_delay)
        match attempt.fate:
            case RunStatus.DONE:
                self.failures = self.spent = 0
            case RunStatus.BUSY:
                self.retry = ScheduledRetry(attempt.because, when, self.site_schedule.schedule.retry_delay)
            case RunStatus.STOPPED:
                self.retry = ScheduledRetry(Trigger.RESUMED, when)
            case RunStatus.BROKEN:
                self.failures += 1
                self.is_broken = True
            case _:
                self._failed(when)

    def mark_lost(self) -> None:
        """The attempt that was going on has died with its daemon."""
        attempt, self.running = self.running, None
        if attempt is None:
            return
        if attempt.because is Trigger.NOTIFY:
            self._after_notify(attempt.began, is_told=False)
            return
        self.cut_short += 1
        if self.cut_short <= MAX_CUT_SHORT:
            self.retry = ScheduledRetry(Trigger.RESUMED, attempt.began)
        else:
            self._failed(attempt.began)

    def reconfigure(self, asked: SiteSchedule, now: float) -> float:
        """Go on with what the configuration asks now. Answers up to when slots are handled.

        The slots that another timetable would have had until now are past.
        """
        before, self.site_schedule = self.site_schedule, asked
        if asked != before:
            self.clear_broken(now)
        if asked.run_schedule == before.run_schedule:
            return self.handled
        if self.slot <= now and not (self.retry and self.retry.trigger is Trigger.FIRST):
            self.retry, self.turn = ScheduledRetry(Trigger.MISSED, self.slot_at), 0
        return max(self.handled, now)

    def clear_broken(self, now: float) -> None:
        """What only a person could help may be helped now."""
        if self.is_broken:
            self.retry, self.is_broken = ScheduledRetry(Trigger.RETRY, now), False

    def _failed(self, when: float) -> None:
        self.failures += 1
        delay = self._retries.delay(self.spent)
        self.spent += 1
        if delay is not None:
            self.retry = ScheduledRetry(Trigger.RETRY, when, delay)

    def _after_notify(self, when: float, *, is_told: bool) -> None:
        self.failed_notifications = 0 if is_told else self.failed_notifications + 1
        self.notify_retry = (
            None
            if is_told
            else ScheduledRetry(Trigger.NOTIFY, when, self._retries.pause(self.failed_notifications))
        )

    @property
    def _retries(self) -> RetryPolicy:
        schedule = self.site_schedule.schedule
        return RetryPolicy(schedule.retries, schedule.retry_delay, schedule.max_retry_delay)
