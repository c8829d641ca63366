"""One visit of a site: builds the parts of the crawl from its plan, and runs the engine until the crawl ends."""

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

from crawler.config import source as sources
from crawler.config.config import Config
from crawler.config.fetcher import build_fetcher
from crawler.config.plan import CrawlPlan
from crawler.crawl.earlier_crawl import EarlierCrawl
from crawler.crawl.engine import CrawlEngine, CrawlLimits, FinishReason, RejectStart, Tally, Watch
from crawler.crawl.frontier.sqlite import SqliteFrontier
from crawler.crawl.indexability import IndexabilityJudge
from crawler.crawl.outcome import OutcomeBuilder, OutcomeOptions
from crawler.crawl.page_fetcher import FetchOptions, PageFetcher
from crawler.crawl.revalidation import PreviousVisits
from crawler.crawl.second_reads import SecondReads
from crawler.crawl.worker import PageParser, PageWorker
from crawler.errors import NothingCrawlable
from crawler.fetch.fetcher import Fetcher
from crawler.fetch.limits import BodyLimits
from crawler.fetch.retry import RetryPolicy
from crawler.fetch.throttle import Throttle, ThrottleOptions
from crawler.model import DiscoveredBy, DiscoveredUrl, DocumentKind, Verdict
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

log = logging.getLogger(__name__)
Clock = Callable[[], float]
"""Gives Unix time: that of a run, and of the answers that are dated by it."""

HasMore = Callable[[SqliteFrontier], bool]
"""Admits more URLs to a frontier in which nothing is left; False when there are no more."""

SPARE_LEASES: Final = 4  # for each parser process, beyond the requests in flight: keeps it busy


@dataclass(frozen=True, slots=True)
class VisitResult:
    """How a visit ended, its tally, and notes on robots.txt and on what was left out."""

    ending: FinishReason
    tally: Tally
    notes: tuple[str, ...]


def parse_settings_key(plan: CrawlPlan) -> str:
    """A digest of the settings that decide what a page yields: content parsed with others is not reused."""
    config = plan.config
    settings = (
        parser_options(plan),
        config.obey.nofollow,
        config.scope.sitemap_seeds,
        config.fetch.max_body,
        __version__,
    )
    return hashlib.blake2b(msgspec.msgpack.encode(settings), digest_size=8).hexdigest()


def source_key(plan: CrawlPlan) -> str:
    """A digest of the server that is fetched from: validators hold for one server."""
    return sources.server_key(plan.config, plan.seed)


def seed_urls(plan: CrawlPlan, robots: Robots) -> list[DiscoveredUrl]:
    """The seeds: the start URL, and the site's own sitemaps unless the configuration leaves them out."""
    seeds = [DiscoveredUrl(plan.seed, DiscoveredBy.SEED, 0)]
    if plan.config.scope.sitemap_seeds:
        urls = (*robots.sitemaps, f"{origin_of(plan.seed)}/sitemap.xml")
        sitemaps = dict.fromkeys(normalize_url(url, plan.params.keeping_all) for url in urls)
        seeds += [
            DiscoveredUrl(url, DiscoveredBy.SITEMAP, 0, kind=DocumentKind.SITEMAP)
            for url in sitemaps
            if url != plan.seed
        ]
    return seeds


def build_judge(plan: CrawlPlan) -> IndexabilityJudge:
    """The judge of the pages of a plan."""
    obey = plan.config.obey
    return IndexabilityJudge(plan.scope, plan.params, obey.noindex, obey.canonical)


def fetch_options(config: Config) -> FetchOptions:
    """The limits of the fetch step."""
    fetch = config.fetch
    return FetchOptions(
        BodyLimits(wire=fetch.max_download, decoded=fetch.max_body),
        BodyLimits(wire=fetch.max_sitemap, decoded=fetch.max_sitemap),
        config.obey.max_crawl_delay,
    )


def parser_options(plan: CrawlPlan) -> ParserOptions:
    """The options of the parser processes."""
    content, parse = plan.config.content, plan.config.parse
    options = ReadOptions(
        images=content.images,
        videos=content.videos,
        alternates=content.alternates,
        dates=content.lastmod in ("observed", "page"),
        max_links=parse.max_links,
        token=product_token(plan.config.fetch.user_agent),
    )
    return ParserOptions(options, plan.params, parse.timeout, parse.memory, parse.max_link_bytes)


def build_robots_cache(plan: CrawlPlan, store: Store, fetcher: Fetcher, clock: Clock) -> RobotsCache:
    """The robots.txt of every origin, obeyed as the plan says, with the copies in the state."""
    agent, obey = plan.config.fetch.user_agent, plan.config.obey.robots
    robots_store = RobotsStore(store.db)
    return RobotsCache(fetcher, agent, obey=obey, kept=robots_store, params=plan.params, clock=clock)


def open_frontier(plan: CrawlPlan, store: Store) -> SqliteFrontier:
    """The frontier of the run, which admits what the scope admits."""
    scope = plan.scope

    def admit(find: DiscoveredUrl) -> Verdict | None:
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


def _throttle(plan: CrawlPlan) -> Throttle:
    pace = plan.config.pace
    folder = origin_of(plan.seed) if plan.source and plan.source.folder else ""
    options = ThrottleOptions(pace.concurrency, pace.rate, pace.delay)
    return Throttle(options, plan.processes * SPARE_LEASES, folder)


