"""Moves of sites: the matcher on made moves, maps of real folders and states, and checks of maps."""

import csv
import json
import random
from pathlib import Path

import pytest
from run import FAST, crawl, siteatlas
from scripted import Answer, links, scripted
from trials.moves.__main__ import figures, matches_of
from trials.moves.site import KINDS, draw_move, write_site

from crawler.moves.check import check_map
from crawler.moves.formats import Redirect
from crawler.moves.inventory import place_of, read_folder
from crawler.moves.matcher import Grade, Inventory, MovePage, match_pages
from crawler.moves.patterns import learn_patterns

SURE, LIKELY = Grade.SURE, Grade.LIKELY


def rows_of(path: Path) -> dict[str, dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return {row["old"]: row for row in csv.DictReader(file)}


@pytest.mark.parametrize("kind", KINDS)
def test_ours_sure_rows_are_right_and_most_moves_are_found(kind: str) -> None:
    move = draw_move(kind, 11, 250)
    matches = matches_of(move)
    precision, recall = figures(move, matches, {SURE})
    assert precision >= 0.98
    assert recall >= 0.9
    precision, recall = figures(move, matches, {SURE, LIKELY})
    assert precision >= 0.9
    assert recall >= 0.95


@pytest.mark.thorough
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", [21, 22])
def test_ours_sure_rows_are_right_on_a_thousand_pages(kind: str, seed: int) -> None:
    move = draw_move(kind, seed)
    matches = matches_of(move)
    precision, recall = figures(move, matches, {SURE})
    assert precision >= 0.98
    assert recall >= 0.9
    precision, recall = figures(move, matches, {SURE, LIKELY})
    assert precision >= 0.9
    assert recall >= 0.95


@pytest.mark.parametrize("kind", KINDS)
def test_ours_paths_alone_give_few_rows_that_are_right(kind: str) -> None:
    move = draw_move(kind, 12, 250)
    precision, recall = figures(move, matches_of(move, is_bare=True), {SURE, LIKELY})
    assert precision >= 0.9
    assert recall >= 0.5


def test_ours_a_counter_example_kills_a_pattern() -> None:
    pairs = {f"/blog/2019/0{n}/post-{n}.html": f"/news/post-{n}/" for n in range(1, 5)}
    old = [*pairs, "/blog/2020/11/late.html"]
    new = [*pairs.values(), "/news/late/", "/archive/post-9/", "/news/post-9/"]
    assert learn_patterns(pairs, old, new)["/blog/2020/11/late.html"].path == "/news/late/"
    pairs["/blog/2018/01/post-9.html"] = "/archive/post-9/"
    assert "/blog/2020/11/late.html" not in learn_patterns(pairs, old, new)


def test_ours_a_pattern_repeats_numbers_and_drops_a_language() -> None:
    pairs = {f"/en/2019/{n}/post-{n}": f"/archive/2019/post-{n}" for n in range(1, 4)}
    (found,) = learn_patterns(pairs, ["/en/2020/7/x"], ["/archive/2020/x"]).values()
    assert found.path == "/archive/2020/x"
    assert found.sentence == "pattern of 3 pages: /en/#/#/ became /archive/#1/"


def test_google_a_page_without_successor_never_gets_the_home_page() -> None:
    words = frozenset(["boats", "for", "hire", "by", "the", "hour", "on", "the", "lake"])
    old = [MovePage.of("/boats/hire", "Boats", words), MovePage.of("/", "Home", frozenset({"welcome"}))]
    new = [MovePage.of("/", "Home of boats", words | {"welcome"}), MovePage.of("/cars", "Cars", frozenset({"cars"}))]
    found = {match.old: match for match in match_pages(old, new)}
    assert found["/boats/hire"].grade in (Grade.NONE, Grade.SURE)
    assert found["/"].new == "/"


def test_ours_twelve_pages_with_equal_titles_and_texts_are_found(tmp_path: Path) -> None:
    """Pages that moved while their names changed, which words of URL and title alone do not find."""
    for side, names in (("old", "abcdefghijkl"), ("new", "mnopqrstuvwx")):
        for number, name in enumerate(names):
            page = tmp_path / side / f"{name}{number * 7}" / "index.html"
            page.parent.mkdir(parents=True)
            text = " ".join(f"word{number * 40 + at}" for at in range(40))
            page.write_text(f"<title>Guide</title><nav>menu</nav><h1>Guide</h1><p>{text}</p>")
    ran = siteatlas(tmp_path, "move", "map", "old", "new", "-o", "moves.csv")
    assert ran.code == 0, ran.err
    assert "12 sure" in ran.err
    rows = rows_of(tmp_path / "moves.csv")
    assert {row["new"][1] for row in rows.values()} == set("mnopqrstuvwx")
    assert rows["/a0/"]["new"] == "/m0/"
    assert "all words of the main text" in rows["/a0/"]["reason"]


def test_ours_the_reason_of_a_match_claims_no_more_than_the_words_show() -> None:
    """Another order, and more words, are no other words."""
    text = [f"word{number}" for number in range(60)]
    old = [MovePage.of("/a", "Boats of oak", text), MovePage.of("/z", "Zinc", ["zinc"])]
    for new_text, said in (
        (text[::-1], "all words of the main text"),
        ([*text, "and", "more"], "all words of the main text"),
        (text[:40], "all words of the main text"),
        ([*text[:-1], "other"], "main text 98% alike"),
    ):
        (match, _) = match_pages(old, [MovePage.of("/b", "Oak of boats", new_text)])
        assert match.reason == f"{said}, all words of the title and heading"


def test_ours_what_a_person_said_holds_and_other_formats_get_no_doubtful_row(tmp_path: Path) -> None:
    move = draw_move("manual", 3, 60)
    write_site(tmp_path / "old", move.old, move.frames[0])
    write_site(tmp_path / "new", move.new, move.frames[1])
    assert siteatlas(tmp_path, "move", "map", "old", "new", "-o", "moves.csv").code == 0
    rows = rows_of(tmp_path / "moves.csv")
    doubtful = [old for old, row in rows.items() if row["grade"] in ("look", "none")]
    assert doubtful
    target = move.new[0].path
    (tmp_path / "said.csv").write_text(f"old,new\n{doubtful[0]},{target}\n")
    ran = siteatlas(tmp_path, "move", "map", "old", "new", "--said", "said.csv", "--format", "netlify")
    assert ran.code == 0
    assert f"{doubtful[0]} {target} 301" in ran.out
    assert len(ran.out.splitlines()) == len(rows) - len(doubtful) + 1
    checked = siteatlas(tmp_path, "move", "check", "moves.csv", "--new", "new")
    assert "target" not in checked.out
    undecided = sum(row["grade"] == "look" for row in rows.values())
    assert f"note       {undecided} row" in checked.out
    listed = "".join(f"/gone/{n},/nowhere/{n}\n" for n in range(30))
    (tmp_path / "wrong.csv").write_text(f"old,new\n{listed}")
    wrong = siteatlas(tmp_path, "move", "check", "wrong.csv", "--new", "new").out.splitlines()
    assert wrong[-2:] == ["target     … 10 more; --json shows all", "30 rows, 30 problems"]


def test_ours_a_state_knows_the_pages_of_earlier_runs(tmp_path: Path) -> None:
    before = {
        f"/old/{n}": f"<title>Page {n}</title><p>{'alpha beta ' * 3} text of {n} number{n} fact{n}" for n in range(6)
    }
    after = {path.replace("/old/", "/new/moved-"): body for path, body in before.items()}
    hidden = Answer("<title>x</title>", headers={"X-Robots-Tag": "noindex"})
    with scripted({"/": links(*before, "/hidden"), "/hidden": hidden, **before}) as site:
        assert crawl(tmp_path, site.url, "--state", "state").code == 0
        site.routes = {"/": links(*after, "/hidden"), "/hidden": hidden, **after}
        assert crawl(tmp_path, site.url, "--state", "state", "--accept-shrink").code == 0
        ran = siteatlas(tmp_path, "move", "map", "state", "state", "-o", "moves.csv")
        assert ran.code == 0, ran.err
        assert "1 URL of the old site that it does not list" in ran.err
        rows = rows_of(tmp_path / "moves.csv")
        assert {old: row["new"] for old, row in rows.items()} == {f"/old/{n}": f"/new/moved-{n}" for n in range(6)}
        assert siteatlas(tmp_path, "move", "map", "state@1", "state", "-o", "first.csv").code == 0
        assert rows_of(tmp_path / "first.csv").keys() == rows.keys()


def test_ours_a_side_may_be_the_state_of_an_audit_and_no_exported_database(tmp_path: Path) -> None:
    pages = {f"/old/{n}": f"<title>Page {n}</title><p>alpha beta text of {n} number{n}" for n in range(3)}
    (tmp_path / "new").mkdir()
    for path, body in pages.items():
        (tmp_path / "new" / f"moved-{path[-1]}.html").write_text(body)
    line = '1.2.3.4 - - [01/Nov/2026:10:00:00 +0000] "GET /old/1 HTTP/1.1" 200 9 "-" "Mozilla/5.0 (X11) Firefox/130"\n'
    (tmp_path / "access.log").write_text(7 * line)
    with scripted({"/": links(*pages), **pages}) as site:
        log = ("--log", "access.log")
        assert siteatlas(tmp_path, "audit", site.url, *FAST, "--state", "state", *log).code == 0
    ran = siteatlas(tmp_path, "move", "map", "state", "new", "-o", "moves.csv")
    assert ran.code == 0, ran.err
    rows = rows_of(tmp_path / "moves.csv")
    assert {old for old, row in rows.items() if row["new"]} == pages.keys()
    assert [next(iter(rows)), rows["/old/1"]["visits"], rows["/old/2"]["visits"]] == ["/old/1", "7", "0"]
    assert siteatlas(tmp_path, "export", "-o", "kept.sqlite", "--state", "state").code == 0
    ran = siteatlas(tmp_path, "move", "map", "kept.sqlite", "new")
    assert (ran.code, ran.out) == (2, "")
    assert "kept.sqlite is a database" in ran.err


def test_ours_a_file_keeps_the_name_of_which_index_is_a_part_and_a_url_that_answers_has_no_row(tmp_path: Path) -> None:
    (tmp_path / "urls.txt").write_text("/guide/index.html\n/genindex.html\n/old/index.html\n/both/\n/both/index.html\n")
    for name in ("guide/index.html", "genindex.html", "moved/old/index.html", "both/index.html", "a(b).html"):
        (tmp_path / "new" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "new" / name).write_text("<title>a</title>")
    ran = siteatlas(tmp_path, "move", "map", "urls.txt", "new", "-o", "moves.csv")
    assert ran.code == 0, ran.err
    found = {old: row["new"] for old, row in rows_of(tmp_path / "moves.csv").items()}
    assert found == {"/old/index.html": "/moved/old/"}
    targets = ("/gen", "/guide/", "/moved/old/index.html", "/a(b).html")
    rows = "".join(f"/{n},{new},301\n" for n, new in enumerate(targets))
    (tmp_path / "made.csv").write_text(f"old,new,status\n{rows}")
    ran = siteatlas(tmp_path, "move", "check", "made.csv", "--new", "new")
    assert ran.code == 10
    assert ran.out == "target     /0 leads to /gen: the new site has no such page\n4 rows, 1 problem\n"
    (tmp_path / "made.csv").write_text("old,new,status\nhttps://a.example/0,https://a.example/gen,301\n")
    ran = siteatlas(tmp_path, "move", "check", "made.csv", "--new", "new", "--site", "https://a.example/")
    assert "leads to https://a.example/gen: the new site has no such page" in ran.out


def test_ours_the_canonical_of_an_index_page_is_its_url(tmp_path: Path) -> None:
    (tmp_path / "guide").mkdir()
    (tmp_path / "guide" / "index.html").write_text('<title>a</title><link rel="canonical" href="/guide/">')
    known = ["/guide/index.html"]
    assert [page.path for page in read_folder(tmp_path, known=known).pages] == ["/guide/"]


def test_ours_a_map_of_a_folder_counts_the_pages_that_have_no_row(tmp_path: Path) -> None:
    pages = {"a": "", "red": '<link rel="canonical" href="/a.html">', "cart": '<meta name="robots" content="noindex">'}
    for folder in ("old", "new"):
        (tmp_path / folder).mkdir()
        for name, head in pages.items():
            (tmp_path / folder / f"{name}.html").write_text(f"<!doctype html><title>{name}</title>{head}<p>text")
    ran = siteatlas(tmp_path, "move", "map", "old", "new")
    assert "note: 2 URLs of the old site that it does not list" in ran.err


def test_ours_a_folder_has_the_pages_that_a_crawl_of_it_finds(tmp_path: Path) -> None:
    page = "<!doctype html><title>a</title><p>text"
    folder = tmp_path / "new"
    for name in ("lamp", "rug.html", "desk.html", "desk/index.html", ".git/old.html", "index.html"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(page)
    (folder / "CNAME").write_text("www.example.com")
    (folder / "empty.html").write_text("")
    paths = ["/", "/lamp", "/rug", "/desk/", "/desk.html", "/desk", "/.git/old.html", "/CNAME", "/empty.html"]
    found = {page.path for page in read_folder(folder, known=paths).pages}
    assert found == {"/", "/lamp", "/rug", "/desk/", "/desk.html"}
    (folder / "index.html").write_text(page + "".join(f'<a href="{path}">a</a>' for path in paths))
    assert crawl(tmp_path, "https://a.example/", "--source", "new", "--state", "state").code == 0
    ran = siteatlas(tmp_path, "move", "map", "state", "new")
    assert "5 old pages: 5 at the same path" in ran.err
    assert {page.path for page in read_folder(folder).pages} == found - {"/rug"} | {"/rug.html"}


def test_ours_an_orphan_that_an_audit_found_has_a_row(tmp_path: Path) -> None:
    pages = {f"/old/{n}": f"<title>Page {n}</title><p>alpha beta text of {n} number{n} fact{n}" for n in range(4)}
    (tmp_path / "new").mkdir()
    for path, body in pages.items():
        (tmp_path / "new" / f"moved-{path[-1]}.html").write_text(body)
    line = '1.2.3.4 - - [01/Nov/2026:10:00:00 +0000] "GET /old/3 HTTP/1.1" 200 9 "-" "Mozilla/5.0 (X11) Firefox/130"\n'
    (tmp_path / "access.log").write_text(7 * line)
    with scripted({"/": links("/old/0", "/old/1", "/old/2"), **pages}) as site:
        assert crawl(tmp_path, site.url, "--state", "state").code == 0
        assert siteatlas(tmp_path, "audit", site.url, *FAST, "--state", "state", "--log", "access.log").code == 0
        assert crawl(tmp_path, site.url, "--state", "state").code == 0  # which does not meet the orphan
    for side in ("state", "state@1"):
        assert siteatlas(tmp_path, "move", "map", side, "new", "-o", "moves.csv").code == 0
        rows = rows_of(tmp_path / "moves.csv")
        assert (rows["/old/3"]["new"], rows["/old/3"]["visits"]) == ("/moved-3.html", "7")
        assert rows.keys() >= pages.keys()


def found_in(rows: list[Redirect], site: Inventory | None = None) -> set[tuple[str, str]]:
    return {(finding.rule, finding.source) for finding in check_map(rows, place_of, site)}


def test_ours_a_chain_that_is_too_long_is_no_circle() -> None:
    long = [Redirect(f"/r{n}", f"/r{n + 1}") for n in range(12)]
    (first, *_) = [finding for finding in check_map(long, place_of) if finding.rule == "loop"]
    assert first.sentence == "/r0 never ends: after 10 redirects there is one more, to /r11"
    (circle, *_) = check_map([Redirect("/a", "/b"), Redirect("/b", "/a")], place_of)
    assert circle.sentence == "/a never ends: its redirects lead in a circle, to /a"


def test_ours_a_map_is_checked_by_itself() -> None:
    rows = [
        Redirect("/a", "/b"),
        Redirect("/b", "/c"),
        Redirect("/d", "/d"),
        Redirect("/e", "/f", 302),
        Redirect("/g", "/h"),
        Redirect("/h", "/g"),
        Redirect("/i", "/j"),
        Redirect("/i", "/k"),
    ]
    expected = {
        ("chain", "/a"),
        ("loop", "/d"),
        ("temporary", "/e"),
        ("loop", "/g"),
        ("loop", "/h"),
        ("duplicate", "/i"),
    }
    assert found_in(rows) == expected
    (chain,) = [finding for finding in check_map(rows, place_of) if finding.rule == "chain"]
    assert chain.sentence.endswith("/a needs 2 redirects. Let it lead to /c")


def test_google_many_redirects_to_the_home_page_are_named() -> None:
    assert (
        found_in([Redirect(f"/{n}", "/") for n in range(9)] + [Redirect(f"/x{n}", f"/{n}y") for n in range(291)])
        == set()
    )
    assert ("home", "") in found_in([Redirect(f"/{n}", "/") for n in range(10)])
    assert ("many", "") in found_in([Redirect(f"/{n}", "/all") for n in range(20)])


def test_ours_a_map_is_checked_against_the_new_site() -> None:
    site = Inventory("", [MovePage.of("/live"), MovePage.of("/new")], {"/hidden": "noindex"})
    rows = [Redirect("/live", "/new"), Redirect("/a", "/missing"), Redirect("/b", "/hidden"), Redirect("/c", "/new")]
    assert found_in(rows, site) == {("live", "/live"), ("target", "/a"), ("target", "/b")}


def test_ours_a_server_is_asked_for_every_row(tmp_path: Path) -> None:
    moved = {"Location": "/new"}
    routes = {
        "/": links("/new"),
        "/new": links(head='<link rel="canonical" href="{url}new">'),
        "/hidden": links(head='<meta name="robots" content="noindex">'),
        "/good": Answer("", 301, moved),
        "/good/": Answer("", 301, moved),
        "/good?utm_source=siteatlas": Answer("", 301, moved),
        "/temporary": Answer("", 302, moved),
        "/twice": Answer("", 301, {"Location": "/good"}),
        "/noindex": Answer("", 308, {"Location": "/hidden"}),
        "/wrong": Answer("", 301, {"Location": "/"}),
    }
    targets = dict.fromkeys(("/good", "/temporary", "/twice", "/gone", "/wrong"), "/new") | {"/noindex": "/hidden"}
    (tmp_path / "map.csv").write_text("old,new\n" + "".join(f"{old},{new}\n" for old, new in targets.items()))
    with scripted(routes) as site:
        ran = siteatlas(tmp_path, "move", "check", "map.csv", "--ask", site.url, "--json", "--rate", "0")
        site.routes |= dict.fromkeys(("/plain", "/file.html"), Answer("", 301, moved))
        (tmp_path / "plain.csv").write_text("old,new\n/plain,/new\n/file.html,/new\n")
        plain = siteatlas(tmp_path, "move", "check", "plain.csv", "--ask", site.url, "--rate", "0")
    assert plain.code == 0, plain.out
    assert f"{site.url}plain/ answers 404" in plain.out
    assert "file.html/" not in plain.out  # nobody links to a folder of that name
    assert "2 rows, 0 problems" in plain.out
    assert ran.code == 10, ran.err
    found = {(finding["rule"], finding["source"]) for finding in json.loads(ran.out)["findings"]}
    assert {row for row in found if row[0] != "note"} == {
        ("temporary", "/temporary"),
        ("chain", "/twice"),
        ("answer", "/gone"),
        ("elsewhere", "/wrong"),
        ("target", "/noindex"),
    }
    assert ("note", "/good") not in found
    assert ("note", "/twice") in found


def test_ours_a_map_is_converted_and_a_limit_is_named(tmp_path: Path) -> None:
    lines = "".join(f"/old/{n},/new/{n}\n" for n in range(2_001))
    (tmp_path / "map.csv").write_text(f"old,new\n{lines}")
    ran = siteatlas(tmp_path, "move", "check", "map.csv", "--for", "cloudflare", "-o", "_redirects")
    assert ran.code == 10
    assert "the file has 2,001 rows, and the limit of cloudflare is 2,000" in ran.out
    assert (tmp_path / "_redirects").read_text().startswith("/old/0 /new/0 301\n")
    bulk = ("move", "check", "map.csv", "--for", "cloudflare-bulk", "-o", "bulk.csv")
    assert "Add --site" in siteatlas(tmp_path, *bulk).err
    assert siteatlas(tmp_path, *bulk, "--site", "https://www.example.com").code == 0
    first, *_ = (tmp_path / "bulk.csv").read_text().splitlines()
    assert first == "https://www.example.com/old/0,https://www.example.com/new/0,301"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["map", "nowhere", "new"], "nowhere cannot be read"),
        (["map", "old", "new", "--format", "caddy"], "there is no format 'caddy'"),
        (["check", "nowhere.csv"], "nowhere.csv cannot be read"),
        (["check", "empty.csv"], "empty.csv has no redirects"),
        (["check", "empty.csv", "-o", "moves.conf"], "-o needs --for NAME"),
        (["map", "empty", "new"], "the folder empty has no pages"),
    ],
)
def test_ours_a_mistake_in_a_move_is_one_line(tmp_path: Path, words: list[str], said: str) -> None:
    for name in ("old", "new"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "index.html").write_text("<title>a</title>")
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty.csv").write_text("")
    ran = siteatlas(tmp_path, "move", *words)
    assert ran.code == 2
    assert said in ran.err
    assert len(ran.err.splitlines()) == 1


