"""The state after power losses: a write-ahead log that ends anywhere, holds garbage, or is gone."""

import random
import shutil
import sqlite3
from pathlib import Path

import pytest
from run import crawl, listed, published
from scripted import Answer, Route, links, scripted

pytestmark = pytest.mark.thorough

PAGES = 40


def _site() -> dict[str, Route]:
    routes: dict[str, Route] = {"/": links("/p1", "/p2")}
    for n in range(1, PAGES):
        body = links(*(f"/p{m}" for m in (2 * n + 1, 2 * n + 2) if m < PAGES)) + f"<p>Page {'x' * n}"
        routes[f"/p{n}"] = Answer(body, headers={"Last-Modified": "Tue, 03 Mar 2020 04:05:06 GMT"})
    return routes


def _state(folder: Path) -> Path:
    (state,) = (folder / ".siteatlas").glob("*/state.db")
    return state


def _halfway(folder: Path, url: str) -> Path:
    """A folder with the state of a crawl that a limit ended, its write-ahead log not yet merged."""
    folder.mkdir()
    assert crawl(folder, url, "--max-pages", "25").code == 4
    state = _state(folder)
    db = sqlite3.connect(state)
    db.execute("PRAGMA wal_autocheckpoint = 0")
    for number in range(40):  # commits that stay in the log, because this process ends like one without power
        db.execute("UPDATE url SET id = id WHERE id = ?", (number,))
        db.commit()
    log = state.with_name("state.db-wal")
    kept = log.read_bytes()
    main = state.read_bytes()
    db.close()
    state.write_bytes(main)
    log.write_bytes(kept)
    return state


def test_sqlite_wal_a_log_that_ends_anywhere_is_a_state_of_some_commit(tmp_path: Path) -> None:
    chance = random.Random(7)
    with scripted(_site()) as site:
        state = _halfway(tmp_path / "kept", site.url)
        log = state.with_name("state.db-wal").read_bytes()
        assert len(log) > 10_000
        for number in range(200):
            cut = chance.randrange(len(log) + 1)
            copy = tmp_path / f"cut-{number}.db"
            shutil.copy(state, copy)
            copy.with_name(f"{copy.name}-wal").write_bytes(log[:cut] + chance.randbytes(chance.randrange(5000)))
            db = sqlite3.connect(copy)
            assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            db.close()


@pytest.mark.parametrize("loss", ["log cut", "log gone", "index gone"])
def test_ours_a_crawl_goes_on_after_a_power_loss(tmp_path: Path, loss: str) -> None:
    with scripted(_site()) as site:
        whole = tmp_path / "whole"
        whole.mkdir()
        assert crawl(whole, site.url).code == 0
        folder = tmp_path / "kept"
        state = _halfway(folder, site.url)
        log = state.with_name("state.db-wal")
        if loss == "log cut":
            log.write_bytes(log.read_bytes()[: -len(log.read_bytes()) // 3] + b"garbage" * 99)
        elif loss == "log gone":
            log.unlink()
        else:
            state.with_name("state.db-shm").unlink(missing_ok=True)
        ran = crawl(folder, site.url)
        assert ran.code == 0, ran.err
        assert len(listed(folder)) == PAGES
        assert published(folder) == published(whole)
