"""Writes an audit for programs: JSON in a stable format (:func:`write_json`), JUnit XML and SARIF 2.1.0.

JUnit XML has a suite for each group of rules, and a case for each rule. SARIF is no larger than code hosts accept:
https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/sarif-v2.1.0-errata01-os-complete.html
"""

import dataclasses
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from hashlib import sha256
from itertools import chain, islice
from typing import Any, BinaryIO, Final

import msgspec
from msgspec import to_builtins
from msgspec.structs import asdict, replace

from crawler.audit.finding import AuditFinding, AuditFindings, AuditReport, ResolvedFinding, RuleCount, RuleTrend
from crawler.audit.rules import REPORTED_RULES, WHY_LIKELY, RuleGroup, why_unproven
from crawler.audit.verdict import (
    count_unsettled,
    failing_counts,
    reported_counts,
    reported_groups,
    why_inconclusive,
    why_not_checked_or_absent,
    why_uncertain,
)
from sitemap import JUnitCase, JUnitOutcome, JUnitSuite, junit_xml, sarif

FORMAT_VERSION: Final = 1
_encode = msgspec.json.Encoder().encode


def write_json(report: AuditReport, findings: AuditFindings, file: BinaryIO) -> None:
    """Write one JSON object in UTF-8. Later versions may add keys, but keep the meaning of these. Raises OSError.

    ``format`` is 1. The other keys are the fields of :class:`crawler.audit.finding.AuditReport`, where ``counts`` has
    ``rule``, ``severity``, ``title``, ``certain``, ``likely`` and ``inconclusive`` for each rule with findings;
    ``findings``, a list of all findings, rule by rule, each with its ``severity`` and all fields of
    :class:`crawler.audit.finding.AuditFinding`, null for unknown ones; ``accepted_findings``, the accepted ones, each
    also with the index of its entry in ``accepted`` as ``entry``; and ``mended``, a list of the findings that only the
    previous audit has, with all fields of :class:`crawler.audit.finding.ResolvedFinding`. Lone surrogates, which UTF-8
    cannot encode, become question marks.
    """
    head = {"format": FORMAT_VERSION, **msgspec.to_builtins(report), "counts": _counts(report)}
    file.write(_json(head)[:-1])
    found = (finding for count in reported_counts(report) for finding in findings(count.rule))
    accepted = ((entry, finding) for entry in range(len(report.accepted)) for finding in findings.accepted(entry))
    lists: dict[str, Iterator[dict[str, Any]]] = {
        "findings": map(_finding_row, found),
        "accepted_findings": ({"entry": entry, **_finding_row(finding)} for entry, finding in accepted),
        "mended": (asdict(resolved) for rule in REPORTED_RULES for resolved in findings.resolved(rule)),
    }
    for name, rows in lists.items():
        file.write(f',\n"{name}":['.encode())
        file.writelines((b",\n" if number else b"\n") + _json(row) for number, row in enumerate(rows))
        file.write(b"\n]")
    file.write(b"}\n")


def _finding_row(finding: AuditFinding) -> dict[str, Any]:
    fields = asdict(finding)
    del fields["rests_on"]  # for the next audit: its comparison keeps them
    return {"rule": finding.rule, "severity": finding.severity.value, **fields}


def _counts(report: AuditReport) -> list[dict[str, Any]]:
    return [
        {
            "rule": count.rule,
            "severity": REPORTED_RULES[count.rule].severity.value,
            "title": REPORTED_RULES[count.rule].title,
            "certain": count.certain - count.likely,
            "likely": count.likely,
            "inconclusive": count.open_,
        }
        for count in reported_counts(report)
    ]


def _json(value: dict[str, Any]) -> bytes:
    try:
        return _encode(value)
    except UnicodeEncodeError:  # a lone surrogate, which is rare
        return json.dumps(msgspec.to_builtins(value), ensure_ascii=False).encode("utf-8", "replace")


MAX_FINDINGS_PER_RULE: Final = 100  # findings of a rule that are listed


