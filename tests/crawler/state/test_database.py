"""What a SQLite file that cannot be used says: what is wrong with it, and what helps."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from crawler.errors import StorageError
from crawler.state.database import network_disk_type, storage_errors, transaction
from crawler.state.schema import STATE_DB

INSERT = "INSERT INTO about VALUES (?, ?)"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / STATE_DB.file
    with closing(STATE_DB.open(path)) as db, transaction(db):
        db.executemany(INSERT, ((str(number), "x" * 500) for number in range(100)))
    return path


def test_ours_a_database_that_another_process_writes_to_is_waited_for(path: Path) -> None:
    with closing(STATE_DB.open(path)) as writer, closing(STATE_DB.open(path, timeout=0)) as second:
        writer.execute("BEGIN IMMEDIATE")
        with (
            pytest.raises(StorageError, match=r"another process is writing to the file\. Run the command again"),
            transaction(second),
        ):
            pass


def test_ours_a_full_disk_asks_for_space(path: Path) -> None:
    with closing(STATE_DB.open(path)) as db:
        db.execute("PRAGMA max_page_count = 1")
        message = "the state cannot be written .* full. Free space there, and for temporary files in "
        with pytest.raises(StorageError, match=message), transaction(db):
            db.executemany(INSERT, ((f"n{number}", "x" * 5_000) for number in range(100)))


def test_ours_a_database_that_is_read_cannot_be_written(path: Path) -> None:
    with (
        STATE_DB.reading(path.parent) as db,
        pytest.raises(StorageError, match="the file is read-only"),
        storage_errors(),
    ):
        db.execute(INSERT, ("key", "value"))


def test_ours_a_damaged_database_is_named(path: Path) -> None:
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        (page,) = db.execute("SELECT rootpage FROM sqlite_master WHERE name = 'about'").fetchone()
        (size,) = db.execute("PRAGMA page_size").fetchone()
    raw = bytearray(path.read_bytes())
    raw[(page - 1) * size : page * size] = b"\xff" * size
    path.write_bytes(raw)
    with pytest.raises(StorageError, match=rf"{path} .*: it is damaged"), STATE_DB.reading(path.parent) as db:
        db.execute("SELECT * FROM about").fetchall()


MOUNT = "36 25 {device} /export {place} rw,relatime shared:1 - {kind} files:/export rw,vers=4.2"


def mounts(path: Path, kind: str) -> str:
    device = path.stat().st_dev
    ours = MOUNT.format(device=f"{os.major(device)}:{os.minor(device)}", place=path.parent, kind=kind)
    return "\n".join([MOUNT.format(device="0:9999", place="/mnt", kind="nfs"), ours])


@pytest.mark.parametrize("kind", ["nfs4", "cifs", "fuse.sshfs", "9p"])
def test_sqlite_wal_a_network_disk_is_recognized(path: Path, kind: str) -> None:
    assert network_disk_type(path, mounts(path, kind)) == kind


@pytest.mark.parametrize("kind", ["ext4", "overlay", "tmpfs", "fuse.lxcfs"])
def test_sqlite_wal_a_local_disk_is_not_a_network_disk(path: Path, kind: str) -> None:
    assert network_disk_type(path, mounts(path, kind)) == ""
    assert network_disk_type(path, "") == ""
    assert network_disk_type(path, "25 1 damaged") == ""


def test_sqlite_wal_the_state_on_a_network_disk_has_no_write_ahead_log(
    path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("crawler.state.database._read_mounts", lambda: mounts(path, "nfs4"))
    for _ in range(2):  # a file that had one loses it
        with closing(STATE_DB.open(path)) as db, transaction(db):
            assert db.execute("PRAGMA journal_mode").fetchone() == ("truncate",)
            db.execute("INSERT OR REPLACE INTO about VALUES ('key', 'value')")
        assert not path.with_name(f"{path.name}-wal").exists()
    with STATE_DB.reading(path.parent) as db:
        assert db.execute("SELECT value FROM about WHERE key = 'key'").fetchone() == ("value",)
    assert [
        record.getMessage().startswith(f"{path.parent} is on a network disk (nfs4)") for record in caplog.records
    ] == [True]
