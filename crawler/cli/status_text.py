"""Formats the status of sites as lines that fit the terminal: each site in full, or one line for each."""

import textwrap
import time
from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from crawler.audit.compare.history import AuditStatus
from crawler.audit.report.layout import TableColumn, fit, table_lines, wrap
from crawler.audit.verdict import VerdictKind
from crawler.cli.status_collect import ScheduleHistory, SiteOverview, StatusReport
from crawler.notify.ledger_status import ChannelStatus
from crawler.schedule.site_state import Attempt
from crawler.schedule.status import (
    SiteStatus,
    failures_text,
    local_time,
    long_local_time,
    short_local_time,
    status_text,
    time_ahead,
    zones,
)
from crawler.schedule.web.snapshots import URGENT, Tone
from crawler.state.runs import Run, RunStatus
from crawler.state.status import StateStatus
from crawler.units import clock_text, count_text, outcome_text, size_text
from sitemap import safe

_MAX_REMARK: Final = 200  # characters of what is said of an earlier run, or of an earlier process of the last one
_TONES: Final = tuple(Tone)


def audit_text(audit: AuditStatus) -> Iterator[str]:
    """The last finished audit, and the state of a later one."""
    if audit.last:
        last = audit.last
        about = "orphans not searched" if last.verdict == VerdictKind.NOTHING else last.verdict
        doubt = f"; {about}: {safe(last.why)}" if last.why else ""
        yield f"audited on {local_time(last.started)}: {last.sentence}{doubt}"
    if audit.holder:
        yield f"an audit is running, in process {audit.holder}"
    elif audit.trouble:
        yield f"the last audit failed: {safe(audit.trouble)}"


def notify_pending_text(channel: ChannelStatus) -> Iterator[str]:
    """The outstanding and the refused notifications of a channel."""
    for pending in channel.outstanding:
        yield f"{safe(channel.key)}: not delivered yet: {safe(pending)}"
    for pending in channel.refused:
        yield f"{safe(channel.key)}: refused: {safe(pending)}"


def search_console_text(channel: ChannelStatus) -> Iterator[str]:
    """The status of the sitemap in Search Console."""
    if reading := channel.reading:
        yield f"{safe(channel.key)}: {safe(reading.sentence)} (checked on {local_time(reading.at)})"


_RUN_COLUMNS: Final = (
    TableColumn("run"),
    TableColumn("started", is_text=True),
    TableColumn("took", 5),
    TableColumn("crawl", 3, is_text=True),
    TableColumn("outcome", is_text=True),
    TableColumn("listed"),
    TableColumn("changes", 4, is_text=True),
    TableColumn("requests", 2),
    TableColumn("received", 1),
    TableColumn("exit"),
)

_SITE_COLUMNS: Final = (
    TableColumn("site", is_text=True, shrinks=True),
    TableColumn("pages", 3),
    TableColumn("last run", 4),
    TableColumn("verdict", is_text=True),
    TableColumn("took", 1),
    TableColumn("next run", 2),
)


def status_lines(report: StatusReport, width: int, option: str) -> Iterator[str]:
    """The whole status, in lines of at most ``width`` columns where possible; 0: of any length.

    One line for each site, with the ``option`` that shows one of them in full; without an option, all in full.
    """
    is_kept = bool(report.schedule and report.schedule.daemon)
    if not option:
        for site in report.sites:
            yield from _site(site, width, is_kept=is_kept)
            yield ""
        yield from _schedule(report.schedule, width)
        return
    sites = sorted(report.sites, key=lambda site: _TONES.index(site.condition.tone))
    yield from table_lines(_SITE_COLUMNS, [_summary(site, is_kept=is_kept) for site in sites], width, "")
    yield ""
    for site in sites:
        if site.condition.tone in URGENT:
            yield from wrap(f"{site.name}: {safe(site.condition.sentence)}", width, rest="  ")
    yield from _schedule(report.schedule, width)
    last = [run.ended or run.started for site in sites for run in site.runs[:1]]
    zone = zones([*last, *(at for site in sites if site.schedule and (at := site.schedule.next_at))])
    times = f"; times are {zone}" if zone else ""
    yield from wrap(f"{count_text(len(sites), 'site')}{times}; {option} shows one of them in full", width)


