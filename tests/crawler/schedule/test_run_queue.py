"""The agenda: what begins now and what waits, without a clock, a disk or a daemon."""

import math
from collections.abc import Iterable

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from msgspec.structs import replace

from crawler.config.cron import Interval, Schedule
from crawler.config.sections import ScheduleConfig
from crawler.schedule.queue import MAX_SECONDS_AHEAD, RunQueue, replayed_state
from crawler.schedule.site_state import Attempt, PlannedAttempt, SiteSchedule, Trigger
from crawler.state.runs import RunStatus

HOUR, DAY = 3_600.0, 86_400.0
DUE, MISSED, FIRST, RETRY, RESUMED, TELL = (
    Trigger.DUE,
    Trigger.MISSED,
    Trigger.FIRST,
    Trigger.RETRY,
    Trigger.RESUMED,
    Trigger.NOTIFY,
)
PLAIN = ScheduleConfig(run_on_start=False, retry_delay=300, max_retry_delay=1_000, retries=3)


def hourly(site: str = "a", schedule: ScheduleConfig = PLAIN, every: float = HOUR, jitter: float = 0.0) -> SiteSchedule:
    return SiteSchedule(site, Schedule(site, Interval(every), jitter), schedule)


class Desk:
    """An agenda with a clock at hand and the notes of what was begun and ended, as a history has them."""

    def __init__(self, *asked: SiteSchedule, now: float = 0.0, at_once: int = 2) -> None:
        self.asked, self.now = asked, now
        self.notes: list[Attempt] = []
        self.handled: dict[str, float] = {}
        self.at_once = at_once
        self.opened()

    def opened(self) -> None:
        """Another daemon begins."""
        self.agenda = self.known()
        self.save()

    def known(self) -> RunQueue:
        """What another daemon would know."""
        agenda = RunQueue(self.at_once)
        for asked in self.asked:
            handled = self.handled.get(asked.name)
            agenda.add(replayed_state(asked, handled, self.since_done(asked.name), self.now), handled, self.now)
        return agenda

    def since_done(self, site: str) -> list[Attempt]:
        mine = [each for each in self.notes if each.site == site]
        done = [
            number for number, each in enumerate(mine) if each.status is RunStatus.DONE and each.trigger is not TELL
        ]
        return mine[done[-1] :] if done else mine

    def save(self) -> None:
        for name in self.agenda.changed:
            self.handled[name] = self.agenda[name].handled
        self.agenda.changed.clear()

    def begin(self, now: float | None = None) -> Attempt | None:
        """Begin what is to begin now."""
        self.now = self.now if now is None else now
        start = self.agenda.next(self.now)
        if start is None:
            return None
        attempt = Attempt(
            number=len(self.notes) + 1,
            site=start.site,
            slot=start.slot,
            trigger=start.trigger,
            try_number=start.try_number,
            began=self.now,
        )
        self.notes.append(attempt)
        if start.trigger is not TELL:
            self.handled[start.site] = start.slot
        self.agenda.mark_started(attempt)
        return attempt

    def end(
        self, attempt: Attempt | None, fate: RunStatus, after: float = 0.0, *, notify_pending: bool = False
    ) -> None:
        assert attempt is not None
        self.now += after
        ended = replace(attempt, ended=self.now, status=fate, notify_pending=notify_pending)
        self.notes[attempt.number - 1] = ended
        self.agenda.mark_ended(ended, self.now)

    def went(
        self, now: float, fate: RunStatus = RunStatus.DONE, *, notify_pending: bool = False
    ) -> tuple[str, float, int] | None:
        """Why the attempt that begins now does, of which slot, and its turn; it ends at once."""
        attempt = self.begin(now)
        if attempt is None:
            return None
        self.end(attempt, fate, notify_pending=notify_pending)
        return attempt.trigger, attempt.slot, attempt.try_number


def test_ours_a_slot_is_run_once_at_its_time() -> None:
    desk = Desk(hourly(), now=10.0)
    assert desk.agenda.next_wakeup() == HOUR
    assert desk.went(HOUR - 0.1) is None
    assert desk.went(HOUR) == (DUE, HOUR, 1)
    assert desk.went(HOUR + 1) is None
    assert desk.agenda.next_wakeup() == 2 * HOUR


