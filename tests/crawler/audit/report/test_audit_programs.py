"""What programs read of an audit, read back by others: json, jsonschema with SARIF's own schema, junitparser, lxml."""

import io
import json
import re
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

import jsonschema
import msgspec
import pytest
from audits import DOUBT, SITE, Given, audit, findings, hostile, of
from junitparser import Failure, JUnitXml, Skipped
from lxml import etree
from naughty import NAUGHTY, storable
from schemas import jenkins_junit

from crawler.audit.finding import AuditFinding, AuditReport, RuleCount
from crawler.audit.report.machine_readable import MAX_FINDINGS_PER_RULE, as_junit, write_json, write_sarif
from crawler.audit.report.tables import write_csv
from crawler.audit.rules import REPORTED_RULES, RULE_GROUPS, RULES, RuleGroup
from crawler.audit.verdict import failing_counts, rules_failing
from crawler.errors import UsageError
from sitemap import RULES as LINT


def written(write: Callable[..., None], report: AuditReport, found: list[AuditFinding], **options: Any) -> bytes:
    file = io.BytesIO()
    write(report, of(found), file, **options)
    return file.getvalue()


ORDER = ["entry.gone", "orphan.sitemap", "duplicate.loc", "reach.deep"]  # what is broken comes first


def ordered(found: list[AuditFinding]) -> list[AuditFinding]:
    return sorted(found, key=lambda each: ORDER.index(each.rule))


def test_ours_every_rule_is_told_in_one_group() -> None:
    assert sorted(REPORTED_RULES) == sorted([*RULES, *LINT])
    assert len([rule for group in RULE_GROUPS for rule in group.rules]) == len(REPORTED_RULES)
    assert {REPORTED_RULES[rule].severity for rule in LINT} == {rule.severity for rule in LINT.values()}


def test_ours_json_has_the_fields_of_the_report_and_all_of_every_finding() -> None:
    found = findings()
    report = audit(found, (DOUBT,))
    told = json.loads(written(write_json, report, found))
    assert {*msgspec.structs.asdict(report)} < {*told}
    assert told["format"] == 1
    assert told["doubts"] == [DOUBT]
    assert told["inputs"][1]["faults"]
    assert told["counts"][1] == {
        "rule": "orphan.sitemap",
        "severity": "warning",
        "title": "In the sitemap, but not linked",
        "certain": 6,
        "likely": 0,
        "inconclusive": 0,
    }
    assert [each["rule"] for each in told["counts"]] == ORDER
    assert [each["rule"] for each in told["findings"]] == [each.rule for each in ordered(found)]
    for each, finding in zip(told["findings"], ordered(found), strict=True):
        assert each.pop("severity") == REPORTED_RULES[finding.rule].severity
        assert msgspec.convert(each, AuditFinding) == finding
        assert {*each} == {*AuditFinding.__struct_fields__} - {"rests_on"}


def test_rfc8259_json_of_hostile_strings_is_valid_and_keeps_them() -> None:
    found = hostile()
    raw = written(write_json, audit(found, tuple(NAUGHTY)), found)
    told = json.loads(raw)
    assert sorted(each["url"] for each in told["findings"]) == sorted(map(storable, NAUGHTY))
    assert told["doubts"] == [storable(text) for text in NAUGHTY]
    msgspec.json.decode(raw)  # which takes no half of a character


def test_ours_the_same_findings_give_the_same_bytes() -> None:
    found = hostile()
    assert written(write_json, audit(found), found) == written(write_json, audit(found), found)


def test_sarif_log_of_an_audit_is_valid_and_says_what_was_found(sarif_schema: Any) -> None:
    doubtful = AuditFinding(rule="orphan.log", url=f"{SITE}x", sentence="In the logs only.", is_certain=False)
    found = [*findings(), doubtful]
    run = _run(written(write_sarif, audit(found, (DOUBT,)), found), sarif_schema)
    rules, results = run["tool"]["driver"]["rules"], run["results"]
    assert len(results) == len(found)
    assert [rules[each["ruleIndex"]]["id"] for each in results] == [each["ruleId"] for each in results]
    assert rules[0]["id"] == "entry.gone"  # the worst first
    first = next(each for each in results if each["ruleId"] == "orphan.sitemap")
    assert first["level"] == "warning"
    assert first["properties"]["people"] == 31
    assert first["properties"]["hubs"][0]["url"] == f"{SITE}old/"
    assert _place(first) == {"artifactLocation": {"uri": f"{SITE}old/page"}}
    line = next(each for each in results if each["ruleId"] == "duplicate.loc")
    assert _place(line) == {"artifactLocation": {"uri": f"{SITE}sitemap.xml"}, "region": {"startLine": 9}}
    assert run["properties"]["doubts"] == [DOUBT]


