"""Writes an audit as one self-contained HTML file: no network, no other file, and no script except for the table.

Its policy (https://www.w3.org/TR/CSP3/) lets the browser load nothing, and run only the one script whose hash it
names. Text of the site is escaped, or packed as JSON. Status pages share the style.
"""

import hashlib
import re
from base64 import b64encode
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from itertools import islice
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from msgspec import Struct
from msgspec.structs import replace

from crawler.audit.finding import (
    Action,
    AuditFinding,
    AuditFindings,
    AuditPoint,
    AuditReport,
    FindingPattern,
    RuleCount,
    RuleTrend,
)
from crawler.audit.patterns import fold_findings
from crawler.audit.report.html_data import (
    FINDINGS_PER_CHUNK,
    ISLAND_RULE,
    OrphanIsland,
    allotment,
    find_orphan_islands,
    pack_findings,
    visit_texts,
)
from crawler.audit.rules import REPORTED_RULES, RULE_GROUPS, needs_complete
from crawler.audit.source_record import SourceKind, file_name
from crawler.audit.verdict import (
    count_unsettled,
    empty_groups,
    group_counts,
    reservation,
    rests_on,
    utc_minute,
    verdict_kind,
    why_uncertain,
)
from crawler.packages import portable
from crawler.units import clock_text, size_text
from crawler.url.normalize import DEFAULT_PARAMS, InvalidUrl, normalize_url, origin_of
from sitemap import Rule, Severity, safe


def read_style(package: str, name: str) -> str:
    """The common style, followed by a file of a package's templates."""
    common = files("crawler.audit.report") / "templates" / "base.css"
    own = files(package) / "templates" / name
    return common.read_text(encoding="utf-8") + own.read_text(encoding="utf-8")


def csp_source(text: str) -> str:
    """The hash source of an inline style or script: https://www.w3.org/TR/CSP3/#grammardef-hash-source."""
    return f"'sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


if TYPE_CHECKING:
    from jinja2 import Template
    from markupsafe import Markup


MAX_RESOLVED: Final = 200  # of one rule


def _comparison_values(report: AuditReport, findings: AuditFindings) -> dict[str, Any] | None:
    """The comparison of an audit with the previous one; None if there is none."""
    compared, trends = report.compared, report.trends
    if compared is None:
        return None
    gaps: dict[str, list[str]] = {}
    for rule in (rule for rule in REPORTED_RULES if compared.uncompared.get(rule)):
        gaps.setdefault(compared.uncompared[rule], []).append(REPORTED_RULES[rule].title)
    missing = [
        {"rule": rule, "trend": trends[rule.id], "first": list(islice(findings.resolved(rule.id), MAX_RESOLVED))}
        for rule in REPORTED_RULES.values()
        if rule.id in trends and trends[rule.id].gone
    ]
    started = datetime.fromtimestamp(compared.started, UTC)
    unsettled = sum(count_unsettled(report, count) for count in report.counts)
    undecided: dict[str, list[str]] = {}
    for each in compared.undecided:
        undecided.setdefault(each.why, []).append(f"{each.url} ({each.rule})")
    lists = {"missing": missing, "gaps": gaps, "undecided": undecided}
    return {"started": started, "total": compared.total, "unsettled": unsettled, **lists}


MAX_FINDINGS: Final = 100_000  # findings in the file
MAX_FIRST: Final = 10  # findings of each class that the page shows without a script
OPEN_WARNINGS: Final = 3  # classes of warnings that are unfolded
MAX_AUDITS: Final = 12  # in the table of bot activity over the audits
MAX_SECTIONS: Final = 200  # in the table of sections
_SCRIPTS: Final = ("rows.js", "evidence.js", "table_csv.js", "table.js", "wiring.js")  # joined in this order

