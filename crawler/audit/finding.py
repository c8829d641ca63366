"""The values of an audit: findings with their evidence, and the report that counts them. No rules, no I/O."""

from collections.abc import Collection, Iterator
from enum import StrEnum
from typing import Final, Protocol

from msgspec import Struct, field
from msgspec.structs import force_setattr

from crawler.audit.rules import ALL_RULES
from crawler.audit.source_record import SourceReport
from sitemap import Finding, Severity, shorten


class Certainty(StrEnum):
    """How far a finding holds, the best first: see :mod:`crawler.audit.orphans.certainty`."""

    CERTAIN = "certain"  # no page that the audit did not see can disprove it
    LIKELY = "likely"  # a page that failed may disprove it; 97 of 100 such findings are true
    INCONCLUSIVE = "inconclusive"


MAX_KEPT: Final = 1_000
"""URLs in ``AuditFinding.rests_on`` that are kept for the next audit: a link of a template is on every page."""
THROUGH: Final = "> "
"""Stands there before a URL through which a link leads, and that need not be read unless pages still link to it."""
MORE_URLS: Final = "*"
"""Stands in ``AuditFinding.rests_on`` for more than that."""


class Referrer(Struct, frozen=True):
    """A page that leads to the URL of a finding, and how: "link", "nofollow", "redirect" and so on."""

    url: str
    how: str


class LinkSuggestion(Struct, frozen=True):
    """A page that should link to an orphan, or that a dead URL should redirect to, and the reason in words.

    ``score`` is from 0 to 1: how well the page fits.
    """

    url: str
    reason: str
    score: float


class AuditFinding(Finding, frozen=True, kw_only=True, omit_defaults=True):
    """A finding with the evidence about its URL.

    ``rule`` is a key of :data:`crawler.audit.rules.ALL_RULES`. ``is_certain`` is False when pages that the audit did
    not see could disprove it; ``certainty`` says how likely that is. ``depth`` counts clicks from the start; None: no
    path of links leads to it. ``inlinks`` counts other pages with links to it that may be followed; ``weight`` is its
    share of the site's link weight, where the average page has 1.0. ``known`` are the kinds of sources that know it
    (:class:`SourceKind`).
    """

    url: str
    is_certain: bool = True
    certainty: Certainty = Certainty.CERTAIN
    title: str = ""
    state: str = ""  # a crawler.model.State, "" when it was not fetched
    status: int | None = None
    lastmod: str = ""
    depth: int | None = None
    inlinks: int = 0
    weight: float = 0.0
    known: list[str] = field(default_factory=list)
    first: str = ""  # days of the first and last visit in logs, search and analytics
    last: str = ""
    people: int = 0
    addresses: int = 0  # of the people who got errors
    bots: int = 0
    clicks: int = 0
    impressions: int = 0
    sessions: int = 0
    views: int = 0
    users: int = 0
    backlinks: int = 0
    domains: int = 0  # that have backlinks
    spellings: list[str] = field(default_factory=list)  # others that the sources use for it
    referrers: list[Referrer] = field(default_factory=list)  # some of them
    rests_on: list[str] = field(default_factory=list)  # other URLs to read before it is resolved: FindingStore.put
    hubs: list[LinkSuggestion] = field(default_factory=list)  # the best first
    targets: list[LinkSuggestion] = field(default_factory=list)  # of a redirect of a dead URL, the best first
    evidence: list[str] = field(default_factory=list)  # sentences, each naming its source
    group: str = ""  # the island, the cluster
    entrance: str = ""  # the page of its island whose links lead to it, so that no other needs a link
    own_severity: str = ""  # the severity, of a rule that a configuration has: other processes do not know the rule
    segment: str = ""  # see crawler.audit.patterns
    since: str = ""  # the day (UTC) of the first of the consecutive audits that had it
    is_new: bool | None = None  # the previous audit checked the rule, and did not have it; None: it cannot tell

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.is_certain and self.certainty is Certainty.CERTAIN:
            force_setattr(self, "certainty", Certainty.INCONCLUSIVE)
        force_setattr(self, "evidence", [shorten(sentence) for sentence in self.evidence])

    @property
    def is_open(self) -> bool:
        """Whether it is inconclusive: neither certain nor likely."""
        return self.certainty is Certainty.INCONCLUSIVE

    @property
    def severity(self) -> Severity:
        """The severity of its rule."""
        return Severity(self.own_severity) if self.own_severity else ALL_RULES[self.rule].severity


