"""How the reports tell what is new and what is mended since the audit before, and what they fail on then."""

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from audits import SITE, audit, of
from junitparser import Failure, JUnitXml
from msgspec.structs import replace
from naughty import NAUGHTY

from crawler.audit.finding import (
    AuditComparisonResult,
    AuditFinding,
    AuditFindings,
    AuditReport,
    ResolvedFinding,
    RuleTrend,
)
from crawler.audit.report.machine_readable import as_junit, write_json, write_sarif
from crawler.audit.report.text import TextReport
from crawler.audit.report.write import write_reports
from crawler.audit.rules import REPORTED_RULES, RULE_GROUPS
from crawler.audit.summary import summarize
from crawler.audit.verdict import failing_counts, inconclusive_counts, why_not_new

BEFORE = 1_794_648_600.0  # 2026-11-14 09:30 UTC
NEW = AuditFinding(
    rule="orphan.sitemap", url=f"{SITE}new", sentence="in a sitemap only", since="2026-11-21", is_new=True
)
OLD = AuditFinding(
    rule="orphan.sitemap", url=f"{SITE}old", sentence="in a sitemap only", since="2026-10-03", is_new=False
)
LOGGED = AuditFinding(rule="orphan.log", url=f"{SITE}log", sentence="in the logs only", since="2026-11-21")
GONE = ResolvedFinding("entry.gone", f"{SITE}dead", "2026-09-01", "no sitemap lists it any more", f"{SITE}sitemap.xml")
TRENDS = [RuleTrend("orphan.sitemap", 1, 1, 0), RuleTrend("entry.gone", 0, 0, 1), RuleTrend("reach.deep", 0, 0, 0, 2)]
COMPARED = AuditComparisonResult(started=BEFORE, trends=TRENDS)
PARTLY = replace(COMPARED, uncompared={"orphan.log": "no --log given"}, earlier={"entry.gone": BEFORE - 604_800})


def report(found: Sequence[AuditFinding], compared: AuditComparisonResult | None = COMPARED) -> AuditReport:
    return replace(audit(found), compared=compared)


def told(
    found: Sequence[AuditFinding], compared: AuditComparisonResult | None, gone: Sequence[ResolvedFinding] = (GONE,)
) -> str:
    return "\n".join(TextReport(report(found, compared), of(found, gone)).lines())


def test_ours_a_person_reads_what_is_new_mended_and_still_there() -> None:
    said = told([NEW, OLD], COMPARED)
    assert "since the audit of 2026-11-14 09:30 UTC: 1 new, 1 resolved, 1 still there, 2 not found" in said
    assert "warning  2, 1 new  In the sitemap, but not linked" in said
    none_new = [replace(trend, new=0) for trend in COMPARED.trends]
    other = told(
        [NEW, OLD], replace(COMPARED, trends=none_new, uncompared={OLD.rule: "the previous audit had no sitemap"})
    )
    assert "09:30 UTC: 1 resolved, 1 still there, 2 not found again, but not decided, 1 may be new" in other
    assert f"NEW {SITE}new" in said
    assert f"NEW {SITE}old" not in said
    assert "found since 2026-10-03" in said
    assert said.index("No longer found: 1 resolved") < said.index(f"{SITE}dead")
    assert "found since 2026-09-01; no sitemap lists it any more" in said


ANOTHER = replace(GONE, url=f"{SITE}moved", now="it falls under entry.redirect now", became="entry.redirect")
WORSE = replace(COMPARED, trends=[RuleTrend("entry.gone", 0, 0, 1, 0, 2), RuleTrend("reach.few", 1, 5, 0)])


