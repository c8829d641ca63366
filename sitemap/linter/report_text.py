"""Owns the report that a person reads: a line for each finding, as compilers write them, and a verdict at the end."""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

from msgspec.structs import replace

from sitemap.escape import safe
from sitemap.finding import Finding
from sitemap.linter.lint import LintReport
from sitemap.rules import RULES, Rule, Severity

_MAX_SEPARATE: Final = 5  # files that break a rule as a whole and are told one by one

_COLOUR: Final = {Severity.ERROR: "31", Severity.WARNING: "33", Severity.NOTE: "36"}  # red, yellow, cyan


def as_text(
    report: LintReport,
    fail_on: Severity | None = Severity.ERROR,
    *,
    colour: bool = False,
    sources: bool = False,
) -> str:
    """The findings, ``path:line: severity rule: sentence``, a summary, and whether any is at or over ``fail_on``.

    ``colour`` adds the escape sequences of terminals, ``sources`` a line for each finding with what its rule demands
    and where that is written. Whatever came from a document is shown and never obeyed by a terminal.
    """
    lines = [
        line for finding in _merge_same(report.findings) for line in _finding_line(finding, colour, sources)
    ]
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
    """The rules, each in some lines: its severity and id, what it means, what helps, and where that is written."""
    return "".join(
        f"{rule.severity:8}{rule.id}\n        {rule.title}: {rule.sentence}\n        {rule.remedy}\n"
        f"{f'        {rule.source}{chr(10)}' if rule.source else ''}"
        for rule in rules
    )


def _merge_same(findings: Iterable[Finding]) -> Iterator[Finding]:
    """The findings, with one for those of a rule that many whole documents break in the same way."""
    findings = list(findings)
    files = Counter(each.rule for each in findings if not each.line and each.times == 1)
    told = set()
    for each in findings:
        many = files[each.rule]
        if each.line or each.times > 1 or many <= _MAX_SEPARATE:
            yield each
        elif each.rule not in told:
            told.add(each.rule)
            yield replace(each, sentence=f"{each.sentence} (and {many - 1:,} more files, each as a whole)")


def _finding_line(finding: Finding, colour: bool, sources: bool) -> Iterator[str]:
    where = ":".join([finding.file or "document", *([str(finding.line)] if finding.line else ())])
    severity = _paint(finding.severity, _COLOUR[finding.severity], colour)
    yield f"{safe(where)}: {severity} {finding.rule}: {safe(finding.sentence)}"
    if sources:
        rule = RULES[finding.rule]
        yield f"    {rule.sentence} {rule.source}"


def _failing_text(number: int, fail_on: Severity) -> str:
    """The findings that are as bad as that, counted: "2 errors", "3 findings of level warning or worse"."""
    if fail_on is Severity.ERROR:
        return _count_text(number, fail_on)
    return f"{_count_text(number, 'finding')} of level {fail_on} or worse"


def _paint(text: str, code: str, colour: bool) -> str:
    return f"\x1b[{code}m{text}\x1b[0m" if colour else text


def _count_text(number: int, what: str) -> str:
    plural = what if number == 1 else "entries" if what == "entry" else f"{what}s"
    return f"{number:,} {plural}"
