"""The rules of an audit, beside those of lint (:data:`sitemap.RULES`), and the groups that reports show them in."""

import csv
import re
from collections.abc import Iterable
from importlib.resources import files
from typing import Final

from msgspec import Struct

from sitemap import RULES as LINT
from sitemap import Rule, Severity

_TABLE: Final = (files("crawler.audit") / "rules.csv").read_text(encoding="utf-8")

RULES: Final = {
    rule_id: Rule(rule_id, Severity(severity), *texts)
    for rule_id, severity, *texts in list(csv.reader(_TABLE.splitlines()))[1:]
}
"""All rules of the audit by their id, in the order of the reports."""

_OF_LINKS: Final = frozenset({"orphan", "weak", "place", "reach"})


def needs_complete(rule: str) -> bool:
    """Whether a page that the crawl did not see could disprove a finding of the rule."""
    return rule.partition(".")[0] in _OF_LINKS or rule == "render.orphan"


def rests_on_links(rule: str) -> bool:
    """Whether a finding of the rule rests on the links of other pages: it is resolved when none of them has the link."""
    return rule.partition(".")[0] in ("link", "target", "place") or rule in ("gone.linked", "gone.failing")


def rests_on_visits(rule: str) -> bool:
    """Whether a finding of the rule says that somebody visits a URL, so that a log of another site could cause it."""
    return rule in ("gone.visited", "gone.down")


ALL_RULES: Final = RULES | LINT
"""The rules of the audit and of lint, by id."""


WHY_LIKELY: Final = "The crawl may have missed links. One of them may show that this finding is wrong."


def why_unproven(rule: str) -> str:
    """Why uncertain findings of a rule are inconclusive, in a sentence."""
    if needs_complete(rule):
        return WHY_LIKELY
    if rests_on_visits(rule):
        return "Only a log contains this URL, and the log may contain requests for another site."
    return "Siteatlas could not read some sources completely. Their unread parts may show that this finding is wrong."


ORPHAN_FAMILIES: Final = frozenset({"orphan", "weak"})
"""The families of rules about pages that links do not lead to as they should: new links resolve their findings."""


class RuleGroup(Struct, frozen=True):
    """Rules that reports show together, under a title; ``name`` is its short form, in ASCII and without blanks."""

    name: str
    title: str
    rules: tuple[str, ...]


def heading_name(heading: str) -> str:
    """A heading of a group as a name: "Dead URLs" is "dead-urls"."""
    return "-".join(re.findall(r"[a-z0-9]+", heading.lower()))


def _rules_of(*names: str, but: str = "") -> tuple[str, ...]:
    """The rules of some families, or by their own names."""
    named = (rule for name in names for rule in RULES.values() if name in (rule.family, rule.id))
    return _worst_first(rule.id for rule in named if rule.id != but)


def _worst_first(rules: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(rules, key=lambda rule_id: ALL_RULES[rule_id].severity, reverse=True))


RULE_GROUPS: Final = [
    RuleGroup("dead", "Dead URLs", _rules_of("lost", "gone")),
    RuleGroup("health", "Sitemap health", _rules_of("declared", "entry", "listed")),
    RuleGroup("links", "Redirects and canonicals", _rules_of("canonical", "link", "page.canonical")),
    RuleGroup("orphans", "Orphans", _rules_of("orphan")),
    RuleGroup("weak", "Weakly linked", _rules_of("weak", "place")),
    RuleGroup("hreflang", "hreflang", _rules_of("cluster")),
    RuleGroup("render", "Pages that scripts change", _rules_of("render")),
    RuleGroup("google", "Indexing", _rules_of("google")),
    RuleGroup("targets", "Dead link targets", _rules_of("target")),
    RuleGroup("pages", "Titles and texts", _rules_of("page", but="page.canonical")),
    RuleGroup("media", "Images and videos", _rules_of("media")),
    RuleGroup("lint", "Lint of the sitemaps", _worst_first(LINT)),
    RuleGroup("reach", "Hard to reach", _rules_of("reach")),
    RuleGroup("bots", "Bot activity", _rules_of("bots")),
]

REPORTED_RULES: Final = {rule: ALL_RULES[rule] for group in RULE_GROUPS for rule in group.rules}

OWN: Final = "own"
"""The family and the group of the rules that a configuration adds (``[audit.rules.NAME]``)."""


def register_own_rules(rules: Iterable[Rule]) -> None:
    """Add the rules of a configuration to the tables, in place of those of the audit before in this process."""
    added = {rule.id: rule for rule in rules}
    for table in (RULES, ALL_RULES, REPORTED_RULES):
        for rule_id in [known for known, rule in table.items() if rule.family == OWN]:
            del table[rule_id]
        table.update(added)
    RULE_GROUPS[:] = [group for group in RULE_GROUPS if group.name != OWN]
    if added:
        RULE_GROUPS.append(RuleGroup(OWN, "Rules of your own", _worst_first(added)))
