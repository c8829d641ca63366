"""What one audit came to, in the few figures and URLs that others are told of it. Pure."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import islice
from typing import Any, Final

import msgspec
from msgspec import Struct

from crawler.audit.finding import AuditFindings, AuditReport, RuleCount, RuleTrend
from crawler.audit.rules import REPORTED_RULES, RULE_GROUPS, RuleGroup
from crawler.audit.verdict import rests_on, verdict_kind
from crawler.units import count_text
from sitemap import Severity

MAX_NAMED: Final = 10  # new findings that are told by name


class GroupSummary(Struct, frozen=True, kw_only=True):
    """The findings of one group of rules: how many there are, and how many of them are new, or mended since.

    ``became`` are no more, and another finding has taken their place.

    ``name`` is that of :data:`crawler.audit.rules.GROUPS`: orphans, dead, health … ``severities`` counts its
    findings, from the worst on, those of which there are any.
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
    """One finding that the audit before did not have."""

    rule: str
    severity: str
    title: str  # of the rule
    url: str
    sentence: str


class AuditSummary(Struct, frozen=True, kw_only=True):
    """One audit, by its ``number`` among those of its site, which began at ``started`` (Unix time).

    ``before`` is when the one began that it is compared with, None: there was none, and nothing can be new. ``verdict``
    is a :class:`crawler.audit.verdict.Kind`, and ``why`` says what keeps it from being conclusive. ``uncompared`` is
    how many rules have findings that cannot be called new, or not. ``severities`` counts findings from the worst on,
    ``groups`` are those that have any, or had, and ``first`` some of the new ones, the worst first. ``rests_on`` says
    which crawl it rests on, and how old that was.
    """

    number: int
    started: float
    before: float | None
    verdict: str
    why: str
    pages: int
    uncompared: int
    severities: dict[str, int]
    groups: list[GroupSummary]
    first: list[NewFinding]
    rests_on: str = ""

    @property
    def total(self) -> int:
        """All findings."""
        return sum(self.severities.values())

    @property
    def new(self) -> int:
        """Those that the audit before did not have."""
        return sum(group.new for group in self.groups)

    @property
    def mended(self) -> int:
        """Those of the audit before that are no more, and no other in their place."""
        return sum(group.mended for group in self.groups)

    @property
    def became(self) -> int:
        """Those of the audit before in whose place there is another."""
        return sum(group.became for group in self.groups)

    @property
    def more(self) -> int:
        """The new ones that are not among the ``first``."""
        return max(0, self.new - len(self.first))

    @property
    def is_worth_sending(self) -> bool:
        """Whether somebody who knows the audit before wants to know of it: the first one is news too."""
        return self.before is None or bool(self.new or self.mended or self.became)

    @property
    def sentence(self) -> str:
        """The figures, without a full stop: ``12 findings (3 errors, 9 warnings), 2 new, 1 mended``."""
        if not self.total:
            told = "no findings"
        else:
            kinds = [count_text(number, name) for name, number in self.severities.items() if number]
            told = f"{count_text(self.total, 'finding')} ({', '.join(kinds)})"
        if self.before is None:
            return told
        since = [
            f"{number:,} {what}"
            for number, what in (
                (self.new, "new"),
                (self.mended, "mended"),
                (self.became, "became another finding"),
            )
            if number
        ]
        if self.uncompared:
            since.append(f"{count_text(self.uncompared, 'class', 'classes')} not compared")
        return ", ".join((told, *(since or ["nothing new"])))

    def as_values(self) -> dict[str, Any]:
        """All of it, and the totals, in values that JSON knows; times are W3C datetimes in UTC."""
        built: dict[str, Any] = msgspec.to_builtins(self)
        return {
            **built,
            "started": _w3c(self.started),
            "before": None if self.before is None else _w3c(self.before),
            "findings": self.total,
            "new": self.new,
            "mended": self.mended,
            "became": self.became,
            "more": self.more,
        }


def summarize(report: AuditReport, number: int, findings: AuditFindings) -> AuditSummary:
    """What is told of an audit, made of its report; ``findings`` are asked for the rules that have new ones."""
    compared = report.compared
    trends = {each.rule: each for each in compared.trends} if compared else {}
    return AuditSummary(
        number=number,
        started=report.started,
        before=compared.started if compared else None,
        verdict=verdict_kind(report).value,
        why=next(iter(report.doubts), report.unchecked.get("orphans", "")),
        pages=report.pages,
        uncompared=len(compared.uncompared) if compared else 0,
        severities=_severities(report.counts),
        groups=[told for group in RULE_GROUPS if (told := _summarize_group(group, report, trends))],
        first=list(islice(_first_findings(trends, findings), MAX_NAMED)),
        rests_on=rests_on(report),
    )


def _severities(counts: Sequence[RuleCount]) -> dict[str, int]:
    found = dict.fromkeys((each.value for each in Severity), 0)
    for each in counts:
        found[REPORTED_RULES[each.rule].severity.value] += each.total
    return found


def _summarize_group(
    group: RuleGroup, report: AuditReport, trends: dict[str, RuleTrend]
) -> GroupSummary | None:
    counts = group.counts(report)
    total = sum(each.total for each in counts)
    some = [trends[rule] for rule in group.rules if rule in trends]
    new, mended, became = (sum(getattr(each, what) for each in some) for what in ("new", "mended", "became"))
    if not (total or new or mended or became):
        return None
    severities = {name: number for name, number in _severities(counts).items() if number}
    return GroupSummary(
        name=group.name, title=group.title, total=total, new=new, mended=mended, became=became, severities=severities,
    )  # fmt: skip


def _first_findings(trends: dict[str, RuleTrend], findings: AuditFindings) -> Iterator[NewFinding]:
    rules = [REPORTED_RULES[rule] for rule in REPORTED_RULES if rule in trends and trends[rule].new]
    for rule in sorted(rules, key=lambda each: each.severity, reverse=True):
        for each in (each for each in findings(rule.id) if each.is_new):
            yield NewFinding(
                rule=rule.id,
                severity=rule.severity.value,
                title=rule.title,
                url=each.url or each.file,
                sentence=each.sentence or rule.sentence,
            )


def _w3c(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).isoformat(timespec="seconds")
