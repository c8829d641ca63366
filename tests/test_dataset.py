"""The tables of a crawl: right on a planted site, the same for readers that are not ours, and read only."""

import ast
import asyncio
import csv
import gc
import html
import json
import random
import re
import shutil
import socket
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import pytest
from forked import Forked
from run import AT_ONCE, FAST, siteatlas
from scripted import Answer, Site, links, scripted

from crawler.audit.graph.load import load_figures
from crawler.dataset.build import open_dataset
from crawler.dataset.pages import LINK_TYPES, Batch, PageReader, Rows
from crawler.dataset.query import ask, named, questions
from crawler.dataset.readers import PageReaders
from crawler.dataset.schema import DATASET, TABLES, VERSION
from crawler.dataset.write import DataFormat, _write_parquet, write_dataset
from crawler.errors import UsageError
from crawler.parse.snapshot.details import read_details

if TYPE_CHECKING:
    from playwright.sync_api import Browser

WORDS = (*AT_ONCE, "--render", "never", "--set=fetch.not_found_checks=0", "-o", "out")
LONG = "A title that has many more characters than a search engine would ever show of it"


def page(body: str, title: str = "", head: str = "", h1: str = "Heading") -> str:
    heading = f"<h1>{h1}</h1>" if h1 else ""
    return f'<html lang="en"><head><title>{title}</title>{head}</head><body>{heading}{body}</body></html>'


def described(text: str) -> str:
    return f'<meta name="description" content="{text}">'


DATED = {"Last-Modified": "Sun, 01 Mar 2020 03:04:05 GMT"}
MANY = " ".join("word" for _ in range(120))
NAV = '<nav><a href="/a">Alpha</a><a href="/gone">Old</a></nav>'
BODIES = {
    "/": page(
        f"{NAV}{MANY}<main><a href=/b>Alpha</a> <a href=/moved>was moved</a> <a href=/chain>chain</a>"
        "<a href=/loop>loop</a> <a href=/no rel=nofollow>ask</a> <a href=/hidden>hidden</a> <a href=/copy>copy</a>"
        '<a href="/a/?page=1">one</a>'
        "<a href=/A>upper</a> <a href=https://other.example/x>other</a> <a href=/gone>here</a></main>",
        "Start",
        described("The start"),
    ),
    "/a": page(
        f"{NAV}{MANY}<footer><a href=/b><img alt='A picture' src=b.png></a></footer>", "Twice", described("Same")
    ),
    "/b": page(f"{NAV}<a href=/deep/1></a>{MANY}", "Twice", described("Same"), h1=""),
    "/A": page(f"{NAV}{MANY} <a href=/a rel=nofollow>text</a> {MANY}<h1>Second</h1>", LONG, described("Other")),
    "/a/?page=1": page(NAV + MANY, "", described("One")),
    "/hidden": page(
        "<a href=/only>only here</a>",
        "Hidden",
        '<meta name="robots" content="noindex"><link rel="alternate" hreflang="fr" href="/a">',
    ),
    "/only": page(NAV, "Thin", described("Thin")),
    "/copy": page(NAV + MANY, "Copy", '<link rel="canonical" href="/gone2">' + described("Copy")),
    "/no": page(NAV + MANY, "No", described("No")),
    "/deep/1": page(f"<a href=/deep/2>2</a>{MANY}", "D1", described("D1")),
    "/deep/2": page(f"<a href=/deep/3>3</a>{MANY}", "D2", described("D2")),
    "/deep/3": page(f"<a href=/deep/4>4</a>{MANY}", "D3", described("D3")),
    "/deep/4": page(MANY, "D4", '<link rel="alternate" hreflang="de" href="/a">' + described("D4")),
    "/orphan": page(MANY, "Orphan", ""),
}


def planted(site: Site) -> None:
    """Fill a site. Its own sitemap has an orphan and a page that is hidden, and lacks most others."""
    site.routes = dict(BODIES)
    site.routes |= {
        "/a.pdf": Answer("%PDF-1.7", headers={"Content-Type": "application/pdf"}),
        "/deep/2": Answer(BODIES["/deep/2"], headers={"Last-Modified": "Wed, 05 Apr 2023 06:07:08 GMT"}),
        "/deep/3": Answer(BODIES["/deep/3"], headers=DATED),
        "/deep/4": Answer(BODIES["/deep/4"], delay=0.5),
        "/moved": Answer("", 301, {"Location": "/a"}),
        "/chain": Answer("", 302, {"Location": "/moved"}),
        "/loop": Answer("", 301, {"Location": "/loop2"}),
        "/loop2": Answer("", 301, {"Location": "/loop"}),
    }
    urls = "".join(
        f"<url><loc>{site.url}{path}</loc></url>" for path in ("orphan", "hidden", "a", "gone3", "a.pdf", "copy")
    )
    sitemap = f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{urls}</urlset>'
    site.routes["/sitemap.xml"] = Answer(sitemap, headers={"Content-Type": "application/xml"})


