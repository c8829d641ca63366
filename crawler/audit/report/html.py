"""Tells an audit as one HTML file, which needs nothing else: no network, no other file, and for its figures no script.

Its policy (https://www.w3.org/TR/CSP3/) lets the browser load nothing, and run nothing but the one script that is
named by its hash. What comes from the site reaches the page as escaped text, or packed.
"""

import re
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib.resources import files
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from crawler.audit.claim import SourceKind
from crawler.audit.finding import (
    AuditComparisonResult,
    AuditFinding,
    AuditFindings,
    AuditReport,
    ResolvedFinding,
    RuleCount,
    RuleTrend,
)
from crawler.audit.report.charts import chart_bars, share_of, treemap_tiles
from crawler.audit.report.html_data import (
    FINDINGS_PER_CHUNK,
    ISLAND_RULE,
    OrphanIsland,
    allotment,
    chosen_findings,
    find_orphan_islands,
    pack_findings,
    visit_texts,
)
from crawler.audit.report.style import csp_source, read_style
from crawler.audit.rules import REPORTED_RULES, RULE_GROUPS, needs_complete
from crawler.audit.verdict import ReportGap, empty_groups, reservation, rests_on, verdict_kind, why_uncertain
from crawler.units import clock_text, size_text
from sitemap import Rule, Severity

if TYPE_CHECKING:
    from markupsafe import Markup


MAX_RESOLVED: Final = 200  # of one rule: what is no more need not all be read


class ResolvedFindings(Struct, frozen=True):
    """The findings of one rule that are no more: resolved, or replaced by another finding. ``first`` are shown."""

    rule: Rule
    resolved: int
    replaced: int
    first: list[ResolvedFinding]


class ComparisonView(Struct, frozen=True):
    """What became of the findings of the audit that began at ``started``; ``gaps`` say what cannot be compared."""

    started: datetime
    new: int
    still: int
    undecided: int
    missing: list[ResolvedFindings]
    gaps: list[ReportGap]

    @property
    def resolved(self) -> int:
        """How many are mended."""
        return sum(each.resolved for each in self.missing)

    @property
    def replaced(self) -> int:
        """How many are another finding now."""
        return sum(each.replaced for each in self.missing)


def comparison_view(report: AuditReport, findings: AuditFindings) -> ComparisonView | None:
    """The comparison of an audit with the one before; None if there is none."""
    compared = report.compared
    if compared is None:
        return None
    return ComparisonView(
        datetime.fromtimestamp(compared.started, UTC),
        sum(each.new for each in compared.trends),
        sum(each.still for each in compared.trends),
        sum(each.undecided for each in compared.trends),
        list(_resolved_findings(compared, findings)),
        list(_gaps_by_reason(compared)),
    )


def rule_trends(report: AuditReport) -> dict[str, RuleTrend]:
    """What became of the findings of each rule, by its id."""
    return {each.rule: each for each in report.compared.trends} if report.compared else {}


def _resolved_findings(
    compared: AuditComparisonResult, findings: AuditFindings
) -> Iterator[ResolvedFindings]:
    counts = {each.rule: each for each in compared.trends if each.mended or each.became}
    for rule in REPORTED_RULES:
        if each := counts.get(rule):
            first = list(islice(findings.resolved(rule), MAX_RESOLVED))
            yield ResolvedFindings(REPORTED_RULES[rule], each.mended, each.became, first)


def _gaps_by_reason(compared: AuditComparisonResult) -> Iterator[ReportGap]:
    """The rules that were not compared, by the reason."""
    titles: dict[str, list[str]] = {}
    for rule in REPORTED_RULES:
        if why := compared.uncompared.get(rule):
            titles.setdefault(why, []).append(REPORTED_RULES[rule].title)
    return (ReportGap(why, each) for why, each in titles.items())


MAX_FINDINGS: Final = 100_000  # findings in the file

MAX_FIRST: Final = 10  # findings of each class that are told without a script

MAX_SECTIONS: Final = 200  # in the table below the treemap

_SCRIPTS: Final = (
    "rows.js",
    "evidence.js",
    "table_csv.js",
    "table.js",
    "wiring.js",
)  # in this order they are one

