"""Builds the schedule of a site from its section: the time zone, and what is wrong with it."""

import functools
import os
import zoneinfo
from collections.abc import Callable
from pathlib import Path
from typing import Final
from zoneinfo import ZoneInfo

from crawler.config.cron import Cron, Interval, Recurrence, Schedule, ScheduleError
from crawler.config.sections import ScheduleConfig
from crawler.errors import UsageError, did_you_mean

LOCAL_ZONE: Final = "local"

_NO_ZONE: Final = ScheduleConfig().timezone  # the default; an interval needs none

_LOCALTIME: Final = Path("/etc/localtime")


def build_schedule(name: str, section: ScheduleConfig, place: Callable[[str], str] = lambda _: "") -> Schedule | None:
    """The schedule of a site, None without one. Raises UsageError for an invalid one.

    ``place`` is where the file or the command line has a key of the section, or "".
    """

    def where(key: str) -> str:
        return f" ({found})" if (found := place(key)) else _of(name)

    if section.cron and section.every is not None:
        raise UsageError(f"schedule.cron and schedule.every{where('cron')} exclude each other. Choose one of them")
    zone = _zone(section.timezone, where("timezone")) if section.cron or section.timezone != _NO_ZONE else None
    if section.every is not None:
        recurrence: Recurrence = Interval.of(name, section.every)
    elif section.cron and zone:
        recurrence = _cron(section.cron, zone, where("cron"))
    else:
        return None
    return Schedule(name, recurrence, section.jitter) if section.is_timed else None


def _of(name: str) -> str:
    return f' of the site "{name}"' if name else ""


def _cron(expression: str, zone: ZoneInfo, where: str) -> Cron:
    try:
        return Cron.of(expression, zone)
    except ScheduleError as error:
        raise UsageError(
            f'schedule.cron "{expression}"{where} cannot be used: {error}. For example, '
            f'"30 3 * * *" means every day at 03:30'
        ) from None


def _zone(key: str, where: str) -> ZoneInfo:
    if key == LOCAL_ZONE:
        return _local_zone()
    try:
        return ZoneInfo(key)
    except (ValueError, OSError, zoneinfo.ZoneInfoNotFoundError):
        examples = 'Examples are "Europe/Berlin", "UTC" and "local"'
        hint = did_you_mean(key, sorted(zoneinfo.available_timezones()), examples)
        raise UsageError(f'schedule.timezone "{key}"{where} is not a known time zone. {hint}') from None


@functools.cache
def _local_zone() -> ZoneInfo:
    """The time zone of this machine: from TZ, /etc/localtime, or UTC."""
    if name := os.environ.get("TZ", "").removeprefix(":"):
        try:
            return ZoneInfo(name)
        except (ValueError, OSError, zoneinfo.ZoneInfoNotFoundError):
            raise UsageError(
                f'the environment variable TZ is "{name}", but no time zone has this name. Set schedule.timezone, '
                "for example to Europe/Berlin"
            ) from None
    try:
        with _LOCALTIME.open("rb") as file:
            key = str(_LOCALTIME.resolve()).rpartition("/zoneinfo/")[2]
            return ZoneInfo.from_file(file, key=key if not key.startswith("/") else LOCAL_ZONE)
    except (OSError, ValueError):
        return ZoneInfo("UTC")
