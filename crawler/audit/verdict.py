"""The verdict of an audit: whether it is conclusive, and which rules are clean, not checked or undecided, and why."""

from datetime import UTC, datetime
from enum import StrEnum

from msgspec import Struct

from crawler.audit.finding import AuditReport, Certainty
from crawler.audit.rule_groups import REPORTED_RULES, RULE_GROUPS, RuleGroup
from crawler.audit.rules import needs_complete, rests_on_visits
from crawler.audit.source_record import SourceKind
from crawler.units import count_text, span


class VerdictKind(StrEnum):
    """How far the findings about orphans hold."""

    CONCLUSIVE = "conclusive"
    LIKELY = "likely"  # a few pages failed
    INCONCLUSIVE = "inconclusive"  # the crawl did not see all
    NOTHING = "nothing"  # there was nothing to compare the crawl with


class ReportGap(Struct, frozen=True):
    """Titles of rules that share one reason why they are not checked, not decided or not compared."""

    why: str
    titles: list[str]


class EmptyGroups(Struct, frozen=True):
    """Titles without findings: ``clean`` ones were checked, ``unchecked`` ones were not, ``undecided`` ones in part."""

    clean: list[str]
    unchecked: list[ReportGap]
    undecided: list[ReportGap]


def verdict_kind(report: AuditReport) -> VerdictKind:
    """How far the findings about orphans hold, whatever they are."""
    if report.doubts:
        return VerdictKind.LIKELY if report.certainty is Certainty.LIKELY else VerdictKind.INCONCLUSIVE
    return VerdictKind.NOTHING if "orphans" in report.unchecked else VerdictKind.CONCLUSIVE


def reservation(report: AuditReport) -> str:
    """What the verdict leaves out: a sentence, or ""."""
    if not report.unasked:
        return ""
    urls, verb = count_text(report.unasked, "URL"), "was" if report.unasked == 1 else "were"
    return f"{urls} that only sources name {verb} not fetched and may be orphans: raise --max-unlinked"


def rests_on(report: AuditReport) -> str:
    """Which crawl an audit rests on, and its age: the end of a sentence, or "" when unknown."""
    crawl = report.crawl
    if crawl is None:
        return ""
    if crawl.run is None:
        return f"its own crawl ({crawl.reason})"
    ended, urls = utc_minute(crawl.ended), count_text(crawl.reused, "URL")
    return f"the crawl of run {crawl.run}, which ended at {ended} ({span(crawl.age)} old) and covers {urls}"


def utc_minute(moment: float) -> str:
    """``2026-11-14 09:30 UTC``."""
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%d %H:%M UTC")


def why_not_checked(report: AuditReport, rule: str, group: RuleGroup) -> str:
    """Why a rule was not checked, or ""."""
    return report.unchecked.get(group.name) or report.unchecked.get(rule, "")


def why_not_checked_or_absent(report: AuditReport, rule: str, group: RuleGroup) -> str:
    """Why a rule was not checked, or that it had nothing to check, or ""."""
    return why_not_checked(report, rule, group) or report.absent.get(group.name, "")


def why_inconclusive(report: AuditReport, rule: str, group: RuleGroup) -> str:
    """Why a rule without findings may be broken all the same, or ""."""
    return report.undecided.get(group.name) or report.undecided.get(rule, "")


def empty_groups(report: AuditReport) -> EmptyGroups:
    """The groups without findings, or their rules where these differ; and unchecked rules of the other groups."""
    clean: list[str] = []
    unchecked: dict[str, list[str]] = {}
    undecided: dict[str, list[str]] = {}
    rules_found = {count.rule for count in report.counts if count.total}
    for group in RULE_GROUPS:
        has_findings = not rules_found.isdisjoint(group.rules)
        parts: dict[tuple[int, str], list[str]] = {}
        for rule in group.rules:
            if rule not in rules_found:
                parts.setdefault(_reason(report, rule, group), []).append(rule)
        is_whole = len(parts) == 1 and not has_findings
        for (kind, reason), rules in parts.items():
            titles = [group.title] if is_whole else [REPORTED_RULES[rule].title for rule in rules]
            if has_findings and reason == report.unchecked.get(group.name):
                titles = [f"The rest of {lower_first(group.title)}"]
            if kind:
                if kind == 1 or not has_findings:
                    (unchecked if kind == 1 else undecided).setdefault(reason, []).extend(titles)
            elif not has_findings:
                detail = "" if is_whole else f" ({', '.join(map(lower_first, titles))})"
                clean.append(f"{group.title}{detail}")
    return EmptyGroups(clean, report_gaps(unchecked), report_gaps(undecided))


def _reason(report: AuditReport, rule: str, group: RuleGroup) -> tuple[int, str]:
    if reason := why_not_checked_or_absent(report, rule, group):
        return 1, reason
    reason = why_inconclusive(report, rule, group)
    return (2, reason) if reason else (0, "")


def report_gaps(titles: dict[str, list[str]]) -> list[ReportGap]:
    """The gaps with these titles, by reason."""
    return [ReportGap(reason, group_titles) for reason, group_titles in titles.items()]


def lower_first(title: str) -> str:
    """A title within a sentence; acronyms keep their capitals."""
    return title if title[1:2].isupper() else f"{title[:1].lower()}{title[1:]}"


def why_uncertain(report: AuditReport, rule: str) -> str:
    """Why findings of a rule are inconclusive: the doubts, or the sitemaps that could not be read. "" if unknown."""
    if needs_complete(rule):
        return "; ".join(report.doubts)
    if rests_on_visits(rule):
        return "; ".join(f"{source.name}: {source.doubt}" for source in report.inputs if source.doubt)
    unread = [source for source in report.inputs if source.source is SourceKind.SITEMAP and not source.complete]
    return "; ".join(f"{source.name} could not be read completely: {' '.join(source.faults)}" for source in unread)
