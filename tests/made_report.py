"""Makes audits up: a report and its findings, as large as wanted, the same for the same number, none of it measured."""

from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from pathlib import Path
from random import Random
from typing import Any

from audits import Given
from msgspec.structs import replace

from crawler.audit.actions import rank_actions
from crawler.audit.finding import (
    AuditComparisonResult,
    AuditFinding,
    AuditFindings,
    AuditPoint,
    AuditReport,
    BotActivity,
    BotRequests,
    CrawledPart,
    CrawledState,
    CrawlPoint,
    DayRequests,
    HistogramBar,
    LinkSuggestion,
    Referrer,
    ResolvedFinding,
    RuleCount,
    RuleTrend,
    SiteSection,
)
from crawler.audit.report.html import write_html
from crawler.audit.rules import RULES, needs_complete
from crawler.audit.source_record import SourceKind, SourceReport
from crawler.audit.sources.logs.bots import BotKind
from crawler.model import State

SITE = "https://shop.example"
SECTIONS = {
    "products": 41_200, "blog": 18_400, "help": 7_900, "de": 6_300, "fr": 5_100, "brands": 3_300, "sale": 2_050,
    "about": 900, "press": 610, "careers": 240, "lookbook-2024": 180, "events": 75,
}  # fmt: skip
WORDS = [
    "winter", "boots", "lantern", "canoe", "paddle", "wool", "river", "harbour", "atlas", "compass", "tent", "rope",
    "granite", "maple", "copper", "sail",
]  # fmt: skip
WEIGHTS = {
    "reach": 24,
    "orphan": 20,
    "listed": 14,
    "weak": 9,
    "gone": 9,
    "entry": 6,
    "canonical": 2,
    "link": 5,
    "cluster": 3,
    "media": 4,
}
LINT = {"lastmod.future": 3, "sitemap.too_many": 1}  # shares of lint findings: rules of the sitemap package
TODAY = "2026-11-18"
MENDED = {"entry.gone": 3, "gone.linked": 250}
UNCOMPARED = "orphan.log"
LIMIT_DOUBT = "The page limit of 100,000 was met with 12,408 URLs left to visit: raise --max-pages."
HUB_DOUBT = "https://shop.example/brands/ answered 503, so what it leads to is not known: run the audit again."


