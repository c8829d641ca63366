"""``siteatlas schedule``: the daemon that runs the sites of a configuration when they are due."""

import logging
import os
import sys
from typing import Annotated, Any, Final

import typer

from crawler.cli.errors import Harmless, Told
from crawler.cli.help import RAW
from crawler.cli.options import Quiet, Sites, SitesFile, with_flags
from crawler.errors import UsageError

EPILOG: Final = f"""{RAW}Examples:
  siteatlas schedule --config sites.toml
  siteatlas schedule --config sites.toml --every 6h --jitter 10m
  siteatlas schedule --config sites.toml --listen ''

Exit codes: 0 stopped by SIGTERM or SIGINT, 1 internal error, 2 usage or configuration, 6 another schedule
keeps the same history, 7 storage error."""


@with_flags("schedule.", "daemon.", "audit.every", "state.directory")
def schedule(
    config: SitesFile = None,
    site: Sites = None,
    quiet: Quiet = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Log when each site is due, and how far its run is.")
    ] = False,
    **flags: Any,
) -> None:
    """Run the sites of a configuration when they are due, until it is stopped.

    [schedule] says when, for all sites or in [sites.NAME.schedule] for one, where enabled = false leaves it out. A flag
    wins over both, also --every over cron. Each run is a process of its own and does what siteatlas run does. The file
    is read again when it has changed, and on SIGHUP; one that is wrong is told, and the sites go on as before. SIGTERM
    and Ctrl-C let the runs that are going on save what they know; the next start goes on with them.
    """
    with Told(verbose) as told:
        if config is None:
            raise UsageError("say which sites: siteatlas schedule --config FILE")
        _log(logging.WARNING if quiet else logging.INFO)
        # the crawler is not needed to show help
        from crawler.cli.schedule_run import keep  # noqa: PLC0415

        keep(config, flags, site or [], is_verbose=verbose)
        told.exit_code = 0


def _log(level: int) -> None:
    """Each line as it is, with the time unless it goes to the journal, which has its own."""
    handler = logging.StreamHandler(sys.stderr)
    before = "" if _is_journal() else "%(asctime)s "
    handler.setFormatter(Harmless(f"{before}%(message)s", "%Y-%m-%d %H:%M:%S %Z"))
    logging.basicConfig(level=level, handlers=[handler], force=True)
    logging.getLogger("httpx").setLevel(logging.WARNING)


def _is_journal() -> bool:
    """Whether standard error is what JOURNAL_STREAM names.

    https://www.freedesktop.org/software/systemd/man/latest/systemd.exec.html
    """
    found = os.fstat(2)
    return os.environ.get("JOURNAL_STREAM") == f"{found.st_dev}:{found.st_ino}"
