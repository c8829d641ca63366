"""The verdict of an audit: conclusive or not, which rules are clean or not checked, which ones make it fail. Pure."""

from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final

from msgspec import Struct

from crawler.audit.finding import AuditReport, Certainty, RuleCount
from crawler.audit.rules import (
    REPORTED_RULES,
    RULE_GROUPS,
    RULES,
    RuleGroup,
    heading_name,
    needs_complete,
    rests_on_visits,
)
from crawler.audit.source_record import SourceKind, SourceReport
from crawler.errors import UsageError, did_you_mean
from crawler.units import count_text, span
from sitemap import Severity


class VerdictKind(StrEnum):
    """How far the findings about orphans hold."""

    CONCLUSIVE = "conclusive"
    LIKELY = "likely"  # a few pages failed
    INCONCLUSIVE = "inconclusive"  # the crawl did not see all
    NOTHING = "nothing"  # there was nothing to compare the crawl with


class EmptyGroups(Struct, frozen=True):
    """Titles without findings: ``clean`` ones were checked, ``unchecked`` ones were not, ``undecided`` ones in part.

    The latter two are by the reason.
    """

    clean: list[str]
    unchecked: dict[str, list[str]]
    undecided: dict[str, list[str]]


def group_counts(group: RuleGroup, report: AuditReport) -> list[RuleCount]:
    """The counts of the rules of a group that have findings, in the order of the reports."""
    found = {count.rule: count for count in report.counts if count.total}
    return [found[rule] for rule in group.rules if rule in found]


def reported_counts(report: AuditReport) -> list[RuleCount]:
    """The counts of all rules that have findings, in the order of the reports."""
    return [count for group in RULE_GROUPS for count in group_counts(group, report)]


def reported_groups(report: AuditReport) -> list[tuple[RuleGroup, list[str]]]:
    """The groups with the rules that a report mentions: all of the audit, and those of lint that have findings.

    If lint was not checked, its first rule stands for all of them.
    """
    broken = {count.rule for count in report.counts if count.total}
    groups = []
    for group in RULE_GROUPS:
        shown = [rule for rule in group.rules if rule in RULES or rule in broken]
        groups.append((group, shown or list(group.rules[:1] if group.name in report.unchecked else ())))
    return [(group, rules) for group, rules in groups if rules]


def verdict_kind(report: AuditReport) -> VerdictKind:
    """How far the findings about orphans hold, whatever they are."""
    if report.doubts:
        return VerdictKind.LIKELY if report.certainty is Certainty.LIKELY else VerdictKind.INCONCLUSIVE
    return VerdictKind.NOTHING if "orphans" in report.unchecked else VerdictKind.CONCLUSIVE


def reservation(report: AuditReport) -> str:
    """What the verdict leaves out: a sentence, or ""."""
    said = []
    used = {source.source for source in report.inputs if source.used}
    if used and used <= {SourceKind.SITEMAP, SourceKind.REGISTER}:
        said.append(
            "an orphan that no sitemap lists cannot be found: give --log, --list, --search, --analytics or --backlinks"
        )
    if report.unasked:
        urls, verb = count_text(report.unasked, "URL"), "was" if report.unasked == 1 else "were"
        said.append(f"{urls} that only sources name {verb} not fetched and may be orphans: raise --max-unlinked")
    return "; and ".join(said)


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
                detail = "" if is_whole else f" ({'; '.join(map(lower_first, titles))})"
                clean.append(f"{group.title}{detail}")
    return EmptyGroups(clean, unchecked, undecided)


def _reason(report: AuditReport, rule: str, group: RuleGroup) -> tuple[int, str]:
    if reason := why_not_checked_or_absent(report, rule, group):
        return 1, reason
    reason = why_inconclusive(report, rule, group)
    return (2, reason) if reason else (0, "")


def lower_first(title: str) -> str:
    """A title within a sentence; acronyms keep their capitals."""
    return title if title[1:2].isupper() else f"{title[:1].lower()}{title[1:]}"


