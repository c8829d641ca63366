"""Finishes an audit: matches sources with the crawl, classifies, counts, and stores the visits for the next audit.

::

    observe | graph | match URLs | limits of the crawl | page findings, health | statistics | store | report
"""

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Any, Final

from msgspec.structs import replace

from crawler.audit.bot_activity import RULE as UNCRAWLED
from crawler.audit.bot_activity import CrawledPages, uncrawled_findings
from crawler.audit.coverage import crawl_coverage
from crawler.audit.evidence.by_url import UrlEvidence, inspection_candidates
from crawler.audit.evidence.entries import PublishedEntries
from crawler.audit.evidence.hreflang import SiteVersions
from crawler.audit.evidence.review import ClaimReview
from crawler.audit.evidence.store import ClaimStore, FindingStore
from crawler.audit.evidence.url_matching import UrlMatcher
from crawler.audit.evidence.visits import VisitLookup, url_of
from crawler.audit.finding import AuditFinding, AuditReport, BotActivity, Certainty
from crawler.audit.graph.graph import LinkGraph
from crawler.audit.graph.links import LinkKind
from crawler.audit.graph.load import load_graph
from crawler.audit.health.visit import why_no_document
from crawler.audit.media import CheckedMedia
from crawler.audit.orphans.certainty import CrawlCoverage, assumptions, best_certainty, limits_of_crawl
from crawler.audit.orphans.classes import Thresholds
from crawler.audit.orphans.duplicates import LinkSupport, find_copies
from crawler.audit.page_findings import NotedPages, PageFindings, with_visits
from crawler.audit.patterns import LINK_RULES, Segments
from crawler.audit.redirects import RedirectFindings
from crawler.audit.second_crawl import StartUrlCheck
from crawler.audit.shown import ShownPages
from crawler.audit.source_record import SourceKind, SourceReport
from crawler.audit.sources.google.inspection import RULES as INDEX_RULES
from crawler.audit.sources.google.inspection import IndexInspector
from crawler.audit.sources.logs.bots import DOMAINS
from crawler.audit.statistics import Statistics, few_inlink_pages
from crawler.audit.targets import CheckedTargets
from crawler.audit.verdict import NO_INSPECTION, inconclusive, not_checked, nothing_to_check, why_inlinks_not_reported
from crawler.config.plan import CrawlPlan
from crawler.crawl.assembly import source_key
from crawler.crawl.engine import FinishReason
from crawler.crawl.visit import VisitResult, with_counts
from crawler.errors import Incomplete, NothingCrawlable
from crawler.lastmod.observe import SiteObservation, observe
from crawler.lastmod.policy import OBSERVING_POLICIES
from crawler.lastmod.store import ObservationStore
from crawler.model import State
from crawler.publish import store as publish_store
from crawler.publish.change_feed import ChangeFeed
from crawler.publish.completeness import completeness
from crawler.publish.gate_facts import read_coverage
from crawler.state.database import transaction
from crawler.state.runs import CompletenessLevel, Run, RunStore
from crawler.state.schema import STATE_DB
from crawler.state.store import Store
from crawler.units import count_text
from crawler.version import __version__

RecordHistory = Callable[[sqlite3.Connection, int, int], object]
"""Records what a run changed of each page, by the state, its number and how many runs to keep."""
_OF_LINKS: Final = (*LINK_RULES, "target.external", "target.fragment", "target.once")  # links, no pictures
_LOOKED_FOR: Final = 1_000
"""Findings, the first ones, for which pages are read that link to their URLs."""
NO_LIMIT: Final = -1  # a limit of inlinks that no page falls under


