"""A set is published as a whole or not at all, whatever the disk, the kernel or another process does."""

import errno
import json
import os
import re
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from sitemap import DestinationError, Directory, Entry, SitemapError, SitemapWriter, WriterOptions
from sitemap.writer import destination
from sitemap.writer.destination import STAGE_PREFIX
from sitemap.writer.files import StageLock

LOCATION = "https://example.com/sitemap.xml"


def publish(folder: Path, tag: str, count: int, **options: Any) -> None:
    with SitemapWriter(Directory(folder, settle=0, grace=0), LOCATION, WriterOptions(**options)) as writer:
        for number in range(count):
            writer.add(Entry(f"https://example.com/{tag}/{number}"))
        writer.finish()


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def stages(folder: Path) -> list[Path]:
    return sorted(folder.glob(STAGE_PREFIX + "*"))


def test_ours_check_makes_the_directory_and_leaves_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    Directory(folder).check()
    assert list(folder.iterdir()) == []


def test_ours_check_refuses_what_cannot_be_written(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("x")
    for path in (file, file / "below", Path("/proc/siteatlas"), Path("/sys/siteatlas")):
        with pytest.raises(DestinationError, match=re.escape(str(path))):
            Directory(path).check()
    assert file.read_text() == "x"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_ours_check_refuses_a_directory_without_permission(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(DestinationError, match="permission"):
            Directory(tmp_path).check()
    finally:
        tmp_path.chmod(0o700)


def test_ours_permission_denied_names_the_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(Path, "mkdir", refuse)
    with pytest.raises(DestinationError, match="Permission denied; give this user write permission"):
        Directory(tmp_path / "x").check()


def test_ours_stale_children_go_and_other_files_stay(tmp_path: Path) -> None:
    for name in ("sitemap-news.xml", "sitemap-01.xml", "robots.txt", "sitemap-9.xml.bak", "post-sitemap.xml"):
        (tmp_path / name).write_text("mine")
    others = set(content(tmp_path))
    publish(tmp_path, "a", 5, max_urls=1)
    publish(tmp_path, "a", 3, max_urls=1, gzip=True)
    assert set(content(tmp_path)) == others | {"sitemap.xml", *(f"sitemap-{n}.xml.gz" for n in (1, 2, 3))}
    publish(tmp_path, "a", 1, gzip=True)
    assert set(content(tmp_path)) == others | {"sitemap.xml.gz"}
    publish(tmp_path, "a", 1)
    assert set(content(tmp_path)) == others | {"sitemap.xml"}
    assert all((tmp_path / name).read_text() == "mine" for name in others)


def test_ours_modes_are_kept_and_0644_without_regard_to_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        publish(tmp_path, "a", 2, max_urls=1)
        assert stat.S_IMODE((tmp_path / "sitemap.xml").stat().st_mode) == 0o644
        (tmp_path / "sitemap.xml").chmod(0o640)
        publish(tmp_path, "b", 2, max_urls=1)
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "sitemap.xml").stat().st_mode) == 0o640
    assert stat.S_IMODE((tmp_path / "sitemap-1.xml").stat().st_mode) == 0o644


def test_ours_a_directory_in_the_way_leaves_the_old_set(tmp_path: Path) -> None:
    publish(tmp_path, "old", 2, max_urls=1)
    (tmp_path / "sitemap-3.xml").mkdir()
    before = content(tmp_path)
    with pytest.raises(DestinationError, match="directory"):
        publish(tmp_path, "new", 4, max_urls=1)
    assert content(tmp_path) == before
    assert stages(tmp_path) == []


def test_ours_a_byte_lost_on_the_way_is_found(tmp_path: Path) -> None:
    publish(tmp_path, "old", 1)
    before = content(tmp_path)
    writer = SitemapWriter(Directory(tmp_path), LOCATION, WriterOptions(max_urls=1))
    for number in range(3):
        writer.add(Entry(f"https://example.com/new/{number}"))
    staged = stages(tmp_path)[0] / "new" / "sitemap-1.xml"
    staged.write_bytes(staged.read_bytes().replace(b"new/0", b"new/9"))
    with pytest.raises(DestinationError, match="differs from the data that was written"):
        writer.finish()
    assert content(tmp_path) == before
    assert stages(tmp_path) == []


