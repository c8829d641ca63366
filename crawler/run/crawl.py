"""Crawls one site from its plan to its report: the composition root, which hands each part its own section.

::

    plan | store | visit(engine, frontier) | finish | report
"""

import dataclasses
import errno
import logging
import os
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from crawler.config import plan as planning
from crawler.config.plan import CrawlPlan
from crawler.config.start import StartMoved
from crawler.crawl.assembly import Clock, open_frontier, parse_settings_key, source_key
from crawler.crawl.engine import Watch
from crawler.crawl.frontier.sqlite import SqliteFrontier
from crawler.crawl.recheck import IN_DOUBT, Recheck, ask_all
from crawler.crawl.second_reads import Rounds
from crawler.crawl.visit import VisitResult, start_moved, visit, with_tally
from crawler.errors import NothingCrawlable, SiteatlasError, StorageError, UsageError, single_error
from crawler.lastmod.observe import CommitDates, commit_dates, pages_to_read_again
from crawler.lastmod.policy import OBSERVING_POLICIES
from crawler.model import Outcome, Url
from crawler.publish.gate import reject_start
from crawler.publish.listing import published_not_visited
from crawler.publish.other_formats import check_formats_are_ours, check_names
from crawler.publish.store import requeue_failed
from crawler.publish.write import PublishedDigests, build_destination, build_writer, check_output_is_ours, restore_gone
from crawler.run.finish import FinishedRun, RunFinisher
from crawler.run.report import Report, build_report
from crawler.state.runs import DRY, RunStore
from crawler.state.schema import STATE_DB
from crawler.state.store import Resume, Store
from crawler.url.normalize import InvalidUrl, join_url
from crawler.url.params import UrlParams
from sitemap import DestinationError, Directory, destination_error

log = logging.getLogger(__name__)

MAX_EXAMPLES = 3  # URLs named for each state of omitted URLs


class RunChoices(Struct, frozen=True, kw_only=True):
    """What a person decides for one run. ``begin`` says whether to resume an earlier run.

    ``dry_run`` publishes nothing, ``accept_shrink`` accepts a smaller set than before, ``replace_foreign`` overwrites a
    sitemap that no run with this state wrote, and ``all_left_out`` names every omitted URL, not a few of each state.
    ``changed`` are the URLs or paths that a person names as changed. ``fault`` would prevent a run that is not dry.
    ``should_serve``: the site should serve the sitemap from the output directory.
    """

    begin: Resume = Resume.ALWAYS
    dry_run: bool = False
    accept_shrink: bool = False
    replace_foreign: bool = False
    all_left_out: bool = False
    changed: tuple[str, ...] = ()
    fault: UsageError | None = None
    should_serve: bool = False


NO_CHOICES: Final = RunChoices()


async def crawl(plan: CrawlPlan, watch: Watch, choices: RunChoices = NO_CHOICES, *, clock: Clock = time.time) -> Report:
    """Crawl, publish and report. ``clock`` gives Unix time for the run and its responses.

    Raises SiteatlasError when nothing could be done; every other ending is in the report.
    """
    commits = commit_dates(plan.config, plan.seed)
    destination = build_destination(plan)
    is_gone = False
    with _faults():
        if not choices.dry_run:
            is_gone = _check_destination(plan, destination)
            build_writer(plan, destination).abort()  # report impossible settings now, not after hours
            check_names(plan)
        settings = planning.result_settings(plan.config)
        recheck = _recheck(plan, choices, commits)
        carry = recheck.begin if recheck and not choices.accept_shrink else None
        opened = Store(plan.state, settings, begin=choices.begin, about=plan.about, now=clock(), carry=carry)
        with opened as store, _faults():
            if not choices.dry_run:
                _warn(plan, store, is_gone=is_gone)
            _adopt_published(plan, store)
            fault = _check_output(plan, store, choices, clock)
            if store.resumed:
                requeue_failed(store.db)  # the site may be repaired since
            frontier = open_frontier(plan, store)
            finisher = RunFinisher(plan, store, None if choices.dry_run else destination, commits, recheck)
            try:
                visited, finished = await _visit_and_finish(
                    plan, store, frontier, watch, choices, finisher, recheck, clock
                )
            except StartMoved:
                store.discard()
                raise
            except NothingCrawlable as error:
                store.record_failure(error, clock(), DRY if choices.dry_run else "nothing")
                if store.is_first:
                    raise
                gone = restore_gone(plan, may_write=not choices.dry_run)
                raise NothingCrawlable(f"{error}{gone or '; the sitemap is unchanged'}") from error
            if fault:
                refusal = f"{finished.run.refusal}; a run would be refused: {fault}"
                run = replace(finished.run, refusal=refusal, exit_code=fault.exit_code)
                RunStore(store.db).write(run)
                finished = dataclasses.replace(finished, run=run)
            examples = None if choices.all_left_out else MAX_EXAMPLES
            report = build_report(plan, store, frontier, visited, finished, examples)
            return replace(report, news=finisher.news)


