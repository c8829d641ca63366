"""Writes an audit as JUnit XML: a suite for each group of rules, a case for each rule."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from typing import Final

from crawler.audit.finding import AuditFinding, AuditFindings, AuditReport, ResolvedFinding, RuleCount, RuleTrend
from crawler.audit.report.threshold import failing_counts
from crawler.audit.rule_groups import REPORTED_RULES, RuleGroup, reported_groups
from crawler.audit.rules import why_unproven
from crawler.audit.verdict import why_inconclusive, why_not_checked_or_absent, why_uncertain
from sitemap import JUnitCase, JUnitOutcome, JUnitSuite, junit_xml

MAX_FINDINGS_PER_RULE: Final = 100  # findings of a rule that are listed


def as_junit(report: AuditReport, findings: AuditFindings, fail_on: Sequence[str] = ("error",)) -> str:
    """The document, of a size that does not grow with the site. Raises UsageError for a bad ``fail_on``.

    Every rule of the audit is a case, and every rule of lint that has findings. A case without findings passes if the
    rule was checked completely; otherwise it is skipped, with the reason. A case with certain findings fails if
    ``fail_on`` names it (:func:`crawler.audit.report.threshold.failing_counts`). A case with only inconclusive findings
    is skipped, with the reason. Any other passes, and its output lists the findings.
    """
    failing = {count.rule: count for count in failing_counts(report, fail_on)}
    return junit_xml(
        f"siteatlas audit {report.url}",
        [
            JUnitSuite(group.title, [_case(rule, group, report, findings, failing.get(rule)) for rule in rules])
            for group, rules in reported_groups(report)
        ],
    )


def _case(
    rule: str, group: RuleGroup, report: AuditReport, findings: AuditFindings, failed: RuleCount | None
) -> JUnitCase:
    count = report.count(rule)
    resolved = [_resolved_text(finding) for finding in islice(findings.resolved(rule), MAX_FINDINGS_PER_RULE)]
    if not count.total:
        return replace(_passed_case(rule, group, report), text="\n".join(resolved))
    definition = REPORTED_RULES[rule]
    shown = list(islice(findings(rule), MAX_FINDINGS_PER_RULE))
    more = count.total - sum(finding.times for finding in shown)
    outcome, message = JUnitOutcome.PASSED, ""
    trend = report.compared.trend(rule) if report.compared else None
    if failed:
        qualifier = " new" if failed.certain < count.certain else ""
        outcome, message = JUnitOutcome.FAILED, f"{definition.title}: {failed.certain:,}{qualifier}"
    elif not count.certain:
        reason = why_uncertain(report, rule)
        outcome, message = JUnitOutcome.SKIPPED, f"inconclusive: {reason or why_unproven(rule)}"
    lines = [
        f"{definition.severity}: {count.certain:,} certain, {count.open_:,} inconclusive{_trend_text(trend)}",
        f"{definition.sentence} {definition.remedy}",
        *map(_line, shown),
        *([f"and {more:,} more"] if more > 0 else []),
        *resolved,
        *([definition.source] if definition.source else []),
    ]
    return JUnitCase(
        name=rule,
        place=group.title,
        outcome=outcome,
        message=message,
        kind=definition.severity.value,
        text="\n".join(lines),
    )


def _passed_case(rule: str, group: RuleGroup, report: AuditReport) -> JUnitCase:
    """The case of a rule without findings: passed, or skipped if it was not checked, or only in part."""
    reason = why_not_checked_or_absent(report, rule, group)
    message = f"not checked: {reason}" if reason else ""
    if not reason and (reason := why_inconclusive(report, rule, group)):
        message = f"not decided: {reason}"
    outcome = JUnitOutcome.SKIPPED if message else JUnitOutcome.PASSED
    return JUnitCase(name=rule, place=group.title, outcome=outcome, message=message)


def _line(finding: AuditFinding) -> str:
    where = f" ({finding.file}:{finding.line})" if finding.line else f" ({finding.file})" if finding.file else ""
    doubt = "" if finding.is_certain else f"{finding.certainty.value}: "
    since = "new: " if finding.is_new else ""
    return f"{since}{doubt}{finding.url}{where}: {finding.sentence}"


def _trend_text(trend: RuleTrend | None) -> str:
    if trend is None:
        return ""
    became = f", {trend.became:,} became another finding" if trend.became else ""
    return f"; {trend.new:,} new, {trend.still:,} still there, {trend.mended:,} resolved{became}"


def _resolved_text(finding: ResolvedFinding) -> str:
    where = f" ({finding.file})" if finding.file and finding.file != finding.url else ""
    outcome = f"became {finding.became}" if finding.became else "resolved"
    return f"{outcome}: {finding.url}{where}: since {finding.since}; {finding.now}"
