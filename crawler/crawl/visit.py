"""One visit of a site: builds the parts of the crawl from its plan, and runs the engine until the crawl ends."""

import dataclasses
import hashlib
import logging
import os
import resource
import signal
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import anyio
import msgspec
from msgspec.structs import replace

from crawler.config.config import Config
from crawler.config.fetcher import build_fetcher
from crawler.config.plan import CrawlPlan
from crawler.config.start import StartMoved, may_move, moved_start, plain_http
from crawler.crawl.engine import CrawlEngine, CrawlLimits, FinishReason, RejectStart, Tally, Watch
from crawler.crawl.frontier.sqlite import SqliteFrontier
from crawler.crawl.indexability import IndexabilityJudge
from crawler.crawl.outcome import OutcomeBuilder, OutcomeOptions
from crawler.crawl.page_fetcher import FetchOptions, PageFetcher, never_rendered
from crawler.crawl.repeated_challenges import keep_doubtful, mark_repeated, read_doubtful
from crawler.crawl.revalidation import EarlierCrawl, PreviousVisits
from crawler.crawl.second_reads import Rounds, SecondReads
from crawler.crawl.soft_404 import Soft404s
from crawler.crawl.worker import PageParser, PageWorker
from crawler.errors import NothingCrawlable, SiteatlasError, StorageError, UsageError
from crawler.fetch.address_policy import OriginTarget
from crawler.fetch.fetcher import Fetcher
from crawler.fetch.limits import BodyLimits
from crawler.fetch.paced_fetcher import steady_clock
from crawler.fetch.permits import run_permits
from crawler.fetch.retry import RetryPolicy
from crawler.fetch.throttle import Throttle, ThrottleOptions
from crawler.model import DiscoveredBy, DiscoveredUrl, DocumentKind, Outcome, State, Verdict
from crawler.packages import install_command, missing_packages
from crawler.parse.html.page import ReadOptions
from crawler.parse.pool import ParsePool
from crawler.parse.protocol import ParserOptions
from crawler.render.document import NO_SANDBOX_REMEDY, BrowserOptions, RenderLimits
from crawler.render.renderer import Renderer, RenderOptions, known_templates
from crawler.render.resources import ResourceOptions, ResourceRoad
from crawler.render.templates import TemplateRecord, Templates
from crawler.robots.cache import RobotsCache, RobotsStore
from crawler.robots.rules import Robots, RobotsAccess, product_token
from crawler.state.runs import Completeness, Run
from crawler.state.store import PauseStore, Store, public_hosts
from crawler.units import count_text, span
from crawler.url.normalize import normalize_url, origin_of
from crawler.url.scope import compile_patterns
from crawler.version import __version__

log = logging.getLogger(__name__)
Clock = Callable[[], float]
"""Gives Unix time: that of a run, and of the answers that are dated by it."""

HasMore = Callable[[SqliteFrontier], bool]
"""Admits more URLs to a frontier in which nothing is left; False when there are no more."""

OWN_FILES: Final = 24  # that a run opens: state, journals, output, event loop, the server's name
FILES_PER_PROCESS: Final = 6  # pipes of a parser process, most while it starts
_SUSPECT_NOTE: Final = "{} was being fetched when Siteatlas died three times in a row, so it is fetched last, and alone"
MAX_MOVES: Final = 5  # of a start URL in one run
NO_HTTPS_CODES: Final = ("net.refused", "net.reset", "net.unreachable", "time.connect", "time.tls", "tls.protocol")
SPARE_LEASES: Final = 4  # for each parser process, beyond the requests in flight: keeps it busy


@dataclass(frozen=True, slots=True)
class VisitResult:
    """How a visit ended, its tally, and notes on robots.txt and on what was left out.

    ``trouble`` is the error that ended it, or "".
    ``set_up_hint`` names a page of the manual for what makes the site, or is "".
    """

    ending: FinishReason
    tally: Tally
    notes: tuple[str, ...]
    set_up_hint: str = ""
    trouble: str = ""

    @property
    def stopped(self) -> str:
        """Why it ended with URLs left, as the end of a sentence; "" if none are."""
        return "" if self.ending is FinishReason.COMPLETE else ": ".join(filter(None, (self.ending, self.trouble)))


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
    """What the answers depend on: the server, and the headers, cookies and login that requests have, by their names.

    Validators hold for one server and one kind of request.
    """
    requests = plan.about["requests"]
    return "" if requests == "{}" else requests


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
    return IndexabilityJudge(plan.scope, plan.params, obey.noindex, obey.canonical, obey.engine_noindex)


