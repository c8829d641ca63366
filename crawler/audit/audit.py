"""One audit from its plan to its report: the composition root.

::

    check | store | gather sources | base crawl | visit by links, then what only the sources know | conclude | report
"""

import sqlite3
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import anyio
from msgspec import structs

from crawler.audit import collect
from crawler.audit.base_crawl import BaseCrawl, base_crawl, begin_settings
from crawler.audit.compare.compare import Comparing
from crawler.audit.conclude import Conclusion
from crawler.audit.evidence import schema
from crawler.audit.evidence.entries import Entries
from crawler.audit.evidence.store import Found
from crawler.audit.evidence.url_matching import Homes
from crawler.audit.evidence.visits import Visits
from crawler.audit.finding import AuditFindings, AuditReport
from crawler.audit.host_aliases import MAX_DOORS, ask_doors
from crawler.audit.media import CheckedMedia, check_media
from crawler.audit.second_crawl import Outside, Start
from crawler.audit.summary import news_of
from crawler.config import fetcher as fetching
from crawler.config.deprecated import KEYS
from crawler.config.plan import Plan
from crawler.crawl.engine import Ending, Watch
from crawler.crawl.frontier.sqlite import SqliteFrontier
from crawler.crawl.visit import Clock, Visited, frontier, reach, rulebook, visit
from crawler.errors import NothingCrawlable, StorageError, alone
from crawler.state.migrations import STATE
from crawler.state.store import Begin, Store
from crawler.url.normalize import origin
from crawler.url.scope import doors

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Watches:
    """Who is told how far things are: the crawl, the reading of sources, and which part of the audit has begun."""

    crawl: Watch
    reading: collect.OnReading
    part: Callable[[str], object] = lambda _: None


@contextmanager
def audit(
    plan: Plan,
    watches: Watches,
    *,
    begin: Begin = Begin.GO_ON,
    loop: dict[str, Any] | None = None,
    clock: Clock = time.time,
    write: Callable[[AuditReport, AuditFindings], object] = lambda _report, _findings: None,
) -> Iterator[tuple[AuditReport, AuditFindings]]:
    """Audit a site; the findings can be asked for while the context lasts.

    ``write`` writes its reports: an audit that they are written of is remembered, whoever stops listening to it then.
    ``loop`` are the options of the event loop (https://anyio.readthedocs.io/en/stable/basics.html), ``clock`` gives
    Unix time. Raises a SiteatlasError when nothing could be done; a crawl that was cut short is told by the report.
    """
    begun = clock()
    collect.check(plan)
    with Store(
        plan.state, begin_settings(plan), begin=begin, about=plan.about, now=clock(), renamed=KEYS
    ) as store:
        db = schema.create(store.directory / schema.FILE, store.directory / STATE.file)
        comparing = Comparing(db, store.directory, plan, is_fresh=begin is Begin.FRESH)
        try:
            with _giving_up(store, clock):
                if plan.config.audit.logs:  # they take long, and would be read for nothing
                    _run(lambda: reach(plan, store, clock), loop)
                gathered = collect.gather(plan, db, watches.reading, store.run.started)
                wave = Outside(Homes(db), plan.config.audit.max_unlinked, plan.config.audit.min_visits)
                with base_crawl(plan, store, begin, clock()) as base:
                    visited, media = _run(lambda: _look(plan, store, db, wave, watches, clock, base), loop)
            notes = [*gathered.notes, *wave.notes(), *media.notes]
            watches.part("judging")
            report = Conclusion(plan, store, db).conclude(
                visited, gathered.lint, media, notes, wave.passed_by
            )
            report = structs.replace(
                comparing.compared(report, media),
                seconds=clock() - begun,
                crawl=base.reported(store, report.seconds),
            )
            watches.part("writing reports")
            found = Found(db)
            write(report, found)
            try:
                if visited.ending is Ending.COMPLETE:
                    comparing.keep(report, news_of(report, store.run.number, found))
            except StorageError as error:  # hours of work are told all the same
                yield report, found
                raise error from None
            yield report, found
        finally:
            db.close()


@contextmanager
def _giving_up(store: Store, clock: Clock) -> Iterator[None]:
    """An audit that comes to nothing is remembered as such."""
    try:
        yield
    except NothingCrawlable as error:
        store.give_up(error, clock())
        raise


def _run(part: Callable[[], Coroutine[Any, Any, T]], loop: dict[str, Any] | None) -> T:
    try:
        return anyio.run(part, backend_options=loop)
    except BaseExceptionGroup as group:
        raise alone(group) from None


async def _look(  # noqa: PLR0913 - what it looks at, and with what
    plan: Plan,
    store: Store,
    db: sqlite3.Connection,
    wave: Outside,
    watches: Watches,
    clock: Clock,
    base: BaseCrawl,
) -> tuple[Visited, CheckedMedia]:
    """Visit the site, then what only the sources know of it, then what else its sitemaps list: other names, media."""

    def more(frontier: SqliteFrontier) -> bool:
        watches.part("asking what only sources know")
        frontier.commit()  # what is not committed the other connection does not see
        return not Start(db, plan.seed).elsewhere and wave.ask(frontier)

    def asking(done: int, of: int) -> None:
        watches.part(f"asking for images and videos, {done:,} of {of:,}")

    run = base.basis.run
    watches.part("crawling" if run is None else f"reading the crawl of run {run}")
    visited = await visit(plan, store, frontier(plan, store), watches.crawl, more, clock, base.answers)
    if visited.ending is not Ending.COMPLETE:
        return visited, CheckedMedia(0, [], [])
    visits, beside = Visits(db), doors(plan.seed)
    listed = Entries(db, visits, plan.params)
    async with fetching.fetcher(plan.config, [origin(plan.seed), *beside], clock, plan.source) as fetcher:
        rules = rulebook(plan, store, fetcher, clock)
        others = dict.fromkeys([*listed.doors(MAX_DOORS), *visits.behind(beside, MAX_DOORS)])
        if others:
            watches.part("asking for what stands under other names of the site")
            listed.answered(await ask_doors(plan, fetcher, rules, others, clock))
        return visited, await check_media(plan.config, fetcher, rules, listed.media(), clock, asking)
