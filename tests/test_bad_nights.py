"""Nights that go wrong, and what is believed of dates: what the sitemap says the morning after, and what is learnt.

pytest -m slow tests/test_bad_nights.py
"""

import contextlib
import json
import re
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from endless_sites import word
from forked import Ended, Forked
from run import NIGHTLY
from scripted import Answer, Route, Site, links, scripted

pytestmark = pytest.mark.thorough

OLD = "Tue, 03 Mar 2020 04:05:06 GMT"
LOGIN = Answer("", 302, {"Location": "/login"})


def page(path: str, said: str = "", *to: str, **headers: str) -> Answer:
    prose = "".join(f"<p>Paragraph {n} of {path}, which says a few things.</p>" for n in range(4))
    anchors = "".join(f'<a href="{href}">{href}</a>' for href in to)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer(f"<title>{path}</title>{prose}<p>{said}</p>{anchors}", headers=named)


def shop(count: int = 30) -> dict[str, Route]:
    """A start page with so many pages, one of which alone leads to three more."""
    paths = [f"/p{n}" for n in range(count)]
    own = {path: page(path, Last_Modified=OLD) for path in paths}
    deep = {f"/deep{n}": page(f"/deep{n}", Last_Modified=OLD) for n in range(3)}
    return {"/": links("/hub", *paths), "/hub": page("/hub", "", *deep), **own, **deep}


class Nights:
    """A site that is crawled night after night."""

    def __init__(self, process: Forked, folder: Path, site: Site) -> None:
        self.site = site
        self.folder = folder
        self.day = 0
        self._process = process

    def run(self, *words: str, url: str = "") -> Ended:
        ended = self._process.run(self.folder, self.day, "crawl", url or self.site.url, *NIGHTLY, *words)
        self.day += 1
        return ended

    def good(self, *words: str) -> None:
        """A night that publishes."""
        ended = self.run(*words)
        assert ended.status == 0, ended.said

    def quiet(self, *words: str) -> None:
        """A night in which nothing is found to have changed."""
        before = self.files()
        ended = self.run(*words)
        assert ended.status == 0, ended.said
        assert "nothing added, changed or removed" in ended.said
        assert self.files() == before

    def files(self) -> dict[str, tuple[int, bytes]]:
        """What is published: when each file was written, and what is in it."""
        out = self.folder / "out"
        return {path.name: (path.stat().st_mtime_ns, path.read_bytes()) for path in out.iterdir()}

    def dates(self) -> dict[str, str]:
        """The pages that are listed, with their dates."""
        text = (self.folder / "out" / "sitemap.xml").read_text()
        found = re.findall(r"<loc>([^<]*)</loc>(?:\s*<lastmod>([^<]*)</lastmod>)?", text)
        return {self.path(url): date for url, date in found}

    def feed(self) -> dict[str, tuple[str, str]]:
        """Kind and reason of what the last run changed."""
        newest = max((self.folder / "state").glob("*/changes/*.jsonl"))
        changes = [json.loads(line) for line in newest.read_text().splitlines()]
        return {self.path(each["url"]): (each["kind"], each["reason"]) for each in changes}

    def path(self, url: str) -> str:
        return "/" + url.removeprefix(self.site.url)

    def ask(self, *words: str) -> Ended:
        return self._process.run(self.folder, self.day, *words)


@pytest.fixture
def nights(process: Forked, tmp_path: Path) -> Iterator[Nights]:
    with scripted(shop()) as site:
        yield Nights(process, tmp_path, site)


@contextmanager
def trouble(nights: Nights, routes: dict[str, Route]) -> Iterator[None]:
    """What the site answers for a while."""
    whole = dict(nights.site.routes)
    nights.site.routes = {**whole, **routes}
    yield
    nights.site.routes = whole


def half(nights: Nights, answer: Route) -> dict[str, Route]:
    return {path: answer for number, path in enumerate(sorted(nights.site.routes)) if number % 2}