class ResolvedFinding(Struct, frozen=True):
    """A finding of the previous audit that this one no longer has.

    ``since`` as in :class:`AuditFinding`; ``now`` is the current state. ``became`` is the rule of the finding that
    replaces it, "": it is resolved.
    """

    rule: str
    url: str
    since: str
    now: str = ""
    file: str = ""
    became: str = ""


class RuleTrend(Struct, frozen=True):
    """How many findings of one rule are new, continued and resolved (``mended``) since the previous audit.

    ``undecided`` counts those that this audit did not find but cannot rule out: it keeps them for the next one.
    ``became`` counts those that another finding replaces.
    """

    rule: str
    new: int
    still: int
    mended: int
    undecided: int = 0
    became: int = 0

    @property
    def gone(self) -> int:
        """Resolved and replaced ones."""
        return self.mended + self.became


def sum_trends(trends: Collection[RuleTrend]) -> RuleTrend:
    """The sums of trends, as the trend of no rule."""
    return RuleTrend("", *(sum(getattr(trend, name) for trend in trends) for name in RuleTrend.__struct_fields__[1:]))


class UndecidedFinding(Struct, frozen=True):
    """A finding of an earlier audit that this one does not have, and the reason ``why`` it may not be resolved."""

    rule: str
    url: str
    why: str


class AuditComparisonResult(Struct, frozen=True, kw_only=True):
    """The comparison of an audit with the previous one, which began at ``started`` (Unix time).

    ``uncompared`` has the reason why findings that only one of the two audits has are neither new nor resolved, by the
    id of a rule: one of the two did not check it, or could not decide it. A rule that the previous audit could not
    decide is compared with the last audit that could: its start is in ``earlier``. ``undecided`` are the first findings
    that this one could not decide.
    """

    started: float
    trends: list[RuleTrend]
    uncompared: dict[str, str] = {}
    earlier: dict[str, float] = {}
    undecided: tuple[UndecidedFinding, ...] = ()

    @property
    def total(self) -> RuleTrend:
        """The trend of all rules together."""
        return sum_trends(self.trends)


class BotRequests(Struct, frozen=True, kw_only=True):
    """The requests of one bot in the logs: of all, by ``statuses`` ("0": no response), and the first and last day.

    ``kind`` is a :class:`crawler.audit.sources.logs.bots.BotKind`. ``is_verifiable``: audit.verify_bots can check it.
    """

    name: str
    kind: str
    requests: int
    statuses: dict[str, int]
    first: str
    last: str
    is_verifiable: bool = False


class DayRequests(Struct, frozen=True):
    """The requests of bots on one day (``2026-11-21``, UTC), by kind of bot."""

    day: str
    requests: dict[str, int]


class CrawledPart(Struct, frozen=True):
    """A part of the site: its indexable ``pages``, and how many of them search engines ``crawled``.

    ``requests`` are those of bots for all URLs of the part, by kind of bot. Of a depth, they are for its pages only.
    """

    label: str
    pages: int
    crawled: int
    requests: dict[str, int]


class CrawledState(Struct, frozen=True):
    """The requests of bots for URLs that have this state today, by kind of bot, and the number of these URLs."""

    label: str
    urls: int
    requests: dict[str, int]


class CrawlPoint(Struct, frozen=True, kw_only=True):
    """The bot activity of one audit in numbers, for trends: its logs have ``days`` days.

    ``requests`` are by kind of bot. Search engines crawled ``crawled`` of ``pages`` indexable pages, and made
    ``to_pages`` requests for URLs of which the audit knows the state, ``wasted`` of these for non-indexable ones.
    """

    days: int
    requests: dict[str, int]
    pages: int
    crawled: int
    to_pages: int
    wasted: int


class BotActivity(Struct, frozen=True, kw_only=True):
    """What bots do, from the access logs. Requests are GET and HEAD for URLs of the site; days are in UTC.

    ``is_verified``: audit.verify_bots has checked the names that DNS can verify. ``by_day`` has every day of the logs.
    The requests of ``sections`` and ``segments`` leave out images, style sheets and other files; ``states`` has all.
    ``why_not_checked`` says why ``bots.uncrawled`` was not checked, or is "".
    """

    first: str
    last: str
    is_verified: bool
    total: CrawlPoint
    bots: list[BotRequests]  # the one with the most requests first
    by_day: list[DayRequests]
    sections: list[CrawledPart]
    segments: list[CrawledPart]  # none without a configuration
    depths: list[CrawledPart]
    states: list[CrawledState]
    why_not_checked: str = ""


