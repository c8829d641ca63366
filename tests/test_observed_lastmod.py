"""Observed lastmod end to end: a made site behind a real server, crawled day by day; which dates move, and whence."""

import random
import re
import time
from collections.abc import Callable
from email.utils import formatdate
from pathlib import Path

import anyio
import pytest
from forked import Forked
from madesite import Site as MadeSite
from noisy_site import sentence
from run import NIGHTLY
from run import crawl as run_crawl
from scripted import Answer, Route, Site, links, scripted

from crawler.config.load import build_config
from crawler.config.plan import plan_crawl
from crawler.run.crawl import crawl
from crawler.run.report import Report

START, DAY = 1_767_225_600.0 + 7 * 3_600, 86_400.0  # 2026-01-01, seven in the morning
SETTINGS = {"pace": {"rate": 0, "concurrency": 8}, "parse": {"processes": 1}, "fetch": {"retries": 0}}
ROBOTS = Answer(
    "User-agent: *\nDisallow: /out\nDisallow: /login\nDisallow: /extra\n", headers={"Content-Type": "text/plain"}
)
SERVERS = ("mtime", "deploy", "now", "future", "1970")


class Days:
    """A made site that is edited and crawled once a day. Its clock is that of the crawl."""

    def __init__(self, made: MadeSite, served: Site, server: str, folder: Path) -> None:
        tables = {"site": {"url": served.url}, "state": {"directory": str(folder / "state")}}
        self.plan = plan_crawl(build_config({**SETTINGS, "output": {"directory": str(folder / "out")}, **tables}))
        self.made, self.served, self.server = made, served, server
        self.day = 0
        self.challenge: Answer | None = None  # at second reads
        self.began = time.time()
        self.edited_at: dict[str, float] = {}
        self.said: dict[str, tuple[str, str]] = {}  # body and Last-Modified by path, as served this day

    def now(self) -> float:
        return START + self.day * DAY + time.time() - self.began

    def last_modified(self, path: str) -> float:
        match self.server:
            case "now":
                return self.now()
            case "future":
                return self.now() + 40 * DAY
            case "1970":
                return 7.0
            case "deploy":
                return START + self.day * DAY - 3_600
        return self.edited_at.get(path, START - 50 * DAY)

    def _route(self, path: str) -> Callable[[int], Answer]:
        body = self.made.render(path).decode()
        self.said[path] = body, formatdate(self.last_modified(path), usegmt=True)

        def answer(number: int) -> Answer:
            if self.challenge and number > self.day:  # asked for once a day before
                return self.challenge
            stamp = formatdate(self.last_modified(path), usegmt=True)
            return Answer(body, headers={"Last-Modified": stamp, "ETag": f'"{self.day}-{path}"'})

        return answer

    def run(self) -> dict[str, str]:
        """Serve and crawl one day; lastmod by path as published."""
        self.began = time.time()
        routes: dict[str, Route] = {"/robots.txt": ROBOTS}
        self.said = {}
        for path in list(self.made.pages):
            routes[path] = self._route(path)
        self.served.routes = routes

        async def regenerate() -> Report:
            return await crawl(self.plan, lambda _: None, clock=self.now)

        assert anyio.run(regenerate).exit_code == 0
        text = (self.plan.output / "sitemap.xml").read_text()
        found = re.findall(r"<url>\s*<loc>([^<]*)</loc>(?:\s*<lastmod>([^<]*)</lastmod>)?", text)
        return {loc.replace(self.served.url, "/"): lastmod for loc, lastmod in found}

    def edit(self, share: float) -> set[str]:
        self.day += 1
        edited = self.made.edit(share)
        self.edited_at.update(dict.fromkeys(edited, START + self.day * DAY - 7_200))
        return edited


class Score:
    def __init__(self) -> None:
        self.right = self.wrong = self.missed = 0

    def count(self, told: set[str], edited: set[str]) -> None:
        self.right += len(told & edited)
        self.wrong += len(told - edited)
        self.missed += len(edited - told)

    @property
    def figures(self) -> tuple[float, float]:
        return self.right / max(1, self.right + self.wrong), self.right / max(1, self.right + self.missed)