class AuditFinisher:
    """Finishes one audit. ``db`` has the sources' records, the state attached as ``site``, and gets the findings.

    ``on_stage`` is told what takes long.
    """

    def __init__(
        self,
        plan: CrawlPlan,
        store: Store,
        db: sqlite3.Connection,
        segments: Segments,
        on_stage: Callable[[str], object],
        record: RecordHistory,
    ) -> None:
        self._plan = plan
        self._store = store
        self._db = db
        self._segments = segments
        self._on_stage = on_stage
        self._record = record
        self._found = FindingStore(db, segments)

    def finish(
        self,
        visited: VisitResult,
        lint: Sequence[AuditFinding],
        media: CheckedMedia,
        notes: Sequence[str],
        targets: CheckedTargets,
        unasked: int = 0,
    ) -> AuditReport:
        """Classify what the crawl saw, and report it. ``lint``, ``media`` and ``targets`` are earlier findings.

        ``unasked`` counts the URLs that only sources know and that were not fetched. Raises NothingCrawlable when there
        is no page, StorageError.
        """
        store = self._store
        is_over = visited.ending is FinishReason.COMPLETE
        run = with_counts(store.run, visited, completeness(read_coverage(store.db, visited.stopped, store.run.started)))
        policy = self._plan.config.content.lastmod
        policy = "observed" if policy in OBSERVING_POLICIES else policy  # a sitemap is compared with what it saw itself
        observed = observe(store.db, run, policy, source_key(self._plan))
        graph = load_graph(store.db, self._plan.seed)
        if graph is None:
            raise self._nothing_to_audit(run)
        matcher = UrlMatcher(self._db)
        copies = _join_claims(ClaimReview(self._db), matcher, graph, trust_logs=self._plan.config.audit.trust_logs)
        facts = crawl_coverage(store.db, graph, copies, self._plan, visited.stopped, store.run.started)
        doubts = limits_of_crawl(facts)
        min_inlinks = self._plan.config.audit.min_inlinks
        usual = why_inlinks_not_reported(*few_inlink_pages(graph, copies, min_inlinks), min_inlinks)
        pages = self._page_findings(graph, matcher, copies, facts, few=NO_LIMIT if usual else min_inlinks)
        visits = VisitLookup(self._db)
        self._found.put(_placed(pages.findings(), targets.shown))
        self._judge_links(pages, graph, visits, targets)
        clusters, noted = self._judge_published(pages, visits, lint, media.findings)
        index_notes = self._inspect_index(store.run.started)
        figures = Statistics(store.db, graph, run.started, pages.copies, self._segments)
        if is_over and not figures.pages:
            raise self._nothing_to_audit(run)
        bots = self._bot_activity(graph, figures, pages.copies)
        if not doubts:  # URLs that nothing leads to may fail: the crawl of the site is complete all the same
            run = replace(run, completeness=CompletenessLevel.COMPLETE.value, reason="")
        notes = [*visited.notes, *observed.notes, *notes, *index_notes, *self._notes(figures, pages, facts)]
        run = replace(run, notes=notes, outcome="audited", exit_code=0 if is_over else Incomplete.exit_code)
        self._end(run, observed, is_over=is_over, degraded=bool(doubts))
        inputs = ClaimStore(self._db).reports()
        is_open = pages.certainty is Certainty.INCONCLUSIVE
        gaps = inconclusive(inputs, is_doubtful=is_open, stopped=visited.stopped, unasked=unasked)
        unrendered = "" if noted.differ_rendered else facts.unrendered
        return self._report(
            run,
            figures,
            pages,
            doubts=doubts,
            notes=notes,
            inputs=inputs,
            bots=bots,
            exit_code=run.exit_code or (1 if visited.tally.internal_errors else 0),
            unchecked=self._unchecked(inputs, usual, bots) | targets.unchecked,
            undecided=targets.undecided | gaps,
            absent=nothing_to_check(
                gaps, has_media=not media.are_none, has_versions=clusters.are_stated, unrendered=unrendered
            ),
            unasked=unasked,
        )

    def _page_findings(
        self, graph: LinkGraph, matcher: UrlMatcher, copies: dict[int, int], facts: CrawlCoverage, *, few: int
    ) -> PageFindings:
        audit = self._plan.config.audit
        sitemaps = [report for report in ClaimStore(self._db).reports() if report.source is SourceKind.SITEMAP]
        return PageFindings(
            self._store.db,
            graph,
            self._plan.state.parent,
            UrlEvidence(self._db),
            Thresholds(audit.max_clicks, few, audit.min_visits),
            copies=copies,
            best=best_certainty(facts),
            unread=facts.unread,
            copies_of_listed=matcher.listed_copies(),
            has_sitemap=any(report.used for report in sitemaps),
            is_listing_whole=all(report.complete for report in sitemaps)
            and not matcher.has_unresolved(SourceKind.SITEMAP),
        )

    def _judge_links(self, pages: PageFindings, graph: LinkGraph, visits: VisitLookup, targets: CheckedTargets) -> None:
        """Store findings about redirects, canonicals and what pages show, ranked by inlinks and by visits."""
        trails = RedirectFindings(self._db, graph, visits)
        redirects = self._with_visits(pages, map(pages.with_referrers, trails.redirects()))
        self._found.put(_placed(((each.inlinks, each) for _, each in redirects), targets.shown))
        self._found.put(self._with_visits(pages, trails.canonicals()))
        if shown := targets.shown:
            linked = (found if found.referrers else pages.with_referrers(found) for found in targets.findings)
            self._found.put(_placed(((found.inlinks, found) for found in linked), shown))
            found = shown.box_findings(graph, is_first=self._store.run.number == 1)
            self._found.put(self._with_visits(pages, map(pages.with_hubs, found)))
            self._found.put(self._with_visits(pages, shown.facts(pages.copies)))

    def _bot_activity(self, graph: LinkGraph, figures: Statistics, copies: dict[int, int]) -> BotActivity | None:
        """What bots do, if there are logs; stores the pages that search engines leave out."""
        audit, found = self._plan.config.audit, self._found
        if not audit.logs:
            return None
        verified = {*audit.bot_addresses, *(DOMAINS if audit.verify_bots else ())}
        crawled = CrawledPages(self._db, graph, figures, copies, self._segments)
        found.put_uncrawled(crawled.uncrawled())
        activity = crawled.activity(verified=verified, min_days=audit.min_log_days)
        if activity and not activity.why_not_checked:
            reports = ClaimStore(self._db).reports()
            is_certain = all(
                report.complete and not report.doubt for report in reports if report.source is SourceKind.LOG
            )
            found.put(uncrawled_findings(found.uncrawled(), activity.total.days, is_certain=is_certain))
        return activity

    def _unchecked(self, inputs: Sequence[SourceReport], usual: str, activity: BotActivity | None) -> dict[str, str]:
        """Why groups and rules were not checked; ``usual`` is why few inlinks are no fault of this site, or ""."""
        audit = self._plan.config.audit
        reasons = not_checked(inputs, audit.media) | ({"reach.few": usual} if usual else {})
        if not audit.inspect_urls:
            reasons |= dict.fromkeys(INDEX_RULES, NO_INSPECTION)
        why = activity.why_not_checked if activity else "the access logs have no request of a bot"
        return reasons | ({UNCRAWLED: why} if audit.logs and why else {})

    def _inspect_index(self, now: float) -> list[str]:
        """Store findings about the index status of pages; returns notes."""
        if not self._plan.config.audit.inspect_urls:
            return []
        inspector = IndexInspector(self._plan.config, self._plan.state, now)
        found, notes = inspector.findings(
            lambda: inspection_candidates(self._db),
            lambda done, total: self._on_stage(f"inspecting the index status of pages, {done:,} of {total:,}"),
        )
        self._found.put((finding.impressions, finding) for finding in found)
        return notes

    def _judge_published(
        self, pages: PageFindings, visits: VisitLookup, lint: Sequence[AuditFinding], media: Sequence[AuditFinding]
    ) -> tuple[SiteVersions, NotedPages]:
        """Store findings about sitemap entries, hreflang clusters and the notes on pages; returns the last two."""
        params = self._plan.params
        entries = PublishedEntries(self._db, visits, params)
        entries.assign_pages()
        clusters = SiteVersions(self._db, visits, params)
        noted = NotedPages(self._db)
        judged = clusters.judge(pages.copies.keys() | pages.copies_of_listed)
        for findings in (lint, entries.spellings(), judged, noted.judge(), media):
            self._found.put((0.0, pages.with_links(found)) for found in findings)
        self._found.put(self._with_visits(pages, entries.judge()))
        return clusters, noted

    def _with_visits(
        self, pages: PageFindings, findings: Iterator[AuditFinding]
    ) -> Iterator[tuple[float, AuditFinding]]:
        """The findings with the links to their URLs and the visits of these, each with its rank: the visits."""
        by_url = UrlEvidence(self._db)
        for finding in findings:
            stats = by_url.of_url(finding.url)
            yield stats.visits, with_visits(pages.with_links(finding), stats)

    def _notes(self, figures: Statistics, pages: PageFindings, facts: CrawlCoverage) -> list[str]:
        """Notes for the reader of the findings."""
        notes, scope, copies = assumptions(facts), self._plan.scope, pages.copies
        if traps := sum(bar.count for bar in figures.states if bar.label == State.TRAP):
            looks, was = ("looks", "was") if traps == 1 else ("look", "were")
            notes.append(f"{count_text(traps, 'URL')} {looks} like part of a crawler trap and {was} not fetched")
        if alone := pages.for_machines:
            text = f"{count_text(len(alone), 'page')} without links, such as {url_of(self._store.db, alone[0])}"
            notes.append(f"only bots that are no search engines requested {text}: they are no findings")
        urls = [url_of(self._store.db, number) for number in pages.documents]
        visits = VisitLookup(self._db)
        if unlinked := [url for url in urls if not why_no_document(visits.get(url).visited)]:
            text = f"no page links to {count_text(len(unlinked), 'document')}, such as {unlinked[0]}"
            notes.append(f"{text}: siteatlas query --named documents-without-links shows them, with their visits")
        if copies:
            copy, page = (url_of(self._store.db, number) for number in min(copies.items()))
            more = f"; the same applies to {count_text(len(copies) - 1, 'more page')}" if len(copies) > 1 else ""
            notes.append(f"{copy} is a copy of {page}, so its visits count for that page{more}")
        if scope.directory != f"{scope.origin}/":
            text = f"pages outside {scope.directory} were not fetched"
            notes.append(f"{text}, so URLs that only those pages link to appear to have no links")
        return notes

    def _nothing_to_audit(self, run: Run) -> NothingCrawlable:
        error = NothingCrawlable(StartUrlCheck(self._db, self._plan.seed).sentence())
        self._store.record_failure(error, run.started + run.seconds)
        return error

    def _end(self, run: Run, observed: SiteObservation, *, is_over: bool, degraded: bool) -> None:
        """Store the visits, so that the next audit can revalidate them. An unfinished audit stays open."""
        db = self._store.db
        with transaction(db):
            if is_over and not STATE_DB.is_in(self._store.directory.parent):  # runs record a history of their own
                self._record(db, run.number, self._plan.config.state.keep_history)
            if is_over and not observed.is_behind:
                publish_store.store_visits(db, run.number, source_key(self._plan), degraded=degraded)
                ObservationStore(db, run.number).store_site(observed.memory, observed.distrust, observed.policy)
            if is_over:
                publish_store.purge(db, run.number)
                run = replace(run, ended=run.started + run.seconds)
            RunStore(db).write(run)
            ChangeFeed(db).forget(run.number, self._plan.config.state.keep_runs)

    def _report(self, run: Run, figures: Statistics, pages: PageFindings, **rest: Any) -> AuditReport:
        """The report with the figures of the crawl and the ``rest`` of its fields."""
        return AuditReport(
            url=self._plan.seed,
            version=__version__,
            started=run.started,
            seconds=run.seconds,
            completeness=run.completeness,
            certainty=pages.certainty,
            fetched=run.fetched,
            bytes=run.bytes,
            urls=figures.urls,
            pages=figures.pages,
            reached=figures.reached,
            listed=pages.listed,
            counts=self._found.counts(),
            states=figures.states,
            statuses=figures.statuses,
            depths=figures.depths,
            ages=figures.ages,
            inlinks=figures.inlinks,
            sections=figures.sections(pages.orphans_by_section, pages.unlisted_by_section),
            segments=self._segments.counted(figures.segments),
            **rest,
        )