class UncrawledPage(Struct, frozen=True, kw_only=True):
    """An indexable page that is linked or in a sitemap, and that no search engine requested in the logs."""

    url: str
    section: str
    segment: str
    depth: int | None
    inlinks: int
    is_listed: bool
    lastmod: str
    people: int


class AuditPoint(Struct, frozen=True, kw_only=True):
    """The numbers of findings of one audit, for trends over many.

    It is a part of :class:`crawler.audit.summary.AuditSummary`. ``rules`` counts the findings
    of each rule that has some, None: an earlier version did not store them. ``unchecked`` has the names of groups and
    the ids of rules that the audit did not check: for these, no findings does not mean no fault.
    """

    number: int
    started: float
    verdict: str
    pages: int
    severities: dict[str, int]
    rules: dict[str, int] | None = None
    unchecked: list[str] = []
    bots: CrawlPoint | None = None  # None: no logs with bots, or an earlier version

    def found(self, rule: str, group: str) -> int | None:
        """The findings of a rule of a group, None: unknown."""
        if self.rules is None or rule in self.unchecked or group in self.unchecked:
            return None
        return self.rules.get(rule, 0)


class RuleCount(Struct, frozen=True):
    """How many findings of one rule there are.

    ``certain`` counts those that are not inconclusive, of which ``likely`` are only likely; ``open_`` the others.
    """

    rule: str
    certain: int
    open_: int = 0
    likely: int = 0

    @property
    def total(self) -> int:
        """Certain, likely and inconclusive ones."""
        return self.certain + self.open_


class AcceptedCount(Struct, frozen=True, kw_only=True):
    """An entry of the file of accepted findings, and how many ``findings`` it accepts.

    :class:`crawler.audit.accepted.Acceptance` explains the others.
    ``until`` is its last day (UTC). An entry that ``is_expired`` accepts none.
    """

    url: str
    rule: str
    reason: str
    until: str
    findings: int = 0
    is_expired: bool = False


class HistogramBar(Struct, frozen=True):
    """A bar of a histogram."""

    label: str
    count: int


class SiteSection(Struct, frozen=True):
    """A part of the site, by the first directory of its paths: ``/shop/``. ``orphans`` include the weakly linked."""

    path: str
    pages: int
    orphans: int
    unlisted: int


class SiteSegment(Struct, frozen=True):
    """A part of the site that the configuration names; "": the rest. ``orphans`` include the weakly linked pages.

    ``errors``, ``warnings`` and ``notes`` count its findings.
    """

    name: str
    pages: int
    orphans: int = 0
    errors: int = 0
    warnings: int = 0
    notes: int = 0


class CrawlBasis(Struct, frozen=True, kw_only=True):
    """The crawl that an audit rests on: that of run number ``run``; None: its own, for this ``reason``.

    It ended at ``ended`` (Unix time), ``age`` seconds before the audit began. The audit reuses ``reused`` of its
    responses instead of fetching.
    """

    run: int | None = None
    ended: float = 0.0
    age: float = 0.0
    reused: int = 0
    reason: str = ""


class FindingPattern(Struct, frozen=True):
    """Findings of one rule whose URLs differ only in parts of the path, such as ``https://example.com/old/page-{n}``.

    ``{n}`` stands for a number, ``{id}`` for a hash, ``*`` for any name. ``count`` includes findings that stand for
    several; ``visits`` are those by people to all of them; ``examples`` are URLs, the most important first.
    """

    rule: str
    pattern: str
    count: int
    visits: int
    examples: list[str]


class Action(Struct, frozen=True, kw_only=True):
    """One thing to do, which resolves ``count`` findings of ``rules``.

    ``title`` says what to do, ``why`` what the problem costs, ``how`` the next step. ``effect`` ranks actions: see
    :func:`crawler.audit.actions.rank_actions`. ``examples`` are URLs, the most important first; ``file`` is the table
    of the report that prepares the work, or "".
    """

    name: str
    title: str
    why: str
    how: str
    severity: str  # of the worst of the rules
    rules: list[str]
    count: int
    inconclusive: int = 0  # of these
    effect: float
    examples: list[str]
    patterns: list[FindingPattern] = []  # the largest first
    file: str = ""


