"""Two crawls compared: each planted regression is one row, and noise is none."""

import json
import random
import shutil
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import anyio
import pytest
from forked import Forked
from run import FAST, NIGHTLY
from scripted import Answer, scripted

from crawler.dataset.compare import FIELDS, SWAPPED, ComparedPage, compare
from crawler.dataset.history import LINK, pages_at
from crawler.dataset.schema import DATASET

SECTIONS = ("docs", "shop", "blog", "help", "news")
Values = dict[str, str | int | None]


def crawled(seed: int) -> dict[str, Values]:
    """A crawl of 5,000 pages."""
    dice = random.Random(seed)
    pages: dict[str, Values] = {}
    for number in range(5_000):
        section = SECTIONS[number % len(SECTIONS)]
        url = f"https://a.example/{section}/{number}"
        name = dice.randbytes(4).hex()
        pages[url] = {
            "state": "indexable", "status": 200, "depth": dice.randint(2, 5), "robots": "", "canonical": url,
            "title": f"Page {name} of the {section} | A", "description": f"About {name}", "h1": f"Page {name}",
            "language": "en", "content_type": "text/html", "target": None, "words": dice.randint(200, 900),
            "inlinks": dice.randint(30, 90), "outlinks": dice.randint(40, 60), "external_outlinks": dice.randint(4, 9),
            "images": dice.randint(3, 9), "alternates": 4, "h1_count": 1,
        }  # fmt: skip
    assert {*next(iter(pages.values()))} == {*FIELDS}
    return pages


def of(section: str, name: str, change: Callable[[Values], str | int | None]) -> Callable[[dict[str, Values]], None]:
    def strike(pages: dict[str, Values]) -> None:
        for url, values in pages.items():
            if f"/{section}/" in url:
                values[name] = change(values)

    return strike


