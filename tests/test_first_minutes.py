"""What people meet first: a configuration beside them, a run that they watch, a site that is down, a schedule."""

import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import pytest
import warm
from run import FAST, crawl, environment, siteatlas
from scripted import Answer, Route, links, scripted

from crawler.config.sections import ScheduleConfig

NAMES = [f"/p{number}" for number in range(60)]
PAGES: dict[str, Route] = {"/": links(*NAMES), **{name: f"<title>{name}</title><p>Page {name}" for name in NAMES}}


def write_config(folder: Path, url: str, more: str = "") -> None:
    settings = f'[site]\nurl = "{url}"\n[output]\ndirectory = "out"\nswap_delay = 0\n[pace]\nrate = 0\n{more}'
    (folder / "siteatlas.toml").write_text(settings)


def test_ours_run_and_status_take_the_configuration_in_the_current_directory(tmp_path: Path) -> None:
    refused = siteatlas(tmp_path, "run")
    assert (refused.code, refused.err.count("siteatlas.toml")) == (2, 1)
    with scripted({"/": links("/a"), "/a": "<p>a"}) as site:
        write_config(tmp_path, site.url, '[schedule]\ncron = "30 3 * * *"\n')
        assert siteatlas(tmp_path, "run").code == 0
    shown = siteatlas(tmp_path, "status")
    assert (shown.code, "30 3 * * *" in shown.out) == (0, True)
    assert "another scheduler, such as cron" in shown.out  # it may run the site, so nothing says that no one does


def test_ours_status_shows_how_far_an_active_run_is(tmp_path: Path) -> None:
    slow = {name: Answer(f"<p>{name}", delay=0.0 if number < 10 else 3.0) for number, name in enumerate(NAMES)}
    with scripted({**PAGES, **slow}) as site, tempfile.TemporaryFile() as sink:
        words = ("crawl", site.url, "-o", "out", *FAST)
        process = warm.begin(tmp_path, words, environment(), sink.fileno(), sink.fileno())
        try:
            progress, end = None, time.monotonic() + 20
            while not progress and time.monotonic() < end:
                ran = siteatlas(tmp_path, "status", "--json")
                found = json.loads(ran.out)["sites"][0].get("progress") if ran.code == 0 else None
                progress = found if found and 0 < found["pending"] < found["known"] else None
            shown = siteatlas(tmp_path, "status").out
        finally:
            process.kill()
            process.wait(10)
    assert progress, "no progress of a run of several seconds"
    assert "known URLs visited" in " ".join(shown.split())


def test_ours_compare_compares_the_crawls_of_audits_where_no_run_has_crawled(tmp_path: Path) -> None:
    with scripted({"/": links("/a", "/b"), "/a": "<title>a</title>", "/b": "<p>b"}) as site:
        assert siteatlas(tmp_path, "audit", site.url, "--rate", "0").code in (0, 10)
        for words in ((), (".siteatlas@-2",)):
            ran = siteatlas(tmp_path, "compare", *words)
            assert (ran.code, "fewer than two runs. Run siteatlas audit again, " in ran.err) == (2, True)
        site.routes |= {"/a": "<title>new</title>", "/b": Answer("", 404)}
        assert siteatlas(tmp_path, "audit", site.url, "--rate", "0").code in (0, 10)
    for words in ((), (site.url,), ("1", "2")):
        ran = siteatlas(tmp_path, "compare", *words)
        assert (ran.code, ran.err) == (0, "")
        assert "run 1 (" in ran.out
        assert f"such as {site.url}a" in ran.out
        assert "1 gone" in ran.out
        assert "in the sitemap" not in ran.out


@pytest.mark.thorough
def test_ours_a_site_that_fails_as_a_whole_is_not_asked_four_times_for_each_page(tmp_path: Path) -> None:
    with scripted(PAGES) as site:
        assert crawl(tmp_path, site.url).code == 0
        home = site.routes["/"]
        site.routes = {"/": home, **{name: Answer("no", 500) for name in NAMES}}
        site.log.clear()
        ran = siteatlas(tmp_path, "crawl", site.url, "-o", "out", *FAST, "--json")
        asked = Counter(path for _, path, _ in site.log if path in NAMES)
    assert ran.code == 3, ran.err
    assert len(asked) == len(NAMES)
    assert sum(asked.values()) <= 2.7 * len(NAMES)  # 20 failures show that the site fails
    figures = json.loads(ran.out)["bound_by"]
    assert max(figures, key=figures.__getitem__) == "errors", figures


@pytest.mark.thorough
def test_ours_an_outage_of_ten_seconds_loses_no_page(tmp_path: Path) -> None:
    begun = time.monotonic()

    def stumble(name: str) -> Route:
        good = Answer(f"<title>{name}</title><p>{name}")
        return lambda _: good if time.monotonic() > begun + 12 else Answer("no", 500)

    with scripted({"/": links(*NAMES), **{name: stumble(name) for name in NAMES}}) as site:
        ran = siteatlas(tmp_path, "crawl", site.url, "-o", "out", *FAST, "--json")
    assert (ran.code, json.loads(ran.out)["listed"]) == (0, 61), ran.err


@pytest.mark.parametrize(
    ("settings", "at_once"),
    [({"cron": "30 3 * * *"}, False), ({"every": 60}, True), ({"cron": "30 3 * * *", "run_on_start": True}, True)],
)
def test_ours_a_new_site_with_a_time_of_day_waits_for_it(settings: dict[str, object], at_once: bool) -> None:
    assert ScheduleConfig.model_validate(settings).starts_at_once is at_once


@pytest.mark.thorough
def test_ours_the_first_crawl_of_the_readme_works_twice(tmp_path: Path) -> None:
    root = Path(__file__).parents[1]
    readme = (root / "README.md").read_text().splitlines()
    (line,) = (line for line in readme if line.startswith("python3 -m venv") and "{url}" in line)
    words = line.partition("-m tests.example_site .venv/bin/siteatlas ")[2].split()
    command = [sys.executable, "-m", "tests.example_site", sys.executable, "-m", "crawler", *words]
    for _ in range(2):
        ran = subprocess.run(
            command, cwd=tmp_path, env=environment(PYTHONPATH=str(root)), capture_output=True, check=False
        )
        assert ran.returncode == 0, ran.stderr
