"""The sites of a schedule, as a configuration names them, and what became another with a new one."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from crawler.cli.configured import history_directory, shared
from crawler.cli.regenerating import check, planned
from crawler.cli.schedule_words import few
from crawler.config.schedule import Daemon
from crawler.errors import UsageError
from crawler.scheduling.scheduled import Scheduled, scheduled

_AT_START: Final = ("listen", "max_clients", "client_timeout")  # settings that are used as they were then


class Loaded(Struct, frozen=True):
    """What the daemon reads of a configuration. ``directory`` is where the history of the schedule is kept."""

    sites: tuple[Scheduled, ...]
    settings: Daemon
    directory: Path


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


def differences(before: Loaded, now: Loaded) -> Iterator[str]:
    """What became another, in a few words each."""
    old, new = ({site.name: site for site in loaded.sites} for loaded in (before, now))
    added = [name for name in new if name not in old]
    removed = [name for name in old if name not in new]
    changed = [name for name, site in new.items() if name in old and _own(old[name]) != _own(site)]
    for what, names in (("added", added), ("removed", removed), ("changed", changed)):
        if names:
            yield f"{what} {few(names)}"
    settings = [key for key in Daemon.model_fields if key != "directory" and _differs(before, now, key)]
    at_once = [f"daemon.{key}" for key in settings if key not in _AT_START]
    later = [f"daemon.{key}" for key in settings if key in _AT_START]
    if before.directory != now.directory:
        later.append("daemon.directory")
    if at_once:
        yield f"from now on, {', '.join(at_once)}"
    if later:
        yield f"only after the next start, {', '.join(later)}"


def _differs(before: Loaded, now: Loaded, key: str) -> bool:
    return bool(getattr(before.settings, key) != getattr(now.settings, key))


def _own(site: Scheduled) -> Scheduled:
    """What is the site's own: how the daemon behaves is not."""
    return replace(site, config=site.config.model_copy(update={"daemon": Daemon()}))
