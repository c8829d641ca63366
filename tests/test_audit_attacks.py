"""What an audit may not say: false orphans, certainty where links were not seen, joins and counts that are wrong."""

import gc
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from scripted import Answer, Route, links, scripted

from crawler.audit.health.entries import PublishedEntry, check_duplicate_spellings
from crawler.audit.health.visit import VisitedUrl
from crawler.cli import app
from crawler.model import State

pytestmark = pytest.mark.thorough

Rules = dict[str, dict[str, bool]]
"""By rule and path, whether it is certain."""
HOME = links("/")
SPEAKING = f"<p>{'A start page that tells something is not made by JavaScript. ' * 4}"


class Audit:
    """The command in this process: ``report`` is the last, ``rules`` are its findings."""

    def __init__(self) -> None:
        self.report: dict[str, Any] = {}

    @property
    def doubts(self) -> list[str]:
        doubts: list[str] = self.report["doubts"]
        return doubts

    def rules(self) -> Rules:
        found: Rules = {}
        for each in self.report["findings"]:
            path = "/" + each["url"].split("/", 3)[3]
            found.setdefault(each["rule"], {})[path] = each["is_certain"]
        return found

    def finding(self, rule: str) -> dict[str, Any]:
        (found,) = (each for each in self.report["findings"] if each["rule"] == rule)
        assert isinstance(found, dict)
        return found


Run = Callable[..., Audit]


@pytest.fixture
def audit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Run]:
    monkeypatch.chdir(tmp_path)
    threshold = gc.get_threshold()

    def run(url: str, *words: str) -> Audit:
        fast = ("--rate", "0", "--set=fetch.retries=0", "--set=parse.processes=1", "-o", "out", "-q")
        monkeypatch.setattr("sys.argv", ["siteatlas", "audit", url, *fast, *words])
        audited = Audit()
        assert app.run_command_line() in (0, 4)
        audited.report = json.loads(Path("out/audit.json").read_bytes())
        return audited

    yield run
    gc.unfreeze()  # what a command that owns its process may do
    gc.set_threshold(*threshold)


def sitemap(*paths: str) -> Answer:
    entries = "".join(f"<url><loc>{{url}}{path}</loc></url>" for path in paths)
    text = f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{entries}</urlset>'
    return Answer(text, headers={"Content-Type": "application/xml"})


def site(home: Route, *listed: str, **pages: Route) -> dict[str, Route]:
    """A home page, others, and a sitemap; ``lost`` is linked nowhere."""
    routes: dict[str, Route] = {
        "/robots.txt": Answer("", headers={"Content-Type": "text/plain"}),
        "/sitemap.xml": sitemap("", "lost", *listed),
        "/": home,
        "/lost": HOME,
    }
    return {**routes, **{f"/{name}": page for name, page in pages.items()}}


SHELL = '<!doctype html><title>App</title>{}<div id="root"></div><script src="/app.js"></script>'
FEED = Answer(
    '<rss version="2.0"><channel><title>x</title></channel></rss>', headers={"Content-Type": "application/rss+xml"}
)
MANY = "".join(f'<a href="/dead{number}">x</a>' for number in range(9))
UNSEEN: dict[str, tuple[dict[str, Route], tuple[str, ...], str]] = {
    "a page made by scripts, with a feed": (
        site(SHELL.format('<link rel="alternate" type="application/rss+xml" href="/feed">'), feed=FEED),
        (),
        "JavaScript",
    ),
    "a page made by scripts, behind a redirect": (
        site(Answer("", 302, {"Location": "/en"}), en=SHELL.format('<a href="/gone">x</a>')),
        (),
        "JavaScript",
    ),
    "a noindexed hub that is cut": (
        site(links("/hub", "/b"), b=HOME, hub='<meta name="robots" content="noindex">' + MANY),
        ("--set=parse.max_links=5",),
        "read in part only",
    ),
    "a copy that is cut": (
        site(links("/hub", "/b"), b=HOME, hub='<link rel="canonical" href="/">' + MANY),
        ("--set=parse.max_links=5",),
        "read in part only",
    ),
    "an answer that is none": (site(links("/hub", "/b"), b=HOME, hub=Answer(HOME, 203)), (), "answered 203"),
    "a path that repeats itself": (site(links("/a/a/a/a/a", "/b"), b=HOME), (), "crawler trap"),
}


