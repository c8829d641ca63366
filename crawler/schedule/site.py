"""A site as the schedule knows it: its timetable, its places and its configuration. Made from its plan."""

import difflib
import functools
import os
import zoneinfo
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final
from urllib.parse import unquote
from zoneinfo import ZoneInfo

from msgspec import Struct

from crawler.config.config import Config
from crawler.config.plan import Plan
from crawler.config.schedule import Daemon, Schedule
from crawler.errors import UsageError
from crawler.model import Url
from crawler.publish.recent_feed import recent_address
from crawler.schedule.cron import Cron, Interval, Times, Timetable, TimetableError
from crawler.schedule.words import few

LOCAL: Final = "local"

_NO_ZONE: Final = Schedule().timezone  # that nobody chose, and an interval needs none

_LOCALTIME: Final = Path("/etc/localtime")


@dataclass(frozen=True, slots=True)
class Scheduled:
    """A site of a schedule. Two that are equal are run alike.

    ``timetable`` is None for a site that the schedule leaves alone, ``state`` the directory of the site's own state,
    ``output`` where it is published, ``report`` that of the reports of its audits, and ``recent`` the name of the feed
    beside the sitemap, "" for none.
    """

    name: str
    config: Config
    timetable: Timetable | None
    url: Url
    sitemap_url: Url
    state: Path
    output: Path
    report: Path | None = None
    recent: str = ""


def scheduled(name: str, plan: Plan) -> Scheduled:
    """The site of a plan. Raises UsageError for a schedule that cannot be kept, in one sentence."""
    report = plan.config.audit.report
    return Scheduled(
        name,
        plan.config,
        _timetable(name, plan.config.schedule),
        plan.seed,
        plan.sitemap_url,
        plan.state,
        plan.output,
        Path(report) if report else None,
        unquote(recent_address(plan).rpartition("/")[2]),
    )


def _timetable(name: str, section: Schedule) -> Timetable | None:
    if section.cron and section.every is not None:
        raise UsageError(f'the site "{name}" has both schedule.cron and schedule.every: choose one of them')
    zone = _zone(name, section.timezone) if section.cron or section.timezone != _NO_ZONE else None
    if section.every is not None:
        times: Times = Interval.of(name, section.every)
    elif section.cron and zone:
        times = _cron(name, section.cron, zone)
    else:
        return None
    return Timetable(name, times, section.jitter) if section.is_timed else None


def _cron(name: str, expression: str, zone: ZoneInfo) -> Cron:
    try:
        return Cron.of(expression, zone)
    except TimetableError as error:
        raise UsageError(
            f'schedule.cron "{expression}" of the site "{name}" cannot be used: {error}. At 03:30 every day is '
            f'"30 3 * * *"'
        ) from None


def _zone(name: str, key: str) -> ZoneInfo:
    if key == LOCAL:
        return _local()
    try:
        return ZoneInfo(key)
    except (ValueError, OSError, zoneinfo.ZoneInfoNotFoundError):
        near = difflib.get_close_matches(key, sorted(zoneinfo.available_timezones()), n=1)
        hint = f'did you mean "{near[0]}"?' if near else 'such as "Europe/Berlin", "UTC" or "local"'
        raise UsageError(
            f'schedule.timezone "{key}" of the site "{name}" is not known here: {hint}'
        ) from None


@functools.cache
def _local() -> ZoneInfo:
    """The time zone of this machine: that of TZ, or of /etc/localtime, or UTC."""
    if named := os.environ.get("TZ", "").removeprefix(":"):
        try:
            return ZoneInfo(named)
        except (ValueError, OSError, zoneinfo.ZoneInfoNotFoundError):
            raise UsageError(
                f'TZ is "{named}", which is no time zone such as Europe/Berlin: name one in schedule.timezone'
            ) from None
    try:
        with _LOCALTIME.open("rb") as file:
            key = str(_LOCALTIME.resolve()).rpartition("/zoneinfo/")[2]
            return ZoneInfo.from_file(file, key=key if not key.startswith("/") else LOCAL)
    except (OSError, ValueError):
        return ZoneInfo("UTC")


_AT_START: Final = ("listen", "max_clients", "client_timeout")  # settings that are used as they were then


class Loaded(Struct, frozen=True):
    """What the daemon reads of a configuration. ``directory`` is where the history of the schedule is kept."""

    sites: tuple[Scheduled, ...]
    settings: Daemon
    directory: Path


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
        yield f"used from now on: {', '.join(at_once)}"
    if later:
        yield f"used after the next start: {', '.join(later)}"


def _differs(before: Loaded, now: Loaded, key: str) -> bool:
    return bool(getattr(before.settings, key) != getattr(now.settings, key))


def _own(site: Scheduled) -> Scheduled:
    """What is the site's own: how the daemon behaves is not."""
    return replace(site, config=site.config.model_copy(update={"daemon": Daemon()}))
