"""Observes each page of a run: whether it changed, what changed, and its lastmod."""

import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from crawler.config.config import Config
from crawler.errors import UsageError
from crawler.lastmod.changes import is_turned_over
from crawler.lastmod.memory import SiteMemory
from crawler.lastmod.policy import (
    NO_DATE,
    OBSERVING_POLICIES,
    LastmodPolicy,
    SourcedDate,
    date_of_known_page,
    date_of_new_page,
    schema_form,
    why_distrusted,
)
from crawler.lastmod.significance import Judgement, SignificanceModel, build_significance_model
from crawler.lastmod.store import ObservationStore, PageObservation
from crawler.lastmod.variation import choose_second_reads
from crawler.model import ResponseMetadata, Url
from crawler.parse.snapshot.diff import Delta, discounted_text, evidence_text
from crawler.plugins import Plugin, PluginError, PluginKind, load_plugins
from crawler.state.database import transaction
from crawler.state.runs import Run, RunStore
from crawler.units import w3c
from sitemap import BuildTime

CommitDates = Callable[[list[tuple[int, Url]]], tuple[Mapping[int, SourcedDate], tuple[str, ...]]]
"""Dates pages, pairs of an id and a URL, by a repository: the dates by id, with notes."""

_CLOCK_NOTE: Final = (
    "the clock of this machine says {}, but the last run was at {}, so this run dates no page and leaves "
    "its changes to the next run. One of the two is wrong: correct the clock of that machine"
)
_KEPT_NOTE: Final = (
    "pages that an earlier run dated keep that date until they change. To take the dates of all pages from the new "
    "source, run once with --fresh"
)


@dataclass(frozen=True, slots=True)
class SiteObservation:
    """What a run observed of the whole site. ``distrust`` says why its Last-Modified is distrusted, or is "".

    ``memory`` is what it learnt of changes, None for nothing. ``policy`` is the one that gave the dates. ``notes`` are
    for the summary. ``is_behind``: the clock is behind the last run, so its changes are left to the next run.
    """

    memory: SiteMemory | None
    distrust: str
    policy: LastmodPolicy
    notes: tuple[str, ...]
    is_behind: bool


def observe(
    db: sqlite3.Connection,
    run: Run,
    policy: LastmodPolicy,
    source_key: str,
    commits: CommitDates | None = None,
    *,
    accepts_held: bool = False,
) -> SiteObservation:
    """Mark the changed pages of a run and date all pages. Repeatable after a crash. Raises StorageError.

    ``accepts_held``: a person accepts what the gate held, so what differs on these pages is a change.
    ``commits`` dates pages by the repository of the site. The policy ``none`` observes too: it only publishes no date.
    """
    store = ObservationStore(db, run.number)
    policy = "observed" if policy == "none" else policy
    last = next(iter(RunStore(db).last(1, before=run.number)), run)
    is_behind = run.started < last.started
    clock_note = _CLOCK_NOTE.format(w3c(run.started), w3c(last.started)) if is_behind else ""
    with transaction(db):
        store.mark_all_unchanged()
        memory = None
        turned: Iterable[int] = ()
        if _differs(store):
            model = Comparison(store, run.number).model()
            accepted = store.held() if accepts_held else frozenset()
            store.mark_judged(_judged(model, store.deltas(copies=True), accepted))
            turned = [n for n, delta in store.deltas() if is_turned_over(delta)] if model.is_landslide else ()
            memory = model.learn()
        store.mark_landslide(turned)
        known_distrust = store.distrust
        distrust = known_distrust or why_distrusted(*store.stamps(source_key))
        is_other = store.policy not in ("", policy)
        builds = store.builds if policy in OBSERVING_POLICIES else []
        dates, notes = commits(store.urls()) if commits else ({}, ())
        if dates and is_other:
            notes = (*notes, _KEPT_NOTE)
        late, moved = store.late(), {} if is_other or policy not in OBSERVING_POLICIES else store.moved()
        for pages in store.pages():
            known = (_for_policy(page, policy, is_other=is_other) for page in pages)
            now = None if is_behind else run.started
            store.store_dates(_with_dates(known, now, policy, builds, dates, late, moved, trusted=not distrust))
    news = "" if known_distrust else distrust  # its figures are those of the run that found it
    return SiteObservation(memory, distrust, policy, tuple(filter(None, [news, clock_note, *notes])), is_behind)


def commit_dates(config: Config, start: Url) -> CommitDates | None:
    """What dates the pages of a site by its repository or by plug-ins; None unless the configuration wants it.

    Raises UsageError.
    """
    content = config.content
    if content.lastmod == "plugin":
        if plugins := load_plugins(config, PluginKind.LASTMOD):
            return partial(_plugin_dates, plugins)
        raise UsageError("content.lastmod is plugin, but no table [plugins.NAME] has a plug-in for it (lastmod)")
    if content.lastmod != "git":
        return None
    from crawler.lastmod.git import Repository  # noqa: PLC0415 - few sites need it

    return partial(Repository(content).page_dates, start=start)


