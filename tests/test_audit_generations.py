"""Audits of one site after one another: what is new, mended, or stands since when, and what is not decided."""

import csv
import json
import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from audited import FAST, Command, in_process, log, page, pages, sitemap
from scripted import Answer, scripted

pytestmark = pytest.mark.thorough


@pytest.fixture
def siteatlas(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Command]:
    with in_process(tmp_path, monkeypatch, capsys) as command:
        yield command


@pytest.fixture
def audit(siteatlas: Command) -> Command:
    """The audit, at full speed and without a second try."""
    return lambda *words: siteatlas("audit", *words, *FAST)


LISTED = ("", "hub/", "hub/one", "hub/two", "plain", "lost")
TODAY = datetime.now(UTC).date().isoformat()


def told(name: str = "out") -> dict[str, Any]:
    whole: dict[str, Any] = json.loads(Path(name, "audit.json").read_bytes())
    return whole


def path(url: str) -> str:
    return "/" + url.split("/", 3)[-1]


def new(whole: dict[str, Any]) -> set[tuple[str, str]]:
    return {(each["rule"], path(each["url"])) for each in whole["findings"] if each.get("is_new")}


def news_in_table() -> set[str]:
    with Path("out/csv/findings.csv").open(encoding="utf-8-sig", newline="") as table:
        return {row["New"] for row in csv.DictReader(table)}


def trend(whole: dict[str, Any], rule: str) -> dict[str, int]:
    found = (each for each in whole["compared"]["trends"] if each["rule"] == rule)
    return {name: number for name, number in next(found, {}).items() if name not in ("rule", "became")}


def memory() -> Path:
    """Where the audit before is remembered."""
    (found,) = Path().rglob("audits.db")
    return found


def backdate(day: str) -> None:
    """Let all that is remembered be from that day on."""
    with closing(sqlite3.connect(memory())) as db, db:
        db.execute("UPDATE finding SET since = ?", (day,))


@pytest.fixture
def why(siteatlas: Command) -> Command:
    return lambda *words: siteatlas("why", *words)


def test_ours_findings_appear_stay_and_vanish_and_ci_fails_for_what_is_new_alone(audit: Command, why: Command) -> None:
    with scripted(pages()) as site:
        words = (site.url, "-o", "out", "--fail-on", "new:orphan,new:entry")
        ran = audit(*words)  # nothing to compare with: neither green nor red
        first = told()
        assert ran.code == 4
        assert "it is unknown whether findings of orphan.sitemap are new" in ran.err
        assert "if the directory of --state is kept" in ran.err
        assert first["compared"] is None
        assert not new(first)
        assert news_in_table() == {""}  # nobody can tell
        assert {each["since"] for each in first["findings"]} == {TODAY}

        backdate("2026-01-31")
        ran = audit(*words)
        assert (ran.code, ran.err) == (0, "")
        assert news_in_table() == {"no"}
        assert {each["since"] for each in told()["findings"]} == {"2026-01-31"}
        ran = why(f"{site.url}lost")
        assert "findings   In the sitemap, but not linked (orphan.sitemap), found since 2026-01-31\n" in ran.out

        site.routes["/sitemap.xml"] = sitemap("new", *LISTED, "later", "nowhere")
        site.routes |= {"/later": page("/"), "/new": page("/")}
        ran = audit(*words)
        second = told()
        assert ran.code == 10
        named = f"entry.gone ({site.url}nowhere), orphan.sitemap ({site.url}later and 1 more)"
        assert f"--fail-on names: {named}" in ran.err
        assert new(second) == {("orphan.sitemap", "/later"), ("orphan.sitemap", "/new"), ("entry.gone", "/nowhere")}
        assert trend(second, "orphan.sitemap") == {"new": 2, "still": 1, "mended": 0, "undecided": 0}
        assert second["compared"]["uncompared"] == second["compared"]["earlier"] == {}

        site.routes["/"] = page("/hub/", "/plain", "/lost")  # linked at last
        site.routes["/hub/two"] = '<html><a rel=nofollow href="/later">one</a></html>'
        site.routes["/sitemap.xml"] = sitemap(*LISTED, "later")
        ran = audit(*words)
        third = told()
        assert ran.code == 0
        assert ("reach.few", "/lost") in new(third)
        assert ("weak.nofollow", "/later") in new(third)
        now = {(each["rule"], path(each["url"])): each["now"] for each in third["mended"]}
        assert now[("orphan.sitemap", "/lost")] == "it is now a finding of reach.few (Pages with few inlinks)"
        assert now[("orphan.sitemap", "/later")] == "it is now a finding of weak.nofollow (Linked by nofollow only)"
        assert {path(each["url"]): each["became"] for each in third["mended"] if each["became"]} == {
            "/later": "weak.nofollow"  # another class is no mending; /lost is linked at last
        }
        assert next(each for each in third["compared"]["trends"] if each["became"]) == {
            "rule": "orphan.sitemap", "new": 0, "still": 0, "mended": 2, "undecided": 0, "became": 1,
        }  # fmt: skip
        assert "3 resolved, 1 became another finding" in ran.out
        assert now[("entry.gone", "/nowhere")] == "no sitemap lists it any more"
        assert now[("orphan.sitemap", "/new")] == "no sitemap lists it any more"
        assert "since the audit of" in ran.out
        assert Path("out/csv/mended.csv").is_file()


