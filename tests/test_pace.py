"""The pace of a crawl, as the server sees it."""

import re
import subprocess
import time
from itertools import pairwise
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from run import FAST, command, crawl, environment, listed, siteatlas
from scripted import Answer, Route, Site, links, scripted

from crawler.crawl.soft_404 import impossible_url


def gaps(site: Site) -> list[float]:
    """Seconds between one page request and the next, the site's own files and names that cannot exist left out."""
    own = ("/robots.txt", "/sitemap.xml", urlsplit(impossible_url(site.url)).path)
    times = [when for when, path, _ in site.log if path not in own]
    return [after - before for before, after in pairwise(times)]


def flat(pages: int, delay: float = 0.0) -> dict[str, Route]:
    return {"/": links(*(f"/p{n}" for n in range(pages)))} | {f"/p{n}": Answer("x", delay=delay) for n in range(pages)}


def test_ours_the_default_is_four_at_a_time(tmp_path: Path) -> None:
    with scripted(flat(9, delay=0.5)) as site:
        assert siteatlas(tmp_path, "crawl", site.url, "-o", "out").code == 0
        assert len(listed(tmp_path)) == 10
        times = sorted(when for when, path, _ in site.log if path.startswith("/p"))
        assert len(times) == 9
        assert all(later - first >= 0.45 for first, later in zip(times, times[4:], strict=False))  # five are never out


def test_ours_the_default_is_at_most_ten_requests_a_second(tmp_path: Path) -> None:
    with scripted(flat(19)) as site:
        assert siteatlas(tmp_path, "crawl", site.url, "-o", "out").code == 0
        assert len(gaps(site)) == 19
        assert sum(gaps(site)) >= 1.5  # and not 1.9: the server may be late to log the first


def test_ours_crawl_delay_means_one_at_a_time_and_so_far_apart(tmp_path: Path) -> None:
    robots = "User-agent: *\nCrawl-delay: {}\n"
    routes = flat(4)
    with scripted(routes) as site:
        routes["/robots.txt"] = Answer(robots.format(0.4), headers={"Content-Type": "text/plain"})
        assert crawl(tmp_path, site.url).code == 0
        assert len(gaps(site)) == 4
        assert sum(gaps(site)[1:]) >= 1.0  # three delays
    with scripted(routes) as site:
        routes["/robots.txt"] = Answer(robots.format(50), headers={"Content-Type": "text/plain"})
        # within the minute that a run may take
        assert crawl(tmp_path, site.url, "--set=obey.max_crawl_delay=0.1", "--replace").code == 0
        assert len(gaps(site)) == 4


def test_ours_a_crawl_delay_holds_from_robots_txt_on_at_every_origin(tmp_path: Path) -> None:
    slow = {
        "/robots.txt": Answer("User-agent: *\nCrawl-delay: 0.3\nDisallow: /no", headers={"Content-Type": "text/plain"})
    }
    with scripted(flat(2) | slow) as other:
        host = other.url.replace("127.0.0.1", "localhost").split("/")[2]
        away = [f"http://{host}/{path}" for path in ("p0", "no", "p1", "p2")]
        with scripted({"/": links(*away)} | slow) as site:
            words = ("--host", "localhost", "--host", host, "--resolve", f"{host}:127.0.0.1", "-c", "8")
            assert crawl(tmp_path, site.url, *words).code == 0
    for log, least in ((site.log, 2), (other.log, 3)):
        times = [when for when, path, _ in log if path != urlsplit(impossible_url(site.url)).path]
        assert len(times) > least
        assert min(after - before for before, after in pairwise(times)) >= 0.28


def test_ours_delay_is_kept_between_two_requests(tmp_path: Path) -> None:
    with scripted(flat(5)) as site:
        assert crawl(tmp_path, site.url, "--set=pace.delay=0.3").code == 0
        assert len(gaps(site)) == 5
        assert sum(gaps(site)) >= 1.2


def test_rfc9110_10_2_3_a_pause_of_days_ends_the_run_and_keeps_the_rest(tmp_path: Path) -> None:
    routes = flat(8) | {"/p3": Answer("", 503, {"Retry-After": "999999"})}
    with scripted(routes) as site:
        ran = crawl(tmp_path, site.url, "-c", "1")
        assert ran.code == 4
        assert "long pause" in ran.out
        asked = len(site.log)
        assert asked < 8
        routes["/p3"] = Answer("x")
        assert crawl(tmp_path, site.url).code == 4  # the pause outlives the process
        assert [path for path in site.paths if path.startswith("/p")].count("/p3") == 1
        assert len(site.log) == asked
        assert crawl(tmp_path, site.url, "--fresh").code == 0
        assert len(listed(tmp_path)) == 9