def _plugin_dates(
    plugins: Sequence[Plugin], pages: list[tuple[int, Url]]
) -> tuple[Mapping[int, SourcedDate], tuple[str, ...]]:
    """The dates that plug-ins know, of several the first, and why others gave none."""
    dates: dict[int, SourcedDate] = {}
    notes = []
    for plugin in plugins:
        try:
            with plugin.guarded() as source:
                given = {url: str(date) for url, date in source.dates([url for _, url in pages]).items()}
        except PluginError as error:
            notes.append(f"{error}, so it dates no page")
            continue
        read = {url: schema_form(date, time.time()) for url, date in given.items()}
        for number, url in pages:
            if date := read.get(url):
                dates.setdefault(number, SourcedDate(date, f"plug-in {plugin.name}"))
        if bad := [given[url] for url, date in read.items() if not date]:
            notes.append(
                f"the plug-in {plugin.name} gave {bad[0]!r}, which is no past date in W3C form, so it is ignored"
            )
    return dates, tuple(notes)


class Comparison:
    """The comparison of one run with the run before. It reads the state once; more second reads may follow."""

    def __init__(self, store: ObservationStore, run: int) -> None:
        self._store = store
        self._model = build_significance_model(
            store.memory(), store.deltas, store.compared(), store.sample, run=run, translated=store.translated
        )

    def model(self) -> SignificanceModel:
        """The model of the run, with the second reads so far."""
        self._model.set_reads(self._store.second_reads())
        return self._model


def pages_to_read_again(db: sqlite3.Connection, run: int, limit: int) -> Iterator[list[int]]:
    """The ids of the pages to read again, in rounds, at most ``limit`` in all. Raises StorageError.

    The second reads of a round must be stored before the next round is asked for.
    """
    store = ObservationStore(db, run)
    if not limit or not _differs(store):
        return
    comparison = Comparison(store, run)
    reads = Counter(store.tried_again())
    while True:
        model = comparison.model()
        judged = ((page, model.judge(page, delta).significant) for page, delta in store.deltas())
        chosen = choose_second_reads(judged, reads, limit - reads.total())
        if not chosen:
            return
        reads.update(chosen)
        yield chosen


def _differs(store: ObservationStore) -> bool:
    return next(store.deltas(copies=True), None) is not None


def _judged(
    model: SignificanceModel, deltas: Iterable[tuple[int, Delta]], accepted: Container[int]
) -> Iterator[tuple[bool, str, str, int]]:
    for number, delta in deltas:
        judgement = Judgement(delta.differences, []) if number in accepted else model.judge(number, delta)
        yield (
            bool(judgement.significant),
            evidence_text(judgement.significant),
            discounted_text(judgement.discounted),
            number,
        )


def _for_policy(page: PageObservation, policy: LastmodPolicy, *, is_other: bool) -> PageObservation:
    """The page as the policy sees it. When another policy gave its date (``is_other``), it counts as new.

    But policies that observe keep a date, which may be an observation.
    """
    if is_other and (policy not in OBSERVING_POLICIES or not (page.lastmod or page.changed)):
        return page._replace(before=None)
    return page


def _with_dates(  # noqa: PLR0913 - the evidence
    pages: Iterable[PageObservation],
    now: float | None,
    policy: LastmodPolicy,
    builds: list[BuildTime],
    commits: Mapping[int, SourcedDate],
    late: Mapping[int, float],
    moved: Mapping[int, SourcedDate],
    *,
    trusted: bool,
) -> Iterator[tuple[str, str, int]]:
    """The dates of the pages; without ``now`` (the clock is wrong) those that they had.

    ``late`` has the time of the earlier run that would have seen a change, if it had asked for the page, ``moved`` the
    date of the page that moved there.
    """
    for page in pages:
        sighting = ResponseMetadata(
            page.seen_at, header_date=page.header_date, page_date=page.page_date, page_date_source=page.page_date_source
        )
        before = SourcedDate(page.lastmod or "", page.lastmod_source or "")
        commit = commits.get(page.id, NO_DATE)
        if now is None:
            dated = before
        elif page.before is None and page.id in moved:
            dated = moved[page.id]
        elif page.before is None:
            dated = date_of_new_page(sighting, policy, trusted, builds, commit)
        else:
            since = page.last_visit if page.changed else None
            dated = date_of_known_page(before, sighting, since, late.get(page.id, now), policy, trusted, commit)
        yield dated.lastmod, dated.source, page.id