def why_uncertain(report: AuditReport, rule: str) -> str:
    """Why findings of a rule are inconclusive: the doubts, or the sitemaps that could not be read. "" if unknown."""
    if needs_complete(rule):
        return ". ".join(report.doubts)
    if rests_on_visits(rule):
        return "; ".join(f"{source.name}: {source.doubt}" for source in report.inputs if source.doubt)
    unread = [source for source in report.inputs if source.source is SourceKind.SITEMAP and not source.complete]
    return "; ".join(f"{source.name} could not be read completely: {' '.join(source.faults)}" for source in unread)


NO_SOURCE_GIVEN: Final = (
    "no sitemap, log or export to compare with, so orphans cannot be found; give one with --sitemap, --log, "
    "--search, --analytics, --backlinks, --list or --crawl"
)
CRAWL_INCOMPLETE: Final = "the crawl did not reach every page that links lead to"
_VISIT_SOURCES: Final = frozenset({SourceKind.LOG, SourceKind.SEARCH, SourceKind.ANALYTICS, SourceKind.BACKLINKS})
RULE_SOURCES: Final = (
    (("orphan.log",), frozenset({SourceKind.LOG}), "no --log given"),
    (("bots.uncrawled",), frozenset({SourceKind.LOG}), "no --log given"),
    (("orphan.search",), frozenset({SourceKind.SEARCH, SourceKind.ANALYTICS}), "no --search or --analytics given"),
    (
        ("orphan.list",),
        frozenset({SourceKind.BACKLINKS, SourceKind.LIST, SourceKind.CRAWL}),
        "no --list, --backlinks or --crawl given",
    ),
    (
        ("gone.named",),
        frozenset(SourceKind) - {SourceKind.SITEMAP, SourceKind.LOG, SourceKind.REGISTER},
        "no --list, --crawl, --backlinks, --search or --analytics given",
    ),
    (("gone.visited", "gone.down"), _VISIT_SOURCES, "no --log, --search, --analytics or --backlinks given"),
)
"""Rules, the kinds of sources of which they need at least one, and the reason if there is none."""
NO_INSPECTION: Final = "audit.inspect_urls is 0"
NO_OTHER_SITES: Final = "other sites are asked only with --check-external"
NOT_ASKED_FOR: Final = frozenset({NO_INSPECTION, NO_OTHER_SITES, *(why for *_, why in RULE_SOURCES)})
"""The reasons of rules that need a source or an option, and got none: a short report counts these rules."""
MAX_ALWAYS_REPORTED: Final = 12
_SITEMAP_GROUPS: Final = ("health", "media", "lint")


def not_checked(inputs: Sequence[SourceReport], media: bool) -> dict[str, str]:
    """The reasons why groups of rules, or rules, were not checked, by name or id.

    ``inputs`` are all sources that were read; ``media``: images and videos were fetched.
    """
    used = {report.source for report in inputs if report.used} - {SourceKind.REGISTER}
    reasons: dict[str, str] = {} if media else {"media": "audit.media=false"}
    if not used:
        reasons["orphans"] = NO_SOURCE_GIVEN
    for rules, sources, why in RULE_SOURCES:
        if not used & sources:
            reasons |= dict.fromkeys(rules, why)
    if why := _no_sitemap([report for report in inputs if report.source is SourceKind.SITEMAP]):
        reasons |= {"orphan.sitemap": why, "health": why, "media": reasons.get("media", why)}
        if not any(report.source is SourceKind.SITEMAP and (report.bytes or report.rows) for report in inputs):
            reasons["lint"] = why
    return {name: why for name, why in reasons.items() if used or not name.startswith("orphan.")}


def _no_sitemap(sitemaps: Sequence[SourceReport]) -> str:
    if not sitemaps:
        return "no sitemap of the site is known: give one with --sitemap"
    if any(report.used for report in sitemaps):
        return ""
    return (
        "no sitemap could be read"
        if not any(report.rows for report in sitemaps)
        else "no sitemap lists a page of the site"
    )


