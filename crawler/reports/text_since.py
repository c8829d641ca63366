"""Owns what a person reads of the audit before: what is new, still there and mended since, and what is not known."""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from itertools import islice
from typing import Final

from crawler.finding import AuditReport, Compared, Findings, Trend
from crawler.reports.page import Page
from crawler.reports.rules_told import TOLD
from crawler.reports.verdict import small
from sitemap import safe

FEW: Final = 3  # mended findings of each rule, unless all are wanted
_DEEP: Final = 4


def since(report: AuditReport, page: Page) -> Iterator[str]:
    """How this audit compares with the one before, in a line, or why it does not."""
    compared = report.compared
    if compared is None:
        if report.why_uncompared:
            yield from page.wrapped(safe(report.why_uncompared), 0, 2)
        return
    new = sum(each.new for each in compared.trends)
    gone = _gone(compared.trends)
    still = sum(each.still for each in compared.trends)
    undecided = sum(each.undecided for each in compared.trends)
    told = [f"{new:,} new", gone, f"{still:,} still there"]
    if undecided:
        told.append(f"{undecided:,} not found, and not decided")
    line = f"since the audit of {moment(compared.started)}: {', '.join(told)}"
    yield from page.wrapped(page.painted(line, "31" if new else "32"), 0, 2)


def _gone(trends: Iterable[Trend]) -> str:
    """How many are no more: ``4 mended, 9 became another finding``."""
    all_ = list(trends)
    mended, became = sum(each.mended for each in all_), sum(each.became for each in all_)
    told = [f"{mended:,} mended"] if mended or not became else []
    return ", ".join([*told, *([f"{became:,} became another finding"] if became else [])])


def moment(started: float) -> str:
    """``2026-11-14 09:30 UTC``."""
    return datetime.fromtimestamp(started, UTC).strftime("%Y-%m-%d %H:%M UTC")


def day(started: float) -> str:
    """``2026-11-14``."""
    return datetime.fromtimestamp(started, UTC).date().isoformat()


def mended(report: AuditReport, findings: Findings, page: Page, *, verbose: bool) -> Iterator[str]:
    """The findings of the audit before that are no more, with what is there now. One is held at a time."""
    trends = (
        {each.rule: each for each in report.compared.trends if each.mended or each.became}
        if report.compared
        else {}
    )
    if not trends:
        return
    yield ""
    yield page.painted(f"Gone since: {_gone(trends.values())}", "1")
    for rule in (rule for rule in TOLD if rule in trends):
        yield from page.wrapped(f"{_gone([trends[rule]])}  {TOLD[rule].title}  {rule}", 2, _DEEP)
        left = trends[rule].mended + trends[rule].became
        for each in islice(findings.mended(rule), None if verbose else FEW):
            left -= 1
            yield f"{'':{_DEEP}}{safe(each.url)}"
            place = f"in {safe(each.file)}; " if each.file and each.file != each.url else ""
            yield from page.wrapped(f"{place}found since {safe(each.since)}; {safe(each.now)}", _DEEP + 2)
        if left > 0:
            yield f"{'':{_DEEP}}… {left:,} more"


def uncompared(compared: Compared | None, page: Page) -> Iterator[str]:
    """Which rules the two audits cannot be compared by, and which are compared with an earlier one."""
    if compared is None:
        return
    reasons: dict[str, list[str]] = {}
    for rule, why in compared.uncompared.items():
        reasons.setdefault(f"not compared: {{}} ({safe(why)})", []).append(rule)
    for rule, started in compared.earlier.items():
        reasons.setdefault(f"compared with the audit of {moment(started)}: {{}}", []).append(rule)
    for said, rules in reasons.items():
        titles = "; ".join(small(TOLD[rule].title) for rule in TOLD if rule in rules)
        yield from page.wrapped(said.replace("{}", titles, 1), 0, 2)
