"""One visit of a site: the engine runs, with the parts of :mod:`.assembly`, until the crawl ends."""

import logging
import os
import signal
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from typing import Final

import anyio
from msgspec.structs import replace

from crawler.config.plan import CrawlPlan
from crawler.config.start import StartMoved, may_move, moved_start, plain_http
from crawler.crawl.assembly import (
    Clock,
    build_robots_cache,
    build_site_fetcher,
    build_throttle,
    build_worker,
    crawl_limits,
    fetch_options,
    known_public,
    may_render,
    not_found_checks,
    open_previous_visits,
    open_renderer,
    parser_options,
    seed_urls,
    with_open_files,
)
from crawler.crawl.engine import CrawlEngine, FinishReason, RejectStart, Tally, Watch
from crawler.crawl.frontier.sqlite import SqliteFrontier
from crawler.crawl.page_fetcher import PageFetcher, never_rendered
from crawler.crawl.repeated_challenges import keep_doubtful, mark_repeated, read_doubtful
from crawler.crawl.revalidation import EarlierCrawl
from crawler.crawl.second_reads import Rounds, SecondReads
from crawler.crawl.soft_404 import Soft404s
from crawler.errors import NothingCrawlable, SiteatlasError, StorageError
from crawler.fetch.address_policy import OriginTarget
from crawler.fetch.fetcher import Fetcher
from crawler.fetch.throttle import Throttle
from crawler.model import Outcome, State, Url
from crawler.parse.pool import ParsePool
from crawler.render.renderer import Renderer
from crawler.robots.cache import RobotsCache
from crawler.robots.rules import Robots, RobotsAccess
from crawler.state.runs import Completeness, Run
from crawler.state.store import Pause, PauseStore, Store
from crawler.units import span
from crawler.url.normalize import origin_of

log = logging.getLogger(__name__)
HasMore = Callable[[SqliteFrontier], bool]
"""Admits more URLs to a frontier in which nothing is left; False when there are no more."""

_SUSPECT_NOTE: Final = "{} was being fetched when Siteatlas died three times in a row, so it is fetched last, and alone"
MAX_MOVES: Final = 5  # of a start URL in one run
NO_HTTPS_CODES: Final = ("net.refused", "net.reset", "net.unreachable", "time.connect", "time.tls", "tls.protocol")


@dataclass(frozen=True, slots=True)
class VisitResult:
    """How a visit ended, its tally, and notes on robots.txt and on what was left out.

    ``trouble`` is the error that ended it, or "".
    ``set_up_hint`` names a page of the manual for what makes the site, or is "". ``sitemaps`` are the URLs that
    robots.txt names, None if that is not known.
    """

    ending: FinishReason
    tally: Tally
    notes: tuple[str, ...]
    set_up_hint: str = ""
    trouble: str = ""
    sitemaps: tuple[Url, ...] | None = None

    @property
    def stopped(self) -> str:
        """Why it ended with URLs left, as the end of a sentence; "" if none are."""
        return "" if self.ending is FinishReason.COMPLETE else ": ".join(filter(None, (self.ending, self.trouble)))


def _with_rendered(watch: Watch, renderer: Renderer | None) -> Watch:
    """The watch with the number of rendered pages in its tally."""

    def on_tick(tally: Tally) -> None:
        tally.rendered = renderer.tally.rendered if renderer else 0
        watch(tally)

    return on_tick


def _rejection(plan: CrawlPlan, reject: RejectStart | None, outcome: Outcome) -> SiteatlasError | None:
    """The error that ends a crawl because of its start URL. A refused login is not sent again: it may be locked."""
    if outcome.status == HTTPStatus.UNAUTHORIZED and plan.config.fetch.basic_auth:
        return NothingCrawlable(
            f"the start URL {outcome.lease.url} answered 401: the server refuses the login. Correct fetch.basic_auth "
            "(--basic-auth)"
        )
    return reject(outcome) if reject else None