def inconclusive(inputs: Sequence[SourceReport], *, is_doubtful: bool, stopped: str, unasked: int) -> dict[str, str]:
    """The reasons why no finding of a rule does not mean no fault, by key as in :func:`not_checked`.

    ``stopped`` says why the crawl was cut short, or is ""; ``unasked`` counts URLs that only sources know and that were
    not fetched.
    """
    reasons: dict[str, str] = {}
    if is_doubtful:
        reasons |= dict.fromkeys(("orphans", "weak", "reach"), CRAWL_INCOMPLETE)
    if stopped:
        reasons |= dict.fromkeys(
            ("dead", "health", "links", "hreflang", "targets", "pages", "media"), f"the crawl was cut short: {stopped}"
        )
    if unasked:
        why = f"{unasked:,} URLs that only sources name were not fetched: raise --max-unlinked"
        of_sources = ("orphans", "lost.visited", "lost.published", "gone.visited", "gone.down", "health")
        reasons = dict.fromkeys(of_sources, why) | reasons
    for source, names in _read_in_part(inputs).items():
        why = f"these sources could not be read completely: {names}"
        if source is SourceKind.SITEMAP:
            reasons = dict.fromkeys((*_SITEMAP_GROUPS, "orphan.sitemap"), why) | reasons
        for rules, sources, _ in RULE_SOURCES:
            if source in sources:
                reasons = dict.fromkeys(rules, why) | reasons
    return reasons


def why_inlinks_not_reported(scarce: int, pages: int, few: int) -> str:
    """Why no page is reported for having at most ``few`` inlinks, as ``scarce`` of all ``pages`` do; "" unless most do.

    A site with one list for each of its parts is built that way: no page is at fault. A dozen of them are reported all
    the same, since a person can look at each.
    """
    if scarce <= MAX_ALWAYS_REPORTED or 2 * scarce <= pages:
        return ""
    return f"few inlinks are normal on this site: {scarce:,} of {count_text(pages, 'page')} have at most {few:,}"


def nothing_to_check(
    undecided: Container[str], *, has_media: bool, has_versions: bool, unrendered: str
) -> dict[str, str]:
    """The reasons why groups of rules had nothing to check, by name, without those that are ``open_``.

    ``unrendered`` is why no page differs when it is rendered, or "".
    """
    reasons = {} if has_media else {"media": "no sitemap lists images or videos"}
    if not has_versions:
        reasons["hreflang"] = "no page has hreflang annotations"
    if unrendered:
        reasons["render"] = unrendered
    return {name: why for name, why in reasons.items() if name not in undecided}


def _read_in_part(inputs: Sequence[SourceReport]) -> Mapping[SourceKind, str]:
    """The names of the sources that were read in part, by their kind."""
    names: dict[SourceKind, list[str]] = {}
    for report in inputs:
        if not report.complete:
            names.setdefault(report.source, []).append(report.name)
    return {
        source: first if not more else f"{first} and {len(more):,} more" for source, (first, *more) in names.items()
    }


FAIL_NEVER: Final = "never"
FAIL_ON_NEW: Final = "new"


def _groups() -> dict[str, tuple[str, ...]]:
    """The rules of each group, by its name and by its heading in reports as somebody types it."""
    return {name: group.rules for group in RULE_GROUPS for name in (group.name, heading_name(group.title))}


class FailingRules(Struct, frozen=True):
    """Rules that make an audit fail: ``always`` by any finding, ``new`` by a new one."""

    always: frozenset[str]
    new: frozenset[str]


def failing_counts(report: AuditReport, fail_on: Sequence[str]) -> list[RuleCount]:
    """The counts that make an audit fail, in the order of the rules. Raises UsageError as :func:`rules_failing` does.

    An inconclusive finding never fails an audit.
    """
    chosen = rules_failing(fail_on)
    failing: list[RuleCount] = []
    for count in reported_counts(report):
        if count.certain and count.rule in chosen.always:
            failing.append(count)
        elif count.rule in chosen.new and (new := report.trend(count.rule).new):
            failing.append(RuleCount(count.rule, new))
    return failing


def inconclusive_counts(report: AuditReport, fail_on: Sequence[str]) -> list[RuleCount]:
    """The counts that would make an audit fail if they were certain, or known to be new.

    Raises UsageError in the same way.
    """
    chosen = rules_failing(fail_on)
    return [
        count
        for count in reported_counts(report)
        if (count.open_ and count.rule in chosen.always)
        or (count.rule in chosen.new and count_unsettled(report, count))
    ]


