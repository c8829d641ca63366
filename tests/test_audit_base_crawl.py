"""The crawl that an audit rests on: the last run's, with the findings of a crawl of its own and next to no requests."""

import hashlib
import json
import os
import random
import re
import shutil
import signal
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import planted_sources
import pytest
import run
import warm
from audited import FAST, Command, in_process, log, page, pages, robots, sitemap
from kept import wait_for
from made_sites import ORIGIN, Audited, Made, audited, in_memory
from planted_site import HOST, MAX_CLICKS, PAGES, serving
from random_sites import random_site
from run import Ran, published
from scripted import Answer, Route, Site, links, scripted

from crawler.audit.base_crawl import LastRun, why_outdated, why_unusable
from crawler.config import plan as planning
from crawler.config.config import Config
from crawler.crawl.revalidation import EarlierCrawl
from crawler.errors import NothingCrawlable
from crawler.model import Url
from crawler.run.crawl import crawl
from crawler.state.lock import hold_lock
from crawler.state.runs import Run
from crawler.state.schema import STATE_DB
from crawler.state.store import Resume
from crawler.units import span
from crawler.version import __version__

pytestmark = pytest.mark.thorough

DAY = 86_400.0


@pytest.fixture
def siteatlas(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Command]:
    with in_process(tmp_path, monkeypatch, capsys) as command:
        yield command


class Bench:
    """A site, the commands that crawl and audit it in this process, and the requests of the last one."""

    def __init__(self, site: Site, siteatlas: Command) -> None:
        self.site = site
        self._siteatlas = siteatlas
        self.asked: list[str] = []

    def crawl(self, *words: str) -> Ran:
        return self._run("crawl", "-o", "out", "--set=output.swap_delay=0", *words)

    def audit(self, *words: str) -> dict[str, Any]:
        ran = self._run("audit", "-o", "report", *words)
        assert ran.code in (0, 4), ran
        return self.report

    def _run(self, command: str, *words: str) -> Ran:
        before = len(self.site.paths)
        ran = self._siteatlas(command, self.site.url, *FAST, *words)
        self.asked = self.site.paths[before:]
        return ran

    @property
    def report(self) -> dict[str, Any]:
        report: dict[str, Any] = json.loads(Path("report/audit.json").read_bytes())
        return report

    @property
    def pages(self) -> list[str]:
        """The paths that were asked for last, without robots.txt and the sitemap, which every audit reads."""
        return sorted({*self.asked} - {"/robots.txt", "/sitemap.xml"})


@pytest.fixture
def bench(siteatlas: Command) -> Iterator[Bench]:
    with scripted(varied()) as site:
        yield Bench(site, siteatlas)


def varied() -> dict[str, Route]:
    """The site of the audits, with a URL for each way of ending."""
    more: dict[str, Route] = {
        "/": page("/hub/", "/plain", "/old", "/gone", "/hidden", "/copy", "/sheet.pdf", "/private/x", "/loop")
        + '<a rel=nofollow href="/shy">shy</a><a href="/news.rss">news</a>',
        "/old": Answer(status=301, headers={"Location": "/hub/"}),
        "/loop": Answer(status=302, headers={"Location": "/loop"}),
        "/hidden": Answer(page("/"), headers={"X-Robots-Tag": "noindex"}),
        "/copy": page("/", head='<link rel=canonical href="/plain">'),
        "/sheet.pdf": Answer(b"%PDF-1.7", headers={"Content-Type": "application/pdf", "ETag": '"1"'}),
        "/shy": page("/"),
        "/news.rss": Answer(
            '<?xml version="1.0"?><rss version="2.0"><channel><item><link>{url}told</link></item></channel></rss>',
            headers={"Content-Type": "application/rss+xml"},
        ),
        "/told": page("/"),
    }
    return {**pages(), **more}


def state() -> Path:
    (found,) = Path(".siteatlas").glob("*/state.db")
    return found


def change(statement: str, *values: object) -> None:
    """Change the state of the run."""
    with closing(sqlite3.connect(state())) as db, db:
        db.execute(statement, values)


