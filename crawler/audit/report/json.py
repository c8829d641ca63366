"""Owns the report of an audit in JSON: a stable form for programs, told in :func:`write_json`, written as it comes."""

import json
from typing import Any, BinaryIO, Final

import msgspec

from crawler.audit.finding import AuditFindings, AuditReport
from crawler.audit.rules import REPORTED_RULES, RULE_GROUPS

FORMAT_VERSION: Final = 1
_encode = msgspec.json.Encoder().encode


def write_json(report: AuditReport, findings: AuditFindings, file: BinaryIO) -> None:
    """Write one JSON object in UTF-8. New keys may join it; what is there keeps its meaning. Raises OSError.

    ``format`` is 1. The other keys are the fields of :class:`crawler.audit.finding.AuditReport`, of which ``counts``
    has
    ``rule``, ``severity``, ``title``, ``certain`` and ``inconclusive`` for each rule with findings; and ``findings``, a
    list of all of them, rule by rule, each with its ``severity``, all fields of
    :class:`crawler.audit.finding.AuditFinding`, and null for what is not known; and ``mended``, a list of what the
    audit
    before had and is no more, with all fields of :class:`crawler.audit.finding.Mended`, of which what has a
    ``became`` is
    another finding now. Halves of characters, which UTF-8 cannot hold, are question marks.
    """
    whole = {"format": FORMAT_VERSION, **msgspec.to_builtins(report), "counts": _counts(report)}
    file.write(_json(whole)[:-1] + b',\n"findings":[')
    between = b"\n"
    for group in RULE_GROUPS:
        for count in group.counts(report):
            severity = REPORTED_RULES[count.rule].severity.value
            for finding in findings(count.rule):
                told = {"rule": finding.rule, "severity": severity, **msgspec.structs.asdict(finding)}
                file.write(between + _json(told))
                between = b",\n"
    file.write(b'\n],\n"mended":[')
    between = b"\n"
    for rule in REPORTED_RULES:
        for gone in findings.resolved(rule):
            file.write(between + _json(msgspec.structs.asdict(gone)))
            between = b",\n"
    file.write(b"\n]}\n")


def _counts(report: AuditReport) -> list[dict[str, Any]]:
    return [
        {
            "rule": each.rule,
            "severity": REPORTED_RULES[each.rule].severity.value,
            "title": REPORTED_RULES[each.rule].title,
            "certain": each.certain,
            "inconclusive": each.open_,
        }
        for group in RULE_GROUPS
        for each in group.counts(report)
    ]


def _json(value: dict[str, Any]) -> bytes:
    try:
        return _encode(value)
    except UnicodeEncodeError:  # half a character, which is rare
        return json.dumps(msgspec.to_builtins(value), ensure_ascii=False).encode("utf-8", "replace")
