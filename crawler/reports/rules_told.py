"""Owns how rules are told: those of the audit and those of lint in one form, and in the groups that reports have."""

from collections.abc import Iterable
from typing import Final

from msgspec import Struct

from crawler.audit_rules import RULES, AuditRule
from crawler.finding import AuditReport, Count
from crawler.reports.lint_titles import LINT_TOLD
from sitemap import RULES as LINT


class Group(Struct, frozen=True):
    """Rules that are told together, under a title; ``name`` is its short form, in ASCII and without blanks."""

    name: str
    title: str
    rules: tuple[str, ...]

    def counts(self, report: AuditReport) -> list[Count]:
        """Those of the rules that have findings, in the order in which they are told."""
        found = {each.rule: each for each in report.counts if each.total}
        return [found[each] for each in self.rules if each in found]


def _of_lint(rule: str) -> AuditRule:
    """A rule of lint, which says what a sitemap is to be."""
    told, (title, remedy) = LINT[rule], LINT_TOLD[rule]
    return AuditRule(rule, told.severity, title, told.sentence, remedy, source=told.source)


def _of(*families: str) -> tuple[str, ...]:
    return _worst_first(each.id for family in families for each in RULES.values() if each.family == family)


def _worst_first(rules: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(rules, key=lambda each: (RULES.get(each) or LINT[each]).severity, reverse=True))


GROUPS: Final = (
    Group("dead", "Dead", _of("gone")),
    Group("health", "Sitemap health", _of("declared", "entry", "listed")),
    Group("links", "Redirects and canonicals", _of("canonical", "link")),
    Group("orphans", "Orphans", _of("orphan")),
    Group("weak", "Weakly linked", _of("weak")),
    Group("hreflang", "hreflang", _of("cluster")),
    Group("media", "Images and videos", _of("media")),
    Group("lint", "Lint of the sitemaps", _worst_first(LINT)),
    Group("reach", "Hard to reach", _of("reach")),
)
"""Every rule is in one of these, the worst first. What is broken comes first, what could be better last."""

TOLD: Final = {each: RULES.get(each) or _of_lint(each) for group in GROUPS for each in group.rules}
"""Every rule that a finding may have, by its id, in the order in which they are told."""


def unproven(rule: str) -> str:
    """Why findings of a rule that are not certain are inconclusive, in a sentence."""
    if TOLD[rule].needs_complete:
        return "The crawl did not see all of the site: a page that it did not see may prove this wrong."
    return "Not all of the sources could be read: what was not read may prove this wrong."


def suites(report: AuditReport) -> list[tuple[Group, list[str]]]:
    """The groups with the rules that a report speaks of: all of the audit, and those of lint that were broken.

    If nobody looked at what lint looks at, its first rule stands for all of them.
    """
    broken = {each.rule for each in report.counts if each.total}
    told = []
    for group in GROUPS:
        some = [rule for rule in group.rules if rule in RULES or rule in broken]
        told.append((group, some or list(group.rules[:1] if group.name in report.unchecked else ())))
    return [(group, rules) for group, rules in told if rules]
