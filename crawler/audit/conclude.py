"""The end of an audit: what was seen is joined, judged and counted, and remembered for the next one.

::

    observe | homes | graph | doubts | survey, health | figures | learn | report
"""

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from crawler.audit.claim import SourceKind
from crawler.audit.coverage import crawl_coverage
from crawler.audit.evidence.by_url import UrlEvidence
from crawler.audit.evidence.entries import PublishedEntries
from crawler.audit.evidence.hreflang import SiteVersions
from crawler.audit.evidence.store import ClaimStore, FindingStore
from crawler.audit.evidence.url_matching import UrlMatcher
from crawler.audit.evidence.visits import VisitLookup
from crawler.audit.finding import AuditFinding, AuditReport
from crawler.audit.graph.graph import LinkGraph
from crawler.audit.graph.link_kind import LinkKind
from crawler.audit.graph.load import load_graph
from crawler.audit.media import CheckedMedia
from crawler.audit.not_checked import inconclusive, not_checked, nothing_to_check, why_inlinks_not_reported
from crawler.audit.orphans.certainty import limits_of_crawl
from crawler.audit.orphans.classes import Thresholds
from crawler.audit.orphans.duplicates import LinkSupport, find_copies
from crawler.audit.page_findings import PageFindings, with_visits
from crawler.audit.redirects import RedirectFindings
from crawler.audit.second_crawl import StartUrlCheck
from crawler.audit.statistics import Statistics, few_inlink_pages
from crawler.config.plan import CrawlPlan
from crawler.crawl.engine import RunEnd
from crawler.crawl.visit import VisitResult, changes_text, source_key
from crawler.errors import Incomplete, NothingCrawlable
from crawler.lastmod.observe import SiteObservation, observe
from crawler.lastmod.store import ObservationStore
from crawler.model import State
from crawler.publish import remember
from crawler.publish.change_feed import ChangeFeed
from crawler.publish.completeness import completeness
from crawler.publish.gate_facts import read_coverage
from crawler.state.database import storage_errors, transaction
from crawler.state.runs import CompletenessLevel, Run, RunsPage
from crawler.state.store import Store
from crawler.version import __version__

NO_TIME: Final = -1  # inlinks: no page has so few


