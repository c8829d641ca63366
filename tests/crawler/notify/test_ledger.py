"""The ledger: what it keeps, how it is looked at, and which files it refuses."""

import sqlite3
import stat
from contextlib import closing
from pathlib import Path

import pytest
from msgspec.structs import replace

from crawler.errors import StorageError, UsageError
from crawler.notify.ledger import LEDGER_DB, DeliveryCursor, HealthNotice, Ledger, SentMessage, audit_channel_key
from crawler.notify.ledger_status import NotifyStatus, notify_status
from crawler.notify.notice import Occasion, SendStatus

SENT = SentMessage(
    at=1.0, channel="x", occasion=Occasion.CHANGES, host="h", urls=2, reception=SendStatus.ACCEPTED, said="took"
)


def test_ours_the_file_is_for_its_owner_and_every_commit_durable(tmp_path: Path) -> None:
    with closing(LEDGER_DB.open(tmp_path / LEDGER_DB.file)) as db:
        assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert db.execute("PRAGMA synchronous").fetchone() == (2,)  # FULL
    assert stat.S_IMODE((tmp_path / LEDGER_DB.file).stat().st_mode) == 0o600


def test_ours_without_a_ledger_nothing_was_told_and_none_is_made(tmp_path: Path) -> None:
    assert notify_status(tmp_path) == NotifyStatus()
    with Ledger.opened(tmp_path, 10, dry=True) as ledger:
        ledger.start("x", 1)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("open_", ["connect", "look", "dry"])
def test_ours_the_files_of_others_are_refused_in_one_line(tmp_path: Path, open_: str) -> None:
    def opened() -> None:
        if open_ == "look":
            notify_status(tmp_path)
            return
        with Ledger.opened(tmp_path, 10, dry=open_ == "dry"):
            pass

    def refused() -> str:
        with pytest.raises((StorageError, UsageError)) as error:
            opened()
        return str(error.value)

    (tmp_path / LEDGER_DB.file).write_bytes(b"no database" * 100)
    assert "cannot be used" in refused()
    (tmp_path / LEDGER_DB.file).unlink()
    with closing(sqlite3.connect(tmp_path / LEDGER_DB.file)) as db:
        db.execute("CREATE TABLE t (x)")
    assert "of another program" in refused()
    (tmp_path / LEDGER_DB.file).unlink()
    with closing(LEDGER_DB.open(tmp_path / LEDGER_DB.file)) as db:
        db.execute("PRAGMA user_version = 99")
    assert "newer version" in refused()


def test_ours_a_ledger_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / LEDGER_DB.file).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StorageError), Ledger.opened(tmp_path, 10):
        pass
    assert not (tmp_path / "elsewhere").exists()


def test_ours_who_looks_sees_it_while_it_is_written(tmp_path: Path) -> None:
    with Ledger.opened(tmp_path, 10) as ledger:
        ledger.set_channels(["x"])
        line = ledger.begin_delivery(ledger.start("x", 3), 5)
        line = ledger.batch_sent(line, "https://h/b", SENT)
        looked = notify_status(tmp_path)
        assert looked.channels[0].until == 3
        assert looked.log == (SENT,)
        assert looked.is_notify_pending
        ledger.delivered(line, 5)
        looked = notify_status(tmp_path)
        assert (looked.channels[0].until, looked.is_notify_pending) == (5, False)


def test_ours_a_line_is_as_it_was_kept(tmp_path: Path) -> None:
    with Ledger.opened(tmp_path, 10) as ledger:
        line = ledger.defer(ledger.begin_delivery(ledger.start("x", 3), 5), "busy", 9.0, SENT)
    with Ledger.opened(tmp_path, 10) as ledger:
        assert ledger.cursors("x") == [line]
        assert line == DeliveryCursor(id=line.id, channel="x", told=3, until=5, tries=1, due=9.0, said="busy")
        mood = HealthNotice(channel="x", knows=True, pending=Occasion.RECOVERY, run=4, told="well", at=2.0)
        ledger.store_health_notice(mood)
        assert ledger.health_notice("x") == mood
        ledger.store_health_notice(replace(mood, pending=None))
        assert ledger.health_notice("x").pending is None


