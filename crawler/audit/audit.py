"""Runs one audit from its plan to its report: the composition root.

::

    check | collect sources | base crawl | follow links | fetch URLs that only sources know | finish | report
"""

import sqlite3
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import anyio
from msgspec import structs

from crawler.audit import collect
from crawler.audit.accepted import Acceptances, acceptance_notes, read_acceptances
from crawler.audit.actions import rank_actions
from crawler.audit.base_crawl import BaseCrawl, base_crawl, begin_settings
from crawler.audit.compare.compare import AuditComparison
from crawler.audit.conclude import AuditFinisher, RecordHistory
from crawler.audit.evidence.entries import PublishedEntries
from crawler.audit.evidence.review import ClaimReview
from crawler.audit.evidence.store import AUDIT_FILE, FindingStore, create_audit_file
from crawler.audit.evidence.url_matching import UrlMatcher
from crawler.audit.evidence.visits import VisitLookup
from crawler.audit.finding import AuditFinding, AuditFindings, AuditReport
from crawler.audit.graph.changing_links import BoxReads
from crawler.audit.host_aliases import MAX_ALIAS_URLS, check_duplicate_origins, check_host_aliases
from crawler.audit.media import CheckedMedia, check_media
from crawler.audit.not_asked import AskableUrls
from crawler.audit.patterns import Segments, count_findings
from crawler.audit.rules import OWN
from crawler.audit.second_crawl import StartUrlCheck, UncrawledUrlQueue
from crawler.audit.shown import ShownPages
from crawler.audit.summary import AuditSummary, audit_point, summarize
from crawler.audit.targets import CheckedTargets, TargetCheck
from crawler.config import fetcher as fetching
from crawler.config.plan import CrawlPlan
from crawler.crawl.assembly import Clock, build_robots_cache, known_public, open_frontier, parser_options
from crawler.crawl.engine import FinishReason, Watch
from crawler.crawl.frontier.sqlite import SqliteFrontier
from crawler.crawl.visit import VisitResult, check_reachable, visit
from crawler.errors import NothingCrawlable, StorageError, single_error
from crawler.parse.pool import ParsePool
from crawler.state.schema import STATE_DB
from crawler.state.store import Resume, Store
from crawler.url.normalize import origin_of
from crawler.url.scope import alias_origins

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ProgressWatchers:
    """The callbacks for progress: of the crawl, of the reading of sources, and at the start of each stage."""

    on_crawl: Watch
    on_sources: collect.OnSourceProgress
    on_stage: Callable[[str], object] = lambda _: None


class OwnJudgement(NamedTuple):
    """The findings by the rules of a configuration, and by id why a rule could not be checked."""

    findings: list[AuditFinding]
    unchecked: dict[str, str]


JudgeOwn = Callable[[Path], OwnJudgement]
"""Judges the state of a finished audit by the rules of its configuration."""


class AuditResult(NamedTuple):
    """The report of an audit, and its findings, which can be read while the context of the audit lasts."""

    report: AuditReport
    findings: AuditFindings


@contextmanager
def audit(  # noqa: PLR0913 - what to audit, and who hears of it
    plan: CrawlPlan,
    watches: ProgressWatchers,
    *,
    begin: Resume = Resume.ALWAYS,
    loop: dict[str, Any] | None = None,
    clock: Clock = time.time,
    write: Callable[[AuditReport, AuditFindings], object] = lambda _report, _findings: None,
    own: JudgeOwn | None = None,
    record: RecordHistory = lambda _db, _run, _keep: None,
) -> Iterator[AuditResult]:
    """Audit a site; the findings can be read while the context lasts.

    ``own`` judges by the rules of the configuration, and ``record`` records what the crawl of the audit changed.
    ``write`` writes the reports. The audit is stored after that, and before the context begins. ``loop`` are the
    options of the event loop (https://anyio.readthedocs.io/en/stable/basics.html), ``clock`` gives Unix time.
    Raises a SiteatlasError when the audit has no result; the report says when the crawl was cut short.
    """
    start = clock()
    collect.check_sources(plan)
    segments = Segments(plan.config.audit.segments)
    acceptances = read_acceptances(plan.config.audit.accepted)
    with Store(plan.state, begin_settings(plan), begin=begin, about=plan.about, now=clock()) as store:
        db = create_audit_file(store.directory / AUDIT_FILE, store.directory / STATE_DB.file)
        comparison = AuditComparison(db, store.directory, plan, is_fresh=begin is Resume.FRESH)
        try:
            try:
                if plan.config.audit.logs:  # reading logs takes long: first see that the site answers
                    _run_in_loop(lambda: check_reachable(plan, store, clock), loop)
                sources = collect.collect_sources(plan, db, watches.on_sources, store.run.started)
                askable = AskableUrls(db, ask_all=plan.config.scope.ask_all)
                limits = plan.config.audit.max_unlinked, plan.config.audit.min_visits
                queue = UncrawledUrlQueue(UrlMatcher(db), ClaimReview(db), askable, *limits)
                with base_crawl(plan, store, begin, clock()) as base:
                    visit = partial(_visit_all, plan, store, db, queue, watches, clock, base)
                    result, media, targets = _run_in_loop(visit, loop)
            except NothingCrawlable as error:
                store.record_failure(error, clock())
                raise
            notes = [*sources.notes, *askable.notes(), *queue.notes(), *media.notes, *targets.notes]
            watches.on_stage("classifying")
            report = AuditFinisher(plan, store, db, segments, watches.on_stage, record).finish(
                result, [*sources.findings, *targets.origins], media, notes, targets, queue.skipped
            )
            findings = FindingStore(db, segments)
            if own:
                judged = own(plan.state) if result.ending is FinishReason.COMPLETE else None
                report = _with_own(report, findings, judged)
            report = _set_aside(acceptances, structs.replace(report, not_asked=askable.listed()), findings)
            report = comparison.compare(report, media, targets.unsure)
            report = structs.replace(report, seconds=clock() - start, crawl=base.reported(store, report.seconds))
            news = summarize(report, store.run.number, findings)
            report = structs.replace(
                report, history=[*map(audit_point, comparison.audits_before(news.number)), audit_point(news)]
            )
            watches.on_stage("writing reports")
            report = structs.replace(
                report, segments=count_findings(report, findings), **rank_actions(report, findings)._asdict()
            )
            write(report, findings)
            failure = _store(comparison, report, news) if result.ending is FinishReason.COMPLETE else None
            yield AuditResult(report, findings)
            if failure:
                raise failure
        finally:
            db.close()