def test_ours_what_an_audit_did_not_look_for_or_did_not_see_is_neither_new_nor_mended(audit: Command) -> None:
    Path("a.log").write_text(log("/asked", "/dead"))
    with scripted(pages()) as site:
        whole = (site.url, "-o", "out", "--log", "a.log")
        audit(*whole)
        backdate("2026-01-31")

        unseen = audit(site.url, "-o", "out")  # the log is left out once
        assert f"not decided: {site.url}asked" in unseen.out
        without = told()
        assert not without["mended"]
        assert trend(without, "orphan.log")["undecided"] == 1
        assert without["compared"]["uncompared"]["orphan.log"] == "no --log given"

        site.routes["/hub/"] = Answer("", 403)  # a hub refuses the crawl: nobody can tell what is linked
        Path("a.log").write_text(log("/asked", "/dead", "/other"))
        site.routes["/other"] = page("/")
        doubtful = audit(*whole, "--fail-on", "new:orphan")
        assert doubtful.code == 4
        assert "orphan.log" in doubtful.err
        assert not [rule for rule, _ in new(told()) if rule.startswith("orphan.")]
        assert not [each for each in told()["mended"] if each["rule"] != "reach.few"]

        site.routes["/hub/"] = page("/", "/hub/one", "/hub/two")
        cut = audit(*whole, "--max-pages", "3")  # an audit that is cut short is compared with by nobody
        assert cut.code == 4
        assert audit(*whole).code == 0
        after = told()
        assert ("orphan.log", "/other") in new(after)
        assert trend(after, "orphan.log") == {"new": 1, "still": 1, "mended": 0, "undecided": 0}
        assert after["compared"]["started"] > after["compared"]["earlier"]["orphan.log"]
        since = {path(each["url"]): each["since"] for each in after["findings"] if each["rule"] == "orphan.log"}
        assert since == {"/asked": "2026-01-31", "/other": TODAY}

        Path("a.log").write_text(log("/asked/", "/dead"))  # the other is asked for by nobody: that mends nothing
        site.routes["/asked/"] = site.routes["/asked"]
        site.routes["/dead"] = Answer("", 301, {"Location": "/"})
        audit(*whole)
        last = told()
        assert trend(last, "orphan.log") == {"new": 0, "still": 1, "mended": 0, "undecided": 1}  # spelled otherwise
        assert [(each["rule"], each["now"]) for each in last["mended"]] == [
            ("gone.visited", f"it redirects to {site.url} (301)")
        ]


