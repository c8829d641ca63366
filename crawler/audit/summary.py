"""Summarizes an audit for notifications: a few figures, and the first new findings. Pure."""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, Final

import msgspec
from msgspec import Struct

from crawler.audit.finding import AuditFindings, AuditPoint, AuditReport, RuleCount, RuleTrend, sum_trends
from crawler.audit.rules import REPORTED_RULES, RULE_GROUPS, RuleGroup
from crawler.audit.verdict import group_counts, rests_on, verdict_kind
from crawler.units import count_text, w3c
from sitemap import Rule, Severity

MAX_NAMED: Final = 10  # new findings in a summary


class GroupSummary(Struct, frozen=True, kw_only=True):
    """How many findings one group of rules has, and how many are new, resolved (``mended``) or replaced (``became``).

    ``name`` is that of a :class:`crawler.audit.rules.RuleGroup`: orphans, dead, health … ``severities`` counts its
    findings, the worst first, without zeros.
    """

    name: str
    title: str
    total: int = 0
    new: int = 0
    mended: int = 0
    became: int = 0
    severities: dict[str, int] = {}

    @property
    def severities_text(self) -> str:
        """Its findings by severity: ``3 errors, 9 warnings``; "" for none."""
        return ", ".join(count_text(number, name) for name, number in self.severities.items())


class NewFinding(Struct, frozen=True, kw_only=True):
    """One finding that the previous audit did not have."""

    rule: str
    severity: str
    title: str  # of the rule
    url: str
    sentence: str


class AuditSummary(AuditPoint, frozen=True, kw_only=True):
    """One audit, by its ``number`` among those of its site; it began at ``started`` (Unix time).

    ``before`` is when the previous audit began, None: there is none, and nothing can be new. ``verdict`` is a
    :class:`crawler.audit.verdict.VerdictKind`; ``why`` says what keeps it from being conclusive. ``uncompared`` counts
    the rules that could not be compared. ``severities`` counts findings, the worst first; ``groups`` are those with
    findings now or before; ``first`` are some of the new findings, the worst first. ``rests_on`` names the crawl and
    its age. ``rules``, ``unchecked`` and ``bots`` are as in :class:`crawler.audit.finding.AuditPoint`.
    """

    before: float | None
    why: str
    uncompared: int
    groups: list[GroupSummary]
    first: list[NewFinding]
    rests_on: str = ""

    @property
    def total(self) -> int:
        """All findings."""
        return sum(self.severities.values())

    @property
    def new(self) -> int:
        """Those that the previous audit did not have."""
        return sum(group.new for group in self.groups)

    @property
    def mended(self) -> int:
        """Those of the previous audit that are resolved."""
        return sum(group.mended for group in self.groups)

    @property
    def became(self) -> int:
        """Those of the previous audit that another finding replaces."""
        return sum(group.became for group in self.groups)

    @property
    def more(self) -> int:
        """The new ones that are not among the ``first``."""
        return max(0, self.new - len(self.first))

    @property
    def is_worth_sending(self) -> bool:
        """Whether it differs from the previous audit, or is the first one."""
        return self.before is None or bool(self.new or self.mended or self.became)

    @property
    def sentence(self) -> str:
        """The figures, without a full stop: ``12 findings (3 errors, 9 warnings), 2 new, 1 resolved``."""
        if not self.total:
            text = "no findings"
        else:
            kinds = [count_text(number, name) for name, number in self.severities.items() if number]
            text = f"{count_text(self.total, 'finding')} ({', '.join(kinds)})"
        if self.before is None:
            return text
        since = [
            f"{number:,} {change}"
            for number, change in (
                (self.new, "new"),
                (self.mended, "resolved"),
                (self.became, "became another finding"),
            )
            if number
        ]
        if self.uncompared:
            since.append(f"{count_text(self.uncompared, 'class', 'classes')} not compared")
        return ", ".join((text, *(since or ["nothing new"])))

    def as_values(self) -> dict[str, Any]:
        """The fields but those for trends, and the totals, as JSON values; times are W3C datetimes in UTC."""
        built: dict[str, Any] = msgspec.to_builtins(self)
        for name in ("rules", "unchecked", "bots"):
            del built[name]
        return {
            **built,
            "started": w3c(self.started),
            "before": None if self.before is None else w3c(self.before),
            "findings": self.total,
            "new": self.new,
            "mended": self.mended,
            "became": self.became,
            "more": self.more,
        }


def summarize(report: AuditReport, number: int, findings: AuditFindings) -> AuditSummary:
    """Summarize a report; takes the first new findings from ``findings``."""
    compared = report.compared
    return AuditSummary(
        number=number,
        started=report.started,
        before=compared.started if compared else None,
        verdict=verdict_kind(report).value,
        why=next(iter(report.doubts), report.unchecked.get("orphans", "")),
        pages=report.pages,
        uncompared=len(compared.uncompared) if compared else 0,
        severities=_severities(report.counts),
        groups=[summary for group in RULE_GROUPS if (summary := _summarize_group(group, report))],
        first=list(islice(_first_findings(report.trends, findings), MAX_NAMED)),
        rests_on=rests_on(report),
        rules={count.rule: count.total for count in report.counts if count.total},
        unchecked=sorted(report.unchecked),
        bots=report.bots.total if report.bots else None,
    )


def audit_point(summary: AuditSummary) -> AuditPoint:
    """The numbers of an audit, for trends."""
    return AuditPoint(**{name: getattr(summary, name) for name in AuditPoint.__struct_fields__})


class RuleHistory(Struct, frozen=True):
    """The numbers of findings of one rule in several audits, the oldest first; None: unknown."""

    rule: Rule
    totals: list[int | None]


def rule_histories(points: Sequence[AuditPoint]) -> list[RuleHistory]:
    """The history of each rule that has findings in one of these audits, in the order of the reports."""
    histories = [
        RuleHistory(REPORTED_RULES[rule], [point.found(rule, group.name) for point in points])
        for group in RULE_GROUPS
        for rule in group.rules
    ]
    return [history for history in histories if any(history.totals)]


def _severities(counts: Sequence[RuleCount]) -> dict[str, int]:
    totals = dict.fromkeys((count.value for count in Severity), 0)
    for count in counts:
        totals[REPORTED_RULES[count.rule].severity.value] += count.total
    return totals


def _summarize_group(group: RuleGroup, report: AuditReport) -> GroupSummary | None:
    counts = group_counts(group, report)
    total = sum(count.total for count in counts)
    trend = sum_trends([trend for rule, trend in report.trends.items() if rule in group.rules])
    if not (total or trend.new or trend.gone):
        return None
    severities = {name: number for name, number in _severities(counts).items() if number}
    return GroupSummary(
        name=group.name, title=group.title, total=total,
        new=trend.new, mended=trend.mended, became=trend.became, severities=severities,
    )  # fmt: skip


def _first_findings(trends: dict[str, RuleTrend], findings: AuditFindings) -> Iterator[NewFinding]:
    rules = [REPORTED_RULES[rule] for rule in REPORTED_RULES if rule in trends and trends[rule].new]
    for rule in sorted(rules, key=lambda finding: finding.severity, reverse=True):
        for finding in (finding for finding in findings(rule.id) if finding.is_new):
            yield NewFinding(
                rule=rule.id,
                severity=rule.severity.value,
                title=rule.title,
                url=finding.url or finding.file,
                sentence=finding.sentence or rule.sentence,
            )
