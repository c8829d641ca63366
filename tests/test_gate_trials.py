"""Bad nights drawn from a space of disasters, sites and choices of pages: nothing doubtful is published.

pytest -m slow tests/test_gate_trials.py
"""

import json
import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from forked import Ended, Forked
from gate_sites import CHALLENGES, DISASTERS, LOSSES, TEXTS, MadeSite, entries, hit
from run import NIGHTLY
from scripted import Answer, Route, Site, links, scripted

pytestmark = pytest.mark.thorough

EXPLICIT = ("noindex", "301 to start", "404", "410", "308 to one new page")


class Nights:
    """A site of made pages that is crawled once a day."""

    def __init__(self, process: Forked, folder: Path, site: Site, made: MadeSite) -> None:
        self.site = site
        self.made = made
        self.day = 0
        self._folder = folder
        self._process = process
        self._visits = 0

    def run(self, *words: str, routes: dict[str, Route] | None = None) -> Ended:
        """One night, in which some pages answer otherwise; a counter moves on all of them."""
        self._visits += 1
        self.site.routes = {**self.made.routes(self._visits), **(routes or {})}
        ended = self._process.run(self._folder, self.day, "crawl", self.site.url, *NIGHTLY, *words)
        self.day += 1
        return ended

    def listed(self) -> dict[str, str]:
        """The listed paths with their lastmod."""
        xml = (self._folder / "out" / "sitemap.xml").read_text()
        return {f"/{url.removeprefix(self.site.url)}": date for url, date in entries(xml)}

    def struck(self, name: str, choice: str = "random") -> dict[str, Route]:
        """The answers of the pages that a disaster hits."""
        return {path: DISASTERS[name](self.made, path) for path in hit(self.made, choice)}


@contextmanager
def nights(process: Forked, folder: Path, count: int, seed: int = 0) -> Iterator[Nights]:
    made = MadeSite(count, seed, own_words=random.Random(seed).choice((30, 120, 600)))
    with scripted(made.routes()) as site:
        month = Nights(process, folder, site, made)
        ended = month.run()
        assert ended.status == 0, ended.said
        yield month


def survive(month: Nights, name: str, choice: str) -> None:
    """A bad night changes nothing that was published, and the next good one is as any."""
    before = month.listed()
    ended = month.run(routes=month.struck(name, choice))
    assert ended.status == 3, (name, choice, ended.said)
    assert month.listed() == before, (name, choice)
    if name in CHALLENGES:
        said = " ".join(ended.said.split())
        assert "a firewall responded in place of" in said
        assert "IP address" in said
    ended = month.run()
    assert ended.status == 0, (name, choice, ended.said)
    assert "nothing added, changed or removed" in ended.said
    assert month.listed() == before


def test_ours_some_bad_nights_change_nothing(process: Forked, tmp_path: Path) -> None:
    with nights(process, tmp_path, 12, seed=3) as month:
        for name, choice in (("noindex", "all"), ("login with title", "second"), ("Imperva 200", "first")):
            survive(month, name, choice)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("count", [10, 65, 200])
def test_ours_no_bad_night_changes_anything(process: Forked, tmp_path: Path, count: int) -> None:
    draw = random.Random(count)
    with nights(process, tmp_path, count, seed=count) as month:
        for name in DISASTERS:
            survive(month, name, draw.choice(("all", "first", "second", "random")))


def test_ours_what_is_not_in_doubt_is_published_in_the_same_night(process: Forked, tmp_path: Path) -> None:
    with nights(process, tmp_path, 16, seed=5) as month:
        before, (edited, gone, *others) = month.listed(), month.made.pages
        more = [f"/new/{n}" for n in range(20)]
        fresh = {path: f"<title>{path}</title><main><p>All that is new about {path}.</p></main>" for path in more}
        home = month.made.page("/").replace("<ul>", "<ul>" + "".join(f'<a href="{path}">{path}</a>' for path in more))
        edit = month.made.page(edited, ["Rewritten today."])
        struck = {path: LOSSES["noindex"](month.made, path) for path in others}
        ended = month.run(routes={"/": home, **fresh, edited: edit, gone: Answer("", 404), **struck})
        assert ended.status == 3, ended.said
        assert "13 held by the gate" in ended.said
        after = month.listed()
        assert set(after) - set(before) == set(more)
        assert set(before) - set(after) == {gone}
        assert after[edited] > before[edited]
        assert {path: after[path] for path in others} == {path: before[path] for path in others}