def generations(days: Days, count: int) -> None:
    """Let so many days pass: exactly the dates of edited pages may move, each to its own day."""
    scores = {name: Score() for name in ("observed", "header only", "whole body")}
    dates = days.run()
    assert set(dates) == set(days.made.pages)
    for number in range(1, count + 1):
        days.made.redesigned = number * 2 > count
        days.made.footer = f"Made by Acme Group, part {'I' * (number * 3 // count)}."
        said = days.said
        edited = days.edit(0.25 if number == count // 3 else 0.05)
        before, dates = dates, days.run()
        assert set(before) <= set(dates)
        scores["observed"].count({path for path in before if dates[path] != before[path]}, edited)
        scores["header only"].count({path for path in before if days.said[path][1] != said[path][1]}, edited)
        scores["whole body"].count({path for path in before if days.said[path][0] != said[path][0]}, edited)
        last, today = (time.strftime("%Y-%m-%d", time.gmtime(days.now() - ago)) for ago in (DAY, 0))
        assert {dates[path][:10] for path in edited} <= {last, today}  # the page may state a moment in between
        assert max(dates.values())[:10] <= today
    print(f"\nLast-Modified: {days.server}; precision / recall over {count} generations of {len(dates)} pages")
    for name, score in scores.items():
        print(f"{name:12}{score.figures[0]:.4f} / {score.figures[1]:.4f}")
    assert min(scores["observed"].figures) >= 0.99
    assert min(scores["whole body"].figures) < 0.4


@pytest.mark.parametrize("server", ["deploy"])
def test_ours_dates_move_for_edited_pages_only(server: str, tmp_path: Path) -> None:
    with scripted({}) as served:
        generations(Days(MadeSite(3, articles=40, products=10, lists=3), served, server, tmp_path), 4)


def test_ours_a_challenge_at_the_second_read_hides_no_edit(tmp_path: Path) -> None:
    """The challenge differs from the page in everything, which would make the page one that varies."""
    challenge = Answer("<title>Just a moment...</title>", headers={"cf-mitigated": "challenge"})
    with scripted({}) as served:
        days = Days(MadeSite(3, articles=12, products=4, lists=2), served, "mtime", tmp_path)
        before = days.run()
        edited = days.edit(0.2)
        days.challenge = challenge
        dates = days.run()
    assert edited
    assert {path for path in before if dates[path] != before[path]} == edited


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("server", SERVERS)
def test_ours_dates_move_for_edited_pages_only_through_thirty_generations(server: str, tmp_path: Path) -> None:
    with scripted({}) as served:
        generations(Days(MadeSite(4), served, server, tmp_path), 30)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("text", "status", "rivals", "date"),
    [
        pytest.param("<p>What it says.", 301, 0, "2024-05-01", id="moved"),
        pytest.param("<p>What it says now.", 301, 0, None, id="moved and edited"),
        pytest.param('<p>What it says.<video src="/2.mp4"></video>', 301, 0, None, id="moved with a video"),
        pytest.param("<p>What it says.", 302, 0, None, id="for a time"),
        pytest.param("<p>What it says.", 301, 1, None, id="two pages became one"),
    ],
)
def test_ours_a_page_that_moved_with_its_text_keeps_its_date(
    text: str, status: int, rivals: int, date: str | None, tmp_path: Path
) -> None:
    def page(path: str, text: str) -> str:
        head = f'<link rel="canonical" href="{{url}}{path}"><meta property="og:url" content="{{url}}{path}">'
        return f"<head><title>A</title>{head}</head><nav><a href='/'>home</a></nav><main><h1>A</h1>{text}</main>"

    dated = {"Last-Modified": "Wed, 01 May 2024 10:00:00 GMT"}
    olds = [f"/old{n}" for n in range(rivals + 1)]
    with scripted({"/": links(*olds)}) as site:
        site.routes |= {path: Answer(page(path[1:], "<p>What it says."), headers=dated) for path in olds}
        assert run_crawl(tmp_path, site.url).code == 0
        site.routes |= {path: Answer("", status, {"Location": "/new"}) for path in olds}
        site.routes |= {"/": links("/new"), "/new": page("new", text)}
        assert run_crawl(tmp_path, site.url, "--accept-shrink").code == 0
        sitemap = (tmp_path / "out" / "sitemap.xml").read_text()
    entry = re.search(r"/new</loc>(?:\s*<lastmod>([0-9-]{10}))?", sitemap)
    assert entry is not None, sitemap
    assert entry[1] == date


@pytest.mark.thorough
def test_ours_a_note_on_last_modified_is_told_by_the_run_that_finds_it(tmp_path: Path) -> None:
    with scripted({"/": links("/a", "/b", "/c")}) as site:
        told = []
        for day in range(1, 4):
            dated = {"Last-Modified": f"Wed, 0{day} May 2024 10:00:00 GMT"}
            site.routes |= {f"/{name}": Answer(f"<h1>{name}</h1>", headers=dated) for name in "abc"}
            told.append("Last-Modified changed on 3 of 3 pages" in run_crawl(tmp_path, site.url).out)
    assert told == [False, True, False]


