"""Decides which site starts now and which waits until when, from the states of all sites of a schedule. Pure.

``mark_started`` and ``mark_ended`` take the attempts in the order in which they happen. The same attempts, replayed
from a history, give the same queue: so the next daemon continues where a killed one was.

A slot is handled once an attempt for it has started. Handled slots only grow: a handled slot never runs again, also
when the clock is set back, unless it is more than a day ahead of the clock, which was wrong before then.
"""

import math
from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import Final

from crawler.schedule.site_state import Attempt, PlannedAttempt, ScheduledRetry, SiteSchedule, SiteState, Trigger

MAX_SECONDS_AHEAD: Final = 86_400.0  # a last slot further ahead of the clock was stored by a wrong clock


def handled_until(handled: float | None, now: float) -> float:
    """Up to when the slots of a site are handled: ``now`` for a new site, or when the stored time is too far ahead."""
    return now if handled is None or handled > now + MAX_SECONDS_AHEAD else handled


def replayed_state(
    site_schedule: SiteSchedule,
    handled: float | None,
    attempts: Iterable[Attempt],
    now: float,
    *,
    is_alive: bool = False,
) -> SiteState:
    """The state of a site after its attempts since the last successful one, the oldest first.

    ``handled`` is None for a new site. An attempt that has not ended is still running when the process that started it
    ``is_alive``; otherwise it was cut short.
    """
    state = SiteState(site_schedule, now if handled is None else handled)
    for attempt in attempts:
        state.mark_started(attempt)
        if attempt.status is not None:
            state.mark_ended(attempt)
    if not is_alive:
        state.mark_lost()
    state.handled = handled_until(None if handled is None else max(handled, state.handled), now)
    if not state.try_number and site_schedule.schedule.starts_at_once:
        state.retry = ScheduledRetry(Trigger.FIRST, state.handled)
    return state


class RunQueue:
    """The sites of a schedule; at most ``max_running`` run at the same time.

    ``changed`` holds the names of sites whose handled time is not that of their last attempt's slot: the caller must
    store it, and removes the name.
    """

    def __init__(self, max_running: int) -> None:
        self.max_running = max_running
        self.changed: set[str] = set()
        self._entries: dict[str, SiteState] = {}
        self._running = 0

    def __contains__(self, site: str) -> bool:
        return site in self._entries

    def __getitem__(self, site: str) -> SiteState:
        return self._entries[site]

    def add(self, entry: SiteState, handled: float | None, now: float) -> None:
        """Add a new site, in the state after its attempts; ``handled`` comes from the history, None for a new site."""
        name = entry.site_schedule.name
        self._entries[name] = entry
        if entry.handled != handled:
            self.changed.add(name)
        entry.clear_broken(now)
        entry.plan(now)

    def replace(self, site_schedules: Sequence[SiteSchedule], now: float) -> None:
        """Continue with these sites, all of them known. Others are dropped as soon as they are not running."""
        configured = {site_schedule.name: site_schedule for site_schedule in site_schedules}
        for name, entry in list(self._entries.items()):
            entry.is_configured = name in configured
            if entry.is_configured:
                self._handle(entry, entry.reconfigure(configured[name], now))
            elif not entry.running:
                self._drop(name)
                continue
            entry.plan(now)

    def reset_clock(self, now: float) -> None:
        """Adjust the states after the clock was set back."""
        for entry in self._entries.values():
            self._handle(entry, handled_until(entry.handled, now))
            entry.plan(now)

    def next(self, now: float) -> PlannedAttempt | None:
        """The attempt to start now, the one due first; None when there is none. To be called until it returns None."""
        if self._running >= self.max_running or self._next_at() > now:
            return None
        return self._first().start(now)

    def is_overdue(self, now: float) -> bool:
        """Whether a due site waits for a running one to end."""
        return self._running >= self.max_running and self._next_at() <= now

    def next_wakeup(self) -> float:
        """When the next attempt may start, as a Unix time; infinity when an event must happen first."""
        return self._next_at() if self._running < self.max_running else math.inf

    def mark_started(self, attempt: Attempt) -> None:
        """Record that an attempt has started."""
        entry = self._entries[attempt.site]
        entry.mark_started(attempt)
        if attempt.trigger is not Trigger.NOTIFY:
            self.changed.discard(attempt.site)
        self._running += 1
        entry.plan(attempt.began)

    def mark_ended(self, attempt: Attempt, now: float) -> None:
        """Record that a running attempt has ended."""
        entry = self._entries[attempt.site]
        handled = entry.handled
        entry.mark_ended(attempt)
        if entry.handled != handled:
            self.changed.add(attempt.site)
        self._running -= 1
        if entry.is_configured:
            entry.plan(now)
        else:
            self._drop(attempt.site)

    def _drop(self, name: str) -> None:
        del self._entries[name]
        self.changed.discard(name)  # if it comes back, its history is loaded again

    def _handle(self, entry: SiteState, handled: float) -> None:
        if entry.handled != handled:
            entry.handled = handled
            self.changed.add(entry.site_schedule.name)

    def _next_at(self) -> float:
        return self._first().at if self._entries else math.inf

    def _first(self) -> SiteState:
        """The site that is due first."""
        return min(self._entries.values(), key=attrgetter("at"))