def _schedule(schedule: ScheduleHistory | None, width: int) -> Iterator[str]:
    if schedule is None:
        return
    if schedule.error:
        text = f"the schedule cannot be read: {safe(schedule.error)}"
    elif schedule.daemon:
        text = f"siteatlas schedule is running, in process {schedule.daemon}"
        if schedule.config_error:
            text += f". It does not use the changed configuration: {safe(schedule.config_error)}"
    else:
        text = "siteatlas schedule is not running. Only another scheduler, such as cron, can start runs"
    yield from wrap(text, width, rest="  ")


def _summary(site: SiteOverview, *, is_kept: bool) -> tuple[str, ...]:
    run, standing = site.runs[0] if site.runs else None, site.snapshot.standing
    next_at = site.schedule.next_at if site.schedule else None
    return (
        site.name,
        f"{standing.pages:,}" if standing else "-",
        short_local_time(run.ended or run.started) if run else "-",
        site.condition.word,
        _duration(run) if run and not _is_running(site, run) else "-",
        _next_run(next_at, is_kept=is_kept),
    )


def _next_run(at: float | None, *, is_kept: bool) -> str:
    if at is not None and at > time.time():
        return short_local_time(at)
    return "now" if at is not None and is_kept else "-"


def _next_start_text(at: float, *, is_kept: bool) -> str:
    """When the next run starts."""
    if not is_kept and at <= time.time():
        return "as soon as siteatlas schedule is running"
    return f"{time_ahead(at)}{'' if is_kept else ', if a scheduler starts it'}"


def _is_running(site: SiteOverview, run: Run) -> bool:
    """Whether the run is active: its record is open, and a process holds the site."""
    is_held = bool(site.snapshot.standing and site.snapshot.standing.holder) or bool(
        site.schedule and site.schedule.running_since
    )
    return is_held and run.is_open and run is site.runs[0]


def _duration(run: Run) -> str:
    return clock_text(run.seconds) if run.seconds or run.has_figures else "-"


def _site(site: SiteOverview, width: int, *, is_kept: bool) -> Iterator[str]:
    yield f"== {site.name} =="
    lines: list[str] = []
    snapshot = site.snapshot
    if snapshot.error:
        lines.append(snapshot.error)
    elif snapshot.standing:
        lines += _state_lines(snapshot.standing)
    else:
        lines.append("not crawled yet")
    if site.schedule:
        lines += _schedule_lines(site.schedule, is_kept=is_kept)
    lines += audit_text(snapshot.audit)
    for channel in snapshot.channels:
        lines += notify_pending_text(channel)
    for channel in snapshot.channels:
        lines += search_console_text(channel)
    for line in lines:
        yield from fit(f"  {line}", width)
    if site.runs:
        yield ""
        yield from _runs(site, width)


def _state_lines(state: StateStatus) -> Iterator[str]:
    yield safe(state.url)
    if state.published:
        kept = f", {state.kept:,} of them kept although they failed" if state.kept else ""
        kept += f", {state.held:,} of them held by the gate" if state.held else ""
        yield (
            f"{count_text(state.pages, 'page')} in {count_text(len(state.published.files), 'file')} published{kept}, "
            f"{_written(state.published.number, state.wrote)}: {safe(state.published.files[0].url)}"
        )
    else:
        yield "these runs have published nothing"
    if deleted := state.deleted:
        yield safe(deleted)
    if state.robots:
        yield safe(state.robots)
    run = state.unfinished
    if state.holder:
        yield (
            f"run {run.number} is active, in process {state.holder}: {state.progress}".removesuffix(": ")
            if run
            else f"process {state.holder} is using the state"
        )
    elif run:
        reason = f" ({safe(why)})" if (why := run.reason or run.refusal) else ""
        yield f"{state.unended or f'run {run.number} was cut short{reason}'}; the next run continues it"
    continued = state.continued
    if continued.number == max((run.number for run in state.runs), default=-1):  # not of a run long before
        again = f"{count_text(continued.times, 'time')}, last on {local_time(continued.last)}"
        yield f"run {continued.number} was continued {again}; its figures are sums, without those of killed processes"
        for began, code, why in continued.tries:
            end = "killed" if code is None else f"exit code {code}"
            yield f"  on {local_time(began)}: {end}{why and ': '}{_short(safe(why))}"


