"""The forms of the lint report, read back by others: jsonschema with SARIF's own schema, junitparser, lxml, json."""

import io
import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from junitparser import Failure, JUnitXml
from lxml import etree
from schemas import jenkins_junit

from sitemap import RULES, Finding, LintReport, Severity, as_json, as_junit, as_sarif, as_text, lint

BAD = b"""<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
<url><loc>https://example.com/</loc><priority>high</priority></url>
<url><loc>ftp://example.com/x</loc></url>
<url><loc>https://example.com/#top</loc></url>
</urlset>
"""
GOOD = b"""<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><url><loc>https://example.com/a</loc></url></urlset>
"""
NASTY = "\x1b[2J\x00\x08\u202e]]>&<b>\"'\r\n\t\ufffe\ud800é漢😀 --> <![CDATA["
HOSTILE = LintReport(
    (
        Finding("sitemap.loc_invalid", NASTY, f"https://example.com/{NASTY}.xml", 3),
        Finding("hint.ignored", NASTY, f"sub folder/{NASTY}"),
    ),
    (),
    0,
)


@pytest.fixture
def report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LintReport:
    """Of two files in the working directory, one bad and one good."""
    monkeypatch.chdir(tmp_path)
    Path("bad one.xml").write_bytes(BAD)
    Path("good.xml").write_bytes(GOOD)
    return lint("bad one.xml", "good.xml")


def test_sarif_log_is_valid_and_says_what_was_found(report: LintReport, sarif_schema: Any) -> None:
    log = json.loads(as_sarif(report, "1.2.3"))
    jsonschema.Draft4Validator(sarif_schema).validate(log)
    driver, results = log["runs"][0]["tool"]["driver"], log["runs"][0]["results"]
    assert len(results) == len(report.findings)
    for result, finding in zip(results, report.findings, strict=True):
        rule = driver["rules"][result["ruleIndex"]]
        assert rule["id"] == result["ruleId"] == finding.rule
        assert rule["helpUri"] == RULES[finding.rule].source
        assert result["level"] == finding.severity
        where = result["locations"][0]["physicalLocation"]
        assert where["artifactLocation"]["uri"] == "bad%20one.xml"
        assert where.get("region", {}).get("startLine", 0) == finding.line


def test_sarif_of_hostile_strings_is_valid_and_keeps_them(sarif_schema: Any) -> None:
    text = as_sarif(HOSTILE)
    assert text.isascii()
    log = json.loads(text)
    jsonschema.Draft4Validator(sarif_schema).validate(log)
    for result in log["runs"][0]["results"]:
        assert result["message"]["text"] == NASTY
        uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        assert re.fullmatch(r"[A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=%]+", uri)


