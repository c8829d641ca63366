"""Writes the summary of a crawl for the terminal. Text from the web is escaped here."""

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from crawler.audit.report.layout import Line, fitted
from crawler.crawl.bottleneck import CrawlStage
from crawler.errors import Incomplete
from crawler.model import State
from crawler.publish.changes import ChangeSample, counts_text, sample_lines
from crawler.publish.states import STATE_WORDS
from crawler.publish.write import GONE
from crawler.run.report import Report
from crawler.units import clock_text, count_text, size_text
from sitemap import safe

if TYPE_CHECKING:
    from crawler.publish.upload.upload import UploadResult

_LABEL_WIDTH = 22
_MAX_NAMED = 3  # changes of each kind

_LONG_CRAWL = 10.0  # seconds from which the summary says what limited the crawl
_BOTTLENECKS = {
    CrawlStage.PACE: "pace (--rate, pace.delay, robots.txt)",
    CrawlStage.ERRORS: "waits after errors of the server",
    CrawlStage.NETWORK: "responses of the server (-c)",
    CrawlStage.PARSE: "parsing or rendering (parse.processes, render.concurrency)",
    CrawlStage.FRONTIER: "the main process",
    CrawlStage.COMMIT: "the disk",
}


def summary_lines(report: Report) -> list[str | Line]:
    """The summary, line by line."""
    return [
        *_published(report),
        *_uploaded(report),
        *_notify_lines(report),
        "",
        *_crawl(report),
        *_changed(report),
        *_left_out(report),
        *_notes(report),
    ]


def print_summary(report: Report, print_line: Callable[[str], None], *, quiet: bool) -> None:
    """Print the summary; ``quiet``: only problems, each through ``say``."""
    if quiet:
        for sentence in _warnings(report):
            print_line(sentence)
    else:
        sys.stdout.write(fitted(summary_lines(report)))
        sys.stdout.flush()


def _warnings(report: Report) -> list[str]:
    """The problems of a run, each in a sentence."""
    notified = report.announced
    sentences = [report.refusal if report.exit_code else "", report.upload_error]
    sentences += notified.news if notified else ()
    return [delivery for delivery in sentences if delivery]


def _published(report: Report) -> list[str]:
    if not report.published:
        found = f" ({count_text(report.listed, 'page')} would be listed)" if report.listed else ""
        is_over = report.exit_code not in {0, Incomplete.exit_code}
        is_kept = is_over and not report.is_first and GONE not in report.refusal
        stays = "; the published sitemap is unchanged" if is_kept else ""
        return [f"nothing was published: {safe(report.refusal)}{found}{stays}", *_changes(report)]
    total = sum(file.bytes for file in report.published)
    first, *rest = report.published
    names = first.name if not rest else f"{first.name} and {len(rest):,} more files"
    described = [
        count_text(number, what)
        for number, what in (
            (report.details.with_lastmod, "with lastmod"),
            (report.details.images, "image"),
            (report.details.videos, "video"),
            (report.details.alternates, "language alternate"),
        )
        if number
    ]
    return [
        f"{count_text(report.listed, 'page')} listed in {safe(report.directory)}/{names} ({size_text(total)})",
        *([f"  {', '.join(described)}"] if described else []),
        *_changes(report),
        f"  {safe(report.unserved) or f'to be served as {report.sitemap_url}'}",
        *_other_formats(report),
        *([f"  {'held: ' if report.held else ''}{safe(report.refusal)}"] if report.refusal else []),
    ]


def _other_formats(report: Report) -> list[str]:
    names = [file.name for file in report.other_formats]
    more = f" and {len(names) - _MAX_NAMED:,} more files" if len(names) > _MAX_NAMED else ""
    return [f"  also {', '.join(names[:_MAX_NAMED])}{more}"] if names else []


def _uploaded(report: Report) -> list[str]:
    if report.upload_error:
        return [f"  {safe(report.upload_error)}"]
    return [f"  {upload_line(report.uploaded)}"] if report.uploaded else []


