"""One leased run after another, while states get lost, snapshots get damaged, and the database goes back in time.

pytest -m slow tests/crawler/fleet/test_fleet_site_run.py
"""

import http.server
import json
import os
import shutil
import threading
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, closing, contextmanager
from pathlib import Path
from sqlite3 import connect
from typing import Any

import anyio
import pytest
import test_plugins
from example_plugins import install_example
from msgspec.structs import replace
from scripted import Answer, Site, links, scripted

from crawler.config.config import Config
from crawler.config.load import ConfigFile, build_config, load_site
from crawler.config.plan import plan_crawl
from crawler.config.sections import FleetConfig
from crawler.errors import StorageError
from crawler.fleet.database import FleetDatabase, initialize, open_fleet
from crawler.fleet.leases import take_lease
from crawler.fleet.origins import OriginBroker
from crawler.fleet.recovery import adopt, check_store, find_newer
from crawler.fleet.registry import apply_sites, fleet_site, run_sites_now
from crawler.fleet.site_run import LeasedRun, SiteWorker, lease_deadline
from crawler.fleet.snapshot import DAMAGED_MARK, StoreFault
from crawler.fleet.state_store import DirectoryStore, SnapshotStore
from crawler.fleet.trust import permitted_config
from crawler.state.lock import boot_time
from crawler.state.runs import RunResult, RunStatus

pytestmark = pytest.mark.anyio


@pytest.fixture
def site() -> Iterator[Site]:
    with scripted({"/": links("/a"), "/a": "<title>a</title><p>About a."}) as running:
        yield running


def config_of(site: Site, folder: Path, **sections: dict[str, Any]) -> Config:
    """The configuration of a site that is published to ``out``; the webhook in FLEET_HOOK, if set, is told of it."""
    common = {
        "site": {"url": site.url},
        "output": {"directory": str(folder / "out"), "swap_delay": 0},
        "pace": {"rate": 0},
        "parse": {"processes": 1},
        "notify": {"check_live": False},
    }
    hook = {"webhook": {"urls": ["env:FLEET_HOOK"]}} if "FLEET_HOOK" in os.environ else {}
    return build_config({**common, **hook, **sections})


@asynccontextmanager
async def fleet_of(database: str, config: Config) -> AsyncIterator[tuple[FleetDatabase, OriginBroker]]:
    """A fleet with the site ``shop``."""
    async with open_fleet(database, checked=False) as fleet, anyio.create_task_group() as tasks:
        broker = OriginBroker(fleet)
        tasks.start_soon(broker.serve)
        await initialize(fleet)
        await apply_sites(fleet, [fleet_site("shop", plan_crawl(config))])
        yield fleet, broker
        tasks.cancel_scope.cancel()


@pytest.fixture
def received(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[dict[str, Any]]]:
    """What the webhook in FLEET_HOOK received."""
    received: list[dict[str, Any]] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            received.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    monkeypatch.setenv("FLEET_HOOK", f"http://127.0.0.1:{server.server_address[1]}/")
    try:
        yield received
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def full_store() -> Iterator[None]:
    """The state store takes no snapshot."""

    async def full(*_: object) -> None:
        raise StorageError("the disk is full")

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(SnapshotStore, "save", full)
        yield


def added_pages(received: list[dict[str, Any]]) -> list[str]:
    """The pages that the webhook was told of, in order."""
    changes = [change for message in received for change in message["changes"]]
    return [change["url"] for change in changes if change["kind"] == "added"]


