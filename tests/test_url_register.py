"""The register of URLs: what was published once is there, redirects, is accepted, or is reported as lost."""

import csv
import io
import json
import random
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from run import NIGHTLY, Ran, siteatlas
from scripted import Answer, Site, links, scripted

STATE = ("--state", "state")


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
        assert checked(tmp_path).code == 0
        site.routes["/moves"] = Answer("", 301, {"Location": "/moved"})
        publish(tmp_path, site, "/stays", "/moved")
        asked = len(site.log)
        ran = checked(tmp_path)
        assert ran.code == 10
        assert ran.out.splitlines() == [
            f"lost: {site.url}goes: status 404",
            f"lost: {site.url}job: status 404",
            "3 URLs asked, 2 lost, 0 not known",
        ]
        assert "/stays" not in [path for _, path, _ in site.log[asked:]]
        assert checked(tmp_path).code == 0  # reported before
        assert checked(tmp_path, "--all").code == 10
        accepted = siteatlas(tmp_path, "urls", "accept", f"{site.url}jo*", "--reason", "taken", *STATE)
        assert accepted.out == "1 URL accepted\n"
        assert checked(tmp_path, "--all").out.splitlines()[-1] == "2 URLs asked, 1 lost, 0 not known"
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
            "6 URLs asked, 2 lost, 0 not known",
        ]
        assert checked(tmp_path, "--folder", "build").code == 10  # nothing is recorded
        assert len(site.log) == before


def test_ours_a_state_without_a_register_gets_one(tmp_path: Path) -> None:
    with scripted({}) as site:
        publish(tmp_path, site, "/a", "/b")
        (path,) = tmp_path.glob("state/*/state.db")
        with closing(sqlite3.connect(path)) as db:
            db.execute("DROP TABLE register")
        assert checked(tmp_path).code == 0
        publish(tmp_path, site, "/a", "/b", "/c")
        assert register(tmp_path).keys() == {"", "a", "b", "c"}


def test_ours_an_unchanged_night_writes_nothing_to_the_register(tmp_path: Path) -> None:
    with scripted({}) as site:
        publish(tmp_path, site, "/a", "/b")
        before = register(tmp_path)
        publish(tmp_path, site, "/a", "/b")
        assert register(tmp_path) == before


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