def fetch_options(config: Config) -> FetchOptions:
    """The limits of the fetch step."""
    fetch = config.fetch
    return FetchOptions(
        BodyLimits(wire=fetch.max_download, decoded=fetch.max_body, pages_only=True),
        BodyLimits(wire=fetch.max_sitemap, decoded=fetch.max_sitemap),
        config.obey.max_crawl_delay,
        config.output.keep_failed,
    )


def parser_options(plan: CrawlPlan) -> ParserOptions:
    """The options of the parser processes."""
    content, parse = plan.config.content, plan.config.parse
    options = ReadOptions(
        images=content.images,
        videos=content.videos,
        alternates=content.alternates,
        dates=content.lastmod in ("observed", "page", "git", "plugin"),
        max_links=parse.max_links,
        token=product_token(plan.config.fetch.user_agent),
        sitemap_dates=plan.config.fetch.recheck_within is not None,
    )
    return ParserOptions(options, plan.params, parse.timeout, parse.memory, parse.max_link_bytes)


def build_robots_cache(plan: CrawlPlan, store: Store, fetcher: Fetcher, pool: ParsePool, clock: Clock) -> RobotsCache:
    """The robots.txt of every origin, obeyed as the plan says, with the copies in the state."""
    obey, kept = plan.config.obey.robots, RobotsStore(store.db)
    return RobotsCache(fetcher, pool.read_robots, obey=obey, kept=kept, params=plan.params, clock=clock)


def open_frontier(plan: CrawlPlan, store: Store) -> SqliteFrontier:
    """The frontier of the run, which admits what the scope admits."""
    scope = plan.scope

    def admit(find: DiscoveredUrl) -> Verdict | None:
        return scope.admit(find.url, find.depth, find.found, find.kind)

    section = plan.config.scope
    frontier = SqliteFrontier(
        store.db,
        admit,
        by_level=section.max_depth is not None,
        run=store.run.number,
        reading=parse_settings_key(plan),
        patience=section.trap_limit,
    )
    if scope.is_widened:
        scope.count_hosts(frontier.found_origins())
    return frontier


def _with_open_files(plan: CrawlPlan) -> tuple[CrawlPlan, str]:
    """The plan with as many requests in flight as the limit of open files allows, and a note when these are fewer.

    Raises the limit of the process first (https://docs.python.org/3/library/resource.html#resource.RLIMIT_NOFILE).
    Raises UsageError when not even one request fits.
    """
    wanted, processes = plan.config.pace.concurrency, plan.processes
    least = sum(1 for _ in Path("/dev/fd").iterdir()) + OWN_FILES
    own = least + processes * FILES_PER_PROCESS
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if resource.RLIM_INFINITY != soft < own + wanted:
        limit = own + wanted if hard == resource.RLIM_INFINITY else min(own + wanted, hard)
        with suppress(OSError, ValueError):  # the kernel may allow fewer than the hard limit
            resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, limit), hard))
        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= own + wanted:
        return plan, ""
    if soft <= own:
        processes, own = 1, least + FILES_PER_PROCESS
    if soft <= own:
        raise UsageError(
            f"this process may open only {soft} files at the same time, but a crawl needs {own + 1}. Raise the "
            f"limit, for example with ulimit -n {own + wanted}"
        )
    concurrency = min(wanted, soft - own)
    note = (
        f"this process may open only {soft} files at the same time (ulimit -n), so Siteatlas sends at most "
        f"{count_text(concurrency, 'request')} at the same time, not {wanted} (-c)"
    )
    pace = plan.config.pace.model_copy(update={"concurrency": concurrency})
    parse = plan.config.parse.model_copy(update={"processes": processes})
    return dataclasses.replace(plan, config=plan.config.model_copy(update={"pace": pace, "parse": parse})), note


_HAS_PAGE: Final = "SELECT EXISTS (SELECT 1 FROM visit WHERE kind = ? AND status < 500)"


