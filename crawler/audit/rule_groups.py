"""The rules in groups, as reports show them."""

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from crawler.audit.rules import ALL_RULES, RULES
from sitemap import RULES as LINT

if TYPE_CHECKING:
    from crawler.audit.finding import AuditReport, RuleCount


ORPHAN_FAMILIES: Final = frozenset({"orphan", "weak"})
"""The families of rules about pages that links do not lead to as they should: new links resolve their findings."""


class RuleGroup(Struct, frozen=True):
    """Rules that reports show together, under a title; ``name`` is its short form, in ASCII and without blanks."""

    name: str
    title: str
    rules: tuple[str, ...]

    def counts(self, report: "AuditReport") -> "list[RuleCount]":
        """The counts of its rules that have findings, in the order of the reports."""
        found = {count.rule: count for count in report.counts if count.total}
        return [found[count] for count in self.rules if count in found]


def heading_name(heading: str) -> str:
    """A heading of a group as a name: "Dead URLs" is "dead-urls"."""
    return "-".join(re.findall(r"[a-z0-9]+", heading.lower()))


def _rules_of(*families: str) -> tuple[str, ...]:
    return _worst_first(rule.id for family in families for rule in RULES.values() if rule.family == family)


def _worst_first(rules: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(rules, key=lambda rule_id: ALL_RULES[rule_id].severity, reverse=True))


RULE_GROUPS: Final = (
    RuleGroup("dead", "Dead URLs", _rules_of("gone")),
    RuleGroup("health", "Sitemap health", _rules_of("declared", "entry", "listed")),
    RuleGroup("links", "Redirects and canonicals", _rules_of("canonical", "link")),
    RuleGroup("orphans", "Orphans", _rules_of("orphan")),
    RuleGroup("weak", "Weakly linked", _rules_of("weak")),
    RuleGroup("hreflang", "hreflang", _rules_of("cluster")),
    RuleGroup("render", "Pages that scripts change", _rules_of("render")),
    RuleGroup("google", "Indexing", _rules_of("google")),
    RuleGroup("media", "Images and videos", _rules_of("media")),
    RuleGroup("lint", "Lint of the sitemaps", _worst_first(LINT)),
    RuleGroup("reach", "Hard to reach", _rules_of("reach")),
    RuleGroup("bots", "Bot activity", _rules_of("bots")),
)

REPORTED_RULES: Final = {rule: ALL_RULES[rule] for group in RULE_GROUPS for rule in group.rules}


def reported_counts(report: "AuditReport") -> "list[RuleCount]":
    """The counts of all rules that have findings, in the order of the reports."""
    return [count for group in RULE_GROUPS for count in group.counts(report)]


def reported_groups(report: "AuditReport") -> list[tuple[RuleGroup, list[str]]]:
    """The groups with the rules that a report mentions: all of the audit, and those of lint that have findings.

    If lint was not checked, its first rule stands for all of them.
    """
    broken = {count.rule for count in report.counts if count.total}
    groups = []
    for group in RULE_GROUPS:
        shown = [rule for rule in group.rules if rule in RULES or rule in broken]
        groups.append((group, shown or list(group.rules[:1] if group.name in report.unchecked else ())))
    return [(group, rules) for group, rules in groups if rules]