def as_junit(report: AuditReport, findings: AuditFindings, fail_on: Sequence[str] = ("error",)) -> str:
    """The document, of a size that does not grow with the site. Raises UsageError for a bad ``fail_on``.

    Every rule of the audit is a case, and every rule of lint that has findings. A case without findings passes if the
    rule was checked completely; otherwise it is skipped, with the reason. A case with certain findings fails if
    ``fail_on`` names it (:func:`crawler.audit.verdict.failing_counts`). A case with only inconclusive findings
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
        return dataclasses.replace(_passed_case(rule, group, report), text="\n".join(resolved))
    definition = REPORTED_RULES[rule]
    shown = list(islice(findings(rule), MAX_FINDINGS_PER_RULE))
    more = count.total - sum(finding.times for finding in shown)
    outcome, message = JUnitOutcome.PASSED, ""
    trend = report.trend(rule) if report.compared else None
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


MAX_RESULTS: Final = 25_000  # results: GitHub refuses a run with more
# https://docs.github.com/en/code-security/code-scanning/integrating-with-code-scanning/sarif-support-for-code-scanning
_FIELDS_OUTSIDE_PROPERTIES: Final = {"rule", "url", "sentence", "file", "line", "is_certain"}


def write_sarif(report: AuditReport, findings: AuditFindings, file: BinaryIO, most: int = MAX_RESULTS) -> None:
    """Write a log of one run with at most ``limit`` results, those of the worst rules first. Raises OSError.

    An inconclusive finding is a result of the kind "review" and so of the level "none" (section 3.27.10). The
    ``properties`` of a result hold the rest of the evidence.

    If every finding is known to be new or not, each result has a ``baselineState`` (section 3.27.24: all of them or
    none); ``properties.is_new`` marks new ones in any case. Resolved findings are counted, but are no results: a code
    host takes a missing result as fixed, and any result as a fault.
    """
    rules = sorted(
        (REPORTED_RULES[count.rule] for count in reported_counts(report)), key=lambda rule: rule.severity, reverse=True
    )
    properties = {
        "url": report.url,
        "completeness": report.completeness,
        "doubts": report.doubts,
        "unchecked": report.absent | report.unchecked,
        "undecided": report.undecided,
        "findings": sum(item.total for item in report.counts),
        "maxResults": most,
    }
    if report.compared:
        properties |= {
            "comparedWith": report.compared.started,
            "uncompared": report.compared.uncompared,
            "mended": report.compared.total.mended,
            "becameAnother": report.compared.total.became,
        }
    fingerprints: Counter[str] = Counter()  # no more of them than results
    is_compared = report.compared and not any(count_unsettled(report, item) for item in report.counts)

    def extra(finding: AuditFinding) -> dict[str, Any]:
        about = "\0".join((finding.rule, finding.url, finding.file))  # stable from audit to audit: GitHub matches by it
        mark = sha256(about.encode("utf-8", "surrogatepass")).hexdigest()[:32]
        fingerprints[mark] += 1
        result = _more(finding) | {"partialFingerprints": {"primaryLocationLineHash": f"{mark}:{fingerprints[mark]}"}}
        if is_compared:
            result["baselineState"] = "new" if finding.is_new else "unchanged"
        return result

    results = chain.from_iterable(map(_result, findings(rule.id)) for rule in rules)
    log = sarif(rules, islice(results, most), report.version, site=report.url, more=extra, properties=properties)
    file.writelines(piece.encode() for piece in log)


def _result(finding: AuditFinding) -> AuditFinding:
    """The finding, with the reason in its sentence if it is likely or inconclusive."""
    if finding.is_certain:
        return finding
    why = why_unproven(finding.rule) if finding.is_open else WHY_LIKELY
    return replace(finding, sentence=f"{finding.sentence} {why}")


def _more(finding: AuditFinding) -> dict[str, Any]:
    """The parts of a result beside its rule, message and location."""
    fields = {
        name: value for name, value in asdict(finding).items() if value and name not in _FIELDS_OUTSIDE_PROPERTIES
    }
    level = {"kind": "review", "level": "none"} if finding.is_open else {}
    return {**level, "properties": {"url": finding.url, "conclusive": finding.is_certain, **to_builtins(fields)}}