_COLUMNS: Final = (
    ("url", "Page"), ("rule", "RuleView"), ("state", "Today"), ("depth", "Crawl depth"), ("inlinks", "Inlinks"),
    ("weight", "Link weight"), ("visits", "Visits"), ("lastmod", "lastmod"), ("known", "Known from"),
    ("since", "ComparisonView"),
)  # fmt: skip

_OPTION: Final = re.compile(r"(?<![\w-])--[a-z]+(?:-[a-z]+)*(?![\w-])")


class RuleView(Struct, frozen=True):
    """A rule that has findings: ``held`` of them are in the file, the ``first`` to be read without a script.

    ``why`` says why some are inconclusive; ``islands`` are the first of those that the findings form, of ``apart``.
    ``trend`` says what became of those of the audit before, None: nothing is known of that.
    """

    rule: Rule
    count: RuleCount
    held: int
    first: list[AuditFinding]
    why: str = ""
    islands: list[OrphanIsland] = []
    apart: int = 0
    trend: RuleTrend | None = None


class RuleFamilyView(Struct, frozen=True):
    """Classes that are told together."""

    id: str
    title: str
    classes: list[RuleView]

    @property
    def total(self) -> int:
        """All findings of its classes."""
        return sum(each.count.total for each in self.classes)


class KeyFigure(Struct, frozen=True):
    """A number that stands large at the top; ``link`` is the class or family that it counts."""

    label: str
    count: int
    beside: str = ""
    link: str = ""
    tone: str = ""


