"""What runs changed of each page, by run: drawn sites over drawn nights, against the tables as each night left them."""

import random
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from forked import Forked
from run import NIGHTLY
from scripted import Answer, Route, Site, scripted

from crawler.dataset.build import open_dataset
from crawler.dataset.compare import FIELDS
from crawler.dataset.edits import read_edit
from crawler.dataset.history import MAX_LINKS, MAX_VALUE, pages_at, reached_runs
from crawler.dataset.query import ask, named
from crawler.parse.snapshot.details import count_words, read_headline

WORDS = (*NIGHTLY, "--render", "never", "--set=fetch.not_found_checks=0", "--set=fetch.second_reads=0")
PATHS = [f"/{section}/{n}" for section in ("docs", "shop") for n in range(8)]
Pages = dict[str, dict[str, Any]]


def drawn(path: str, dice: random.Random) -> Route:
    """One version of a page."""
    if dice.random() < 0.2:
        return dice.choice([Answer("<h1>No", 404), Answer("", 500), Answer("", 301, {"Location": dice.choice(PATHS)})])
    head = f"<title>{path} {dice.randrange(3)}</title>" if dice.random() < 0.9 else ""
    if dice.random() < 0.5:
        head += f'<meta name="description" content="{dice.choice(["About", "Of", ""])}">'
    if dice.random() < 0.2:
        head += f'<meta name="robots" content="{dice.choice(["noindex", "nofollow", "all"])}">'
    if dice.random() < 0.2:
        head += f'<link rel="canonical" href="{dice.choice([path, *PATHS])}">'
    links = "".join(
        f"<a href={target}{dice.choice(['', '', '', ' rel=nofollow'])}>to {target}</a>"
        for target in dice.choices([*PATHS, "https://other.example/"], k=dice.randrange(5))
    )
    body = f"<p>{'word ' * dice.randrange(1, 40)}</p>" + "<img src=/a.png>" * dice.randrange(2)
    heading = f"<h1>{path} {dice.choice(['', 'more'])}</h1>" * dice.randrange(3)
    return f'<html lang="{dice.choice(["en", "de"])}"><head>{head}</head><body>{heading}{body}{links}</body></html>'


def home(paths: list[str]) -> str:
    return f"<title>Home</title><body>{''.join(f'<a href={path}>{path}</a>' for path in paths)}</body>"


def pages_of(dataset: sqlite3.Connection) -> Pages:
    rows = dataset.execute(f"SELECT url, {', '.join(FIELDS)} FROM pages").fetchall()
    return {url: counted(dict(zip(FIELDS, values, strict=True))) for url, *values in rows}


def pages_then(dataset: sqlite3.Connection, run: int) -> Pages:
    return {url: counted({name: page[name] for name in FIELDS}) for url, page in pages_at(dataset, run, FIELDS)}


def counted(page: dict[str, Any]) -> dict[str, Any]:
    """A URL that no run meets any more counts as one of another site, though the page that links to it is the same."""
    return page | {"outlinks": (page["outlinks"] or 0) + (page.pop("external_outlinks") or 0)}


class Nights:
    """A site that is crawled night by night, and what the tables had after each run."""

    def __init__(self, process: Forked, folder: Path, site: Site) -> None:
        self._process, self.folder, self.site = process, folder, site
        self.day = 0
        self.seen: dict[int, Pages] = {}

    def run(self, *words: str, command: str = "crawl", status: set[int] = frozenset({0, 3})) -> None:
        options = WORDS if command == "crawl" else WORDS[:-2]
        ended = self._process.run(self.folder, self.day, command, self.site.url, *options, *words)
        assert ended.status in status, ended.said
        self.day += 1

    def dataset(self) -> sqlite3.Connection:
        (state,) = (self.folder / "state").iterdir()
        return open_dataset(state, is_audited=False)

    def remember(self) -> None:
        with closing(self.dataset()) as dataset:
            (run,) = dataset.execute("SELECT max(run) FROM runs").fetchone()
            self.seen[run] = pages_of(dataset)

    def rows(self) -> list[tuple[Any, ...]]:
        with closing(self.dataset()) as dataset:
            rows = dataset.execute("SELECT run, url, field, before, after FROM history ORDER BY 1, 2, 3, 4, 5")
            return [(run, "/" + url.removeprefix(self.site.url), *rest) for run, url, *rest in rows]

    def check(self) -> None:
        """Each run that the tables reach is shown as it was then."""
        with closing(self.dataset()) as dataset:
            reached = reached_runs(dataset)
            assert reached == sorted(self.seen)
            for run in reached:
                then = pages_then(dataset, run)
                assert then.keys() == self.seen[run].keys(), run
                for url, page in then.items():
                    assert page == self.seen[run][url], (run, url)


