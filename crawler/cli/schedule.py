"""``siteatlas schedule``: the daemon that runs the sites of a configuration when they are due."""

import logging
from typing import Annotated, Any, Final

import typer

from crawler.cli.errors import CommandErrors, set_up_logging
from crawler.cli.help import RAW
from crawler.cli.options import QuietOption, SiteOption, SitesConfigOption, with_flags
from crawler.errors import UsageError

EPILOG: Final = f"""{RAW}Examples:
  siteatlas schedule --config sites.toml
  siteatlas schedule --config sites.toml --every 6h --jitter 10m
  siteatlas schedule --config sites.toml --listen ''

Exit codes: 0 stopped by SIGTERM or SIGINT, 1 internal error, 2 usage or configuration, 6 another schedule
uses the same history, 7 storage error."""


@with_flags("schedule.", "daemon.", "audit.every", "state.directory")
def schedule(
    config: SitesConfigOption = None,
    site: SiteOption = None,
    quiet: QuietOption = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Log when each site is due, and the progress of its run.")
    ] = False,
    **flags: Any,
) -> None:
    """Run the sites of a configuration when they are due, until stopped.

    [schedule] sets the times of all sites, and [sites.NAME.schedule] the times of one site. enabled = false in
    [sites.NAME.schedule] leaves that site out. A flag overrides both sections, and --every also overrides cron. Each
    run is a separate process and does the same as siteatlas run.

    schedule reads the file again when it changes, and on SIGHUP. If the file has an error, the log shows the error, and
    the sites run as before. On SIGTERM and Ctrl-C, active runs save their state, and the next start continues them.
    """
    with CommandErrors(verbose) as errors:
        if config is None:
            raise UsageError("no site is given: siteatlas schedule --config FILE")
        set_up_logging(logging.WARNING if quiet else logging.INFO)
        # the crawler is not needed to show help
        from crawler.cli.schedule_run import run_daemon  # noqa: PLC0415

        run_daemon(config, flags, site or [], is_verbose=verbose)
        errors.exit_code = 0