def bad(nights: Nights) -> dict[str, tuple[dict[str, Route], int, str]]:
    """What may go wrong: the answers, the exit code, and what is said."""
    paths = list(nights.site.routes)
    closed = "<html><title>Back soon</title><p>We are working on it.</html>"
    hidden = links(*paths, head='<meta name="robots" content="noindex">')
    lost = "published pages would leave"
    return {
        "half": (half(nights, Answer("", 500)), 3, "of 35 pages failed"),
        "login": ({"/": LOGIN, "/login": "<p>Who are you?"}, 3, lost),
        "robots": ({"/robots.txt": Answer("", 503)}, 5, "robots.txt"),
        "maintenance": (dict.fromkeys(paths, closed), 3, lost),
        "all": (dict.fromkeys(paths, Answer("", 500)), 3, "the start URL"),
        "home fails": ({"/": Answer("", 500)}, 3, "the start URL"),
        "home is gone": ({"/": Answer("", 404)}, 5, "no page from"),
        "home is hidden": ({"/": hidden}, 3, "the start URL"),
        "home is empty": ({"/": "<p>Nothing here today."}, 3, "the start URL"),
    }


def test_ours_a_bad_night_changes_nothing_and_the_next_is_as_any(nights: Nights) -> None:
    change_nothing(nights, ["half", "robots"])


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_ours_no_bad_night_changes_anything_and_the_next_is_as_any(nights: Nights) -> None:
    change_nothing(nights, list(bad(nights)))


def change_nothing(nights: Nights, kinds: list[str]) -> None:
    nights.good()
    before = nights.files()
    for kind in kinds:
        routes, code, said = bad(nights)[kind]
        with trouble(nights, routes):
            ended = nights.run()
        assert ended.status == code, (kind, ended.said)
        assert said in ended.said
        assert nights.files() == before
        nights.quiet()
        assert nights.feed() == {}


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_ours_half_of_the_site_asks_to_wait_for_a_night_and_nothing_leaves(nights: Nights) -> None:
    nights.good()
    before = nights.files()
    with trouble(nights, half(nights, Answer("", 503, {"Retry-After": "1"}))):
        ended = nights.run()
    assert ended.status == 3, ended.said
    assert nights.files() == before
    with trouble(nights, dict.fromkeys(nights.site.routes, Answer("", 503, {"Retry-After": "7200"}))):
        ended = nights.run()
    assert ended.status == 4, ended.said
    assert nights.files() == before
    asked = len(nights.site.log)
    assert nights.run().status == 4  # the pause holds for the next run too
    assert len(nights.site.log) == asked
    (state,) = (nights.folder / "state").glob("*/state.db")
    with contextlib.closing(sqlite3.connect(state)) as db, db:  # two hours later
        assert db.execute("DELETE FROM about WHERE key LIKE 'pause%'").rowcount == 1
    nights.quiet()


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_ours_a_site_that_times_out_is_gone_on_with(nights: Nights) -> None:
    nights.good()
    before = nights.files()
    with trouble(nights, {path: Answer("", delay=3) for path in nights.site.routes}):
        ended = nights.run("--set=fetch.read_timeout=0.2", "--timeout", "0.3")
    assert ended.status == 4, ended.said
    assert nights.files() == before
    nights.quiet()


def test_ours_what_fails_keeps_its_place_for_some_nights_and_what_it_led_to_for_all(nights: Nights) -> None:
    nights.good()
    before = nights.files()
    with trouble(nights, {"/hub": Answer("", 500), "/p1": Answer("", 404), "/p2": Answer("", 502)}):
        ended = nights.run("--set=output.keep_failed=2")
        assert ended.status == 0, ended.said
        assert "degraded: 2 URLs failed (server error: 2)" in ended.said
        assert nights.feed() == {"/p1": ("removed", "answered 404, not found")}
        nights.quiet("--set=output.keep_failed=2")
        nights.good("--set=output.keep_failed=2")
        left = nights.feed()
        assert left == {
            "/hub": ("removed", "answered 500, internal error, in 3 runs in a row"),
            "/p2": ("removed", "answered 502, bad gateway, in 3 runs in a row"),
        }
        nights.quiet("--set=output.keep_failed=2")
        assert "/deep2" in nights.dates()
    nights.good()
    assert sorted(nights.feed()) == ["/hub", "/p1", "/p2"]
    assert {name: body for name, (_, body) in nights.files().items()} == {
        name: body for name, (_, body) in before.items()
    }


