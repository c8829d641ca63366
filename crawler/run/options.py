"""Command-line choices for one run, beyond the configuration."""

from msgspec import Struct

from crawler.errors import UsageError


class RunOptions(Struct, frozen=True, kw_only=True):
    """The options of a run. Raises UsageError for two that exclude each other.

    ``unattended``: nobody can answer what to do with an unfinished run that has other settings.
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

    def __post_init__(self) -> None:
        if self.fresh and self.dry_run:
            raise UsageError(
                "--fresh deletes results of earlier runs, but --dry-run changes nothing: use only one of them"
            )
        if self.fresh and self.restart:
            raise UsageError("--fresh deletes results of earlier runs, but --restart keeps them: use only one of them")
