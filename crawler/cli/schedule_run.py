"""The sites of a schedule, as a configuration names them, and what became another with a new one."""

import signal
import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import anyio

from crawler.cli.run_sites import check_site, site_plans
from crawler.cli.sites import history_directory, shared_config
from crawler.errors import UsageError, single_error
from crawler.run.event_loop import loop_options
from crawler.schedule.daemon import ConfigWatcher, _DaemonProcess
from crawler.schedule.history import History
from crawler.schedule.site import LoadedConfig, scheduled_site
from crawler.schedule.web.server import bind_socket


def load_sites(file: Path, flags: Mapping[str, Any], wanted: Sequence[str]) -> LoadedConfig:
    """The sites that are ``wanted``, all of them when none is named; at least one has a timetable.

    Raises UsageError.
    """
    ofall = shared_config(file, flags)
    every = site_plans(file, flags, wanted)
    for name, ready in every:
        check_site(name, ready, file)
    sites = tuple(scheduled_site(name, ready) for name, ready in every)
    if all(site.schedule is None for site in sites):
        raise UsageError(
            f'no site in {file} has a schedule: set every = "1d" or cron = "30 3 * * *" in [schedule], or in '
            f"[sites.NAME.schedule] for one site, or give --every"
        )
    return LoadedConfig(sites, ofall.daemon, history_directory(ofall))


def run_daemon(file: Path, flags: Mapping[str, Any], wanted: Sequence[str], *, is_verbose: bool) -> None:
    """Keep the schedule of a configuration until a signal ends it. Raises SiteatlasError."""

    def read() -> LoadedConfig:
        return load_sites(file, flags, wanted)

    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # it is being read; the loop takes the signal over
    watched = ConfigWatcher(file)
    first = read()
    with (
        History(first.directory, first.settings.history_limit) as history,
        _listen(first.settings.listen) as listener,
    ):
        daemon = _DaemonProcess(file, first, read, watched, history, listener, is_verbose=is_verbose)
        try:
            anyio.run(daemon.run, backend_options=loop_options())
        except BaseExceptionGroup as group:
            raise single_error(group) from None


@contextmanager
def _listen(listen: str) -> Iterator[socket.socket | None]:
    with bind_socket(listen) if listen else nullcontext() as listener:
        yield listener
