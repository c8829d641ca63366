"""The records of runs: which one is worked on, what is kept of it, what is told of the past."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import asdict, replace

from crawler.errors import StorageError, UsageError
from crawler.state.database import transaction
from crawler.state.runs import Continued, PublishedFile, Run, RunStore, RunTotals, continued_texts, read_continued
from crawler.state.schema import STATE_DB
from crawler.state.store import Store, forget_pages, write_about


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state.db"


@pytest.fixture
def db(path: Path) -> Iterator[sqlite3.Connection]:
    opened = STATE_DB.open(path)
    yield opened
    opened.close()


def test_ours_a_record_has_the_columns_of_the_table_and_their_defaults(db: sqlite3.Connection) -> None:
    columns = db.execute("PRAGMA table_info(run)").fetchall()
    assert {name for _, name, *_ in columns} == {
        "because" if name == "reason" else name for name in Run.__struct_fields__
    }
    db.execute("INSERT INTO run (number, started, version) VALUES (1, 5.0, 'x')")
    assert RunStore(db).get(1) == Run(number=1, started=5.0, version="x")


def test_ours_a_run_that_is_not_closed_is_gone_on_with_and_keeps_its_start(db: sqlite3.Connection) -> None:
    runs = RunStore(db)
    first = runs.begin(100.0, "1.0")
    assert (first.number, first.started, first.is_open) == (1, 100.0, True)
    runs.write(replace(first, fetched=7, exit_code=4, reason="interrupted"))
    again = runs.begin(200.0, "1.1")
    assert (again.number, again.started, again.fetched, again.version) == (1, 100.0, 7, "1.0")
    runs.write(replace(again, ended=250.0))
    second = runs.begin(300.0, "1.1")
    assert (second.number, second.started, second.fetched) == (2, 300.0, 0)
    assert [run.number for run in runs.last(5)] == [2, 1]
    assert [run.number for run in runs.last(1)] == [2]


def test_ours_totals_keep_what_the_deleted_records_say(db: sqlite3.Connection) -> None:
    runs = RunStore(db)
    results = ("published", "unchanged", "refused", "published", "published", "nothing")
    for number, outcome in enumerate(results, 1):
        code = 3 if number == 4 else 0  # the gate held some pages
        runs.write(
            Run(
                number=number, started=1.0, version="", ended=2.0, outcome=outcome, exit_code=code, fetched=10,
                bytes=100, seconds=0.5,
            )
        )  # fmt: skip
    runs.write(Run(number=7, started=1.0, version="", fetched=99))  # it has not ended
    whole = {
        "published": RunTotals(2, 20, 200, 1.0),
        "unchanged": RunTotals(1, 10, 100, 0.5),
        "refused": RunTotals(1, 10, 100, 0.5),
        "held": RunTotals(1, 10, 100, 0.5),
        "nothing": RunTotals(1, 10, 100, 0.5),
    }
    assert runs.totals() == whole
    for old in (2, 2, 6):
        runs.forget(old, 5)
        assert runs.totals() == whole
    assert [run.number for run in runs.last(9)] == [7, 5]
    forget_pages(db)
    assert runs.totals() == whole


def test_ours_everything_written_is_read_back_also_while_the_writer_is_at_work(
    path: Path, db: sqlite3.Connection
) -> None:
    kept = Run(
        **{
            **asdict(Run(number=3, started=1.5, version="1")),
            **dict.fromkeys(("fetched", "unchanged", "bytes", "listed", "kept", "added", "changed"), 2),
            "ended": 9.25,
            "notes": ["Grüße 'x'"],
            "files": [PublishedFile("sitemap.xml", "https://a.example/sitemap.xml", 3, 900)],
        }
    )
    db.execute("BEGIN IMMEDIATE")
    RunStore(db).write(kept)
    reader = STATE_DB.open_read_only(path)
    assert RunStore(reader).last(1) == []  # nothing is seen before the transaction of which it is a part
    db.execute("COMMIT")
    assert RunStore(reader).get(3) == kept
    with pytest.raises(StorageError, match="cannot be written"):
        RunStore(reader).write(kept)
    reader.close()


def test_ours_a_run_that_never_was_is_told_with_the_last_one(db: sqlite3.Connection) -> None:
    with pytest.raises(UsageError, match="No run has started yet"):
        RunStore(db).get(1)
    RunStore(db).begin(1.0, "1")
    with pytest.raises(UsageError, match=r"this site has no run 7\. The last run is run 1"):
        RunStore(db).get(7)


def test_ours_a_continued_run_is_read_and_continued_by_a_program_that_knows_no_tries() -> None:
    run = Run(number=2, started=5.0, version="1", ended=None, exit_code=4, reason="cut")
    about = continued_texts(Continued().and_now(run, 7.0))
    assert about["continued"] == "[2,1,7.0]"
    assert read_continued(about.get) == Continued(2, 1, 7.0, [(5.0, 4, "cut")])
    about["continued"] = "[2,2,9.0]"
    assert read_continued(about.get) == Continued(2, 2, 9.0)
    assert read_continued({}.get) == Continued()


def test_ours_an_error_of_the_state_names_its_directory(tmp_path: Path) -> None:
    def fill() -> None:
        with Store(tmp_path, {}) as store:
            store.db.execute("PRAGMA max_page_count = 1")
            with transaction(store.db):
                write_about(store.db, "much", "x" * 500_000)

    with pytest.raises(StorageError, match=f"the state in {tmp_path} cannot be written .* full"):
        fill()
