"""``siteatlas status`` of many sites, of a schedule, and on terminals of any width."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from kept import status, write
from msgspec.structs import replace
from run import command, crawl, siteatlas
from scripted import Answer, links, scripted

from crawler.audit.compare.history import AuditStatus
from crawler.audit.report.layout import TableColumn, table_lines
from crawler.audit.summary import AuditSummary
from crawler.cli.status_collect import SiteOverview, StatusReport
from crawler.cli.status_text import status_lines
from crawler.config.plan import AUDIT, state_directory
from crawler.notify.ledger_status import ChannelStatus, NotifyStatus
from crawler.schedule.history import History
from crawler.schedule.site_state import Attempt, PlannedAttempt, Trigger
from crawler.schedule.web.snapshots import SiteSnapshot
from crawler.state.runs import PublishedFile, Run, RunStatus, RunStore
from crawler.state.schema import STATE_DB
from crawler.state.store import lock_state

START = 1_790_000_000.0


def run(number: int, seconds: float = 60.0, outcome: str = "published", **more: object) -> Run:
    begun = START + number * 3600
    ended = begun + seconds if outcome else None
    return Run(
        number=number,
        started=begun,
        version="1",
        ended=ended,
        seconds=seconds,
        outcome=outcome,
        **{"listed": 1200 + number, "fetched": 1000, "completeness": "complete", "exit_code": 0, **more},  # type: ignore[arg-type]
    )


def state(folder: Path, name: str, runs: Sequence[Run]) -> None:
    """A state as these runs would have left it."""
    url = f"http://{name}.example/"
    directory = state_directory(folder / "state", f"{url}sitemap.xml")
    directory.mkdir(parents=True)
    with closing(STATE_DB.open(directory / STATE_DB.file)) as db:
        for each in runs:
            RunStore(db).write(each)
        db.execute("INSERT INTO about VALUES ('url', ?)", (url,))


def attempt(history: History, site: str, fate: RunStatus, told: str = "", *, retry: bool = False) -> None:
    because = Trigger.RETRY if retry else Trigger.DUE
    begun = history.begin(PlannedAttempt(site=site, slot=START, trigger=because, try_number=1 + retry), START)
    whole = {name: getattr(begun, name) for name in Attempt.__struct_fields__}
    history.end(Attempt(**{**whole, "ended": START + 60, "status": fate, "exit_code": 5, "message": told}))


DOWN: dict[str, Any] = {"refusal": "the start URL failed", "exit_code": 3, "completeness": "degraded"}


def test_ours_many_sites_are_told_of_in_a_line_each(tmp_path: Path) -> None:
    names = [f"site-with-a-long-name-{n}" for n in range(5)]
    write(tmp_path, **{name: f"http://{name}.example/" for name in names})
    state(tmp_path, names[0], [run(1), run(2, files=[PublishedFile("sitemap.xml", "u", 1, 1)])])
    state(tmp_path, names[1], [run(1), run(2, 0, "refused", **DOWN)])
    state(tmp_path, names[2], [run(1, outcome="")])
    stopped = run(1, 0, "cut short", refusal="the site is down", exit_code=4, completeness="truncated")
    state(tmp_path, names[4], [stopped])
    with History(tmp_path / "state") as history:
        attempt(history, names[3], RunStatus.FAILED, "its process was stopped by SIGKILL")
        attempt(history, names[3], RunStatus.FAILED, "its process was stopped by SIGKILL", retry=True)
    ran = siteatlas(tmp_path, "status", "--config", "sites.toml", COLUMNS="80")
    lines = ran.out.splitlines()
    assert max(map(len, lines)) <= 80
    head, *rows = lines[:6]
    assert head.split() == ["site", "pages", "last", "run", "verdict", "took", "next", "run"]
    verdicts = ("refused", "failing", "failed", "healthy", "interrupted")  # the first, as its row says
    for name, verdict, row in zip((names[n] for n in (1, 3, 4, 0, 2)), verdicts, rows, strict=True):
        assert row.startswith(name)
        assert f" {verdict} " in row
    assert f"{names[1]}: refused: the start URL failed" in lines
    assert f"{names[3]}: failing: 2 runs in a row failed: " in ran.out
    assert "siteatlas schedule is not running" in ran.out
    assert not any(row.endswith("now") for row in rows), "nobody is there who would begin one"
    assert lines[-1].startswith("5 sites; times are ")
    assert lines[-1].endswith("; --site NAME shows one of them in full")
    narrow = siteatlas(tmp_path, "status", "--config", "sites.toml", COLUMNS="40").out.splitlines()
    assert max(map(len, narrow[:6])) <= 40
    assert f"== {names[0]} ==" in siteatlas(tmp_path, "status", "--config", "sites.toml", "--site", names[0]).out


def test_ours_one_site_is_told_of_in_full_and_fits_the_terminal(tmp_path: Path) -> None:
    times = 'cron = "30 3 * * *"\ntimezone = "Europe/Berlin"\nrun_on_start = true'
    write(tmp_path, times, shop="http://shop.example/")
    because = "611 URLs failed (server error: 611), " + "and a long tale of each of them " * 5
    state(tmp_path, "shop", [*(run(n, 230) for n in range(1, 6)), run(6, 290, reason=because)])
    ran = siteatlas(tmp_path, "status", "--config", "sites.toml", COLUMNS="80", TZ="UTC")
    assert ran.code == 0
    assert max(map(len, ran.out.splitlines())) <= 80
    assert "schedule: 30 3 * * * Europe/Berlin; next run as soon as siteatlas schedule is\n" in ran.out
    assert "run  started, UTC      took  crawl     outcome" in ran.out
    (site,) = status(tmp_path)["sites"]
    assert site["schedule"]["timetable"] == "30 3 * * * Europe/Berlin"
    assert (site["schedule"]["attempts"], site["channels"]) == ([], [])
    assert [each["number"] for each in site["runs"]] == [6, 5, 4, 3, 2]


def test_ours_what_is_not_known_is_no_zero_and_what_is_going_on_has_no_numbers(tmp_path: Path) -> None:
    write(tmp_path, "", shop="http://shop.example/")
    files = [PublishedFile("sitemap.xml", "http://shop.example/sitemap.xml", 1, 1)]
    nothing = {"listed": 0, "fetched": 0, "completeness": "", "exit_code": 5, "refusal": "no robots.txt"}
    said = {"reason": "the files could not be uploaded to s3://shop/: 503", "exit_code": 7}
    stale = {"completeness": "truncated", "refusal": "it took too long", "exit_code": 4}
    known = [run(1, files=files), run(2, 0, "nothing", **nothing), run(3, outcome="unchanged", files=files, **said)]
    state(tmp_path, "shop", known)
    place = state_directory(tmp_path / "state", "http://shop.example/sitemap.xml")
    told = siteatlas(tmp_path, "status", "--state", "state", TZ="UTC").out
    assert "published, written by run 1 and unchanged up to run 3: http://shop.example/sitemap.xml" in told
    last, why, before, *_ = told.partition("exit\n")[2].splitlines()
    assert last.split()[-1] == "7"
    assert why.strip() == said["reason"]
    assert before.split()[3:] == ["-", "-", "no", "result", "-", "-", "-", "-", "5"]
    with closing(STATE_DB.open(place / STATE_DB.file)) as db:
        RunStore(db).write(replace(run(4, outcome=""), outcome="refused", ended=None, **stale))
    with lock_state(place):
        row = siteatlas(tmp_path, "status", "--state", "state").out.partition("exit\n")[2].splitlines()[0]
    assert row.split()[3:] == ["-", "active", *"------"]


def test_ours_a_site_that_was_audited_and_not_crawled_is_one_of_them(tmp_path: Path) -> None:
    state(tmp_path, "crawled", [run(1)])
    directory = state_directory(tmp_path / "state", "http://audited.example/sitemap.xml") / AUDIT
    directory.mkdir(parents=True)
    with closing(STATE_DB.open(directory / STATE_DB.file)) as db:
        RunStore(db).write(run(1, outcome="nothing", refusal="there is no log of that name"))
    both = siteatlas(tmp_path, "status", "--state", "state").out
    assert [line.split("-")[0] for line in both.splitlines()[1:3]] == ["audited.example", "crawled.example"]
    hint = "--config FILE shows the names of a configuration; --state state/NAME shows one of them in full"
    assert " ".join(both.split()).endswith(hint)
    shown = siteatlas(tmp_path, "status", "--state", f"state/{directory.parent.name}")
    assert (shown.code, shown.err) == (0, "")
    assert shown.out.startswith("== audited.example-")
    assert "  not crawled yet\n  the last audit failed: there is no log of that name\n" in shown.out
    write(tmp_path, a="http://audited.example/")
    (site,) = status(tmp_path)["sites"]
    assert (site["name"], site["audit"]["trouble"]) == ("a", "there is no log of that name")


def test_ours_earlier_reasons_are_short(tmp_path: Path) -> None:
    write(tmp_path, "", shop="http://shop.example/")
    wall = "a firewall responded in place of the pages" + ", so let the crawler through" * 9
    cause = f"nothing can be crawled on https://shop.example: robots.txt cannot be fetched: {'the certificate ' * 5}"
    held = {"exit_code": 3, "refusal": wall}
    back = replace(run(7, outcome="rolled back"), listed=1, refusal="")
    known = [
        *(run(n) for n in (1, 2)),
        run(3, 0, "nothing", refusal=cause, exit_code=5),
        *(run(n, 300.0, **held) for n in (4, 5, 6)),
        back,
    ]
    state(tmp_path, "shop", known)
    told = siteatlas(tmp_path, "status", "--config", "sites.toml").out
    assert told.count("a firewall responded") == 3
    assert cause.strip() in told, "the cause comes last"
    assert wall not in told
    state(tmp_path, "blog", known[:-1])
    write(tmp_path, "", blog="http://blog.example/")
    told = siteatlas(tmp_path, "status", "--config", "sites.toml").out
    assert told.count(wall) == 1


def test_ours_refused_messages_and_audit_errors_are_problems(tmp_path: Path) -> None:
    refused = ChannelStatus(key="webhook", until=2, refused=("a message, from run 2 to run 5: 302",))
    found = AuditSummary(
        number=1, started=1.8e9, before=None, verdict="conclusive", why="", pages=3, uncompared=0,
        severities={"error": 2, "warning": 1, "note": 0}, groups=[], first=[],
    )  # fmt: skip
    told = SiteSnapshot(notifications=NotifyStatus(channels=(refused,)))
    well = replace(found, severities={"error": 0})
    sites = (
        SiteOverview(name="well", directory=tmp_path, snapshot=SiteSnapshot(audit=AuditStatus(last=well))),
        SiteOverview(name="told", directory=tmp_path, snapshot=told),
        SiteOverview(name="broken", directory=tmp_path, snapshot=SiteSnapshot(audit=AuditStatus(last=found))),
    )
    _, *lines = status_lines(StatusReport(sites, None), 200, "--site NAME")
    assert [line.split()[0] for line in lines[:3]] == ["told", "broken", "well"], "problems come first"
    assert lines[4:6] == [
        "told: message refused: webhook refused a message, from run 2 to run 5: 302",
        "broken: audit errors: the last audit found 2 errors on the site",
    ]


@pytest.mark.parametrize(("zone", "said"), [("Europe/Berlin", "CEST/CET"), ("UTC", "UTC")])
def test_ours_times_say_of_which_zone_they_are(zone: str, said: str) -> None:
    script = "from crawler.schedule.status import *; print(local_time(1.79e9), zones([1.8e9, 1.79e9, 1.79e9]))"
    ran = subprocess.run(
        [sys.executable, "-c", script], env={**os.environ, "TZ": zone}, capture_output=True, text=True, check=True
    )
    assert ran.stdout.split()[2:] == [said[: said.find("/")] if "/" in said else said, said]


def test_ours_without_a_schedule_there_is_no_word_of_one(tmp_path: Path) -> None:
    write(tmp_path, "", shop="http://shop.example/")
    state(tmp_path, "shop", [run(1)])
    for words in (("--config", "sites.toml"), ("--state", "state")):
        assert "schedule" not in siteatlas(tmp_path, "status", *words).out
        assert json.loads(siteatlas(tmp_path, "status", *words, "--json").out)["schedule"] is None
    (tmp_path / "state" / "schedule.db").write_bytes(b"no database " * 200)
    ran = siteatlas(tmp_path, "status", "--config", "sites.toml")
    assert (ran.code, "== shop ==" in ran.out) == (0, True)
    assert "the schedule cannot be read: " in ran.out


@pytest.mark.parametrize(
    ("width", "shown"),
    [
        (200, "  a name of 20 letters  1   22  3333"),
        (36, "  a name of 20 letters  1   22  3333"),
        (35, "  a name of 20 letters  1  3333"),
        (28, "  a name of 20 letters  3333"),
        (25, "  a name o… letters  3333"),
        (5, "  a na…ers  3333"),
    ],
)
def test_ours_a_table_leaves_out_what_is_missed_least_and_then_shortens(width: int, shown: str) -> None:
    columns = (
        TableColumn("name", is_text=True, shrinks=True),
        TableColumn("a", 2),
        TableColumn("bee", 1),
        TableColumn("c"),
    )
    rows = [("a name of 20 letters", "1", "22", "3333"), ("short", "", "", "")]
    assert list(table_lines(columns, rows, width))[1] == shown


def test_ours_a_long_name_is_cut_before_a_column_is_left_out() -> None:
    columns = (TableColumn("name", is_text=True, shrinks=True), TableColumn("a", 1))
    rows = [("https-www-example-com-a-long-way-below-1", "12,345"), ("short", "1")]
    head, row, _ = table_lines(columns, rows, 30, "")
    assert (head.split(), row) == (["name", "a"], "https-www-e…ay-below-1  12,345")


def test_ours_a_broken_configuration_is_told_with_the_way_to_the_runs(tmp_path: Path) -> None:
    state(tmp_path, "shop", [run(1)])
    (tmp_path / "siteatlas.toml").write_text('[state]\ndirectory = "state"\n[sites.shop\n')
    ran = siteatlas(tmp_path, "status")
    assert ran.code == 2
    told = f"(siteatlas status --state DIR shows the runs without it; the usual DIR is {tmp_path / '.siteatlas'})"
    assert ran.err.rstrip().endswith(told)
    assert siteatlas(tmp_path, "status", "--state", "state").code == 0


def test_ours_a_full_disk_behind_standard_output_is_no_internal_error(tmp_path: Path) -> None:
    state(tmp_path, "shop", [run(1)])
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(
            command("status", "--state", "state"),
            cwd=tmp_path,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert ended.returncode == 7
    assert "standard output, or a file of this command, cannot be used" in ended.stderr
    assert "free some space" in ended.stderr


def test_ours_a_run_that_could_not_publish_is_shown_with_the_exit_code_of_its_process(tmp_path: Path) -> None:
    output = tmp_path / "out"

    def take_the_directory(_: int) -> Answer:
        output.rmdir()
        output.touch()
        return Answer("x")

    with scripted({"/": links("/p"), "/p": take_the_directory}) as site:
        ran = crawl(tmp_path, site.url)
    (shown,) = json.loads(siteatlas(tmp_path, "status", "--json").out)["sites"]
    assert (ran.code, shown["runs"][0]["exit_code"]) == (7, 7), ran.err


@pytest.mark.parametrize("lasts", [False, True])
def test_ours_a_robots_file_that_answers_again_before_the_run_ends_fails_no_more(tmp_path: Path, lasts: bool) -> None:
    rules = Answer("User-agent: *\nDisallow: /x\n", headers={"Content-Type": "text/plain"})
    with scripted({"/": links("/p"), "/p": links(), "/robots.txt": rules}) as site:
        crawl(tmp_path, site.url)
        site.routes["/robots.txt"] = lambda before: Answer("", 503) if lasts or before < 4 else rules
        ran = crawl(tmp_path, site.url)
    assert "robots.txt answered 503, so Siteatlas obeyed its copy" in ran.err
    assert ("robots.txt answered 503" in siteatlas(tmp_path, "status").out) is lasts


@pytest.mark.parametrize("code", [401, 404, 503])
def test_ours_a_dry_run_is_no_verdict(tmp_path: Path, code: int) -> None:
    answer = Answer("", code)
    with scripted({"/": answer}) as site:
        write(tmp_path, "", shop=site.url, other="http://127.0.0.1:9/")
        words, one = ("run", "--config", "sites.toml", "--site", "shop"), ("status", "--config", "sites.toml")
        assert siteatlas(tmp_path, *words, "--dry-run").code == 5
        assert re.search(r"^shop .* not published ", siteatlas(tmp_path, *one).out, re.MULTILINE)
        site.routes["/"] = links()
        assert siteatlas(tmp_path, *words).code == 0
        site.routes["/"] = answer
        assert siteatlas(tmp_path, *words, "--dry-run").code in (3, 5)
    assert re.search(r"^shop .* healthy ", siteatlas(tmp_path, *one).out, re.MULTILINE)
    shop = next(each for each in status(tmp_path)["sites"] if each["name"] == "shop")
    assert [run["outcome"] for run in shop["runs"]] == ["dry", "published", "dry"]
