"""Writes an audit as SARIF 2.1.0, as a stream, and no larger than code hosts accept.

https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/sarif-v2.1.0-errata01-os-complete.html
"""

from collections import Counter
from hashlib import sha256
from itertools import chain, islice
from typing import Any, BinaryIO, Final

from msgspec import to_builtins
from msgspec.structs import asdict, replace

from crawler.audit.finding import AuditFinding, AuditFindings, AuditReport
from crawler.audit.report.threshold import is_open
from crawler.audit.rule_groups import REPORTED_RULES, reported_counts
from crawler.audit.rules import WHY_LIKELY, why_unproven
from sitemap import sarif

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
    is_compared = report.compared and not any(is_open(report, item) for item in report.counts)

    def extra(finding: AuditFinding) -> dict[str, Any]:
        mark = _fingerprint(finding)
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


def _fingerprint(finding: AuditFinding) -> str:
    """The part of a finding that is stable from audit to audit: no numbers, no dates, no line.

    GitHub matches results by it.
    """
    about = "\0".join((finding.rule, finding.url, finding.file))
    return sha256(about.encode("utf-8", "surrogatepass")).hexdigest()[:32]