@contextmanager
def _faults() -> Iterator[None]:
    """Raise each error of a run as what it ends with, which the state records too."""
    try:
        yield
    except DestinationError as error:
        raise StorageError(str(error)) from error
    except BaseExceptionGroup as group:
        raise single_error(group) from None


def _check_destination(plan: CrawlPlan, destination: Directory) -> bool:
    """Make sure that the output directory can be written; whether it was gone. Records and raises StorageError."""
    is_gone = not os.path.lexists(plan.output)
    try:
        destination.check()
    except DestinationError as error:
        failure = StorageError(str(error))
        record_fault(plan, failure)
        raise failure from error
    return is_gone


def _warn(plan: CrawlPlan, store: Store, *, is_gone: bool) -> None:
    """Say what a person should know at once, also of a quiet run. ``is_gone``: there was no output directory."""
    if store.unended:
        log.warning("%s; this run continues it", store.unended)
    if is_gone and not plan.config.upload.to and PublishedDigests(store.db, plan.output).is_last:
        remedy = "If a disk belongs there, mount it; if the site has moved, set output.directory (-o)"
        log.warning("%s, where the last run published, was gone. %s", plan.output, remedy)


def record_fault(plan: CrawlPlan, error: SiteatlasError) -> None:
    """Record a run that could not begin, if the site has a state."""
    if STATE_DB.is_in(plan.state):
        settings = planning.result_settings(plan.config)
        with (
            suppress(SiteatlasError),
            Store(plan.state, settings, begin=Resume.ALWAYS, about=plan.about, now=time.time()) as store,
        ):
            store.record_failure(error, time.time())


def _check_output(plan: CrawlPlan, store: Store, choices: RunChoices, clock: Clock) -> UsageError | None:
    """What would prevent a run, of a dry run: also files of somebody else. A run records and raises that."""
    faults = [choices.fault, _why_unwritable(plan.output)] if choices.dry_run else []
    try:
        if not choices.replace_foreign:
            check_output_is_ours(plan, store)
            check_formats_are_ours(plan, store)
    except UsageError as error:
        if not choices.dry_run:
            store.record_failure(error, clock())
            raise
        faults.append(error)
    said = "; ".join(str(fault) for fault in faults if fault)
    return UsageError(said) if said else None


def _why_unwritable(output: Path) -> DestinationError | None:
    """Why a run could not write to a directory, as far as that shows without writing."""
    # False too for a path that we may not read
    place = next(path for path in (output, *output.parents) if os.path.exists(path))  # noqa: PTH110
    disk = os.statvfs(place)
    room = disk.f_bavail if os.geteuid() else disk.f_bfree
    reasons = {
        errno.ENOTDIR: not place.is_dir(),
        errno.EROFS: disk.f_flag & os.ST_RDONLY,
        errno.EACCES: not os.access(place, os.W_OK | os.X_OK),
        errno.ENOSPC: disk.f_blocks and not room,
    }
    number = next((number for number, holds in reasons.items() if holds), None)
    if number is None:
        return None
    return destination_error(f"the directory {place} cannot be used", OSError(number, os.strerror(number)))