@pytest.mark.parametrize("seed", [3, *(pytest.param(n, marks=pytest.mark.thorough) for n in range(3))])
def test_ours_each_run_of_a_drawn_history_is_shown_as_it_was(seed: int, process: Forked, tmp_path: Path) -> None:
    """Pages come, go, move, fail and change; the gate refuses, and holds; some runs ask for a part, or are dry."""
    dice = random.Random(seed)
    with scripted({}) as site:
        nights = Nights(process, tmp_path, site)
        site.routes = {path: drawn(path, dice) for path in PATHS}
        for night in range(6):
            linked = dice.sample(PATHS, dice.randrange(6, 16))
            site.routes |= {path: drawn(path, dice) for path in dice.sample(PATHS, dice.choice([0, 2, 15]))}
            site.routes["/"] = home(linked)
            kind = dice.choice([[], [], ["--accept-shrink"], ["--dry-run"], ["--set=fetch.recheck_within=5"]])
            nights.run(*(kind if night else []))
            nights.remember()
        nights.check()


@pytest.fixture
def nights(process: Forked, tmp_path: Path) -> Iterator[Nights]:
    with scripted({"/": home(["/a", "/b"]), "/a": "<title>A</title>a", "/b": "<title>B</title>b"}) as site:
        yield Nights(process, tmp_path, site)


def test_ours_a_run_without_changes_writes_none_and_long_ones_are_cut(nights: Nights) -> None:
    nights.run()
    nights.run()
    assert nights.rows() == []
    many = "".join(f"<a href=/many/{n} rel=nofollow>x</a>" for n in range(MAX_LINKS + 7))
    nights.site.routes["/a"] = f"<title>{'long ' * 200}</title>a{many}"
    nights.run()
    rows = [row for row in nights.rows() if row[1] == "/a"]
    ((before, after),) = [row[3:] for row in rows if row[2] == "title"]
    assert (before, len(after), after[-1]) == ("A", MAX_VALUE + 1, "…")
    assert len([row for row in rows if row[2] == "nofollow link"]) == MAX_LINKS
    assert [row[3:] for row in rows if row[2] == "link"] == [(None, "and 7 more")]


@pytest.mark.parametrize(("keep", "reached"), [(0, []), (1, [3])])
def test_ours_the_history_is_as_long_as_it_is_wanted(keep: int, reached: list[int], nights: Nights) -> None:
    for title in "ABCD"[: keep + 2]:
        nights.site.routes["/a"] = f"<title>{title}</title>"
        nights.run(f"--set=state.keep_history={keep}")
    with closing(nights.dataset()) as dataset:
        assert reached_runs(dataset) == reached
    assert {row[0] for row in nights.rows()} == {*reached}


def test_ours_a_state_of_an_earlier_release_gets_a_history_and_no_date_moves(nights: Nights) -> None:
    nights.run()
    listed = (nights.folder / "out" / "sitemap.xml").read_bytes()
    (file,) = nights.folder.glob("state/*/state.db")
    with closing(sqlite3.connect(file)) as db:
        for table in ("seen", "history", "history_run"):
            db.execute(f"DROP TABLE {table}")
    with closing(nights.dataset()) as dataset:
        assert reached_runs(dataset) == []
    nights.run()
    assert nights.rows() == []
    assert (nights.folder / "out" / "sitemap.xml").read_bytes() == listed
    nights.site.routes["/a"] = "<title>Z</title>a"
    nights.run()
    assert nights.rows() == [(3, "/a", "title", "A", "Z")]
    with closing(nights.dataset()) as dataset:
        answer = ask(dataset, named("changed-fields").sql, limit=0, seconds=20)
    assert answer.rows == [(f"{nights.site.url}a", "title", "A", "Z")]


def test_ours_an_audit_that_crawls_by_itself_writes_no_history_and_lends_no_heading(nights: Nights) -> None:
    """Both states number their pages and contents from 1."""
    nights.site.routes = {"/": home(["/a"]), "/a": "<h1>A</h1>"}
    nights.run()
    nights.site.routes = {"/": home(["/b"]), "/b": "<h1>B</h1>"}
    words = ("audit", nights.site.url, *WORDS[:-2], "-o", "report", "--fresh")
    nights._process.run(nights.folder, 1, *words)
    (state,) = (nights.folder / "state").iterdir()
    assert (state / "audit" / "state.db").exists()
    with closing(open_dataset(state)) as dataset:
        shown = dataset.execute("SELECT h1 FROM pages WHERE url LIKE '%/b'").fetchall()
        assert (shown, dataset.execute("SELECT * FROM history").fetchall()) == ([("B",)], [])
        assert dataset.execute("SELECT run, history FROM runs").fetchall() == [(1, 1)]
    with closing(nights.dataset()) as dataset:
        assert dataset.execute("SELECT h1 FROM pages WHERE url LIKE '%/a'").fetchall() == [("A",)]