def same(report: dict[str, Any]) -> dict[str, Any]:
    """What two audits that saw the same say alike."""
    varying = ("started", "seconds", "fetched", "bytes", "crawl", "compared", "history", "why_uncompared", "mended")
    findings = [
        {key: value for key, value in each.items() if key not in ("since", "is_new")} for each in report["findings"]
    ]
    return {key: value for key, value in report.items() if key not in varying} | {"findings": findings}


# ---------------------------------------------------------------- the same with next to no requests


def test_ours_an_audit_after_a_run_asks_for_what_that_did_not_see_and_finds_the_same(bench: Bench) -> None:
    Path("access.log").write_text(log("/asked", "/lost", "/hub/one"))
    words = ("--log", "access.log")
    assert bench.crawl().code == 0
    before = hashlib.sha256(state().read_bytes()).hexdigest()
    rested = bench.audit(*words)
    # no run asks for what only nofollow links or a log name, and a redirect in a circle may be mended
    assert bench.pages == ["/asked", "/loop", "/shy"]
    crawl = rested["crawl"]
    assert (crawl["run"], crawl["reason"], rested["fetched"]) == (1, "", 3)
    assert crawl["reused"] == rested["urls"] - len([*bench.pages, "/private/x"])
    assert 0 <= crawl["age"] == pytest.approx(rested["started"] - crawl["ended"], abs=0.01)
    assert hashlib.sha256(state().read_bytes()).hexdigest() == before
    anew = bench.audit(*words, "--fresh-crawl")
    assert len(bench.pages) == anew["fetched"] > 15
    assert anew["crawl"] == {
        "run": None, "ended": pytest.approx(anew["started"], abs=30), "age": 0, "reused": 0, "reason": "--fresh-crawl",
    }  # fmt: skip
    assert same(rested) == same(anew)
    assert {(each["new"], each["mended"]) for each in anew["compared"]["trends"]} == {(0, 0)}


def test_ours_every_report_says_which_crawl_the_audit_rests_on_and_how_old_it_is(bench: Bench) -> None:
    bench.crawl()
    change("UPDATE run SET ended = ended - 3 * 3600")
    told = bench._run("audit", "-o", "report").out
    report = bench.report
    said = f"the crawl of run 1, which ended at {'{}'} (3 hours old) and covers {report['crawl']['reused']} URLs"
    before, after = said.split("{}")
    (line,) = (line for line in told.splitlines() if "is based on" in line)
    assert line.startswith(f"  is based on {before}20")
    assert line.endswith(f" UTC{after}")
    assert line.strip().removeprefix("is based on ") in Path("report/audit.html").read_text()
    assert report["crawl"]["age"] == pytest.approx(3 * 3600, abs=60)
    told = bench._run("audit", "-o", "report", "--set=audit.max_crawl_age=2h").out
    assert "\n  is based on its own crawl (the last crawl is 3 hours old)\n" in told
    assert "The audit is based on <bdi>its own crawl (the last crawl is 3 hours old)</bdi>." in Path(
        "report/audit.html"
    ).read_text().replace("\n", "")


def test_ours_what_failed_in_a_run_is_asked_for_again(bench: Bench) -> None:
    bench.site.routes["/hub/"] = Answer("not now", 503)
    bench.crawl("--set=fetch.retries=0")
    bench.site.routes["/hub/"] = pages()["/hub/"]
    report = bench.audit()
    assert "/hub/" in bench.pages
    assert report["crawl"]["run"] == 1
    assert not [doubt for doubt in report["doubts"] if "failed" in doubt]


def test_ours_a_page_whose_verdict_has_run_out_is_asked_for_again(bench: Bench) -> None:
    said = '<meta name=robots content="unavailable_after: 2040-01-31">'
    bench.site.routes["/plain"] = page("/", head=said)
    bench.crawl()
    with closing(STATE_DB.open_read_only(state())) as db:
        of_page = (
            "SELECT c.reading FROM content c JOIN visit v ON v.content = c.id JOIN url u ON u.id = v.id WHERE u.url = ?"
        )
        (reading,) = db.execute(of_page, (f"{bench.site.url}plain",)).fetchone()
        earlier = EarlierCrawl(db, reading)
        moments = (2_200_000_000.0, 2_300_000_000.0)  # in 2039 and in 2042
        assert [bool(earlier.answer(Url(f"{bench.site.url}plain"), None, now)) for now in moments] == [True, False]