async def _visit_and_finish(  # noqa: PLR0913 - the parts of one run
    plan: CrawlPlan,
    store: Store,
    frontier: SqliteFrontier,
    watch: Watch,
    choices: RunChoices,
    finisher: RunFinisher,
    recheck: Recheck | None,
    clock: Clock,
) -> tuple[VisitResult, FinishedRun]:
    """Visit and finish; again, and then all pages, when the gate objects to a run that did not ask for all."""
    if recheck and recheck.listed:
        frontier.admit(recheck.seeds())
        frontier.commit()

    def admit_published(known: SqliteFrontier) -> bool:
        if recheck and recheck.further(store.db, known, store.run):
            return True
        for discovered in published_not_visited(store.db):
            known.admit(discovered)
        return False

    reject = partial(_start_rejection, plan) if store.is_first and not choices.accept_shrink else None
    reads = _second_reads(plan, store)
    while True:
        visited = await visit(plan, store, frontier, watch, admit_published, clock, second_reads=reads, reject=reject)
        if finished := finisher.finish(visited, accept_shrink=choices.accept_shrink):
            return visited, finished
        store.run = with_tally(store.run, visited.tally)
        ask_all(store.db, frontier, store.run, IN_DOUBT)


def _recheck(plan: CrawlPlan, choices: RunChoices, commits: CommitDates | None) -> Recheck | None:
    """What chooses the pages that the run asks for; None when it asks for all. Raises UsageError."""
    days = plan.config.fetch.recheck_within
    if days is None:
        if choices.changed:
            raise UsageError("--changed needs fetch.recheck_within: without it, a run requests each page")
        return None
    if plan.config.scope.max_depth is not None:
        raise UsageError(
            "fetch.recheck_within and scope.max_depth exclude each other: only a full run knows each depth"
        )
    params = plan.config.urls
    listed = changed_urls(choices.changed, plan.seed, UrlParams(params.drop_params, params.keep_params))

    def dates(pages: list[tuple[int, Url]]) -> dict[int, str]:
        return {number: dated.lastmod for number, dated in commits(pages)[0].items()} if commits else {}

    keys = f"{parse_settings_key(plan)} {source_key(plan)} {plan.config.render.mode}"
    return Recheck(days, keys, listed, dates if commits else None)


def changed_urls(lines: Iterable[str], base: Url, params: UrlParams) -> list[Url]:
    """The URLs of a list of changed pages, one URL or path a line. Raises UsageError."""
    try:
        return [join_url(base, line.strip(), params) for line in lines if line.strip()]
    except InvalidUrl as error:
        raise UsageError(f"--changed: {error}") from None


def _second_reads(plan: CrawlPlan, store: Store) -> Rounds | None:
    """The pages that are read twice to see what changes by itself, if the run compares pages."""
    if plan.is_of_folder or plan.config.content.lastmod not in OBSERVING_POLICIES:
        return None
    return lambda _: pages_to_read_again(store.db, store.run.number, plan.config.fetch.second_reads)


def _adopt_published(plan: CrawlPlan, store: Store) -> None:
    """After a damaged state: the published files are still the measure of the gate."""
    baseline = store.baseline
    if baseline is not None:
        from crawler.publish.rollback import adopt_published  # noqa: PLC0415 - loads the reader of sitemaps

        adopt_published(plan, store.db, baseline)


def _start_rejection(plan: CrawlPlan, outcome: Outcome) -> SiteatlasError | None:
    """The error that ends the first crawl of a site at once, because of its start URL."""
    is_scope_set = bool(plan.config.site.sitemap_url)
    return start_moved(plan, outcome) or reject_start(outcome, is_scope_set=is_scope_set)
