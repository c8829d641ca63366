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

from crawler.audit.claim import Source
from crawler.audit.finding import AuditFinding, AuditFindings, AuditReport, Compared, Count, Mended, Trend
from crawler.audit.report.charts import columns, part, tiles
from crawler.audit.report.html_data import ISLAND, PIECE, Island, chosen, islands, pieces, room, visits
from crawler.audit.report.style import source, style
from crawler.audit.rules import GROUPS, TOLD, needs_complete
from crawler.audit.verdict import Gap, but, empty, kind, rests_on, why_open
from crawler.units import amount, clock
from sitemap import Rule, Severity

if TYPE_CHECKING:
    from markupsafe import Markup


MAX_MENDED: Final = 200  # of one rule: what is no more need not all be read


class Gone(Struct, frozen=True):
    """What is no more of one rule: ``count`` are mended, and ``became`` are another finding now; ``first`` are told."""

    rule: Rule
    count: int
    became: int
    first: list[Mended]


class Since(Struct, frozen=True):
    """What became of the findings of the audit that began at ``started``; ``gaps`` say what cannot be compared."""

    started: datetime
    new: int
    still: int
    undecided: int
    gone: list[Gone]
    gaps: list[Gap]

    @property
    def mended(self) -> int:
        """How many are mended."""
        return sum(each.count for each in self.gone)

    @property
    def became(self) -> int:
        """How many are another finding now."""
        return sum(each.became for each in self.gone)


def since(report: AuditReport, findings: AuditFindings) -> Since | None:
    """The comparison of an audit with the one before; None if there is none."""
    compared = report.compared
    if compared is None:
        return None
    return Since(
        datetime.fromtimestamp(compared.started, UTC),
        sum(each.new for each in compared.trends),
        sum(each.still for each in compared.trends),
        sum(each.undecided for each in compared.trends),
        list(_gone(compared, findings)),
        list(_gaps(compared)),
    )


def trends(report: AuditReport) -> dict[str, Trend]:
    """What became of the findings of each rule, by its id."""
    return {each.rule: each for each in report.compared.trends} if report.compared else {}


def _gone(compared: Compared, findings: AuditFindings) -> Iterator[Gone]:
    counts = {each.rule: each for each in compared.trends if each.mended or each.became}
    for rule in TOLD:
        if each := counts.get(rule):
            first = list(islice(findings.mended(rule), MAX_MENDED))
            yield Gone(TOLD[rule], each.mended, each.became, first)


def _gaps(compared: Compared) -> Iterator[Gap]:
    """The rules that were not compared, by the reason."""
    titles: dict[str, list[str]] = {}
    for rule in TOLD:
        if why := compared.uncompared.get(rule):
            titles.setdefault(why, []).append(TOLD[rule].title)
    return (Gap(why, each) for why, each in titles.items())


MAX_ROWS: Final = 100_000  # findings in the file

FIRST: Final = 10  # findings of each class that are told without a script

MAX_SECTIONS: Final = 200  # in the table below the treemap

_SCRIPTS: Final = (
    "rows.js",
    "evidence.js",
    "table_csv.js",
    "table.js",
    "wiring.js",
)  # in this order they are one

_COLUMNS: Final = (
    ("url", "Page"), ("rule", "Class"), ("state", "Today"), ("depth", "Crawl depth"), ("inlinks", "Inlinks"),
    ("weight", "Link weight"), ("visits", "Visits"), ("lastmod", "lastmod"), ("known", "Known from"),
    ("since", "Since"),
)  # fmt: skip

_OPTION: Final = re.compile(r"(?<![\w-])--[a-z]+(?:-[a-z]+)*(?![\w-])")


class Class(Struct, frozen=True):
    """A rule that has findings: ``held`` of them are in the file, the ``first`` to be read without a script.

    ``why`` says why some are inconclusive; ``islands`` are the first of those that the findings form, of ``apart``.
    ``trend`` says what became of those of the audit before, None: nothing is known of that.
    """

    rule: Rule
    count: Count
    held: int
    first: list[AuditFinding]
    why: str = ""
    islands: list[Island] = []
    apart: int = 0
    trend: Trend | None = None


class Family(Struct, frozen=True):
    """Classes that are told together."""

    id: str
    title: str
    classes: list[Class]

    @property
    def total(self) -> int:
        """All findings of its classes."""
        return sum(each.count.total for each in self.classes)


class Figure(Struct, frozen=True):
    """A number that stands large at the top; ``link`` is the class or family that it counts."""

    label: str
    count: int
    beside: str = ""
    link: str = ""
    tone: str = ""


