"""``siteatlas rollback``: publishes the set again that was out there before."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from crawler.cli.options import settings, with_flags
from crawler.cli.told import Told
from crawler.cli.wishes import Quiet, Verbose
from crawler.cli.words import count

_KEYS = (
    "output.directory",
    "site.sitemap_url",
    "state.directory",
    "output.settle",
    "output.grace",
    "output.generations",
)


@with_flags(*_KEYS)
def rollback(
    url: Annotated[
        str | None, typer.Argument(metavar="URL", help="The start URL of the site.", show_default=False)
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option("--config", metavar="FILE", help="A TOML file of settings.", envvar="SITEATLAS_CONFIG"),
    ] = None,
    site: Annotated[
        str | None, typer.Option("--site", metavar="NAME", help="Which site of a file of several.")
    ] = None,
    to: Annotated[
        int | None,
        typer.Option("--to", metavar="RUN", help="The set of this run; default: the one before the last."),
    ] = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
    **flags: Any,
) -> None:
    """Publish the previous sitemap of a site again, as a whole.

    A copy of each of the last sets is kept beside the state. What is known of the pages stays known: the next run
    publishes what it finds.
    """
    with Told(verbose, "interrupted; what is published is a whole set, the old one or the new one") as told:
        chosen = settings(config, flags, url, site)
        from crawler.plan import plan  # noqa: PLC0415 - the crawler is not needed to show help
        from crawler.rollback import rollback as go_back  # noqa: PLC0415

        run = go_back(plan(chosen), to)
        told.exit_code = 0
        if not quiet:
            sys.stdout.write(f"{run.refusal}: {count(run.listed, 'page')} in {chosen.output.directory}\n")
            sys.stdout.flush()
