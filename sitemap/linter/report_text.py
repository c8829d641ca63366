"""Writes a lint report as text: a line for each finding, as compilers do, and a verdict at the end."""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

from msgspec.structs import replace

from sitemap.escape import safe
from sitemap.finding import Finding
from sitemap.linter.lint import LintReport
from sitemap.rules import RULES, Rule, Severity

_MAX_SEPARATE: Final = 5  # files that break a rule as a whole and are listed one by one

_COLOUR: Final = {Severity.ERROR: "31", Severity.WARNING: "33", Severity.NOTE: "36"}  # red, yellow, cyan


def as_text(
    report: LintReport, fail_on: Severity | None = Severity.ERROR, *, colour: bool = False, sources: bool = False
) -> str:
    """The findings, ``path:line: severity rule: sentence``, a summary, and whether any is ``fail_on`` or worse.

    ``colour`` adds terminal colours, ``sources`` a line for each finding with the sentence and the source of its rule.
    Text from a document is escaped, so that a terminal does not obey it.
    """
    lines = [line for finding in _merge_same(report.findings) for line in _finding_line(finding, colour, sources)]
    lines += [f"not checked: {safe(sentence)}" for sentence in report.not_checked]
    if lines:
        lines.append("")
    files = sum(1 for _ in report.all_documents())
    counts = [_count_text(number, severity) for severity, number in report.severities.items()]
    lines.append(f"{_count_text(files, 'file')}, {_count_text(report.entries, 'entry')}: {', '.join(counts)}")
    failing = sum(finding.times for finding in report.at_least(fail_on)) if fail_on else 0
    verdict = f"fails: {_failing_text(failing, fail_on)}" if failing and fail_on else "passes"
    lines.append(_paint(verdict, "31" if failing else "32", colour))
    return "\n".join([*lines, ""])


def rules_text(rules: Iterable[Rule]) -> str:
    """The rules, each in a few lines: severity and id, title and sentence, remedy, source."""
    return "".join(
        f"{rule.severity:8}{rule.id}\n        {rule.title}: {rule.sentence}\n        {rule.remedy}\n"
        f"{f'        {rule.source}{chr(10)}' if rule.source else ''}"
        for rule in rules
    )


def _merge_same(findings: Iterable[Finding]) -> Iterator[Finding]:
    """The findings; those of a rule that many documents break as a whole are merged into one."""
    findings = list(findings)
    files = Counter(finding.rule for finding in findings if not finding.line and finding.times == 1)
    merged = set()
    for finding in findings:
        count = files[finding.rule]
        if finding.line or finding.times > 1 or count <= _MAX_SEPARATE:
            yield finding
        elif finding.rule not in merged:
            merged.add(finding.rule)
            yield replace(finding, sentence=f"{finding.sentence} (and {count - 1:,} more files, each as a whole)")


def _finding_line(finding: Finding, colour: bool, sources: bool) -> Iterator[str]:
    place = ":".join([finding.file or "document", *([str(finding.line)] if finding.line else ())])
    severity = _paint(finding.severity, _COLOUR[finding.severity], colour)
    yield f"{safe(place)}: {severity} {finding.rule}: {safe(finding.sentence)}"
    if sources:
        rule = RULES[finding.rule]
        yield f"    {rule.sentence} {rule.source}"


def _failing_text(number: int, fail_on: Severity) -> str:
    """The number of failing findings: "2 errors", "3 findings of level warning or worse"."""
    if fail_on is Severity.ERROR:
        return _count_text(number, fail_on)
    return f"{_count_text(number, 'finding')} of level {fail_on} or worse"


def _paint(text: str, code: str, colour: bool) -> str:
    return f"\x1b[{code}m{text}\x1b[0m" if colour else text


def _count_text(number: int, noun: str) -> str:
    plural = noun if number == 1 else "entries" if noun == "entry" else f"{noun}s"
    return f"{number:,} {plural}"
