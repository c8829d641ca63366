"""Who checks a simulated month: every due run once, in time, with a reason, and never without room for it."""

import math
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from itertools import pairwise

from simulated_month import Lived, World

from crawler.config.sections import ScheduleConfig
from crawler.schedule.site import ScheduledSite
from crawler.schedule.site_state import Attempt, Trigger
from crawler.state.runs import RunStatus

LATE = 60.0  # seconds after which a run was missed
CUT_SHORT = 3  # deaths of the daemon in a row that are not taken for the site's fault
Span = tuple[float, float]


class Judge:
    """Holds what the world saw against what was due: ``due`` are the slots of each site, as another found them,
    and infinity."""

    def __init__(self, world: World, due: dict[str, list[float]]) -> None:
        self.world = world
        self.due = due
        self.counts: Counter[str] = Counter()
        self.of_site: dict[str, list[Lived]] = defaultdict(list)
        for lived in world.lived:
            self.of_site[lived.attempt.site].append(lived)
        self.open = self._open()  # when there was a daemon, and room

    def judge(self) -> None:
        for site in self.world.sites:
            attempts = self.of_site[site.name]
            runs = [each for each in attempts if each.attempt.trigger is not Trigger.NOTIFY]
            self._slots(site, runs)
            self._ended_in_time(site, attempts)
            self._in_time(site, attempts)
            self._with_reason(site, attempts)

    def _slots(self, site: ScheduledSite, runs: list[Lived]) -> None:
        """Each slot was due, is begun once and done once, and is the last that was due; the others came to it."""
        due, jitter, handled = self.due[site.name], site.config.schedule.jitter, self.world.base
        done: set[float] = set()
        for attempt in (lived.attempt for lived in runs):
            self.counts[attempt.trigger] += 1
            assert attempt.slot not in done, f"done again: {attempt}"
            if attempt.status is RunStatus.DONE:
                done.add(attempt.slot)
            if attempt.slot == handled:
                handled = self._covered(due, attempt)
                continue
            late = attempt.began - attempt.slot
            assert late >= 0, f"before its time: {attempt}"
            assert attempt.try_number == 1, f"again, and never before: {attempt}"
            assert attempt.slot > handled, f"handled again: {attempt}"
            number = bisect_left(due, attempt.slot)
            assert due[number] == attempt.slot, f"was not due: {attempt}"
            left_out = number - bisect_right(due, handled)
            self.counts["left out"] += left_out
            assert due[number + 1] + jitter > attempt.began, f"not the last that was due: {attempt}"
            if attempt.trigger is Trigger.DUE:
                assert not left_out, f"says nothing of those left out: {attempt}"
                assert late <= jitter + LATE, f"late without a word: {attempt}"
            elif attempt.trigger is Trigger.MISSED:
                assert left_out or late > LATE, f"in time, and says it was missed: {attempt}"
            handled = attempt.slot
        self.counts["slots"] += bisect_right(due, handled) - bisect_right(due, self.world.base)

    def _covered(self, due: list[float], attempt: Attempt) -> float:
        """Up to when slots are handled by an attempt: a first run that succeeds has done the slot soon after it."""
        if attempt.trigger is not Trigger.FIRST or attempt.status is not RunStatus.DONE or attempt.ended is None:
            return attempt.slot
        number = bisect_right(due, attempt.ended)
        is_soon = due[number] - attempt.ended < min(86_400.0, (due[number + 1] - due[number]) / 2)
        return max([attempt.slot, *due[: number + is_soon][-1:]])

    def _ended_in_time(self, site: ScheduledSite, attempts: list[Lived]) -> None:
        """What takes too long is ended and has failed; what was stopped was stopped by a daemon that stopped."""
        longest = site.config.schedule.run_timeout
        begun = [life.began for life in self.world.lives]
        for lived in attempts:
            life = self.world.lives[bisect_right(begun, lived.began) - 1]
            assert lived.ended <= life.ended + World.SAVING, f"goes on without a daemon: {lived}"
            assert lived.ended - lived.began <= longest + World.SAVING, f"took too long: {lived}"
            is_overlong = lived.attempt.outcome == "overlong"
            self.counts["overlong"] += is_overlong
            assert is_overlong <= (lived.ended - lived.began >= longest), f"did not take long: {lived}"
            assert lived.attempt.status is not RunStatus.STOPPED or lived.ended >= life.ended, f"by nobody: {lived}"

    def _in_time(self, site: ScheduledSite, attempts: list[Lived]) -> None:
        """Whenever a slot is due, there is a daemon, the site does not run and there is room, it is soon begun."""
        due, handled, moment = self.due[site.name], self.world.base, 0.0
        for lived in [*attempts, None]:
            end = lived.began if lived else self.world.end
            slot = due[bisect_right(due, handled)]
            for low, high in self._steady(moment, end):
                shown = self.world.wall_at(low) - low
                self._soon(max(low, slot + site.config.schedule.jitter - shown), high, f"{site.name}: {slot}")
            if lived:
                handled = max(handled, self._covered(due, lived.attempt))
                moment = lived.ended

    def _with_reason(self, site: ScheduledSite, attempts: list[Lived]) -> None:
        """What is tried again has a reason in what was before, has waited for it, and does not wait for longer."""
        reasons = Reasons(site.config.schedule)
        moment = told = ran = 0.0  # since when nothing happened, and which times waits are reckoned from
        for lived in attempts:
            attempt, name = lived.attempt, f"{site.name}: {lived.attempt}"
            self._again_soon(reasons, moment, lived.began, name)
            if attempt.trigger is Trigger.NOTIFY:
                self.counts[attempt.trigger] += 1
                assert reasons.tell is not None, f"nothing to tell: {name}"
                assert not self._is_steady(told, lived.began) or attempt.began >= reasons.tell - 1e-3, name
            elif attempt.try_number > 1 or (attempt.trigger is Trigger.FIRST and attempt.slot == self.world.base):
                assert reasons.again is not None, f"again without a reason: {name}"
                because, when = reasons.again
                if because is Trigger.RETRY and reasons.is_broken:
                    assert any(moment <= life.began <= lived.began for life in self.world.lives), name
                assert because is attempt.trigger, f"{because}: {name}"
                assert not self._is_steady(ran, lived.began) or attempt.began >= when - 1e-3, f"too soon: {name}"
            reasons.take(attempt)
            moment = lived.ended
            told = lived.began if attempt.status is None else lived.ended
            ran = ran if attempt.trigger is Trigger.NOTIFY else told
        self._again_soon(reasons, moment, self.world.end, site.name)

    def _again_soon(self, reasons: "Reasons", begin: float, end: float, name: str) -> None:
        """Between the end of one attempt and the begin of the next nothing is put off that has waited enough."""
        if reasons.is_broken:
            begin = next((life.began for life in self.world.lives if life.began >= begin), end)
        waits = [when for when in (reasons.again and reasons.again[1], reasons.tell) if when is not None]
        for wait in waits:
            since = begin
            left = wait - self.world.wall_at(begin) if wait > self.world.wall_at(begin) else 0.0
            for low, _ in self._steady(begin, end):
                if self.world.wall_at(low) < self.world.wall_at(max(low - 1e-6, begin)):
                    since, left = self._seen(low), reasons.longest
            self._soon(since + left, end, name)

    def _seen(self, moment: float) -> float:
        """When a daemon sees what happened at a moment: at once, or when there is one again."""
        return next((max(life.began, moment) for life in self.world.lives if life.ended > moment), math.inf)

    def _soon(self, begin: float, end: float, name: str) -> None:
        """There is no time in between in which it could have been begun and was not."""
        first = max(0, bisect_left(self.open, (begin, 0.0)) - 1)
        for low, high in self.open[first:]:
            if low >= end:
                break
            free = min(high, end) - max(low, begin)
            assert free <= self.world.look + 15, f"waits {free} s from {begin} to {end}: {name}"

    def _steady(self, begin: float, end: float) -> list[Span]:
        """The spans of a time in which nobody set the clock."""
        changes = [time for time in self.world.times if begin < time < end]
        return list(pairwise([begin, *changes, end])) if end > begin else []

    def _is_steady(self, begin: float, end: float) -> bool:
        return not any(begin < time <= end for time in self.world.times)

    def _open(self) -> list[Span]:
        events = [(each.began, 1) for each in self.world.lived] + [(each.ended, -1) for each in self.world.lived]
        for life in self.world.lives:
            events += [(life.began, -self.world.at_once), (life.ended, self.world.at_once)]
        number, since, found = self.world.at_once, math.inf, []
        for moment, change in sorted(events):
            if number < self.world.at_once and moment > since:
                found.append((since, moment))
            number, since = number + change, moment
        return _joined(found)


