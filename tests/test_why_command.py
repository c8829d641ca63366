"""The why command end to end: two runs of a scripted site, then the story of each kind of URL, word for word."""

import json
import re
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from run import FAST, crawl, siteatlas
from scripted import Answer, Route, Site, links, scripted

from crawler.audit.report.layout import fit
from crawler.cli.why.explain import UNDATED, Explanation
from crawler.cli.why.lookup import explain_urls, known_sites, site_for_url, story_lines
from crawler.cli.why.story import StoryTopic, UrlStory
from crawler.config.plan import state_directory
from crawler.crawl.frontier.sqlite import SqliteFrontier
from crawler.errors import UsageError
from crawler.model import DiscoveredBy, DiscoveredUrl, Url
from crawler.state.store import Store

TEXT = {"Content-Type": "text/plain"}
LONG = "x" * 2100
LINKS = (
    "/a", "/gone", "/moved", "/hop", "/dup", "/noindex", "/missing", "/broken", "/loop", "/cut", "/file.bin", "/keep",
    "/secret/x", "/secret/open", "https://elsewhere.example/", "/out/x", "/t/t/t/t/t", "/d1", f"/{LONG}", "/off",
    "/evil", "/caf%c3%a9?utm_source=x&a=1",
)  # fmt: skip
NOFOLLOW = '<a rel="nofollow" href="/hidden">hidden</a>'


def hang_up(_: int) -> Answer:
    raise ConnectionResetError


def routes() -> dict[str, Route]:
    return {
        "/robots.txt": Answer("User-agent: *\nDisallow: /secret/\nAllow: /secret/open\n", headers=TEXT),
        "/sitemap.xml": Answer("{url}texted\n", headers=TEXT),
        "/texted": links(),
        "/": links(*LINKS) + NOFOLLOW,
        "/a": links("/b"),
        "/b": links(),
        "/gone": links(),
        "/off": links(),
        "/keep": Answer(links(), headers={"Last-Modified": "Tue, 01 Sep 2020 10:00:00 GMT"}),
        "/moved": Answer("", 301, {"Location": "/hop"}),
        "/hop": Answer("", 302, {"Location": "/a"}),
        "/dup": links(head='<link rel="canonical" href="/a">'),
        "/noindex": links(head='<meta name="robots" content="noindex, nofollow">'),
        "/broken": Answer("oops", 500),
        "/loop": Answer("", 302, {"Location": "/loop"}),
        "/cut": hang_up,
        "/file.bin": Answer(b"\x00\x01\x02"),
        "/secret/open": links(),
        "/evil": "<html><head><title>\x1b[31mred\u202e</title><meta name=robots content='noindex\x1b]0;x\x07'></html>",
        "/d1": links("/d2"),
        "/d2": links("/d3"),
        "/caf%C3%A9?a=1": links(),
        f"/{LONG}": links(),
    }


OPTIONS = (
    "--exclude",
    "*/out/*",
    "--set=fetch.retries=0",
    "--max-depth",
    "2",
    "--set=output.max_failed=1",
    "--set=output.swap_delay=0",
)


def lines_of(story: Explanation, topic: str) -> list[str]:
    return next((each.lines for each in story.topics if each.name == topic), [])


@dataclass
class Crawled:
    """A folder with the state of two runs."""

    folder: Path
    site: Site

    def tell(self, *texts: str) -> list[Explanation]:
        """The stories; a path is one of the site."""
        urls = [self.site.url.rstrip("/") + text if text.startswith("/") else text for text in texts]
        return explain_urls(urls, None, {"state__directory": str(self.folder / ".siteatlas")}, [])

    def told(self, text: str, topic: str) -> list[str]:
        """What is told of one topic, with times and addresses that are the same in every run of this test."""
        (story,) = self.tell(text)
        return [self.plain(line) for line in lines_of(story, topic)]

    def plain(self, text: str) -> str:
        text = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ", "TIME", text.replace(self.site.url.rstrip("/"), ""))
        text = re.sub(r"[\d,]+ bytes in [\d.]+ s", "SIZE", text)
        text = re.sub(r"link weight \d+\.\d\d \(1 is the average of all pages\)", "WEIGHT", text)
        return re.sub(r"\d{4}-\d\d-\d\d$|\d{4}-\d\d-\d\d(?=,)", "DAY", text)


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crawled]:
    folder = tmp_path_factory.mktemp("why")
    with scripted(routes()) as site:
        ran = crawl(folder, site.url, *OPTIONS)
        assert ran.code == 0, ran.err
        site.routes["/"] = links(*[each for each in LINKS if each != "/off"]) + NOFOLLOW
        site.routes["/b"] = links(head="<title>Another</title>") + "<p>This is what was written here since.</p>"
        site.routes["/gone"] = Answer("", 410)
        site.routes["/keep"] = Answer("", 503)
        ran = crawl(folder, site.url, *OPTIONS)
        assert ran.code == 0, ran.err
        yield Crawled(folder, site)


