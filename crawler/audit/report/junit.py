"""Owns the report of an audit in JUnit's XML: a suite for each group of rules, a case for each rule."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from typing import Final

from crawler.audit.finding import (
    AuditFinding,
    AuditFindings,
    AuditReport,
    ResolvedFinding,
    RuleCount,
    RuleTrend,
)
from crawler.audit.report.threshold import failing_counts
from crawler.audit.rules import REPORTED_RULES, RuleGroup, reported_groups, why_unproven
from crawler.audit.verdict import why_inconclusive, why_not_checked_or_absent, why_uncertain
from sitemap import JUnitCase, JUnitOutcome, JUnitSuite, junit_xml

MAX_FINDINGS_PER_RULE: Final = 100  # findings of a rule that are told one by one


def as_junit(report: AuditReport, findings: AuditFindings, fail_on: Sequence[str] = ("error",)) -> str:
    """The document, of a size that does not grow with the site. Raises UsageError for a bad ``fail_on``.

    Every rule of the audit is a case; of lint, the rules that were broken. A case without findings passes if somebody
    looked everywhere, and is skipped otherwise, with the reason. One with certain findings fails if ``fail_on`` names
    it (:func:`crawler.audit.report.threshold.failing`); if all it has is inconclusive, it is skipped, with the
    reason. Otherwise it passes, and its output tells.
    """
    failed = {each.rule: each for each in failing_counts(report, fail_on)}
    return junit_xml(
        f"siteatlas audit {report.url}",
        [
            JUnitSuite(
                group.title, [_case(rule, group, report, findings, failed.get(rule)) for rule in rules]
            )
            for group, rules in reported_groups(report)
        ],
    )


def _case(
    rule: str, group: RuleGroup, report: AuditReport, findings: AuditFindings, failed: RuleCount | None
) -> JUnitCase:
    count = report.count(rule)
    mended = [_resolved_text(each) for each in islice(findings.resolved(rule), MAX_FINDINGS_PER_RULE)]
    if not count.total:
        return replace(_passed_case(rule, group, report), text="\n".join(mended))
    told = REPORTED_RULES[rule]
    some = list(islice(findings(rule), MAX_FINDINGS_PER_RULE))
    more = count.total - sum(each.times for each in some)
    outcome, message = JUnitOutcome.PASSED, ""
    trend = report.compared.trend(rule) if report.compared else None
    if failed:
        what = " new" if failed.certain < count.certain else ""
        outcome, message = JUnitOutcome.FAILED, f"{told.title}: {failed.certain:,}{what}"
    elif not count.certain:
        reason = why_uncertain(report, rule)
        outcome, message = JUnitOutcome.SKIPPED, f"inconclusive: {reason or why_unproven(rule)}"
    lines = [
        f"{told.severity}: {count.certain:,} certain, {count.open_:,} inconclusive{_trend_text(trend)}",
        f"{told.sentence} {told.remedy}",
        *map(_line, some),
        *([f"and {more:,} more"] if more > 0 else []),
        *mended,
        *([told.source] if told.source else []),
    ]
    return JUnitCase(
        name=rule,
        place=group.title,
        outcome=outcome,
        message=message,
        kind=told.severity.value,
        text="\n".join(lines),
    )


def _passed_case(rule: str, group: RuleGroup, report: AuditReport) -> JUnitCase:
    """A rule without findings: there are none, or nobody looked for them, or not everywhere."""
    why = why_not_checked_or_absent(report, rule, group)
    message = f"not checked: {why}" if why else ""
    if not why and (why := why_inconclusive(report, rule, group)):
        message = f"not decided: {why}"
    outcome = JUnitOutcome.SKIPPED if message else JUnitOutcome.PASSED
    return JUnitCase(name=rule, place=group.title, outcome=outcome, message=message)


def _line(finding: AuditFinding) -> str:
    where = (
        f" ({finding.file}:{finding.line})" if finding.line else f" ({finding.file})" if finding.file else ""
    )
    doubt = "" if finding.is_certain else "inconclusive: "
    since = "new: " if finding.is_new else ""
    return f"{since}{doubt}{finding.url}{where}: {finding.sentence}"


def _trend_text(trend: RuleTrend | None) -> str:
    if trend is None:
        return ""
    became = f", {trend.became:,} became another finding" if trend.became else ""
    return f"; {trend.new:,} new, {trend.still:,} still there, {trend.mended:,} mended{became}"


def _resolved_text(each: ResolvedFinding) -> str:
    where = f" ({each.file})" if each.file and each.file != each.url else ""
    what = f"became {each.became}" if each.became else "mended"
    return f"{what}: {each.url}{where}: since {each.since}; {each.now}"
