"""A control plane that is restored from an older backup: it is noticed, and nothing of the sites is lost."""

import json
import subprocess
from pathlib import Path

import anyio.to_thread
import pytest
from postgres_server import PostgresServer
from run import siteatlas

from crawler.config.config import Config
from crawler.errors import StorageError, UsageError
from crawler.fleet.database import FleetDatabase, initialize, open_fleet
from crawler.fleet.leases import SiteLease
from crawler.fleet.recovery import EPOCHS_AHEAD, adopt, check_store, find_newer
from crawler.fleet.state_store import DirectoryStore, Snapshot, SnapshotStore
from crawler.schedule.site_state import Attempt, Trigger

pytestmark = [pytest.mark.thorough, pytest.mark.anyio]


async def lease_and_store(fleet: FleetDatabase, store: DirectoryStore, site: str, file: Path) -> Snapshot:
    """What a run leaves in the database and in the state store."""
    (row,) = await fleet.rows("UPDATE site SET epoch = epoch + 1 WHERE name = %(name)s RETURNING *", name=site)
    snapshot = Snapshot(row["generation"] + 1, row["epoch"], site, "0" * 64)
    await store.put(snapshot.key, file)
    await fleet.rows(
        "UPDATE site SET generation = %(generation)s, snapshot = %(key)s WHERE name = %(name)s",
        generation=snapshot.generation,
        key=snapshot.key,
        name=site,
    )
    return snapshot


def lease_of(site: str, epoch: int) -> SiteLease:
    """A fresh lease."""
    attempt = Attempt(number=1, site=site, slot=0.0, trigger=Trigger.DUE, try_number=1, began=0.0)
    return SiteLease(site, epoch, attempt, None, Config(), 0, [], "")


async def register(fleet: FleetDatabase, *sites: str) -> None:
    for site in sites:
        await fleet.rows("INSERT INTO site (name, config, origin) VALUES (%(name)s, '{}', 'https://x')", name=site)


async def test_ours_an_older_back_up_is_noticed_and_takes_over_what_the_store_has(
    postgres: PostgresServer, database: str, tmp_path: Path
) -> None:
    file = tmp_path / "archive"
    file.write_bytes(b"x")
    store = DirectoryStore(tmp_path / "shared")
    snapshots = SnapshotStore(store, keep=3)
    await snapshots.write_mark("mark")
    dump = tmp_path / "fleet.dump"
    async with open_fleet(database, checked=False) as fleet:
        await initialize(fleet)
        await register(fleet, "still", "busy", "zombie", "idle")
        for site in ("still", "busy", "zombie"):
            await lease_and_store(fleet, store, site, file)
        # a run that lost its lease stores a snapshot that no row names
        await store.put(Snapshot(2, 1, "zombie", "1" * 64).key, file)
        await fleet.rows("UPDATE site SET epoch = 2 WHERE name = 'zombie'")
        assert not (await find_newer(fleet, snapshots)).newer
        assert not (await find_newer(fleet, snapshots)).unknown
        subprocess.run(["pg_dump", "-Fc", "-f", str(dump), database], check=True)  # noqa: ASYNC221
        for _ in range(4):
            newest = await lease_and_store(fleet, store, "busy", file)
            await snapshots.prune(newest)
        await register(fleet, "new")
        await lease_and_store(fleet, store, "new", file)

    restored = postgres.new_database()
    subprocess.run(["pg_restore", "-d", restored, str(dump)], check=True)  # noqa: ASYNC221
    async with open_fleet(restored) as fleet:
        found = await find_newer(fleet, snapshots)
        assert [(each.site, each.generation, each.epoch) for each in found.newer] == [("busy", 5, 5)]
        assert found.unknown == ("new",)
        assert found.newest_epoch == 5
        (row,) = await fleet.rows("SELECT epoch FROM site WHERE name = 'busy'")
        with pytest.raises(StorageError, match=r"has a newer state of busy \(generation 5\)"):
            await check_store(fleet, snapshots, lease_of("busy", row["epoch"] + 1))
        await check_store(fleet, snapshots, lease_of("still", 2))
        await check_store(fleet, snapshots, lease_of("zombie", 3))

        await fleet.rows("INSERT INTO worker (id, host, process, version, slots) VALUES ('w', 'host1', 1, '1', 1)")
        with pytest.raises(UsageError, match=r"workers are running \(host1\)\. Stop all workers"):
            await adopt(fleet, snapshots, found)
        await fleet.rows("UPDATE worker SET seen = now() - interval '2 minutes'")
        await adopt(fleet, snapshots, found)
        rows = await fleet.rows("SELECT name, generation, epoch, snapshot, next_at FROM site ORDER BY name")
        assert {row["name"]: row["generation"] for row in rows} == {"busy": 5, "idle": 0, "still": 1, "zombie": 1}
        assert {row["epoch"] for row in rows} == {5 + EPOCHS_AHEAD}
        assert rows[0]["snapshot"] == newest.key
        assert all(row["next_at"] for row in rows)
        again = await find_newer(fleet, snapshots)
        assert (again.newer, again.unknown) == ((), ("new",))
        await check_store(fleet, snapshots, lease_of("busy", rows[0]["epoch"] + 1))


async def test_ours_recover_says_what_it_adopts(database: str, tmp_path: Path) -> None:
    file = tmp_path / "archive"
    file.write_bytes(b"x")
    store = DirectoryStore(tmp_path / "shared")
    await SnapshotStore(store).write_mark("mark")
    async with open_fleet(database, checked=False) as fleet:
        await initialize(fleet)
        await register(fleet, "shop")
        newest = await lease_and_store(fleet, store, "shop", file)
        await fleet.rows("UPDATE site SET generation = 0, epoch = 0, snapshot = ''")
        await store.put(Snapshot(1, 1, "later", "0" * 64).key, file)
        words = ("fleet", "recover", "--database", database, "--state-store", f"file://{tmp_path}/shared", "--json")
        shown = await anyio.to_thread.run_sync(siteatlas, tmp_path, *words, "--dry-run")
        assert json.loads(shown.out) == {"newer": {"shop": 1}, "unknown": ["later"], "adopted": False}
        done = await anyio.to_thread.run_sync(siteatlas, tmp_path, *words)
        assert json.loads(done.out)["adopted"]
        (row,) = await fleet.rows("SELECT snapshot, epoch FROM site")
        assert row == {"snapshot": newest.key, "epoch": 1 + EPOCHS_AHEAD}
    bare = await anyio.to_thread.run_sync(siteatlas, tmp_path, "fleet", "recover", "--database", database)
    assert (bare.code, "the fleet has no state store" in bare.err) == (2, True)
