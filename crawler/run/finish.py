"""Finishes a run: observes, gates, publishes and records it, in an order that survives a crash at any point.

::

    observe | listing | gate | shards | write ─files live─▶ changes, memory, published, run: one commit ─▶ feed

Until that commit the state is as if visiting had just ended: the next start repeats every step with the run's own
"now" and produces the same bytes.
"""

from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import msgspec
from msgspec.structs import replace

from crawler.config.plan import CrawlPlan
from crawler.crawl.assembly import source_key
from crawler.crawl.engine import FinishReason
from crawler.crawl.recheck import Recheck, is_partial
from crawler.crawl.set_ups import find_set_up
from crawler.crawl.visit import VisitResult, with_counts
from crawler.dataset.history import record as record_history
from crawler.errors import DamagedFile, Incomplete, PublishRefused, StorageError
from crawler.lastmod.observe import CommitDates, SiteObservation, observe
from crawler.lastmod.store import ObservationStore
from crawler.model import Url
from crawler.moves import register
from crawler.publish import store as publish_store
from crawler.publish import write
from crawler.publish.change_feed import ChangeFeed, write_feeds
from crawler.publish.changes import Change, ChangeSample
from crawler.publish.completeness import completeness
from crawler.publish.entries import EntryBuilder, EntryCounts, find_site_images
from crawler.publish.gate import GateLimits, Hold, Refusal, accepted_note, challenge_note, judge
from crawler.publish.gate_facts import challenged_pages, gate_facts, read_coverage
from crawler.publish.listing import Listing
from crawler.publish.other_formats import begin_formats, publish_formats
from crawler.publish.recent_feed import publish_recent_feed
from crawler.publish.store import AcceptAfter, record_losses
from crawler.state.database import transaction
from crawler.state.runs import DRY, PARTIAL, ROLLED_BACK, Completeness, CompletenessLevel, PublishedFile, Run, RunStore
from crawler.state.store import Store, read_about, write_about
from sitemap import DestinationError, Directory, Published, format_date

_NAMED_KEY: Final = "named_in_robots"
_AFTER_ROLLBACK_NOTE: Final = (
    "the changes of this run are counted from the rollback. Notifications count from the run that they told last"
)
_GIT_NOTE: Final = "--lastmod git dates the pages that a generator makes from files in Git: siteatlas manual lastmod"
MAX_SHOWN_CHANGES: Final = 20  # changes of each kind in a summary


@dataclass(frozen=True, slots=True)
class FinishedRun:
    """Result of a run. ``published`` is None when nothing was published, and ``run.refusal`` then says why.

    ``held`` counts the pages that the gate holds; ``run.refusal`` says why these are held.
    """

    run: Run
    completeness: Completeness
    tally: EntryCounts
    changes: tuple[Change, ...] = ()  # some of each kind
    published: Published | None = None
    held: int = 0