async def visit(  # noqa: PLR0913 - three of them have a default
    plan: CrawlPlan,
    store: Store,
    frontier: SqliteFrontier,
    watch: Watch,
    more: HasMore,
    clock: Clock = time.time,
    earlier: EarlierCrawl | None = None,
    second_reads: Rounds | None = None,
    reject: RejectStart | None = None,
) -> VisitResult:
    """Crawl until nothing is left or something stops the crawl. URLs that ``earlier`` answers are not fetched.

    When nothing is left, ``more`` may admit more URLs, until it returns False. Then the pages of
    ``second_reads`` are fetched a second time, and pages that say that they do not exist become
    soft 404s. Raises NothingCrawlable when robots.txt allows nothing or the server refuses the login, the error of
    ``reject`` for the start URL, and StorageError.
    """
    plan, files_note = with_open_files(plan)
    async with AsyncExitStack() as stack:
        fetcher = await stack.enter_async_context(build_site_fetcher(plan, clock))
        throttle = build_throttle(plan, store)
        pauses = PauseStore(store.db)
        if parked := await _wait_out_pause(plan, pauses):
            return VisitResult(FinishReason.PARKED, Tally(), (), trouble=parked)
        pool = await stack.enter_async_context(_parse_pool(plan))
        robots_cache = build_robots_cache(plan, store, fetcher, pool, clock)
        robots = await _seed_robots(plan, store, fetcher, robots_cache, throttle, may_move=reject is not None)
        renderer = await stack.enter_async_context(open_renderer(plan, store, fetcher, robots_cache, throttle, pool))
        rules = robots_cache, throttle, open_previous_visits(plan, store), pauses, earlier, fetch_options(plan.config)
        page_fetcher = PageFetcher(fetcher, *rules, renderer.is_rendered if renderer else never_rendered)
        page_fetcher.doubtful = read_doubtful(store.db, store.run.number)
        worker = build_worker(plan, page_fetcher, pool, renderer, frontier, throttle.clock)

        def further() -> bool:
            return frontier.review_postponed() or more(frontier) or frontier.review_postponed()

        watch, judge = _with_rendered(watch, renderer), partial(_rejection, plan, reject)
        engine = CrawlEngine(frontier, worker, throttle, crawl_limits(plan.config), watch, further, judge)
        frontier.admit(seed_urls(plan, robots))
        suspect_notes = [_SUSPECT_NOTE.format(url) for url in frontier.crash_suspects()]
        for note in filter(None, [robots.trouble, *suspect_notes]):
            log.warning("%s", note)
        async with _stop_on_signals(engine):
            try:
                ending = await engine.run()
            finally:
                with suppress(StorageError):  # of which the caller hears already
                    frontier.land()
                    keep_doubtful(store.db, store.run.number, page_fetcher.doubtful)
            if ending is FinishReason.COMPLETE:
                mark_repeated(store.db, page_fetcher.doubtful)
                if second_reads:
                    await _read_again(SecondReads(page_fetcher, throttle, pool, renderer), store, second_reads, engine)
                search = Soft404s(page_fetcher, throttle, pool, plan.seed, renderer)
                await search.run(store.db, not_found_checks(plan), lambda: engine.stopping)
                frontier.reread()
                await robots_cache.ask_again([] if engine.stopping else [origin_of(plan.seed)])
    if engine.rejection:  # outside of the task groups, which would wrap it in a group
        raise engine.rejection
    moved = [f"the start URL {url} leads to {plan.seed}, so the crawl starts there" for url in plan.moved_from[:1]]
    robots_notes = (*robots.notes, *robots.delay_note(plan.config.obey.max_crawl_delay))
    render_notes = renderer.notes() if renderer else []
    notes = [*moved, *robots_notes, files_note, plan.scope.note, *render_notes, *frontier.notes, *suspect_notes]
    said, named = tuple(filter(None, notes)), robots.sitemaps if robots.is_known else None
    trouble = _why_parked(plan, pauses.left(time.time()).values()) if ending is FinishReason.PARKED else engine.trouble
    return VisitResult(ending, engine.tally, said, worker.set_up_hint, trouble, named)


def _why_parked(plan: CrawlPlan, pauses: Iterable[Pause]) -> str:
    """What is told of the longest of these pauses; "" if a run waits for all of them."""
    longest = max(pauses, default=Pause(0.0, ""))
    why = crawl_limits(plan.config).why_too_long(longest.seconds)
    return why and f"{longest.reason}, asking to wait {why}"