def small(folder: Path) -> Config:
    return Config.model_validate(
        {
            "site": {"url": f"{ORIGIN}/"},
            "state": {"directory": str(folder / "state")},
            "output": {"directory": str(folder / "out"), "swap_delay": 0},
            "pace": {"rate": 0},
            "fetch": {"retries": 0, "second_reads": 0},
            "parse": {"processes": 1},
        }
    )


def both(site: Made, folder: Path) -> tuple[Audited, Audited]:
    """The audit of a site that rests on a run, and one that crawls it. Raises NothingCrawlable."""
    folder.mkdir()
    with in_memory(site):
        anyio.run(partial(crawl, planning.plan_crawl(small(folder)), lambda _: None))
    rested = audited(site, folder, begin=Resume.ALWAYS)
    return rested, audited(site, folder, begin=Resume.FRESH)


def agree(folder: Path, seeds: range) -> None:
    asked = [0, 0]
    for seed in seeds:
        try:
            rested, anew = both(random_site(seed), folder / str(seed))
        except NothingCrawlable:
            continue
        assert rested.report.crawl is not None
        refused = "the gate refused what the last run saw"
        assert rested.report.crawl.run == (None if rested.report.crawl.reason == refused else 1), seed
        # which pages are new depends on the crawl before
        found = [[each for each in audit.whole[0] if each.rule != "place.new"] for audit in (rested, anew)]
        assert (found[0], rested.whole[1]) == (found[1], anew.whole[1]), seed
        # a doubt names one of the URLs that it is about, whichever was met first
        assert len(rested.report.doubts) == len(anew.report.doubts), seed
        assert rested.whole[3:] == anew.whole[3:], seed
        asked[0] += len(rested.asked)
        asked[1] += len(anew.asked)
    assert asked[0] < asked[1] / 2  # they are small: robots.txt and the sitemap are two of a dozen


def test_ours_audits_of_small_sites_find_the_same_whichever_crawl_they_rest_on(tmp_path: Path) -> None:
    agree(tmp_path, range(200_000, 200_016))


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_ours_audits_of_300_sites_find_the_same_whichever_crawl_they_rest_on(tmp_path: Path) -> None:
    agree(tmp_path, range(300_000, 300_300))


def planted(folder: Path, number: int) -> None:
    """The audit of the planted site finds what is planted, and rests on a run of it."""
    with serving(number) as site:
        port = site.origin.rpartition(":")[2]
        words = [word for name in (HOST, f"www.{HOST}") for word in ("--resolve", f"{name}:{port}:127.0.0.1")]
        words += ["--rate", "0", "-c", "16", "--set=fetch.retries=0", "--state", "state", "--set=fetch.second_reads=0"]
        ran = run.siteatlas(folder, "crawl", f"{site.origin}/", "-o", "public", *words, timeout=110)
        assert ran.code == 0, ran.err
        words += [*planted_sources.write(site, folder), f"--set=audit.max_clicks={MAX_CLICKS}", "-o", "out", "-q"]
        found = []
        for more in ((), ("--fresh-crawl",)):
            ran = run.siteatlas(folder, "audit", f"{site.origin}/", *words, *more, timeout=110)
            assert ran.code == 0, ran.err
            found.append(json.loads((folder / "out/audit.json").read_bytes()))
        rested, anew = found
        assert (rested["crawl"]["run"], anew["crawl"]["run"]) == (1, None)
        assert same(rested) == same(anew)
        told = {(each["rule"], each["url"]) for each in rested["findings"] if each["rule"] in site.truth}
        if number == PAGES:
            assert told == {(rule, url) for rule, urls in site.truth.items() for url in urls}
        # what logs, lists and nofollow links name, and no run sees
        assert rested["fetched"] < anew["fetched"] / 5


def test_ours_the_audit_of_a_planted_site_finds_what_is_planted_on_the_ground_of_a_run(tmp_path: Path) -> None:
    planted(tmp_path, 400)


@pytest.mark.slow
def test_ours_the_audit_of_2_000_planted_pages_finds_them_on_the_ground_of_a_run(tmp_path: Path) -> None:
    planted(tmp_path, PAGES)


