"""The visiting of a site: its parts are put together, and run until nothing is left or something stops them.

::

    rulebook, fetcher, pool, lanes, recall | journey | engine(frontier, journey)
"""

import hashlib
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
import msgspec
from msgspec.structs import replace

from crawler.config import fetcher as fetching
from crawler.config import source as sources
from crawler.config.config import Config
from crawler.config.plan import CrawlPlan
from crawler.crawl.earlier_crawl import EarlierCrawl
from crawler.crawl.engine import CrawlEngine, CrawlLimits, RunEnd, Tally, Watch
from crawler.crawl.frontier.sqlite import SqliteFrontier
from crawler.crawl.indexability import IndexabilityJudge
from crawler.crawl.revalidation import PreviousVisits
from crawler.crawl.worker import PageWorker, WorkerOptions, WorkerParts
from crawler.errors import NothingCrawlable
from crawler.fetch.fetcher import Fetcher
from crawler.fetch.limits import BodyLimits
from crawler.fetch.throttle import Throttle, ThrottleOptions
from crawler.model import DiscoveredBy, DiscoveredUrl, DocumentKind, StatusBadge
from crawler.parse.html.page import ReadOptions
from crawler.parse.pool import ParsePool
from crawler.parse.protocol import ParserOptions
from crawler.robots.cache import RobotsCache
from crawler.robots.rules import Robots, RobotsAccess, product_token
from crawler.robots.store import RobotsStore
from crawler.state.runs import Completeness, Run
from crawler.state.store import Store
from crawler.url.normalize import normalize_url, origin_of
from crawler.version import __version__


def parse_settings_key(ready: CrawlPlan) -> str:
    """A short name for everything that decides what is read in a page: what was read otherwise cannot be reused."""
    config = ready.config
    said = (
        parser_options(ready),
        config.obey.nofollow,
        config.scope.sitemap_seeds,
        config.fetch.max_body,
        __version__,
    )
    return hashlib.blake2b(msgspec.msgpack.encode(said), digest_size=8).hexdigest()


def source_key(ready: CrawlPlan) -> str:
    """A short name for the server that is asked: validators are of one server."""
    return sources.server_key(ready.config, ready.seed)


def seed_urls(ready: CrawlPlan, robots: Robots) -> list[DiscoveredUrl]:
    """Where the crawl begins: the start URL, and the site's own sitemaps if they are wanted."""
    found = [DiscoveredUrl(ready.seed, DiscoveredBy.SEED, 0)]
    if ready.config.scope.sitemap_seeds:
        given = (*robots.sitemaps, f"{origin_of(ready.seed)}/sitemap.xml")
        named = dict.fromkeys(normalize_url(url, ready.params.keeping_all) for url in given)
        found += [
            DiscoveredUrl(url, DiscoveredBy.SITEMAP, 0, kind=DocumentKind.SITEMAP)
            for url in named
            if url != ready.seed
        ]
    return found


def build_judge(ready: CrawlPlan) -> IndexabilityJudge:
    """Who judges the pages."""
    obey = ready.config.obey
    return IndexabilityJudge(ready.scope, ready.params, obey.noindex, obey.canonical)


def worker_options(config: Config) -> WorkerOptions:
    """What a journey is told."""
    fetch = config.fetch
    return WorkerOptions(
        retries=fetch.retries,
        max_redirects=fetch.max_redirects,
        obey_nofollow=config.obey.nofollow,
        page_body=BodyLimits(wire=fetch.max_download, decoded=fetch.max_body),
        sitemap_body=BodyLimits(wire=fetch.max_sitemap, decoded=fetch.max_sitemap),
        max_crawl_delay=config.obey.max_crawl_delay,
        max_retry_after=config.pace.max_retry_after,
        follow_sitemaps=config.scope.sitemap_seeds,
        token=product_token(fetch.user_agent),
    )


def parser_options(ready: CrawlPlan) -> ParserOptions:
    """What the parser processes are told."""
    content, parse = ready.config.content, ready.config.parse
    options = ReadOptions(
        images=content.images,
        videos=content.videos,
        alternates=content.alternates,
        dates=content.lastmod in ("observed", "page"),
        max_links=parse.max_links,
        token=product_token(ready.config.fetch.user_agent),
    )
    return ParserOptions(options, ready.params, parse.timeout, parse.memory)


Clock = Callable[[], float]


"""Gives Unix time: that of a run, and of the answers that are dated by it."""


HasMore = Callable[[SqliteFrontier], bool]


"""Lets a frontier in which nothing is left know of what else is to be visited."""


log = logging.getLogger(__name__)


SPARE_LEASES: Final = (
    4  # documents on their way to each parser process beyond the fetches under way: keeps it fed
)


