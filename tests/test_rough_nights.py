"""Rough nights: the network goes, the clock is set, files run out, and the crawl goes on."""

import json
import re
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from run import FAST, command, environment, listed, siteatlas
from scripted import Answer, Route, Site, links, scripted

pytestmark = pytest.mark.thorough

SET_CLOCK = """
import os, time
real, file = time.time, os.environ["CLOCK"]
def set_clock():
    try:
        with open(file) as text:
            return real() + float(text.read() or 0)
    except FileNotFoundError:
        return real()
time.time = set_clock
"""


def flat(count: int, delay: float) -> dict[str, Route]:
    pages: dict[str, Route] = {f"/p{n}": Answer(f"<p>Page {n}.", delay=delay) for n in range(count)}
    return {"/": links(*pages)} | pages


def begin(folder: Path, url: str, *words: str, prefix: tuple[str, ...] = (), **extra: str) -> "subprocess.Popen[str]":
    line = [
        *prefix,
        *command("crawl", url, "-o", "out", "--state", "state", "--set=output.swap_delay=0", *FAST, *words),
    ]
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    return subprocess.Popen(line, cwd=folder, env=environment(**extra), text=True, **streams)  # type: ignore[call-overload, no-any-return]


def wait_for(site: Site, is_reached: Callable[[], bool]) -> None:
    until = time.monotonic() + 30
    while not is_reached():
        assert time.monotonic() < until, f"the crawl stopped after {len(site.log)} requests"
        time.sleep(0.01)


def end(process: "subprocess.Popen[str]") -> tuple[int, str]:
    said, _ = process.communicate(timeout=90)
    assert "Traceback" not in said
    return process.returncode, said