SUMMARIES = {
    "/": "is listed in sitemap.xml",
    "/texted": "is listed in sitemap.xml",
    "/secret/open": "is listed in sitemap.xml",
    "/caf%C3%A9?a=1": "is listed in sitemap.xml",
    "/keep": "is listed in sitemap.xml, but its state is now: server error (answered 503, unavailable)",
    "/gone": "is not listed: client error (answered 410, gone)",
    "/moved": "is not listed: redirect (301 to /hop)",
    "/dup": "is not listed: canonical elsewhere (canonical is /a)",
    "/noindex": 'is not listed: noindex (meta robots "noindex, nofollow")',
    "/missing": "is not listed: client error (answered 404, not found)",
    "/broken": "is not listed: server error (answered 500, internal error)",
    "/loop": "is not listed: bad answer (answered 302; it redirects to itself)",
    "/file.bin": "is not listed: wrong type (application/octet-stream is not HTML)",
    "/secret/x": "is not listed: blocked by robots.txt (robots.txt line 2: Disallow: /secret/)",
    "/hidden": "is not listed: linked by nofollow only (only nofollow links lead to it)",
    "/out/x": 'is not listed: excluded (matches exclude "*/out/*")',
    "/d3": "is not listed: too deep (3 clicks from the start; the limit is 2)",
    "/t/t/t/t/t": 'is not listed: trap (trap.path_repetition: "/t" more than 3 times in a row)',
    f"/{LONG}": f"is not listed: too long ({len(LONG):,} characters long; the limit in a sitemap is 2,047)",
    # some pages fail in this run, so that nothing leads there is no news
    "/off": "is listed in sitemap.xml, but its state is now: no longer linked (it responds, but nothing leads "
    "to it any more)",
    "/sitemap.xml": "is not listed: it is a sitemap",
    "https://elsewhere.example/": "is not listed: out of scope (another host: elsewhere.example)",
    "/nowhere": "is not listed: no run has found it",
}


@pytest.mark.parametrize("text", SUMMARIES)
def test_ours_the_story_begins_with_how_it_ended(crawled: Crawled, text: str) -> None:
    (story,) = crawled.tell(text)
    expected = SUMMARIES[text]
    said = crawled.plain(story.summary)
    if text == f"/{LONG}":
        expected, said = expected.replace(f"{len(LONG):,}", "N"), re.sub(r"2,1\d\d", "N", said)
    assert said == expected
    assert (story.story.position is not None) == expected.startswith("is listed")
    assert story.story.is_known == (text != "/nowhere")


def test_ours_no_answer_is_told_by_its_kind(crawled: Crawled) -> None:
    (story,) = crawled.tell("/cut")
    assert story.summary.startswith("is not listed: unreachable (127.0.0.1:")
    assert re.fullmatch(r"TIME  GET          net\.\w+  SIZE", crawled.told("/cut", "requests")[0])