def test_rfc8089_sarif_names_files_elsewhere_by_file_uris(tmp_path: Path) -> None:
    path = tmp_path / "bad é.xml"
    path.write_bytes(BAD)
    log = json.loads(as_sarif(lint(path)))
    uri = log["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert uri == f"file://{tmp_path}/bad%20%C3%A9.xml"


def test_ours_junit_has_a_suite_for_each_file_and_fails_what_is_over_the_threshold(report: LintReport) -> None:
    bad, good = JUnitXml.fromstring(as_junit(report).encode())
    assert (bad.name, good.name) == ("bad one.xml", "good.xml")
    failed = {case.name for case in bad if case.result}
    assert failed == {each.rule for each in report.at_least(Severity.ERROR)}
    assert {case.name for case in bad} == set(report.rules)
    assert bad.failures == len(failed)
    assert [(case.name, case.result) for case in good] == [("no findings", [])]
    failure = next(case for case in bad if case.name == "priority.invalid").result[0]
    assert isinstance(failure, Failure)
    assert failure.type == "error"
    assert failure.text.startswith("line 3: ")


@pytest.mark.parametrize(("fail_on", "severities"), [(None, set()), (Severity.NOTE, set(Severity))])
def test_ours_junit_and_text_agree_with_the_threshold(
    report: LintReport, fail_on: Severity | None, severities: set[Severity]
) -> None:
    bad, _ = JUnitXml.fromstring(as_junit(report, fail_on).encode())
    assert {case.name for case in bad if case.result} == {
        rule for rule in report.rules if RULES[rule].severity in severities
    }
    assert as_text(report, fail_on).splitlines()[-1].startswith("fails: " if severities else "passes")


def test_jenkins_junit_is_valid(report: LintReport) -> None:
    for lint_report, threshold in ((report, Severity.ERROR), (report, None), (HOSTILE, Severity.NOTE)):
        document = etree.fromstring(as_junit(lint_report, threshold).encode())
        jenkins_junit().assertValid(document)
        assert {suite.get("file") for suite in document} == {suite.get("name") for suite in document}


def test_xml_junit_of_hostile_strings_is_well_formed() -> None:
    text = as_junit(HOSTILE, Severity.NOTE)
    for suite in JUnitXml.fromstring(text.encode()):
        for case in suite:
            assert "]]>&<b>\"'" in case.result[0].message
            assert "<![CDATA[" in case.result[0].text
    root = etree.fromstring(text.encode())
    assert {element.tag for element in root.iter()} == {"testsuites", "testsuite", "testcase", "failure"}


def test_ours_json_tells_files_findings_and_counts(report: LintReport) -> None:
    text = as_json(report)
    told = json.loads(text)
    assert told["version"] == 1
    assert [(file["file"], file["format"], file["entries"]) for file in told["files"]] == [
        ("bad one.xml", "urlset", 2),
        ("good.xml", "urlset", 1),
    ]
    assert told["files"][1] == {
        "file": "good.xml",
        "format": "urlset",
        "entries": 1,
        "bytes": len(GOOD),
        "complete": True,
        "children": [],
    }
    assert told["counts"]["files"] == 2
    assert told["counts"]["entries"] == report.entries
    assert told["counts"]["rules"] == report.rules
    invalid = next(each for each in told["findings"] if each["rule"] == "sitemap.loc_invalid")
    assert invalid["line"] == 4
    assert invalid["severity"] == "error"
    assert invalid["source"].startswith("https://")
    assert json.loads(as_json(HOSTILE))["findings"][0]["sentence"] == NASTY
    assert as_json(HOSTILE).isascii()


def test_ours_text_has_a_clickable_line_for_each_finding_and_a_verdict(report: LintReport) -> None:
    lines = as_text(report).splitlines()
    assert lines[-2].startswith("2 files, 3 entries: ")
    errors = report.severities[Severity.ERROR]
    assert lines[-1] == f"fails: {errors} errors"
    for line, finding in zip(lines, report.findings, strict=False):
        assert line.startswith(f"bad one.xml:{finding.line}: {finding.severity} {finding.rule}: ")
    assert as_text(lint(io.BytesIO(GOOD))).splitlines()[-1] == "passes"


def test_ours_text_shows_what_is_hostile_and_obeys_none_of_it() -> None:
    for line in as_text(HOSTILE, sources=True).splitlines():
        assert line.isprintable(), repr(line)
    coloured = as_text(HOSTILE, colour=True)
    assert set(re.findall(r"\x1b\[\d+m", coloured)) == {"\x1b[31m", "\x1b[36m", "\x1b[0m"}
    assert re.sub(r"\x1b\[\d+m", "", coloured) == as_text(HOSTILE)


def test_ours_text_tells_once_what_many_whole_documents_break() -> None:
    findings = tuple(Finding("lastmod.all_equal", "all are equal", f"{number}.xml") for number in range(7))
    other = Finding("lastmod.all_equal", "of a line", "x.xml", 3)
    lines = as_text(LintReport((*findings, other), (), 0)).splitlines()
    assert lines[:2] == [
        "0.xml: warning lastmod.all_equal: all are equal (and 6 more files, each as a whole)",
        "x.xml:3: warning lastmod.all_equal: of a line",
    ]
    assert as_text(LintReport(findings[:5], (), 0)).count("all are equal") == 5