def build_throttle(plan: CrawlPlan, store: Store | None = None) -> Throttle:
    """The pace of the plan. Of a resumed run, the ``store`` knows whether a page responded."""
    pace = plan.config.pace
    folder = origin_of(plan.seed) if plan.source and plan.source.folder else ""
    options = ThrottleOptions(pace.concurrency, pace.rate, pace.delay)
    throttle = Throttle(options, plan.processes * SPARE_LEASES, steady_clock(), folder, run_permits())
    if store and store.resumed and store.db.execute(_HAS_PAGE, (DocumentKind.PAGE,)).fetchone()[0]:
        throttle.note_page()
    return throttle


def _limits(config: Config) -> CrawlLimits:
    scope, pace = config.scope, config.pace
    return CrawlLimits(
        scope.max_pages, scope.max_time, pace.max_retry_after, pace.max_error_time, config.state.max_size
    )


def _worker(
    plan: CrawlPlan, fetcher: PageFetcher, parser: PageParser, frontier: SqliteFrontier, clock: Clock
) -> PageWorker:
    config = plan.config
    options = OutcomeOptions(config.fetch.max_redirects, config.obey.nofollow, config.scope.sitemap_seeds)
    return PageWorker(
        fetcher,
        parser,
        OutcomeBuilder(build_judge(plan), frontier, options),
        RetryPolicy(config.fetch.retries, longest_asked=config.pace.max_retry_after),
        config.output.keep_failed,
        clock,
    )


def _may_render(config: Config) -> bool:
    """Whether pages may be rendered: as the configuration says, if the extra is installed."""
    return config.render.mode != "never" and find_spec("playwright") is not None


def render_remedy(config: Config) -> str:
    """What to do so that the scripts are run that a visit did not run, in a sentence without a full stop."""
    if config.render.mode == "never":
        return "Audit without --render never"
    if not find_spec("playwright"):
        return f"Run {install_command('render')}, install Chromium, and audit again"
    if config.render.sandbox and os.geteuid() == 0:
        return NO_SANDBOX_REMEDY
    return "Run siteatlas why URL --render to see why Chromium did not run it, and audit again"


def _not_found_checks(plan: CrawlPlan) -> int:
    """The names that cannot exist that may be requested; none of a folder, which has no server that responds."""
    return 0 if plan.source and plan.source.folder else plan.config.fetch.not_found_checks


def build_renderer(
    plan: CrawlPlan,
    fetcher: Fetcher,
    robots: RobotsCache,
    throttle: Throttle,
    pool: ParsePool,
    known: Mapping[str, TemplateRecord],
) -> Renderer:
    """The renderer of a plan, with the decisions of earlier runs on templates."""
    config, render = plan.config, plan.config.render
    body = BodyLimits(wire=render.max_resource, decoded=2 * render.max_resource)
    resources = ResourceOptions(
        posts=compile_patterns("render.post", render.post),
        max_requests=render.max_requests,
        body=body,
        cache=render.cache,
    )
    road = ResourceRoad(fetcher, robots, throttle, resources)
    browser = BrowserOptions(render.browser, render.sandbox, render.memory, render.max_pages, config.fetch.user_agent)
    limits = RenderLimits(render.timeout, config.fetch.max_body)
    options = RenderOptions(render.mode == "always", render.concurrency, render.deadline, limits, browser)
    return Renderer(road, pool, Templates(known, render.max_failures), options)


@asynccontextmanager
async def _rendering(
    plan: CrawlPlan, store: Store, fetcher: Fetcher, robots: RobotsCache, throttle: Throttle, pool: ParsePool
) -> AsyncIterator[Renderer | None]:
    """The renderer of a visit, None when no page may be rendered. Keeps its decisions for the next run.

    Raises UsageError when pages must be rendered and cannot be, StorageError.
    """
    is_always = plan.config.render.mode == "always"
    if not _may_render(plan.config):
        if is_always:
            raise missing_packages("--render always", "render")
        yield None
        return
    renderer = build_renderer(plan, fetcher, robots, throttle, pool, known_templates(store.db))
    try:
        if is_always:
            await renderer.open()
        yield renderer
        renderer.store(store.db)
    finally:
        await renderer.close()


def _with_rendered(watch: Watch, renderer: Renderer | None) -> Watch:
    """The watch with the number of rendered pages in its tally."""

    def on_tick(tally: Tally) -> None:
        tally.rendered = renderer.tally.rendered if renderer else 0
        watch(tally)

    return on_tick