def _placed(
    found: Iterable[tuple[float, AuditFinding]], shown: ShownPages | None
) -> Iterator[tuple[float, AuditFinding]]:
    """Ranked findings: those whose remedy is to correct links say where these stand, or that this is not known."""
    found = iter(found)
    first = list(islice(found, _LOOKED_FOR))
    if shown:
        shown.look_for([each for _, each in first if each.rule.startswith(_OF_LINKS)])
    for rank, each in chain(first, found):
        yield rank, shown.with_place(each) if shown and each.rule.startswith(_OF_LINKS) else each


def _join_claims(review: ClaimReview, matcher: UrlMatcher, graph: LinkGraph, *, trust_logs: bool) -> dict[int, int]:
    """Review every record and match it with a page; returns the ids of copies with those of their originals."""
    review.release_pages()
    review.separate_scanners()
    if not trust_logs:
        review.doubt_logs()
    review.finish_reports()
    matcher.match_all()
    copies = dict(find_copies(matcher.duplicates(), lambda number: _link_support(graph, graph.nodes.node(number))))
    matcher.reassign(copies.items())
    return copies


def _link_support(graph: LinkGraph, node: int) -> LinkSupport:
    if graph.touched[node]:
        return LinkSupport.NOFOLLOWED if graph.ways[node] == LinkKind.NOFOLLOW else LinkSupport.LINKED
    return LinkSupport.LINKED_BY_ORPHAN if graph.ways[node] else LinkSupport.UNLINKED