def run(code: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-c", code, str(folder)], capture_output=True, text=True, timeout=60, check=False
    )


SCRIPT = """
import os, resource, signal, sys
from pathlib import Path
from sitemap import DestinationError, Directory, Entry, SitemapWriter, WriterOptions
options = WriterOptions(max_urls=20_000)
writer = SitemapWriter(Directory(sys.argv[1]), "https://example.com/sitemap.xml", options)
def fill(count):
    for number in range(count):
        writer.add(Entry(f"https://example.com/new/{number}"))
"""


def test_ours_a_full_disk_leaves_the_old_set(tmp_path: Path) -> None:
    publish(tmp_path, "old", 2, max_urls=1)
    before = content(tmp_path)
    result = run(
        SCRIPT
        + """
resource.setrlimit(resource.RLIMIT_FSIZE, (500_000, 500_000))
try:
    fill(50_000)
    writer.finish()
except DestinationError as error:
    print(error)
""",
        tmp_path,
    )
    assert f"the sitemap in {tmp_path} cannot be written" in result.stdout, result.stderr
    assert content(tmp_path) == before
    assert stages(tmp_path) == []


def test_ours_a_kill_while_writing_leaves_the_old_set_and_the_stage_is_swept(tmp_path: Path) -> None:
    publish(tmp_path, "old", 2, max_urls=1)
    before = content(tmp_path)
    result = run(SCRIPT + "fill(50_000)\nos.kill(os.getpid(), signal.SIGKILL)", tmp_path)
    assert result.returncode == -signal.SIGKILL
    assert content(tmp_path) == before
    assert len(stages(tmp_path)) == 1
    Directory(tmp_path).check()
    assert content(tmp_path) == before
    assert stages(tmp_path) == []


def test_ours_the_stage_of_a_living_process_is_left_alone(tmp_path: Path) -> None:
    with SitemapWriter(Directory(tmp_path), LOCATION) as writer:
        writer.add(Entry("https://example.com/new/0"))
        result = run("import sys; from sitemap import Directory; Directory(sys.argv[1]).check()", tmp_path)
        assert result.returncode == 0, result.stderr
        assert len(stages(tmp_path)) == 1
        writer.finish()
    assert set(content(tmp_path)) == {"sitemap.xml"}


def test_ours_a_planted_stage_cannot_reach_other_folders(tmp_path: Path) -> None:
    folder = tmp_path / "public"
    stage = folder / (STAGE_PREFIX + "evil")
    (stage / "new").mkdir(parents=True)
    (tmp_path / "victim").write_text("mine")
    (stage / "victim").write_text("theirs")
    (stage / "order").write_text(".*\n../victim")
    Directory(folder).check()
    assert (tmp_path / "victim").read_text() == "mine"
    assert stages(folder) == []


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "/etc/x", "a\0b", STAGE_PREFIX + "x"])
def test_ours_a_file_name_stays_in_its_directory(tmp_path: Path, name: str) -> None:
    stage = Directory(tmp_path).stage()
    with pytest.raises(DestinationError):
        stage.create(name)
    stage.discard()


def test_ours_writers_that_start_at_once_leave_each_other_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    others: list[threading.Thread] = []

    class Lock(StageLock):
        """Lets another writer start when a stage is made, and not locked yet."""

        def __init__(self, path: Path, *, wait: bool = True) -> None:
            if path.name.startswith(STAGE_PREFIX) and wait and not others:
                others.append(threading.Thread(target=Directory(tmp_path).check))
                others[0].start()
                others[0].join(0.2)  # it must wait; where it does not, it has time to sweep
            super().__init__(path, wait=wait)

    monkeypatch.setattr(destination, "StageLock", Lock)
    publish(tmp_path, "one", 3)
    others[0].join()
    assert set(content(tmp_path)) == {"sitemap.xml"}
    assert stages(tmp_path) == []


