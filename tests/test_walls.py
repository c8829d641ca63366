"""Walls in front of some pages of a site: nothing leaves, no date moves, nothing walled is listed, and the run says so.

The rule was written with one half of a collection; the other half judges it.
"""

import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import pytest
from forked import Ended, Forked
from gate_sites import MadeSite, entries
from run import AT_ONCE
from scripted import Answer, Route, Site, links, scripted
from walls import Specimen, specimens

from crawler.fetch.challenge import Challenge, detect_challenge
from crawler.fetch.retry import is_transient
from crawler.model import Reply, Url

WORDS = (*AT_ONCE, "--render", "never", "--set=fetch.not_found_checks=0", "-o", "out")
WALLS = [wall for half in ("shown", "held") for wall in specimens(half) if wall.kind == "wall"]
SOME = ("anubis-pow", "qrator-401", "azure-frontdoor-403", "testcookie-aes")


def challenge_of(specimen: Specimen, dice: random.Random) -> Challenge | None:
    """What one answer is told as."""
    sent = specimen.reply(dice)
    headers = tuple((name.lower(), value) for name, value in sent.headers.items())
    return detect_challenge(Reply(Url("https://www.boats.example/harbour/"), sent.status, headers, sent.body, 0.0, 0.1))


def is_known(specimen: Specimen, dice: random.Random) -> bool:
    """Whether a wall is told by one answer, or fails temporarily whoever sends it: its page then stays too."""
    return challenge_of(specimen, dice) is not None or (specimen.kind == "wall" and is_transient(specimen.status))


@pytest.mark.parametrize(("half", "most_missed"), [("shown", 0.1), ("held", 0.1), ("later", 0.25)])
def test_ours_most_walls_are_known_by_one_answer_and_no_honest_page_is_taken_for_one(
    half: Literal["shown", "held", "later"], most_missed: float
) -> None:
    dice = random.Random(half)
    found = {each.name: is_known(each, dice) for each in specimens(half)}
    kinds = {each.name: each.kind for each in specimens(half)}
    assert [name for name, known in found.items() if known and kinds[name] == "honest"] == []
    missed = [name for name, known in found.items() if not known and kinds[name] == "wall"]
    assert len(missed) <= most_missed * sum(kind == "wall" for kind in kinds.values()), missed


def sent(specimen: Specimen, path: str, site: Site, dice: random.Random) -> Callable[[int], Answer]:
    """The route that answers with a specimen, with other tokens each time, without the pause that it asks for."""

    def answer(_: int) -> Answer:
        reply = specimen.reply(dice, site.url.split("/")[2], path)
        headers = {name: value for name, value in reply.headers.items() if name != "Retry-After"}
        return Answer(reply.body, reply.status, headers)

    return answer


class Walled:
    """A site of 31 pages, of which any may answer otherwise."""

    def __init__(self, process: Forked, folder: Path, site: Site, seed: str) -> None:
        self.dice = random.Random(seed)
        self.made = MadeSite(31, self.dice.randrange(99))
        self.struck = self.dice.sample(self.made.pages, 5)
        self.site = site
        self._process = process
        self._folder = folder
        self._day = 0

    def page(self, path: str) -> str:
        """A whole page, with links to others as on most sites."""
        menu = "".join(f'<a href="{to}">{to}</a> ' for to in self.made.pages[:6])
        return self.made.page(path).replace("<nav>", f"<nav>{menu}")

    def run(self, routes: dict[str, Route]) -> tuple[Ended, dict[str, str]]:
        """One night, with the listed paths and their lastmod after it."""
        self.site.routes = {path: self.page(path) for path in ["/", *self.made.pages]} | routes
        ended = self._process.run(self._folder, self._day, "crawl", self.site.url, *WORDS, "--state", "state")
        self._day += 1
        file = self._folder / "out" / "sitemap.xml"
        listed = entries(file.read_text()) if file.exists() else []
        return ended, {f"/{url.removeprefix(self.site.url)}": date for url, date in listed}