class Machine:
    """A machine of the fleet, which runs the site ``shop`` on demand."""

    def __init__(
        self, fleet: FleetDatabase, broker: OriginBroker, folder: Path, name: str, **allowed: Sequence[str] | bool
    ) -> None:
        self.root = folder / name
        self._name = name
        self._fleet = fleet
        settings = FleetConfig(**{"allow_secrets": ("env:FLEET_*",), **allowed})  # type: ignore[arg-type]
        is_optional = settings.publish_without_store
        snapshots = SnapshotStore(DirectoryStore(folder / "store"), is_optional=is_optional)
        self._worker = SiteWorker(fleet, name, self.root, snapshots, broker, settings)

    async def run(self, *, only_notifies: bool = False, **asked: bool) -> RunResult | None:
        if not only_notifies:
            await run_sites_now(self._fleet, ["shop"], asked)
        return await self._worker.run(await self._begin())

    async def run_until_lost(self, site: Site, path: str) -> None:
        """A run that loses its lease when the site is asked for a path."""
        await run_sites_now(self._fleet, ["shop"])
        run = await self._begin()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._worker.run, run)
            while path not in site.paths:  # noqa: ASYNC110 - of another thread
                await anyio.sleep(0.01)
            run.lose()
        await self._fleet.rows("UPDATE site SET lease_until = now() WHERE name = 'shop'")

    async def _begin(self) -> LeasedRun:
        asked_at = boot_time()
        lease = await take_lease(self._fleet, "shop", self._name, None, 60)
        assert lease
        return LeasedRun(lease, lease_deadline(asked_at, 60))

    @property
    def state(self) -> Path:
        (directory,) = (path.parent for path in self.root.glob("*/state.db"))
        return directory

    def runs(self) -> list[str]:
        """The outcomes of the runs that the state knows."""
        with closing(connect(self.state / "state.db")) as db:
            return [outcome for (outcome,) in db.execute("SELECT outcome FROM run ORDER BY number")]


@asynccontextmanager
async def two_machines(
    database: str, folder: Path, config: Config, **allowed: bool
) -> AsyncIterator[tuple[FleetDatabase, Machine, Machine]]:
    """A fleet with the site ``shop``, and its machines ``one`` and ``two``."""
    async with fleet_of(database, config) as (fleet, broker):
        yield fleet, *(Machine(fleet, broker, folder, name, **allowed) for name in ("one", "two"))  # type: ignore[misc]


@pytest.mark.thorough
async def test_ours_a_worker_loads_only_plugins_that_its_own_configuration_names(
    database: str, tmp_path: Path, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(install_example(tmp_path / "packages")))
    (tmp_path / "spool").mkdir()
    config = config_of(site, tmp_path, plugins={"messages": {"use": "spool", "folder": str(tmp_path / "spool")}})
    async with fleet_of(database, config) as (fleet, broker):
        refused = await Machine(fleet, broker, tmp_path, "one", plugins=["shop"]).run()
        assert refused
        assert refused.exit_code == 2
        assert "the site uses the plug-in 'spool', but this worker may not load it. Add its name" in refused.message
        done = await Machine(fleet, broker, tmp_path, "two", plugins=["spool"]).run()
    assert done
    assert done.exit_code == 0, done
    (message,) = (json.loads(file.read_text()) for file in (tmp_path / "spool").iterdir())
    assert message["occasion"] == "changes"


@pytest.mark.thorough
@pytest.mark.parametrize(
    "hostile",
    [
        {"fetch": {"headers": {"X-Secret": "file:/etc/shadow"}}},
        {"fetch": {"headers": {"X-Secret": "file:SECRETS/../../../../../../../etc/shadow"}}},
        {"fetch": {"cookies": {"a": "env:HOME"}}},
        {"fetch": {"signing_key": "/etc/ssl/private/key.pem", "signature_agent": "https://h.test"}},
        {"audit": {"logs": ["/var/log/*.log"]}},
        {"audit": {"lists": ["file:///etc/shadow"]}},
        {"content": {"repository": "/root"}},
        {"webhook": {"urls": ["env:FLEET_ALLOWED", "env:HOME"]}},
        {"plugins": {"spool": {"use": "spool", "folder": "file:/etc/shadow"}}},
        {"upload": {"to": "sftp://h.test/x", "sftp_key": "~/.ssh/id_ed25519"}},
    ],
    ids=str,
)
async def test_ours_a_hostile_row_reads_no_file_and_no_secret_of_the_worker(
    database: str, tmp_path: Path, site: Site, hostile: dict[str, Any]
) -> None:
    config = config_of(site, tmp_path)
    async with fleet_of(database, config) as (fleet, broker):
        text = json.dumps(hostile).replace("SECRETS", str(tmp_path / "secrets"))
        await fleet.rows("UPDATE site SET config = config || %(hostile)s::jsonb", hostile=text)
        allowed = {"plugins": ["spool"], "allow_secrets": [f"file:{tmp_path}/secrets/*", "env:FLEET_*"]}
        refused = await Machine(fleet, broker, tmp_path, "one", **allowed).run()
    assert refused
    assert refused.exit_code == 2
    assert "but this worker may not read that. Add it to fleet.allow_secrets" in refused.message
    assert "FLEET_ALLOWED" not in refused.message
    assert site.paths == []


