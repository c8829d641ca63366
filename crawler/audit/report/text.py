"""Writes the summary of an audit for the terminal: verdict, figures, sources, and each rule with its first findings."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final, Self, TextIO

from crawler.audit.finding import (
    Action,
    AuditComparisonResult,
    AuditFinding,
    AuditFindings,
    AuditReport,
    FindingPattern,
    RuleCount,
    RuleTrend,
)
from crawler.audit.patterns import fold_findings
from crawler.audit.report.html_data import ISLAND_RULE, OrphanIsland, find_orphan_islands, visit_texts
from crawler.audit.report.layout import output_width, wrap
from crawler.audit.rules import REPORTED_RULES, RULE_GROUPS, RuleGroup, needs_complete
from crawler.audit.source_record import SourceReport
from crawler.audit.sources.logs.bots import BotKind
from crawler.audit.summary import rule_histories
from crawler.audit.verdict import (
    EmptyGroups,
    VerdictKind,
    empty_groups,
    group_counts,
    lower_first,
    reservation,
    rests_on,
    utc_minute,
    verdict_kind,
    why_uncertain,
)
from crawler.errors import Incomplete
from crawler.units import clock_text, count_text, size_text
from sitemap import Severity, safe


@dataclass(frozen=True, slots=True)
class TextFormatter:
    """Wraps and colours lines. ``width`` is that of :func:`crawler.audit.report.layout.output_width`."""

    width: int = 0
    colour: bool = False

    @classmethod
    def for_file(cls, file: TextIO) -> Self:
        """The formatter for a file: a terminal has colours unless NO_COLOR is set, anything else has none."""
        if not file.isatty():
            return cls(output_width(file))
        from rich.console import Console  # noqa: PLC0415 - files do not need it

        console = Console(file=file)
        return cls(output_width(file), console.color_system is not None and not console.no_color)

    def paint(self, text: str, code: str) -> str:
        """The text in a colour, or in bold ("1"), if there are colours."""
        return f"\x1b[{code}m{text}\x1b[0m" if self.colour else text

    def wrap(self, text: str, first: int, rest: int = -1) -> Iterator[str]:
        """A text in lines that fit. ``first`` and ``rest`` are the columns by which they are indented."""
        return wrap(text, self.width, " " * first, " " * (first if rest < 0 else rest))


MIN_AUDITS, MAX_AUDITS = 3, 6  # whose findings are shown as a trend
MAX_NAMED: Final = 3  # findings of each rule without --verbose
MAX_BOTS: Final = 6  # the most active ones
_INDENT: Final = 4


def comparison_line(report: AuditReport, page: TextFormatter) -> Iterator[str]:
    """The comparison with the previous audit in a line, or why there is none."""
    compared = report.compared
    if compared is None:
        if report.why_uncompared:
            yield from page.wrap(safe(report.why_uncompared), 0, 2)
        return
    total = compared.total
    texts = [f"{total.new:,} new", _resolved_text(total), f"{total.still:,} still there"]
    if total.undecided:
        texts.append(f"{total.undecided:,} not found again, but not decided")
    line = f"since the audit of {utc_minute(compared.started)}: {', '.join(texts)}"
    yield from page.wrap(page.paint(line, "31" if total.new else "32"), 0, 2)


def _resolved_text(trend: RuleTrend) -> str:
    """The findings that are gone: ``4 resolved, 9 became another finding``."""
    texts = [f"{trend.mended:,} resolved"] if trend.mended or not trend.became else []
    return ", ".join([*texts, *([f"{trend.became:,} became another finding"] if trend.became else [])])


def resolved_lines(
    report: AuditReport, findings: AuditFindings, page: TextFormatter, *, verbose: bool
) -> Iterator[str]:
    """The findings that only the previous audit has, with the current state. Holds one at a time."""
    if report.compared is None or not report.compared.total.gone:
        return
    yield ""
    yield page.paint(f"No longer found: {_resolved_text(report.compared.total)}", "1")
    trends = report.trends
    for rule in (rule for rule in REPORTED_RULES if rule in trends and trends[rule].gone):
        yield from page.wrap(f"{_resolved_text(trends[rule])}  {REPORTED_RULES[rule].title}  {rule}", 2, _INDENT)
        left = trends[rule].gone
        for finding in islice(findings.resolved(rule), None if verbose else MAX_NAMED):
            left -= 1
            yield f"{'':{_INDENT}}{safe(finding.url)}"
            place = f"in {safe(finding.file)}; " if finding.file and finding.file != finding.url else ""
            yield from page.wrap(f"{place}found since {safe(finding.since)}; {safe(finding.now)}", _INDENT + 2)
        if left > 0:
            yield f"{'':{_INDENT}}… {left:,} more"


def uncompared_lines(compared: AuditComparisonResult | None, page: TextFormatter) -> Iterator[str]:
    """The rules that are not compared, and those that are compared with an earlier audit."""
    if compared is None:
        return
    reasons: dict[str, list[str]] = {}
    for rule, reason in compared.uncompared.items():
        reasons.setdefault(f"not compared: {{}} ({safe(reason)})", []).append(rule)
    for rule, started in compared.earlier.items():
        reasons.setdefault(f"compared with the audit of {utc_minute(started)}: {{}}", []).append(rule)
    for template, rules in reasons.items():
        titles = "; ".join(lower_first(REPORTED_RULES[rule].title) for rule in REPORTED_RULES if rule in rules)
        yield from page.wrap(template.replace("{}", titles, 1), 0, 2)


_COLOUR: Final = {Severity.ERROR: "31", Severity.WARNING: "33", Severity.NOTE: "36"}  # red, yellow, cyan


def write_text(
    report: AuditReport, findings: AuditFindings, file: TextIO, *, verbose: bool = False, written: Iterable[Path] = ()
) -> None:
    """Write the summary, with ``verbose`` of all findings; ``written`` are the paths of the other reports.

    On a terminal it has colours, unless NO_COLOR is set, and lines of the terminal's width; otherwise each sentence is
    one line. Text from the web is escaped. Raises OSError.
    """
    page = TextFormatter.for_file(file)
    lines = report_lines(report, findings, page, verbose=verbose, written=written)
    file.writelines(f"{line}\n" for line in lines)


def report_lines(
    report: AuditReport,
    findings: AuditFindings,
    page: TextFormatter,
    *,
    verbose: bool = False,
    written: Iterable[Path] = (),
) -> Iterator[str]:
    """The summary, line by line. Holds one finding at a time."""
    yield from _verdict(report, page)
    yield from comparison_line(report, page)
    yield from _actions(report.actions, page, verbose)
    yield ""
    yield from _figures(report, page)
    yield from _inputs(report.inputs, page)
    for group in RULE_GROUPS:
        if counts := group_counts(group, report):
            yield from _group(group, counts, page)
            for count in counts:
                yield from _rule_lines(count, report, findings, page, verbose)
    yield from resolved_lines(report, findings, page, verbose=verbose)
    yield from _accepted_lines(report, findings, page, verbose=verbose)
    yield from _bot_lines(report, page)
    yield from _history_lines(report, page)
    yield ""
    yield from _empty_lines(empty_groups(report), page)
    yield from uncompared_lines(report.compared, page)
    yield from _closing_lines(report, page, written, verbose=verbose)


def _bot_lines(report: AuditReport, page: TextFormatter) -> Iterator[str]:
    """What bots do, in a few lines."""
    if (activity := report.bots) is None:
        return
    total = activity.total
    yield ""
    yield page.paint("bot activity", "1")
    kinds = ", ".join(f"{kind} {count:,}" for kind, count in total.requests.items())
    requests = count_text(sum(total.requests.values()), "request")
    days = f" ({_days(activity.first, activity.last)})" if activity.first else ""
    yield from page.wrap(f"{count_text(total.days, 'day')}{days}: {requests} by bots: {kinds}", 2, 4)
    if BotKind.SEARCH in total.requests:
        share = f"{total.wasted:,} of their {total.to_pages:,} requests for pages were for non-indexable URLs"
        yield from page.wrap(
            f"search engines crawled {total.crawled:,} of {count_text(total.pages, 'indexable page')}; {share}", 2, 4
        )
    bots = ", ".join(f"{safe(bot.name)} {bot.requests:,}" for bot in activity.bots[:MAX_BOTS])
    yield from page.wrap(f"most active: {bots}", 2, 4)
    if not activity.is_verified:
        claim = "the names are claims of the user agents; --set audit.verify_bots=true verifies search engines by DNS"
        yield from page.wrap(claim, 2, 4)


def _history_lines(report: AuditReport, page: TextFormatter) -> Iterator[str]:
    """The numbers of findings of each rule over the last audits, in a line, if there are enough for a trend."""
    points = report.history[-MAX_AUDITS:]
    if len(points) < MIN_AUDITS:
        return
    yield ""
    yield from page.wrap(
        page.paint(f"Findings of the last {len(points)} audits, the oldest first", "1")
        + f" (since {utc_minute(points[0].started)[:10]})",
        0,
        2,
    )
    for history in rule_histories(points):
        numbers = "".join("-".rjust(8) if total is None else f"{total:>8,}" for total in history.totals)
        yield f"{numbers}  {history.rule.id}"


def _accepted_lines(
    report: AuditReport, findings: AuditFindings, page: TextFormatter, *, verbose: bool
) -> Iterator[str]:
    """The accepted findings, a line for each entry that accepts some."""
    if any(count.findings for count in report.accepted):
        yield ""
        yield page.paint("Accepted, and not counted", "1")
    for entry, count in enumerate(report.accepted):
        if count.findings:
            text = (
                f"{count.findings:,}  {safe(count.rule)}  {safe(count.url)}  until {count.until}: {safe(count.reason)}"
            )
            yield from page.wrap(text, 2, _INDENT)
            for finding in findings.accepted(entry) if verbose else ():
                yield f"{'':{_INDENT}}{safe(finding.url or finding.file)}"


def _verdict(report: AuditReport, page: TextFormatter) -> Iterator[str]:
    """Whether orphan findings are conclusive: everything below rests on it."""
    match verdict_kind(report):
        case VerdictKind.CONCLUSIVE:
            verdict = page.paint(f"{safe(report.completeness)} crawl: orphan findings are conclusive", "1")
            yield from page.wrap(verdict, 0, 2)
        case VerdictKind.NOTHING:
            why = safe(report.unchecked["orphans"])
            yield from page.wrap(page.paint(f"{safe(report.completeness)} crawl: {why}", "33"), 0, 2)
    is_likely = verdict_kind(report) is VerdictKind.LIKELY
    for number, doubt in enumerate(report.doubts):
        first = page.paint("LIKELY:", "33") if is_likely else page.paint("INCONCLUSIVE:", "31")
        head = "and:" if number else first
        yield from page.wrap(f"{head} {safe(doubt)}", 0, 2)
    if more := reservation(report):
        yield from page.wrap(f"but {more}", 0, 2)


def _actions(actions: list[Action], page: TextFormatter, verbose: bool) -> Iterator[str]:
    """What to do first: the actions with the most effect."""
    if not actions:
        return
    yield ""
    yield page.paint("what to do first", "1")
    for number, action in enumerate(actions if verbose else actions[:MAX_NAMED], 1):
        some = f"{action.inconclusive:,} " if action.inconclusive < action.count else ""
        doubt = f"  ({some}inconclusive)" if action.inconclusive else ""
        title = page.paint(f"{number}. {safe(action.title)}{doubt}", _COLOUR[Severity(action.severity)])
        yield from page.wrap(title, 2, 5)
        yield from page.wrap(f"{safe(action.why)} {safe(action.how)}", 5)
        for url in action.examples[:1]:
            yield from page.wrap(f"for example {safe(url)}", 5, 7)


def _figures(report: AuditReport, page: TextFormatter) -> Iterator[str]:
    yield from page.wrap(f"{safe(report.url)} in {clock_text(report.seconds)}", 0, 2)
    requests = f"{count_text(report.fetched, 'request')}, {size_text(report.bytes)}"
    yield from page.wrap(
        f"{count_text(report.urls, 'URL')} known, {report.pages:,} of them indexable pages: "
        f"{report.reached:,} reached by "
        f"links, {report.listed:,} in a sitemap ({requests})",
        2,
    )
    if crawl := rests_on(report):
        yield from page.wrap(f"is based on {safe(crawl)}", 2, 4)
    for note in report.notes:
        yield from page.wrap(f"note: {safe(note)}", 2, 4)


def _inputs(inputs: list[SourceReport], page: TextFormatter) -> Iterator[str]:
    if not inputs:
        return
    yield ""
    yield page.paint("sources", "1")
    for source in inputs:
        form = f" ({safe(source.format)})" if source.format else ""
        numbers = [count_text(source.rows, "row"), f"{source.used:,} used"]
        for number, noun in ((source.unread, "unread"), (source.foreign, "of other sites"), (source.beside, "ignored")):
            if number:
                numbers.append(f"{number:,} {noun}")
        days = f"; {_days(safe(source.first), safe(source.last))}" if source.first or source.last else ""
        cut = "" if source.complete else "; read in part"
        yield from page.wrap(
            f"{source.source.value:<10}{safe(source.name)}{form}: {', '.join(numbers)}{days}{cut}", 2, 12
        )
        for sentence in (*source.faults, *source.notes):
            yield from page.wrap(safe(sentence), 12, 14)


def _group(group: RuleGroup, counts: list[RuleCount], page: TextFormatter) -> Iterator[str]:
    yield ""
    yield from page.wrap(page.paint(f"{group.title}: {_total(counts)}", "1"), 0, 2)


def _rule_lines(
    count: RuleCount, report: AuditReport, findings: AuditFindings, page: TextFormatter, verbose: bool
) -> Iterator[str]:
    """One rule: its severity, its count, its first findings, and the remedy."""
    rule = REPORTED_RULES[count.rule]
    severity = page.paint(rule.severity.value, _COLOUR[rule.severity])
    new = report.compared.trend(count.rule).new if report.compared else 0
    total = f"{_total([count])}, {new:,} new" if new else _total([count])
    yield from page.wrap(f"{severity}  {total}  {rule.title}  {rule.id}", 2, 4)
    if count.open_ and not needs_complete(rule.id) and (reason := why_uncertain(report, count.rule)):
        yield from page.wrap(f"inconclusive: {safe(reason)}", _INDENT)
    if count.rule == ISLAND_RULE:
        yield from _islands(find_orphan_islands(findings(count.rule)), page, verbose)
    if verbose or count.rule != ISLAND_RULE:
        few = MAX_NAMED if rule.severity > Severity.NOTE else max(1, min(MAX_NAMED, new))
        patterns = [] if verbose else report.patterns_of(count.rule)
        shown = islice(fold_findings(findings(count.rule), patterns), None if verbose else few)
        yield from _first(count, shown, page, utc_minute(report.started)[:10], verbose)
    yield from page.wrap(rule.remedy, _INDENT)


def _first(
    count: RuleCount, findings: Iterable[AuditFinding | FindingPattern], page: TextFormatter, today: str, verbose: bool
) -> Iterator[str]:
    left = count.total
    for finding in findings:
        if isinstance(finding, FindingPattern):
            left -= finding.count
            yield from _pattern(finding, page)
            continue
        left -= finding.times
        yield from _finding(finding, REPORTED_RULES[count.rule].sentence, page, today, verbose)
    if left > 0:
        yield f"{'':{_INDENT}}… {left:,} more"


def _pattern(pattern: FindingPattern, page: TextFormatter) -> Iterator[str]:
    """Findings of one pattern in one line."""
    visits = f"; {count_text(pattern.visits, 'visit')} by people" if pattern.visits else ""
    text = f"{pattern.count:,} like {safe(pattern.pattern)}{visits}"
    yield from page.wrap(text, _INDENT, _INDENT + 2)
    yield from page.wrap(f"for example {safe(pattern.examples[0])}", _INDENT + 2)


def _islands(islands: list[OrphanIsland], page: TextFormatter, verbose: bool) -> Iterator[str]:
    """A line for each island, since its pages would only repeat each other."""
    for island in islands if verbose else islands[:MAX_NAMED]:
        size = f"island of {island.pages:,} pages" if island.pages > 1 else "one page"
        text = "; ".join([size, *visit_texts(island.entry)])
        doubt = "" if island.entry.is_certain else f"  ({island.entry.certainty.value})"
        new = f"{page.paint('NEW', '31')} " if island.is_new else ""
        yield from page.wrap(
            f"{new}{text}: link {safe(island.entry.entrance or island.entry.url)}{doubt}", _INDENT, _INDENT + 2
        )
    if not verbose and len(islands) > MAX_NAMED:
        yield f"{'':{_INDENT}}… {count_text(len(islands) - MAX_NAMED, 'more island')}"


def _finding(
    finding: AuditFinding, rule_sentence: str, page: TextFormatter, today: str, verbose: bool
) -> Iterator[str]:
    place = f"{safe(finding.file)}:{finding.line}" if finding.line else safe(finding.file)
    url = safe(finding.url)
    doubt = "" if finding.is_certain else f"  ({finding.certainty.value})"
    new = f"{page.paint('NEW', '31')} " if finding.is_new else ""
    yield from page.wrap(f"{new}{url or place or 'the site'}{doubt}", _INDENT, _INDENT + 2)
    details = [f"in {place}"] if url and place and place != url else []
    if finding.sentence and finding.sentence != rule_sentence:
        details.append(safe(finding.sentence))
    details += _fact_texts(finding, verbose)
    if finding.since and finding.since != today:
        details.append(f"found since {safe(finding.since)}")
    if details:
        yield from page.wrap("; ".join(detail.rstrip(".") for detail in details), _INDENT + 2)
    for hub in finding.hubs if verbose else finding.hubs[:1]:
        yield from page.wrap(f"link it from {safe(hub.url)} ({safe(hub.reason)})", _INDENT + 2)
    for target in finding.targets if verbose else finding.targets[:1]:
        yield from page.wrap(f"redirect it to {safe(target.url)} ({safe(target.reason)})", _INDENT + 2)
    if verbose:
        yield from _detail_lines(finding, page)


def _detail_lines(finding: AuditFinding, page: TextFormatter) -> Iterator[str]:
    """The details of a finding that --verbose adds."""
    for referrer in finding.referrers:
        yield from page.wrap(f"linked from {safe(referrer.url)} ({safe(referrer.how)})", _INDENT + 2)
    if finding.spellings:
        yield from page.wrap(f"also written {safe(', '.join(finding.spellings))}", _INDENT + 2)
    for sentence in finding.evidence:
        yield from page.wrap(safe(sentence), _INDENT + 2)


def _fact_texts(finding: AuditFinding, verbose: bool) -> list[str]:
    """Facts about the URL of a finding, each in a few words."""
    facts = []
    if finding.depth is not None:
        facts.append(f"{count_text(finding.depth, 'click')} from the start")
    facts += visit_texts(finding)
    if finding.first or finding.last:
        facts.append(f"seen {_days(safe(finding.first), safe(finding.last))}")
    if verbose and finding.lastmod:
        facts.append(f"lastmod {safe(finding.lastmod)}")
    return facts


def _days(first: str, last: str) -> str:
    return first if first == last else f"{first or '?'} to {last or '?'}"


def _total(counts: list[RuleCount]) -> str:
    certain, inconclusive = sum(count.certain for count in counts), sum(count.open_ for count in counts)
    if not certain:
        return f"{inconclusive:,} inconclusive"
    return f"{certain:,} and {inconclusive:,} inconclusive" if inconclusive else f"{certain:,}"


def _empty_lines(nothing: EmptyGroups, page: TextFormatter) -> Iterator[str]:
    """The rules without findings: clean, not checked, and not decided."""
    if len(nothing.clean) == len(RULE_GROUPS) and not nothing.unchecked and not nothing.undecided:
        yield from page.wrap("nothing found", 0)
    elif nothing.clean:
        yield from page.wrap(f"nothing found: {', '.join(map(lower_first, nothing.clean))}", 0, 2)
    for word, gaps in (("checked", nothing.unchecked), ("decided", nothing.undecided)):
        for gap in gaps:
            text = f"not {word}: {'; '.join(map(lower_first, gap.titles))} ({safe(gap.why)})"
            yield from page.wrap(text, 0, 2)


def _closing_lines(
    report: AuditReport, page: TextFormatter, written: Iterable[Path], *, verbose: bool
) -> Iterator[str]:
    """The totals by severity, the paths of the reports, and the next step."""
    certain = dict.fromkeys(Severity, 0)
    for count in report.counts:
        certain[REPORTED_RULES[count.rule].severity] += count.certain
    inconclusive = sum(count.open_ for count in report.counts)
    totals = [count_text(number, severity.value) for severity, number in certain.items()]
    yield from page.wrap(", ".join([*totals, *([f"{inconclusive:,} inconclusive"] if inconclusive else [])]), 0, 2)
    paths = list(written)
    folders = {path.parent if path.suffix == ".csv" else path for path in paths}
    yield from (
        page.wrap(f"written: {', '.join(safe(str(count)) for count in sorted(folders))}", 0, 2) if paths else ()
    )
    yield from page.wrap(f"next: {_next_step(report, paths, verbose=verbose)}", 0, 2)


def _next_step(report: AuditReport, paths: list[Path], *, verbose: bool) -> str:
    advice = next(
        (f"open {safe(str(path))}" for path in paths if path.suffix == ".html"), "-o DIR writes the full report"
    )
    if not verbose and any(count.total > 1 for count in report.counts):
        advice = f"-v lists all findings; {advice}"
    if report.exit_code == Incomplete.exit_code:
        return f"{advice}; run the same command again to resume"
    if report.doubts:
        return f"{advice}; remove the causes above, and run the same command again"
    if not any(count.total for count in report.counts):
        return _more_to_see(report)
    return f"{advice}; siteatlas why URL explains one URL"


def _more_to_see(report: AuditReport) -> str:
    """The next step when there are no findings: none, unless sources are missing."""
    if verdict_kind(report) is VerdictKind.NOTHING:
        return "give a source that may contain pages without links, such as --log FILE"
    return "give the sources that were not read, and audit again" if report.undecided else "nothing to do"
