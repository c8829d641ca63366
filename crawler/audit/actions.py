"""Ranks what to do by its effect, from the findings of an audit. Pure."""

from collections.abc import Iterator
from heapq import nlargest
from importlib.resources import files
from math import sqrt
from typing import Final, NamedTuple

import msgspec
from msgspec import Struct

from crawler.audit.finding import Action, AuditFinding, AuditFindings, AuditReport, FindingPattern, RuleCount
from crawler.audit.patterns import MAX_EXAMPLES, FindingGroup, PatternCounter, demand
from crawler.audit.rules import REPORTED_RULES
from crawler.audit.verdict import reported_counts
from crawler.units import count_text
from sitemap import RULES as LINT
from sitemap import Rule, Severity

_WEIGHTS: Final = {Severity.ERROR: 10.0, Severity.WARNING: 3.0, Severity.NOTE: 0.3}
_DOUBTFUL: Final = 0.3  # factor for findings that are inconclusive
_MAX_PATTERNS: Final = 3  # of one action
_MAX_REMEDIES: Final = 3  # of one action
_NEARLY_ALL: Final = 0.9  # of the findings of an action that a pattern must have to be in its title


class _Task(Struct, frozen=True):
    """What people do about some rules at once: ids, families, or "lint". ``title`` has the noun in place of ``{}``.

    ``title_of_one`` is the title if there is one only, where ``title`` speaks of several.
    ``counts_urls``: the nouns count URLs, each once, even if several rules report it. Otherwise they count findings.
    ``counts_links``: the work is on the pages that link to the URLs.
    ``gain`` is the share of the demand for the URLs that the work serves: a visitor who gets an error page gains all.
    """

    name: str
    title: str
    noun: str
    nouns: str
    cost: str
    gain: float
    rules: frozenset[str]
    file: str = ""
    prepared: str = ""
    counts_urls: bool = False
    counts_links: bool = False
    title_of_one: str = ""


class _TaskFile(Struct, frozen=True):
    task: list[_Task]


_TASKS: Final = msgspec.toml.decode((files("crawler.audit") / "actions.toml").read_bytes(), type=_TaskFile).task
_MINOR: Final = frozenset({"listed.series"})  # rules that ask for no action


class RankedActions(NamedTuple):
    """The actions, the most severe and effective first, and the patterns of all rules in the order of the reports."""

    actions: list[Action]
    patterns: list[FindingPattern]


def rank_actions(report: AuditReport, findings: AuditFindings) -> RankedActions:
    """What to do, by severity and then by effect. Reads each finding once; takes O(n log n).

    The effect of an action sums up groups of its findings. A group is a pattern, which usually has one cause, or one
    finding. Its effect is the weight of the severity, times the square root of the number of findings plus the square
    root of the demand that the action serves. Findings that are inconclusive count less.
    """
    by_task: dict[_Task, list[_RuleWork]] = {}
    urls: dict[_Task, set[int]] = {}
    patterns: list[FindingPattern] = []
    for count in reported_counts(report):
        if count.rule in _MINOR:
            continue
        rule = REPORTED_RULES[count.rule]
        task = _task_of(rule)
        work = _RuleWork(rule, findings, count, urls.setdefault(task, set()) if task.counts_urls else None)
        by_task.setdefault(task, []).append(work)
        patterns += work.patterns
    actions = [_action(task, parts) for task, parts in by_task.items()]
    worst_first = [*sorted(Severity, reverse=True)]
    actions.sort(key=lambda action: (worst_first.index(Severity(action.severity)), -action.effect, action.name))
    return RankedActions(actions, patterns)


def _task_of(rule: Rule) -> _Task:
    """The task that resolves a rule: its own, or that of its family."""
    keys = (rule.id, rule.family, *["lint"] * (rule.id in LINT))
    return next(task for key in keys for task in _TASKS if key in task.rules)