def survive(process: Forked, folder: Path, wall: Specimen) -> None:
    """Five pages are behind a wall in the first run, then in none, then again, then in none."""
    with scripted({}) as site:
        nights = Walled(process, folder, site, wall.name)
        struck: dict[str, Route] = {path: sent(wall, path, site, nights.dice) for path in nights.struck}
        first, listed = nights.run(struck)
        assert set(listed) == {"/", *nights.made.pages} - set(struck), first.said
        _, before = nights.run({})
        assert set(before) == {"/", *nights.made.pages}
        later, listed = nights.run(struck)
        assert listed == before, later.said
        for ended in (first, later):
            said = " ".join(ended.said.split())
            assert "degraded: 5 URLs failed" in said
            if challenge_of(wall, nights.dice):
                assert "a firewall responded in place of 5 pages" in said
                assert "let Siteatlas through in the settings of" in said
                assert ended.status == 3, said
        ended, listed = nights.run({})
        assert ended.status == 0, ended.said
        assert listed == before


def survive_unknown(process: Forked, folder: Path, wall: Specimen) -> None:
    """The same for a wall that no rule need know: the site had whole pages before."""
    with scripted({}) as site:
        nights = Walled(process, folder, site, wall.name)
        _, before = nights.run({})
        ended, listed = nights.run({path: sent(wall, path, site, nights.dice) for path in nights.struck})
        assert listed == before, ended.said
        assert "degraded: 5 URLs failed" in ended.said
        _, listed = nights.run({})
        assert listed == before


UNKNOWN = [wall for wall in specimens("later") if wall.kind == "wall"]
EMPTY = "yunsuo-verify-redirect"  # a 200 without a word reads like a page that scripts fill


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["sec-undeclared-tool", "btk-5651-tr", "ruishu-202-ts"])
def test_ours_some_unknown_walls_before_five_known_pages_change_nothing(
    process: Forked, tmp_path: Path, name: str
) -> None:
    survive_unknown(process, tmp_path, next(wall for wall in UNKNOWN if wall.name == name))


@pytest.mark.slow
@pytest.mark.parametrize("wall", [wall for wall in UNKNOWN if wall.name != EMPTY], ids=lambda wall: wall.name)
def test_ours_no_unknown_wall_before_five_known_pages_changes_anything(
    process: Forked, tmp_path: Path, wall: Specimen
) -> None:
    survive_unknown(process, tmp_path, wall)


@pytest.mark.thorough
def test_ours_whole_pages_that_stay_bare_are_believed_after_some_runs(process: Forked, tmp_path: Path) -> None:
    with scripted({}) as site:
        nights = Walled(process, tmp_path, site, "bare")
        _, before = nights.run({})
        bare: dict[str, Route] = dict.fromkeys(nights.struck, "<title>Boats</title><h1>Coming soon</h1>")
        for _ in range(3):
            ended, listed = nights.run(bare)
            assert listed == before, ended.said
        ended, listed = nights.run(bare)
        assert ended.status == 0, ended.said
        assert {path for path in listed if listed[path] != before[path]} == set(nights.struck)


def test_ours_a_wall_before_five_pages_changes_nothing(process: Forked, tmp_path: Path) -> None:
    survive(process, tmp_path, next(wall for wall in WALLS if wall.name == "imperva-pardon"))


@pytest.mark.thorough
@pytest.mark.parametrize("wall", [wall for wall in WALLS if wall.name in SOME], ids=lambda wall: wall.name)
def test_ours_some_walls_before_five_pages_change_nothing(process: Forked, tmp_path: Path, wall: Specimen) -> None:
    survive(process, tmp_path, wall)


@pytest.mark.slow
@pytest.mark.parametrize("wall", WALLS, ids=lambda wall: wall.name)
def test_ours_no_wall_before_five_pages_changes_anything(process: Forked, tmp_path: Path, wall: Specimen) -> None:
    survive(process, tmp_path, wall)


