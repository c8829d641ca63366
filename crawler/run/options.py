"""The options that several commands have, and what a person asks of one run only, as a value."""

from pathlib import Path
from typing import Annotated

import typer
from msgspec import Struct

from crawler.errors import UsageError

Settings = Annotated[
    Path | None,
    typer.Option("--config", metavar="FILE", help="A TOML file of settings.", envvar="SITEATLAS_CONFIG"),
]
SitesFile = Annotated[
    Path | None,
    typer.Option("--config", metavar="FILE", help="The TOML file of the sites.", envvar="SITEATLAS_CONFIG"),
]
Sites = Annotated[
    list[str] | None,
    typer.Option("--site", metavar="NAME", help="Only this site of the file; may be given more than once."),
]
Fresh = Annotated[
    bool,
    typer.Option(
        "--fresh",
        help="Forget what is known of the pages, and read all anew.",
    ),
]
Restart = Annotated[
    bool,
    typer.Option("--restart", help="Drop an unfinished crawl and begin anew with what earlier runs learnt."),
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Crawl, tell what would change, and publish nothing.")
]
AcceptShrink = Annotated[
    bool,
    typer.Option("--accept-shrink", help="Publish this once although many pages leave, or say the same now."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show nothing but errors.")]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Name every URL left out; log more.")]


class Wishes(Struct, frozen=True, kw_only=True):
    """The options of a run, as given. Raises UsageError for two that exclude each other.

    ``unattended``: nobody is there to be asked what becomes of an unfinished run with other settings.
    """

    fresh: bool = False
    restart: bool = False
    dry_run: bool = False
    accept_shrink: bool = False
    as_json: bool = False
    quiet: bool = False
    verbose: bool = False
    unattended: bool = False

    def __post_init__(self) -> None:
        if self.fresh and self.dry_run:
            raise UsageError("--fresh forgets and --dry-run changes nothing: give one of them")
        if self.fresh and self.restart:
            raise UsageError(
                "--fresh forgets what earlier runs learnt and --restart keeps it: give one of them"
            )
