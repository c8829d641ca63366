"""Killed at any moment, a regeneration leaves one whole sitemap, and the next run ends as if nothing had happened.

pytest -m slow tests/test_regeneration.py
"""

import random
import re
import shutil
import sqlite3
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest
from forked import Ended, Forked, forked
from run import NIGHTLY
from scripted import Answer, Route, Site, links, scripted

pytestmark = pytest.mark.thorough

SET = ("--group", "section", "--set=output.max_urls=4", "--set=output.recent=atom")
# From which function on a run is in which part of it, and how many of 200 moments fall into that part.
PARTS = {
    "": 15,
    "engine.py:CrawlEngine.run": 45,
    "observe.py:observe": 25,
    "listing.py:Listing.rebuild": 25,
    "write.py:write_sitemap": 45,
    "finish.py:RunFinisher._record": 30,
    "change_feed.py:write_feeds": 15,
}
View = list[tuple[str, bytes]]
Tables = dict[str, list[tuple[object, ...]]]


def page(path: str, said: str, *to: str) -> Answer:
    prose = "".join(f"<p>Paragraph {n} of {path}, which says a few things.</p>" for n in range(4))
    anchors = "".join(f'<a href="{href}">{href}</a>' for href in to)
    headers = {"ETag": f'"{hash((path, said, to))}"', "Last-Modified": "Tue, 03 Mar 2020 04:05:06 GMT"}
    return Answer(f"<title>{path}</title>{prose}<p>{said}</p>{anchors}", headers=headers)


def first() -> dict[str, Route]:
    """A site of four sections with some pages each, which link to their neighbours."""
    routes: dict[str, Route] = {"/": links("/a/0", "/b/0", "/c/0", "/d/0")}
    for section, count in zip("abcd", (9, 5, 8, 3), strict=True):
        for n in range(count):
            path = f"/{section}/{n}"
            routes[path] = page(path, "As it was.", *(f"/{section}/{m}" for m in (n + 1, n + 2) if m < count))
    return routes


def edited() -> dict[str, Route]:
    """The same site after a day's work: pages are new, rewritten, gone, moved, hidden, and out of order."""
    routes = first()
    routes["/"] = links("/a/0", "/b/0", "/c/0", "/d/0", "/e/0", "/e/1")
    routes["/a/3"] = page("/a/3", "Rewritten today.", "/a/4", "/a/5", "/a/new")
    routes["/c/5"] = page("/c/5", "Rewritten, too.", "/c/6", "/c/7")
    routes |= {path: page(path, "Brand new.") for path in ("/a/new", "/e/0", "/e/1", "/c/moved")}
    routes["/b/2"] = Answer("", 410)
    routes["/c/2"] = Answer("", 301, {"Location": "/c/moved"})
    routes["/d/2"] = Answer("<p>hidden", headers={"X-Robots-Tag": "noindex"})
    routes["/c/7"] = Answer("", 503)
    return routes


def view(folder: Path) -> View:
    """What a reader is served: each listed file by its name, in the order of the index. Fails if one is missing."""
    lead = folder / "out" / "sitemap.xml"
    if not lead.exists():
        return []
    names = re.findall(r"<sitemap>\s*<loc>[^<]*/([^/<]+)</loc>", lead.read_text())
    files = [(name, (folder / "out" / name).read_bytes()) for name in names or [lead.name]]
    assert all(body.rstrip().endswith(b"</urlset>") for _, body in files)
    pages = Counter(loc for _, body in files for loc in re.findall(rb"<url>\s*<loc>([^<]+)", body))
    assert set(pages.values()) == {1}
    return files


def bodies(seen: View) -> list[bytes]:
    return [body for _, body in seen]


