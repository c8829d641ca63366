"""Owns the names that choose rules (ids, families, severities), and which findings make an audit fail. Pure."""

from collections.abc import Collection, Sequence
from difflib import get_close_matches
from typing import Final

from msgspec import Struct

from crawler.audit.finding import AuditReport, RuleCount, RuleTrend
from crawler.audit.rules import REPORTED_RULES, RULE_GROUPS
from crawler.errors import UsageError
from sitemap import Severity

FAIL_NEVER: Final = "never"
FAIL_ON_NEW: Final = "new"
_LINT_GROUPS: Final = {each.name: frozenset(each.rules) for each in RULE_GROUPS if each.name == "lint"}


class FailingRules(Struct, frozen=True):
    """Rules that make an audit fail: those of ``always`` by any finding, those of ``new`` by a new one."""

    always: frozenset[str]
    new: frozenset[str]


def failing_counts(report: AuditReport, fail_on: Sequence[str]) -> list[RuleCount]:
    """The counts that make an audit fail, in the order of the rules. Raises UsageError as :func:`rules_failing` does.

    A finding that is inconclusive never fails.
    """
    chosen = rules_failing(fail_on)
    found: list[RuleCount] = []
    for each in _counts(report):
        if each.certain and each.rule in chosen.always:
            found.append(each)
        elif each.rule in chosen.new and (new := _trend(report, each.rule).new):
            found.append(RuleCount(each.rule, new))
    return found


def inconclusive_counts(report: AuditReport, fail_on: Sequence[str]) -> list[RuleCount]:
    """The counts that would make an audit fail if they were not inconclusive, or if they were known to be new.

    Raises UsageError in the same way.
    """
    chosen = rules_failing(fail_on)
    return [
        each
        for each in _counts(report)
        if (each.open_ and each.rule in chosen.always) or (each.rule in chosen.new and is_open(report, each))
    ]


def why_not_new(report: AuditReport, fail_on: Sequence[str]) -> list[str]:
    """Why it is not known of findings whether they are new, in sentences, where ``fail_on`` wants to know it."""
    new = rules_failing(fail_on).new
    rules: dict[str, list[str]] = {}
    for each in _counts(report):
        if each.rule in new and is_open(report, each):
            uncompared = report.compared.uncompared if report.compared else {}
            why = report.why_uncompared or uncompared.get(each.rule, "inconclusive, and not found before")
            rules.setdefault(why, []).append(each.rule)
    told = [
        f"whether findings of {', '.join(some)} are new is not known ({why})" for why, some in rules.items()
    ]
    return [*told, *([_NEXT_AUDIT_NOTE] if told and report.compared is None else [])]


_NEXT_AUDIT_NOTE: Final = (
    "the next audit is compared with this one, if the directory of --state is kept until then"
)


def _counts(report: AuditReport) -> list[RuleCount]:
    return [each for group in RULE_GROUPS for each in group.counts(report)]


def _trend(report: AuditReport, rule: str) -> RuleTrend:
    return report.compared.trend(rule) if report.compared else RuleTrend(rule, 0, 0, 0)


def is_open(report: AuditReport, count: RuleCount) -> bool:
    """Whether some findings of a rule are neither known to be new nor to have been there."""
    trend = _trend(report, count.rule)
    return count.total > trend.new + trend.still


def rules_failing(fail_on: Sequence[str]) -> FailingRules:
    """The ids of the rules that names stand for, with commas between names.

    A name is a severity ("warning": that or worse), a family ("orphan", "orphan.*"), an id ("orphan.sitemap"), "lint"
    for all rules of lint, or, alone, "never". With "new:" before it only what is new is meant ("new:orphan"), and by
    "new" whatever is new. Raises UsageError for any other, with the nearest one that there is.
    """
    names = split_names(fail_on)
    if (FAIL_NEVER in names and len(set(names)) > 1) or f"{FAIL_ON_NEW}:{FAIL_NEVER}" in names:
        raise UsageError(f"--fail-on {FAIL_NEVER} stands alone: drop it, or drop the others")
    known = (*Severity, FAIL_NEVER, FAIL_ON_NEW, *_LINT_GROUPS)
    always, new = set[str](), set[str]()
    for name in names:
        if name == FAIL_ON_NEW:
            new |= REPORTED_RULES.keys()
        elif name.startswith(f"{FAIL_ON_NEW}:"):
            new |= set(_choose(name.removeprefix(f"{FAIL_ON_NEW}:").strip(), known[:-1]))
        else:
            always |= set(_choose(name, known))
    return FailingRules(frozenset(always), frozenset(new))


def _choose(name: str, known: Sequence[str]) -> Collection[str]:
    if name == FAIL_NEVER:
        return ()
    if not name:
        raise UsageError("--fail-on new: wants a name behind it, such as new:orphan; new alone means all")
    if name in set(Severity):
        return [rule for rule, told in REPORTED_RULES.items() if told.severity >= Severity(name)]
    return _LINT_GROUPS.get(name) or rules_named(
        name, REPORTED_RULES, known, "siteatlas audit --rules names them all"
    )


def rules_named(
    name: str, rules: Collection[str], others: Sequence[str] = (), remedy: str = ""
) -> frozenset[str]:
    """The rules that a name stands for: an id, or a family, ``lastmod`` or ``lastmod.*``.

    Raises UsageError when there is none, with the nearest of the rules, their families and ``others``, or ``remedy``.
    """
    family = name.removesuffix("*").removesuffix(".") + "."
    if found := {name}.intersection(rules) or {rule for rule in rules if rule.startswith(family)}:
        return frozenset(found)
    known = [*others, *dict.fromkeys(rule.partition(".")[0] for rule in rules), *rules]
    near = get_close_matches(name, known, n=1, cutoff=0.4)
    hint = f'did you mean "{near[0]}"?' if near else remedy
    raise UsageError(f"there is no rule {name!r}: {hint}")


def split_names(texts: Sequence[str] | None) -> list[str]:
    """The names in texts that have commas between them."""
    return [name for text in texts or () for each in text.split(",") if (name := each.strip())]