class _RuleWork:
    """The findings of one rule, counted. ``best`` are those that most people want, with their demand.

    ``seen`` are hashes of the URLs that other rules of the same task reported: their demand counts once. None: the
    task counts findings, not URLs.
    """

    def __init__(self, rule: Rule, findings: AuditFindings, counted: RuleCount, seen: set[int] | None) -> None:
        self.rule = rule
        self.inconclusive = counted.open_
        self.count = self.number = self.people = self.clicks = self.links = self.inlinks = self.prepared = 0
        self._seen = seen
        counter = PatternCounter(rule.id)
        self.best = nlargest(MAX_EXAMPLES, self._counted(findings, counter))
        self._groups = counter.merge()
        self.patterns = counter.patterns()
        self._factor = _WEIGHTS[rule.severity] * (1 - (1 - _DOUBTFUL) * counted.open_ / counted.total)

    def _counted(self, findings: AuditFindings, counter: PatternCounter) -> Iterator[tuple[float, int, str]]:
        for place, finding in enumerate(findings(self.rule.id)):
            counter.add(finding)
            self._count(finding)
            yield demand(finding), -place, finding.url or finding.file

    def _count(self, finding: AuditFinding) -> None:
        self.count += finding.times
        if self._seen is not None:
            if (url := hash(finding.url)) in self._seen:
                return
            self._seen.add(url)
            entrance = hash((finding.entrance,))  # the work is to link that page
            self.number += finding.times * (not finding.entrance or entrance not in self._seen)
            self._seen.add(entrance)
        else:
            self.number += finding.times
        self.people += max(finding.people, finding.sessions)
        self.clicks += finding.clicks
        self.links += finding.backlinks
        self.inlinks += max(finding.inlinks, len(finding.referrers))
        self.prepared += bool(finding.hubs or finding.targets)

    def effect(self, gain: float) -> float:
        """See :func:`rank_actions`."""
        return self._factor * sum(_group_effect(group, gain) for group in self._groups)


def _group_effect(group: FindingGroup, gain: float) -> float:
    if group.is_pattern:
        return sqrt(group.count) + sqrt(gain * group.demand)
    return group.count + sqrt(gain) * group.roots


def _action(task: _Task, parts: list[_RuleWork]) -> Action:
    number = sum(part.number for part in parts)
    parts = sorted(parts, key=lambda part: -part.effect(task.gain))
    patterns = sorted((pattern for part in parts for pattern in part.patterns), key=lambda pattern: -pattern.count)
    best = nlargest(MAX_EXAMPLES, (example for part in parts for example in part.best))
    prepared = sum(part.prepared for part in parts)
    noun = count_text(number, task.noun, task.nouns)
    if patterns and number >= patterns[0].count >= _NEARLY_ALL * number:
        like = f"like {patterns[0].pattern}"
        noun = f"{noun} {like}" if patterns[0].count == number else f"{noun} ({patterns[0].count:,} {like})"
    how = _remedies(parts)
    if task.file and prepared:
        some = "all" if prepared == number else f"{prepared:,}"
        how = f"{how} {task.file} {task.prepared} {'it' if number == 1 else f'{some} of them'}."
    return Action(
        name=task.name,
        title=((number == 1 and task.title_of_one) or task.title).replace("{}", noun),
        why=_cost_text(task, parts),
        how=how,
        severity=max(part.rule.severity for part in parts).value,
        rules=[part.rule.id for part in parts],
        count=sum(part.count for part in parts),
        inconclusive=sum(part.inconclusive for part in parts),
        effect=round(sum(part.effect(task.gain) for part in parts), 1),
        examples=[*dict.fromkeys(url for _, _, url in best)],
        patterns=patterns[:_MAX_PATTERNS],
        file=task.file if prepared else "",
    )


def _remedies(parts: list[_RuleWork]) -> str:
    """The remedy of the rule that was found. If there are several, each follows the ids of its rules."""
    rules: dict[str, list[str]] = {}
    for part in parts:
        rules.setdefault(part.rule.remedy, []).append(part.rule.id)
    if len(rules) == 1:
        return parts[0].rule.remedy
    texts = [f"{', '.join(ids)}: {remedy}" for remedy, ids in rules.items()]
    rest = ["Its other findings have other remedies."] * (len(rules) > _MAX_REMEDIES)
    return " ".join([*texts[:_MAX_REMEDIES], *rest])


def _cost_text(task: _Task, parts: list[_RuleWork]) -> str:
    """What the problem costs, and the links and visits that show it."""
    inlinks = sum(part.inlinks for part in parts) if task.counts_links else 0
    figures = [
        count_text(number, *noun)
        for number, noun in (
            (inlinks, ("link on the site", "links on the site")),
            (sum(part.people for part in parts), ("visit by people", "visits by people")),
            (sum(part.clicks for part in parts), ("click in search", "clicks in search")),
            (sum(part.links for part in parts), ("link from other sites", "links from other sites")),
        )
        if number and task.gain
    ]
    return f"{task.cost} ({', '.join(figures)})." if figures else f"{task.cost}."
