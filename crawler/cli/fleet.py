"""``siteatlas fleet``: many sites on many machines, with a PostgreSQL that they share."""

import logging
import sys
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from crawler.cli.errors import CommandErrors, print_json, set_up_logging
from crawler.cli.help import EXIT_CODES, HelpfulCommand, command_group, epilog_of
from crawler.cli.options import NEXT_RUN_OPTIONS, SitesConfigOption, with_flags, with_parameters
from crawler.cli.sites import shared_config
from crawler.units import count_text

fleet = command_group("Run many sites on many machines.")
_MAX_REFUSED: Final = 3  # sites that are named, of those that workers would not run in full
_NOTICES: Final = (
    "NAME is the id of a notification, which siteatlas fleet status shows. Or it is the name of a site, and means all "
    "notifications of this site whose worker failed."
)


def _print(values: dict[str, Any], text: str, *, as_json: bool) -> None:
    if as_json:
        print_json(values)
    else:
        sys.stdout.write(f"{text}\n")


def _set_up_logging() -> None:
    set_up_logging(logging.INFO)
    # asyncio reports the jobs that another worker has ended meanwhile: we say so ourselves
    for noisy in ("procrastinate", "psycopg.pool", "asyncio"):
        logging.getLogger(noisy).setLevel(logging.CRITICAL)


@with_parameters()
def init(database: str, as_json: bool = False, verbose: bool = False) -> None:
    """Create the tables of a fleet in a PostgreSQL database, or update them for this version of Siteatlas.

    Workers of the previous version can continue to run during the update.
    """
    with CommandErrors(verbose):
        from crawler.cli.fleet_run import init_database  # noqa: PLC0415 - not needed to show help

        done = init_database(database)
        _print({"applied": done}, "\n".join(done) or "the database is up to date", as_json=as_json)


@with_flags("fleet.database")
def apply(config: SitesConfigOption = None, as_json: bool = False, verbose: bool = False, **flags: Any) -> None:
    """Register the sites of a configuration file in the fleet.

    apply registers new sites, updates changed settings, and retires sites that are no longer in the file. You can run
    it any number of times. It checks the file in the same way as siteatlas run. Write secrets as env:NAME or file:PATH.
    The database stores only this reference, and each worker reads the secret itself.
    """
    with CommandErrors(verbose):
        from crawler.cli.fleet_run import apply_configuration  # noqa: PLC0415

        done, refused = apply_configuration(config, flags)
        renamed = "".join(f"{new} is the new name of {old}\n" for new, old in done.renamed.items())
        counts = f"{renamed}{len(done.added)} added, {len(done.changed)} changed, {len(done.retired)} retired"
        values = {name: getattr(done, name) for name in done.__struct_fields__} | {"not_allowed": refused}
        told = "".join(f"\n{name}: {why}" for name, why in [*refused.items()][:_MAX_REFUSED])
        others = f"\nand {count_text(len(refused) - _MAX_REFUSED, 'more site')}" if len(refused) > _MAX_REFUSED else ""
        _print(values, f"{counts}, {done.unchanged} unchanged{told}{others}", as_json=as_json)


@with_flags("fleet.database", "fleet.state_store", "state.directory")
def worker(config: SitesConfigOption = None, verbose: bool = False, **flags: Any) -> None:
    """Run sites of the fleet when they are due, until you stop the worker.

    You can start any number of workers, on any number of machines. Each worker needs its own state directory (--state).
    On SIGTERM and Ctrl-C, the active runs save their states, and other workers continue these runs.
    """
    with CommandErrors(verbose):
        from crawler.cli.fleet_run import run_worker  # noqa: PLC0415

        _set_up_logging()
        run_worker(shared_config(config, flags), is_verbose=verbose)


