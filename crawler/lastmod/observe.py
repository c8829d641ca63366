"""Observes each page of a run: whether it changed, what changed, and its lastmod."""

import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from crawler.lastmod.evidence import evidence_text
from crawler.lastmod.policy import LastmodPolicy, SourcedDate, date_of_known_page, date_of_new_page, why_distrusted
from crawler.lastmod.significance import ChangeHistory, SignificanceModel, build_significance_model
from crawler.lastmod.store import ObservationStore, PageObservation
from crawler.model import ResponseMetadata
from crawler.parse.snapshot.diff import Delta
from crawler.state.database import transaction
from crawler.state.runs import Run
from sitemap import BuildTime


@dataclass(frozen=True, slots=True)
class SiteObservation:
    """What a run observed of the whole site: its change history, and why its Last-Modified is distrusted, or "".

    ``policy`` is the one that gave the dates.
    """

    habits: Mapping[int, ChangeHistory]
    distrust: str
    policy: LastmodPolicy


def observe(db: sqlite3.Connection, run: Run, policy: LastmodPolicy, source_key: str) -> SiteObservation:
    """Mark the changed pages of a run and date all pages. Repeatable after a crash. Raises StorageError."""
    store = ObservationStore(db, run.number)
    with transaction(db):
        store.mark_all_unchanged()
        differs = next(store.deltas(), None) is not None
        sample = store.sample() if differs else ()  # only needed to compare; slow
        model = build_significance_model(store.change_history, lambda: (delta for _, delta in store.deltas()), sample)
        store.mark_changed(_change_texts(model, store.deltas()))
        distrust = store.distrust or why_distrusted(*store.stamps(source_key))
        is_other = store.policy not in ("", policy)
        builds = store.builds if policy == "observed" else []
        for pages in store.pages():
            known = (_for_policy(page, policy, is_other=is_other) for page in pages)
            store.store_dates(_with_dates(known, run.started, policy, builds, trusted=not distrust))
    return SiteObservation(model.change_history, distrust, policy)


def _change_texts(model: SignificanceModel, deltas: Iterable[tuple[int, Delta]]) -> Iterator[tuple[str, int]]:
    for number, delta in deltas:
        if differences := model.significant_changes(delta):
            yield evidence_text(differences), number


def _for_policy(page: PageObservation, policy: LastmodPolicy, *, is_other: bool) -> PageObservation:
    """The page as the policy sees it. When another policy gave its date (``is_other``), it counts as new.

    But ``observed`` keeps a date, which may be its own observation.
    """
    if is_other and (policy != "observed" or not (page.lastmod or page.changed)):
        return page._replace(before=None)
    return page


def _with_dates(
    pages: Iterable[PageObservation], now: float, policy: LastmodPolicy, builds: list[BuildTime], *, trusted: bool
) -> Iterator[tuple[str, str, int]]:
    for page in pages:
        sighting = ResponseMetadata(
            page.seen_at, header_date=page.header_date, page_date=page.page_date, page_date_source=page.page_date_source
        )
        if page.before is None:
            dated = date_of_new_page(sighting, policy, trusted, builds)
        else:
            before = SourcedDate(page.lastmod or "", page.lastmod_source or "")
            since = page.last_visit if page.changed else None
            dated = date_of_known_page(before, sighting, since, now, policy, trusted)
        yield dated.lastmod, dated.source, page.id
