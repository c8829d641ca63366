"""What the state holds after many runs, who may look at it meanwhile, and what is dropped, forgotten or gone on with.

pytest -m slow tests/test_state_over_runs.py
"""

import re
import signal
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from forked import Ended, Forked
from run import FAST, NIGHTLY, command, environment
from scripted import Answer, Route, Site, links, scripted

TABLES = ("url", "visit", "content", "memory", "published", "run")


def pages(count: int, delay: float = 0.0) -> dict[str, Route]:
    own = [f"/p{n}" for n in range(count)]
    return {"/": links(*own)} | {path: Answer(f"<p>This is {path}.", delay=delay) for path in own}


@pytest.fixture
def site() -> Iterator[Site]:
    with scripted(pages(20)) as ready:
        yield ready


class Days:
    """A site that is crawled day by day."""

    def __init__(self, process: Forked, folder: Path, site: Site) -> None:
        self.folder = folder
        self.site = site
        self.day = 0
        self._process = process

    def run(self, *words: str) -> Ended:
        ended = self._process.run(self.folder, self.day, "crawl", self.site.url, *NIGHTLY, *words)
        self.day += 1
        return ended

    def rows(self, question: str) -> list[tuple[object, ...]]:
        (file,) = (self.folder / "state").glob("*/state.db")
        with closing(sqlite3.connect(file)) as db:
            return db.execute(question).fetchall()

    def counts(self) -> dict[str, object]:
        return {name: self.rows(f"SELECT count(*) FROM {name}")[0][0] for name in TABLES}

    def sitemap(self) -> str:
        return (self.folder / "out" / "sitemap.xml").read_text()


@pytest.fixture
def days(process: Forked, tmp_path: Path, site: Site) -> Days:
    return Days(process, tmp_path, site)


def forget(days: Days, count: int) -> None:
    """So many pages come and go; what remains is what was there before, and no id is given twice."""
    assert days.run().status == 0
    before = days.counts()
    home = days.site.routes["/"]
    for generation in range(2):
        new = [f"/gone{generation}-{n}" for n in range(count)]
        days.site.routes |= {"/": links("/p0", *new), **{path: f"<p>{path}" for path in new}}
        assert days.run("--set=output.max_shrink=1").status == 0
        (highest,) = days.rows("SELECT max(id) FROM url")[0]
        days.site.routes |= {"/": home, **{path: Answer("", 410) for path in new}}
        for _ in range(12):
            ended = days.run("--set=output.max_shrink=1")
            assert ended.status == 0, ended.said
        after = days.counts()
        assert {**after, "run": 0, "url": 0} == {**before, "run": 0, "url": 0}
        assert int(str(after["url"])) <= int(str(before["url"])) + 1  # the last stays, so that ids go on
        days.site.routes["/"] = links(*(f"/p{n}" for n in range(20)), f"/new{generation}")
        days.site.routes[f"/new{generation}"] = "<p>new"
        assert days.run().status == 0
        ((number,),) = days.rows(f"SELECT id FROM url WHERE url LIKE '%/new{generation}'")
        assert int(str(number)) > int(str(highest))
        days.site.routes[f"/new{generation}"] = Answer("", 410)


@pytest.mark.slow
@pytest.mark.timeout(3000)
def test_ours_twenty_thousand_pages_that_vanish_leave_nothing_behind(days: Days) -> None:
    forget(days, 20_000)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_ours_pages_that_vanish_leave_nothing_behind(days: Days) -> None:
    forget(days, 30)


@pytest.mark.slow
def test_ours_runs_that_publish_nothing_leave_nothing_behind(days: Days) -> None:
    """Every night everything is new, and every night something keeps it from being published."""
    assert days.run().status == 0
    sizes = []
    for night in range(3):
        days.site.routes = {"/": Answer("", 500)} if night else days.site.routes
        extra = [f"/night{night}-{n}" for n in range(30)]
        days.site.routes |= {"/p0": links(*extra), **{path: f"<p>{path}" for path in extra}}
        days.site.routes |= {f"/p{n}": f"<p>Page {n} in night {night}" for n in range(1, 20)}
        ended = days.run("--dry-run") if not night else days.run()
        assert ended.status in {0, 3}, ended.said
        sizes.append(days.counts()["content"])
    assert sizes[1] == sizes[2]
    days.site.routes = pages(20)
    before = days.rows("SELECT url, lastmod FROM published JOIN url USING (id) ORDER BY 1")
    assert "nothing added, changed or removed" in days.run().said
    assert days.rows("SELECT url, lastmod FROM published JOIN url USING (id) ORDER BY 1") == before
    left = {"url": 23, "visit": 22, "content": 21, "memory": 22, "published": 21}
    assert {**days.counts(), "run": 0} == {**left, "run": 0}