def _store(comparison: AuditComparison, report: AuditReport, news: AuditSummary) -> StorageError | None:
    """Store an audit. A failure is returned, so that hours of work are reported all the same."""
    try:
        comparison.store(report, news)
    except StorageError as error:
        return error
    return None


def _with_own(report: AuditReport, findings: FindingStore, judged: OwnJudgement | None) -> AuditReport:
    """The report with the findings of the rules of the configuration; None: the crawl is not complete."""
    if judged is None:
        return structs.replace(report, unchecked=report.unchecked | {OWN: "the crawl was cut short"})
    findings.put((finding.inlinks, finding) for finding in judged.findings)
    return structs.replace(
        report,
        unchecked=report.unchecked | judged.unchecked,
        notes=[*report.notes, *judged.unchecked.values()],
        exit_code=report.exit_code or int(bool(judged.unchecked)),
    )


def _set_aside(acceptances: Acceptances, report: AuditReport, findings: FindingStore) -> AuditReport:
    """The report without the accepted findings, before it is compared with the previous one."""
    accepted = findings.accept(acceptances, datetime.fromtimestamp(report.started, UTC).date())
    report = structs.replace(report, accepted=accepted, counts=findings.counts())
    return structs.replace(report, notes=[*report.notes, *acceptance_notes(report)])


def _run_in_loop(part: Callable[[], Coroutine[Any, Any, T]], loop: dict[str, Any] | None) -> T:
    try:
        return anyio.run(part, backend_options=loop)
    except BaseExceptionGroup as group:
        raise single_error(group) from None


async def _visit_all(  # noqa: PLR0913 - what to visit, and with what
    plan: CrawlPlan,
    store: Store,
    db: sqlite3.Connection,
    queue: UncrawledUrlQueue,
    watches: ProgressWatchers,
    clock: Clock,
    base: BaseCrawl,
) -> tuple[VisitResult, CheckedMedia, CheckedTargets]:
    """Visit the site, then the URLs that only sources know, then other names of the site and the media of sitemaps.

    With the targets of links are the findings about other names of the site.
    """

    def has_more(frontier: SqliteFrontier) -> bool:
        watches.on_stage("fetching URLs that only sources name")
        frontier.commit()  # the other connection sees only what is committed
        return not StartUrlCheck(db, plan.seed).other_site and queue.admit_next(frontier)

    def on_media(done: int, total: int) -> None:
        watches.on_stage(f"fetching images and videos, {done:,} of {total:,}")

    def on_targets(done: int, total: int) -> None:
        watches.on_stage(f"fetching the targets of links, {done:,} of {total:,}")

    run = base.basis.run
    watches.on_stage("crawling" if run is None else f"reading the crawl of run {run}")
    boxes = BoxReads(store.db, plan.config.fetch.second_reads, is_reused=base.answers is not None)
    result = await visit(
        plan, store, open_frontier(plan, store), watches.on_crawl, has_more, clock, base.answers, boxes.rounds
    )
    if result.ending is not FinishReason.COMPLETE:
        return result, CheckedMedia([], []), CheckedTargets()
    boxes.learn(store.run.number, store.run.started)
    visits, aliases = VisitLookup(db), alias_origins(plan.seed)
    listed = PublishedEntries(db, visits, plan.params)
    origins, public = [origin_of(plan.seed), *aliases], known_public(plan)
    async with (
        fetching.build_fetcher(plan.config, origins, clock, plan.source, public) as fetcher,
        ParsePool(1, parser_options(plan)) as pool,
    ):
        robots = build_robots_cache(plan, store, fetcher, pool, clock)
        others = dict.fromkeys([*listed.alias_urls(MAX_ALIAS_URLS), *visits.behind_aliases(aliases, MAX_ALIAS_URLS)])
        if others:
            watches.on_stage("fetching URLs under other names of the site")
            listed.store_alias_results(await check_host_aliases(plan, fetcher, robots, pool, others))
        duplicates = await check_duplicate_origins(plan, fetcher, robots, pool, visits.get(plan.seed).visited)
        media = await check_media(plan.config, fetcher, robots, listed.media(), on_media)
        watches.on_stage("checking the targets of links")
        shown = ShownPages(store.db, plan.config.audit.max_link_pages)
        check = TargetCheck(plan, store.db, fetcher, robots, store.run.started, on_targets)
        targets = await check.run(shown)
        return result, media, structs.replace(targets, origins=duplicates)