def upload_line(result: "UploadResult") -> str:
    """The result of an upload, in a line."""
    actions = [f"{count_text(result.sent, 'file')} ({size_text(result.bytes)})"] if result.sent else []
    actions += [f"{result.removed:,} removed"] if result.removed else []
    target = safe(result.destination)
    return f"uploaded to {target}: {', '.join(actions)}" if actions else f"nothing to upload: {target} is up to date"


def _notify_lines(report: Report) -> list[str]:
    """The notifications of a run."""
    if report.announced is None:
        return []
    return [f"  {safe(line)}" for line in report.announced.lines(is_tried_again=not report.upload_error)]


def _changes(report: Report) -> list[str]:
    """The difference from the previously published set, if there is one."""
    if report.is_first or not report.listed:
        return []
    counts = counts_text(report.counts) if report.counts.total else "nothing added, changed or removed"
    kept = f"; {report.kept:,} kept although they failed" if report.kept else ""
    held = f"; {report.held:,} held by the gate" if report.held else ""
    return [f"  {counts}{kept}{held}"]


def _changed(report: Report) -> list[str]:
    """Some of the changes, by URL."""
    if report.is_first or not report.changes:
        return []
    counts = report.counts
    _, *lines = sample_lines(ChangeSample(report.changes, _MAX_NAMED if report.published else 0), counts)
    return lines


def _crawl(report: Report) -> list[str]:
    traffic = report.traffic
    rate = traffic.fetched / traffic.seconds if traffic.seconds else 0
    source = f" from {safe(report.source)}" if report.source else ""
    line = (
        f"crawled {report.url}{source} in {clock_text(traffic.seconds)}: {count_text(traffic.fetched, 'request')} "
        f"({rate:,.0f} per second), {size_text(traffic.bytes)}"
    )
    if report.resumed:
        line += "; continued an earlier run"
    if traffic.unchanged:
        line += f"; {count_text(traffic.unchanged, 'response')} unchanged"
    lines = [line, *_bottlenecks(report)]
    if not report.reason:
        return lines
    remedy = "" if report.complete else "; run the same command again to continue"
    return [*lines, f"{report.completeness}: {safe(report.reason)}{remedy}"]


def _bottlenecks(report: Report) -> list[str]:
    """What a crawl of some length waited for, so that its owner knows what would make it faster."""
    if report.traffic.seconds < _LONG_CRAWL:
        return []
    shares = [(stage, round(100 * share)) for stage, share in report.traffic.bound_by.items()]
    named = [f"{_BOTTLENECKS[CrawlStage(stage)]} {share} %" for stage, share in shares if share]
    return [f"  limited by: {', '.join(named)}"] if named else []


def _left_out(report: Report) -> list[str | Line]:
    if not report.left_out:
        return []
    is_stated = report.published and (report.held or report.kept)
    stay = " (pages that the gate holds, and pages that failed temporarily, stay in the sitemap)" if is_stated else ""
    lines: list[str | Line] = ["", f"left out, and why{stay}"]
    said = (report.refusal, *report.notes)
    for group in report.left_out:
        meaning = STATE_WORDS[group.state].listed_as
        lines.append(Line(f"{group.count:>9,}  ", f"{group.state.value:<{_LABEL_WIDTH}}  {meaning}".rstrip()))
        if group.state is State.PENDING:
            continue
        for example in group.examples:
            is_news = example.reason and not any(example.reason in text for text in said)
            reason = f"  ({safe(example.reason)})" if is_news else ""
            lines.append(f"{'':>11}{safe(example.url)}{reason}")
        if group.count > len(group.examples) > 0:
            lines.append(f"{'':>11}… {group.count - len(group.examples):,} more")
    return lines


def _notes(report: Report) -> list[str]:
    # what is behind the example of a note, such as the way past a firewall, may be said already
    notes = [f"note: {safe(note)}" for note in report.notes if note.rpartition("): ")[2] not in report.refusal]
    return ["", *notes] if notes else []