@with_flags("fleet.database", "fleet.state_store")
def recover(
    config: SitesConfigOption = None, dry_run: bool = False, as_json: bool = False, verbose: bool = False, **flags: Any
) -> None:
    """Update the database from the state store, after you restored the database from a backup or replaced the store.

    Stop all workers first. If the state store has a newer snapshot of a site than the database knows, the next run of
    the site continues from this snapshot. Then run siteatlas fleet apply to register sites that the backup does not
    contain, and start the workers.
    """
    with CommandErrors(verbose):
        from crawler.cli.fleet_run import recover_sites  # noqa: PLC0415

        found = recover_sites(shared_config(config, flags).fleet, dry_run=dry_run)
        newer = {snapshot.site: snapshot.generation for snapshot in found.newer}
        values = {"newer": newer, "unknown": list(found.unknown), "adopted": not dry_run}
        verb = "would continue" if dry_run else "continue"
        text = f"{len(newer)} sites {verb} from newer snapshots of the state store: {', '.join(newer) or 'none'}"
        if found.unknown:
            text += f"\nnot in the database, so run siteatlas fleet apply: {', '.join(found.unknown)}"
        _print(values, text, as_json=as_json)


@with_flags("fleet.database")
def status(  # noqa: PLR0913 - the options of a command
    sites: list[str] | None = None,
    runs: int = 10,
    only: str = "",
    max_sites: int = 50,
    config: SitesConfigOption = None,
    as_json: bool = False,
    verbose: bool = False,
    **flags: Any,
) -> None:
    """Show the fleet: sites by state, late sites, workers, the queue, and the last runs.

    A site is late if its run should have started more than a minute ago.
    """
    with CommandErrors(verbose):
        from crawler.cli.fleet_run import read_status, status_text, status_values  # noqa: PLC0415

        found = read_status(shared_config(config, flags).fleet, sites or [], runs, only, max_sites)
        _print(status_values(found), status_text(found), as_json=as_json)


@with_flags("fleet.database", "daemon.listen", "daemon.allowed_hosts")
def serve(max_sites: int = 100, config: SitesConfigOption = None, verbose: bool = False, **flags: Any) -> None:
    """Serve a web page and Prometheus metrics of the whole fleet, until you stop it.

    serve only reads the database. Start it on any one machine of the fleet. The web server has no login, so
    use a loopback address and a reverse proxy.
    """
    with CommandErrors(verbose):
        from crawler.cli.fleet_run import run_server  # noqa: PLC0415

        _set_up_logging()
        run_server(shared_config(config, flags), max_sites)


def _command(action: str, text: str, switches: Mapping[str, Any] = MappingProxyType({})) -> None:
    @with_flags("fleet.database", switches=switches)
    def change(
        names: list[str], config: SitesConfigOption = None, as_json: bool = False, verbose: bool = False, **flags: Any
    ) -> None:
        with CommandErrors(verbose):
            from crawler.cli.fleet_run import change_sites  # noqa: PLC0415

            asked = {name: value for name in switches if (value := flags.pop(name))}
            found = change_sites(shared_config(config, flags).fleet, action, names, asked)
            _print({"sites": found}, f"{action}: {', '.join(found)}", as_json=as_json)

    change.__doc__ = text
    fleet.command(name=action, cls=HelpfulCommand, epilog=EXIT_CODES)(change)


for _function in (init, apply, worker, status, serve, recover):
    fleet.command(cls=HelpfulCommand, epilog=epilog_of("fleet"))(_function)
_command(
    "run-now",
    "Run sites as soon as a worker is free, without waiting for their scheduled time. The options apply to this run. "
    "If it fails, they apply to the next one.",
    NEXT_RUN_OPTIONS,
)
_command(
    "rollback",
    "Publish the previous sitemap of a site again, as soon as a worker is free. Do what siteatlas rollback does on one "
    "machine.",
    {"to": int | None},
)
_command("pause", "Pause sites. Their active runs continue, but no new run of them starts.")
_command("resume", "Resume paused sites, so that they run at their scheduled times again.")
_command("drain", "Stop workers after their active runs. Give the names of workers or of their hosts.")
_command("forget", "Remove workers from the list that no longer respond. Give their names or those of their hosts.")
_command(
    "confirm",
    "Record that the receiver has notifications whose worker failed while it sent them. "
    "Siteatlas does not send them "
    f"again. {_NOTICES}",
)
_command("resend", f"Send notifications again whose worker failed while it sent them. {_NOTICES}")
