"""A site of the schedule: its name, schedule, directories and configuration, built from its plan."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final
from urllib.parse import unquote

from msgspec import Struct
from msgspec.structs import replace

from crawler.config.config import Config
from crawler.config.cron import Schedule
from crawler.config.plan import CrawlPlan
from crawler.config.schedule import build_schedule
from crawler.config.sections import DaemonConfig
from crawler.publish.recent_feed import recent_feed_url
from crawler.units import names_text


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
