"""How sites stand, in lines for people that fit the terminal: each in full, or many in one line each."""

import time
from collections.abc import Iterator, Sequence
from typing import Final

from crawler.attempt import Attempt, Fate
from crawler.board import SiteBoard
from crawler.cli.columns import Column, table, wrapped
from crawler.cli.schedule_words import ahead, moment, short_moment, verdict
from crawler.cli.status_looking import Looked, Schedule, Site, Trend
from crawler.cli.words import amount, clock, count, safe
from crawler.ledger import ChannelTold
from crawler.memory.runs import Run
from crawler.memory.standing import Standing

_RUNS: Final = (
    Column("run"),
    Column("started", is_text=True),
    Column("took", 5),
    Column("crawl", 3, is_text=True),
    Column("outcome", is_text=True),
    Column("listed"),
    Column("changes", 4, is_text=True),
    Column("requests", 2),
    Column("received", 1),
    Column("exit"),
)
_SITES: Final = (
    Column("site", is_text=True, shrinks=True),
    Column("pages", 3),
    Column("last run", 4),
    Column("verdict", is_text=True),
    Column("took", 1),
    Column("next run", 2),
)


def lines(looked: Looked, width: int, *, in_full: bool) -> Iterator[str]:
    """All that is told, in lines of so many characters as far as that can be."""
    if in_full:
        for site in looked.sites:
            yield from _site(site, width)
            yield ""
    else:
        yield from table(_SITES, [_summary(site) for site in looked.sites], width, "")
        yield from _troubles(looked.sites, width)
        yield ""
    yield from _schedule(looked.schedule, width)
    if not in_full:
        yield f"{count(len(looked.sites), 'site')}; --site NAME shows one of them in full"


def _schedule(schedule: Schedule | None, width: int) -> Iterator[str]:
    if schedule is None:
        return
    if schedule.error:
        told = f"the schedule cannot be told of: {safe(schedule.error)}"
    elif schedule.keeper:
        told = f"siteatlas schedule is running, in process {schedule.keeper}"
    else:
        told = "siteatlas schedule is not running: no run begins by itself"
    yield from wrapped(told, width, "")


def _summary(site: Site) -> tuple[str, ...]:
    run = site.runs[0] if site.runs else None
    next_at = site.schedule.next_at if site.schedule else None
    return (
        site.name,
        f"{site.standing.pages:,}" if site.standing else "-",
        short_moment(run.started) if run else "-",
        _verdict(site, run),
        clock(run.seconds) if run else "-",
        _next(next_at),
    )


def _next(at: float | None) -> str:
    if at is None:
        return "-"
    return short_moment(at) if at > time.time() else "now"


def _verdict(site: Site, run: Run | None) -> str:
    if site.error:
        return "no state"
    board = site.schedule
    if (site.standing and site.standing.holder) or (board and board.running_since):
        return "running"
    if board and board.last and board.failures:
        return f"{verdict(board.last)} x{board.failures}"
    if run is None:
        return "not run yet"
    return "cut short" if run.is_open else run.outcome or "-"


def _troubles(sites: Sequence[Site], width: int) -> Iterator[str]:
    """What a person should know of, site by site."""
    troubles = [(site.name, list(_trouble(site))) for site in sites]
    if any(said for _, said in troubles):
        yield ""
    for name, said in troubles:
        for each in said:
            yield from wrapped(f"{name}: {each}", width, "", "  ")


def _trouble(site: Site) -> Iterator[str]:
    if site.error:
        yield safe(site.error)
    elif site.schedule and site.schedule.failures:
        yield from _failing(site.schedule)
    elif site.runs and site.runs[0].refusal and not site.runs[0].is_open:
        yield safe(site.runs[0].refusal)
    for channel in site.told.channels:
        yield from _untold(channel)
        if channel.reading and channel.reading.errors:
            yield from _read(channel)