def test_ours_pages_that_were_held_stay_while_few_of_them_are_left(process: Forked, tmp_path: Path) -> None:
    with nights(process, tmp_path, 15, seed=13) as month:
        before = month.listed()
        for name in ("404", "empty frame with title"):
            struck = month.struck(name)
            for count in (len(struck), 2, 1):
                ended = month.run(routes=dict(list(struck.items())[:count]))
                assert ended.status == 3, (name, count, ended.said)
                assert month.listed() == before
            assert month.run().status == 0
        for _ in range(2):
            ended = month.run(routes={path: LOSSES["404"](month.made, path) for path in month.made.pages[:1]})
            assert ended.status == 0, ended.said  # it was never in doubt
        assert set(before) - set(month.listed()) == set(month.made.pages[:1])


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("count", [30, 100])
def test_ours_a_ruin_of_many_small_disasters_is_one_landslide(process: Forked, tmp_path: Path, count: int) -> None:
    with nights(process, tmp_path, count, seed=14) as month:
        for seed in range(3):
            draw, before = random.Random(seed), month.listed()
            names = draw.sample([*LOSSES, *TEXTS], 9)
            paths = draw.sample(month.made.pages, len(month.made.pages))
            share = len(paths) // 10
            ruin = {path: DISASTERS[names[n // share]](month.made, path) for n, path in enumerate(paths[: 9 * share])}
            ended = month.run(routes=ruin)
            assert ended.status == 3, (names, ended.said)
            after = month.listed()
            kept_text = {path for path in before if after.get(path) == before[path]}
            assert set(after) == set(before), (names, ended.said)
            assert len(kept_text) >= len(before) - share, (names, ended.said)
            assert month.run().status == 0
            assert month.listed() == before


def test_ours_an_error_message_in_whole_pages_that_names_each_page_dates_none(process: Forked, tmp_path: Path) -> None:
    with nights(process, tmp_path, 14, seed=15) as month:
        made, before = month.made, month.listed()
        for choice in ("first", "all"):
            error = "Warning: Undefined variable $theme in /var/www/header.php on line 7, in a query for '{}'"
            struck = {path: made.page(path, [error.format(path), *made.texts[path]]) for path in hit(made, choice)}
            for routes in (struck, struck, None):
                ended = month.run(routes=dict(routes or {}))
                assert ended.status == (3 if routes else 0), (choice, ended.said)
                assert "gained the same text" in ended.said or not routes
                assert month.listed() == before, (choice, ended.said)


def test_ours_what_does_not_count_beside_held_pages_does_not_count_when_it_goes(
    process: Forked, tmp_path: Path
) -> None:
    with nights(process, tmp_path, 20, seed=16) as month:
        made, before = month.made, month.listed()
        broken = "<p class=error>Warning: no connection to the database in /var/www/db.php on line 42</p><h1>"
        notice: dict[str, Route] = {path: made.page(path).replace("<h1>", broken) for path in ["/", *made.pages]}
        assert month.run(routes=notice | month.struck("302 to login", "second")).status == 3
        assert month.listed() == before
        assert month.run().status == 0
        assert month.listed() == before


def test_ours_a_page_that_leaves_in_a_refused_night_leaves_alone_in_the_next(process: Forked, tmp_path: Path) -> None:
    with nights(process, tmp_path, 16, seed=17) as month:
        gone: dict[str, Route] = {month.made.pages[0]: Answer("", 301, {"Location": "/"})}
        ended = month.run(routes={**gone, "/": links(month.made.pages[0])})  # nothing links to the other pages
        assert "nothing was published" in ended.said
        ended = month.run(routes=gone)
        assert ended.status == 0, ended.said
        assert month.made.pages[0] not in month.listed()


def test_ours_when_the_start_page_is_hit_nothing_at_all_is_published(process: Forked, tmp_path: Path) -> None:
    with nights(process, tmp_path, 14, seed=6) as month:
        before = month.listed()
        for name in ("noindex", "301 to start", "login with title", "Cloudflare 200"):
            routes = {path: DISASTERS[name](month.made, path) for path in ["/", *month.made.pages]}
            ended = month.run(routes=routes)
            assert ended.status in (3, 5), (name, ended.said)
            assert "nothing was published" in ended.said
            assert month.listed() == before


def test_ours_an_explicit_landslide_is_accepted_when_it_stood_for_a_week(process: Forked, tmp_path: Path) -> None:
    with nights(process, tmp_path, 10, seed=7) as month:
        struck = month.struck("410", "second")
        for night in range(1, 4):  # three runs in three days: not yet
            ended = month.run("--set=output.accept_after=4", routes=struck)
            assert ended.status == 3, ended.said
            assert f"So far: {night} run" in " ".join(ended.said.split())
        assert month.run("--set=output.accept_after=4").status == 0  # found again: the streak ends
        for _ in range(4):
            assert month.run("--set=output.accept_after=4", routes=struck).status == 3
        ended = month.run("--set=output.accept_after=4", routes=struck)
        assert ended.status == 0, ended.said
        assert "5 removed" in ended.said
        assert not struck.keys() & month.listed().keys()


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", [*EXPLICIT, "canonical to start", "302 to login", "login with title", "403"])
def test_ours_only_what_is_explicit_is_left_out_in_time(process: Forked, tmp_path: Path, name: str) -> None:
    """A hold of pages that show something else ends, too, and they stay listed."""
    with nights(process, tmp_path, 12, seed=8) as month:
        before, struck = month.listed(), month.struck(name)
        ends = [month.run(routes=struck).status for _ in range(9)]
        assert ends == ([3] * 7 + [0] * 2 if name in (*EXPLICIT, "login with title") else [3] * 9)
        assert set(before) - set(month.listed()) == (set(struck) if name in EXPLICIT else set())


def test_ours_a_person_accepts_at_once(process: Forked, tmp_path: Path) -> None:
    with nights(process, tmp_path, 12, seed=9) as month:
        before = month.listed()
        struck = month.struck("empty frame with title")
        assert month.run(routes=struck).status == 3
        assert month.listed() == before
        ended = month.run("--accept-shrink", routes=struck)
        assert ended.status == 0, ended.said
        moved = {path for path, date in month.listed().items() if date != before[path]}
        assert moved == set(struck)
        assert month.run(routes=struck).status == 0


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_ours_a_page_behind_a_challenge_stays_for_ever_and_half_a_page_is_believed_in_time(
    process: Forked, tmp_path: Path
) -> None:
    with nights(process, tmp_path, 40, seed=10) as month:
        before = month.listed()
        first, second, *_ = month.made.pages
        struck = {
            first: CHALLENGES["Cloudflare 403"](month.made, first),
            second: DISASTERS["half a body"](month.made, second),
        }
        for night in range(6):
            ended = month.run(routes=struck)
            assert ended.status == 0, ended.said
            assert "degraded" in ended.said
            assert set(month.listed()) == set(before)
            assert (month.listed()[second] == before[second]) == (night < 3)
            assert month.listed()[first] == before[first]


def test_ours_a_landslide_is_told_once_and_its_end_once(process: Forked, tmp_path: Path) -> None:
    heard = tmp_path / "heard"
    command = f"cat >> {heard}; echo >> {heard}"
    (tmp_path / "site.toml").write_text(f'[hook]\ncommand = ["sh", "-c", "{command}"]\non = ["trouble"]\n')
    with nights(process, tmp_path, 12, seed=11) as month:
        struck = month.struck("noindex", "all")
        for routes in (None, struck, struck, struck, None, None):
            month.run("--config", "site.toml", routes=routes)
    messages = [json.loads(line) for line in heard.read_text().splitlines() if line]
    assert [message["occasion"] for message in messages] == ["trouble", "recovery"]
    assert "11 noindex" in messages[0]["sentence"]


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_ours_honest_changes_of_the_whole_site_are_published(process: Forked, tmp_path: Path) -> None:
    with nights(process, tmp_path, 30, seed=12) as month:
        made = month.made
        paths = ["/", *made.pages]
        for rewritten in (
            {path: made.page(path, [*made.texts[path], f"It costs {len(path)}.99 EUR."]) for path in paths},
            {path: made.page(path, [text.replace("a", "ä") for text in made.texts[path]]) for path in paths},
            {path: made.page(path).replace("<main>", "<main><section class=new>") for path in paths},
        ):
            ended = month.run(routes=dict(rewritten))
            assert ended.status == 0, ended.said
        moved = {f"/moved{path}": made.page(path) for path in made.pages}
        home = made.page("/").replace('<li><a href="/', '<li><a href="/moved/')
        redirects: dict[str, Route] = {path: Answer("", 301, {"Location": f"/moved{path}"}) for path in made.pages}
        ended = month.run(routes={"/": home, **moved, **redirects})
        assert ended.status == 0, ended.said
        assert set(month.listed()) == {"/", *moved}


def test_ours_the_disasters_are_many() -> None:
    assert len(DISASTERS) >= 28
    assert len(TEXTS) >= 6