def write_html(report: AuditReport, findings: AuditFindings, path: Path, *, limit: int = MAX_ROWS) -> None:
    """Write the page, with the ``limit`` most important findings in it. Raises OSError when the disk refuses."""
    from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415 - only who writes pays for it

    rooms = Environment(
        loader=PackageLoader("crawler.audit.report"), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    page = rooms.get_template("report.html").stream(_values(report, findings, limit))
    page.enable_buffering()
    # A path of the command line may hold bytes that are no text: they are shown as escapes.
    with path.open("w", encoding="utf-8", errors="backslashreplace", newline="\n") as file:
        file.writelines(page)


def _values(report: AuditReport, findings: AuditFindings, limit: int) -> dict[str, Any]:
    taken = room(report.counts, limit)
    families = list(_families(report, findings, taken))
    before = since(report, findings)
    return {
        "report": report,
        "started": datetime.fromtimestamp(report.started, UTC),
        "kind": kind(report).value,
        "but": but(report),
        "rests_on": rests_on(report),
        "empty": empty(report),
        "open_findings": sum(each.open_ for each in report.counts),
        "site_figures": list(_site_figures(report)),
        "figures": list(map(_figure, families)),
        "families": families,
        "severities": list(Severity),
        "tally": _tally(report.counts),
        "since": before,
        "columns": _COLUMNS if before else _COLUMNS[:-1],
        "held": sum(each.held for family in families for each in family.classes),
        "total": sum(each.total for each in report.counts),
        "sections": sorted(report.sections, key=lambda each: -each.pages)[:MAX_SECTIONS],
        "tiles": tiles(report.sections),
        **{name: columns(getattr(report, name)) for name in ("states", "statuses", "depths", "ages", "inlinks")},
        "facts": _facts(report),
        "parts": pieces(chosen(findings, taken)),
        "amount": amount, "clock": clock, "part": part, "percent": percent, "is_web": is_web,
        "visits": visits, "told": TOLD, "unbroken": unbroken,
        **_own(),
    }  # fmt: skip


def _own() -> dict[str, Any]:
    """Script and style, as they are, and the policy that lets these two in and nothing else."""
    from markupsafe import Markup  # noqa: PLC0415

    folder = files("crawler.audit.report") / "templates"
    sheet = style("crawler.audit.report", "report.css")
    script = "".join((folder / name).read_text(encoding="utf-8") for name in _SCRIPTS)
    policy = (
        f"default-src 'none'; script-src {source(script)}; style-src {source(sheet)}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    return {"style": Markup(sheet), "script": Markup(script), "policy": policy}  # noqa: S704 - both are our own


def _families(report: AuditReport, findings: AuditFindings, taken: dict[str, int]) -> Iterator[Family]:
    for group in GROUPS:
        classes = [_class(count, report, findings, taken) for count in group.counts(report)]
        if classes:
            yield Family(group.name, group.title, classes)


def _class(count: Count, report: AuditReport, findings: AuditFindings, taken: dict[str, int]) -> Class:
    rule = TOLD[count.rule]
    found = islands(findings(rule.id)) if rule.id == ISLAND else []
    return Class(
        rule,
        count,
        _held(count, findings, taken),
        [] if found else list(islice(findings(rule.id), FIRST)),
        why_open(report, rule.id) if count.open_ and not needs_complete(rule.id) else "",
        found[:FIRST],
        len(found),
        trends(report).get(rule.id),
    )


def _held(count: Count, findings: AuditFindings, taken: dict[str, int]) -> int:
    """How many findings those stand for that there is room for."""
    number = taken[count.rule]
    return (
        count.total
        if number == count.total
        else sum(each.times for each in islice(findings(count.rule), number))
    )


def _site_figures(report: AuditReport) -> Iterator[Figure]:
    of_urls, of_pages = f"{percent(part(report.pages, report.urls))} of the URLs", "{} of the pages"
    yield Figure("URLs known", report.urls, "from anywhere")
    yield Figure("indexable pages", report.pages, of_urls)
    yield Figure(
        "reached by links", report.reached, of_pages.format(percent(part(report.reached, report.pages)))
    )
    yield Figure("in a sitemap", report.listed, of_pages.format(percent(part(report.listed, report.pages))))


def _figure(family: Family) -> Figure:
    open_ = sum(each.count.open_ for each in family.classes)
    worst = max(each.rule.severity for each in family.classes)
    return Figure(family.title, family.total, f"{open_:,} inconclusive" if open_ else "", family.id, worst)


def _tally(counts: list[Count]) -> list[tuple[Severity, int]]:
    """How many findings there are of each severity that has any, the worst first."""
    tally: Counter[Severity] = Counter()
    for each in counts:
        tally[TOLD[each.rule].severity] += each.total
    return [(severity, tally[severity]) for severity in sorted(Severity, reverse=True) if tally[severity]]


def _facts(report: AuditReport) -> dict[str, Any]:
    """What the script has to know beside the findings."""
    groups = {rule: group.name for group in GROUPS for rule in group.rules}
    rules = [
        {
            "id": rule,
            "title": told.title,
            "severity": told.severity.value,
            "group": groups[rule],
            # where all findings say the same, the title of the page says more
            "alike": needs_complete(rule) or told.family == "listed",
        }
        for rule, told in TOLD.items()
    ]
    return {
        "piece": PIECE,
        "rules": rules,
        "sources": [source.value for source in Source],
        "home": "/".join(report.url.split("/", 3)[:3]),
        "compared": report.compared is not None,
    }


def unbroken(text: str) -> "Markup":
    """A text in which the names of our options stay whole: a line may end at any hyphen else."""
    from markupsafe import Markup, escape  # noqa: PLC0415

    return Markup(_OPTION.sub(r"<code>\g<0></code>", str(escape(text))))  # noqa: S704 - what was there is escaped


def percent(share: float) -> str:
    """A share for people: ``12 %``, ``0.3 %``; what is not all is never rounded to all, nor something to nothing."""
    if 0 < share < 0.001:
        return "< 0.1 %"
    if 0.999 < share < 1:
        return "> 99.9 %"
    digits = 1 if share < 0.1 or share > 0.99 else 0
    return f"{share * 100:.{digits}f}".removesuffix(".0") + " %"


def is_web(url: str) -> bool:
    """Whether a browser may be led there."""
    return url.lower().startswith(("http://", "https://"))