def _site(site: Site, width: int) -> Iterator[str]:
    yield f"== {site.name} =="
    about: list[str] = []
    if site.error:
        about.append(site.error)
    elif site.standing:
        about += _about(site.standing)
    else:
        about.append("not crawled yet")
    if site.schedule:
        about += _timed(site.schedule)
    if site.trend:
        about.append(_trend(site.trend))
    for channel in site.told.channels:
        about += _untold(channel)
    for channel in site.told.channels:
        about += _read(channel)
    for each in about:
        yield from wrapped(each, width, more="  ")
    if site.runs:
        yield ""
        yield from _runs(site.runs, width)


def _about(of: Standing) -> Iterator[str]:
    yield safe(of.url)
    if of.published:
        kept = f", {of.kept:,} of them kept though they failed" if of.kept else ""
        yield (
            f"{count(of.pages, 'page')} in {count(len(of.published.files), 'file')} published{kept}, "
            f"last by run {of.published.number}: {safe(of.published.files[0].url)}"
        )
    else:
        yield "nothing is published by these runs"
    run = of.unfinished
    if of.holder:
        yield f"run {run.number if run else ''} is going on, in process {of.holder}"
    elif run:
        why = f" ({safe(run.because)})" if run.because else ""
        yield f"run {run.number} was cut short{why}; the next run goes on with it"


def _timed(board: SiteBoard) -> Iterator[str]:
    if board.timetable:
        then = f"; next run {ahead(board.next_at)}" if board.next_at else ""
        yield f"schedule: {board.timetable}{then}"
    if board.failures:
        yield from _failing(board)
    elif board.last and board.last.fate not in (Fate.DONE, None):
        yield f"the last run was {verdict(board.last)}, {_last(board.last)}"


def _failing(board: SiteBoard) -> Iterator[str]:
    if board.last:
        again = f"; next try {ahead(board.next_at)}" if board.next_at else ""
        what = "the last run" if board.failures == 1 else f"{board.failures:,} runs in a row"
        yield f"{what} failed, {_last(board.last)}{again}"


def _last(attempt: Attempt) -> str:
    told = f": {safe(attempt.told)}" if attempt.told else ""
    return f"on {moment(attempt.began)}{told}"


def _trend(trend: Trend) -> str:
    return (
        f"the last run took {clock(trend.seconds)}, usually {clock(trend.usual_seconds)}; it listed "
        f"{count(trend.listed, 'page')}, usually {trend.usual_listed:,}; it asked {trend.fetched:,} times, usually "
        f"{trend.usual_fetched:,}"
    )


def _untold(channel: ChannelTold) -> Iterator[str]:
    for each in channel.outstanding:
        yield f"{safe(channel.key)} could not be told yet {safe(each)}"
    for each in channel.refused:
        yield f"{safe(channel.key)} refused {safe(each)}"


def _read(channel: ChannelTold) -> Iterator[str]:
    """What Google made of the sitemap."""
    if reading := channel.reading:
        yield f"{safe(channel.key)}: {safe(reading.sentence)} (asked on {moment(reading.at)})"


def _runs(runs: Sequence[Run], width: int) -> Iterator[str]:
    head, *rows = table(_RUNS, [_row(run) for run in runs], width)
    yield head
    indent = " " * (2 + max(len(str(run.number)) for run in (*runs,)) + 2)
    for row, run in zip(rows, runs, strict=True):
        yield row
        for each in _remarks(run):
            yield from wrapped(each, width, indent)


def _row(run: Run) -> tuple[str, ...]:
    return (
        str(run.number),
        moment(run.started),
        clock(run.seconds),
        run.completeness or "-",
        run.outcome or "-",
        f"{run.listed:,}",
        f"+{run.added:,} ~{run.changed:,} -{run.removed + run.moved + run.deindexed:,}",
        f"{run.fetched:,}",
        amount(run.bytes),
        "-" if run.exit_code is None else str(run.exit_code),
    )


def _remarks(run: Run) -> Iterator[str]:
    """What there is to say of a run beside its row."""
    if run.because:
        yield safe(run.because)
    if run.refusal and run.refusal not in run.because:
        yield safe(run.refusal)