def test_ours_a_new_finding_that_is_certain_fails_whatever_else_is_unproven(audit: Command) -> None:
    with scripted(pages()) as site:
        site.routes["/robots.txt"] = f"User-agent: *\nDisallow: /search\nSitemap: {site.url}sitemap.xml"
        site.routes["/plain"] = page("/", "/search")
        words = (site.url, "--fail-on", "new:warning")
        audit(*words)
        same = audit(*words)
        assert (same.code, "may be new" in same.out, "not compared" in same.out) == (0, False, False)
        site.routes["/sitemap.xml"] = sitemap("new", *LISTED)
        site.routes["/new"] = page("/")
        site.routes["/plain"] = page("/", "/search", "/dead")
        both = audit(*words, "-o", "out")
        assert both.code == 10, both.out
        fresh, still, unsettled = map(int, re.findall(r"(\d+) (?:new|still there|may be new)", both.out)[:3])
        assert (fresh, unsettled) == (1, 1)
        assert fresh + still + unsettled == len(told()["findings"])
        assert f"{still} still there, 1 may be new." in Path("out/audit.html").read_text()
        assert "findings of orphan.sitemap are new" in both.err
        assert f"--fail-on names: gone.linked ({site.url}dead)" in both.err

        trusting = (*words, "--set=audit.trust_blocked=true")
        audit(*trusting)
        site.routes["/sitemap.xml"] = sitemap("new", "newer", *LISTED)
        site.routes["/newer"] = page("/")
        assert f"--fail-on names: orphan.sitemap ({site.url}newer)" in audit(*trusting).err


def test_ours_audits_with_other_settings_are_not_compared(audit: Command) -> None:
    with scripted(pages()) as site:
        audit(site.url, "-o", "out")
        audit(site.url, "-o", "out", "--exclude", "/lost", "--fail-on", "new")
        narrow = told()
        assert not narrow["mended"]
        assert not new(narrow)
        audit(site.url, "-o", "out", "--exclude", "/lost", "--set=audit.min_inlinks=2")
        assert not new(told())
        assert "audit.min_inlinks=1 before" in told()["compared"]["uncompared"]["reach.few"]
        audit(site.url, "-o", "out", "--exclude", "/lost")
        assert not told()["mended"]
        assert not trend(told(), "orphan.sitemap")  # of what is out of the scope nothing can be known


def foreign(path: Path) -> None:
    path.unlink()
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("CREATE TABLE theirs (a)")


def newer(path: Path) -> None:
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("PRAGMA user_version = 99")


def torn(path: Path) -> None:
    """Whole to the eye, and broken where the findings are."""
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        (page,) = db.execute("SELECT rootpage FROM sqlite_master WHERE name = 'finding'").fetchone()
        (size,) = db.execute("PRAGMA page_size").fetchone()
    raw = bytearray(path.read_bytes())
    raw[(page - 1) * size : page * size] = b"\xff" * size
    path.write_bytes(raw)


SPOILT: list[tuple[Callable[[Path], object], str]] = [
    (lambda path: path.write_text("longer than the head of a database, and none" * 9), "not a database"),
    (foreign, "database of another program"),
    (newer, "newer version of siteatlas"),
    (torn, "malformed"),
]


def test_ours_a_memory_that_cannot_be_used_costs_one_line_and_no_audit(audit: Command) -> None:
    with scripted(pages()) as site:
        audit(site.url)
        path = memory()
        whole = path.read_bytes()
        for spoil, said in SPOILT:
            path.write_bytes(whole)
            spoil(path)
            spoilt = path.read_bytes()
            ran = audit(site.url, "-o", "out", "--fail-on", "new:orphan")
            assert ran.code == 4  # whether they are new is not known
            (line,) = [line for line in ran.err.splitlines() if said in line]
            assert "audits.db" in line
            assert "move the file away" in line.lower()
            assert said in ran.out.replace("\n  ", " ")
            assert told()["findings"]
            assert {each["since"] for each in told()["findings"]} == {""}
            assert path.read_bytes() == spoilt  # it is nobody's but the person's to throw away