REGRESSIONS = {
    "noindex": of("docs", "robots", lambda _: "noindex"),
    "state": of("docs", "state", lambda _: "noindex"),
    "server error": of("shop", "state", lambda _: "server error"),
    "temporary redirect": of("shop", "status", lambda _: 302),
    "canonical to home": of("blog", "canonical", lambda _: "https://a.example/"),
    "canonical lost": of("blog", "canonical", lambda _: None),
    "canonical to http": of("help", "canonical", lambda old: str(old["canonical"]).replace("https", "http")),
    "title without its end": of("news", "title", lambda old: str(old["title"]).replace(" | A", "")),
    "title lost": of("news", "title", lambda _: ""),
    "title the same": of("shop", "title", lambda _: "Untitled"),
    "title with a placeholder": of("shop", "title", lambda old: f"{{{{ title }}}} {old['title']}"),
    "description lost": of("docs", "description", lambda _: ""),
    "description the same": of("docs", "description", lambda _: "Welcome to our site"),
    "heading lost": of("blog", "h1", lambda _: ""),
    "two headings": of("blog", "h1_count", lambda _: 4),
    "no heading": of("blog", "h1_count", lambda _: 0),
    "language": of("help", "language", lambda _: "de"),
    "type": of("help", "content_type", lambda _: "text/plain"),
    "text lost": of("news", "words", lambda old: int(old["words"] or 0) // 5),
    "deeper": of("news", "depth", lambda old: int(old["depth"] or 0) + 3),
    "fewer links to it": of("shop", "inlinks", lambda old: int(old["inlinks"] or 0) // 9),
    "fewer links": of("shop", "outlinks", lambda old: int(old["outlinks"] or 0) // 4),
    "spam links": of("docs", "external_outlinks", lambda old: int(old["external_outlinks"] or 0) + 40),
    "pictures lost": of("docs", "images", lambda _: 0),
    "hreflang lost": of("blog", "alternates", lambda _: 0),
}


def noisy(pages: dict[str, Values], dice: random.Random) -> None:
    """What changes from crawl to crawl without anybody: nonces, counters, boxes that rotate, a few edits of length."""
    for values in pages.values():
        values["title"] = f"{values['title']} ({dice.randint(1, 99)})"
        values["words"] = int(values["words"] or 0) + dice.randint(-30, 30)
        values["inlinks"] = sum(dice.random() < int(values["inlinks"] or 0) / 90 for _ in range(90))
        values["outlinks"] = int(values["outlinks"] or 0) + dice.randint(-3, 3)
        values["images"] = max(1, int(values["images"] or 0) + dice.randint(-2, 2))
        values["depth"] = int(values["depth"] or 0) + dice.choice((0, 0, 0, 1))


def found(before: dict[str, Values], after: dict[str, Values]) -> list[tuple[str, str, int]]:
    pages = [[ComparedPage(url, values) for url, values in crawl.items()] for crawl in (before, after)]
    return [(group.field, group.cause, group.pages) for group in compare(*pages, is_whole=True).groups]


@pytest.mark.parametrize("name", REGRESSIONS)
def test_ours_a_planted_regression_is_one_row(name: str) -> None:
    before, after = crawled(1), crawled(1)
    for values in before.values():
        values["title"] = f"{values['title']} (7)"
    noisy(after, random.Random(name))
    REGRESSIONS[name](after)
    groups = found(before, after)
    assert len(groups) == 1, groups
    assert 900 <= groups[0][2] <= 1_000


def undone(before: dict[str, Values], after: dict[str, Values]) -> list[tuple[str, str, int]]:
    """What differs between two runs of one state that saw this, by the history."""
    names = [name for name in FIELDS if name not in {"depth", "inlinks"}]
    rows: list[tuple[object, ...]] = []
    for url, old in before.items():
        new = after[url]
        rows += [(2, url, name, old[name], new[name]) for name in names if old[name] != new[name]]
        lost = int(old["inlinks"] or 0) - int(new["inlinks"] or 0)
        link = (url, None) if lost > 0 else (None, url)
        swapped = [(url, None), (None, url)] * 5  # boxes draw other links, and not only fewer or more
        rows += [(2, f"https://a.example/from/{n}", LINK, *each) for n, each in enumerate([link] * abs(lost) + swapped)]
    with closing(DATASET.empty()) as tables:
        tables.executemany("INSERT INTO history VALUES (?, ?, ?, ?, ?)", rows)
        columns, places = ", ".join(FIELDS), ", ".join("?" * len(FIELDS))
        shown = ((url, *(values[name] for name in FIELDS)) for url, values in after.items())
        tables.executemany(f"INSERT INTO pages (url, {columns}) VALUES (?, {places})", shown)
        past, present = (dict(pages_at(tables, run, FIELDS)) for run in (1, 2))
    return found(past, present)


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[] if name == "fewer links to it" else pytest.mark.thorough) for name in REGRESSIONS],
)
def test_ours_a_planted_regression_is_one_row_by_the_history_of_one_state(name: str) -> None:
    before, after = crawled(1), crawled(1)
    for values in before.values():
        values["title"] = f"{values['title']} (7)"
    noisy(after, random.Random(name))
    REGRESSIONS[name](after)
    groups = undone(before, after)
    if name == "deeper":  # a past depth follows from links, which these tables do not have
        assert groups == []
        return
    assert len(groups) == 1, groups
    assert 900 <= groups[0][2] <= 1_000


@pytest.mark.parametrize(("came", "went", "told"), [(0, 22, True), (0, 6, False), (14, 36, False), (10, 50, True)])
def test_ours_links_that_went_are_told_unless_boxes_may_draw_as_many(came: int, went: int, *, told: bool) -> None:
    before, after = crawled(5), crawled(5)
    for seed, crawl in enumerate((before, after)):
        noisy(crawl, random.Random(seed))
    url = "https://a.example/docs/0"
    before[url]["inlinks"], after[url]["inlinks"] = 500, 500 + came - went
    assert found(before, after) == []  # of two crawls, nobody knows which links came and went
    before[url][SWAPPED["inlinks"]] = came + went
    assert found(before, after) == ([("inlinks", "fewer", 1)] if told else [])


