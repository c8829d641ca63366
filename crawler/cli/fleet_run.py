"""What the commands of ``siteatlas fleet`` do: init, apply, worker, serve, recover, status, and changes of sites."""

import sys
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

import anyio
import msgspec

from crawler.audit.report.layout import TableColumn, output_width, table_lines
from crawler.cli.run_sites import check_site, site_plans
from crawler.cli.sites import shared_config
from crawler.config.config import Config
from crawler.config.secrets import reveal_secret
from crawler.config.sections import FleetConfig
from crawler.errors import UsageError, single_error
from crawler.packages import missing_packages
from crawler.run.options import RunOptions, loop_options
from crawler.schedule.site_state import Attempt
from crawler.schedule.status import attempt_text, duration_text, long_local_time, time_ahead, zones
from crawler.schedule.web.server import bind_socket
from crawler.units import count_text
from sitemap import safe

try:
    from crawler.fleet.database import FleetDatabase, initialize, open_fleet
    from crawler.fleet.deliveries import confirm_deliveries, resend_deliveries
    from crawler.fleet.recovery import Findings, adopt, find_newer
    from crawler.fleet.registry import AppliedSites, apply_sites, fleet_site, pause_sites, resume_sites, run_sites_now
    from crawler.fleet.status import (
        FILTERS,
        STATES,
        FleetSiteStatus,
        FleetStatus,
        UnsureNotification,
        WorkerStatus,
        fleet_status,
    )
    from crawler.fleet.trust import permitted_config
    from crawler.fleet.web import serve_fleet, site_condition
    from crawler.fleet.worker import FleetWorker, database_url, drain_workers, forget_workers, snapshot_store
except ModuleNotFoundError:
    raise missing_packages("a fleet", "fleet") from None

T = TypeVar("T")
_ACTIONS: Final = {
    "run-now": run_sites_now,
    "pause": pause_sites,
    "resume": resume_sites,
    "drain": drain_workers,
    "forget": forget_workers,
    "confirm": confirm_deliveries,
    "resend": resend_deliveries,
}
_NOUNS: Final = {
    "drain": "worker",
    "forget": "worker that no longer responds",
    "confirm": "lost notification",
    "resend": "lost notification",
}


def init_database(database: str) -> list[str]:
    """Set up a database; returns what was done. Raises UsageError, StorageError."""
    return with_fleet(reveal_secret(database), initialize, checked=False)


def apply_configuration(file: Path | None, flags: Mapping[str, Any]) -> tuple[AppliedSites, dict[str, str]]:
    """Make the sites of a file those of the fleet; returns also what workers with this file would not allow, by site.

    Raises UsageError, also for a mistake of one site, StorageError.
    """
    if file is None:
        raise UsageError("no site is given. Use siteatlas fleet apply --config FILE")
    settings = shared_config(file, flags).fleet
    plans = site_plans(file, flags, [])
    for name, plan in plans:
        check_site(name, plan, file)
    sites = [fleet_site(name, plan) for name, plan in plans]
    refused = {name: why for name, plan in plans if (why := _refused(plan.config, settings))}
    return with_fleet(database_url(settings), lambda fleet: apply_sites(fleet, sites)), refused


def _refused(config: Config, settings: FleetConfig) -> str:
    try:
        return permitted_config(config, settings)[1]
    except UsageError as error:
        return str(error)


def change_sites(settings: FleetConfig, action: str, names: list[str], asked: Mapping[str, Any]) -> list[str]:
    """Change sites, workers or notifications; returns the names that were found. Raises UsageError for unknown ones.

    ``asked`` are the options for the next run of the sites.
    """
    url = database_url(settings)
    if action == "rollback":
        asked = {"rollback": asked.get("to")}
    else:
        RunOptions(**asked)
    act = partial(run_sites_now, asked=asked) if asked else _ACTIONS[action]
    if len(names) > 1 and "accept_shrink" in asked:
        raise UsageError("--accept-shrink applies to one site. Give the name of one site")
    found = with_fleet(url, lambda fleet: act(fleet, names))
    # the names of workers may stand for a host that was given
    is_of_workers = action in ("drain", "forget")
    unknown = ([] if found else names) if is_of_workers else [name for name in names if name not in found]
    if unknown:
        done = f". siteatlas fleet {action} is done for {', '.join(found)}" if found else ""
        raise UsageError(f"the fleet has no {_NOUNS.get(action, 'site')} {', '.join(unknown)}{done}")
    return found


