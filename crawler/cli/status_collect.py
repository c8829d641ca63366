"""What there is to know of the sites that a person asks about: their states, their schedule, and who was not told."""

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from statistics import median
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from crawler.audit.compare import history
from crawler.audit.compare.history import AuditStatus
from crawler.cli.options import site_config
from crawler.cli.sites import find_states, history_directory, shared_config
from crawler.config.config import Config
from crawler.config.plan import AUDIT
from crawler.errors import SiteatlasError
from crawler.notify.ledger_status import NotifyStatus, notify_status
from crawler.schedule.site_state import Attempt
from crawler.schedule.status import ScheduleStatus, SiteStatus
from crawler.state.migrations import STATE_DB
from crawler.state.runs import PUBLISHING_OUTCOMES, Run
from crawler.state.status import StateStatus, state_status

_MAX_COMPARED: Final = 20  # runs that a trend is made of
_MIN_COMPARED: Final = 3  # runs before the last that make something usual


class RunTrend(Struct, frozen=True, kw_only=True):
    """The last run that published beside the median of the ``runs`` before it: seconds, requests, and pages listed."""

    seconds: float
    usual_seconds: float
    fetched: int
    usual_fetched: int
    listed: int
    usual_listed: int
    runs: int


class SiteOverview(Struct, frozen=True, kw_only=True):
    """A site that is asked about: its name, where its state is, and how it stands or why that cannot be told.

    ``runs`` are the last ones, and ``attempts`` those of the schedule, the newest first; ``schedule`` is how it stands
    there, None when there is none.
    """

    name: str
    directory: Path
    standing: StateStatus | None = None
    runs: tuple[Run, ...] = ()
    trend: RunTrend | None = None
    schedule: SiteStatus | None = None
    attempts: tuple[Attempt, ...] = ()
    told: NotifyStatus = NotifyStatus()
    audit: AuditStatus = AuditStatus()
    error: str = ""
    exit_code: int = 0


class ScheduleHistory(Struct, frozen=True, kw_only=True):
    """What the history of the schedule tells: ``keeper`` is the process that keeps it, "" when none does.

    ``error`` says why it tells nothing.
    """

    directory: Path
    daemon: str = ""
    board: ScheduleStatus | None = None
    attempts: dict[str, tuple[Attempt, ...]] = {}
    error: str = ""


class StatusReport(Struct, frozen=True):
    """All that is told; without a ``schedule`` if there is none."""

    sites: tuple[SiteOverview, ...]
    schedule: ScheduleHistory | None


def collect_status(
    file: Path | None, flags: Mapping[str, Any], wanted: Sequence[str], runs: int
) -> StatusReport:
    """The sites that are meant, with so many of their last runs. Raises UsageError."""
    named = find_states(file, flags, wanted)
    schedule = _schedule_history(file, flags, named, runs)
    boards = {each.name: each for each in schedule.board.sites} if schedule and schedule.board else {}
    attempts = schedule.attempts if schedule else {}
    return StatusReport(
        tuple(
            _collect_site(
                SiteOverview(
                    name=name,
                    directory=directory,
                    schedule=boards.get(name),
                    attempts=attempts.get(name, ()),
                ),
                runs,
            )
            for name, directory, _ in named
        ),
        schedule,
    )


def _collect_site(site: SiteOverview, runs: int) -> SiteOverview:
    site = replace(site, audit=_audit_status(site.directory / AUDIT))
    try:
        if not STATE_DB.is_in(site.directory):
            return site
        found = state_status(site.directory, max(runs, _MAX_COMPARED))
        return replace(
            site,
            standing=found,
            runs=tuple(found.runs[:runs]),
            trend=run_trend(found.runs),
            told=notify_status(site.directory),
        )
    except SiteatlasError as error:  # the others can be told of all the same
        return replace(site, error=str(error), exit_code=error.exit_code)


def _audit_status(directory: Path) -> AuditStatus:
    """How the audits of a site stand, as far as that can be told: the runs are told of in any case."""
    with suppress(SiteatlasError):
        return history.audit_status(directory)
    return AuditStatus()


def _schedule_history(
    file: Path | None, flags: Mapping[str, Any], named: Sequence[tuple[str, Path, Config | None]], runs: int
) -> ScheduleHistory | None:
    """The schedule of a configuration; without one only who keeps the history that lies with the states, if any."""
    from crawler.schedule.history import HISTORY_DB, HistoryReader  # noqa: PLC0415 - most ask without a schedule

    config = site_config(None, flags) if file is None else shared_config(file, flags)
    directory = history_directory(config)
    if flags.get("daemon__directory") and not HISTORY_DB.is_in(directory):
        return ScheduleHistory(directory=directory, error=f"there is no history of a schedule in {directory}")
    if file is None:
        if not HISTORY_DB.is_in(directory):
            return None
        with HistoryReader(directory) as look:
            return ScheduleHistory(directory=directory, daemon=look.daemon())
    configs = [(name, config) for name, _, config in named if config]
    timed = any(config.schedule.is_timed for _, config in configs)
    if not timed and not HISTORY_DB.is_in(directory):
        return None
    try:
        return _stored_schedule(directory, configs, runs)
    except SiteatlasError as error:  # the runs can be told of all the same
        return ScheduleHistory(directory=directory, error=str(error))


def _stored_schedule(directory: Path, configs: Sequence[tuple[str, Config]], runs: int) -> ScheduleHistory:
    from crawler.config.plan import plan_crawl  # noqa: PLC0415
    from crawler.schedule.history import HistoryReader  # noqa: PLC0415
    from crawler.schedule.site import scheduled_site  # noqa: PLC0415
    from crawler.schedule.status import stored_status  # noqa: PLC0415

    sites = [scheduled_site(name, plan_crawl(config)) for name, config in configs]
    with HistoryReader(directory) as look:
        keeper = look.daemon()
        attempts = {name: tuple(look.attempts(name, runs)) for name, _ in configs}
    board = stored_status(sites, directory, time.time())
    return ScheduleHistory(directory=directory, daemon=keeper, board=board, attempts=attempts)


def run_trend(runs: Sequence[Run]) -> RunTrend | None:
    """How the last run that published compares; None when too few did so before it. The newest run is the first."""
    published = [run for run in runs if run.outcome in PUBLISHING_OUTCOMES and not run.is_open]
    if len(published) <= _MIN_COMPARED:
        return None
    last, *before = published[: _MAX_COMPARED + 1]
    return RunTrend(
        seconds=last.seconds,
        usual_seconds=median(run.seconds for run in before),
        fetched=last.fetched,
        usual_fetched=round(median(run.fetched for run in before)),
        listed=last.listed,
        usual_listed=round(median(run.listed for run in before)),
        runs=len(before),
    )