@pytest.mark.parametrize(
    ("text", "topic", "expected"),
    [
        ("/d2", "found", ["by link; 2 clicks from the start", "/  (start URL)", "> /d1  (link)", "> /d2  (link)"]),
        (
            "/texted",
            "found",
            ["by sitemap; no path of followed links leads to it", "/sitemap.xml  (sitemap)", "> /texted  (sitemap)"],
        ),
        ("/hop", "found", ["by link, redirect; 1 click from the start", "/  (start URL)", "> /hop  (link)"]),
        ("/off", "found", ["by earlier sitemap; no path of followed links leads to it"]),
        (
            "/hidden",
            "found",
            ["by nofollow link; no path of followed links leads to it", "/  (start URL)", "> /hidden  (nofollow link)"],
        ),
        ("/hop", "links", ["followed links from 1 page; 1 click from the start", "WEIGHT", "< /  (link)"]),
        (
            "/hidden",
            "links",
            ["followed links from 0 pages; no path of followed links leads to it", "WEIGHT", "< /  (nofollow)"],
        ),
        ("/d3", "links", ["followed links from 1 page; 3 clicks from the start", "WEIGHT", "< /d2  (link)"]),
        ("/texted", "links", ["followed links from 0 pages; no path of followed links leads to it", "WEIGHT"]),
        ("/sitemap.xml", "links", []),
        ("/nowhere", "links", []),
        ("/", "robots", ["allowed: no rule matches", "as of TIME"]),
        ("/secret/open", "robots", ["allowed: robots.txt line 3: Allow: /secret/open", "as of TIME"]),
        ("/secret/x", "robots", ["blocked: robots.txt line 2: Disallow: /secret/", "as of TIME"]),
        ("https://elsewhere.example/", "robots", ["no run has fetched robots.txt of this origin"]),
        ("/secret/x", "requests", ["none in this run"]),
        ("/keep", "requests", ["TIME  conditional  503  SIZE"]),
        ("/b", "requests", ["TIME  GET          200  SIZE"] * 4),
        ("/moved", "leads_to", ["> /hop  redirect (302 to /a)", "> /a  indexable, listed"]),
        ("/dup", "leads_to", ["> /a  indexable, listed"]),
        ("/dup", "canonical", ["the canonical is /a"]),
        ("/a", "canonical", ["the page has no canonical"]),
        (
            "/noindex",
            "noindex",
            ['meta robots "noindex, nofollow"', "the page asks crawlers not to follow its links (nofollow)"],
        ),
        ("/a", "noindex", ["neither the page nor its headers contain noindex"]),
        ("/keep", "sitemap", ["sitemap.xml", "it failed temporarily, so it stays listed for now"]),
        ("/dup", "sitemap", ["no published file contains it"]),
        (
            "/keep",
            "state",
            [
                "server error (answered 503, unavailable)",
                "the server returned an error",
                "transient failures in 1 run in a row",
            ],
        ),
        ("/keep", "lastmod", ["2020-09-01T10:00:00+00:00, from Last-Modified", "first seen in run 1 (TIME)"]),
        ("/a", "lastmod", [UNDATED]),
        ("/dup", "lastmod", []),
        (
            "/gone",
            "history",
            [
                "known since run 1 (TIME)",
                "last found in run 2 (TIME)",
                "last fetched in full in run 1 (TIME)",
                "run 1 (TIME): added: found by a link, first on /",
                "run 2 (TIME): removed: answered 410, gone",
            ],
        ),
        (
            "/",
            "run",
            [
                "run 2 (TIME): truncated, published",
                "1 URL further from the start than scope.max_depth; 3 URLs failed (server error: 2, unreachable: 1)",
            ],
        ),
    ],
)
def test_ours_each_topic_is_told(crawled: Crawled, text: str, topic: str, expected: list[str]) -> None:
    assert crawled.told(text, topic) == expected


@pytest.mark.parametrize("topic", ["noindex", "canonical"])
def test_ours_what_an_earlier_run_read_is_not_told_as_of_now(crawled: Crawled, topic: str) -> None:
    assert crawled.told("/gone", topic)[0] == "the last visit read no page; of that in run 1 (TIME):"
    assert not crawled.told("/b", topic)[0].startswith("the last visit")


def test_ours_a_page_that_changed_says_when_and_what(crawled: Crawled) -> None:
    told = crawled.told("/b", "lastmod")
    # run 2 follows run 1 within seconds, so the time of the change is known, and not only its day
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00, from an observed change", told[0])
    assert told[1] == "changed in run 2 (TIME)"
    assert "This is what was written here since." in told[2]
    assert crawled.told("/b", "history")[-1].startswith("run 2 (TIME): changed: ")