def write_html(
    report: AuditReport, findings: AuditFindings, path: Path, *, limit: int = MAX_FINDINGS
) -> None:
    """Write the page, with the ``limit`` most important findings in it. Raises OSError when the disk refuses."""
    from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415 - only who writes pays for it

    rooms = Environment(
        loader=PackageLoader("crawler.audit.report"), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    page = rooms.get_template("report.html").stream(_template_values(report, findings, limit))
    page.enable_buffering()
    # A path of the command line may hold bytes that are no text: they are shown as escapes.
    with path.open("w", encoding="utf-8", errors="backslashreplace", newline="\n") as file:
        file.writelines(page)


def _template_values(report: AuditReport, findings: AuditFindings, limit: int) -> dict[str, Any]:
    taken = allotment(report.counts, limit)
    families = list(_families(report, findings, taken))
    before = comparison_view(report, findings)
    return {
        "report": report,
        "started": datetime.fromtimestamp(report.started, UTC),
        "kind": verdict_kind(report).value,
        "but": reservation(report),
        "rests_on": rests_on(report),
        "empty": empty_groups(report),
        "open_findings": sum(each.open_ for each in report.counts),
        "site_figures": list(_site_figures(report)),
        "figures": list(map(_figure, families)),
        "families": families,
        "severities": list(Severity),
        "tally": _severity_counts(report.counts),
        "since": before,
        "columns": _COLUMNS if before else _COLUMNS[:-1],
        "held": sum(each.held for family in families for each in family.classes),
        "total": sum(each.total for each in report.counts),
        "sections": sorted(report.sections, key=lambda each: -each.pages)[:MAX_SECTIONS],
        "tiles": treemap_tiles(report.sections),
        **{name: chart_bars(getattr(report, name)) for name in ("states", "statuses", "depths", "ages", "inlinks")},
        "facts": _script_values(report),
        "parts": pack_findings(chosen_findings(findings, taken)),
        "amount": size_text, "clock": clock_text, "part": share_of, "percent": percent_text, "is_web": is_http_url,
        "visits": visit_texts, "told": REPORTED_RULES, "unbroken": keep_options_whole,
        **_inline_assets(),
    }  # fmt: skip


def _inline_assets() -> dict[str, Any]:
    """Script and style, as they are, and the policy that lets these two in and nothing else."""
    from markupsafe import Markup  # noqa: PLC0415

    folder = files("crawler.audit.report") / "templates"
    sheet = read_style("crawler.audit.report", "report.css")
    script = "".join((folder / name).read_text(encoding="utf-8") for name in _SCRIPTS)
    policy = (
        f"default-src 'none'; script-src {csp_source(script)}; style-src {csp_source(sheet)}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    return {"style": Markup(sheet), "script": Markup(script), "policy": policy}  # noqa: S704 - both are our own


def _families(
    report: AuditReport, findings: AuditFindings, taken: dict[str, int]
) -> Iterator[RuleFamilyView]:
    for group in RULE_GROUPS:
        classes = [_class(count, report, findings, taken) for count in group.counts(report)]
        if classes:
            yield RuleFamilyView(group.name, group.title, classes)


def _class(count: RuleCount, report: AuditReport, findings: AuditFindings, taken: dict[str, int]) -> RuleView:
    rule = REPORTED_RULES[count.rule]
    found = find_orphan_islands(findings(rule.id)) if rule.id == ISLAND_RULE else []
    return RuleView(
        rule,
        count,
        _included_count(count, findings, taken),
        [] if found else list(islice(findings(rule.id), MAX_FIRST)),
        why_uncertain(report, rule.id) if count.open_ and not needs_complete(rule.id) else "",
        found[:MAX_FIRST],
        len(found),
        rule_trends(report).get(rule.id),
    )


def _included_count(count: RuleCount, findings: AuditFindings, taken: dict[str, int]) -> int:
    """How many findings those stand for that there is room for."""
    number = taken[count.rule]
    return (
        count.total
        if number == count.total
        else sum(each.times for each in islice(findings(count.rule), number))
    )


def _site_figures(report: AuditReport) -> Iterator[KeyFigure]:
    of_urls, of_pages = f"{percent_text(share_of(report.pages, report.urls))} of the URLs", "{} of the pages"
    yield KeyFigure("URLs known", report.urls, "from anywhere")
    yield KeyFigure("indexable pages", report.pages, of_urls)
    yield KeyFigure(
        "reached by links",
        report.reached,
        of_pages.format(percent_text(share_of(report.reached, report.pages))),
    )
    yield KeyFigure(
        "in a sitemap", report.listed, of_pages.format(percent_text(share_of(report.listed, report.pages)))
    )


def _figure(family: RuleFamilyView) -> KeyFigure:
    open_ = sum(each.count.open_ for each in family.classes)
    worst = max(each.rule.severity for each in family.classes)
    return KeyFigure(family.title, family.total, f"{open_:,} inconclusive" if open_ else "", family.id, worst)


def _severity_counts(counts: list[RuleCount]) -> list[tuple[Severity, int]]:
    """How many findings there are of each severity that has any, the worst first."""
    tally: Counter[Severity] = Counter()
    for each in counts:
        tally[REPORTED_RULES[each.rule].severity] += each.total
    return [(severity, tally[severity]) for severity in sorted(Severity, reverse=True) if tally[severity]]


def _script_values(report: AuditReport) -> dict[str, Any]:
    """What the script has to know beside the findings."""
    groups = {rule: group.name for group in RULE_GROUPS for rule in group.rules}
    rules = [
        {
            "id": rule,
            "title": told.title,
            "severity": told.severity.value,
            "group": groups[rule],
            # where all findings say the same, the title of the page says more
            "alike": needs_complete(rule) or told.family == "listed",
        }
        for rule, told in REPORTED_RULES.items()
    ]
    return {
        "piece": FINDINGS_PER_CHUNK,
        "rules": rules,
        "sources": [source.value for source in SourceKind],
        "home": "/".join(report.url.split("/", 3)[:3]),
        "compared": report.compared is not None,
    }


def keep_options_whole(text: str) -> "Markup":
    """A text in which the names of our options stay whole: a line may end at any hyphen else."""
    from markupsafe import Markup, escape  # noqa: PLC0415

    return Markup(_OPTION.sub(r"<code>\g<0></code>", str(escape(text))))  # noqa: S704 - what was there is escaped


def percent_text(share: float) -> str:
    """A share for people: ``12 %``, ``0.3 %``; what is not all is never rounded to all, nor something to nothing."""
    if 0 < share < 0.001:
        return "< 0.1 %"
    if 0.999 < share < 1:
        return "> 99.9 %"
    digits = 1 if share < 0.1 or share > 0.99 else 0
    return f"{share * 100:.{digits}f}".removesuffix(".0") + " %"


def is_http_url(url: str) -> bool:
    """Whether a browser may be led there."""
    return url.lower().startswith(("http://", "https://"))
