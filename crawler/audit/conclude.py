"""The end of an audit: what was seen is joined, judged and counted, and remembered for the next one.

::

    observe | homes | graph | doubts | survey, health | figures | learn | report
"""

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from crawler.audit.claim import Source
from crawler.audit.coverage import completing
from crawler.audit.evidence.by_url import Knowledge
from crawler.audit.evidence.entries import Entries
from crawler.audit.evidence.hreflang import KnownVersions
from crawler.audit.evidence.store import Claims, Found
from crawler.audit.evidence.url_matching import Homes
from crawler.audit.evidence.visits import Visits
from crawler.audit.finding import AuditFinding, AuditReport
from crawler.audit.graph.graph import LinkGraph
from crawler.audit.graph.link_kind import Way
from crawler.audit.graph.load import load
from crawler.audit.media import CheckedMedia
from crawler.audit.not_checked import absent, unchecked, undecided, why_usual
from crawler.audit.orphans.certainty import doubts
from crawler.audit.orphans.classes import Thresholds
from crawler.audit.orphans.duplicates import Lead, copies
from crawler.audit.page_findings import Survey, with_visits
from crawler.audit.redirects import Leading
from crawler.audit.second_crawl import Start
from crawler.audit.statistics import Figures, scarce
from crawler.config.plan import Plan
from crawler.crawl.build import source_key
from crawler.crawl.engine import Ending
from crawler.crawl.visit import Visited, counted
from crawler.errors import Incomplete, NothingCrawlable
from crawler.lastmod.observe import Observed, observe
from crawler.lastmod.store import Seen
from crawler.model import State
from crawler.publish import remember
from crawler.publish.change_feed import Changes
from crawler.publish.completeness import completeness
from crawler.publish.gate_facts import coverage
from crawler.state.database import change, storage
from crawler.state.runs import Kind, Run, Runs
from crawler.state.store import Store
from crawler.version import __version__

NEVER: Final = -1  # inlinks: no page has so few