def test_ours_a_bare_error_that_several_whole_pages_return_at_once_is_a_wall(process: Forked, tmp_path: Path) -> None:
    with scripted({}) as site:
        nights = Walled(process, tmp_path, site, "unknown")
        _, before = nights.run({})
        body = "<title>Nope</title><p>Go away, visitor {}.</p>"
        struck: dict[str, Route] = {path: Answer(body.format(nights.dice.random()), 403) for path in nights.struck}
        ended, listed = nights.run(struck)
        assert listed == before, ended.said
        assert ended.status == 3
        assert "5 URLs return the same bare page" in " ".join(ended.said.split())


def test_ours_pages_that_lose_links_and_differ_in_numbers_alone_are_no_wall(process: Forked, tmp_path: Path) -> None:
    def item(n: int, links: int) -> str:
        near = "".join(f'<li><a href="/item-{(n + step) % 20}">more</a>' for step in range(1, links + 1))
        text = f"<p>Item {n} is {n * 7} feet long and costs {n * 31}."
        return f"<title>Item {n}</title><h1>Item {n}</h1>{text}<ul>{near}</ul>"

    with scripted({}) as site:
        nights = Walled(process, tmp_path, site, "unknown")
        start = nights.page("/") + "".join(f'<a href="/item-{n}">{n}</a>' for n in range(20))
        routes: list[dict[str, Route]] = [{f"/item-{n}": item(n, links) for n in range(20)} for links in (5, 3)]
        _, before = nights.run({"/": start, **routes[0]})
        ended, listed = nights.run({"/": start, **routes[1]})
        assert ended.status == 0, ended.said
        assert listed.keys() == before.keys()


OWN_ERRORS = {
    "nginx": "<html><head><title>403 Forbidden</title></head><body><center><h1>403 Forbidden</h1></center><hr>"
    "<center>nginx/1.26.2</center></body></html>",
    "Apache": "<title>403 Forbidden</title><h1>Forbidden</h1><p>You don't have permission to access this resource.</p>"
    "<hr><address>Apache/2.4.62 (Debian) Server at 203.0.113.80 Port 80</address>",
    "an application": "<title>Access denied</title><p>You may not see this. Request ID: 4f3a99b1c2d3e4aa</p>",
    "WordPress": '<meta name="robots" content="noindex"><p>Sorry, you are not allowed to access this page.</p>',
}


@pytest.mark.thorough
@pytest.mark.parametrize("name", [*OWN_ERRORS, "the site's template"])
def test_ours_pages_that_a_site_itself_forbids_leave(process: Forked, tmp_path: Path, name: str) -> None:
    with scripted({}) as site:
        nights = Walled(process, tmp_path, site, name)
        _, before = nights.run({})
        body = OWN_ERRORS.get(name) or nights.page("/")
        ended, listed = nights.run({path: Answer(body, 403) for path in nights.struck})
        assert set(before) - set(listed) == set(nights.struck), ended.said
        assert ended.status == 0


@pytest.mark.thorough
def test_ours_honest_pages_that_resemble_walls_are_none_where_several_urls_return_them(
    process: Forked, tmp_path: Path
) -> None:
    dice = random.Random(1)
    honest = [each for half in ("shown", "held") for each in specimens(half) if each.kind == "honest"]  # type: ignore[arg-type]
    with scripted({}) as site:
        pages = {f"/{each.name}/{n}": each for each in honest for n in range(4)}
        site.routes = {path: sent(each, path, site, dice) for path, each in pages.items()} | {"/": links(*pages)}
        for day in range(2):
            ended = process.run(tmp_path, day, "crawl", site.url, *WORDS, "--state", "state")
            assert not re.search("challenge|firewall", ended.said.replace("bot-management", "")), ended.said


@pytest.mark.parametrize("name", ["anubis-pow", "lua-cookie-js", "stormwall"])
def test_ours_a_first_run_before_a_wall_publishes_nothing(process: Forked, tmp_path: Path, name: str) -> None:
    wall = next(wall for wall in WALLS if wall.name == name)
    with scripted({}) as site:
        nights = Walled(process, tmp_path, site, name)
        ended, listed = nights.run({path: sent(wall, path, site, nights.dice) for path in ["/", *nights.made.pages]})
        assert ended.status == 5, ended.said
        assert not listed
        assert "a firewall responded in place of 1 page" in " ".join(ended.said.split())
