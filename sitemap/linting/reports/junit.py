"""Owns the report in JUnit's XML, which build servers show as tests: a suite for each file, a case for each rule.

https://github.com/testmoapp/junitxml
"""

from sitemap.finding import Finding
from sitemap.linting.lint import LintReport
from sitemap.rules import RULES, Severity
from sitemap.xml_text import escape


def as_junit(report: LintReport, fail_on: Severity | None = Severity.ERROR) -> str:
    """The findings as JUnit XML: a rule that was broken is a case, and a file without any has one case that passes.

    A case fails when it is at or over ``fail_on`` (None: none does); else it passes and its output tells the findings.
    """
    failing = {finding.rule for finding in report.at_least(fail_on)} if fail_on else set()
    suites, tests, failures = [], 0, 0
    for file, findings in _by_file(report).items():
        rules = dict.fromkeys(finding.rule for finding in findings)
        cases = [
            _case(rule, file, [each for each in findings if each.rule == rule], rule in failing)
            for rule in rules
        ]
        failed = len(failing.intersection(rules))
        tests += max(len(cases), 1)
        failures += failed
        suites.append(f'  <testsuite name="{escape(file)}" {_sum(max(len(cases), 1), failed)}>')
        suites += cases or [f"    {_head('no findings', file)}/>"]
        suites.append("  </testsuite>")
    head = f'<testsuites name="siteatlas lint" {_sum(tests, failures)}>'
    return "\n".join(['<?xml version="1.0" encoding="UTF-8"?>', head, *suites, "</testsuites>", ""])


def _by_file(report: LintReport) -> dict[str, list[Finding]]:
    """The findings of each file, also of files that have none."""
    files: dict[str, list[Finding]] = {document.file: [] for document in report.all_documents()}
    for finding in report.findings:
        files.setdefault(finding.file, []).append(finding)
    return files


def _sum(tests: int, failures: int) -> str:
    return f'tests="{tests}" failures="{failures}" errors="0" skipped="0" time="0"'


def _head(name: str, file: str) -> str:
    return f'<testcase name="{name}" classname="{escape(file)}" file="{escape(file)}" time="0"'


def _case(rule: str, file: str, findings: list[Finding], failed: bool) -> str:
    line = next((f' line="{each.line}"' for each in findings if each.line), "")
    told = [f"line {each.line}: {each.sentence}" if each.line else each.sentence for each in findings]
    text = "\n".join(escape(each) for each in (*told, RULES[rule].sentence, RULES[rule].source))
    severity = RULES[rule].severity
    if failed:
        said = f'<failure message="{escape(findings[0].sentence)}" type="{severity}">{text}</failure>'
    else:
        said = f"<system-out>{severity}: {text}</system-out>"
    return f"    {_head(rule, file)}{line}>\n      {said}\n    </testcase>"
