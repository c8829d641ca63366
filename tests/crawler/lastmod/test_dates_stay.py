"""The date of a page whose content did not change never goes back or away without a word, by any policy and clock."""

import os
import random
import re
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime
from email.utils import formatdate
from pathlib import Path

import anyio
import pytest
from scripted import Answer, Route, Site, links, scripted

from crawler.config.load import build_config
from crawler.config.plan import plan_crawl
from crawler.run.crawl import crawl
from crawler.run.report import Report

START, DAY = 1_767_250_800.0, 86_400.0  # 2026-01-01, seven in the morning
PAGES = ("a/", "b/", "c/", "d/")
WORDS = ("apple", "quince", "medlar", "cherry", "almond", "walnut", "currant", "mulberry")
WORD = "did not change"
SETTINGS = {"pace": {"rate": 0, "concurrency": 8}, "parse": {"processes": 1}, "fetch": {"retries": 0}}


class Nights:
    """A site of a few pages with a repository, and a state that outlives its crawls."""

    def __init__(self, served: Site, folder: Path) -> None:
        self.served, self.folder = served, folder
        self.now = START
        self.text = dict.fromkeys(("", *PAGES), 0)
        self.header: dict[str, float] = {}
        self.stated: dict[str, str] = {}
        self.status: dict[str, int] = {}

    def commit(self, *paths: str) -> None:
        """Commit an edit of the sources of these pages."""
        repository = self.folder / "site"
        when = f"{int(self.now)} +0000"
        names = {f"GIT_{who}_{what}": "a@example.com" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        env = {**os.environ, **names, "GIT_AUTHOR_DATE": when, "GIT_COMMITTER_DATE": when}
        if not repository.exists():
            repository.mkdir()
            subprocess.run(["git", "init", "-q"], cwd=repository, check=True)
            (repository / "mkdocs.yml").write_text("site_name: x\n")
        for path in paths:
            source = repository / "docs" / f"{path.strip('/') or 'index'}.md"
            source.parent.mkdir(exist_ok=True)
            source.write_text(f"{self.now} {self.text[path]}")
        for words in (["add", "-A"], ["commit", "-q", "-m", "work", "--allow-empty"]):
            subprocess.run(["git", *words], cwd=repository, env=env, check=True)

    def _answer(self, path: str) -> Answer:
        status = self.status.get(path, 200)
        if status != 200:
            return Answer("none", status)
        head = f'<meta property="article:modified_time" content="{self.stated[path]}">' if path in self.stated else ""
        body = links(*(f"/{page}" for page in PAGES), head=head) + f"<p>{WORDS[self.text[path]]} of {path}</p>"
        headers = {"Last-Modified": formatdate(self.header[path], usegmt=True)} if path in self.header else {}
        return Answer(body, headers=headers)

    def run(self, policy: str = "observed") -> tuple[dict[str, str], str]:
        """Crawl: the lastmods by path as published, and the notes."""
        routes: dict[str, Route] = {f"/{path}": self._answer(path) for path in self.text}
        self.served.routes = routes
        content = {"lastmod": policy, "repository": str(self.folder / "site")}
        directories = {
            "state": {"directory": str(self.folder / "state")},
            "output": {"directory": str(self.folder / "out")},
        }
        tables = {**SETTINGS, "site": {"url": self.served.url}, "content": content, **directories}
        plan = plan_crawl(build_config(tables))

        async def regenerate() -> Report:
            return await crawl(plan, lambda _: None, clock=lambda: self.now)

        report = anyio.run(regenerate)
        text = (plan.output / "sitemap.xml").read_text()
        found = re.findall(r"<url>\s*<loc>([^<]*)</loc>(?:\s*<lastmod>([^<]*)</lastmod>)?", text)
        return {loc.removeprefix(self.served.url): date for loc, date in found}, "\n".join(report.notes)


def moment(date: str) -> float:
    if not date:
        return 0.0
    return datetime.fromisoformat(date if "T" in date else f"{date}T00:00:00+00:00").timestamp()


def day(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d")


@pytest.fixture
def nights(tmp_path: Path) -> Iterator[Nights]:
    with scripted({}) as served:
        yield Nights(served, tmp_path)


def test_ours_git_on_a_known_site_takes_no_date_back_or_away(nights: Nights) -> None:
    """The commits are a year old; two pages have no source file."""
    nights.now = START - 365 * DAY
    nights.commit("a/", "b/")
    nights.now = START
    nights.header = dict.fromkeys(PAGES[:3], START - DAY)
    nights.run()
    nights.now += DAY
    nights.text["d/"] += 1
    before, _ = nights.run()
    assert before["a/"] == before["c/"] == "2025-12-31T07:00:00+00:00"
    assert before["d/"] == "2026-01-02"
    nights.header.clear()
    nights.now += DAY
    assert nights.run("git")[0] == before


@pytest.mark.thorough
def test_ours_dates_that_were_not_published_for_a_night_come_back_as_they_were(nights: Nights) -> None:
    nights.header = dict.fromkeys(PAGES, START - DAY)
    before, _ = nights.run()
    nights.header = dict.fromkeys(PAGES, START - 100 * DAY)
    nights.now += DAY
    dates, notes = nights.run("none")
    assert set(dates.values()) == {""}
    assert f"4 pages that {WORD} have an earlier lastmod than before, or none (--lastmod none)" in notes
    nights.now += DAY
    assert WORD not in nights.run("none")[1]
    nights.now += DAY
    assert nights.run()[0] == before


@pytest.mark.thorough
@pytest.mark.parametrize("policy", ["header", "page"])
def test_ours_a_policy_that_takes_less_says_which_dates_it_takes_away(nights: Nights, policy: str) -> None:
    nights.run()
    nights.now += DAY
    nights.text["a/"] += 1
    assert nights.run()[0]["a/"] == "2026-01-02"
    nights.now += DAY
    dates, notes = nights.run(policy)
    assert dates["a/"] == ""
    assert f"1 page that {WORD} has an earlier lastmod than before, or none (--lastmod {policy})" in notes


@pytest.mark.thorough
def test_ours_a_clock_behind_the_last_run_is_said_and_dates_nothing(nights: Nights) -> None:
    """The next run with a true clock dates the edit."""
    nights.run()
    nights.now += DAY
    nights.text["b/"] += 1
    before, _ = nights.run()
    assert before["b/"] == "2026-01-02"
    nights.now = START - 3_600 * DAY
    nights.text["a/"] += 1
    nights.text["b/"] += 1
    dates, notes = nights.run()
    assert dates == before
    assert "the clock of this machine says 2016-" in notes
    assert "but the last run was at 2026-01-02T07:00:00" in notes
    nights.now = START + 2 * DAY
    dates, notes = nights.run()
    assert dates == {**before, "a/": "2026-01-03", "b/": "2026-01-03"}
    assert "clock" not in notes


def draw(nights: Nights, path: str, true: float, pick: random.Random) -> None:
    """What may happen to a page in a night."""
    nights.text[path] += pick.random() < 0.15
    if pick.random() < 0.3:
        nights.header[path] = true - pick.choice([0.01, 1, 40, 700]) * DAY
    if pick.random() < 0.1:
        nights.header.pop(path, None)
    if pick.random() < 0.2:
        nights.stated[path] = day(true - pick.choice([1, 20, 900]) * DAY)
    if pick.random() < 0.2:
        nights.commit(path)


def wander(nights: Nights, seed: int, count: int = 10) -> None:
    """Random nights: edits, failures, headers, dates in pages, commits, policies and clocks."""
    pick = random.Random(seed)
    best: dict[str, float] = {}  # the last date of each page while its text stays
    seen: dict[str, int] = {}
    hidden: set[str] = set()
    nights.commit()
    true = nights.now
    for number in range(count):
        true += pick.choice([0.1, 1, 1, 1, 30]) * DAY
        nights.now = true - pick.choice([0, 0, 0, 0, 2, 500]) * DAY
        for path in PAGES:
            nights.status[path] = pick.choice([200, 200, 200, 200, 410, 404, 500]) if number else 200
            draw(nights, path, true, pick)
        policy = pick.choice(["observed", "observed", "git", "header", "page", "none"])
        dates, notes = nights.run(policy)
        hidden = set(dates) if policy == "none" else hidden
        for path, date in dates.items():
            if path in hidden and (policy == "none" or nights.status.get(path, 200) != 200):
                continue  # it fails since the night without dates
            hidden.discard(path)
            if path in best and nights.text[path] == seen.get(path) and WORD not in notes:
                assert moment(date) >= best[path], (seed, number, policy, path, date, best[path])
            best[path] = moment(date)
            if nights.status.get(path, 200) == 200 and "clock" not in notes:  # the run compared the page
                seen[path] = nights.text[path]


@pytest.mark.parametrize("seed", [pytest.param(seed, marks=pytest.mark.thorough) for seed in (1, 13, 26, 34, 111, 224)])
def test_ours_no_date_goes_back_or_away_in_more_random_nights(nights: Nights, seed: int) -> None:
    wander(nights, seed)


@pytest.mark.thorough
@pytest.mark.parametrize("seed", [2])
def test_ours_no_date_goes_back_or_away_in_random_nights(nights: Nights, seed: int) -> None:
    wander(nights, seed)
