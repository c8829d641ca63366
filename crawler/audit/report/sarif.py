"""Owns the report of an audit in SARIF 2.1.0, written as it comes, and no longer than code hosts take it.

https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/sarif-v2.1.0-errata01-os-complete.html
"""

from collections import Counter
from collections.abc import Iterator
from hashlib import sha256
from itertools import islice
from typing import Any, BinaryIO, Final

from msgspec.structs import asdict

from crawler.audit.finding import AuditReport, Finding, Findings
from crawler.audit.report.threshold import is_open
from crawler.audit.rules import GROUPS, TOLD, AuditRule, unproven
from sitemap import sarif_log, sarif_uri

MOST: Final = 25_000  # results: GitHub refuses a run with more
# https://docs.github.com/en/code-security/code-scanning/integrating-with-code-scanning/sarif-support-for-code-scanning
_SAID: Final = frozenset(
    {"rule", "url", "sentence", "file", "line", "is_certain"}
)  # in other places than properties


def write_sarif(report: AuditReport, findings: Findings, file: BinaryIO, most: int = MOST) -> None:
    """Write a log of one run with at most so many results, those of the worst rules first. Raises OSError.

    A finding that is inconclusive is a result of the kind "review" and so of the level "none" (section 3.27.10).
    ``properties`` of a result hold whatever else is known of its URL.

    If of every finding it is known whether it is new, each result has a ``baselineState`` (section 3.27.24: all of them
    or none); of what is new, ``properties.is_new`` says so in any case. What is mended is counted, and is no result: a
    code host takes what is missing for mended, and whatever is there for a fault.
    """
    rules = sorted(
        (TOLD[count.rule] for group in GROUPS for count in group.counts(report)),
        key=lambda rule: rule.severity,
        reverse=True,
    )
    results = _results(rules, findings, report)
    properties = {
        "url": report.url,
        "completeness": report.completeness,
        "doubts": report.doubts,
        "unchecked": report.absent | report.unchecked,
        "undecided": report.undecided,
        "findings": sum(each.total for each in report.counts),
        "maxResults": most,
    }
    if report.compared:
        properties |= {
            "comparedWith": report.compared.started,
            "uncompared": report.compared.uncompared,
            "mended": sum(each.mended for each in report.compared.trends),
            "becameAnother": sum(each.became for each in report.compared.trends),
        }
    pieces = sarif_log(map(_rule, rules), islice(results, most), report.version, properties=properties)
    file.writelines(piece.encode() for piece in pieces)


def _rule(rule: AuditRule) -> dict[str, Any]:
    told: dict[str, Any] = {
        "id": rule.id,
        "name": rule.title,
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": rule.sentence},
        "help": {"text": f"{rule.sentence} {rule.remedy}"},
        "defaultConfiguration": {"level": rule.severity.value},
        "properties": {"tags": [rule.family]},
    }
    if rule.source:
        told["helpUri"] = rule.source
    return told


def _results(rules: list[AuditRule], findings: Findings, report: AuditReport) -> Iterator[dict[str, Any]]:
    is_compared = report.compared and not any(is_open(report, each) for each in report.counts)
    for index, rule in enumerate(rules):
        met: Counter[str] = Counter()  # no more of them than results
        for finding in findings(rule.id):
            mark = _fingerprint(finding)
            met[mark] += 1
            result = _result(rule, index, finding, f"{mark}:{met[mark]}", report.url)
            if is_compared:
                result["baselineState"] = "new" if finding.is_new else "unchanged"
            yield result


def _result(rule: AuditRule, index: int, finding: Finding, fingerprint: str, site: str) -> dict[str, Any]:
    where: dict[str, Any] = {"artifactLocation": {"uri": sarif_uri(finding.file or finding.url or site)}}
    if finding.line:
        where["region"] = {"startLine": finding.line}
    about = f"{finding.url}: " if finding.url else ""
    properties = {name: value for name, value in asdict(finding).items() if value and name not in _SAID}
    for name in ("referrers", "hubs"):
        if name in properties:
            properties[name] = [asdict(each) for each in properties[name]]
    return {
        "ruleId": rule.id,
        "ruleIndex": index,
        **({"level": rule.severity.value} if finding.is_certain else {"kind": "review", "level": "none"}),
        "message": {
            "text": f"{about}{finding.sentence}{'' if finding.is_certain else f' {unproven(rule.id)}'}"
        },
        "locations": [{"physicalLocation": where}],
        "partialFingerprints": {"primaryLocationLineHash": fingerprint},
        "properties": {"url": finding.url, "conclusive": finding.is_certain, **properties},
    }


def _fingerprint(finding: Finding) -> str:
    """What stays the same from audit to audit: neither numbers nor dates, nor the line, which any edit moves.

    The key is the one by which GitHub knows results again.
    """
    about = "\0".join((finding.rule, finding.url, finding.file))
    return sha256(about.encode("utf-8", "surrogatepass")).hexdigest()[:32]
