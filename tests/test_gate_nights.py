"""Bad nights of a site, crawled for real: what leaves the sitemap, what stays, and what is said."""

from pathlib import Path

import pytest
from run import Ran, crawl, listed, published, siteatlas
from scripted import Answer, Route, links, scripted

pytestmark = pytest.mark.thorough

MAINTENANCE = "<title>Back soon</title><h1>We are working on it</h1><p>Please come back in an hour.</p>"
TEXT = {"Content-Type": "text/plain"}


def shop(count: int) -> dict[str, Route]:
    """A start page and so many pages, each with a text of its own."""
    own = [f"/p{n}" for n in range(count)]
    texts = {path: f"<title>Boat {path}</title><p>{path} is {len(path) * 7} feet long" for path in own}
    return {"/": links(*own), **texts}


def night(folder: Path, url: str, *words: str) -> Ran:
    return crawl(folder, url, "--set=fetch.retries=0", "--set=output.swap_delay=0", *words)


@pytest.mark.slow
def test_ours_a_bad_night_leaves_the_sitemap_and_the_next_good_one_is_as_any(tmp_path: Path) -> None:
    whole = shop(20)
    nights: list[tuple[dict[str, Route], str]] = [
        ({f"/p{n}": Answer("", 500) for n in range(10)}, "10 of 21 pages failed"),
        ({path: MAINTENANCE for path in whole if path != "/"}, "no longer show their main text"),
        (
            {f"/p{n}": Answer("", 302, {"Location": f"/login?next=/p{n}"}) for n in range(10)},
            "10 redirect to {url}login for now",
        ),
        ({"/robots.txt": Answer("User-agent: *\nDisallow: /p1\n", headers=TEXT)}, "robots.txt line 2"),
    ]  # fmt: skip
    with scripted(whole) as site:
        assert "truncated: the limit of pages" in night(tmp_path, site.url, "--max-pages", "5").out
        assert night(tmp_path, site.url).code == 0
        before = published(tmp_path)
        for trouble, said in nights:
            site.routes = {**whole, **trouble}
            ran = night(tmp_path, site.url)
            assert ran.code == 3, (said, ran)
            assert said.format(url=site.url) in ran.out
            assert published(tmp_path) == before
        site.routes = whole
        ran = night(tmp_path, site.url)
        assert ran.code == 0
        assert "nothing added, changed or removed" in ran.out
        assert published(tmp_path) == before


def test_ours_what_leaves_one_by_one_leaves_at_once_and_a_landslide_when_it_is_accepted(tmp_path: Path) -> None:
    whole = shop(20)
    with scripted(whole) as site:
        assert night(tmp_path, site.url).code == 0
        gone = {f"/p{n}": Answer("", 410) for n in range(10)}
        site.routes = {**whole, **gone, "/p10": Answer("", 302, {"Location": "/p11"}), "/p19": Answer("", 500)}
        ran = night(tmp_path, site.url)
        assert ran.code == 3
        assert "degraded: 1 URL failed (server error: 1)" in ran.out
        assert "1 moved; 1 kept although they failed; 10 held by the gate" in ran.out
        assert (
            "left out, and why (pages that the gate holds, and pages that failed temporarily, stay in the sitemap)"
            in ran.out
        )
        assert len(listed(tmp_path)) == 20
        assert night(tmp_path, site.url, "--accept-shrink").code == 0
        assert len(listed(tmp_path)) == 10
        site.routes = {**whole, "/": links("/p11"), "/p11": "<p>alone"}
        refused = night(tmp_path, site.url)
        assert refused.code == 3
        assert "no longer linked" in refused.out
        assert night(tmp_path, site.url, "--accept-shrink").code == 0
        assert listed(tmp_path) == [site.url, f"{site.url}p11"]


def test_ours_pages_that_become_an_empty_template_do_not_cost_last_modified_its_trust(tmp_path: Path) -> None:
    whole = shop(20)
    routes: dict[str, Route] = {
        path: Answer(str(page), headers={"Last-Modified": f"Wed, {number:02} May 2024 10:00:00 GMT"})
        for number, (path, page) in enumerate(whole.items(), 1)
    }
    empty = Answer("<title>Shop</title><p>All rights.", headers={"Last-Modified": "Sat, 01 Jun 2024 10:00:00 GMT"})
    with scripted(routes) as site:
        assert night(tmp_path, site.url, "--state", "state").code == 0
        site.routes = routes | {f"/p{number}": empty for number in range(12)}
        ran = night(tmp_path, site.url, "--state", "state")
        assert ran.code == 3
        assert "12 of the 21 published pages no longer show their main text" in ran.out
        assert "with unchanged content" not in ran.out
        told = siteatlas(tmp_path, "why", f"{site.url}p1", "--state", "state").out
        assert "last fetched in full in run 2 " in told


def test_ours_pages_that_moved_for_one_night_come_back_without_a_hold(tmp_path: Path) -> None:
    whole = shop(20)
    moved = {path: page for path, page in whole.items() if path != "/"}
    with scripted(whole) as site:
        assert night(tmp_path, site.url).code == 0
        before = listed(tmp_path)
        redirects = {path: Answer("", 301, {"Location": f"/new{path}"}) for path in moved}
        site.routes = {**whole, **redirects, **{f"/new{path}": page for path, page in moved.items()}}
        assert night(tmp_path, site.url).code == 0
        assert f"{site.url}new/p1" in listed(tmp_path)
        site.routes = whole
        ran = night(tmp_path, site.url)
        assert ran.code == 0, ran.out
        assert listed(tmp_path) == before


def test_ours_a_night_of_noise_after_a_night_without_pages_moves_no_date(tmp_path: Path) -> None:
    date = '<meta property="article:modified_time" content="2024-08-03">'
    whole = {path: f"{date}{page}" if path != "/" else page for path, page in shop(20).items()}
    with scripted(whole) as site:
        assert night(tmp_path, site.url).code == 0
        before = published(tmp_path)
        assert "2024-08-03" in str(before)
        noise = Answer(b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 9, headers={"Content-Type": "text/html"})
        for bad in (Answer("", 410), noise):
            site.routes = {path: page if path == "/" else bad for path, page in whole.items()}
            assert night(tmp_path, site.url).code == 3
        site.routes = whole
        assert night(tmp_path, site.url).code == 0
        assert published(tmp_path) == before


def test_ours_pages_that_a_move_left_without_redirects_leave_once_they_redirect(tmp_path: Path) -> None:
    texts = [f"<title>Boat {n}</title><p>Boat {n} is {n * 7} feet long and has {n * 3} sails" for n in range(9)]
    old, new = ({f"/{folder}/p{n}": text for n, text in enumerate(texts)} for folder in ("old", "new"))
    with scripted({"/": links(*old), **old}) as site:
        assert night(tmp_path, site.url).code == 0
        site.routes = {"/": links(*new), **new}
        ran = night(tmp_path, site.url)
        assert (ran.code, len(listed(tmp_path))) == (3, 19)
        site.routes |= {f"/old/p{n}": Answer("", 301, {"Location": f"/new/p{n}"}) for n in range(9)}
        ran = night(tmp_path, site.url)
        assert (ran.code, len(listed(tmp_path))) == (0, 10), ran.out
        assert "9 moved" in ran.out
