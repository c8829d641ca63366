"""Writes JUnit XML. A lint report has a suite for each file and a case for each broken rule.

The document is valid by the schema of Jenkins, which allows the attribute ``file`` at a suite only:
https://github.com/jenkinsci/xunit-plugin (``types/model/xsd/junit-10.xsd``).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from sitemap.escape import XML_DECLARATION, escape_xml
from sitemap.finding import Finding
from sitemap.linter.lint import LintReport
from sitemap.rules import RULES, Severity


class JUnitOutcome(StrEnum):
    """The outcome of a test case."""

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True, kw_only=True)
class JUnitCase:
    """One test case. ``message`` says why it failed or was skipped, ``kind`` is the kind of failure, ``text`` has the
    details. ``place`` is its subject (a file or a class).
    """

    name: str
    place: str
    outcome: JUnitOutcome = JUnitOutcome.PASSED
    message: str = ""
    kind: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True)
class JUnitSuite:
    """Test cases under a name, and the ``file`` that they are about, if it is one."""

    name: str
    cases: Sequence[JUnitCase]
    file: str = ""


def junit_xml(name: str, suites: Sequence[JUnitSuite]) -> str:
    """The whole document. Characters that XML forbids are left out."""
    lines = [f'<testsuites name="{escape_xml(name)}" {_counts([case for suite in suites for case in suite.cases])}>']
    for suite in suites:
        skipped = _number(suite.cases, JUnitOutcome.SKIPPED)
        file = f' file="{escape_xml(suite.file)}"' if suite.file else ""
        lines.append(f'  <testsuite name="{escape_xml(suite.name)}" {_counts(suite.cases)} skipped="{skipped}"{file}>')
        lines += map(_case_element, suite.cases)
        lines.append("  </testsuite>")
    return XML_DECLARATION + "\n".join([*lines, "</testsuites>", ""])


def _counts(cases: Sequence[JUnitCase]) -> str:
    return f'tests="{len(cases)}" failures="{_number(cases, JUnitOutcome.FAILED)}" errors="0" time="0"'


def _number(cases: Sequence[JUnitCase], outcome: JUnitOutcome) -> int:
    return sum(case.outcome is outcome for case in cases)


def _case_element(case: JUnitCase) -> str:
    head = f'    <testcase name="{escape_xml(case.name)}" classname="{escape_xml(case.place)}" time="0"'
    text, message = escape_xml(case.text), escape_xml(case.message)
    if case.outcome is JUnitOutcome.FAILED:
        content = f'<failure message="{message}" type="{escape_xml(case.kind)}">{text}</failure>'
    else:
        content = f"<system-out>{text}</system-out>" if text else ""
        if case.outcome is JUnitOutcome.SKIPPED:  # comes first in all schemas with an order
            content = f'<skipped message="{message}"/>{content}'
    return f"{head}>\n      {content}\n    </testcase>" if content else f"{head}/>"


def as_junit(report: LintReport, fail_on: Severity | None = Severity.ERROR) -> str:
    """The findings as JUnit XML: each broken rule is a case, and a file without findings has one case that passes.

    A case fails if its severity is ``fail_on`` or worse (None: no case fails); else it passes and its output has the
    findings.
    """
    failing = {finding.rule for finding in report.at_least(fail_on)} if fail_on else set()
    suites = []
    for file, findings in _by_file(report).items():
        rules = dict.fromkeys(finding.rule for finding in findings)
        cases = [
            _case(rule, file, [finding for finding in findings if finding.rule == rule], rule in failing)
            for rule in rules
        ]
        suites.append(JUnitSuite(file, cases or [JUnitCase(name="no findings", place=file)], file))
    return junit_xml("siteatlas lint", suites)


def _by_file(report: LintReport) -> dict[str, list[Finding]]:
    """The findings by file, including files without findings."""
    files: dict[str, list[Finding]] = {document.file: [] for document in report.all_documents()}
    for finding in report.findings:
        files.setdefault(finding.file, []).append(finding)
    return files


def _case(rule: str, file: str, findings: list[Finding], failed: bool) -> JUnitCase:
    lines = [f"line {finding.line}: {finding.sentence}" if finding.line else finding.sentence for finding in findings]
    text = "\n".join((*lines, RULES[rule].sentence, RULES[rule].source))
    severity = RULES[rule].severity
    return JUnitCase(
        name=rule,
        place=file,
        outcome=JUnitOutcome.FAILED if failed else JUnitOutcome.PASSED,
        message=findings[0].sentence,
        kind=severity,
        text=text if failed else f"{severity}: {text}",
    )