def test_sarif_3_27_10_what_is_inconclusive_is_for_review_and_of_no_level(sarif_schema: Any) -> None:
    found = [AuditFinding(rule="orphan.log", url=f"{SITE}x", sentence="In the logs only.", is_certain=False)]
    (result,) = _run(written(write_sarif, audit(found, (DOUBT,)), found), sarif_schema)["results"]
    assert (result["kind"], result["level"]) == ("review", "none")


def test_github_results_are_known_again_when_lines_and_numbers_change(sarif_schema: Any) -> None:
    found = [
        AuditFinding(rule="duplicate.loc", url="", sentence=f"line {line}", file="a.xml", line=line) for line in (3, 9)
    ]
    moved = [
        AuditFinding(rule="duplicate.loc", url="", sentence=f"line {line}", file="a.xml", line=line) for line in (5, 11)
    ]
    prints = [
        [each["partialFingerprints"]["primaryLocationLineHash"] for each in _run(log, sarif_schema)["results"]]
        for log in (written(write_sarif, audit(found), found), written(write_sarif, audit(moved), moved))
    ]
    assert prints[0] == prints[1]
    assert len(set(prints[0])) == 2


def test_github_a_run_has_no_more_results_than_are_taken(sarif_schema: Any) -> None:
    found = findings()
    run = _run(written(write_sarif, audit(found), found, most=3), sarif_schema)
    assert len(run["results"]) == 3
    assert run["results"][0]["level"] == "error"
    assert run["properties"]["findings"] == 16


def test_sarif_of_hostile_strings_in_an_audit_is_valid(sarif_schema: Any) -> None:
    found = hostile()
    raw = written(write_sarif, audit(found, tuple(NAUGHTY)), found)
    assert raw.isascii()
    results = _run(raw, sarif_schema)["results"]
    assert {each["properties"]["url"] for each in results} == set(NAUGHTY)
    for each in results:
        uri = _place(each)["artifactLocation"]["uri"]
        assert re.fullmatch(r"[A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=%]*", uri)


def _run(raw: bytes, schema: Any) -> Any:
    log = json.loads(raw)
    jsonschema.Draft4Validator(schema).validate(log)
    return log["runs"][0]


def _place(result: Any) -> Any:
    return result["locations"][0]["physicalLocation"]


def test_ours_junit_fails_what_is_named_skips_what_is_in_doubt_and_passes_the_rest() -> None:
    doubtful = AuditFinding(rule="orphan.log", url=f"{SITE}x", sentence="In the logs only.", is_certain=False)
    found = [*findings(), doubtful]
    document = JUnitXml.fromstring(as_junit(audit(found, (DOUBT,)), of(found), ["error", "orphan"]).encode())
    cases = {case.name: case for suite in document for case in suite}
    assert {*cases} == {*RULES, "duplicate.loc"}
    outcome = {name: type(case.result[0]) for name, case in cases.items() if case.result}
    assert outcome == {"orphan.sitemap": Failure, "entry.gone": Failure, "orphan.log": Skipped}
    assert DOUBT in cases["orphan.log"].result[0].message
    assert f"{SITE}old/page: " in cases["orphan.sitemap"].result[0].text
    assert "sitemap.xml:9" in cases["duplicate.loc"].system_out
    assert next(suite.name for suite in document) == "Dead URLs"
    assert sum(suite.failures for suite in document) == 2
    assert sum(suite.skipped for suite in document) == 1


def test_jenkins_junit_of_an_audit_is_valid() -> None:
    doubtful = AuditFinding(rule="orphan.log", url=f"{SITE}x", sentence="In the logs only.", is_certain=False)
    found = [*findings(), doubtful, *hostile()]
    text = as_junit(audit(found, (DOUBT,)), of(found), ["error", "orphan"])
    jenkins_junit().assertValid(etree.fromstring(text.encode()))


@pytest.mark.parametrize("group", RULE_GROUPS, ids=lambda group: group.name)
def test_ours_fail_on_takes_the_headings_of_the_report(group: RuleGroup) -> None:
    slug = group.title.lower().replace(" ", "-")
    for name in (group.name, group.title, slug):
        assert rules_failing([name]).always == {*group.rules}
        assert rules_failing([f"new:{name}"]).new == {*group.rules}


def test_ours_junit_passes_nothing_that_nobody_looked_for() -> None:
    report = msgspec.structs.replace(
        audit([]), unchecked={"lint": "no sitemap", "orphan.log": "no log"}, undecided={"reach": "not all seen"}
    )
    document = JUnitXml.fromstring(as_junit(report, of([])).encode())
    skipped = {case.name: case.result[0].message for suite in document for case in suite if case.result}
    assert skipped == {
        "orphan.log": "not checked: no log",
        "reach.deep": "not decided: not all seen",
        "reach.few": "not decided: not all seen",
        next(iter(LINT)): "not checked: no sitemap",
    }


