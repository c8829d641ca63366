"""Loads the sites of a schedule from a configuration, and runs the daemon."""

import logging
import signal
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import anyio

from crawler.cli.options import override_words
from crawler.cli.run_sites import check_site, site_plans
from crawler.cli.sites import history_directory, shared_config
from crawler.errors import NEXT_RUN, UsageError, single_error
from crawler.run.options import loop_options
from crawler.schedule.daemon import ConfigWatcher, DaemonProcess
from crawler.schedule.history import History
from crawler.schedule.site import LoadedConfig, scheduled_site
from crawler.schedule.web.server import bind_socket

log = logging.getLogger(__name__)


def load_sites(file: Path, flags: Mapping[str, Any], names: Sequence[str]) -> LoadedConfig:
    """The sites in ``names``, or all if it is empty; at least one has a schedule.

    A site that cannot run, such as one whose secret is missing, does not stop the others: its runs fail, and tell it.
    Raises UsageError, also if no site can run.
    """
    shared = shared_config(file, flags)
    plans = site_plans(file, flags, names)
    faults = []
    for name, plan in plans:
        try:
            check_site(name, plan, file)
        except UsageError as error:
            faults.append(error)
    if len(faults) == len(plans):
        raise faults[0]
    for fault in faults:
        log.error("%s", fault)
    sites = tuple(scheduled_site(name, plan) for name, plan in plans)
    if all(site.schedule is None for site in sites):
        raise UsageError(
            f'no site in {file} has a schedule. Set every = "1d" or cron = "30 3 * * *" in [schedule] '
            f"(for one site, in [sites.NAME.schedule]), or add --every 1d"
        )
    return LoadedConfig(sites, shared.daemon, history_directory(shared))


def run_daemon(file: Path, flags: Mapping[str, Any], names: Sequence[str], *, is_verbose: bool) -> None:
    """Run the schedule of a configuration until a signal ends it. Raises SiteatlasError."""

    def read() -> LoadedConfig:
        return load_sites(file, flags, names)

    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # until the event loop handles it
    watcher = ConfigWatcher(file)
    loaded = read()
    NEXT_RUN.overrides = override_words(flags)
    with (
        History(loaded.directory, loaded.settings.history_limit) as history,
        bind_socket(loaded.settings.listen) if loaded.settings.listen else nullcontext() as listener,
    ):
        daemon = DaemonProcess(file, loaded, read, watcher, history, listener, is_verbose=is_verbose)
        try:
            anyio.run(daemon.run, backend_options=loop_options())
        except BaseExceptionGroup as group:
            raise single_error(group) from None
