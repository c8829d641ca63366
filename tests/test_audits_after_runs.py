"""Audits that follow runs: when they are due, what others are told of them, and that no run is the worse for them."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import msgspec
import psutil
import pytest
import warm
from doubles_listener import Heard, Listener, Reply, listening
from kept import kept, status, wait_for
from run import environment, siteatlas
from scripted import Answer, Route, Site, links, scripted

from crawler.cli.sites import configured_sites
from crawler.schedule.process import SiteJob

pytestmark = pytest.mark.thorough

XML = {"Content-Type": "application/xml"}
SPACE = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
SAID = ("a boat sails home", "cars want roads", "what was lost is found", "only a list tells of this")


def pages(held: Callable[[int], Answer] | None = None) -> dict[str, Route]:
    """Three pages that are linked, one that only the sitemap knows, and one that only a list does, perhaps held."""
    return {
        "/": links("/a", "/b"),
        "/a": links("/") + f"<p>{SAID[0]}",
        "/b": links("/") + f"<p>{SAID[1]}",
        "/lost": f"<title>Lost</title><p>{SAID[2]}",
        "/asked": held or f"<p>{SAID[3]}",
        "/sitemap.xml": sitemap("", "a", "b", "lost"),
    }


def sitemap(*paths: str) -> Answer:
    entries = "".join(f"<url><loc>{{url}}{path}</loc></url>" for path in paths)
    return Answer(f"<urlset {SPACE}>{entries}</urlset>", headers=XML)


class World:
    """A site, somebody who is told of it, and a configuration in a folder."""

    def __init__(self, folder: Path, site: Site, ear: Listener) -> None:
        self.folder, self.site, self.ear = folder, site, ear
        (folder / "asked.txt").write_text(f"{site.url}asked\n")
        self.configure()

    def configure(self, audit: str = "", every: str = "7d", more: str = "") -> None:
        text = (
            f'[output]\nswap_delay = 0\n[state]\ndirectory = "state"\n[pace]\nrate = 0\nconcurrency = 8\n'
            f"[parse]\nprocesses = 1\n[fetch]\nretries = 0\nsecond_reads = 0\n"
            f"[notify]\ncheck_live = false\nattempts = 1\n"
            f'[webhook]\nurls = ["{self.ear.url}/hook"]\n{more}\n'
            f'[audit]\nevery = "{every}"\nreport = "report"\nlists = ["asked.txt"]\n{audit}\n'
            f'[sites.shop]\nsite = {{url = "{self.site.url}"}}\noutput = {{directory = "out"}}\n'
        )
        (self.folder / "sites.toml").write_text(text)

    def run(self, *words: str) -> dict[str, Any]:
        """A run that ends well, as it tells in JSON; what it says on standard error is in ``said``."""
        ran = siteatlas(self.folder, "run", "--config", "sites.toml", "--json", *words)
        assert ran.code == 0, ran.err
        (told,) = json.loads(ran.out)["sites"]
        return {**told, "said": ran.err}

    @property
    def messages(self) -> list[dict[str, Any]]:
        return [json.loads(heard.body) for heard in self.ear.heard]

    @property
    def occasions(self) -> list[str]:
        return [message["occasion"] for message in self.messages]

    @property
    def audit(self) -> dict[str, Any]:
        """What is told of the last audit."""
        (site,) = status(self.folder)["sites"]
        told: dict[str, Any] = site["audit"]
        return told

    @property
    def audits(self) -> int:
        """How many audits have begun."""
        found = list(self.folder.glob("state/*/audit/state.db"))
        if not found:
            return 0
        with closing(sqlite3.connect(found[0])) as db:
            return int(db.execute("SELECT max(number) FROM run").fetchone()[0])

    @property
    def report(self) -> dict[str, Any]:
        told: dict[str, Any] = json.loads((self.folder / "report/shop/audit.json").read_bytes())
        return told


@contextmanager
def world(
    folder: Path, held: Callable[[int], Answer] | None = None, answer: Callable[[Heard], Reply] = lambda _: Reply()
) -> Iterator[World]:
    with scripted(pages(held)) as site, listening(answer) as ear:
        yield World(folder, site, ear)


def test_ours_a_run_is_followed_by_an_audit_when_one_is_due_and_by_none_before(tmp_path: Path) -> None:
    with world(tmp_path) as shop:
        first = shop.run()
        assert first["outcome"] == "published"
        assert first["audit"]["news"]["severities"]["warning"] >= 2
        assert first["audit"]["error"] == ""
        rules = {(each["rule"], each["url"].rpartition("/")[2]) for each in shop.report["findings"]}
        assert rules >= {("orphan.sitemap", "lost"), ("orphan.list", "asked")}
        # what was published is told before the audit begins, and what it found when it is over
        assert shop.occasions == ["changes", "findings"]
        told = shop.messages[1]
        assert told["sentence"].startswith("audit: ")
        assert {group["name"]: group["total"] for group in told["audit"]["groups"]}["orphans"] == 2
        assert Path(told["audit"]["report"]) == tmp_path / "report" / "shop"
        assert shop.run()["audit"] is None
        assert (shop.audits, shop.occasions) == (1, ["changes", "findings"])
        assert shop.run("--set=audit.every=0.001", "--dry-run")["audit"] is None
        # of an audit that found nothing new nobody is told
        second = shop.run("--set=audit.every=0.001")["audit"]["news"]
        assert (second["number"], second["new"], second["mended"]) == (2, 0, 0)
        assert second["before"] == first["audit"]["news"]["started"]
        assert shop.occasions == ["changes", "findings"]
        shop.site.routes["/sitemap.xml"] = sitemap("", "a", "b", "forlorn")
        shop.site.routes["/forlorn"] = "<title>Forlorn</title><p>nobody comes here"
        del shop.site.routes["/lost"]
        shop.run("--set=audit.every=0.001")
        assert shop.occasions == ["changes", "findings", "changes", "findings"]
        told = shop.messages[3]["audit"]
        assert (told["new"], told["mended"]) == (2, 1)
        assert [(each["rule"], each["url"]) for each in told["first"]] == [
            ("orphan.sitemap", f"{shop.site.url}forlorn"),
            ("lost.published", f"{shop.site.url}lost"),
        ]
        ran = siteatlas(tmp_path, "crawl", shop.site.url, "-o", "elsewhere", "--rate", "0")
        assert (ran.code, shop.audits) == (0, 3)


@pytest.mark.slow
def test_ours_who_has_audited_by_hand_is_not_audited_again_and_others_are_told_of_it(tmp_path: Path) -> None:
    with world(tmp_path) as shop:
        ran = siteatlas(tmp_path, "audit", "--config", "sites.toml", "--site", "shop", "-q")
        assert ran.code == 0, ran.err
        assert shop.run()["audit"] is None
        assert shop.audits == 1


def test_ours_what_an_audit_found_is_told_once_though_nobody_took_it_at_first(tmp_path: Path) -> None:
    down = [False]

    def answer(heard: Heard) -> Reply:
        return Reply(503 if down[0] and b'"findings"' in heard.body[:200] else 200)

    with world(tmp_path, answer=answer) as shop:
        down[0] = True
        ran = shop.run()
        assert ran["audit"]["announced"]["notify_pending"] is True
        (channel,) = status(tmp_path)["sites"][0]["channels"]
        assert channel["outstanding"][0].startswith("audit findings: ")
        looked = siteatlas(tmp_path, "notify", "--config", "sites.toml", "--dry-run")
        assert "audit: " in looked.out, looked.out
        again = siteatlas(tmp_path, "notify", "--config", "sites.toml")
        assert (again.code, shop.occasions) == (4, ["changes", "findings", "findings"])
        down[0] = False
        shop.run()
        assert shop.occasions == ["changes", *["findings"] * 3]
        assert len({heard.headers["x-siteatlas-delivery"] for heard in shop.ear.heard[1:]}) == 1
        shop.run()
        ran_again = siteatlas(tmp_path, "notify", "--config", "sites.toml")
        assert (ran_again.code, len(shop.messages)) == (0, 4)
        assert status(tmp_path)["sites"][0]["channels"][0]["outstanding"] == []


def test_ours_no_audit_follows_a_run_that_the_gate_refused(tmp_path: Path) -> None:
    with world(tmp_path) as shop:
        shop.run()
        shop.site.routes["/"] = "<meta name='robots' content='noindex'>Sign in"
        refused = siteatlas(tmp_path, "run", "--config", "sites.toml", "--json", "--set=audit.every=0.001")
        (told,) = json.loads(refused.out)["sites"]
        assert (refused.code, told["audit"], shop.audits) == (3, None, 1)


def test_ours_findings_that_were_refused_are_set_aside_and_sent_once_more_when_somebody_asks(tmp_path: Path) -> None:
    refuses = [True]

    def answer(heard: Heard) -> Reply:
        return Reply(403 if refuses[0] and b'"findings"' in heard.body[:200] else 200)

    def notify(*words: str) -> str:
        ran = siteatlas(tmp_path, "notify", "--config", "sites.toml", *words)
        return ran.out + ran.err

    with world(tmp_path, answer=answer) as shop:
        shop.run()
        (channel,) = status(tmp_path)["sites"][0]["channels"]
        assert (channel["outstanding"], len(shop.messages)) == ([], 2)
        assert channel["refused"][0].startswith("audit findings: ")
        assert "the receiver refused audit findings: " in notify()
        refuses[0] = False
        notify("--resend-refused")
        assert shop.occasions == ["changes", "findings", "findings"]
        assert len({heard.headers["x-siteatlas-delivery"] for heard in shop.ear.heard[1:]}) == 1
        notify("--resend-refused")
        assert len(shop.messages) == 3


@pytest.mark.slow
def test_ours_a_crash_while_findings_are_told_repeats_that_message_and_no_other(tmp_path: Path) -> None:
    def answer(heard: Heard) -> Reply:
        if b'"findings"' in heard.body[:200] and len(shop.ear.heard) == 2:
            time.sleep(5)  # the process is killed meanwhile
        return Reply()

    with world(tmp_path, answer=answer) as shop:
        with (tmp_path / "log").open("wb") as out:
            words = ("run", "--config", "sites.toml")
            process = warm.begin(tmp_path, words, environment(), out.fileno(), out.fileno())
        wait_for(lambda: len(shop.ear.heard) == 2)
        process.kill()
        process.wait(60)
        assert shop.run()["audit"] is None
        assert shop.run()["audit"] is None
        assert shop.occasions == ["changes", "findings", "findings"]
        first, again = shop.ear.heard[1:]
        assert first.body == again.body
        assert first.headers["x-siteatlas-delivery"] == again.headers["x-siteatlas-delivery"]


def test_ours_an_audit_that_sites_would_wait_for_is_left_to_the_next_run(tmp_path: Path) -> None:
    with world(tmp_path) as shop:
        (each,) = configured_sites(tmp_path / "sites.toml", {}, [])
        order = SiteJob(name="shop", task="run", config=each.config.model_dump(mode="json"), may_audit=False)
        command = [sys.executable, "-m", "crawler.schedule.worker", "shop"]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            assert process.stdin
            assert process.stdout
            process.stdin.write(msgspec.json.encode(order) + b"\n")
            process.stdin.flush()
            ended = json.loads(process.stdout.read())
        assert (ended["status"], ended["outcome"], shop.audits) == ("done", "published", 0)
        assert ended["message"].endswith(
            "; the audit is postponed to the next run, because other sites wait for their runs"
        )


@pytest.mark.slow
def test_ours_who_is_new_is_told_of_the_next_audit_and_of_none_that_is_over(tmp_path: Path) -> None:
    with world(tmp_path) as shop:
        shop.run("--no-notify")
        shop.run()
        assert "findings" not in shop.occasions
        shop.site.routes["/sitemap.xml"] = sitemap("", "a", "b")
        shop.run("--set=audit.every=0.001")
        assert shop.occasions.count("findings") == 1
        assert shop.messages[-1]["audit"]["mended"] >= 1


def test_ours_a_log_that_is_not_there_costs_the_audit_and_not_the_run(tmp_path: Path) -> None:
    with world(tmp_path) as shop:
        shop.configure('logs = ["logs/access.log*"]')
        ran = shop.run()
        assert (ran["outcome"], ran["audit"]["news"], shop.occasions) == ("published", None, ["changes"])
        assert "logs/access.log*" in ran["audit"]["error"]
        assert "logs/access.log*" in shop.audit["trouble"]
        told = siteatlas(tmp_path, "run", "--config", "sites.toml", "-q")
        assert (told.code, told.out, told.err.count("\n")) == (0, "", 1)
        assert "the next run tries again: " in told.err
        shown = siteatlas(tmp_path, "status", "--config", "sites.toml")
        assert "logs/access.log*" in shown.out
        (tmp_path / "logs").mkdir()
        line = '192.0.2.1 - - [03/Nov/2026:10:00:00 +0000] "GET /lost HTTP/1.1" 200 512 "-" "Firefox"\n'
        (tmp_path / "logs/access.log").write_text(line)
        assert shop.run()["audit"]["error"] == ""
        assert (shop.audit["trouble"], shop.audit["last"]["number"]) == ("", shop.audits)


def test_ours_a_memory_that_cannot_be_used_costs_the_telling_and_neither_the_audit_nor_its_report(
    tmp_path: Path,
) -> None:
    with world(tmp_path) as shop:
        shop.run()
        (memory,) = tmp_path.glob("state/*/audit/audits.db")
        with closing(sqlite3.connect(memory)) as db, db:
            db.execute("PRAGMA user_version = 99")
        (tmp_path / "report/shop/audit.json").unlink()
        ran = shop.run("--set=audit.every=0.001")
        assert (ran["audit"]["news"], shop.report["compared"]) == (None, None)
        assert "the findings of the audit are in the report" in ran["audit"]["error"]
        assert "audits.db was written by a newer version" in ran["audit"]["error"]
        assert "move the file away" in ran["audit"]["error"].lower()
        assert shop.occasions == ["changes", "findings"]


@pytest.mark.slow
def test_ours_no_audit_follows_a_run_of_a_site_in_trouble(tmp_path: Path) -> None:
    with world(tmp_path) as shop:
        shop.run("--set=audit.every=100000d")
        for path in ("/", "/a", "/b", "/lost"):
            shop.site.routes[path] = Answer("oh no", 503)
        ran = siteatlas(tmp_path, "run", "--config", "sites.toml", "--json", "--set=audit.every=0.001")
        (told,) = json.loads(ran.out)["sites"]
        assert (ran.code, told["completeness"], told["audit"]) == (3, "degraded", None)
        shop.site.routes.clear()
        ran = siteatlas(tmp_path, "run", "--config", "sites.toml", "--json", "--set=audit.every=0.001")
        assert (ran.code, json.loads(ran.out)["sites"][0]["audit"]) == (5, None)
        assert shop.audits == 1


class Hold:
    """An answer that takes long as long as it is held."""

    def __init__(self) -> None:
        self.is_held = True

    def __call__(self, _: int) -> Answer:
        return Answer(f"<p>{SAID[3]}", delay=60.0 if self.is_held else 0.0)


def begin(shop: World, *words: str) -> tuple[warm.Command, Path]:
    """A run that has come as far as what only its audit asks for."""
    log = shop.folder / "begun.log"
    with log.open("wb") as out:
        process = warm.begin(
            shop.folder, ("run", "--config", "sites.toml", *words), environment(), out.fileno(), out.fileno()
        )
    wait_for(lambda: "/asked" in shop.site.paths or process.poll() is not None)
    assert process.poll() is None, log.read_text()
    return process, log


@pytest.mark.parametrize("number", [pytest.param(signal.SIGTERM, marks=pytest.mark.slow), signal.SIGKILL])
def test_ours_an_audit_that_is_ended_leaves_the_run_done_and_the_next_goes_on_with_it(
    tmp_path: Path, number: signal.Signals
) -> None:
    hold = Hold()
    with world(tmp_path, hold) as shop:
        process, log = begin(shop)
        # nobody else begins a run of a site that is audited
        assert siteatlas(tmp_path, "run", "--config", "sites.toml", "-q").code == 6
        assert shop.occasions == ["changes"]
        os.kill(process.pid, number)
        assert process.wait(60) == (0 if number is signal.SIGTERM else -number), log.read_text()
        published = (tmp_path / "out/sitemap.xml").read_bytes()
        assert "and the next one continues it" in shop.audit["trouble"]
        hold.is_held, before = False, shop.site.paths.count("/b")
        ran = shop.run()
        assert (ran["outcome"], ran["audit"]["news"]["number"], shop.audits) == ("unchanged", 1, 1)
        assert shop.site.paths.count("/b") - before == 1  # by the run; the audit had read it
        assert (tmp_path / "out/sitemap.xml").read_bytes() == published
        assert shop.occasions == ["changes", "findings"]
        assert ("orphan.list", f"{shop.site.url}asked") in {
            (each["rule"], each["url"]) for each in shop.report["findings"]
        }
        if number is signal.SIGTERM:
            assert "the audit after the run was cut short; the next run continues the audit" in log.read_text()


def scheduled(shop: World, schedule: str, **settings: Any) -> None:
    shop.configure(more=f'[schedule]\n{schedule}\n[daemon]\nlisten = ""\nreload_interval = 0.05\n', **settings)


def attempts(folder: Path) -> list[tuple[str, int | None, str]]:
    """How the attempts of the schedule ended, the first one first."""
    (site,) = status(folder)["sites"]
    told = [(each["status"], each["exit_code"], each["message"]) for each in site["schedule"]["attempts"]]
    return told[::-1]


@pytest.mark.slow
@pytest.mark.parametrize("how", ["worker killed", "daemon stopped", "too long"])
def test_ours_a_run_of_the_schedule_is_done_whatever_becomes_of_its_audit(tmp_path: Path, how: str) -> None:
    hold = Hold()
    with world(tmp_path, hold) as shop:
        longest = "run_timeout = 20\n" if how == "too long" else ""
        scheduled(shop, f'every = "1h"\n{longest}')
        with kept(tmp_path) as daemon:
            wait_for(lambda: "/asked" in shop.site.paths)
            if how == "worker killed":
                (worker,) = psutil.Process(daemon.process.pid).children()
                worker.kill()
            elif how == "daemon stopped":
                assert daemon.end() == 0
            wait_for(lambda: attempts(tmp_path)[0][0])
            ((fate, code, told),) = attempts(tmp_path)
            assert (fate, code) == ("done", 0)
            assert told.startswith("4 pages listed: 4 added; the audit after the run was cut short"), told
            assert ("run_timeout" in told) == (how == "too long")
            assert shop.occasions == ["changes"]
        hold.is_held = False
        scheduled(shop, 'every = "1s"')
        with kept(tmp_path) as daemon:
            wait_for(lambda: shop.occasions == ["changes", "findings"])
            daemon.said("; audit: ")
            wait_for(lambda: len(attempts(tmp_path)) >= 4)
            assert daemon.end() == 0
        assert shop.audits == 1
        assert {fate for fate, _, _ in attempts(tmp_path)[:-1]} == {"done"}  # the end may have met the last one
        assert shop.occasions == ["changes", "findings"]
