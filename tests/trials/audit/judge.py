"""Compares what an audit reports with what is true of the drawn site."""

from collections import Counter, deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import msgspec

from .plan import Expected, Plan
from .site import HTML, Page, Site

UNJUDGED = frozenset({"listed.series", "cluster.no_default"})  # notes that ask for nothing
LINTS = frozenset({"lastmod.future", "lastmod.too_old"})
FAMILIES = frozenset(
    {"gone", "declared", "entry", "listed", "canonical", "link", "orphan", "weak", "cluster", "media", "reach"}
)
FAILING = ("gone.failing", "gone.down", "entry.failed", "cluster.target", "cluster.not_mutual")


@dataclass(frozen=True)
class Finding:
    """One finding of an audit."""

    rule: str
    target: str
    certainty: str  # "certain", "likely" or "inconclusive"
    sentence: str = ""


@dataclass
class TrialReport:
    """A trial; its ``name`` draws it again."""

    name: str
    size: int = 0
    exit: int = 0
    seconds: float = 0.0
    planted: Counter[str] = field(default_factory=Counter)
    found: Counter[str] = field(default_factory=Counter)
    reported: Counter[str] = field(default_factory=Counter)  # by rule
    conclusive: Counter[str] = field(default_factory=Counter)  # by certainty
    missed: list[str] = field(default_factory=list)
    false: list[Finding] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)
    fails: bool = False  # whether some pages failed

    @property
    def wrong(self) -> list[str]:
        """What was missed and what is false. Where pages fail, a finding that is not certain may be false."""
        false = [each for each in self.false if each.certainty == "certain" or not self.fails]
        lines = [f"missed: {each}" for each in self.missed]
        return lines + [f"false ({each.certainty}): {each.rule} {each.target}: {each.sentence}" for each in false]

    def as_json(self) -> str:
        return msgspec.json.encode(self).decode()


def findings(audit: dict[str, Any], site: Site) -> list[Finding]:
    """The findings that are judged, each with its target, or with its URL if that has another name of the site."""
    judged = []
    for each in audit["findings"]:
        rule = each["rule"]
        if rule in UNJUDGED or (rule.partition(".")[0] not in FAMILIES and rule not in LINTS):
            continue
        certainty = each.get("certainty") or ("certain" if each["is_certain"] else "inconclusive")
        target = each["url"]
        if target.startswith(site.url):
            target = target[len(site.url) - 1 :]
        targets = _entries_under(each["url"], each["times"], site) if rule == "entry.outside" else [target]
        judged += [Finding(rule, target, certainty, each["sentence"]) for target in targets]
    return judged


def _entries_under(url: str, times: int, site: Site) -> list[str]:
    """The entries that a finding counts as listed under the origin of the URL; only the URL if the count is wrong."""
    origin = "/".join(url.split("/")[:3]) + "/"
    entries = [entry.loc for entry in site.entries if entry.loc.startswith(origin)]
    return entries if len(entries) == times else [url]


def judge(plan: Plan, audit: dict[str, Any], report: TrialReport) -> None:
    said = findings(audit, plan.site)
    report.doubts = list(audit["doubts"])
    allowed = [*plan.expected, *plan.allowed, *_measured(plan.site)]
    failing = {target for target, page in plan.site.pages.items() if page.failing}
    report.fails = bool(failing)
    for expected in plan.expected:
        if failing and (failing & expected.targets or not expected.is_listed_wrongly):
            continue
        report.planted[expected.name] += 1
        if any(expected.met_by(each.rule, each.target) for each in said):
            report.found[expected.name] += 1
        else:
            others = sorted({each.rule for each in said if each.target in expected.targets})
            report.missed.append(f"{expected.name}: {' | '.join(sorted(expected.targets))}; reported instead: {others}")
    allowed += _failed(plan.site, failing)
    by_target: dict[str, list[Expected]] = {}
    for each in allowed:
        for target in each.targets:
            by_target.setdefault(target, []).append(each)
    for finding in said:
        report.reported[finding.rule] += 1
        report.conclusive[finding.certainty] += 1
        if not any(each.met_by(finding.rule, finding.target) for each in by_target.get(finding.target, ())):
            report.false.append(finding)


def _failed(site: Site, failing: set[str]) -> Iterable[Expected]:
    """What a failing page excuses: findings that it fails, also as a version of another page."""
    yield Expected("fails", frozenset(failing), frozenset(FAILING))
    versions = {target for target, page in site.pages.items() if failing & set(page.versions.values())}
    yield Expected("fails", frozenset(versions), frozenset({"cluster.target", "cluster.not_mutual"}))


def _measured(site: Site) -> Iterable[Expected]:
    """Pages that are far away or have few inlinks, by the links of the site."""
    clicks, inlinks = distances(site), Counter[str]()
    for page in _unique(site):
        if page.status == 200 and page.kind == HTML and page.follows and page.is_indexable:
            for target in _links(site, page):
                inlinks[target] += target != page.target
    far = frozenset(target for target in site.pages if clicks.get(target, 99) > 5)
    few = frozenset(target for target in site.pages if inlinks[target] <= 1)
    yield Expected("far", far, frozenset({"reach.deep"}))
    yield Expected("few", few, frozenset({"reach.few"}))


def distances(site: Site) -> dict[str, int]:
    """Clicks from the home page; a redirect counts as a click."""
    clicks = {"/": 0}
    queue = deque(["/"])
    while queue:
        target = queue.popleft()
        page = site.pages.get(target)
        if page is None or any(target.startswith(path) for path in site.disallowed):
            continue
        for onward in [page.location] if page.location else _links(site, page):
            if onward not in clicks:
                clicks[onward] = clicks[target] + 1
                queue.append(onward)
    return clicks


def _links(site: Site, page: Page) -> set[str]:
    if page.status != 200 or page.kind != HTML or not page.follows:
        return set()
    links = {href for href, rel in page.links.items() if "nofollow" not in rel.lower()}
    return links | (set(site.chrome) if page.has_chrome else set())


def _unique(site: Site) -> Iterable[Page]:
    return {id(page): page for page in site.pages.values()}.values()
