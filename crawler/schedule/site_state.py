"""How one site of a schedule stands: what was begun and became of it, and what is to be done next. Pure.

* Of several slots that are due, the last is run, and it stands for the others.
* A run that failed is tried again later and later, as often as the site's configuration says; the next slot takes over.
* A run that was cut short is gone on with at once. When several in a row were cut short by the death of the daemon, the
  run may be what kills it: from then on that counts as a failure.
* A run that only a person can help waits for the next slot, for another configuration, or for another daemon.
* Others who could not be told are told later and later, unless a run begins first, which tells them too.
"""

import math
from typing import Final

from msgspec import Struct

from crawler.config.schedule import ScheduleConfig
from crawler.fetch.retry import RetryPolicy
from crawler.schedule.attempt import Attempt, Trigger
from crawler.schedule.cron import Schedule
from crawler.state.runs import RunStatus

MISSED_AFTER_SECONDS: Final = 60.0  # seconds; a run that begins later than that was missed
MAX_CUT_SHORT: Final = 3  # attempts in a row that the daemon may die in before they are taken for the reason


class PlannedAttempt(Struct, frozen=True):
    """An attempt that is to begin: of which site, for which slot, why, and which of that slot it is."""

    site: str
    slot: float
    because: Trigger
    turn: int


class SiteSchedule(Struct, frozen=True):
    """What the configuration asks of a site."""

    name: str
    timetable: Schedule | None
    schedule: ScheduleConfig


class ScheduledRetry(Struct):
    """What is to be done again: ``delay`` seconds after ``since``, a Unix time."""

    because: Trigger
    since: float
    delay: float = 0.0

    @property
    def at(self) -> float:
        """When: a Unix time."""
        return self.since + self.delay


class SiteState(Struct):
    """How one site stands. ``handled`` is the last slot that was, or the moment when the site was first seen."""

    asked: SiteSchedule
    handled: float
    is_here: bool = True
    running: Attempt | None = None
    last: Attempt | None = None  # that ended, telling aside
    failures: int = 0  # in a row
    turn: int = 0  # of the last run for the slot
    spent: int = 0  # of the retries for the slot
    cut: int = 0  # attempts in a row in which the daemon died
    tells: int = 0  # in a row that others were told in vain
    is_broken: bool = False
    again: ScheduledRetry | None = None
    telling: ScheduledRetry | None = None
    slot: float = math.inf  # the first that is not handled
    slot_at: float = math.inf  # when its run begins
    sought: tuple[Schedule | None, float] | None = None  # what that slot was looked for with
    version: int = 0  # of what the queue knows

    def plan(self, now: float) -> None:
        """Look for the first slot that is not handled."""
        timetable = self.asked.timetable
        if self.sought != (timetable, self.handled):
            self.sought = timetable, self.handled
            self.slot = timetable.following(self.handled) if timetable else math.inf
            self.slot_at = timetable.begins(self.slot) if timetable else math.inf
        for again in (self.again, self.telling):
            if again:
                again.since = min(again.since, now)  # the clock was set back: nobody waits longer for that

    @property
    def run_at(self) -> float:
        """When the next run begins at the soonest; infinity for never."""
        if not self.is_here or self.asked.timetable is None:
            return math.inf
        return min(self.slot_at, self.again.at if self.again else math.inf)

    @property
    def at(self) -> float:
        """When there is something to do."""
        if self.running or not self.is_here or self.asked.timetable is None:
            return math.inf
        return min(self.run_at, self.telling.at if self.telling else math.inf)

    def start(self, now: float) -> PlannedAttempt:
        """What is to be done ``now``."""
        name, timetable = self.asked.name, self.asked.timetable
        if timetable and self.slot_at <= now:
            slot = max(timetable.due(now), self.slot)
            if self.again and self.again.because is Trigger.FIRST:
                because = Trigger.FIRST
            else:
                is_late = slot > self.slot or now - self.slot_at > MISSED_AFTER_SECONDS
                because = Trigger.MISSED if is_late else Trigger.DUE
            return PlannedAttempt(name, slot, because, 1)
        if self.again and self.again.at <= now:
            return PlannedAttempt(name, self.handled, self.again.because, self.turn + 1)
        return PlannedAttempt(name, self.handled, Trigger.TELL, self.tells + 1)

    def begun(self, attempt: Attempt) -> None:
        """An attempt has begun. One that had not ended never will: the daemon died in it."""
        if self.running:
            self.lost()
        self.running = attempt
        if attempt.because is Trigger.TELL:
            self.turn = self.turn or 1  # there was a run to tell of, also when the history has forgotten it
            return
        if attempt.slot != self.handled or attempt.turn == 1:
            self.spent = 0
        self.handled, self.turn = attempt.slot, attempt.turn
        self.again = self.telling = None
        self.tells, self.is_broken = 0, False

    def ended(self, attempt: Attempt) -> None:
        """The attempt that was going on has ended."""
        self.running = None
        when = attempt.began if attempt.ended is None else attempt.ended
        if attempt.because is Trigger.TELL:
            self._told(when, is_told=attempt.fate is RunStatus.DONE and not attempt.untold)
            return
        self.last, self.cut = attempt, 0
        if attempt.untold:
            self.telling = ScheduledRetry(Trigger.TELL, when, self.asked.schedule.retry_delay)
        match attempt.fate:
            case RunStatus.DONE:
                self.failures = self.spent = 0
            case RunStatus.BUSY:
                self.again = ScheduledRetry(attempt.because, when, self.asked.schedule.retry_delay)
            case RunStatus.STOPPED:
                self.again = ScheduledRetry(Trigger.RESUMED, when)
            case RunStatus.BROKEN:
                self.failures += 1
                self.is_broken = True
            case _:
                self._failed(when)

    def lost(self) -> None:
        """The attempt that was going on has died with its daemon."""
        attempt, self.running = self.running, None
        if attempt is None:
            return
        if attempt.because is Trigger.TELL:
            self._told(attempt.began, is_told=False)
            return
        self.cut += 1
        if self.cut <= MAX_CUT_SHORT:
            self.again = ScheduledRetry(Trigger.RESUMED, attempt.began)
        else:
            self._failed(attempt.began)

    def ask(self, asked: SiteSchedule, now: float) -> float:
        """Go on with what the configuration asks now. Answers up to when slots are handled.

        The slots that another timetable would have had until now are past.
        """
        before, self.asked = self.asked, asked
        if asked != before:
            self.try_again(now)
        if asked.timetable == before.timetable:
            return self.handled
        if self.slot <= now and not (self.again and self.again.because is Trigger.FIRST):
            self.again, self.turn = ScheduledRetry(Trigger.MISSED, self.slot_at), 0
        return max(self.handled, now)

    def try_again(self, now: float) -> None:
        """What only a person could help may be helped now."""
        if self.is_broken:
            self.again, self.is_broken = ScheduledRetry(Trigger.RETRY, now), False

    def _failed(self, when: float) -> None:
        self.failures += 1
        delay = self._retries.delay(self.spent)
        self.spent += 1
        if delay is not None:
            self.again = ScheduledRetry(Trigger.RETRY, when, delay)

    def _told(self, when: float, *, is_told: bool) -> None:
        self.tells = 0 if is_told else self.tells + 1
        self.telling = (
            None if is_told else ScheduledRetry(Trigger.TELL, when, self._retries.pause(self.tells))
        )

    @property
    def _retries(self) -> RetryPolicy:
        schedule = self.asked.schedule
        return RetryPolicy(schedule.retries, schedule.retry_delay, schedule.max_retry_delay)