def test_ours_junit_does_not_grow_with_the_site() -> None:
    found = [
        AuditFinding(rule="entry.gone", url=f"{SITE}{n}", sentence="gone") for n in range(MAX_FINDINGS_PER_RULE + 50)
    ]
    text = as_junit(audit(found), of(found))
    assert text.count(": gone") == MAX_FINDINGS_PER_RULE
    assert "and 50 more" in text


def test_xml_junit_of_hostile_strings_in_an_audit_is_well_formed() -> None:
    found = hostile()
    report = audit(found, tuple(NAUGHTY), url="\x00\x1b]]><&\"'\ud800")
    root = etree.fromstring(as_junit(report, of(found), ["note"]).encode())
    tags = {"testsuites", "testsuite", "testcase", "failure", "skipped", "system-out"}
    assert {element.tag for element in root.iter()} <= tags


@pytest.mark.parametrize(
    ("names", "rules"),
    [
        ([], []),
        (["never"], []),
        (["error"], ["entry.gone"]),
        (["warning"], ["entry.gone", "orphan.sitemap", "duplicate.loc"]),
        (["note"], ORDER),
        (["orphan"], ["orphan.sitemap"]),
        (["orphan.*", "reach.deep"], ["orphan.sitemap", "reach.deep"]),
        (["weak, lint"], ["duplicate.loc"]),
        (["duplicate"], ["duplicate.loc"]),
        (["dead"], []),
        (["health"], ["entry.gone"]),
        (["Sitemap health"], ["entry.gone"]),
        (["sitemap-health, reach"], ["entry.gone", "reach.deep"]),
        (["orphans"], ["orphan.sitemap"]),
        (["Lint of the sitemaps"], ["duplicate.loc"]),
        (["orphan.log"], []),
    ],
)
def test_ours_fail_on_takes_severities_families_and_ids(names: list[str], rules: list[str]) -> None:
    doubtful = AuditFinding(rule="orphan.log", url=f"{SITE}x", sentence="In the logs only.", is_certain=False)
    report = audit([*findings(), doubtful])
    assert [each.rule for each in failing_counts(report, names)] == rules
    assert all(isinstance(each, RuleCount) and each.certain for each in failing_counts(report, names))


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("orphanz", 'Did you mean "orphan"?'),
        ("ded-urls", 'Did you mean "dead-urls"?'),
        ("orphan.sitmap", 'Did you mean "orphan.sitemap"?'),
        ("eror", 'Did you mean "error"?'),
        ("duplicate.lok", 'Did you mean "duplicate.loc"?'),
        ("%$&", "siteatlas audit --rules lists all rules"),
        ("never,error", "cannot be combined"),
        ("new:never", "cannot be combined"),
        ("new:orphanz", 'Did you mean "orphan"?'),
        ("nwe", 'Did you mean "new"?'),
        ("new:", "new:orphan"),
        ("new:new", "is not the name of a rule"),
    ],
)
def test_ours_fail_on_names_the_nearest_for_what_there_is_not(name: str, hint: str) -> None:
    with pytest.raises(UsageError, match=re.escape(hint)):
        rules_failing([name])


class _Sink(io.RawIOBase):
    size = 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self.size += len(data)
        return len(data)


@pytest.mark.thorough
@pytest.mark.parametrize("kind", ["json", "csv", "sarif"])
def test_ours_reports_take_no_more_memory_for_more_findings(kind: str) -> None:
    few, many = _memory(kind, 500), _memory(kind, 2_500)
    # SARIF keeps a fingerprint of each that it tells, which are 25,000 at most.
    assert many < few + (300 * 2_000 if kind == "sarif" else 200_000)


def _memory(kind: str, many: int) -> int:
    """The most that writing so many findings of 500 bytes holds at a time."""

    def findings_of(rule: str) -> Iterator[AuditFinding]:
        return (AuditFinding(rule=rule, url=f"{SITE}{n}", sentence="gone", evidence=["x " * 250]) for n in range(many))

    report = msgspec.structs.replace(audit([]), counts=[RuleCount("entry.gone", many)])
    sink: Any = _Sink()
    tracemalloc.start()
    if kind == "json":
        write_json(report, Given(findings_of), sink)
    elif kind == "csv":
        write_csv(findings_of("entry.gone"), sink)
    else:
        write_sarif(report, Given(findings_of), sink)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert sink.size > many * 500
    return most
