"""How sites stand, in lines for people that fit the terminal: each in full, or many in one line each."""

import time
from collections.abc import Iterator, Sequence
from typing import Final

from msgspec.structs import replace

from crawler.audit.compare.history import AuditStatus
from crawler.audit.verdict import VerdictKind
from crawler.cli.status_collect import RunTrend, ScheduleHistory, SiteOverview, StatusReport
from crawler.cli.tables import TableColumn, table_lines, wrap
from crawler.notify.ledger_status import ChannelStatus
from crawler.schedule.site_state import Attempt
from crawler.schedule.status import SiteStatus
from crawler.schedule.words import (
    local_time,
    long_local_time,
    short_local_time,
    status_badge,
    time_ahead,
    zones,
)
from crawler.state.runs import PUBLISHING_OUTCOMES, Run, RunStatus
from crawler.state.status import StateStatus
from crawler.units import clock_text, count_text, outcome_text, size_text
from sitemap import safe

_MIN_DIFFERENCE: Final = 0.1  # of what is usual: what differs by less is as ever

_MIN_SECONDS: Final = 10.0  # seconds that a run may take more or less than usual, however short it is


def trend_text(of: RunTrend) -> str:
    """In what the last run differs from those before it; "" when it was as ever."""
    told = []
    if _difference_text(of.seconds, of.usual_seconds, _MIN_SECONDS):
        told.append(f"took {clock_text(of.seconds)}, usually {clock_text(of.usual_seconds)}")
    if _difference_text(of.listed, of.usual_listed):
        told.append(f"listed {count_text(of.listed, 'page')}, usually {of.usual_listed:,}")
    if _difference_text(of.fetched, of.usual_fetched):
        told.append(f"sent {count_text(of.fetched, 'request')}, usually {of.usual_fetched:,}")
    return f"the last run {'; it '.join(told)}" if told else ""


def _difference_text(now: float, usual: float, least: float = 0.0) -> bool:
    return abs(now - usual) > max(usual * _MIN_DIFFERENCE, least)


def audit_text(audit: AuditStatus) -> Iterator[str]:
    """The last audit, and what became of one that was begun after it."""
    if audit.last:
        last = audit.last
        about = "no search for orphans" if last.verdict == VerdictKind.NOTHING else last.verdict
        doubt = f"; {about}: {safe(last.why)}" if last.why else ""
        yield f"audited on {local_time(last.started)}: {last.sentence}{doubt}"
    if audit.holder:
        yield f"an audit is active, in process {audit.holder}"
    elif audit.trouble:
        yield f"the last audit failed: {safe(audit.trouble)}"


def notify_pending_text(channel: ChannelStatus) -> Iterator[str]:
    """What one of those who are told was not told yet, or refused."""
    for each in channel.outstanding:
        yield f"{safe(channel.key)} could not be told yet {safe(each)}"
    for each in channel.refused:
        yield f"{safe(channel.key)} refused {safe(each)}"


def search_console_text(channel: ChannelStatus) -> Iterator[str]:
    """What Google made of the sitemap."""
    if reading := channel.reading:
        yield f"{safe(channel.key)}: {safe(reading.sentence)} (asked on {local_time(reading.at)})"


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


def status_lines(looked: StatusReport, width: int, *, in_full: bool) -> Iterator[str]:
    """All that is told, in lines of so many characters as far as that can be."""
    is_kept = bool(looked.schedule and looked.schedule.daemon)
    if in_full:
        for site in looked.sites:
            yield from _site(site, width, is_kept=is_kept)
            yield ""
        yield from _schedule(looked.schedule, width)
        return
    sites = sorted(looked.sites, key=_urgency)
    yield from table_lines(_SITE_COLUMNS, [_summary(site, is_kept=is_kept) for site in sites], width, "")
    yield from _problem_lines(sites, width, is_kept=is_kept)
    yield ""
    yield from _schedule(looked.schedule, width)
    begun = [run.started for site in sites for run in site.runs[:1]]
    zone = zones([*begun, *(at for site in sites if site.schedule and (at := site.schedule.next_at))])
    times = f"; times are {zone}" if zone else ""
    yield f"{count_text(len(sites), 'site')}{times}; --site NAME shows one of them in full"


