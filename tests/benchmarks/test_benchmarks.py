"""The benchmark runs from end to end on a small tree, so that it cannot rot. What it measures is not judged."""

import dataclasses
import json
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from nginx import nginx
from postgres_server import postgres_server

from tests.benchmarks import curves
from tests.benchmarks.fleet_simulation import Settings, Simulation

ROOT = Path(__file__).parent.parent.parent


@pytest.mark.slow
@pytest.mark.needs_nginx
def test_ours_the_benchmark_counts_the_same_pages_for_all_and_measures_every_stage(tmp_path: Path) -> None:
    tree, result = tmp_path / "tree", tmp_path / "result.json"
    tree.mkdir()
    for number in range(1, 10):
        links = f'<a href="page{number % 9 + 1}.html#part">on</a> <a href="missing.html">off</a>'
        (tree / f"page{number}.html").write_text(f"<!doctype html><title>{number}</title><p>{links}")
    (tree / "index.html").write_text('<!doctype html><title>0</title><p><a href="page1.html">on</a>')
    with nginx(tree):
        pass  # skips here, or says what is wrong, when there is no nginx
    command = [sys.executable, "-m", "tests.benchmarks.crawl", "--tree", str(tree), "--rounds", "1", "-c", "4"]
    run = subprocess.run(
        [*command, "--processes", "1", "--peers", "floor", "--json", str(result)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    found = json.loads(result.read_text())
    assert {one["command"]: one["pages"] for one in found["runs"]} == {"siteatlas": 10, "floor": 10}
    assert all(one["requests"] >= 11 and one["wall"] > one["cpu"] / 8 > 0 for one in found["runs"])
    ours = found["runs"][0]
    assert ours["peak"] > ours["largest"] > 10_000_000  # the crawl and its parser process
    costs = {stage["name"]: stage["ms"] for stage in found["stages"]}
    assert list(costs) == ["fetch", "frames", "read", "pipes", "judge", "settle", "write", "start"]
    assert all(ms > 0 for name, ms in costs.items() if name != "pipes")  # too little to be seen here
    assert [line.split()[1] for line in run.stdout.splitlines() if " the same " in line] == ["siteatlas", "floor"]


def test_ours_the_benchmark_refuses_a_folder_without_an_index(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.benchmarks.crawl", "--tree", str(tmp_path)]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert (run.returncode, run.stderr.strip()) == (2, f"{tmp_path} has no index.html")


@pytest.mark.slow
def test_ours_the_benchmark_of_sitemaps_writes_reads_and_lints(tmp_path: Path) -> None:
    result = tmp_path / "result.json"
    command = [sys.executable, "-m", "tests.benchmarks.sitemap", "-n", "60000", "--rounds", "1", "--no-peers"]
    run = subprocess.run(
        [*command, "--json", str(result)], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )
    assert run.returncode == 0, run.stderr
    runs = json.loads(result.read_text())["runs"]
    assert [(one["who"], one["task"]) for one in runs] == [("siteatlas", task) for task in ("write", "read", "lint")]
    assert all(one["cost"]["cpu"] > 0 and one["cost"]["peak"] > 10_000_000 for one in runs)
    assert "times as fast as reading" in run.stdout


@pytest.mark.slow
def test_ours_the_benchmark_of_web_programs_measures_every_way() -> None:
    command = [sys.executable, "-m", "tests.benchmarks.serve", "-n", "20", "--pages", "100"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert run.returncode == 0, run.stderr
    assert [line[:11].strip() for line in run.stdout.splitlines()] == [
        "read the fi",
        "WSGI, whole",
        "WSGI, 304",
        "ASGI, whole",
        "ASGI, 304",
        "lastmod",
    ]


def test_ours_the_benchmark_of_shards_measures_every_pass() -> None:
    command = [sys.executable, "-m", "tests.benchmarks.sitemap_shards", "-n", "3000", "--rounds", "1"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert run.returncode == 0, run.stderr
    assert [line.split(",")[0].split("  ")[0] for line in run.stdout.splitlines()] == [
        "plain writing",
        "place",
        "keep",
        "write by shard",
        "write again",
    ]


@pytest.mark.slow
@pytest.mark.needs_nginx
def test_ours_the_benchmark_of_second_runs_compares_them_with_the_first(tmp_path: Path) -> None:
    result = tmp_path / "result.json"
    with nginx(tmp_path):
        pass  # skips here, when there is no nginx
    command = [sys.executable, "-m", "tests.benchmarks.regenerate", "--pages", "20", "--rounds", "1"]
    run = subprocess.run(
        [*command, "--json", str(result)], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )
    assert run.returncode == 0, run.stderr
    (only,) = json.loads(result.read_text())
    assert only["first"]["answers"] >= 21  # robots.txt too
    assert only["second"]["answers"] >= 20
    assert only["second"]["sent"] < only["first"]["sent"] / 10  # heads only
    assert "The second run took" in run.stdout


def test_ours_the_benchmark_of_known_urls_keeps_the_bytes_of_a_url_and_opens_the_state(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.benchmarks.known_urls", "--urls", "3000"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert run.returncode == 0, run.stderr
    rows = [line.split("|")[1:-1] for line in run.stdout.splitlines() if line.startswith("|")][2:]
    assert len(rows) == 10
    assert rows[-1][0].strip() == "3,000"
    assert all(int(row[1].replace(",", "")) > 0 for row in rows)
    assert "the next run begins after" in run.stdout.splitlines()[-1]


@pytest.mark.slow
def test_ours_the_benchmark_of_due_pages_asks_for_few_of_them() -> None:
    command = [sys.executable, "-m", "tests.benchmarks.recheck", "--pages", "3000", "--days", "20", "--runs", "1"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert run.returncode == 0, run.stderr
    assert " of 3,001; oldest visit 18 days ago" in run.stdout


def test_ours_the_curves_show_every_level_of_the_benchmark_of_scale(tmp_path: Path) -> None:
    cost = {"wall": 2.0, "cpu": 3.0, "elsewhere": 0.0, "peak": 2**28, "largest": 2**27}
    levels = [
        {"level": n, "pages": 10**n, "first": cost, "second": cost, "state": 900, "markup": 400, "opening": 0.1}
        for n in (3, 4, 6)
    ]
    (tmp_path / "scale.json").write_text(json.dumps(levels))
    assert curves.main([str(tmp_path / "scale.json"), str(tmp_path / "scale.svg")]) == 0
    drawn = ET.parse(tmp_path / "scale.svg").getroot()
    texts = [text.text for text in drawn.iter("{http://www.w3.org/2000/svg}text")]
    assert [texts.count(count) for count in ("1 k", "10 k", "1.0 M")] == [4, 4, 4]  # below each of the panels
    assert texts.count("256") == 6  # MiB, three levels of two runs
    assert {"3.00", "0.30"} <= {*texts}  # milliseconds a page
    places = [line.get("points") for line in drawn.iter("{http://www.w3.org/2000/svg}polyline")]
    assert len(places) == 8
    assert all(points is not None and len(points.split()) == 3 for points in places)


@pytest.mark.slow
@pytest.mark.needs_nginx
def test_ours_the_benchmark_of_many_sites_runs_each_of_them_once(tmp_path: Path) -> None:
    with nginx(tmp_path):
        pass  # skips here, when there is no nginx
    command = [sys.executable, "-m", "tests.benchmarks.many_sites", "--sites", "3", "--large", "2", "--by-hand", "1"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert run.returncode == 0, run.stderr
    values = {cells[1].strip(): cells[2].strip() for line in run.stdout.splitlines() if (cells := line.split("|"))[1:]}
    assert values["sites"] == "4"
    assert float(values["processor time, s a site"]) > 0


def test_ours_the_benchmark_of_logs_reads_every_line(tmp_path: Path) -> None:
    result = tmp_path / "result.json"
    command = [sys.executable, "-m", "tests.benchmarks.audit_logs", "-n", "3000", "--peers"]
    run = subprocess.run(
        [*command, "--json", str(result)], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )
    assert run.returncode == 0, run.stderr
    account = json.loads(result.read_text())["account"]
    assert (account["rows"], account["unread"]) == (3_000, 3)
    assert account["used"] + account["beside"] == 2_997
    assert "| siteatlas | 3,000 |" in run.stdout


def test_ours_the_benchmark_of_audits_counts_the_findings_of_a_shape(tmp_path: Path) -> None:
    result = tmp_path / "result.json"
    command = [sys.executable, "-m", "tests.benchmarks.audit_shapes", "redirects", "-n", "30", "--doublings", "0"]
    run = subprocess.run(
        [*command, "--json", str(result)], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )
    assert run.returncode == 0, run.stderr
    (sample,) = json.loads(result.read_text())
    assert (sample["shape"], sample["count"]) == ("redirects", 30)
    assert sample["findings"] >= 30  # one for each redirect
    assert "| redirects | 30 |" in run.stdout


@pytest.mark.slow
def test_ours_an_audit_of_twice_as_many_findings_takes_about_twice_as_long(tmp_path: Path) -> None:
    result = tmp_path / "result.json"
    command = [sys.executable, "-m", "tests.benchmarks.audit_shapes", "-n", "2000", "--doublings", "2"]
    subprocess.run([*command, "--json", str(result)], cwd=ROOT, timeout=3_000, check=True)
    costs = {(each["shape"], each["count"]): each["cost"]["cpu"] for each in json.loads(result.read_text())}
    grown = {shape: costs[shape, 2 * count] / cost for (shape, count), cost in costs.items() if count == 4_000}
    assert len(grown) >= 10
    assert all(ratio < 2.6 for ratio in grown.values()), grown


@pytest.mark.slow
def test_ours_the_benchmark_of_fleets_finds_leases_and_lives_an_hour(tmp_path: Path) -> None:
    result = tmp_path / "result.json"
    with postgres_server():
        pass  # skips here, when there is no PostgreSQL
    command = [sys.executable, "-m", "tests.benchmarks.fleet_control", "--sites", "300", "--every", "3600"]
    small = ["--hours", "1", "--seconds", "2", "--takers", "4", "--processes", "2"]
    run = subprocess.run(
        [*command, *small, "--json", str(result)], cwd=ROOT, capture_output=True, text=True, timeout=120, check=False
    )
    assert run.returncode == 0, run.stderr
    found = json.loads(result.read_text())
    assert [one["found"] for one in found["search"][2:]] == [
        200,
        300,
    ]  # the limit of the queue, and more than all sites
    assert [one["jobs"] for one in found["day"]] == [0, 0]
    assert found["lease"]["leases"] > 0


def test_ours_the_simulation_of_fleets_resumes_each_run_that_a_fault_cut_short() -> None:
    load = Settings(sites=1_000, every=3_600.0, workers=4, slots=6, hours=1.0)
    calm, outage, loss, again = (
        Simulation(dataclasses.replace(load, fault=fault)).run() for fault in ("", "outage", "loss", "loss")
    )
    assert calm["lost runs"] == calm["resumed"] == 0 < calm["runs"]
    assert 0 < outage["lost runs"] == outage["resumed"]
    assert 0 < loss["lost runs"] == loss["resumed"] < outage["lost runs"]
    assert outage["late by 60 s"] > calm["late by 60 s"]
    assert loss == again