def test_ours_slots_that_were_missed_come_to_one_run_of_the_last() -> None:
    desk = Desk(hourly(), now=10.0)
    assert desk.went(5.5 * HOUR) == (MISSED, 5 * HOUR, 1)
    assert desk.went(5.6 * HOUR) is None
    assert desk.went(6 * HOUR + 59) == (DUE, 6 * HOUR, 1)
    assert desk.went(7 * HOUR + 61) == (MISSED, 7 * HOUR, 1)  # only late


def test_ours_what_was_missed_while_there_was_no_daemon_is_run_by_the_next() -> None:
    desk = Desk(hourly(every=DAY), now=10.0)
    desk.opened()
    desk.now = DAY + HOUR
    desk.opened()
    assert desk.went(desk.now) == (MISSED, DAY, 1)
    desk.opened()
    assert desk.went(desk.now) is None


def test_ours_a_new_site_is_run_at_once_if_that_is_wanted() -> None:
    first = ScheduleConfig(run_on_start=True)
    desk = Desk(hourly("a", first), hourly("b"), now=10.0)
    assert desk.went(10.0) == (FIRST, 10.0, 1)
    assert desk.went(10.0) is None
    assert desk.went(HOUR) is not None
    desk = Desk(hourly("a", first), now=10.0)
    desk.now = 50.0
    desk.opened()  # the first daemon died before
    assert desk.went(50.0) == (FIRST, 10.0, 1)
    desk.opened()
    assert desk.went(51.0) is None


@pytest.mark.parametrize(
    ("began", "fate", "due"),
    [
        (HOUR * 0.75, RunStatus.DONE, 2),  # its slot comes soon after it
        (HOUR * 0.25, RunStatus.DONE, 1),
        (HOUR * 0.75, RunStatus.FAILED, 1),
    ],
)
def test_ours_a_first_run_is_that_of_the_slot_soon_after_it(began: float, fate: RunStatus, due: int) -> None:
    desk = Desk(hourly("a", ScheduleConfig(run_on_start=True, retries=0)), now=began)
    desk.end(desk.begin(), fate, after=60)
    desk.save()
    for _ in range(2):
        assert desk.agenda["a"].run_at == due * HOUR
        desk.opened()


def test_ours_a_run_that_failed_is_tried_again_later_and_later_and_the_next_slot_takes_over() -> None:
    desk = Desk(hourly(schedule=replace_schedule(retries=5)), now=10.0)
    assert desk.went(HOUR, RunStatus.FAILED) == (DUE, HOUR, 1)
    assert desk.went(HOUR + 299) is None
    assert desk.went(HOUR + 300, RunStatus.FAILED) == (RETRY, HOUR, 2)
    assert desk.went(HOUR + 899) is None
    assert desk.went(HOUR + 900, RunStatus.FAILED) == (RETRY, HOUR, 3)
    assert desk.went(HOUR + 1_900, RunStatus.FAILED) == (RETRY, HOUR, 4)  # no longer than max_retry_delay
    assert desk.agenda["a"].failures == 4
    assert desk.agenda.next_wakeup() == HOUR + 2_900
    assert desk.went(2 * HOUR, RunStatus.FAILED) == (DUE, 2 * HOUR, 1)
    assert desk.agenda["a"].failures == 5
    assert desk.went(2 * HOUR + 300) == (RETRY, 2 * HOUR, 2)  # the budget is that of a slot
    assert desk.agenda["a"].failures == 0


def replace_schedule(**changes: object) -> ScheduleConfig:
    return PLAIN.model_copy(update=changes)


def test_ours_a_run_that_fails_too_often_waits_for_the_next_slot() -> None:
    desk = Desk(hourly(schedule=replace_schedule(retries=1)), now=10.0)
    desk.went(HOUR, RunStatus.FAILED)
    desk.went(HOUR + 300, RunStatus.FAILED)
    desk.opened()  # another daemon knows that too
    assert desk.agenda["a"].failures == 2
    assert desk.agenda.next_wakeup() == 2 * HOUR


def test_ours_a_site_that_another_process_works_on_is_tried_again_and_that_is_no_failure() -> None:
    desk = Desk(hourly(), now=10.0)
    assert desk.went(HOUR, RunStatus.BUSY) == (DUE, HOUR, 1)
    for turn in range(2, 9):
        assert desk.went(HOUR + (turn - 1) * 300 - 1) is None
        assert desk.went(HOUR + (turn - 1) * 300, RunStatus.BUSY) == (DUE, HOUR, turn)
    assert desk.agenda["a"].failures == 0
    assert desk.agenda["a"].last is None, "nothing was run"


