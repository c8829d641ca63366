"""The state store, on a shared disk and in a bucket: what is there is whole, and damage is found and passed over."""

import hashlib
import os
import sqlite3
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import anyio
import pytest
from doubles_s3 import ACCESS, BUCKET, SECRET, Bucket, Fault, s3_double

from crawler.config.config import Config
from crawler.config.load import build_config
from crawler.config.plan import plan_crawl
from crawler.config.sections import FleetConfig
from crawler.errors import StorageError, UsageError
from crawler.fleet.bucket_store import BucketStore
from crawler.fleet.snapshot import LocalMark, StoreFault, local_mark, mark_local
from crawler.fleet.state_store import DirectoryStore, Snapshot, SnapshotLost, SnapshotStore, StateStore, parse_key
from crawler.fleet.worker import connect_store

pytestmark = pytest.mark.anyio


@pytest.fixture
def bucket() -> Iterator[Bucket]:
    with s3_double() as double:
        yield double


def in_bucket(bucket: Bucket) -> FleetConfig:
    return FleetConfig(
        state_store=f"s3://{BUCKET}/states",
        s3_endpoint=bucket.url,
        s3_access_key=ACCESS,
        s3_secret_key=SECRET,
        store_timeout=5.0,
    )


@pytest.fixture(params=["file", "s3"])
def store(request: pytest.FixtureRequest, tmp_path: Path, bucket: Bucket) -> StateStore:
    address = FleetConfig(state_store=f"file://{tmp_path}/shared") if request.param == "file" else in_bucket(bucket)
    return connect_store(address, retries=1)


@pytest.fixture
def spoil(store: StateStore, tmp_path: Path, bucket: Bucket) -> Callable[[str, bytes | None], None]:
    """Replaces what is stored by other bytes, or removes it."""

    def change(key: str, content: bytes | None) -> None:
        if isinstance(store, BucketStore):
            bucket.objects.pop(f"states/{key}")
            if content is not None:
                bucket.put(f"states/{key}", content)
        elif content is None:
            (tmp_path / "shared" / key).unlink()
        else:
            (tmp_path / "shared" / key).write_bytes(content)

    return change


def settings(folder: Path) -> Config:
    return build_config(
        {
            "site": {"url": "https://shop.example/"},
            "output": {"directory": str(folder / "out")},
            "state": {"directory": str(folder / "state")},
        }
    )


def write(folder: Path, content: str) -> None:
    """A state with this content."""
    state = plan_crawl(settings(folder)).state
    state.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(state / "notify.db")) as db:
        db.executescript(f"DROP TABLE IF EXISTS t; CREATE TABLE t (x); INSERT INTO t VALUES ('{content}')")


def read(folder: Path) -> str:
    with closing(sqlite3.connect(plan_crawl(settings(folder)).state / "notify.db")) as db:
        return str(db.execute("SELECT x FROM t").fetchone()[0])


def newest_first(done: list[Snapshot]) -> list[str]:
    """The keys, as the database has them."""
    return [snapshot.key for snapshot in reversed(done)]


async def saved(snapshots: SnapshotStore, folder: Path, generations: int, site: str = "shop") -> list[Snapshot]:
    done = []
    await snapshots.write_mark("mark")
    for generation in range(1, generations + 1):
        write(folder, f"{site} {generation}")
        done.append(await snapshots.save(site, plan_crawl(settings(folder)), generation, generation * 10))
        await snapshots.prune(done[-1])
    return done