# ---------------------------------------------------------------- why an audit crawls the site itself


def never(bench: Bench) -> str:
    shutil.rmtree(".siteatlas")
    return "no run has crawled this site yet"


def cut_short(bench: Bench) -> str:
    bench.crawl("--restart", "--max-pages", "3")
    return "the last run was cut short"


def going_on(bench: Bench) -> str:
    bench.crawl("--restart", "--max-pages", "3")
    hold_lock(state().parent)  # for as long as the test lasts
    return "a run of this site is active"


def came_to_nothing(bench: Bench) -> str:
    shutil.rmtree(".siteatlas")  # with the copy of robots.txt
    bench.site.routes["/robots.txt"] = Answer("", 503)
    assert bench.crawl("--set=fetch.retries=0", "--replace").code == 5
    bench.site.routes["/robots.txt"] = robots("Disallow: /private/")
    return "the last run had no result"


def refused(bench: Bench) -> str:
    before = bench.site.routes["/"]
    bench.site.routes["/"] = Answer("<meta name='robots' content='noindex'>Sign in")
    assert bench.crawl().code == 3
    bench.site.routes["/"] = before
    return "the gate refused what the last run saw"


def tried(bench: Bench) -> str:
    """With --accept-shrink, the gate refuses nothing, and nobody has accepted what it saw."""
    before = bench.site.routes["/"]
    bench.site.routes["/"] = Answer("<html><title>Sign in</title><body>Sign in</body></html>")
    assert bench.crawl("--accept-shrink", "--dry-run").code == 0
    bench.site.routes["/"] = before
    return "the last run was a dry run"


def of_another_version(bench: Bench) -> str:
    change("UPDATE run SET version = '0.0.9'")
    return "the last run used siteatlas 0.0.9"


def too_old(bench: Bench) -> str:
    change("UPDATE run SET ended = ended - ?", 3 * DAY)
    return "the last crawl is 3 days old"


def audited_since(bench: Bench) -> str:
    bench.audit("--fresh-crawl")
    return "an audit crawled the site after the last run"


def damaged(bench: Bench) -> str:
    state().write_bytes(b"no state at all" * 1000)
    return f"{state()} cannot be used as state: it is damaged (file is not a database)"


@pytest.mark.parametrize(
    "spoil",
    [never, cut_short, going_on, came_to_nothing, refused, tried, of_another_version, too_old, audited_since, damaged],
)
def test_ours_an_audit_crawls_the_site_itself_and_says_why(bench: Bench, spoil: Callable[[Bench], str]) -> None:
    bench.crawl()
    reason = spoil(bench)
    report = bench.audit()
    assert reason in report["crawl"]["reason"]
    assert (report["crawl"]["run"], report["crawl"]["reused"]) == (None, 0)
    assert "/hub/" in bench.pages


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--fresh-crawl"], "--fresh-crawl"),
        (["--set=audit.max_crawl_age=0"], "--fresh-crawl"),
        (["--fresh"], "--fresh"),
        (["--exclude", "/hub/*"], "scope.exclude"),
        (["--set=obey.noindex=false", "--set=obey.robots=false"], "obey.noindex, obey.robots"),
        (["-u", "Other/1.0"], "fetch.user_agent"),
        (["-H", "Accept-Language: da"], "fetch.headers"),
        (["--cookie", "session=1"], "fetch.cookies"),
        (["--basic-auth", "me:s3cr3t-w0rd"], "fetch.basic_auth"),
        (["--source", "{url}"], "fetch.source, server"),
        (["--set=parse.max_links=100"], "fetch.max_body or parse.max_links"),
    ],
)
def test_ours_an_audit_with_other_settings_than_the_run_crawls_the_site_itself(
    bench: Bench, words: list[str], reason: str
) -> None:
    bench.crawl()
    report = bench.audit(*(word.replace("{url}", bench.site.url) for word in words))
    told = report["crawl"]["reason"]
    assert told in (reason, f"the last run had other settings: {reason}")
    assert "/plain" in bench.pages
    assert b"s3cr3t-w0rd" not in b"".join(path.read_bytes() for path in Path(".siteatlas").rglob("*.db"))