@pytest.mark.parametrize("seconds", [-3600.0, 3600.0])
def test_ours_a_clock_that_is_set_in_mid_crawl_changes_neither_pace_nor_end(seconds: float, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(SET_CLOCK)
    clock = tmp_path / "clock"
    routes = flat(40, 0.05)
    routes["/p9"] = lambda before: Answer("", 503, {"Retry-After": "2"}) if not before else Answer("<p>Late.")
    with scripted(routes) as site:
        process = begin(
            tmp_path, site.url, "-c", "2", "--set=pace.delay=0.02", PYTHONPATH=str(tmp_path), CLOCK=str(clock)
        )
        wait_for(site, lambda: "/p9" in site.paths)
        clock.write_text(f"{seconds}")
        code, said = end(process)
        assert code == 0, said
        assert len(listed(tmp_path)) == 41
        first, second = (when for when, path, _ in site.log if path == "/p9")
        assert second - first >= 1.9


@pytest.mark.parametrize("retries", ["0", "2"])
def test_ours_pages_that_fail_while_the_network_is_away_are_fetched_when_it_is_back(
    retries: str, tmp_path: Path
) -> None:
    routes = flat(60, 0.05)
    with scripted(routes) as site:
        process = begin(tmp_path, site.url, "-c", "8", f"--set=fetch.retries={retries}")
        wait_for(site, lambda: len(site.log) >= 20)
        port = int(site.url.rstrip("/").rpartition(":")[2])
    time.sleep(4.0)
    with scripted(routes, port=port):
        code, said = end(process)
        assert code == 0, said
        assert "failed" not in said
        assert len(listed(tmp_path)) == 61


def test_ours_a_site_that_answers_503_is_told_at_once_and_as_the_cause(tmp_path: Path) -> None:
    routes = flat(40, 0)
    with scripted(routes) as site:
        assert end(begin(tmp_path, site.url))[0] == 0
        site.routes = dict.fromkeys([*routes, "/sitemap.xml"], Answer("", 503, {"Retry-After": "3"}))
        site.routes["/robots.txt"] = ""
        code, quiet = end(begin(tmp_path, site.url, "-c", "1", "--set=pace.max_error_time=5", "-q"))
        assert code == 4, quiet
        assert "answered 503" in quiet
        assert "waiting until" not in quiet
        code, said = end(begin(tmp_path, site.url, "-c", "1", "--set=pace.max_error_time=5", "--restart"))
    assert code == 4, said
    waits = re.findall(r"answered 503: waiting until [0-9:]{8}, as the server requested; such waits end", said)
    assert len(waits) == 1, said
    assert "answered 503 (2 of 2 requests failed); run again to continue" in said
    ran = siteatlas(tmp_path, "status", "--state", "state", "--json")
    assert "answered 503 (2 of 2 requests failed)" in json.loads(ran.out)["sites"][0]["runs"][0]["reason"]


def test_ours_a_site_that_answers_500_to_every_page_is_not_asked_for_all_its_pages(tmp_path: Path) -> None:
    routes = flat(80, 0)
    with scripted(routes) as site:
        assert end(begin(tmp_path, site.url))[0] == 0
        site.routes = {"/robots.txt": ""} | dict.fromkeys(routes, Answer("", 500))  # no sitemap.xml: 404
        site.log.clear()
        code, said = end(begin(tmp_path, site.url, "--set=fetch.retries=0", "--set=pace.max_error_time=5"))
        assert code == 4, said
        assert 20 < len(site.paths) < 45
        failed = r"answered 500, internal error \([0-9]+ of [0-9]+ requests failed\), with [0-9]+ URLs left to visit"
        assert re.search(failed, said), said
    assert len(listed(tmp_path)) == 81


def test_ours_a_start_page_and_a_part_that_fail_end_no_crawl(tmp_path: Path) -> None:
    routes = flat(80, 0)
    with scripted(routes) as site:
        assert end(begin(tmp_path, site.url))[0] == 0
        site.routes = routes | {"/": Answer("", 500)} | {f"/p{n}": Answer("", 500) for n in range(50)}
        site.log.clear()
        code, said = end(begin(tmp_path, site.url, "--set=fetch.retries=0"))
        assert code == 3, said
        assert set(site.paths) >= {"/", *routes}


def test_ours_an_outage_ends_the_crawl_after_max_error_time_and_the_next_run_goes_on(tmp_path: Path) -> None:
    routes = flat(40, 0.05)
    with scripted(routes) as site:
        process = begin(tmp_path, site.url, "-c", "4", "--set=pace.max_error_time=3")
        wait_for(site, lambda: len(site.log) >= 15)
        port = int(site.url.rstrip("/").rpartition(":")[2])
    began = time.monotonic()
    code, said = end(process)
    assert code == 4, said
    assert "the site is down: 127.0.0.1" in said
    assert re.search(r"refused the connection \([0-9]+ of [0-9]+ requests failed\); run again", said), said
    assert time.monotonic() - began < 15
    with scripted(routes, port=port) as again:
        code, said = end(begin(tmp_path, again.url, "-c", "4"))
        assert code == 0, said
        assert len(listed(tmp_path)) == 41
        assert len(again.log) < 40


def with_files(limit: int) -> tuple[str, ...]:
    return ("sh", "-c", f'ulimit -n {limit}; exec "$@"', "sh")


def test_ours_few_open_files_slow_the_crawl_and_are_noted_once(tmp_path: Path) -> None:
    with scripted(flat(80, 0.05)) as site:
        for _ in range(2):
            code, said = end(begin(tmp_path, site.url, "-c", "64", prefix=with_files(64)))
            assert code == 0, said
            assert said.count("may open only 64 files") == 1
            assert len(listed(tmp_path)) == 81


def test_ours_the_soft_limit_of_open_files_is_raised_without_a_word(tmp_path: Path) -> None:
    raising = ("sh", "-c", 'ulimit -S -n 64; exec "$@"', "sh")
    with scripted(flat(80, 0.05)) as site:
        code, said = end(begin(tmp_path, site.url, "-c", "64", prefix=raising))
        assert code == 0, said
        assert "may open only" not in said
        assert len(listed(tmp_path)) == 81


def test_ours_too_few_open_files_are_one_line_with_the_remedy(tmp_path: Path) -> None:
    with scripted(flat(3, 0)) as site:
        code, said = end(begin(tmp_path, site.url, prefix=with_files(32)))
        assert (code, said.count("\n")) == (2, 1), said
        assert "ulimit -n" in said
