"""A snapshot has the whole state of a site, and a directory always has the old state or the new one."""

import io
import os
import random
import resource
import sqlite3
import sys
import tarfile
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import msgspec
import pytest
from run import FAST, siteatlas
from scripted import links, scripted

from crawler.config.config import Config
from crawler.config.load import build_config
from crawler.config.plan import plan_crawl
from crawler.errors import DamagedFile, StateInUse, StorageError
from crawler.fleet import snapshot as snapshot_module
from crawler.fleet.snapshot import (
    BadSnapshot,
    LocalMark,
    SnapshotHeader,
    local_mark,
    mark_local,
    new_archive,
    pack,
    recover,
    unpack,
    zstd,
)
from crawler.publish.write import put_back_published
from crawler.state.lock import hold_lock

PAGES = [f"/section/{number}" for number in range(9)]
RUN = (*FAST, "--set=output.swap_delay=0", "--set=output.max_urls=4", "--group", "section", "--set=output.recent=atom")


def settings(folder: Path, url: str = "https://shop.example/") -> Config:
    return build_config(
        {
            "site": {"url": url},
            "output": {"directory": str(folder / "out"), "swap_delay": 0, "grace_period": 0},
            "state": {"directory": str(folder / "state")},
        }
    )


def run(folder: Path, url: str, command: str = "crawl") -> str:
    folder.mkdir(exist_ok=True)
    words = (*RUN, "-o", "out") if command == "crawl" else ("-o", "audited")
    done = siteatlas(folder, command, url, *words, "--state", "state")
    assert done.code in (0, 10), done.err
    return done.out + done.err


def made(folder: Path, content: str = "old") -> Path:
    """A small state without a run: a database, a file and a file in a directory. Returns its directory."""
    state = plan_crawl(settings(folder)).state
    (state / "changes").mkdir(parents=True)
    with closing(sqlite3.connect(state / "state.db")) as db:
        db.executescript(f"PRAGMA journal_mode = WAL; CREATE TABLE t (x); INSERT INTO t VALUES ('{content}')")
    (state / "record.json").write_text(content)
    (state / "changes" / "1.json").write_text(content)
    return state


def content_of(state: Path) -> str:
    """The content of a state that :func:`made` made; fails when it is mixed."""
    with closing(sqlite3.connect(state / "state.db")) as db:
        ((found,),) = db.execute("SELECT x FROM t").fetchall()
    assert (state / "record.json").read_text() == (state / "changes" / "1.json").read_text() == found
    return str(found)


def header(**values: object) -> SnapshotHeader:
    facts = {"site": "shop", "generation": 1, "epoch": 1, "start": "https://shop.example/", **values}
    return msgspec.convert(facts, SnapshotHeader)


def names(archive: Path) -> list[str]:
    with zstd.ZstdFile(archive) as packed, tarfile.open(fileobj=packed, mode="r|") as tar:
        return [member.name for member in tar]


def served(output: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in output.iterdir() if path.is_file()}


def tables(file: Path) -> list[str]:
    with closing(sqlite3.connect(file)) as db:
        return list(db.iterdump())


@contextmanager
def forked(work: Callable[[], object]) -> Iterator[int]:
    """The exit code of a fork that does the work; 77 when it raises."""
    pid = os.fork()
    if pid == 0:
        try:
            work()
            os._exit(0)
        except BaseException as error:  # noqa: BLE001 - a fork must not go on with the tests
            print(repr(error), file=sys.__stderr__)
            os._exit(77)
    yield os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


@pytest.fixture(scope="module")
def site_url() -> Iterator[str]:
    routes = {path: f"<title>{path}</title><p>About {path}, in a few words." for path in PAGES}
    with scripted({"/": links(*PAGES), **routes}) as site:
        yield site.url