def test_ours_what_became_another_finding_is_told_apart_in_every_report(tmp_path: Path) -> None:
    few = replace(NEW, rule="reach.few", url=f"{SITE}few")
    found, gone = ([few, *(replace(OLD, rule="reach.few", url=f"{SITE}{n}") for n in range(5))], (GONE, ANOTHER))
    said = told(found, WORSE, gone)
    assert "1 new, 1 resolved, 2 became another finding, 5 still there" in said
    assert "\n  1 resolved, 2 became another finding  Listed, but gone  entry.gone\n" in said
    assert f"NEW {SITE}few\n" in said  # also of a class whose others are not named
    assert "… 5 more" in said
    write_reports(report(found, WORSE), of(found, gone), tmp_path)
    assert [row["Became"] for row in table(tmp_path / "csv/mended.csv")] == ["", "entry.redirect"]
    whole = json.loads((tmp_path / "audit.json").read_bytes())
    assert [each["became"] for each in whole["mended"]] == ["", "entry.redirect"]
    run = json.loads((tmp_path / "audit.sarif").read_bytes())["runs"][0]
    assert (run["properties"]["mended"], run["properties"]["becameAnother"]) == (1, 2)
    junit = (tmp_path / "audit.junit.xml").read_text()
    assert f"became entry.redirect: {ANOTHER.url} " in junit
    html = (tmp_path / "audit.html").read_text()
    assert "2 became another finding</a>," in html
    assert html.count(">not resolved</span>") == 1
    news = summarize(report(found, WORSE), 1, of(found, gone))
    assert news.sentence.endswith("1 new, 1 resolved, 2 became another finding")
    assert (news.is_worth_sending, news.as_values()["became"]) == (True, 2)


def test_ours_a_person_reads_what_could_not_be_compared() -> None:
    said = told([NEW, OLD, LOGGED], PARTLY)
    assert "not compared: in the logs, but not linked (no --log given)" in said
    assert "compared with the audit of 2026-11-07 09:30 UTC: listed, but gone" in said
    first = replace(audit([OLD]), why_uncompared="first audit of this site: nothing to compare with")
    assert "\nfirst audit of this site: nothing" in "\n".join(TextReport(first, of([OLD])).lines())


def test_ours_json_has_the_comparison_and_the_mended() -> None:
    file = io.BytesIO()
    write_json(report([NEW, OLD]), of([NEW, OLD], [GONE]), file)
    whole = json.loads(file.getvalue())
    assert [(each["url"], each["is_new"], each["since"]) for each in whole["findings"]] == [
        (NEW.url, True, "2026-11-21"),
        (OLD.url, False, "2026-10-03"),
    ]
    assert whole["compared"]["trends"][1] == {
        "rule": "entry.gone", "new": 0, "still": 0, "mended": 1, "undecided": 0, "became": 0,
    }  # fmt: skip
    assert whole["mended"] == [{name: getattr(GONE, name) for name in ResolvedFinding.__struct_fields__}]


def test_ours_tables_have_columns_for_it_and_one_of_the_mended_that_goes_with_them(tmp_path: Path) -> None:
    hostile = [ResolvedFinding("entry.gone", text, "2026-09-01", text, text) for text in NAUGHTY]
    found: AuditFindings = of([NEW, OLD], [GONE, *hostile])
    write_reports(report([NEW, OLD]), found, tmp_path)
    rows = table(tmp_path / "csv/orphan.sitemap.csv")
    assert [(row["URL"], row["New"], row["Found since"]) for row in rows] == [
        (NEW.url, "yes", "2026-11-21"),
        (OLD.url, "no", "2026-10-03"),
    ]
    mended = table(tmp_path / "csv/mended.csv")
    assert mended[0] == {
        "Rule": GONE.rule, "URL": GONE.url, "Found since": GONE.since, "Now": GONE.now, "File": GONE.file,
        "Became": "",
    }  # fmt: skip
    assert len(mended) == 1 + len(NAUGHTY)
    assert not [cell for row in mended for cell in row.values() if cell[:1] in "=+-@" and cell]
    write_reports(report([NEW, OLD], None), of([NEW, OLD]), tmp_path)
    assert not (tmp_path / "csv/mended.csv").exists()


