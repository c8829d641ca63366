"""Writes an audit as JSON for programs, in a stable format (:func:`write_json`), as a stream."""

import json
from typing import Any, BinaryIO, Final

import msgspec

from crawler.audit.finding import AuditFinding, AuditFindings, AuditReport
from crawler.audit.rule_groups import REPORTED_RULES, RULE_GROUPS

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
    file.write(_json(head)[:-1] + b',\n"findings":[')
    separator = b"\n"
    for group in RULE_GROUPS:
        for count in group.counts(report):
            severity = REPORTED_RULES[count.rule].severity.value
            for finding in findings(count.rule):
                file.write(separator + _json(_finding_row(finding, severity)))
                separator = b",\n"
    file.write(b'\n],\n"accepted_findings":[')
    separator = b"\n"
    for entry in range(len(report.accepted)):
        for finding in findings.accepted(entry):
            file.write(separator + _json({"entry": entry, **_finding_row(finding, finding.severity.value)}))
            separator = b",\n"
    file.write(b'\n],\n"mended":[')
    separator = b"\n"
    for rule in REPORTED_RULES:
        for resolved in findings.resolved(rule):
            file.write(separator + _json(msgspec.structs.asdict(resolved)))
            separator = b",\n"
    file.write(b"\n]}\n")


def _finding_row(finding: AuditFinding, severity: str) -> dict[str, Any]:
    return {"rule": finding.rule, "severity": severity, **msgspec.structs.asdict(finding)}


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
        for group in RULE_GROUPS
        for count in group.counts(report)
    ]


def _json(value: dict[str, Any]) -> bytes:
    try:
        return _encode(value)
    except UnicodeEncodeError:  # a lone surrogate, which is rare
        return json.dumps(msgspec.to_builtins(value), ensure_ascii=False).encode("utf-8", "replace")
