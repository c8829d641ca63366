"""Resolves names of rules (ids, families, severities), and decides which findings make an audit fail. Pure."""

from collections.abc import Collection, Iterable, Sequence
from difflib import get_close_matches
from typing import Final

from msgspec import Struct

from crawler.audit.finding import AuditReport, RuleCount, RuleTrend
from crawler.audit.rule_groups import REPORTED_RULES, RULE_GROUPS, heading_name, reported_counts
from crawler.errors import UsageError
from sitemap import Severity

FAIL_NEVER: Final = "never"
FAIL_ON_NEW: Final = "new"
_GROUPS: Final = {name: group.rules for group in RULE_GROUPS for name in (group.name, heading_name(group.title))}
"""The rules of each group, by its name and by its heading in reports as somebody types it."""


class FailingRules(Struct, frozen=True):
    """Rules that make an audit fail: ``always`` by any finding, ``new`` by a new one."""

    always: frozenset[str]
    new: frozenset[str]


def failing_counts(report: AuditReport, fail_on: Sequence[str]) -> list[RuleCount]:
    """The counts that make an audit fail, in the order of the rules. Raises UsageError as :func:`rules_failing` does.

    An inconclusive finding never fails an audit.
    """
    chosen = rules_failing(fail_on)
    failing: list[RuleCount] = []
    for count in reported_counts(report):
        if count.certain and count.rule in chosen.always:
            failing.append(count)
        elif count.rule in chosen.new and (new := _trend(report, count.rule).new):
            failing.append(RuleCount(count.rule, new))
    return failing


def inconclusive_counts(report: AuditReport, fail_on: Sequence[str]) -> list[RuleCount]:
    """The counts that would make an audit fail if they were certain, or known to be new.

    Raises UsageError in the same way.
    """
    chosen = rules_failing(fail_on)
    return [
        count
        for count in reported_counts(report)
        if (count.open_ and count.rule in chosen.always) or (count.rule in chosen.new and is_open(report, count))
    ]


def why_not_new(report: AuditReport, fail_on: Sequence[str]) -> list[str]:
    """Sentences that say why findings may be new or not, for the rules that ``fail_on`` marks with "new"."""
    new = rules_failing(fail_on).new
    rules: dict[str, list[str]] = {}
    for count in reported_counts(report):
        if count.rule in new and is_open(report, count):
            uncompared = report.compared.uncompared if report.compared else {}
            reason = report.why_uncompared or uncompared.get(count.rule, "inconclusive, and not in the previous audit")
            rules.setdefault(reason, []).append(count.rule)
    sentences = [
        f"it is unknown whether findings of {', '.join(names)} are new ({reason})" for reason, names in rules.items()
    ]
    return [*sentences, *([_NEXT_AUDIT_NOTE] if sentences and report.compared is None else [])]


_NEXT_AUDIT_NOTE: Final = "the next audit is compared with this one, if the directory of --state is kept until then"


def _trend(report: AuditReport, rule: str) -> RuleTrend:
    return report.compared.trend(rule) if report.compared else RuleTrend(rule, 0, 0, 0)


def is_open(report: AuditReport, count: RuleCount) -> bool:
    """Whether some findings of a rule are known neither as new nor as continued."""
    trend = _trend(report, count.rule)
    return count.total > trend.new + trend.still


def rules_failing(fail_on: Sequence[str]) -> FailingRules:
    """The ids of the rules that the names stand for; a text may hold several names with commas between them.

    A name is a severity ("warning": that or worse), a family ("orphan", "orphan.*"), an id ("orphan.sitemap"), "lint"
    for all rules of lint, the heading of a group in reports ("dead", "dead-urls", "Dead URLs"), or, alone, "never". The
    prefix "new:" selects new findings only ("new:orphan"); "new" selects
    all new findings. Raises UsageError for an unknown name, with the nearest known one.
    """
    names = split_names(fail_on)
    if (FAIL_NEVER in names and len(set(names)) > 1) or f"{FAIL_ON_NEW}:{FAIL_NEVER}" in names:
        raise UsageError(f"--fail-on {FAIL_NEVER} cannot be combined with other names: use it alone")
    known = (*Severity, FAIL_NEVER, FAIL_ON_NEW)
    always, new = set[str](), set[str]()
    for name in names:
        if name == FAIL_ON_NEW:
            new |= REPORTED_RULES.keys()
        elif name.startswith(f"{FAIL_ON_NEW}:"):
            new |= set(_choose(name.removeprefix(f"{FAIL_ON_NEW}:").strip(), tuple(Severity)))
        else:
            always |= set(_choose(name, known))
    return FailingRules(frozenset(always), frozenset(new))


def _choose(name: str, known: Sequence[str]) -> Collection[str]:
    if name == FAIL_NEVER:
        return ()
    if not name:
        raise UsageError(
            "--fail-on new: needs a name after the colon, such as new:orphan; new alone means all findings"
        )
    if name in set(Severity):
        return [rule for rule, definition in REPORTED_RULES.items() if definition.severity >= Severity(name)]
    if group := _GROUPS.get(heading_name(name)):
        return group
    return rules_named(name, REPORTED_RULES, known, "siteatlas audit --rules lists them all", _GROUPS)


def rules_named(
    name: str, rules: Collection[str], others: Sequence[str] = (), remedy: str = "", headings: Iterable[str] = ()
) -> frozenset[str]:
    """The rules that a name stands for: an id, or a family such as ``lastmod`` or ``lastmod.*``.

    Raises UsageError if there is none; it names the nearest rule, family, or one of ``others`` or ``headings``, or else
    the ``remedy``.
    """
    family = name.removesuffix("*").removesuffix(".") + "."
    if matching := {name}.intersection(rules) or {rule for rule in rules if rule.startswith(family)}:
        return frozenset(matching)
    known = [*others, *dict.fromkeys(rule.partition(".")[0] for rule in rules), *rules, *headings]
    near = get_close_matches(name, known, n=1, cutoff=0.4)
    hint = f'did you mean "{near[0]}"?' if near else remedy
    raise UsageError(f"{name!r} is not a rule: {hint}")


def split_names(texts: Sequence[str] | None) -> list[str]:
    """The names in comma-separated texts."""
    return [name for text in texts or () for part in text.split(",") if (name := part.strip())]
