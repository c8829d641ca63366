"""What a run observed of each page: whether it changed, what changed, and the date that is told of it.

::

    seen.deltas | survey | seen.mark | seen.stamps | lastmod | seen.date
"""

import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from crawler.lastmod import policy as lastmod
from crawler.lastmod.policy import SourcedDate
from crawler.lastmod.significance import ChangeHistory, SignificanceModel, build_significance_model
from crawler.lastmod.store import ObservationStore, PageObservation
from crawler.model import ResponseMetadata
from crawler.parse.snapshot.diff import Delta
from crawler.state.database import transaction
from crawler.state.runs import Run

MAX_EVIDENCE: Final = 3  # differences that are told of a page


@dataclass(frozen=True, slots=True)
class SiteObservation:
    """What a run learnt about the site as a whole: its habits, and why its Last-Modified is distrusted, or "".

    ``policy`` is that by which the dates were chosen.
    """

    habits: Mapping[int, ChangeHistory]
    distrust: str
    policy: lastmod.LastmodPolicy


def observe(
    db: sqlite3.Connection, run: Run, policy: lastmod.LastmodPolicy, source_key: str
) -> SiteObservation:
    """Judge all pages of a run and date them; once more after a crash, with the same result. Raises StorageError."""
    seen = ObservationStore(db, run.number)
    with transaction(db):
        seen.mark_all_unchanged()
        differs = next(seen.deltas(), None) is not None
        sample = seen.sample() if differs else ()  # taking pages apart is dear, and for nothing here
        judged = build_significance_model(
            seen.change_history, lambda: (delta for _, delta in seen.deltas()), sample
        )
        seen.mark_changed(_change_texts(judged, seen.deltas()))
        distrust = seen.distrust or lastmod.why_distrusted(*seen.stamps(source_key))
        is_other = seen.policy not in ("", policy)
        for pages in seen.pages():
            known = (_for_policy(page, policy, is_other=is_other) for page in pages)
            seen.store_dates(_with_dates(known, run.started, policy, trusted=not distrust))
    return SiteObservation(judged.change_history, distrust, policy)


def _change_texts(
    judged: SignificanceModel, deltas: Iterable[tuple[int, Delta]]
) -> Iterator[tuple[str, int]]:
    for number, delta in deltas:
        if differences := judged.significant_changes(delta):
            said = [f"{'-' if each.gone else '+'} {each.text}" for each in differences if each.text]
            more = f"; {len(said) - MAX_EVIDENCE:,} more" if len(said) > MAX_EVIDENCE else ""
            yield "; ".join(said[:MAX_EVIDENCE]) + more, number


def _for_policy(page: PageObservation, policy: lastmod.LastmodPolicy, *, is_other: bool) -> PageObservation:
    """A page as the policy is to know it. The dates of one that ``is_other`` are no ground to go on from.

    But ``observed`` keeps them, for they may be observations of its own; only what has none is as never seen.
    """
    if is_other and (policy != "observed" or not (page.lastmod or page.changed)):
        return page._replace(before=None)
    return page


def _with_dates(
    pages: Iterable[PageObservation], now: float, policy: lastmod.LastmodPolicy, *, trusted: bool
) -> Iterator[tuple[str, str, int]]:
    for page in pages:
        sighting = ResponseMetadata(
            page.seen_at,
            header_date=page.header_date,
            page_date=page.page_date,
            page_date_source=page.page_date_source,
        )
        if page.before is None:
            dated = lastmod.date_of_new_page(sighting, policy, trusted)
        else:
            before = SourcedDate(page.lastmod or "", page.lastmod_source or "")
            since = page.last_visit if page.changed else None
            dated = lastmod.date_of_known_page(before, sighting, since, now, policy, trusted)
        yield dated.lastmod, dated.source, page.id
