"""Owns what an audit comes to: whether it is conclusive, what was found nowhere, what nobody looked for, and why."""

from collections.abc import Iterator
from datetime import UTC, datetime
from enum import StrEnum

from msgspec import Struct

from crawler.audit.claim import SourceKind
from crawler.audit.finding import AuditReport
from crawler.audit.rules import REPORTED_RULES, RULE_GROUPS, RuleGroup, needs_complete
from crawler.units import count_text, span


class VerdictKind(StrEnum):
    """What can be said of orphans."""

    CONCLUSIVE = "conclusive"
    INCONCLUSIVE = "inconclusive"  # the crawl did not see all
    NOTHING = "nothing"  # there was nothing to compare the crawl with


class ReportGap(Struct, frozen=True):
    """Classes of findings, by their titles, of which the same reason keeps an audit from saying that there are none."""

    why: str
    titles: list[str]


class EmptyGroups(Struct, frozen=True):
    """What has no findings: ``clean`` was looked for and is not there, ``unchecked`` nobody looked for, and of
    ``undecided`` something was not seen."""

    clean: list[str]
    unchecked: list[ReportGap]
    undecided: list[ReportGap]


def verdict_kind(report: AuditReport) -> VerdictKind:
    """What can be said of orphans, whatever was found."""
    if report.doubts:
        return VerdictKind.INCONCLUSIVE
    return VerdictKind.NOTHING if "orphans" in report.unchecked else VerdictKind.CONCLUSIVE


def reservation(report: AuditReport) -> str:
    """What keeps a verdict from being the whole truth: a sentence, or ""."""
    if not report.unasked:
        return ""
    urls = "1 URL" if report.unasked == 1 else f"{report.unasked:,} URLs"
    was = "was" if report.unasked == 1 else "were"
    return f"{urls} that only sources know {was} not asked for, and may be orphans: raise --max-unlinked"


def rests_on(report: AuditReport) -> str:
    """Which crawl an audit rests on, and how old that is: the end of a sentence, or "" when that is not known."""
    crawl = report.crawl
    if crawl is None:
        return ""
    if crawl.run is None:
        return f"its own crawl ({crawl.reason})"
    ended = datetime.fromtimestamp(crawl.ended, UTC).strftime("%Y-%m-%d %H:%M UTC")
    urls = count_text(crawl.reused, "URL")
    return (
        f"the crawl of run {crawl.run}, which ended at {ended} ({span(crawl.age)} old) and answers for {urls}"
    )


def why_not_checked(report: AuditReport, rule: str, group: RuleGroup) -> str:
    """Why nobody looked for what a rule is about, or ""."""
    return report.unchecked.get(group.name) or report.unchecked.get(rule, "")


def why_not_checked_or_absent(report: AuditReport, rule: str, group: RuleGroup) -> str:
    """The same, or that there was nothing to look at, or ""."""
    return why_not_checked(report, rule, group) or report.absent.get(group.name, "")


def why_inconclusive(report: AuditReport, rule: str, group: RuleGroup) -> str:
    """Why what a rule is about may be there although it was not found, or ""."""
    return report.undecided.get(group.name) or report.undecided.get(rule, "")


def empty_groups(report: AuditReport) -> EmptyGroups:
    """The groups that have no findings, or their rules where these differ; and what nobody looked for in the others."""
    clean: list[str] = []
    unchecked: dict[str, list[str]] = {}
    undecided: dict[str, list[str]] = {}
    found = {each.rule for each in report.counts if each.total}
    for group in RULE_GROUPS:
        has_some = not found.isdisjoint(group.rules)
        parts: dict[tuple[int, str], list[str]] = {}
        for rule in group.rules:
            if rule not in found:
                parts.setdefault(_reason(report, rule, group), []).append(rule)
        is_whole = len(parts) == 1 and not has_some
        for (place, why), rules in parts.items():
            titles = [group.title] if is_whole else [REPORTED_RULES[rule].title for rule in rules]
            if has_some and why == report.unchecked.get(group.name):
                titles = [f"The rest of {lower_first(group.title)}"]
            if place:
                if place == 1 or not has_some:
                    (unchecked if place == 1 else undecided).setdefault(why, []).extend(titles)
            elif not has_some:
                told = "" if is_whole else f" ({', '.join(map(lower_first, titles))})"
                clean.append(f"{group.title}{told}")
    return EmptyGroups(clean, list(_gaps(unchecked)), list(_gaps(undecided)))


def _reason(report: AuditReport, rule: str, group: RuleGroup) -> tuple[int, str]:
    if why := why_not_checked_or_absent(report, rule, group):
        return 1, why
    why = why_inconclusive(report, rule, group)
    return (2, why) if why else (0, "")


def _gaps(titles: dict[str, list[str]]) -> Iterator[ReportGap]:
    return (ReportGap(why, each) for why, each in titles.items())


def lower_first(title: str) -> str:
    """A title within a sentence: what is written in capitals, or never with one, stays so."""
    return title if title[1:2].isupper() else f"{title[:1].lower()}{title[1:]}"


def why_uncertain(report: AuditReport, rule: str) -> str:
    """Why findings of a rule are inconclusive: the doubts, or the sitemaps that could not be read. "" if unknown."""
    if needs_complete(rule):
        return "; ".join(report.doubts)
    unread = [each for each in report.inputs if each.source is SourceKind.SITEMAP and not each.complete]
    return "; ".join(f"not all could be read of {each.name}: {' '.join(each.faults)}" for each in unread)
