"""How sites stand, in values that JSON knows. Times are W3C datetimes in UTC."""

from datetime import UTC, datetime
from typing import Any

import msgspec

from crawler.audit.compare.history import AuditStanding
from crawler.cli.status_collect import Looked, Schedule, Site
from crawler.schedule.attempt import Attempt
from crawler.schedule.status import SiteBoard
from crawler.state.runs import Run
from crawler.state.status import Standing


def as_values(looked: Looked) -> dict[str, Any]:
    """All that is told."""
    return {
        "schedule": _schedule(looked.schedule) if looked.schedule else None,
        "sites": [_site(each) for each in looked.sites],
    }


def _schedule(schedule: Schedule) -> dict[str, Any]:
    return {
        "directory": str(schedule.directory),
        "running": schedule.keeper or None,
        "error": schedule.error or None,
    }


def _site(site: Site) -> dict[str, Any]:
    told: dict[str, Any] = {"name": site.name, "directory": str(site.directory)}
    if site.schedule:
        told["schedule"] = _timed(site.schedule, site.attempts)
    if site.error:
        return {**told, "error": site.error}
    if site.standing is None:
        return {**told, "audit": _audit(site.audit), "runs": []}
    return {
        **told,
        **_standing(site.standing),
        "trend": msgspec.to_builtins(site.trend),
        "audit": _audit(site.audit),
        "channels": msgspec.to_builtins(site.told.channels),
        "runs": [_run(run) for run in site.runs],
    }


def _audit(audit: AuditStanding) -> dict[str, Any] | None:
    """The last audit that came to its end, and what is to be said of one that was begun after it."""
    if audit.newest is None:
        return None
    return {
        "running": audit.holder or None,
        "trouble": audit.trouble,
        "last": audit.last.as_values() if audit.last else None,
    }


def _standing(known_of: Standing) -> dict[str, Any]:
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


def _timed(board: SiteBoard, attempts: tuple[Attempt, ...]) -> dict[str, Any]:
    return {
        "timetable": board.timetable or None,
        "next": _w3c(board.next_at),
        "running_since": _w3c(board.running_since),
        "failures": board.failures,
        "attempts": [_attempt(each) for each in attempts],
    }


def _attempt(attempt: Attempt) -> dict[str, Any]:
    built: dict[str, Any] = msgspec.to_builtins(attempt)
    return {**built, **{name: _w3c(getattr(attempt, name)) for name in ("slot", "began", "ended")}}


def _run(run: Run) -> dict[str, Any]:
    built: dict[str, Any] = msgspec.to_builtins(run)
    return {**built, "started": _w3c(run.started), "ended": _w3c(run.ended)}


def _w3c(moment: float | None) -> str | None:
    return None if moment is None else datetime.fromtimestamp(moment, UTC).isoformat(timespec="seconds")