def test_ours_a_run_that_the_daemon_stopped_is_gone_on_with_by_the_next_one() -> None:
    desk = Desk(hourly(), now=10.0)
    attempt = desk.begin(HOUR)
    desk.end(attempt, RunStatus.STOPPED, 60)
    desk.opened()
    assert desk.went(HOUR + 70) == (RESUMED, HOUR, 2)
    assert desk.agenda["a"].failures == 0


def test_ours_a_run_that_kills_the_daemon_each_time_is_given_time() -> None:
    desk = Desk(hourly(every=DAY, schedule=replace_schedule(retries=1)), now=10.0)
    assert desk.begin(DAY) is not None
    for turn in (2, 3, 4):
        desk.opened()
        attempt = desk.begin(DAY + turn)
        assert attempt is not None
        assert (attempt.trigger, attempt.try_number) == (RESUMED, turn)
    desk.opened()
    assert desk.agenda["a"].failures == 1
    assert desk.begin(DAY + 4 + 299) is None
    assert desk.begin(DAY + 4 + 300) is not None
    desk.opened()
    assert desk.agenda.next_wakeup() == 2 * DAY
    assert desk.begin(2 * DAY) is not None
    desk.opened()
    assert desk.agenda.next_wakeup() == 2 * DAY + 300  # one that ended would have given it three lives again


def test_ours_what_only_a_person_can_help_waits_for_one() -> None:
    desk = Desk(hourly(every=DAY), now=10.0)
    assert desk.went(DAY, RunStatus.BROKEN) == (DUE, DAY, 1)
    assert desk.agenda["a"].failures == 1
    assert desk.agenda.next_wakeup() == 2 * DAY
    desk.agenda.replace([hourly(every=DAY)], DAY + 5)
    assert desk.agenda.next_wakeup() == 2 * DAY  # nothing has changed
    desk.agenda.replace([hourly(every=DAY, schedule=replace_schedule(retries=4))], DAY + 10)
    assert desk.went(DAY + 10, RunStatus.BROKEN) == (RETRY, DAY, 2)
    desk.opened()
    assert desk.went(DAY + 20, RunStatus.BROKEN) == (RETRY, DAY, 3)
    assert desk.went(2 * DAY) == (DUE, 2 * DAY, 1)


def test_ours_who_could_not_be_told_is_told_later_unless_a_run_does_it() -> None:
    desk = Desk(hourly(every=DAY), now=10.0)
    assert desk.went(DAY, notify_pending=True) == (DUE, DAY, 1)
    assert desk.went(DAY + 299) is None
    assert desk.went(DAY + 300, notify_pending=True) == (TELL, DAY, 1)
    assert desk.went(DAY + 899) is None
    assert desk.went(DAY + 900, RunStatus.FAILED) == (TELL, DAY, 2)
    assert desk.agenda["a"].failures == 0
    desk.opened()
    assert desk.went(DAY + 1_900) == (TELL, DAY, 3)
    assert desk.agenda.next_wakeup() == 2 * DAY
    assert desk.went(2 * DAY, RunStatus.FAILED, notify_pending=True) == (DUE, 2 * DAY, 1)
    assert desk.went(2 * DAY + 300) == (RETRY, 2 * DAY, 2)
    assert desk.agenda.next_wakeup() == 3 * DAY


def test_ours_a_try_is_one_of_the_run_and_telling_is_none() -> None:
    desk = Desk(hourly(every=DAY), now=10.0)
    assert desk.went(DAY, RunStatus.FAILED, notify_pending=True) == (DUE, DAY, 1)
    assert desk.went(DAY + 300, RunStatus.FAILED, notify_pending=True) == (RETRY, DAY, 2)
    assert desk.went(DAY + 600) == (TELL, DAY, 1)
    desk.opened()
    assert desk.went(DAY + 900) == (RETRY, DAY, 3)


def test_ours_a_run_that_begins_takes_over_from_telling() -> None:
    desk = Desk(hourly(every=400, schedule=PLAIN), now=10.0)
    assert desk.went(400, notify_pending=True) == (DUE, 400, 1)
    attempt = desk.begin(800)
    assert attempt is not None
    assert attempt.trigger is DUE
    desk.end(attempt, RunStatus.DONE)
    assert desk.agenda.next_wakeup() == 1_200