async def _read_again(again: SecondReads, store: Store, rounds: Rounds, engine: CrawlEngine) -> None:
    await again.run(store.db, store.run.number, rounds, lambda: engine.stopping)
    engine.tally.fetched += again.fetched
    engine.tally.bytes += again.bytes


def start_moved(plan: CrawlPlan, outcome: Outcome) -> StartMoved | None:
    """Where the first crawl of a site starts instead, because its start URL redirects to its own site."""
    target = outcome.verdict.target if outcome.verdict.state is State.REDIRECT else None
    moved = moved_start(plan.seed, target) if target and may_move(plan.config) else None
    if moved is None or moved in plan.moved_from or len(plan.moved_from) >= MAX_MOVES:
        return None
    return StartMoved(plan.seed, moved, f"redirects to {target}")


async def check_reachable(plan: CrawlPlan, store: Store, clock: Clock = time.time) -> None:
    """Check early whether the site can be crawled at all. Raises NothingCrawlable, StorageError."""
    if await _wait_out_pause(plan, PauseStore(store.db)):
        return  # the visit ends for the same reason
    async with build_site_fetcher(plan, clock) as fetcher, ParsePool(1, parser_options(plan)) as pool:
        robots_cache = build_robots_cache(plan, store, fetcher, pool, clock)
        await _seed_robots(plan, store, fetcher, robots_cache, build_throttle(plan), may_move=False)


async def _wait_out_pause(plan: CrawlPlan, pauses: PauseStore) -> str:
    """Wait until the pause is over that the site requested in an earlier run; what is told when that is too long."""
    origin = origin_of(plan.seed)
    pause = pauses.left(time.time()).get(origin)
    if pause is None:
        return ""
    if why := _why_parked(plan, [pause]):
        return f"in an earlier run, it {why}"
    wait = span(max(1.0, pause.seconds))
    log.warning("%s requested a pause in an earlier run; Siteatlas waits for %s", origin, wait)
    await anyio.sleep(pause.seconds)
    return ""


def _parse_pool(plan: CrawlPlan) -> ParsePool:
    return ParsePool(plan.processes, parser_options(plan, with_places=may_render(plan.config)))


async def _seed_robots(
    plan: CrawlPlan, store: Store, fetcher: Fetcher, robots_cache: RobotsCache, throttle: Throttle, *, may_move: bool
) -> Robots:
    """The robots.txt of the start URL. Records whether its address is public. Raises NothingCrawlable."""
    origin = origin_of(plan.seed)
    robots = await robots_cache.get(origin)
    throttle.set_crawl_delay(origin, robots.crawl_delay(plan.config.obey.max_crawl_delay) or 0.0)
    source = plan.source.secret_origin if plan.source else origin
    place = OriginTarget.of(source).host_port
    if addresses := fetcher.became_private(source):
        raise NothingCrawlable(
            f"{place} had a public address in an earlier run and now has the private address {addresses}, so "
            "Siteatlas did not connect. Correct the DNS records of the host. If the private address is intended, "
            f"add --resolve {place}:{addresses.partition(', ')[0]}"
        )
    store.record_public(known_public(plan) | fetcher.public_hosts & {place})
    if robots.access is RobotsAccess.NOTHING:
        if may_move and plan.is_guessed and robots.failure_code.startswith(NO_HTTPS_CODES):
            raise StartMoved(plan.seed, plain_http(plan.seed), "accepts no https connection")
        leads = f"the start URL {plan.moved_from[0]} leads to {plan.seed}, but " if plan.moved_from else ""
        raise NothingCrawlable(f"{leads}nothing can be crawled on {origin}: {robots.reason}")
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
    return replace(with_tally(run, visited.tally), completeness=judged.kind.value, reason=judged.reason)


def with_tally(run: Run, tally: Tally) -> Run:
    """The record of a run with what one visit counted added."""
    return replace(
        run,
        fetched=run.fetched + tally.fetched,
        unchanged=run.unchanged + tally.unchanged,
        bytes=run.bytes + tally.bytes,
        seconds=run.seconds + tally.seconds,
    )