@pytest.mark.parametrize("name", ["outlinks", "words", "images"])
def test_ours_what_few_pages_lost_is_told_where_no_box_draws(name: str) -> None:
    before, after = crawled(5), crawled(5)
    urls = [*before][:9]
    for url in urls:
        before[url][name], after[url][name] = 25, 20
    assert found(before, after) == [(name, "fewer", 9)]
    for number, url in enumerate(before):
        before[url][name], after[url][name] = 25, 20 + number // 5 % 11
    assert found(before, after) == []


def test_ours_what_all_pages_of_a_section_lost_is_told_although_boxes_draw() -> None:
    before, after = crawled(5), crawled(5)
    for seed, crawl in enumerate((before, after)):
        noisy(crawl, random.Random(seed))
    of("docs", "images", lambda values: max(1, int(values["images"] or 0) - 3))(after)
    of("help", "h1_count", lambda _: 2)(after)
    assert [(field, cause) for field, cause, _ in found(before, after)] == [("h1_count", "more"), ("images", "fewer")]


def test_ours_a_value_of_one_page_is_shown_and_a_redirect_to_nothing_is_no_move() -> None:
    before, after = crawled(6), crawled(6)
    urls = [url for url in before if "/docs/" in url]
    after[urls[0]]["robots"] = "noindex, nofollow"
    for crawl, text in (before, "https://a.example/x/1"), (after, "http://a.example/x/1"):
        crawl[urls[1]]["canonical"] = text
    none = dict.fromkeys(FIELDS)
    for url in urls[2:5]:
        after[url] = none | {"state": "redirect", "status": 301, "target": f"{url}/gone"}
        after[f"{url}/gone"] = none | {"state": "client error", "status": 404}
    for url in urls[5:9]:
        after[url] = none | {"state": "redirect", "status": 301, "target": "https://a.example/"}
    assert found(before, after) == [
        ("pages", "moved: to /", 4),
        ("pages", "gone, and redirects to a page that is not there", 3),
        ("robots", 'now "noindex, nofollow"', 1),
        ("canonical", '"https://a.example/x/1" → "http://a.example/x/1"', 1),
    ]


@pytest.mark.parametrize(
    ("change", "cause"),
    [
        (lambda title: f"{title} | Shop", 'with " | Shop"'),
        (lambda title: f"Shop: {title}", 'with "Shop: "'),
        (lambda title: title.replace("boats", "boat"), '"boats" → "boat"'),
    ],
)
def test_ours_words_that_came_to_texts_of_any_words_are_one_cause(change: Callable[[str], str], cause: str) -> None:
    before, after = crawled(5), crawled(5)
    dice = random.Random(9)
    for url in [url for url in before if "/docs/" in url]:
        before[url]["title"] = " ".join(dice.sample(["oak", "sails", "rope", "hull", "mast"], 3)) + " boats rot"
        before[url]["title"] = f"{before[url]['title']} {dice.choice(['here', 'there', 'at sea'])}"
        after[url]["title"] = change(str(before[url]["title"]))
    assert found(before, after) == [("title", cause, 1000)]


def test_ours_noise_is_no_row() -> None:
    before, after = crawled(2), crawled(2)
    noisy(before, random.Random(1))
    noisy(after, random.Random(2))
    assert found(before, after) == []


def test_ours_a_canonical_that_differs_in_a_number_alone_names_another_page() -> None:
    before, after = crawled(4), crawled(4)
    of("docs", "canonical", lambda _: "https://a.example/docs/5")(after)
    ((field, cause, pages),) = found(before, after)
    assert (field, cause, pages) == ("canonical", 'now "https://a.example/docs/5"', 999)


def test_ours_a_page_that_a_partial_crawl_did_not_see_is_not_gone() -> None:
    pages = [ComparedPage(url, values) for url, values in list(crawled(3).items())[:10]]
    assert compare(pages, pages[:5], is_whole=False).gone is None
    assert compare(pages, pages[:5], is_whole=False).groups == []
    assert compare(pages, pages[:5], is_whole=True).gone == 5


