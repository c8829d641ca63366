"""A state of version 1 becomes one of this version: as a whole, with a copy kept, whatever kills it on the way.

pytest -m slow tests/crawler/state
"""

import json
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from forked import Forked
from run import FAST, listed
from scripted import Answer, Route, Site, links, scripted

from crawler.config.load import build_config
from crawler.config.plan import state_directory
from crawler.model import State, Url
from crawler.state.schema import STATE_DB, STATE_VERSION

# What version 1 wrote, as it wrote it.
TABLES = """
CREATE TABLE about (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE url (
  id INTEGER PRIMARY KEY,
  url TEXT NOT NULL UNIQUE,
  origin TEXT NOT NULL,
  kind INTEGER NOT NULL,
  state TEXT NOT NULL,
  found INTEGER NOT NULL,
  depth INTEGER NOT NULL,
  source INTEGER,
  reason TEXT NOT NULL DEFAULT '',
  attempts INTEGER NOT NULL DEFAULT 0,
  due REAL NOT NULL DEFAULT 0,
  status INTEGER,
  target TEXT,
  lastmod TEXT NOT NULL DEFAULT '',
  lastmod_source TEXT NOT NULL DEFAULT ''
);
CREATE INDEX pending ON url (origin, depth, id) WHERE state = 'pending';
CREATE TABLE page (id INTEGER PRIMARY KEY, links BLOB NOT NULL, media BLOB);
"""
SETTINGS: dict[str, object] = {
    **dict.fromkeys(("content.alternates", "content.images", "content.videos"), True),
    "content.lastmod": "observed",
    **dict.fromkeys(("obey.canonical", "obey.nofollow", "obey.noindex", "obey.robots"), True),
    "obey.max_crawl_delay": 60.0,
    **{key: [] for key in ("scope.exclude", "scope.hosts", "scope.include", "urls.keep_params")},
    "scope.max_depth": None,
    "scope.max_repeats": 3,
    "scope.max_segments": 32,
    "scope.sitemap_seeds": True,
    "scope.subdomains": False,
    "site.sitemap_url": "",
}
WORDS = (*FAST, "--swap-delay", "0", "--grace-period", "0", "--retries", "0", "--state", "state", "-o", "out")
DATE = "2019-05-05T05:05:05+00:00"  # as version 1 had it; no header says so
PAGES = 12


def routes() -> dict[str, Route]:
    own: dict[str, Route] = {
        f"/p{n}": Answer(f"<p>This is page {n}.", headers={"Last-Modified": "Tue, 03 Mar 2020 04:05:06 GMT"})
        for n in range(PAGES)
    }
    own["/p5"] = Answer("", 410)
    own["/p6"] = '<meta name=robots content=noindex><a href="/p7">'
    return {"/": links(*own), **own}


def version_1(folder: Path, url: str, *, finished: bool) -> Path:
    """Write the state, and what was published, as version 1 left it. Answers the database."""
    directory = state_directory(folder / "state", Url(f"{url}sitemap.xml"))
    directory.mkdir(parents=True)
    drop = list(build_config({"site": {"url": url}}).urls.drop_params)
    about = {"settings": json.dumps({**SETTINGS, "site.url": url, "urls.drop_params": drop})}
    about |= {"finished": "yes"} if finished else {}
    ends = {5: (State.CLIENT_ERROR, 410), 6: (State.NOINDEX, 200)}
    home = url.rstrip("/")
    with closing(sqlite3.connect(directory / "state.db", isolation_level=None)) as db:
        db.execute("PRAGMA journal_mode = WAL")
        db.executescript(
            f"BEGIN; {TABLES} PRAGMA application_id = {STATE_DB.application_id}; PRAGMA user_version = 1; COMMIT;"
        )
        db.executemany("INSERT INTO about VALUES (?, ?)", about.items())
        put = "INSERT INTO url VALUES (?, ?, ?, 0, ?, ?, ?, ?, ?, 1, 0.0, ?, NULL, ?, ?)"
        db.execute(put, (1, url, home, "indexable", 1, 0, None, "", 200, DATE, "Last-Modified"))
        for n in range(PAGES):
            state, status = ends.get(n, (State.INDEXABLE, 200))
            if not finished and n >= 8:
                state, status = State.PENDING, None
            date = (DATE, "Last-Modified") if state is State.INDEXABLE else ("", "")
            db.execute(put, (n + 2, f"{url}p{n}", home, state, 2, 1, 1, "", status, *date))
            db.execute("INSERT INTO page VALUES (?, x'0103', NULL)", (n + 2,))
    return directory / "state.db"


def version_of(file: Path) -> int:
    with closing(sqlite3.connect(file)) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        return int(db.execute("PRAGMA user_version").fetchone()[0])


@pytest.fixture
def site() -> Iterator[Site]:
    with scripted(routes()) as ready:
        yield ready


