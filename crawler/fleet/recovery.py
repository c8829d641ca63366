"""After the database of a fleet was restored from a backup: finds what the backup does not know, and adopts it.

The state store goes on while the database goes back. Then sites have newer snapshots than their rows name, and the
epochs of their leases would be given out a second time, so that a worker of the time before could pass for the holder.
"""

from collections.abc import Iterable
from typing import Final

from msgspec import Struct

from crawler.errors import UsageError
from crawler.fleet.database import FleetDatabase, rows
from crawler.fleet.state_store import Snapshot, SnapshotStore

EPOCHS_AHEAD: Final = 1_000_000
"""Epochs that are skipped: more than the leases of a site in the time that a backup may be old."""
_BATCH: Final = 1000  # sites in a statement
_RUNNING: Final = "SELECT id, host FROM worker WHERE seen > now() - interval '1 minute' ORDER BY id"
_ROWS: Final = "SELECT name, generation, epoch FROM site WHERE name = ANY(%(names)s)"
_ADOPT: Final = """
UPDATE site s SET generation = w.generation, snapshot = w.key
  FROM unnest(%(names)s::text[], %(generations)s::bigint[], %(keys)s::text[])
    AS w (name, generation, key)
  WHERE s.name = w.name AND s.generation < w.generation"""
_SKIP_EPOCHS: Final = """
UPDATE site SET epoch = greatest(epoch, %(newest)s) + %(ahead)s, lease_until = NULL, worker = NULL, attempt = NULL,
  next_at = coalesce(next_at, CASE WHEN retired IS NULL AND NOT paused THEN now() END)"""
_NEWEST: Final = "SELECT coalesce(max(epoch), 0) AS epoch FROM site"


class Findings(Struct, frozen=True):
    """What the state store has beyond the database.

    ``newer`` are the newest snapshots of sites whose rows name older ones, ``unknown`` the sites with snapshots and
    without a row: they were registered after the backup. ``newest_epoch`` is the highest one in the store.
    """

    newer: tuple[Snapshot, ...] = ()
    unknown: tuple[str, ...] = ()
    newest_epoch: int = 0

    @property
    def is_rolled_back(self) -> bool:
        """Whether the database is older than the state store."""
        return bool(self.newer or self.unknown)


async def find_newer(fleet: FleetDatabase, snapshots: SnapshotStore) -> Findings:
    """Compare the database with all of the state store. Raises StorageError."""
    stored = await snapshots.all_newest()
    newer: list[Snapshot] = []
    unknown: list[str] = []
    names = sorted(stored)
    for start in range(0, len(names), _BATCH):
        batch = names[start : start + _BATCH]
        known = {row["name"]: row for row in await fleet.rows(_ROWS, names=batch)}
        unknown += [name for name in batch if name not in known]
        newer += [
            stored[name]
            for name in batch
            if name in known and _is_newer(stored[name], known[name]["generation"], known[name]["epoch"])
        ]
    return Findings(tuple(newer), tuple(unknown), max((snapshot.epoch for snapshot in stored.values()), default=0))


async def adopt(fleet: FleetDatabase, findings: Findings) -> None:
    """Make the snapshots of the store the newest ones, and skip the epochs that may have been given out before.

    All in one transaction, while no worker runs: a worker that still holds a lease of the time before loses it. Raises
    UsageError when workers run, StorageError.
    """
    async with fleet.transaction() as connection:
        if running := await rows(connection, _RUNNING):
            hosts = ", ".join(sorted({row["host"] for row in running}))
            raise UsageError(f"workers are running ({hosts}). Stop all workers, wait a minute, and try again")
        for batch in _batches(findings.newer):
            await rows(
                connection,
                _ADOPT,
                names=[snapshot.site for snapshot in batch],
                generations=[snapshot.generation for snapshot in batch],
                keys=[snapshot.key for snapshot in batch],
            )
        (newest,) = await rows(connection, _NEWEST)
        await rows(connection, _SKIP_EPOCHS, newest=max(newest["epoch"], findings.newest_epoch), ahead=EPOCHS_AHEAD)


def _is_newer(snapshot: Snapshot, generation: int, epoch: int) -> bool:
    """Whether a snapshot proves that the row is older: its lease is not one that the row knows.

    A run that lost its lease may leave a snapshot of the next generation, which no row names; its epoch is an old one.
    """
    return snapshot.epoch > epoch or snapshot.generation > generation + 1


def _batches(snapshots: tuple[Snapshot, ...]) -> Iterable[tuple[Snapshot, ...]]:
    return (snapshots[start : start + _BATCH] for start in range(0, len(snapshots), _BATCH))
