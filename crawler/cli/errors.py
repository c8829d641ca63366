"""Ends every command: prints errors in one line, logs to standard error, and sets the exit code."""

import errno
import json
import logging
import os
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import metadata
from typing import TYPE_CHECKING, Final

import typer

from crawler.audit.report.layout import output_width, wrap
from crawler.cli.options import notable_variables
from crawler.errors import Incomplete, SiteatlasError, StorageError, UsageError
from crawler.url.secrets import mask_secrets
from sitemap import destination_error, safe, shorten

if TYPE_CHECKING:
    from rich.console import Console

log = logging.getLogger(__name__)
_MAX_WORD: Final = 200  # characters: a path may be long, and a URL from the web has no limit
_TREATED_AS_TERMINAL: Final = ("FORCE_COLOR", "TTY_COMPATIBLE")  # variables that rich reads
_OF_DISKS: Final = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)
INTERRUPTED: Final = "interrupted; the state is saved, run the same command again to continue"


class CommandErrors:
    """Prints each error in one line, and exits with its code. ``terminal`` is that of standard error, if it is one.

    ``site`` is the name of the site that the lines are about, if there are several.
    """

    def __init__(self, verbose: bool, interrupted: str = "interrupted") -> None:
        self.terminal = _terminal()
        self._width = self.terminal.width if self.terminal else 0
        self.exit_code = 0
        self.site = ""
        self._verbose = verbose
        self._interrupted = interrupted

    def __enter__(self) -> "CommandErrors":
        level, handlers = logging.INFO if self._verbose else logging.WARNING, [_LogHandler(self.print_line)]
        logging.basicConfig(level=level, format="%(message)s", handlers=handlers, force=True)
        logging.getLogger("httpx").setLevel(logging.WARNING)
        if self.terminal:  # somebody waits: the tables of a large crawl take a minute
            logging.getLogger("crawler.dataset").setLevel(logging.INFO)
        for sentence in notable_variables():
            log.warning("%s", sentence)
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is None:
            if self.exit_code:
                raise typer.Exit(self.exit_code)
            return
        if isinstance(error, BrokenPipeError):  # `siteatlas … | head`
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(self.exit_code) from error
        if (code := self.report(error)) is not None:
            raise typer.Exit(code) from error

    def report(self, error: BaseException) -> int | None:
        """Print an error; returns the exit code, None for other exceptions."""
        if isinstance(error, OSError) and error.errno in _OF_DISKS:
            place = error.filename or "standard output, or a file of this command,"
            error = StorageError(str(destination_error(f"{place} cannot be used", error)))
        if isinstance(error, SiteatlasError):
            self.print_line(str(error))
            return error.exit_code
        if isinstance(error, KeyboardInterrupt):
            self.print_line(self._interrupted)
            return Incomplete.exit_code
        if isinstance(error, Exception) and not isinstance(error, typer.Exit):
            if self._verbose:
                self._print_trace(error)
            version = metadata.version("siteatlas")
            message = f"internal error in siteatlas {version}: {type(error).__name__}: {error}"
            self.print_line(f"{message} (-v shows where)")
            return 1
        return None

    def print_line(self, text: str) -> None:
        """Print one line to standard error."""
        line = _lines(": ".join(filter(None, ("siteatlas", self.site, text))), self._width)
        if self.terminal:
            self.terminal.print(line, markup=False, soft_wrap=True)
        else:
            typer.echo(line, err=True)

    def _print_trace(self, error: Exception) -> None:
        if self.terminal:
            self.terminal.print_exception()
        else:
            traceback.print_exception(error)


def _terminal() -> "Console | None":
    """The terminal of standard error, None if it is a file or a pipe. Most runs have none, and need not load rich."""
    if not sys.stderr.isatty() and not any(map(os.environ.get, _TREATED_AS_TERMINAL)):
        return None
    from rich.console import Console  # noqa: PLC0415

    console = Console(stderr=True, highlight=False)
    return console if console.is_terminal else None


class _LogHandler(logging.Handler):
    """Prints each log record as a line of the command, above a live display if there is one."""

    def __init__(self, print_line: Callable[[str], None]) -> None:
        super().__init__()
        self._print_line = print_line

    def emit(self, record: logging.LogRecord) -> None:
        """Print the message, and the trace of an error below it."""
        self._print_line(self.format(record))


class SafeLogFormatter(logging.Formatter):
    """Escapes control characters in log records, and masks secrets in the queries of URLs: both may come from the web.

    ``width`` is that of the terminal in characters, 0 for a file: it gets each record in one line.
    """

    def __init__(self, layout: str, dates: str | None = None, *, width: int = 0) -> None:
        super().__init__(layout, dates)
        self._width = width

    def format(self, record: logging.LogRecord) -> str:
        """The line, and the trace of an error below it."""
        return _lines(super().format(record), self._width)


def _lines(text: str, width: int) -> str:
    lines = (safe(shorten(mask_secrets(line), _MAX_WORD)) for line in text.split("\n"))
    return "\n".join(part for line in lines for part in wrap(line, width, rest="  "))


@contextmanager
def faults_of(subject: str) -> Iterator[None]:
    """Let each UsageError begin with what it is about."""
    try:
        yield
    except UsageError as error:
        raise UsageError(f"{subject}: {error}") from None


def print_json(values: object) -> None:
    """Print values as JSON to standard output."""
    sys.stdout.write(f"{json.dumps(values, indent=2)}\n")


def set_up_logging(level: int) -> None:
    """Log plain lines of a service, with the time unless they go to the systemd journal, which adds its own."""
    handler = logging.StreamHandler(sys.stderr)
    timestamp = "" if _is_journal() else "%(asctime)s "
    width = output_width(sys.stderr) if sys.stderr.isatty() else 0
    handler.setFormatter(SafeLogFormatter(f"{timestamp}%(message)s", "%Y-%m-%d %H:%M:%S %Z", width=width))
    logging.basicConfig(level=level, handlers=[handler], force=True)
    logging.getLogger("httpx").setLevel(logging.WARNING)


def _is_journal() -> bool:
    """Whether standard error is the stream that JOURNAL_STREAM names.

    https://www.freedesktop.org/software/systemd/man/latest/systemd.exec.html
    """
    stderr = os.fstat(2)
    return os.environ.get("JOURNAL_STREAM") == f"{stderr.st_dev}:{stderr.st_ino}"
