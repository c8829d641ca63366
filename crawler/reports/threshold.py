"""Owns the names that choose rules (ids, families, severities), and which findings make an audit fail. Pure."""

from collections.abc import Collection, Sequence
from difflib import get_close_matches
from typing import Final

from crawler.errors import UsageError
from crawler.finding import AuditReport, Count
from crawler.reports.rules_told import GROUPS, TOLD
from sitemap import Severity

NEVER: Final = "never"
_LINT: Final = {each.name: frozenset(each.rules) for each in GROUPS if each.name == "lint"}


def failing(report: AuditReport, fail_on: Sequence[str]) -> list[Count]:
    """The counts that make an audit fail, in the order of the rules. Raises UsageError as :func:`rules_failing` does.

    A finding that is inconclusive never fails.
    """
    chosen = rules_failing(fail_on)
    return [each for group in GROUPS for each in group.counts(report) if each.certain and each.rule in chosen]


def undecided(report: AuditReport, fail_on: Sequence[str]) -> list[Count]:
    """The counts that would make an audit fail if they were not inconclusive. Raises UsageError in the same way."""
    chosen = rules_failing(fail_on)
    return [each for group in GROUPS for each in group.counts(report) if each.open_ and each.rule in chosen]


def rules_failing(fail_on: Sequence[str]) -> frozenset[str]:
    """The ids of the rules that names stand for, with commas between names.

    A name is a severity ("warning": that or worse), a family ("orphan", "orphan.*"), an id ("orphan.sitemap"), "lint"
    for all rules of lint, or, alone, "never". Raises UsageError for any other, with the nearest one that there is.
    """
    names = listed(fail_on)
    if NEVER in names and len(set(names)) > 1:
        raise UsageError(f"--fail-on {NEVER} stands alone: drop it, or drop the others")
    known = (*Severity, NEVER, *_LINT)
    return frozenset(rule for name in names for rule in _chosen(name, known))


def _chosen(name: str, known: Sequence[str]) -> Collection[str]:
    if name == NEVER:
        return ()
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
