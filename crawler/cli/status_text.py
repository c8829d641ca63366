"""How sites stand, in lines for people that fit the terminal: each in full, or many in one line each."""

import time
from collections.abc import Iterator, Sequence
from typing import Final

from msgspec.structs import replace

from crawler.cli import status_words as words
from crawler.cli.status_collect import Looked, Schedule, Site
from crawler.cli.tables import Column, table, wrapped
from crawler.schedule.attempt import Attempt
from crawler.schedule.status import SiteBoard
from crawler.schedule.words import ahead, long_moment, moment, short_moment, verdict, zones
from crawler.state.runs import PUBLISHING, Fate, Run
from crawler.state.status import Standing
from crawler.units import amount, clock, count, outcome
from sitemap import safe

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
    is_kept = bool(looked.schedule and looked.schedule.keeper)
    if in_full:
        for site in looked.sites:
            yield from _site(site, width, is_kept=is_kept)
            yield ""
        yield from _schedule(looked.schedule, width)
        return
    sites = sorted(looked.sites, key=_urgency)
    yield from table(_SITES, [_summary(site, is_kept=is_kept) for site in sites], width, "")
    yield from _troubles(sites, width, is_kept=is_kept)
    yield ""
    yield from _schedule(looked.schedule, width)
    begun = [run.started for site in sites for run in site.runs[:1]]
    zone = zones([*begun, *(at for site in sites if site.schedule and (at := site.schedule.next_at))])
    times = f"; times are {zone}" if zone else ""
    yield f"{count(len(sites), 'site')}{times}; --site NAME shows one of them in full"


def _urgency(site: Site) -> int:
    """What fails stands first, then what a person should look at."""
    if site.error or (site.schedule and site.schedule.failures):
        return 0
    return 1 if any(_trouble(site, is_kept=True)) else 2


def _schedule(schedule: Schedule | None, width: int) -> Iterator[str]:
    if schedule is None:
        return
    if schedule.error:
        told = f"the schedule cannot be read: {safe(schedule.error)}"
    elif schedule.keeper:
        told = f"siteatlas schedule is running, in process {schedule.keeper}"
    else:
        told = "siteatlas schedule is not running: no run starts by itself"
    yield from wrapped(told, width, "")


def _summary(site: Site, *, is_kept: bool) -> tuple[str, ...]:
    run = site.runs[0] if site.runs else None
    next_at = site.schedule.next_at if site.schedule else None
    return (
        site.name,
        f"{site.standing.pages:,}" if site.standing else "-",
        short_moment(run.started) if run else "-",
        _verdict(site, run),
        _took(run) if run and not _is_on(site, run) else "-",
        _next(next_at, is_kept=is_kept),
    )


def _next(at: float | None, *, is_kept: bool) -> str:
    if at is not None and at > time.time():
        return short_moment(at)
    return "now" if at is not None and is_kept else "-"


def _then(at: float, *, is_kept: bool) -> str:
    """When something begins, as far as anybody is there who begins it."""
    return ahead(at) if is_kept or at > time.time() else "as soon as siteatlas schedule is running"


def _is_on(site: Site, run: Run) -> bool:
    """Whether the run is going on: its record still is what it was when it began, or was cut short."""
    is_held = bool(site.standing and site.standing.holder) or bool(
        site.schedule and site.schedule.running_since
    )
    return is_held and run.is_open and run is site.runs[0]


def _took(run: Run) -> str:
    return clock(run.seconds) if run.seconds or run.has_figures else "-"


def _verdict(site: Site, run: Run | None) -> str:
    if site.error:
        return "no state"
    board = site.schedule
    if (site.standing and site.standing.holder) or (board and board.running_since):
        return "running"
    if board and board.last and board.failures:
        times = f" x{board.failures}" if board.failures > 1 else ""
        return f"{verdict(board.last)}{times}"
    if run is None:
        return "not run yet"
    if run.is_open:
        return "cut short"
    return "not uploaded" if _not_uploaded(run) else outcome(run.outcome)


