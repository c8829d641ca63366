"""One audit from its plan to its report: the composition root.

::

    check | store | gather sources | visit by links, then what only the sources know | conclude | report
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import anyio

from crawler import plan as planning
from crawler.audit import gathering
from crawler.audit.concluding import Conclusion
from crawler.audit.media import CheckedMedia, check_media
from crawler.audit.outside import Outside
from crawler.audit.start import Start
from crawler.engine import Ending, Tally, Watch
from crawler.errors import NothingCrawlable
from crawler.evidence import tables
from crawler.evidence.entries import Entries
from crawler.evidence.found import Found
from crawler.evidence.homes import Homes
from crawler.evidence.visits import Visits
from crawler.finding import AuditReport, FindingsOf
from crawler.frontier.sqlite import SqliteFrontier
from crawler.memory.rules import RobotsStore
from crawler.plan import Plan
from crawler.rulebook import Rulebook
from crawler.state import schema
from crawler.store import Begin, Store
from crawler.url import origin
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
            listed = Entries(db, Visits(db), plan.params)

            def more(frontier: SqliteFrontier) -> None:
                frontier.commit()  # what is not committed the other connection does not see
                if not Start(db, plan.seed).elsewhere:
                    wave.ask(frontier)

            async def look() -> tuple[Visited, CheckedMedia]:
                visited = await visit(plan, store, frontier(plan, store), watches.crawl, more, clock)
                if visited.ending is not Ending.COMPLETE:
                    return visited, CheckedMedia(0, [], [])
                return visited, await _media(plan, store, listed, clock, asking(visited.tally))

            def asking(tally: Tally) -> Callable[[int, int], None]:
                said = "asking for images and videos"
                return lambda done, of: watches.crawl(replace(tally, paused=f"{said}, {done:,} of {of:,}"))

            try:
                visited, media = anyio.run(look, backend_options=loop)
            except NothingCrawlable as error:
                store.give_up(error, clock())
                raise
            except BaseExceptionGroup as group:
                raise alone(group) from None
            notes = [*gathered.notes, *wave.notes(), *media.notes]
            watches.crawl(replace(visited.tally, paused="judging what was found"))
            report = Conclusion(plan, store, db).conclude(visited, gathered.lint, media.findings, notes)
            yield report, Found(db).of
        finally:
            db.close()


async def _media(
    plan: Plan, store: Store, listed: Entries, clock: Clock, watch: Callable[[int, int], None]
) -> CheckedMedia:
    """Ask for the images and videos that sitemaps list."""
    config = plan.config
    async with planning.fetcher(config, [origin(plan.seed)], clock, plan.source) as fetcher:
        agent, obey = config.fetch.user_agent, config.obey.robots
        kept = RobotsStore(store.db)
        rulebook = Rulebook(fetcher, agent, obey=obey, kept=kept, params=plan.params, clock=clock)
        return await check_media(config, fetcher, rulebook, listed.media(), clock, watch)
