"""The status of a schedule and of its sites at one moment, for people, the web page and metrics."""

import math
from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct

from crawler.schedule.history import HistoryReader
from crawler.schedule.queue import RunQueue
from crawler.schedule.site import ScheduledSite
from crawler.schedule.site_state import Attempt, SiteSchedule, SiteState, Trigger
from crawler.version import __version__


class SiteStatus(Struct, frozen=True, kw_only=True):
    """A site of a schedule. Times are Unix times, None: none.

    ``state`` is the directory of the site's state, ``output`` where its sitemap is published, ``report`` that of its
    audit reports, and ``recent`` the name of the feed beside the sitemap, "" for none. ``schedule`` is a description,
    "" for a site without one. ``next_at`` is the earliest start of the next run, ``running_since`` the start of the
    running one, ``failures`` the number of failed attempts in a row, and ``last`` the last run that ended. An audit
    follows a run when the last audit is ``audit_every`` seconds old, None: never.
    """

    name: str
    url: str
    sitemap_url: str
    state: Path
    output: Path
    report: Path | None = None
    recent: str = ""
    schedule: str = ""
    next_at: float | None = None
    running_since: float | None = None
    failures: int = 0
    last: Attempt | None = None
    audit_every: float | None = None


class ScheduleStatus(Struct, frozen=True, kw_only=True):
    """All sites, in the order of the configuration, and the daemon itself.

    ``config_error`` says why the current configuration is invalid, so that the one of ``config_read`` stays in use; ""
    when it is valid. ``trouble`` says why the history cannot be written, so that no run starts; "" when it can.
    ``is_alive`` is False when there is no daemon, and the status comes from its history.
    """

    version: str
    now: float
    sites: tuple[SiteStatus, ...]
    config: str = ""
    config_read: float | None = None
    config_error: str = ""
    trouble: str = ""
    started: float | None = None
    is_alive: bool = False
    is_stopping: bool = False


def site_schedule(site: ScheduledSite) -> SiteSchedule:
    """The schedule of a site, for the queue."""
    return SiteSchedule(site.name, site.schedule, site.config.schedule)


def load_history(
    queue: RunQueue, site: ScheduledSite, history: HistoryReader, now: float, *, is_alive: bool = False
) -> None:
    """Add a site to the queue with its history; the daemon ``is_alive`` or not. Raises StorageError."""
    handled, attempts = history.handled(site.name), history.since_done(site.name)
    queue.add(site_schedule(site), handled, attempts, now, is_alive=is_alive)


def sites_status(sites: Iterable[ScheduledSite], queue: RunQueue, now: float) -> tuple[SiteStatus, ...]:
    """The status of each site."""
    return tuple(_site_status(site, queue[site.name], now) for site in sites)


def stored_status(sites: Iterable[ScheduledSite], directory: Path, now: float) -> ScheduleStatus:
    """The status of all sites by the history in a directory, for processes other than the daemon.

    ``next_at`` is then when the next run would start if a daemon ran. Raises StorageError, UsageError.
    """
    queue = RunQueue(0)
    sites = list(sites)
    with HistoryReader(directory) as history:
        is_alive = bool(history.daemon())
        for site in sites:
            load_history(queue, site, history, now, is_alive=is_alive)
    return ScheduleStatus(version=__version__, now=now, sites=sites_status(sites, queue, now), is_alive=is_alive)


def _site_status(site: ScheduledSite, entry: SiteState, now: float) -> SiteStatus:
    running = entry.running
    next_at = max(entry.run_at, now)
    return SiteStatus(
        name=site.name,
        url=site.url,
        sitemap_url=site.sitemap_url,
        state=site.state,
        output=site.output,
        report=site.report,
        recent=site.recent,
        schedule=site.schedule.describe() if site.schedule else "",
        next_at=next_at if math.isfinite(next_at) else None,
        running_since=running.began if running and running.because is not Trigger.NOTIFY else None,
        failures=entry.failures,
        last=entry.last,
        audit_every=site.config.audit.every,
    )