def test_ours_what_version_1_published_stays_with_its_dates(tmp_path: Path, site: Site, process: Forked) -> None:
    state = version_1(tmp_path, site.url, finished=True)
    site.routes["/p3"] = Answer("", 500)
    site.routes["/p4"] = Answer("", 410)
    assert process.run(tmp_path, 0, "status", "--state", "state").status == 0  # reads a migrated copy
    assert version_of(state) == 1
    ended = process.run(tmp_path, 0, "crawl", site.url, *WORDS)
    assert ended.status == 0, ended.said
    assert "1 removed; 1 kept although they failed" in ended.said
    assert version_of(state) == STATE_VERSION
    copy = state.with_name("state.db.v1")
    assert version_of(copy) == 1
    assert copy.stat().st_mode & 0o777 == 0o600
    text = (tmp_path / "out" / "sitemap.xml").read_text()
    assert f"{site.url}p3" in listed(tmp_path)
    assert text.count(f"<lastmod>{DATE}</lastmod>") == len(listed(tmp_path)) == PAGES + 1 - 3
    site.routes["/p7"] = "<p>Now we can compare."
    ended = process.run(tmp_path, 1, "crawl", site.url, *WORDS)
    assert ended.status == 0, ended.said
    assert "1 changed" in ended.said


def test_ours_a_crawl_that_version_1_did_not_end_goes_on(tmp_path: Path, site: Site, process: Forked) -> None:
    version_1(tmp_path, site.url, finished=False)
    ended = process.run(tmp_path, 0, "crawl", site.url, *WORDS)
    assert ended.status == 0, ended.said
    assert "continued an earlier run" in ended.said
    assert len(listed(tmp_path)) == PAGES + 1 - 2
    assert not {"/p5", "/p6"} & set(site.paths)  # how these ended is known
    other = version_1(tmp_path / "other", site.url, finished=False)
    ended = process.run(tmp_path / "other", 0, "crawl", site.url, *WORDS, "--exclude", "/p1")
    assert ended.status == 2
    assert "(scope.exclude)" in ended.said
    assert version_of(other) == STATE_VERSION


def test_ours_killed_while_it_migrates_the_state_is_of_the_one_version_or_the_other(
    tmp_path: Path, site: Site, process: Forked
) -> None:
    kill_while_it_migrates(tmp_path, site, process, finished=True, count=4)


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("finished", [True, False])
def test_ours_killed_at_any_call_of_the_migration_the_state_is_of_the_one_version_or_the_other(
    tmp_path: Path, site: Site, process: Forked, finished: bool
) -> None:
    kill_while_it_migrates(tmp_path, site, process, finished=finished, count=40)


def kill_while_it_migrates(tmp_path: Path, site: Site, process: Forked, *, finished: bool, count: int) -> None:
    base, folder = tmp_path / "base", tmp_path / "again"
    base.mkdir()
    state = version_1(base, site.url, finished=finished).relative_to(base)
    shutil.copytree(base, folder)
    begin, end = "database.py:Database._migrate", "runs.py:RunStore.begin"
    counted = process.run(folder, 0, "crawl", site.url, *WORDS, marks=(begin, end))
    assert counted.status == 0, counted.said
    whole = (folder / "out" / "sitemap.xml").read_bytes()
    versions = []
    moments = range(counted.marks[begin], counted.marks[end] + 1)
    assert len(moments) > 30
    for moment in [*moments[:: -(-len(moments) // count)], moments[-1]]:
        shutil.rmtree(folder)
        shutil.copytree(base, folder)
        killed = process.run(folder, 0, "crawl", site.url, *WORDS, kill_at=moment)
        assert killed.was_killed
        versions.append(version_of(folder / state))
        if len(versions) % 3 == 0:
            ended = process.run(folder, 0, "crawl", site.url, *WORDS)
            assert ended.status == 0, ended.said
            assert (folder / "out" / "sitemap.xml").read_bytes() == whole
    assert set(versions) == {1, STATE_VERSION}
    assert versions == sorted(versions)


@pytest.mark.parametrize("words", [("crawl", "{url}", *WORDS), ("status", "--state", "state")])
def test_ours_a_state_of_a_newer_version_is_refused_and_left_alone(
    tmp_path: Path, site: Site, process: Forked, words: tuple[str, ...]
) -> None:
    state = version_1(tmp_path, site.url, finished=True)
    with closing(sqlite3.connect(state)) as db:
        db.execute(f"PRAGMA user_version = {STATE_VERSION + 1}")
    before = state.read_bytes()
    ended = process.run(tmp_path, 0, *(word.replace("{url}", site.url) for word in words))
    assert ended.status == 2
    assert "newer version" in " ".join(ended.said.split())
    assert state.read_bytes() == before
    assert site.paths == []
    assert not (state.parent / "state.db.v1").exists()
