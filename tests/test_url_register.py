"""The register of URLs: what was published once is there, redirects, is accepted, or is reported as lost."""

import csv
import io
import json
import random
import subprocess
import time
from pathlib import Path

import pytest
from run import NIGHTLY, Ran, siteatlas
from scripted import Answer, Site, links, scripted

from crawler.config.load import build_config
from crawler.config.plan import CrawlPlan, plan_crawl
from crawler.moves.register import WEEK
from crawler.run.watch import watch_old_urls

STATE = ("--state", "state")
REMEDY = "Redirect each lost URL; siteatlas move map finds where its page went. Or siteatlas urls accept its end."


def publish(folder: Path, site: Site, *pages: str) -> None:
    """A night on which the site has these pages. What it redirects stays as it is."""
    moved = {path: route for path, route in site.routes.items() if isinstance(route, Answer)}
    site.routes = {"/": links(*pages), **{page: f"<title>{page}</title>text of {page}" for page in pages}, **moved}
    ran = siteatlas(folder, "crawl", site.url, "--accept-shrink", *NIGHTLY)
    assert ran.code == 0, ran.err


def checked(folder: Path, *words: str) -> Ran:
    return siteatlas(folder, "urls", "check", *STATE, "--rate", "0", "--set=fetch.retries=0", *words)


def register(folder: Path) -> dict[str, dict[str, str]]:
    ran = siteatlas(folder, "urls", "list", *STATE)
    return {row["url"].partition("//")[2].partition("/")[2]: row for row in csv.DictReader(io.StringIO(ran.out))}


def test_ours_a_lost_url_is_reported_once_and_its_end_is_known(tmp_path: Path) -> None:
    with scripted({}) as site:
        publish(tmp_path, site, "/stays", "/moves", "/goes", "/job")
        ran = checked(tmp_path)
        assert (ran.code, ran.out.splitlines()[0]) == (
            0,
            "No URL has left the sitemap, which keeps what the gate holds. After a move, run siteatlas crawl first.",
        )
        site.routes["/moves"] = Answer("", 301, {"Location": "/moved"})
        publish(tmp_path, site, "/stays", "/moved")
        asked = len(site.log)
        ran = checked(tmp_path)
        assert ran.code == 10
        assert ran.out.splitlines() == [
            f"lost: {site.url}goes: status 404",
            f"lost: {site.url}job: status 404",
            REMEDY,
            "3 URLs checked, 2 lost, 0 not known",
        ]
        assert "/stays" not in [path for _, path, _ in site.log[asked:]]
        assert checked(tmp_path).code == 0  # reported before
        assert checked(tmp_path, "--all").code == 10
        accepted = siteatlas(tmp_path, "urls", "accept", "*/jo*", "--reason", "taken", *STATE)
        assert accepted.out == "1 URL accepted\n"
        assert checked(tmp_path, "--all").out.splitlines()[-1] == "2 URLs checked, 1 lost, 0 not known"
        ends = {path: (row["end"], row["target"].removeprefix(site.url)) for path, row in register(tmp_path).items()}
        assert ends == {
            "": ("listed", ""),
            "stays": ("listed", ""),
            "moved": ("listed", ""),
            "moves": ("redirected", "moved"),
            "goes": ("lost", ""),
            "job": ("accepted", ""),
        }


def test_ours_what_fails_is_not_lost(tmp_path: Path) -> None:
    with scripted({}) as site:
        publish(tmp_path, site, "/a", "/b")
        publish(tmp_path, site, "/a")
        site.routes["/b"] = Answer("", 503)
        ran = checked(tmp_path)
        assert ran.code == 0
        assert "1 not known" in ran.out
        site.routes["/robots.txt"] = Answer("User-agent: *\nDisallow: /b\n", 200, {"Content-Type": "text/plain"})
        ran = checked(tmp_path)
        assert ran.code == 0
        assert "robots.txt" in ran.out