def made(
    number: int = 200, *, is_complete: bool = True, is_compared: bool = False, rules: Sequence[str] = ()
) -> tuple[AuditReport, AuditFindings]:
    """A report of about ``number`` findings of ``rules``, or of all that there are, and a way to ask for them.

    ``is_compared``: there was an audit before, which had other findings too, and did not look for one rule.
    """
    chosen = {each: WEIGHTS.get(RULES[each].family, 4) for each in RULES} | LINT
    shares = {each: share for each, share in chosen.items() if not rules or each in rules}
    total = sum(shares.values())
    counts = [_count(rule, max(1, share * number // total), is_complete) for rule, share in shares.items()]

    def findings(rule: str) -> Iterator[AuditFinding]:
        count = next((each for each in counts if each.rule == rule), RuleCount(rule, 0))
        for place in range(count.total):
            made = finding(rule, place, is_certain=place < count.certain)
            yield replace(made, **_news(rule, place) if is_compared else {"since": TODAY})

    told = report(counts, is_complete=is_complete)
    told = replace(told, **rank_actions(told, Given(findings))._asdict())
    if not is_compared:
        return told, Given(findings)
    mended = [
        ResolvedFinding(rule, f"{SITE}/{rule}/{n}", "2026-10-01", "answered 200" if n else "", "sitemap.xml")
        for rule in MENDED
        for n in range(MENDED[rule])
    ]
    return replace(told, compared=_compared(counts)), Given(findings, mended)


def _news(rule: str, place: int) -> dict[str, Any]:
    """What makes every seventh finding a new one."""
    if rule == UNCOMPARED:
        return {}
    return {"since": TODAY, "is_new": True} if place % 7 == 0 else {"since": "2026-10-01"}


def _compared(counts: list[RuleCount]) -> AuditComparisonResult:
    found = {each.rule: each.total for each in counts if each.rule != UNCOMPARED}
    trends = [
        RuleTrend(rule, new := -(-found.get(rule, 0) // 7), found.get(rule, 0) - new, MENDED.get(rule, 0))
        for rule in dict.fromkeys([*found, *MENDED])
    ]
    why = "the audit before was given no log"
    return AuditComparisonResult(started=1_794_000_000.0, trends=trends, uncompared={UNCOMPARED: why})


def _count(rule: str, total: int, is_complete: bool) -> RuleCount:
    is_open = not is_complete and needs_complete(rule)
    return RuleCount(rule, 0, total) if is_open else RuleCount(rule, total)


def finding(rule: str, place: int, *, is_certain: bool = True) -> AuditFinding:
    """One finding, made from its rule and place alone."""
    some = Random(f"{rule} {place}")
    words = some.sample(WORDS, 3)
    section = some.choices(list(SECTIONS), list(SECTIONS.values()))[0]
    url = f"{SITE}/{section}/{'-'.join(words)}-{place}"
    is_page = not rule.startswith(("gone", "entry.gone", "media", "sitemap"))
    is_known = rule.startswith(("orphan", "gone"))
    known = [each.value for each in SourceKind if some.random() < 0.4] or [SourceKind.SITEMAP.value]
    people = int(some.paretovariate(0.7)) if is_known and some.random() < 0.7 else 0
    return AuditFinding(
        rule=rule, url=url, is_certain=is_certain,
        sentence=f"{RULES[rule].sentence if rule in RULES else 'The sitemap breaks a rule.'} ({place})",
        title=f"{' '.join(words).title()} · Shop Example" if is_page else "",
        state=State.INDEXABLE.value if is_page else State.CLIENT_ERROR.value,
        status=200 if is_page else some.choice((404, 410)),
        lastmod=_day(some) if is_page and some.random() < 0.8 else "",
        depth=some.randrange(1, 14) if rule.startswith(("reach", "listed", "cluster")) else None,
        inlinks=some.randrange(1, 3) if rule.startswith(("reach", "listed")) else 0,
        weight=round(some.expovariate(1.5), 3),
        known=known,
        first=f"2026-{some.randrange(1, 6):02}-{some.randrange(1, 28):02}" if is_known else "",
        last=f"2026-{some.randrange(7, 12):02}-{some.randrange(1, 28):02}" if is_known else "",
        people=people, bots=some.randrange(90) if is_known else 0,
        clicks=people // 9, impressions=people * 4 // 3, sessions=people // 2,
        backlinks=some.randrange(9) if is_known and some.random() < 0.2 else 0,
        spellings=[f"{url}/", f"{url}?utm_source=mail"] if some.random() < 0.3 else [],
        referrers=_referrers(rule, some),
        hubs=_hubs(section, some) if rule.startswith(("orphan", "weak")) else [],
        evidence=[
            f"{SITE}/sitemap-{section}.xml lists it, with lastmod {_day(some)}.",
            f"access.log.{some.randrange(9)}.gz: {people} requests by people.",
        ],
        group=f"island {some.randrange(40)}" if rule == "orphan.island" else "",
        file=f"{SITE}/sitemap-{section}.xml" if rule.startswith(("entry", "sitemap", "lastmod")) else "",
        line=some.randrange(1, 50_000) if rule.startswith(("entry", "sitemap", "lastmod")) else 0,
    )  # fmt: skip


def _day(some: Random) -> str:
    return f"20{some.randrange(19, 26)}-{some.randrange(1, 13):02}-{some.randrange(1, 28):02}"


def _referrers(rule: str, some: Random) -> list[Referrer]:
    if not rule.startswith(("weak", "gone.linked", "reach", "listed")):
        return []
    how = rule.partition(".")[2] if rule.startswith("weak") else "link"
    return [
        Referrer(f"{SITE}/blog/{some.choice(WORDS)}-{some.randrange(999)}", how) for _ in range(some.randrange(1, 6))
    ]


def _hubs(section: str, some: Random) -> list[LinkSuggestion]:
    return [
        LinkSuggestion(f"{SITE}/{section}/", "It lists the other pages of this directory.", 0.91),
        LinkSuggestion(f"{SITE}/{section}/{some.choice(WORDS)}", "Its title has two words of this page's.", 0.64),
        LinkSuggestion(f"{SITE}/", "The start page.", 0.2),
    ]


def report(counts: list[RuleCount], *, is_complete: bool = True) -> AuditReport:
    """A report around the counts of findings."""
    pages = sum(SECTIONS.values())
    return AuditReport(
        url=f"{SITE}/", version="0.0.0", started=1_795_000_000.0, seconds=5_025.4,
        completeness="complete" if is_complete else "truncated",
        doubts=[] if is_complete else [LIMIT_DOUBT, HUB_DOUBT],
        notes=["The sitemap of pictures was left out: it names no pages."],
        fetched=112_480, bytes=3_912_004_331, urls=pages * 13 // 10, pages=pages,
        reached=pages * 95 // 100, listed=pages * 88 // 100,
        inputs=inputs(), counts=counts,
        states=bars("indexable", pages, "redirect", 9_120, "canonical elsewhere", 7_411, "client error", 4_020,
                    "noindex", 3_380, "blocked by robots.txt", 1_890, "server error", 42, "unreachable", 3),
        statuses=bars("200", pages + 10_800, "301", 8_990, "302", 130, "404", 3_610, "410", 410, "503", 42),
        depths=bars("0", 1, "1", 84, "2", 2_210, "3", 18_730, "4", 33_090, "5", 16_660, "6", 8_120, "7", 2_340,
                    "8", 501, "9 to 12", 208, "unreachable", pages * 5 // 100),
        ages=bars("less than a week", 1_205, "less than a month", 4_410, "less than 3 months", 9_930,
                  "less than a year", 28_841, "less than 2 years", 24_077, "older", 13_500, "unknown", 4_292),
        inlinks=bars("0", 4_312, "1", 9_120, "2", 7_700, "3 to 5", 16_310, "6 to 10", 19_900, "11 to 100", 25_001,
                     "more than 100", 3_912),
        sections=[SiteSection(f"/{name}/", size, int(size * share), size // 9)
                  for (name, size), share in zip(SECTIONS.items(), SHARES, strict=True)]
        + [SiteSection("/", 41, 0, 2)],
        bots=bot_activity(),
        history=history(),
    )  # fmt: skip


SHARES = (0.031, 0.112, 0.004, 0.0, 0.27, 0.06, 0.55, 0.0, 0.17, 0.008, 1.0, 0.02)


def bot_activity() -> BotActivity:
    """Bots on two months of days, of which three are missing."""
    some, kinds = Random(2), [kind.value for kind in BotKind]

    def requests(many: float) -> dict[str, int]:
        return {
            kind: int(many * share * some.uniform(0.7, 1.3)) for kind, share in zip(kinds, (6, 3, 1, 1, 2), strict=True)
        }

    def parts(sizes: dict[str, int]) -> list[CrawledPart]:
        return [CrawledPart(name, size, int(size * some.random()), requests(size / 10)) for name, size in sizes.items()]

    days = [
        DayRequests(f"{date(2026, 9, 1) + timedelta(days=day)}", requests(900 if day % 7 < 5 else 500))
        for day in range(61)
        if day not in (20, 21, 22)
    ]
    total = {kind: sum(day.requests[kind] for day in days) for kind in kinds}
    names = {
        "Googlebot": kinds[0],
        "GPTBot": kinds[1],
        "PerplexityBot": kinds[2],
        "ChatGPT-User": kinds[3],
        "AhrefsBot": kinds[4],
    }
    return BotActivity(
        first=days[0].day, last=days[-1].day, is_verified=False,
        total=CrawlPoint(days=58, requests=total, pages=86_255, crawled=61_234, to_pages=250_331, wasted=48_211),
        bots=[
            BotRequests(name=name, kind=kind, requests=total[kind], first=days[0].day, last=days[-1].day,
                        statuses={"200": total[kind] - 190, "301": 40, "304": 100, "404": 50}, is_verifiable=kind == kinds[0])
            for name, kind in names.items()
        ],
        by_day=days,
        sections=parts({f"/{name}/": size for name, size in SECTIONS.items()}),
        segments=[],
        depths=parts({str(depth): size for depth, size in enumerate((1, 84, 2_210, 18_730, 33_090, 16_660))}),
        states=[
            CrawledState(state, some.randrange(9_000), requests(some.randrange(9_000)))
            for state in ("indexable", "redirect", "client error", "noindex", "not requested by the audit")
        ],
    )  # fmt: skip


def history() -> list[AuditPoint]:
    """A year of audits, a month apart, with fewer and fewer findings."""
    return [
        AuditPoint(
            number=number, started=1_765_000_000.0 + number * 2_592_000, verdict="conclusive", pages=86_000,
            severities={"error": 60 - 4 * number, "warning": 900 - 50 * number, "note": 300},
            bots=replace(bot_activity().total, crawled=50_000 + 900 * number),
        )
        for number in range(12)
    ]  # fmt: skip


def bars(*pairs: str | int) -> list[HistogramBar]:
    """Labels and counts in turn."""
    return [HistogramBar(str(label), int(count)) for label, count in zip(pairs[::2], pairs[1::2], strict=True)]


def inputs() -> list[SourceReport]:
    """Sources of every kind, of which one was read in part."""
    return [
        SourceReport(source=SourceKind.SITEMAP, name=f"{SITE}/sitemap.xml", format="sitemap index", rows=80_114, used=79_902,
                foreign=212, bytes=9_104_332, urls=78_340),
        SourceReport(source=SourceKind.LOG, name="/var/log/nginx/access.log", format="nginx combined", rows=20_441_082,
                used=4_120_332, unread=17, foreign=0, beside=16_320_733, bytes=4_120_332_110, urls=91_204,
                first="2026-05-02", last="2026-11-20", notes=["412 requests call themselves Googlebot and are not."]),
        SourceReport(source=SourceKind.LOG, name="/var/log/nginx/access.log.3.gz", format="nginx combined", rows=81_200,
                used=20_113, unread=1, bytes=1_120_332, urls=9_204, first="2026-04-11", last="2026-05-01",
                complete=False, faults=["The file ends in the middle: copy it again."]),
        SourceReport(source=SourceKind.SEARCH, name="Pages.csv", format="Search Console pages", rows=1_000, used=996,
                foreign=4, bytes=88_210, urls=996, first="2026-08-20", last="2026-11-19",
                notes=["An export by hand stops at 1,000 rows."]),
        SourceReport(source=SourceKind.ANALYTICS, name="ga4-pages.csv", format="GA4", rows=12_004, used=11_880, unread=3,
                beside=121, bytes=810_221, urls=11_702, first="2026-01-01", last="2026-11-20"),
        SourceReport(source=SourceKind.BACKLINKS, name="backlinks.csv", format="column Target URL", rows=3_310, used=3_120,
                foreign=190, bytes=402_110, urls=811),
    ]  # fmt: skip


def write_page(report: AuditReport, findings: AuditFindings, path: Path, **options: int) -> None:
    """Write the HTML report to a path."""
    with path.open("wb") as file:
        write_html(report, findings, file, **options)