def remembered(folder: Path) -> Tables:
    """What the state says when a run is over, but for the moments of requests."""
    (file,) = (folder / "state").glob("*/state.db")
    with closing(sqlite3.connect(file)) as db:
        questions = {
            "memory": "SELECT u.url, state, reason, target, etag, lastmod, lastmod_source, evidence, first_run,"
            " changed_run, full_run, last_run, failures FROM memory JOIN url u USING (id) ORDER BY 1",
            "published": "SELECT u.url, lastmod, lastmod_source, grp, shard, file, kept FROM published JOIN url u"
            " USING (id) ORDER BY 1",
            "run": "SELECT number, outcome, completeness, listed, kept, added, changed, removed, moved, deindexed,"
            " exit_code, files FROM run ORDER BY 1",
            "change": "SELECT url, kind, target, lastmod, before FROM change ORDER BY run, url",
            "content": "SELECT count(*) FROM content",
        }
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        return {name: db.execute(question).fetchall() for name, question in questions.items()}


def feeds(folder: Path) -> dict[str, str]:
    return {path.name: told(path) for path in (folder / "state").glob("*/changes/*")}


def told(file: Path) -> str:
    """What a file says, but for which of several pages was the first to be answered and to lead to another."""
    return re.sub(r", first on [^ <\"]+", "", file.read_text())


@dataclass
class Case:
    """A run that can be done over and over: where it begins, and how it ends when nothing disturbs it."""

    site: Site
    forked: Forked
    work: Path
    base: Path
    routes: dict[str, Route]
    day: int
    end: Path

    @property
    def words(self) -> tuple[str, ...]:
        return ("crawl", self.site.url, *NIGHTLY, *SET)

    def again(self) -> Path:
        """A folder in which the run can be done."""
        folder = self.work / "again"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self.base, folder)
        self.site.routes = self.routes
        return folder

    def run(self, folder: Path, **how: object) -> Ended:
        return self.forked.run(folder, self.day, *self.words, **how)  # type: ignore[arg-type]

    def must_be_whole(self, folder: Path) -> bool:
        """Whether what is out there is the new generation; fails if it is neither that nor the old one."""
        seen = bodies(view(folder))
        old, new = bodies(view(self.base)), bodies(view(self.end))
        assert seen in (old, new)
        return seen == new

    def must_end_as_undisturbed(self, folder: Path) -> None:
        """The same command ends a run that was cut off; of one that was over, it makes good what is left to do."""
        was_over = is_over(folder, self.day + 1)
        if was_over:
            must_be_equal(remembered(folder), remembered(self.end))
        ended = self.run(folder)
        assert ended.status == 0, ended.said
        assert view(folder) == view(self.end)
        for name in ("sitemap.xml", "sitemap-recent.atom"):
            assert told(folder / "out" / name) == told(self.end / "out" / name)
        if was_over:
            assert "nothing added, changed or removed" in ended.said
            assert {**feeds(folder), **feeds(self.end)} == feeds(folder)
        else:
            must_be_equal(remembered(folder), remembered(self.end))
            assert feeds(folder) == feeds(self.end)


def is_over(folder: Path, run: int) -> bool:
    """Whether a run is recorded as ended."""
    for file in (folder / "state").glob("*/state.db"):
        with closing(sqlite3.connect(file)) as db:
            if db.execute("SELECT name FROM sqlite_master").fetchone():
                return db.execute("SELECT 1 FROM run WHERE number = ? AND ended", (run,)).fetchone() is not None
    return False


def must_be_equal(state: Tables, other: Tables) -> None:
    differ = {name: set(rows) ^ set(other[name]) for name, rows in state.items() if rows != other[name]}
    assert not differ, differ


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Case]]:
    """The first run of a site, and a regeneration of it after a day's work."""
    shared = Path("/dev/shm")  # where making things durable costs no time
    with (
        tempfile.TemporaryDirectory(dir=shared if shared.is_dir() else None) as folder,
        scripted(first()) as site,
        forked(tmp_path_factory.mktemp("said")) as ready,
    ):
        work = Path(folder)
        nothing, old, new = work / "nothing", work / "old", work / "new"
        nothing.mkdir()
        begun = Case(site, ready, work, nothing, first(), 0, old)
        later = Case(site, ready, work, old, edited(), 1, new)
        for case in (begun, later):
            done = case.again()
            ended = case.run(done)
            assert ended.status == 0, ended.said
            done.rename(case.end)
        assert len(view(old)) == 9
        assert b"2026-01-02" in b"".join(bodies(view(new)))
        yield [begun, later]


