"""The live display of the sources that an audit reads: which one, how much of it, how fast, how long yet."""

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    SpinnerColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)
from rich.table import Column

from crawler.audit.collect import Reading
from crawler.cli.progress import Plain
from sitemap import safe

_FIGURES = DownloadColumn, TransferSpeedColumn, TimeRemainingColumn
_LONGEST = 32  # characters of a name that are shown


class ReadingDisplay:
    """Draws on ``console`` from the first source on, until it is told to finish.

    A console that is no terminal is left alone.
    """

    def __init__(self, console: Console, *, enabled: bool = True) -> None:
        self._progress = Progress(
            SpinnerColumn(),
            Plain(""),
            BarColumn(bar_width=16),
            *(each(table_column=Column(no_wrap=True)) for each in _FIGURES),
            console=console,
            transient=True,
            disable=not (enabled and console.is_terminal),
        )
        self._task = self._progress.add_task("", total=None, line="", start=False, visible=False)

    def watch(self, reading: Reading) -> None:
        """Show how far the reading is."""
        if not self._progress.live.is_started:
            self._progress.start()
            self._progress.start_task(self._task)
        name = safe(reading.name)
        line = f"reading sources · {name if len(name) <= _LONGEST else f'…{name[-_LONGEST:]}'}"
        self._progress.update(
            self._task, total=reading.total or None, completed=reading.done, line=line, visible=True
        )

    def finish(self) -> None:
        """Everything was read: give the terminal back."""
        self._progress.stop()
