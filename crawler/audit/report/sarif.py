"""Owns the report of an audit in SARIF 2.1.0, written as it comes, and no longer than code hosts take it.

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
from crawler.audit.rules import REPORTED_RULES, RULE_GROUPS, why_unproven
from sitemap import sarif

MAX_RESULTS: Final = 25_000  # results: GitHub refuses a run with more
# https://docs.github.com/en/code-security/code-scanning/integrating-with-code-scanning/sarif-support-for-code-scanning
_FIELDS_SAID_ELSEWHERE: Final = {
    "rule",
    "url",
    "sentence",
    "file",
    "line",
    "is_certain",
}  # in other places than properties


def write_sarif(
    report: AuditReport, findings: AuditFindings, file: BinaryIO, most: int = MAX_RESULTS
) -> None:
    """Write a log of one run with at most so many results, those of the worst rules first. Raises OSError.

    A finding that is inconclusive is a result of the kind "review" and so of the level "none" (section 3.27.10).
    ``properties`` of a result hold whatever else is known of its URL.

    If of every finding it is known whether it is new, each result has a ``baselineState`` (section 3.27.24: all of them
    or none); of what is new, ``properties.is_new`` says so in any case. What is mended is counted, and is no result: a
    code host takes what is missing for mended, and whatever is there for a fault.
    """
    rules = sorted(
        (REPORTED_RULES[count.rule] for group in RULE_GROUPS for count in group.counts(report)),
        key=lambda rule: rule.severity,
        reverse=True,
    )
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
    met: Counter[str] = Counter()  # no more of them than results
    is_compared = report.compared and not any(is_open(report, each) for each in report.counts)

    def more(finding: AuditFinding) -> dict[str, Any]:
        mark = _fingerprint(finding)
        met[mark] += 1
        result = _more(finding) | {"partialFingerprints": {"primaryLocationLineHash": f"{mark}:{met[mark]}"}}
        if is_compared:
            result["baselineState"] = "new" if finding.is_new else "unchanged"
        return result

    results = chain.from_iterable(map(_result, findings(rule.id)) for rule in rules)
    log = sarif(
        rules, islice(results, most), report.version, site=report.url, more=more, properties=properties
    )
    file.writelines(piece.encode() for piece in log)


def _result(finding: AuditFinding) -> AuditFinding:
    """The finding; its sentence says why it is inconclusive, if it is."""
    if finding.is_certain:
        return finding
    return replace(finding, sentence=f"{finding.sentence} {why_unproven(finding.rule)}")


def _more(finding: AuditFinding) -> dict[str, Any]:
    """What a result has beside its rule, its message and its place."""
    known = {
        name: value for name, value in asdict(finding).items() if value and name not in _FIELDS_SAID_ELSEWHERE
    }
    level = {} if finding.is_certain else {"kind": "review", "level": "none"}
    return {
        **level,
        "properties": {"url": finding.url, "conclusive": finding.is_certain, **to_builtins(known)},
    }


def _fingerprint(finding: AuditFinding) -> str:
    """What stays the same from audit to audit: neither numbers nor dates, nor the line, which any edit moves.

    The key is the one by which GitHub knows results again.
    """
    about = "\0".join((finding.rule, finding.url, finding.file))
    return sha256(about.encode("utf-8", "surrogatepass")).hexdigest()[:32]
