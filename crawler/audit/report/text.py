"""Writes the summary of an audit for the terminal: verdict, figures, sources, and each rule with its first findings."""

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Final, TextIO

from crawler.audit.finding import AuditFinding, AuditFindings, AuditReport, FindingPattern, RuleCount, RuleTrend
from crawler.audit.patterns import fold_findings
from crawler.audit.report.html_data import ISLAND_RULE, find_orphan_islands, visit_texts
from crawler.audit.report.layout import Line, fit, output_width
from crawler.audit.rules import REPORTED_RULES, RULE_GROUPS, needs_complete
from crawler.audit.sources.logs.bots import BotKind
from crawler.audit.summary import rule_histories
from crawler.audit.verdict import (
    NOT_ASKED_FOR,
    VerdictKind,
    count_unsettled,
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

MIN_AUDITS, MAX_AUDITS = 3, 6  # whose findings are shown as a trend
MAX_NAMED: Final = 3  # findings of each rule without --verbose
MAX_FEW: Final = 5  # findings in all, up to which the first actions are titles: the findings name their remedies
MAX_BOTS: Final = 6  # the most active ones
_COLOUR: Final = {Severity.ERROR: "31", Severity.WARNING: "33", Severity.NOTE: "36"}  # red, yellow, cyan

_Lines = Iterator[str | Line]


def write_text(
    report: AuditReport, findings: AuditFindings, file: TextIO, *, verbose: bool = False, written: Iterable[Path] = ()
) -> None:
    """Write the summary, with ``verbose`` of all findings; ``written`` are the paths of the other reports.

    On a terminal it has colours, unless NO_COLOR is set, and lines of the terminal's width; otherwise each sentence is
    one line. Text from the web is escaped. Raises OSError.
    """
    has_colours = False
    if file.isatty():
        from rich.console import Console  # noqa: PLC0415 - files do not need it

        console = Console(file=file)
        has_colours = console.color_system is not None and not console.no_color
    text = TextReport(report, findings, has_colours=has_colours, verbose=verbose, written=written)
    file.writelines(f"{line}\n" for line in text.lines(output_width(file)))


class TextReport:
    """The summary of an audit as lines of text. Holds one finding at a time."""

    def __init__(
        self,
        report: AuditReport,
        findings: AuditFindings,
        *,
        has_colours: bool = False,
        verbose: bool = False,
        written: Iterable[Path] = (),
    ) -> None:
        self._report = report
        self._findings = findings
        self._has_colours = has_colours
        self._verbose = verbose
        self._written = list(written)
        self._today = utc_minute(report.started)[:10]

    def lines(self, width: int = 0) -> Iterator[str]:
        """All lines, broken at ``width`` columns; 0: never."""
        for line in self._all():
            yield from fit(line, width)

    def _all(self) -> _Lines:
        report = self._report
        yield from self._verdict()
        yield from self._comparison()
        yield from self._actions()
        yield ""
        yield from self._figures()
        yield from self._inputs()
        for group in RULE_GROUPS:
            if counts := group_counts(group, report):
                total = sum(count.total for count in counts)
                yield ""
                yield self._paint(f"{group.title}: {_total(counts)} {'finding' if total == 1 else 'findings'}")
                for count in counts:
                    yield from self._rule(count)
        yield from self._resolved()
        yield from self._accepted()
        yield from self._bots()
        yield from self._history()
        yield ""
        yield from self._without_findings()
        yield from self._uncompared()
        yield from self._closing()

    def _paint(self, text: str, code: str = "1") -> str:
        """The text in a colour, or in bold ("1"), if there are colours."""
        return f"\x1b[{code}m{text}\x1b[0m" if self._has_colours else text

    def _verdict(self) -> _Lines:
        """Whether orphan findings are conclusive: everything below rests on it."""
        report, kind = self._report, verdict_kind(self._report)
        crawl = f"{safe(report.completeness)} crawl"
        if kind is VerdictKind.CONCLUSIVE:
            yield self._paint(f"{crawl}: orphan findings are conclusive")
        elif kind is VerdictKind.NOTHING:
            yield self._paint(f"{crawl}: {safe(report.unchecked['orphans'])}", "33")
        first = self._paint("LIKELY:", "33") if kind is VerdictKind.LIKELY else self._paint("INCONCLUSIVE:", "31")
        for number, doubt in enumerate(report.doubts):
            yield f"{'and:' if number else first} {safe(doubt)}"
        if more := reservation(report):
            yield f"but {more}"

    def _comparison(self) -> _Lines:
        """The comparison with the previous audit in a line, or why there is none."""
        if (compared := self._report.compared) is None:
            yield from [safe(self._report.why_uncompared)] if self._report.why_uncompared else []
            return
        total = compared.total
        unsettled = sum(count_unsettled(self._report, count) for count in self._report.counts)
        texts = [f"{total.new:,} new"] if total.new or not unsettled else []
        texts += [_resolved_text(total), f"{total.still:,} still there"]
        if total.undecided:
            texts.append(f"{total.undecided:,} not found again, but not decided")
        texts += [f"{unsettled:,} may be new"] if unsettled else []
        line = f"since the audit of {utc_minute(compared.started)}: {', '.join(texts)}"
        yield self._paint(line, "31" if total.new else "33" if unsettled else "32")
        for each in compared.undecided:
            yield f"  not decided: {safe(each.url)} ({each.rule}): {safe(each.why)}"

    def _actions(self) -> _Lines:
        """What to do first: the actions with the most effect; by title only, if the few findings below say the rest."""
        actions = self._report.actions
        is_short = not self._verbose and sum(count.total for count in self._report.counts) <= MAX_FEW
        if actions:
            yield ""
            yield self._paint("what to do first")
        for number, action in enumerate(actions if self._verbose else actions[:MAX_NAMED], 1):
            some = f"{action.inconclusive:,} " if action.inconclusive < action.count else ""
            doubt = f"  ({some}inconclusive)" if action.inconclusive else ""
            title = f"{number}. {safe(action.title)}{doubt}"
            yield f"  {self._paint(title, _COLOUR[Severity(action.severity)])}"
            if not is_short:
                yield f"     {safe(action.why)} {safe(action.how)}"
                yield from (f"     for example {safe(url)}" for url in action.examples[:1])

    def _figures(self) -> _Lines:
        report = self._report
        yield f"{safe(report.url)} in {clock_text(report.seconds)}"
        requests = f"{count_text(report.fetched, 'request')}, {size_text(report.bytes)}"
        known = f"{count_text(report.urls, 'URL')} known, {report.pages:,} of them indexable pages"
        yield f"  {known}: {report.reached:,} reached by links, {report.listed:,} in a sitemap ({requests})"
        if crawl := rests_on(report):
            yield f"  is based on {safe(crawl)}"
        yield from (f"  note: {safe(note)}" for note in report.notes)

    def _inputs(self) -> _Lines:
        if self._report.inputs:
            yield ""
            yield self._paint("sources")
        for source in self._report.inputs:
            form = f" ({safe(source.format)})" if source.format else ""
            counts = (source.unread, "unread"), (source.foreign, "of other sites"), (source.beside, "ignored")
            numbers = [f"{source.used:,} used", *(f"{number:,} {noun}" for number, noun in counts if number)]
            days = f"; {_days(safe(source.first), safe(source.last))}" if source.first or source.last else ""
            cut = "" if source.complete else "; read in part"
            text = f"{safe(source.name)}{form}: {count_text(source.rows, 'row')}, {', '.join(numbers)}{days}{cut}"
            yield f"  {source.source.value:<10}{text}"
            yield from (f"{'':12}{safe(sentence)}" for sentence in (*source.faults, *source.notes))

    def _rule(self, count: RuleCount) -> _Lines:
        """One rule: its severity, its count, its first findings, and the remedy."""
        report, rule = self._report, REPORTED_RULES[count.rule]
        new = report.trend(count.rule).new
        total = f"{_total([count])}, {new:,} new" if new else _total([count])
        yield f"  {self._paint(rule.severity.value, _COLOUR[rule.severity])}  {total}  {rule.title}  {rule.id}"
        if count.open_ and not needs_complete(rule.id) and (reason := why_uncertain(report, count.rule)):
            yield f"    inconclusive: {safe(reason)}"
        if count.rule == ISLAND_RULE:
            yield from self._islands()
        if self._verbose or count.rule != ISLAND_RULE:
            few = MAX_NAMED if rule.severity > Severity.NOTE else max(1, min(MAX_NAMED, new))
            yield from self._first(count, None if self._verbose else few)
        yield f"    {rule.remedy}"

    def _first(self, count: RuleCount, most: int | None) -> _Lines:
        """The first findings of a rule; those of a pattern are one line."""
        left = count.total
        patterns = [] if self._verbose else self._report.patterns_of(count.rule)
        for finding in islice(fold_findings(self._findings(count.rule), patterns), most):
            if isinstance(finding, FindingPattern):
                left -= finding.count
                visits = f"; {count_text(finding.visits, 'visit')} by people" if finding.visits else ""
                yield f"    {finding.count:,} like {safe(finding.pattern)}{visits}"
                yield f"      for example {safe(finding.examples[0])}"
            else:
                left -= finding.times
                yield from self._finding(finding)
        if left > 0:
            yield f"    … {left:,} more"

    def _islands(self) -> _Lines:
        """A line for each island, since its pages would only repeat each other."""
        islands = find_orphan_islands(self._findings(ISLAND_RULE))
        shown = islands if self._verbose else islands[:MAX_NAMED]
        for island in shown:
            size = f"island of {island.pages:,} pages" if island.pages > 1 else "one page"
            text = "; ".join([size, *visit_texts(island.entry)])
            link = safe(island.entry.entrance or island.entry.url)
            yield f"    {self._new(island.is_new)}{text}: link {link}{_doubt(island.entry)}"
        if len(islands) > len(shown):
            yield f"    … {count_text(len(islands) - len(shown), 'more island')}"

    def _new(self, is_new: bool | None) -> str:
        return f"{self._paint('NEW', '31')} " if is_new else ""

    def _finding(self, finding: AuditFinding) -> _Lines:
        place = f"{safe(finding.file)}:{finding.line}" if finding.line else safe(finding.file)
        url = safe(finding.url)
        yield f"    {self._new(finding.is_new)}{url or place or 'the site'}{_doubt(finding)}"
        details = [f"in {place}"] if url and place and place != url else []
        if finding.sentence and finding.sentence != REPORTED_RULES[finding.rule].sentence:
            details.append(safe(finding.sentence))
        if finding.depth is not None:
            details.append(f"{count_text(finding.depth, 'click')} from the start")
        details += visit_texts(finding)
        if finding.first or finding.last:
            details.append(f"seen {_days(safe(finding.first), safe(finding.last))}")
        if self._verbose and finding.lastmod:
            details.append(f"lastmod {safe(finding.lastmod)}")
        if finding.since and finding.since != self._today:
            details.append(f"found since {safe(finding.since)}")
        if details:
            yield f"      {'; '.join(detail.rstrip('.') for detail in details)}"
        few = None if self._verbose else 1
        yield from (f"      link it from {safe(hub.url)} ({safe(hub.reason)})" for hub in finding.hubs[:few])
        yield from (f"      redirect it to {safe(end.url)} ({safe(end.reason)})" for end in finding.targets[:few])
        if self._verbose:
            yield from (f"      linked from {safe(by.url)} ({safe(by.how)})" for by in finding.referrers)
            if finding.spellings:
                yield f"      also written {safe(', '.join(finding.spellings))}"
            yield from (f"      {safe(sentence)}" for sentence in finding.evidence)

    def _resolved(self) -> _Lines:
        """The findings that only the previous audit has, with the current state."""
        compared, trends = self._report.compared, self._report.trends
        if compared is None or not compared.total.gone:
            return
        yield ""
        yield self._paint(f"No longer found: {_resolved_text(compared.total)}")
        for rule in (rule for rule in REPORTED_RULES if rule in trends and trends[rule].gone):
            yield f"  {_resolved_text(trends[rule])}  {REPORTED_RULES[rule].title}  {rule}"
            left = trends[rule].gone
            for finding in islice(self._findings.resolved(rule), None if self._verbose else MAX_NAMED):
                left -= 1
                yield f"    {safe(finding.url)}"
                place = f"in {safe(finding.file)}; " if finding.file and finding.file != finding.url else ""
                yield f"      {place}found since {safe(finding.since)}; {safe(finding.now)}"
            if left > 0:
                yield f"    … {left:,} more"

    def _accepted(self) -> _Lines:
        """The accepted findings, a line for each entry that accepts some."""
        counts = [(entry, count) for entry, count in enumerate(self._report.accepted) if count.findings]
        if counts:
            yield ""
            yield self._paint("Accepted, and not counted")
        for entry, count in counts:
            about = f"{count.findings:,}  {safe(count.rule)}  {safe(count.url)}"
            yield f"  {about}  until {count.until}: {safe(count.reason)}"
            for finding in self._findings.accepted(entry) if self._verbose else ():
                yield f"    {safe(finding.url or finding.file)}"

    def _bots(self) -> _Lines:
        """What bots do, in a few lines."""
        if (activity := self._report.bots) is None:
            return
        total = activity.total
        yield ""
        yield self._paint("bot activity")
        kinds = ", ".join(f"{kind} {count:,}" for kind, count in total.requests.items())
        requests = count_text(sum(total.requests.values()), "request")
        days = f" ({_days(activity.first, activity.last)})" if activity.first else ""
        yield f"  {count_text(total.days, 'day')}{days}: {requests} by bots: {kinds}"
        if BotKind.SEARCH in total.requests:
            share = f"{total.wasted:,} of their {total.to_pages:,} requests for pages were for non-indexable URLs"
            yield f"  search engines crawled {total.crawled:,} of {count_text(total.pages, 'indexable page')}; {share}"
        yield f"  most active: {', '.join(f'{safe(bot.name)} {bot.requests:,}' for bot in activity.bots[:MAX_BOTS])}"
        if activity.is_verified:
            names = {bot.name for bot in activity.bots if bot.is_verifiable}
            yield f"  names checked: {safe(', '.join(sorted(names))) or 'none'}; those of other bots are not"
        else:
            how = "--set audit.verify_bots=true verifies search engines by DNS"
            yield f"  the names are claims of the user agents; {how}"

    def _history(self) -> _Lines:
        """The numbers of findings of each rule over the last audits, if there are enough for a trend."""
        points = self._report.history[-MAX_AUDITS:]
        if len(points) < MIN_AUDITS:
            return
        yield ""
        title = self._paint(f"Findings of the last {len(points)} audits, the oldest first")
        yield f"{title} (since {utc_minute(points[0].started)[:10]})"
        for history in rule_histories(points):
            numbers = "".join("-".rjust(8) if total is None else f"{total:>8,}" for total in history.totals)
            yield Line(f"{numbers}  {history.rule.id}")

    def _without_findings(self) -> _Lines:
        """The rules without findings: clean, not checked, and not decided."""
        nothing = empty_groups(self._report)
        if len(nothing.clean) == len(RULE_GROUPS) and not nothing.unchecked and not nothing.undecided:
            yield "nothing found"
        elif nothing.clean:
            yield f"nothing found: {', '.join(map(lower_first, nothing.clean))}"
        hidden = set() if self._verbose else {*NOT_ASKED_FOR, *self._report.absent.values()}
        for word, gaps in (("checked", nothing.unchecked), ("decided", nothing.undecided)):
            for why, titles in gaps.items():
                if why not in hidden:
                    yield f"not {word}: {'; '.join(map(lower_first, titles))} ({safe(why)})"
        if left := sum(len(titles) for why, titles in nothing.unchecked.items() if why in hidden & NOT_ASKED_FOR):
            yield f"not checked: {count_text(left, 'rule')} for which no source or option was given; -v names them"

    def _uncompared(self) -> _Lines:
        """The rules that are not compared, and those that are compared with an earlier audit."""
        if (compared := self._report.compared) is None:
            return
        reasons: dict[str, list[str]] = {}
        for rule, reason in compared.uncompared.items():
            reasons.setdefault(f"not compared: {{}} ({safe(reason)})", []).append(rule)
        for rule, started in compared.earlier.items():
            reasons.setdefault(f"compared with the audit of {utc_minute(started)}: {{}}", []).append(rule)
        for template, rules in reasons.items():
            titles = "; ".join(lower_first(REPORTED_RULES[rule].title) for rule in REPORTED_RULES if rule in rules)
            yield template.replace("{}", titles, 1)

    def _closing(self) -> _Lines:
        """The totals by severity, the paths of the reports, and the next step."""
        certain = dict.fromkeys(Severity, 0)
        for count in self._report.counts:
            certain[REPORTED_RULES[count.rule].severity] += count.certain
        inconclusive = sum(count.open_ for count in self._report.counts)
        totals = [count_text(number, severity.value) for severity, number in certain.items()]
        yield ", ".join([*totals, *([f"{inconclusive:,} inconclusive"] if inconclusive else [])])
        if folders := {path.parent if path.suffix == ".csv" else path for path in self._written}:
            yield f"written: {', '.join(safe(str(path)) for path in sorted(folders))}"
        yield f"next: {self._next_step()}"

    def _next_step(self) -> str:
        report = self._report
        pages = (f"open {safe(str(path))}" for path in self._written if path.suffix == ".html")
        advice = next(pages, "-o DIR writes the full report")
        if not self._verbose and any(count.total > 1 for count in report.counts):
            advice = f"-v lists all findings; {advice}"
        if report.exit_code == Incomplete.exit_code:
            return f"{advice}; run the same command again to resume"
        if report.doubts:
            return f"{advice}; remove the causes above, and run the same command again"
        if any(count.total for count in report.counts):
            return f"{advice}; siteatlas why URL explains one URL"
        if verdict_kind(report) is VerdictKind.NOTHING:
            return "give a source that may contain pages without links, such as --log FILE"
        return "give the sources that were not read, and audit again" if report.undecided else "nothing to do"


def _resolved_text(trend: RuleTrend) -> str:
    """The findings that are gone: ``4 resolved, 9 became another finding``."""
    texts = [f"{trend.mended:,} resolved"] if trend.mended or not trend.became else []
    return ", ".join([*texts, *([f"{trend.became:,} became another finding"] if trend.became else [])])


def _doubt(finding: AuditFinding) -> str:
    return "" if finding.is_certain else f"  ({finding.certainty.value})"


def _days(first: str, last: str) -> str:
    return first if first == last else f"{first or '?'} to {last or '?'}"


def _total(counts: list[RuleCount]) -> str:
    certain, inconclusive = sum(count.certain for count in counts), sum(count.open_ for count in counts)
    if not certain:
        return f"{inconclusive:,} inconclusive"
    return f"{certain:,} and {inconclusive:,} inconclusive" if inconclusive else f"{certain:,}"
