"""``siteatlas schedule``: the daemon that runs the sites of a configuration when they are due."""

import logging
from typing import Any

from crawler.cli.errors import CommandErrors, set_up_logging
from crawler.cli.options import NO_CONFIG, SitesConfigOption, with_flags
from crawler.errors import UsageError


@with_flags("schedule.cron", "schedule.every", "daemon.listen", "daemon.allowed_hosts", "state.directory")
def schedule(
    config: SitesConfigOption = None,
    site: list[str] | None = None,
    quiet: bool = False,
    verbose: bool = False,
    **flags: Any,
) -> None:
    """Run the sites of a configuration file when they are due, until you stop the daemon.

    [schedule] sets the times of all sites, and [sites.NAME.schedule] the times of one site. To leave a site out, write
    enabled = false in [sites.NAME.schedule]. Options on the command line override both sections. An --every there also
    overrides cron. Each run is a separate process, and does the same as siteatlas run.

    If the file changes, or on SIGHUP, schedule reads the file again. If the file then contains an error, schedule logs
    the error and continues with the old settings. On SIGTERM and Ctrl-C, active runs save their state. The next start
    continues them.
    """
    with CommandErrors(verbose):
        if config is None:
            raise UsageError(NO_CONFIG.format("schedule"))
        set_up_logging(logging.WARNING if quiet else logging.INFO)
        # the crawler is not needed to show help
        from crawler.cli.schedule_run import run_daemon  # noqa: PLC0415

        run_daemon(config, flags, site or [], is_verbose=verbose)
