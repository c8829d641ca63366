"""What the commands of ``siteatlas fleet`` do: init, apply, worker, serve, recover, and changes of sites."""

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, Final, TypeVar

import anyio

from crawler.cli.options import config_from_flags
from crawler.cli.run_sites import check_site, site_plans
from crawler.cli.sites import shared_config
from crawler.config.config import Config
from crawler.config.secrets import reveal_secret
from crawler.errors import UsageError, single_error
from crawler.run.options import loop_options
from crawler.schedule.web.server import bind_socket

try:
    from crawler.fleet.database import FleetDatabase, initialize, open_fleet
    from crawler.fleet.recovery import Findings, adopt, find_newer
    from crawler.fleet.registry import AppliedSites, apply_sites, fleet_site, pause_sites, resume_sites, run_sites_now
    from crawler.fleet.web import serve_fleet
    from crawler.fleet.worker import FleetWorker, database_url, drain_workers, snapshot_store
except ModuleNotFoundError as error:
    raise UsageError(f"a fleet needs other packages ({error.name}): pip install 'siteatlas[fleet]'") from None

T = TypeVar("T")
_ACTIONS: Final = {"run-now": run_sites_now, "pause": pause_sites, "resume": resume_sites, "drain": drain_workers}


def init_database(database: str) -> list[str]:
    """Set up a database; returns what was done. Raises UsageError, StorageError."""
    return _in_loop(lambda: _init(reveal_secret(database)))


async def _init(url: str) -> list[str]:
    async with open_fleet(url, checked=False) as fleet:
        return await initialize(fleet)


def apply_configuration(file: Path | None, flags: Mapping[str, Any]) -> AppliedSites:
    """Make the sites of a file those of the fleet. Raises UsageError, also for a mistake of one site, StorageError."""
    if file is None:
        raise UsageError("no site is given: siteatlas fleet apply --config FILE")
    settings = shared_config(file, flags).fleet
    plans = site_plans(file, {}, [])
    for name, plan in plans:
        check_site(name, plan, file)
    sites = [fleet_site(name, plan) for name, plan in plans]
    return with_fleet(database_url(settings), lambda fleet: apply_sites(fleet, sites))


def change_sites(action: str, names: list[str], file: Path | None, flags: Mapping[str, Any]) -> list[str]:
    """Run, pause or resume sites, or drain workers; returns their names. Raises UsageError for unknown ones."""
    url = database_url(fleet_config(file, flags).fleet)
    found = with_fleet(url, lambda fleet: _ACTIONS[action](fleet, names))
    if unknown := [name for name in names if name not in found and action != "drain"]:
        done = f"; {action} is done for {', '.join(found)}" if found else ""
        raise UsageError(f"the fleet has no site {', '.join(unknown)}{done}")
    if not found:
        raise UsageError(f"the fleet has no worker {', '.join(names)}")
    return found


def run_worker(file: Path | None, flags: Mapping[str, Any], *, is_verbose: bool) -> None:
    """Run a worker until it is stopped or drained. Raises UsageError, StateInUse, StorageError."""
    config = fleet_config(file, flags)
    root = Path(config.state.directory)

    async def work(fleet: FleetDatabase) -> None:
        await FleetWorker(fleet, config.fleet, root, is_verbose=is_verbose).run()

    connections = config.fleet.sites_at_once + 4
    with_fleet(database_url(config.fleet), work, connections)


def run_server(file: Path | None, flags: Mapping[str, Any], max_sites: int) -> None:
    """Serve the page and the metrics of the fleet until a signal. Raises UsageError, StorageError."""
    config = fleet_config(file, flags)
    if not config.daemon.listen:
        raise UsageError("the server has no address: add --listen HOST:PORT")
    url = database_url(config.fleet)
    with bind_socket(config.daemon.listen) as listener:
        with_fleet(url, lambda fleet: serve_fleet(fleet, listener, config.daemon, max_sites))


def recover_sites(file: Path | None, flags: Mapping[str, Any], *, dry_run: bool) -> Findings:
    """Compare the database with the state store, and adopt what is newer there. Raises UsageError, StorageError."""
    settings = fleet_config(file, flags).fleet
    snapshots = snapshot_store(settings)
    if snapshots is None:
        raise UsageError("the fleet has no state store: add --state-store, or set state_store in [fleet]")

    async def run(fleet: FleetDatabase) -> Findings:
        found = await find_newer(fleet, snapshots)
        if not dry_run:
            await adopt(fleet, found)
        return found

    return with_fleet(database_url(settings), run)


def fleet_config(file: Path | None, flags: Mapping[str, Any]) -> Config:
    """The settings of the fleet, from a file and the flags. Raises UsageError."""
    return shared_config(file, flags) if file else config_from_flags({}, flags, "the command line")


def with_fleet(url: str, action: Callable[[FleetDatabase], Awaitable[T]], connections: int = 4) -> T:
    """What an action on an open fleet returns. Raises what it raises, UsageError, StorageError."""

    async def run() -> T:
        async with open_fleet(url, connections=connections) as fleet:
            return await action(fleet)

    return _in_loop(run)


def _in_loop(run: Callable[[], Awaitable[T]]) -> T:
    try:
        return anyio.run(run, backend_options=loop_options())
    except BaseExceptionGroup as group:
        raise single_error(group) from None
