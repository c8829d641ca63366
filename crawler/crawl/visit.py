"""The visiting of a site: its parts are put together, and run until nothing is left or something stops them.

::

    rulebook, fetcher, pool, lanes, recall | journey | engine(frontier, journey)
"""

import logging
import os
import signal
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Final

import anyio
from msgspec.structs import replace

from crawler.config import fetcher as fetching
from crawler.config.plan import Plan
from crawler.crawl.build import hello, judge, manners, reading_key, seeds, source_key
from crawler.crawl.earlier_crawl import EarlierCrawl
from crawler.crawl.engine import Ending, Engine, Limits, Tally, Watch
from crawler.crawl.frontier.sqlite import SqliteFrontier
from crawler.crawl.revalidation import Recall
from crawler.crawl.worker import Journey, Parts
from crawler.errors import NothingCrawlable
from crawler.fetch.fetcher import Fetcher
from crawler.fetch.throttle import Lanes, Pace
from crawler.model import Find, Verdict
from crawler.parse.pool import ParsePool
from crawler.robots.cache import Rulebook
from crawler.robots.rules import Access, Robots
from crawler.robots.store import RobotsStore
from crawler.state.runs import Completeness, Run
from crawler.state.store import Store
from crawler.url.normalize import origin

Clock = Callable[[], float]

"""Gives Unix time: that of a run, and of the answers that are dated by it."""

More = Callable[[SqliteFrontier], bool]

"""Lets a frontier in which nothing is left know of what else is to be visited."""


log = logging.getLogger(__name__)


SPARE: Final = 4  # documents on their way to each parser process beyond the fetches under way: keeps it fed


@dataclass(frozen=True, slots=True)
class Visited:
    """How the visiting went: its ending, its tally, and what robots.txt had odd about it."""

    ending: Ending
    tally: Tally
    notes: tuple[str, ...]


def frontier(plan: Plan, store: Store) -> SqliteFrontier:
    """The frontier of the run, with the scope at its door."""
    scope = plan.scope

    def admit(find: Find) -> Verdict | None:
        return scope.admit(find.url, find.depth, find.found, find.kind)

    section = plan.config.scope
    return SqliteFrontier(
        store.db,
        admit,
        by_level=section.max_depth is not None,
        run=store.run.number,
        reading=reading_key(plan),
        patience=section.trap_limit,
    )


async def visit(  # noqa: PLR0913 - two of them have a default
    plan: Plan,
    store: Store,
    waiting: SqliteFrontier,
    watch: Watch,
    more: More,
    clock: Clock = time.time,
    earlier: EarlierCrawl | None = None,
) -> Visited:
    """Crawl until nothing is left or something stops it; ``more`` is asked when nothing is left, until
    it answers no. What an ``earlier`` crawl answers is not asked for again.

    Raises NothingCrawlable when robots.txt allows nothing, StorageError.
    """
    config = plan.config
    async with AsyncExitStack() as stack:
        fetcher = await stack.enter_async_context(
            fetching.fetcher(config, [origin(plan.seed)], clock, plan.source)
        )
        rules = rulebook(plan, store, fetcher, clock)
        robots = await _allowed(plan, rules)
        pool = await stack.enter_async_context(ParsePool(plan.processes, hello(plan)))
        pace = Pace(config.pace.concurrency, config.pace.rate, config.pace.delay)
        folder = origin(plan.seed) if plan.source and plan.source.folder else ""
        lanes = Lanes(pace, plan.processes * SPARE, folder)
        recall = Recall(
            store.db,
            store.run.number,
            reading_key(plan),
            source_key(plan),
            config.fetch.refetch_every,
        )
        parts = Parts(rules, fetcher, pool, judge(plan), lanes, waiting, recall, earlier)
        journey = Journey(parts, manners(config))
        limits = Limits(
            config.scope.max_pages,
            config.scope.max_time,
            config.pace.max_retry_after,
            config.pace.max_error_time,
        )

        def further() -> bool:
            return waiting.look_again() or more(waiting) or waiting.look_again()

        engine = Engine(waiting, journey, lanes, limits, watch, further)
        waiting.admit(seeds(plan, robots))
        async with _stoppable(engine):
            ending = await engine.run()
        return Visited(ending, engine.tally, (*robots.notes, *waiting.notes.values()))


async def reach(plan: Plan, store: Store, clock: Clock = time.time) -> None:
    """See whether a site can be visited at all, before what takes long. Raises NothingCrawlable, StorageError."""
    async with fetching.fetcher(plan.config, [origin(plan.seed)], clock, plan.source) as fetcher:
        await _allowed(plan, rulebook(plan, store, fetcher, clock))


def rulebook(plan: Plan, store: Store, fetcher: Fetcher, clock: Clock) -> Rulebook:
    """The robots.txt of every origin, as the plan obeys it, with the copies that the state keeps."""
    agent, obey = plan.config.fetch.user_agent, plan.config.obey.robots
    kept = RobotsStore(store.db)
    return Rulebook(fetcher, agent, obey=obey, kept=kept, params=plan.params, clock=clock)


async def _allowed(plan: Plan, rules: Rulebook) -> Robots:
    home = origin(plan.seed)
    robots = await rules.rules(home)
    if robots.access is Access.NOTHING:
        raise NothingCrawlable(f"nothing can be crawled on {home}: {robots.reason}")
    return robots


@asynccontextmanager
async def _stoppable(engine: Engine) -> AsyncIterator[None]:
    """SIGINT and SIGTERM stop the engine, which saves what it has; a second one ends the process where it stands.

    Only the main thread hears signals (https://docs.python.org/3/library/signal.html#signals-and-threads): in another,
    whoever began it cancels it.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

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
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(listen)
            await ready.wait()
            yield
            tasks.cancel_scope.cancel()
    finally:  # an event loop that listens no more leaves the usual handlers behind
        for number, handler in before.items():
            signal.signal(number, handler)


def counted(run: Run, visited: Visited, judged: Completeness) -> Run:
    """The record with what this process did added to what earlier ones did of the same run."""
    tally = visited.tally
    return replace(
        run,
        completeness=judged.kind.value,
        because=judged.because,
        fetched=run.fetched + tally.fetched,
        unchanged=run.unchanged + tally.unchanged,
        bytes=run.bytes + tally.bytes,
        seconds=run.seconds + tally.seconds,
    )
