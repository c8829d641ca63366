"""One audit from its plan to its report: the composition root.

::

    check | store | gather sources | base crawl | visit by links, then what only the sources know | conclude | report
"""

import sqlite3
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import anyio
from msgspec import structs

from crawler.audit import collect
from crawler.audit.base_crawl import BaseCrawl, base_crawl, begin_settings
from crawler.audit.compare.compare import AuditComparison
from crawler.audit.conclude import AuditFinisher
from crawler.audit.evidence.entries import PublishedEntries
from crawler.audit.evidence.store import AUDIT_FILE, FindingStore, create_audit_file
from crawler.audit.evidence.url_matching import UrlMatcher
from crawler.audit.evidence.visits import VisitLookup
from crawler.audit.finding import AuditFindings, AuditReport
from crawler.audit.host_aliases import MAX_ALIAS_URLS, check_host_aliases
from crawler.audit.media import CheckedMedia, check_media
from crawler.audit.second_crawl import StartUrlCheck, UncrawledUrlQueue
from crawler.audit.summary import summarize
from crawler.config import fetcher as fetching
from crawler.config.deprecated import KEYS
from crawler.config.plan import CrawlPlan
from crawler.crawl.engine import RunEnd, Watch
from crawler.crawl.frontier.sqlite import SqliteFrontier
from crawler.crawl.visit import Clock, VisitResult, build_robots_cache, check_reachable, open_frontier, visit
from crawler.errors import NothingCrawlable, StorageError, single_error
from crawler.state.migrations import STATE_DB
from crawler.state.store import Resume, Store
from crawler.url.normalize import origin_of
from crawler.url.scope import alias_origins

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ProgressWatchers:
    """Who is told how far things are: the crawl, the reading of sources, and which part of the audit has begun."""

    on_crawl: Watch
    on_sources: collect.OnSourceProgress
    on_stage: Callable[[str], object] = lambda _: None


@contextmanager
def audit(
    plan: CrawlPlan,
    watches: ProgressWatchers,
    *,
    begin: Resume = Resume.ALWAYS,
    loop: dict[str, Any] | None = None,
    clock: Clock = time.time,
    write: Callable[[AuditReport, AuditFindings], object] = lambda _report, _findings: None,
) -> Iterator[tuple[AuditReport, AuditFindings]]:
    """Audit a site; the findings can be asked for while the context lasts.

    ``write`` writes its reports: an audit that they are written of is remembered, whoever stops listening to it then.
    ``loop`` are the options of the event loop (https://anyio.readthedocs.io/en/stable/basics.html), ``clock`` gives
    Unix time. Raises a SiteatlasError when nothing could be done; a crawl that was cut short is told by the report.
    """
    begun = clock()
    collect.check_sources(plan)
    with Store(
        plan.state, begin_settings(plan), begin=begin, about=plan.about, now=clock(), renamed=KEYS
    ) as store:
        db = create_audit_file(store.directory / AUDIT_FILE, store.directory / STATE_DB.file)
        comparing = AuditComparison(db, store.directory, plan, is_fresh=begin is Resume.FRESH)
        try:
            with _record_failure_on_error(store, clock):
                if plan.config.audit.logs:  # they take long, and would be read for nothing
                    _run_in_loop(lambda: check_reachable(plan, store, clock), loop)
                gathered = collect.collect_sources(plan, db, watches.on_sources, store.run.started)
                wave = UncrawledUrlQueue(
                    UrlMatcher(db), plan.config.audit.max_unlinked, plan.config.audit.min_visits
                )
                with base_crawl(plan, store, begin, clock()) as base:
                    visited, media = _run_in_loop(
                        lambda: _visit_all(plan, store, db, wave, watches, clock, base), loop
                    )
            notes = [*gathered.notes, *wave.notes(), *media.notes]
            watches.on_stage("judging")
            report = AuditFinisher(plan, store, db).finish(visited, gathered.lint, media, notes, wave.skipped)
            report = structs.replace(
                comparing.compare(report, media),
                seconds=clock() - begun,
                crawl=base.reported(store, report.seconds),
            )
            watches.on_stage("writing reports")
            found = FindingStore(db)
            write(report, found)
            try:
                if visited.ending is RunEnd.COMPLETE:
                    comparing.store(report, summarize(report, store.run.number, found))
            except StorageError as error:  # hours of work are told all the same
                yield report, found
                raise error from None
            yield report, found
        finally:
            db.close()


@contextmanager
def _record_failure_on_error(store: Store, clock: Clock) -> Iterator[None]:
    """An audit that comes to nothing is remembered as such."""
    try:
        yield
    except NothingCrawlable as error:
        store.record_failure(error, clock())
        raise


def _run_in_loop(part: Callable[[], Coroutine[Any, Any, T]], loop: dict[str, Any] | None) -> T:
    try:
        return anyio.run(part, backend_options=loop)
    except BaseExceptionGroup as group:
        raise single_error(group) from None


async def _visit_all(  # noqa: PLR0913 - what it looks at, and with what
    plan: CrawlPlan,
    store: Store,
    db: sqlite3.Connection,
    wave: UncrawledUrlQueue,
    watches: ProgressWatchers,
    clock: Clock,
    base: BaseCrawl,
) -> tuple[VisitResult, CheckedMedia]:
    """Visit the site, then what only the sources know of it, then what else its sitemaps list: other names, media."""

    def more(frontier: SqliteFrontier) -> bool:
        watches.on_stage("asking what only sources know")
        frontier.commit()  # what is not committed the other connection does not see
        return not StartUrlCheck(db, plan.seed).other_site and wave.admit_next(frontier)

    def asking(done: int, of: int) -> None:
        watches.on_stage(f"asking for images and videos, {done:,} of {of:,}")

    run = base.basis.run
    watches.on_stage("crawling" if run is None else f"reading the crawl of run {run}")
    visited = await visit(
        plan, store, open_frontier(plan, store), watches.on_crawl, more, clock, base.answers
    )
    if visited.ending is not RunEnd.COMPLETE:
        return visited, CheckedMedia(0, [], [])
    visits, beside = VisitLookup(db), alias_origins(plan.seed)
    listed = PublishedEntries(db, visits, plan.params)
    async with fetching.build_fetcher(
        plan.config, [origin_of(plan.seed), *beside], clock, plan.source
    ) as fetcher:
        rules = build_robots_cache(plan, store, fetcher, clock)
        others = dict.fromkeys(
            [*listed.alias_urls(MAX_ALIAS_URLS), *visits.behind_aliases(beside, MAX_ALIAS_URLS)]
        )
        if others:
            watches.on_stage("asking for what stands under other names of the site")
            listed.store_alias_results(await check_host_aliases(plan, fetcher, rules, others, clock))
        return visited, await check_media(plan.config, fetcher, rules, listed.media(), clock, asking)