@pytest.mark.thorough
async def test_ours_the_newest_snapshot_is_restored_and_old_ones_go(
    store: StateStore, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    snapshots = SnapshotStore(store, keep=2)
    done = await saved(snapshots, tmp_path / "here", 4)
    await saved(snapshots, tmp_path / "other", 1, "shop2")
    assert await snapshots.snapshots("shop") == [*map(parse_key, (each.key for each in done[-2:]))]
    assert [each.generation for each in await snapshots.snapshots("shop2")] == [1]
    restored = await snapshots.restore("shop", settings(tmp_path / "there"), newest_first(done))
    assert read(tmp_path / "there") == "shop 4"
    assert local_mark(restored.state).key == done[-1].key
    assert "an older state is used" not in caplog.text


@pytest.mark.thorough
@pytest.mark.parametrize("content", [None, b"", b"other bytes"])
async def test_ours_a_bad_snapshot_is_passed_over_and_said(
    store: StateStore,
    spoil: Callable[[str, bytes | None], None],
    tmp_path: Path,
    content: bytes | None,
    caplog: pytest.LogCaptureFixture,
) -> None:
    snapshots = SnapshotStore(store)
    done = await saved(snapshots, tmp_path / "here", 3)
    spoil(done[2].key, content)
    restored = await snapshots.restore("shop", settings(tmp_path / "there"), newest_first(done))
    assert read(tmp_path / "there") == "shop 2"
    assert local_mark(restored.state).key == done[1].key
    problem = "is missing" if content is None else "is damaged: its checksum differs"
    assert f"shop: an older state is used: generation 3 {problem}" in caplog.text
    for snapshot in done[:2]:
        spoil(snapshot.key, content)
    write(tmp_path / "there", "mine")
    with pytest.raises(SnapshotLost, match=r"no snapshot of the site shop in .* can be used .*generation 3 is"):
        await snapshots.restore("shop", settings(tmp_path / "there"), newest_first(done))
    assert read(tmp_path / "there") == "mine"
    with pytest.raises(SnapshotLost, match="it has none"):
        await snapshots.restore("unknown", settings(tmp_path / "there"), [])


@pytest.mark.parametrize("kind", ["directory", "link", "loop"])
async def test_ours_a_snapshot_that_cannot_be_read_is_passed_over_and_named(
    tmp_path: Path, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    snapshots = SnapshotStore(DirectoryStore(tmp_path / "shared"))
    done = await saved(snapshots, tmp_path / "here", 2)
    path = tmp_path / "shared" / done[1].key
    path.unlink()
    if kind == "directory":
        path.mkdir()
    else:
        path.symlink_to(tmp_path / "shared" / done[0].key if kind == "link" else path)
    await snapshots.restore("shop", settings(tmp_path / "there"), newest_first(done))
    assert read(tmp_path / "there") == "shop 1"
    assert f"generation 2 cannot be read: Error at {path}: " in caplog.text


async def test_ours_a_disk_that_goes_away_during_a_run_gets_no_snapshot(tmp_path: Path) -> None:
    snapshots = SnapshotStore(DirectoryStore(tmp_path / "shared"))
    await saved(snapshots, tmp_path / "here", 1)
    (tmp_path / "shared").rename(tmp_path / "away")
    for _ in range(2):
        with pytest.raises(StoreFault, match="the mark of the fleet is not there"):
            await snapshots.save("shop", plan_crawl(settings(tmp_path / "here")), 2, 2)
        assert not any((tmp_path / "shared").glob("*"))
        (tmp_path / "shared").mkdir(exist_ok=True)  # an empty mount point


async def test_ours_an_object_that_the_storage_does_not_give_is_passed_over(
    bucket: Bucket, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    snapshots = SnapshotStore(connect_store(in_bucket(bucket), retries=0))
    done = await saved(snapshots, tmp_path / "here", 2)
    bucket.fails("GET", Fault("error", 403, "InvalidObjectState"))
    await snapshots.restore("shop", settings(tmp_path / "there"), newest_first(done))
    assert read(tmp_path / "there") == "shop 1"
    assert "generation 2 cannot be read: " in caplog.text
    bucket.fails("GET", Fault("error", 503, "SlowDown"))
    with pytest.raises(StoreFault, match="it is busy"):  # it may pass: an older state would tell wrong dates
        await snapshots.restore("shop", settings(tmp_path / "there"), newest_first(done))


def as_account(user: int, groups: list[int], work: Callable[[], object]) -> None:
    """Do something in a process of this account, whose first group is its own."""
    pid = os.fork()
    if pid == 0:
        try:
            os.setgroups(groups)
            os.setgid(user)
            os.setuid(user)
            os.umask(0o077)
            work()
            os._exit(0)
        except BaseException as error:  # noqa: BLE001 - a fork must not go on with the tests
            print(repr(error), file=sys.__stderr__)
            os._exit(77)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another account")
def test_ours_accounts_share_a_store_by_its_group_and_else_the_error_says_how() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o711)
        for user in (4001, 4002):
            (folder / str(user)).mkdir()
            os.chown(folder / str(user), user, user)
        shared, alone = folder / "shared", folder / "alone"
        shared.mkdir()
        os.chown(shared, 0, 4000)
        shared.chmod(0o770)
        alone.mkdir()
        os.chown(alone, 4001, 4001)
        alone.chmod(0o755)

        def save(store: Path, generation: int, user: int) -> None:
            snapshots = SnapshotStore(DirectoryStore(store))
            anyio.run(snapshots.write_mark, "mark")
            write(folder / str(user), f"by {user}")
            plan = plan_crawl(settings(folder / str(user)))
            anyio.run(snapshots.prune, anyio.run(snapshots.save, "shop", plan, generation, generation))

        def restore(store: Path) -> str:
            snapshots = SnapshotStore(DirectoryStore(store))
            newest = anyio.run(snapshots.snapshots, "shop")[-1]
            anyio.run(snapshots.restore, "shop", settings(folder / "4002"), [newest.key])
            return read(folder / "4002")

        def refused() -> None:
            with pytest.raises(StorageError, match=r"denied for the account 4002\. All workers need the same user ID"):
                anyio.run(SnapshotStore(DirectoryStore(alone)).write_mark, "mark", "shop")

        as_account(4001, [4000], lambda: save(shared, 1, 4001))
        as_account(4002, [4000], lambda: restore(shared) == "by 4001" or os._exit(1))
        for generation, user in ((2, 4002), (3, 4001), (4, 4002)):  # and removes what the others wrote
            as_account(user, [4000], lambda generation=generation, user=user: save(shared, generation, user))  # type: ignore[misc]
        assert len(list((shared / "shop").glob("*.zst"))) == 3
        as_account(4001, [4000], lambda: save(alone, 1, 4001))
        as_account(4002, [4000], refused)


async def test_ours_a_snapshot_that_the_database_does_not_know_is_never_used(
    store: StateStore, spoil: Callable[[str, bytes | None], None], tmp_path: Path
) -> None:
    snapshots = SnapshotStore(store)
    done = await saved(snapshots, tmp_path / "here", 1)
    write(tmp_path / "hostile", "hostile")
    planted = await snapshots.save("shop", plan_crawl(settings(tmp_path / "hostile")), 0, 9)  # an older generation
    spoil(done[0].key, b"damaged")
    with pytest.raises(SnapshotLost, match="generation 1 is damaged"):
        await snapshots.restore("shop", settings(tmp_path / "there"), newest_first(done))
    assert planted.key in await store.keys("shop/")


async def test_ours_a_snapshot_whose_lease_was_over_is_neither_taken_nor_in_the_way(
    store: StateStore, tmp_path: Path
) -> None:
    snapshots = SnapshotStore(store, keep=2)
    await snapshots.write_mark("mark")
    write(tmp_path, "zombie")
    plan = plan_crawl(settings(tmp_path))
    zombie = await snapshots.save("shop", plan, 2, 5)
    write(tmp_path, "recorded")
    recorded = await snapshots.save("shop", plan, 2, 6)
    assert zombie.key != recorded.key
    await snapshots.prune(recorded)
    await snapshots.restore("shop", settings(tmp_path / "there"), [recorded.key])
    assert read(tmp_path / "there") == "recorded"
    write(tmp_path, "later")
    lost = await snapshots.save("shop", plan, 3, 7)
    await store.remove(lost.key)
    await snapshots.restore("shop", settings(tmp_path / "there"), [lost.key, recorded.key])
    assert read(tmp_path / "there") == "recorded"
    await snapshots.prune(Snapshot(5, 9, "shop", "0" * 64))
    assert await snapshots.snapshots("shop") == []


@pytest.mark.parametrize("site", [".", "..", "...", "a.b", "A-1_2"])
async def test_ours_no_name_of_a_site_leaves_its_folder(tmp_path: Path, site: str) -> None:
    snapshots = SnapshotStore(connect_store(FleetConfig(state_store=f"file://{tmp_path}/shared")))
    (done,) = await saved(snapshots, tmp_path / "here", 1, site)
    (file,) = tmp_path.rglob("*.tar.zst")  # noqa: ASYNC240 - a local disk
    assert file.parent.parent == tmp_path / "shared"
    assert file.stat().st_mode & 0o777 == 0o600
    assert hashlib.sha256(file.read_bytes()).hexdigest() == done.sha256
    assert [each.site for each in await snapshots.snapshots(site)] == [site]


async def test_ours_no_link_on_the_shared_disk_is_followed(tmp_path: Path) -> None:
    store = connect_store(FleetConfig(state_store=f"file://{tmp_path}/shared"))
    secret = tmp_path / "secret"
    secret.write_text("secret")
    await SnapshotStore(store).write_mark("mark")
    await store.put("shop/1.tar.zst", secret)
    (tmp_path / "shared" / "shop" / "2.tar.zst").symlink_to(secret)
    (tmp_path / "shared" / "shop" / ".3.tar.zst.draft").symlink_to(secret)
    with pytest.raises(StorageError, match="the state store file:///"):
        await store.get("shop/2.tar.zst", tmp_path / "copy")
    other = tmp_path / "other"
    other.write_text("other")
    await store.put("shop/2.tar.zst", other)
    await store.put("shop/3.tar.zst", other)
    assert secret.read_text() == "secret"
    assert sorted(await store.keys("")) == ["shop/1.tar.zst", "shop/2.tar.zst", "shop/3.tar.zst"]


@pytest.mark.thorough
async def test_ours_a_store_that_is_away_is_no_lost_snapshot(bucket: Bucket, tmp_path: Path) -> None:
    snapshots = SnapshotStore(connect_store(in_bucket(bucket), retries=1))
    done = await saved(snapshots, tmp_path / "here", 2)
    bucket.always("GET", Fault("error", 503, "SlowDown"))
    with pytest.raises(StorageError, match=r"state store s3://shop/states/ at .* cannot be used: it is busy") as error:
        await snapshots.restore("shop", settings(tmp_path / "there"), newest_first(done))
    assert not isinstance(error.value, SnapshotLost)
    assert SECRET not in str(error.value)
    bucket.fails("GET", Fault("cut after"))  # in the middle of the first answer; the second is whole
    await snapshots.restore("shop", settings(tmp_path / "there"), newest_first(done))
    assert read(tmp_path / "there") == "shop 2"
    bucket.always("PUT", Fault("error", 403, "AccessDenied"))
    with pytest.raises(StorageError, match="does not allow storing a snapshot"):
        await saved(snapshots, tmp_path / "here", 1)


async def test_ours_a_listing_has_all_pages(bucket: Bucket, tmp_path: Path) -> None:
    store = connect_store(in_bucket(bucket), retries=1)
    bucket.page = 7
    names = [f"shop/{number:03d}.tar.zst" for number in range(30)]
    for name in names:
        bucket.put(f"states/{name}", b"x")
    bucket.put("states/shop2/1.tar.zst", b"x")
    assert await store.keys("shop/") == names
    assert len(await store.keys("")) == 31


async def test_ours_a_large_snapshot_is_sent_in_parts(bucket: Bucket, tmp_path: Path) -> None:
    store = connect_store(in_bucket(bucket), retries=1)
    assert isinstance(store, BucketStore)
    store.single, store.part = 8 << 20, 5 << 20  # a part has 5 MiB at least
    file = tmp_path / "file"
    file.write_bytes(os.urandom(12 << 20))
    await store.put("shop/1.tar.zst", file)
    assert bucket.objects["states/shop/1.tar.zst"].body == file.read_bytes()
    assert bucket.objects["states/shop/1.tar.zst"].etag.endswith("-3")
    assert await store.get("shop/1.tar.zst", tmp_path / "copy")
    assert (tmp_path / "copy").read_bytes() == file.read_bytes()
    bucket.fails("PUT", None, Fault("error", 403, "AccessDenied"))
    with pytest.raises(StorageError):
        await store.put("shop/2.tar.zst", file)
    assert bucket.parts == {}  # parts that nobody finishes cost money
    assert "states/shop/2.tar.zst" not in bucket.objects


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("", "must be like file:///mnt/shared/siteatlas or s3://bucket/prefix"),
        ("file://relative", "must be like"),
        ("https://user:hunter2@host/", "must be like"),
        ("s3://", "fleet.state_store needs the name of a bucket"),
        ("s3://bucket/../x", "fleet.state_store: '../x' contains"),
    ],
)
def test_ours_a_bad_address_is_refused(address: str, message: str) -> None:
    with pytest.raises(UsageError) as error:
        connect_store(FleetConfig(state_store=address))
    assert message in str(error.value)
    assert "hunter2" not in str(error.value)