_COLUMNS: Final = (
    ("url", "Page"), ("rule", "Class"), ("state", "Today"), ("depth", "Crawl depth"), ("inlinks", "Inlinks"),
    ("weight", "Link weight"), ("visits", "Visits or clicks"), ("lastmod", "lastmod"), ("known", "Known from"),
    ("since", "Since"),
)  # fmt: skip

_OPTION: Final = re.compile(r"(?<![\w-])--[a-z]+(?:-[a-z]+)*(?![\w-])")


class RuleView(Struct, frozen=True):
    """A rule that has findings: ``held`` of them are in the file, and the ``first`` are there without a script.

    ``why`` says why some are inconclusive; ``islands`` are the first of the ``apart`` islands that the findings form.
    ``trend`` compares with the previous audit; None: there is no comparison.
    """

    rule: Rule
    count: RuleCount
    held: int
    first: list[AuditFinding | FindingPattern]
    why: str = ""
    islands: list[OrphanIsland] = []
    apart: int = 0
    trend: RuleTrend | None = None
    is_open: bool = False  # unfolded


class RuleListView(Struct, frozen=True):
    """Rules that the page shows together: of one group, or of one severity."""

    id: str
    title: str
    classes: list[RuleView]

    @property
    def total(self) -> int:
        """All findings of its classes."""
        return sum(view.count.total for view in self.classes)