@pytest.mark.parametrize("case", UNSEEN)
def test_ours_whatever_was_not_seen_leaves_a_doubt(audit: Run, case: str) -> None:
    routes, words, said = UNSEEN[case]
    with scripted(routes) as server:
        audited = audit(server.url, *words)
    assert [each for each in audited.doubts if said in each]
    assert audited.rules()["orphan.sitemap"]["/lost"] is False


def test_ours_what_is_linked_from_beside_the_directory_is_no_certain_orphan(audit: Run) -> None:
    routes = {"/a/": links("/a/b", "/about"), "/a/b": links("/a/"), "/about": links("/a/lost"), "/a/lost": HOME}
    with scripted({**routes, "/sitemap.xml": sitemap("a/", "a/b", "a/lost")}) as server:
        audited = audit(f"{server.url}a/")
        (doubt,) = audited.doubts
        assert f"such as {server.url}about" in doubt
        assert audited.rules()["orphan.sitemap"] == {"/a/lost": False}
        assert audit(f"{server.url}a/", "--set=audit.trust_blocked=true").rules()["orphan.sitemap"] == {"/a/lost": True}


def test_ours_a_part_of_an_orphan_leaves_no_doubt(audit: Run) -> None:
    """It cannot lead another page into the site."""
    with scripted(site(links("/b"), "big", b=HOME, big="<title>big</title>" + MANY)) as server:
        audited = audit(server.url, "--set=parse.max_links=5")
    assert (audited.doubts, audited.rules()["orphan.sitemap"]) == ([], {"/lost": True, "/big": True})


def test_ours_a_way_of_nofollow_links_is_seen_to_its_end(audit: Run) -> None:
    quiet = '<title>q</title><a rel="nofollow" href="/{}">x</a>'
    routes = site(
        links("/b") + quiet.format("n1") + SPEAKING, b=HOME, n1=quiet.format("n2"), n2=links("/deep"), deep=HOME
    )
    with scripted(routes) as server:
        audited = audit(server.url)
    rules = audited.rules()
    assert audited.doubts == []
    assert rules["weak.nofollow"] == {"/n1": True, "/n2": True}
    assert (rules["orphan.sitemap"], "orphan.island" in rules) == ({"/lost": True}, False)


def test_ours_links_to_another_name_of_the_site_are_links_to_the_site(audit: Run) -> None:
    """A visitor who clicks ``http://example.com/hub`` on ``https://www.example.com/`` gets there."""
    with scripted({}) as server:
        port = server.url.rstrip("/").rpartition(":")[2]
        home, other = f"http://www.example.com:{port}/", f"http://example.com:{port}/"
        server.routes |= {
            **site(links(f"{other}hub", f"{other}listed", "/b"), b=HOME, listed=links("/behind"), behind=HOME),
            "/hub": links(f"{other}second"),
            "/second": links("/far"),
            "/far": HOME,
            "/sitemap.xml": Answer(
                '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'
                + "".join(f"<url><loc>{home}{path}</loc></url>" for path in ("", "lost", "far", "listed"))
                + "</urlset>",
                headers={"Content-Type": "application/xml"},
            ),
        }
        names = [f"{name}example.com:{port}:127.0.0.1" for name in ("", "www.")]
        words = [word for name in names for word in ("--resolve", name)]
        audited = audit(home, *words)
        rules = audited.rules()
        assert (audited.doubts, rules["orphan.sitemap"]) == ([], {"/lost": True})
        assert rules["weak.redirect"] == {"/hub": True, "/listed": True, "/second": True}
        assert audit(home, "--max-unlinked", "0", *words).doubts[0].startswith("2 URLs with another name")


def test_ours_pages_that_differ_in_case_are_two_when_they_say_different_things(audit: Run) -> None:
    pages: dict[str, Route] = {
        "/case": "<title>Team</title>All about the people of the harbour.",
        "/Case": "<title>Team</title>All about the people of the garden.",
        "/v?id=abc": "<title>Video</title>one",
        "/v?id=ABC": "<title>Video</title>two",
        "/v?id=Abc": "<title>Video</title>one",  # the same video
    }
    with scripted({**site(links("/case", "/v?id=abc", "/b"), "v?id=ABC", "v?id=Abc", b=HOME), **pages}) as server:
        Path("urls.txt").write_text(f"{server.url}Case\n")
        audited = audit(server.url, "--list", "urls.txt")
    rules = audited.rules()
    assert rules["orphan.list"] == {"/Case": True}
    assert rules["orphan.sitemap"] == {"/lost": True, "/v?id=ABC": True}


