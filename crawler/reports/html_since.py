"""Owns what the HTML report tells of the audit before: what is new, what is mended, and what could not be compared."""

from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import islice
from typing import Final

from msgspec import Struct

from crawler.audit_rules import AuditRule
from crawler.finding import AuditReport, Compared, Findings, Mended, Trend
from crawler.reports.rules_told import TOLD
from crawler.reports.verdict import Gap

MAX_MENDED: Final = 200  # of one rule: what is no more need not all be read


class Gone(Struct, frozen=True):
    """What is no more of one rule: ``count`` are mended, and ``became`` are another finding now; ``first`` are told."""

    rule: AuditRule
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


def since(report: AuditReport, findings: Findings) -> Since | None:
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


def _gone(compared: Compared, findings: Findings) -> Iterator[Gone]:
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