def test_ours_sitemaps_are_sides_of_a_move(tmp_path: Path) -> None:
    urlset = '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{}</urlset>'
    for side, folder in (("old", "blog"), ("new", "news")):
        names = "".join(f"<url><loc>https://www.example.com/{folder}/subject{n}-part</loc></url>" for n in range(5))
        (tmp_path / f"{side}.xml").write_text(urlset.format(names))
    ran = siteatlas(tmp_path, "move", "map", "old.xml", "new.xml", "-o", "moves.csv")
    assert ran.code == 0, ran.err
    row = rows_of(tmp_path / "moves.csv")["/blog/subject3-part"]
    assert row["new"] == "/news/subject3-part"
    assert "/blog/ became /news/" in row["reason"]


def test_ours_urls_of_live_sites_and_their_sitemaps_are_sides_of_a_move(tmp_path: Path) -> None:
    def text(name: str) -> str:
        return f"<title>Page {name}</title><p>" + " ".join(f"{name}{number}" for number in range(30))

    names = [f"subject-{letter}" for letter in "abcdef"]
    lonely = "/products/lonely"
    urlset = '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{}</urlset>'
    old_pages = {f"/blog/{name}": text(name) for name in names} | {lonely: "<title>Alone</title>", "/dead": "Dead"}
    old_pages |= {"/sent": "Sent", "/home": "Home", "/off": "Off"}
    new_pages = {f"/news/{name}": text(name) for name in names}
    with scripted({"/": links(*old_pages), **old_pages}) as old, scripted({"/": links(*new_pages), **new_pages}) as new:
        for site, pages in (old, old_pages), (new, new_pages):
            entries = "".join(f"<url><loc>{site.url[:-1]}{path}</loc></url>" for path in pages)
            site.routes["/sitemap.xml"] = Answer(urlset.format(entries), 200, {"Content-Type": "text/xml"})
            site.routes["/robots.txt"] = Answer(
                "User-agent: *\nDisallow: /private\n", 200, {"Content-Type": "text/plain"}
            )
        new.routes |= {"/private": "secret", lonely: "<title>Alone</title>"}
        for path, target in ("/sent", f"/news/{names[0]}"), ("/home", "/"), ("/off", f"{old.url}off"):
            new.routes[path] = Answer("", 301, {"Location": target})
        ran = siteatlas(tmp_path, "move", "map", old.url, new.url, "-o", "crawled.csv", "--rate", "0")
        assert ran.code == 0, ran.err
        rows = rows_of(tmp_path / "crawled.csv")
        moved = {f"{old.url[:-1]}/blog/{name}": f"{new.url[:-1]}/news/{name}" for name in names}
        assert {source: row["new"] for source, row in rows.items() if "/blog/" in source} == moved
        stay, dead = f"{old.url[:-1]}{lonely}", f"{old.url}dead"
        moved |= {stay: f"{new.url[:-1]}{lonely}", dead: ""}
        assert (rows[stay]["new"], rows[stay]["reason"], rows[dead]["grade"]) == (moved[stay], "the same path", "none")
        sent, *others = (rows.pop(f"{old.url}{path}") for path in ("sent", "home", "off"))
        assert (sent["new"], sent["reason"]) == (f"{new.url}news/{names[0]}", "the site redirects it there")
        assert {row["grade"] for row in others} == {"none"}
        moved |= {f"{old.url}sent": sent["new"], f"{old.url}home": "", f"{old.url}off": ""}
        assert {row["grade"] for source, row in rows.items() if source != dead} == {"sure"}
        assert not any(path == "/private" for _, path, _ in new.log)
        assert [*tmp_path.iterdir()] == [tmp_path / "crawled.csv"]  # the state of the crawl is gone
        before = len(old.log)
        listed = f"{old.url}sitemap.xml"
        ran = siteatlas(tmp_path, "move", "map", listed, f"{new.url}sitemap.xml", "-o", "listed.csv", "--rate", "0")
        assert ran.code == 0, ran.err
        assert {source: row["new"] for source, row in rows_of(tmp_path / "listed.csv").items()} == moved
        assert {path for _, path, _ in old.log[before:]} <= {"/sitemap.xml", "/robots.txt"}
        ran = siteatlas(tmp_path, "move", "map", f"{old.url}missing.xml", new.url, "--rate", "0")
        assert (ran.code, len(ran.err.splitlines())) == (5, 1)
        assert "404" in ran.err
    ran = siteatlas(tmp_path, "move", "map", old.url, "crawled.csv", "--rate", "0", "--set=fetch.retries=0")
    assert (ran.code, len(ran.err.splitlines())) == (5, 1)