def _written(last: int, wrote: int | None) -> str:
    """The run that wrote the files, and the last run that left them unchanged."""
    writer = f"written by run {wrote}" if wrote is not None else ""
    same = f"unchanged up to run {last}" if last != wrote else ""
    return " and ".join(filter(None, (writer, same)))


def _schedule_lines(status: SiteStatus, *, is_kept: bool) -> Iterator[str]:
    if status.schedule:
        next_run = f"; next run {_next_start_text(status.next_at, is_kept=is_kept)}" if status.next_at else ""
        yield f"schedule: {status.schedule}{next_run}"
    if status.failures and status.last:
        next_try = f"; next try {_next_start_text(status.next_at, is_kept=is_kept)}" if status.next_at else ""
        yield f"{failures_text(status.last, status.failures)}, {_last_attempt(status.last)}{next_try}"
    elif status.last and status.last.status not in (RunStatus.DONE, None):
        yield f"the last run was {status_text(status.last)}, {_last_attempt(status.last)}"


def _last_attempt(attempt: Attempt) -> str:
    message = f": {safe(attempt.message)}" if attempt.message else ""
    return f"on {local_time(attempt.began)}{message}"


def _runs(site: SiteOverview, width: int) -> Iterator[str]:
    runs = site.runs
    zone = zones(run.started for run in runs)
    columns = [
        replace(column, name=f"started, {zone}") if column.name == "started" else column for column in _RUN_COLUMNS
    ]
    head, *rows = table_lines(columns, [_row(run, is_active=_is_running(site, run)) for run in runs], width)
    yield head
    indent = " " * (2 + max(len(str(run.number)) for run in (*runs,)) + 2)
    for number, (row, run) in enumerate(zip(rows, runs, strict=True)):
        yield row
        for remark in () if _is_running(site, run) else _remarks(run):
            yield from wrap(_short(remark) if number else remark, width, indent, indent)


def _short(remark: str) -> str:
    return textwrap.shorten(remark, _MAX_REMARK, placeholder=" …")


def _row(run: Run, *, is_active: bool) -> tuple[str, ...]:
    start = str(run.number), long_local_time(run.started)
    if is_active:
        return (*start, "-", "active", *("-" for _ in _RUN_COLUMNS[4:]))
    has_figures = run.has_figures
    return (
        *start,
        _duration(run),
        run.completeness or "-",
        "-" if run.is_open and not run.outcome else outcome_text(run.result),
        f"{run.listed:,}" if run.listed or has_figures else "-",
        f"+{run.added:,} ~{run.changed:,} -{run.removed + run.moved + run.deindexed:,}" if has_figures else "-",
        f"{run.fetched:,}" if run.fetched or has_figures else "-",
        size_text(run.bytes) if run.bytes or has_figures else "-",
        "-" if run.exit_code is None else str(run.exit_code),
    )


def _remarks(run: Run) -> Iterator[str]:
    """The reasons and refusals of a run, below its row."""
    if run.is_open:  # the lines above the table say why it was cut short
        return
    if run.reason:
        yield safe(run.reason)
    if run.refusal and run.refusal not in run.reason:
        yield safe(run.refusal)