def test_ours_the_settings_of_the_bucket_are_named_as_the_fleet_has_them() -> None:
    with pytest.raises(UsageError, match=r"fleet\.s3_endpoint must be a URL"):
        connect_store(
            FleetConfig(state_store="s3://bucket/", s3_endpoint="minio:9000", s3_access_key="a", s3_secret_key="b")
        )


def test_ours_the_mark_is_durable_and_private(tmp_path: Path) -> None:
    mark_local(tmp_path, LocalMark("shop/key"))
    assert local_mark(tmp_path).key == "shop/key"
    (file,) = tmp_path.iterdir()
    assert file.stat().st_mode & 0o777 == 0o600
    file.write_text("{")
    assert local_mark(tmp_path).key == ""


@pytest.mark.thorough
@pytest.mark.parametrize("store", ["s3"], indirect=True)
async def test_ours_a_snapshot_and_a_listing_without_an_end_are_refused(
    store: StateStore, bucket: Bucket, tmp_path: Path
) -> None:
    bucket.always("GET", Fault("endless", 200, body=b"x" * (1 << 20)))
    with pytest.raises(StorageError, match="fetching a snapshot is not valid S3"):
        await store.get("shop/1", tmp_path / "copy")
    bucket.always("LIST", Fault("endless", 200, body=b"x" * (1 << 20)))
    with pytest.raises(StorageError, match="listing the snapshots is not valid S3"):
        await store.keys("")
    assert bucket.endless < 200_000_000