def table(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize(
    ("found", "compared", "states"),
    [
        ([NEW, OLD], COMPARED, {NEW.url: "new", OLD.url: "unchanged"}),
        ([NEW, OLD, LOGGED], PARTLY, {}),  # of one it is not known: then no result may have it
        ([NEW, OLD], None, {}),
    ],
)
def test_sarif_3_27_24_all_results_have_a_baseline_state_or_none_has(
    sarif_schema: Any, found: list[AuditFinding], compared: AuditComparisonResult | None, states: dict[str, str]
) -> None:
    file = io.BytesIO()
    write_sarif(report(found, compared), of(found, [GONE]), file)
    log = json.loads(file.getvalue())
    jsonschema.Draft4Validator(sarif_schema).validate(log)
    (run,) = log["runs"]
    told = {each["properties"]["url"]: each["baselineState"] for each in run["results"] if "baselineState" in each}
    assert told == states
    assert len(run["results"]) == len(found)  # GitHub takes what is there for open, and what is not for fixed
    assert [each["properties"]["url"] for each in run["results"] if each["properties"].get("is_new")] == [NEW.url]
    assert run["properties"].get("mended") == (1 if compared else None)


def test_ours_junit_fails_for_what_is_new_and_tells_what_is_mended() -> None:
    found = [NEW, OLD]
    document = JUnitXml.fromstring(as_junit(report(found), of(found, [GONE]), ["new:orphan"]).encode())
    cases = {case.name: case for suite in document for case in suite}
    (failure,) = cases["orphan.sitemap"].result
    assert isinstance(failure, Failure)
    assert "1 new" in failure.message
    assert f"new: {NEW.url}: " in failure.text
    assert f"resolved: {GONE.url} ({GONE.file}): since 2026-09-01" in cases["entry.gone"].system_out
    passed = JUnitXml.fromstring(as_junit(report([OLD]), of([OLD]), ["new:entry"]).encode())
    assert not passed.failures


DOUBT = replace(LOGGED, is_certain=False)


@pytest.mark.parametrize(
    ("found", "compared", "names", "fails", "open_"),
    [
        ([NEW, OLD], COMPARED, ["new"], ["orphan.sitemap"], []),
        ([NEW, OLD], COMPARED, ["new:orphan"], ["orphan.sitemap"], []),
        ([NEW, OLD], COMPARED, ["new:warning,error"], ["orphan.sitemap"], []),
        ([NEW, OLD], COMPARED, ["new:error"], [], []),
        ([NEW, OLD], COMPARED, ["new:entry", "orphan.sitemap"], ["orphan.sitemap"], []),
        ([OLD], replace(COMPARED, trends=[RuleTrend("orphan.sitemap", 0, 1, 0)]), ["new"], [], []),
        # not known to be new: neither red for it, nor green
        ([NEW, OLD, LOGGED], PARTLY, ["new"], ["orphan.sitemap"], ["orphan.log"]),
        ([DOUBT], COMPARED, ["new"], [], ["orphan.log"]),
        ([OLD], None, ["new"], [], ["orphan.sitemap"]),
        ([OLD], None, ["new:entry"], [], []),
        ([], None, ["new"], [], []),
    ],
)
def test_ours_fail_on_new_fails_for_what_is_known_to_be_new_and_passes_what_is_known_not_to_be(
    found: list[AuditFinding],
    compared: AuditComparisonResult | None,
    names: list[str],
    fails: list[str],
    open_: list[str],
) -> None:
    whole = report(found, compared)
    assert [each.rule for each in failing_counts(whole, names)] == fails
    assert [each.rule for each in inconclusive_counts(whole, names)] == open_
    said = " ".join(why_not_new(whole, names))
    assert [rule for rule in open_ if rule in said] == open_
    assert bool(said) is bool(open_)
    assert ("--state" in said) is (compared is None and bool(open_))


def test_ours_rules_come_worst_first_wherever_a_group_is_told() -> None:
    for group in RULE_GROUPS:
        severities = [REPORTED_RULES[rule].severity for rule in group.rules]
        assert severities == sorted(severities, reverse=True)