class Conclusion:
    """Ends one audit. ``db`` has what the sources said, with the state beside it, and gets the findings."""

    def __init__(self, plan: Plan, store: Store, db: sqlite3.Connection) -> None:
        self._plan = plan
        self._store = store
        self._db = db
        self._found = Found(db)

    def conclude(
        self,
        visited: Visited,
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
        is_over = visited.ending is Ending.COMPLETE
        stopped = "" if is_over else visited.ending.value
        judged = completeness(coverage(store.db, stopped, store.run.started))
        run = counted(store.run, visited, judged)
        observed = observe(store.db, run, self._plan.config.content.lastmod, source_key(self._plan))
        graph = load(store.db, self._plan.seed)
        if graph is None:
            raise self._nothing(run)
        homes = Homes(self._db)
        same = _joined(homes, graph)
        facts = completing(
            store.db,
            graph,
            same,
            self._plan.seed,
            stopped,
            run.started,
            trust_blocked=self._plan.config.audit.trust_blocked,
        )
        why = doubts(facts)
        few = self._plan.config.audit.min_inlinks
        usual = why_usual(*scarce(graph, same, few), few)
        survey = self._survey(graph, homes, same, doubtful=bool(why), few=NEVER if usual else few)
        visits = Visits(self._db)
        self._found.put(survey.findings())
        self._judge_leading(survey, Leading(self._db, graph, visits))
        clusters = self._judge_published(survey, visits, lint, media.findings)
        figures = Figures(store.db, graph, run.started, survey.copies)
        if is_over and not figures.pages:
            raise self._nothing(run)
        if not why:  # a failure of what nothing leads to makes the crawl of the site no less complete
            run = replace(run, completeness=Kind.COMPLETE.value, because="")
        told = [*visited.notes, *filter(None, [observed.distrust]), *notes, *self._notes(figures, same)]
        run = replace(run, notes=told, outcome="audited", exit_code=0 if is_over else Incomplete.exit_code)
        self._end(run, observed, is_over=is_over, degraded=bool(why))
        code = run.exit_code or (1 if visited.tally.internal_errors else 0)
        report = self._report(run, figures, survey)
        open_ = undecided(report.inputs, is_doubtful=bool(why), stopped=stopped, unasked=unasked)
        return replace(
            report,
            doubts=why,
            notes=told,
            exit_code=code,
            unchecked=unchecked(report.inputs, self._plan.config.audit.media)
            | ({"reach.few": usual} if usual else {}),
            undecided=open_,
            absent=absent(open_, has_media=not media.are_none, has_versions=clusters.are_stated),
            unasked=unasked,
        )

    def _survey(
        self, graph: LinkGraph, homes: Homes, same: dict[int, int], *, doubtful: bool, few: int
    ) -> Survey:
        audit = self._plan.config.audit
        sitemaps = [each for each in Claims(self._db).accounts() if each.source is Source.SITEMAP]
        return Survey(
            self._store.db,
            graph,
            Knowledge(self._db),
            Thresholds(audit.max_clicks, few, audit.min_visits),
            copies=same,
            doubtful=doubtful,
            has_sitemap=any(each.used for each in sitemaps),
            is_listing_whole=all(each.complete for each in sitemaps) and not homes.is_open(Source.SITEMAP),
        )

    def _judge_leading(self, survey: Survey, leading: Leading) -> None:
        """Where links and canonicals lead to: what is linked most, or visited most, comes first."""
        linked = (survey.linked(each) for each in leading.redirects())
        self._found.put((each.inlinks, each) for each in linked)
        self._found.put(self._visited(survey, leading.canonicals()))

    def _judge_published(
        self, survey: Survey, visits: Visits, lint: Sequence[AuditFinding], media: Sequence[AuditFinding]
    ) -> KnownVersions:
        """The health of the sitemaps, once the claims have their homes; and of the clusters, which it answers."""
        params = self._plan.params
        entries = Entries(self._db, visits, params)
        entries.settle()
        clusters = KnownVersions(self._db, visits, params)
        for findings in (lint, entries.spellings(), clusters.judge(), media):
            self._found.put((0.0, survey.placed(each)) for each in findings)
        self._found.put(self._visited(survey, entries.judge()))
        return clusters

    def _visited(
        self, survey: Survey, findings: Iterator[AuditFinding]
    ) -> Iterator[tuple[float, AuditFinding]]:
        """The findings about pages and entries, with the links and the visits of their URLs, the most visited first."""
        knowledge = Knowledge(self._db)
        for each in findings:
            known = knowledge.of(each.url)
            yield known.visits, with_visits(survey.placed(each), known)

    def _notes(self, figures: Figures, same: Mapping[int, int]) -> list[str]:
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
        with storage():
            return str(self._store.db.execute("SELECT url FROM url WHERE id = ?", (number,)).fetchone()[0])

    def _nothing(self, run: Run) -> NothingCrawlable:
        error = NothingCrawlable(Start(self._db, self._plan.seed).sentence())
        self._store.give_up(error, run.started + run.seconds)
        return error

    def _end(self, run: Run, observed: Observed, *, is_over: bool, degraded: bool) -> None:
        """Remember what was seen, so that the next audit asks for what changed. What was cut short goes on."""
        db = self._store.db
        with change(db):
            if is_over:
                remember.learn(db, run.number, source_key(self._plan), degraded=degraded)
                remember.tidy(db, run.number)
                Seen(db, run.number).learn(observed.habits, observed.distrust, observed.policy)
                run = replace(run, ended=run.started + run.seconds)
            Runs(db).write(run)
            Changes(db).forget(run.number, self._plan.config.state.keep_runs)

    def _report(self, run: Run, figures: Figures, survey: Survey) -> AuditReport:
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
            inputs=Claims(self._db).accounts(),
            counts=self._found.counts(),
            states=figures.states,
            statuses=figures.statuses,
            depths=figures.depths,
            ages=figures.ages,
            inlinks=figures.inlinks,
            sections=figures.sections(survey.lost, survey.unlisted),
        )


def _joined(homes: Homes, graph: LinkGraph) -> dict[int, int]:
    """Give every claim its home; answers which pages are copies of which."""
    homes.settle()
    same = dict(copies(homes.twins(), lambda number: _lead(graph, graph.nodes.node(number))))
    homes.move(same.items())
    return same


def _lead(graph: LinkGraph, node: int) -> Lead:
    if graph.touched[node]:
        return Lead.SHUNNED if graph.ways[node] == Way.NOFOLLOW else Lead.LED_TO
    return Lead.NAMED if graph.ways[node] else Lead.NOTHING
