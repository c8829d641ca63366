"""Groups findings by URL: by patterns that many URLs follow, and by the segments that a configuration names. Pure.

Ten thousand dead pages of an old shop are one thing to know.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from math import sqrt
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from crawler.audit.finding import AuditFinding, AuditFindings, AuditReport, FindingPattern, SiteSegment
from crawler.audit.rules import ORPHAN_FAMILIES, REPORTED_RULES
from crawler.audit.verdict import reported_counts
from crawler.errors import UsageError
from crawler.model import Url
from crawler.url.scope import ScopeError, UrlPattern
from sitemap import Severity

MIN_NUMBERED: Final = 5  # findings that differ in numbers only, and so form a pattern
MIN_BELOW: Final = 20  # findings below one directory that form a pattern
MAX_PATTERNS: Final = 20  # of one rule: the largest
MAX_EXAMPLES: Final = 3  # URLs of one pattern
_MAX_GROUPS: Final = 100_000  # groups of one rule in memory; then small ones are merged
LINK_RULES: Final = ("gone.linked", "link.")  # of findings whose remedy is to correct links
_LEVELS: Final = 3
_MIN_HASH: Final = 8  # characters of a hash

_origin = re.compile(r"[a-z]+://[^/?#]*", re.IGNORECASE).match
_runs = re.compile(r"[0-9a-z-]{8,}+", re.IGNORECASE).sub
_is_hexadecimal = re.compile(r"[0-9a-f-]+", re.IGNORECASE).fullmatch
_number = re.compile(r"\d+")
_value = re.compile(r"=[^&]*")


def _mask_hashes(run: re.Match[str]) -> str:
    """A run of letters, digits and hyphens, with ``{id}`` for the run or for each part of it that is like a hash."""
    if _is_hash(run[0]):
        return "{id}"
    return "-".join("{id}" if _is_hash(part) else part for part in run[0].split("-"))


def _is_hash(text: str) -> bool:
    digits = sum(map(str.isdecimal, text))
    return len(text) >= _MIN_HASH and 0 < digits < len(text) - text.count("-") and bool(_is_hexadecimal(text))


def url_patterns(url: str) -> tuple[str, ...]:
    """The patterns of a URL, from narrow to wide: without its numbers, without its name, and its first directory."""
    match = _origin(url)
    origin = match[0] if match else ""
    masked = _number.sub("{n}", _runs(_mask_hashes, url[len(origin) :]))
    path, mark, query = masked.partition("?")
    if mark:
        return f"{origin}{masked}", f"{origin}{path}?{_value.sub('=*', query)}", f"{origin}{path}?*"
    bare = path.rstrip("/")
    directory = bare[: bare.rfind("/") + 1]
    first = path[: path.find("/", 1) + 1]
    if len(directory) < 2:
        return (f"{origin}{masked}",)
    return f"{origin}{masked}", f"{origin}{directory}*", f"{origin}{first}*"


class FindingGroup(Struct):
    """Findings that are counted together. ``level`` is that of the pattern, ``visits`` are those by people.

    ``demand`` sums the demand for each URL, ``roots`` its square roots.
    """

    level: int
    patterns: tuple[str, ...]
    findings: int = 0
    count: int = 0
    visits: int = 0
    demand: float = 0.0
    roots: float = 0.0
    examples: list[str] = []

    @property
    def is_pattern(self) -> bool:
        """Whether it is large enough to be shown as one."""
        return self.findings >= (MIN_BELOW if self.level else MIN_NUMBERED)

    def absorb(self, other: "FindingGroup") -> None:
        """Add the findings of another group."""
        self.findings += other.findings
        self.count += other.count
        self.visits += other.visits
        self.demand += other.demand
        self.roots += other.roots
        self.examples = [*self.examples, *other.examples][:MAX_EXAMPLES]


class PatternCounter:
    """Groups the findings of one rule, each added once. Memory grows with the patterns, up to a limit."""

    def __init__(self, rule: str) -> None:
        self._rule = rule
        self._groups: dict[str, FindingGroup] = {}

    def add(self, finding: AuditFinding) -> None:
        """Count a finding. Those added first are the examples."""
        wanted = demand(finding)
        group = FindingGroup(
            0, url_patterns(finding.url), 1, finding.times, finding.people, wanted, sqrt(wanted), [finding.url]
        )
        self._put(group)
        if len(self._groups) > _MAX_GROUPS:
            self.merge()

    def merge(self) -> list[FindingGroup]:
        """Merge the groups that are too small for a pattern with others below the same directory; returns all."""
        for level in range(1, _LEVELS):
            small = [
                (key, group) for key, group in self._groups.items() if group.level == level - 1 and not group.is_pattern
            ]
            for key, group in small:
                if len(group.patterns) > level:
                    del self._groups[key]
                    group.level = level
                    self._put(group)
        return list(self._groups.values())

    def patterns(self) -> list[FindingPattern]:
        """The largest patterns, after :meth:`merge`."""
        groups = sorted((group for group in self._groups.values() if group.is_pattern), key=lambda group: -group.count)
        return [
            FindingPattern(self._rule, group.patterns[group.level], group.count, group.visits, group.examples)
            for group in groups[:MAX_PATTERNS]
        ]

    def _put(self, group: FindingGroup) -> None:
        key = group.patterns[group.level]
        if known := self._groups.get(key):
            known.absorb(group)
        else:
            self._groups[key] = group


def demand(finding: AuditFinding) -> float:
    """How much people want the URL: visits, searches and links from other sites, in one number.

    Of a link to correct, also the pages that have it: an error in the menu of a site meets more people than one in a
    single text.
    """
    visits = max(finding.people, finding.clicks, finding.sessions, finding.views, finding.users)
    links = finding.inlinks / 10 if finding.rule.startswith(LINK_RULES) else 0
    return visits + links + finding.impressions / 100 + 10 * (finding.domains or finding.backlinks)


def fold_findings(
    findings: Iterable[AuditFinding], patterns: Iterable[FindingPattern]
) -> Iterator[AuditFinding | FindingPattern]:
    """The findings of one rule, where those of a pattern are replaced by the pattern, at the place of the first."""
    known = {pattern.pattern: pattern for pattern in patterns}
    shown: set[str] = set()
    for finding in findings:
        key = next((key for key in url_patterns(finding.url) if key in known), None) if known else None
        if key is None:
            yield finding
        elif key not in shown:
            shown.add(key)
            yield known[key]


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
                raise UsageError(f"audit.segments.{name}: {error}") from None

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
            segment.name,
            segment.pages,
            orphans[segment.name],
            *(by_severity[segment.name, severity] for severity in (Severity.ERROR, Severity.WARNING, Severity.NOTE)),
        )
        for segment in report.segments
    ]
