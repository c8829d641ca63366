"""Whether the database and the state store belong together, and after one was lost or restored: adopts the other.

The state store goes on while the database goes back. Then sites have newer snapshots than their rows name, and the
epochs of their leases would be given out a second time, so that a worker of the time before could pass for the holder.
"""

import secrets
import socket
from typing import Final

from msgspec import Struct
from psycopg.types.json import Jsonb

from crawler.errors import StorageError, UsageError
from crawler.fleet.database import FleetDatabase, rows
from crawler.fleet.dispatch import IS_ALIVE
from crawler.fleet.leases import SiteLease
from crawler.fleet.snapshot import StoreFault
from crawler.fleet.state_store import MARK, Snapshot, SnapshotStore

EPOCHS_AHEAD: Final = 1_000_000
"""Epochs that are skipped: more than the leases of a site in the time that a backup may be old."""
_RUNNING: Final = f"SELECT id, host FROM worker WHERE {IS_ALIVE} ORDER BY id"  # noqa: S608 - our own constant
_ROWS: Final = "SELECT name, generation, epoch FROM site WHERE name = ANY(%(names)s) ORDER BY name"
_ADOPT: Final = """
UPDATE site s SET generation = w.generation, snapshot = w.key, older = array_prepend(snapshot, older)
  FROM jsonb_to_recordset(%(newer)s) AS w (name text, generation bigint, key text)
  WHERE s.name = w.name AND s.generation < w.generation"""
_SKIP_EPOCHS: Final = """
UPDATE site SET epoch = (SELECT greatest(max(epoch), %(newest)s) FROM site) + %(ahead)s,
  lease_until = NULL, worker = NULL, attempt = NULL,
  next_at = coalesce(next_at, CASE WHEN retired IS NULL AND NOT paused THEN now() END)"""
_MARK: Final = "SELECT value FROM fleet WHERE key = 'store'"
_NEW_MARK: Final = "INSERT INTO fleet VALUES ('store', to_jsonb(%(mark)s::text)) ON CONFLICT (key) "


class Findings(Struct, frozen=True):
    """What the state store has beyond the database.

    ``newer`` are the newest snapshots of sites whose rows name older ones, ``unknown`` the sites with snapshots and
    without a row: they were registered after the backup. ``newest_epoch`` is the highest one in the store.
    """

    newer: tuple[Snapshot, ...] = ()
    unknown: tuple[str, ...] = ()
    newest_epoch: int = 0


async def find_newer(fleet: FleetDatabase, snapshots: SnapshotStore) -> Findings:
    """Compare the database with all of the state store. Raises StorageError."""
    stored = await snapshots.all_newest()
    known = {row["name"]: row for row in await fleet.rows(_ROWS, names=sorted(stored))}
    newer = (stored[name] for name, row in known.items() if _is_newer(stored[name], row["generation"], row["epoch"]))
    newest_epoch = max((snapshot.epoch for snapshot in stored.values()), default=0)
    return Findings(tuple(newer), tuple(sorted(stored.keys() - known)), newest_epoch)


async def adopt(fleet: FleetDatabase, snapshots: SnapshotStore, findings: Findings) -> None:
    """Make the store that of the fleet, and its snapshots the newest ones; skip epochs that may have been given out.

    All in one transaction, while no worker runs: a worker that still holds a lease of the time before loses it. Raises
    UsageError when workers run, StorageError.
    """
    async with fleet.transaction() as connection:
        if running := await rows(connection, _RUNNING):
            hosts = ", ".join(sorted({row["host"] for row in running}))
            raise UsageError(f"workers are running ({hosts}). Stop all workers, wait a minute, and try again")
        mark = await snapshots.read_mark() or secrets.token_hex(16)
        await rows(connection, f"{_NEW_MARK} DO UPDATE SET value = excluded.value", mark=mark)
        await snapshots.write_mark(mark)
        newer = [{"name": each.site, "generation": each.generation, "key": each.key} for each in findings.newer]
        await rows(connection, _ADOPT, newer=Jsonb(newer))
        await rows(connection, _SKIP_EPOCHS, newest=findings.newest_epoch, ahead=EPOCHS_AHEAD)


async def check_store(fleet: FleetDatabase, snapshots: SnapshotStore, lease: SiteLease) -> None:
    """Raise StoreFault unless this is the store of the fleet, and takes a file for the site: no empty mount point.

    The first run of a fleet marks the store. Raises StorageError, also when the store proves that the database was
    restored from an older backup: it has a snapshot whose epoch is not below that of the fresh ``lease``, and epochs
    only grow.
    """
    if not await fleet.rows(_MARK):
        async with fleet.transaction() as connection:  # another worker waits here until the store is marked
            mark = await snapshots.read_mark() or secrets.token_hex(16)
            if await rows(connection, f"{_NEW_MARK} DO NOTHING RETURNING key", mark=mark):
                if lease.snapshots and not await snapshots.snapshots(lease.site):
                    raise _fault(snapshots, f"has no snapshot of {lease.site}")
                await snapshots.write_mark(mark)
    (known,) = await fleet.rows(_MARK)
    if await snapshots.read_mark() != known["value"]:
        raise _fault(snapshots, "is not marked as that of this fleet")
    await snapshots.write_mark(known["value"], lease.site)
    newest = max(await snapshots.snapshots(lease.site), key=lambda snapshot: snapshot.epoch, default=None)
    if newest and newest.epoch >= lease.epoch:
        raise StorageError(
            f"the database of the fleet is older than the state store, which has a newer state of {lease.site} "
            f"(generation {newest.generation}). If the database was restored from a backup, stop all workers, and run "
            "siteatlas fleet recover"
        )


def _fault(snapshots: SnapshotStore, problem: str) -> StoreFault:
    return StoreFault(
        f"the state store {snapshots.name} on {socket.gethostname()} {problem} (file {MARK}). Perhaps its disk is not "
        "mounted there. If the state store is new, stop all workers, and run siteatlas fleet recover"
    )


def _is_newer(snapshot: Snapshot, generation: int, epoch: int) -> bool:
    """Whether a snapshot proves that the row is older: its lease is not one that the row knows.

    A run that lost its lease may leave a snapshot of the next generation, which no row names; its epoch is an old one.
    """
    return snapshot.epoch > epoch or snapshot.generation > generation + 1