def test_ours_a_pause_beyond_the_limits_names_its_error_and_its_end_and_a_person_may_end_it(tmp_path: Path) -> None:
    routes = flat(2) | {"/": Answer("", 503, {"Retry-After": "3000"})}
    with scripted(routes) as site:
        first = crawl(tmp_path, site.url)
        routes["/"] = links("/p0", "/p1")
        asked = len(site.log)
        second = crawl(tmp_path, site.url)
        assert len(site.log) == asked
        for ran in (first, second):
            assert ran.code == 4
            said = r"long pause: .*answered 503, asking to wait until \d{4}-.* UTC, longer than pace.max_error_time"
            assert re.search(said, ran.out), ran.out
            assert "--restart does not wait" in ran.out
        assert crawl(tmp_path, site.url, "--restart").code == 0
        assert len(listed(tmp_path)) == 3


def test_ours_429_without_a_date_backs_off_more_and_more(tmp_path: Path) -> None:
    with scripted({"/": lambda before: Answer("", 429) if before < 2 else Answer("x")}) as site:
        assert crawl(tmp_path, site.url, "--set=scope.sitemap_seeds=false").code == 0
        assert listed(tmp_path) == [site.url]
        assert gaps(site)[0] >= 0.9
        assert gaps(site)[1] >= 1.8


def test_ours_a_run_ends_when_the_server_has_cost_it_enough_time_and_the_next_goes_on(tmp_path: Path) -> None:
    routes = flat(30)
    routes |= {f"/p{n}": Answer("", 503) for n in range(0, 30, 2)}
    with scripted(routes) as site:
        ran = crawl(tmp_path, site.url, "--set=pace.max_error_time=0.5")
        assert ran.code == 4
        assert "(pace.max_error_time)" in ran.out  # whether it saw enough pages by then to publish them, or not
        assert "again to continue" in ran.out
        assert len([path for path in site.paths if path.startswith("/p")]) < 30
        routes |= flat(30)
        done = len(site.log)
        assert crawl(tmp_path, site.url).code == 0
        assert len(listed(tmp_path)) == 31
        assert "/" not in site.paths[done:]  # it went on


def until_refused_and_killed(folder: Path, site: Site, *words: str) -> float:
    """Crawl until the site has refused /busy, then kill the process; returns when it refused."""
    process = subprocess.Popen(command("crawl", site.url, "-o", "out", *FAST, *words), cwd=folder, env=environment())
    try:
        while "/busy" not in site.paths:
            time.sleep(0.01)
        refused = site.log[site.paths.index("/busy")][0]
        time.sleep(0.3)
    finally:
        process.kill()
        process.wait()
    return refused


def busy(seconds: str) -> dict[str, Route]:
    pages: dict[str, Route] = {f"/p{n}": "x" for n in range(20)}
    later: Route = lambda before: Answer("", 429, {"Retry-After": seconds}) if before == 0 else Answer("x")  # noqa: E731
    return {"/": links("/busy", *pages), "/busy": later, **pages}


@pytest.mark.thorough
def test_rfc9110_10_2_3_a_pause_survives_a_kill(tmp_path: Path) -> None:
    with scripted(busy("4")) as site:
        refused = until_refused_and_killed(tmp_path, site, "-c", "1")
        asked = len(site.log)
        ran = crawl(tmp_path, site.url, "-c", "1")
        assert ran.code == 0, ran.err
        assert len(listed(tmp_path)) == 22
        assert site.log[asked][0] - refused >= 3.9
        assert len([line for line in ran.err.splitlines() if "requested a pause in an earlier run" in line]) == 1
        again = crawl(tmp_path, site.url)
        assert (again.code, "pause" in again.err) == (0, False)


def test_rfc9110_10_2_3_a_pause_that_is_too_long_ends_the_next_run_too(tmp_path: Path) -> None:
    with scripted(busy("600")) as site:
        until_refused_and_killed(tmp_path, site, "-c", "1")
        asked = len(site.log)
        for limit, flag in (("60", "pace.max_retry_after"), ("60", "pace.max_error_time")):
            ran = crawl(tmp_path, site.url, "-c", "1", f"--set={flag}={limit}")
            assert ran.code == 4, ran.err
            assert flag in ran.out
        assert len(site.log) == asked
