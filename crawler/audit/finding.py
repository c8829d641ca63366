"""The values of an audit: a finding with its evidence, and the report that counts them. Holds no rules, does no I/O."""

from collections.abc import Iterator
from typing import Protocol

from msgspec import Struct, field

from crawler.audit.claim import SourceReport
from crawler.audit.rules import REPORTED_RULES
from sitemap import Finding, Severity


class Referrer(Struct, frozen=True):
    """A page that leads to the URL of a finding, and how: "link", "nofollow", "redirect" and so on."""

    url: str
    how: str


class LinkSuggestion(Struct, frozen=True):
    """A page that should link to an orphan, and the reason in words; ``score`` is from 0 to 1."""

    url: str
    reason: str
    score: float


class AuditFinding(Finding, frozen=True, kw_only=True, omit_defaults=True):
    """A finding with all that is known of the URL it is about.

    ``rule`` is an id of :data:`crawler.audit.rules.TOLD`. ``is_certain`` is False when it holds only if what the
    crawl did not see leads nowhere. ``depth`` counts clicks from the start, None: no way. ``inlinks`` counts the pages
    that link to it by links that count; ``weight`` is its share of the site's link weight, 1.0 being that of the
    average page. ``known`` are the kinds of sources that know it (:class:`crawler.audit.claim.Source`).
    """

    url: str
    is_certain: bool = True
    title: str = ""
    state: str = ""  # a crawler.model.State, "" when it was not asked for
    status: int | None = None
    lastmod: str = ""
    depth: int | None = None
    inlinks: int = 0
    weight: float = 0.0
    known: list[str] = field(default_factory=list)
    first: str = ""  # days of the visits that logs, search and analytics tell of
    last: str = ""
    people: int = 0
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
    hubs: list[LinkSuggestion] = field(default_factory=list)  # the best first
    evidence: list[str] = field(default_factory=list)  # sentences, each naming its source
    group: str = ""  # the island, the cluster
    since: str = ""  # the day (UTC) of the first of the audits in a row that had it
    is_new: bool = False  # the audit before looked for it, and did not have it

    @property
    def severity(self) -> Severity:
        """How bad it is, as the rule says."""
        return REPORTED_RULES[self.rule].severity


class ResolvedFinding(Struct, frozen=True):
    """A finding of the audit before that is no more.

    ``since`` as in :class:`AuditFinding`, ``now`` is what is there now. ``became`` is the rule of the finding that has
    taken its place, "": it is mended.
    """

    rule: str
    url: str
    since: str
    now: str = ""
    file: str = ""
    became: str = ""


class RuleTrend(Struct, frozen=True):
    """What became of the findings of one rule since the audit before: those new, still there, and mended.

    ``undecided`` are those that were not found and may be there all the same: they are neither mended nor forgotten.
    ``became`` are those in whose place there is another finding.
    """

    rule: str
    new: int
    still: int
    mended: int
    undecided: int = 0
    became: int = 0


class AuditComparisonResult(Struct, frozen=True, kw_only=True):
    """What an audit says compared with the one before, which began at ``started`` (Unix time).

    ``uncompared`` says why nothing can be called new or mended, by the id of a rule: one of the two did not look,
    or could not decide it. A rule that the audit before could not decide is compared with the last one that could: its
    start is in ``earlier``.
    """

    started: float
    trends: list[RuleTrend]
    uncompared: dict[str, str] = {}
    earlier: dict[str, float] = {}

    def trend(self, rule: str) -> RuleTrend:
        """What became of the findings of a rule."""
        return next((each for each in self.trends if each.rule == rule), RuleTrend(rule, 0, 0, 0))


class RuleCount(Struct, frozen=True):
    """How many findings of one rule there are; ``open_`` of them are inconclusive."""

    rule: str
    certain: int
    open_: int = 0

    @property
    def total(self) -> int:
        """All of them."""
        return self.certain + self.open_


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


class CrawlBasis(Struct, frozen=True, kw_only=True):
    """The crawl that an audit rests on: that of the run with the number ``run``, None: its own, for this ``reason``.

    ``ended`` is when it ended (Unix time), ``age`` how many seconds that was before the audit began, and ``reused`` how
    many of its answers the audit took instead of asking.
    """

    run: int | None = None
    ended: float = 0.0
    age: float = 0.0
    reused: int = 0
    reason: str = ""


class AuditReport(Struct, frozen=True, kw_only=True):
    """What an audit came to. ``doubts`` say why no page can be called an orphan, each with its remedy; none: they can.

    ``states`` and ``statuses`` count the URLs of the site, ``depths`` and ``ages`` its indexable pages: clicks from the
    start ("unreachable" last), and time since the last change. ``unchecked`` says why nothing was looked for, and
    ``undecided`` why what was not found may be there all the same: both by the name of a group of rules
    (:data:`crawler.audit.rules.GROUPS`) or the id of a rule. ``absent`` says, by group, that there was nothing
    to look at.
    """

    url: str
    version: str
    started: float  # Unix time
    seconds: float  # of the whole command so far
    completeness: str  # of the crawl: crawler.publish.completeness.Kind
    doubts: list[str]
    notes: list[str]
    fetched: int  # requests
    bytes: int
    urls: int  # of the site that are known, from anywhere
    pages: int  # of these, the indexable ones
    reached: int  # of these, those that followed links lead to
    listed: int  # of these, those in a sitemap
    inputs: list[SourceReport]
    counts: list[RuleCount]
    states: list[HistogramBar]
    statuses: list[HistogramBar]
    depths: list[HistogramBar]
    ages: list[HistogramBar]
    inlinks: list[HistogramBar]
    sections: list[SiteSection]
    exit_code: int = 0
    unchecked: dict[str, str] = {}
    undecided: dict[str, str] = {}
    absent: dict[str, str] = {}
    crawl: CrawlBasis | None = None  # None: an audit by a version that always crawled
    unasked: int = 0  # URLs that only sources know and that were not asked for, for want of room
    compared: AuditComparisonResult | None = None
    why_uncompared: str = (
        ""  # why it is None: no audit before this one came to its end, or its memory is lost
    )

    def count(self, rule: str) -> RuleCount:
        """How many findings of a rule there are."""
        return next((each for each in self.counts if each.rule == rule), RuleCount(rule, 0))


class AuditFindings(Protocol):
    """The findings of an audit, rule by rule, streamed; may be asked again."""

    def __call__(self, rule: str) -> Iterator[AuditFinding]:
        """Those of a rule: the new ones first, and of these and the others the most important."""
        ...

    def resolved(self, rule: str) -> Iterator[ResolvedFinding]:
        """Those of a rule that the audit before had and that are no more: the mended first, and what stood longest."""
        ...
