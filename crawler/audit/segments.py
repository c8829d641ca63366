"""Counts pages and findings by segment: a part of the site that the configuration names by a pattern. Pure."""

from collections import Counter
from collections.abc import Mapping
from typing import Final

from msgspec.structs import replace

from crawler.audit.finding import AuditFinding, AuditFindings, AuditReport, SiteSegment
from crawler.audit.rule_groups import ORPHAN_FAMILIES, REPORTED_RULES, reported_counts
from crawler.errors import UsageError
from crawler.model import Url
from crawler.url.scope import ScopeError, UrlPattern
from sitemap import Severity

NO_SEGMENT: Final = ""  # the segment of a URL that no pattern matches


class Segments:
    """The segments of a site, in the order of the configuration. A URL belongs to the first one that matches."""

    def __init__(self, patterns: Mapping[str, str]) -> None:
        """``patterns`` are by the name of the segment (:mod:`crawler.url.scope`). Raises UsageError."""
        self._patterns: list[tuple[str, UrlPattern]] = []
        for name, text in patterns.items():
            try:
                self._patterns.append((name, UrlPattern(text)))
            except ScopeError as error:
                raise UsageError(f"--segment {name}: {error}") from None

    def __bool__(self) -> bool:
        return bool(self._patterns)

    def of_url(self, url: str) -> str:
        """The name of the segment of a URL, or :data:`NO_SEGMENT`."""
        if "://" not in url:
            return NO_SEGMENT
        return next((name for name, pattern in self._patterns if pattern.matches(Url(url))), NO_SEGMENT)

    def with_segment(self, finding: AuditFinding) -> AuditFinding:
        """A finding with the segment of its URL."""
        segment = self.of_url(finding.url)
        return replace(finding, segment=segment) if segment else finding

    def counted(self, pages: Mapping[str, int]) -> list[SiteSegment]:
        """The segments with their ``pages``, the rest of the site last; none without a configuration."""
        names = [name for name, _ in self._patterns]
        if names and pages.get(NO_SEGMENT):
            names.append(NO_SEGMENT)
        return [SiteSegment(name, pages.get(name, 0)) for name in names]


def count_findings(report: AuditReport, findings: AuditFindings) -> list[SiteSegment]:
    """The segments of a report with the findings in each. Reads each finding once if there are segments."""
    if not report.segments:
        return []
    by_severity: Counter[tuple[str, Severity]] = Counter()
    orphans: Counter[str] = Counter()
    for count in reported_counts(report):
        rule = REPORTED_RULES[count.rule]
        for finding in findings(rule.id):
            by_severity[finding.segment, rule.severity] += finding.times
            orphans[finding.segment] += finding.times * (rule.family in ORPHAN_FAMILIES)
    return [
        SiteSegment(
            each.name,
            each.pages,
            orphans[each.name],
            *(by_severity[each.name, severity] for severity in (Severity.ERROR, Severity.WARNING, Severity.NOTE)),
        )
        for each in report.segments
    ]
