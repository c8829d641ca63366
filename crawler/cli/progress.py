"""The live displays of a crawl and an audit on a terminal: counts, rate, errors, and the time left."""

import time
from collections import deque
from typing import TYPE_CHECKING, Self

from crawler.crawl.engine import WAITS, Tally
from crawler.crawl.progress import ProgressLogger, progress_line
from sitemap import safe

if TYPE_CHECKING:  # rich is loaded only for a terminal
    from rich.console import Console
    from rich.progress import Progress, ProgressColumn

    from crawler.audit.audit import ProgressWatchers
    from crawler.audit.source_record import SourceProgress

_BAR_COLUMNS = 110  # columns of a terminal from which on a bar leaves room for the line
_RATE_SECONDS = 4.0  # seconds over which rate and growth are averaged
_MAX_NAME = 32  # characters of a name
_LINE = "{task.fields[line]}"


def _progress(terminal: "Console", *columns: "ProgressColumn", refreshes: bool) -> "Progress":
    """The bars of a display, each after a spinner; ``refreshes`` if they change while nobody tells them."""
    from rich.progress import Progress, SpinnerColumn  # noqa: PLC0415

    return Progress(SpinnerColumn(), *columns, console=terminal, transient=True, auto_refresh=refreshes)


class CrawlProgressDisplay:
    """Shows the progress of a crawl of ``site`` on a terminal while entered; logs it without one.

    Unless ``enabled``, waits for the server are not told either until it is finished.
    """

    def __init__(self, terminal: "Console | None", site: str, *, enabled: bool = True) -> None:
        self._site = safe(site)
        self._logger = ProgressLogger()
        self._progress: Progress | None = None
        self._part = ""
        self._past: deque[tuple[float, int, int]] = deque()
        WAITS.disabled = not enabled
        if terminal and enabled:
            from rich.progress import BarColumn, TextColumn  # noqa: PLC0415

            bar = [BarColumn(bar_width=16)] if terminal.width >= _BAR_COLUMNS else []
            self._progress = _progress(terminal, *bar, TextColumn(_LINE, markup=False), refreshes=False)
            self._task = self._progress.add_task("", total=None, line=f"{self._site} · starting")

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.finish()

    def start(self) -> None:
        """Start the display, if it is not running."""
        if self._progress:
            self._progress.start()

    def finish(self) -> None:
        """Give the terminal back."""
        WAITS.disabled = False  # for other crawls of the process
        if self._progress:
            self._progress.stop()

    def part(self, name: str) -> None:
        """Show the current stage of the work, such as "classifying"."""
        self._part = name
        if self._progress and self._progress.live.is_started:
            self._progress.update(self._task, line=f"{self._site} · {name}")
            self._progress.refresh()

    def watch(self, tally: Tally) -> None:
        """Show the progress of the crawl."""
        if not self._progress:
            self._logger.watch(tally)
            return
        now = time.monotonic()
        self._past.append((now, tally.fetched, tally.known))
        while len(self._past) > 2 and self._past[0][0] < now - _RATE_SECONDS:
            self._past.popleft()
        then, fetched, known = self._past[0]
        seconds = max(now - then, 0.001)
        line = progress_line(tally, (tally.fetched - fetched) / seconds, (tally.known - known) / seconds)
        line = " · ".join(filter(None, (self._site, self._part, line)))
        self._progress.update(self._task, total=tally.known or None, completed=tally.done, line=line)
        self._progress.refresh()


class SourceProgressDisplay:
    """Shows the progress of reading sources from the first one on, if there is a terminal."""

    def __init__(self, terminal: "Console | None", *, enabled: bool = True) -> None:
        self._progress: Progress | None = None
        if terminal and enabled:
            from rich import progress  # noqa: PLC0415
            from rich.table import Column  # noqa: PLC0415

            kinds = progress.DownloadColumn, progress.TransferSpeedColumn, progress.TimeRemainingColumn
            figures = [kind(table_column=Column(no_wrap=True)) for kind in kinds]
            name = progress.TextColumn(_LINE, markup=False)
            self._progress = _progress(terminal, name, progress.BarColumn(bar_width=16), *figures, refreshes=True)
            self._task = self._progress.add_task("", total=None, line="", start=False, visible=False)

    def watch(self, reading: "SourceProgress") -> None:
        """Show the progress of reading a source."""
        if not self._progress:
            return
        if not self._progress.live.is_started:
            self._progress.start()
            self._progress.start_task(self._task)
        name = safe(reading.name)
        line = f"reading sources · {name if len(name) <= _MAX_NAME else f'…{name[-_MAX_NAME:]}'}"
        self._progress.update(self._task, total=reading.size or None, completed=reading.read, line=line, visible=True)

    def finish(self) -> None:
        """Stop the display."""
        if self._progress:
            self._progress.stop()


class AuditProgressDisplays:
    """Shows the progress of an audit while entered: first of its sources, then of its crawl."""

    def __init__(self, terminal: "Console | None", site: str, *, enabled: bool) -> None:
        self._reading = SourceProgressDisplay(terminal, enabled=enabled)
        self._crawling = CrawlProgressDisplay(terminal, site, enabled=enabled)

    def __enter__(self) -> "ProgressWatchers":
        from crawler.audit.audit import ProgressWatchers  # noqa: PLC0415 - a crawl needs none of it

        return ProgressWatchers(self._watch, self._reading.watch, self._part)

    def __exit__(self, *_: object) -> None:
        self.finish()

    def finish(self) -> None:
        """Give the terminal back."""
        self._reading.finish()
        self._crawling.finish()

    def _watch(self, tally: Tally) -> None:
        self._crawl()
        self._crawling.watch(tally)

    def _part(self, name: str) -> None:
        self._crawl()
        self._crawling.part(name)

    def _crawl(self) -> None:
        self._reading.finish()
        self._crawling.start()
