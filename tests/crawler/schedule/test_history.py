"""The history of a schedule: on the disk before a run begins, for one daemon, and for all who look."""

import os
import signal
import sqlite3
import stat
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from msgspec.structs import replace

from crawler.errors import StateInUse, StorageError, UsageError
from crawler.schedule.history import HISTORY_DB, History, HistoryReader
from crawler.schedule.site_state import Attempt, PlannedAttempt, Trigger
from crawler.state.runs import RunStatus


def begun(history: History, site: str = "shop", slot: float = 100.0, trigger: Trigger = Trigger.DUE) -> Attempt:
    return history.begin(PlannedAttempt(site, slot, trigger, 1), slot + 0.25)


def test_ours_what_was_begun_and_ended_is_there_for_the_next_daemon(tmp_path: Path) -> None:
    with History(tmp_path / "new" / "place") as history:
        history.store_handled("shop", 50.0)
        first = begun(history)
        ended = replace(
            first,
            ended=200.5,
            status=RunStatus.FAILED,
            exit_code=-9,
            run=7,
            outcome="nothing",
            message="é",
            notify_pending=True,
        )
        history.end(ended)
        second = begun(history, slot=300.0, trigger=Trigger.RETRY)
        other = begun(history, "blog")
    with History(tmp_path / "new" / "place") as history:
        assert history.attempts("shop", 9) == [second, ended]
        assert history.attempts("blog", 9) == [other]
        assert (history.handled("shop"), history.handled("blog"), history.handled("?")) == (300.0, 100.0, None)
        assert [first.number, second.number, other.number] == [1, 2, 3]


def test_ours_telling_handles_no_slot(tmp_path: Path) -> None:
    with History(tmp_path) as history:
        begun(history, slot=300.0)
        begun(history, slot=100.0, trigger=Trigger.NOTIFY)
        assert history.handled("shop") == 300.0


def test_ours_the_standing_of_a_site_follows_from_its_attempts_since_it_was_done(tmp_path: Path) -> None:
    with History(tmp_path) as history:
        assert history.since_done("shop") == []
        fates = [RunStatus.FAILED, RunStatus.DONE, RunStatus.FAILED, RunStatus.BUSY, None]
        for number, fate in enumerate(fates):
            attempt = begun(history, slot=float(number))
            if fate:
                history.end(replace(attempt, ended=1.0, status=fate))
        assert [each.status for each in history.since_done("shop")] == [
            RunStatus.DONE,
            RunStatus.FAILED,
            RunStatus.BUSY,
            None,
        ]
        tell = begun(history, trigger=Trigger.NOTIFY)
        history.end(replace(tell, ended=1.0, status=RunStatus.DONE))
        assert len(history.since_done("shop")) == 5


def test_ours_so_many_attempts_of_each_site_are_kept(tmp_path: Path) -> None:
    with History(tmp_path, keep=3) as history:
        begun(history, "blog")
        for number in range(10):
            begun(history, slot=float(number))
        assert [each.number for each in history.attempts("shop", 99)] == [11, 10, 9]
        assert len(history.attempts("blog", 99)) == 1
        history.keep = 1
        begun(history)
        assert [each.number for each in history.attempts("shop", 99)] == [12]


def test_ours_there_is_one_daemon_and_others_may_look(tmp_path: Path) -> None:
    with HistoryReader(tmp_path) as look:
        assert look.daemon() == ""
        assert look.attempts("shop", 9) == []
        assert look.handled("shop") is None
    with History(tmp_path) as history:
        attempt = begun(history)
        with pytest.raises(StateInUse, match=f"process {os.getpid()}.*daemon.directory"), History(tmp_path):
            pass
        with HistoryReader(tmp_path) as look:
            assert look.daemon() == str(os.getpid())
            assert look.attempts("shop", 9) == [attempt]
            later = begun(history, slot=200.0)
            assert look.attempts("shop", 9) == [later, attempt]
            with pytest.raises(sqlite3.OperationalError):
                look._db.execute("DELETE FROM attempt")  # type: ignore[union-attr]
    with HistoryReader(tmp_path) as look:
        assert look.daemon() == ""
        assert len(look.attempts("shop", 9)) == 2


def test_ours_nobody_else_can_read_it(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        with History(tmp_path / "d") as history:
            begun(history)
            modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "d").iterdir()}
    finally:
        os.umask(before)
    assert set(modes.values()) == {0o600}
    assert HISTORY_DB.file in modes
    assert stat.S_IMODE((tmp_path / "d").stat().st_mode) == 0o700


_KILLED = """
import os, signal, sys
from pathlib import Path
from crawler.schedule.site_state import PlannedAttempt, Trigger
from crawler.schedule.history import History
with History(Path(sys.argv[1])) as history:
    history.begin(PlannedAttempt("shop", 100.0, Trigger.DUE, 1), 101.0)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_ours_what_was_begun_survives_kill_9(tmp_path: Path) -> None:
    killed = subprocess.run([sys.executable, "-c", _KILLED, str(tmp_path)], check=False)
    assert killed.returncode == -signal.SIGKILL
    with HistoryReader(tmp_path) as look:
        assert look.daemon() == ""
    with History(tmp_path) as history:
        (attempt,) = history.attempts("shop", 9)
        assert (attempt.slot, attempt.ended, history.handled("shop")) == (100.0, None, 100.0)


def test_ours_every_commit_is_durable(tmp_path: Path) -> None:
    with History(tmp_path) as history:
        db = history._db
        assert db is not None
        assert db.execute("PRAGMA synchronous").fetchone() == (2,)
        assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_ours_a_full_disk_changes_nothing_and_is_told(tmp_path: Path) -> None:
    with History(tmp_path) as history:
        attempt = begun(history)
        assert history._db is not None
        history._db.execute("PRAGMA max_page_count = 1")
        slots = [500.0 + number for number in range(1_000)]
        with pytest.raises(StorageError, match="full"):
            [begun(history, slot=slot) for slot in slots]
        known = history.attempts("shop", 9)
        assert history.handled("shop") == known[0].slot
        history._db.execute("PRAGMA max_page_count = 100000")
        assert begun(history, slot=9_000.0).number == known[0].number + 1
        assert attempt.number == 1


@pytest.mark.parametrize("opened", [History, HistoryReader])
def test_ours_a_file_that_is_not_ours_is_refused(opened: type[HistoryReader], tmp_path: Path) -> None:
    (tmp_path / HISTORY_DB.file).write_bytes(b"not a database at all" * 100)
    with pytest.raises(StorageError, match="cannot be used as the history"), opened(tmp_path):
        pass
    (tmp_path / HISTORY_DB.file).unlink()
    with closing(sqlite3.connect(tmp_path / HISTORY_DB.file)) as db:
        db.execute("CREATE TABLE theirs (x)")
    with pytest.raises(StorageError, match="another program"), opened(tmp_path):
        pass
    (tmp_path / HISTORY_DB.file).unlink()
    with History(tmp_path):
        pass
    with closing(sqlite3.connect(tmp_path / HISTORY_DB.file)) as db:
        db.execute("PRAGMA user_version = 99")
    with pytest.raises(UsageError, match="newer version"), opened(tmp_path):
        pass
    with closing(sqlite3.connect(tmp_path / HISTORY_DB.file)) as db:
        db.execute("PRAGMA user_version = 1")
    with opened(tmp_path):  # the refusals have let go of the lock
        pass


def test_ours_a_directory_that_cannot_be_had_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="the state cannot be written"), History(tmp_path / "file" / "d"):
        pass