def moments(case: Case, count: int, seed: int) -> list[int]:
    """So many random calls of functions of a run, spread over all of its parts."""
    folder = case.again()
    counted = case.run(folder, marks=tuple(filter(None, PARTS)))
    assert counted.status == 0, counted.said
    begins = [counted.marks[part] if part else 1 for part in PARTS]
    assert begins == sorted(begins)
    ends = [*begins[1:], counted.calls]
    chosen = random.Random(seed)
    parts = chosen.choices(list(zip(begins, ends, strict=True)), list(PARTS.values()), k=count - len(PARTS))
    return [chosen.randrange(*part) for part in (*zip(begins, ends, strict=True), *parts)]


def kill_at_random_moments(case: Case, count: int, seed: int) -> None:
    """Kill it, look at what is out there, now and then kill what goes on with it too, and let it end."""
    kills, switched = 0, 0
    chosen = random.Random(seed)
    for moment in moments(case, count, seed):
        folder = case.again()
        killed = case.run(folder, kill_at=moment)
        kills += killed.was_killed
        switched += case.must_be_whole(folder)
        while chosen.random() < 0.3 and not is_over(folder, case.day + 1):
            kills += case.run(folder, kill_at=chosen.randrange(1, moment + 1)).was_killed
            case.must_be_whole(folder)
        case.must_end_as_undisturbed(folder)
    assert kills >= count * 0.8  # a run may make fewer calls than the one that was counted, and end before the last
    assert 0 < switched < count
    print(f"{kills} kills at {count} moments, {switched} of them after the switch: always one whole generation")


def test_ours_killed_in_any_part_of_a_run_it_leaves_one_generation_and_ends_the_same(cases: list[Case]) -> None:
    kill_at_random_moments(cases[1], len(PARTS), 11)


@pytest.mark.slow
@pytest.mark.timeout(3000)
@pytest.mark.parametrize("number", [0, 1])
def test_ours_killed_at_100_random_moments_it_leaves_one_generation_and_ends_the_same(
    cases: list[Case], number: int
) -> None:
    kill_at_random_moments(cases[number], 100, number)


def calls_of(log: list[str]) -> list[tuple[str, int]]:
    """The system calls that change something, each with its count among those of its name."""
    counts: Counter[str] = Counter()
    found = []
    for line in log:
        if match := re.match(r"(\w+)\(", line):
            counts[match[1]] += 1
            if match[1] != "openat" or "O_CREAT" in line:
                found.append((match[1], counts[match[1]]))
    return found


def kill_at_system_calls(case: Case, choose: Callable[[list[tuple[str, int]]], list[tuple[str, int]]]) -> None:
    folder = case.again()
    ended, log = case.forked.traced(folder, case.day, *case.words)
    assert ended.status == 0, ended.said
    points = calls_of(log)
    assert len(points) > 100
    states = Counter[bool]()
    chosen = choose(points)
    for name, count in chosen:
        folder = case.again()
        ended, _ = case.forked.traced(folder, case.day, *case.words, inject=f"{name}:signal=KILL:when={count}")
        assert ended.was_killed, (name, count, ended)
        states[case.must_be_whole(folder)] += 1
        case.must_end_as_undisturbed(folder)
    assert states[False]
    assert states[True]
    print(f"killed at {len(chosen)} of {len(points)} system calls: {states[False]} old, {states[True]} new")


@pytest.mark.needs_strace
def test_ours_killed_at_system_calls_of_its_end_a_run_leaves_one_generation(cases: list[Case]) -> None:
    kill_at_system_calls(cases[1], lambda points: points[3 :: len(points) // 4])


@pytest.mark.slow
@pytest.mark.needs_strace
@pytest.mark.timeout(3000)
@pytest.mark.parametrize("number", [0, 1])
def test_ours_killed_at_every_system_call_of_its_end_a_run_leaves_one_generation(
    cases: list[Case], number: int
) -> None:
    kill_at_system_calls(cases[number], lambda points: points)
