"""Converts the status of sites to JSON values. Times are W3C datetimes in UTC."""

from typing import Any

import msgspec

from crawler.audit.compare.history import AuditStatus
from crawler.cli.status_collect import ScheduleHistory, SiteOverview, StatusReport
from crawler.cli.why.wording import w3c_or_none
from crawler.schedule.site_state import Attempt
from crawler.schedule.status import SiteStatus
from crawler.state.runs import Run
from crawler.state.status import StateStatus


def status_values(report: StatusReport) -> dict[str, Any]:
    """The whole status."""
    return {
        "schedule": _history_values(report.schedule) if report.schedule else None,
        "sites": [_site_values(site) for site in report.sites],
    }


def _history_values(schedule: ScheduleHistory) -> dict[str, Any]:
    return {"directory": str(schedule.directory), "running": schedule.daemon or None, "error": schedule.error or None}


def _site_values(site: SiteOverview) -> dict[str, Any]:
    values: dict[str, Any] = {"name": site.name, "directory": str(site.directory)}
    if site.schedule:
        values["schedule"] = _schedule_values(site.schedule, site.attempts)
    if site.error:
        return {**values, "error": site.error}
    if site.state is None:
        return {**values, "audit": _audit_values(site.audit), "runs": []}
    return {
        **values,
        **_state_values(site.state),
        "trend": msgspec.to_builtins(site.trend),
        "audit": _audit_values(site.audit),
        "channels": msgspec.to_builtins(site.notifications.channels),
        "runs": [_with_times(run, "started", "ended") for run in site.runs],
    }


def _audit_values(audit: AuditStatus) -> dict[str, Any] | None:
    """The last finished audit, and the state of a later one."""
    if audit.newest is None:
        return None
    return {
        "running": audit.holder or None,
        "trouble": audit.trouble,
        "last": audit.last.as_values() if audit.last else None,
    }


def _state_values(state: StateStatus) -> dict[str, Any]:
    unfinished, published = state.unfinished, state.published
    return {
        "url": state.url,
        "sitemap_url": state.sitemap_url,
        "running": state.holder or None,
        "unfinished": unfinished.number if unfinished else None,
        "published": {
            "pages": state.pages,
            "kept": state.kept,
            "held": state.held,
            "run": published.number if published else None,
            "written_by": state.wrote,
            "files": msgspec.to_builtins(published.files) if published else [],
        },
    }


def _schedule_values(status: SiteStatus, attempts: tuple[Attempt, ...]) -> dict[str, Any]:
    return {
        "timetable": status.schedule or None,
        "next": w3c_or_none(status.next_at),
        "running_since": w3c_or_none(status.running_since),
        "failures": status.failures,
        "attempts": [_with_times(attempt, "slot", "began", "ended") for attempt in attempts],
    }


def _with_times(record: Attempt | Run, *names: str) -> dict[str, Any]:
    """The fields of a record, with the times of these names as W3C datetimes."""
    built: dict[str, Any] = msgspec.to_builtins(record)
    return {**built, **{name: w3c_or_none(built[name]) for name in names}}