def run_worker(config: Config, *, is_verbose: bool) -> None:
    """Run a worker until it is stopped or drained. Raises UsageError, StateInUse, StorageError."""

    async def work(fleet: FleetDatabase) -> None:
        await FleetWorker(fleet, config.fleet, Path(config.state.directory), is_verbose=is_verbose).run()

    with_fleet(database_url(config.fleet), work, connections=config.fleet.sites_at_once + 4)


def run_server(config: Config, max_sites: int) -> None:
    """Serve the page and the metrics of the fleet until a signal. Raises UsageError, StorageError."""
    if not config.daemon.listen:
        raise UsageError("the web server of the fleet needs an address. Add --listen HOST:PORT")
    url = database_url(config.fleet)
    with bind_socket(config.daemon.listen) as listener:
        with_fleet(url, lambda fleet: serve_fleet(fleet, listener, config.daemon, max_sites))


def recover_sites(settings: FleetConfig, *, dry_run: bool) -> Findings:
    """Compare the database with the state store, and adopt what is newer there. Raises UsageError, StorageError."""
    snapshots = snapshot_store(settings)
    if snapshots is None:
        raise UsageError(
            "the fleet has no state store, in which workers keep snapshots. Add --state-store URL, or set "
            "state_store in [fleet]"
        )

    async def run(fleet: FleetDatabase) -> Findings:
        found = await find_newer(fleet, snapshots)
        if not dry_run:
            await adopt(fleet, snapshots, found)
        return found

    return with_fleet(database_url(settings), run)


def with_fleet(url: str, action: Callable[[FleetDatabase], Awaitable[T]], **options: Any) -> T:
    """What an action on a fleet returns, opened with these options. Raises what it raises, UsageError, StorageError."""

    async def run() -> T:
        async with open_fleet(url, **options) as fleet:
            return await action(fleet)

    try:
        return anyio.run(run, backend_options=loop_options())
    except BaseExceptionGroup as group:
        raise single_error(group) from None


def read_status(settings: FleetConfig, names: Sequence[str], runs: int, only: str, limit: int) -> FleetStatus:
    """The status of the fleet, with these sites in full, and those in the state ``only``, at most ``limit``.

    Raises UsageError for an unknown site or state, StorageError.
    """
    if only and only not in FILTERS:
        raise UsageError(f'--only "{only}" is not a state of a site. The states are {", ".join(FILTERS)}')
    url = database_url(settings)
    found = with_fleet(url, lambda fleet: fleet_status(fleet, names, runs, only=only, limit=limit))
    if unknown := sorted({*names} - {site.name for site in found.shown}):
        raise UsageError(f"the fleet has no site {', '.join(unknown)}")
    return found


def status_values(status: FleetStatus) -> dict[str, Any]:
    """The status as JSON values; times are Unix times, durations in seconds."""
    values: dict[str, Any] = msgspec.to_builtins(status)
    for site in values["shown"]:
        states = site.pop("states")
        site |= {state: state in states for state in STATES}
    values |= values.pop("counts")
    return values


def status_text(status: FleetStatus) -> str:
    """The status for a person."""
    return "\n".join(line.rstrip() for line in _lines(status, output_width(sys.stdout)))


