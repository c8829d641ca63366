"""What goes wrong around a crawl: kills, signals, limits, bad input, robots.txt that cannot be had, refusals."""

import json
import os
import random
import signal
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from ports import reserved_port
from run import FAST, command, crawl, environment, listed, published, siteatlas
from scripted import Answer, Route, links, scripted

pytestmark = pytest.mark.thorough


def web(pages: int, delay: float = 0.0) -> dict[str, Route]:
    """A site of so many pages, each linking to a few others, and with a word of its own."""
    routes: dict[str, Route] = {"/": Answer(links("/p1", "/p2"), delay=delay)}
    for n in range(1, pages):
        body = links(*(f"/p{m}" for m in (2 * n + 1, 2 * n + 2, n // 2) if 0 < m < pages))
        body += f"<p>{''.join(chr(ord('a') + int(figure)) for figure in str(n))}ly"
        routes[f"/p{n}"] = Answer(body, headers={"Last-Modified": "Tue, 03 Mar 2020 04:05:06 GMT"}, delay=delay)
    return routes


def start(folder: Path, url: str, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        command("crawl", url, "-o", "out", *FAST, *words),
        cwd=folder,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def killed_again_and_again(tmp_path: Path, pages: int, delay: float) -> int:
    """Crawl twice, once undisturbed and once killed at random moments until it is done; answers the kills."""
    undisturbed, killed = tmp_path / "undisturbed", tmp_path / "killed"
    undisturbed.mkdir()
    killed.mkdir()
    moments = random.Random(7)
    with scripted(web(pages, delay)) as site:
        assert crawl(undisturbed, site.url).code == 0
        once = len(site.log)
        kills, code = 0, None
        while code is None:
            process = start(killed, site.url)
            enough = len(site.log) + moments.randint(20, 80)
            while process.poll() is None and len(site.log) < enough:
                time.sleep(0.005)
            try:
                code = process.wait(moments.uniform(0, 0.3))
            except subprocess.TimeoutExpired:
                process.kill()
                kills += 1
            process.communicate()
        assert code == 0
        assert published(killed) == published(undisturbed)
        assert len(site.log) - once < once + kills * 70  # what was settled is not fetched again
    return kills


@pytest.mark.slow
def test_ours_killed_at_random_moments_it_goes_on_and_ends_with_the_same_bytes(tmp_path: Path) -> None:
    assert killed_again_and_again(tmp_path, 250, 0.03) >= 3


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_ours_killed_twenty_times_in_one_crawl_it_ends_with_the_same_bytes(tmp_path: Path) -> None:
    assert killed_again_and_again(tmp_path, 1500, 0.06) >= 20


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ours_a_signal_saves_and_stops_and_the_same_command_goes_on(tmp_path: Path, number: signal.Signals) -> None:
    with scripted(web(60, delay=0.1)) as site:
        process = start(tmp_path, site.url)
        while len(site.log) < 15:
            time.sleep(0.01)
        process.send_signal(number)
        out, err = process.communicate(timeout=30)
        assert process.returncode == 4, err
        assert "run the same command again" in out
        assert [line for line in err.splitlines() if line != line.rstrip()] == []
        status = siteatlas(tmp_path, "status").out
        assert (status.count("interrupted"), "refused" in status) == (2, False), status
        assert published(tmp_path) == {}
        asked = len(site.log)
        assert asked < 60
        ran = crawl(tmp_path, site.url)
        assert ran.code == 0, ran.err
        assert "continued an earlier run" in ran.out
        assert len(listed(tmp_path)) == 60
        assert len(site.log) < asked + 60


def test_ours_a_continued_run_requests_again_what_failed_before(tmp_path: Path) -> None:
    with scripted(web(30)) as site:
        assert crawl(tmp_path, site.url).code == 0
        start_page = site.routes["/"]
        site.routes |= {"/": Answer(status=503), "/p29": Answer(links("/"), delay=20)}
        process = start(tmp_path, site.url, "--set=fetch.retries=0")
        while site.paths.count("/p29") < 2:
            time.sleep(0.05)
        time.sleep(1)  # the start page has been answered long before
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)
        assert process.returncode == 4
        site.routes |= {"/": start_page, "/p29": Answer("<p>repaired")}
        ran = crawl(tmp_path, site.url)
        assert (ran.code, "continued an earlier run" in ran.out) == (0, True), ran.err
        assert len(listed(tmp_path)) == 30


def test_ours_a_continued_run_in_which_only_failing_pages_are_left_ends(tmp_path: Path) -> None:
    bad = {f"/bad{n}": Answer(status=500) for n in range(24)}
    routes = web(140) | bad
    routes["/"] = Answer(links("/p1", "/p2", *bad))
    with scripted(routes) as site:
        cut = crawl(tmp_path, site.url, "--max-pages", "160", "--set=fetch.retries=0")
        assert cut.code == 4
        ran = crawl(tmp_path, site.url, "--set=fetch.retries=0", "--set=pace.max_error_time=20")
        assert (ran.code, len(listed(tmp_path))) == (0, 140), ran.out + ran.err


def test_ours_a_limit_of_pages_ends_a_run_and_the_next_goes_on(tmp_path: Path) -> None:
    with scripted(web(30)) as site:
        first = crawl(tmp_path, site.url, "--max-pages", "12")
        assert first.code == 4
        assert "--max-pages" in first.out
        assert published(tmp_path) == {}
        partial = crawl(tmp_path, site.url, "--max-pages", "5", "--set=output.partial=true")
        assert partial.code == 4
        some = len(listed(tmp_path))
        assert 10 <= some <= 17
        assert crawl(tmp_path, site.url).code == 0
        assert len(listed(tmp_path)) == 30


def test_ours_a_limit_of_the_state_ends_a_run_and_a_higher_one_goes_on(tmp_path: Path) -> None:
    with scripted(web(400, delay=0.02)) as site:
        first = crawl(tmp_path, site.url, "--set=state.max_size=150k")
        assert first.code == 4
        assert (
            "the state of the site reached its maximum size (raise state.max_size); run again to continue" in first.out
        )
        asked = len(site.log)
        assert asked < 400
        assert crawl(tmp_path, site.url).code == 0
        assert len(listed(tmp_path)) == 400
        assert len(site.log) < asked + 400


def test_ours_a_limit_that_is_not_reached_changes_nothing(tmp_path: Path) -> None:
    with scripted(web(10)) as site:
        assert crawl(tmp_path, site.url, "--max-pages", "11", "--max-time", "60").code == 0
        assert len(listed(tmp_path)) == 10


def test_ours_a_limit_of_time_ends_a_run(tmp_path: Path) -> None:
    with scripted(web(100, delay=0.2)) as site:
        ran = crawl(tmp_path, site.url, "--max-time", "1s")
        assert ran.code == 4
        assert "scope.max_time" in ran.out


def test_ours_other_settings_do_not_silently_resume_and_fresh_forgets(tmp_path: Path) -> None:
    with scripted(web(30)) as site:
        crawl(tmp_path, site.url, "--max-pages", "5")
        other = crawl(tmp_path, site.url, "--exclude", "*/p7")
        assert other.code == 2
        assert "scope.exclude" in other.err
        assert "--restart" in other.err
        assert crawl(tmp_path, site.url, "--exclude", "*/p7", "--fresh").code == 0
        assert f"{site.url}p7" not in listed(tmp_path)


def test_ours_a_second_process_on_the_same_state_is_told_so(tmp_path: Path) -> None:
    released = threading.Event()

    def held(_: int) -> Answer:
        released.wait(60)
        return Answer(links())

    with scripted(web(3) | {"/p2": held}) as site:
        process = start(tmp_path, site.url)
        while "/p2" not in site.paths:
            time.sleep(0.01)
        second = crawl(tmp_path, site.url)
        released.set()
        assert second.code == 6
        assert str(process.pid) in second.err
        process.send_signal(signal.SIGTERM)
        process.communicate()


BAD_INPUT = [
    ("http://no-such-host.invalid/", (), 5, "no-such-host.invalid"),
    ("http://127.0.0.1:{closed}/", (), 5, "refused"),
    ("not a url", (), 2, '"not a url"'),
    ("htp://example.com/", (), 2, "Did you mean https://example.com/?"),
    ("http://127.0.0.1:{closed}/", ("-c", "0"), 2, "--concurrency"),
    ("http://127.0.0.1:{closed}/", ("--rate", "quick"), 2, "--rate"),
    ("http://127.0.0.1:{closed}/", ("--exclude", "re:("), 2, "re:("),
    ("http://127.0.0.1:{closed}/", ("--config", "missing.toml"), 2, "missing.toml"),
    ("http://127.0.0.1:{closed}/", ("--config", "bad.toml"), 2, "TOML"),
    ("http://127.0.0.1:{closed}/", ("--config", "unknown.toml"), 2, '"concurrency"'),
    ("http://127.0.0.1:{closed}/", ("--no-such-flag",), 2, "--no-such-flag"),
    ("http://127.0.0.1:{closed}/", ("--basic-auth", "env:NOT_SET"), 2, "NOT_SET"),
    ("http://127.0.0.1:{closed}/", ("-H", "nonsense"), 2, "--header"),
    ("http://127.0.0.1:{closed}/", ("-o", "file/below"), 7, "file"),
    ("http://127.0.0.1:{closed}/", ("--state", "file/below"), 7, "--state"),
    ("http://127.0.0.1:{closed}/", ("-o", "/proc/nothing"), 7, "/proc"),
]


@pytest.mark.parametrize(("url", "words", "code", "said"), BAD_INPUT)
def test_ours_bad_input_gets_one_clear_line_and_its_exit_code(
    tmp_path: Path, url: str, words: tuple[str, ...], code: int, said: str
) -> None:
    (tmp_path / "file").write_text("a file")
    (tmp_path / "bad.toml").write_text("[pace\n")
    (tmp_path / "unknown.toml").write_text("[pace]\nconcurency = 3\n")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "sitemap.xml").write_text("the old one")
    ran = crawl(tmp_path, url.replace("{closed}", str(reserved_port())), "--replace", *words)
    assert ran.code == code, ran.err
    assert said in ran.err
    assert ran.out == ""
    assert (tmp_path / "out" / "sitemap.xml").read_text() == "the old one"
    if "--no-such-flag" not in words:
        assert len(ran.err.strip().splitlines()) == 1


def test_ours_a_state_that_is_no_database_is_told_and_left_alone(tmp_path: Path) -> None:
    with scripted(web(3)) as site:
        crawl(tmp_path, site.url)
        (database,) = (tmp_path / ".siteatlas").glob("*/state.db")
        database.write_bytes(b"scribble" * 1000)
        for leftover in database.parent.glob("state.db-*"):
            leftover.unlink()
        before = published(tmp_path)
        ran = crawl(tmp_path, site.url)
        assert ran.code == 7
        assert "state.db" in ran.err
        assert "--state" in ran.err
        assert database.read_bytes() == b"scribble" * 1000
        assert published(tmp_path) == before


ROBOTS_GONE: list[Route] = [
    Answer("no", 500),
    Answer("no", 503),
    Answer("slow down", 429),
    Answer("User-agent: *\nAllow: /", 200, {"Content-Length": "4000"}),
    Answer(b"\x1f\x8b\x08\x00broken", 200, {"Content-Encoding": "gzip"}),
]


def test_rfc9309_2_3_1_4_robots_that_cannot_be_had_means_no_page_is_asked_for(tmp_path: Path) -> None:
    def refused(number: int) -> None:
        folder = tmp_path / str(number)
        folder.mkdir()
        with scripted({"/": links("/a"), "/a": links(), "/robots.txt": ROBOTS_GONE[number]}) as site:
            ran = crawl(folder, site.url, "--set=fetch.read_timeout=0.5", "--timeout", "2")
            assert ran.code == 5, (number, ran.err)
            assert "robots.txt" in ran.err, number
            assert set(site.paths) == {"/robots.txt"}, number
            again = crawl(folder, site.url, "--ignore-robots", "--set=fetch.read_timeout=0.5", "--timeout", "2")
            assert again.code == 0, (number, again.err)

    with ThreadPoolExecutor() as all_at_once:  # each waits between its attempts
        list(all_at_once.map(refused, range(len(ROBOTS_GONE))))


def test_rfc9309_2_3_1_2_robots_redirects_are_followed_five_times(tmp_path: Path) -> None:
    hops = {f"/r{n}": Answer("", 301, {"Location": f"/r{n + 1}"}) for n in range(4)}
    routes = {"/": links("/a", "/b"), "/a": links(), "/b": links(), **hops}
    routes["/robots.txt"] = Answer("", 301, {"Location": "/r0"})
    routes["/r4"] = Answer("User-agent: siteatlas\nDisallow: /a\n", headers={"Content-Type": "text/plain"})
    with scripted(routes) as site:
        crawl(tmp_path, site.url)
        assert listed(tmp_path) == [site.url, f"{site.url}b"]


def test_ours_retry_after_is_waited_for(tmp_path: Path) -> None:
    routes: dict[str, Route] = {"/": links("/busy", "/b", "/c"), "/b": links(), "/c": links()}
    routes["/busy"] = lambda before: Answer("", 429, {"Retry-After": "2"}) if before == 0 else Answer(links())
    with scripted(routes) as site:
        ran = crawl(tmp_path, site.url, "-c", "1")
        assert ran.code == 0, ran.err
        assert len(listed(tmp_path)) == 4
        at = {(path, n): when for n, (when, path, _) in enumerate(site.log)}
        refused = min(when for (path, _), when in at.items() if path == "/busy")
        after = [when - refused for (_, _), when in at.items() if when > refused]
        assert min(after) >= 1.9


def test_ours_passing_failures_leave_no_trace(tmp_path: Path) -> None:
    flaky = random.Random(3)
    routes = web(40)
    for path, answer in list(routes.items()):
        if path != "/" and flaky.random() < 0.3:
            routes[path] = lambda before, answer=answer: Answer("", 502) if before == 0 else answer  # type: ignore[misc]
    with scripted(routes) as site:
        assert crawl(tmp_path, site.url).code == 0
        assert len(listed(tmp_path)) == 40


def test_ours_a_site_that_mostly_fails_does_not_replace_what_is_published(tmp_path: Path) -> None:
    routes = web(20)
    with scripted(routes) as site:
        assert crawl(tmp_path, site.url).code == 0
        before = published(tmp_path)
        routes |= {f"/p{n}": Answer("", 500) for n in range(7, 20)}
        ran = crawl(tmp_path, site.url, "--set=fetch.retries=0")
        assert ran.code == 3
        assert "output.max_failed" in ran.out
        assert published(tmp_path) == before
        routes["/"] = Answer("", 500)
        assert crawl(tmp_path, site.url, "--set=fetch.retries=0").code in (3, 5)
        assert published(tmp_path) == before


def test_ours_nothing_indexable_publishes_nothing(tmp_path: Path) -> None:
    with scripted({"/": links(head='<meta name="robots" content="noindex">')}) as site:
        ran = crawl(tmp_path, site.url)
        assert ran.code == 5
        assert published(tmp_path) == {}


def test_ours_a_start_url_that_moved_is_told_with_where_to_go(tmp_path: Path) -> None:
    with scripted({"/": Answer("", 301, {"Location": "https://www.elsewhere.example/"})}) as site:
        ran = crawl(tmp_path, site.url)
        assert ran.code == 5
        assert "run the same command with the URL https://www.elsewhere.example/" in ran.out
        assert "https://www.elsewhere.example/" in crawl(tmp_path, site.url, "-q").err


@pytest.mark.slow
def test_ours_a_site_that_dies_leaves_the_rest_pending(tmp_path: Path) -> None:
    with scripted(web(40, delay=0.05)) as site:
        process = start(tmp_path, site.url, "--set=fetch.retries=1", "--set=pace.max_error_time=5")
        while len(site.log) < 12:
            time.sleep(0.01)
    # the server is gone now
    out, err = process.communicate(timeout=60)
    assert process.returncode == 4, (out, err)
    assert published(tmp_path) == {}
    assert "the site is down: " in out


def test_ours_secrets_go_to_their_origin_only_and_nowhere_else(tmp_path: Path) -> None:
    with scripted({"/": links()}) as other:
        home = links("/a", f"{other.url}x")
        with scripted({"/": home, "/a": Answer("", 302, {"Location": other.url})}) as site:
            words = ("-H", "X-Api-Key: tok-header", "--cookie", "s=tok-cookie", "--basic-auth", "env:AUTH")
            ran = crawl(tmp_path, site.url, *words, "--host", other.url.split("/")[2], "-v", AUTH="u:tok-basic")
            assert ran.code == 0, ran.err
            assert all(headers["x-api-key"] == "tok-header" for _, _, headers in site.log)
            assert all("authorization" in headers for _, _, headers in site.log)
            assert not [h for _, _, h in other.log if {"x-api-key", "authorization", "cookie"} & h.keys()]
            kept = b"".join(p.read_bytes() for p in tmp_path.rglob("*") if p.is_file())
            assert b"tok-" not in kept + (ran.out + ran.err).encode()


def test_ours_a_page_that_hangs_the_parser_costs_itself_only(tmp_path: Path) -> None:
    hang = "<div>" * 100_000 + '<a href="/found">x</a>'
    with scripted({"/": links("/hang", "/b"), "/hang": hang, "/b": links(), "/found": links()}) as site:
        ran = crawl(tmp_path, site.url, "--set=parse.timeout=2")
        assert ran.code == 0, ran.err
        assert f"{site.url}found" in listed(tmp_path)
        assert f"{site.url}b" in listed(tmp_path)


def test_ours_json_is_one_object_for_machines(tmp_path: Path) -> None:
    with scripted(web(5)) as site:
        ran = crawl(tmp_path, site.url, "--json")
        report = json.loads(ran.out)
        assert report["complete"] is True
        assert report["exit_code"] == 0
        assert report["listed"] == 5
        assert report["published"][0]["name"] == "sitemap.xml"


def test_ours_a_closed_pipe_is_no_error(tmp_path: Path) -> None:
    with scripted(web(5)) as site:
        process = start(tmp_path, site.url)
        assert process.stdout
        assert process.stderr
        process.stdout.close()
        err = process.stderr.read()
        process.stderr.close()
        assert process.wait(30) == 0
        assert err == ""


def test_ours_environment_and_file_and_flag_have_their_order(tmp_path: Path) -> None:
    (tmp_path / "site.toml").write_text("[pace]\nconcurrency = 0\n")
    closed = f"http://127.0.0.1:{reserved_port()}/"
    words = ("crawl", closed, "-o", "out", "--config", "site.toml")
    assert "pace.concurrency (site.toml, line 2): it must be at least 1" in siteatlas(tmp_path, *words).err
    assert siteatlas(tmp_path, *words, SITEATLAS_PACE_CONCURRENCY="2").code == 5
    assert siteatlas(tmp_path, *words, "-c", "0", SITEATLAS_PACE_CONCURRENCY="2").code == 2
    assert os.environ.get("SITEATLAS_PACE_CONCURRENCY") is None
