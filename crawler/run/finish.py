"""The end of a run: what it saw is judged, gated, published and recorded, in an order that a crash at any point leaves
whole.

::

    observe | listing.fill | gate | place | write ─files are out─▶ changes, memory, published, run: one commit ─▶ feed

Until that commit the state is as if the run had just ended its visiting: the next start does all of it again, with the
run's own "now", and comes to the same bytes.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

import msgspec
from msgspec.structs import replace

from crawler.config.plan import CrawlPlan
from crawler.crawl.engine import RunEnd
from crawler.crawl.visit import VisitResult, changes_text, source_key
from crawler.errors import Incomplete
from crawler.lastmod.observe import SiteObservation, observe
from crawler.lastmod.store import ObservationStore
from crawler.publish import remember, write
from crawler.publish.change_feed import ChangeFeed, write_feeds
from crawler.publish.changes import Change, ChangeSample
from crawler.publish.completeness import completeness
from crawler.publish.entries import EntryBuilder, EntryCounts
from crawler.publish.gate import GateLimits, Refusal, refusal_of
from crawler.publish.gate_facts import gate_facts, read_coverage
from crawler.publish.listing import Listing
from crawler.publish.recent_feed import publish_recent_feed
from crawler.state.database import transaction
from crawler.state.runs import Completeness, CompletenessLevel, Run, RunsPage
from crawler.state.store import GENERATIONS_DIRECTORY, Store
from sitemap import DestinationError, Directory, Generations, Published, format_date

MAX_SHOWN_CHANGES: Final = 20  # changes of each kind that a summary may name


@dataclass(frozen=True, slots=True)
class FinishedRun:
    """What a run came to. ``published`` is None when nothing was, and ``run.refusal`` then says why."""

    run: Run
    completeness: Completeness
    tally: EntryCounts
    changes: tuple[Change, ...] = ()  # some of each kind
    published: Published | None = None


class RunFinisher:
    """Ends one run. ``destination`` is None for a dry run, which changes neither files nor what is remembered."""

    def __init__(self, plan: CrawlPlan, store: Store, destination: Directory | None) -> None:
        self._plan = plan
        self._store = store
        self._destination = destination
        self._listing = Listing(store.db)
        self._tally = EntryCounts()
        self._entries = EntryBuilder(
            plan.config.content, plan.config.output, self._listing.verdict_of, self._tally
        )

    def finish(self, visited: VisitResult, *, accept_shrink: bool = False) -> FinishedRun:
        """Judge, publish, record. Raises UsageError, StorageError, sitemap.DestinationError; nothing is lost then."""
        db, output = self._store.db, self._plan.config.output
        is_complete = visited.ending is RunEnd.COMPLETE
        judged = completeness(
            read_coverage(db, "" if is_complete else visited.ending.value, self._store.run.started)
        )
        run = replace(changes_text(self._store.run, visited, judged), outcome="", refusal="")
        policy = self._plan.config.content.lastmod
        observed = observe(db, self._store.run, policy, source_key(self._plan))
        run = replace(run, notes=[*visited.notes, *filter(None, [observed.distrust])])
        if not is_complete and not output.partial:
            return self._finish_cut_short(run, judged, visited.ending)
        self._listing.rebuild(complete=is_complete, grace=output.keep_failed, degraded=_is_degraded(judged))
        allowed = GateLimits(output.max_failed, output.max_shrink, accept_shrink)
        if refused := refusal_of(gate_facts(db, self._plan.seed), allowed):
            code = refused.exit_code if is_complete else Incomplete.exit_code
            return self._finish_refused(run, judged, Refusal(refused.sentence, code))
        write.assign_shards(self._plan, self._listing, self._entries, self._tally)
        notes = [*run.notes, *write.build_date_note(self._listing, policy)]
        run = replace(run, listed=len(self._listing), kept=self._listing.kept_count, notes=notes)
        if self._destination is None:
            return self._finish_dry_run(run, judged)
        today = format_date(datetime.fromtimestamp(run.started, UTC).date())
        before = RunsPage(db).published()
        former = [file.name for file in before.files] if before else []
        published = write.write_sitemap(
            self._plan, self._listing, self._entries, self._destination, today, former
        )
        run = replace(run, notes=[*run.notes, *write.moved_note(before, published)])
        if not is_complete:
            return self._finish_partial(run, judged, published)
        return self._record(run, judged, published, observed)

    def _finish_cut_short(self, run: Run, judged: Completeness, ending: RunEnd) -> FinishedRun:
        """Not the gate's word: there is no set yet that it could look at."""
        outcome = "interrupted" if ending is RunEnd.INTERRUPTED else "cut short"
        why = f"{ending}; run again to go on, the sitemap stays as it was"
        run = replace(run, outcome=outcome, refusal=why, exit_code=Incomplete.exit_code)
        return self._end(run, judged, is_over=False)

    def _finish_refused(self, run: Run, judged: Completeness, why: Refusal) -> FinishedRun:
        """Keep the record and nothing else: what such a run saw is no ground for what the next one decides."""
        run = replace(run, outcome="refused", refusal=why.sentence, exit_code=why.exit_code)
        return self._end(run, judged, is_over=why.exit_code != Incomplete.exit_code)

    def _finish_dry_run(self, run: Run, judged: Completeness) -> FinishedRun:
        write.count_entries(self._listing, self._entries)
        changes = ChangeSample(ChangeFeed(self._store.db).pending(run.number), MAX_SHOWN_CHANGES)
        shown = tuple(changes)
        counts = msgspec.structs.asdict(changes.counts)
        run = replace(run, outcome="dry", refusal="this was a dry run", exit_code=0, **counts)
        # what an earlier process began is not thrown away by a look at it
        return self._end(run, judged, is_over=not self._store.resumed, shown=shown)

    def _finish_partial(self, run: Run, judged: Completeness, published: Published) -> FinishedRun:
        """Files only: the run goes on, and what it will change is told when it has ended."""
        run = replace(
            run, outcome="partial", exit_code=Incomplete.exit_code, files=write.published_files(published)
        )
        return self._end(run, judged, is_over=False, published=published)

    def _record(
        self, run: Run, judged: Completeness, published: Published, observed: SiteObservation
    ) -> FinishedRun:
        db, changes = self._store.db, ChangeFeed(self._store.db)
        with transaction(db):
            counts = changes.record(run.number)
            remember.store_visits(db, run.number, source_key(self._plan), degraded=_is_degraded(judged))
            moved = self._listing.differs
            remember.store_published(db, run.number)
            ObservationStore(db, run.number).store_site(observed.habits, observed.distrust, observed.policy)
            run = replace(
                run,
                outcome="published" if counts.total or moved else "unchanged",
                exit_code=0,
                files=write.published_files(published),
                notes=[*run.notes, *self._publish_recent()],
                **msgspec.structs.asdict(counts),
            )
            shown = (
                ()
                if self._store.is_first
                else tuple(ChangeSample(changes.of_run(run.number), MAX_SHOWN_CHANGES))
            )
            ended = self._end(run, judged, is_over=True, shown=shown, published=published)
            changes.forget(run.number, self._plan.config.state.keep_runs)
        write_feeds(changes, self._store.directory)
        self._store_generation(published, run.number)
        return ended

    def _publish_recent(self) -> list[str]:
        """Publish the feed beside the sitemap. That it cannot be is a note: the sitemap itself is out there."""
        try:
            if self._destination is not None:
                publish_recent_feed(self._store.db, self._plan, self._destination)
        except DestinationError as error:
            return [f"the feed of recent changes was not published: {error}"]
        return []

    def _store_generation(self, published: Published, number: int) -> None:
        """Keep a copy of the set, to go back to, unless it is the one that was kept last."""
        if self._destination is None:
            return
        kept = Generations(
            self._store.directory / GENERATIONS_DIRECTORY, self._plan.config.output.generations
        )
        last = kept.numbers()[-1:]
        if not last or kept.published(last[0]) != published:
            kept.keep(published, self._destination, number)

    def _end(
        self,
        run: Run,
        judged: Completeness,
        *,
        is_over: bool,
        shown: tuple[Change, ...] = (),
        published: Published | None = None,
    ) -> FinishedRun:
        run = replace(
            run, notes=[*run.notes, *self._tally.notes], ended=run.started + run.seconds if is_over else None
        )
        RunsPage(self._store.db).write(run)
        return FinishedRun(run, judged, self._tally, shown, published)


def _is_degraded(judged: Completeness) -> bool:
    return judged.kind is not CompletenessLevel.COMPLETE
