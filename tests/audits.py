"""Owns the audits that the tests of the reports tell: an ordinary one, one that found nothing, one full of traps."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from naughty import NAUGHTY

from crawler.audit.finding import (
    AuditFinding,
    AuditFindings,
    AuditReport,
    HistogramBar,
    LinkSuggestion,
    Referrer,
    ResolvedFinding,
    RuleCount,
    SiteSection,
    UncrawledPage,
)
from crawler.audit.rules import RULES
from crawler.audit.source_record import SourceKind, SourceReport

SITE = "https://www.example.com/"
DOUBT = "500 URLs left to visit, with --max-pages reached: raise it, and run again"


def findings() -> list[AuditFinding]:
    """Two orphans, one of them with all that can be known; dead links, entries, lint, and doubtful islands."""
    return [
        AuditFinding(
            rule="orphan.sitemap",
            url=f"{SITE}old/page",
            sentence=RULES["orphan.sitemap"].sentence,
            title="The old page",
            state="indexable",
            status=200,
            lastmod="2024-05-05",
            inlinks=0,
            weight=0.25,
            known=["sitemap", "log"],
            first="2026-10-01",
            last="2026-11-20",
            people=31,
            bots=4,
            clicks=12,
            impressions=400,
            sessions=7,
            backlinks=1,
            spellings=[f"{SITE}old/page/", f"{SITE}OLD/page"],
            referrers=[Referrer(f"{SITE}draft", "nofollow")],
            hubs=[LinkSuggestion(f"{SITE}old/", "its directory", 0.9), LinkSuggestion(SITE, "the start", 0.1)],
            evidence=["sitemap.xml line 12 lists it", "access.log: 31 visits, the last on 2026-11-20"],
        ),
        *(
            AuditFinding(rule="orphan.sitemap", url=f"{SITE}old/{n}", sentence="In sitemap.xml only.", depth=None)
            for n in range(5)
        ),
        AuditFinding(rule="reach.deep", url=f"{SITE}a/b/c", sentence="Seven clicks.", depth=7, inlinks=1, weight=0.01),
        AuditFinding(
            rule="entry.gone", url=f"{SITE}gone", sentence="It answered 410.", status=410, state="client error"
        ),
        AuditFinding(
            rule="duplicate.loc",
            url=f"{SITE}twice",
            sentence="listed before on line 3",
            file=f"{SITE}sitemap.xml",
            line=9,
        ),
        AuditFinding(
            rule="duplicate.loc", url="", sentence="and 7 more like these", file=f"{SITE}sitemap.xml", times=7
        ),
    ]


def audit(found: Iterable[AuditFinding], doubts: tuple[str, ...] = (), url: str = SITE) -> AuditReport:
    """A report that counts these findings."""
    counts: dict[str, list[int]] = {}
    for each in found:
        counts.setdefault(each.rule, [0, 0])[not each.is_certain] += each.times
    return AuditReport(
        url=url,
        version="1.2.3",
        started=1_795_274_000.0,
        seconds=62.4,
        completeness="truncated" if doubts else "complete",
        doubts=list(doubts),
        notes=["the site names no sitemap in robots.txt"],
        fetched=2_300,
        bytes=12_300_000,
        urls=2_140,
        pages=1_900,
        reached=1_850,
        listed=1_800,
        inputs=[
            SourceReport(
                source=SourceKind.SITEMAP,
                name=f"{url}sitemap.xml",
                format="urlset",
                rows=1_800,
                used=1_795,
                unread=3,
                foreign=2,
            ),
            SourceReport(
                source=SourceKind.LOG,
                name="access.log.gz",
                format="nginx combined",
                rows=20_000,
                used=18_000,
                beside=1_990,
                first="2026-10-01",
                last="2026-11-20",
                complete=False,
                faults=["line 20,001 is not the end of a gzip stream"],
            ),
        ],
        counts=[RuleCount(rule, *each) for rule, each in counts.items()],
        states=[HistogramBar("indexable", 1_900), HistogramBar("redirect", 240)],
        statuses=[HistogramBar("200", 1_900), HistogramBar("301", 240)],
        depths=[HistogramBar("0", 1), HistogramBar("1", 50), HistogramBar("unreachable", 50)],
        ages=[HistogramBar("under a month", 12)],
        inlinks=[HistogramBar("0", 6)],
        sections=[SiteSection("/old/", 10, 6, 0), SiteSection("/", 1_890, 0, 3)],
    )


@dataclass
class Given:
    """The findings that a function makes for a rule, and those that are mended."""

    make: Callable[[str], Iterator[AuditFinding]]
    gone: Sequence[ResolvedFinding] = ()
    set_aside: Sequence[Sequence[AuditFinding]] = ()
    left_out: Sequence[UncrawledPage] = ()

    def uncrawled(self) -> Iterator[UncrawledPage]:
        return iter(self.left_out)

    def accepted(self, number: int) -> Iterator[AuditFinding]:
        return iter(self.set_aside[number])

    def __call__(self, rule: str) -> Iterator[AuditFinding]:
        return self.make(rule)

    def resolved(self, rule: str) -> Iterator[ResolvedFinding]:
        return (each for each in self.gone if each.rule == rule)


def of(found: Iterable[AuditFinding], gone: Sequence[ResolvedFinding] = ()) -> AuditFindings:
    """The findings of a rule, in the order in which they are given, and those that are mended."""
    kept = list(found)
    return Given(lambda rule: (each for each in kept if each.rule == rule), gone)


def hostile(strings: Iterable[str] = NAUGHTY) -> list[AuditFinding]:
    """A finding for every naughty string, which stands wherever a text may stand."""
    rules = ("orphan.sitemap", "weak.nofollow", "entry.gone", "duplicate.loc")
    return [
        AuditFinding(
            rule=rules[number % len(rules)],
            url=text,
            sentence=text,
            is_certain=bool(number % 3),
            title=text,
            state=text,
            lastmod=text,
            known=[text],
            first=text,
            last=text,
            spellings=[text, "x", text],
            referrers=[Referrer(text, text)],
            hubs=[LinkSuggestion(text, text, 0.5)],
            evidence=[text],
            group=text,
            file=text if number % 2 else "",
            line=number % 7,
        )
        for number, text in enumerate(strings)
    ]
