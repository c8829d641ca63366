"""How all sites of a schedule stand at one moment: what a person looks at, a page shows and a machine measures."""

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

    ``state`` is the directory of the site's own state, ``output`` where it is published, ``report`` that of the reports
    of its audits, and ``recent`` the name of the feed beside the sitemap, "" for none. ``timetable`` is in words, ""
    for a site that the schedule leaves alone. ``next_at`` is when the next run begins at the soonest, ``running_since``
    when the one that is going on began, ``failures`` the number of attempts in a row that failed, and ``last`` the last
    run that ended. A run is followed by an audit when the last is ``audit_every`` seconds old, None: by none.
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

    ``config_error`` says why the configuration as it is now is not used, and that the one of ``config_read`` is; ""
    when it is. ``trouble`` says why the history cannot be written, and that nothing is begun as long as it cannot; ""
    when it can. ``is_alive`` is False when there is no daemon, and this is what its history tells.
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
    """What the agenda is told of a site."""
    return SiteSchedule(site.name, site.schedule, site.config.schedule)


def load_history(
    agenda: RunQueue, site: ScheduledSite, history: HistoryReader, now: float, *, is_alive: bool = False
) -> None:
    """Have the agenda know a site as its history tells; ``is_alive`` is the daemon. Raises StorageError."""
    handled, attempts = history.handled(site.name), history.since_done(site.name)
    agenda.add(site_schedule(site), handled, attempts, now, is_alive=is_alive)


def sites_status(sites: Iterable[ScheduledSite], agenda: RunQueue, now: float) -> tuple[SiteStatus, ...]:
    """How each site stands."""
    return tuple(_site_status(site, agenda[site.name], now) for site in sites)


def stored_status(sites: Iterable[ScheduledSite], directory: Path, now: float) -> ScheduleStatus:
    """How all sites stand by the history in a directory: for whoever is not the daemon.

    ``next_at`` is then when the next run would begin if there were a daemon. Raises StorageError, UsageError.
    """
    agenda = RunQueue(0)
    sites = list(sites)
    with HistoryReader(directory) as look:
        is_alive = bool(look.daemon())
        for site in sites:
            load_history(agenda, site, look, now, is_alive=is_alive)
    return ScheduleStatus(
        version=__version__, now=now, sites=sites_status(sites, agenda, now), is_alive=is_alive
    )


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
