"""Collects the status of sites: their states, audits, schedule and outstanding notifications; also as JSON values."""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from crawler.audit.compare.history import AuditStatus
from crawler.cli.options import given_layers
from crawler.cli.sites import find_states, history_directory, shared_config
from crawler.config.config import Config
from crawler.errors import SiteatlasError
from crawler.schedule.site_state import Attempt
from crawler.schedule.status import ScheduleStatus, SiteStatus
from crawler.schedule.web.snapshots import MAX_RUNS, Condition, SiteSnapshot, condition, read_snapshot, settled
from crawler.state.runs import Run
from crawler.state.status import StateStatus
from crawler.units import w3c


class SiteOverview(Struct, frozen=True, kw_only=True):
    """The status of one site.

    ``runs`` are the last ones, and ``attempts`` those of the schedule, the newest first; ``schedule`` is its status in
    the schedule, None when there is none.
    """

    name: str
    directory: Path
    snapshot: SiteSnapshot = SiteSnapshot()
    runs: Sequence[Run] = ()
    schedule: SiteStatus | None = None
    attempts: tuple[Attempt, ...] = ()

    @property
    def condition(self) -> Condition:
        """Its most urgent condition, the same as on the page of the schedule."""
        return condition(self.schedule, self.snapshot)


class ScheduleHistory(Struct, frozen=True, kw_only=True):
    """The history of the schedule: ``daemon`` is the process that writes it, or ""; ``error`` why it is unreadable.

    ``config_error`` says why the daemon cannot use the changed configuration, or is "".
    """

    directory: Path
    daemon: str = ""
    board: ScheduleStatus | None = None
    attempts: dict[str, tuple[Attempt, ...]] = {}
    error: str = ""
    config_error: str = ""


class StatusReport(Struct, frozen=True):
    """The status of all selected sites, and of the schedule if there is one."""

    sites: tuple[SiteOverview, ...]
    schedule: ScheduleHistory | None


def collect_status(file: Path | None, flags: Mapping[str, Any], names: Sequence[str], runs: int) -> StatusReport:
    """Collect the status of the selected sites, each with its last ``runs`` runs. Raises UsageError."""
    named = find_states(file, flags, names)
    schedule = _schedule_history(file, flags, named, runs)
    site_statuses = {status.name: status for status in schedule.board.sites} if schedule and schedule.board else {}
    attempts = schedule.attempts if schedule else {}
    sites = []
    for name, directory, _ in named:
        snapshot = read_snapshot(directory, SiteSnapshot(), max(runs, MAX_RUNS))
        shown, status = snapshot.runs[:runs], site_statuses.get(name)
        sites.append(
            SiteOverview(
                name=name,
                directory=directory,
                snapshot=snapshot,
                runs=shown,
                schedule=settled(status, snapshot) if status else None,
                attempts=attempts.get(name, ()),
            )
        )
    return StatusReport(tuple(sites), schedule)


def _schedule_history(
    file: Path | None, flags: Mapping[str, Any], named: Sequence[tuple[str, Path, Config | None]], runs: int
) -> ScheduleHistory | None:
    """The schedule of a configuration; without one, only the daemon that writes the history beside the states."""
    from crawler.schedule.history import HISTORY_DB, HistoryReader  # noqa: PLC0415 - most sites have no schedule

    config = shared_config(file, flags)
    directory = history_directory(config)
    is_named = any(each.path == ("daemon", "directory") for layer in given_layers(flags) for each in layer)
    if is_named and not HISTORY_DB.is_in(directory):
        return ScheduleHistory(directory=directory, error=f"{directory} has no history of a schedule")
    if file is None:
        if not HISTORY_DB.is_in(directory):
            return None
        with HistoryReader(directory) as reader:
            return ScheduleHistory(directory=directory, daemon=reader.daemon(), config_error=reader.note().config_error)
    configs = [(name, config) for name, _, config in named if config]
    timed = any(config.schedule.is_timed for _, config in configs)
    if not timed and not HISTORY_DB.is_in(directory):
        return None
    try:
        return _stored_schedule(directory, configs, runs)
    except SiteatlasError as error:  # report the runs all the same
        return ScheduleHistory(directory=directory, error=str(error))


def _stored_schedule(directory: Path, configs: Sequence[tuple[str, Config]], runs: int) -> ScheduleHistory:
    from crawler.config.plan import plan_crawl  # noqa: PLC0415
    from crawler.schedule.history import HistoryReader  # noqa: PLC0415
    from crawler.schedule.site import scheduled_site  # noqa: PLC0415
    from crawler.schedule.status import stored_status  # noqa: PLC0415

    sites = [scheduled_site(name, plan_crawl(config)) for name, config in configs]
    with HistoryReader(directory) as reader:
        schedule = ScheduleHistory(directory=directory, daemon=reader.daemon(), config_error=reader.note().config_error)
        attempts = {name: tuple(reader.attempts(name, runs)) for name, _ in configs}
    return replace(schedule, board=stored_status(sites, directory, time.time()), attempts=attempts)


def w3c_or_none(at: float | None) -> str | None:
    """A Unix time for machines: ``2026-01-31T12:00:00+00:00``."""
    return None if at is None else w3c(at)


def status_values(report: StatusReport) -> dict[str, Any]:
    """The whole status."""
    return {
        "schedule": _history_values(report.schedule) if report.schedule else None,
        "sites": [_site_values(site) for site in report.sites],
    }


def _history_values(schedule: ScheduleHistory) -> dict[str, Any]:
    texts = {"running": schedule.daemon, "error": schedule.error, "config_error": schedule.config_error}
    return {"directory": str(schedule.directory), **{name: text or None for name, text in texts.items()}}


def _site_values(site: SiteOverview) -> dict[str, Any]:
    values: dict[str, Any] = {"name": site.name, "directory": str(site.directory)}
    if site.schedule:
        values["schedule"] = _schedule_values(site.schedule, site.attempts)
    snapshot = site.snapshot
    if snapshot.error:
        return {**values, "error": snapshot.error}
    if snapshot.standing is None:
        return {**values, "audit": _audit_values(snapshot.audit), "runs": []}
    return {
        **values,
        **_state_values(snapshot.standing),
        "audit": _audit_values(snapshot.audit),
        "channels": msgspec.to_builtins(snapshot.channels),
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
        "progress": {"known": state.known, "pending": state.pending} if state.holder else None,
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
