"""Owns the report in JUnit's XML: a suite for each file, a case for each rule that it breaks."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from sitemap.escape import XML_DECLARATION, escape_xml
from sitemap.finding import Finding
from sitemap.linter.lint import LintReport
from sitemap.rules import RULES, Severity


class JUnitOutcome(StrEnum):
    """How a case went."""

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True, kw_only=True)
class JUnitCase:
    """One case. ``message`` is a sentence on why it failed or was skipped, ``kind`` the kind of failure, ``text`` all
    there is to say; ``place`` is what it is about: a file, a class. ``file`` and ``line`` are where it went wrong.
    """

    name: str
    place: str
    outcome: JUnitOutcome = JUnitOutcome.PASSED
    message: str = ""
    kind: str = ""
    text: str = ""
    file: str = ""
    line: int = 0


@dataclass(frozen=True, slots=True)
class JUnitSuite:
    """Cases under a name."""

    name: str
    cases: Sequence[JUnitCase]


def junit_xml(name: str, suites: Sequence[JUnitSuite]) -> str:
    """The whole document. What XML cannot hold is left out."""
    lines = [
        f'<testsuites name="{escape_xml(name)}" {_suite_counts([case for suite in suites for case in suite.cases])}>'
    ]
    for suite in suites:
        lines.append(f'  <testsuite name="{escape_xml(suite.name)}" {_suite_counts(suite.cases)}>')
        lines += map(_case_element, suite.cases)
        lines.append("  </testsuite>")
    return XML_DECLARATION + "\n".join([*lines, "</testsuites>", ""])


def _suite_counts(cases: Sequence[JUnitCase]) -> str:
    failed = sum(case.outcome is JUnitOutcome.FAILED for case in cases)
    skipped = sum(case.outcome is JUnitOutcome.SKIPPED for case in cases)
    return f'tests="{len(cases)}" failures="{failed}" errors="0" skipped="{skipped}" time="0"'


def _case_element(case: JUnitCase) -> str:
    file = f' file="{escape_xml(case.file)}"' if case.file else ""
    line = f' line="{case.line}"' if case.line else ""
    head = f'    <testcase name="{escape_xml(case.name)}" classname="{escape_xml(case.place)}"{file} time="0"{line}'
    text, message = escape_xml(case.text), escape_xml(case.message)
    if case.outcome is JUnitOutcome.FAILED:
        said = f'<failure message="{message}" type="{escape_xml(case.kind)}">{text}</failure>'
    else:
        said = f"<system-out>{text}</system-out>" if text else ""
        if case.outcome is JUnitOutcome.SKIPPED:  # which comes first, in all schemas that have an order
            said = f'<skipped message="{message}"/>{said}'
    return f"{head}>\n      {said}\n    </testcase>" if said else f"{head}/>"


def as_junit(report: LintReport, fail_on: Severity | None = Severity.ERROR) -> str:
    """The findings as JUnit XML: a rule that was broken is a case, and a file without any has one case that passes.

    A case fails when it is at or over ``fail_on`` (None: none does); else it passes and its output tells the findings.
    """
    failing = {finding.rule for finding in report.at_least(fail_on)} if fail_on else set()
    suites = []
    for file, findings in _by_file(report).items():
        rules = dict.fromkeys(finding.rule for finding in findings)
        cases = [
            _case(rule, file, [each for each in findings if each.rule == rule], rule in failing)
            for rule in rules
        ]
        suites.append(JUnitSuite(file, cases or [JUnitCase(name="no findings", place=file, file=file)]))
    return junit_xml("siteatlas lint", suites)


def _by_file(report: LintReport) -> dict[str, list[Finding]]:
    """The findings of each file, also of files that have none."""
    files: dict[str, list[Finding]] = {document.file: [] for document in report.all_documents()}
    for finding in report.findings:
        files.setdefault(finding.file, []).append(finding)
    return files


def _case(rule: str, file: str, findings: list[Finding], failed: bool) -> JUnitCase:
    told = [f"line {each.line}: {each.sentence}" if each.line else each.sentence for each in findings]
    text = "\n".join((*told, RULES[rule].sentence, RULES[rule].source))
    severity = RULES[rule].severity
    return JUnitCase(
        name=rule,
        place=file,
        outcome=JUnitOutcome.FAILED if failed else JUnitOutcome.PASSED,
        message=findings[0].sentence,
        kind=severity,
        text=text if failed else f"{severity}: {text}",
        file=file,
        line=next((each.line for each in findings if each.line), 0),
    )