def _urgency(site: SiteOverview) -> int:
    """What fails stands first, then what a person should look at."""
    if site.error or (site.schedule and site.schedule.failures):
        return 0
    return 1 if any(_problem(site, is_kept=True)) else 2


def _schedule(schedule: ScheduleHistory | None, width: int) -> Iterator[str]:
    if schedule is None:
        return
    if schedule.error:
        told = f"the schedule cannot be read: {safe(schedule.error)}"
    elif schedule.daemon:
        told = f"siteatlas schedule is running, in process {schedule.daemon}"
    else:
        told = "siteatlas schedule is not running: no run starts by itself"
    yield from wrap(told, width, "")


def _summary(site: SiteOverview, *, is_kept: bool) -> tuple[str, ...]:
    run = site.runs[0] if site.runs else None
    next_at = site.schedule.next_at if site.schedule else None
    return (
        site.name,
        f"{site.standing.pages:,}" if site.standing else "-",
        short_local_time(run.started) if run else "-",
        _outcome(site, run),
        _duration(run) if run and not _is_running(site, run) else "-",
        _next_run(next_at, is_kept=is_kept),
    )


def _next_run(at: float | None, *, is_kept: bool) -> str:
    if at is not None and at > time.time():
        return short_local_time(at)
    return "now" if at is not None and is_kept else "-"


def _next_start_text(at: float, *, is_kept: bool) -> str:
    """When something begins, as far as anybody is there who begins it."""
    return time_ahead(at) if is_kept or at > time.time() else "as soon as siteatlas schedule is running"


def _is_running(site: SiteOverview, run: Run) -> bool:
    """Whether the run is going on: its record still is what it was when it began, or was cut short."""
    is_held = bool(site.standing and site.standing.holder) or bool(
        site.schedule and site.schedule.running_since
    )
    return is_held and run.is_open and run is site.runs[0]


def _duration(run: Run) -> str:
    return clock_text(run.seconds) if run.seconds or run.has_figures else "-"


def _outcome(site: SiteOverview, run: Run | None) -> str:
    if site.error:
        return "no state"
    board = site.schedule
    if (site.standing and site.standing.holder) or (board and board.running_since):
        return "running"
    if board and board.last and board.failures:
        times = f" x{board.failures}" if board.failures > 1 else ""
        return f"{status_badge(board.last)}{times}"
    if run is None:
        return "not run yet"
    if run.is_open:
        return "cut short"
    return "not uploaded" if _not_uploaded(run) else outcome_text(run.outcome)


def _not_uploaded(run: Run) -> bool:
    return bool(run.exit_code) and run.outcome in PUBLISHING_OUTCOMES


def _problem_lines(sites: Sequence[SiteOverview], width: int, *, is_kept: bool) -> Iterator[str]:
    """What a person should know of, site by site."""
    troubles = [(site.name, list(_problem(site, is_kept=is_kept))) for site in sites]
    if any(said for _, said in troubles):
        yield ""
    for name, said in troubles:
        for each in said:
            yield from wrap(f"{name}: {each}", width, "", "  ")


def _problem(site: SiteOverview, *, is_kept: bool) -> Iterator[str]:
    run = site.runs[0] if site.runs else None
    if site.error:
        yield safe(site.error)
    elif site.schedule and site.schedule.failures:
        yield from _failing(site.schedule, is_kept=is_kept)
    elif run and run.exit_code and not run.is_open and (run.refusal or _not_uploaded(run)):
        yield safe(run.refusal or run.because)
    if site.audit.trouble:
        yield f"the last audit failed: {safe(site.audit.trouble)}"
    for channel in site.told.channels:
        yield from notify_pending_text(channel)
        if channel.reading and channel.reading.errors:
            yield from search_console_text(channel)


def _site(site: SiteOverview, width: int, *, is_kept: bool) -> Iterator[str]:
    yield f"== {site.name} =="
    about: list[str] = []
    if site.error:
        about.append(site.error)
    elif site.standing:
        about += _state_lines(site.standing)
    else:
        about.append("not crawled yet")
    if site.schedule:
        about += _schedule_lines(site.schedule, is_kept=is_kept)
    if site.trend and (unusual := trend_text(site.trend)):
        about.append(unusual)
    about += audit_text(site.audit)
    for channel in site.told.channels:
        about += notify_pending_text(channel)
    for channel in site.told.channels:
        about += search_console_text(channel)
    for each in about:
        yield from wrap(each, width, more="  ")
    if site.runs:
        yield ""
        yield from _runs(site, width)