def _previous_visits(plan: CrawlPlan, store: Store) -> PreviousVisits:
    refetch_every = plan.config.fetch.refetch_every
    return PreviousVisits(store.db, store.run.number, parse_settings_key(plan), source_key(plan), refetch_every)


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
    plan, files_note = _with_open_files(plan)
    async with AsyncExitStack() as stack:
        fetcher = await stack.enter_async_context(build_site_fetcher(plan, clock))
        throttle = build_throttle(plan, store)
        pauses = PauseStore(store.db)
        for origin, seconds in pauses.left(time.time()).items():
            throttle.pause(origin, throttle.clock(), seconds)
        if parked := await _wait_out_pause(plan, pauses):
            return VisitResult(parked, Tally(), ())
        pool = await stack.enter_async_context(ParsePool(plan.processes, parser_options(plan)))
        robots_cache = build_robots_cache(plan, store, fetcher, pool, clock)
        robots = await _seed_robots(plan, store, fetcher, robots_cache, throttle, may_move=reject is not None)
        renderer = await stack.enter_async_context(_rendering(plan, store, fetcher, robots_cache, throttle, pool))
        rules = robots_cache, throttle, _previous_visits(plan, store), pauses, earlier, fetch_options(plan.config)
        page_fetcher = PageFetcher(fetcher, *rules, renderer.is_rendered if renderer else never_rendered)
        page_fetcher.doubtful = read_doubtful(store.db, store.run.number)
        worker = _worker(plan, page_fetcher, PageParser(pool, parser_options(plan), renderer), frontier, throttle.clock)

        def further() -> bool:
            return frontier.review_postponed() or more(frontier) or frontier.review_postponed()

        watch, judge = _with_rendered(watch, renderer), partial(_rejection, plan, reject)
        engine = CrawlEngine(frontier, worker, throttle, _limits(plan.config), watch, further, judge)
        frontier.admit(seed_urls(plan, robots))
        suspect_notes = [_SUSPECT_NOTE.format(url) for url in frontier.crash_suspects()]
        for note in filter(None, [robots.trouble, *suspect_notes]):
            log.warning("%s: %s", plan.seed, note)
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
                    again = SecondReads(page_fetcher, throttle, pool, renderer)
                    await _read_again(again, store, second_reads, engine)
                search = Soft404s(page_fetcher, throttle, pool, plan.seed, renderer)
                await search.run(store.db, _not_found_checks(plan), lambda: engine.stopping)
                frontier.reread()
    if engine.rejection:  # outside of the task groups, which would wrap it in a group
        raise engine.rejection
    moved = [f"the start URL {url} leads to {plan.seed}, so the crawl starts there" for url in plan.moved_from[:1]]
    robots_notes = (*robots.notes, *robots.delay_note(plan.config.obey.max_crawl_delay))
    render_notes = renderer.notes() if renderer else []
    notes = [*moved, *robots_notes, files_note, plan.scope.note, *render_notes, *frontier.notes, *suspect_notes]
    return VisitResult(ending, engine.tally, tuple(filter(None, notes)), worker.set_up_hint, engine.trouble)


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


async def _wait_out_pause(plan: CrawlPlan, pauses: PauseStore) -> FinishReason | None:
    """Wait until the pause is over that the site requested in an earlier run; the reason when that is too long."""
    origin, limits = origin_of(plan.seed), _limits(plan.config)
    seconds = pauses.left(time.time()).get(origin, 0.0)
    if seconds > limits.max_retry_after:
        return FinishReason.PARKED
    if seconds > limits.max_error_time:
        return FinishReason.TROUBLED
    if seconds:
        log.warning("%s requested a pause in an earlier run; Siteatlas waits for %s", origin, span(max(1.0, seconds)))
        await anyio.sleep(seconds)
    return None


def build_site_fetcher(plan: CrawlPlan, clock: Clock) -> Fetcher:
    """The fetcher of a visit, which may connect where the plan and the state allow it."""
    return build_fetcher(plan.config, plan.named_origins, clock, plan.source, known_public(plan))


def known_public(plan: CrawlPlan) -> frozenset[str]:
    """The ``host:port`` that had a public address in an earlier run or, for an audit, in a run or an audit."""
    return public_hosts(plan.state) | public_hosts(plan.state.parent)


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
