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
from crawler.audit.compare.history import AuditStanding
from crawler.cli.options import settings
from crawler.cli.sites import history_directory, shared, states
from crawler.config.config import Config
from crawler.config.plan import AUDIT
from crawler.errors import SiteatlasError
from crawler.notify.ledger_status import Told, told
from crawler.schedule.attempt import Attempt
from crawler.schedule.status import Board, SiteBoard
from crawler.state.migrations import STATE
from crawler.state.runs import PUBLISHING, Run
from crawler.state.status import Standing, standing

_COMPARED: Final = 20  # runs that a trend is made of
_ENOUGH: Final = 3  # runs before the last that make something usual


class Trend(Struct, frozen=True, kw_only=True):
    """The last run that published beside the median of the ``runs`` before it: seconds, requests, and pages listed."""

    seconds: float
    usual_seconds: float
    fetched: int
    usual_fetched: int
    listed: int
    usual_listed: int
    runs: int


class Site(Struct, frozen=True, kw_only=True):
    """A site that is asked about: its name, where its state is, and how it stands or why that cannot be told.

    ``runs`` are the last ones, and ``attempts`` those of the schedule, the newest first; ``schedule`` is how it stands
    there, None when there is none.
    """

    name: str
    directory: Path
    standing: Standing | None = None
    runs: tuple[Run, ...] = ()
    trend: Trend | None = None
    schedule: SiteBoard | None = None
    attempts: tuple[Attempt, ...] = ()
    told: Told = Told()
    audit: AuditStanding = AuditStanding()
    error: str = ""
    exit_code: int = 0


class Schedule(Struct, frozen=True, kw_only=True):
    """What the history of the schedule tells: ``keeper`` is the process that keeps it, "" when none does.

    ``error`` says why it tells nothing.
    """

    directory: Path
    keeper: str = ""
    board: Board | None = None
    attempts: dict[str, tuple[Attempt, ...]] = {}
    error: str = ""


class Looked(Struct, frozen=True):
    """All that is told; without a ``schedule`` if there is none."""

    sites: tuple[Site, ...]
    schedule: Schedule | None


def look_at(file: Path | None, flags: Mapping[str, Any], wanted: Sequence[str], runs: int) -> Looked:
    """The sites that are meant, with so many of their last runs. Raises UsageError."""
    named = states(file, flags, wanted)
    schedule = _schedule(file, flags, named, runs)
    boards = {each.name: each for each in schedule.board.sites} if schedule and schedule.board else {}
    attempts = schedule.attempts if schedule else {}
    return Looked(
        tuple(
            _look(
                Site(
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


def _look(site: Site, runs: int) -> Site:
    site = replace(site, audit=_audits(site.directory / AUDIT))
    try:
        if not STATE.is_in(site.directory):
            return site
        found = standing(site.directory, max(runs, _COMPARED))
        return replace(
            site,
            standing=found,
            runs=tuple(found.runs[:runs]),
            trend=trend(found.runs),
            told=told(site.directory),
        )
    except SiteatlasError as error:  # the others can be told of all the same
        return replace(site, error=str(error), exit_code=error.exit_code)


def _audits(directory: Path) -> AuditStanding:
    """How the audits of a site stand, as far as that can be told: the runs are told of in any case."""
    with suppress(SiteatlasError):
        return history.standing(directory)
    return AuditStanding()


def _schedule(
    file: Path | None, flags: Mapping[str, Any], named: Sequence[tuple[str, Path, Config | None]], runs: int
) -> Schedule | None:
    """The schedule of a configuration; without one only who keeps the history that lies with the states, if any."""
    from crawler.schedule.history import HISTORY, Look  # noqa: PLC0415 - most ask without a schedule

    config = settings(None, flags) if file is None else shared(file, flags)
    directory = history_directory(config)
    if flags.get("daemon__directory") and not HISTORY.is_in(directory):
        return Schedule(directory=directory, error=f"there is no history of a schedule in {directory}")
    if file is None:
        if not HISTORY.is_in(directory):
            return None
        with Look(directory) as look:
            return Schedule(directory=directory, keeper=look.holder())
    configs = [(name, config) for name, _, config in named if config]
    timed = any(config.schedule.is_timed for _, config in configs)
    if not timed and not HISTORY.is_in(directory):
        return None
    try:
        return _remembered(directory, configs, runs)
    except SiteatlasError as error:  # the runs can be told of all the same
        return Schedule(directory=directory, error=str(error))


def _remembered(directory: Path, configs: Sequence[tuple[str, Config]], runs: int) -> Schedule:
    from crawler.config.plan import plan  # noqa: PLC0415
    from crawler.schedule.history import Look  # noqa: PLC0415
    from crawler.schedule.site import scheduled  # noqa: PLC0415
    from crawler.schedule.status import remembered  # noqa: PLC0415

    sites = [scheduled(name, plan(config)) for name, config in configs]
    with Look(directory) as look:
        keeper = look.holder()
        attempts = {name: tuple(look.attempts(name, runs)) for name, _ in configs}
    board = remembered(sites, directory, time.time())
    return Schedule(directory=directory, keeper=keeper, board=board, attempts=attempts)


def trend(runs: Sequence[Run]) -> Trend | None:
    """How the last run that published compares; None when too few did so before it. The newest run is the first."""
    published = [run for run in runs if run.outcome in PUBLISHING and not run.is_open]
    if len(published) <= _ENOUGH:
        return None
    last, *before = published[: _COMPARED + 1]
    return Trend(
        seconds=last.seconds,
        usual_seconds=median(run.seconds for run in before),
        fetched=last.fetched,
        usual_fetched=round(median(run.fetched for run in before)),
        listed=last.listed,
        usual_listed=round(median(run.listed for run in before)),
        runs=len(before),
    )