@pytest.mark.thorough
def test_ours_another_machine_continues_where_the_first_one_stopped(tmp_path: Path, site_url: str) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    run(here, site_url)
    run(here, site_url, "audit")
    plan = plan_crawl(settings(here, site_url))
    with new_archive(plan) as archive:
        sha256 = pack(plan.state, header(start=plan.seed), archive)
        assert len(sha256) == 64
        restored = unpack(archive, settings(there, site_url), "shop", "shop/1")
    assert not list((plan.state.parent / ".snapshots").iterdir())
    assert local_mark(restored.state).key == "shop/1"
    for name in ("state.db", "audit/state.db", "audit/audits.db", "audit/audit.db"):
        assert tables(restored.state / name) == tables(plan.state / name)
    kept = {path.relative_to(plan.state) for path in plan.state.glob("[cg]*/**/*") if path.is_file()}
    assert {path.parts[0] for path in kept} == {"changes", "generations"}
    assert all((restored.state / path).read_bytes() == (plan.state / path).read_bytes() for path in kept)
    assert {path.stat().st_mode & 0o077 for path in restored.state.rglob("*")} == {0}

    assert put_back_published(restored)
    assert not put_back_published(restored)
    published = served(plan.output)
    assert served(restored.output) == {name: body for name, body in published.items() if "recent" not in name}
    assert "changed by somebody else" not in run(there, site_url)
    assert served(restored.output).keys() == published.keys()  # the next run writes the feed of recent changes
    with closing(sqlite3.connect(restored.state / "state.db")) as db:
        assert db.execute("SELECT number, outcome, listed FROM run").fetchall() == [
            (1, "published", 10),
            (2, "unchanged", 10),
        ]


@pytest.mark.thorough
def test_ours_after_a_rollback_the_published_set_is_put_back_not_the_newest(tmp_path: Path) -> None:
    routes = {"/": links("/a", "/b"), "/a": "<title>a</title>", "/b": "<title>b</title>"}
    with scripted(dict(routes)) as site:
        run(tmp_path, site.url)
        first = (tmp_path / "out" / "sitemap.xml").read_bytes()
        site.routes |= {"/": links("/a", "/b", "/c"), "/c": "<title>c</title>"}
        run(tmp_path, site.url)
        done = siteatlas(tmp_path, "rollback", site.url, "-o", "out", "--state", "state", "--set=output.swap_delay=0")
        assert done.code == 0, done.err
        plan = plan_crawl(settings(tmp_path, site.url))
        for path in plan.output.iterdir():
            path.unlink()
        assert put_back_published(plan)
        assert (plan.output / "sitemap.xml").read_bytes() == first


def test_ours_what_is_not_the_state_stays_out(tmp_path: Path) -> None:
    state = made(tmp_path)
    for name in (
        "lock",
        "schedule.lock",
        "run.log",
        ".x.json.draft",
        "state.db.v3",
        "state.db.damaged-20260101T000000Z",
    ):
        (state / name).write_text("no")
    (state / "link.json").symlink_to("/etc/passwd")
    os.mkfifo(state / "pipe")
    os.close(hold_lock(state))
    mark_local(state, LocalMark("shop/0"))
    archive = tmp_path / "archive"
    pack(state, header(), archive)
    assert names(archive) == ["snapshot.json", "record.json", "state.db", "changes/1.json"]


def test_ours_a_snapshot_during_writes_is_of_one_moment(tmp_path: Path) -> None:
    state = made(tmp_path)
    with closing(sqlite3.connect(state / "state.db")) as db:
        db.executescript("CREATE TABLE a (n, filler); CREATE TABLE b (n); ")
    ended = threading.Event()

    def write() -> None:
        with closing(sqlite3.connect(state / "state.db", isolation_level=None, timeout=30)) as db:
            number = 0
            while not ended.is_set():
                number += 1
                db.execute("BEGIN IMMEDIATE")
                db.execute("INSERT INTO a VALUES (?, randomblob(2000))", (number,))
                db.execute("INSERT INTO b VALUES (?)", (number,))
                db.execute("COMMIT")

    descriptor = hold_lock(state)
    writer = threading.Thread(target=write)
    writer.start()
    counts = []
    try:
        for number in range(5):
            archive = tmp_path / f"archive{number}"
            pack(state, header(), archive)
            with zstd.ZstdFile(archive) as packed, tarfile.open(fileobj=packed) as tar:
                content = tar.extractfile("state.db")
                assert content is not None
                copy = tmp_path / "copy.db"
                copy.write_bytes(content.read())
            with closing(sqlite3.connect(copy)) as db:
                assert db.execute("SELECT n FROM a").fetchall() == db.execute("SELECT n FROM b").fetchall()
                counts.append(db.execute("SELECT count(*) FROM a").fetchone()[0])
    finally:
        ended.set()
        writer.join()
        os.close(descriptor)
    assert counts == sorted(counts)
    assert counts[-1] > counts[0]


