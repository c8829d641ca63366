"""One audit from its plan to its report: the composition root.

::

    check | store | gather sources | visit by links, then what only the sources know | conclude | report
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import anyio

from crawler import plan as planning
from crawler.audit import gathering
from crawler.audit.concluding import conclude
from crawler.audit.outside import Outside
from crawler.engine import Watch
from crawler.errors import NothingCrawlable
from crawler.evidence import tables
from crawler.evidence.found import Found
from crawler.evidence.homes import Homes
from crawler.finding import AuditReport, FindingsOf
from crawler.plan import Plan
from crawler.state import schema
from crawler.store import Begin, Store
from crawler.visiting import Clock, Visited, alone, frontier, visit


@dataclass(frozen=True, slots=True)
class Watches:
    """Who is told how far things are: the crawl, and the reading of sources."""

    crawl: Watch
    reading: gathering.OnReading


@contextmanager
def audit(
    plan: Plan,
    watches: Watches,
    *,
    begin: Begin = Begin.GO_ON,
    loop: dict[str, Any] | None = None,
    clock: Clock = time.time,
) -> Iterator[tuple[AuditReport, FindingsOf]]:
    """Audit a site; the findings can be asked for while the context lasts.

    ``loop`` are the options of the event loop (https://anyio.readthedocs.io/en/stable/basics.html), ``clock`` gives
    Unix time. Raises a SiteatlasError when nothing could be done; a crawl that was cut short is told by the report.
    """
    gathering.check(plan)
    about = {"url": plan.seed, "sitemap_url": plan.sitemap_url, "user_agent": plan.config.fetch.user_agent}
    with Store(plan.state, planning.deciding(plan.config), begin=begin, about=about, now=clock()) as store:
        db = tables.create(store.directory / tables.FILE, store.directory / schema.FILE)
        try:
            gathered = gathering.gather(plan, db, watches.reading, store.run.started)
            wave = Outside(Homes(db), plan.config.audit.max_outside, plan.config.audit.min_visits)
            waiting = frontier(plan, store)

            async def look() -> Visited:
                return await visit(plan, store, waiting, watches.crawl, wave.ask, clock)

            try:
                visited = anyio.run(look, backend_options=loop)
            except NothingCrawlable as error:
                store.give_up(error, clock())
                raise
            except BaseExceptionGroup as group:
                raise alone(group) from None
            report = conclude(plan, store, db, visited, gathered, wave.passed_by)
            yield report, Found(db).of
        finally:
            db.close()