def test_ours_no_more_run_at_once_than_may_and_that_which_was_due_first_goes_first() -> None:
    desk = Desk(*(hourly(name, every=every) for name, every in (("a", 300.0), ("b", 200.0), ("c", 250.0))), now=10.0)
    assert desk.begin(200).site == "b"  # type: ignore[union-attr]
    assert not desk.agenda.is_overdue(350)
    one = desk.begin(350)
    assert one is not None
    assert one.site == "c"
    assert desk.begin() is None
    assert [desk.agenda.is_overdue(now) for now in (299, 350)] == [False, True], "a is due, and waits"
    assert desk.agenda.next_wakeup() == math.inf
    desk.end(one, RunStatus.DONE)
    assert desk.begin().site == "a"  # type: ignore[union-attr]


def test_ours_a_clock_that_is_set_back_repeats_nothing_and_makes_nobody_wait_longer() -> None:
    desk = Desk(hourly(), now=10.0)
    assert desk.went(5 * HOUR, RunStatus.FAILED) == (MISSED, 5 * HOUR, 1)
    desk.agenda.reset_clock(2 * HOUR)
    assert desk.went(2 * HOUR + 300) == (RETRY, 5 * HOUR, 2)
    assert desk.went(5 * HOUR + 10) is None
    assert desk.went(6 * HOUR) == (DUE, 6 * HOUR, 1)


def test_ours_a_clock_that_was_days_ahead_is_not_waited_for() -> None:
    desk = Desk(hourly(), now=10.0)
    desk.went(10 * DAY)
    desk.agenda.reset_clock(2 * DAY + 60)
    assert desk.agenda.changed == {"a"}
    assert desk.went(2 * DAY + 120) is None
    assert desk.went(2 * DAY + HOUR) == (DUE, 2 * DAY + HOUR, 1)
    desk = Desk(hourly(), now=10.0)
    desk.went(10 * DAY)
    desk.now = 10 * DAY - MAX_SECONDS_AHEAD - 60  # while there was no daemon
    desk.opened()
    assert desk.agenda.next_wakeup() <= desk.now + HOUR


def test_ours_another_timetable_has_no_past() -> None:
    desk = Desk(hourly(every=DAY), now=10.0)
    desk.went(DAY)
    desk.agenda.replace([hourly(every=HOUR)], DAY + 6.5 * HOUR)
    assert desk.agenda.changed == {"a"}
    assert desk.went(DAY + 6.6 * HOUR) is None
    assert desk.went(DAY + 7 * HOUR) == (DUE, DAY + 7 * HOUR, 1)


def test_ours_what_was_due_by_the_timetable_before_is_still_run() -> None:
    desk = Desk(hourly("a"), hourly("b"), now=10.0, at_once=1)
    one = desk.begin(HOUR)
    assert one is not None
    other = {"a": "b", "b": "a"}[one.site]
    desk.agenda.replace([hourly("a", jitter=60), hourly("b", jitter=60)], HOUR + 10)
    desk.end(one, RunStatus.DONE, 20)
    attempt = desk.begin()
    assert attempt is not None
    assert (attempt.site, attempt.trigger, attempt.try_number) == (other, MISSED, 1)


def test_ours_a_site_that_is_gone_ends_its_run_and_may_come_back_in_it() -> None:
    desk = Desk(hourly("a"), hourly("b"), now=10.0, at_once=1)
    one = desk.begin(HOUR)
    assert one is not None
    other = {"a": "b", "b": "a"}[one.site]
    desk.agenda.replace([hourly(other)], HOUR + 10)
    assert desk.begin(HOUR + 10) is None
    desk.agenda.replace([hourly("a"), hourly("b")], HOUR + 20)
    assert desk.begin(HOUR + 20) is None
    desk.end(one, RunStatus.DONE, 10)
    assert desk.begin().site == other  # type: ignore[union-attr]
    desk.agenda.replace([hourly(one.site)], HOUR + 40)
    desk.end(desk.notes[-1], RunStatus.DONE, 10)
    assert other not in desk.agenda


def test_ours_a_site_that_is_left_alone_is_left_alone() -> None:
    desk = Desk(SiteSchedule("a", None, ScheduleConfig()), now=10.0)
    assert desk.agenda.next_wakeup() == math.inf
    assert desk.begin(10 * DAY) is None