class AuditFinisher:
    """Ends one audit. ``db`` has what the sources said, with the state beside it, and gets the findings."""

    def __init__(self, plan: CrawlPlan, store: Store, db: sqlite3.Connection) -> None:
        self._plan = plan
        self._store = store
        self._db = db
        self._found = FindingStore(db)

    def finish(
        self,
        visited: VisitResult,
        lint: Sequence[AuditFinding],
        media: CheckedMedia,
        notes: Sequence[str],
        unasked: int = 0,
    ) -> AuditReport:
        """Judge what the run has seen. ``lint`` and ``media`` are what others found, ``notes`` their notes.

        ``unasked`` counts the URLs that only sources know and that were not asked for.

        Raises NothingCrawlable when there is no page, StorageError.
        """
        store = self._store
        is_over = visited.ending is RunEnd.COMPLETE
        stopped = "" if is_over else visited.ending.value
        judged = completeness(read_coverage(store.db, stopped, store.run.started))
        run = changes_text(store.run, visited, judged)
        observed = observe(store.db, run, self._plan.config.content.lastmod, source_key(self._plan))
        graph = load_graph(store.db, self._plan.seed)
        if graph is None:
            raise self._nothing_to_audit(run)
        homes = UrlMatcher(self._db)
        same = _join_claims(homes, graph)
        facts = crawl_coverage(
            store.db,
            graph,
            same,
            self._plan.seed,
            stopped,
            run.started,
            trust_blocked=self._plan.config.audit.trust_blocked,
        )
        why = limits_of_crawl(facts)
        few = self._plan.config.audit.min_inlinks
        usual = why_inlinks_not_reported(*few_inlink_pages(graph, same, few), few)
        survey = self._page_findings(graph, homes, same, doubtful=bool(why), few=NO_TIME if usual else few)
        visits = VisitLookup(self._db)
        self._found.put(survey.findings())
        self._judge_redirects(survey, RedirectFindings(self._db, graph, visits))
        clusters = self._judge_published(survey, visits, lint, media.findings)
        figures = Statistics(store.db, graph, run.started, survey.copies)
        if is_over and not figures.pages:
            raise self._nothing_to_audit(run)
        if not why:  # a failure of what nothing leads to makes the crawl of the site no less complete
            run = replace(run, completeness=CompletenessLevel.COMPLETE.value, because="")
        told = [*visited.notes, *filter(None, [observed.distrust]), *notes, *self._notes(figures, same)]
        run = replace(run, notes=told, outcome="audited", exit_code=0 if is_over else Incomplete.exit_code)
        self._end(run, observed, is_over=is_over, degraded=bool(why))
        code = run.exit_code or (1 if visited.tally.internal_errors else 0)
        report = self._report(run, figures, survey)
        open_ = inconclusive(report.inputs, is_doubtful=bool(why), stopped=stopped, unasked=unasked)
        return replace(
            report,
            doubts=why,
            notes=told,
            exit_code=code,
            unchecked=not_checked(report.inputs, self._plan.config.audit.media)
            | ({"reach.few": usual} if usual else {}),
            undecided=open_,
            absent=nothing_to_check(open_, has_media=not media.are_none, has_versions=clusters.are_stated),
            unasked=unasked,
        )

    def _page_findings(
        self, graph: LinkGraph, homes: UrlMatcher, same: dict[int, int], *, doubtful: bool, few: int
    ) -> PageFindings:
        audit = self._plan.config.audit
        sitemaps = [each for each in ClaimStore(self._db).reports() if each.source is SourceKind.SITEMAP]
        return PageFindings(
            self._store.db,
            graph,
            UrlEvidence(self._db),
            Thresholds(audit.max_clicks, few, audit.min_visits),
            copies=same,
            doubtful=doubtful,
            has_sitemap=any(each.used for each in sitemaps),
            is_listing_whole=all(each.complete for each in sitemaps)
            and not homes.has_unresolved(SourceKind.SITEMAP),
        )

    def _judge_redirects(self, survey: PageFindings, leading: RedirectFindings) -> None:
        """Where links and canonicals lead to: what is linked most, or visited most, comes first."""
        linked = (survey.with_referrers(each) for each in leading.redirects())
        self._found.put((each.inlinks, each) for each in linked)
        self._found.put(self._with_visits(survey, leading.canonicals()))

    def _judge_published(
        self,
        survey: PageFindings,
        visits: VisitLookup,
        lint: Sequence[AuditFinding],
        media: Sequence[AuditFinding],
    ) -> SiteVersions:
        """The health of the sitemaps, once the claims have their homes; and of the clusters, which it answers."""
        params = self._plan.params
        entries = PublishedEntries(self._db, visits, params)
        entries.assign_pages()
        clusters = SiteVersions(self._db, visits, params)
        for findings in (lint, entries.spellings(), clusters.judge(), media):
            self._found.put((0.0, survey.with_links(each)) for each in findings)
        self._found.put(self._with_visits(survey, entries.judge()))
        return clusters

    def _with_visits(
        self, survey: PageFindings, findings: Iterator[AuditFinding]
    ) -> Iterator[tuple[float, AuditFinding]]:
        """The findings about pages and entries, with the links and the visits of their URLs, the most visited first."""
        knowledge = UrlEvidence(self._db)
        for each in findings:
            known = knowledge.of_url(each.url)
            yield known.visits, with_visits(survey.with_links(each), known)

    def _notes(self, figures: Statistics, same: Mapping[int, int]) -> list[str]:
        """What a person should know who reads the findings. ``same`` are ids of copies, and of what they are."""
        notes, scope = [], self._plan.scope
        if traps := sum(bar.count for bar in figures.states if bar.label == State.TRAP):
            said = "1 URL looks like one" if traps == 1 else f"{traps:,} URLs look like some"
            notes.append(f"{said} of endlessly many and {'was' if traps == 1 else 'were'} not read")
        if same:
            copy, page = (self._url(number) for number in min(same.items()))
            are = "1 page is" if len(same) == 1 else f"{len(same):,} pages are each"
            such = "" if len(same) == 1 else "such as "
            said = f"{are} the same as another one and counted with it, visits and all"
            notes.append(f"{said}: {such}{copy} with {page}")
        if scope.directory != f"{scope.origin}/":
            said = f"pages outside {scope.directory} were not read"
            notes.append(f"{said}: what only they link seems to be linked nowhere")
        return notes

    def _url(self, number: int) -> str:
        with storage_errors():
            return str(self._store.db.execute("SELECT url FROM url WHERE id = ?", (number,)).fetchone()[0])

    def _nothing_to_audit(self, run: Run) -> NothingCrawlable:
        error = NothingCrawlable(StartUrlCheck(self._db, self._plan.seed).sentence())
        self._store.record_failure(error, run.started + run.seconds)
        return error

    def _end(self, run: Run, observed: SiteObservation, *, is_over: bool, degraded: bool) -> None:
        """Remember what was seen, so that the next audit asks for what changed. What was cut short goes on."""
        db = self._store.db
        with transaction(db):
            if is_over:
                remember.store_visits(db, run.number, source_key(self._plan), degraded=degraded)
                remember.purge(db, run.number)
                ObservationStore(db, run.number).store_site(
                    observed.habits, observed.distrust, observed.policy
                )
                run = replace(run, ended=run.started + run.seconds)
            RunsPage(db).write(run)
            ChangeFeed(db).forget(run.number, self._plan.config.state.keep_runs)

    def _report(self, run: Run, figures: Statistics, survey: PageFindings) -> AuditReport:
        return AuditReport(
            url=self._plan.seed,
            version=__version__,
            started=run.started,
            seconds=run.seconds,
            completeness=run.completeness,
            doubts=[],
            notes=[],
            fetched=run.fetched,
            bytes=run.bytes,
            urls=figures.urls,
            pages=figures.pages,
            reached=figures.reached,
            listed=survey.listed,
            inputs=ClaimStore(self._db).reports(),
            counts=self._found.counts(),
            states=figures.states,
            statuses=figures.statuses,
            depths=figures.depths,
            ages=figures.ages,
            inlinks=figures.inlinks,
            sections=figures.sections(survey.orphans_by_section, survey.unlisted_by_section),
        )


def _join_claims(homes: UrlMatcher, graph: LinkGraph) -> dict[int, int]:
    """Give every claim its home; answers which pages are copies of which."""
    homes.match_all()
    same = dict(
        find_copies(homes.duplicates(), lambda number: _link_support(graph, graph.nodes.node(number)))
    )
    homes.reassign(same.items())
    return same


def _link_support(graph: LinkGraph, node: int) -> LinkSupport:
    if graph.touched[node]:
        return LinkSupport.NOFOLLOWED if graph.ways[node] == LinkKind.NOFOLLOW else LinkSupport.LINKED
    return LinkSupport.LINKED_BY_ORPHAN if graph.ways[node] else LinkSupport.UNLINKED