@pytest.mark.parametrize(
    "text", ["/café?a=1", "/caf%c3%A9?utm_source=mail&a=1#top", "/x/../%63af%C3%A9?a=1", "/caf%C3%A9?a=1&fbclid=1"]
)
def test_ours_a_url_is_found_in_any_spelling(crawled: Crawled, text: str) -> None:
    (story,) = crawled.tell(text)
    assert story.story.url == f"{crawled.site.url}caf%C3%A9?a=1"
    assert story.story.is_known


def test_ours_a_path_is_one_of_the_site_and_the_host_has_any_case(crawled: Crawled) -> None:
    flags = {"state__directory": str(crawled.folder / ".siteatlas")}
    told = explain_urls(["/a", "a", crawled.site.url.replace("http", "HTTP") + "a"], None, flags, [])
    assert [story.story.position is not None for story in told] == [True, True, True]


@pytest.mark.parametrize(
    ("text", "near"),
    [
        ("/A", "/a  (with different upper and lower case)"),
        ("/d1/", "/d1  (without the slash at the end)"),
        ("/index.html", "/  (without index.html)"),
        ("/a?ref=1", "/a  (without the query after the question mark)"),
        ("/d1.html", "/d1  (without .html)"),
        (
            "/D1/?q",
            (
                "/d1  (without the slash at the end, without the query after the question mark, with different upper "
                "and lower case)"
            ),
        ),
        ("/missign", "/missing  (similar spelling)"),
    ],
)
def test_ours_of_a_url_never_met_the_nearest_known_is_named(crawled: Crawled, text: str, near: str) -> None:
    assert crawled.told(text, "near")[0] == near


@pytest.mark.parametrize(
    ("text", "would"),
    [
        ("/new", "a run would fetch it"),
        ("/secret/new", "its state would be: blocked by robots.txt (robots.txt line 2: Disallow: /secret/)"),
        ("/out/new", 'its state would be: excluded (matches exclude "*/out/*")'),
        ("/u/u/u/u/u", 'its state would be: trap (trap.path_repetition: "/u" more than 3 times in a row)'),
        ("https://other.example/x", "its state would be: out of scope (another host: other.example)"),
    ],
)
def test_ours_of_a_url_never_met_the_rules_say_what_would_be(crawled: Crawled, text: str, would: str) -> None:
    assert crawled.told(text, "would")[0] == would


def test_ours_the_command_tells_people_and_machines(crawled: Crawled) -> None:
    url = f"{crawled.site.url}noindex"
    ran = siteatlas(crawled.folder, "why", url, "/a", anew=True)
    assert ran.code == 0, ran.err
    assert ran.out.startswith(
        f'{url}\n  is not listed: noindex (meta robots "noindex, nofollow")\n\nstate      noindex'
    )
    ran = siteatlas(crawled.folder, "why", "--json", url, "/never")
    assert ran.code == 10, ran.err
    told: dict[str, Any] = json.loads(ran.out)
    assert told["version"] == 2
    first, second = told["urls"]
    assert first.keys() == second.keys()
    assert (first["url"], first["known"], first["listed"]) == (url, True, False)
    assert first["state"] == "noindex"
    facts = first["facts"]
    assert facts["page"]["noindex"] == 'meta robots "noindex, nofollow"'
    assert facts["steps"][-1] == {"url": url, "by": ["link"]}
    start = {"url": crawled.site.url, "how": "link", "via": ""}
    links = facts["link_facts"]
    assert (links["inlinks"], links["clicks"], links["referrers"]) == (1, 1, [start])
    assert 0.0 < links["weight"] < 1.0
    assert [each["answer"] for each in facts["last_visit"]["requests"]] == ["200"]
    assert facts["robots"]["allowed"] is True
    assert first["topics"]["noindex"][0] == 'meta robots "noindex, nofollow"'
    assert second["facts"].keys() == facts.keys()
    assert (second["known"], second["state"], second["facts"]["would"]["asked_for"]) == (False, None, True)


@pytest.mark.parametrize(
    ("text", "said"),
    [("mailto:a@b.example", "only http and https are crawled, not 'mailto:'"), ("https://:x/", "not a URL")],
)
def test_ours_what_is_no_url_is_said_in_one_line(crawled: Crawled, text: str, said: str) -> None:
    with pytest.raises(UsageError, match=re.escape(said)):
        crawled.tell(text)


def test_ours_without_a_state_there_is_no_story(tmp_path: Path) -> None:
    ran = siteatlas(tmp_path, "why", "https://www.example.com/a")
    assert ran.code == 2
    assert "contains no state" in ran.err


