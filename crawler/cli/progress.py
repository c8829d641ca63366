"""The live display of a crawl on a terminal: found, done, rate, errors, and the time left when it can be known."""

import logging
import time
from collections import deque
from collections.abc import Callable
from copy import copy
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, Task, TextColumn
from rich.text import Text

from crawler.cli.words import clock
from crawler.engine import Tally

log = logging.getLogger(__name__)

_MINUTE = 60.0  # seconds between two lines of a log
_MEMORY = 4.0  # seconds over which rate and growth are taken


class Plain(TextColumn):
    """A column that shows a field as it is, without reading markup into it."""

    def render(self, task: Task) -> Text:
        """What the column shows of a task."""
        return Text(str(task.fields.get("line", "")), overflow="ellipsis", no_wrap=True)


class Display:
    """Draws on ``console`` while entered; a console that is no terminal is left alone."""

    def __init__(self, console: Console, *, enabled: bool = True) -> None:
        self._enabled = enabled and console.is_terminal
        self._progress = Progress(
            SpinnerColumn(),
            BarColumn(bar_width=24),
            Plain(""),
            console=console,
            transient=True,
            auto_refresh=False,
            disable=not self._enabled,
        )
        self._task = self._progress.add_task("", total=None, line="starting")
        self._part = ""
        self._past: deque[tuple[float, int, int]] = deque()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.finish()

    def start(self) -> None:
        """Take the terminal, unless that was done."""
        self._progress.start()

    def finish(self) -> None:
        """Give the terminal back."""
        self._progress.stop()

    def part(self, name: str) -> None:
        """Show which part of the work has begun: "judging"."""
        self._part = name
        if self._enabled and self._progress.live.is_started:
            self._progress.update(self._task, line=name)
            self._progress.refresh()

    def watch(self, tally: Tally) -> None:
        """Show how far the crawl is."""
        if not self._enabled:
            return
        now = time.monotonic()
        self._past.append((now, tally.done, tally.known))
        while len(self._past) > 2 and self._past[0][0] < now - _MEMORY:
            self._past.popleft()
        then, done, known = self._past[0]
        seconds = max(now - then, 0.001)
        line = describe(tally, (tally.done - done) / seconds, (tally.known - known) / seconds)
        if self._part:
            line = f"{self._part} · {line}"
        self._progress.update(self._task, total=tally.known or None, completed=tally.done, line=line)
        self._progress.refresh()


class Logged:
    """Logs how far a crawl is, for those who are at no terminal: about once a minute, and the first time it waits."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._then = clock()
        self._past = Tally()
        self._waited = False

    def watch(self, tally: Tally) -> None:
        """Log it, if it is time."""
        now = self._clock()
        is_first_wait = bool(tally.paused) and not self._waited
        if now - self._then < _MINUTE and not is_first_wait:
            return
        self._waited = self._waited or is_first_wait
        seconds = max(now - self._then, 1.0)
        past, self._past, self._then = self._past, copy(tally), now
        rate, growth = (tally.done - past.done) / seconds, (tally.known - past.known) / seconds
        log.info("%s", describe(tally, rate, growth))


def describe(tally: Tally, rate: float, growth: float) -> str:
    """One line. ``rate`` is URLs done a second, ``growth`` URLs found a second.

    The time left is told only once finding has all but ended: before that, it would be a guess.
    """
    parts = [f"{tally.done:,} of {tally.known:,} found"]
    if rate > 0:
        parts.append(f"{rate:,.0f}/s" if rate >= 10 else f"{rate:.1f}/s")
    if tally.failed:
        parts.append(f"{tally.failed:,} errors")
    if tally.paused:
        parts.append(tally.paused)
    elif rate > 0 and growth < rate * 0.1 and tally.done < tally.known:
        parts.append(f"{clock((tally.known - tally.done) / rate)} left")
    return " · ".join(parts)