@pytest.fixture(scope="module")
def crawled(process: Forked, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    """The folder of a crawl of the planted site, and the start of its URLs."""
    folder = tmp_path_factory.mktemp("planted")
    with scripted({}) as site:
        planted(site)
        ended = process.run(folder, 0, "crawl", site.url, *WORDS, "--state", "state")
        assert ended.status in {0, 3}, ended.said
        yield folder, site.url.rstrip("/")


def state_of(folder: Path) -> Path:
    (state,) = (folder / "state").iterdir()
    return state


def answers(crawled: tuple[Path, str], name: str, columns: str) -> list[str]:
    """The values of some columns of the answer to a question, with the start of URLs taken away."""
    folder, start = crawled
    (question,) = (each for each in questions() if each.name == name)
    with closing(open_dataset(state_of(folder))) as db:
        answer = ask(db, question.sql, limit=0, seconds=20)
    places = [list(answer.columns).index(column) for column in columns.split()]
    return [" ".join(str(row[place]).removeprefix(start) for place in places) for row in answer.rows]


# A list is the whole answer in its order, a set one in any order, and a tuple has the first rows.
ANSWERS = [
    ("broken-links", "source", {"/", "/a", "/b", "/A", "/a/?page=1", "/only", "/copy"}),
    ("broken-link-targets", "target", ["/gone", "/loop"]),
    (
        "sitemap-not-indexable",
        "url state target",
        [
            "/a.pdf wrong type None",
            "/copy canonical elsewhere /gone2",
            "/gone3 client error None",
            "/hidden noindex None",
        ],
    ),
    ("orphans-in-sitemap", "url", ["/orphan"]),
    ("documents-without-links", "url", ["/a.pdf"]),
    ("linked-from-not-indexable-only", "url", ["/only"]),
    ("linked-by-nofollow-only", "target", ["/no"]),
    ("deep-pages", "url", ["/deep/4"]),
    ("one-inlink", "url", {"/A", "/a/?page=1", "/deep/1", "/deep/2", "/deep/3", "/deep/4", "/only"}),
    ("dead-ends", "url", {"/deep/4", "/orphan"}),
    ("many-outlinks", "url", []),
    ("anchors-of-two-pages", "anchor", ["Alpha"]),
    ("empty-anchors", "target", {"/deep/1", "/gone"}),
    ("links-through-redirects", "target", ["/chain", "/loop", "/moved"]),
    ("redirect-chains", "url", {"/chain", "/loop", "/loop2"}),
    ("temporary-redirects", "url", ["/chain"]),
    ("titles-missing", "url", ["/a/?page=1"]),
    ("titles-repeated", "title", ["Twice"]),
    ("titles-long", "title", [LONG]),
    ("descriptions-missing", "url", ["/orphan"]),
    ("descriptions-repeated", "description", ["Same"]),
    ("headings-wrong", "url", {"/A", "/b"}),
    ("thin-pages", "url", ["/only"]),
    ("canonicals-wrong", "url", ["/copy"]),
    ("hreflang-without-return", "page", ["/deep/4"]),
    ("parameters", "parameter", ["page"]),
    ("external-hosts", "host", ["other.example"]),
    ("rendered-pages", "url", []),
    (
        "anchors-of-pages",
        "target anchor links",
        [
            *(
                "/A upper 1",
                "/a Alpha 7",
                "/a text 1",
                "/a/?page=1 one 1",
                "/b A picture 1",
                "/b Alpha 1",
                "/chain chain 1",
            ),
            *("/copy copy 1", "/deep/1  1", "/deep/2 2 1", "/deep/3 3 1", "/deep/4 4 1", "/gone Old 7", "/gone here 1"),
            *("/hidden hidden 1", "/loop loop 1", "/moved was moved 1", "/no ask 1", "/only only here 1"),
        ],
    ),
    ("linked-from-templates-only", "url places", ["/a menu"]),
    (
        "links-in-text",
        "source target",
        ["/A /a", "/b /deep/1", "/deep/1 /deep/2", "/deep/2 /deep/3", "/deep/3 /deep/4"],
    ),
    (
        "links-to-not-indexable",
        "state links urls",
        ["client error 8 1", "redirect 3 3", "canonical elsewhere 1 1", "linked by nofollow only 1 1", "noindex 1 1"],
    ),
    ("most-inlinks", "url inlinks", ("/gone 7", "/a 6", "/b 2", "/A 1")),
    ("slow-pages", "url", ("/deep/4",)),
    ("large-pages", "url", ("/A", "/", "/a")),
    ("stale-pages", "url lastmod", ["/deep/3 2020-03-01T03:04:05+00:00", "/deep/2 2023-04-05T06:07:08+00:00"]),
    (
        "statuses-by-section",
        "section status urls",
        ["/ None 1", "/ 200 9", "/ 301 3", "/ 302 1", "/ 404 3", "/a/ 200 1", "/deep/ 200 4"],
    ),
    ("urls-alike", "form urls example another", ["/a 3 /A /a/?page=1"]),
    ("missing-in-sitemap", "url", {"/", "/A", "/a/?page=1", "/b", "/only", *(f"/deep/{n}" for n in range(1, 5))}),
    (
        "not-indexable",
        "url state",
        {
            "/a.pdf wrong type",
            "/copy canonical elsewhere",
            "/hidden noindex",
            "/no linked by nofollow only",
            *(f"{path} redirect" for path in ("/chain", "/loop", "/loop2", "/moved")),
            *(f"{path} client error" for path in ("/gone", "/gone2", "/gone3")),
        },
    ),
    ("states", "state urls listed", ("indexable 11 11", "redirect 4 0", "client error 3 0")),
]
FIELDS = (
    *("alternates", "content_type", "description", "h1", "h1_count", "images", "language"),
    *("robots", "state", "status", "title", "words"),
)
WATCHED_ANSWERS = [
    ("changes-of-last-run", "change url", ["added /new", "changed /", "changed /p0", "removed /old"]),
    ("changed-fields", "url field", {"/p0 title", *(f"{url} {field}" for url in ("/new", "/old") for field in FIELDS)}),
    ("clicks-but-few-links", "url clicks inlinks", ["/lost 9 0", "/p1 7 1", "/p3 3 1"]),
    ("clicks-but-little-weight", "url clicks", ["/lost 9"]),
    ("never-visited", "url inlinks", ["/ 6", "/new 1", "/p0 1", "/p2 1", "/p4 1", "/p5 1"]),
    ("dead-but-visited", "url people", ["/old 1"]),
    ("orphans", "url", ["/lost"]),
    ("findings", "rule findings", ["reach.few 7", "link.redirect 1", "lost.visited 1", "orphan.search 1"]),
]
Expected = list[str] | set[str] | tuple[str, ...]


def is_answer(found: list[str], expected: Expected) -> bool:
    if isinstance(expected, set):
        return set(found) == expected
    return tuple(found[: len(expected)]) == expected if isinstance(expected, tuple) else found == expected


@pytest.mark.parametrize(("name", "columns", "expected"), ANSWERS, ids=[name for name, _, _ in ANSWERS])
def test_ours_a_question_is_answered_right(
    crawled: tuple[Path, str], name: str, columns: str, expected: Expected
) -> None:
    found = answers(crawled, name, columns)
    assert is_answer(found, expected), found


@pytest.fixture(scope="module")
def watched(process: Forked, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    """The folder of two nights and an audit of a site with visitors, and the start of its URLs."""
    folder = tmp_path_factory.mktemp("watched")
    words = (*WORDS, "--state", "state", "--set=output.grace_period=0")
    members = {f"/p{n}": page(f"<a href=/>Home</a> <a href=/a>A</a> {MANY}", f"Page {n}") for n in range(6)}

    def start_page(*names: str) -> str:
        return page(links(*members, *names), "Start")

    routes = {**members, "/a": page(MANY, "A"), "/old": page(MANY, "Old"), "/lost": page(MANY, "Lost", h1="Lost")}
    with scripted({**routes, "/": start_page("/moved", "/old"), "/moved": Answer("", 301, {"Location": "/a"})}) as site:
        assert process.run(folder, 0, "crawl", site.url, *words).status == 0
        del site.routes["/old"]
        site.routes |= {"/": start_page("/moved", "/new"), "/new": page(MANY, "New")}
        site.routes["/p0"] = members["/p0"].replace("Page 0", "Page zero")
        assert process.run(folder, 1, "crawl", site.url, *words).status == 0
        visitor = (
            '10.0.0.1 - - [20/Nov/2026:10:00:00 +0000] "GET {} HTTP/1.1" {} 9 "-" "Mozilla/5.0 (X11) Firefox/130.0"\n'
        )
        seen = [("/a", 200), ("/p1", 200), ("/lost", 200), ("/old", 404)]
        (folder / "log").write_text("".join(visitor.format(*each) for each in seen))
        shown = [("a", 50, 90), ("lost", 9, 10), ("p1", 7, 20), ("moved", 5, 6), ("p3", 3, 3), ("p2", 0, 80)]
        rows = "".join(f"{site.url}{name},{clicks},{times},7%,3\n" for name, clicks, times in shown)
        (folder / "search.csv").write_text(f"Top pages,Clicks,Impressions,CTR,Position\n{rows}")
        sources = ("--log", "log", "--search", "search.csv", "-o", "report")
        ended = process.run(folder, 1, "audit", site.url, *FAST, "--render", "never", "--state", "state", *sources)
        assert ended.status in {0, 10}, ended.said
        yield folder, site.url.rstrip("/")


@pytest.mark.parametrize(("name", "columns", "expected"), WATCHED_ANSWERS, ids=[name for name, _, _ in WATCHED_ANSWERS])
def test_ours_a_question_about_runs_and_visits_is_answered_right(
    watched: tuple[Path, str], name: str, columns: str, expected: Expected
) -> None:
    found = answers(watched, name, columns)
    assert is_answer(found, expected), found


def test_ours_after_a_run_without_changes_no_changes_are_those_of_the_last_run(process: Forked, tmp_path: Path) -> None:
    with scripted({"/": "<title>Start</title>Text"}) as site:
        changes = []
        for night in range(2):
            assert process.run(tmp_path, night, "crawl", site.url, *WORDS, "--state", "state").status == 0
            changes.append(answers((tmp_path, site.url.rstrip("/")), "changes-of-last-run", "change url"))
    assert changes == [["added /"], []]


def test_ours_links_of_https_pages_to_http_are_insecure(tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    targets = ("http://a.example/b", "http://other.example/", "https://other.example/", "/b")
    (tmp_path / "site" / "index.html").write_text(links(*targets))
    (tmp_path / "site" / "b.html").write_text("Text")
    words = ("https://a.example/", "--source", "site", "--state", "state")
    assert siteatlas(tmp_path, "crawl", *words, *WORDS).code == 0
    found = answers((tmp_path, "https://a.example"), "insecure-links", "source target")
    assert found == ["/ http://a.example/b", "/ http://other.example/"]


def test_ours_the_type_of_a_document_is_known_by_its_column_or_its_reason(tmp_path: Path) -> None:
    kind = {"Content-Type": "application/pdf"}
    documents = {"/1.pdf": kind, "/2.pdf": kind | {"ETag": '"2"'}, "/3.pdf": kind | DATED}
    routes = {path: Answer("%PDF-1.7", headers=headers) for path, headers in documents.items()}
    with scripted({"/": links(*routes, "/moved"), "/moved": Answer("", 301, {"Location": "/"}), **routes}) as site:
        assert siteatlas(tmp_path, "crawl", site.url, *WORDS, "--state", "state").code == 0
    with closing(open_dataset(state_of(tmp_path))) as db:
        rows = db.execute("SELECT content_type, reason FROM pages WHERE NOT indexable ORDER BY url").fetchall()
    pdf, reason = "application/pdf", "application/pdf is not HTML"
    assert rows[:3] == [(None, reason), (pdf, reason), (pdf, reason)]
    assert rows[3][0] is None


def test_ours_every_question_has_an_answer_that_is_known() -> None:
    known = [name for name, _, _ in (*ANSWERS, *WATCHED_ANSWERS)]
    assert sorted([*known, "insecure-links"]) == [question.name for question in questions()]


def test_ours_every_question_is_one_statement_that_reads(crawled: tuple[Path, str]) -> None:
    with closing(open_dataset(state_of(crawled[0]))) as db:
        for question in questions():
            assert ask(db, question.sql, limit=0, seconds=20).columns, question.name
            assert question.text.endswith(("?", ".")), question.name


def test_ours_the_text_and_the_place_of_a_link_are_known(crawled: tuple[Path, str]) -> None:
    folder, start = crawled
    with closing(open_dataset(state_of(folder))) as db:
        rows = db.execute(
            "SELECT anchor, place, position FROM links WHERE source = ? AND kind = 'link' ORDER BY position",
            (f"{start}/a",),
        ).fetchall()
        inlinks = dict(db.execute("SELECT url, inlinks FROM pages"))
        figures = db.execute("SELECT inlinks, content_inlinks, weight FROM pages WHERE url = ?", (f"{start}/b",))
        in_all, in_content, weight = figures.fetchone()
    assert rows == [("Alpha", "menu", 1), ("Old", "menu", 2), ("A picture", "list", 3)]
    assert in_all >= in_content
    assert weight > 0
    assert inlinks[f"{start}/b"] == 2
    assert inlinks[f"{start}/no"] == 0


@pytest.mark.parametrize(
    "sql",
    [
        "DELETE FROM pages",
        "ATTACH 'x.db' AS x",
        "CREATE TABLE t (a)",
        "PRAGMA writable_schema = 1",
        "SELECT 1; SELECT 2",
    ],
)
def test_ours_a_query_only_reads(crawled: tuple[Path, str], sql: str) -> None:
    with closing(open_dataset(state_of(crawled[0]))) as db, pytest.raises(UsageError):
        ask(db, sql, limit=0, seconds=20)


@pytest.mark.parametrize(
    ("sql", "hint"),
    [
        ("SELECT * FROM page", 'no such table: page. Did you mean "pages"? siteatlas query'),
        ("SELECT p.inlink FROM pages p", 'Did you mean "inlinks"? siteatlas query'),
        ("SELECT * FROM zzzzzz", "no such table: zzzzzz. siteatlas query"),
    ],
)
def test_ours_an_unknown_name_in_a_query_gets_a_suggestion(crawled: tuple[Path, str], sql: str, hint: str) -> None:
    with closing(open_dataset(state_of(crawled[0]))) as db, pytest.raises(UsageError) as refused:
        ask(db, sql, limit=0, seconds=20)
    assert hint in str(refused.value)


def test_ours_a_query_ends_at_its_limits(crawled: tuple[Path, str]) -> None:
    endless = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT {} FROM n"
    with closing(open_dataset(state_of(crawled[0]))) as db:
        with pytest.raises(UsageError, match="--timeout"):
            ask(db, endless.format("max(i)"), limit=0, seconds=0.2)
        answer = ask(db, endless.format("i"), limit=3, seconds=20)
    assert answer.is_cut
    assert answer.rows == [(1,), (2,), (3,)]


def test_ours_an_export_reads_the_same_whatever_its_format(
    process: Forked, crawled: tuple[Path, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import duckdb
    import openpyxl

    monkeypatch.setattr("crawler.dataset.write._ROW_GROUP", 7)  # a file of several groups
    state = str(crawled[0] / "state")
    for words in (["-o", "x.sqlite"], ["-o", "x.xlsx"], ["-o", "csv"], ["-o", "j", "--format", "jsonl"]):
        ended = process.run(tmp_path, 1, "export", "--state", state, *words)
        assert ended.status == 0, ended.said
    ended = process.run(
        tmp_path, 1, "export", "--state", state, "-o", "p", "--format", "parquet", "-t", "pages", "-t", "links"
    )
    assert ended.status == 0, ended.said
    book = openpyxl.load_workbook(tmp_path / "x.xlsx", read_only=True)
    with closing(sqlite3.connect(tmp_path / "x.sqlite")) as db:
        for name, columns in TABLES.items():
            names = [column.name for column in columns]
            rows = db.execute(f"SELECT {', '.join(names)} FROM {name}").fetchall()
            lines = (tmp_path / "j" / f"{name}.jsonl").read_text().splitlines()
            assert [tuple(json.loads(line).values()) for line in lines] == rows
            with (tmp_path / "csv" / f"{name}.csv").open(newline="", encoding="utf-8-sig") as file:
                heading, *cells = csv.reader(file)
            assert heading == names
            assert cells == [["" if value is None else str(value) for value in row] for row in rows]
            assert book[name].max_row == len(rows) + 1
        for name in ("pages", "links"):
            names = [column.name for column in TABLES[name]]
            rows = db.execute(f"SELECT {', '.join(names)} FROM {name}").fetchall()
            assert duckdb.sql(f"SELECT * FROM '{tmp_path}/p/{name}.parquet'").fetchall() == rows


def test_ours_an_interrupted_export_to_parquet_ends_its_thread_before_it_closes_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pyarrow.parquet import ParquetWriter

    were_open: list[bool] = []

    def write_slowly(writer: ParquetWriter, _: object) -> None:
        time.sleep(0.2)
        were_open.append(writer.is_open)

    def interrupted(_: object, table: str) -> Iterator[tuple[None, ...]]:
        yield (None,) * len(TABLES[table])
        raise KeyboardInterrupt

    monkeypatch.setattr(ParquetWriter, "write_batch", write_slowly)
    monkeypatch.setattr("crawler.dataset.write._ROW_GROUP", 1)
    monkeypatch.setattr("crawler.dataset.write._rows", interrupted)
    with closing(sqlite3.connect(":memory:")) as db, pytest.raises(KeyboardInterrupt):
        _write_parquet(db, "pages", tmp_path / "pages.parquet")
    assert were_open == [True]


def test_ours_kept_rows_have_the_numbers_of_links_of_their_version() -> None:
    kinds = "start URL,link,frame,redirect,refresh,canonical,alternate,pagination,amp,sitemap,feed,nofollow link"
    kinds += ",earlier sitemap,audit source"
    places = "menu,breadcrumb,footer,side box,list,changing box,body"
    assert VERSION == 9  # another order below needs another version
    assert [*LINK_TYPES] == [*product(kinds.split(","), (False, True), (None, *places.split(",")))]


def test_ours_a_table_follows_the_last_run(process: Forked, tmp_path: Path) -> None:
    with scripted({"/": page("<a href=/a>A</a>", "Before"), "/a": page("", "A")}) as site:
        for day, title in enumerate(("Before", "After")):
            site.routes["/"] = page("<a href=/a>A</a>", title)
            process.run(tmp_path, day, "crawl", site.url, *WORDS, "--state", "state")
            with closing(open_dataset(state_of(tmp_path))) as db:
                titles = {title for (title,) in db.execute("SELECT title FROM pages")}
                anchors = db.execute("SELECT anchor FROM links WHERE kind = 'link'").fetchall()
            assert titles == {title, "A"}
            assert anchors == [("A",)]


def test_ours_after_a_304_the_bytes_are_those_of_the_last_body_and_unknown_ones_are_shown(
    process: Forked, tmp_path: Path
) -> None:
    (question,) = (each for each in questions() if each.name == "large-pages")

    def rows() -> list[tuple[object, ...]]:
        with closing(open_dataset(state_of(tmp_path))) as db:
            return ask(db, question.sql, limit=0, seconds=20).rows

    with scripted({"/": "<a href=/a>A</a>", "/a": Answer(page(MANY), headers={"ETag": '"1"'})}) as site:
        for day in range(3):
            process.run(tmp_path, day, "crawl", site.url, *WORDS, "--state", "state")
            if day == 0:
                first = rows()
    assert rows() == first
    (state_of(tmp_path) / "dataset.db").unlink()
    assert [row[1] for row in rows()] == [first[1][1], None]


def test_ours_batches_that_are_kept_give_the_tables_of_a_new_data_set(
    process: Forked, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page changes and another comes, so that some batches stay and some do not."""
    read: list[bool] = []
    rows_of = PageReader.rows

    def rows(reader: PageReader, batch: Batch) -> Iterator[Rows]:
        read.append(not batch.kept)
        return rows_of(reader, batch)

    def tables(state: Path) -> list[object]:
        with closing(open_dataset(state)) as db:
            return [sorted(db.execute(f"SELECT * FROM {name}").fetchall(), key=repr) for name in TABLES]

    monkeypatch.setattr(PageReader, "rows", rows)
    monkeypatch.setattr("crawler.dataset.build._LAST_OF_BATCH", 3)
    monkeypatch.setattr("crawler.dataset.build._ENOUGH", 2)
    with scripted({}) as site:
        planted(site)
        process.run(tmp_path, 0, "crawl", site.url, *WORDS, "--state", "state")
        tables(state_of(tmp_path))
        site.routes["/deep/4"] = page("<a href=/new>new</a>", "Now", described("Now"))
        site.routes["/new"] = page(MANY, "New")
        process.run(tmp_path, 1, "crawl", site.url, *WORDS, "--state", "state")
        read.clear()
        again = tables(state_of(tmp_path))
        assert {*read} == {True, False}
        (state_of(tmp_path) / "dataset.db").unlink()
        assert tables(state_of(tmp_path)) == again


def test_ours_the_tables_have_the_findings_and_visits_of_an_audit(process: Forked, tmp_path: Path) -> None:
    agent = "Mozilla/5.0 (X11; Linux x86_64; rv:130.0) Gecko/20100101 Firefox/130.0"
    line = f'{{}} - - [20/Nov/2026:10:00:00 +0000] "GET {{}} HTTP/1.1" {{}} 100 "-" "{agent}"'
    lines = [("10.0.0.1", "/a", 200), ("10.0.0.2", "/a", 200), ("10.0.0.1", "/lost", 200), ("10.0.0.3", "/dead", 404)]
    (tmp_path / "log").write_text("\n".join(line.format(*each) for each in lines))
    (tmp_path / "search.csv").write_text("Top pages,Clicks,Impressions,CTR,Position\n{}a,7,90,7%,3\n{}old,5,50,7%,3\n")
    with scripted({"/": page("<a href=/a>A</a>"), "/a": page("", "A"), "/lost": page("", "Lost")}) as site:
        search = (tmp_path / "search.csv").read_text().format(site.url, site.url)
        (tmp_path / "search.csv").write_text(search)
        words = ("audit", site.url, *FAST, "--render", "never", "--state", "state", "-o", "report")
        ended = process.run(tmp_path, 0, *words, "--log", "log", "--search", "search.csv")
        assert ended.status in {0, 10}, ended.said
        start = site.url.rstrip("/")
    with closing(open_dataset(state_of(tmp_path))) as db:
        visits = db.execute("SELECT url, people, ok, dead, status FROM visits ORDER BY url").fetchall()
        search_rows = db.execute("SELECT url, clicks, impressions FROM search").fetchall()
        orphans = db.execute("SELECT url FROM findings WHERE rule LIKE 'orphan%'").fetchall()
        pages = {url for (url,) in db.execute("SELECT url FROM pages")}
    assert visits == [(f"{start}/a", 2, 2, 0, 200), (f"{start}/dead", 1, 0, 1, 404), (f"{start}/lost", 1, 1, 0, 200)]
    assert search_rows == [(f"{start}/a", 7, 90), (f"{start}/old", 5, 50)]
    assert answers((tmp_path, start), "dead-but-visited", "url") == ["/old"]
    assert orphans == [(f"{start}/lost",)]
    assert {f"{start}/a", f"{start}/lost"} <= pages
    lost = anyio.run(told, state_of(tmp_path), "page", {"url": "/lost"}).structured_content
    assert [row[1][:6] for row in lost["findings"]["rows"]] == ["orphan"]
    assert [row[3] for row in lost["visits"]["rows"]] == [1]
    refused = anyio.run(told, state_of(tmp_path), "compare", {})
    assert "cannot be compared. The history has the runs [1]" in refused.model_dump_json()


async def told(state: Path, tool: str, words: dict[str, str]) -> Any:
    """What an assistant hears."""
    from mcp import Client

    from crawler.dataset.assistant import build_server

    async with Client(build_server({"one": state})) as client:
        return await client.call_tool(tool, words)


def test_ours_without_a_finished_run_there_is_nothing_to_ask(process: Forked, tmp_path: Path) -> None:
    ended = process.run(tmp_path, 0, "query", "--state", "state", "SELECT 1")
    assert ended.status == 2
    assert "Traceback" not in ended.said


@pytest.mark.thorough
def test_ours_details_take_linear_time_and_survive_any_markup() -> None:
    for piece in ("<a href=", "<a href='x", "<h1><a>", "<nav>", "<a " + "x" * 9_000, '<meta name="', "<", "&amp"):
        read_details(piece * 20_000)
    details = read_details(
        "<base href=/x/><NAV><A HREF='a&amp;b' REL=NoFollow> One <b>two</b></A></NAV><h1>A&amp;B</h1>"
    )
    (anchor,) = details.anchors
    assert (anchor.href, anchor.text, anchor.rel, anchor.landmark) == ("a&b", "One two", "nofollow", "nav")
    assert (details.base, details.h1, details.h1_count) == ("/x/", "A&B", 1)


@pytest.mark.anyio
async def test_ours_an_assistant_gets_the_answers_of_all_questions_in_few_bytes(crawled: tuple[Path, str]) -> None:
    from mcp import Client

    from crawler.dataset.assistant import build_server

    state = state_of(crawled[0])
    async with Client(build_server({"planted": state})) as client:
        listed = await client.call_tool("list_questions", {})
        assert listed.structured_content
        names = [each["name"] for each in listed.structured_content["result"]]
        for question in questions():
            with closing(open_dataset(state)) as db:
                expected = ask(db, question.sql, limit=0, seconds=20)
            answer = await client.call_tool("answer", {"name": question.name, "site": "planted"})
            assert len(answer.model_dump_json()) < 30_000
            assert answer.structured_content
            assert answer.structured_content["rows"] == [list(row) for row in expected.rows]
            assert answer.structured_content["next_offset"] is None
            assert "run 1" in answer.structured_content["run"]
        assert names == [question.name for question in questions()]


@pytest.mark.anyio
async def test_ours_an_assistant_reads_all_pages_part_by_part_and_can_write_nothing(crawled: tuple[Path, str]) -> None:
    from mcp import Client

    from crawler.dataset.assistant import build_server

    async with Client(build_server({"planted": state_of(crawled[0])})) as client:
        tools = (await client.list_tools()).tools
        assert all(tool.annotations and tool.annotations.read_only_hint for tool in tools)
        numbers = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500)"
        sql = f"{numbers} SELECT i, hex(zeroblob(99)) FROM n"
        read: list[int] = []
        offset: int | None = 0
        while offset is not None:
            part = await client.call_tool("query", {"sql": sql, "offset": offset, "limit": 500})
            assert len(part.model_dump_json()) < 30_000
            assert part.structured_content
            read += [row[0] for row in part.structured_content["rows"]]
            offset = part.structured_content["next_offset"]
        assert read == list(range(1, 501))
        for name, words in (
            ("query", {"sql": "DROP TABLE pages"}),
            ("query", {"sql": "SELECT 1", "site": "other"}),
            ("answer", {"name": "no-such"}),
            ("page", {"url": "https://nowhere.example/"}),
        ):
            refused = await client.call_tool(name, words)
            assert refused.is_error
            assert "unexpected" not in refused.model_dump_json()
        page = await client.call_tool("page", {"url": f"{crawled[1]}/gone"})
        assert page.structured_content
        assert page.structured_content["page"]["state"] == "client error"
        assert len(page.structured_content["links_in"]["rows"]) == 8
        assert (await client.call_tool("page", {"url": "/gone"})).structured_content == page.structured_content
        by_path = await client.call_tool("links", {"url": "/gone"})
        assert by_path.structured_content
        assert by_path.structured_content["rows"]
        refused = await client.call_tool("query", {"sql": "SELECT nothing FROM pages"})
        assert "the tool schema lists" in refused.model_dump_json()


@pytest.mark.filterwarnings("ignore:unclosed database:ResourceWarning")  # Datasette closes no connection
@pytest.mark.anyio
async def test_ours_a_browser_sees_pages_questions_and_what_is_known_of_a_url(
    crawled: tuple[Path, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from crawler.dataset.explore import _MAX_COUNTED, build_explorer, one_time_link

    folder, start = crawled
    explorer = build_explorer({"www.planted": state_of(folder)})
    refused = await explorer.client.get("/")
    assert (refused.status_code, "start it again for a new one" in refused.text) == (403, True)
    entered = await explorer.client.get(one_time_link(explorer, ""))
    assert entered.status_code == 302
    assert (await explorer.client.get(one_time_link(explorer, ""))).status_code == 403
    cookies = {"ds_actor": entered.cookies["ds_actor"]}
    home = (await explorer.client.get("/", cookies=cookies)).text
    (pages,) = re.findall(r'href="([^"]+)">All pages', home)
    assert f"<h2>{start}/</h2>" in home
    (gone,) = re.findall(r'href="([^"]+)">\d+ client error', home)
    assert (await explorer.client.get(html.unescape(gone), cookies=cookies)).status_code == 200
    listed = await explorer.client.get(f"{html.unescape(pages)}&section=%2Fdeep%2F&outlinks__gt=0", cookies=cookies)
    assert listed.status_code == 200
    assert [number in listed.text for number in ("deep/1", "deep/3", "deep/4", ">Twice<")] == [True, True, False, False]
    assert f'"{_MAX_COUNTED + 1:,} rows", "more than {_MAX_COUNTED:,} rows"' in home
    monkeypatch.setattr("crawler.dataset.explore._MAX_COUNTED", 2)
    counted = await explorer.client.get("/www~2Eplanted/pages.json?_size=1", cookies=cookies)
    assert counted.json()["filtered_table_rows_count"] == 3
    shown = ", ".join(re.findall(r"_col=(\w+)", html.unescape(pages)))
    with closing(open_dataset(state_of(folder))) as db:
        for filtered, way in (
            ("title LIKE '%x%' AND inlinks > 4", "SCAN pages USING COVERING INDEX page_shown"),
            (
                "description LIKE '%x%' AND inlinks > 4 AND state = 'indexable'",
                "SCAN pages",
            ),  # looks up none of a million
        ):
            query = f"SELECT {shown} FROM pages WHERE {filtered} ORDER BY inlinks DESC LIMIT 50"
            plan = [row[-1] for row in db.execute(f"EXPLAIN QUERY PLAN {query}")]
            assert plan == [way, "USE TEMP B-TREE FOR ORDER BY"]
    (here,) = {found for found in re.findall(r'href="(/-/page/[^"]+)"', listed.text) if found.endswith("deep%2F3")}
    page = (await explorer.client.get(here, cookies=cookies)).text
    assert f"{start}/deep/2" in page
    assert f"{start}/deep/4" in page
    assert page.count("No finished audit when this started.") == 2
    assert all(part in page for part in ("Findings of the last audit", "Visits", "Changes of the page"))
    for table in "findings", "visits":
        (there,) = re.findall(rf'href="([^"]+/{table}[^"/]*)"', home)
        assert (
            "No finished audit when this started."
            in (await explorer.client.get(html.unescape(there), cookies=cookies)).text
        )
    assert (await explorer.client.get("/www~2Eplanted/nothing", cookies=cookies)).status_code == 404
    question = await explorer.client.get("/www~2Eplanted/redirect-chains.json?_shape=array", cookies=cookies)
    assert len(question.json()) == 3
    (place,) = re.findall(r'href="(/-/sections/[^"]+)"', home)
    picture = (await explorer.client.get(place, cookies=cookies)).text
    assert "<title>/deep/: 4 pages</title>" in picture
    assert "<title>/ to /deep/: 1 links</title>" in picture
    assert (await explorer.client.get(place)).status_code == 403
    nobody = await explorer.client.get(here)
    assert nobody.status_code == 403
    assert "deep/2" not in nobody.text
    del explorer
    gc.collect()  # here, where its connections are forgiven


FILTERS = {
    "": "",
    "WHERE 1": "_sort=words",
    "WHERE 2": "_sort_desc=depth",
    "WHERE 3": "_sort_desc=url",
    "WHERE words < 100": "words__lt=100&_sort=title",
    "WHERE url LIKE '%deep%'": "url__contains=deep&_sort=url",
    "WHERE depth IS NULL": "depth__isnull=1&_sort_desc=depth",
    "WHERE depth IS NULL OR depth = ''": "depth__isblank=1&_sort=depth",
    "WHERE url > 'h' AND state != 'redirect'": "url__gt=h&state__not=redirect",
}


@contextmanager
def slow(monkeypatch: pytest.MonkeyPatch, *parts: str) -> Iterator[None]:
    """Queries with such a part take long."""
    from datasette.database import Database

    execute = Database.execute

    async def wait(self: Any, sql: str, *args: Any, **options: Any) -> Any:
        await asyncio.sleep(0.6 if any(part in sql for part in parts) else 0)
        return await execute(self, sql, *args, **options)

    with monkeypatch.context() as patched:
        patched.setattr(Database, "execute", wait)
        yield


@pytest.mark.filterwarnings("ignore:unclosed database:ResourceWarning")  # Datasette closes no connection
@pytest.mark.anyio
async def test_ours_a_browser_gets_a_page_before_what_takes_long_and_each_query_runs_once(
    crawled: tuple[Path, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from crawler.dataset.explore import build_explorer, one_time_link

    explorer = build_explorer({"site": state_of(crawled[0])})
    cookies = {"ds_actor": (await explorer.client.get(one_time_link(explorer, ""))).cookies["ds_actor"]}

    async def seen(query: str, **headers: str) -> str:
        return str((await explorer.client.get(f"/site/pages?{query}", cookies=cookies, headers=headers)).text)

    goes = {"sec-fetch-mode": "navigate"}
    with slow(monkeypatch, "count(*)"):
        text = await seen("_sort=words", **goes)
        assert "Counting: all rows, state, section, status, language." in text
        assert "deep/4" in text
        assert 'class="facet-results"' not in text
        text = await seen("_sort=words")
        assert ["Counting:" in text, " rows sorted by" in text, 'class="facet-results"' in text] == [False, True, True]
        text = await seen("_sort=url", **goes)  # counted before
        assert ["Counting:" in text, " rows sorted by" in text, 'class="facet-results"' in text] == [False, True, True]
    monkeypatch.setattr("crawler.dataset.explore._FEW", 10)
    for where, query in FILTERS.items():
        with closing(open_dataset(state_of(crawled[0]))) as db:
            (number,) = db.execute(f"SELECT count(*) FROM pages {where}").fetchone()
            states = set(db.execute(f"SELECT state, count(*) FROM pages {where} GROUP BY 1"))
        place = f"/site/pages.json?_size=3&{query}"
        for _ in range(3):
            found = (await explorer.client.get(place, cookies=cookies)).json()
            assert found["filtered_table_rows_count"] == number
            assert {(each["value"], each["count"]) for each in found["facet_results"]["state"]["results"]} == states
            place = (found["next_url"] or place).removeprefix("http://localhost")
    with slow(monkeypatch, "select rowid"):
        assert "appears here when it is ready" in await seen("words__gt=100", **goes)
        text = await seen("words__gt=100")
        assert "deep/4" in text
    with slow(monkeypatch, ""):
        kept = await seen("words__gt=100", **goes)
        assert re.findall("<main.*</main>", kept, re.DOTALL) == re.findall("<main.*</main>", text, re.DOTALL)
        assert "array contains" not in text
    explorer = None
    gc.collect()  # here, where its connections are forgiven


def test_ours_after_an_audit_the_tables_still_say_what_the_sitemap_lists(tmp_path: Path) -> None:
    with scripted({"/": links("/a"), "/a": "<p>A.", "/b": "<p>B."}) as site:
        assert siteatlas(tmp_path, "crawl", site.url, "-o", "out", "--state", "state", *FAST).code == 0
        (tmp_path / "urls.txt").write_text(f"{site.url}b\n")
        assert siteatlas(tmp_path, "audit", site.url, "--list", "urls.txt", "--state", "state", *FAST).code == 0
    with closing(open_dataset(state_of(tmp_path))) as db:
        listed = dict(db.execute("SELECT url, listed FROM pages").fetchall())
        assert [listed[f"{site.url}{path}"] for path in ("", "a", "b")] == [1, 1, 0]
        assert db.execute("SELECT run, outcome FROM runs").fetchall() == [(1, "published")]
        assert db.execute("SELECT count(*) FROM changes").fetchall() == [(2,)]
        assert db.execute("SELECT count(*) FROM sitemap_entries").fetchall() == [(2,)]


@pytest.mark.filterwarnings("ignore:unclosed database:ResourceWarning")  # Datasette closes no connection
@pytest.mark.anyio
async def test_ours_tables_say_which_orphans_they_lack_and_explore_that_a_run_has_ended_since(tmp_path: Path) -> None:
    from mcp import Client

    from crawler.dataset.assistant import build_server
    from crawler.dataset.explore import build_explorer, one_time_link

    options = ("--state", "state", *FAST)
    (tmp_path / "urls.txt").write_text("/b\n/c\n")
    with scripted({"/": links("/a"), "/a": "<title>Å", "/b": "<p>B.", "/c": "<p>C."}) as site:
        assert siteatlas(tmp_path, "crawl", site.url, "-o", "out", *options).code == 0
        assert siteatlas(tmp_path, "audit", site.url, "--list", "urls.txt", *options).code == 0
        pages = ("query", "SELECT count(*) AS n FROM pages_in_search, pages", "--state", "state")
        assert siteatlas(tmp_path, *pages).err == ""
        explorer = build_explorer({"one": state_of(tmp_path)})
        cookies = {"ds_actor": (await explorer.client.get(one_time_link(explorer, ""))).cookies["ds_actor"]}

        async def shown(place: str) -> str:
            return str((await explorer.client.get(place, cookies=cookies)).text)

        assert "has ended since" not in await shown("/") + await shown("/one/pages")
        assert siteatlas(tmp_path, "crawl", site.url, "-o", "out", *options).code == 0
    for place in ("/", "/one/pages", "/one", f"/-/page/one?url={site.url}a"):
        assert "A run or an audit has ended since this started. Start siteatlas explore again" in await shown(place)
    said = "pages lacks 2 orphan pages of the last audit, because the last run did not find them"
    said += ". Run siteatlas audit again"
    assert siteatlas(tmp_path, *pages).err == f"note: {said}\n"
    assert siteatlas(tmp_path, *pages, "--all-sites").err == f"note: {state_of(tmp_path).name}: {said}\n"
    assert siteatlas(tmp_path, "query", "--named", "orphans", "--state", "state").err == ""
    assert siteatlas(tmp_path, "export", "-o", "t.sqlite", "--state", "state").out.endswith(f"note: {said}\n")
    async with Client(build_server({"one": state_of(tmp_path)})) as client:
        answer = await client.call_tool("query", {"sql": "SELECT 1"})
    assert str(answer.structured_content["run"]).endswith(f"complete; {said}")
    explorer = build_explorer({"one": state_of(tmp_path)})
    cookies = {"ds_actor": (await explorer.client.get(one_time_link(explorer, ""))).cookies["ds_actor"]}
    assert said in await shown("/")
    assert said in await shown("/one/pages")
    with closing(sqlite3.connect(state_of(tmp_path) / "audit" / "state.db")) as db, db:
        db.execute("UPDATE run SET ended = NULL")  # as while an audit is active
    assert "has ended since" not in await shown("/one/pages")
    saved = await explorer.client.get("/one/pages.csv?_col=title&_size=max", cookies=cookies)
    assert saved.content.startswith(b"\xef\xbb\xbfrowid,title\r\n")
    assert "Å".encode() in saved.content
    assert saved.headers["content-type"] == "text/csv; charset=utf-8"
    assert saved.headers["content-disposition"] == 'attachment; filename="pages.csv"'
    assert (await explorer.client.get("/one/pages.csv")).text.startswith("Open the link")
    explorer = None
    gc.collect()  # here, where its connections are forgiven


def test_ours_broken_links_have_one_row_for_each_page_and_place(tmp_path: Path) -> None:
    with scripted({"/": links(*7 * ["/gone"], "/a"), "/a": links("/gone", "/lost")}) as site:
        assert siteatlas(tmp_path, "crawl", site.url, "-o", "out", "--state", "state", *FAST).code == 0
    with closing(open_dataset(state_of(tmp_path))) as db:
        rows = ask(db, named("broken-links").sql, limit=0, seconds=9).rows
    shown = [(str(row[0]).removeprefix(site.url), str(row[1]).removeprefix(site.url), row[6]) for row in rows]
    assert shown == [("", "gone", 7), ("a", "gone", 1), ("a", "lost", 1)]


def test_ours_all_sites_are_asked_at_once(tmp_path: Path) -> None:
    with scripted({"/": links("/a"), "/a": "<p>A."}) as one, scripted({"/": "<title>Two</title>"}) as two:
        for site in (one, two):
            options = (*FAST, "--set=output.swap_delay=0", "--state", "state", "-o", f"out{site.url[-6:-1]}")
            assert siteatlas(tmp_path, "crawl", site.url, *options).code == 0
        named = "".join(f"[sites.{name}.site]\nurl = '{site.url}'\n" for name, site in (("one", one), ("two", two)))
        new = "[sites.new.site]\nurl = 'http://127.0.0.1:9/'\n"
        (tmp_path / "c.toml").write_text(f"state.directory = 'state'\n{named}{new}")
    query = ("query", "SELECT count(*) AS pages FROM pages", "--all-sites", "--format", "csv")
    ran = siteatlas(tmp_path, *query, "--config", "c.toml")
    assert (ran.code, ran.out) == (0, "\ufeffsite,pages\none,2\ntwo,1\n"), ran.err
    assert "new: " in ran.err
    assert len(siteatlas(tmp_path, *query, "--state", "state").out.splitlines()) == 3
    assert siteatlas(tmp_path, *query, "--state", "state", "--limit", "1").out.count("\n") == 2
    assert siteatlas(tmp_path, *query, "http://127.0.0.1:9/", "--state", "state").code == 2
    unknown = siteatlas(tmp_path, "query", "--named", "missing-in-sitemap", site.url, "--state", "state")
    assert (unknown.code, unknown.out) == (2, "")
    assert "nor an audit has read a sitemap that the site has" in unknown.err


def test_ours_sitemaps_that_nobody_has_read_are_not_asked_but_a_rule_about_them_is_checked() -> None:
    sql = "SELECT url FROM sitemap_entries WHERE NOT published"
    with closing(DATASET.empty()) as db:
        assert ask(db, sql, limit=0, seconds=20).rows == []
        db.execute("INSERT INTO about VALUES ('stamp', 'of an audit whose runs were cut short')")
        with pytest.raises(UsageError, match="nor an audit"):
            ask(db, sql, limit=0, seconds=20)


def test_ours_the_notebook_of_the_manual_runs(crawled: tuple[Path, str], monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("duckdb")
    monkeypatch.chdir(crawled[0])
    with closing(open_dataset(state_of(crawled[0]))) as db:
        write_dataset(db, Path("crawl"), DataFormat.PARQUET, list(TABLES))
    notebook = json.loads((Path(__file__).parents[1] / "docs/examples/crawl.ipynb").read_text(encoding="utf-8"))
    known: dict[str, Any] = {}
    for cell in notebook["cells"]:
        needed = cell["metadata"].get("tags", [])
        if cell["cell_type"] == "code" and all(map(find_spec, needed)):
            *body, last = ast.parse("".join(cell["source"])).body
            assert isinstance(last, ast.Expr)
            exec(compile(ast.Module(body, []), "cell", "exec"), known)
            assert (
                len(eval(compile(ast.Expression(last.value), "cell", "eval"), known)) or "history" in cell["source"][0]
            )
    known["crawl"].close()


@pytest.mark.parametrize("is_killed", [False, True])
def test_ours_pages_read_by_other_processes_are_the_same(
    is_killed: bool, crawled: tuple[Path, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def tables(name: str) -> list[object]:
        shutil.copytree(state_of(crawled[0]), tmp_path / name, ignore=shutil.ignore_patterns("dataset.db*"))
        with closing(open_dataset(tmp_path / name)) as db:
            return [db.execute(f"SELECT * FROM {table}").fetchall() for table in ("pages", "links")]

    alone = tables("alone")
    begin = PageReaders._begin

    def begun(readers: PageReaders, number: int, batch: Batch) -> Iterator[Rows | Path]:
        if is_killed:
            readers._processes[0].kill()
        assert len(readers._processes) > 0
        return begin(readers, number, batch)

    monkeypatch.setattr("crawler.dataset.readers.LEAST", 0)
    monkeypatch.setattr(PageReaders, "_begin", begun)
    assert tables("together") == alone


def all_rows(site: Path) -> dict[str, list[tuple[Any, ...]]]:
    with closing(open_dataset(site)) as db:
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        return {name: sorted(db.execute(f"SELECT * FROM {name}"), key=repr) for name in TABLES}


@pytest.mark.parametrize("few", [1, 1_000])
@pytest.mark.parametrize("seed", [3, 5])
def test_ours_tables_made_again_are_those_made_anew(
    seed: int, few: int, crawled: tuple[Path, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"_LAST_OF_BATCH": 3, "_MOST": 5, "_ENOUGH": 4, "_FEW": few}.items():
        monkeypatch.setattr(f"crawler.dataset.build.{name}", value)
    dice = random.Random(seed)
    again = tmp_path / "again"
    shutil.copytree(state_of(crawled[0]), again, ignore=shutil.ignore_patterns("dataset.db*"))
    seen = [all_rows(again)]
    for number in range(5):
        with closing(sqlite3.connect(again / "state.db", isolation_level=None)) as db:
            pages = [row[0] for row in db.execute("SELECT id FROM visit WHERE content IS NOT NULL ORDER BY id")]
            contents = dict(db.execute("SELECT id, content FROM visit"))
            one, other, gone, new = dice.sample(pages, 4)
            change = "UPDATE visit SET content = ? WHERE id = ?"
            db.executemany(change, [(contents[one], other), (contents[other], one)])
            db.execute("UPDATE content SET links = x'' WHERE id = ?", (contents[new],))
            db.execute("DELETE FROM visit WHERE id = ?" if number % 2 else "SELECT ?", (gone,))
            db.execute("UPDATE run SET ended = ended + 1")
        anew = tmp_path / f"anew {number}"
        shutil.copytree(again, anew, ignore=shutil.ignore_patterns("dataset.db*"))
        seen.append(all_rows(again))
        assert seen[-1] == all_rows(anew)
        assert seen[-1] != seen[-2]


def test_ours_figures_are_computed_again_only_if_a_link_or_a_state_changed(
    crawled: tuple[Path, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    computed: list[sqlite3.Connection] = []

    def counted(db: sqlite3.Connection) -> object:
        computed.append(db)
        return load_figures(db)

    monkeypatch.setattr("crawler.dataset.build.load_figures", counted)
    shutil.copytree(state_of(crawled[0]), tmp_path / "state", ignore=shutil.ignore_patterns("dataset.db*"))
    first = all_rows(tmp_path / "state")
    for number, change in enumerate(("digest = randomblob(16)", "links = x''")):
        with closing(sqlite3.connect(tmp_path / "state" / "state.db", isolation_level=None)) as db:
            linking = "SELECT c.id FROM content c JOIN visit v ON v.content = c.id ORDER BY length(links) DESC LIMIT 1"
            db.execute(f"UPDATE content SET {change} WHERE id = ({linking})")
            db.execute("UPDATE run SET ended = ended + 1")
        again = all_rows(tmp_path / "state")
        assert len(computed) == 1 + number
        assert (again["pages"] == first["pages"]) is not bool(number)


def test_ours_tables_kept_of_another_state_do_not_name_its_pages(tmp_path: Path) -> None:
    names = [f"/{n}" for n in range(12)]
    pages = {name: page(MANY, f"Title {name}", described(f"About {name}"), h1=f"Head {name}") for name in names}
    with scripted({"/": page("".join(f"<a href={n}>{n}</a>" for n in names), "Start"), **pages}) as site:
        assert siteatlas(tmp_path, "crawl", site.url, *WORDS).code == 0
        (folder,) = (path.parent for path in tmp_path.glob(".siteatlas/*/state.db"))
        open_dataset(folder).close()
        (folder / "state.db").write_bytes(b"")
        site.routes["/"] = page("".join(f"<a href={n}>{n}</a>" for n in reversed(names)), "Start")
        assert siteatlas(tmp_path, "crawl", site.url, *WORDS, "--fresh").code == 0
    with closing(open_dataset(folder)) as db:
        rows = db.execute("SELECT title, h1, description FROM pages WHERE title != 'Start'").fetchall()
    assert len(rows) == 12
    for title, h1, description in rows:
        name = title.removeprefix("Title ")
        assert (h1, description) == (f"Head {name}", f"About {name}")


def test_ours_after_an_audit_alone_clicks_count_depths_and_its_sitemaps_are_known(tmp_path: Path) -> None:
    with scripted({"/": page("<a href=/a>a</a>"), "/a": page(MANY), "/lonely": page(MANY, "Lonely")}) as site:
        urls = "".join(f"<url><loc>{site.url}{name}</loc></url>" for name in ("a", "lonely"))
        own = f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{urls}</urlset>'
        site.routes["/sitemap.xml"] = Answer(own, headers={"Content-Type": "application/xml"})
        assert siteatlas(tmp_path, "audit", site.url, *FAST, "--render", "never").code == 0
        (folder,) = (path.parents[1] for path in tmp_path.glob(".siteatlas/*/audit/state.db"))
        refused = siteatlas(tmp_path, "compare")
        assert refused.code == 2
        assert "the history has fewer than two runs" in refused.err
        with closing(open_dataset(folder)) as db:
            depths = dict(db.execute("SELECT url, depth FROM pages").fetchall())
            entries = "SELECT url, sitemap, published, lastmod FROM sitemap_entries"
            assert db.execute(entries).fetchall() == [
                (f"{site.url}{name}", f"{site.url}sitemap.xml", 0, None) for name in ("a", "lonely")
            ]
            asked = {each.name: [row[0] for row in ask(db, each.sql, limit=0, seconds=20).rows] for each in questions()}
            assert asked["missing-in-sitemap"] == [site.url]
            assert asked["orphans-in-sitemap"] == [f"{site.url}lonely"]
            assert asked["sitemap-not-indexable"] == []
    assert {url.removeprefix(site.url): depth for url, depth in depths.items()} == {"": 0, "a": 1, "lonely": None}


def test_ours_a_question_that_does_not_exist_is_answered_with_those_it_resembles(tmp_path: Path) -> None:
    ran = siteatlas(tmp_path, "query", "--named", "dead-links")
    assert ran.code == 2
    assert 'no question \'dead-links\'. Did you mean "dead-ends" or "broken-links" or ' in ran.err
    assert "siteatlas query --list shows the names" in siteatlas(tmp_path, "query", "--named", "404").err


@pytest.mark.thorough
def test_ours_explore_says_that_it_reads_the_pages_of_a_large_run(tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    for number in range(520):
        (tmp_path / "site" / f"{number}.html").write_text(f"<title>{number}</title>Page {number}")
    (tmp_path / "site" / "index.html").write_text("".join(f"<a href={number}.html>x</a>" for number in range(520)))
    assert siteatlas(tmp_path, "crawl", "https://a.example/", "--source", "site", "-o", "out", *FAST).code == 0
    with socket.create_server(("127.0.0.1", 0)) as taken:
        ran = siteatlas(tmp_path, "explore", "--port", str(taken.getsockname()[1]))
    assert (ran.code, ran.err.splitlines()[0].partition(" of the run")[0]) == (2, "siteatlas: Reading the pages")


def test_ours_the_sql_of_a_question_can_be_read(tmp_path: Path) -> None:
    ran = siteatlas(tmp_path, "query", "--named", "deep-pages", "--show-sql")
    assert ran.code == 0
    assert "depth > 4" in ran.out


def test_ours_an_export_into_a_file_of_one_table_says_what_to_do(tmp_path: Path) -> None:
    ran = siteatlas(tmp_path, "export", "-o", "pages.csv")
    assert (ran.code, ran.out) == (2, "")
    assert "siteatlas query prints with --format csv" in ran.err
    assert not (tmp_path / "pages.csv").exists()


def test_ours_questions_use_the_configuration_beside_them(process: Forked, tmp_path: Path) -> None:
    with scripted({"/": "<title>Start</title>Text"}) as site:
        text = f'[site]\nurl = "{site.url}"\n[output]\ndirectory = "out"\n[state]\ndirectory = "kept/here"\n'
        (tmp_path / "siteatlas.toml").write_text(text, encoding="utf-8")
        assert process.run(tmp_path, 0, "run", *AT_ONCE).status == 0
        assert process.run(tmp_path, 0, "run", *AT_ONCE).status == 0
        for words in (
            ("query", "SELECT title FROM pages"),
            ("query", site.url, "SELECT title FROM pages", "--state", "kept/here"),
            ("why", site.url),
            ("compare",),
            ("export", "-o", "tables.sqlite"),
        ):
            ended = process.run(tmp_path, 0, *words)
            assert ended.status == 0, ended.said
        assert "state directory .siteatlas has no state" in process.run(tmp_path, 0, "query", site.url, "SELECT 1").said
        assert "elsewhere contains no state" in process.run(tmp_path, 0, "why", site.url, "--state", "elsewhere").said


# the last one, because Playwright runs an event loop until the end of the module
@pytest.mark.filterwarnings("ignore:unclosed database:ResourceWarning")
@pytest.mark.thorough
@pytest.mark.needs_chromium
def test_ours_what_takes_long_arrives_in_the_page(
    crawled: tuple[Path, str], browser: "Browser", monkeypatch: pytest.MonkeyPatch
) -> None:
    import uvicorn
    from browsing import opened

    from crawler.dataset.explore import build_explorer, one_time_link

    explorer = build_explorer({"site": state_of(crawled[0])})
    with socket.create_server(("127.0.0.1", 0)) as listening, opened(browser, "http://127.0.0.1:") as open_:
        server = uvicorn.Server(uvicorn.Config(explorer.app(), log_level="warning"))
        serving = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        serving.start()
        place = f"http://127.0.0.1:{listening.getsockname()[1]}"
        page = open_(one_time_link(explorer, place))
        for parts in ("count(*)",), ("select rowid", "count(*)"):
            with slow(monkeypatch, *parts):
                page.goto(f"{place}/site/pages?words__gt={len(parts)}")
                assert page.locator(".later").count() == 1
                page.locator(".facet-results a").first.wait_for()
                assert page.locator(".later, .not-counted").count() == 0
                assert "rows where words" in page.locator("main > h3").inner_text()
                assert "rows where words" in page.title()
                assert page.locator("table.rows-and-columns").count() == 1
        server.should_exit = True
        serving.join()
    del explorer, server, serving
    gc.collect()  # here, where its connections are forgiven