def test_ours_damage_is_never_packed(tmp_path: Path) -> None:
    state = made(tmp_path)
    (state / "audit").mkdir()
    file = state / "audit" / "audit.db"
    file.write_bytes(b"SQLite format 3\0" + b"garbage" * 1000)
    pack(state, header(), tmp_path / "first")
    assert "audit/audit.db" not in names(tmp_path / "first")  # every audit makes it anew
    with closing(sqlite3.connect(state / "state.db")) as db:
        db.executescript("CREATE TABLE many (x); " + "INSERT INTO many VALUES (randomblob(3000));" * 50)
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    whole = (state / "state.db").read_bytes()
    (state / "state.db").write_bytes(whole[:8192] + b"\xff" * 4096 * 8 + whole[8192 + 4096 * 8 :])
    with pytest.raises(DamagedFile, match="cannot be copied"):
        pack(state, header(), tmp_path / "second")
    (state / "state.db").write_bytes(whole)
    (state / "damaged").touch()
    with pytest.raises(DamagedFile, match="marked as damaged"):
        pack(state, header(), tmp_path / "third")


@pytest.mark.thorough
def test_ours_a_kill_at_any_moment_leaves_the_old_state_or_the_new_one(tmp_path: Path) -> None:
    archive = tmp_path / "archive"
    pack(made(tmp_path / "source", "new"), header(), archive)
    calls = {"open", "os.rename", "os.mkdir", "os.remove", "os.rmdir", "os.utime", "shutil.rmtree"}

    def unpack_until(folder: Path, last: int) -> None:
        count = 0

        def die(event: str, values: tuple[object, ...]) -> None:
            nonlocal count
            if event in calls and str(folder) in str(values):
                count += 1
                if count == last:
                    os._exit(9)

        sys.addaudithook(die)
        unpack(archive, settings(folder), "shop", "shop/1")

    seen = []
    for last in range(1, 200):
        folder = tmp_path / str(last)
        state = made(folder)
        with forked(lambda f=folder, n=last: unpack_until(f, n)) as code:  # type: ignore[misc]
            assert code in (0, 9)
        recover(state)
        found = content_of(state)
        assert local_mark(state).key == ("shop/1" if found == "new" else "")
        assert not list(state.parent.glob(".snapshots/*"))
        seen.append(found)
        if code == 0:
            break
    assert code == 0
    assert seen == ["old"] * seen.count("old") + ["new"] * seen.count("new")
    assert seen.count("old") > 20
    assert seen.count("new") > 3


def bad_archive(file: Path, *members: tuple[tarfile.TarInfo, bytes], head: SnapshotHeader | None = None) -> Path:
    with zstd.ZstdFile(file, "wb") as packed, tarfile.open(fileobj=packed, mode="w|") as tar:
        first = msgspec.json.encode(head or header())
        for member, content in ((tarfile.TarInfo("snapshot.json"), first), *members):
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return file


def member(name: str, kind: bytes = tarfile.REGTYPE, target: str = "") -> tuple[tarfile.TarInfo, bytes]:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info, b"x" if kind == tarfile.REGTYPE else b""


@pytest.mark.parametrize(
    "members",
    [
        [member("../outside")],
        [member("/tmp/outside")],
        [member("a/../../../outside")],
        [member("link", tarfile.SYMTYPE, "/etc"), member("link/outside")],
        [member("link", tarfile.LNKTYPE, "/etc/passwd")],
        [member("pipe", tarfile.FIFOTYPE)],
        [member("device", tarfile.CHRTYPE)],
        [member("folder", tarfile.DIRTYPE)],
        [member("twice"), member("twice")],
        [member("file"), member("file/below")],
        [member(".")],
    ],
    ids=lambda members: " ".join(info.name for info, _ in members),
)
def test_ours_an_archive_of_somebody_else_writes_nothing(
    tmp_path: Path, members: list[tuple[tarfile.TarInfo, bytes]]
) -> None:
    state = made(tmp_path)
    archive = bad_archive(tmp_path / "archive", *members)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(BadSnapshot, match=r"not allowed|twice"):
        unpack(archive, settings(tmp_path), "shop", "key")
    recover(state)
    assert content_of(state) == "old"
    made_here = {".snapshots", "lock", "state.db-shm", "state.db-wal"}
    assert {path.name for path in set(tmp_path.rglob("*")) - set(before)} <= made_here
    assert not (Path("/tmp") / "outside").exists()