def test_ours_a_run_that_comes_to_nothing_leaves_the_pages_of_the_run_before(nights: Nights) -> None:
    nights.run()
    nights.site.routes["/robots.txt"] = Answer("", 503)
    nights.run(status={5})
    with closing(nights.dataset()) as dataset:
        assert dataset.execute("SELECT count(*) FROM pages WHERE title != ''").fetchall() == [(3,)]
        assert reached_runs(dataset) == [1]


def test_ours_words_and_headlines_are_read_where_markup_differs() -> None:
    dice = random.Random(1)
    parts = ["<p>", "</p>", "one", " two ", "<b", ">", "<", "&lt;", "<head><title>x y</title></head>", "<body>", "a=1"]
    parts += ["<h1>", "</h1>", "<H1 a>", "<meta name=robots content=", "<h10>"]
    for _ in range(5_000):
        old = dice.choices(parts, k=dice.randrange(15))
        new = old[:]
        for _ in range(dice.randrange(3)):
            at = dice.randrange(len(new) + 1)
            new[at : at + dice.randrange(2)] = dice.choices(parts, k=dice.randrange(3))
        texts = "".join(old), "".join(new)
        before, after = map(count_words, texts)
        edit = read_edit(*texts)
        assert edit.after - edit.before == after - before, texts
        assert edit.has_headline or read_headline(texts[0]) == read_headline(texts[1]), texts


@pytest.mark.thorough
def test_ours_a_run_that_asks_for_a_part_changes_no_other_page(nights: Nights) -> None:
    """Each run is shown as its tables showed it, and what nobody asked for has no row."""
    words = "--set=fetch.recheck_within=14"
    paths = [f"/part/{n}" for n in range(120)]
    nights.site.routes = {path: f"<title>{path}</title><p>Text of {path}." for path in paths} | {"/": home(paths)}
    completeness = []
    for night in range(5):
        if night >= 2:
            edited = random.Random(night).sample(paths, 20)
            nights.site.routes |= {path: f"<title>{path} {night}</title><p>Text of {path}." for path in edited}
            nights.site.routes[paths[night]] = Answer("", 404)
        nights.run(words)
        nights.remember()
        with closing(nights.dataset()) as dataset:
            (last,) = dataset.execute("SELECT completeness FROM runs ORDER BY run DESC LIMIT 1").fetchone()
            completeness.append(last)
    assert "carried" in completeness
    nights.check()
    titles = [(run, before) for run, _, field, before, _ in nights.rows() if field == "title" and run > 2]
    assert 0 < len(titles) <= 60


def test_ours_a_past_depth_follows_from_the_links_of_then(nights: Nights) -> None:
    paths = [f"/{n}" for n in range(8)]
    nights.site.routes = {"/": home(paths), **{path: f"<title>{path}</title>{path}" for path in paths}}
    nights.run()
    nights.site.routes = {"/": home(paths[:1]), "/hop": Answer("", 301, {"Location": "/4"})}
    following = zip(paths, ["/1", "/2", "/3", "/hop", *paths[5:], "/0"], strict=True)
    nights.site.routes |= {path: f"<title>{path}</title>{path}<a href={to}>on</a>" for path, to in following}
    nights.run("--accept-shrink")
    with closing(nights.dataset()) as dataset:
        first, second = (dict(pages_at(dataset, run, FIELDS)) for run in (1, 2))
    assert [first[nights.site.url + path[1:]]["depth"] for path in paths] == [1] * 8
    assert [second[nights.site.url + path[1:]]["depth"] for path in paths] == [*range(1, 9)]


def test_ours_no_past_depth_is_known_where_links_were_only_counted(nights: Nights) -> None:
    many = [f"/of/{n}" for n in range(MAX_LINKS + 5)]
    nights.site.routes |= {path: f"<title>{path}</title>{path}" for path in many}
    nights.run()
    nights.site.routes["/a"] = f"<title>A</title>a {home(many)}"
    nights.run()
    with closing(nights.dataset()) as dataset:
        first, second = (dict(pages_at(dataset, run, FIELDS)) for run in (1, 2))
    assert {page["depth"] for page in first.values()} == {None}
    assert second[nights.site.url + "of/9"]["depth"] == 2


def test_ours_links_to_other_sites_are_no_clicks(nights: Nights) -> None:
    nights.run()
    for title in ("another", "a third"):
        nights.site.routes["/a"] = f"<title>{title}</title>a <a href=https://other.example/>out</a><a href=/b>b</a>"
        nights.run()
    with closing(nights.dataset()) as dataset:
        shown = [{page["depth"] for page in dict(pages_at(dataset, run, FIELDS)).values()} for run in (1, 2, 3)]
    assert shown == [{0, 1}] * 3