def _lines(status: FleetStatus, width: int) -> Iterator[str]:
    counts = status.counts
    parts = [("running", counts["running"]), ("waiting in the queue", counts["queued"]), ("due", status.due)]
    parts += [(state, counts[state]) for state in ("failing", "held", "restricted", "unsaved", "paused", "retired")]
    parts.append(("of a worker that no longer responds", counts["lost"]))
    states = ", ".join(f"{number:,} {text}" for text, number in parts if number)
    yield f"{count_text(status.sites, 'site')}: {states or 'none is due or running'}"
    if counts["late"]:
        yield f"{count_text(counts['late'], 'site')} late, the first for {duration_text(status.lateness)}"
    if status.unsure:
        yield ""
        yield from _unsure(status, width)
    yield ""
    yield from _workers(status.workers, width)
    for site in status.shown:
        yield ""
        yield safe(_site(site, status.now))
    if status.last:
        yield ""
        yield from _runs(status, width)


def _unsure(status: FleetStatus, width: int) -> Iterator[str]:
    number = count_text(status.unsure_notifications, "notification")
    yield f"{number} of the last week may not have been sent, because a worker failed meanwhile:"
    zone = zones(notice.at for notice in status.unsure)
    columns = [TableColumn("id", is_text=True), TableColumn(f"at ({zone})", is_text=True)]
    columns += [TableColumn(name, is_text=True, shrinks=True) for name in ("site", "notification")]
    rows = [(notice.id, long_local_time(notice.at), notice.site, _notice(notice)) for notice in status.unsure]
    yield from table_lines(columns, rows, width)
    yield "If the receiver has it: siteatlas fleet confirm ID. If not: siteatlas fleet resend ID."


def _notice(notice: UnsureNotification) -> str:
    return f"{safe(notice.what or 'unknown')}{' (will be sent again)' if notice.is_wanted else ''}"


def _workers(workers: Sequence[WorkerStatus], width: int) -> Iterator[str]:
    if not workers:
        yield "no worker: start one with siteatlas fleet worker"
        return
    columns = [TableColumn("worker", is_text=True, shrinks=True), TableColumn("host", 1, is_text=True, shrinks=True)]
    columns += [TableColumn("version", 2), TableColumn("runs"), TableColumn("seen", 3)]
    rows = [
        (worker.id, worker.host, worker.version, f"{worker.running} of {worker.slots}", _seen(worker))
        for worker in workers
    ]
    yield from table_lines(columns, rows, width)


def _seen(worker: WorkerStatus) -> str:
    text = f"{duration_text(worker.silent) or '0 s'} ago"
    return ", ".join(filter(None, (text, worker.fault, "draining" if worker.draining else "")))


def _site(site: FleetSiteStatus, now: float) -> str:
    condition = site_condition(site)
    reason = f" ({condition.reason})" if condition.reason else ""
    next_at = f"; next run {time_ahead(site.next_at)}" if site.next_at else ""
    asked = f"; asked for: {' '.join(option_text(*option) for option in site.asked.items())}" if site.asked else ""
    home = f"; its newest state is on {site.home}" if site.home else ""
    age = f", {duration_text(now - site.saved)} old" if site.saved else ""
    snapshot = f"; its newest snapshot is generation {site.generation}{age}" if site.generation else ""
    return f"{site.name} ({site.origin}): {condition.word}{reason}{next_at}{asked}{home}{snapshot}"


def option_text(name: str, value: Any) -> str:
    """What a person asked for, as on the command line."""
    return f"--{name.replace('_', '-')}{'' if value in (True, None) else f' {value}'}"


def _runs(status: FleetStatus, width: int) -> Iterator[str]:
    zone = zones(attempt.began for attempt in status.last)
    columns = [TableColumn(f"began ({zone})", is_text=True), TableColumn("site", is_text=True, shrinks=True)]
    columns.append(TableColumn("result", is_text=True, shrinks=True))
    rows = [
        (
            long_local_time(attempt.began),
            attempt.site,
            safe(attempt_text(attempt) if attempt.ended else _unended(attempt, status)),
        )
        for attempt in status.last
    ]
    yield from table_lines(columns, rows, width)


def _unended(attempt: Attempt, status: FleetStatus) -> str:
    is_active = attempt.number in status.active
    return f"running for {duration_text(status.now - attempt.began) or '0 s'}" if is_active else "interrupted"
