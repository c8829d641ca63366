"""Ranks what to do by its effect, from the findings of an audit. Pure."""

from collections.abc import Iterator
from heapq import nlargest
from math import sqrt
from typing import Final, NamedTuple

from msgspec import Struct

from crawler.audit.finding import Action, AuditFinding, AuditFindings, AuditReport, FindingPattern, RuleCount
from crawler.audit.patterns import MAX_EXAMPLES, FindingGroup, PatternCounter, demand
from crawler.audit.rules import OWN, REPORTED_RULES
from crawler.audit.verdict import reported_counts
from crawler.units import count_text
from sitemap import RULES as LINT
from sitemap import Rule, Severity

REDIRECTS_FILE: Final = "csv/redirects.csv"
LINKS_FILE: Final = "csv/links.csv"

_WEIGHTS: Final = {Severity.ERROR: 10.0, Severity.WARNING: 3.0, Severity.NOTE: 0.3}
_DOUBTFUL: Final = 0.3  # factor for findings that are inconclusive
_MAX_PATTERNS: Final = 3  # of one action
_NEARLY_ALL: Final = 0.9  # of the findings of an action that a pattern must have to be in its title


class _Task(Struct, frozen=True):
    """What people do about some rules at once: ids, or families. ``title`` has the noun in place of ``{}``.

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
    how: str
    rules: frozenset[str]
    file: str = ""
    prepared: str = ""
    counts_urls: bool = False
    counts_links: bool = False
    title_of_one: str = ""


_TASKS: Final = (
    _Task(
        "redirect", "Redirect {} to the pages that replace them", "dead URL", "dead URLs",
        "Visitors and links from other sites end on an error page", 1.0,
        "Redirect each URL to the page that replaces it. If no page replaces it, return status 410.",
        frozenset({"lost", "gone.visited", "gone.named"}), REDIRECTS_FILE, "suggests a target for", counts_urls=True,
        title_of_one="Redirect {} to the page that replaces it",
    ),
    _Task(
        "repair", "Repair {}", "failing URL", "failing URLs", "Visitors and search engines get a server error", 1.0,
        "Find the cause in the log of the server, and repair the URL.",
        frozenset({"gone.failing", "gone.down", "entry.failed"}), counts_urls=True,
    ),
    _Task(
        "unlink", "Correct the links to {}", "dead URL", "dead URLs", "Pages lead visitors to an error", 1.0,
        "Change each link to the page that replaces the URL, or remove the link.",
        frozenset({"gone.linked"}), REDIRECTS_FILE, "suggests a new target for", counts_links=True,
    ),
    _Task(
        "soft", "Return status 404 for {}", "missing page", "missing pages",
        "Visitors find no page, and search engines crawl such URLs again and again", 1.0,
        "If the page has moved, redirect the URL. Otherwise, let the server respond with status 404 or 410.",
        frozenset({"gone.soft"}),
    ),
    _Task(
        "link", "Add links to {}", "orphan or weakly linked page", "orphans and weakly linked pages",
        "Visitors do not find these pages, and search engines rate them as unimportant", 0.25,
        "Link to each page from a page that visitors can reach.",
        frozenset({"orphan", "weak", "place"}), LINKS_FILE, "lists links for", counts_urls=True,
    ),
    _Task(
        "canonical", "Correct {}", "canonical", "canonicals", "Search engines may index neither page", 0.25,
        "On each page, name the page itself or another indexable page as the canonical.",
        frozenset({"canonical"}),
    ),
    _Task(
        "indexable", "Make {} indexable, or correct the sitemap", "listed page", "listed pages",
        "The sitemap lists these pages, but noindex, a canonical or robots.txt hides them from search engines", 0.25,
        "If search engines should show a page, remove its noindex, let it name itself as the canonical, or allow it in "
        "robots.txt. Otherwise, remove it from the sitemap.",
        frozenset({"entry.noindex", "entry.noindex_engine", "entry.canonical", "entry.blocked"}), counts_urls=True,
    ),
    _Task(
        "entries", "Correct {}", "sitemap entry", "sitemap entries",
        "Search engines crawl URLs that they cannot index, and trust the sitemap less", 0.0,
        "List only the canonical URLs of indexable pages. siteatlas crawl writes such a sitemap.",
        frozenset({"entry", "declared"}),
    ),
    _Task(
        "list", "Add {} to the sitemap", "page", "pages", "Search engines find these pages late", 0.25,
        "Add them to the sitemap. siteatlas crawl writes a sitemap that lists them.",
        frozenset({"listed"}),
    ),
    _Task(
        "hreflang", "Correct {}", "hreflang problem", "hreflang problems",
        "Search engines may show visitors the wrong language", 0.0,
        "On every language version, list all versions with their canonical URLs.",
        frozenset({"cluster"}),
    ),
    _Task(
        "render", "Send {} as browsers show them", "page that scripts change", "pages that scripts change",
        "Search engines may index these pages late, or without their links", 0.1,
        "Let the server send the canonical, the robots rules and the links in the HTML of the page.",
        frozenset({"render"}), counts_urls=True,
    ),
    _Task(
        "redirects", "Update the links to {}", "redirect", "redirects",
        "Each redirect costs visitors and crawlers a request", 0.1,
        "Change the links to the final URLs.",
        frozenset({"link"}), counts_links=True,
    ),
    _Task(
        "media", "Repair {}", "listed image or video", "listed images and videos",
        "Search engines cannot show these files", 0.0,
        "Correct the files, or the pages that show them.",
        frozenset({"media"}),
    ),
    _Task(
        "targets", "Correct the links to {}", "dead part, file or other site", "dead parts, files and other sites",
        "Visitors do not find what the page promises", 0.1,
        "Correct each link, or remove it.",
        frozenset({"target"}),
    ),
    _Task(
        "texts", "Correct {}", "title, text or JSON-LD block", "titles, texts and JSON-LD blocks",
        "Search engines cannot tell these pages apart, or ignore what they state", 0.1,
        "Give each page its own title and text, or name the canonical, and correct the JSON-LD.",
        frozenset({"page"}),
    ),
    _Task(
        "lint", "Correct {}", "problem in the sitemap files", "problems in the sitemap files",
        "Search engines may skip the entries", 0.0,
        "Correct the program that writes the sitemap.",
        frozenset({*LINT}),
    ),
    _Task(
        "reach", "Bring {} nearer to the start page", "page", "pages",
        "Visitors and crawlers rarely follow so many links", 0.25,
        "Link to them from pages that are nearer to the start page.",
        frozenset({"reach.deep"}),
    ),
    _Task(
        "inlinks", "Link to {} from more pages", "page", "pages",
        "Search engines rate pages with few links to them as unimportant", 0.25,
        "Link to each of them from related pages.",
        frozenset({"reach.few"}),
    ),
    _Task(
        "shorten", "Shorten {}", "page", "pages", "Googlebot reads only the first 2 MB of a page", 0.25,
        "Move inline styles, scripts, data and pictures into separate files, or divide the page.",
        frozenset({"google.size"}),
    ),
    _Task(
        "index", "Let Google index {}", "page", "pages", "Google's results cannot show these pages", 0.25,
        "Read the reason that Google gives for each page. Link to the page from important pages.",
        frozenset({"google.unindexed"}),
    ),
    _Task(
        "agree", "Agree with Google on the canonical of {}", "page", "pages",
        "Google shows another URL in place of the page", 0.25,
        "If both URLs show the same content, redirect one URL to the other. Otherwise, give the pages different texts.",
        frozenset({"google.canonical"}),
    ),
    _Task(
        "crawl", "Lead search engines to {}", "page", "pages",
        "Search engines did not request these pages, so their results cannot show the present content", 0.25,
        "Link to them from pages that search engines crawl often, and list them in the sitemap with their lastmod.",
        frozenset({"bots"}),
    ),
    _Task(
        "own", "Correct {}", "page that breaks a rule of your own", "pages that break rules of your own",
        "Your configuration has rules for these pages", 0.25, "Read what the rule says.",
        frozenset({OWN}), counts_urls=True,
    ),
)  # fmt: skip
_MINOR: Final = frozenset({"listed.series"})  # rules that ask for no action


class RankedActions(NamedTuple):
    """The actions, the one with the most effect first, and the patterns of all rules in the order of the reports."""

    actions: list[Action]
    patterns: list[FindingPattern]


def rank_actions(report: AuditReport, findings: AuditFindings) -> RankedActions:
    """What to do, by effect; what only notes ask for comes last. Reads each finding once; takes O(n log n).

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
    actions.sort(key=lambda action: (action.severity == Severity.NOTE, -action.effect, action.name))
    return RankedActions(actions, patterns)


def _task_of(rule: Rule) -> _Task:
    """The task that resolves a rule: its own, or that of its family."""
    return next(task for key in (rule.id, rule.family) for task in _TASKS if key in task.rules)


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
        self.inlinks += finding.inlinks
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
    how = task.how
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
