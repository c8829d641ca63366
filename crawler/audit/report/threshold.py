"""Owns the names that choose rules (ids, families, severities), and which findings make an audit fail. Pure."""

from collections.abc import Collection, Sequence
from difflib import get_close_matches
from typing import Final

from msgspec import Struct

from crawler.audit.finding import AuditReport, Count, Trend
from crawler.audit.rules import GROUPS, TOLD
from crawler.errors import UsageError
from sitemap import Severity

NEVER: Final = "never"
NEW: Final = "new"
_LINT: Final = {each.name: frozenset(each.rules) for each in GROUPS if each.name == "lint"}


class Chosen(Struct, frozen=True):
    """Rules that make an audit fail: those of ``always`` by any finding, those of ``new`` by a new one."""

    always: frozenset[str]
    new: frozenset[str]


def failing(report: AuditReport, fail_on: Sequence[str]) -> list[Count]:
    """The counts that make an audit fail, in the order of the rules. Raises UsageError as :func:`rules_failing` does.

    A finding that is inconclusive never fails.
    """
    chosen = rules_failing(fail_on)
    found: list[Count] = []
    for each in _counts(report):
        if each.certain and each.rule in chosen.always:
            found.append(each)
        elif each.rule in chosen.new and (new := _trend(report, each.rule).new):
            found.append(Count(each.rule, new))
    return found


def undecided(report: AuditReport, fail_on: Sequence[str]) -> list[Count]:
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
    return [*told, *([_NEXT] if told and report.compared is None else [])]


_NEXT: Final = "the next audit is compared with this one, if the directory of --state is kept until then"


def _counts(report: AuditReport) -> list[Count]:
    return [each for group in GROUPS for each in group.counts(report)]


def _trend(report: AuditReport, rule: str) -> Trend:
    return report.compared.trend(rule) if report.compared else Trend(rule, 0, 0, 0)


def is_open(report: AuditReport, count: Count) -> bool:
    """Whether some findings of a rule are neither known to be new nor to have been there."""
    trend = _trend(report, count.rule)
    return count.total > trend.new + trend.still


def rules_failing(fail_on: Sequence[str]) -> Chosen:
    """The ids of the rules that names stand for, with commas between names.

    A name is a severity ("warning": that or worse), a family ("orphan", "orphan.*"), an id ("orphan.sitemap"), "lint"
    for all rules of lint, or, alone, "never". With "new:" before it only what is new is meant ("new:orphan"), and by
    "new" whatever is new. Raises UsageError for any other, with the nearest one that there is.
    """
    names = listed(fail_on)
    if (NEVER in names and len(set(names)) > 1) or f"{NEW}:{NEVER}" in names:
        raise UsageError(f"--fail-on {NEVER} stands alone: drop it, or drop the others")
    known = (*Severity, NEVER, NEW, *_LINT)
    always, new = set[str](), set[str]()
    for name in names:
        if name == NEW:
            new |= TOLD.keys()
        elif name.startswith(f"{NEW}:"):
            new |= set(_chosen(name.removeprefix(f"{NEW}:").strip(), known[:-1]))
        else:
            always |= set(_chosen(name, known))
    return Chosen(frozenset(always), frozenset(new))


def _chosen(name: str, known: Sequence[str]) -> Collection[str]:
    if name == NEVER:
        return ()
    if not name:
        raise UsageError("--fail-on new: wants a name behind it, such as new:orphan; new alone means all")
    if name in set(Severity):
        return [rule for rule, told in TOLD.items() if told.severity >= Severity(name)]
    return _LINT.get(name) or named(name, TOLD, known, "siteatlas audit --rules names them all")


def named(name: str, rules: Collection[str], others: Sequence[str] = (), remedy: str = "") -> frozenset[str]:
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


def listed(texts: Sequence[str] | None) -> list[str]:
    """The names in texts that have commas between them."""
    return [name for text in texts or () for each in text.split(",") if (name := each.strip())]
