"""A site of the schedule: its name, schedule, directories and configuration, built from its plan."""

import difflib
import functools
import os
import zoneinfo
from collections.abc import Iterator
from pathlib import Path
from typing import Final
from urllib.parse import unquote
from zoneinfo import ZoneInfo

from msgspec import Struct
from msgspec.structs import replace

from crawler.config.config import Config
from crawler.config.plan import CrawlPlan
from crawler.config.sections import DaemonConfig, ScheduleConfig
from crawler.errors import UsageError
from crawler.publish.recent_feed import recent_feed_url
from crawler.schedule.cron import Cron, Interval, Recurrence, Schedule, ScheduleError
from crawler.units import names_text

LOCAL_ZONE: Final = "local"

_NO_ZONE: Final = ScheduleConfig().timezone  # the default; an interval needs none

_LOCALTIME: Final = Path("/etc/localtime")


class SitePlaces(Struct, frozen=True, kw_only=True):
    """Where a site of a schedule is, and where its results are.

    ``state`` is the directory of the site's state, ``output`` where its sitemap is published, ``report`` that of its
    audit reports, and ``recent`` the name of the feed beside the sitemap, "" for none.
    """

    name: str
    url: str
    sitemap_url: str
    state: Path
    output: Path
    report: Path | None = None
    recent: str = ""


class ScheduledSite(SitePlaces, frozen=True, kw_only=True):
    """A site of a schedule. Two equal sites run alike. ``schedule`` is None for a site without one."""

    config: Config
    schedule: Schedule | None


def scheduled_site(name: str, plan: CrawlPlan) -> ScheduledSite:
    """Build the site of a plan. Raises UsageError for an invalid schedule."""
    config = plan.config
    return ScheduledSite(
        name=name,
        url=plan.seed,
        sitemap_url=plan.sitemap_url,
        state=plan.state,
        output=plan.output,
        report=Path(config.audit.report) if config.audit.report else None,
        recent=unquote(recent_feed_url(plan).rpartition("/")[2]),
        config=config,
        schedule=build_schedule(name, config.schedule),
    )


def build_schedule(name: str, section: ScheduleConfig) -> Schedule | None:
    """The schedule of a site, None without one. Raises UsageError for an invalid one."""
    if section.cron and section.every is not None:
        raise UsageError(f'the site "{name}" has both schedule.cron and schedule.every. Choose one of them')
    zone = _zone(name, section.timezone) if section.cron or section.timezone != _NO_ZONE else None
    if section.every is not None:
        recurrence: Recurrence = Interval.of(name, section.every)
    elif section.cron and zone:
        recurrence = _cron(name, section.cron, zone)
    else:
        return None
    return Schedule(name, recurrence, section.jitter) if section.is_timed else None


def _cron(name: str, expression: str, zone: ZoneInfo) -> Cron:
    try:
        return Cron.of(expression, zone)
    except ScheduleError as error:
        raise UsageError(
            f'schedule.cron "{expression}" of the site "{name}" cannot be used: {error}. For example, '
            f'"30 3 * * *" means every day at 03:30'
        ) from None


def _zone(name: str, key: str) -> ZoneInfo:
    if key == LOCAL_ZONE:
        return _local_zone()
    try:
        return ZoneInfo(key)
    except (ValueError, OSError, zoneinfo.ZoneInfoNotFoundError):
        matches = difflib.get_close_matches(key, sorted(zoneinfo.available_timezones()), n=1)
        hint = f'Did you mean "{matches[0]}"?' if matches else 'Examples are "Europe/Berlin", "UTC" and "local"'
        raise UsageError(f'schedule.timezone "{key}" of the site "{name}" is not a known time zone. {hint}') from None


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


# settings that a reload does not change
_RESTART_KEYS: Final = ("listen", "max_clients", "client_timeout", "directory")


class LoadedConfig(Struct, frozen=True):
    """The daemon's part of a configuration. ``directory`` holds the history of the schedule."""

    sites: tuple[ScheduledSite, ...]
    settings: DaemonConfig
    directory: Path


def config_changes(before: LoadedConfig, now: LoadedConfig) -> Iterator[str]:
    """The changes between two configurations, each in a few words."""
    old, new = ({site.name: site for site in loaded.sites} for loaded in (before, now))
    added = [name for name in new if name not in old]
    removed = [name for name in old if name not in new]
    changed = [name for name, site in new.items() if name in old and _site_settings(old[name]) != _site_settings(site)]
    for verb, names in (("added", added), ("removed", removed), ("changed", changed)):
        if names:
            yield f"{verb} {names_text(names)}"
    old_settings, new_settings = dict(before.settings), dict(now.settings)
    settings = [key for key in old_settings if key != "directory" and old_settings[key] != new_settings[key]]
    if before.directory != now.directory:
        settings.append("directory")
    for when, are_later in (("from now on", False), ("after the next start", True)):
        if keys := [f"daemon.{key}" for key in settings if (key in _RESTART_KEYS) == are_later]:
            yield f"used {when}: {', '.join(keys)}"


def _site_settings(site: ScheduledSite) -> ScheduledSite:
    """The site's own settings, without those of the daemon."""
    return replace(site, config=site.config.model_copy(update={"daemon": DaemonConfig()}))