def test_ours_links_that_lead_to_nothing_now_are_one_cause_and_a_partial_crawl_breaks_none() -> None:
    page: Values = {**dict.fromkeys(FIELDS), "state": "indexable", "status": 200, "inlinks": 3}
    gone: Values = {**page, "state": "client error", "status": 404}
    away: Values = {**page, "state": "redirect", "status": 301, "target": "https://a.example/docs/gone"}
    circle: Values = {**away, "target": "https://a.example/docs/circle"}
    names = ("kept", "gone", "away", "unlinked", "long gone", "circle")
    before = {f"https://a.example/docs/{name}": page for name in names} | {"https://a.example/docs/long gone": gone}
    ends = {"gone": gone, "away": away, "unlinked": {**gone, "inlinks": 0}, "long gone": gone, "circle": circle}
    after = before | {f"https://a.example/docs/{name}": end for name, end in ends.items()}
    after["https://a.example/docs/mistyped"] = {**gone, "inlinks": 1}
    assert ("broken-links", "a missing page now, the target of 7 links", 3) in found(before, after)
    sides = [[ComparedPage(url, values) for url, values in crawl.items()] for crawl in (before, after)]
    result = compare(*sides, is_whole=False, was_whole=False, lists_all=True)
    (group,) = (group for group in result.groups if group.field == "broken-links")
    assert [tuple(page) for page in group.all] == [
        ("https://a.example/docs/away", "indexable", "https://a.example/docs/gone"),
        ("https://a.example/docs/gone", "indexable", "client error"),
    ]
    unseen = compare(sides[0], [page for page in sides[1] if page.url.endswith("kept")], is_whole=False)
    assert not unseen.groups


def test_ours_pages_that_left_are_one_line_and_a_page_that_nothing_links_to_is_told() -> None:
    before, after = crawled(6), crawled(6)
    none = dict.fromkeys(FIELDS) | {"title": "", "h1": "", "inlinks": 0}
    for number in range(10):
        old = f"https://a.example/blog/{5 * number + 2}"
        after[old] = none | {"state": "redirect", "status": 301, "target": old.replace("blog", "news/all")}
    after["https://a.example/docs/0"] = none | {"state": "client error", "status": 404}
    del after["https://a.example/docs/5"]
    before["https://a.example/shop/1"]["inlinks"] = after["https://a.example/help/3"]["inlinks"] = 0
    for crawl in (before, after):
        crawl["https://a.example/shop/1"]["inlinks"] = crawl["https://a.example/shop/1"]["inlinks"] and 1
        crawl["https://a.example/help/3"]["inlinks"] = crawl["https://a.example/help/3"]["inlinks"] and 2
    assert found(before, after) == [
        ("pages", "moved: /blog/ → /news/all/", 10),
        ("pages", "gone", 1),
        ("pages", "gone, but not requested: nothing leads there now", 1),
        ("inlinks", "none now", 1),
        ("inlinks", "were none", 1),
    ]
    pages = [[ComparedPage(url, values) for url, values in crawl.items()] for crawl in (before, after)]
    whole = compare(*pages, is_whole=True)
    assert (whole.gone, whole.unasked, whole.moved) == (2, 1, 10)


def test_ours_what_has_one_cause_is_one_row_with_its_numbers_and_what_costs_most_comes_first() -> None:
    before, after = crawled(6), crawled(6)
    urls = [url for url in before if "/docs/" in url]
    after[urls[0]] |= {"state": "noindex", "robots": "noindex"}
    after[urls[1]] |= {
        "state": "canonical elsewhere",
        "canonical": "https://a.example/",
        "target": "https://a.example/",
    }
    after[urls[2]] |= {"h1": "", "h1_count": 0}
    before[urls[3]]["description"], after[urls[3]]["description"] = "One", "Other"
    for url, words in zip(urls[4:7], (70, 90, 80), strict=True):
        before[url]["words"], after[url]["words"] = 400, words
    start = '"https://a.example/"'
    moved = f'"{urls[1]}" → {start}'
    pages = [[ComparedPage(url, values) for url, values in crawl.items()] for crawl in (before, after)]
    groups = compare(*pages, is_whole=True).groups
    assert [f"{group.field}: {group.words}" for group in groups] == [
        "words: fewer (median 400 → 80)",
        f"state: indexable → canonical elsewhere; canonical: {moved}; target: now {start}",
        'state: indexable → noindex; robots: now "noindex"',
        'description: "One" → "Other"',
        "h1: is empty now; h1_count: none now",
    ]
    assert groups[2].fields == {"state", "robots"}