class Reasons:
    """Why a site may be begun again without another slot, and when (wall)."""

    def __init__(self, schedule: ScheduleConfig) -> None:
        self.schedule = schedule
        self.again: tuple[Trigger, float] | None = (Trigger.FIRST, 0.0) if schedule.starts_at_once else None
        self.tell: float | None = None
        self.is_broken = False
        self.spent = self.cut = self.tells = 0
        self.slot = 0.0

    @property
    def longest(self) -> float:
        """How long it may take from now on, when the clock was set back."""
        return self.later(max(self.spent, self.tells + 1, 1))

    def later(self, number: int) -> float:
        return float(min(self.schedule.retry_delay * 2 ** (number - 1), self.schedule.max_retry_delay))

    def take(self, attempt: Attempt) -> None:
        """What follows from an attempt."""
        ended = attempt.began if attempt.ended is None else attempt.ended
        if attempt.trigger is Trigger.NOTIFY:
            is_told = attempt.status is RunStatus.DONE and not attempt.notify_pending
            self.tells = 0 if is_told else self.tells + 1
            self.tell = None if is_told else ended + self.later(self.tells + 1)
            return
        if attempt.slot != self.slot:
            self.slot, self.spent = attempt.slot, 0
        self.again, self.tells, self.is_broken = None, 0, attempt.status is RunStatus.BROKEN
        self.tell = ended + self.later(1) if attempt.notify_pending else None
        self.cut = self.cut + 1 if attempt.status is None else 0
        if attempt.status is RunStatus.FAILED or self.cut > CUT_SHORT:
            self.spent += 1
            if self.spent <= self.schedule.retries:
                self.again = Trigger.RETRY, ended + self.later(self.spent)
        elif attempt.status in {None, RunStatus.STOPPED}:
            self.again = Trigger.RESUMED, ended
        elif attempt.status is RunStatus.BUSY:
            self.again = attempt.trigger, ended + self.later(1)
        elif attempt.status is RunStatus.BROKEN:
            self.again = Trigger.RETRY, ended  # by the next daemon


def _joined(spans: list[Span]) -> list[Span]:
    found: list[Span] = []
    for low, high in spans:
        if found and found[-1][1] == low:
            found[-1] = found[-1][0], high
        else:
            found.append((low, high))
    return found
