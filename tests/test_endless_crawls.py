"""Crawls of sites without end, from the command to what is published, told and remembered."""

import json
import re
import shlex
import subprocess
import time
from pathlib import Path

import pytest
from run import FAST, command, crawl, environment, listed, published, siteatlas
from scripted import Answer, Route, Site, links, scripted

pytestmark = pytest.mark.thorough

WORDS = ("--set=scope.trap_limit=20", "--set=fetch.retries=0")
PARTY = "/cal?day=7"


class Calendar(dict[str, Route]):
    """A site of a few pages, and a calendar in which one day has something to tell. All can say "not modified"."""

    def __init__(self, delay: float = 0.0) -> None:
        super().__init__({"/a": "<p>One.", "/b": "<p>Another.", "/": links("/a", "/b", "/cal?day=0")})
        self._delay = delay

    def get(self, path: str, default: object = None) -> object:  # type: ignore[override]
        if path in self:
            return self[path]
        if not (found := re.fullmatch(r"/cal\?day=(-?\d+)", path)):
            return default
        day = int(found[1])
        said = "<p>A party!" if path == PARTY else "<p>No events."
        body = said + links(*(f"/cal?day={day + step}" for step in (1, -1)))
        return Answer(body, headers={"ETag": f'"{day}"'}, delay=self._delay)


def rule_of(told: str) -> list[str]:
    """The flag and the pattern that a person is told, as a shell reads them."""
    found = re.search(r"--exclude '[^']*'", told)
    assert found
    return shlex.split(found[0])


def test_ours_what_goes_on_for_ever_is_told_once_with_the_rule_that_ends_it(tmp_path: Path) -> None:
    with scripted(Calendar()) as site:
        ran = crawl(tmp_path, site.url, *WORDS)
        assert ran.code == 0
        assert ran.out.count("is an infinite URL space") == 1
        assert len(site.log) < 70
        assert {f"{site.url[:-1]}{path}" for path in ("/", "/a", "/b", PARTY)} <= {*listed(tmp_path)}
        told = json.loads(siteatlas(tmp_path, "why", f"{site.url}cal?day=21", "--json").out)
        (url,) = told["urls"]
        assert url["state"] == "trap"
        assert shlex.split(url["facts"]["state"]["remedy"]) == rule_of(ran.out)
        assert "scope.trap_limit" in siteatlas(tmp_path, "why", f"{site.url}cal?day=21").out
        again = crawl(tmp_path, site.url, *WORDS, *rule_of(ran.out), "--accept-shrink", "--json")
        report = json.loads(again.out)
        assert (report["exit_code"], report["completeness"]) == (0, "complete")
        assert "for ever" not in again.out
        assert len(listed(tmp_path)) == 3


def test_ours_a_second_run_lists_the_same_of_it_though_nothing_is_sent_again(tmp_path: Path) -> None:
    with scripted(Calendar()) as site:
        assert crawl(tmp_path, site.url, *WORDS).code == 0
        before, asked = published(tmp_path), len(site.log)
        ran = crawl(tmp_path, site.url, *WORDS, "-c", "2")
        assert ran.code == 0
        assert "responses unchanged" in ran.out
        assert ran.out.count("is an infinite URL space") == 1
        assert published(tmp_path) == before
        assert len(site.log) <= 2 * asked + 5


def test_ours_what_is_listed_of_it_does_not_grow_from_run_to_run_as_the_sitemap_is_read(tmp_path: Path) -> None:
    """Each page in it leads to one that is not: that is no reason to read as many again every night."""
    with scripted(Calendar()) as site:
        assert crawl(tmp_path, site.url, *WORDS).code == 0
        before = {*listed(tmp_path)}
        for _ in range(2):
            body = (tmp_path / "out" / "sitemap.xml").read_bytes()
            site.routes["/sitemap.xml"] = Answer(body, headers={"Content-Type": "application/xml"})
            asked = len(site.log)
            ran = crawl(tmp_path, site.url, *WORDS)
            assert ran.code == 0
            assert {*listed(tmp_path)} == before
            assert ran.out.count("is an infinite URL space") == 1
            assert len(site.log) - asked < 60


def test_ours_what_was_listed_before_there_was_a_limit_stays_and_no_more_is_read_each_night(tmp_path: Path) -> None:
    """It had been refused every other night, for it was known every other night that it is endless."""
    with scripted(Calendar()) as site:
        assert (
            crawl(tmp_path, site.url, "--set=scope.trap_limit=0", "--max-depth", "80", "--set=fetch.retries=0").code
            == 0
        )
        before = {*listed(tmp_path)}
        assert len(before) > 150
        for _ in range(3):
            asked = len(site.log)
            ran = crawl(tmp_path, site.url, *WORDS)
            assert ran.code == 0
            assert {*listed(tmp_path)} == before
            assert len(site.log) - asked < len(before) + 60


def _killed(folder: Path, site: Site, after: int) -> None:
    line = command("crawl", site.url, "-o", "out", "--set=output.swap_delay=0", *FAST, *WORDS)
    process = subprocess.Popen(
        line, cwd=folder, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    enough = len(site.log) + after
    while process.poll() is None and len(site.log) < enough:
        time.sleep(0.005)
    process.kill()
    process.wait()


@pytest.mark.slow  # the frontier's own tests kill it too
def test_ours_a_crawl_that_is_killed_in_it_ends_with_the_same_bytes(tmp_path: Path) -> None:
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    whole.mkdir()
    killed.mkdir()
    with scripted(Calendar(delay=0.02)) as site:
        assert crawl(whole, site.url, *WORDS).code == 0
        for after in (25, 12):
            _killed(killed, site, after)
        ran = crawl(killed, site.url, *WORDS)
        assert ran.code == 0
        assert "is an infinite URL space" in ran.out
        assert published(killed) == published(whole)


def test_ours_an_audit_calls_no_page_an_orphan_for_sure_while_something_endless_was_left(tmp_path: Path) -> None:
    with scripted(Calendar()) as site:
        (tmp_path / "list.txt").write_text(f"{site.url}b\n{site.url}lost\n")
        site.routes["/lost"] = "<p>Lost."
        words = ("audit", site.url, "--list", "list.txt", *FAST, *WORDS)
        ran = siteatlas(tmp_path, *words)
        assert "scope.trap_limit" in ran.out
        assert "is an infinite URL space" in ran.out
        trusting = siteatlas(tmp_path, *words, "--set=audit.trust_blocked=true")
        assert "To read more of them" not in trusting.out
