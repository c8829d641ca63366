"""One crawl from its plan to its report: the composition root. Each part gets its own section and nothing else.

::

    plan | store | engine(frontier, journey) | conclude | report
"""

import time

from crawler.config import plan as planning
from crawler.config.deprecated import KEYS
from crawler.config.plan import CrawlPlan
from crawler.crawl.engine import RunEnd, Watch
from crawler.crawl.frontier.sqlite import SqliteFrontier
from crawler.crawl.visit import Clock, open_frontier, visit
from crawler.errors import NothingCrawlable, StorageError, single_error
from crawler.publish.listing import published_not_visited
from crawler.publish.recent_feed import recent_feed_url
from crawler.publish.remember import requeue_failed
from crawler.publish.write import build_destination, build_writer
from crawler.run.finish import RunFinisher
from crawler.run.report import Report, build_report
from crawler.state.store import Resume, Store
from sitemap import DestinationError

MAX_EXAMPLES = 3  # URLs named for each way of being left out


async def crawl(  # noqa: PLR0913 - the choices of a person, each with a default
    plan: CrawlPlan,
    watch: Watch,
    *,
    begin: Resume = Resume.ALWAYS,
    dry_run: bool = False,
    accept_shrink: bool = False,
    all_left_out: bool = False,
    clock: Clock = time.time,
) -> Report:
    """Crawl, publish and report. ``all_left_out`` names every URL that was left out, not a few of each kind.

    ``begin`` says what becomes of an earlier run, ``accept_shrink`` that a smaller set than before is right. ``clock``
    gives Unix time: that of the run, and of the answers that are dated by it.
    Raises a SiteatlasError when nothing could be done; an ending that leaves something to tell is in the report.
    """
    place = build_destination(plan)
    try:
        if not dry_run:
            place.check()
            build_writer(
                plan, place
            ).abort()  # settings that no sitemap can have are told now, not after hours
            recent_feed_url(plan)
        settings = planning.result_settings(plan.config)
        with Store(plan.state, settings, begin=begin, about=plan.about, now=clock(), renamed=KEYS) as store:
            waiting = open_frontier(plan, store)

            def look_again(known: SqliteFrontier) -> bool:
                for finds in published_not_visited(store.db):
                    known.admit(finds)
                return False

            try:
                visited = await visit(plan, store, waiting, watch, look_again, clock)
            except NothingCrawlable as error:
                store.record_failure(error, clock())
                raise
            closing = RunFinisher(plan, store, None if dry_run else place)
            concluded = closing.finish(visited, accept_shrink=accept_shrink)
            told = build_report(
                plan, store, waiting, visited, concluded, None if all_left_out else MAX_EXAMPLES
            )
            if visited.ending in (RunEnd.SITE_DOWN, RunEnd.PARKED):
                requeue_failed(store.db)
            return told
    except DestinationError as error:
        raise StorageError(str(error)) from error
    except BaseExceptionGroup as group:
        raise single_error(group) from None