def test_ours_the_database_of_the_fleet_is_no_secret_that_its_sites_use() -> None:
    config = Config.model_validate({"site": {"url": "https://a.test/"}, "fleet": {"database": "env:FLEET_DATABASE"}})
    assert permitted_config(config, config.fleet) == (config, "")


@pytest.mark.thorough
async def test_ours_plugins_of_every_kind_work_in_a_fleet(
    database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(install_example(tmp_path / "packages")))
    monkeypatch.chdir(tmp_path)
    with scripted(test_plugins.routes()) as shop:
        test_plugins.configure(shop)
        config = load_site(ConfigFile.read(Path("site.toml")))
        async with fleet_of(database, config) as (fleet, broker):
            names = ["shop", "spool", "folder", "repeated-words"]
            done = await Machine(fleet, broker, tmp_path, "one", plugins=names, allow_secrets=["file:*"]).run()
    assert done
    assert done.exit_code == 0, done
    test_plugins.check_all()


@pytest.mark.slow
async def test_ours_a_site_goes_on_whatever_happens_to_its_states_and_snapshots(
    database: str, tmp_path: Path, site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    async with two_machines(database, tmp_path, config_of(site, tmp_path)) as (fleet, one, two):
        assert await one.run()
        shutil.rmtree(one.state)  # a disk was replaced
        assert await one.run()
        assert one.runs() == ["published", "unchanged"]

        (one.state / DAMAGED_MARK).touch()
        (one.state / "state.db").write_bytes(b"SQLite format 3\0" + bytes(5000))
        assert await one.run()
        assert one.runs() == ["published", "unchanged", "unchanged"]

        newest = max((tmp_path / "store" / "shop").glob("*.zst"))
        newest.write_bytes(newest.read_bytes()[:-9])
        shutil.rmtree(tmp_path / "out")
        assert await two.run()
        assert two.runs() == ["published", "unchanged", "unchanged"]  # one run is repeated
        assert "an older state is used: generation 3 is damaged" in caplog.text
        assert (tmp_path / "out" / "sitemap.xml").exists()

        await fleet.rows("UPDATE site SET epoch = 1")
        result = await two.run()
        assert result
        assert result.status is RunStatus.FAILED
        assert "run siteatlas fleet recover" in result.message
        assert two.runs() == ["published", "unchanged", "unchanged"]


@pytest.mark.thorough
async def test_ours_a_foreign_sitemap_is_replaced_as_the_message_says_and_the_next_worker_knows(
    database: str, tmp_path: Path, site: Site
) -> None:
    foreign = tmp_path / "out" / "sitemap.xml"
    foreign.parent.mkdir()
    foreign.write_text("of somebody else")
    async with two_machines(database, tmp_path, config_of(site, tmp_path)) as (fleet, one, two):
        for machine in (one, two):
            refused = await machine.run()
            assert refused
            assert refused.status is RunStatus.BROKEN
            assert "run siteatlas fleet run-now shop --replace" in refused.message
        assert foreign.read_text() == "of somebody else"
        for machine, asked in ((two, {"replace": True}), (one, {}), (two, {"fresh": True}), (one, {"restart": True})):
            result = await machine.run(**asked)
            assert result
            assert (result.status, result.exit_code) == (RunStatus.DONE, 0)
            assert (await fleet.rows("SELECT requested, applying FROM site")) == [{"requested": None, "applying": {}}]
        assert one.runs() == ["nothing", "nothing", "published", "unchanged", "unchanged", "unchanged"]


@pytest.mark.thorough
async def test_ours_a_worker_that_dies_before_its_first_snapshot_leaves_files_that_others_may_replace(
    database: str, tmp_path: Path, site: Site
) -> None:
    async with two_machines(database, tmp_path, config_of(site, tmp_path)) as (fleet, one, two):
        assert await one.run()
        await fleet.rows("UPDATE site SET snapshot = '', generation = 0, epoch = epoch + 1")
        shutil.rmtree(tmp_path / "store" / "shop")
        result = await two.run()
        assert result
        assert result.status is RunStatus.DONE
        assert two.runs() == ["published"]


@pytest.mark.thorough
@pytest.mark.parametrize("runs_before", [0, 1])
async def test_ours_a_worker_does_not_go_on_with_a_crawl_after_another_one_published(
    database: str, tmp_path: Path, site: Site, runs_before: int
) -> None:
    async with two_machines(database, tmp_path, config_of(site, tmp_path)) as (fleet, one, two):
        for _ in range(runs_before):
            assert await one.run()
        site.routes |= {"/": links("/a", "/slow"), "/slow": Answer("<title>slow</title>", delay=1)}
        await one.run_until_lost(site, "/slow")
        (known,) = await fleet.rows("SELECT snapshot, generation, home FROM site")
        site.routes |= {"/": links("/a", "/slow", "/b"), "/b": "<title>b</title><p>About b."}
        assert await two.run()
        columns = "snapshot = %(snapshot)s, generation = %(generation)s, home = %(home)s, older = '{}'"
        await fleet.rows(f"UPDATE site SET {columns}", **known)  # as if the worker had died before its snapshots
        assert await one.run()
        assert f"{site.url}b" in (tmp_path / "out" / "sitemap.xml").read_text()


@pytest.mark.thorough
@pytest.mark.parametrize("runs_before", [0, 1])
async def test_ours_a_worker_goes_on_with_its_crawl_though_another_one_tried_and_could_not_begin(
    database: str, tmp_path: Path, site: Site, runs_before: int
) -> None:
    async with two_machines(database, tmp_path, config_of(site, tmp_path)) as (_, one, two):
        for _ in range(runs_before):
            assert await one.run()
        site.routes |= {"/": links("/a", "/slow"), "/slow": Answer("<title>slow</title>", delay=1)}
        await one.run_until_lost(site, "/slow")
        (tmp_path / "store").rename(tmp_path / "away")
        tried = await two.run()
        assert tried
        assert (tried.exit_code, tried.status) == (7, RunStatus.FAILED)
        (tmp_path / "away").rename(tmp_path / "store")
        asked = site.paths.count("/a")
        assert await one.run()
        assert site.paths.count("/a") == asked, "its crawl went on"
        assert f"{site.url}slow" in (tmp_path / "out" / "sitemap.xml").read_text()


@pytest.mark.thorough
async def test_ours_a_state_without_a_snapshot_is_no_success_tells_no_changes_and_waits_for_its_worker(
    database: str, tmp_path: Path, site: Site, received: list[dict[str, Any]]
) -> None:
    async with two_machines(database, tmp_path, config_of(site, tmp_path)) as (fleet, one, two):
        assert await one.run()
        with full_store():
            site.routes |= {"/": links("/a", "/b"), "/b": "<title>b</title><p>About b."}
            result = await one.run(accept_shrink=True)
        assert result
        assert (result.status, result.exit_code, result.notify_pending) == (RunStatus.FAILED, 7, True)
        assert result.message.endswith("no snapshot of its state could be stored: the disk is full")
        (row,) = await fleet.rows("SELECT home, unsaved IS NOT NULL AS unsaved, applying FROM site")
        assert row == {"home": "one", "unsaved": True, "applying": {"accept_shrink": True}}
        assert added_pages(received) == [], "whoever repeats this run tells of other changes"
        await fleet.rows("INSERT INTO worker (id, host, process, version, slots) VALUES ('one', 'h', 1, '', 1)")
        assert await take_lease(fleet, "shop", "two", None, 60) is None, "its worker lives"
        await fleet.rows("DELETE FROM worker")
        site.routes |= {"/": links("/a", "/b", "/c"), "/c": "<title>c</title><p>About c."}
        assert await two.run()
        assert two.runs() == ["published", "published"], "the run of the worker that is gone is repeated"
        assert sorted(added_pages(received)) == [f"{site.url}b", f"{site.url}c"]


@pytest.mark.thorough
async def test_ours_a_state_without_a_snapshot_is_not_replaced_by_an_older_one_and_is_told_of_if_it_may_publish(
    database: str, tmp_path: Path, site: Site, received: list[dict[str, Any]]
) -> None:
    config = config_of(site, tmp_path)
    async with two_machines(database, tmp_path, config, publish_without_store=True) as (_, one, two):
        assert await one.run()
        assert await one.run()
        newest = max((tmp_path / "store" / "shop").glob("*.zst"))
        newest.unlink()
        newest.mkdir()
        with full_store():
            site.routes |= {"/": links("/a", "/b"), "/b": "<title>b</title><p>About b."}
            assert await two.run()  # from the snapshot before the newest
        assert two.runs() == ["published", "published"]
        assert added_pages(received) == [f"{site.url}b"]
        assert await two.run()
        assert two.runs() == ["published", "published", "unchanged"]


@pytest.mark.thorough
async def test_ours_a_receiver_is_told_that_a_run_could_not_begin(
    database: str, tmp_path: Path, site: Site, received: list[dict[str, Any]]
) -> None:
    hook = {"urls": ["env:FLEET_HOOK"], "on": ["trouble"]}
    schedule = {"every": 86_400, "retries": 0, "retry_delay": 0.01}
    config = config_of(site, tmp_path, webhook=hook, schedule=schedule)
    async with two_machines(database, tmp_path, config) as (_, one, _):
        assert await one.run()
        (tmp_path / "store").rename(tmp_path / "away")
        failed = await one.run()
        assert failed
        assert (failed.exit_code, received) == (7, [])
        await anyio.sleep(0.05)  # until the notification is due
        told = await one.run(only_notifies=True)
        assert told
        assert told.status is RunStatus.DONE
        assert "is not marked as that of this fleet" in received[0]["sentence"]
        assert received[0]["occasion"] == "trouble"


@pytest.mark.thorough
async def test_ours_a_run_that_cannot_begin_stores_no_older_state_as_the_newest(
    database: str, tmp_path: Path, site: Site
) -> None:
    async with two_machines(database, tmp_path, config_of(site, tmp_path)) as (fleet, one, two):
        assert await one.run()
        assert await two.run()
        for snapshot in (tmp_path / "store" / "shop").glob("*.zst"):
            snapshot.unlink()
        lost = await one.run()
        assert lost
        assert (lost.status, lost.exit_code) == (RunStatus.FAILED, 7)
        assert "siteatlas fleet run-now shop --fresh" in lost.message
        (row,) = await fleet.rows("SELECT generation, home FROM site")
        assert row == {"generation": 2, "home": ""}, "another worker may have the state"
        result = await two.run()
        assert result
        assert result.status is RunStatus.DONE
        assert two.runs() == ["published", "unchanged", "unchanged"]


async def test_ours_one_of_many_first_runs_marks_the_state_store(database: str, tmp_path: Path, site: Site) -> None:
    store, other, empty = (SnapshotStore(DirectoryStore(tmp_path / name)) for name in ("store", "other", "empty"))
    async with fleet_of(database, config_of(site, tmp_path)) as (fleet, _):
        await run_sites_now(fleet, ["shop"])
        lease = await take_lease(fleet, "shop", "one", None, 60)
        assert lease
        async with anyio.create_task_group() as tasks:
            for number in range(4):
                tasks.start_soon(check_store, fleet, store, replace(lease, site=f"shop{number}"))
        with pytest.raises(StoreFault, match=r"is not marked as that of this fleet .*siteatlas fleet recover"):
            await check_store(fleet, other, lease)
        await adopt(fleet, other, await find_newer(fleet, other))
        await check_store(fleet, other, lease)
        with pytest.raises(StoreFault):
            await check_store(fleet, store, lease)
        await fleet.rows("DELETE FROM fleet")  # as of a version that marked no store, on a machine without the disk
        with pytest.raises(StoreFault, match="has no snapshot of shop"):
            await check_store(fleet, empty, replace(lease, snapshots=["key"]))
        await check_store(fleet, other, lease)


@pytest.mark.slow
async def test_ours_a_repeated_run_announces_no_page_again_also_of_a_site_that_has_changed(
    database: str, tmp_path: Path, site: Site, received: list[dict[str, Any]]
) -> None:
    async with two_machines(database, tmp_path, config_of(site, tmp_path)) as (_, one, two):
        assert await one.run()
        site.routes |= {"/": links("/a", "/b"), "/b": "<title>b</title><p>About b."}
        assert await one.run()
        assert len(received) == 2
        max((tmp_path / "store" / "shop").glob("*.zst")).unlink()  # as if the worker died before its last snapshot
        site.routes |= {"/": links("/a", "/b", "/c"), "/c": "<title>c</title><p>About c."}
        assert await two.run()
        assert two.runs() == ["published", "published", "published"]
        assert added_pages(received) == [f"{site.url}b", f"{site.url}c"]
        assert len(received) == 3