class Machine(RuleBasedStateMachine):
    """Any order of runs, ends, deaths, clocks and configurations."""

    names = ("a", "b", "c", "d")

    def __init__(self) -> None:
        super().__init__()
        self.desk = Desk(*self.made(HOUR), now=1_000.0)
        self.open: dict[str, Attempt] = {}
        self.done: set[tuple[str, float]] = set()
        self.highest: dict[str, float] = {}

    def made(self, every: float) -> Iterable[SiteSchedule]:
        for number, name in enumerate(self.names):
            yield hourly(name, replace_schedule(run_on_start=number % 2 == 0), every * (1 + number), number * 100.0)

    @rule()
    def begin(self) -> None:
        desk = self.desk
        start = desk.agenda.next(desk.now)
        attempt = desk.begin()
        if attempt is None:
            return
        assert start == PlannedAttempt(attempt.site, attempt.slot, attempt.trigger, attempt.try_number)
        assert attempt.site not in self.open
        assert len(self.open) < self.desk.at_once
        self.open[attempt.site] = attempt
        if attempt.trigger is TELL:
            return
        assert (attempt.site, attempt.slot) not in self.done
        if attempt.try_number == 1 and attempt.trigger is not FIRST:
            assert attempt.slot <= desk.now or attempt.trigger is MISSED
            assert attempt.slot > self.highest.get(attempt.site, -1) or attempt.trigger is MISSED
        self.highest[attempt.site] = attempt.slot

    @precondition(lambda self: self.open)
    @rule(
        which=st.integers(0, 9),
        fate=st.sampled_from(RunStatus),
        after=st.floats(0, 5_000),
        notify_pending=st.booleans(),
    )
    def end(self, which: int, fate: RunStatus, after: float, notify_pending: bool) -> None:
        attempt = self.open.pop(sorted(self.open)[which % len(self.open)])
        self.desk.end(attempt, fate, after, notify_pending=notify_pending)
        if fate is RunStatus.DONE and attempt.trigger is not TELL:
            self.done.add((attempt.site, attempt.slot))

    @rule(seconds=st.floats(0, 20_000))
    def wait(self, seconds: float) -> None:
        self.desk.now += seconds

    @rule(seconds=st.floats(0, MAX_SECONDS_AHEAD / 8))
    def set_back(self, seconds: float) -> None:
        self.desk.now = max(0.0, self.desk.now - seconds)
        self.desk.agenda.reset_clock(self.desk.now)
        self.desk.save()

    @rule()
    def die(self) -> None:
        self.open.clear()
        self.desk.opened()

    @rule(at_once=st.integers(1, 3), keep=st.sets(st.sampled_from(names)))
    def other_sites(self, at_once: int, keep: set[str]) -> None:
        desk = self.desk
        desk.agenda.max_running = desk.at_once = max(at_once, len(self.open))
        desk.agenda.replace([asked for asked in desk.asked if asked.name in keep], desk.now)
        for asked in desk.asked:
            if asked.name not in desk.agenda:
                handled = desk.handled.get(asked.name)
                state = replayed_state(asked, handled, desk.since_done(asked.name), desk.now)
                desk.agenda.add(state, handled, desk.now)
        desk.agenda.replace(desk.asked, desk.now)
        desk.save()

    @invariant()
    def nothing_is_forgotten(self) -> None:
        """If there is room, the next that is due is begun, and something is always to come."""
        desk = self.desk
        wake = desk.agenda.next_wakeup()
        if len(self.open) < self.desk.at_once and len(self.open) < len(self.names):
            assert wake < math.inf
            assert (desk.agenda.next(desk.now) is not None) == (wake <= desk.now)

    @invariant()
    def another_daemon_would_know_the_same(self) -> None:
        if self.open:
            return
        other = self.desk.known()
        for name in self.names:
            mine, its = self.desk.agenda[name], other[name]
            assert (mine.handled, mine.slot_at, mine.failures) == (its.handled, its.slot_at, its.failures)
            assert (mine.spent, mine.failed_notifications, mine.cut_short) == (
                its.spent,
                its.failed_notifications,
                its.cut_short,
            )
            assert mine.is_broken or (mine.retry and mine.retry.trigger) == (its.retry and its.retry.trigger)
            assert (mine.notify_retry is None) == (its.notify_retry is None)


Machine.TestCase.settings = settings(max_examples=40, stateful_step_count=40)
test_ours_any_order_of_events = Machine.TestCase