def test_ours_a_page_that_moved_alone_is_named_as_it_is() -> None:
    before, after = crawled(6), crawled(6)
    old = "https://a.example/docs/0.html"
    before[old] = dict(before["https://a.example/docs/0"])
    after[old] = dict.fromkeys(FIELDS) | {"state": "redirect", "status": 301, "target": "https://a.example/"}
    assert found(before, after) == [("pages", "moved: /docs/0.html → /", 1)]


def test_ours_two_exports_are_compared_with_other_hosts(process: Forked, tmp_path: Path) -> None:
    words = (
        *FAST,
        "--render",
        "never",
        "--set=output.swap_delay=0",
        "--set=fetch.retries=0",
        "--set=fetch.not_found_checks=0",
    )
    hosts = []
    for name, robots in (("live", ""), ("staging", '<meta name="robots" content="noindex">')):
        with scripted({}) as site:
            head = f"<title>Boats</title>{robots}"
            site.routes = {"/": "<title>Home</title><a href=/a>a</a><a href=/b>b</a>", "/a": head, "/b": head}
            site.routes["/new"] = Answer("<title>New</title>")
            if name == "staging":
                site.routes["/"] = "<title>Home</title><a href=/a>a</a><a href=/b>b</a><a href=/new>n</a>"
            hosts.append(site.url.rstrip("/"))
            process.run(tmp_path, 0, "crawl", site.url, *words, "--state", name, "-o", f"out-{name}")
            ended = process.run(tmp_path, 0, "export", "--state", name, "-o", f"{name}.sqlite")
            assert ended.status == 0, ended.said
    mapped = ("--map", "=".join(hosts))
    ended = process.run(tmp_path, 1, "compare", "live.sqlite", "staging", *mapped, "--fail-on", "robots")
    assert ended.status == 10, ended.said
    assert 'robots: now "noindex", under /' in ended.said
    assert "1 new page" in ended.said
    assert "--map" not in ended.said
    (tmp_path / "both").mkdir()
    for name in ("live", "staging"):
        (state,) = (tmp_path / name).iterdir()
        shutil.copytree(state, tmp_path / "both" / state.name)
    sides = [f"{host}/" for host in hosts]
    assert "1 new page" in process.run(tmp_path, 1, "compare", *sides, *mapped, "--state", "both").said
    hint = f"add --map {hosts[0]}={hosts[1]}"
    assert hint in process.run(tmp_path, 1, "compare", "live.sqlite", "staging").said
    same = process.run(tmp_path, 1, "compare", "live.sqlite", "live.sqlite", "--fail-on", "any")
    assert (same.status, "nothing else differs" in same.said) == (0, True)
    process.run(tmp_path, 1, "export", "--state", "live", "-o", "part.sqlite", "-t", "pages")
    (tmp_path / "text.sqlite").write_text("no database")
    for name, status in (("part.sqlite", 2), ("text.sqlite", 7)):
        refused = process.run(tmp_path, 1, "compare", name, "live")
        assert refused.status == status, refused.said
        assert "xport the crawl again" in refused.said
    for words in (("nowhere.sqlite", "live"), ("live", "live", "--map", "x"), ("live", "live", "--fail-on", "x")):
        assert process.run(tmp_path, 1, "compare", *words).status == 2