def _not_uploaded(run: Run) -> bool:
    return bool(run.exit_code) and run.outcome in PUBLISHING


def _troubles(sites: Sequence[Site], width: int, *, is_kept: bool) -> Iterator[str]:
    """What a person should know of, site by site."""
    troubles = [(site.name, list(_trouble(site, is_kept=is_kept))) for site in sites]
    if any(said for _, said in troubles):
        yield ""
    for name, said in troubles:
        for each in said:
            yield from wrapped(f"{name}: {each}", width, "", "  ")


def _trouble(site: Site, *, is_kept: bool) -> Iterator[str]:
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
        yield from words.untold(channel)
        if channel.reading and channel.reading.errors:
            yield from words.read(channel)


def _site(site: Site, width: int, *, is_kept: bool) -> Iterator[str]:
    yield f"== {site.name} =="
    about: list[str] = []
    if site.error:
        about.append(site.error)
    elif site.standing:
        about += _about(site.standing)
    else:
        about.append("not crawled yet")
    if site.schedule:
        about += _timed(site.schedule, is_kept=is_kept)
    if site.trend and (unusual := words.trend(site.trend)):
        about.append(unusual)
    about += words.audited(site.audit)
    for channel in site.told.channels:
        about += words.untold(channel)
    for channel in site.told.channels:
        about += words.read(channel)
    for each in about:
        yield from wrapped(each, width, more="  ")
    if site.runs:
        yield ""
        yield from _runs(site, width)


def _about(of: Standing) -> Iterator[str]:
    yield safe(of.url)
    if of.published:
        kept = f", {of.kept:,} of them kept although they failed" if of.kept else ""
        yield (
            f"{count(of.pages, 'page')} in {count(len(of.published.files), 'file')} published{kept}, "
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


def _timed(board: SiteBoard, *, is_kept: bool) -> Iterator[str]:
    if board.timetable:
        then = f"; next run {_then(board.next_at, is_kept=is_kept)}" if board.next_at else ""
        yield f"schedule: {board.timetable}{then}"
    if board.failures:
        yield from _failing(board, is_kept=is_kept)
    elif board.last and board.last.fate not in (Fate.DONE, None):
        yield f"the last run was {verdict(board.last)}, {_last(board.last)}"


def _failing(board: SiteBoard, *, is_kept: bool) -> Iterator[str]:
    if board.last:
        again = f"; next try {_then(board.next_at, is_kept=is_kept)}" if board.next_at else ""
        what = "the last run" if board.failures == 1 else f"{board.failures:,} runs in a row"
        yield f"{what} failed, {_last(board.last)}{again}"


def _last(attempt: Attempt) -> str:
    told = f": {safe(attempt.told)}" if attempt.told else ""
    return f"on {moment(attempt.began)}{told}"


def _runs(site: Site, width: int) -> Iterator[str]:
    runs = site.runs
    zone = zones(run.started for run in runs)
    columns = [replace(each, name=f"started, {zone}") if each.name == "started" else each for each in _RUNS]
    head, *rows = table(columns, [_row(run, is_on=_is_on(site, run)) for run in runs], width)
    yield head
    indent = " " * (2 + max(len(str(run.number)) for run in (*runs,)) + 2)
    for row, run in zip(rows, runs, strict=True):
        yield row
        for each in () if _is_on(site, run) else _remarks(run):
            yield from wrapped(each, width, indent)


def _row(run: Run, *, is_on: bool) -> tuple[str, ...]:
    begun = str(run.number), long_moment(run.started)
    if is_on:
        return (*begun, "-", "active", *("-" for _ in _RUNS[4:]))
    known = run.has_figures
    return (
        *begun,
        _took(run),
        run.completeness or "-",
        "-" if run.is_open and not run.outcome else outcome(run.outcome),
        f"{run.listed:,}" if run.listed or known else "-",
        f"+{run.added:,} ~{run.changed:,} -{run.removed + run.moved + run.deindexed:,}" if known else "-",
        f"{run.fetched:,}" if run.fetched or known else "-",
        amount(run.bytes) if run.bytes or known else "-",
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