def why_not_new(report: AuditReport, fail_on: Sequence[str]) -> list[str]:
    """Sentences that say why findings may be new or not, for the rules that ``fail_on`` marks with "new"."""
    new = rules_failing(fail_on).new
    rules: dict[str, list[str]] = {}
    for count in reported_counts(report):
        if count.rule in new and count_unsettled(report, count):
            uncompared = report.compared.uncompared if report.compared else {}
            reason = report.why_uncompared or uncompared.get(count.rule, "inconclusive, and not in the previous audit")
            rules.setdefault(reason, []).append(count.rule)
    sentences = [
        f"it is unknown whether findings of {', '.join(names)} are new ({reason})" for reason, names in rules.items()
    ]
    return [*sentences, *([_NEXT_AUDIT_NOTE] if sentences and report.compared is None else [])]


_NEXT_AUDIT_NOTE: Final = "the next audit is compared with this one, if the directory of --state is kept until then"


def count_unsettled(report: AuditReport, count: RuleCount) -> int:
    """How many findings of a rule are known neither as new nor as continued."""
    trend = report.trend(count.rule)
    return count.total - trend.new - trend.still


def rules_failing(fail_on: Sequence[str]) -> FailingRules:
    """The ids of the rules that the names stand for; a text may hold several names with commas between them.

    A name is a severity ("warning": that or worse), a family ("orphan", "orphan.*"), an id ("orphan.sitemap"), "lint"
    for all rules of lint, the heading of a group in reports ("dead", "dead-urls", "Dead URLs"), or, alone, "never". The
    prefix "new:" selects new findings only ("new:orphan"); "new" selects
    all new findings. Raises UsageError for an unknown name, with the nearest known one.
    """
    names = split_names(fail_on)
    if (FAIL_NEVER in names and len(set(names)) > 1) or f"{FAIL_ON_NEW}:{FAIL_NEVER}" in names:
        raise UsageError(f"--fail-on {FAIL_NEVER} cannot be combined with other names. Use {FAIL_NEVER} alone")
    known = (*Severity, FAIL_NEVER, FAIL_ON_NEW)
    always, new = set[str](), set[str]()
    for name in names:
        if name == FAIL_ON_NEW:
            new |= REPORTED_RULES.keys()
        elif name.startswith(f"{FAIL_ON_NEW}:"):
            new |= set(_choose(name.removeprefix(f"{FAIL_ON_NEW}:").strip(), tuple(Severity)))
        else:
            always |= set(_choose(name, known))
    return FailingRules(frozenset(always), frozenset(new))


def _choose(name: str, known: Sequence[str]) -> Collection[str]:
    if name == FAIL_NEVER:
        return ()
    if not name:
        raise UsageError(
            '--fail-on "new:" needs a name after the colon, such as new:orphan. For all new findings, use new alone'
        )
    if name in set(Severity):
        return [rule for rule, definition in REPORTED_RULES.items() if definition.severity >= Severity(name)]
    if group := _groups().get(heading_name(name)):
        return group
    return rules_named(name, REPORTED_RULES, known, "siteatlas audit --rules lists all rules", _groups())


def rules_named(
    name: str, rules: Collection[str], others: Sequence[str] = (), remedy: str = "", headings: Iterable[str] = ()
) -> frozenset[str]:
    """The rules that a name stands for: an id, or a family such as ``lastmod`` or ``lastmod.*``.

    Raises UsageError if there is none; it names the nearest rule, family, or one of ``others`` or ``headings``, or else
    the ``remedy``.
    """
    family = name.removesuffix("*").removesuffix(".") + "."
    if matching := {name}.intersection(rules) or {rule for rule in rules if rule.startswith(family)}:
        return frozenset(matching)
    known = [*others, *dict.fromkeys(rule.partition(".")[0] for rule in rules), *rules, *headings]
    raise UsageError(f"{name!r} is not the name of a rule. {did_you_mean(name, known, remedy)}")


def split_names(texts: Sequence[str] | None) -> list[str]:
    """The names in comma-separated texts."""
    return [name for text in texts or () for part in text.split(",") if (name := part.strip())]