def facts(folder: Path) -> dict[str, tuple[int, int]]:
    """Which files there are: a file that is only read keeps its number and its time."""
    found = {path.name: path.stat() for path in folder.iterdir()}
    return {name: (stat.st_ino, stat.st_mtime_ns) for name, stat in found.items()}


def test_ours_what_does_not_change_is_not_touched(tmp_path: Path) -> None:
    publish(tmp_path, "a", 5, max_urls=2, stylesheet="css")
    before = facts(tmp_path)
    publish(tmp_path, "a", 5, max_urls=2, stylesheet="css")
    assert facts(tmp_path) == before
    publish(tmp_path, "a", 6, max_urls=2, stylesheet="css")
    after = facts(tmp_path)
    assert {name for name in before if before[name] != after[name]} == {"sitemap-3.xml", "sitemap.xml"}


def test_ours_old_files_stay_for_their_grace_and_are_not_swept_when_they_are_listed_again(tmp_path: Path) -> None:
    def publish_slowly(tag: str, count: int) -> None:
        with SitemapWriter(Directory(tmp_path, settle=0), LOCATION, WriterOptions(max_urls=1)) as writer:
            writer.extend(Entry(f"https://example.com/{tag}/{number}") for number in range(count))
            writer.finish()

    publish_slowly("a", 4)
    publish_slowly("b", 2)
    waiting = set(json.loads((tmp_path / ".siteatlas-waiting").read_bytes()))
    interim = {name for name in waiting if name.count(".") == 2}
    assert waiting == {"sitemap-3.xml", "sitemap-4.xml", *interim}
    assert {name.partition(".")[0] for name in interim} == {"sitemap-1", "sitemap-2"}
    listed = {"sitemap.xml", "sitemap-1.xml", "sitemap-2.xml"}
    assert set(content(tmp_path)) == {".siteatlas-waiting", *listed, *waiting}

    for count in (3, 2, 3):  # the same file leaves, and comes back as it was
        publish_slowly("b", count)
    (tmp_path / "sitemap-4.xml").write_text("somebody else's")
    Directory(tmp_path, grace=0).check()
    assert set(content(tmp_path)) == {*listed, "sitemap-3.xml", "sitemap-4.xml"}


def test_ours_a_clock_that_is_set_back_does_not_end_the_grace(tmp_path: Path) -> None:
    publish(tmp_path, "a", 1)
    (tmp_path / "old.xml").write_text("old")
    mtime = (tmp_path / "old.xml").stat().st_mtime_ns
    note = {"old.xml": {"since": time.time() + 10_000, "mtime": mtime}, "../x": {"since": 0, "mtime": mtime}}
    (tmp_path / ".siteatlas-waiting").write_text(json.dumps(note))
    Directory(tmp_path, grace=5_000).check()
    assert json.loads((tmp_path / ".siteatlas-waiting").read_bytes())["old.xml"]["since"] <= time.time()
    (tmp_path / ".siteatlas-waiting").write_text("no note")
    Directory(tmp_path, grace=0).check()
    assert (tmp_path / "old.xml").exists()  # what is not known to be ours stays


def test_ours_new_files_have_the_mode_that_is_asked_for(tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        with SitemapWriter(Directory(tmp_path, mode=0o664, settle=0), LOCATION) as writer:
            writer.add(Entry("https://example.com/"))
            writer.finish()
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "sitemap.xml").stat().st_mode) == 0o664
    for wrong in ({"mode": 0o044}, {"mode": 0o4755}, {"settle": -1}, {"grace": float("nan")}):
        with pytest.raises(SitemapError):
            Directory(tmp_path, **wrong)  # type: ignore[arg-type]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