class RunFinisher:
    """Finishes one run. ``destination`` is None for a dry run, which changes neither files nor memory.

    ``commits`` dates the pages by the repository of the site, None without one. ``recheck`` chose what the run
    asked for, None when it asked for all. ``news`` are the notes that a person should know once, also of a quiet run.
    """

    def __init__(
        self,
        plan: CrawlPlan,
        store: Store,
        destination: Directory | None,
        commits: CommitDates | None,
        recheck: Recheck | None = None,
    ) -> None:
        self._recheck = recheck
        self._commits = commits
        self._plan = plan
        self._store = store
        self._destination = destination
        self._digests = write.PublishedDigests(store.db, plan.output)
        self._listing = Listing(store.db)
        self._named: Collection[Url] | None = None
        self.news: list[str] = []
        self._tally = EntryCounts()
        self._entries = EntryBuilder(plan.config.content, plan.config.output, self._listing.verdict_of, self._tally)

    def finish(self, visited: VisitResult, *, accept_shrink: bool = False) -> FinishedRun | None:
        """Decide, publish, record. The run can be resumed after UsageError, StorageError, sitemap.DestinationError.

        None when the gate objects to a run that did not ask for all pages: it must ask for them, to be judged.
        """
        db, output = self._store.db, self._plan.config.output
        is_complete = visited.ending is FinishReason.COMPLETE
        verdict = completeness(read_coverage(db, visited.stopped, self._store.run.started))
        run = replace(with_counts(self._store.run, visited, verdict), outcome="", refusal="", exit_code=0)
        self._named = visited.sitemaps
        policy = self._plan.config.content.lastmod
        source = source_key(self._plan)
        observation = observe(db, self._store.run, policy, source, self._commits, accepts_held=accept_shrink)
        challenges = challenge_note(challenged_pages(db), self._plan.config.fetch.user_agent)
        run = replace(run, notes=[*visited.notes, *observation.notes, *filter(None, [challenges])])
        if not is_complete and not output.partial:
            return self._finish_cut_short(run, verdict, visited)
        self._listing.rebuild(complete=is_complete, grace=output.keep_failed, degraded=_is_degraded(verdict))
        judged, accepted = self._judge(run.started, accept_shrink=accept_shrink)
        run = replace(run, notes=[*filter(None, [accepted]), *run.notes])
        if judged and is_complete and is_partial(db):
            return None
        if isinstance(judged, Refusal):
            return self._finish_refused(run, verdict, judged, is_over=is_complete)
        if judged:
            self._listing.hold(judged)
            run = replace(run, refusal=judged.sentence, exit_code=PublishRefused.exit_code)
        if policy == "none":
            self._listing.drop_dates()
        self._find_site_images()
        write.assign_shards(self._plan, self._listing, self._entries, self._tally)
        listing_notes = (write.lost_dates_note, write.disbelieved_note, write.build_date_note)
        notes = [*run.notes, *self._told_once(verdict, policy)]
        notes += (text for note in listing_notes for text in note(self._listing, policy))
        run = replace(run, listed=len(self._listing), kept=self._listing.kept_count, notes=notes)
        if self._destination is None:
            return self._finish_dry_run(run, verdict)
        today = format_date(datetime.fromtimestamp(run.started, UTC).date())
        previous = RunStore(db).published()
        former_names = [file.name for file in previous.files] if previous else []
        run = replace(run, notes=[*run.notes, *self._file_notes(self._destination.path)])
        with transaction(db):
            self._digests.begin()
            begin_formats(db, self._plan)
        published = write.write_sitemap(
            self._plan, self._listing, self._entries, self._destination, today, former_names
        )
        after_rollback = [_AFTER_ROLLBACK_NOTE] if previous and previous.outcome == ROLLED_BACK else []
        run = replace(run, notes=[*run.notes, *after_rollback, *write.moved_note(previous, published)])
        try:
            if not is_complete:
                return self._finish_partial(run, verdict, published)
            return self._record(run, verdict, published, observation)
        except DamagedFile:
            raise
        except (StorageError, DestinationError, OSError) as error:
            return self._finish_unrecorded(run, verdict, published, error)

    def _told_once(self, verdict: Completeness, policy: str) -> list[str]:
        """The notes on listed pages that no earlier run told; ``policy`` made their dates."""
        notes = {"copies": write.copies_note(self._listing), "undated": write.undated_note(self._listing, policy)}
        lacks = bool(self._plan.config.fetch.source) and policy in {"observed", "header", "page"}
        if lacks and (notes["undated"][0] or self._listing.disbelieved(policy)):
            from crawler.lastmod.git import dates_pages  # noqa: PLC0415 - few sites need it

            notes["git"] = int(dates_pages(self._plan.config.content)), _GIT_NOTE
        if not _is_degraded(verdict):  # else pages that were not read may link there
            notes["unlinked"] = write.unlinked_note(self._listing)
        return [note for kind, (count, note) in notes.items() if not self._digests.is_told(kind, count)]

    def _robots_note(self) -> list[str]:
        """That robots.txt does not name the sitemap any more, as it did in the last run."""
        before, named = read_about(self._store.db, _NAMED_KEY), self._named
        note = f"robots.txt does not name {before} any more: search engines look there for the sitemap"
        note += ". If a deploy replaces robots.txt, add the line there (siteatlas robots shows how)"
        return [note] if before and named is not None and before not in named else []

    def _file_notes(self, directory: Path) -> list[str]:
        """What somebody else did to the files that were published in a directory, or to the rest of the site."""
        made = None
        with suppress(OSError):
            made = find_set_up((directory / "index.html").read_bytes())
        changed = (
            self._digests.changed_note(made.name, made.page, made.writes) if made else self._digests.changed_note()
        )
        news = [*self._digests.directory_note(), *self._robots_note(), *write.lost_links_note(self._listing)]
        notes = [*news, *changed]
        self.news = news
        if self._plan.config.fetch.source:  # whose build empties its folder
            return notes
        deleted, is_told = self._digests.deleted_note()
        if not is_told:
            self.news = [*news, deleted]
        return [*notes, *filter(None, [deleted])]

    def _judge(self, now: float, *, accept_shrink: bool) -> tuple[Refusal | Hold | None, str]:
        """What the gate does with the listing, and a note on what a person accepts of it, or ""."""
        config = self._plan.config
        output = config.output
        limits = GateLimits(
            output.max_failed,
            output.max_shrink,
            accept_shrink,
            output.accept_after,
            config.fetch.user_agent,
            is_build=self._plan.is_of_folder,
        )
        after = AcceptAfter(output.accept_after, now)
        facts = gate_facts(self._store.db, self._plan.seed, output.max_shrink, after)
        judged = judge(facts, limits)
        return judged, "" if isinstance(judged, Refusal) else accepted_note(facts, limits)

    def _find_site_images(self) -> None:
        """Tell the entries which images belong to the site."""
        content, entries, start = self._plan.config.content, self._entries, self._plan.seed
        if content.images and content.max_image_share < 1:
            entries.site_images = find_site_images(
                self._listing.image_sample(), self._listing.site_images, content.max_image_share
            )
        verdict = self._listing.verdict_of(start)
        entries.start = (verdict and verdict.target) or start

    def _finish_cut_short(self, run: Run, verdict: Completeness, visited: VisitResult) -> FinishedRun:
        """The gate does not decide here: there is no new set yet."""
        outcome = "interrupted" if visited.ending is FinishReason.INTERRUPTED else "cut short"
        reason = f"{visited.stopped}; run again to continue{self._gone() or '; the sitemap is unchanged'}"
        run = replace(run, outcome=outcome, refusal=reason, exit_code=Incomplete.exit_code)
        return self._end(run, verdict, is_over=False)

    def _gone(self) -> str:
        """What the end of a run says of an earlier sitemap that is gone; "" if it is not."""
        return "" if self._store.is_first else write.restore_gone(self._plan, may_write=self._destination is not None)

    def _finish_refused(self, run: Run, verdict: Completeness, refusal: Refusal, *, is_over: bool) -> FinishedRun:
        """Store the record, and how long the losses stand: the next run must not build on what a refused run saw."""
        code = refusal.exit_code if is_over else Incomplete.exit_code
        outcome = DRY if self._destination is None else "refused"
        run = replace(run, outcome=outcome, refusal=f"{refusal.sentence}{self._gone()}", exit_code=code)
        with transaction(self._store.db):
            self._record_history(run, is_over=is_over)
            may_hold = not self._plan.is_of_folder  # else no later run holds what this one lost
            if refusal.kinds and may_hold and is_over and self._destination is not None:
                record_losses(self._store.db, run.started, refusal.kinds)
            return self._end(run, verdict, is_over=is_over)

    def _finish_dry_run(self, run: Run, verdict: Completeness) -> FinishedRun:
        write.count_entries(self._listing, self._entries)
        changes = ChangeSample(ChangeFeed(self._store.db).pending(run.number), MAX_SHOWN_CHANGES)
        sample = tuple(changes)
        counts = msgspec.structs.asdict(changes.counts)
        reason = "; ".join(filter(None, ("this was a dry run", run.refusal)))
        run = replace(run, outcome=DRY, refusal=reason, **counts)
        is_over = not self._store.resumed  # a dry run does not discard the run that an earlier process began
        with transaction(self._store.db):
            self._record_history(run, is_over=is_over and verdict.kind is not CompletenessLevel.TRUNCATED)
            return self._end(run, verdict, is_over=is_over, sample=sample)

    def _finish_partial(self, run: Run, verdict: Completeness, published: Published) -> FinishedRun:
        """Write files only: the run stays open, and its changes are recorded when it ends."""
        run = replace(run, outcome=PARTIAL, exit_code=Incomplete.exit_code, files=write.published_files(published))
        with transaction(self._store.db):
            self._digests.store(file.name for file in published.files)
            return self._end(run, verdict, is_over=False, published=published)

    def _finish_unrecorded(
        self, run: Run, verdict: Completeness, published: Published, error: Exception
    ) -> FinishedRun:
        """Record what failed after the files were live. The run stays open unless its record was complete."""
        recorded = RunStore(self._store.db).get(run.number)
        if recorded.is_open:
            recorded = replace(run, outcome=PARTIAL, files=write.published_files(published))
        reasons = [run.refusal, f"the sitemap is published, but not all of this run could be stored: {error}"]
        recorded = replace(recorded, refusal="; ".join(filter(None, reasons)), exit_code=StorageError.exit_code)
        RunStore(self._store.db).write(recorded)
        return FinishedRun(recorded, verdict, self._tally, (), published, self._listing.held_count)

    def _record(
        self, run: Run, verdict: Completeness, published: Published, observation: SiteObservation
    ) -> FinishedRun:
        db, changes = self._store.db, ChangeFeed(self._store.db)
        with transaction(db):
            counts = changes.record(run.number)
            self._record_history(run, is_over=True)
            recheck_notes = self._recheck.record(db, run) if self._recheck and not observation.is_behind else []
            if not observation.is_behind:
                publish_store.store_visits(db, run.number, source_key(self._plan), degraded=_is_degraded(verdict))
            has_new_dates = self._listing.differs
            record_losses(db, run.started)
            publish_store.store_published(db, run.number)
            register.record(db, run.started)
            self._listing.store_site_images(self._entries.site_images)
            if self._named is not None:
                write_about(db, _NAMED_KEY, published.url if published.url in self._named else "")
            if not (run.refusal or observation.is_behind):  # such a night teaches nothing about what usually changes
                site = observation.memory, observation.distrust, observation.policy
                ObservationStore(db, run.number).store_site(*site)
            formats, format_notes = self._publish_formats(published)
            run = replace(
                run,
                outcome="published" if counts.total or has_new_dates else "unchanged",
                files=write.published_files(published),
                other_formats=formats,
                notes=[*run.notes, *format_notes, *recheck_notes, *self._publish_recent()],
                **msgspec.structs.asdict(counts),
            )
            sample = () if self._store.is_first else tuple(ChangeSample(changes.of_run(run.number), MAX_SHOWN_CHANGES))
            self._digests.store(file.name for file in published.files)
            ended = self._end(run, verdict, is_over=True, sample=sample, published=published)
            changes.forget(run.number, self._plan.config.state.keep_runs)
        write_feeds(changes, self._store.directory)
        self._store_generation(published, run.number)
        return ended

    def _record_history(self, run: Run, *, is_over: bool) -> None:
        if is_over:
            record_history(self._store.db, run.number, self._plan.config.state.keep_history)

    def _publish_formats(self, published: Published) -> tuple[list[PublishedFile], list[str]]:
        """Publish the set in other formats. Returns files and notes."""
        previous = RunStore(self._store.db).published()
        former = previous.other_formats if previous else []
        if self._destination is None:
            return former, []
        return publish_formats(self._store.db, self._plan, self._destination, published.url, former)

    def _publish_recent(self) -> list[str]:
        """Publish the feed beside the sitemap. A failure is a note: the sitemap itself is live."""
        try:
            if self._destination is not None:
                publish_recent_feed(self._store.db, self._plan, self._destination)
        except DestinationError as error:
            return [f"the feed of recent changes was not published: {error}"]
        return []

    def _store_generation(self, published: Published, number: int) -> None:
        """Keep a copy of the set for a rollback, unless the newest copy is the same set."""
        if self._destination is None:
            return
        generations = write.copies(self._plan)
        newest = generations.numbers()[-1:]
        if not newest or generations.published(newest[0]) != published:
            generations.keep(published, self._destination, number)

    def _end(
        self,
        run: Run,
        verdict: Completeness,
        *,
        is_over: bool,
        sample: tuple[Change, ...] = (),
        published: Published | None = None,
    ) -> FinishedRun:
        notes = [*run.notes, *self._tally.notes]
        run = replace(run, notes=notes, ended=self._store.end_of(run) if is_over else None)
        RunStore(self._store.db).write(run)
        return FinishedRun(run, verdict, self._tally, sample, published, self._listing.held_count)


def _is_degraded(verdict: Completeness) -> bool:
    return verdict.kind not in (CompletenessLevel.COMPLETE, CompletenessLevel.CARRIED)
