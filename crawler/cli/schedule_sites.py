"""The sites of a schedule, as a configuration names them, and what became another with a new one."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from crawler.cli.configured import history_directory, shared
from crawler.cli.regenerating import check, planned
from crawler.errors import UsageError
from crawler.schedule.site import Loaded, scheduled


def load(file: Path, flags: Mapping[str, Any], wanted: Sequence[str]) -> Loaded:
    """The sites that are ``wanted``, all of them when none is named; at least one has a timetable.

    Raises UsageError.
    """
    ofall = shared(file, flags)
    every = planned(file, flags, wanted)
    for name, ready in every:
        check(name, ready, file)
    sites = tuple(scheduled(name, ready) for name, ready in every)
    if all(site.timetable is None for site in sites):
        raise UsageError(
            f'no site in {file} has a schedule: set every = "1d" or cron = "30 3 * * *" in [schedule], or in '
            f"[sites.NAME.schedule] of one, or give --every"
        )
    return Loaded(sites, ofall.daemon, history_directory(ofall))
