"""The files of the change feeds: exact bytes, whole or not there, made good when one is missing."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from site_history import History, Seen

from crawler.errors import StorageError
from crawler.model import DiscoveredBy, State
from crawler.publish.change_feed import feed_file, write_feeds
from crawler.state.schema import STATE_DB

HOME = Seen(found=DiscoveredBy.SEED, source=None)


@pytest.fixture
def history(tmp_path: Path) -> Iterator[History]:
    db = STATE_DB.open(tmp_path / "state.db")
    yield History(db)
    db.close()


def test_ours_a_feed_file_has_a_line_of_json_for_each_change(history: History, tmp_path: Path) -> None:
    history.run({"/": HOME, "/a": Seen(lastmod="2025-01-01")})
    history.run({"/": HOME, "/a": Seen(State.REDIRECT, "301 to /ü", "/ü"), "/ü": Seen(lastmod="2026-01-01")})
    history.run({"/": HOME, "/ü": Seen(lastmod="2026-01-01")}, "unchanged")
    history.run({"/": HOME}, "refused")
    write_feeds(history.changes, tmp_path)
    assert names(tmp_path) == ["000001.jsonl", "000002.jsonl", "000003.jsonl"]
    assert feed_file(tmp_path, 2).read_text("utf-8") == (
        '{"url":"https://example.com/a","kind":"moved","target":"https://example.com/ü","lastmod":"",'
        '"before":"2025-01-01","reason":"301 to /ü","run":2,"at":"2026-01-02T00:00:00+00:00"}\n'
        '{"url":"https://example.com/ü","kind":"added","target":"","lastmod":"2026-01-01","before":"",'
        '"reason":"found by a link, first on https://example.com/","run":2,"at":"2026-01-02T00:00:00+00:00"}\n'
    )
    assert feed_file(tmp_path, 3).read_bytes() == b""


def test_ours_a_missing_file_is_written_again_and_a_forgotten_one_goes(history: History, tmp_path: Path) -> None:
    for number in range(3):
        history.run({"/": HOME, f"/{number}": Seen()}, keep=2)
        write_feeds(history.changes, tmp_path)
    before = feed_file(tmp_path, 2).read_bytes()
    feed_file(tmp_path, 2).unlink()
    (tmp_path / "changes" / "000003.draft").write_bytes(b"half a li")
    (tmp_path / "changes" / "notes.txt").write_bytes(b"somebody's")
    kept = feed_file(tmp_path, 3).stat()
    write_feeds(history.changes, tmp_path)
    assert names(tmp_path) == ["000002.jsonl", "000003.jsonl", "notes.txt"]
    assert feed_file(tmp_path, 2).read_bytes() == before
    assert feed_file(tmp_path, 3).stat() == kept


def names(state: Path) -> list[str]:
    return sorted(path.name for path in (state / "changes").iterdir())


_WRITE = """
import os, sys
from pathlib import Path
from crawler.publish.change_feed import ChangeFeed, write_feeds
from crawler.state.schema import STATE_DB
state = Path(sys.argv[1])
os.fsync = lambda descriptor: os.kill(os.getpid(), 9)
write_feeds(ChangeFeed(STATE_DB.open(state / "state.db")), state)
"""


def test_ours_a_kill_before_the_file_is_durable_leaves_none(history: History, tmp_path: Path) -> None:
    history.run({"/": HOME, "/a": Seen()})
    run = subprocess.run([sys.executable, "-c", _WRITE, str(tmp_path)], check=False)
    assert run.returncode == -9
    assert not feed_file(tmp_path, 1).exists()
    write_feeds(history.changes, tmp_path)
    assert feed_file(tmp_path, 1).read_bytes().count(b"\n") == 2
    assert names(tmp_path) == ["000001.jsonl"]


def test_ours_a_folder_that_cannot_be_written_is_named(history: History, tmp_path: Path) -> None:
    history.run({"/": HOME})
    (tmp_path / "changes").write_bytes(b"in the way")
    with pytest.raises(StorageError, match=r"change feed cannot be written to .*changes"):
        write_feeds(history.changes, tmp_path)
