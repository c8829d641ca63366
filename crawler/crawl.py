"""One crawl from its plan to its report: the composition root. Each part gets its own section and nothing else.

::

    plan | store | engine(frontier, journey) | conclude | report
"""

import logging
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager

import anyio

from crawler import plan as planning
from crawler.conclude import Closing, Visited
from crawler.engine import Ending, Engine, Limits, Watch
from crawler.errors import NothingCrawlable, StorageError
from crawler.frontier import Admit
from crawler.frontier.sqlite import SqliteFrontier
from crawler.journey import Journey, Parts
from crawler.lanes import Lanes
from crawler.memory.failing import put_back
from crawler.memory.last_look import unseen
from crawler.memory.recall import Recall
from crawler.memory.rules import RobotsStore
from crawler.model import Find, Verdict
from crawler.parsing.pool import ParsePool
from crawler.plan import Plan
from crawler.politeness import Pace
from crawler.publish import destination, writer
from crawler.recent import recent_address
from crawler.report import Report, report
from crawler.robots import Access
from crawler.rulebook import Rulebook
from crawler.scope import Scope
from crawler.store import Begin, Store
from crawler.url import origin
from sitemap import DestinationError

Clock = Callable[[], float]

log = logging.getLogger(__name__)

SPARE = 4  # documents on their way to each parser process beyond the fetches under way: keeps it fed
EXAMPLES = 3  # URLs named for each way of being left out


async def crawl(  # noqa: PLR0913 - the choices of a person, each with a default
    plan: Plan,
    watch: Watch,
    *,
    begin: Begin = Begin.GO_ON,
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
    place = destination(plan)
    try:
        if not dry_run:
            place.check()
            writer(plan, place).abort()  # settings that no sitemap can have are told now, not after hours
            recent_address(plan)
        about = {
            "url": plan.seed,
            "sitemap_url": plan.sitemap_url,
            "user_agent": plan.config.fetch.user_agent,
        }
        settings = planning.deciding(plan.config)
        with Store(plan.state, settings, begin=begin, about=about, now=clock()) as store:
            by_level = plan.config.scope.max_depth is not None
            reading = planning.reading_key(plan)
            frontier = store.frontier(_admission(plan.scope), reading, by_level=by_level)
            try:
                visited = await _visit(plan, store, frontier, watch, clock)
            except NothingCrawlable as error:
                store.give_up(error, clock())
                raise
            closing = Closing(plan, store, None if dry_run else place)
            concluded = closing.conclude(visited, accept_shrink=accept_shrink)
            told = report(plan, store, frontier, visited, concluded, None if all_left_out else EXAMPLES)
            if visited.ending in (Ending.SITE_DOWN, Ending.PARKED):
                put_back(store.db)
            return told
    except DestinationError as error:
        raise StorageError(str(error)) from error
    except BaseExceptionGroup as group:
        raise _alone(group) from None


def _alone(group: BaseException) -> BaseException:
    """The exception that task groups have wrapped, when it is one."""
    while isinstance(group, BaseExceptionGroup) and len(group.exceptions) == 1:
        group = group.exceptions[0]
    return group


async def _visit(plan: Plan, store: Store, frontier: SqliteFrontier, watch: Watch, clock: Clock) -> Visited:
    """Crawl until nothing is left or something stops it."""
    config = plan.config
    async with AsyncExitStack() as stack:
        fetcher = await stack.enter_async_context(
            planning.fetcher(config, [origin(plan.seed)], clock, plan.source)
        )
        kept = RobotsStore(store.db)
        agent, obey = config.fetch.user_agent, config.obey.robots
        rulebook = Rulebook(fetcher, agent, obey=obey, kept=kept, params=plan.params, clock=clock)
        robots = await rulebook.rules(origin(plan.seed))
        if robots.access is Access.NOTHING:
            raise NothingCrawlable(f"nothing can be crawled on {origin(plan.seed)}: {robots.reason}")
        pool = await stack.enter_async_context(ParsePool(plan.processes, planning.hello(plan)))
        pace = Pace(config.pace.concurrency, config.pace.rate, config.pace.delay)
        folder = origin(plan.seed) if plan.source and plan.source.folder else ""
        lanes = Lanes(pace, plan.processes * SPARE, folder)
        recall = Recall(
            store.db,
            store.run.number,
            planning.reading_key(plan),
            planning.source_key(plan),
            config.fetch.full_every,
        )
        parts = Parts(rulebook, fetcher, pool, planning.judge(plan), lanes, frontier, recall)
        journey = Journey(parts, planning.manners(config))
        limits = Limits(config.scope.max_pages, config.scope.max_time, config.pace.longest_pause)

        def look_again() -> None:
            for finds in unseen(store.db):
                frontier.admit(finds)

        engine = Engine(frontier, journey, lanes, limits, watch, look_again)
        frontier.admit(planning.seeds(plan, robots))
        async with _stoppable(engine):
            ending = await engine.run()
        return Visited(ending, engine.tally, robots.notes)


@asynccontextmanager
async def _stoppable(engine: Engine) -> AsyncIterator[None]:
    """SIGINT and SIGTERM stop the engine, which saves what it has; a second one ends the process where it stands."""

    async def listen() -> None:
        with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
            ready.set()
            async for number in signals:
                if engine.stopping:
                    if sys.stderr.isatty():
                        os.write(2, b"\x1b[?25h\r\n")  # the live display hid the cursor
                    os._exit(128 + number)  # what is committed is consistent; that is what state is for
                log.warning("stopping: what is known is saved; once more to stop at once")
                engine.stop(Ending.INTERRUPTED)

    ready = anyio.Event()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(listen)
        await ready.wait()
        yield
        tasks.cancel_scope.cancel()


def _admission(scope: Scope) -> Admit:
    def admit(find: Find) -> Verdict | None:
        return scope.admit(find.url, find.depth, find.found, find.kind)

    return admit
