"""Builds the parts of a crawl from its plan: what fetches, parses, judges and stores, and their limits."""

import dataclasses
import hashlib
import os
import resource
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import msgspec

from crawler.config.config import Config
from crawler.config.fetcher import build_fetcher
from crawler.config.plan import CrawlPlan
from crawler.crawl.engine import CrawlLimits
from crawler.crawl.frontier.sqlite import SqliteFrontier
from crawler.crawl.indexability import IndexabilityJudge
from crawler.crawl.outcome import OutcomeBuilder, OutcomeOptions
from crawler.crawl.page_fetcher import FetchOptions, PageFetcher
from crawler.crawl.revalidation import PreviousVisits
from crawler.crawl.worker import PageParser, PageWorker
from crawler.errors import UsageError
from crawler.fetch.fetcher import Fetcher
from crawler.fetch.limits import BodyLimits
from crawler.fetch.paced_fetcher import steady_clock
from crawler.fetch.permits import run_permits
from crawler.fetch.retry import RetryPolicy
from crawler.fetch.throttle import Throttle, ThrottleOptions
from crawler.model import DiscoveredBy, DiscoveredUrl, DocumentKind, Verdict
from crawler.packages import install_command, missing_packages
from crawler.parse.html.page import ReadOptions
from crawler.parse.pool import ParsePool
from crawler.parse.protocol import ParserOptions
from crawler.render.document import NO_SANDBOX_REMEDY, BrowserOptions, RenderLimits
from crawler.render.renderer import Renderer, RenderOptions, known_templates
from crawler.render.resources import ResourceOptions, ResourceRoad
from crawler.render.templates import TemplateRecord, Templates
from crawler.robots.cache import RobotsCache, RobotsStore
from crawler.robots.rules import Robots, product_token
from crawler.state.store import PauseStore, Store, public_hosts
from crawler.units import count_text
from crawler.url.normalize import normalize_url, origin_of
from crawler.url.scope import compile_patterns
from crawler.version import __version__

Clock = Callable[[], float]
"""Gives Unix time: that of a run, and of the answers that are dated by it."""

OWN_FILES: Final = 24  # that a run opens: state, journals, output, event loop, the server's name
FILES_PER_PROCESS: Final = 6  # pipes of a parser process, most while it starts
SPARE_LEASES: Final = 4  # for each parser process, beyond the requests in flight: keeps it busy


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


def parser_options(plan: CrawlPlan, *, with_places: bool = False) -> ParserOptions:
    """The options of the parser processes. ``with_places``: they also find the empty places, for a renderer."""
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
    return ParserOptions(options, plan.params, parse.timeout, parse.memory, parse.max_link_bytes, with_places)


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


def with_open_files(plan: CrawlPlan) -> tuple[CrawlPlan, str]:
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
    """The pace of the plan, with the pauses in the ``store``. Of a resumed run, it knows whether a page responded."""
    pace = plan.config.pace
    folder = origin_of(plan.seed) if plan.is_of_folder else ""
    options = ThrottleOptions(pace.concurrency, pace.rate, pace.delay)
    throttle = Throttle(options, plan.processes * SPARE_LEASES, steady_clock(), folder, run_permits())
    for origin, pause in PauseStore(store.db).left(time.time()).items() if store else ():
        throttle.pause(origin, throttle.clock(), pause.seconds)
    if store and store.resumed and store.db.execute(_HAS_PAGE, (DocumentKind.PAGE,)).fetchone()[0]:
        throttle.note_page()
    return throttle


def crawl_limits(config: Config) -> CrawlLimits:
    """What ends a crawl before its last page."""
    scope, pace = config.scope, config.pace
    return CrawlLimits(
        scope.max_pages, scope.max_time, pace.max_retry_after, pace.max_error_time, config.state.max_size
    )


def build_worker(
    plan: CrawlPlan,
    fetcher: PageFetcher,
    pool: ParsePool,
    renderer: Renderer | None,
    frontier: SqliteFrontier,
    clock: Clock,
) -> PageWorker:
    """What takes each URL of a frontier from its request to its outcome."""
    config = plan.config
    options = OutcomeOptions(config.fetch.max_redirects, config.obey.nofollow, config.scope.sitemap_seeds)
    return PageWorker(
        fetcher,
        PageParser(pool, parser_options(plan), renderer),
        OutcomeBuilder(build_judge(plan), frontier, options),
        RetryPolicy(0 if plan.is_of_folder else config.fetch.retries, longest_asked=config.pace.max_retry_after),
        config.output.keep_failed,
        clock,
    )


def may_render(config: Config) -> bool:
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


def not_found_checks(plan: CrawlPlan) -> int:
    """The names that cannot exist that may be requested; none of a folder."""
    return 0 if plan.is_of_folder else plan.config.fetch.not_found_checks


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
async def open_renderer(
    plan: CrawlPlan, store: Store, fetcher: Fetcher, robots: RobotsCache, throttle: Throttle, pool: ParsePool
) -> AsyncIterator[Renderer | None]:
    """The renderer of a visit, None when no page may be rendered. Keeps its decisions for the next run.

    Raises UsageError when pages must be rendered and cannot be, StorageError.
    """
    is_always = plan.config.render.mode == "always"
    if not may_render(plan.config):
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


def open_previous_visits(plan: CrawlPlan, store: Store) -> PreviousVisits:
    """What earlier runs know of each page: its validators and its content."""
    refetch_every = plan.config.fetch.refetch_every
    return PreviousVisits(store.db, store.run.number, parse_settings_key(plan), source_key(plan), refetch_every)


def build_site_fetcher(plan: CrawlPlan, clock: Clock) -> Fetcher:
    """The fetcher of a visit, which may connect where the plan and the state allow it."""
    return build_fetcher(plan.config, plan.named_origins, clock, plan.source, known_public(plan))


def known_public(plan: CrawlPlan) -> frozenset[str]:
    """The ``host:port`` that had a public address in an earlier run or, for an audit, in a run or an audit."""
    return public_hosts(plan.state) | public_hosts(plan.state.parent)