def test_ours_a_page_that_comes_back_and_goes_again_is_lost_again(tmp_path: Path) -> None:
    with scripted({}) as site:
        publish(tmp_path, site, "/a", "/b")
        publish(tmp_path, site, "/a")
        assert checked(tmp_path).code == 10
        publish(tmp_path, site, "/a", "/b")
        assert checked(tmp_path).code == 0
        publish(tmp_path, site, "/a")
        assert checked(tmp_path).code == 10


def test_ours_lists_and_old_sitemaps_are_imported(tmp_path: Path) -> None:
    with scripted({}) as site:
        publish(tmp_path, site, "/a")
        (tmp_path / "list.txt").write_text(f"/older\n{site.url}oldest\nhttps://other.example/x\nno url\n")
        ran = siteatlas(tmp_path, "urls", "import", "list.txt", *STATE)
        assert ran.out == "list.txt: 2 URLs of the site, 2 of them new\n"
        assert siteatlas(tmp_path, "urls", "import", "list.txt", *STATE).out.endswith("0 of them new\n")
        ran = checked(tmp_path, "--json")
        assert {end["url"].removeprefix(site.url) for end in json.loads(ran.out)["lost"]} == {"older", "oldest"}


def test_ours_a_folder_build_is_looked_through_with_its_redirects(tmp_path: Path) -> None:
    with scripted({}) as site:
        publish(tmp_path, site, "/a", "/b/", "/c", "/d", "/e")
        before = len(site.log)
        build = tmp_path / "build"
        (build / "b").mkdir(parents=True)
        for name in ("index.html", "a.html", "b/index.html", "new.html"):
            (build / name).write_text("<title>x</title>")
        (build / "_redirects").write_text("/c /new 301\n/d /missing 301\n")
        ran = checked(tmp_path, "--folder", "build")
        assert ran.code == 10
        assert ran.out.splitlines() == [
            f"lost: {site.url}d: status 404 after a redirect to {site.url}missing",
            f"lost: {site.url}e: status 404",
            REMEDY,
            "6 URLs checked, 2 lost, 0 not known",
        ]
        assert checked(tmp_path, "--folder", "build").code == 10  # nothing is recorded
        (tmp_path / "bulk.csv").write_text("".join(f"https://www.example.com/{name},/new,301\n" for name in "cde"))
        ran = checked(tmp_path, "--folder", "build", "--redirects", "bulk.csv")
        assert (
            ran.out == "6 URLs checked, 0 lost, 0 not known\n"
        )  # the public host of a site that was crawled elsewhere
        accepted = siteatlas(tmp_path, "urls", "accept", f"{site.url}[de]", "--reason", "old", *STATE)
        assert accepted.code == 2  # only * stands for something
        for path in "de":  # before the build is published
            accepted = siteatlas(tmp_path, "urls", "accept", f"/{path}", "--reason", "old", *STATE)
            assert accepted.out == "1 URL accepted, of which the sitemap still lists 1\n"
        assert checked(tmp_path, "--folder", "build").code == 0
        assert len(site.log) == before


def test_ours_an_unchanged_night_writes_nothing_to_the_register(tmp_path: Path) -> None:
    with scripted({}) as site:
        publish(tmp_path, site, "/a", "/b")
        before = register(tmp_path)
        publish(tmp_path, site, "/a", "/b")
        assert register(tmp_path) == before


LOG = '10.0.0.{} - - [25/Nov/2026:10:00:00 +0000] "GET {} HTTP/1.1" {} 9 "-" "Mozilla/5.0 (X11; Linux) Firefox/130.0"\n'