def test_ours_fresh_forgets_the_pages_and_restart_only_what_was_not_ended(days: Days) -> None:
    assert days.run().status == 0
    days.site.routes["/p1"] = "<p>Quite another text."
    assert days.run("--max-pages", "5").status == 4
    other = days.run("--exclude", "/p9")
    assert other.status == 2
    assert "(scope.exclude)" in other.said
    assert "--restart" in other.said
    asked = len(days.site.log)
    restarted = days.run("--restart", "--exclude", "/p9")
    assert restarted.status == 0, restarted.said
    assert len(days.site.log) - asked >= 20
    assert "1 changed, 1 removed" in restarted.said  # what the first run learnt is there
    assert "<lastmod>2026-01-04</lastmod>" in days.sitemap()
    assert [outcome for (outcome,) in days.rows("SELECT outcome FROM run ORDER BY number")] == ["published"] * 2
    ended = days.run("--restart")
    assert "1 added" in ended.said
    (state,) = (days.folder / "state").iterdir()
    with closing(sqlite3.connect(state / "state.db")) as reader:  # somebody looks at it all the while
        reader.execute("BEGIN")
        assert reader.execute("SELECT count(*) FROM run").fetchone() == (3,)
        fresh = days.run("--fresh")
        assert reader.execute("SELECT count(*) FROM run").fetchone() == (3,)
    assert fresh.status == 0, fresh.said
    assert "<lastmod>" not in days.sitemap()
    assert days.rows("SELECT count(*) FROM memory WHERE first_run < 4") == [(0,)]
    assert days.rows("SELECT number FROM run WHERE outcome = 'published' ORDER BY number")[-1] == (4,)


def test_ours_a_dry_run_tells_what_would_change_and_touches_nothing(days: Days) -> None:
    assert days.run().status == 0
    out = {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in (days.folder / "out").iterdir()}
    kept = "SELECT * FROM memory", "SELECT * FROM published", "SELECT * FROM change", "SELECT * FROM habit"
    before = [days.rows(question) for question in kept]
    days.site.routes |= {
        "/": links(*(f"/p{n}" for n in range(20)), "/new"),
        "/new": "<p>new",
        "/p1": "<p>Quite another text.",
        "/p2": Answer("", 410),
    }
    for _ in range(2):
        ended = days.run("--dry-run")
        assert ended.status == 0, ended.said
        assert "1 added, 2 changed, 1 removed" in ended.said
        assert {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in (days.folder / "out").iterdir()} == out
        assert [days.rows(question) for question in kept] == before
    assert "1 added, 2 changed, 1 removed" in days.run().said


def started(folder: Path, *words: str) -> subprocess.Popen[bytes]:
    out = subprocess.DEVNULL
    return subprocess.Popen(command(*words), cwd=folder, env=environment(), stdout=out, stderr=out)


def test_ours_a_second_process_is_turned_away_and_who_only_looks_is_not(tmp_path: Path, process: Forked) -> None:
    def ask(*words: str) -> Ended:
        return process.run(tmp_path, 0, *words)

    with scripted(pages(20)) as site:
        (tmp_path / "site.toml").write_text(
            f'[site]\nurl = "{site.url}"\n[output]\ndirectory = "out"\nswap_delay = 0\n[state]\ndirectory = "state"\n'
        )
        words = ("run", "--config", "site.toml", *FAST)
        assert ask(*words).status == 0
        site.routes |= pages(20, delay=5)
        asked = len(site.log)
        working = started(tmp_path, *words)
        while len(site.log) < asked + 4:
            time.sleep(0.01)
        try:
            for again in (words, ("crawl", site.url, *NIGHTLY)):
                second = ask(*again)
                assert second.status == 6
                assert re.search(rf"another process \({working.pid}\) is using the state in \S+\. Wait", second.said)
            looks = [
                ask("status", "--state", "state"),
                ask("why", f"{site.url}p3", "--state", "state"),
                ask("query", "SELECT 'pages: ' || count(*) FROM pages", "--state", "state"),
            ]
            assert [looked.status for looked in looks] == [0, 0, 0], looks
            assert str(working.pid) in looks[0].said
            assert "is listed" in looks[1].said
            assert "pages: 21" in looks[2].said
            assert working.poll() is None
        finally:
            working.send_signal(signal.SIGKILL)
            working.wait()
        site.routes |= pages(20)
        assert ask(*words).status == 0
