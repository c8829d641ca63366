"""What bots do, in the reports of an audit of a served site: the same as a plain script counts from its log."""

import csv
import gzip
import json
import random
from collections import Counter
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import ZipFile

import pytest
from audited import FAST, Command, in_process, page, pages, sitemap
from scripted import Answer, Route, scripted
from selectolax.lexbor import LexborHTMLParser

AGENTS = {
    "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)": ("Googlebot", "search engines"),
    "Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)": ("bingbot", "search engines"),
    "Mozilla/5.0 (compatible; GPTBot/1.2; +https://openai.com/gptbot)": ("GPTBot", "AI training"),
    "Mozilla/5.0 (compatible; PerplexityBot/1.0; +https://perplexity.ai/perplexitybot)": ("PerplexityBot", "AI search"),
    "Mozilla/5.0 (compatible; ChatGPT-User/1.0; +https://openai.com/bot)": ("ChatGPT-User", "AI user requests"),
    "Mozilla/5.0 (compatible; AhrefsBot/7.0; +http://ahrefs.com/robot/)": ("AhrefsBot", "other bots"),
    "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0": ("", ""),
}
STATES = {"/moved": "redirect", "/gone": "client error", "/hidden": "noindex", "/style.css": "files"}
DEPTHS = {"/": 0, "/shop/": 1, "/blog/": 1, "/about": 1} | {
    f"/{part}/{n}": 2 for part in ("shop", "blog") for n in range(6)
}


class Visit(NamedTuple):
    """A drawn request."""

    day: str
    path: str
    status: int
    name: str
    kind: str


def site() -> dict[str, Route]:
    """Two sections, a page in none of them, and URLs that cannot be indexed."""
    routes = pages() | {
        "/": page("/shop/", "/blog/", "/about", "/moved", "/gone", "/hidden"),
        "/about": page("/"),
        "/hidden": page("/", head='<meta name="robots" content="noindex">'),
        "/moved": Answer("", 301, {"Location": "/about"}),
        "/gone": Answer("", 404),
        "/style.css": Answer("p {}", headers={"Content-Type": "text/css"}),
        "/sitemap.xml": sitemap("", "shop/", "blog/", "about", *(f"shop/{n}" for n in range(6))),
    }
    for part in ("shop", "blog"):
        routes[f"/{part}/"] = page("/", *(f"/{part}/{n}" for n in range(6)))
        routes |= {f"/{part}/{n}": page("/") for n in range(6)}
    for path in ("/hub/", "/hub/one", "/hub/two", "/plain", "/lost", "/asked", "/robots.txt"):
        del routes[path]
    return routes


