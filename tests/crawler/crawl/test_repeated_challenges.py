"""Pages in doubt that say the same at several URLs become challenges, and others stay what they are."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from crawler.crawl.repeated_challenges import keep_doubtful, mark_repeated, read_doubtful
from crawler.model import State
from crawler.state.schema import STATE_DB


@pytest.mark.parametrize(("texts", "marked"), [("aaa", 3), ("aab", 0), ("aaab", 3), ("", 0)])
def test_ours_three_urls_that_say_the_same_are_challenged(tmp_path: Path, texts: str, marked: int) -> None:
    with closing(STATE_DB.open(tmp_path / STATE_DB.file)) as db:
        for number in range(len(texts)):
            _put(db, number)
        mark_repeated(db, dict(enumerate(texts)))
        (count,) = db.execute("SELECT count(*) FROM visit WHERE state = ?", (State.CHALLENGED,)).fetchone()
        assert count == marked


def test_ours_the_process_that_resumes_a_run_knows_the_pages_in_doubt(tmp_path: Path) -> None:
    with closing(STATE_DB.open(tmp_path / STATE_DB.file)) as db:
        assert read_doubtful(db, 1) == {}
        keep_doubtful(db, 1, {3: "checking", 5: "checking"})
        assert read_doubtful(db, 1) == {3: "checking", 5: "checking"}
        assert read_doubtful(db, 2) == {}


def _put(db: sqlite3.Connection, number: int) -> None:
    db.execute("INSERT INTO url VALUES (?, ?)", (number, f"https://example.com/{number}"))
    row = (number, "https://example.com", 0, State.INDEXABLE, 1, 1, "")
    db.execute("INSERT INTO visit (id, origin, kind, state, found, depth, reason) VALUES (?, ?, ?, ?, ?, ?, ?)", row)