def _state_lines(of: StateStatus) -> Iterator[str]:
    yield safe(of.url)
    if of.published:
        kept = f", {of.kept:,} of them kept although they failed" if of.kept else ""
        yield (
            f"{count_text(of.pages, 'page')} in {count_text(len(of.published.files), 'file')} published{kept}, "
            f"{_written(of.published.number, of.wrote)}: {safe(of.published.files[0].url)}"
        )
    else:
        yield "these runs have published nothing"
    run = of.unfinished
    if of.holder:
        yield (
            f"run {run.number} is active, in process {of.holder}"
            if run
            else f"process {of.holder} works on it"
        )
    elif run:
        why = f" ({safe(run.because)})" if run.because else ""
        yield f"run {run.number} was cut short{why}; the next run continues it"


def _written(last: int, wrote: int | None) -> str:
    """Which run the files are of, and since when they are what they should be."""
    by = f"written by run {wrote}" if wrote is not None else ""
    same = f"unchanged up to run {last}" if last != wrote else ""
    return " and ".join(filter(None, (by, same)))


def _schedule_lines(board: SiteStatus, *, is_kept: bool) -> Iterator[str]:
    if board.schedule:
        then = f"; next run {_next_start_text(board.next_at, is_kept=is_kept)}" if board.next_at else ""
        yield f"schedule: {board.schedule}{then}"
    if board.failures:
        yield from _failing(board, is_kept=is_kept)
    elif board.last and board.last.fate not in (RunStatus.DONE, None):
        yield f"the last run was {status_badge(board.last)}, {_last_attempt(board.last)}"


def _failing(board: SiteStatus, *, is_kept: bool) -> Iterator[str]:
    if board.last:
        again = f"; next try {_next_start_text(board.next_at, is_kept=is_kept)}" if board.next_at else ""
        what = "the last run" if board.failures == 1 else f"{board.failures:,} runs in a row"
        yield f"{what} failed, {_last_attempt(board.last)}{again}"


def _last_attempt(attempt: Attempt) -> str:
    told = f": {safe(attempt.told)}" if attempt.told else ""
    return f"on {local_time(attempt.began)}{told}"


def _runs(site: SiteOverview, width: int) -> Iterator[str]:
    runs = site.runs
    zone = zones(run.started for run in runs)
    columns = [
        replace(each, name=f"started, {zone}") if each.name == "started" else each for each in _RUN_COLUMNS
    ]
    head, *rows = table_lines(columns, [_row(run, is_on=_is_running(site, run)) for run in runs], width)
    yield head
    indent = " " * (2 + max(len(str(run.number)) for run in (*runs,)) + 2)
    for row, run in zip(rows, runs, strict=True):
        yield row
        for each in () if _is_running(site, run) else _remarks(run):
            yield from wrap(each, width, indent)


def _row(run: Run, *, is_on: bool) -> tuple[str, ...]:
    begun = str(run.number), long_local_time(run.started)
    if is_on:
        return (*begun, "-", "active", *("-" for _ in _RUN_COLUMNS[4:]))
    known = run.has_figures
    return (
        *begun,
        _duration(run),
        run.completeness or "-",
        "-" if run.is_open and not run.outcome else outcome_text(run.outcome),
        f"{run.listed:,}" if run.listed or known else "-",
        f"+{run.added:,} ~{run.changed:,} -{run.removed + run.moved + run.deindexed:,}" if known else "-",
        f"{run.fetched:,}" if run.fetched or known else "-",
        size_text(run.bytes) if run.bytes or known else "-",
        "-" if run.exit_code is None else str(run.exit_code),
    )


def _remarks(run: Run) -> Iterator[str]:
    """What there is to say of a run beside its row."""
    if run.is_open:  # why it was cut short stands above, with what becomes of it
        return
    if run.because:
        yield safe(run.because)
    if run.refusal and run.refusal not in run.because:
        yield safe(run.refusal)
