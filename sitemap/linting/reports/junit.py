"""Owns the report in JUnit's XML: a suite for each file, a case for each rule that it breaks."""

from sitemap.finding import Finding
from sitemap.junit_suites import JUnitCase, JUnitOutcome, JUnitSuite, junit_xml
from sitemap.linting.lint import LintReport
from sitemap.rules import RULES, Severity


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
