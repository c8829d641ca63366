"""The status of a schedule and its sites at one moment, as values and in words: for people, the web page, metrics."""

import math
import time
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from crawler.schedule.history import HistoryReader
from crawler.schedule.queue import RunQueue, replayed_state
from crawler.schedule.site import ScheduledSite, SitePlaces
from crawler.schedule.site_state import Attempt, SiteSchedule, SiteState, Trigger
from crawler.state.runs import UNSERVED, RunStatus
from crawler.units import clock_text
from crawler.version import __version__


class SiteStatus(SitePlaces, frozen=True, kw_only=True):
    """A site of a schedule. Times are Unix times, None: none.

    ``schedule`` is a description, "" for a site without one. ``next_at`` is the earliest start of the next run,
    ``running_since`` the start of the running one, ``failures`` the number of failed attempts in a row, and ``last``
    the last run that ended. An audit follows a run when the last audit is ``audit_every`` seconds old, None: never.
    """

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
    queue.add(replayed_state(site_schedule(site), handled, attempts, now, is_alive=is_alive), handled, now)


def sites_status(sites: Iterable[ScheduledSite], queue: RunQueue, now: float) -> tuple[SiteStatus, ...]:
    """The status of each site."""
    return tuple(_site_status(site, queue[site.name], now) for site in sites)


def stored_status(sites: Iterable[ScheduledSite], directory: Path, now: float) -> ScheduleStatus:
    """The status of all sites by the history in a directory, for processes other than the daemon.

    ``next_at`` is then when the next run would start if a daemon ran; None of a site that the running daemon does not
    have, as it runs others only (--site). Raises StorageError, UsageError.
    """
    queue = RunQueue(0)
    sites = list(sites)
    with HistoryReader(directory) as history:
        is_alive = bool(history.daemon())
        for site in sites:
            load_history(queue, site, history, now, is_alive=is_alive)
        known = history.note().sites
    found = sites_status(sites, queue, now)
    planned = tuple(site if known is None or site.name in known else replace(site, next_at=None) for site in found)
    return ScheduleStatus(version=__version__, now=now, sites=planned, is_alive=is_alive)


def _site_status(site: ScheduledSite, entry: SiteState, now: float) -> SiteStatus:
    running = entry.running
    next_at = max(entry.run_at, now)
    return SiteStatus(
        **{field: getattr(site, field) for field in SitePlaces.__struct_fields__},
        schedule=site.schedule.describe() if site.schedule else "",
        next_at=next_at if math.isfinite(next_at) else None,
        running_since=running.began if running and running.trigger is not Trigger.NOTIFY else None,
        failures=entry.failures,
        last=entry.last,
        audit_every=site.config.audit.every,
    )


_TRIGGER_TEXTS: Final = {
    Trigger.FIRST: "for the first time in this schedule",
    Trigger.DUE: "because it is due",
    Trigger.RESUMED: "to continue a run that was cut short",
    Trigger.ASKED: "because somebody asked for it",
    Trigger.NOTIFY: "to send outstanding notifications",
}
_STATUS_TEXTS: Final = {
    RunStatus.FAILED: "failed",
    RunStatus.BUSY: "busy",
    RunStatus.STOPPED: "stopped",
    RunStatus.BROKEN: "cannot be run",
}


def local_time(at: float) -> str:
    """A Unix time in the local zone: ``2026-11-21 03:00 CET``."""
    return f"{_in_local_zone(at):%Y-%m-%d %H:%M %Z}"


def long_local_time(at: float) -> str:
    """The same without the zone, for a column whose head names it (:func:`zones`): ``2026-11-21 03:00``."""
    return f"{_in_local_zone(at):%Y-%m-%d %H:%M}"


def short_local_time(at: float) -> str:
    """The same without year and zone: ``11-21 03:00``."""
    return f"{_in_local_zone(at):%m-%d %H:%M}"


def zones(moments: Iterable[float]) -> str:
    """The local zone at these moments: ``CET``, or ``CEST/CET`` when the clock changed in between."""
    return "/".join(dict.fromkeys(f"{_in_local_zone(at):%Z}" for at in sorted(moments)))


def _in_local_zone(at: float) -> datetime:
    return datetime.fromtimestamp(at, UTC).astimezone()


def time_ahead(at: float) -> str:
    """A future moment, and how far off it is: ``2026-11-21 03:00 CET (in 2 h 5 min)``."""
    left = duration_text(at - time.time())
    return f"{local_time(at)} (in {left})" if left else "now"


def duration_text(seconds: float) -> str:
    """A duration in two units at most, ``2 h 5 min``; "" for none."""
    minutes, seconds = divmod(max(0, round(seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    parts = [(days, "d"), (hours, "h"), (minutes, "min"), (seconds, "s")]
    first = next((place for place, (number, _) in enumerate(parts) if number), 3)
    return " ".join(f"{number} {unit}" for number, unit in parts[first : first + 2] if number)


def trigger_text(attempt: Attempt) -> str:
    """Why a run starts."""
    if attempt.trigger is Trigger.MISSED:
        return f"because the run of {local_time(attempt.slot)} was missed"
    if attempt.trigger is Trigger.RETRY:
        return f"again, because the last run failed (attempt {attempt.try_number})"
    return _TRIGGER_TEXTS[attempt.trigger]


def failures_text(last: Attempt | None, failures: int) -> str:
    """That so many attempts in a row failed, and whether the ``last`` one after them was stopped."""
    failed = "the last run" if failures == 1 else f"{failures:,} runs in a row"
    stopped = ", and one after that was stopped" if last and last.status is RunStatus.STOPPED else ""
    return f"{failed} failed{stopped}"


def status_text(ended: Attempt) -> str:
    """How a run ended, in a word or two: ``published``, ``failed``."""
    if ended.status is None:
        return "cut off"
    if ended.status is RunStatus.DONE:
        return ended.outcome or "done"
    return _STATUS_TEXTS[ended.status]


def needs_attention(ended: Attempt) -> bool:
    """Whether a person should look at the result."""
    is_failed = ended.status in (RunStatus.FAILED, RunStatus.BROKEN)
    return is_failed or ended.notify_pending or ended.outcome == UNSERVED


def attempt_text(ended: Attempt, next_at: float | None = None) -> str:
    """How an attempt ended, after how long, its message, and when the next try is."""
    is_notify_only = ended.trigger is Trigger.NOTIFY
    seconds = max(0.0, (ended.ended or ended.began) - ended.began)
    text = f"{status_text(ended)} after {clock_text(seconds)}"
    if ended.message:
        text = ended.message if is_notify_only and ended.notify_pending else f"{text}: {ended.message}"
    if ended.notify_pending and not is_notify_only:
        text += "; its notifications are outstanding"
    is_retried = needs_attention(ended) or ended.status is RunStatus.BUSY
    if is_retried and next_at is not None:
        left = duration_text(next_at - time.time())
        text += f"; next try {f'in {left}' if left else 'now'}"
    return text