def _limits(config: Config) -> CrawlLimits:
    scope, pace = config.scope, config.pace
    return CrawlLimits(
        scope.max_pages, scope.max_time, pace.max_retry_after, pace.max_error_time, config.state.max_size
    )


def _worker(plan: CrawlPlan, fetcher: PageFetcher, pool: ParsePool, frontier: SqliteFrontier) -> PageWorker:
    config = plan.config
    options = OutcomeOptions(config.fetch.max_redirects, config.obey.nofollow, config.scope.sitemap_seeds)
    return PageWorker(
        fetcher,
        PageParser(pool, product_token(config.fetch.user_agent)),
        OutcomeBuilder(build_judge(plan), frontier, options),
        RetryPolicy(config.fetch.retries, longest_asked=config.pace.max_retry_after),
        config.output.keep_failed,
    )


async def visit(  # noqa: PLR0913 - three of them have a default
    plan: CrawlPlan,
    store: Store,
    frontier: SqliteFrontier,
    watch: Watch,
    more: HasMore,
    clock: Clock = time.time,
    earlier: EarlierCrawl | None = None,
    second_reads: int = 0,
    reject: RejectStart | None = None,
) -> VisitResult:
    """Crawl until nothing is left or something stops the crawl. URLs that ``earlier`` answers are not fetched.

    When nothing is left, ``more`` may admit more URLs, until it returns False. Then at most ``second_reads`` of the
    pages that differ from the run before are fetched a second time. Raises NothingCrawlable when robots.txt allows
    nothing, the error of ``reject`` for the start URL, and StorageError.
    """
    async with AsyncExitStack() as stack:
        fetcher = await stack.enter_async_context(_fetcher(plan, clock))
        robots_cache = build_robots_cache(plan, store, fetcher, clock)
        robots = await _seed_robots(plan, robots_cache)
        pool = await stack.enter_async_context(ParsePool(plan.processes, parser_options(plan)))
        throttle = _throttle(plan)
        previous_visits = PreviousVisits(
            store.db, store.run.number, parse_settings_key(plan), source_key(plan), plan.config.fetch.refetch_every
        )
        page_fetcher = PageFetcher(
            fetcher, robots_cache, throttle, previous_visits, earlier, fetch_options(plan.config)
        )
        worker = _worker(plan, page_fetcher, pool, frontier)

        def further() -> bool:
            return frontier.review_postponed() or more(frontier) or frontier.review_postponed()

        engine = CrawlEngine(frontier, worker, throttle, _limits(plan.config), watch, further, reject)
        frontier.admit(seed_urls(plan, robots))
        async with _stop_on_signals(engine):
            ending = await engine.run()
            if ending is FinishReason.COMPLETE and second_reads:
                again = SecondReads(page_fetcher, throttle, pool)
                await again.run(store.db, store.run.number, second_reads, lambda: engine.stopping)
                engine.tally.fetched += again.fetched
                engine.tally.bytes += again.bytes
    if engine.rejection:  # outside of the task groups, which would wrap it in a group
        raise engine.rejection
    return VisitResult(ending, engine.tally, (*robots.notes, *frontier.notes.values(), *_scope_notes(plan)))


def _scope_notes(plan: CrawlPlan) -> list[str]:
    if not plan.scope.has_more_hosts:
        return []
    return [f"the crawl is limited to {plan.scope.bounds.max_hosts:,} more hosts (--max-hosts), so some were left out"]


async def check_reachable(plan: CrawlPlan, store: Store, clock: Clock = time.time) -> None:
    """Check early whether the site can be crawled at all. Raises NothingCrawlable, StorageError."""
    async with _fetcher(plan, clock) as fetcher:
        await _seed_robots(plan, build_robots_cache(plan, store, fetcher, clock))


def _fetcher(plan: CrawlPlan, clock: Clock) -> Fetcher:
    return build_fetcher(plan.config, [origin_of(plan.seed)], clock, plan.source)


async def _seed_robots(plan: CrawlPlan, robots_cache: RobotsCache) -> Robots:
    origin = origin_of(plan.seed)
    robots = await robots_cache.get(origin)
    if robots.access is RobotsAccess.NOTHING:
        raise NothingCrawlable(f"nothing can be crawled on {origin}: {robots.reason}")
    return robots


@asynccontextmanager
async def _stop_on_signals(engine: CrawlEngine) -> AsyncIterator[None]:
    """SIGINT and SIGTERM stop the engine, which saves its state; a second signal ends the process at once.

    Only the main thread receives signals (https://docs.python.org/3/library/signal.html#signals-and-threads): in
    another thread, the caller cancels the visit.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    async def listen() -> None:
        with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
            listening.set()
            async for number in signals:
                if engine.stopping:
                    if sys.stderr.isatty():
                        os.write(2, b"\x1b[?25h\r\n")  # shows the cursor, which the live display hides
                    os._exit(128 + number)  # the committed state is consistent
                log.warning("stopping: the crawl saves its state; send the signal again to stop at once")
                engine.stop(FinishReason.INTERRUPTED)

    listening = anyio.Event()
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(listen)
            await listening.wait()
            yield
            tasks.cancel_scope.cancel()
    finally:  # anyio restores the default handlers, not these
        for number, handler in handlers.items():
            signal.signal(number, handler)


def with_counts(run: Run, visited: VisitResult, judged: Completeness) -> Run:
    """The record of a run with the completeness, and with this visit added to the earlier visits of the same run."""
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