def test_ours_what_a_page_that_fails_led_to_is_known_however_it_was_read(nights: Nights) -> None:
    nights.good()
    with trouble(nights, {"/hub": Answer("", 500)}):
        nights.quiet("--set=content.images=false")  # so that nothing of what was read before can be taken as it is
    assert {"/hub", "/deep0", "/deep1", "/deep2"} <= nights.dates().keys()


def test_ours_each_way_to_leave_has_its_kind_and_its_reason(nights: Nights) -> None:
    nights.good()
    canonical = '<link rel="canonical" href="/p9"><p>Same as p9.'
    nights.site.routes |= {
        "/p0": Answer("", 301, {"Location": "/p1"}),
        "/p2": Answer("<p>hidden", headers={"X-Robots-Tag": "noindex"}),
        "/p3": canonical,
        "/": links("/hub", *(f"/p{n}" for n in range(30) if n != 4)),
        "/p5": Answer("", 410),
    }
    nights.good()
    told = nights.feed()
    assert told.pop("/")[0] == "changed"
    assert told == {
        "/p0": ("moved", f"301 to {nights.site.url}p1"),
        "/p2": ("deindexed", 'X-Robots-Tag "noindex"'),
        "/p3": ("deindexed", f"canonical is {nights.site.url}p9"),
        "/p5": ("removed", "answered 410, gone"),
        "/p4": ("removed", "it responds, but nothing leads to it any more"),
    }


# ---------------------------------------------------------------- dates


def test_ours_a_page_that_stands_still_keeps_its_date_whatever_the_headers_say(nights: Nights) -> None:
    nights.good()
    before = nights.dates()
    assert before["/p1"].startswith("2020-03-03")
    for night in range(1, 3):
        stamps = {"Last_Modified": f"Thu, 01 Jan 202{night} 00:00:00 GMT", "ETag": f'"deploy {night}"'}
        nights.site.routes |= {f"/p{n}": page(f"/p{n}", **stamps) for n in range(30)}
        nights.quiet()
        assert nights.dates() == before


@pytest.mark.slow
def test_ours_a_server_that_always_says_not_modified_is_found_out(nights: Nights) -> None:
    stamp = {"ETag": '"always the same"'}
    nights.site.routes |= {f"/p{n}": page(f"/p{n}", **stamp) for n in range(30)}
    nights.good()
    nights.site.routes |= {f"/p{n}": page(f"/p{n}", f"A text about {word(n * 99)} alone.", **stamp) for n in range(30)}
    found: dict[str, int] = {}
    for _ in range(4):
        nights.good("--set=fetch.refetch_every=4")
        found |= dict.fromkeys(nights.feed(), nights.day)
    assert len(found) == 30
    assert len(set(found.values())) > 1  # not all of them in one night


def test_ours_validators_are_for_the_server_that_gave_them(nights: Nights, tmp_path: Path) -> None:
    stamp = {"ETag": '"one"'}
    nights.site.routes |= {f"/p{n}": page(f"/p{n}", **stamp) for n in range(30)}
    nights.good()
    with scripted(nights.site.routes) as staging:
        nights.quiet("--source", staging.url)
        assert len(staging.paths) > 30
        assert not [headers for _, _, headers in staging.log if "if-none-match" in headers]
        before = len(staging.log)
        nights.quiet("--source", staging.url)
        assert [headers for _, _, headers in staging.log[before:] if "if-none-match" in headers]


def test_ours_what_a_night_saw_that_published_nothing_is_found_again(nights: Nights) -> None:
    nights.good()
    before = nights.files()
    nights.site.routes["/p1"] = page("/p1", "Rewritten on the second day.")
    ended = nights.run("--dry-run")
    assert ended.status == 0, ended.said
    assert "1 changed" in ended.said
    with trouble(nights, half(nights, Answer("", 500))):
        assert nights.run().status == 3
    assert nights.files() == before
    nights.good()
    assert list(nights.feed()) == ["/p1"]
    assert nights.dates()["/p1"] == "2026-01-04"
    nights.quiet()