@pytest.mark.thorough
@pytest.mark.parametrize("where", ["file", "name", "after the end", "files"])
def test_ours_an_archive_that_becomes_very_large_is_refused_before_it_fills_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    monkeypatch.setattr(snapshot_module, "_MIN_ROOM", 1 << 20)
    monkeypatch.setattr(snapshot_module, "_MAX_MEMBERS", 100)
    state, size = made(tmp_path), 64 << 20
    members = [member(str(number)) for number in range(200)] if where == "files" else []
    if where == "file":
        members = [(tarfile.TarInfo("zeros"), bytes(size))]
    if where == "name":
        members = [member("x/" * (size >> 5))]
    archive = bad_archive(tmp_path / "archive", *members)
    if where == "after the end":
        archive.write_bytes(archive.read_bytes() + zstd.compress(bytes(size)))
    with pytest.raises(BadSnapshot, match=r"times as large|more than 100 files"):
        unpack(archive, settings(tmp_path), "shop", "key")
    assert content_of(state) == "old"
    assert sum(path.stat().st_size for path in (tmp_path / "state" / ".snapshots").rglob("*")) < 100_000, "all is gone"


@pytest.mark.parametrize(
    "start", ["https://", "https:///", "https://sitemap.xml", "shop", "HTTP://h.test/", "ftp://h.test/"]
)
def test_ours_a_snapshot_with_a_bad_start_url_is_refused(tmp_path: Path, start: str) -> None:
    archive = tmp_path / "archive"
    pack(made(tmp_path), header(start=start), archive)
    with pytest.raises(BadSnapshot, match="invalid start URL"):
        unpack(archive, settings(tmp_path), "shop", "key")


def test_ours_an_archive_that_was_cut_or_altered_changes_nothing(tmp_path: Path) -> None:
    state = made(tmp_path)
    archive = tmp_path / "archive"
    pack(state, header(), archive)
    whole = archive.read_bytes()
    rng = random.Random(17)
    for number in range(60):
        bad = tmp_path / f"bad{number}"
        at = rng.randrange(len(whole))
        altered = whole[:at] + bytes([whole[at] ^ (1 << rng.randrange(8))]) + whole[at + 1 :]
        bad.write_bytes(whole[:at] if number % 2 else altered)
        with suppress(StorageError):
            unpack(bad, settings(tmp_path), "shop", "key")
        assert content_of(state) == "old", (number, at)
    with pytest.raises(BadSnapshot, match="belongs to the site other"):
        unpack(bad_archive(tmp_path / "other", head=header(site="other")), settings(tmp_path), "shop", "key")
    with pytest.raises(StorageError, match="too old to read it"):
        unpack(bad_archive(tmp_path / "newer", head=header(format=2)), settings(tmp_path), "shop", "key")


def test_ours_a_state_in_use_is_not_replaced(tmp_path: Path) -> None:
    state = made(tmp_path)
    archive = tmp_path / "archive"
    pack(state, header(), archive)
    descriptor = hold_lock(state)
    with pytest.raises(StateInUse):
        unpack(archive, settings(tmp_path), "shop", "key")
    os.close(descriptor)
    unpack(archive, settings(tmp_path), "shop", "key")
    assert content_of(state) == "old"


def test_ours_a_moved_start_url_travels(tmp_path: Path) -> None:
    archive = tmp_path / "archive"
    pack(made(tmp_path / "here"), header(start="https://www.shop.example/"), archive)
    plan = unpack(archive, settings(tmp_path / "there"), "shop", "key")
    assert plan.seed == "https://www.shop.example/"
    assert plan.state.name.startswith("www.shop.example-")
    assert plan_crawl(settings(tmp_path / "there")).state == plan.state
    assert content_of(plan.state) == "old"


def test_ours_memory_does_not_grow_with_the_state(tmp_path: Path) -> None:
    state = made(tmp_path)
    with (state / "large.json").open("wb") as file:
        rng = random.Random(1)
        for _ in range(96):
            file.write(rng.randbytes(1 << 16) * 16)
    archive = tmp_path / "archive"

    def work() -> None:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        pack(state, header(), archive)
        unpack(archive, settings(tmp_path / "there"), "shop", "key")
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        assert grown < 40_000, grown  # KiB

    with forked(work) as code:
        assert code == 0
