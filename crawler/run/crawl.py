"""Crawls one site from its plan to its report: the composition root, which hands each part its own section.

::

    plan | store | visit(engine, frontier) | finish | report
"""

import time
from functools import partial
from typing import Final

from msgspec import Struct

from crawler.config import plan as planning
from crawler.config.plan import CrawlPlan
from crawler.config.start import StartMoved
from crawler.crawl.engine import FinishReason, Watch
from crawler.crawl.frontier.sqlite import SqliteFrontier
from crawler.crawl.second_reads import Rounds
from crawler.crawl.visit import Clock, open_frontier, start_moved, visit
from crawler.errors import NothingCrawlable, SiteatlasError, StorageError, single_error
from crawler.lastmod.observe import commit_dates, pages_to_read_again
from crawler.lastmod.policy import OBSERVING_POLICIES
from crawler.model import Outcome
from crawler.publish.gate import reject_start
from crawler.publish.listing import published_not_visited
from crawler.publish.other_formats import check_formats_are_ours, check_names
from crawler.publish.store import requeue_failed
from crawler.publish.write import build_destination, build_writer, check_output_is_ours
from crawler.run.finish import RunFinisher
from crawler.run.report import Report, build_report
from crawler.state.store import Resume, Store
from sitemap import DestinationError

MAX_EXAMPLES = 3  # URLs named for each state of omitted URLs


class RunChoices(Struct, frozen=True, kw_only=True):
    """What a person decides for one run. ``begin`` says whether to resume an earlier run.

    ``dry_run`` publishes nothing, ``accept_shrink`` accepts a smaller set than before, ``replace_foreign`` overwrites a
    sitemap that no run with this state wrote, and ``all_left_out`` names every omitted URL, not a few of each state.
    """

    begin: Resume = Resume.ALWAYS
    dry_run: bool = False
    accept_shrink: bool = False
    replace_foreign: bool = False
    all_left_out: bool = False


NO_CHOICES: Final = RunChoices()


async def crawl(plan: CrawlPlan, watch: Watch, choices: RunChoices = NO_CHOICES, *, clock: Clock = time.time) -> Report:
    """Crawl, publish and report. ``clock`` gives Unix time for the run and its responses.

    Raises SiteatlasError when nothing could be done; every other ending is in the report.
    """
    commits = commit_dates(plan.config, plan.seed)
    destination = build_destination(plan)
    try:
        if not choices.dry_run:
            destination.check()
            build_writer(plan, destination).abort()  # report impossible settings now, not after hours
            check_names(plan)
        settings = planning.result_settings(plan.config)
        with Store(plan.state, settings, begin=choices.begin, about=plan.about, now=clock()) as store:
            _adopt_published(plan, store)
            if not (choices.dry_run or choices.replace_foreign):
                check_output_is_ours(plan, store)
                check_formats_are_ours(plan, store)
            frontier = open_frontier(plan, store)

            def admit_published(known: SqliteFrontier) -> bool:
                for discovered in published_not_visited(store.db):
                    known.admit(discovered)
                return False

            reject = partial(_start_rejection, plan) if store.is_first and not choices.accept_shrink else None
            try:
                visited = await visit(
                    plan,
                    store,
                    frontier,
                    watch,
                    admit_published,
                    clock,
                    second_reads=_second_reads(plan, store),
                    reject=reject,
                )
            except StartMoved:
                store.discard()
                raise
            except NothingCrawlable as error:
                store.record_failure(error, clock())
                raise
            finisher = RunFinisher(plan, store, None if choices.dry_run else destination, commits)
            finished = finisher.finish(visited, accept_shrink=choices.accept_shrink)
            examples = None if choices.all_left_out else MAX_EXAMPLES
            report = build_report(plan, store, frontier, visited, finished, examples)
            if visited.ending in (FinishReason.SITE_DOWN, FinishReason.PARKED):
                requeue_failed(store.db)
            return report
    except DestinationError as error:
        raise StorageError(str(error)) from error
    except BaseExceptionGroup as group:
        raise single_error(group) from None


def _second_reads(plan: CrawlPlan, store: Store) -> Rounds | None:
    """The pages that are read twice to see what changes by itself, if the run compares pages."""
    is_static = plan.source is not None and plan.source.folder is not None
    if is_static or plan.config.content.lastmod not in OBSERVING_POLICIES:
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