def test_ours_settings_that_change_nothing_of_what_is_seen_are_no_reason_to_crawl(bench: Bench) -> None:
    bench.crawl("--gzip", "--set=scope.sitemap_seeds=false", "-H", "X-From: a")
    words = (
        "--set=pace.delay=0.01",
        "--max-pages",
        "9000",
        "--timeout",
        "20",
        "--set=audit.max_clicks=2",
        "-H",
        "X-From: a",
    )
    assert bench.audit(*words)["crawl"]["run"] == 1


def test_ours_going_back_to_an_earlier_set_is_no_crawl(bench: Bench) -> None:
    bench.crawl()
    bench.site.routes["/hub/two"] = page("/", "/told")
    bench.crawl()
    assert bench._siteatlas("rollback", bench.site.url, "-o", "out", "--set=output.swap_delay=0").code == 0
    assert bench.audit()["crawl"]["run"] == 2


def test_ours_why_a_run_is_no_ground_is_said_of_the_first_reason() -> None:
    run = Run(number=3, started=0.0, ended=60.0, version=__version__, outcome="published")
    settings = {"site.url": "https://a.example/", "scope.exclude": []}
    assert why_unusable(LastRun(run, settings), settings) == ""
    assert why_unusable(LastRun(run, settings, has_pending=True), settings) == "the last run was cut short"
    many = {f"obey.{letter}": 1 for letter in "abcdefg"}
    assert why_unusable(LastRun(run, settings), settings | many) == (
        "the last run had other settings: obey.a, obey.b, obey.c, obey.d, obey.e, …"
    )
    assert why_outdated(60.0, 60.0 + DAY, DAY, None) == ""
    assert why_outdated(60.0, 61.0 + DAY, DAY, None) == "the last crawl is 1 day old"
    assert why_outdated(60.0, 100.0, DAY, 59.0) == ""
    assert why_outdated(60.0, 100.0, DAY, 61.0) == "an audit crawled the site after the last run"


def test_ours_a_span_is_told_in_the_largest_unit_that_it_fills() -> None:
    told = [span(seconds) for seconds in (0.4, 1, 59.9, 60, 3_599, 7_300, DAY, 3.9 * DAY)]
    assert told == ["0 seconds", "1 second", "59 seconds", "1 minute", "59 minutes", "2 hours", "1 day", "3 days"]


# ---------------------------------------------------------------- the run, meanwhile and afterwards


def outcome(folder: Path) -> tuple[dict[str, bytes], list[set[tuple[str, str, str]]]]:
    """What runs published, and what their change feeds say, without the time of day of a change."""
    feeds = [path.read_text().splitlines() for path in sorted(folder.glob(".siteatlas/*/changes/*"))]
    assert len(feeds) == 2
    changes = [{(each["url"], each["kind"], each["lastmod"][:10]) for each in map(json.loads, feed)} for feed in feeds]
    files = {name: re.sub(rb"T[0-9:]{8}\+00:00", b"", body) for name, body in published(folder).items()}
    return files, changes


def test_ours_the_next_run_comes_to_the_same_after_an_audit(tmp_path: Path) -> None:
    audited, left = tmp_path / "audited", tmp_path / "left"
    with scripted(varied()) as site:
        for folder in (audited, left):
            folder.mkdir()
            assert run.crawl(folder, site.url).code == 0
        ran = run.siteatlas(audited, "audit", site.url, *FAST, "-o", "report")
        assert "is based on the crawl of run 1" in ran.out
        site.routes["/hub/two"] = page("/", "/told") + "<p>It says something else now."
        del site.routes["/lost"]
        for folder in (audited, left):
            asked = len(site.paths)
            assert run.crawl(folder, site.url).code == 0
            assert len(site.paths) - asked > 10
        assert outcome(audited) == outcome(left)


class Held:
    """An answer that takes long as long as it is held."""

    def __init__(self) -> None:
        self.is_held = True

    def __call__(self, _: int) -> Answer:
        return Answer(links("/") + "<p>Somebody asks for it.", delay=60.0 if self.is_held else 0.0)


