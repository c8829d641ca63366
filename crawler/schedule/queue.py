"""Which site begins now, and which waits until when: the states of all sites of a schedule. Pure.

What happens to a site is told in the order in which it happened: ``begun`` and ``ended``, with attempts. The same
attempts, told again from a history, make the same agenda: so a daemon that was killed is gone on with by the next.

A slot is handled when an attempt for it has begun. Slots only grow: one that is handled is never handled again, also
when the clock is set back, unless it is more than a day ahead of the clock, which then was wrong before.
"""

import heapq
import itertools
import math
from collections.abc import Iterable, Sequence
from typing import Final

from crawler.schedule.site_state import (
    Attempt,
    PlannedAttempt,
    ScheduledRetry,
    SiteSchedule,
    SiteState,
    Trigger,
)

MAX_SECONDS_AHEAD: Final = (
    86_400.0  # seconds that the last slot may be ahead of a clock that was only set right
)


def handled_until(handled: float | None, now: float) -> float:
    """Up to when the slots of a site are handled; ``now`` when it is new, and when that is too far ahead to be true."""
    return now if handled is None or handled > now + MAX_SECONDS_AHEAD else handled


class RunQueue:
    """The sites of a schedule, of which ``at_once`` are run at the same time at most.

    ``moved`` are the names of those that are handled up to another moment than the slot of their last attempt: it must
    be written down. Whoever does takes them out.
    """

    def __init__(self, at_once: int) -> None:
        self.max_running = at_once
        self.changed: set[str] = set()
        self._entries: dict[str, SiteState] = {}
        self._queue: list[tuple[float, int, str]] = []  # when, the version of the entry, its name
        self._running = 0
        self._versions = itertools.count(1)

    def __contains__(self, site: str) -> bool:
        return site in self._entries

    def __getitem__(self, site: str) -> SiteState:
        return self._entries[site]

    def add(
        self,
        asked: SiteSchedule,
        handled: float | None,
        attempts: Iterable[Attempt],
        now: float,
        *,
        is_alive: bool = False,
    ) -> None:
        """Take up a site that is not there, with its attempts since the last that was done, the oldest first.

        ``handled`` is what the history knows, None for a site that is new.
        The one that has not ended is going on if the daemon ``is_alive`` that began it, and else was cut short.
        """
        entry = self._entries[asked.name] = SiteState(asked, now if handled is None else handled)
        for attempt in attempts:
            entry.mark_started(attempt)
            if attempt.fate is not None:
                entry.mark_ended(attempt)
        if not is_alive:
            entry.mark_lost()
        entry.handled = handled_until(handled, now)
        if entry.handled != handled:
            self.changed.add(asked.name)
        entry.clear_broken(now)
        if not entry.turn and asked.schedule.run_on_start:
            entry.retry = ScheduledRetry(Trigger.FIRST, entry.handled)
        self._plan(entry, now)

    def replace(self, asked: Sequence[SiteSchedule], now: float) -> None:
        """Go on with these sites, all of them known. Others are forgotten as soon as they are not running."""
        wanted = {each.name: each for each in asked}
        for name, entry in list(self._entries.items()):
            entry.is_configured = name in wanted
            if entry.is_configured:
                self._handle(entry, entry.reconfigure(wanted[name], now))
            elif not entry.running:
                self._drop(name)
                continue
            self._plan(entry, now)

    def reset_clock(self, now: float) -> None:
        """The clock shows less than before."""
        for entry in self._entries.values():
            self._handle(entry, handled_until(entry.handled, now))
            self._plan(entry, now)

    def next(self, now: float) -> PlannedAttempt | None:
        """What is to begin now, if anything: that which was due first. It is asked for until there is nothing."""
        self._drop_stale()
        if self._running >= self.max_running or not self._queue or self._queue[0][0] > now:
            return None
        return self._entries[self._queue[0][2]].start(now)

    def is_overdue(self, now: float) -> bool:
        """Whether something is due, and waits for another site to be done."""
        self._drop_stale()
        return self._running >= self.max_running and bool(self._queue) and self._queue[0][0] <= now

    def next_wakeup(self) -> float:
        """When there may be something to begin, as a Unix time; infinity when something must happen first."""
        self._drop_stale()
        return self._queue[0][0] if self._queue and self._running < self.max_running else math.inf

    def mark_started(self, attempt: Attempt) -> None:
        """An attempt has begun."""
        entry = self._entries[attempt.site]
        entry.mark_started(attempt)
        if attempt.because is not Trigger.NOTIFY:
            self.changed.discard(attempt.site)
        self._running += 1
        self._plan(entry, attempt.began)

    def mark_ended(self, attempt: Attempt, now: float) -> None:
        """An attempt that had begun has ended."""
        entry = self._entries[attempt.site]
        entry.mark_ended(attempt)
        self._running -= 1
        if entry.is_configured:
            self._plan(entry, now)
        else:
            self._drop(attempt.site)

    def _drop(self, name: str) -> None:
        del self._entries[name]
        self.changed.discard(name)  # should it come back, its history is asked again

    def _handle(self, entry: SiteState, handled: float) -> None:
        if entry.handled != handled:
            entry.handled = handled
            self.changed.add(entry.site_schedule.name)

    def _plan(self, entry: SiteState, now: float) -> None:
        entry.plan(now)
        entry.version = next(self._versions)
        if math.isfinite(entry.at):
            heapq.heappush(self._queue, (entry.at, entry.version, entry.site_schedule.name))

    def _drop_stale(self) -> None:
        """Drop what is out of date from the head of the queue."""
        while self._queue:
            _, version, name = self._queue[0]
            entry = self._entries.get(name)
            if entry and entry.version == version:
                return
            heapq.heappop(self._queue)
