"""What one run needs beyond the configuration: choices of the command line, and settings of its process."""

import gc
import sys
from pathlib import Path

from msgspec import Struct

from crawler.errors import UsageError


class RunOptions(Struct, frozen=True, kw_only=True):
    """The options of a run. Raises UsageError for two that exclude each other.

    ``unattended``: nobody can answer what to do with an unfinished run that has other settings. ``should_serve``: the
    site should serve the sitemap from the output directory. ``changed`` is the file with the URLs of changed pages, -
    for standard input.
    """

    fresh: bool = False
    restart: bool = False
    dry_run: bool = False
    accept_shrink: bool = False
    replace: bool = False
    as_json: bool = False
    quiet: bool = False
    verbose: bool = False
    unattended: bool = False
    should_serve: bool = False
    changed: str | None = None

    def __post_init__(self) -> None:
        if self.fresh and self.dry_run:
            raise UsageError(
                "--fresh deletes results of earlier runs, but --dry-run changes nothing. Use only one of the two "
                "options"
            )
        if self.fresh and self.restart:
            raise UsageError(
                "--fresh deletes results of earlier runs, but --restart keeps the results. Use only "
                "one of the two options"
            )


def read_changed(file: str | None) -> tuple[str, ...]:
    """The lines of a file with URLs of changed pages (-: standard input). Raises UsageError."""
    if file is None:
        return ()
    try:
        text = sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"--changed {file} cannot be read: {error}") from None
    return tuple(text.splitlines())


def tune_garbage_collector() -> None:
    """Freeze what is imported by now, and collect rarely: reference counts free what a page leaves behind."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


def loop_options() -> dict[str, bool]:
    """The options of the event loop: uvloop where it is installed."""
    try:
        import uvloop  # noqa: F401, PLC0415 - optional: it does not exist everywhere
    except ImportError:
        return {"use_uvloop": False}
    return {"use_uvloop": True}