def test_ours_a_terminal_shows_what_a_page_says_and_never_obeys_it(crawled: Crawled) -> None:
    raw = Explanation("", UrlStory(url=Url("b\x1b[2J")), "c\u202e", [StoryTopic("state", ["\x9b2Jd"])])
    text = "\n".join(part for line in story_lines([*crawled.tell("/evil"), raw]) for part in fit(line, 0))
    assert "red" in text
    assert "b\\x1b[2J\n  c\\u202e\n\nstate      \\x9b2Jd" in text
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", text)


def test_ours_a_run_that_was_cut_short_is_told_as_far_as_it_came(tmp_path: Path) -> None:
    with scripted({"/": links("/a", "/b"), "/a": links(), "/b": links()}) as site:
        ran = crawl(tmp_path, site.url, "--max-pages", "2", "--set=scope.sitemap_seeds=false")
        assert ran.code == 4, ran.err
        here = Crawled(tmp_path, site)
        home, waiting = here.tell("/", "/b")
        assert home.summary == (
            "is not listed: it belongs in the sitemap, but the run that found it has not published yet"
        )
        assert waiting.summary == "is not listed: pending"
        assert here.told("/b", "state") == ["pending", "it is known, but not visited yet"]
        assert here.told("/b", "run")[0] == "run 1 (TIME) is active, or was cut short: the same command continues it"


def test_ours_urls_of_a_staging_server_are_known_by_their_public_names(tmp_path: Path) -> None:
    with scripted({"/": links("/a"), "/a": links()}) as site:
        ran = crawl(tmp_path, "https://www.example.com/", "--source", site.url, "--set=scope.sitemap_seeds=false")
        assert ran.code == 0, ran.err
        first, second = Crawled(tmp_path, site).tell("/a", "https://www.example.com/a")
    assert first.story.url == second.story.url == "https://www.example.com/a"
    assert first.story.position


def test_ours_what_an_audit_found_is_told_after_a_crawl_too(tmp_path: Path) -> None:
    options = ("--state", "state", *FAST)
    (tmp_path / "urls.txt").write_text("/orphan\n/island\n/gone\n")
    with scripted(
        {"/": links("/a", "/a#lost", "/gone"), "/a": links(), "/orphan": links("/island", "/orphan")}
    ) as site:
        site.routes["/island"] = links("/orphan")
        assert crawl(tmp_path, site.url, "--state", "state").code == 0
        assert siteatlas(tmp_path, "audit", site.url, "--list", "urls.txt", *options).code == 0
        assert crawl(tmp_path, site.url, "--state", "state").code == 0

        def told(url: str) -> str:
            return siteatlas(tmp_path, "why", site.url + url, "--state", "state").out

        orphan = told("orphan")
        assert "is not listed: no page that a run finds has a link to it that may be followed\n" in orphan
        assert "belongs in the sitemap" not in orphan
        assert "an audit publishes nothing" not in orphan
        assert "known since audit 1 (" in orphan
        assert "known since run 2 (" not in orphan
        gone = told("gone")
        assert "Gone, but linked (gone.linked), found since" in gone
        assert "sources    list urls.txt" in gone
        part = told("a#lost")
        assert "part       #lost names a part of this page. What follows is about the whole page\n" in part
        assert "Links to parts that do not exist (target.fragment)" in part
        assert "target.fragment" not in told("a")