class NotAsked(Struct, frozen=True):
    """A URL that was not requested, with its secrets masked, and the reason; see :mod:`crawler.audit.not_asked`."""

    url: str
    reason: str


class AuditReport(Struct, frozen=True, kw_only=True):
    """The result of an audit. ``doubts`` say why orphan findings are inconclusive, each with its remedy.

    ``states`` and ``statuses`` count the URLs of the site, ``depths`` and ``ages`` its indexable pages: clicks from the
    start ("unreachable" last), and time since the last change. ``unchecked`` has the reason why rules were not checked,
    and ``undecided`` the reason why no finding does not mean no fault: both by the name of a group
    (:data:`crawler.audit.rules.RULE_GROUPS`) or the id of a rule. ``absent`` says, by group, that there was nothing to
    check.
    """

    url: str
    version: str
    started: float  # Unix time
    seconds: float  # of the whole command so far
    completeness: str  # of the crawl: crawler.state.runs.CompletenessLevel
    doubts: list[str]
    notes: list[str]
    fetched: int  # requests
    bytes: int
    urls: int  # of the site, from links and sources
    pages: int  # of these, the indexable ones
    reached: int  # of the indexable pages, those that followed links lead to
    listed: int  # of the indexable pages, those in a sitemap
    inputs: list[SourceReport]
    counts: list[RuleCount]
    states: list[HistogramBar]
    statuses: list[HistogramBar]
    depths: list[HistogramBar]
    ages: list[HistogramBar]
    inlinks: list[HistogramBar]
    sections: list[SiteSection]
    segments: list[SiteSegment] = []  # without a configuration of segments: none
    bots: BotActivity | None = None  # None: no logs with requests of bots
    exit_code: int = 0
    unchecked: dict[str, str] = {}
    undecided: dict[str, str] = {}
    absent: dict[str, str] = {}
    crawl: CrawlBasis | None = None  # None: an audit by a version that always crawled
    certainty: Certainty = Certainty.CERTAIN  # of most findings about links, and that other pages have links
    not_asked: list[NotAsked] = []  # URLs that only sources name, and that are never requested
    unasked: int = 0  # URLs that only sources know, and that --max-unlinked kept from being fetched
    compared: AuditComparisonResult | None = None
    history: list[AuditPoint] = []  # finished audits and this one, the oldest first
    accepted: list[AcceptedCount] = []  # not counted anywhere else
    actions: list[Action] = []  # the one with the most effect first
    patterns: list[FindingPattern] = []  # of all rules, in the order of the reports
    why_uncompared: str = ""  # why ``compared`` is None: no earlier audit finished, or its findings are lost

    def count(self, rule: str) -> RuleCount:
        """How many findings of a rule there are."""
        return next((item for item in self.counts if item.rule == rule), RuleCount(rule, 0))

    def trend(self, rule: str) -> RuleTrend:
        """The trend of a rule; zeros without a comparison."""
        return self.trends.get(rule, RuleTrend(rule, 0, 0, 0))

    def patterns_of(self, rule: str) -> list[FindingPattern]:
        """The patterns of the findings of a rule."""
        return [pattern for pattern in self.patterns if pattern.rule == rule]

    @property
    def trends(self) -> dict[str, RuleTrend]:
        """The trends by the id of the rule; none without a comparison."""
        return {trend.rule: trend for trend in self.compared.trends} if self.compared else {}


class AuditFindings(Protocol):
    """The findings of an audit, streamed rule by rule; can be read several times."""

    def __call__(self, rule: str) -> Iterator[AuditFinding]:
        """Those of a rule: the new ones first, then by importance."""
        ...

    def resolved(self, rule: str) -> Iterator[ResolvedFinding]:
        """Those of a rule that only the previous audit has: resolved ones first, then the oldest."""
        ...

    def uncrawled(self) -> Iterator[UncrawledPage]:
        """The pages that no search engine requested, by section and URL; none without logs that name bots."""
        ...

    def accepted(self, number: int) -> Iterator[AuditFinding]:
        """Those that an entry accepts, by its index in :attr:`AuditReport.accepted`. No other method returns them."""
        ...
