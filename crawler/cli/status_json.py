"""How sites stand, in values that JSON knows. Times are W3C datetimes in UTC."""

from datetime import UTC, datetime
from typing import Any

import msgspec

from crawler.audit.compare.history import AuditStatus
from crawler.cli.status_collect import ScheduleHistory, SiteOverview, StatusReport
from crawler.schedule.site_state import Attempt
from crawler.schedule.status import SiteStatus
from crawler.state.runs import Run
from crawler.state.status import StateStatus


def status_values(looked: StatusReport) -> dict[str, Any]:
    """All that is told."""
    return {
        "schedule": _history_values(looked.schedule) if looked.schedule else None,
        "sites": [_site_values(each) for each in looked.sites],
    }


def _history_values(schedule: ScheduleHistory) -> dict[str, Any]:
    return {
        "directory": str(schedule.directory),
        "running": schedule.daemon or None,
        "error": schedule.error or None,
    }


def _site_values(site: SiteOverview) -> dict[str, Any]:
    told: dict[str, Any] = {"name": site.name, "directory": str(site.directory)}
    if site.schedule:
        told["schedule"] = _schedule_values(site.schedule, site.attempts)
    if site.error:
        return {**told, "error": site.error}
    if site.standing is None:
        return {**told, "audit": _audit_values(site.audit), "runs": []}
    return {
        **told,
        **_state_values(site.standing),
        "trend": msgspec.to_builtins(site.trend),
        "audit": _audit_values(site.audit),
        "channels": msgspec.to_builtins(site.told.channels),
        "runs": [_run_values(run) for run in site.runs],
    }


def _audit_values(audit: AuditStatus) -> dict[str, Any] | None:
    """The last audit that came to its end, and what is to be said of one that was begun after it."""
    if audit.newest is None:
        return None
    return {
        "running": audit.holder or None,
        "trouble": audit.trouble,
        "last": audit.last.as_values() if audit.last else None,
    }


def _state_values(known_of: StateStatus) -> dict[str, Any]:
    now, last = known_of.unfinished, known_of.published
    return {
        "url": known_of.url,
        "sitemap_url": known_of.sitemap_url,
        "running": known_of.holder or None,
        "unfinished": now.number if now else None,
        "published": {
            "pages": known_of.pages,
            "kept": known_of.kept,
            "run": last.number if last else None,
            "written_by": known_of.wrote,
            "files": msgspec.to_builtins(last.files) if last else [],
        },
    }


def _schedule_values(board: SiteStatus, attempts: tuple[Attempt, ...]) -> dict[str, Any]:
    return {
        "timetable": board.schedule or None,
        "next": _w3c(board.next_at),
        "running_since": _w3c(board.running_since),
        "failures": board.failures,
        "attempts": [_attempt_values(each) for each in attempts],
    }


def _attempt_values(attempt: Attempt) -> dict[str, Any]:
    built: dict[str, Any] = msgspec.to_builtins(attempt)
    return {**built, **{name: _w3c(getattr(attempt, name)) for name in ("slot", "began", "ended")}}


def _run_values(run: Run) -> dict[str, Any]:
    built: dict[str, Any] = msgspec.to_builtins(run)
    return {**built, "started": _w3c(run.started), "ended": _w3c(run.ended)}


def _w3c(moment: float | None) -> str | None:
    return None if moment is None else datetime.fromtimestamp(moment, UTC).isoformat(timespec="seconds")