def draw(seed: int, days: int) -> Iterator[tuple[Visit, str]]:
    """Requests and their lines. Some pages are left out, others only by search engines."""
    draw = random.Random(seed)
    left_out = draw.sample([path for path in DEPTHS if DEPTHS[path] == 2], 4)
    for number in range(600):
        day = date(2026, 9, 1) + timedelta(days=number * days // 600)
        agent = draw.choice(list(AGENTS))
        name, kind = AGENTS[agent]
        path = draw.choice([*DEPTHS, *STATES])
        if path in left_out and kind == "search engines":
            path = "/"
        status = {"/moved": 301, "/gone": 404}.get(path, draw.choice([200, 200, 304]))
        when = f"{day:%d/%b/%Y}:10:00:00 +0000"
        text = f'192.0.2.7 - - [{when}] "GET {path} HTTP/1.1" {status} 512 "-" "{agent}"\n'
        yield Visit(f"{day:%Y-%m-%d}", path, status, name, kind), text


@pytest.fixture
def siteatlas(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Command]:
    with in_process(tmp_path, monkeypatch, capsys) as command:
        yield command


def written(seed: int, days: int) -> list[Visit]:
    """Writes two logs, one of them packed; returns the requests of bots in them."""
    visits, lines = zip(*draw(seed, days), strict=True)
    Path("logs").mkdir()
    Path("logs/access.log").write_text("".join(lines[400:]))
    Path("logs/access.log.1.gz").write_bytes(gzip.compress("".join(lines[:400]).encode()))
    return [visit for visit in visits if visit.name]


def kinds(visits: list[Visit]) -> dict[str, int]:
    return dict(Counter(visit.kind for visit in visits))


def of_section(path: str) -> str:
    return f"/{path.split('/')[1]}/" if path.count("/") > 1 else "/"


def bots() -> dict[str, Any]:
    told: dict[str, Any] = json.loads(Path("out/audit.json").read_bytes())["bots"]
    return told


@pytest.mark.parametrize("seed", [3, 17])
def test_ours_bot_activity_is_what_a_plain_script_counts(siteatlas: Command, seed: int) -> None:
    visits = written(seed, 40)
    segment = ("--set=audit.segments.shop=/shop/*",)
    with scripted(site()) as served:
        ran = siteatlas("audit", served.url, "--log", "logs", *segment, "-o", "out", *FAST)
    assert ran.code == 0, ran.err
    told = bots()
    by_day = {each["day"]: each["requests"] for each in told["by_day"]}
    assert {day: by_day[day] for day in by_day if by_day[day]} == {
        day: kinds([visit for visit in visits if visit.day == day]) for day in {visit.day for visit in visits}
    }
    assert {(each["name"], status): n for each in told["bots"] for status, n in each["statuses"].items()} == Counter(
        (visit.name, str(visit.status)) for visit in visits
    )
    assert told["total"]["requests"] == kinds(visits)
    assert told["total"]["days"] == 40

    pages_of = [visit for visit in visits if visit.path != "/style.css"]
    sections = {each["label"]: each for each in told["sections"]}
    assert sections.keys() == {"/", "/shop/", "/blog/"}
    crawled = {visit.path for visit in visits if visit.kind == "search engines"}
    for name, each in sections.items():
        inside = [path for path in DEPTHS if of_section(path) == name]
        assert (each["pages"], each["crawled"]) == (len(inside), len(crawled.intersection(inside)))
        assert each["requests"] == kinds([visit for visit in pages_of if of_section(visit.path) == name])
    (shop,) = (each for each in told["segments"] if each["label"] == "shop")
    assert shop["requests"] == kinds([visit for visit in visits if visit.path.startswith("/shop/")])
    for each in told["depths"]:
        inside = [path for path in DEPTHS if str(DEPTHS[path]) == each["label"]]
        assert (each["pages"], each["crawled"]) == (len(inside), len(crawled.intersection(inside)))
        assert each["requests"] == kinds([visit for visit in visits if visit.path in inside])
    states = {each["label"].partition(" ")[0]: each["requests"] for each in told["states"]}
    states["files"] = states.pop("images,")
    for state in ("redirect", "client error", "noindex", "files"):
        assert states[state.partition(" ")[0]] == kinds([v for v in visits if STATES.get(v.path) == state])
    searches = [visit for visit in pages_of if visit.kind == "search engines"]
    assert (told["total"]["to_pages"], told["total"]["wasted"]) == (
        len(searches),
        sum(visit.path in STATES for visit in searches),
    )

    uncrawled = DEPTHS.keys() - crawled
    rows = list(csv.DictReader(Path("out/csv/uncrawled.csv").read_text("utf-8-sig").splitlines()))
    assert {row["URL"].removeprefix(served.url[:-1]) for row in rows} == uncrawled
    assert len(rows) >= 4
    assert {row["In a sitemap"] for row in rows if "/blog/" in row["URL"]} <= {"no"}
    assert "bot activity" in ran.out
    assert f"search engines crawled {len(crawled & DEPTHS.keys())} of {len(DEPTHS)} indexable pages" in ran.out
    with ZipFile("out/audit.xlsx") as book:
        assert b"Not crawled" in book.read("xl/workbook.xml")


def test_ours_a_short_log_reports_no_page_as_not_crawled_and_says_why(siteatlas: Command) -> None:
    written(5, 29)
    with scripted(site()) as served:
        ran = siteatlas("audit", served.url, "--log", "logs", "-o", "out", *FAST)
        assert (
            bots()["why_not_checked"] == "the access logs have requests on 29 days only, and audit.min_log_days is 30"
        )
        assert "bots.uncrawled" not in ran.out
        assert Path("out/csv/uncrawled.csv").exists()
        assert not Path("out/csv/bots.uncrawled.csv").exists()
        ran = siteatlas("audit", served.url, "--log", "logs", "--set=audit.min_log_days=29", "-o", "out", *FAST)
        assert "bots.uncrawled" in ran.out
    told = json.loads(Path("out/audit.json").read_bytes())
    assert [point["bots"] for point in told["history"]] == [told["bots"]["total"]] * 2
    html = LexborHTMLParser(Path("out/audit.html").read_bytes())
    assert len(html.css("[aria-labelledby=bot-trend-head] tbody tr")) == 2
    assert html.css_first("[aria-labelledby=trend-head] svg") is not None


def test_ours_without_bots_in_the_log_nothing_is_said_of_them(siteatlas: Command) -> None:
    Path("a.log").write_text(
        '192.0.2.7 - - [21/Nov/2026:10:00:00 +0000] "GET / HTTP/1.1" 200 5 "-" "Mozilla/5.0 Firefox"\n'
    )
    with scripted(site()) as served:
        ran = siteatlas("audit", served.url, "--log", "a.log", "-o", "out", *FAST)
    assert ran.code == 0, ran.err
    assert bots() is None
    assert "\nbot activity\n" not in ran.out
    assert "the access logs have no request of a bot" in ran.out
    assert 'id="bots"' not in Path("out/audit.html").read_text()


def test_openai_the_reports_say_which_names_of_bots_the_published_addresses_checked(siteatlas: Command) -> None:
    written(5, 29)
    published = {"creationTime": "2026-11-01T10:00:00.000000", "prefixes": [{"ipv4Prefix": "192.0.2.0/28"}]}
    Path("gptbot.json").write_text(json.dumps(published))
    file = "--set=audit.bot_addresses.GPTBot=gptbot.json"
    with scripted(site()) as served:
        ran = siteatlas("audit", served.url, "--log", "logs", file, "-o", "out", *FAST)
    assert "GPTBot is verified by the addresses that its operator published on 2026-11-01" in ran.out
    assert "names checked: GPTBot; those of other bots are not" in ran.out
    html = LexborHTMLParser(Path("out/audit.html").read_bytes())
    rows = [row.text() for row in html.css("tr") if row.css_first("small")]
    assert ["GPTBot" in row for row in rows if "verified" in row] == [True]


def test_ours_a_log_that_is_read_in_part_makes_no_page_surely_left_out(siteatlas: Command) -> None:
    written(9, 40)
    packed = Path("logs/access.log.1.gz")
    packed.write_bytes(packed.read_bytes()[:-30])
    with scripted(site()) as served:
        ran = siteatlas("audit", served.url, "--log", "logs", "-o", "out", *FAST)
    assert ran.code == 0, ran.err
    findings = json.loads(Path("out/audit.json").read_bytes())["findings"]
    assert {each["certainty"] for each in findings if each["rule"] == "bots.uncrawled"} == {"inconclusive"}


def test_ours_a_copy_of_a_crawled_page_and_a_page_from_after_the_logs_are_not_left_out(siteatlas: Command) -> None:
    visits = written(3, 40)
    crawled = next(visit.path for visit in visits if visit.kind == "search engines" and DEPTHS.get(visit.path) == 2)

    def left_out() -> set[str]:
        ran = siteatlas("audit", served.url, "--log", "logs", "-o", "out", *FAST)
        assert ran.code == 0, ran.err
        findings = json.loads(Path("out/audit.json").read_bytes())["findings"]
        return {each["url"].removeprefix(served.url) for each in findings if each["rule"] == "bots.uncrawled"}

    with scripted(site()) as served:
        before = left_out()
        served.routes["/about"] = page("/", "/blog/copy", "/blog/fresh")
        served.routes |= {"/blog/copy": served.routes[crawled], "/blog/fresh": page("/", "/about")}
        assert left_out() == before  # both are new
        Path("out/audit.json").unlink()
        siteatlas("audit", served.url, "--log", "logs", "--fresh", "-o", "out", *FAST)
        assert left_out() == before | {"blog/fresh"}  # now nobody knows since when it is there