def test_ours_an_audit_names_lost_urls_and_who_asks_for_them(tmp_path: Path) -> None:
    with scripted({}) as site:
        publish(tmp_path, site, "/stays", "/moves", "/goes", "/job", "/dead")
        site.routes["/moves"] = Answer("", 301, {"Location": "/stays"})
        site.routes["/dead"] = Answer("", 301, {"Location": "/missing"})
        publish(tmp_path, site, "/stays", "/goes-here")
        siteatlas(tmp_path, "urls", "accept", f"{site.url}job", "--reason", "taken", *STATE)
        (tmp_path / "access.log").write_text("".join(LOG.format(n, "/goes", 404) for n in range(3)))
        audit = ("audit", site.url, *STATE, "--log", "access.log", "--rate", "0", "-o", "rep", "-q")
        siteatlas(tmp_path, *audit)
        report = json.loads((tmp_path / "rep" / "audit.json").read_text())
        lost = {finding["url"].removeprefix(site.url): finding for finding in report["findings"]}
        assert {url: finding["rule"] for url, finding in lost.items() if "lost" in finding["rule"]} == {
            "goes": "lost.visited",
            "missing": "lost.published",
        }
        assert lost["goes"]["sentence"].endswith("answered 404, not found; 3 requests by people")
        (target,) = lost["goes"]["targets"]  # by the page that the register keeps
        assert target["url"] == f"{site.url}goes-here"
        assert f"(as {site.url}dead)" in lost["missing"]["sentence"]
        assert siteatlas(tmp_path, *audit, "--fail-on", "lost").code == 10
        siteatlas(tmp_path, "urls", "accept", f"{site.url}goes", "--reason", "old", *STATE)
        siteatlas(tmp_path, *audit)
        report = json.loads((tmp_path / "rep" / "audit.json").read_text())
        assert "lost.visited" not in {finding["rule"] for finding in report["findings"]}


@pytest.mark.parametrize(("visits", "rule"), [(0, "lost.published"), (3, "lost.visited")])
def test_ours_a_link_to_a_lost_url_names_the_finding_of_the_same_loss(tmp_path: Path, visits: int, rule: str) -> None:
    with scripted({}) as site:
        publish(tmp_path, site, "/stays", "/goes")
        publish(tmp_path, site, "/stays")
        site.routes["/stays"] = '<p>stays, and links to <a href="/goes">what is gone</a>'
        (tmp_path / "access.log").write_text("".join(LOG.format(n, "/goes", 404) for n in range(visits)) or "\n")
        audit = ("audit", site.url, *STATE, "--log", "access.log", "--rate", "0", "-o", "rep", "--fresh-crawl")
        siteatlas(tmp_path, *audit)
    findings = json.loads((tmp_path / "rep" / "audit.json").read_text())["findings"]
    sentences = {finding["rule"]: finding["sentence"] for finding in findings if finding["url"].endswith("/goes")}
    assert set(sentences) == {"gone.linked", rule}
    assert f"linked from {site.url}stays; it was published once ({rule})" in sentences["gone.linked"]


def planned(folder: Path, site: Site, **sections: dict[str, object]) -> CrawlPlan:
    places = {"output": {"directory": str(folder / "out")}, "state": {"directory": str(folder / "state")}}
    return plan_crawl(build_config({"site": {"url": site.url}, "pace": {"rate": 0}, **places, **sections}))


def test_ours_old_urls_are_watched_and_a_loss_is_told_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with scripted({}) as site:
        publish(tmp_path, site, "/a", "/b", "/c", "/d")
        site.routes["/b"] = Answer("", 301, {"Location": "/a"})
        publish(tmp_path, site, "/a")
        siteatlas(tmp_path, "urls", "accept", f"{site.url}d", "--reason", "old", *STATE)
        hook = {"command": ["sh", "-c", f"cat >> {tmp_path}/told"], "on": ["findings"]}
        plan = planned(tmp_path, site, hook=hook)
        before = len(site.log)
        said = watch_old_urls("site", plan)
        assert said == f"1 old URL of the site leads to no page: {site.url}c: status 404"
        assert [path for _, path, _ in site.log[before:]] == ["/robots.txt", "/b", "/a", "/c"]
        assert said in (tmp_path / "told").read_text()
        asked = len(site.log)
        assert watch_old_urls("site", plan) == ""
        assert len(site.log) == asked  # each URL once a week
        later = time.time() + 2 * WEEK
        monkeypatch.setattr("crawler.run.watch.time.time", lambda: later)
        del site.routes["/b"]
        assert f"{site.url}b: status 404" in watch_old_urls("site", plan)
        assert (tmp_path / "told").read_text().count('"occasion":"findings"') == 2
        monkeypatch.setattr("crawler.run.watch.time.time", lambda: later + 400 * 86_400)
        asked = len(site.log)
        assert watch_old_urls("site", plan) == ""
        assert len(site.log) == asked  # a year is over