def test_ours_each_url_is_asked_of_the_site_that_covers_it(tmp_path: Path) -> None:
    """Three states in one directory, made by hand: two sites, one of them with another inside."""
    root = tmp_path / ".siteatlas"
    for home in ("https://a.example/", "https://a.example/docs/", "https://b.example/"):
        url = Url(home)
        settings = {"site.url": home, "urls.drop_params": ["ref"]}
        with Store(state_directory(root, Url(f"{home}sitemap.xml")), settings) as store:
            SqliteFrontier(store.db, lambda _: None, run=store.run.number).admit(
                [DiscoveredUrl(url, DiscoveredBy.SEED, 0), DiscoveredUrl(Url("https://c.example/"), 2, 1)]
            )
            store.db.execute("COMMIT")
    flags = {"state__directory": str(root)}
    urls = ["https://a.example/docs/", "https://a.example/?ref=1", "https://b.example/never", "https://c.example/"]
    with known_sites(None, flags, []) as sites:
        assert [site_for_url(text, sites).start for text in urls] == [
            "https://a.example/docs/",
            "https://a.example/",
            "https://b.example/",
            "https://a.example/",
        ]
    told = explain_urls(urls, None, flags, [])
    assert [story.story.is_known for story in told] == [True, True, False, True]
    with pytest.raises(UsageError, match=r"https://d\.example/. belongs to none of the crawled sites"):
        explain_urls(["https://d.example/"], None, flags, [])
    with pytest.raises(
        UsageError, match=r"several sites have the path / \(https://a\.example/, https://b\.example/\)\. Write"
    ):
        explain_urls(["/"], None, flags, [])
    config = tmp_path / "b.toml"
    config.write_text(f'[site]\nurl = "https://b.example/"\n[state]\ndirectory = "{root}"\n')
    assert lines_of(explain_urls(["https://d.example/"], config, {}, [])[0], "would") == [
        "its state would be: out of scope (another host: d.example)"
    ]


def test_ours_nothing_is_written_and_a_running_crawl_is_not_disturbed(crawled: Crawled) -> None:
    (path,) = crawled.folder.glob(".siteatlas/*/state.db")
    before = path.read_bytes()
    writer = sqlite3.connect(path, isolation_level=None)
    writer.execute("BEGIN IMMEDIATE")
    writer.execute("UPDATE visit SET reason = 'not yet'")
    (story,) = crawled.tell("/noindex")
    assert "not yet" not in story.summary
    writer.execute("ROLLBACK")
    writer.close()
    assert path.read_bytes() == before


def test_ours_links_on_a_page_that_is_no_longer_linked_do_not_count(tmp_path: Path) -> None:
    menu = links("/p", "/q", "/r")
    pages = {"/": menu, **dict.fromkeys(("/p", "/q", "/r"), menu)}
    leaving = [f"/old/{number}" for number in range(60)]
    with scripted({**pages, "/": links("/p", "/q", "/r", *leaving), **dict.fromkeys(leaving, menu)}) as site:
        assert crawl(tmp_path, site.url).code == 0
        site.routes["/"] = menu
        assert crawl(tmp_path, site.url, "--accept-shrink").code == 0
        assert "no longer linked" in siteatlas(tmp_path, "query", "SELECT state FROM pages").out
        assert siteatlas(tmp_path, "query", "SELECT inlinks FROM pages WHERE url LIKE '%/p'").out.split() == [
            "inlinks",
            "3",
        ]
        why = siteatlas(tmp_path, "why", f"{site.url}p").out
        assert "followed links from 3 pages" in why
        assert crawl(tmp_path, site.url).code == 0
        assert "nothing else differs" in siteatlas(tmp_path, "compare", "2", "3").out
        assert "inlinks: fewer (median 63 → 3)" in siteatlas(tmp_path, "compare", "1", "2").out


def test_ours_why_and_query_count_the_same_inlinks(tmp_path: Path) -> None:
    variant = links("/gone", "/p", head='<link rel="canonical" href="/p">')
    pages = {"/": links("/p", "/frame"), "/p": links("/p", "/p?red", "/gone") + NOFOLLOW, "/p?red": variant}
    with scripted(
        {**pages, "/hidden": links(), "/frame": links("/p", head="<meta name=robots content=noindex>")}
    ) as site:
        assert crawl(tmp_path, site.url).code == 0
        asked = siteatlas(tmp_path, "query", "SELECT url, inlinks FROM pages", "--format", "json")
        counted = {row["url"]: row["inlinks"] for row in json.loads(asked.out)}
        told = json.loads(siteatlas(tmp_path, "why", *counted, "--json").out)["urls"]
        assert {each["url"]: each["facts"]["link_facts"]["inlinks"] for each in told} == counted
        paths = {"/gone": 2, "/p": 3, "/p?red": 1, "/hidden": 0}
        assert {path: counted[site.url + path[1:]] for path in paths} == paths
        lines = siteatlas(tmp_path, "why", f"{site.url}gone").out
        assert f"< {site.url}p?red  (link on a page with another canonical)" in lines