def test_ours_what_is_refused_next_to_each_other_is_one_range(tmp_path: Path) -> None:
    with Ledger.opened(tmp_path, 10) as ledger:
        line = ledger.begin_delivery(ledger.start("x", 3), 5)
        for upto in ("https://h/b", "https://h/d"):
            line = ledger.refuse(line, upto, SENT)
        line = ledger.batch_sent(line, "https://h/f", SENT)
        ledger.refuse(line, "https://h/h", SENT)
        first, second = ledger.refused("x")
        assert (first.position, first.upto, first.urls) == ("", "https://h/d", 4)
        assert (second.position, second.upto, second.urls) == ("https://h/f", "https://h/h", 2)
        ledger.refused_sent(first, "https://h/b", SENT)
        assert ledger.refused("x")[0].urls == 2
        ledger.drop_refused(first)
        assert ledger.refused("x") == [second]
        ledger.refuse(ledger.begin_delivery(ledger.start(audit_channel_key("x"), 0), 1), None, SENT)
        ledger.forget(6)
        assert not ledger.refused("x")
        assert ledger.refused(audit_channel_key("x"))  # of an audit, not of a run


def test_ours_messages_are_counted_also_those_that_the_log_has_dropped(tmp_path: Path) -> None:
    with Ledger.opened(tmp_path, 3) as ledger:
        for number in range(9):
            result = SendStatus.REFUSED if number % 3 == 0 else SendStatus.ACCEPTED
            ledger.log_message(replace(SENT, reception=result))
        assert len(ledger.log(99)) == 3
    assert notify_status(tmp_path).totals == {"accepted": 6, "refused": 3}


def test_ours_a_host_that_has_caught_up_goes_on_with_the_others(tmp_path: Path) -> None:
    with Ledger.opened(tmp_path, 10) as ledger:
        line = ledger.start("x", 1)
        ledger.split(line, "h", "no key", begun=False)
        ledger.delivered(line, 2)
        behind = ledger.cursors("x")[1]
        assert (behind.host, behind.told, behind.until) == ("h", 1, None)
        ledger.delivered(behind, 2)
        assert [each.host for each in ledger.cursors("x")] == [""]


def test_ours_who_is_not_configured_any_more_is_not_shown_and_not_forgotten(tmp_path: Path) -> None:
    with Ledger.opened(tmp_path, 10) as ledger:
        ledger.set_channels(["x", "y"])
        ledger.defer(ledger.start("x", 1), "busy")
        ledger.set_channels(["y"])
        assert not notify_status(tmp_path).is_notify_pending
        ledger.set_channels(["y", "x"])
        assert notify_status(tmp_path).is_notify_pending


def test_ours_a_full_disk_is_one_line(tmp_path: Path) -> None:
    with closing(LEDGER_DB.open(tmp_path / LEDGER_DB.file)) as db:
        ledger = Ledger(db)
        ledger.start("x", 1)
        db.execute(f"PRAGMA max_page_count = {db.execute('PRAGMA page_count').fetchone()[0]}")
        with pytest.raises(StorageError, match="full"):
            ledger.log_message(replace(SENT, said="x" * 1_000_000))
        assert ledger.cursors("x")[0].told == 1


def test_ours_what_a_channel_knows_of_trouble_is_taken_over_whatever_the_order_of_the_columns(tmp_path: Path) -> None:
    health = HealthNotice(channel="email", knows=True, run=3, told="no space", at=5.0)
    for name in ("makeshift", "own"):
        (tmp_path / name).mkdir()
    with Ledger.opened(tmp_path / "makeshift", 5) as other:
        other.store_health_notice(health)
    with closing(sqlite3.connect(tmp_path / "makeshift" / LEDGER_DB.file)) as db, db:
        names = ", ".join(reversed(HealthNotice.__struct_fields__))
        db.executescript(f"ALTER TABLE mood RENAME TO old; CREATE TABLE mood AS SELECT {names} FROM old")
    with Ledger.opened(tmp_path / "own", 5) as ledger:
        ledger.take_health(tmp_path / "makeshift")
        assert ledger.health_notice("email") == health