def test_ours_two_runs_of_one_state_are_compared(process: Forked, tmp_path: Path) -> None:
    words = (*NIGHTLY, "--render", "never", "--set=fetch.not_found_checks=0")
    head = "<title>{}</title><meta name=robots content={}>"
    paths = [f"/shop/{n}" for n in range(4)]
    with scripted({"/": "".join(f"<a href={path}>x</a>" for path in paths)}) as site:
        for night, robots in enumerate(("all", "all", "noindex")):
            site.routes |= {path: head.format(path, robots) for path in paths}
            process.run(tmp_path, night, "crawl", site.url, *words, "--accept-shrink")
        refused = process.run(tmp_path, 3, "compare", "--state", "nowhere")
        assert refused.status == 2
        process.run(tmp_path, 3, "export", "--state", "state", "-o", "kept.sqlite")
    said = 'robots: "all" → "noindex", under /shop/'
    for sides in (
        (),
        ("2", "3"),
        ("state@2", "state@3"),
        ("state@1",),
        ("kept.sqlite@2", "state"),
        (site.url, "2"),
        ("2", site.url),
        (site.url, site.url),
    ):
        ended = process.run(tmp_path, 3, "compare", *sides, "--state", "state", "--fail-on", "robots")
        assert (ended.status, said in ended.said) == (10, True), (sides, ended.said)
        assert "4  state: indexable → noindex" in ended.said
        of_one_state = "@" not in " ".join(sides)
        assert ("in the sitemap: 4 deindexed\n\ndeindexed\n  " in ended.said) == of_one_state
    same = process.run(tmp_path, 3, "compare", "1", "2", "--state", "state", "--fail-on", "any")
    assert same.status == 0
    assert "run 1 (2026-01-01 00:00 UTC) to run 2 (2026-01-02 00:00 UTC)" in same.said
    for sides, why in (
        (("1", "7"), "has the runs 1, 2, 3"),
        (("1", "2", "3"), "too many"),
        (("kept.sqlite@9",), "run 9"),
    ):
        ended = process.run(tmp_path, 3, "compare", *sides, "--state", "state")
        assert (ended.status, why in ended.said) == (2, True), ended.said
    page = process.run(tmp_path, 3, "compare", "--state", "state", "--format", "html").said
    assert "<td>indexable → noindex; robots: &#34;all&#34; → &#34;noindex&#34;</td>" in page
    assert f'<a href="{site.url}shop/0" rel="noreferrer">' in page
    assert "<td>meta robots &#34;noindex&#34;</td>" in page
    assert "://" not in page.replace(site.url, "")
    listed = process.run(tmp_path, 3, "compare", "--state", "state", "--all").said
    assert f'{site.url}shop/3 indexable → noindex; robots: "all" → "noindex" ' in " ".join(listed.split())
    page = process.run(tmp_path, 3, "compare", "--state", "state", "--format", "html", "--all").said
    assert f"{site.url}shop/3</a> indexable → noindex<br>" in page
    facts = json.loads(process.run(tmp_path, 3, "compare", "--state", "state", "--format", "json", "--all").said)
    assert [page[1:] for page in facts["groups"][0]["all"]] == [["indexable", "noindex"]] * 4
    facts = json.loads(process.run(tmp_path, 3, "compare", "--state", "state", "--format", "json").said)
    assert (facts["before"][:5], facts["both"], facts["sitemap"]["counts"]["deindexed"]) == ("run 2", 5, 4)
    assert facts["sitemap"]["changes"][0]["reason"] == 'meta robots "noindex"'
    (state,) = (tmp_path / "state").iterdir()
    answer = anyio.run(compared, state, {})
    (first, *_) = answer.structured_content["rows"]
    assert (answer.structured_content["run"], first[2:4]) == ("run 2 to run 3, complete", [4, "/shop/"])
    assert anyio.run(compared, state, {"before": 1, "after": 2}).structured_content["rows"] == []
    assert "cannot be compared" in str(anyio.run(compared, state, {"before": 1, "after": 9}).content)


async def compared(state: Path, words: dict[str, int]) -> Any:
    """What an assistant hears."""
    from mcp import Client

    from crawler.dataset.assistant import build_server

    async with Client(build_server({"one": state})) as client:
        return await client.call_tool("compare", words)
