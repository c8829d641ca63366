"""The end of an audit: what was seen is joined, judged and counted, and remembered for the next one.

::

    observe | homes | graph | doubts | survey, health | figures | learn | report
"""

import sqlite3

from msgspec.structs import replace

from crawler import plan as planning
from crawler.audit.completing import completing
from crawler.audit.figures import Figures
from crawler.audit.gathering import Gathered
from crawler.audit.survey import Survey
from crawler.claim import Source
from crawler.completeness import completeness
from crawler.conclude import counted
from crawler.engine import Ending
from crawler.errors import Incomplete, NothingCrawlable
from crawler.evidence.claims import Claims
from crawler.evidence.found import Found
from crawler.evidence.homes import Homes
from crawler.evidence.knowledge import Knowledge
from crawler.finding import AuditReport
from crawler.frontier.batch import change, storage
from crawler.graph import LinkGraph
from crawler.memory import closing
from crawler.memory.facts import coverage
from crawler.memory.link_graph import load
from crawler.memory.runs import Run, Runs
from crawler.memory.seen import Seen
from crawler.model import State
from crawler.observe import Observed, observe
from crawler.orphans import Thresholds, copies, doubts
from crawler.plan import Plan
from crawler.store import Store
from crawler.version import __version__
from crawler.visiting import Visited


def conclude(
    plan: Plan, store: Store, db: sqlite3.Connection, visited: Visited, gathered: Gathered, passed_by: int
) -> AuditReport:
    """Judge what a run has seen, and what the sources said, which ``db`` holds; the findings are kept there.

    ``passed_by`` counts the URLs that only sources know and that were not asked for. Raises NothingCrawlable when there
    is no page, StorageError.
    """
    is_complete = visited.ending is Ending.COMPLETE
    stopped = "" if is_complete else visited.ending.value
    judged = completeness(coverage(store.db, stopped, store.run.started))
    run = counted(store.run, visited, judged)
    observed = observe(store.db, run, plan.config.content.lastmod, planning.source_key(plan))
    graph = load(store.db, plan.seed)
    if graph is None:
        raise NothingCrawlable(f"the start URL {plan.seed} was not visited")
    homes = Homes(db)
    homes.settle()
    same = dict(copies(homes.twins(), lambda number: bool(graph.touched[graph.nodes.node(number)])))
    homes.move(same.items())
    trust = plan.config.audit.trust_blocked
    why = doubts(completing(store.db, graph, stopped, run.started, trust_blocked=trust))
    survey = _survey(plan, store, db, graph, same, doubtful=bool(why))
    found = Found(db)
    found.put(survey.findings())
    found.put((0.0, each) for each in gathered.lint)
    figures = Figures(store.db, graph, run.started)
    if is_complete and not figures.pages:
        raise _nothing(plan, store, run)
    notes = [
        *visited.notes,
        *filter(None, [observed.distrust]),
        *gathered.notes,
        *_notes(plan, figures, passed_by),
    ]
    run = replace(run, notes=notes, outcome="audited", exit_code=0 if is_complete else Incomplete.exit_code)
    _end(plan, store, run, observed, is_over=is_complete, degraded=bool(why))
    return AuditReport(
        url=plan.seed,
        version=__version__,
        started=run.started,
        seconds=run.seconds,
        completeness=judged.kind,
        doubts=why,
        notes=notes,
        fetched=run.fetched,
        bytes=run.bytes,
        urls=figures.urls,
        pages=figures.pages,
        reached=figures.reached,
        listed=survey.listed,
        inputs=Claims(db).accounts(),
        counts=found.counts(),
        states=figures.states,
        statuses=figures.statuses,
        depths=figures.depths,
        ages=figures.ages,
        inlinks=figures.inlinks,
        sections=figures.sections(survey.lost, survey.unlisted),
        exit_code=run.exit_code or (1 if visited.tally.internal_errors else 0),
    )


def _survey(
    plan: Plan,
    store: Store,
    db: sqlite3.Connection,
    graph: LinkGraph,
    same: dict[int, int],
    *,
    doubtful: bool,
) -> Survey:
    audit = plan.config.audit
    sitemaps = [each for each in Claims(db).accounts() if each.source is Source.SITEMAP]
    return Survey(
        store.db,
        graph,
        Knowledge(db),
        Thresholds(audit.max_clicks, audit.few_inlinks, audit.min_visits),
        copies=same,
        doubtful=doubtful,
        has_sitemap=any(each.used for each in sitemaps),
        is_listing_whole=all(each.complete for each in sitemaps),
    )


def _notes(plan: Plan, figures: Figures, passed_by: int) -> list[str]:
    """What a person should know who reads the findings."""
    notes = []
    if passed_by:
        notes.append(
            f"{passed_by:,} URLs that only sources know were not asked for, and nothing is said of them: raise "
            "--max-outside"
        )
    if traps := sum(bar.count for bar in figures.states if bar.label == State.TRAP):
        notes.append(f"{traps:,} URLs look like some of endlessly many and were not read")
    directory = plan.scope.directory
    if directory != f"{plan.scope.origin}/":
        notes.append(
            f"pages outside {directory} were not read: what only they link seems to be linked nowhere"
        )
    return notes


def _nothing(plan: Plan, store: Store, run: Run) -> NothingCrawlable:
    with storage():
        row = store.db.execute(
            "SELECT v.state, v.reason FROM visit v JOIN url u ON u.id = v.id WHERE u.url = ?", (plan.seed,)
        ).fetchone()
    state, reason = row or ("never met", "")
    error = NothingCrawlable(
        f"there is no page to audit: the start URL {plan.seed} ended as {state}{f' ({reason})' if reason else ''}"
    )
    store.give_up(error, run.started + run.seconds)
    return error


def _end(plan: Plan, store: Store, run: Run, observed: Observed, *, is_over: bool, degraded: bool) -> None:
    """Remember what was seen, so that the next audit asks for what changed. A run that was cut short goes on."""
    with change(store.db):
        if is_over:
            closing.learn(store.db, run.number, planning.source_key(plan), degraded=degraded)
            closing.tidy(store.db, run.number)
            Seen(store.db, run.number).learn(observed.habits, observed.distrust, observed.policy)
            run = replace(run, ended=run.started + run.seconds)
        Runs(store.db).write(run)