@cache
def template() -> "Template":
    """The template of the page: to compile it takes longer than to write a short report."""
    from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415 - only the HTML report needs it

    environment = Environment(
        loader=PackageLoader("crawler.audit.report"), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    return environment.get_template("report.html")


def write_html(report: AuditReport, findings: AuditFindings, file: BinaryIO, *, limit: int = MAX_FINDINGS) -> None:
    """Write the page, with the ``limit`` most important findings in it. Raises OSError when the disk refuses."""
    page = template().stream(_template_values(report, findings, limit))
    page.enable_buffering()
    # A path of the command line may hold bytes that are no text: the page shows them as escapes.
    file.writelines(part.encode("utf-8", "backslashreplace") for part in page)


def _template_values(report: AuditReport, findings: AuditFindings, limit: int) -> dict[str, Any]:
    taken = allotment(report.counts, limit)
    families = list(_families(report, findings, taken))
    comparison = _comparison_values(report, findings)
    return {
        "report": report,
        "started": datetime.fromtimestamp(report.started, UTC),
        "kind": verdict_kind(report).value,
        "but": reservation(report),
        "rests_on": rests_on(report),
        "empty": empty_groups(report),
        "open_findings": sum(item.open_ for item in report.counts),
        "likely_findings": sum(item.likely for item in report.counts),
        "families": families,
        "by_severity": _by_severity(families, report.actions),
        "severities": list(Severity),
        "tally": _severity_counts(report.counts),
        "since": comparison,
        "columns": _COLUMNS if comparison else _COLUMNS[:-1],
        "held": sum(item.held for family in families for item in family.classes),
        "total": sum(item.total for item in report.counts),
        "sections": sorted(report.sections, key=lambda item: -item.pages)[:MAX_SECTIONS],
        "trend": _trend_bars(report.history),
        **_bot_values(report),
        "facts": _script_values(report),
        "parts": pack_findings(findings, taken),
        "short": lambda url: path_text(url, report.url),
        "action_title": lambda action: action_title(action, report.url),
        "amount": size_text, "clock": clock_text, "part": share_of, "percent": percent_text, "is_web": is_http_url,
        "link_text": link_text, "visits": visit_texts, "rules": REPORTED_RULES, "unbroken": keep_options_whole,
        "file_name": file_name,
        **_inline_assets(),
    }  # fmt: skip


_STATUS_GROUPS: Final = ("2xx", "304", "3xx", "4xx", "5xx", "none")
MAX_BOTS: Final = 20  # in the table of bots
MAX_DAYS: Final = 31  # in the picture of bot activity: the last ones
MAX_HISTORY: Final = 24  # audits in the picture of the history: the last ones


def _trend_bars(history: Sequence[AuditPoint]) -> list[tuple[str, list[int]]]:
    """The findings of the last audits by severity, the last audit first; none for fewer than two audits."""
    points = history[: -MAX_HISTORY - 1 : -1] if len(history) > 1 else ()
    names = sorted(Severity, reverse=True)
    return [(utc_minute(point.started)[:10], [point.severities.get(name, 0) for name in names]) for point in points]


def _bot_values(report: AuditReport) -> dict[str, Any]:
    """The values of the section about bots."""
    activity = report.bots
    if activity is None:
        return {}
    counts = [_by_status_group(bot.statuses) for bot in activity.bots[:MAX_BOTS]]
    named = [name for name in _STATUS_GROUPS if any(name in count for count in counts)]
    points = [(utc_minute(point.started)[:10], point.bots) for point in report.history[-MAX_AUDITS:] if point.bots]
    return {
        "days": [
            (row.day, [row.requests.get(kind, 0) for kind in activity.total.requests])
            for row in reversed([row for row in activity.by_day if row.day][-MAX_DAYS:])
        ],
        "shown_bots": [
            (bot, [count[name] for name in named]) for bot, count in zip(activity.bots, counts, strict=False)
        ],
        "status_names": named,
        "crawl_points": points,
    }


def _by_status_group(statuses: dict[str, int]) -> Counter[str]:
    """Requests by the first digit of their status; 304 is a group of its own, and "none" is no response."""
    counts: Counter[str] = Counter()
    for status, requests in statuses.items():
        counts["none" if status == "0" else "304" if status == "304" else f"{status[0]}xx"] += requests
    return counts


def _inline_assets() -> dict[str, Any]:
    """Script and style, and the policy that allows these two and nothing else."""
    from markupsafe import Markup  # noqa: PLC0415

    folder = files("crawler.audit.report") / "templates"
    sheet = read_style("crawler.audit.report", "report.css")
    script = "".join((folder / name).read_text(encoding="utf-8") for name in _SCRIPTS)
    policy = (
        f"default-src 'none'; script-src {csp_source(script)}; style-src {csp_source(sheet)}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    return {"style": Markup(sheet), "script": Markup(script), "policy": policy}  # noqa: S704 - both are our own


def _families(report: AuditReport, findings: AuditFindings, taken: dict[str, int]) -> Iterator[RuleListView]:
    for group in RULE_GROUPS:
        classes = [_class(count, report, findings, taken) for count in group_counts(group, report)]
        if classes:
            yield RuleListView(group.name, group.title, classes)


def _class(count: RuleCount, report: AuditReport, findings: AuditFindings, taken: dict[str, int]) -> RuleView:
    rule = REPORTED_RULES[count.rule]
    islands = find_orphan_islands(findings(rule.id)) if rule.id == ISLAND_RULE else []
    return RuleView(
        rule,
        count,
        _included_count(count, findings, taken),
        [] if islands else list(islice(fold_findings(findings(rule.id), report.patterns_of(rule.id)), MAX_FIRST)),
        why_uncertain(report, rule.id) if count.open_ and not needs_complete(rule.id) else "",
        islands[:MAX_FIRST],
        len(islands),
        report.trends.get(rule.id),
    )


def _by_severity(families: Sequence[RuleListView], actions: Sequence[Action]) -> list[RuleListView]:
    """The rules by severity, the worst first. All errors are unfolded, and the warnings with the most effect."""
    by_effect = {rule: place for place, rule in enumerate(rule for action in actions for rule in action.rules)}
    views = sorted(
        (view for family in families for view in family.classes),
        key=lambda view: by_effect.get(view.rule.id, len(by_effect)),
    )
    parts = []
    for severity in sorted(Severity, reverse=True):
        classes = [view for view in views if view.rule.severity is severity]
        opened = {Severity.ERROR: len(classes), Severity.WARNING: OPEN_WARNINGS}.get(severity, 0)
        if classes:
            shown = [replace(view, is_open=place < opened) for place, view in enumerate(classes)]
            parts.append(RuleListView(severity.value, f"{severity.value.capitalize()}s", shown))
    return parts


def _included_count(count: RuleCount, findings: AuditFindings, taken: dict[str, int]) -> int:
    """How many findings the included ones stand for."""
    number = taken[count.rule]
    return (
        count.total if number == count.total else sum(finding.times for finding in islice(findings(count.rule), number))
    )


def _severity_counts(counts: list[RuleCount]) -> list[tuple[Severity, int]]:
    """The number of findings by severity, the worst first, without zeros."""
    tally: Counter[Severity] = Counter()
    for count in counts:
        tally[REPORTED_RULES[count.rule].severity] += count.total
    return [(severity, tally[severity]) for severity in sorted(Severity, reverse=True) if tally[severity]]


def _script_values(report: AuditReport) -> dict[str, Any]:
    """The data of the script beside the findings."""
    groups = {rule: group.name for group in RULE_GROUPS for rule in group.rules}
    rules = [
        {
            "id": rule,
            "title": definition.title,
            "severity": definition.severity.value,
            "group": groups[rule],
            # where all findings have the same sentence, the title of the page says more
            "alike": needs_complete(rule) or definition.family == "listed",
        }
        for rule, definition in REPORTED_RULES.items()
    ]
    return {
        "piece": FINDINGS_PER_CHUNK,
        "rules": rules,
        "sources": [source.value for source in SourceKind],
        "home": "/".join(report.url.split("/", 3)[:3]),
        "compared": report.compared is not None,
        "segments": [segment.name for segment in report.segments if segment.name],
    }


def keep_options_whole(text: str) -> "Markup":
    """A text in which no option is broken at a hyphen at the end of a line."""
    from markupsafe import Markup, escape  # noqa: PLC0415

    return Markup(_OPTION.sub(r"<code>\g<0></code>", str(escape(portable(text)))))  # noqa: S704 - what was there is escaped


def share_of(count: int, total: int) -> float:
    """A share from 0 to 1; 0 if the total is 0."""
    return min(count / total, 1.0) if total > 0 else 0.0


def percent_text(share: float) -> str:
    """A share as text: ``12 %``, ``0.3 %``; never rounded to 0 % or 100 % unless exact."""
    if 0 < share < 0.001:
        return "< 0.1 %"
    if 0.999 < share < 1:
        return "> 99.9 %"
    digits = 1 if share < 0.1 or share > 0.99 else 0
    return f"{share * 100:.{digits}f}".removesuffix(".0") + " %"


def link_text(url: str) -> str:
    """The text of a link: the URL with invisible characters as escapes, and with the host that browsers connect to.

    A URL as a sitemap spells it may show another host, with a Cyrillic letter for example.
    """
    try:
        target = normalize_url(url, DEFAULT_PARAMS.keeping_all)
    except InvalidUrl:
        return safe(url)
    return safe(url if f"{url}/".startswith(f"{origin_of(target)}/") else target)


def path_text(url: str, start: str) -> str:
    """The text of a link to a URL on the host of the start URL as its path; the text of any other URL, and the root."""
    origin, text = "/".join(start.split("/", 3)[:3]), link_text(url)
    return text.removeprefix(origin) if re.match(r"/[^/]", text.removeprefix(origin)) else text


def action_title(action: Action, start: str) -> str:
    """The title of an action, in which a pattern of URLs on the host of the start URL is a path, as in the examples."""
    origin = "/".join(start.split("/", 3)[:3])
    return action.title.replace(f" like {origin}/", " like /", 1)


def is_http_url(url: str) -> bool:
    """Whether the page may link to it."""
    return url.lower().startswith(("http://", "https://"))