def test_ours_owners_are_kept(tmp_path: Path) -> None:
    publish(tmp_path, "a", 2, max_urls=1)
    for path in tmp_path.iterdir():
        os.chown(path, 1234, 4321)
        path.chmod(0o440)
    with SitemapWriter(Directory(tmp_path, settle=0), LOCATION, WriterOptions(max_urls=1)) as writer:
        writer.extend(Entry(f"https://example.com/b/{number}") for number in range(3))
        writer.finish()
    found = {path.name: path.stat() for path in tmp_path.glob("sitemap*")}
    owners = {name: (each.st_uid, each.st_gid, stat.S_IMODE(each.st_mode)) for name, each in found.items()}
    assert owners.pop("sitemap-3.xml") == (0, 0, 0o644)
    assert len(owners) == 5  # interim files are read by the same people
    assert set(owners.values()) == {(1234, 4321, 0o440)}


def test_ours_a_link_in_the_place_of_a_file_gives_way_to_a_file(tmp_path: Path) -> None:
    folder, elsewhere = tmp_path / "public", tmp_path / "elsewhere"
    publish(folder, "a", 3, max_urls=1)
    for number, target in ((1, elsewhere / "missing.xml"), (2, elsewhere / "sitemap.xml")):
        (folder / f"sitemap-{number}.xml").unlink()
        (folder / f"sitemap-{number}.xml").symlink_to(target)
    elsewhere.mkdir()
    (elsewhere / "sitemap.xml").write_text("theirs")
    publish(folder, "b", 3, max_urls=1)
    assert not any(path.is_symlink() for path in folder.iterdir())
    assert content(elsewhere) == {"sitemap.xml": b"theirs"}


def test_ours_a_directory_that_is_a_link_to_another_disk_is_published_to(tmp_path: Path) -> None:
    shared = Path("/dev/shm")
    if not os.access(shared, os.W_OK) or shared.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("there is no other disk")
    with tempfile.TemporaryDirectory(dir=shared) as disk:
        (tmp_path / "public").symlink_to(disk)
        publish(tmp_path / "public", "a", 3, max_urls=2)
        publish(tmp_path / "public", "b", 3, max_urls=2)
        assert set(content(Path(disk))) == {"sitemap.xml", "sitemap-1.xml", "sitemap-2.xml"}


def test_ours_who_publishes_during_another_publish_comes_after_it(tmp_path: Path) -> None:
    publish(tmp_path, "old", 6, max_urls=2)
    before = (tmp_path / "sitemap.xml").stat().st_ino

    def slowly() -> None:
        with SitemapWriter(Directory(tmp_path, settle=0.5), LOCATION, WriterOptions(max_urls=2)) as writer:
            writer.extend(Entry(f"https://example.com/slow/{number}") for number in range(6))
            writer.finish()

    slow = threading.Thread(target=slowly)
    slow.start()
    while (tmp_path / "sitemap.xml").stat().st_ino == before:  # until it has switched
        time.sleep(0.01)
    publish(tmp_path, "quick", 6, max_urls=2)
    slow.join()
    assert set(content(tmp_path)) == {"sitemap.xml", *(f"sitemap-{number}.xml" for number in (1, 2, 3))}
    for number in (1, 2, 3):
        assert b"/quick/" in (tmp_path / f"sitemap-{number}.xml").read_bytes()


def test_ours_a_journal_that_others_have_overtaken_is_not_followed(tmp_path: Path) -> None:
    """As it may be where a user cannot see the stages of another."""
    publish(tmp_path, "old", 3, max_urls=1)
    stage = Directory(tmp_path, settle=0).stage()
    with stage.create("sitemap.xml") as file:
        file.write(b"left")
    (stage._path / "order").write_text(
        '{"names":["sitemap.xml"],"first":"sitemap.xml","fresh":[],"interim":{},"beside":[],"leaving":[],"led":true,'
        '"leads":["as it was","as it will be"]}'
    )
    stage.discard()
    before = content(tmp_path)
    Directory(tmp_path, settle=0).check()
    assert content(tmp_path) == before
    assert stages(tmp_path) == []