def test_ours_a_copy_whose_canonicals_name_another_host_is_no_side_until_they_do_not_count(tmp_path: Path) -> None:
    def copied(path: str) -> str:
        return links("/a", head=f'<title>{path}</title><link rel="canonical" href="https://www.example.com{path}">')

    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "a.html").write_text("<title>/a</title>")
    with scripted({"/": copied("/"), "/a": copied("/a")}) as old:
        words = ("move", "map", old.url, "new", "-o", "map.csv", "--rate", "0")
        ran = siteatlas(tmp_path, *words)
        assert (ran.code, len(ran.err.splitlines())) == (5, 1)
        assert "canonical is https://www.example.com/" in ran.err
        assert not (tmp_path / "map.csv").exists()
        ran = siteatlas(tmp_path, *words, "--set=obey.canonical=false")
        assert ran.code == 0, ran.err
        assert ran.err.startswith("2 old pages:")


def test_ours_two_old_urls_that_claim_one_new_url_are_for_a_person_to_decide() -> None:
    names = [f"{word}-{other}" for word in ("oak", "pine", "elm") for other in ("boat", "sail", "rope", "mast")]
    old = [MovePage.of(f"/{language}/{name}") for language in ("en", "de") for name in names]
    found = [*match_pages(old, [MovePage.of(f"/{name}") for name in names])]
    assert {match.grade for match in found} == {Grade.LOOK}
    only = [*match_pages(old[: len(names)], [MovePage.of(f"/{name}") for name in names])]
    assert {match.grade for match in only} == {Grade.SURE}


def test_ours_a_number_in_a_path_is_not_sure_to_be_the_same_page() -> None:
    pages = [[MovePage.of(f"/{folder}/{number}") for number in range(100, 130)] for folder in ("article", "news")]
    assert {match.grade for match in match_pages(*pages)} == {Grade.LIKELY}


def test_ours_variants_that_one_page_replaced_are_shown_to_a_person() -> None:
    dice = random.Random(5)
    texts = {n: [f"word{dice.randrange(5_000)}" for _ in range(120)] for n in range(20)}
    colours = ("red", "blue", "green")
    old = [MovePage.of(f"/p/{n}-{c}", f"Boat {n} {c}", [*text, c]) for n, text in texts.items() for c in colours]
    new = [MovePage.of(f"/boat/{n}", f"Boat {n}", text) for n, text in texts.items()]
    found = {match.old: match for match in match_pages(old, new)}
    assert {match.new for match in found.values()} == {page.path for page in new}
    assert all(match.new == f"/boat/{match.old[3:].partition('-')[0]}" for match in found.values())