def begin(folder: Path, site: Site) -> warm.Command:
    """An audit that rests on a run, and has come to what the run did not see."""
    (folder / "access.log").write_text(log("/asked"))
    with (folder / "begun.log").open("wb") as out:
        words = ("audit", site.url, *FAST, "--log", "access.log", "-o", "report")
        process = warm.begin(folder, words, run.environment(), out.fileno(), out.fileno())
    wait_for(lambda: "/asked" in site.paths or process.poll() is not None)
    assert process.poll() is None, (folder / "begun.log").read_text()
    return process


def finished(folder: Path, site: Site, *words: str) -> dict[str, Any]:
    ran = run.siteatlas(folder, "audit", site.url, *FAST, "--log", "access.log", "-o", "report", *words)
    assert ran.code == 0, ran.err
    report: dict[str, Any] = json.loads((folder / "report/audit.json").read_bytes())
    return report


def test_ours_a_run_and_an_audit_that_rests_on_the_one_before_are_not_in_each_others_way(tmp_path: Path) -> None:
    held = Held()
    with scripted({**varied(), "/asked": held}) as site:
        assert run.crawl(tmp_path, site.url).code == 0
        process = begin(tmp_path, site)
        site.routes["/plain"] = page("/", "/told")
        assert run.crawl(tmp_path, site.url).code == 0
        os.kill(process.pid, signal.SIGTERM)
        assert process.wait(60) == 4, (tmp_path / "begun.log").read_text()
        held.is_held, asked = False, len(site.paths)
        report = finished(tmp_path, site)
        assert {*site.paths[asked:]} == {"/robots.txt", "/sitemap.xml", "/asked"}
        # an audit that goes on rests on what it began with, and its report says so
        assert report["crawl"]["run"] == 1
        report = finished(tmp_path, site)
        assert report["crawl"]["run"] == 2


def test_ours_an_audit_that_rests_on_a_run_goes_on_after_a_kill(tmp_path: Path) -> None:
    held = Held()
    with scripted({**varied(), "/asked": held}) as site:
        assert run.crawl(tmp_path, site.url).code == 0
        before = hashlib.sha256(next(tmp_path.glob(".siteatlas/*/state.db")).read_bytes()).hexdigest()
        process = begin(tmp_path, site)
        process.kill()
        process.wait(60)
        held.is_held = False
        assert hashlib.sha256(next(tmp_path.glob(".siteatlas/*/state.db")).read_bytes()).hexdigest() == before
        # another crawl is another audit, and nobody begins one unasked
        ran = run.siteatlas(tmp_path, "audit", site.url, *FAST, "--log", "access.log", "--fresh-crawl")
        assert ran.code == 2
        assert "started with other settings (--fresh-crawl)" in ran.err
        asked = len(site.paths)
        killed = finished(tmp_path, site)
        assert "/plain" not in site.paths[asked:]
        assert killed["crawl"]["run"] == 1
        anew = finished(tmp_path, site, "--fresh-crawl")
        assert same(killed) == same(anew)


@pytest.mark.slow
def test_ours_an_audit_that_is_killed_again_and_again_while_it_reads_a_run_is_whole_in_the_end(tmp_path: Path) -> None:
    pages = {f"/{n}": links(f"/{2 * n}", f"/{2 * n + 1}", "/7") + f"<p>Page {n} says {n * n}." for n in range(1, 1500)}
    routes: dict[str, Route] = {"/": links("/1"), **pages, "/sitemap.xml": sitemap("lost"), "/lost": page("/")}
    moments = random.Random(7)
    endless = ("--set", "scope.trap_limit=0")  # they look like pages that a site makes up by itself
    with scripted(routes) as site:
        assert run.crawl(tmp_path, site.url, *endless).code == 0
        (tmp_path / "access.log").write_text(log("/lost"))
        asked = len(site.paths)
        for _ in range(12):
            with (tmp_path / "log").open("wb") as out:
                words = ("audit", site.url, *FAST, "--log", "access.log", *endless)
                process = warm.begin(tmp_path, words, run.environment(), out.fileno(), out.fileno())
            with suppress(subprocess.TimeoutExpired):
                process.wait(moments.uniform(0.3, 2.0))
            process.kill()
            process.wait(60)
        whole = finished(tmp_path, site, *endless)
        assert {*site.paths[asked:]} == {"/robots.txt", "/sitemap.xml"}
        assert same(whole) == same(finished(tmp_path, site, *endless, "--fresh-crawl"))
