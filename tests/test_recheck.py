"""Runs that ask only for what is due: the policy alone, and the program against a site whose clock the test has."""

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from forked import Forked
from trials.recheck.policy import Player, nights_of
from trials.recheck.program import CONFIG, HistorySite, published, serving

from crawler.crawl.due import DAY, Cause, KnownPage, Trust, choose, siblings


def made_history(seed: int, pages: int, days: int) -> dict[str, Any]:
    """A history of edits that are drawn: few a day, half of them on pages that were edited before."""
    dice = random.Random(seed)
    paths = [f"part{n % 7}/page{n}" for n in range(pages + days)]
    commits, events = [[0, pages, pages, 0]], [[0, "A", n] for n in range(pages)]
    for day in range(1, days):
        commits.append([day * 1440 - 700, 1, pages, 0])
        events.append([day, "M", dice.choice([dice.randrange(pages), dice.randrange(pages // 10)])])
        if day % 9 == 0:
            events.append([day, "A", pages + day])
        if day % 13 == 0:
            events.append([day, "D", day])
    return {"site": str(seed), "days": days, "pages": paths, "commits": commits, "events": events}


@pytest.mark.parametrize(
    ("days", "coverage", "most", "at_once"), [(30, 1.0, 0.12, 1.0), (30, 0.9, 0.13, 0.8), (14, 0, 0.25, 0.1)]
)
@pytest.mark.parametrize("seed", range(3))
def test_ours_a_tenth_of_the_requests_sees_what_is_announced_at_once_and_the_rest_within_the_bound(
    seed: int, days: int, coverage: float, most: float, at_once: float
) -> None:
    history = made_history(seed, 200, 200)
    played = Player(history, days, coverage).play(nights_of(history))
    assert played.share <= most
    assert played.within(0) >= at_once
    assert max(played.longest, played.open_for) <= days


@pytest.mark.parametrize("seed", range(20))
def test_ours_no_page_waits_longer_than_the_bound_whatever_the_runs_do(seed: int) -> None:
    """Sites grow and shrink, runs come at any distance below a third of the bound."""
    dice = random.Random(seed)
    days, now, number = dice.choice([3, 14, 30]), 0.0, 300
    asked = dict.fromkeys(range(number), 0.0)
    step = DAY * days / dice.choice([3, 10, 40])
    for _ in range(80):
        now += step
        pages = [KnownPage(page, at) for page, at in asked.items()]
        due = choose(pages, len(pages), now, step, days, Trust(announced=1))
        assert max(now - at for at in asked.values()) <= days * DAY + 1e-3
        asked |= dict.fromkeys(due, now)
        for _ in range(dice.randrange(9)):
            asked[number] = now
            number += 1
        for page in dice.sample(sorted(asked), dice.randrange(9)):
            asked.pop(page)


def test_ours_rotation_takes_the_oldest_and_keeps_the_causes() -> None:
    pages = [KnownPage(n, float(n) * DAY) for n in range(100)]
    pages[50] = pages[50]._replace(cause=Cause.SIGNALLED)
    due = choose(pages, 100, 100 * DAY, DAY, 200, Trust(announced=1))
    assert due == {50: Cause.SIGNALLED, 0: Cause.ROTATION}


def test_ours_without_a_signal_what_changed_last_is_asked_too() -> None:
    pages = [KnownPage(n, 99 * DAY, changed=float(n)) for n in range(100)]
    recent = {n for n, cause in choose(pages, 100, 100 * DAY, DAY, 30, Trust()).items() if cause is Cause.RECENT}
    assert len(recent) >= 4
    assert recent <= {95, 96, 97, 98, 99}
    assert Cause.RECENT not in choose(pages, 100, 100 * DAY, DAY, 30, Trust(announced=9)).values()


def test_ours_a_signal_that_misses_or_cries_wolf_is_not_relied_on() -> None:
    assert Trust(announced=90, missed=10).is_reliable
    assert not Trust(announced=10, missed=90).is_reliable
    assert Trust(announced=1, idle=1_000).is_noise
    assert not Trust(announced=900, idle=1_000).is_noise
    assert not Trust().is_reliable


@pytest.mark.parametrize(
    ("rotated", "moved", "is_beyond"), [(33, 33, True), (33, 2, False), (33, 4, False), (4, 4, True)]
)
def test_ours_many_changes_in_the_rotation_are_beyond_chance(rotated: int, moved: int, is_beyond: bool) -> None:
    assert Trust().is_beyond_chance(rotated, moved) is is_beyond
    assert not Trust(rotated=10_000, moved=9_900).is_beyond_chance(rotated, moved)


def test_ours_siblings_double_as_long_as_they_changed() -> None:
    pages = [(n, f"/a/{n}") for n in range(100)]
    first = siblings(["/a/x"], [], pages)
    assert len(first) == 4
    changed = [(f"/a/{n}", True) for n in first]
    assert len(siblings(["/a/x"], changed, pages[4:])) == 4
    assert siblings(["/a/x"], [(path, False) for path, _ in changed], pages[4:]) == []


# ---------------------------------------------------------------- the program


class Nights:
    """The program on a site of 120 pages, one run a night."""

    def __init__(self, process: Forked, folder: Path, url: str, site: HistorySite) -> None:
        self.process, self.folder, self.site, self.url, self.number = process, folder, site, url, -1
        folder.mkdir(exist_ok=True)
        (folder / "site.toml").write_text(CONFIG.format(url=url, more=", recheck_within = 14"))

    def night(self, *words: str, came: Any = (), went: Any = (), edited: Any = (), **more: Any) -> dict[str, Any]:
        self.number += 1
        self.site.live(self.number, list(came), list(went), list(edited))
        return self.run(*words, **more)

    def run(self, *words: str, later: float = 0.0, **more: Any) -> dict[str, Any]:
        self.site.hits.clear()
        self.ended = self.process.run(
            self.folder, self.number + later, "run", "--config", "site.toml", "--json", *words, **more
        )
        said = self.ended.said
        report: dict[str, Any] = json.loads(said[said.index("{") :])["sites"][0] if "{" in said else {}
        return report


@pytest.fixture
def nights(process: Forked, tmp_path: Path) -> Iterator[Nights]:
    """A site after two full runs and one that was not."""
    site = HistorySite(made_history(1, 120, 30), coverage=1)
    with serving(site) as url:
        ready = Nights(process, tmp_path / "partial", url, site)
        assert ready.night(came=range(120))["completeness"] == "complete"
        assert ready.night()["completeness"] == "complete"
        assert ready.night()["completeness"] == "carried"
        yield ready


def test_ours_a_run_asks_for_what_is_due_and_says_so(nights: Nights) -> None:
    before = published(nights.folder)
    edited, gone = nights.site.paths[3], nights.site.paths[4]
    report = nights.night(came=[120], went=[4], edited=[3])
    after = published(nights.folder)
    assert report["reason"].startswith(f"asked {report['asked']['asked']} of {report['asked']['known']}; oldest visit")
    assert report["asked"]["asked"] < 60
    assert {edited, gone, nights.site.paths[120]} <= {*nights.site.hits}
    assert {page for page in {*before, *after} if before.get(page) != after.get(page)} >= {edited, gone}
    assert gone not in after
    assert nights.site.paths[120] in after
    status = nights.process.run(nights.folder, nights.number, "status", "--config", "site.toml")
    assert report["reason"] in status.said
    carried = next(path for path in nights.site.paths[:120] if path not in nights.site.hits)
    why = nights.process.run(nights.folder, nights.number, "why", nights.url[:-1] + carried, "--config", "site.toml")
    assert "the last run did not request it" in why.said


def test_ours_a_run_in_which_all_that_is_due_is_gone_asks_for_all_and_is_judged_as_one(nights: Nights) -> None:
    before = published(nights.folder)
    nights.number += 1
    start = nights.site.pages["/"]
    nights.site.pages = {"/": start}  # every other page is a 404
    report = nights.run()
    assert nights.ended.status == 3
    assert report["completeness"] != "carried"
    assert len({*nights.site.hits}) > 120
    assert any("asked for all pages" in note for note in report["notes"])
    assert published(nights.folder) == before
    assert nights.night()["completeness"] == "complete"  # after a held run


def test_ours_a_new_template_makes_a_run_ask_for_all(nights: Nights) -> None:
    before = published(nights.folder)
    nights.number += 1
    footer = b"<footer>Read our new terms of use before you write to us</footer>"
    nights.site.pages = {path: body + footer for path, body in nights.site.pages.items()}
    report = nights.run()
    assert {page for page, date in published(nights.folder).items() if before[page] != date} == set(), report


def test_ours_pages_that_lost_all_their_links_are_judged_as_on_a_full_run(nights: Nights) -> None:
    before = published(nights.folder)
    nights.number += 1
    nights.site.pages["/"] = nights.site.markup("/", 0, [])
    nights.site.sitemap = nights.site.sitemap.partition("<url>")[0] + "</urlset>"
    nights.run()
    assert nights.ended.status == 3
    assert published(nights.folder) == before


def test_ours_listing_pages_are_asked_although_a_sitemap_lists_the_same_pages(nights: Nights) -> None:
    listed = nights.site.sitemap
    nights.number += 1
    nights.site.live(nights.number, [120], [], [])
    nights.site.sitemap = listed  # the new page is on its list alone
    nights.run()
    assert nights.site.paths[120] in published(nights.folder)


def test_ours_a_list_of_changed_pages_is_asked(nights: Nights) -> None:
    nights.site.dated = set()
    nights.night()
    path = next(path for path in nights.site.paths[:120] if path not in nights.site.hits)
    page = nights.site.paths.index(path)
    (nights.folder / "changed").write_text(f"{path}\n")
    nights.night("--changed", "changed", edited=[page])
    assert path in nights.site.hits
    nights.number += 1
    nights.site.pages["/alone"] = nights.site.markup("/alone", 0, [])
    (nights.folder / "changed").write_text(f"{nights.url}alone\n")
    nights.run("--changed", "changed")
    assert "/alone" in nights.site.hits
    assert "/alone" not in published(nights.folder)  # as after a full run: no page links to it
    (nights.folder / "site.toml").write_text(CONFIG.format(url=nights.url, more=""))
    nights.night("--changed", "changed")
    assert nights.ended.status == 2
    assert "fetch.recheck_within" in nights.ended.said


@pytest.mark.thorough
def test_ours_a_run_that_is_resumed_makes_the_same_choice(nights: Nights) -> None:
    nights.night("--set", "scope.max_pages=5")
    first = {*nights.site.hits}
    assert nights.ended.status == 4
    nights.run()
    assert nights.ended.status == 0
    assert len(first | {*nights.site.hits}) < 60
    assert len(published(nights.folder)) == len(nights.site.versions) + 8  # the lists and the start page


@pytest.mark.thorough
def test_ours_a_changed_robots_txt_makes_a_run_ask_for_all(nights: Nights) -> None:
    nights.number += 1
    nights.site.pages["/robots.txt"] = b"User-agent: *\nDisallow: /part3/\n"
    report = nights.run()
    assert report["completeness"] == "complete"
    assert any("robots.txt changed" in note for note in report["notes"])


@pytest.mark.thorough
def test_ours_rules_that_came_when_the_pages_were_asked_already_make_the_next_run_ask_for_all(nights: Nights) -> None:
    """robots.txt fails until the pages are asked by its copy, and then has other rules."""
    old, new = b"User-agent: *\nDisallow: /none\n", b"User-agent: *\nDisallow: /part3/\n"
    for later, failures, rules in ((0.2, 0, old), (0.5, 3, new), (0.8, 0, new)):  # a copy holds for a day
        nights.site.pages["/robots.txt"], nights.site.robots_failures = rules, failures
        report = nights.run(later=later)
        assert nights.site.robots_failures == 0
        assert any("robots.txt changed" in note for note in report["notes"])
    assert not any(path.startswith("/part3/") for path in published(nights.folder))


@pytest.mark.thorough
def test_ours_an_audit_does_not_rest_on_a_run_that_carried_visits(nights: Nights) -> None:
    audit = nights.process.run(nights.folder, nights.number, "audit", "--config", "site.toml")
    assert "the last run did not request all pages" in audit.said


@pytest.mark.thorough
def test_ours_a_page_without_links_stays_until_every_page_was_asked(nights: Nights) -> None:
    lost = nights.site.paths[20]
    entry = f"<url><loc>{{base}}{lost}</loc>"
    for night in range(28):  # its list is asked within 14 days, and then every other page
        nights.number += 1
        nights.site.live(nights.number, [], [], [])
        head, _, tail = nights.site.sitemap.partition(entry)
        nights.site.sitemap = head + tail.partition("</url>")[2]
        hub = f"{lost.rpartition('/')[0]}/_list"
        nights.site.pages[hub] = nights.site.pages[hub].replace(f"<li><a href='{lost}'>{lost}</a></li>".encode(), b"")
        nights.run()
        assert nights.ended.status == 0
        if night < 10:
            assert lost in published(nights.folder)
    assert lost not in published(nights.folder)


@pytest.mark.thorough
def test_ours_a_site_without_recheck_within_is_asked_for_all(nights: Nights) -> None:
    (nights.folder / "site.toml").write_text(CONFIG.format(url=nights.url, more=""))
    assert nights.night()["completeness"] == "complete"
    assert nights.night()["completeness"] == "complete"
