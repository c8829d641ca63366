"""The live display of a crawl on a terminal: found, done, rate, errors, and the time left when it can be known."""

import time
from collections import deque
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, Task, TextColumn
from rich.text import Text

from crawler.crawl.engine import Tally
from crawler.crawl.progress import describe

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