def test_ours_a_page_with_parameters_is_a_page_of_its_own_when_it_says_something_else(audit: Run) -> None:
    text = "<title>Team</title><p>All about the people of the {}.<p>Seen {} times."
    pages: dict[str, Route] = {
        "/team": text.format("harbour", 17),
        "/team?x=1": text.format("garden", 18),
        "/team?from=mail": text.format("harbour", 19),
    }
    with scripted({**site(links("/team", "/b"), b=HOME), **pages}) as server:
        Path("urls.txt").write_text(f"{server.url}team?x=1\n{server.url}team?from=mail\n")
        audited = audit(server.url, "--list", "urls.txt", "--set=scope.ask_all=true")
    assert audited.rules()["orphan.list"] == {"/team?x=1": True}


def test_ours_what_looks_like_a_spelling_is_a_hub_when_it_is_linked(audit: Run) -> None:
    """A list names it, and a page that is read late links to it: only then its links can be believed."""
    home = links("/b", "/hub") + '<a rel="nofollow" href="/late">x</a>' + SPEAKING
    late = Answer("<title>late</title>" + links("/Hub"), delay=0.3)
    pages = {"b": HOME, "hub": "<title>lower</title>", "late": late, "deep": "<title>deep</title>"}
    with scripted(site(home, "deep", **pages, Hub="<title>upper</title>" + links("/deep"))) as server:
        Path("urls.txt").write_text(f"{server.url}Hub\n")
        audited = audit(server.url, "--list", "urls.txt")
    assert (audited.doubts, audited.rules()["orphan.sitemap"]) == ([], {"/lost": True})


LINE = '10.0.0.1 - - [{when} +0200] "GET {path} HTTP/1.1" {status} 9 "-" "Mozilla/5.0 (X11) Firefox/120.0"\n'


def test_ours_evidence_is_counted_once_and_dated_in_utc(audit: Run) -> None:
    lines = [("/only", 200), ("/wp-login.php", 301), ("/wp-login.php", 404), ("/was", 200)]
    Path("access.log").write_text(
        "".join(LINE.format(when="22/Nov/2025:00:30:00", path=path, status=status) for path, status in lines)
    )
    with scripted(site(links("/b"), b=HOME, only="<title>only</title>", sought="<title>sought</title>")) as server:
        Path("Pages.csv").write_text(f"Top pages,Clicks,Impressions,CTR,Position\n{server.url}sought,5,100,5%,3\n")
        twice = ("--log", "access.log", "--log", "acc*", "--search", "Pages.csv", "--search", "./Pages.csv")
        audited = audit(server.url, *twice)
    found = audited.finding("orphan.log")
    assert (found["people"], found["first"], found["last"]) == (1, "2025-11-21", "2025-11-21")
    found = audited.finding("orphan.search")
    assert (found["clicks"], found["impressions"]) == (5, 100)
    assert audited.rules()["gone.visited"] == {"/was": True}  # and not what redirected to https like everything


def test_ours_an_audit_that_goes_on_with_another_list_says_nothing_of_the_first(audit: Run) -> None:
    with scripted(site(links("/b"), b=HOME, one=links("/b"), two=links("/b", "/"))) as server:
        Path("first.txt").write_text(f"{server.url}one\n")
        Path("second.txt").write_text(f"{server.url}two\n")
        audit(server.url, "--list", "first.txt", "--max-pages", "4")  # of five: the last is not in the list
        rules = audit(server.url, "--list", "second.txt").rules()
    assert rules["orphan.list"] == {"/two": True}
    assert "orphan.island" not in rules


def test_ours_fifty_thousand_entries_of_one_page_are_told_in_seconds() -> None:
    """Compared with one another they would take hours; the limit of time of the suite ends that."""
    page = VisitedUrl(url="https://www.example.com/", state=State.INDEXABLE, status=200)
    entries = [
        PublishedEntry(loc=f"{page.url}old/{number}", url=f"{page.url}old/{number}", file="s.xml", line=number)
        for number in range(50_000)
    ]
    found = check_duplicate_spellings(page, entries)
    assert found is not None
    assert found.sentence.startswith("50,000 entries lead to the same page: https://www.example.com/old/0, ")
    assert (len(found.evidence), len(found.spellings)) == (20, 20)