def test_ours_a_loss_that_nobody_could_be_told_is_told_later(tmp_path: Path) -> None:
    with scripted({}) as site:
        publish(tmp_path, site, "/a", "/c")
        publish(tmp_path, site, "/a")
        fails = {"command": ["sh", "-c", "exit 75"], "on": ["findings"]}
        assert watch_old_urls("site", planned(tmp_path, site, hook=fails, notify={"attempts": 1})) == ""
        assert "leads to no page" in watch_old_urls("site", planned(tmp_path, site))


def committed(folder: Path, files: dict[str, str]) -> None:
    """A commit in which a folder has these files alone."""
    for path in folder.glob("[!.]*"):
        path.unlink()
    for name, text in files.items():
        (folder / name).write_text(text)
    name = ("-c", "user.name=a", "-c", "user.email=a@example.com")
    for words in (("init", "-q"), ("add", "-A"), (*name, "commit", "-qm", "pages")):
        subprocess.run(["git", "-C", folder, *words], check=True)


def test_ours_urls_come_from_logs_tables_and_the_history_of_folders(tmp_path: Path) -> None:
    with scripted({}) as site:
        publish(tmp_path, site, "/a.html")
        requests = {"/logged": 200, "/never": 404, "/style.css": 200, "/a.html": 200}
        (tmp_path / "access.log").write_text("".join(LOG.format(1, *request) for request in requests.items()))
        (tmp_path / "Pages.csv").write_text(f"Top pages,Clicks,Impressions\n{site.url}searched,3,9\n")
        for name in ("built", "source"):
            (tmp_path / name).mkdir()
        committed(tmp_path / "built", {"index.html": "x", "gone.html": "x", "404.html": "x", "a.css": "x"})
        committed(tmp_path / "built", {"index.html": "x"})
        committed(tmp_path / "source", {"conf.py": "", "a.rst": "a", "old.rst": "b"})
        committed(tmp_path / "source", {"conf.py": "", "a.rst": "a"})
        ran = siteatlas(tmp_path, "urls", "import", "access.log", "Pages.csv", "built", "source", *STATE)
        assert ran.out.splitlines() == [
            "access.log: 2 URLs of the site, 1 of them new",
            "Pages.csv: 1 URL of the site, 1 of them new",
            "built: 2 URLs of the site, 1 of them new",
            "source: 2 URLs of the site, 1 of them new",
        ]
        assert register(tmp_path).keys() == {"", "a.html", "logged", "searched", "gone.html", "old.html"}
        (tmp_path / "plain").mkdir()
        ran = siteatlas(tmp_path, "urls", "import", "plain", *STATE)
        assert ran.code == 2
        assert "Git cannot read" in ran.err


@pytest.mark.thorough
def test_ours_in_fifty_runs_each_loss_is_reported_once_and_nothing_else(tmp_path: Path) -> None:
    draw = random.Random(5)
    pages = [f"/page{n}" for n in range(12)]
    moved: dict[str, str] = {}
    gone: list[str] = []
    reported: list[str] = []
    lost: set[str] = set()
    with scripted({}) as site:
        publish(tmp_path, site, *pages)
        for night in range(49):
            page = pages.pop(draw.randrange(len(pages)))
            pages.append(f"/night{night}")
            fate = draw.choice(("moves", "lost", "accepted"))
            if fate == "moves":
                moved[page] = pages[-1]
                site.routes[page] = Answer("", 301, {"Location": pages[-1]})
            publish(tmp_path, site, *pages)
            if fate == "accepted":
                words = ("urls", "accept", site.url + page[1:], "--reason", "on purpose", *STATE)
                assert siteatlas(tmp_path, *words).code == 0
            else:
                gone.append(page)
            for path in gone:  # a target that is gone takes those that led to it with it
                end = path
                while end in moved:
                    end = moved[end]
                lost |= {path} if end not in pages else set()
            ran = checked(tmp_path, "--json")
            reported += [end["url"].removeprefix(site.url[:-1]) for end in json.loads(ran.out)["lost"]]
            assert sorted(reported) == sorted(lost)