@dataclass(frozen=True, slots=True)
class VisitResult:
    """How the visiting went: its ending, its tally, and what robots.txt had odd about it."""

    ending: RunEnd
    tally: Tally
    notes: tuple[str, ...]


def open_frontier(plan: CrawlPlan, store: Store) -> SqliteFrontier:
    """The frontier of the run, with the scope at its door."""
    scope = plan.scope

    def admit(find: DiscoveredUrl) -> StatusBadge | None:
        return scope.admit(find.url, find.depth, find.found, find.kind)

    section = plan.config.scope
    return SqliteFrontier(
        store.db,
        admit,
        by_level=section.max_depth is not None,
        run=store.run.number,
        reading=parse_settings_key(plan),
        patience=section.trap_limit,
    )


async def visit(  # noqa: PLR0913 - two of them have a default
    plan: CrawlPlan,
    store: Store,
    waiting: SqliteFrontier,
    watch: Watch,
    more: HasMore,
    clock: Clock = time.time,
    earlier: EarlierCrawl | None = None,
) -> VisitResult:
    """Crawl until nothing is left or something stops it; ``more`` is asked when nothing is left, until
    it answers no. What an ``earlier`` crawl answers is not asked for again.

    Raises NothingCrawlable when robots.txt allows nothing, StorageError.
    """
    config = plan.config
    async with AsyncExitStack() as stack:
        fetcher = await stack.enter_async_context(
            fetching.build_fetcher(config, [origin_of(plan.seed)], clock, plan.source)
        )
        rules = build_robots_cache(plan, store, fetcher, clock)
        robots = await _start_robots(plan, rules)
        pool = await stack.enter_async_context(ParsePool(plan.processes, parser_options(plan)))
        pace = ThrottleOptions(config.pace.concurrency, config.pace.rate, config.pace.delay)
        folder = origin_of(plan.seed) if plan.source and plan.source.folder else ""
        lanes = Throttle(pace, plan.processes * SPARE_LEASES, folder)
        recall = PreviousVisits(
            store.db,
            store.run.number,
            parse_settings_key(plan),
            source_key(plan),
            config.fetch.refetch_every,
        )
        parts = WorkerParts(rules, fetcher, pool, build_judge(plan), lanes, waiting, recall, earlier)
        journey = PageWorker(parts, worker_options(config))
        limits = CrawlLimits(
            config.scope.max_pages,
            config.scope.max_time,
            config.pace.max_retry_after,
            config.pace.max_error_time,
        )

        def further() -> bool:
            return waiting.review_postponed() or more(waiting) or waiting.review_postponed()

        engine = CrawlEngine(waiting, journey, lanes, limits, watch, further)
        waiting.admit(seed_urls(plan, robots))
        async with _stop_on_signals(engine):
            ending = await engine.run()
        return VisitResult(ending, engine.tally, (*robots.notes, *waiting.notes.values()))


async def check_reachable(plan: CrawlPlan, store: Store, clock: Clock = time.time) -> None:
    """See whether a site can be visited at all, before what takes long. Raises NothingCrawlable, StorageError."""
    async with fetching.build_fetcher(plan.config, [origin_of(plan.seed)], clock, plan.source) as fetcher:
        await _start_robots(plan, build_robots_cache(plan, store, fetcher, clock))


def build_robots_cache(plan: CrawlPlan, store: Store, fetcher: Fetcher, clock: Clock) -> RobotsCache:
    """The robots.txt of every origin, as the plan obeys it, with the copies that the state keeps."""
    agent, obey = plan.config.fetch.user_agent, plan.config.obey.robots
    kept = RobotsStore(store.db)
    return RobotsCache(fetcher, agent, obey=obey, kept=kept, params=plan.params, clock=clock)


async def _start_robots(plan: CrawlPlan, rules: RobotsCache) -> Robots:
    home = origin_of(plan.seed)
    robots = await rules.get(home)
    if robots.access is RobotsAccess.NOTHING:
        raise NothingCrawlable(f"nothing can be crawled on {home}: {robots.reason}")
    return robots


@asynccontextmanager
async def _stop_on_signals(engine: CrawlEngine) -> AsyncIterator[None]:
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
                engine.stop(RunEnd.INTERRUPTED)

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


def changes_text(run: Run, visited: VisitResult, judged: Completeness) -> Run:
    """The record with what this process did added to what earlier ones did of the same run."""
    tally = visited.tally
    return replace(
        run,
        completeness=judged.kind.value,
        because=judged.reason,
        fetched=run.fetched + tally.fetched,
        unchanged=run.unchanged + tally.unchanged,
        bytes=run.bytes + tally.bytes,
        seconds=run.seconds + tally.seconds,
    )
