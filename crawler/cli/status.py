"""``siteatlas status``: the sites, what is published of them, their last runs and the next ones. Only looks."""

import json
import sys
from typing import Annotated, Any, Final

import typer

from crawler.cli.errors import Told
from crawler.cli.options import Sites, SitesFile, with_flags
from crawler.cli.tables import terminal_width
from crawler.errors import worst

_FEW: Final = 3  # sites that are told of in full, unless they are named


@with_flags("state.directory", "daemon.directory")
def status(
    config: SitesFile = None,
    site: Sites = None,
    runs: Annotated[int, typer.Option("--runs", metavar="N", min=1, help="Number of last runs to show.")] = 5,
    as_json: Annotated[bool, typer.Option("--json", help="Print the status as JSON.")] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Show the trace of an internal error.")
    ] = False,
    **flags: Any,
) -> None:
    """Show the sites: what each has published, whether a run is active, and the last runs.

    These are the sites of the configuration, or without one all that have a state or an audit in the state directory.
    If there are more than three, each has one line, and --site shows one in full. With a schedule, status also shows
    when the next run starts. It changes nothing and does not disturb an active run.
    """
    with Told(verbose) as told:
        from crawler.cli.status_collect import look_at  # noqa: PLC0415 - not needed to show help
        from crawler.cli.status_json import as_values  # noqa: PLC0415
        from crawler.cli.status_text import lines  # noqa: PLC0415

        looked = look_at(config, flags, site or [], runs)
        told.exit_code = worst(each.exit_code for each in looked.sites)
        if as_json:
            json.dump(as_values(looked), sys.stdout, indent=2)
            sys.stdout.write("\n")
        else:
            few = bool(site) or len(looked.sites) <= _FEW
            sys.stdout.write("\n".join(lines(looked, terminal_width(), in_full=few)) + "\n")
        sys.stdout.flush()