def test_ours_new_pages_whose_last_modified_is_not_believed_are_counted_once(tmp_path: Path) -> None:
    def dated(name: str, day: int) -> Answer:
        return Answer(f"<h1>{name}</h1>", headers={"Last-Modified": f"Wed, 0{day} May 2024 10:00:00 GMT"})

    note = re.compile("([0-9]+) new pages? ha(?:s|ve) no lastmod, because their Last-Modified is not believed")
    with scripted({"/": links("/a", "/b", "/c", "/d", "/e")}) as site:
        told = []
        for day in range(1, 5):
            names = "abc" if day < 3 else "abcde"
            site.routes |= {f"/{name}": dated(name, day) for name in names}
            ran = run_crawl(tmp_path, site.url)
            told.append(note.findall(ran.out))
            assert not told[-1] or "siteatlas why URL" in ran.out
    assert told == [[], [], ["2"], []]


def lastmods(folder: Path, url: str) -> dict[str, str]:
    text = (folder / "out" / "sitemap.xml").read_text()
    found = re.findall(r"<loc>([^<]*)</loc>(?:\s*<lastmod>([^<]*)</lastmod>)?", text)
    return {loc.replace(url, "/"): lastmod for loc, lastmod in found}


class Shop:
    """Products with a page for each colour, which names that of the product as its canonical."""

    def __init__(self, served: Site, process: Forked, folder: Path, seed: int) -> None:
        self.rng = rng = random.Random(seed)
        self.served, self.process, self.folder, self.day = served, process, folder, 0
        self.colours = rng.sample(["red", "blue", "green", "grey", "black"], rng.randint(2, 5))
        self.texts = {f"/p{n}": [f"{sentence(rng, 14)}."] for n in range(rng.choice([4, 12, 20]))}
        self.prices = {path: rng.randint(20, 90) for path in self.texts}
        self.footer, self.canonical = "Made by us", ""
        self.dates: dict[str, str] = {}

    def _page(self, path: str) -> str:
        texts = "".join(f"<p>{each}</p>" for each in self.texts[path])
        variants = "".join(f"<li><a href='{path}?colour={name}'>{name}</a></li>" for name in self.colours)
        return (
            f"<head><title>Product {path}</title><link rel=canonical href={self.canonical or path}></head><body><nav>"
            f"<a href=/>Home</a></nav><main><h1>Product {path}</h1>{texts}"
            f"<p class=price>{self.prices[path]} EUR</p><ul>{variants}</ul></main><footer>{self.footer}</footer></body>"
        )

    def edit(self) -> set[str]:
        """Other prices, or a new sentence, for some products."""
        edited = self.rng.sample(sorted(self.texts), self.rng.randint(1, len(self.texts) // 2))
        for path in edited:
            if self.rng.random() < 0.5:
                self.prices[path] += self.rng.randint(1, 40)
            else:
                self.texts[path].append(f"{sentence(self.rng, 12)}.")
        return {*edited}

    def night(self, code: int = 0) -> set[str]:
        """The pages whose dates a run moves."""
        pages = {path: self._page(path) for path in self.texts}
        home = f"<main>{links(*pages)}</main><footer>{self.footer}</footer>"
        shown = {f"{path}?colour={name}": page for path, page in pages.items() for name in self.colours}
        self.served.routes = {"/": home, **pages, **shown}
        self.day += 1
        ran = self.process.run(self.folder, self.day, "crawl", self.served.url, *NIGHTLY)
        assert ran.status == code, ran.said
        before, self.dates = self.dates, lastmods(self.folder, self.served.url)
        return {path for path in self.dates if before and before[path] != self.dates[path]}


@pytest.mark.parametrize("seed", [1, *(pytest.param(n, marks=pytest.mark.thorough) for n in range(2, 6))])
def test_ours_variants_of_a_page_are_no_other_pages(seed: int, process: Forked, tmp_path: Path) -> None:
    """What the page of each colour shows too is an edit, also while a template names a wrong canonical."""
    with scripted({}) as served:
        shop = Shop(served, process, tmp_path, seed)
        assert shop.night() == set()
        assert shop.night() == set()
        for _ in range(2):
            edited = shop.edit()
            assert shop.night() == edited
        shop.footer = "Made by us, and others"
        edited = shop.edit()
        assert shop.night() == edited
        shop.canonical = "/"
        assert shop.night(code=3) == set()
        shop.footer, edited = "Made by all of us", shop.edit()
        assert shop.night(code=3) == set()
        shop.canonical = ""
        assert shop.night() == edited


@pytest.mark.parametrize("seed", [2, *(pytest.param(n, marks=pytest.mark.thorough) for n in range(3, 7))])
def test_google_translations_of_a_page_are_no_other_pages(seed: int, process: Forked, tmp_path: Path) -> None:
    """They name each other by hreflang. A note in one of them is the site's, a text is not.

    https://developers.google.com/search/docs/specialty/international/localized-versions
    """
    rng = random.Random(seed)
    languages = rng.sample(["en", "de", "fr", "it", "es", "nl", "pl"], rng.randint(2, 7))
    paths = [f"/p{n}" for n in range(rng.choice([15, 25]))]
    texts = {f"/{language}{path}": f"<p>{sentence(rng, 14)}.</p>" for language in languages for path in paths}
    shared = {path: [f"<img src=/{rng.randrange(10**6)}.jpg alt=''>"] for path in paths}
    notes = dict.fromkeys(languages, "")

    def page(language: str, path: str) -> str:
        alternates = "".join(f"<link rel=alternate hreflang={each} href=/{each}{path}>" for each in languages)
        text = f"{texts[f'/{language}{path}']}{''.join(shared[path])}{notes[language]}"
        return (
            f"<html lang={language}><head><title>{language} {path}</title>{alternates}</head><main>{text}</main></html>"
        )

    dates: dict[str, str] = {}
    with scripted({}) as served:
        for day in range(7):
            edited = rng.sample(paths, rng.randint(1, 2)) if day > 1 else []
            for path in edited:
                more = rng.choice([f"<p>{sentence(rng, 9)}.</p>", f"<img src=/{rng.randrange(10**6)}.jpg alt=''>"])
                shared[path] = [*shared[path], more] if more.startswith("<p>") else [more]
            if day == 4:
                notes[languages[0]] = f"<p class=note>{sentence(rng, 8)}.</p>"
            translated = [f"/{languages[1]}{path}" for path in paths] if day == 5 and len(languages) > 2 else []
            texts |= {path: f"<p>{sentence(rng, 14)}.</p>" for path in translated}
            pages = {f"/{language}{path}": page(language, path) for language in languages for path in paths}
            served.routes = {"/": f"<main>{links(*pages)}</main>", **pages}
            ran = process.run(tmp_path, day, "crawl", served.url, *NIGHTLY)
            assert ran.status == 0, ran.said
            before, dates = dates, lastmods(tmp_path, served.url)
            moved = {path for path in dates if before and before[path] != dates[path]}
            assert moved == {f"/{language}{path}" for language in languages for path in edited} | {*translated}, day


@pytest.mark.thorough
@pytest.mark.parametrize("asks", ["all", "some"])
def test_ours_what_reaches_one_translation_a_night_is_an_edit_of_each(
    asks: str, process: Forked, tmp_path: Path
) -> None:
    """Also in runs that ask for that page alone: the others stand for the same page."""
    rng = random.Random(1)
    languages, notice = ["en", "en-gb", "en-au", "en-ca"], f"<p>{sentence(rng, 14)}.</p>"
    texts = {f"/{language}/p{n}": f"<p>{sentence(rng, 14)}.</p>" for n in range(9) for language in languages}

    def page(path: str) -> str:
        name = path.rpartition("/")[2]
        head = "".join(f"<link rel=alternate hreflang={each} href=/{each}/{name}>" for each in languages)
        return f"<html><head><title>{path}</title>{head}</head><main><h1>{path}</h1>{texts[path]}</main></html>"

    with scripted({}) as served:
        for day, edited in enumerate([None, None, *(f"/{language}/p0" for language in languages)]):
            words = ["--set=fetch.recheck_within=30"]
            if edited:
                texts[edited] += notice
                (tmp_path / "changed").write_text(f"{served.url}{edited[1:]}\n")
                words += ["--changed", "changed"] if asks == "some" else []
            served.routes = {"/": f"<main>{links(*texts)}</main>", **{path: page(path) for path in texts}}
            before = lastmods(tmp_path, served.url) if day else {}
            assert process.run(tmp_path, day, "crawl", served.url, *NIGHTLY, *words).status == 0
            dates = lastmods(tmp_path, served.url)
            assert {path for path in before if before[path] != dates[path]} == ({edited} if edited else set()), day
